//! Resolves the links in a path, also of one that does not exist (yet).
#![expect(
    clippy::disallowed_methods,
    reason = "it reads links, one component at a time"
)]

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::{Component, Path, PathBuf};

use super::error::DiskError;

/// As many links as Linux follows in one path (`path_resolution(7)`).
const MOST_LINKS: usize = 40;

/// Resolves `.`, `..` and links in an absolute path. What does not exist stays as it is named. A
/// link at the very end of the path, also of one that a link led to, stays where `keep` says so
/// of its place.
///
/// # Errors
/// Fails when a directory cannot be searched, or links go in a circle.
pub fn resolve(path: &Path, keep: &dyn Fn(&Path) -> bool) -> Result<PathBuf, DiskError> {
    let shown = crate::path::escape_for_terminal(path.as_os_str().as_encoded_bytes());
    let failed = |error: Error| DiskError::new(format!("resolve {shown}"), error);
    let mut waiting = Vec::new();
    push(&mut waiting, path);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(next) = waiting.pop() {
        if next == ".." {
            at.pop();
            continue;
        }
        let here = at.join(&next);
        if waiting.is_empty() && keep(&here) {
            return Ok(here);
        }
        match std::fs::read_link(&here) {
            Ok(text) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(failed(Error::other("too many links")));
                }
                if text.is_absolute() {
                    at = PathBuf::from("/");
                }
                push(&mut waiting, &text);
            }
            // no link, or nothing at all
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::InvalidInput | ErrorKind::NotFound | ErrorKind::NotADirectory
                ) =>
            {
                at = here;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(at)
}

/// Puts the components of a path on the stack, the first on top.
fn push(waiting: &mut Vec<OsString>, path: &Path) {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    });
    let names: Vec<OsString> = names.collect();
    waiting.extend(names.into_iter().rev());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_and_what_is_not_there_is_kept() {
        let tmp = tempfile::tempdir().expect("a directory");
        let root = tmp.path().canonicalize().expect("it is there");
        let link = |to: &str, at: &str| {
            std::os::unix::fs::symlink(to, root.join(at)).expect("a link");
        };
        std::fs::create_dir(root.join("d")).expect("a directory");
        link("d", "to-d");
        link("gone/deeper", "dangling");
        link("to-d", "twice");
        link("loop", "loop");
        let all = |path: &str| resolve(&root.join(path), &|_| false);
        let but_last = |path: &str| resolve(&root.join(path), &|_| true);
        let at = |path: &str| root.join(path);
        for (path, whole, parents) in [
            ("d/x", "d/x", "d/x"),
            ("to-d", "d", "to-d"),
            ("to-d/new/x", "d/new/x", "d/new/x"),
            ("twice", "d", "twice"),
            ("twice/../y", "y", "y"),
            ("dangling/x", "gone/deeper/x", "gone/deeper/x"),
            ("./d/./x", "d/x", "d/x"),
        ] {
            assert_eq!(all(path).ok(), Some(at(whole)), "{path}");
            assert_eq!(but_last(path).ok(), Some(at(parents)), "{path}");
        }
        assert!(all("loop/x").is_err());
        assert_eq!(but_last("loop").ok(), Some(at("loop")));
    }
}
