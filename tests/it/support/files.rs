//! Reads files, and waits for files and programs.

use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How long a test waits for a condition that is bound to come true, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a test sleeps between two looks.
const POLL: Duration = Duration::from_millis(5);

/// The text of a file.
#[must_use]
#[track_caller]
pub fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Waits until a condition is true; fails the test with `what` if it never is.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never came true: {what}");
        std::thread::sleep(POLL);
    }
}

/// Waits until a program has ended; kills it and fails the test if it never does.
#[track_caller]
pub fn wait_for_end(what: &str, child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().expect("it can be ended");
            panic!("never ended: {what}");
        }
        std::thread::sleep(POLL);
    }
}

/// Waits until the clock of the file system of a directory has moved on: what is changed from now on
/// has a later time than what was changed before.
#[track_caller]
pub fn wait_for_a_later_time(directory: &Path) {
    let now = || {
        let file = tempfile::tempfile_in(directory).expect("a file");
        file.metadata()
            .and_then(|metadata| metadata.modified())
            .expect("a time")
    };
    let before = now();
    wait_until("a later time of files", || now() > before);
}

/// The bytes of a hexadecimal object id.
#[must_use]
#[track_caller]
pub fn bytes_of_id(id: &str) -> Vec<u8> {
    let digits = (0..id.len()).step_by(2);
    digits
        .map(|at| u8::from_str_radix(&id[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

/// The number in a variable of the environment, which sets how long a test runs.
#[must_use]
#[track_caller]
pub fn number(variable: &str, default: u64) -> u64 {
    let value = std::env::var(variable);
    value.map_or(default, |value| value.parse().expect("a number"))
}
