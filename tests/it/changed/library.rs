//! The library: the same answers as values, on a program's own git adapter.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::TestRepo;
use camino::Utf8PathBuf;
use git_agentwt::commands::changed::collect::Asked;
use git_agentwt::git::runner::Call;
use git_agentwt::git::runner::Duct;
use git_agentwt::git::runner::Output;
use git_agentwt::git::runner::Runner;
use git_agentwt::git::runner::SharedRunner;
use git_agentwt::library::Options;
use git_agentwt::library::changed;
use git_agentwt::library::verify;

/// Counts, and fails the commands whose first word is this.
struct Adapter {
    calls: Arc<AtomicUsize>,
    broken: &'static str,
}

impl Runner for Adapter {
    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if call.args.iter().any(|arg| arg == self.broken) {
            return Ok(Output {
                status: Some(128),
                stdout: Vec::new(),
                stderr: b"fatal: the adapter will not\n".to_vec(),
            });
        }
        Duct.run(call)
    }
}

#[test]
fn the_library_answers_on_a_programs_own_adapter() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo 1 >>src/main.rs; git commit -qam one; echo n >docs/n; echo l >x.log",
    );
    let calls = Arc::new(AtomicUsize::new(0));
    let options = |broken| Options {
        directory: Utf8PathBuf::from_path_buf(worktree.join("src")).expect("it is UTF-8"),
        runner: SharedRunner::new(Adapter {
            calls: Arc::clone(&calls),
            broken,
        }),
        ..Options::default()
    };
    let all = Asked {
        ignored: true,
        commits: true,
        patch: true,
        ..Asked::default()
    };
    let found = changed(&options("-"), &all).expect("it can be read");
    let paths = ["docs/n", "src/main.rs", "x.log"].map(|path| worktree.join(path));
    assert_eq!(found.absolute_paths(), paths);
    assert_eq!(found.commits.as_ref().map(Vec::len), Some(1));
    assert!(found.patch.is_some_and(|patch| !patch.bytes().is_empty()));
    assert!(found.incomplete.is_empty());
    let report = verify(&options("-"), Some("task")).expect("there is a verdict");
    assert_eq!(report.violations().count(), 1);
    assert!(calls.load(Ordering::Relaxed) > 3);
}

#[test]
fn each_git_command_that_fails_is_an_error_or_something_missing() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo 1 >>src/main.rs; git commit -qam one; echo n >docs/n",
    );
    let options = |broken| Options {
        directory: Utf8PathBuf::from_path_buf(worktree.clone()).expect("it is UTF-8"),
        runner: SharedRunner::new(Adapter {
            calls: Arc::default(),
            broken,
        }),
        ..Options::default()
    };
    let asked = |best_effort| Asked {
        commits: true,
        patch: true,
        best_effort,
        ..Asked::default()
    };
    for broken in ["read-tree", "diff-tree"] {
        let error = changed(&options(broken), &asked(false)).expect_err(broken);
        let words = "fatal: the adapter will not";
        assert!(error.to_string().ends_with(words), "{broken}: {error}");
        let found = changed(&options(broken), &asked(true)).expect(broken);
        assert!(!found.incomplete.is_empty(), "{broken}");
        assert!(found.incomplete.iter().all(|why| why.ends_with(words)));
        let paths = found.absolute_paths();
        assert!(
            paths.contains(&worktree.join("docs/n")),
            "{broken}: {paths:?}"
        );
        assert!(
            paths.contains(&worktree.join("src/main.rs")),
            "{broken}: {paths:?}"
        );
    }
}
