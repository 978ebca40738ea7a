//! Tells whether a worktree was removed while it was looked at.
//!
//! Looking takes no lock, so that a long look delays no process. What it found, or could not find,
//! in what is removed in that moment says nothing: the record is read again then.

use crate::actions::trash::enter::pending_removal;
use crate::disk::files;
use crate::record::worktree::Record;
use crate::words::error::Error;
use crate::words::toml_file::from_text;
use crate::worktree::loaded::{Worktree, unknown};
use crate::worktree::repository::Repository;

impl Worktree {
    /// True if it was removed since it was loaded, or just is. One whose removal was interrupted is
    /// still there, and so is one whose directory stands.
    pub fn is_gone(&self, repository: &Repository) -> bool {
        // the record goes last: it may have gone while the rest was looked at
        !self.is_recorded() || self.is_being_removed(repository) || !self.is_recorded()
    }

    fn is_being_removed(&self, repository: &Repository) -> bool {
        !files::exists(&self.record.path)
            && pending_removal(self).is_some()
            && repository.home().name_lock(&self.record.name).is_held()
    }

    /// True if the record is there, and that of this very worktree. One that cannot be read is;
    /// so is one that was taken away alone, as a removal takes the directory first.
    fn is_recorded(&self) -> bool {
        let text = match files::read(&self.dir.join("record.toml")) {
            Ok(None) => return files::exists(&self.record.path),
            Ok(Some(bytes)) => String::from_utf8(bytes).ok(),
            Err(_) => None,
        };
        match text.and_then(|text| from_text::<Record>(&text).ok()) {
            Some(record) => record.created == self.record.created,
            None => true,
        }
    }

    /// What was found, unless it was removed meanwhile.
    ///
    /// # Errors
    /// Fails as what was found does, or when there is no such worktree any more.
    pub fn unless_gone<T>(
        &self,
        repository: &Repository,
        found: Result<T, Error>,
    ) -> Result<T, Error> {
        if self.is_gone(repository) {
            let name = self.record.name.to_string();
            return Err(unknown(repository.home(), name));
        }
        found
    }
}
