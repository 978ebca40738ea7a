//! The `git` that a command in a fence finds first on `PATH`: our own program under that name.
//!
//! Where git would find the worktree's own `.git`, it is given the private git directory of the
//! run; everywhere else nothing is changed. It then becomes the next `git` on `PATH`.
#![expect(clippy::disallowed_methods, reason = "looks where git would look")]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fence::program_end::ProgramEnd;
use crate::system::path::programs_named;

/// Names the private git directory of the run.
pub const PRIVATE_GIT: &str = "AGENTWT_PRIVATE_GIT";
/// Names the worktree of the run.
pub const ROOT: &str = "AGENTWT_ROOT";
/// The name that we are started by.
const GIT: &str = "git";

/// True if our program was started as `git`.
pub fn is_called(arguments: &[OsString]) -> bool {
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    name == Some(OsStr::new(GIT))
}

/// Becomes the real git. Returns only where that cannot be.
pub fn run(arguments: &[OsString]) -> ProgramEnd {
    let Some(git) = find_real_git() else {
        return ProgramEnd {
            status: 127,
            message: "no git on PATH but the one of git-agentwt, which only passes commands on"
                .to_owned(),
        };
    };
    let mut command = Command::new(&git);
    // git finds its own programs by the name that it is started by
    command.arg0(GIT);
    let words = arguments.get(1..).unwrap_or_default();
    match (path_variable(PRIVATE_GIT), path_variable(ROOT)) {
        (Some(private), Some(root)) => add_words(&mut command, words, &private, &root),
        _outside => {
            command.args(words);
        }
    }
    let error = command.exec();
    ProgramEnd {
        status: 126,
        message: format!("cannot start {}: {error}", git.display()),
    }
}

fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// Gives the words to git, and the private git directory where git would find the worktree's own.
fn add_words(command: &mut Command, words: &[OsString], private: &Path, root: &Path) {
    // an alias, a hook or `rebase --exec` has it from us, and may work elsewhere
    let git_dir = path_variable("GIT_DIR").filter(|git_dir| git_dir != private);
    if git_dir.is_none() {
        command.env_remove("GIT_DIR");
    }
    let options = std::env::current_dir()
        .ok()
        .and_then(|directory| GlobalOptions::parse(words, directory, git_dir));
    match options {
        Some(options) if options.finds_git_of(root) => {
            command.args(options.words).env("GIT_DIR", private);
        }
        Some(_) | None => {
            command.args(words);
        }
    }
}

/// The next `git` on `PATH` that is not our own program.
fn find_real_git() -> Option<PathBuf> {
    let ours = std::env::current_exe().and_then(std::fs::metadata).ok()?;
    for program in programs_named(GIT) {
        let file = &program.metadata;
        if file.dev() != ours.dev() || file.ino() != ours.ino() {
            return Some(program.path);
        }
    }
    None
}

/// The options before git's command, as far as they say where git works (git(1)).
struct GlobalOptions {
    /// The command line without `--git-dir`, which would win against the `GIT_DIR` that we set.
    words: Vec<OsString>,
    /// Where git works.
    directory: PathBuf,
    /// The git directory that is named, by an option or by `GIT_DIR`.
    git_dir: Option<PathBuf>,
}

impl GlobalOptions {
    /// Parses a command line. `start` is where git is started, `git_dir` what `GIT_DIR` says. None
    /// if git looks for no repository, or refuses the line.
    fn parse(words: &[OsString], start: PathBuf, git_dir: Option<PathBuf>) -> Option<Self> {
        let mut options = Self {
            words: Vec::with_capacity(words.len()),
            directory: start,
            git_dir,
        };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.as_bytes();
            if let Some(value) = text.strip_prefix(b"--git-dir=") {
                options.git_dir = Some(PathBuf::from(OsStr::from_bytes(value)));
                continue;
            }
            match text {
                b"--git-dir" => options.git_dir = Some(PathBuf::from(rest.next()?)),
                b"--bare" | b"init" | b"clone" => return None,
                b"-C" => {
                    let directory = rest.next()?;
                    options.directory.push(directory);
                    options.words.extend([word.clone(), directory.clone()]);
                }
                b"-c" | b"--work-tree" | b"--namespace" | b"--config-env" | b"--super-prefix"
                | b"--attr-source" => {
                    options.words.extend([word.clone(), rest.next()?.clone()]);
                }
                _option if text.starts_with(b"-") => options.words.push(word.clone()),
                _command => {
                    options.words.push(word.clone());
                    break;
                }
            }
        }
        options.words.extend(rest.cloned());
        Some(options)
    }

    /// True if git would find the worktree's own `.git`.
    fn finds_git_of(&self, root: &Path) -> bool {
        let Ok(directory) = self.directory.canonicalize() else {
            return false;
        };
        match &self.git_dir {
            Some(git_dir) => directory
                .join(git_dir)
                .canonicalize()
                .is_ok_and(|found| found == root.join(".git")),
            None => discovers_git_of(root, &directory),
        }
    }
}

/// True if discovery from a directory ends in the worktree's own `.git`, as in
/// `setup_git_directory_gently` of git's `setup.c`.
fn discovers_git_of(root: &Path, directory: &Path) -> bool {
    if !directory.starts_with(root) {
        return false;
    }
    let variable = std::env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let ceilings: Vec<PathBuf> = std::env::split_paths(&variable).collect();
    for place in directory.ancestors() {
        if place == root {
            return true;
        }
        let inner = place.join(".git");
        if inner.is_file() || is_repository(&inner) || is_repository(place) {
            return false;
        }
        let above = place.parent();
        if ceilings.iter().any(|ceiling| Some(&**ceiling) == above) {
            return false;
        }
    }
    false
}

/// True if a directory has the shape of a git directory (`is_git_directory`).
fn is_repository(place: &Path) -> bool {
    let head = place.join("HEAD");
    let has_head = head.is_file() || head.symlink_metadata().is_ok_and(|head| head.is_symlink());
    has_head && place.join("objects").is_dir() && place.join("refs").is_dir()
}
