//! `git agentwt statusline`: one short line, from what is recorded.

use clap::Args;

use crate::commands::Session;
use crate::words::error::Error;
use crate::worktree::loaded::Worktree;

/// Print one short line on a worktree, for prompts and status lines
///
/// Prints the name, the stored verdict, and the number of commits since the base: `task-5 ok +2`. Prints
/// nothing outside of a worktree. No file of the worktree is read.
#[derive(Args, Debug)]
pub struct Statusline {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
}

/// Computes the line; none outside of a worktree.
///
/// # Errors
/// Fails when the named worktree does not exist.
pub fn run(session: &Session, name: Option<&str>) -> Result<Option<String>, Error> {
    let known = session.repository().and_then(|repository| {
        let known = Worktree::of(&repository, name)?;
        Ok((repository, known))
    });
    let (repository, known) = match known {
        Err(_) if name.is_none() => return Ok(None),
        known => known?,
    };
    let record = &known.record;
    let verdict = match known.last_verification().map(|last| last.violations) {
        None => "not verified".to_owned(),
        Some(0) => "ok".to_owned(),
        Some(number) => format!("NO {number}"),
    };
    let git = known.git(&repository);
    let head = git.rev_parse_commit(&record.branch.full_ref());
    let head = head.ok().flatten();
    let ahead = head.and_then(|head| git.rev_list_count(&record.base.commit, &head).ok());
    let ahead = ahead.filter(|ahead| *ahead > 0);
    let ahead = ahead.map_or_else(String::new, |ahead| format!(" +{ahead}"));
    Ok(Some(format!("{} {verdict}{ahead}", record.name)))
}
