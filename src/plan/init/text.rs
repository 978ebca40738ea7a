//! Writes the first config: every key is there, explained, and only the write list is set.

use std::fmt::Write as _;

use super::{InitFacts, Presence, Proposal, Proposed};
use crate::config::{
    Choice, Client, DEFAULT_BRANCH_PREFIX, FileSyncConfig, OnViolation, SCHEMA_VERSION, Strategy,
    toml_string,
};
use crate::path::escape_for_terminal;

/// The text of `.agentwt/config.toml`.
pub(super) fn config(facts: &InitFacts) -> String {
    let proposal = Proposal::of(facts);
    [
        head(),
        worktree(),
        file_sync(facts.worktreeinclude),
        default_scope(&proposal),
        second_scope(&proposal),
    ]
    .join("\n")
}

fn head() -> String {
    format!(
        r#"# What coding agents may see and edit in the worktrees of `git agentwt add`.
# Commit this file. Personal settings go into `git config agentwt.<key>` and one-off
# ones into flags; both beat this file. A mistake in it is shown with its line.
#
# A `#` with a space after it explains; a `#` without one stands before an example:
# remove it to use the line.

# The version of this format.
schema_version = "{SCHEMA_VERSION}"
"#
    )
}

fn worktree() -> String {
    let strategy = Strategy::default().as_str();
    let on_violation = OnViolation::default().as_str();
    let client = Client::ALL[0].as_str();
    let clients: Vec<_> = Client::ALL
        .iter()
        .filter(|c| c.program().is_some())
        .map(|c| toml_string(c.as_str()))
        .collect();
    let clients = clients.join(", ");
    format!(
        r#"[worktree]
# What a worktree starts from: a branch, tag or commit.
# Default: the branch that is checked out in the main worktree.
#base = "main"

# What stands before a worktree's name in its branch: task-5 works on
# the branch {DEFAULT_BRANCH_PREFIX}task-5. May be empty.
#branch_prefix = "{DEFAULT_BRANCH_PREFIX}"

# "worktree" is a linked worktree: quick, and it shares the objects and refs.
# "clone" is a full, separate repository at the same place.
#strategy = "{strategy}"

# The agent program; it gets its context where it reads that by itself. One of
# {clients}.
#client = "{client}"

# What the hooks do when a commit leaves the scope: "report" it, or "block" it.
#on_violation = "{on_violation}"
"#
    )
}

fn file_sync(worktreeinclude: Presence) -> String {
    match worktreeinclude {
        Presence::Present => INCLUDED.to_owned(),
        Presence::Absent => file_sync_section(),
    }
}

/// Stands in place of the section in a repository that names its files already.
const INCLUDED: &str = "\
# Untracked files (.env and the like): this repository has a .worktreeinclude, and each new
# worktree gets a copy of the ignored files that it names. Never of one that the scope
# excludes. A [worktree.file_sync] here can add patterns and limits: git-agentwt-config(5).
";

fn file_sync_section() -> String {
    let FileSyncConfig {
        enabled,
        max_file_size_mb,
        max_total_size_mb,
        ..
    } = FileSyncConfig::default();
    format!(
        r#"# Untracked files (.env and the like) that each new worktree gets a copy of. Never
# tracked ones, and never one that the scope excludes.
[worktree.file_sync]
# `false` copies nothing.
#enabled = {enabled}

# Globs relative to the root: ".env*" is at the root, "**/.env" anywhere. A pattern
# that matches nothing is an error, as it may be a typo.
#patterns = [".env*"]

# The same, but these may match nothing.
#optional_patterns = ["config/local.json"]

# The most that one file, and all of them together, may have (1 MB is 1,048,576 bytes).
#max_file_size_mb = {max_file_size_mb}
#max_total_size_mb = {max_total_size_mb}
"#
    )
}

fn default_scope(proposal: &Proposal) -> String {
    let because = match proposal.because {
        Proposed::KnownLayout => "# Proposed from the usual names of source directories.\n",
        Proposed::EveryDirectory => {
            "# No directory has a usual name of sources, so every one is proposed: remove\n\
             # those that tasks should not edit.\n"
        }
        Proposed::Root => {
            "# There is no directory to propose, so this is everything: narrow it when the\n\
             # repository has grown.\n"
        }
    };
    let mut write = String::new();
    for name in &proposal.unwritable {
        let name = escape_for_terminal(name);
        let _ = writeln!(write, "    # no pattern can be written here for {name}");
    }
    for pattern in &proposal.write {
        let _ = writeln!(write, "    {},", toml_string(pattern));
    }
    if !proposal.manifests.is_empty() {
        write.push_str("    # For tasks that change dependencies or the build:\n");
    }
    for pattern in &proposal.manifests {
        let _ = writeln!(write, "    #{},", toml_string(pattern));
    }
    format!(
        r#"# A scope is three lists of gitignore patterns, relative to the root: "/src/**" is all
# below src, "*.md" is at any depth. `exclude` beats `write` beats `read`, whatever the
# order; `!` is not accepted; what no list matches is absent.
#
# This one is for `git agentwt add <name>`.
[scope.default]
# What the agent may see. Default: everything.
#read = ["**"]

# What it may edit. An empty list is a read-only task.
{because}write = [
{write}]

# What is not in the worktree at all, not even to be read.
#exclude = ["**/secrets/**", "**/*.pem", "**/*.key"]
"#
    )
}

fn second_scope(proposal: &Proposal) -> String {
    let documents = toml_string(&format!("/{}/**", proposal.documents));
    format!(
        r#"# More scopes, each with a name of its own: `git agentwt add <name> --scope docs`.
#[scope.docs]
#write = [{documents}, "/*.md"]
"#
    )
}
