//! `add` against real git: what is made, from where, and that it is exactly what the scope says.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::support::TestRepo;

mod as_an_ordinary_user;
mod branch_and_base;
mod from_where;
mod repositories;
mod scope;
mod what_is_made;

const SRC: &[&str] = &["add", "task-5", "--write", "src/**"];

/// The files below a directory, with the worktree's `.git` left out, sorted.
#[track_caller]
fn files(repo: &TestRepo, dir: &Path) -> Vec<String> {
    let said = repo.sh(dir, "find . ! -type d ! -path './.git' | LC_ALL=C sort");
    let text = said.ok();
    text.lines()
        .map(|l| l.trim_start_matches("./").to_owned())
        .collect()
}

#[track_caller]
fn mode(file: &Path) -> u32 {
    let metadata = std::fs::symlink_metadata(file);
    metadata
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        .mode()
        & 0o7777
}

/// Clones the project with these options; the directory, beside the repository.
#[track_caller]
fn clone(repo: &TestRepo, options: &[&str], name: &str) -> PathBuf {
    let url = format!("file://{}", repo.main().display());
    let mut arguments = vec!["clone", "-q"];
    arguments.extend(options);
    arguments.extend([url.as_str(), name]);
    repo.git_in(repo.root(), &arguments);
    repo.root().join(name)
}

/// The text with each stretch from `from` to the next `to` replaced: what is not the same twice.
fn masked(text: &str, from: &str, to: &str, by: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(from) {
        let (_, after) = after.split_once(to).expect("it ends");
        shown.push_str(before);
        shown.push_str(by);
        rest = after;
    }
    shown + rest
}

#[test]
fn a_setting_of_git_c_counts_for_one_call() {
    let repo = TestRepo::project();
    let arguments = [
        "-c",
        "agentwt.branchPrefix=mine/",
        "agentwt",
        "add",
        "task-5",
    ];
    let said = repo.try_git(
        repo.main(),
        &[&arguments[..], &["--write", "src/**"]].concat(),
    );
    assert_eq!(said.ok(), "$TMP/repo/.agentwt/worktrees/task-5");
    assert_eq!(repo.git(&["branch", "--list", "mine/*"]), "+ mine/task-5");
}
