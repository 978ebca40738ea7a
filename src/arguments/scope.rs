//! Holds the options that define a scope.

use clap::Args;

/// Holds the options that define a scope. An absent list was not given; an empty pattern
/// (`--write ''`) makes the list empty on purpose.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Scope")]
pub struct ScopeLists {
    /// Use this scope profile of the config [default: default]
    ///
    /// The profile `docs` is the table `[scope.docs]` of `.agentwt/config.toml`.
    #[arg(long = "scope", value_name = "profile")]
    pub profile: Option<String>,
    /// Files that the agent may edit, instead of the profile's list
    ///
    /// A gitignore(5) pattern relative to the repository's root; the option may be repeated. An
    /// empty pattern (`--write ''`) makes a read-only task.
    #[arg(long, value_name = "pattern")]
    pub write: Option<Vec<String>>,
    /// Files that the agent may see, instead of the profile's list
    ///
    /// Patterns as for --write. Without any list, the agent may see every file.
    #[arg(long, value_name = "pattern")]
    pub read: Option<Vec<String>>,
    /// Files that are excluded, instead of the profile's list
    ///
    /// Patterns as for --write. Excluding wins over the two other lists.
    #[arg(long, value_name = "pattern")]
    pub exclude: Option<Vec<String>>,
    /// More files that the agent may edit
    ///
    /// The option may be repeated; the patterns are added to the profile's list, or to
    /// --write.
    #[arg(long, value_name = "pattern")]
    pub add_write: Option<Vec<String>>,
    /// More files that the agent may see
    ///
    /// The option may be repeated; the patterns are added to the profile's list, or to
    /// --read.
    #[arg(long, value_name = "pattern")]
    pub add_read: Option<Vec<String>>,
    /// More files that are excluded
    ///
    /// The option may be repeated; the patterns are added to the profile's list, or to
    /// --exclude.
    #[arg(long, value_name = "pattern")]
    pub add_exclude: Option<Vec<String>>,
}
