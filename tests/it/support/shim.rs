//! Stands in for git and does something else at one call: [`Shim`].

use std::path::{Path, PathBuf};

use super::{Said, TestRepo, binary, chmod};

/// The numbers of the calls that a test tampers with, from a first one: every third, so that all
/// tests take minutes and not a quarter of an hour; with `AGENTWT_EVERY_CALL=1` each
/// (CONTRIBUTING.md).
pub fn calls(first: usize) -> impl Iterator<Item = usize> {
    let all = std::env::var_os("AGENTWT_EVERY_CALL").is_some();
    (first..).step_by(if all { 1 } else { 3 })
}

/// Represents a `git` earlier on the search path that numbers its calls. Some run side by side:
/// each has the number that it was the first to take, by a file of that name (with `set -C` the
/// shell makes it only if there is none, and starts nothing for it).
pub struct Shim {
    dir: PathBuf,
    path: String,
}

impl Shim {
    /// At the call that is chosen later, `act` is done instead of git's work.
    #[must_use]
    pub fn new(root: &Path, act: &str) -> Self {
        let dir = root.join("shim");
        std::fs::create_dir_all(&dir).expect("a directory");
        let path = std::env::var("PATH").expect("a search path");
        let script = format!(
            "#!/bin/sh\nn=1; set -C\n\
             until echo \"$*\" >\"{dir}/calls/$n\"; do\n\
             [ -e \"{dir}/calls/$n\" ] || exit 70; n=$((n + 1))\ndone 2>/dev/null\nset +C\n\
             case \"$n $*\" in $SHIM_AT) {act} ;; esac\n\
             PATH='{path}' exec git \"$@\"\n",
            dir = dir.display()
        );
        std::fs::write(dir.join("git"), script).expect("a script");
        chmod(&dir.join("git"), 0o755);
        Self { dir, path }
    }

    /// Runs the program; what it said, and the call that was tampered with, none when there were
    /// fewer.
    pub fn run(&self, repo: &TestRepo, arguments: &[&str], at: usize) -> (Said, Option<String>) {
        let said = self.started(repo, arguments, &format!("{at} *"));
        let call = std::fs::read_to_string(self.dir.join(format!("calls/{at}")));
        let call = call.ok().map(|call| call.trim_end().to_owned());
        (said, call)
    }

    /// Runs the program, and tampers with the calls that have these words, whatever their numbers.
    pub fn run_at_words(&self, repo: &TestRepo, arguments: &[&str], words: &str) -> Said {
        let quoted = words.replace(' ', "\\ ");
        self.started(repo, arguments, &format!("*{quoted}*"))
    }

    /// Runs the program; `at` is a pattern of the shell's for the number and the words of a call.
    fn started(&self, repo: &TestRepo, arguments: &[&str], at: &str) -> Said {
        let calls = self.dir.join("calls");
        let _ = std::fs::remove_dir_all(&calls);
        std::fs::create_dir_all(&calls).expect("a directory");
        let output = repo
            .command(binary(), repo.main())
            .args(arguments)
            .env("PATH", format!("{}:{}", self.dir.display(), self.path))
            .env("SHIM_AT", at)
            .output()
            .expect("it starts");
        repo.said(&output)
    }
}
