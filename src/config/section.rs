//! Lists the tables and keys of the config, with what to write for each.

use super::value::toml_string;

/// Names a table of the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section<'n> {
    Top,
    Worktree,
    FileSync,
    Scope,
    Profile(&'n str),
}

impl Section<'_> {
    pub(super) const ALL: [Section<'static>; 4] = [
        Section::Top,
        Section::Worktree,
        Section::FileSync,
        Section::Profile("<profile>"),
    ];

    /// The keys it may have; `[scope]` may have any, they are the names of the profiles.
    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Top => &["schema_version", "worktree", "scope"],
            Self::Worktree => &[
                "base",
                "branch_prefix",
                "strategy",
                "client",
                "on_violation",
                "file_sync",
            ],
            Self::FileSync => &[
                "enabled",
                "patterns",
                "optional_patterns",
                "max_file_size_mb",
                "max_total_size_mb",
            ],
            Self::Scope => &[],
            Self::Profile(_) => &["read", "write", "exclude"],
        }
    }

    /// Where that is: `in [worktree]`.
    pub(super) fn place(self) -> String {
        match self {
            Self::Top => "at the top level".into(),
            Self::Worktree => "in [worktree]".into(),
            Self::FileSync => "in [worktree.file_sync]".into(),
            Self::Scope => "in [scope]".into(),
            Self::Profile(name) => format!("in {}", profile_header(name)),
        }
    }
}

/// The header of a profile, with quotes where TOML wants them.
fn profile_header(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-<>".contains(c);
    if !name.is_empty() && name.chars().all(bare) {
        format!("[scope.{name}]")
    } else {
        format!("[scope.{}]", toml_string(name))
    }
}

/// A line that is right for the key, for the help of a value that is not.
pub(super) fn example(key: &str) -> &'static str {
    match key {
        "schema_version" => "schema_version = \"1.0\"",
        "worktree" => "[worktree]",
        "scope" => "[scope.default]",
        "base" => "base = \"main\"",
        "branch_prefix" => "branch_prefix = \"agentwt/\"",
        "strategy" => "strategy = \"worktree\"",
        "client" => "client = \"claude-code\"",
        "on_violation" => "on_violation = \"report\"",
        "file_sync" => "[worktree.file_sync]",
        "enabled" => "enabled = true",
        "patterns" => "patterns = [\".env*\"]",
        "optional_patterns" => "optional_patterns = [\".env.local\"]",
        "max_file_size_mb" => "max_file_size_mb = 100",
        "max_total_size_mb" => "max_total_size_mb = 500",
        "read" => "read = [\"**\"]",
        "write" => "write = [\"/src/**\"]",
        "exclude" => "exclude = [\"**/*.pem\"]",
        _ => "[scope.docs]",
    }
}

/// What to write where `[scope]` has something else than profiles.
pub(super) fn profile_help(key: &str) -> String {
    if Section::Profile("").keys().contains(&key) {
        format!("`{key}` belongs in a profile: write `[scope.default]` above it")
    } else {
        format!("write `{}` and its lists below it", profile_header(key))
    }
}
