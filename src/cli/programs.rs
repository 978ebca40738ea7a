//! Defines the options of `add` for programs: retries, who owns the worktree, and the probe.

use std::time::Duration;

use clap::Args;

/// How many attempts are made in all, where retries are on and nobody said how many.
pub const DEFAULT_ATTEMPTS: u32 = 3;
/// The pause before a retry, where nobody said how long.
pub const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(15);
/// How long a probe may take, where nobody said.
pub const DEFAULT_PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Holds the options of `add` for programs.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "For programs")]
pub struct ProgramOptions {
    /// Try again when what stands in the way may pass [default: 3 attempts in all]
    ///
    /// That is: the branch is checked out elsewhere; the path, the branch or a worktree there
    /// exists already; an agent still runs there. Anything else fails at once. The number is that
    /// of the attempts in all. Each starts clean. Retries are on as well with --owner and
    /// --owner-probe.
    #[arg(
        long,
        value_name = "attempts",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub retries: Option<u32>,
    /// Wait so long before each retry [default: 15s]
    ///
    /// A number of seconds, or one with a unit: `500ms`, `15s`, `2m`.
    #[arg(long, value_name = "duration", value_parser = duration)]
    pub retry_delay: Option<Duration>,
    /// Say who works there
    ///
    /// Any text: it is kept in the record. A worktree that another owner has is refused (exit 4)
    /// unless that one's process has ended.
    #[arg(long, value_name = "id", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub owner: Option<String>,
    /// Say which process the owner is: what tells whether it is alive
    #[arg(long, value_name = "pid", requires = "owner")]
    pub owner_pid: Option<u32>,
    /// Take the worktree over from its owner, alive or not
    #[arg(long, requires = "owner")]
    pub take_over: bool,
    /// Ask this command before each retry whether the worktree is still yours
    ///
    /// It is run by `sh -c` with `AGENTWT_NAME`, `AGENTWT_OWNER` and `AGENTWT_ATTEMPT` in its
    /// environment. Status 0: still yours. 1: lost; nothing more is tried, and nothing is left
    /// behind (exit 8). Anything else: unknown, and it is tried on.
    #[arg(long, value_name = "command")]
    pub owner_probe: Option<String>,
    /// Take a probe that gives no answer in this time for unknown [default: 30s]
    #[arg(long, value_name = "duration", requires = "owner_probe", value_parser = duration)]
    pub probe_timeout: Option<Duration>,
}

impl ProgramOptions {
    /// How many attempts are made in all: one, unless an option switched retries on.
    /// `claims` says whether a claim was asked for, which is one.
    #[must_use]
    pub fn attempts(&self, claims: bool) -> u32 {
        let is_on = claims || self.owner.is_some() || self.owner_probe.is_some();
        let by_default = if is_on { DEFAULT_ATTEMPTS } else { 1 };
        self.retries.unwrap_or(by_default)
    }

    /// The pause before a retry.
    #[must_use]
    pub fn retry_delay(&self) -> Duration {
        self.retry_delay.unwrap_or(DEFAULT_RETRY_DELAY)
    }

    /// How long a probe may take.
    #[must_use]
    pub fn probe_timeout(&self) -> Duration {
        self.probe_timeout.unwrap_or(DEFAULT_PROBE_TIMEOUT)
    }
}

/// Parses a duration: `15`, `15s`, `1.5s`, `500ms`, `2m`, `1h`.
///
/// # Errors
/// Says what is allowed.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _other => return Err(WANTED.to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| WANTED.to_owned())?;
    let whole = Duration::try_from_secs_f64(number * seconds).map_err(|_| WANTED.to_owned())?;
    if whole > LONGEST {
        return Err("a day is the longest".to_owned());
    }
    Ok(whole)
}

const WANTED: &str = "write a number of seconds, or one with a unit: 500ms, 15s, 2m";
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_seconds_or_have_a_unit() {
        let ms = Duration::from_millis;
        for (text, is) in [
            ("15", ms(15_000)),
            ("15s", ms(15_000)),
            ("500ms", ms(500)),
            ("2m", ms(120_000)),
            ("1.5s", ms(1_500)),
            ("1h", ms(3_600_000)),
            ("0", ms(0)),
        ] {
            assert_eq!(duration(text), Ok(is), "{text}");
        }
        for text in [
            "", "s", "-1", "15 s", "1d", "15S", "1e3", "..", "25h", "1.2.3", "٣",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn retries_are_on_when_somebody_asks_for_them_or_says_who_owns() {
        let attempts = |options: ProgramOptions| options.attempts(false);
        let of = |retries: Option<u32>, owner: Option<&str>, probe: Option<&str>| ProgramOptions {
            retries,
            owner: owner.map(ToOwned::to_owned),
            owner_probe: probe.map(ToOwned::to_owned),
            ..ProgramOptions::default()
        };
        assert_eq!(attempts(ProgramOptions::default()), 1);
        assert_eq!(attempts(of(Some(5), None, None)), 5);
        assert_eq!(attempts(of(None, Some("me"), None)), 3);
        assert_eq!(attempts(of(None, None, Some("true"))), 3);
        assert_eq!(attempts(of(Some(1), Some("me"), Some("true"))), 1);
    }
}
