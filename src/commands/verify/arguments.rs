//! Defines the arguments of `git agentwt verify`.

use clap::ArgGroup;
use clap::Args;

use crate::arguments::output::{ListOutput, with_review_forms};
use crate::arguments::scope::ScopeLists;
use crate::judge::finding::VerifyOptions;

/// Compare what changed with the scope
///
/// Compares every change since the base with the scope that `git agentwt add` recorded, and the
/// worktree, its hooks and its branch with their record. Each violation names the path, the kind of
/// change, where it was seen, and the rule that forbids it.
///
/// A notice does not change the exit status, unless --strict is given.
#[derive(Args, Debug)]
#[command(
    mut_arg("format", |format| with_review_forms(format)),
    mut_group("ScopeLists", of_a_range_only)
)]
pub struct Verify {
    /// The worktrees [default: the current worktree]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Verify every worktree of this repository
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Verify a range of commits instead of a worktree
    ///
    /// `<A>..<B>` stands for the changes of B since it left A; `<A>..` ends at HEAD. This needs
    /// neither a worktree nor a record: the scope comes from the config in A, never from the config
    /// in B.
    #[arg(long, value_name = "A..B", conflicts_with_all = ["names", "all"])]
    pub range: Option<String>,
    /// Check only the changes that a merge would bring
    ///
    /// Leaves out the history: changes that one commit made and a later commit reverted.
    #[arg(long)]
    pub net: bool,
    /// Count notices as violations
    #[arg(long)]
    pub strict: bool,
    /// The scope of a range: the profile, and the lists that replace or extend its lists.
    #[command(flatten)]
    pub lists: ScopeLists,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

impl Verify {
    /// How findings are judged.
    pub const fn verify_options(&self) -> VerifyOptions {
        VerifyOptions {
            net: self.net,
            strict: self.strict,
        }
    }
}

/// The scope of a worktree does not change after `add`.
fn of_a_range_only(group: ArgGroup) -> ArgGroup {
    let group = group.requires("range");
    group.conflicts_with_all(["names", "all"])
}
