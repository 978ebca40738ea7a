//! Puts files into a worktree and writes down what they are, or does nothing.
//!
//! Everything is staged whole beside the worktree, announced in the record, moved in
//! (`disk/copy`), and listed last: of what a killed call announced, that counts as placed which
//! has arrived. What a killed call leaves, the next one clears: the staging directory
//! ([`staging`]), the file [`PLACING`], and temporary files beside both.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::sync_plan::{SyncPlan, bits};
use crate::client::layout::ContextFile;
use crate::client::programs;
use crate::disk::copy::content::stage;
use crate::disk::copy::move_in::{MovedIn, move_in};
use crate::disk::copy::staging::{CopyItem, Source, Staged, Staging};
use crate::disk::entries::stat_entries;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::remains::sweep;
use crate::git::process::Git;
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Placed, PlacedFile, PlacedKind, PlacedOrigin};
use crate::scope::compiled::Scope;
use crate::scope::rule::{Access, EntryKind};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::words::progress::Progress;
use crate::worktree::ignore_rules::{EXCLUDE, ExcludeFile, write_exclude};
use crate::worktree::loaded::{CONTEXT, PLACED, PLACING, Worktree};
use crate::worktree::repository::Repository;

/// The file of the record that is there only while a set-up runs, or when it was killed.
pub const BEFORE: &str = "before-setup";

/// Names the worktree into which files are placed, and who follows it.
pub struct Destination<'a> {
    /// The main worktree.
    pub main: &'a Utf8Path,
    /// Git, there.
    pub git: &'a Git,
    /// The directory of the worktree, the lock of whose name is held.
    pub path: &'a Utf8Path,
    /// Its private git directory.
    pub admin_dir: &'a Utf8Path,
    /// Where its record is.
    pub record_dir: &'a Utf8Path,
    /// Counts what is copied.
    pub progress: &'a Progress,
    /// Whether a signal asked to stop.
    pub stop: &'a (dyn Fn() -> Result<(), Error> + Sync),
}

/// What is to be placed.
#[derive(Debug, Default)]
pub struct Placing {
    /// The items, sorted by path.
    pub items: Vec<CopyItem>,
    /// What may be replaced, as it was when that was decided.
    pub over: BTreeMap<RepoPath, Stat>,
    /// What was placed before.
    pub before: Placed,
}

impl Placing {
    /// What a plan says, in a worktree with these files placed before.
    pub fn new(plan: &SyncPlan, before: Placed) -> Self {
        let mut placing = Self {
            before,
            ..Self::default()
        };
        for copy in &plan.copy {
            placing.items.push(CopyItem {
                path: copy.path.clone(),
                from: Source::File(copy.kind, copy.stat),
                bits: copy.bits,
            });
            if let Some(over) = copy.over {
                placing.over.insert(copy.path.clone(), over);
            }
        }
        placing
    }

    /// Adds context for the client.
    pub fn add_context(&mut self, context: &[ContextFile], scope: &Scope) {
        for file in context {
            let access = if programs::is_state(file.path.as_bstr()) {
                // the program itself goes on writing there
                Access::Write
            } else {
                scope.verdict(&file.path, EntryKind::File).access
            };
            self.items.push(CopyItem {
                path: file.path.clone(),
                from: Source::Text(file.content.clone()),
                bits: bits(0o644, access),
            });
        }
        self.items.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }

    /// Whether there is nothing to place, and nothing to remember.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.before == Placed::default()
    }
}

/// Files that were placed, until it is certain that they stay.
#[must_use]
pub struct PlacedNow {
    moved_in: MovedIn,
    lists: WrittenLists,
}

/// The files in which placed files are listed, and what they held before.
struct WrittenLists {
    placed: Placed,
    exclude: ExcludeFile,
    list: Utf8PathBuf,
    list_before: Option<Vec<u8>>,
}

impl WrittenLists {
    /// Puts back what stood there.
    fn take_back(self) {
        let _ = match self.list_before {
            Some(before) => files::write(&self.list, &before),
            None => files::remove_file(&self.list),
        };
        self.exclude.take_back();
    }
}

impl PlacedNow {
    /// The list of placed files as it is now.
    pub const fn placed(&self) -> &Placed {
        &self.lists.placed
    }

    /// True if the worktree's configuration is another now.
    pub const fn changed_config(&self) -> bool {
        self.lists.exclude.changed_config()
    }

    /// Lets the files stay; what could not be tidied up.
    pub fn keep(self) -> Vec<String> {
        self.moved_in.done()
    }

    /// Takes everything out again; what could not be.
    pub fn take_back(self) -> Vec<String> {
        // the lists last: after a kill in between they still name what is there
        let left = self.moved_in.take_back();
        self.lists.take_back();
        left
    }
}

/// Where files for a worktree are staged, also by an undo of `restore`: beside it, and so on the
/// same file system. No worktree of ours can have that name.
pub fn staging(worktree: &Utf8Path) -> Utf8PathBuf {
    let name = worktree.file_name().unwrap_or("worktree");
    worktree.with_file_name(format!(".placing-{name}"))
}

impl<'d> Destination<'d> {
    /// The place of a worktree, the lock of whose name is held.
    pub fn new(
        repository: &'d Repository,
        worktree: &'d Worktree,
        progress: &'d Progress,
        stop: &'d (dyn Fn() -> Result<(), Error> + Sync),
    ) -> Self {
        Self {
            main: &repository.root,
            git: &repository.home().git,
            path: &worktree.record.path,
            admin_dir: &worktree.record.admin_dir,
            record_dir: &worktree.dir,
            progress,
            stop,
        }
    }

    /// Whether a killed call left something that has to be written down, or removed.
    pub fn is_unfinished(&self) -> bool {
        files::exists(&self.record_dir.join(PLACING)) || files::exists(&staging(self.path))
    }

    /// Places files: stages them, announces them, moves them in, and writes down what they are.
    ///
    /// # Errors
    /// Fails when something cannot be copied, changed meanwhile, or a signal asked to stop; then
    /// nothing was placed.
    pub fn place(&self, placing: &Placing) -> Result<PlacedNow, Error> {
        self.finish_killed(&placing.before)?;
        let directory = staging(self.path);
        let copying = Staging {
            source: self.main,
            directory: &directory,
            progress: self.progress,
            stop: self.stop,
        };
        let staging_result = stage(&copying, &placing.items);
        self.progress.end();
        let staged = staging_result?;
        // whatever fails from here on, nothing stays announced or staged; `move_in` itself removes
        // what is staged
        self.announce(placing, &staged).inspect_err(|_| {
            self.withdraw();
            let _ = files::remove_directory(&directory);
        })?;
        let moved_in = move_in(&copying, self.path, staged, &placing.over, &placing.before)
            .inspect_err(|_| self.withdraw())?;
        match self.write_down(placing, &moved_in) {
            Ok(lists) => Ok(PlacedNow { moved_in, lists }),
            Err(error) => {
                // while they are announced: after a kill in between, a list still names them
                let left = moved_in.take_back();
                self.withdraw();
                Err(error.leaving(left))
            }
        }
    }

    /// Lists what a killed call had moved in, which `before` has, and removes what else it left. The
    /// lock of the name is held.
    fn finish_killed(&self, before: &Placed) -> Result<(), Error> {
        let announced = self.record_dir.join(PLACING);
        if files::exists(&announced) {
            let _stays = write_exclude(self.git, self.admin_dir, before)?;
            files::write(&self.record_dir.join(PLACED), &before.to_bytes())?;
            files::remove_file(&announced)?;
        }
        files::remove_directory(&staging(self.path))?;
        sweep(self.record_dir, &[PLACED, PLACING, BEFORE, "record.toml"]);
        let exclude = self.admin_dir.join(EXCLUDE);
        if let (Some(directory), Some(name)) = (exclude.parent(), exclude.file_name()) {
            sweep(directory, &[name]);
        }
        Ok(())
    }

    /// Writes down what is about to be moved in, for those who look at the worktree meanwhile, or
    /// after a kill: what has arrived by then counts as placed.
    fn announce(&self, placing: &Placing, staged: &[Staged]) -> Result<(), DiskError> {
        let mut files = Vec::new();
        for entry in staged {
            files.push(placed_file(placing, entry));
        }
        for path in self.new_directories(staged)? {
            files.push(PlacedFile {
                path,
                origin: PlacedOrigin::Synced,
                kind: PlacedKind::Directory,
                digest: None,
                stat: Stat::default(),
                source: None,
            });
        }
        let list = Placed::new(files, i64::MIN);
        files::write(&self.record_dir.join(PLACING), &list.to_bytes())
    }

    /// The directories that are created for what was staged, and were not staged themselves.
    fn new_directories(&self, staged: &[Staged]) -> Result<Vec<RepoPath>, DiskError> {
        let mut parents = BTreeSet::new();
        for entry in staged {
            parents.extend(entry.path.parents());
        }
        let mut directories = Vec::new();
        for parent in parents {
            directories.extend(RepoPath::parse(parent));
        }
        let there = stat_entries(self.path, directories.iter())?;
        directories.retain(|path| {
            let found = staged.binary_search_by(|entry| entry.path.cmp(path));
            found.is_err() && !there.entries.contains_key(path)
        });
        Ok(directories)
    }

    fn withdraw(&self) {
        let _ = files::remove_file(&self.record_dir.join(PLACING));
    }

    /// The list of placed files with those that were moved in.
    fn list(&self, placing: &Placing, moved_in: &MovedIn) -> Result<Placed, Error> {
        let mut new = Vec::new();
        for staged in &moved_in.staged {
            new.push(placed_file(placing, staged));
        }
        let newest = new.iter().map(|file| file.stat.ctime).max().unwrap_or(0);
        let time = files::settled_time(self.path, newest)?;
        Ok(placing.before.replaced_by(new, time))
    }

    /// Writes the texts of context, so that `restore` can put them back, the exclude file, and the
    /// list; last, the files are announced no more. Where that fails, exclude file and list are as
    /// before; texts that were written stay.
    fn write_down(&self, placing: &Placing, moved_in: &MovedIn) -> Result<WrittenLists, Error> {
        let placed = self.list(placing, moved_in)?;
        for item in &placing.items {
            if let Source::Text(text) = &item.from {
                let file = self.record_dir.join(CONTEXT).join(item.path.to_string());
                files::write(&file, text)?;
            }
        }
        let list = self.record_dir.join(PLACED);
        let list_before = files::read(&list)?;
        let exclude = write_exclude(self.git, self.admin_dir, &placed)?;
        let lists = WrittenLists {
            placed,
            exclude,
            list,
            list_before,
        };
        let written = files::write(&lists.list, &lists.placed.to_bytes())
            .and_then(|()| files::remove_file(&self.record_dir.join(PLACING)));
        match written {
            Ok(()) => Ok(lists),
            Err(error) => {
                lists.take_back();
                Err(error.into())
            }
        }
    }
}

/// What is written down of one thing that was staged.
fn placed_file(placing: &Placing, staged: &Staged) -> PlacedFile {
    let items = &placing.items;
    let at = items.binary_search_by(|item| item.path.cmp(&staged.path));
    let mut origin = PlacedOrigin::Synced;
    let mut source = None;
    match at.ok().map(|at| &items[at].from) {
        Some(Source::Text(_)) => origin = PlacedOrigin::Context,
        Some(Source::File(_, stat)) => source = Some(*stat),
        // a directory that was staged for what is in it
        None => {}
    }
    PlacedFile {
        path: staged.path.clone(),
        origin,
        kind: staged.kind,
        digest: staged.digest,
        stat: staged.stat,
        source,
    }
}
