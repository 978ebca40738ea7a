//! Fills a worktree that git has registered: through gix, or by git where gix cannot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bstr::BString;
use camino::{Utf8Path, Utf8PathBuf};

use super::super::Session;
use crate::disk::DiskError;
use crate::disk::below::open_below;
use crate::disk::files::{self, Opened};
use crate::disk::locked_file::LockedFile;
use crate::disk::mode::{WriteBits, set_bits_of_checkout};
use crate::entry::{Entry, Mode, ObjectId};
use crate::error::Error;
use crate::facts::Repository;
use crate::facts::add::Classified;
use crate::git::checkout::{CheckoutFailure, NewWorktree, read_conversions};
use crate::git::{Git, TraceEvent};
use crate::manifest::{OnDisk, Stat};
use crate::path::RepoPath;
use crate::scope::Access;

/// The hooks that git runs in a checkout, beside post-checkout (githooks(5)).
const HOOKS: [&str; 2] = ["post-index-change", "reference-transaction"];

/// Holds a worktree that is to be filled.
pub(super) struct Filling<'a> {
    pub session: &'a Session,
    /// The repository, as the worktree sees it.
    pub own: &'a Repository,
    /// Git, on the worktree by its private git directory.
    pub git: &'a Git,
    pub admin_dir: &'a Utf8Path,
    pub path: &'a Utf8Path,
    pub classified: &'a Classified<'a>,
}

/// Holds what stands in a worktree that was filled.
pub(super) struct Filled {
    /// What stands on disk for each entry of the listing.
    pub disk: Vec<Option<OnDisk>>,
    /// Whether the user has a post-checkout hook.
    pub has_hook: bool,
}

/// What stands on disk of each entry, and whether its bytes may not be those of the blob.
type Created = (Vec<Option<Stat>>, Vec<bool>);

impl Filling<'_> {
    /// Creates the files with the write bits that the scope says, and writes the index.
    ///
    /// # Errors
    /// Fails when an object, a filter or the disk does, or a signal came; what was created stays.
    pub fn apply(&self, notes: &mut Vec<String>) -> Result<Filled, Error> {
        let settings = self.git.config_list()?;
        let settings: Vec<(String, BString)> =
            settings.into_iter().map(|(_, k, v)| (k, v)).collect();
        let hooks = &self.hooks(&settings)?;
        let entries = &self.classified.listing.entries;
        let (stats, converted) = match self.needs_git(&settings, hooks)? {
            Some(reason) => self.reset_by_git(&reason)?,
            None => match self.check_out(notes)? {
                Some(created) => created,
                None => self.reset_by_git("a file does not fit into memory")?,
            },
        };
        let each = entries.iter().zip(stats).zip(converted);
        let disk = each.map(|(((path, entry), stat), converted)| {
            stat.map(|stat| self.on_disk(path, *entry, stat, converted))
                .transpose()
        });
        Ok(Filled {
            disk: disk.collect::<Result<_, Error>>()?,
            has_hook: self.has_hook(&settings, hooks, "post-checkout"),
        })
    }

    /// Lets git check out; nothing is known of what it converts.
    fn reset_by_git(&self, reason: &str) -> Result<Created, Error> {
        let line = format!("git checks out: {reason}");
        self.session.trace.report(&TraceEvent::Step(&line));
        self.git.reset_hard()?;
        let stats = self.set_bits()?;
        self.git.update_index_refresh()?;
        let converted = vec![true; stats.len()];
        Ok((stats, converted))
    }

    /// Checks out through gix; nothing where a file does not fit into memory.
    fn check_out(&self, notes: &mut Vec<String>) -> Result<Option<Created>, Error> {
        self.session
            .trace
            .report(&TraceEvent::Step("check the files out"));
        let new = NewWorktree {
            git_dir: self.admin_dir,
            root: self.path,
            format: self.own.format,
            entries: &self.classified.listing.entries,
            accesses: &self.classified.accesses,
        };
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let created = std::thread::scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    stop.store(self.session.check().is_err(), Ordering::Relaxed);
                    std::thread::park_timeout(Duration::from_millis(20));
                }
            });
            let created = new.create_files(&stop);
            over.store(true, Ordering::Relaxed);
            created
        });
        self.session.check()?;
        let mut created = match created {
            Err(CheckoutFailure::Memory) => return Ok(None),
            created => created?,
        };
        if let Some(path) = created.collisions.first() {
            notes.push(format!(
                "this file system takes {path} for another path of the tree: only one of them is there"
            ));
        }
        let stats = self.set_bits()?;
        let converted = std::mem::take(&mut created.converted);
        let changed = stats.iter().map(|stat| stat.map(|stat| stat.ctime));
        let index = created.index_bytes(changed, &self.classified.listing.trees);
        LockedFile::take(&self.admin_dir.join("index"))?.commit(&index?)?;
        Ok(Some((stats, converted)))
    }

    fn set_bits(&self) -> Result<Vec<Option<Stat>>, DiskError> {
        let entries = self.classified.entries();
        let bits = entries.map(|(path, _, access)| {
            let bits = match access {
                Access::Excluded => return (path, None),
                Access::Read => WriteBits::Cleared,
                Access::Write => WriteBits::Owner,
            };
            (path, Some(bits))
        });
        set_bits_of_checkout(self.path, &bits.collect::<Vec<_>>())
    }

    /// What a walk would find there.
    fn on_disk(
        &self,
        path: &RepoPath,
        entry: Entry,
        stat: Stat,
        converted: bool,
    ) -> Result<OnDisk, Error> {
        let mode = match (stat.mode & 0o170_000, stat.mode & 0o100) {
            (0o100_000, 0) => Mode::File,
            (0o100_000, _) => Mode::Executable,
            (0o120_000, _) => Mode::Link,
            (0o040_000, _) => Mode::EmptyDirectory,
            (_, _) => Mode::Special,
        };
        let id = match mode {
            Mode::EmptyDirectory | Mode::Special | Mode::Gitlink | Mode::NestedGit => {
                ObjectId::none()
            }
            Mode::File | Mode::Executable if converted => self.hash(path)?,
            Mode::File | Mode::Executable | Mode::Link => entry.id,
        };
        Ok(OnDisk {
            entry: Entry { mode, id },
            stat,
        })
    }

    fn hash(&self, path: &RepoPath) -> Result<ObjectId, Error> {
        let failed = |error| DiskError::new(format!("read {}/{path}", self.path), error);
        match open_below(self.path, path).map_err(failed)? {
            Opened::File {
                size, mut content, ..
            } => Ok(self
                .own
                .format
                .hash_blob(size, &mut content)
                .map_err(failed)?),
            Opened::Link(_) | Opened::Other => Ok(ObjectId::none()),
        }
    }

    /// Why only git can fill this worktree: it runs the user's hooks, fetches what a partial clone
    /// left out, and knows settings that gix does not.
    fn needs_git(
        &self,
        settings: &[(String, BString)],
        hooks: &Utf8Path,
    ) -> Result<Option<String>, Error> {
        let mut hook = HOOKS.into_iter();
        if let Some(hook) = hook.find(|hook| self.has_hook(settings, hooks, hook)) {
            return Ok(Some(format!("there is a {hook} hook")));
        }
        let only_git = |(key, value): &&(String, BString)| match key.as_str() {
            "attr.tree" | "extensions.partialclone" => true,
            "core.sharedrepository" => !matches!(value.as_slice(), b"umask" | b"false" | b"0"),
            "extensions.refstorage" => value != "files",
            key => key.starts_with("remote.") && key.ends_with(".promisor"),
        };
        if let Some((key, _)) = settings.iter().find(only_git) {
            return Ok(Some(format!("`{key}` is set")));
        }
        if !self.git.for_each_ref(&["refs/replace/"])?.is_empty() {
            return Ok(Some("objects are replaced (`git replace`)".to_owned()));
        }
        let attributes = self.classified.listing.attributes(self.own)?;
        let conversions = read_conversions(self.admin_dir, attributes)?;
        if conversions.from_tree {
            return Ok(Some("attributes come from another tree".to_owned()));
        }
        let only_git = conversions.only_git;
        Ok(only_git.map(|attribute| format!("an attribute file names `{attribute}`")))
    }

    /// The directory of the user's hooks.
    fn hooks(&self, settings: &[(String, BString)]) -> Result<Utf8PathBuf, Error> {
        if !settings.iter().any(|(key, _)| key == "core.hookspath") {
            return Ok(self.own.common_dir.join("hooks"));
        }
        // relative to the root of the worktree, where hooks run; git takes an empty path for `/`
        let named = self.git.config_get_path("core.hooksPath")?;
        let named = named.filter(|named| !named.as_str().is_empty());
        Ok(self.path.join(named.unwrap_or_else(|| "/".into())))
    }

    /// Whether git would run a hook: a setting, a file, or a file that the checkout brings.
    fn has_hook(&self, settings: &[(String, BString)], hooks: &Utf8Path, hook: &str) -> bool {
        let file = hooks.join(hook);
        let inside = file.strip_prefix(self.path).ok();
        let inside = inside.and_then(|inside| RepoPath::parse(inside.as_str()).ok());
        let entries = &self.classified.listing.entries;
        let is_tracked =
            inside.is_some_and(|inside| entries.binary_search_by(|(p, _)| p.cmp(&inside)).is_ok());
        is_tracked
            || files::exists(&file)
            || settings.iter().any(|(key, _)| key.starts_with("hook."))
    }
}
