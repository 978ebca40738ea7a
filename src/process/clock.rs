//! Reads the clock that only goes forward, and makes words that nobody else makes.
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::disallowed_methods,
        reason = "/proc (proc(5)) is the system's word on its own run, not a disk"
    )
)]

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::claim::Reading;

/// The clock that goes on while the system sleeps (`clock_gettime(2)`).
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
/// On macOS this one does.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Reads the clock, and in which run of the system it counts.
pub fn reading() -> Reading {
    let now = clock_gettime(CLOCK);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or_default();
    let now = Duration::new(seconds, nanoseconds);
    Reading {
        boot: boot(),
        milliseconds: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
    }
}

/// The run of the system, and in a container with a time of its own (`time_namespaces(7)`) which.
#[cfg(target_os = "linux")]
fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace.display())
}

/// When the first process began is when the system did.
#[cfg(not(target_os = "linux"))]
fn boot() -> String {
    super::table::started(1).unwrap_or_default()
}

/// Makes a word of 32 letters that nobody has made before: the standard library's random keys
/// (they are the system's, new for each process), with our number and the time.
pub fn nonce() -> String {
    let now = clock_gettime(CLOCK);
    let mark = (std::process::id(), now.tv_sec, now.tv_nsec);
    let word = || RandomState::new().hash_one(mark);
    format!("{:016x}{:016x}", word(), word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_forward_in_one_run_of_the_system() {
        let (first, second) = (reading(), reading());
        assert!(second.since(&first).is_some(), "{first:?} {second:?}");
        assert!(!first.boot.is_empty());
    }

    #[test]
    fn no_word_is_made_twice() {
        let words: std::collections::BTreeSet<String> = (0..1000).map(|_| nonce()).collect();
        assert_eq!(words.len(), 1000);
        assert!(words.iter().all(|word| word.len() == 32));
    }
}
