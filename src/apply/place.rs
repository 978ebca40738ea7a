//! Puts files into a worktree and writes down what they are, or does nothing.
//!
//! Everything is staged whole beside the worktree, announced in the record, moved in
//! (`disk/copy.rs`), and listed last: of what a killed call announced, that counts as placed which
//! has arrived (`Worktree::placed`).

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::hide::{EXCLUDE, Hidden, hide_with, users_own};
use crate::client::ContextFile;
use crate::disk::copy::{From, Item, Settled, Staged, Staging, settle, stage};
use crate::disk::files;
use crate::disk::progress::Progress;
use crate::disk::remains::sweep_of;
use crate::disk::standing::standing;
use crate::error::Error;
use crate::facts::Repository;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Origin, Placed, PlacedFile, PlacedKind};
use crate::plan::sync::{Copying, SyncPlan, bits};
use crate::scope::{EntryKind, Scope};
use crate::worktree::{CONTEXT, PLACED, PLACING};

/// Holds where files are placed.
pub struct Destination<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The directory of the worktree, the lock of whose name is held.
    pub path: &'a Utf8Path,
    /// Its private git directory.
    pub admin_dir: &'a Utf8Path,
    /// Where its record is.
    pub record_dir: &'a Utf8Path,
}

/// Holds who is told how far it is, and who says when to stop.
pub struct Hand<'a> {
    /// Who is told.
    pub progress: &'a Progress,
    /// Whether somebody asked to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Holds what is to be placed.
#[derive(Debug, Default)]
pub struct Placing {
    /// The items, sorted by path.
    pub items: Vec<Item>,
    /// What may be replaced, as it was when that was decided.
    pub over: BTreeMap<RepoPath, Stat>,
    /// What was placed before.
    pub before: Placed,
}

impl Placing {
    /// Whether there is nothing to place, and nothing to remember.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.before == Placed::default()
    }

    /// Adds context for the client.
    pub fn add_context(&mut self, context: &[ContextFile], scope: &Scope) {
        let item = |file: &ContextFile| Item {
            path: file.path.clone(),
            from: From::Text(file.content.clone()),
            bits: bits(0o644, scope.verdict(&file.path, EntryKind::File).access),
        };
        self.items.extend(context.iter().map(item));
        self.items.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }

    /// What a plan says, in a worktree with these files placed before.
    #[must_use]
    pub fn of(plan: &SyncPlan, before: Placed) -> Self {
        let item = |one: &Copying| Item {
            path: one.path.clone(),
            from: From::Source(one.kind, one.stat),
            bits: one.bits,
        };
        let over = plan.copy.iter();
        let over = over.filter_map(|one| Some((one.path.clone(), one.over?)));
        Self {
            items: plan.copy.iter().map(item).collect(),
            over: over.collect(),
            before,
        }
    }
}

/// Holds what was placed, until it is certain that it stays.
#[must_use]
pub struct Done {
    /// The list as it is now.
    pub placed: Placed,
    /// Whether the worktree's configuration is another now.
    pub changed_config: bool,
    settled: Settled,
    hidden: Hidden,
    list: Utf8PathBuf,
    list_before: Option<Vec<u8>>,
}

impl Done {
    /// Lets it stay; what could not be tidied up.
    #[must_use]
    pub fn keep(self) -> Vec<String> {
        self.settled.done()
    }

    /// Takes everything out again; what could not be.
    #[must_use]
    pub fn take_back(self) -> Vec<String> {
        let _ = match self.list_before {
            Some(before) => files::write(&self.list, &before),
            None => files::remove_file(&self.list),
        };
        self.hidden.take_back();
        self.settled.take_back()
    }
}

/// Where files for a worktree are staged: beside it, and so on the same file system. No worktree
/// of ours can have that name.
#[must_use]
pub fn staging(worktree: &Utf8Path) -> Utf8PathBuf {
    let name = worktree.file_name().unwrap_or("worktree");
    worktree.with_file_name(format!(".placing-{name}"))
}

/// Places files.
///
/// # Errors
/// Fails when something cannot be copied, changed meanwhile, or somebody asked to stop; then
/// nothing was placed. What could not be taken back is said with it.
pub fn place(to: &Destination<'_>, placing: &Placing, hand: &Hand<'_>) -> Result<Done, Error> {
    let directory = staging(to.path);
    // we hold the lock of the name: what is there was left by a killed one
    files::remove_directory(&directory)?;
    sweep_of(to.record_dir, &[PLACED, PLACING, "record.toml"]);
    let exclude = to.admin_dir.join(EXCLUDE);
    let beside = exclude.parent().zip(exclude.file_name());
    beside
        .into_iter()
        .for_each(|(directory, name)| sweep_of(directory, &[name]));
    let staging = Staging {
        source: &to.repository.root,
        directory: &directory,
        progress: hand.progress,
        stop: hand.stop,
    };
    let bytes = placing.items.iter().map(size);
    hand.progress.begin(placing.items.len() as u64, bytes.sum());
    // git is asked meanwhile what is needed then
    let (staged, own) = std::thread::scope(|scope| {
        let own = scope.spawn(|| users_own(to.repository));
        let staged = stage(&staging, &placing.items);
        let own = own.join();
        (
            staged,
            own.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    });
    hand.progress.end();
    let staged = staged?;
    // whatever fails from here on, nothing stays announced or staged
    let withdraw = || {
        let _ = files::remove_file(&to.record_dir.join(PLACING));
    };
    announce(to, placing, &staged).inspect_err(|_| {
        withdraw();
        let _ = files::remove_directory(&directory);
    })?;
    let settled = settle(&directory, to.path, staged, &placing.over, &placing.before);
    let settled = settled.inspect_err(|_| withdraw())?;
    match write_down(to, placing, &settled, own) {
        Ok((placed, hidden, list, list_before)) => Ok(Done {
            placed,
            changed_config: hidden.changed_config(),
            settled,
            hidden,
            list,
            list_before,
        }),
        Err(error) => {
            let left = settled.take_back();
            withdraw();
            Err(error.leaving(left))
        }
    }
}

/// Whether a killed call left something that has to be written down, or removed.
#[must_use]
pub fn is_unfinished(to: &Destination<'_>) -> bool {
    files::exists(&to.record_dir.join(PLACING)) || files::exists(&staging(to.path))
}

/// Writes down what is about to be moved in, for who looks at the worktree meanwhile, or after a
/// kill: it is ours as far as it has arrived.
fn announce(to: &Destination<'_>, placing: &Placing, staged: &[Staged]) -> Result<(), Error> {
    let mut above: BTreeSet<RepoPath> = BTreeSet::new();
    for staged in staged {
        let mut next = staged.path.parent();
        // what is above a directory that was met was met too
        while let Some(directory) = next.filter(|directory| !above.contains(directory)) {
            next = directory.parent();
            above.insert(directory);
        }
    }
    let is_staged = |path: &RepoPath| {
        staged
            .binary_search_by(|staged| staged.path.cmp(path))
            .is_ok()
    };
    let stood = standing(to.path, above.iter())?;
    let made = above
        .iter()
        .filter(|path| !stood.entries.contains_key(*path) && !is_staged(path));
    let directories = made.map(|path| PlacedFile {
        path: path.clone(),
        origin: Origin::Synced,
        kind: PlacedKind::Directory,
        digest: None,
        stat: Stat::default(),
        source: None,
    });
    let files = staged.iter().map(|staged| as_placed(placing, staged));
    let list = Placed::new(files.chain(directories).collect(), i64::MIN);
    Ok(files::write(
        &to.record_dir.join(PLACING),
        &list.to_bytes(),
    )?)
}

fn size(item: &Item) -> u64 {
    match &item.from {
        From::Source(PlacedKind::File, stat) => stat.size,
        From::Source(PlacedKind::Link | PlacedKind::Directory, _) => 0,
        From::Text(text) => text.len() as u64,
    }
}

type Written = (Placed, Hidden, Utf8PathBuf, Option<Vec<u8>>);

fn write_down(
    to: &Destination<'_>,
    placing: &Placing,
    settled: &Settled,
    own: Result<Option<Vec<u8>>, Error>,
) -> Result<Written, Error> {
    let placed = list(to, placing, settled)?;
    keep_context(to, placing)?;
    let hidden = hide_with(to.repository, to.admin_dir, &placed, || own)?;
    let list = to.record_dir.join(PLACED);
    let written = files::read(&list).and_then(|before| {
        files::write(&list, &placed.to_bytes())?;
        files::remove_file(&to.record_dir.join(PLACING))?;
        Ok(before)
    });
    match written {
        Ok(before) => Ok((placed, hidden, list, before)),
        Err(error) => {
            hidden.take_back();
            Err(error.into())
        }
    }
}

/// Keeps the text of context in the record, so that `restore` can put it back.
fn keep_context(to: &Destination<'_>, placing: &Placing) -> Result<(), Error> {
    for item in &placing.items {
        if let From::Text(text) = &item.from {
            let file = to.record_dir.join(CONTEXT).join(item.path.to_string());
            files::write(&file, text)?;
        }
    }
    Ok(())
}

/// What is written down of one thing that was staged.
fn as_placed(placing: &Placing, staged: &Staged) -> PlacedFile {
    let at = placing
        .items
        .binary_search_by(|item| item.path.cmp(&staged.path));
    let (origin, source) = match at.ok().map(|at| &placing.items[at].from) {
        Some(From::Text(_)) => (Origin::Context, None),
        Some(From::Source(_, stat)) => (Origin::Synced, Some(*stat)),
        None => (Origin::Synced, None),
    };
    PlacedFile {
        path: staged.path.clone(),
        origin,
        kind: staged.kind,
        digest: staged.digest,
        stat: staged.stat,
        source,
    }
}

/// The list of all that is placed now.
fn list(to: &Destination<'_>, placing: &Placing, settled: &Settled) -> Result<Placed, Error> {
    let new = settled.staged.iter().chain(&settled.made);
    let new: Vec<PlacedFile> = new.map(|staged| as_placed(placing, staged)).collect();
    let newest = new.iter().map(|file| file.stat.ctime).max().unwrap_or(0);
    let settled = files::settled_time(to.path, newest)?;
    Ok(placing.before.replaced_by(new, settled))
}
