//! `git agentwt path`: where a worktree is.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::error::Error;
use crate::facts::Known;

/// Answers with the directory of a worktree.
///
/// # Errors
/// Fails when there is no worktree of this name.
pub fn run(session: &Session, name: &str) -> Result<Outcome<Utf8PathBuf>, Error> {
    let repository = session.repository()?;
    Ok(Outcome::done(
        Known::of(&repository, Some(name))?.record.path,
    ))
}
