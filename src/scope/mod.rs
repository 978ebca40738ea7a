//! Decides what an agent may see and edit: [`Scope`](compiled::Scope), the one matcher of the
//! program.
//!
//! It is pure: rules and paths in, answers out. The same scope makes the sparse-checkout patterns
//! (what is present), the write bits (what is writable) and the verification (what was allowed), so
//! that these cannot disagree, and `tests/it/baseline.rs` holds it against git itself. It does not
//! read the config, and it does not know what is on disk.
//!
//! ```
//! use git_agentwt::words::path::RepoPath;
//! use git_agentwt::scope::compiled::Scope;
//! use git_agentwt::scope::rule::{Access, Case, EntryKind, RuleList, RuleOrigin, ScopeRule};
//! let rules = [(RuleList::Read, "**"), (RuleList::Write, "src/**"), (RuleList::Exclude, "*.pem")]
//!     .map(|(list, pattern)| ScopeRule::new(list, pattern, RuleOrigin::Default));
//! let scope = Scope::compile(rules.into(), Case::Sensitive).expect("the patterns are valid");
//! let path = RepoPath::parse("src/key.pem").expect("it is relative and normal");
//! let verdict = scope.verdict(&path, EntryKind::File);
//! assert_eq!(verdict.access, Access::Excluded);
//! assert_eq!(verdict.rule.map(|rule| rule.pattern.as_str()), Some("*.pem"));
//! ```

pub mod classifier;
pub mod compiled;
pub mod coverage;
mod descent;
pub mod fault;
pub mod glob;
mod names;
mod near;
pub mod overlap;
pub mod pattern;
pub mod reach;
pub mod rule;
pub mod sparse;
#[cfg(test)]
mod tests;
