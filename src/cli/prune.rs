//! Defines `prune`.

use clap::{ArgAction, Args};

use super::ListOutput;

/// Remove what is left over, and worktrees that are done, never losing work
///
/// Without a flag that selects worktrees only remains go: what killed commands left, records and
/// private git directories whose worktree is gone, dead locks, what waits to be deleted, and what
/// was saved longer ago than it is kept. What `git agentwt remove` would refuse is kept, with its
/// reason; so is everything of which nobody can say that it is ours.
#[derive(Args, Debug, Default)]
#[command(after_long_help = EXAMPLES)]
pub struct Prune {
    /// Also worktrees whose commits are all merged or pushed
    ///
    /// Merged by their commits or by what they change, as `git agentwt remove` tells. One in which
    /// nothing was committed yet is not.
    #[arg(long)]
    pub merged: bool,
    /// Also worktrees whose owner has ended
    ///
    /// The owner's process ran on this host and does not any more. One whose owner named no
    /// process, or is on another host, is kept.
    #[arg(long)]
    pub dead_owners: bool,
    /// Only worktrees in which nothing happened for so long: 90m, 12h, 7d, 2w
    ///
    /// What counts is when the worktree was made, when git last wrote its index, HEAD or branch,
    /// the last verification and the last sync. Alone it selects by itself; with --merged or
    /// --dead-owners it narrows them.
    #[arg(long, value_name = "age", value_parser = age)]
    pub older_than: Option<u64>,
    /// Remove selected worktrees with their work, after saving that; twice, also while in use
    ///
    /// As `git agentwt remove --force`: `git agentwt remove --undo <name>` brings one back.
    #[arg(short, long, action = ArgAction::Count)]
    pub force: u8,
    /// Print what would be removed, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Parses an age into seconds.
fn age(text: &str) -> Result<u64, String> {
    const WANTED: &str = "write a whole number and its unit: s, m, h, d or w (90m, 12h, 7d, 2w)";
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        Some((at, 'd')) => (&text[..at], 86_400),
        Some((at, 'w')) => (&text[..at], 7 * 86_400),
        Some(_) | None => return Err(WANTED.to_owned()),
    };
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_plain.then(|| number.parse::<u64>().ok()).flatten();
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| WANTED.to_owned())
}

const EXAMPLES: &str = "\
Examples:
  What is left over, and what would go:
      git agentwt prune -n
      git agentwt prune

  Worktrees that are merged and in which nothing happened for a week:
      git agentwt prune --merged --older-than 7d

  After a scheduler has died; what is not committed is saved first:
      git agentwt prune --dead-owners --force

  That was wrong:
      cd \"$(git agentwt remove --undo task-6)\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("7d"), Ok(604_800));
        assert_eq!(age("2w"), age("14d"));
        assert_eq!((age("90m"), age("0s")), (Ok(5400), Ok(0)));
        for wrong in [
            "",
            "7",
            "d",
            "-1d",
            "1.5h",
            "7 d",
            "99999999999999999999d",
            "7é",
        ] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
