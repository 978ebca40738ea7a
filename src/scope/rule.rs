//! Holds [`ScopeRule`], one pattern as the user wrote it, with its list and where it was written.
//!
//! It is kept as it was written, because it is what reports point at and what a record freezes;
//! what the pattern means is in [`Pattern`](super::pattern::Pattern). [`ScopeError`] refuses what git
//! would accept in silence and never match, and what has no meaning in a scope.
//!
//! ```
//! use git_agentwt::scope::{Origin, RuleList, ScopeRule};
//! let origin = Origin::File { path: ".agentwt/config.toml".into(), line: 12 };
//! let rule = ScopeRule::new(RuleList::Write, "src/**", origin);
//! assert_eq!(rule.origin.to_string(), ".agentwt/config.toml:12");
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::path::escape_for_rule;

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
    pub fn new(list: RuleList, pattern: impl Into<String>, origin: Origin) -> Self {
        Self {
            list,
            pattern: pattern.into(),
            origin,
        }
    }
}

/// Says which rule is refused and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("cannot use `{}` as {} pattern ({}): {fault}", escape_for_rule(&rule.pattern), article(rule), rule.origin)]
#[diagnostic(forward(fault))]
pub struct ScopeError {
    /// The rule as it was written.
    pub rule: ScopeRule,
    /// What is wrong with it.
    pub fault: Fault,
}

/// Says what is wrong with a pattern. Except for the first, git takes each in silence and it
/// matches nothing, or something else than its author thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum Fault {
    /// It begins with `!`.
    #[error("it begins with `!`, but the list decides, not the order")]
    #[diagnostic(
        code(agentwt::scope::negation),
        help(
            "put it without the `!` into the list that says what you mean (exclude beats write beats read), or write `\\!` if the name begins with `!`"
        )
    )]
    Negation,
    /// It begins with `#`.
    #[error("it begins with `#`, which makes it a comment")]
    #[diagnostic(
        code(agentwt::scope::comment),
        help("write `\\#` if the name begins with `#`")
    )]
    Comment,
    /// Nothing is left of it without its trailing spaces, or only `/`.
    #[error("it is empty, white space or the root, which no pattern matches")]
    #[diagnostic(
        code(agentwt::scope::empty),
        help("write `**` for everything, or `\\ ` for a name that is a space")
    )]
    Empty,
    /// It has a NUL or newline somewhere, or a carriage return at its end.
    #[error("it has a NUL or a newline, or ends with a carriage return")]
    #[diagnostic(
        code(agentwt::scope::line_end),
        help("write one pattern a line; `?` stands for any one character")
    )]
    LineEnd,
    /// One of its components is empty, `.` or `..`.
    #[error("it has a `.`, `..` or empty component, which no path in git has")]
    #[diagnostic(
        code(agentwt::scope::dots),
        help("write the path from the repository's root, with one `/` between directories")
    )]
    Dots,
    /// It ends with a backslash that escapes nothing.
    #[error("it ends with a backslash that escapes nothing")]
    #[diagnostic(
        code(agentwt::scope::lone_backslash),
        help("write `/` between directories; `\\\\` is a backslash in a name")
    )]
    LoneBackslash,
    /// A bracket is never closed.
    #[error("its `[` is never closed")]
    #[diagnostic(
        code(agentwt::scope::open_class),
        help("close it with `]`, or write `\\[` for a bracket in a name")
    )]
    OpenClass,
    /// A bracket has an unknown `[:name:]`, or matches nothing, as `[/]`.
    #[error("one of its `[…]` has an unknown class, or no character at all")]
    #[diagnostic(
        code(agentwt::scope::bad_class),
        help(
            "the classes are alnum, alpha, blank, cntrl, digit, graph, lower, print, punct, space, upper and xdigit; `/` stands outside of brackets"
        )
    )]
    BadClass,
}

/// Holds the refusals of the rules of a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{first}")]
#[diagnostic(code(agentwt::scope::invalid), help("{}", help(first)))]
pub struct ScopeErrors {
    /// The first.
    pub first: Box<ScopeError>,
    /// The others.
    #[related]
    pub others: Vec<ScopeError>,
}

impl From<Vec<ScopeError>> for ScopeErrors {
    fn from(mut errors: Vec<ScopeError>) -> Self {
        let first = Box::new(errors.remove(0));
        Self {
            first,
            others: errors,
        }
    }
}

fn help(error: &ScopeError) -> String {
    let help = miette::Diagnostic::help(error);
    help.map(|help| help.to_string()).unwrap_or_default()
}

fn article(rule: &ScopeRule) -> String {
    match rule.list {
        RuleList::Exclude => format!("an {}", rule.list),
        RuleList::Read | RuleList::Write => format!("a {}", rule.list),
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
