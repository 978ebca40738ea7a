//! Claims: one name, one repository at a time, by a ref on a server that several share.

mod retried;
mod server;
mod takeover;
mod taking;

use std::path::PathBuf;

use crate::support::{Said, TestRepo};

/// Represents two clones of one bare repository.
pub struct Fleet {
    pub repo: TestRepo,
    pub server: PathBuf,
    pub other: PathBuf,
}

pub const REF: &str = "refs/agentwt/claims/task";
const SCOPE: [&str; 2] = ["--write", "src/**"];

impl Fleet {
    #[track_caller]
    pub fn new() -> Self {
        let repo = TestRepo::project();
        let server = repo.root().join("server.git");
        let other = repo.root().join("other");
        let (at, to) = (server.display().to_string(), other.display().to_string());
        repo.git_in(repo.root(), &["clone", "-q", "--bare", "repo", &at]);
        repo.git(&["remote", "add", "origin", &at]);
        repo.git_in(repo.root(), &["clone", "-q", &at, &to]);
        Self {
            repo,
            server,
            other,
        }
    }

    /// `add task --claim origin` in the first clone.
    pub fn add(&self, more: &[&str]) -> Said {
        let mut arguments = vec!["add", "task", "--claim", "origin"];
        arguments.extend(SCOPE);
        arguments.extend(more);
        self.repo.agentwt(&arguments)
    }

    /// The same in the other one.
    pub fn add_other(&self, more: &[&str]) -> Said {
        let mut arguments = vec!["add", "task", "--claim", "origin"];
        arguments.extend(SCOPE);
        arguments.extend(more);
        self.repo.agentwt_in(&self.other, &arguments)
    }

    /// What the claim's ref names on the server; empty for nothing.
    #[track_caller]
    pub fn claimed(&self) -> String {
        let refs = ["for-each-ref", "--format=%(objectname)", "refs/agentwt/"];
        self.repo.git_in(&self.server, &refs)
    }

    /// The message of the claim.
    #[track_caller]
    pub fn message(&self) -> String {
        let show = ["log", "-1", "--format=%B", REF];
        let root = self.repo.root().display().to_string();
        self.repo.git_in(&self.server, &show).replace("$TMP", &root)
    }
}

/// The line of what was said that begins so.
#[track_caller]
pub fn line(said: &Said, start: &str) -> String {
    let found = said.stderr.lines().find(|line| line.starts_with(start));
    found
        .unwrap_or_else(|| panic!("no `{start}`: {said}"))
        .to_owned()
}
