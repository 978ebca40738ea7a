//! Holds [`Settled`]: what was moved in, and how it is taken back.

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{CWD, Mode, openat};
use rustix::io::Errno;

use super::Staged;
use super::remove::{Expected, Way, remove_placed};
use super::rename::{Between, move_new};
use super::stage::{DIRECTORY, drop_staging};
use crate::disk::directory_modes::DirectoryModes;
use crate::path::RepoPath;

/// Represents everything that was moved in. Until it is [done](Settled::done), what was replaced
/// is in the staging directory.
#[derive(Debug)]
#[must_use = "what was replaced is still there"]
pub struct Settled {
    /// What was placed, with the stat data that it has there, sorted by path. A directory that
    /// was there before is not in it.
    pub staged: Vec<Staged>,
    /// Directories that were made for it and that nobody asked for, sorted by path.
    pub made: Vec<Staged>,
    pub(super) staged_in: Utf8PathBuf,
    pub(super) destination: Utf8PathBuf,
    pub(super) replaced: Vec<RepoPath>,
    /// Read-only directories that were opened for it, with their permissions.
    pub(super) closed: DirectoryModes,
    /// Why some of them could not be closed again.
    pub(super) not_closed: Vec<String>,
}

impl Settled {
    /// Takes everything back: removes what was moved in and is still the same, then the
    /// directories that were made and are empty, and puts back what was replaced. Returns what
    /// could not be done, a sentence each.
    #[must_use = "they are warnings for the user"]
    pub fn take_back(self) -> Vec<String> {
        self.closed.open(&self.destination);
        let mut warnings = self.move_back();
        warnings.extend(self.closed.close(&self.destination));
        warnings
    }

    /// Closes the directories again.
    pub(super) fn closing(mut self) -> Self {
        self.not_closed = self.closed.close(&self.destination);
        self
    }

    fn move_back(&self) -> Vec<String> {
        let ours = self.staged.iter().chain(&self.made);
        let expected: Vec<Expected<'_>> = ours
            .map(|staged| Expected {
                path: &staged.path,
                kind: staged.kind,
                stat: staged.stat,
            })
            .collect();
        let removed = match remove_placed(&self.destination, &expected) {
            Ok(removed) => removed,
            Err(error) => return vec![error.to_string()],
        };
        let stayed = removed.stayed.into_iter();
        let mut warnings: Vec<String> = stayed
            .map(|(path, reason)| format!("cannot remove {path} again: {reason}"))
            .collect();
        let mut all_back = true;
        for path in self.replaced.iter().rev() {
            if let Err(error) = put_back(&self.staged_in, &self.destination, path) {
                all_back = false;
                let error = std::io::Error::from(error);
                let held = self.staged_in.as_str();
                warnings.push(format!(
                    "cannot put {path} back: {error}; what was there is {held}/{path}"
                ));
            }
        }
        if all_back {
            warnings.extend(drop_staging(&self.staged_in));
        }
        warnings
    }

    /// Forgets what was replaced, and removes the staging directory. Returns what could not be
    /// done, a sentence each.
    #[must_use = "they are warnings for the user"]
    pub fn done(self) -> Vec<String> {
        let mut warnings = self.not_closed;
        warnings.extend(drop_staging(&self.staged_in));
        warnings
    }
}

/// Moves what was replaced from where ours was staged to where it was.
fn put_back(staged_in: &Utf8Path, destination: &Utf8Path, path: &RepoPath) -> Result<(), Errno> {
    let open = |root: &Utf8Path| openat(CWD, root.as_std_path(), DIRECTORY, Mode::empty());
    let (mut from, mut to) = (Way::new(open(staged_in)?), Way::new(open(destination)?));
    let between = Between {
        from: from.to(path)?,
        to: to.to(path)?,
    };
    move_new(between, path.file_name())
}
