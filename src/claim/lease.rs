//! Holds [`Lease`]: for how long a claim counts without a change.

use std::fmt;
use std::time::Duration;

/// Represents a lease in whole seconds: at least one, at most [`Lease::LONGEST`].
///
/// ```
/// use git_agentwt::claim::Lease;
/// assert_eq!(Lease::parse("90s").map(|lease| lease.seconds()), Ok(90));
/// assert_eq!(Lease::parse("2h").map(|lease| lease.to_string()), Ok("2h".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease(u64);

const WANTED: &str = "write whole seconds, minutes, hours or days, from 1s to 30d: 90s, 10m, 2h";

impl Lease {
    /// What `add --claim` takes where nobody says otherwise.
    pub const DEFAULT: Self = Self(600);
    /// The longest: thirty days.
    pub const LONGEST: Self = Self(30 * 24 * 3600);

    /// Takes a number of seconds.
    #[must_use]
    pub const fn of_seconds(seconds: u64) -> Option<Self> {
        match seconds {
            1..=2_592_000 => Some(Self(seconds)),
            0 | 2_592_001.. => None,
        }
    }

    /// Parses `90`, `90s`, `10m`, `2h` or `1d`.
    ///
    /// # Errors
    /// Says what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (number, unit) = match text.char_indices().last() {
            Some((at, 's')) => (&text[..at], 1),
            Some((at, 'm')) => (&text[..at], 60),
            Some((at, 'h')) => (&text[..at], 3600),
            Some((at, 'd')) => (&text[..at], 24 * 3600),
            Some(_) | None => (text, 1),
        };
        let is_plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_plain.then(|| number.parse::<u64>().ok()).flatten();
        number
            .and_then(|number| number.checked_mul(unit))
            .and_then(Self::of_seconds)
            .ok_or_else(|| WANTED.to_owned())
    }

    /// Its seconds.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.0
    }

    /// It as a duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_words(self.0.into()))
    }
}

/// Seconds as `--lease` takes them: in the largest unit that they are whole in.
pub(super) fn in_words(seconds: u128) -> String {
    let units = [(24 * 3600, 'd'), (3600, 'h'), (60, 'm')];
    let whole = units
        .iter()
        .find(|(unit, _)| seconds > 0 && seconds.is_multiple_of(*unit));
    match whole {
        Some((unit, letter)) => format!("{}{letter}", seconds / unit),
        None => format!("{seconds}s"),
    }
}
