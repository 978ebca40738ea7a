//! Says why a rule of a scope is refused: [`ScopeErrors`], and [`PatternFault`] of one pattern.

use crate::scope::rule::{RuleList, ScopeRule};
use crate::words::path::escape_for_rule;

/// What is wrong with a pattern. Except for the first, git takes each in silence and it
/// matches nothing, or something else than its author thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum PatternFault {
    /// It begins with `!`.
    #[error("it begins with `!`, but the list decides, not the order")]
    #[diagnostic(code(agentwt::scope::negation))]
    #[diagnostic(help(
        "put it without the `!` into the list that says what you mean \
         (exclude beats write beats read), or write `\\!` if the name begins with `!`"
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
        "the classes are alnum, alpha, blank, cntrl, digit, graph, lower, print, punct, space, \
         upper and xdigit; `/` stands outside of brackets"
    ))]
    BadClass,
}

/// Which rule is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error(
    "cannot use `{}` as {} ({}): {fault}",
    escape_for_rule(&rule.pattern),
    kind(rule),
    rule.origin
)]
#[diagnostic(forward(fault))]
pub struct ScopeError {
    /// The rule as it was written.
    pub rule: ScopeRule,
    /// What is wrong with it.
    pub fault: PatternFault,
}

/// The refusals of the rules of a scope.
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

fn kind(rule: &ScopeRule) -> &'static str {
    match rule.list {
        RuleList::Exclude => "an exclude pattern",
        RuleList::Read => "a read pattern",
        RuleList::Write => "a write pattern",
    }
}
