//! Writes and reads the message of a claim's commit.
//!
//! A line says what it is, an empty one follows, then a line for each value, all of them in a fixed
//! order and in ASCII: what is not is written as `\ooo`.

use super::{Claim, Lease, Who};
use crate::name::WorktreeName;
use crate::path::{escape_for_terminal, escape_for_tsv};

/// The version of the form.
const VERSION: &str = "1";
/// Nothing longer is read.
const LONGEST: usize = 16 * 1024;
/// No value is longer.
const LONGEST_VALUE: usize = 2048;

/// Says why a claim cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// Another version of the program wrote it.
    #[error("it has version {}, and this program reads version {VERSION}", escape_for_terminal(.0.as_bytes()))]
    Version(String),
    /// It is none of ours, or damaged.
    #[error("it is damaged: {}", escape_for_terminal(.0.as_bytes()))]
    Damaged(String),
}

impl Claim {
    /// The message of its commit.
    #[must_use]
    pub fn to_message(&self) -> String {
        let pid = self.who.pid.to_string();
        let lease = self.lease.seconds().to_string();
        let lines = [
            ("version", VERSION),
            ("name", self.name.as_str()),
            ("owner", &self.who.owner),
            ("host", &self.who.host),
            ("pid", &pid),
            ("started", &self.who.started),
            ("since", &self.since),
            ("renewed", &self.renewed),
            ("expires", &self.expires),
            ("lease", &lease),
            ("holding", &self.holding),
            ("nonce", &self.nonce),
        ];
        let mut text = format!("agentwt claim on {}\n\n", self.name);
        for (key, value) in lines {
            text.push_str(&format!("{key}: {}\n", escape_for_tsv(value.as_bytes())));
        }
        text
    }

    /// Reads the raw bytes of a commit.
    ///
    /// # Errors
    /// Fails when it is no claim of this version.
    pub fn from_commit(raw: &[u8]) -> Result<Self, ClaimError> {
        if raw.len() > LONGEST {
            return Err(damaged("it is too long"));
        }
        let end = raw.windows(2).position(|two| two == b"\n\n");
        let end = end.ok_or_else(|| damaged("it has no message"))?;
        Self::from_message(&raw[end + 2..])
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Fails when it is no claim of this version.
    pub fn from_message(message: &[u8]) -> Result<Self, ClaimError> {
        let text = std::str::from_utf8(message).map_err(|_| damaged("it is not ASCII"))?;
        let (_, body) = text
            .split_once("\n\n")
            .ok_or_else(|| damaged("it says nothing"))?;
        let mut lines = Lines(body.lines());
        let version = lines.next("version")?;
        if version != VERSION {
            return Err(ClaimError::Version(version.chars().take(40).collect()));
        }
        let name = WorktreeName::parse(&lines.next("name")?)
            .map_err(|error| damaged(&error.to_string()))?;
        let number = |text: &str, what: &str| {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = is_plain.then(|| text.parse::<u64>().ok()).flatten();
            number.ok_or_else(|| damaged(&format!("{what} is no number")))
        };
        let (owner, host) = (lines.next("owner")?, lines.next("host")?);
        let pid = number(&lines.next("pid")?, "pid")?;
        let pid = u32::try_from(pid).map_err(|_| damaged("pid is too large"))?;
        let started = lines.next("started")?;
        let who = Who {
            owner,
            host,
            pid,
            started,
        };
        let (since, renewed) = (lines.next("since")?, lines.next("renewed")?);
        let expires = lines.next("expires")?;
        let lease = Lease::of_seconds(number(&lines.next("lease")?, "lease")?);
        let claim = Self {
            name,
            who,
            since,
            renewed,
            expires,
            lease: lease.ok_or_else(|| damaged("its lease is no lease"))?,
            holding: lines.next("holding")?,
            nonce: lines.next("nonce")?,
        };
        match lines.0.next() {
            None => Ok(claim),
            Some(line) => Err(damaged(&format!("unexpected line `{}`", shortened(line)))),
        }
    }
}

/// Takes one line after the other.
struct Lines<'a>(std::str::Lines<'a>);

impl Lines<'_> {
    fn next(&mut self, key: &str) -> Result<String, ClaimError> {
        let line = self.0.next().unwrap_or_default();
        let value = line.strip_prefix(key).and_then(|l| l.strip_prefix(": "));
        let missing = || damaged(&format!("`{key}` is missing"));
        let value = value.or_else(|| (line.strip_suffix(':') == Some(key)).then_some(""));
        let value = value.ok_or_else(missing)?;
        if value.len() > LONGEST_VALUE {
            return Err(damaged(&format!("`{key}` is too long")));
        }
        unescaped(value).ok_or_else(|| damaged(&format!("`{key}` is not written as it should be")))
    }
}

/// Takes `\ooo` back; none for what is never written.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'\\' => {
                let (octal, after) = rest.split_at_checked(3)?;
                let octal = std::str::from_utf8(octal).ok()?;
                bytes.push(u8::from_str_radix(octal, 8).ok()?);
                rest = after;
            }
            0x20..=0x7e => bytes.push(*first),
            0..=0x1f | 0x7f..=0xff => return None,
        }
    }
    String::from_utf8(bytes).ok()
}

fn damaged(why: &str) -> ClaimError {
    ClaimError::Damaged(why.to_owned())
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
