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

use crate::path::{escape_for_rule, escape_for_terminal};

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

/// Says which rule is refused and why; whoever knows the file can underline the rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use `{}` as {} pattern ({}): {fault}", escape_for_rule(&rule.pattern), article(rule), rule.origin)]
pub struct ScopeError {
    /// The rule as it was written.
    pub rule: ScopeRule,
    /// What is wrong with it.
    pub fault: Fault,
}

/// Says what is wrong with a pattern. Except for the first, git takes each in silence and it
/// matches nothing, or something else than its author thinks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It begins with `!`.
    #[error("it begins with `!`, and the list decides here, not the order")]
    Negation,
    /// It begins with `#`.
    #[error("it begins with `#`, which makes it a comment")]
    Comment,
    /// Nothing is left of it without its trailing spaces.
    #[error("it is empty")]
    Empty,
    /// It is only white space.
    #[error("it is only white space")]
    Blank,
    /// It is `/`.
    #[error("it names the root itself, which no pattern matches")]
    Root,
    /// It has a NUL or newline somewhere, or a carriage return at its end.
    #[error("it has a NUL or a newline, or ends with a carriage return")]
    LineEnd,
    /// One of its components is `.` or `..`.
    #[error("it has a `.` or `..` component, which no path in git has")]
    Dots,
    /// One of its components is empty.
    #[error("it has an empty component, which no path in git has")]
    EmptyComponent,
    /// It ends with a backslash that escapes nothing.
    #[error("it ends with a backslash that escapes nothing")]
    LoneBackslash,
    /// A bracket is never closed.
    #[error("its `[` is never closed")]
    OpenClass,
    /// A bracket has an unknown `[:name:]`.
    #[error("there is no character class `[:{}:]`", escape_for_terminal(.0.as_bytes()))]
    UnknownClass(String),
    /// A bracket that matches nothing, as `[/]`.
    #[error("no character is in one of its `[…]`")]
    EmptyClass,
}

impl Fault {
    /// The code of the diagnostic.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Negation => "agentwt::scope::negation",
            Self::Comment => "agentwt::scope::comment",
            Self::Empty => "agentwt::scope::empty",
            Self::Blank => "agentwt::scope::blank",
            Self::Root => "agentwt::scope::root",
            Self::LineEnd => "agentwt::scope::line_end",
            Self::Dots => "agentwt::scope::dots",
            Self::EmptyComponent => "agentwt::scope::empty_component",
            Self::LoneBackslash => "agentwt::scope::lone_backslash",
            Self::OpenClass => "agentwt::scope::open_class",
            Self::UnknownClass(_) => "agentwt::scope::unknown_class",
            Self::EmptyClass => "agentwt::scope::empty_class",
        }
    }

    /// What to write instead of this pattern.
    #[must_use]
    pub fn help(&self, pattern: &str) -> String {
        let pattern = &escape_for_help(pattern);
        match self {
            Self::Negation => format!(
                "put `{}` into the list that says what you mean (exclude beats write beats read), \
                 or write `\\{pattern}` if the name begins with `!`",
                pattern.trim_start_matches('!')
            ),
            Self::Comment => format!("write `\\{pattern}` if the name begins with `#`"),
            Self::Empty | Self::Root => "write `**` for everything, or remove it".into(),
            Self::Blank => "write `\\ ` for a name that is a space, or remove it".into(),
            Self::LineEnd => "write one pattern a line; `?` stands for any one character".into(),
            Self::Dots => match without_single_dots(pattern) {
                Some(better) => format!("write `{better}`"),
                None => "write the path from the repository's root".into(),
            },
            Self::EmptyComponent => {
                format!("write `{}`", single_slashes(&pattern.replace("\\/", "/")))
            }
            Self::LoneBackslash => format!(
                "write `/` between directories; `\\\\` is a backslash in a name: `{}\\\\`",
                pattern.trim_end_matches('/').trim_end_matches('\\')
            ),
            Self::OpenClass => "close it with `]`, or write `\\[` for a bracket in a name".into(),
            Self::UnknownClass(_) => "the classes are alnum, alpha, blank, cntrl, digit, graph, \
                                      lower, print, punct, space, upper and xdigit"
                .into(),
            Self::EmptyClass => "no `[…]` matches `/`: write it outside".into(),
        }
    }
}

/// Holds the refusals of the rules of a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{first}")]
#[diagnostic(code(agentwt::scope::invalid), help("{}", first.fault.help(&first.rule.pattern)))]
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

impl miette::Diagnostic for ScopeError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.fault.code()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.fault.help(&self.rule.pattern)))
    }
}

fn article(rule: &ScopeRule) -> String {
    match rule.list {
        RuleList::Exclude => format!("an {}", rule.list),
        RuleList::Read | RuleList::Write => format!("a {}", rule.list),
    }
}

/// Control characters become `?`, which also matches them; a backslash stays, it is syntax.
fn escape_for_help(pattern: &str) -> String {
    pattern.replace(|c: char| c.is_control(), "?")
}

/// The pattern without its `.` components, anchored as they meant it; none if it has a `..`.
fn without_single_dots(pattern: &str) -> Option<String> {
    let parts: Vec<&str> = pattern.split('/').filter(|part| *part != ".").collect();
    if parts.contains(&"..") || parts.iter().all(|part| part.is_empty()) {
        return None;
    }
    let joined = single_slashes(&parts.join("/"));
    let anchored = pattern.starts_with("./") && !joined.starts_with('/');
    Some(format!("{}{joined}", if anchored { "/" } else { "" }))
}

fn single_slashes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        if c != '/' || !out.ends_with('/') {
            out.push(c);
        }
    }
    out
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
