//! Runs scripts in the fence of a worktree, where a fence works here.

use super::{Said, TestRepo, is_root, skipped};

/// The small project with the worktree `task`; nothing where no fence works here.
#[must_use]
#[track_caller]
pub fn fenced_task() -> Option<TestRepo> {
    TestRepo::with_fence(&[])
}

/// `--allow-root` for a line of sh, where the tests run as root.
#[must_use]
pub fn allow_root() -> &'static str {
    if is_root() { "--allow-root" } else { "" }
}

/// `--allow-root` as arguments, where the tests run as root.
#[must_use]
pub fn allow_root_words() -> &'static [&'static str] {
    if is_root() { &["--allow-root"] } else { &[] }
}

impl TestRepo {
    /// The small project with the worktree `task`; nothing where the fence that the options name
    /// does not work here.
    #[must_use]
    #[track_caller]
    pub fn with_fence(options: &[&str]) -> Option<Self> {
        let repo = Self::project();
        repo.add("task");
        repo.has_fence(options).then_some(repo)
    }

    /// Runs a script in the worktree `task`, in the fence that the options name, else in the strongest.
    pub fn fenced(&self, options: &[&str], script: &str) -> Said {
        let root = allow_root_words();
        let words = [
            &["exec", "task"],
            root,
            options,
            &["--", "sh", "-c", script],
        ]
        .concat();
        self.agentwt(&words)
    }

    /// Whether that fence works here; one that does not is named in the summary.
    pub fn has_fence(&self, options: &[&str]) -> bool {
        if is_root() && options.contains(&"--fence=container") {
            eprintln!("not run: podman is tried as an ordinary user only");
            return false;
        }
        let tried = self.fenced(options, "true");
        if tried.status == 9 {
            let fence = options.first().copied().unwrap_or("--fence=auto");
            skipped(&format!("{fence} does not work here"));
            return false;
        }
        tried.ok();
        true
    }

    /// The subjects of what the branch of `task` has and main has not.
    pub fn log_of_task(&self) -> String {
        self.git(&["log", "--format=%s", "main..agentwt/task"])
    }
}
