//! Decides what an agent may see and edit: [`Scope`], the one matcher of the program.
//!
//! It is pure: rules and paths in, answers out. The same scope makes the sparse-checkout patterns
//! (what is present), the write bits (what is writable) and the verification (what was allowed), so
//! that these cannot disagree, and `tests/it/baseline.rs` holds it against git itself. It does not
//! read the config, and it does not know what is on disk.
//!
//! ```
//! use git_agentwt::words::path::RepoPath;
//! use git_agentwt::scope::{Access, Case, EntryKind, Origin, RuleList, Scope, ScopeRule};
//! let rules = [(RuleList::Read, "**"), (RuleList::Write, "src/**"), (RuleList::Exclude, "*.pem")]
//!     .map(|(list, pattern)| ScopeRule::new(list, pattern, Origin::Default));
//! let scope = Scope::compile(rules.into(), Case::Sensitive).expect("the patterns are valid");
//! let path = RepoPath::parse("src/key.pem").expect("it is relative and normal");
//! let verdict = scope.verdict(&path, EntryKind::File);
//! assert_eq!(verdict.access, Access::Excluded);
//! assert_eq!(verdict.rule.map(|rule| rule.pattern.as_str()), Some("*.pem"));
//! ```

pub mod classifier;
pub mod glob;
pub mod overlap;
pub mod pattern;
pub mod reach;
pub mod sparse;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::scope::classifier::Classifier;
use crate::words::entry::Mode;
use crate::words::path::{RepoPath, escape_for_rule};
use classifier::NameSet;

use pattern::ScopePattern;

/// Says what an agent may do with a path. More access is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Absent from the worktree.
    Excluded,
    /// Present, not to be edited.
    Read,
    /// Present, and the agent's to edit.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Excluded => "excluded",
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

impl From<RuleList> for Access {
    fn from(list: RuleList) -> Self {
        match list {
            RuleList::Exclude => Self::Excluded,
            RuleList::Read => Self::Read,
            RuleList::Write => Self::Write,
        }
    }
}

/// Says what a path is, as far as patterns care: one with a trailing slash matches directories only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A file or a symbolic link (also one to a directory).
    File,
    /// A directory or a gitlink, which git matches like a directory.
    Directory,
}

impl EntryKind {
    /// What an entry of this mode is.
    pub const fn of(mode: Mode) -> Self {
        if mode.is_directory() {
            Self::Directory
        } else {
            Self::File
        }
    }
}

/// Says whether `a` matches `A`: `core.ignoreCase` of the repository. Only ASCII letters fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// `core.ignoreCase=false`.
    Sensitive,
    /// `core.ignoreCase=true`.
    Insensitive,
}

impl Case {
    /// The case of a repository with this `core.ignoreCase`.
    pub const fn of(ignore_case: bool) -> Self {
        if ignore_case {
            Self::Insensitive
        } else {
            Self::Sensitive
        }
    }
}

/// Says what a scope makes of a path. No rule means that no list matches: the path is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<'s> {
    /// The access.
    pub access: Access,
    /// The rule that decided: of the deciding list the one that matches the nearest level (the path
    /// itself, then its parents), there the last one, as `git check-ignore -v` reports it.
    pub rule: Option<&'s ScopeRule>,
}

/// Represents valid rules, ready to be asked. Exclude beats write beats read; above all lists
/// `.agentwt/memory/**` is `read` and everything else in `.agentwt` is excluded.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The user's rules in their order, then the built-in ones.
    rules: Vec<ScopeRule>,
    /// How many are the user's.
    users: usize,
    /// One for each rule.
    patterns: Vec<ScopePattern>,
    names: NameSet,
    case: Case,
}

/// The memory bank, in the order of a pattern file: the last rule of a level wins.
const BUILT_IN: [(RuleList, &str); 2] = [
    (RuleList::Exclude, "/.agentwt"),
    (RuleList::Read, "/.agentwt/memory/**"),
];

impl Scope {
    /// Compiles the rules, which keep their order within each list.
    ///
    /// # Errors
    /// Returns every rule that is refused, in the order given.
    pub fn compile(mut rules: Vec<ScopeRule>, case: Case) -> Result<Self, ScopeErrors> {
        let users = rules.len();
        rules.extend(BUILT_IN.map(|(list, text)| ScopeRule::new(list, text, Origin::BuiltIn)));
        let (mut patterns, mut errors) = (Vec::with_capacity(rules.len()), Vec::new());
        for rule in &rules {
            match ScopePattern::parse(&rule.pattern, case) {
                Ok(pattern) => patterns.push(pattern),
                Err(fault) => errors.push(ScopeError {
                    rule: rule.clone(),
                    fault,
                }),
            }
        }
        let mut errors = errors.into_iter();
        if let Some(first) = errors.next() {
            let (first, others) = (Box::new(first), errors.collect());
            return Err(ScopeErrors { first, others });
        }
        Ok(Self {
            rules,
            users,
            names: NameSet::new(&patterns),
            patterns,
            case,
        })
    }

    /// The patterns of one of the user's lists, in order, each with its rule.
    fn list(&self, list: RuleList) -> impl Iterator<Item = (&ScopeRule, &ScopePattern)> {
        let all = self.rules().iter().zip(&self.patterns);
        all.filter(move |(rule, _)| rule.list == list)
    }

    /// The user's rules, in the order given, without the built-in ones.
    pub fn rules(&self) -> &[ScopeRule] {
        &self.rules[..self.users]
    }

    /// Whether letters match in either case.
    pub const fn case(&self) -> Case {
        self.case
    }

    /// Whether its own rules let every path be seen, as far as that is plain from their text.
    pub fn shows_all(&self) -> bool {
        let is_all = |rule: &ScopeRule| rule.list == RuleList::Read && rule.pattern == "**";
        let hides = |rule: &ScopeRule| rule.list == RuleList::Exclude;
        self.rules().iter().any(is_all) && !self.rules().iter().any(hides)
    }

    /// The access of one path, and the rule that decided.
    pub fn verdict(&self, path: &RepoPath, kind: EntryKind) -> Verdict<'_> {
        self.classifier().verdict(path, kind)
    }

    /// Whether a file of this path is excluded: absent on purpose.
    pub fn excludes_file(&self, path: &RepoPath) -> bool {
        self.verdict(path, EntryKind::File).access == Access::Excluded
    }

    /// Answers the same for many paths, fast when they are sorted.
    pub fn classifier(&self) -> Classifier<'_> {
        Classifier::new(self)
    }
}

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
    /// The user did not write it: the list has a default.
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
    pub fault: PatternFault,
}

/// Says what is wrong with a pattern. Except for the first, git takes each in silence and it
/// matches nothing, or something else than its author thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum PatternFault {
    /// It begins with `!`.
    #[error("it begins with `!`, but the list decides, not the order")]
    #[diagnostic(code(agentwt::scope::negation))]
    #[diagnostic(help(
        "put it without the `!` into the list that says what you mean (exclude beats write beats read), or write `\\!` if the name begins with `!`"
    ))]
    Negation,
    /// It begins with `#`.
    #[error("it begins with `#`, which makes it a comment")]
    #[diagnostic(code(agentwt::scope::comment))]
    #[diagnostic(help("write `\\#` if the name begins with `#`"))]
    Comment,
    /// Nothing is left of it without its trailing spaces, or only `/`.
    #[error("it is empty, white space or the root, which no pattern matches")]
    #[diagnostic(code(agentwt::scope::empty))]
    #[diagnostic(help("write `**` for everything, or `\\ ` for a name that is a space"))]
    Empty,
    /// It has a NUL or newline somewhere, or a carriage return at its end.
    #[error("it has a NUL or a newline, or ends with a carriage return")]
    #[diagnostic(code(agentwt::scope::line_end))]
    #[diagnostic(help("write one pattern a line; `?` stands for any one character"))]
    LineEnd,
    /// One of its components is empty, `.` or `..`.
    #[error("it has a `.`, `..` or empty component, which no path in git has")]
    #[diagnostic(code(agentwt::scope::dots))]
    #[diagnostic(help(
        "write the path from the repository's root, with one `/` between directories"
    ))]
    Dots,
    /// It ends with a backslash that escapes nothing.
    #[error("it ends with a backslash that escapes nothing")]
    #[diagnostic(code(agentwt::scope::lone_backslash))]
    #[diagnostic(help("write `/` between directories; `\\\\` is a backslash in a name"))]
    LoneBackslash,
    /// A bracket is never closed.
    #[error("its `[` is never closed")]
    #[diagnostic(code(agentwt::scope::open_class))]
    #[diagnostic(help("close it with `]`, or write `\\[` for a bracket in a name"))]
    OpenClass,
    /// A bracket has an unknown `[:name:]`, or matches nothing, as `[/]`.
    #[error("one of its `[…]` has an unknown class, or no character at all")]
    #[diagnostic(code(agentwt::scope::bad_class))]
    #[diagnostic(help(
        "the classes are alnum, alpha, blank, cntrl, digit, graph, lower, print, punct, space, upper and xdigit; `/` stands outside of brackets"
    ))]
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
mod tests;
