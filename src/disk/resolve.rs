//! Resolves the links in a path, also of one that does not exist (yet).
#![expect(clippy::disallowed_methods, reason = "reads links, part by part")]

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::{Component, Path, PathBuf};

use crate::disk::error::{Attempt as _, DiskError, is_missing};
use crate::words::path::escape_for_terminal;

/// As many links as Linux follows in one path (`path_resolution(7)`).
const MOST_LINKS: usize = 40;

/// Resolves `.`, `..` and links in an absolute path. What does not exist stays as it is named. A
/// link at the very end of the path, also of one that a link led to, stays where `keep` says so
/// of its place.
///
/// # Errors
/// Fails when a directory cannot be searched, or links go in a circle.
pub fn resolve(path: &Path, keep: &dyn Fn(&Path) -> bool) -> Result<PathBuf, DiskError> {
    let shown = escape_for_terminal(path.as_os_str().as_encoded_bytes());
    follow(path, keep).attempting("resolve", shown)
}

/// Follows every link in an absolute path, from the top. Where no component is left, `keep` is
/// asked about the place: if it says true, a link there is not followed.
fn follow(path: &Path, keep: &dyn Fn(&Path) -> bool) -> std::io::Result<PathBuf> {
    // a stack: what a link leads to comes before the rest of the path
    let mut waiting: Vec<OsString> = components_from_the_end(path).collect();
    let mut resolved = PathBuf::from("/");
    let mut links = 0;
    while let Some(component) = waiting.pop() {
        if component == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&component);
        if waiting.is_empty() && keep(&next) {
            return Ok(next);
        }
        match std::fs::read_link(&next) {
            Ok(text) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Error::other("too many links"));
                }
                if text.is_absolute() {
                    resolved = PathBuf::from("/");
                }
                waiting.extend(components_from_the_end(&text));
            }
            // no link, or nothing at all
            Err(error) if is_missing(&error) || error.kind() == ErrorKind::InvalidInput => {
                resolved = next;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(resolved)
}

fn components_from_the_end(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().rev().filter_map(|part| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
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
