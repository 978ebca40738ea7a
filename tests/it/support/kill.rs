//! Runs a command line under strace(1), which does something to it at one system call.
//!
//! `when=<n>` counts for each thread and each system call by itself, and with `-f` for every
//! program that is started: at one point git may be hit, we may, or both one after the other.

use std::path::PathBuf;
use std::process::Command;

use super::{Said, TestRepo, binary, skipped};

/// Says what happens at a point instead of the system call.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// The process is killed.
    Kill,
    /// The call fails with this error (`ENOSPC`).
    Fail(&'static str),
}

/// Holds what came of a run.
pub struct Hit {
    /// What the command said.
    pub said: Said,
    /// The system calls that were tampered with, as strace shows them; none when the point lies
    /// behind the end.
    pub calls: Vec<String>,
}

impl Hit {
    /// Whether we were killed.
    pub fn killed_us(&self) -> bool {
        self.said.status == 137
    }
}

/// Whether strace(1) is there and may do its work.
#[must_use]
pub fn strace_works() -> bool {
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-o", "/dev/null", "-e", "trace=none", "true"]);
    let works = strace.output().is_ok_and(|output| output.status.success());
    if !works && cfg!(target_os = "linux") {
        skipped("strace(1) that may trace: sudo apt-get install strace");
    }
    works
}

impl TestRepo {
    /// Runs the program and acts at the `nth` call of this system call.
    #[track_caller]
    pub fn hit(&self, arguments: &[&str], act: Act, syscall: &str, nth: usize) -> Hit {
        let log = self.log();
        let what = match act {
            Act::Kill => "signal=KILL".to_owned(),
            Act::Fail(error) => format!("error={error}"),
        };
        let output = self
            .command("strace", self.main())
            .args(["-f", "-qq", "-o"])
            .arg(&log)
            .args(["-e", &format!("trace={syscall}")])
            .args(["-e", &format!("inject={syscall}:{what}:when={nth}")])
            .arg(binary())
            .args(arguments)
            .output()
            .expect("strace starts");
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        let hits = log.lines().filter(|line| {
            line.contains("(INJECTED)") || line.contains("+++ killed by SIGKILL +++")
        });
        Hit {
            said: self.said(&output),
            calls: hits.map(ToOwned::to_owned).collect(),
        }
    }

    fn log(&self) -> PathBuf {
        self.root().join("strace")
    }

    /// Copies the repository as it is now to a place beside it, to be brought back from there.
    pub fn keep_as(&self, name: &str) {
        let line = format!("rm -rf {name} && cp -a repo {name}");
        self.sh(self.root(), &line).ok();
    }

    /// Makes the repository what it was when it was kept.
    pub fn bring_back(&self, name: &str) {
        // a process in the background may create directories in between
        let line = format!("until rm -rf repo && cp -aT {name} repo; do :; done");
        self.sh(self.root(), &line).ok();
    }
}
