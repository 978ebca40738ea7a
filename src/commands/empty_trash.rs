//! `git agentwt empty-trash`: what `remove` and `prune` leave to the background.

use super::{Outcome, Session};
use crate::error::Error;
use crate::process;
use crate::worktree::trash;

/// Leaves the terminal, and deletes what waits to be deleted below a root.
///
/// # Errors
/// Fails when the directory of worktrees cannot be opened.
pub fn run(session: &Session, options: &crate::cli::EmptyTrash) -> Result<Outcome<()>, Error> {
    process::leave_session();
    // nobody listens: the next removal reports what cannot be deleted
    let repository = session.repository_at(&options.root)?;
    trash::empty_now(&repository)?;
    Ok(Outcome::done(()))
}
