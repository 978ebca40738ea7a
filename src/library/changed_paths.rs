//! Collects what changed in any worktree, for a program that brings its own git:
//! [`changed_paths`].

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use bstr::ByteSlice;

/// Holds what [`changed_paths`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    /// The paths, absolute and normalized, sorted, each once.
    pub paths: Vec<PathBuf>,
    /// Why some may be missing; only with `best_effort`.
    pub incomplete: Vec<String>,
}

/// Collects the files of a worktree that differ from `base` or are neither tracked nor ignored.
/// `run_git` runs git in the worktree with these arguments and returns its standard output. With
/// `best_effort`, what one call has found is returned although the other fails.
///
/// # Errors
/// Fails when `run_git` does, and `best_effort` is not asked for.
pub fn changed_paths<E: std::fmt::Display>(
    mut run_git: impl FnMut(&[&str]) -> Result<Vec<u8>, E>,
    worktree: &Path,
    base: &str,
    best_effort: bool,
) -> Result<ChangedPaths, E> {
    let calls: [&[&str]; 2] = [
        &["diff", "--name-only", "--no-renames", "-z", base, "--"],
        &["ls-files", "--others", "--exclude-standard", "-z"],
    ];
    let mut paths = BTreeSet::new();
    let mut incomplete = Vec::new();
    for arguments in calls {
        match run_git(arguments) {
            Ok(output) => {
                let names = output.split_str("\0").filter(|name| !name.is_empty());
                let names = names.filter_map(|name| name.to_path().ok());
                paths.extend(names.map(|name| normalized(&worktree.join(name))));
            }
            Err(error) if best_effort => incomplete.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    let paths = paths.into_iter().collect();
    Ok(ChangedPaths { paths, incomplete })
}

/// The path without `.` and `..`; nothing on disk is read.
fn normalized(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(part),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers the first call and the second, none with an error.
    fn run(diff: Option<&str>, others: Option<&str>, best_effort: bool) -> (Vec<String>, usize) {
        let answer = |arguments: &[&str]| {
            let text = if arguments[0] == "diff" { diff } else { others };
            text.map(|text| text.as_bytes().to_vec()).ok_or("no git")
        };
        let found = changed_paths(answer, Path::new("/w/./a/../t"), "main", best_effort);
        let found = found.unwrap_or_default();
        let paths = found.paths.iter().map(|path| path.display().to_string());
        (paths.collect(), found.incomplete.len())
    }

    #[test]
    fn paths_are_absolute_sorted_and_each_once() {
        let (paths, missing) = run(Some("b\0src/a b\0"), Some("a\0b\0"), false);
        assert_eq!(paths, ["/w/t/a", "/w/t/b", "/w/t/src/a b"]);
        assert_eq!(missing, 0);
        assert_eq!(run(Some(""), Some(""), false), (vec![], 0));
    }

    #[test]
    fn a_git_that_fails_is_an_error_or_with_best_effort_a_gap() {
        let git = |_: &[&str]| Err::<Vec<u8>, _>("no git");
        assert_eq!(
            changed_paths(git, Path::new("/w"), "main", false),
            Err("no git")
        );
        assert_eq!(
            run(None, Some("new\0"), true),
            (vec!["/w/t/new".to_owned()], 1)
        );
        assert_eq!(
            run(Some("old\0"), None, true),
            (vec!["/w/t/old".to_owned()], 1)
        );
        assert_eq!(run(None, None, true), (vec![], 2));
    }
}
