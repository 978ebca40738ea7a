//! Checks the files of a new worktree out: through gix, or by git where gix cannot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bstr::BString;
use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::follower::Follower;
use crate::actions::scope_edit::{Classified, write_bits};
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::locked_file::LockedFile;
use crate::disk::mode::set_all_bits;
use crate::disk::open::{Opened, open_below};
use crate::git::checkout::{CheckedOut, Creation, NewWorktree};
use crate::git::conversions::read_conversions;
use crate::git::process::Git;
use crate::inventory::manifest::{OnDisk, Stat};
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::repository::Repository;

/// The hooks that git runs in a checkout, beside post-checkout (githooks(5)).
const HOOKS: [&str; 2] = ["post-index-change", "reference-transaction"];

/// A worktree that git has registered and that has no file yet.
pub(super) struct EmptyWorktree<'a> {
    pub follower: Follower<'a>,
    /// The repository, as the worktree sees it.
    pub own: &'a Repository,
    /// Git, on the worktree by its private git directory.
    pub git: &'a Git,
    pub admin_dir: &'a Utf8Path,
    pub path: &'a Utf8Path,
    pub classified: &'a Classified<'a>,
}

/// The settings of the worktree, and the directory of the user's hooks.
pub(super) struct UserHooks {
    settings: Vec<(String, BString)>,
    directory: Utf8PathBuf,
}

/// Whether the bytes of a file are those of its blob.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileBytes {
    /// They are.
    AsInBlob,
    /// A filter or an end of line may have changed them.
    Converted,
}

/// The files that were written; both lists have an item for each entry that was listed.
struct WrittenFiles {
    /// The stat data; none where nothing is on disk.
    stats: Vec<Option<Stat>>,
    /// Whether the bytes of each may differ from those of its blob.
    converted: Vec<bool>,
}

impl EmptyWorktree<'_> {
    /// Creates the files with the write bits that the scope says, and writes the index. Returns
    /// what is on disk for each entry.
    ///
    /// # Errors
    /// Fails when an object, a filter or the disk does, or a signal came; what was created stays.
    pub fn check_out(
        &self,
        hooks: &UserHooks,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Option<OnDisk>>, Error> {
        let written = match self.needs_git(hooks)? {
            Some(reason) => self.reset_by_git(&reason)?,
            None => match self.create_files()? {
                Creation::Done(files) => self.write_index(*files, notes)?,
                Creation::NeedsGit(reason) => self.reset_by_git(reason)?,
            },
        };
        let entries = &self.classified.listing.entries;
        let mut disk = Vec::with_capacity(entries.len());
        for (number, (path, entry)) in entries.iter().enumerate() {
            let content = if written.converted[number] {
                FileBytes::Converted
            } else {
                FileBytes::AsInBlob
            };
            disk.push(match written.stats[number] {
                Some(stat) => Some(self.on_disk(path, *entry, stat, content)?),
                None => None,
            });
        }
        Ok(disk)
    }

    /// Lets git check out; nothing is known of what it converts.
    fn reset_by_git(&self, reason: &str) -> Result<WrittenFiles, Error> {
        self.follower
            .tell_step(&format!("git checks out: {reason}"));
        // `git checkout` is no substitute: it returns 0 when the disk is full
        let command = "reset --hard --quiet --no-recurse-submodules";
        self.git.perform("check the files out", command, &[])?;
        let stats = self.set_bits()?;
        self.git.update_index_refresh()?;
        Ok(WrittenFiles {
            converted: vec![true; stats.len()],
            stats,
        })
    }

    /// Creates the files through gix, or says why only git can. A second thread looks for a signal
    /// meanwhile, and stops gix.
    fn create_files(&self) -> Result<Creation, Error> {
        self.follower.tell_step("check the files out");
        let new = NewWorktree {
            git: self.git,
            root: self.path,
            format: self.own.format,
            entries: &self.classified.listing.entries,
            accesses: &self.classified.accesses,
        };
        let stop = AtomicBool::new(false);
        let over = AtomicBool::new(false);
        let creation = std::thread::scope(|threads| {
            let watcher = threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    stop.store(self.follower.check().is_err(), Ordering::Relaxed);
                    std::thread::park_timeout(Duration::from_millis(20));
                }
            });
            let creation = new.create_files(&stop);
            over.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            creation
        });
        // first: where a signal has stopped gix, the signal is the error
        self.follower.check()?;
        Ok(creation?)
    }

    /// Sets the write bits of the files, and writes the index.
    fn write_index(
        &self,
        mut files: CheckedOut,
        notes: &mut Vec<String>,
    ) -> Result<WrittenFiles, Error> {
        if let Some(path) = files.collisions.first() {
            notes.push(format!(
                "this file system takes {path} for another path of the tree: only one of them is \
                    there"
            ));
        }
        let stats = self.set_bits()?;
        let converted = std::mem::take(&mut files.converted);
        let change_times = stats.iter().map(|stat| stat.map(|stat| stat.ctime));
        let index = files.index_bytes(change_times, &self.classified.listing.trees);
        LockedFile::take(&self.admin_dir.join("index"))?.commit(&index?)?;
        Ok(WrittenFiles { stats, converted })
    }

    fn set_bits(&self) -> Result<Vec<Option<Stat>>, DiskError> {
        let entries = self.classified.entries();
        let bits = entries.map(|(path, _, access)| (path, write_bits(access)));
        set_all_bits(self.path, &bits.collect::<Vec<_>>())
    }

    /// What a walk of the worktree would find of a file.
    fn on_disk(
        &self,
        path: &RepoPath,
        entry: Entry,
        stat: Stat,
        content: FileBytes,
    ) -> Result<OnDisk, Error> {
        let mode = match stat.mode & 0o170_000 {
            0o100_000 if stat.mode & 0o100 == 0 => Mode::File,
            0o100_000 => Mode::Executable,
            0o120_000 => Mode::Link,
            0o040_000 => Mode::EmptyDirectory,
            _ => Mode::Special,
        };
        let id = match mode {
            Mode::File | Mode::Executable if content == FileBytes::Converted => self.hash(path)?,
            Mode::File | Mode::Executable | Mode::Link => entry.id,
            _others => ObjectId::none(),
        };
        Ok(OnDisk {
            entry: Entry { mode, id },
            stat,
        })
    }

    fn hash(&self, path: &RepoPath) -> Result<ObjectId, Error> {
        let hashed = open_below(self.path, path).and_then(|opened| match opened {
            Opened::File {
                size, mut content, ..
            } => self.own.format.hash_blob(size, &mut content),
            Opened::Link(_) | Opened::Other => Ok(ObjectId::none()),
        });
        let failed = |error| DiskError::new(format!("read {}/{path}", self.path), error);
        Ok(hashed.map_err(failed)?)
    }

    /// Why only git can fill this worktree: it runs the user's hooks, fetches what a partial clone
    /// left out, and knows settings that gix does not.
    fn needs_git(&self, hooks: &UserHooks) -> Result<Option<String>, Error> {
        if let Some(hook) = HOOKS.into_iter().find(|hook| self.has_hook(hooks, hook)) {
            return Ok(Some(format!("there is a {hook} hook")));
        }
        let only_git = |(key, value): &&(String, BString)| match key.as_str() {
            "attr.tree" | "extensions.partialclone" => true,
            "core.sharedrepository" => !matches!(value.as_slice(), b"umask" | b"false" | b"0"),
            "extensions.refstorage" => value != "files",
            key => key.starts_with("remote.") && key.ends_with(".promisor"),
        };
        if let Some((key, _)) = hooks.settings.iter().find(only_git) {
            return Ok(Some(format!("`{key}` is set")));
        }
        if !self.git.for_each_ref(&["refs/replace/"])?.is_empty() {
            return Ok(Some("objects are replaced (`git replace`)".to_owned()));
        }
        let attributes = self.classified.listing.attributes(self.own)?;
        Ok(read_conversions(self.git, attributes)?.only_git)
    }

    /// Reads where the user's hooks are.
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub fn read_hooks(&self) -> Result<UserHooks, Error> {
        let mut settings = Vec::new();
        for (_, key, value) in self.git.config_list()? {
            settings.push((key, value));
        }
        let mut directory = self.own.common_dir.join("hooks");
        if settings.iter().any(|(key, _)| key == "core.hookspath") {
            // relative to the root of the worktree, where hooks run; git takes an empty path for
            // `/`
            let hooks_path = self
                .git
                .config_get_path("core.hooksPath")?
                .filter(|path| !path.as_str().is_empty());
            directory = self.path.join(hooks_path.unwrap_or_else(|| "/".into()));
        }
        Ok(UserHooks {
            settings,
            directory,
        })
    }

    /// True if git would run a hook: a setting, a file, or a file that the checkout brings.
    pub fn has_hook(&self, hooks: &UserHooks, hook: &str) -> bool {
        let file = hooks.directory.join(hook);
        let inside = file
            .strip_prefix(self.path)
            .ok()
            .and_then(|inside| RepoPath::parse(inside.as_str()).ok());
        let entries = &self.classified.listing.entries;
        let is_tracked = |path: RepoPath| {
            let found = entries.binary_search_by(|(other, _)| other.cmp(&path));
            found.is_ok()
        };
        let mut keys = hooks.settings.iter().map(|(key, _)| key);
        inside.is_some_and(is_tracked)
            || files::exists(&file)
            || keys.any(|key| key.starts_with("hook."))
    }
}
