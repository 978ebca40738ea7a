//! Files that were placed: never a finding while unchanged, always one when edited outside of the
//! write scope, and never lost.

mod bits;
mod hard_links;
mod modes;
mod parents;
mod remove;
mod restore;
mod shown;
mod tracked;
mod verify;

use std::path::PathBuf;

use crate::support::{Said, TestRepo};

/// Represents a repository with the worktree `task`, in which files are placed: ignored and
/// untracked ones, in scope and out of it, a link, and directories.
pub struct World {
    pub repo: TestRepo,
    pub worktree: PathBuf,
}

/// What is placed, in order.
pub const PLACED: &[&str] = &[
    ".env",
    "certs",
    "certs/a.log",
    "certs/empty",
    "certs/link",
    "run.sh",
    "src/local.json",
];

/// Makes the sources: `.env` is untracked, `certs/a.log` ignored, `run.sh` executable.
const SOURCES: &str = "
    printf 'A=1\\n' >.env; mkdir -p certs/empty; printf 'CERT\\n' >certs/a.log
    ln -s a.log certs/link; printf '#!/bin/sh\\n' >run.sh; chmod 755 run.sh
    printf '{}\\n' >src/local.json
";

impl World {
    /// Nothing was touched since.
    #[track_caller]
    pub fn new() -> Self {
        let repo = TestRepo::project();
        let worktree = repo.add("task");
        repo.sh(repo.main(), SOURCES).ok();
        repo.place("task", PLACED);
        Self { repo, worktree }
    }

    /// This was done in the worktree since; `$MAIN` is the main one.
    #[track_caller]
    pub fn after(script: &str) -> Self {
        let world = Self::new();
        world.sh(script);
        world
    }

    /// Runs lines of sh in the worktree.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        self.repo.script(&self.worktree, script)
    }

    /// The findings, as `path kind reason level` lines.
    #[track_caller]
    pub fn findings(&self) -> String {
        self.repo.findings(&self.worktree)
    }

    /// What changed, as `path kind` lines.
    #[track_caller]
    pub fn changed(&self) -> String {
        let said = self.agentwt(&["changed", "task", "--format", "tsv"]);
        said.ok().replace('\t', " ")
    }

    #[track_caller]
    pub fn agentwt(&self, arguments: &[&str]) -> Said {
        self.repo.agentwt(arguments)
    }

    /// Every entry with its kind, permissions and content, apart from git's.
    #[must_use]
    #[track_caller]
    pub fn everything(&self) -> String {
        let find = "find . -name .git -prune -o -printf '%p %y %m %l ' -exec sh -c '
            [ -f \"$0\" ] && [ ! -L \"$0\" ] && cat \"$0\"; echo' {} ';' | sort";
        self.sh(find)
    }

    /// The words after each path of `changed`'s JSON: where it was seen.
    #[track_caller]
    pub fn seen(&self, path: &str) -> String {
        let json = self.agentwt(&["changed", "task", "--json"]).ok();
        let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
        let all = json["changed"].as_array().expect("a list");
        let one = all.iter().find(|change| change["path"] == path);
        one.map_or_else(String::new, |change| {
            format!("{} {}", change["kind"], change["seen"]).replace('"', "")
        })
    }
}
