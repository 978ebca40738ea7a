//! `git agentwt empty-trash`: what `remove` leaves to the background.

use crate::apply::trash_bin;
use crate::disk::trash_bin::Patience;
use crate::error::Error;
use crate::process;

/// Leaves the terminal and deletes what is in the trash of a root.
///
/// # Errors
/// Fails when the trash cannot be opened.
pub fn run(options: &crate::cli::EmptyTrash) -> Result<super::Outcome<()>, Error> {
    process::leave_session();
    // nobody listens: what cannot be deleted is told by whoever empties it next
    trash_bin::empty(&options.root, Patience::Endless)?;
    Ok(super::Outcome::done(()))
}
