//! The `git` that a command in a fence finds first on `PATH`: our own program under that name.
//!
//! Where git would find the worktree's own `.git`, it is given the private git directory of the run;
//! everywhere else nothing is changed. It then becomes the next `git` on `PATH`.
#![expect(clippy::disallowed_methods, reason = "looks where git would look")]

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::system::path::programs_named;

/// Names the private git directory of the run.
pub const PRIVATE_GIT: &str = "AGENTWT_PRIVATE_GIT";
/// Names the worktree of the run.
pub const ROOT: &str = "AGENTWT_ROOT";
/// The name that we are started by.
const GIT: &str = "git";

/// Whether our program was started as `git`.
pub fn is_asked(arguments: &[OsString]) -> bool {
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    name == Some(OsStr::new(GIT))
}

/// Becomes the real git. Returns the status to end with where that cannot be, and what to say.
pub fn run(arguments: &[OsString]) -> (u8, String) {
    let Some(git) = find_real() else {
        let text = "no git on PATH but the one of git-agentwt, which only passes commands on";
        return (127, text.to_owned());
    };
    let mut command = Command::new(&git);
    // git finds its own programs by the name that it is started by
    command.arg0(GIT);
    let words = arguments.get(1..).unwrap_or_default();
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    match (variable(PRIVATE_GIT), variable(ROOT)) {
        (Some(private), Some(root)) => {
            // an alias, a hook or `rebase --exec` has it from us, and may work elsewhere
            let named = variable("GIT_DIR").filter(|named| *named != private);
            if named.is_none() {
                command.env_remove("GIT_DIR");
            }
            match rewrite(words, &root, named) {
                Some(words) => command.args(words).env("GIT_DIR", private),
                None => command.args(words),
            }
        }
        _outside => command.args(words),
    };
    let error = command.exec();
    (126, format!("cannot start {}: {error}", git.display()))
}

/// The next `git` on `PATH` that is not our own program.
fn find_real() -> Option<PathBuf> {
    let ours = std::env::current_exe().and_then(std::fs::metadata).ok()?;
    let is_other = |found: &Metadata| (found.dev(), found.ino()) != (ours.dev(), ours.ino());
    programs_named(GIT).find_map(|found| is_other(&found.metadata).then_some(found.path))
}

/// The command line with which git works in the private git directory; none where git would not find
/// the worktree's own.
fn rewrite(words: &[OsString], root: &Path, mut named: Option<PathBuf>) -> Option<Vec<OsString>> {
    let mut dir = std::env::current_dir().ok()?;
    let mut kept = Vec::with_capacity(words.len());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.as_bytes();
        if let Some(value) = text.strip_prefix(b"--git-dir=") {
            named = Some(PathBuf::from(OsStr::from_bytes(value)));
            continue;
        }
        match text {
            b"--git-dir" => {
                named = Some(PathBuf::from(rest.next()?));
                continue;
            }
            b"-C" => {
                let value = rest.next()?;
                dir.push(value);
                kept.extend([word.clone(), value.clone()]);
                continue;
            }
            b"--bare" | b"init" | b"clone" => return None,
            b"-c" | b"--work-tree" | b"--namespace" | b"--config-env" | b"--super-prefix"
            | b"--attr-source" | b"--exec-path" => {
                kept.push(word.clone());
                // `--exec-path` alone asks for the place
                if text != b"--exec-path" {
                    kept.push(rest.next()?.clone());
                }
                continue;
            }
            _other => kept.push(word.clone()),
        }
        if !text.starts_with(b"-") {
            break;
        }
    }
    kept.extend(rest.cloned());
    let dir = dir.canonicalize().ok()?;
    let is_ours = match named {
        Some(named) => dir.join(named).canonicalize().ok()? == root.join(".git"),
        None => finds_ours(&dir, root),
    };
    is_ours.then_some(kept)
}

/// Whether discovery from a directory ends in the worktree's own `.git`, as in
/// `setup_git_directory_gently` of git's `setup.c`.
fn finds_ours(dir: &Path, root: &Path) -> bool {
    if !dir.starts_with(root) {
        return false;
    }
    let ceilings = std::env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let ceilings: Vec<PathBuf> = std::env::split_paths(&ceilings).collect();
    for place in dir.ancestors() {
        if place == root {
            return true;
        }
        let inner = place.join(".git");
        if inner.is_file() || is_repository(&inner) || is_repository(place) {
            return false;
        }
        let above = place.parent();
        if ceilings.iter().any(|end| Some(&**end) == above) {
            return false;
        }
    }
    false
}

/// Whether a directory has the shape of a git directory (`is_git_directory`).
fn is_repository(place: &Path) -> bool {
    let head = place.join("HEAD");
    let has_head = head.is_file() || head.symlink_metadata().is_ok_and(|head| head.is_symlink());
    has_head && place.join("objects").is_dir() && place.join("refs").is_dir()
}
