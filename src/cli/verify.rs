//! Defines `verify`: the ground truth held against the scope.

use clap::{ArgGroup, Args};

use super::{ScopeLists, VerdictOutput};
use crate::verify::{Layers, Strictness};

/// Compare what changed with the scope
///
/// Every change since the base is held against the scope that was recorded when the worktree was
/// made, and the worktree, its hooks and its branch against what was recorded of them. Each
/// violation names the path, what happened, where it was seen, and the rule that forbids it.
///
/// A notice is worth knowing and does not change the exit status, unless --strict is given.
#[derive(Args, Debug)]
#[command(after_long_help = VERIFY_EXAMPLES, mut_group("ScopeLists", of_a_range_only))]
pub struct Verify {
    /// The worktrees [default: the one you stand in]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Verify every worktree of this repository
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Verify a range of commits instead of a worktree
    ///
    /// `<A>..<B>` is what B changed since it left A; `<A>..` ends at HEAD. It needs no worktree and
    /// no record: the scope is that of the config which A has, never B's own.
    #[arg(long, value_name = "A..B", conflicts_with_all = ["names", "all"])]
    pub range: Option<String>,
    /// Look only at what would be merged
    ///
    /// Leaves out the second layer, the history: what commits touched and put back.
    #[arg(long)]
    pub net: bool,
    /// Count notices as violations
    #[arg(long)]
    pub strict: bool,
    /// Take the shared hooks and settings as they are now for right
    ///
    /// Hooks, the repository's configuration and git's own files of rules are recorded as they
    /// are at `add`, and every later change is a violation, as nothing tells whose it was. This
    /// records them anew: after a change of your own, once you have looked at it.
    #[arg(long)]
    pub accept_shared: bool,
    /// The scope of a range: the profile, and the lists that replace its own or are added to them.
    #[command(flatten)]
    pub lists: ScopeLists,
    /// How to print the answer.
    #[command(flatten)]
    pub output: VerdictOutput,
}

impl Verify {
    /// What notices count as.
    #[must_use]
    pub const fn strictness(&self) -> Strictness {
        if self.strict {
            Strictness::Strict
        } else {
            Strictness::Normal
        }
    }

    /// Which layers are looked at.
    #[must_use]
    pub const fn layers(&self) -> Layers {
        if self.net { Layers::Net } else { Layers::All }
    }
}

/// The scope of a worktree was frozen when it was made.
fn of_a_range_only(group: ArgGroup) -> ArgGroup {
    let group = group.requires("range");
    group.conflicts_with_all(["names", "all"])
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  The worktree you stand in:
      git agentwt verify

  Merge only what stayed in scope:
      git agentwt verify task-5 && git merge agentwt/task-5

  All of them, for a program:
      git agentwt verify --all --json

  In CI, without any worktree, as annotations of the pull request:
      git agentwt verify --range origin/main..HEAD --scope docs --format github";
