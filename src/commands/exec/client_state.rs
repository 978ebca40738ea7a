//! Gives a client in a fence a directory in the place of its own, and brings back what may come
//! back of it.
//!
//! The directory is in the record of the worktree: it stays for the next run there, and goes with
//! the worktree. What the user's directory has is made new in it before each run. No client of the
//! user reads it.
//!
//! The command may write all of it, so nothing is written, and nothing is read afterwards, through
//! a link of its.

use camino::{Utf8Path, Utf8PathBuf};

use crate::client::state::{Versions, with_last};
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::writable::make_directories_writable;
use crate::fence::presets::{Settings, StandIn};
use crate::inventory::manifest::Stat;
use crate::worktree::loaded::Worktree;

/// The directory in the record.
const STATE: &str = "state";
/// A larger file is not copied.
const LARGEST: u64 = 1 << 20;
/// No larger file of settings comes back.
const LARGEST_SETTINGS: u64 = 64 << 20;

/// The directory that a client gets in the place of its own.
pub(super) struct ClientState {
    stand_in: StandIn,
    /// What the variable names; the command may write all of it.
    pub place: Utf8PathBuf,
    /// The directory of the client, that or below it.
    inner: Utf8PathBuf,
}

/// The user's file of settings, as it was copied for the command.
pub(super) struct CopiedSettings {
    settings: Option<Vec<u8>>,
}

impl ClientState {
    /// The directory of a client in a worktree; it need not exist.
    pub fn new(worktree: &Worktree, stand_in: StandIn) -> Self {
        let place = worktree.dir.join(STATE).join(stand_in.program);
        let inner = place.iter().chain(stand_in.below.iter()).collect();
        Self {
            stand_in,
            place,
            inner,
        }
    }

    /// The directories of all clients in a worktree.
    pub fn of_all(worktree: &Worktree, stand_ins: Vec<StandIn>) -> Vec<Self> {
        let mut states = Vec::new();
        for stand_in in stand_ins {
            states.push(Self::new(worktree, stand_in));
        }
        states
    }

    /// The variable by which the client finds it.
    pub fn variable(&self) -> (&'static str, &Utf8Path) {
        (self.stand_in.variable, &self.place)
    }

    /// Makes the directory new for a run that starts in `start`.
    ///
    /// 1. What is around the client's own directory is linked to.
    /// 2. Files of a run that was killed are brought back, and its settings are kept.
    /// 3. The client's directory is emptied, but for what is its own, and filled again.
    /// 4. The settings are copied.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn prepare(&self, start: &Utf8Path) -> Result<CopiedSettings, DiskError> {
        // 1
        make_plain(&self.place)?;
        if let Some(around) = self.stand_in.around() {
            self.link_around(around)?;
        }
        // 2
        make_plain(&self.inner)?;
        self.bring_back_files()?;
        let settings = self.stand_in.settings.as_ref();
        let last_copy = settings.and_then(|settings| {
            let copy = self.copy_of(settings);
            plain(&copy, LARGEST_SETTINGS)
        });
        // 3
        clear(&self.inner, &|name| self.stand_in.is_own(name))?;
        self.fill()?;
        self.share()?;
        // 4
        let mut copied = CopiedSettings { settings: None };
        if let Some(settings) = settings {
            copied.settings = self.copy_settings(settings, last_copy, start)?;
        }
        Ok(copied)
    }

    /// Links to everything beside the client's own directory.
    fn link_around(&self, around: &Utf8Path) -> Result<(), DiskError> {
        let own = self.stand_in.below.iter().next();
        clear(&self.place, &|name| Some(name) == own)?;
        for name in files::names(around)? {
            if Some(name.as_str()) != own {
                files::write_link(&self.place.join(&name), &around.join(&name))?;
            }
        }
        Ok(())
    }

    /// Brings back to the user what the command changed in it: new tokens, and the keys of settings
    /// that may come back.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn bring_back(&self, copied: &CopiedSettings) -> Result<(), DiskError> {
        // the command can have replaced the directory by a link
        if !is_plain_directory(&self.inner) {
            return Ok(());
        }
        self.bring_back_files()?;
        let Some(settings) = &self.stand_in.settings else {
            return Ok(());
        };
        let Some(after) = plain(&self.copy_of(settings), LARGEST_SETTINGS) else {
            return Ok(());
        };
        let now = files::read(&settings.file)?;
        let versions = Versions {
            before: copied.settings.as_deref(),
            after: &after,
            now: now.as_deref(),
        };
        let Some(changed) = versions.brought_back(&settings.keys) else {
            return Ok(());
        };
        write_back(&settings.file, &changed)
    }

    /// The copy of a file of settings.
    fn copy_of(&self, settings: &Settings) -> Utf8PathBuf {
        self.inner
            .join(settings.file.file_name().unwrap_or_default())
    }

    /// Links to what the user's directory has, and copies of its small files, which a client may
    /// lock or replace.
    fn fill(&self) -> Result<(), DiskError> {
        let directory = &self.stand_in.directory;
        let shared = &self.stand_in.shared;
        for name in files::names(directory)? {
            let is_shared = shared
                .iter()
                .any(|path| path.split('/').next() == Some(&*name));
            if is_shared || self.stand_in.is_own(&name) {
                continue;
            }
            let from = directory.join(&name);
            let to = self.inner.join(&name);
            match plain(&from, LARGEST) {
                Some(bytes) if !is_script(&from) => files::write_beside(&to, &bytes)?,
                Some(_) | None => files::write_link(&to, &from)?,
            }
        }
        Ok(())
    }

    /// Links to what the client may write in the user's directory.
    fn share(&self) -> Result<(), DiskError> {
        for name in &self.stand_in.shared {
            let name = name.trim_matches('/');
            let from = self.stand_in.directory.join(name);
            let to = self.inner.join(name);
            if let Some(above) = to.parent().filter(|above| **above != self.inner) {
                make_plain(above)?;
            }
            let is_free = files::is_link(&to) || !files::exists(&to);
            if files::exists(&from) && is_free {
                files::write_link(&to, &from)?;
            }
        }
        Ok(())
    }

    /// Copies a file of settings, and adds what the last copy says of the directory in which the
    /// command starts. Returns the copy; `None` if the user has no settings.
    fn copy_settings(
        &self,
        settings: &Settings,
        last: Option<Vec<u8>>,
        start: &Utf8Path,
    ) -> Result<Option<Vec<u8>>, DiskError> {
        let Some(mut text) = files::read(&settings.file)? else {
            return Ok(None);
        };
        if let Some(last) = last
            && let Some(merged) = with_last(&text, &last, start.as_str())
        {
            text = merged;
        }
        files::write_beside(&self.copy_of(settings), &text)?;
        Ok(Some(text))
    }

    /// Copies files that the client shares with the user (a token) to the user, if they are newer.
    fn bring_back_files(&self) -> Result<(), DiskError> {
        if !files::is_directory(&self.stand_in.directory) {
            return Ok(());
        }
        for name in &self.stand_in.shared {
            let from = self.inner.join(name);
            let to = self.stand_in.directory.join(name);
            if name.ends_with('/') || write_time(&to) >= write_time(&from) {
                continue;
            }
            if let Some(bytes) = plain(&from, LARGEST_SETTINGS) {
                write_back(&to, &bytes)?;
            }
        }
        Ok(())
    }
}

/// When a file was last written, in nanoseconds since the epoch; `None` if it is not there.
fn write_time(file: &Utf8Path) -> Option<i64> {
    files::stat(file).map(|stat| stat.mtime)
}

/// Replaces a file of the user, which may be a link of the user.
fn write_back(file: &Utf8Path, bytes: &[u8]) -> Result<(), DiskError> {
    let at = files::canonical(file).unwrap_or_else(|_| file.to_owned());
    if files::exists(&at) {
        files::write(&at, bytes)
    } else {
        files::write_private(&at, bytes)
    }
}

/// The bytes of a file; `None` if it is larger, or is a link.
fn plain(file: &Utf8Path, largest: u64) -> Option<Vec<u8>> {
    let stat = files::stat(file)?;
    if !stat.is_file() || stat.size > largest {
        return None;
    }
    files::read(file).ok()?
}

/// True for a file, no link, that can be run.
fn is_script(file: &Utf8Path) -> bool {
    files::stat(file).is_some_and(|stat| stat.is_file() && stat.mode & 0o111 != 0)
}

fn is_plain_directory(path: &Utf8Path) -> bool {
    files::stat(path).is_some_and(|stat| stat.is_directory())
}

/// Creates a directory; a link or file at its path is removed.
fn make_plain(directory: &Utf8Path) -> Result<(), DiskError> {
    if !is_plain_directory(directory) {
        files::remove_file(directory)?;
    }
    let is_closed = |stat: Stat| stat.mode & 0o700 != 0o700;
    if files::stat(directory).is_some_and(is_closed) {
        // an earlier command has closed it
        make_directories_writable(directory)?;
    }
    files::create_private_directory(directory)
}

/// Removes everything in a directory that is not kept, and every link.
fn clear(directory: &Utf8Path, is_kept: &dyn Fn(&str) -> bool) -> Result<(), DiskError> {
    for name in files::names(directory)? {
        let path = directory.join(&name);
        if is_plain_directory(&path) {
            if !is_kept(&name) {
                files::remove_directory(&path)?;
            }
        } else if !is_kept(&name) || files::is_link(&path) {
            files::remove_file(&path)?;
        }
    }
    Ok(())
}
