//! Reads files, and waits for them.

use std::path::Path;
use std::time::{Duration, Instant};

/// How long a test waits for a condition that is bound to come true, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

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
        std::thread::sleep(Duration::from_millis(5));
    }
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
