//! Reads the clock that only goes forward, and the boot from which it counts.

use std::time::Duration;

use rustix::time::clock_gettime;
use serde::{Deserialize, Serialize};

use crate::system::kernel;

/// A clock that only goes forward, within one boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockReading {
    /// The boot.
    pub boot: String,
    /// Milliseconds.
    pub milliseconds: u64,
}

impl ClockReading {
    /// Reads the clock.
    pub fn now() -> Self {
        let time = clock_gettime(kernel::CLOCK);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        let elapsed = Duration::new(seconds, nanoseconds);
        Self {
            boot: kernel::clock_start(),
            milliseconds: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Returns what is another word after each boot; none if the system has no such word.
pub fn boot_id() -> Option<String> {
    kernel::boot_id()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_forward_in_one_boot() {
        let first = ClockReading::now();
        let second = ClockReading::now();
        assert!(second.milliseconds >= first.milliseconds);
        assert_eq!(second.boot, first.boot);
        assert!(!first.boot.is_empty());
    }
}
