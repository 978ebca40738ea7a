//! Reads the text of a range, and lists why one gets no verdict; pure.

use std::fmt;

use miette::Diagnostic;

use crate::config::CONFIG_PATH;
use crate::exit::ExitCode;
use crate::path::escape_for_terminal;

/// Holds the two ends of a range as they were typed (gitrevisions(7)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The whole text, fit for a terminal.
    pub text: String,
    /// The base side: what is compared with, and whose config counts.
    pub base: String,
    /// What is verified.
    pub head: String,
}

/// Says why a range gets no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum RangeRefusal {
    /// It is no range.
    #[error("`{text}` is not a range of commits")]
    Syntax { text: String },
    /// One of its ends names no commit.
    #[error("there is no commit `{revision}`, in the range {range}")]
    Unknown { range: String, revision: String },
    /// Nothing is common to both ends.
    #[error("cannot verify {range}: the two histories have no commit in common")]
    Unrelated { range: String },
    /// The clone ends before what is common to both ends.
    #[error("cannot verify {range}: this clone is shallow, and its history ends inside the range")]
    Shallow { range: String },
    /// The base side has no config, and nobody gave the lists.
    #[error("cannot verify {range}: the commit `{base}` has no {CONFIG_PATH}")]
    NoConfig { range: String, base: String },
    /// The base side has a config, and neither it nor anybody else says what may be edited.
    #[error("cannot verify {range}: {CONFIG_PATH} of `{base}` does not say what may be edited")]
    NoWriteList { range: String, base: String },
    /// What stands at the config's path is no file.
    #[error("cannot verify {range}: {CONFIG_PATH} of `{base}` is not a regular file")]
    ConfigIsNoFile { range: String, base: String },
}

impl Range {
    /// Splits `A..B` or `A...B`, which means the same here; `A..` ends at HEAD. The base is never
    /// left out: `..B`, which a script makes of an unset variable, would compare HEAD with itself.
    ///
    /// # Errors
    /// Refuses what is no range.
    pub fn parse(text: &str) -> Result<Self, RangeRefusal> {
        let shown = escape_for_terminal(text.as_bytes());
        let parts = text.split_once("...").or_else(|| text.split_once(".."));
        let is_one_or_none = |end: &str| !end.contains("..") && !end.starts_with('.');
        let is_one = |end: &str| !end.is_empty() && is_one_or_none(end);
        match parts {
            Some((base, head)) if is_one(base) && is_one_or_none(head) => Ok(Self {
                text: shown,
                base: base.to_owned(),
                head: if head.is_empty() { "HEAD" } else { head }.to_owned(),
            }),
            Some(_) | None => Err(RangeRefusal::Syntax { text: shown }),
        }
    }

    /// The base side, fit for a terminal.
    #[must_use]
    pub fn shown_base(&self) -> String {
        escape_for_terminal(self.base.as_bytes())
    }
}

impl RangeRefusal {
    /// The status with which the program ends.
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        match self {
            Self::Syntax { .. } | Self::Unknown { .. } | Self::Unrelated { .. } => ExitCode::Usage,
            Self::NoConfig { .. } | Self::NoWriteList { .. } | Self::ConfigIsNoFile { .. } => {
                ExitCode::Config
            }
            Self::Shallow { .. } => ExitCode::Git,
        }
    }

    const fn code_name(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "agentwt::range::syntax",
            Self::Unknown { .. } => "agentwt::range::unknown",
            Self::Unrelated { .. } => "agentwt::range::unrelated",
            Self::Shallow { .. } => "agentwt::range::shallow",
            Self::NoConfig { .. } => "agentwt::range::no_config",
            Self::NoWriteList { .. } => "agentwt::range::no_write_list",
            Self::ConfigIsNoFile { .. } => "agentwt::range::config_is_no_file",
        }
    }

    fn advice(&self) -> String {
        let lists = |range: &str| format!("git agentwt verify --range {range} --write 'src/**'");
        match self {
            Self::Syntax { .. } => {
                "name the base and what is verified: git agentwt verify --range origin/main..HEAD"
                    .to_owned()
            }
            Self::Unknown { .. } => {
                "see what there is: git branch -a; to get what a remote has: git fetch".to_owned()
            }
            Self::Unrelated { range } => format!(
                "name a base that it started from; to see both: git log --oneline --graph {}",
                range.replacen("...", " ", 1).replacen("..", " ", 1)
            ),
            Self::Shallow { .. } => {
                "fetch the rest: git fetch --unshallow (with actions/checkout: `fetch-depth: 0`)"
                    .to_owned()
            }
            Self::NoConfig { range, .. } => format!(
                "commit one there (git agentwt init writes it), or give the scope here: {}",
                lists(range)
            ),
            Self::NoWriteList { range, .. } => format!(
                "name one of its profiles with --scope, or give the list here: {}",
                lists(range)
            ),
            Self::ConfigIsNoFile { range, .. } => {
                format!(
                    "commit it as a file, or give the scope here: {}",
                    lists(range)
                )
            }
        }
    }
}

impl Diagnostic for RangeRefusal {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code_name()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.advice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_its_base_and_ends_at_head_unless_it_says_so() {
        for (text, base, head) in [
            ("main..task", "main", "task"),
            ("main...task", "main", "task"),
            ("main..", "main", "HEAD"),
            ("origin/main...", "origin/main", "HEAD"),
            ("v1.2..HEAD~3", "v1.2", "HEAD~3"),
            ("main@{1.day.ago}..HEAD", "main@{1.day.ago}", "HEAD"),
        ] {
            let range = Range::parse(text).expect("it is a range");
            assert_eq!(
                (range.base.as_str(), range.head.as_str()),
                (base, head),
                "{text}"
            );
        }
    }

    #[test]
    fn what_leaves_its_base_out_is_no_range() {
        for text in [
            "", "main", "..", "...", "..HEAD", "...HEAD", "a..b..c", "a..b...c", "a....b",
        ] {
            assert!(Range::parse(text).is_err(), "{text}");
        }
    }
}
