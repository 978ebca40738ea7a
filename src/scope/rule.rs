//! Holds [`ScopeRule`], one pattern as the user wrote it, with its list and where it was written.
//!
//! It is kept as it was written, because it is what reports point at and what a record freezes;
//! what the pattern means is in [`Pattern`](super::pattern::Pattern).
//!
//! ```
//! use git_agentwt::scope::{Origin, RuleList, ScopeRule};
//! let origin = Origin::File { path: ".agentwt/config.toml".into(), line: 12 };
//! let rule = ScopeRule::new(RuleList::Write, "src/**", origin);
//! assert_eq!(rule.origin.to_string(), ".agentwt/config.toml:12");
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

/// Names one of a scope's three lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleList {
    /// What the agent may not see.
    Exclude,
    /// What the agent may see.
    Read,
    /// What the agent may see and edit.
    Write,
}

impl fmt::Display for RuleList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exclude => "exclude",
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// Says where a rule was written. In a record it is `{ file = { path = "…", line = 12 } }`,
/// `{ flag = "--write" }`, `"default"` or `"built-in"`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A line of a file.
    File {
        /// The file, as messages name it.
        path: String,
        /// The line, from 1.
        line: u32,
    },
    /// An option on the command line, with its dashes (`--write`).
    Flag(String),
    /// Nobody wrote it: the list has a default.
    Default,
    /// A rule above all lists that no one can change.
    BuiltIn,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Default => f.write_str("default"),
            Self::BuiltIn => f.write_str("built-in"),
        }
    }
}

/// Represents one pattern of a scope as it was written; it may still be invalid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScopeRule {
    /// The list it is in.
    pub list: RuleList,
    /// The gitignore(5) pattern, relative to the repository's root.
    pub pattern: String,
    /// Where it was written.
    pub origin: Origin,
}

impl ScopeRule {
    /// Puts a rule together.
    #[must_use]
    pub fn new(list: RuleList, pattern: impl Into<String>, origin: Origin) -> Self {
        Self {
            list,
            pattern: pattern.into(),
            origin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_survives_the_record() {
        let origins = [
            Origin::File {
                path: ".agentwt/config.toml".into(),
                line: 12,
            },
            Origin::Flag("--write".into()),
            Origin::Default,
            Origin::BuiltIn,
        ];
        for origin in origins {
            let rule = ScopeRule::new(RuleList::Write, "a \"b\"\\ ", origin);
            let text = toml::to_string(&rule).expect("a rule is plain data");
            assert_eq!(toml::from_str::<ScopeRule>(&text), Ok(rule), "{text}");
        }
    }
}
