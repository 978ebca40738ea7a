//! `git agentwt statusline`: one short line, from what is recorded.

use clap::Args;

use crate::commands::Session;
use crate::words::error::Error;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Print one short line on a worktree, for prompts and status lines
///
/// Prints the name, the stored verdict, and the number of commits since the base: `task-5 ok +2`.
/// Prints nothing outside of a worktree. No file of the worktree is read.
#[derive(Args, Debug)]
pub struct Statusline {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
}

/// Computes the line; `None` outside of a worktree.
///
/// # Errors
/// Fails when the named worktree does not exist.
pub fn run(session: &Session, name: Option<&str>) -> Result<Option<String>, Error> {
    let found = find(session, name);
    if found.is_err() && name.is_none() {
        return Ok(None);
    }
    let (repository, worktree) = found?;
    let record = &worktree.record;
    let verdict = match worktree.last_verification().map(|last| last.violations) {
        None => "not verified".to_owned(),
        Some(0) => "ok".to_owned(),
        Some(number) => format!("NO {number}"),
    };
    let ahead = match commits_ahead(&repository, &worktree) {
        None | Some(0) => String::new(),
        Some(number) => format!(" +{number}"),
    };
    Ok(Some(format!("{} {verdict}{ahead}", record.name)))
}

fn find(session: &Session, name: Option<&str>) -> Result<(Repository, Worktree), Error> {
    let repository = session.repository()?;
    let worktree = Worktree::of(&repository, name)?;
    Ok((repository, worktree))
}

/// The number of commits of the branch since the base; `None` if git cannot tell.
fn commits_ahead(repository: &Repository, worktree: &Worktree) -> Option<u64> {
    let record = &worktree.record;
    let git = worktree.git(repository);
    let head = git.rev_parse_commit(&record.branch.full_ref()).ok()??;
    git.rev_list_count(&record.base.commit, &head).ok()
}
