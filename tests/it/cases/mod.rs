//! Change cases: one test for each way in which a path can come to differ from the base, and for
//! each way in which it only seems to. Every one makes a real repository, a worktree with
//! `git agentwt add`, one change by real git or the shell, and reads every finding.
//!
//! `src/**`, `tests/**` and `/package.json` may be edited, `**/secrets/**` is excluded, all else
//! is read-only. A finding is a line of path, kind, reason and level.

mod anew;
mod attributes;
mod calm;
mod commits;
mod committed;
mod disk;
mod excluded;
mod fetched;
mod filters;
mod forms;
mod git_directories;
mod hidden;
mod ignored;
mod index;
mod leaks;
mod moved_base;
mod name_forms;
mod names;
mod nested;
mod operations;
mod own_refs;
mod past_hooks;
mod plumbing;
mod rewound;
mod sealed;
mod shared;
mod split_index;
mod submodules;
mod trial;
mod upstream;

use std::path::{Path, PathBuf};

use crate::support::{Said, TestRepo};

/// What every script may use.
const WORDS: &str = r#"set -e
edit() { chmod u+w "$1"; echo more >>"$1"; }
commit() { git add -A; git commit -q -m "${1:-work}"; }
# others go on: two new commits on main, which touch what this worktree may not
upstream() { (
    cd "$MAIN"; echo v2 >docs/api.md; echo up >docs/up.md; git rm -q tools/run.sh
    git add -A; git commit -q -m upstream-1; echo v >>src/main.rs; git commit -q -a -m upstream-2
) }
"#;

/// The small project with reftables, which this git uses for everything; none if it has none.
#[track_caller]
fn with_reftables(git_bin: &Path) -> Option<TestRepo> {
    let repo = TestRepo::empty().with_git(git_bin);
    std::fs::remove_dir_all(repo.main()).expect("it is there");
    let made = repo.sh(repo.root(), "git init -q --ref-format=reftable repo");
    if made.status != 0 {
        return None;
    }
    repo.fill();
    Some(repo)
}

/// Represents a repository with one worktree of ours, `task`.
pub struct Case {
    pub repo: TestRepo,
    pub worktree: PathBuf,
}

impl Case {
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self::of(TestRepo::project())
    }

    /// A worktree whose directories are known by then, as those of most users are.
    #[must_use]
    #[track_caller]
    pub fn of(repo: TestRepo) -> Self {
        let worktree = repo.add("task");
        repo.learn_names("task");
        Self { repo, worktree }
    }

    /// Runs a script in the worktree, which must succeed.
    #[track_caller]
    pub fn does(&self, script: &str) -> &Self {
        self.runs(&self.worktree, script).ok();
        self
    }

    /// Runs a script in the main worktree, which must succeed.
    #[track_caller]
    pub fn main_does(&self, script: &str) -> &Self {
        self.runs(self.repo.main(), script).ok();
        self
    }

    /// Runs a script, whatever comes of it.
    #[track_caller]
    pub fn runs(&self, dir: &Path, script: &str) -> Said {
        let (main, worktree) = (self.repo.main().display(), self.worktree.display());
        let line = format!("MAIN='{main}' WT='{worktree}'\n{WORDS}{script}");
        self.repo.sh(dir, &line)
    }

    /// Every finding, a line each; nothing when all is well.
    #[must_use]
    #[track_caller]
    pub fn findings(&self) -> String {
        committed::agree(&self.worktree);
        self.repo.findings(&self.worktree)
    }

    /// Everything that changed, in scope too: path and kind, and where it was seen.
    #[must_use]
    #[track_caller]
    pub fn changes(&self) -> String {
        let said = self
            .repo
            .agentwt_in(&self.worktree, &["changed", "--porcelain"]);
        said.ok().replace('\t', "  ")
    }
}

/// A repository with a committed file that has the line endings of Windows.
#[must_use]
#[track_caller]
fn with_crlf() -> TestRepo {
    let repo = TestRepo::project();
    let script = "printf 'a\\r\\nb\\r\\n' >docs/crlf.txt; git add -A; git commit -qm crlf";
    repo.sh(repo.main(), script).ok();
    repo
}

/// The findings after a script in a new worktree.
#[must_use]
#[track_caller]
fn after(script: &str) -> String {
    Case::new().does(script).findings()
}

/// A case after `before` in the main worktree and `add`.
#[must_use]
#[track_caller]
fn prepared(before: &str) -> Case {
    let repo = TestRepo::project();
    repo.sh(repo.main(), before).ok();
    Case::of(repo)
}
