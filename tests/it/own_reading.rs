//! Holds what we read of git's files ourselves against what git answers.
//!
//! Each repository is asked everything twice, with [`Reading::Own`] and [`Reading::Git`]. A runner
//! counts how often git is started: [`By`] says of which questions it may not be.

mod histories;
mod refs;
mod starts;
mod worktrees;

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use camino::Utf8Path;
use git_agentwt::git::{Call, Duct, Git, GitMode, Output, Reading, Runner, SharedRunner};

use crate::support::TestRepo;

/// Starts git in the world of the test, and counts.
struct World {
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    started: Arc<AtomicUsize>,
}

impl Runner for World {
    fn is_local(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        self.started.fetch_add(1, Ordering::SeqCst);
        // what git is told beside the tester's own environment
        let told = call.environment.iter().filter(|(name, _)| {
            let name = name.to_string_lossy();
            name == "LC_ALL" || name.starts_with("GIT_") && !name.starts_with("GIT_CONFIG")
        });
        let mut environment = self.environment.clone();
        environment.extend(told.cloned());
        Duct.run(&Call {
            environment: &environment,
            ..*call
        })
    }
}

/// Asks both.
pub struct Both {
    own: Git,
    git: Git,
    started: Arc<AtomicUsize>,
}

/// Says whether git may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Our own code must answer.
    Us,
    /// Git must be asked: we do not know for certain.
    Git,
    /// Either.
    Any,
}

impl Both {
    /// Asks in the main worktree of a repository.
    pub fn of(repo: &TestRepo) -> Self {
        Self::at(repo, &repo.main().join(".git"), Some(repo.main()))
    }

    /// Asks in a git directory.
    pub fn at(repo: &TestRepo, git_dir: &Path, work_tree: Option<&Path>) -> Self {
        let started = Arc::new(AtomicUsize::new(0));
        let command = repo.command("git", repo.main());
        let environment = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        let world = World {
            environment: environment.collect(),
            started: started.clone(),
        };
        let git = Git::find_with(utf8(repo.main()), SharedRunner::new(world)).expect("git");
        let git = git.on(utf8(git_dir), work_tree.map(utf8));
        Self {
            own: git.with_reading(Reading::Own),
            git: git.with_reading(Reading::Git),
            started,
        }
    }

    /// The one that reads by itself.
    pub fn own(&self) -> &Git {
        &self.own
    }

    /// Asks in the hardened mode.
    pub fn hardened(self) -> Self {
        Self {
            own: self.own.with_mode(GitMode::Hardened),
            git: self.git.with_mode(GitMode::Hardened),
            ..self
        }
    }

    /// Asks both, and compares the answers; of an error only that it is one.
    #[track_caller]
    pub fn ask<T: Debug + PartialEq>(
        &self,
        by: By,
        what: &str,
        question: impl Fn(&Git) -> Result<T, git_agentwt::git::GitError>,
    ) -> Option<T> {
        let before = self.started.load(Ordering::SeqCst);
        let own = question(&self.own).ok();
        let asked = self.started.load(Ordering::SeqCst) - before;
        assert_eq!(own, question(&self.git).ok(), "{what}");
        match by {
            By::Us => assert_eq!(asked, 0, "git was asked: {what}"),
            By::Git => assert!(asked > 0, "git was not asked: {what}"),
            By::Any => {}
        }
        own
    }

    /// Asks everything that is asked of refs.
    #[track_caller]
    pub fn ask_refs(&self, by: By, names: &[&str]) {
        self.ask(by, "symbolic-ref", Git::symbolic_ref_head);
        self.ask(by, "all refs", |git| git.for_each_ref(&[]));
        for name in names {
            self.ask(by, name, |git| git.for_each_ref(&[name]));
            if name.ends_with('/') || name.contains('*') {
                continue;
            }
            self.ask(by, name, |git| git.rev_parse_commit(name));
            self.ask(By::Any, name, |git| git.upstream(name));
            self.ask(by, name, |git| git.reflog_exists(name));
        }
    }
}

pub fn utf8(path: &Path) -> &Utf8Path {
    Utf8Path::from_path(path).expect("it is UTF-8")
}
