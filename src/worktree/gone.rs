//! Tells a worktree that was removed while it was looked at from one that is damaged.
//!
//! Looking takes no lock, so that a long look holds up nobody. What it found, or could not find, in
//! what somebody takes away in that moment says nothing: the record is read again then.

use std::time::{Duration, Instant};

use crate::disk::files;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;
use crate::worktree::trash::begun;
use crate::worktree::{Record, from_text};
use crate::worktree::{Worktree, unknown};

/// How long a removal that is under way is waited for, to be said to be one.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked at.
const PAUSE: Duration = Duration::from_millis(20);

impl Worktree {
    /// Whether it was removed since it was loaded. One whose removal was interrupted is still there.
    pub fn is_gone(&self, repository: &Repository) -> bool {
        let lock = repository.home().name_lock(&self.record.name).path;
        let until = Instant::now() + PATIENCE;
        loop {
            if !self.is_recorded() {
                return true;
            }
            let is_going = begun(self).is_some() && files::exists(&lock);
            if !is_going || Instant::now() > until {
                // what was going a moment ago may be gone
                return !self.is_recorded();
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether the record is there, and that of this very worktree. One that cannot be read is;
    /// so is one that somebody took away alone, as a removal takes the directory first.
    fn is_recorded(&self) -> bool {
        let Ok(bytes) = files::read(&self.dir.join("record.toml")) else {
            return true;
        };
        let Some(bytes) = bytes else {
            return files::exists(&self.record.path);
        };
        let record = std::str::from_utf8(&bytes).ok();
        let record = record.and_then(|text| from_text::<Record>(text).ok());
        record.is_none_or(|record| record.created == self.record.created)
    }

    /// What was found, unless it was removed meanwhile.
    ///
    /// # Errors
    /// Fails as what was found does, or when there is no such worktree any more.
    pub fn unless_gone<T, E: From<WorktreeError>>(
        &self,
        repository: &Repository,
        found: Result<T, E>,
    ) -> Result<T, E> {
        if self.is_gone(repository) {
            let name = self.record.name.to_string();
            return Err(unknown(repository.home(), name).into());
        }
        found
    }
}
