//! Saves how the files of a worktree are, and proves that nobody changed them meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::Seen;
use crate::compare::entry_in;
use crate::disk::standing::standing;
use crate::disk::{DiskError, files as disk};
use crate::entry::{Entry, Mode};
use crate::error::Error;
use crate::facts::Worktree;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Origin, PlacedFile, PlacedKind};
use crate::plan::refusal::Refusal;
use crate::plan::trash::list::{Listed, Stood};
use crate::plan::trash::refusal::TrashRefusal;
use crate::scope::{Access, Classifier, EntryKind};
use crate::worktree::Usual;
use crate::worktree::saved::write_entry;

use super::Saving;

/// How large a file may be that is only kept because it is at hand: it can be had again.
const LARGE: u64 = 1024 * 1024;
/// How much of such files is kept in all.
const MUCH: u64 = 16 * LARGE;
/// How many paths a message names.
const SHOWN: usize = 20;

/// Holds the moment from which on a change is one that the survey may have missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    settled: i64,
    root: String,
}

/// Holds how the files are.
pub(super) struct Files {
    /// How they differ from a checkout, sorted by path.
    pub list: Vec<Listed>,
    /// The raw bytes of those that were read.
    pub content: BTreeMap<RepoPath, Entry>,
    /// The permissions of the others.
    pub usual: Usual,
    /// Whether there is no directory any more.
    pub is_gone: bool,
    /// What cannot be brought back, for people.
    pub notes: Vec<String>,
    /// Every path that was looked at, sorted.
    paths: Vec<RepoPath>,
    /// What stood there.
    stands: BTreeMap<RepoPath, Stat>,
}

impl Since {
    /// Takes the time, before anything is looked at.
    ///
    /// # Errors
    /// Fails when no file can be made in the worktree, nor in its record.
    pub fn now(known: &Worktree) -> Result<Self, DiskError> {
        let root = &known.record.path;
        let take = |directory| {
            let before = disk::settled_time(directory, i64::MIN)?;
            disk::settled_time(directory, before)
        };
        // nothing is made through a link that somebody put in its place
        let is_own = disk::canonical(root).is_ok_and(|path| path == *root);
        let own = is_own.then(|| take(root).ok()).flatten();
        let settled = own.map_or_else(|| take(&known.dir), Ok)?;
        let root = disk::stamp(root.as_std_path());
        Ok(Self { settled, root })
    }
}

/// Reads what is not as a checkout gives it.
pub(super) fn save(saving: &Saving<'_>) -> Result<Files, Error> {
    let root = &saving.known.record.path;
    let mut look = Look::new(saving);
    if !disk::is_directory(root) {
        return Ok(look.done(true));
    }
    let paths = paths(saving);
    let stands = standing(root, paths.iter())?.entries;
    for path in &paths {
        look.at(path, stands.get(path))?;
    }
    let mut files = look.done(false);
    files.stands = stands;
    files.paths = paths;
    Ok(files)
}

/// Proves that nothing was changed since before the survey: what is not saved is as it was then.
///
/// # Errors
/// Refuses what somebody works in.
pub(super) fn check(saving: &Saving<'_>, files: &Files, since: &Since) -> Result<(), Error> {
    if files.is_gone {
        return Ok(());
    }
    let root = &saving.known.record.path;
    let again = standing(root, files.paths.iter())?.entries;
    let is_same = |path: &&RepoPath| {
        let (before, now) = (files.stands.get(*path), again.get(*path));
        before == now && now.is_none_or(|stat| stat.ctime < since.settled)
    };
    let changed = files.paths.iter().filter(|path| !is_same(path));
    let mut changed: Vec<String> = changed.map(ToString::to_string).collect();
    if changed.is_empty() && disk::stamp(root.as_std_path()) != since.root {
        changed.push(root.to_string());
    }
    if changed.is_empty() {
        return Ok(());
    }
    let more = changed.len().saturating_sub(SHOWN);
    changed.truncate(SHOWN);
    if more > 0 {
        changed.push(format!("… and {more} more"));
    }
    let name = saving.known.record.name.to_string();
    let items = changed;
    Err(Refusal::from(TrashRefusal::Changing { name, items }).into())
}

/// Every path that may have something, with the directories on the way; sorted.
fn paths(saving: &Saving<'_>) -> Vec<RepoPath> {
    let states = &saving.survey.states;
    let ignored = |path: &&RepoPath| states.untracked.get(*path) == Some(&Seen::Ignored);
    let items = states.manifest.items().iter().map(|item| &item.path);
    let deltas = states.disk.keys().chain(states.head.keys());
    let all = items.chain(deltas).filter(|path| !ignored(path));
    let placed = states.placed.files().iter().map(|file| &file.path);
    let mut paths: Vec<RepoPath> = all.chain(placed).cloned().collect();
    paths.sort_unstable();
    paths.dedup();
    let mut above: Vec<RepoPath> = Vec::new();
    let mut last: Option<RepoPath> = None;
    for path in &paths {
        let parent = path.parent();
        if parent != last {
            let mut next = parent.clone();
            while let Some(directory) = next {
                next = directory.parent();
                above.push(directory);
            }
            last = parent;
        }
    }
    paths.extend(above);
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Collects how one path after the other is.
struct Look<'a> {
    saving: &'a Saving<'a>,
    classifier: Classifier<'a>,
    list: Vec<Listed>,
    content: BTreeMap<RepoPath, Entry>,
    /// How often files of each kind have which permissions.
    counts: BTreeMap<(Kind, u32), usize>,
    left: u64,
    special: Vec<RepoPath>,
    skipped: Vec<RepoPath>,
}

/// What decides which permissions are usual.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    File { may_edit: bool, executable: bool },
    Directory,
}

impl<'a> Look<'a> {
    fn new(saving: &'a Saving<'a>) -> Self {
        Self {
            saving,
            classifier: saving.known.scope.classifier(),
            list: Vec::new(),
            content: BTreeMap::new(),
            counts: BTreeMap::new(),
            left: MUCH,
            special: Vec::new(),
            skipped: Vec::new(),
        }
    }

    fn at(&mut self, path: &RepoPath, stat: Option<&Stat>) -> Result<(), Error> {
        let states = &self.saving.survey.states;
        let access = self.classifier.verdict(path, EntryKind::File).access;
        let tracked = entry_in(&states.manifest, &states.head, path);
        let expected =
            tracked.filter(|entry| entry.mode != Mode::Gitlink && access != Access::Excluded);
        let Some(stat) = stat else {
            if tracked.is_some() && access != Access::Excluded {
                self.push(path, Stood::Nothing, None);
            }
            return Ok(());
        };
        let may_edit = access == Access::Write;
        let executable = stat.mode & 0o100 != 0;
        let kind = match stat.mode & 0o170_000 {
            0o040_000 => Kind::Directory,
            0o100_000 => Kind::File {
                may_edit,
                executable,
            },
            0o120_000 => {
                let stood = self.file(path, stat, expected)?;
                self.push(path, stood, None);
                return Ok(());
            }
            _special => {
                self.special.push(path.clone());
                self.push(path, Stood::Special, None);
                return Ok(());
            }
        };
        *self.counts.entry((kind, stat.permissions())).or_default() += 1;
        let stood = match kind {
            Kind::Directory => Stood::Directory,
            Kind::File { .. } => self.file(path, stat, expected)?,
        };
        self.push(path, stood, Some(stat));
        Ok(())
    }

    fn push(&mut self, path: &RepoPath, stood: Stood, stat: Option<&Stat>) {
        let item = self.saving.survey.states.manifest.get(path);
        let then = item.and_then(|item| item.disk).map(|disk| disk.stat);
        let recorded = then.zip(stat).and_then(|(then, now)| {
            let opened = now.mode & 0o222 & !then.mode != 0;
            let same = now.mtime == then.mtime && now.inode == then.inode;
            (opened && same && !now.is_directory()).then_some(then.mode)
        });
        self.list.push(Listed {
            path: path.clone(),
            stood,
            bits: stat.map(Stat::permissions),
            recorded,
        });
    }

    /// A file or a link: what a checkout gives, or what stands there.
    fn file(
        &mut self,
        path: &RepoPath,
        stat: &Stat,
        expected: Option<Entry>,
    ) -> Result<Stood, Error> {
        let saving = self.saving;
        let is_work = saving.work.contains(path);
        let states = &saving.survey.states;
        // what a filter wrote is not in the repository, and the next checkout may write other bytes
        let converted = saving.known.record.conversions && states.head.contains_key(path);
        if expected.is_some() && !is_work && !converted {
            return Ok(Stood::AsCheckedOut);
        }
        let placed = states.placed.get(path).filter(|_| !is_work);
        // it can be had again: what was placed from its source, what a hook made from the hook
        let at_hand = !is_work && expected.is_none();
        if at_hand && (stat.size > LARGE || stat.size > self.left) {
            if placed.is_some_and(|file| file.origin == Origin::Synced) {
                return Ok(Stood::AtSource);
            }
            self.skipped.push(path.clone());
            return Ok(Stood::Nothing);
        }
        if at_hand {
            self.left -= stat.size;
        }
        let Some(entry) = write_entry(saving.objects, &saving.known.record.path, path)? else {
            // it has just gone, which the second look sees
            return Ok(Stood::Nothing);
        };
        self.content.insert(path.clone(), entry);
        Ok(match placed.map(|file: &PlacedFile| file.kind) {
            Some(PlacedKind::File | PlacedKind::Link) => Stood::Placed(entry),
            Some(PlacedKind::Directory) | None => Stood::Content(entry),
        })
    }

    /// Keeps only what a checkout would not give.
    fn done(self, is_gone: bool) -> Files {
        let most = |kind: Kind, usual: u32| {
            let same = self.counts.iter().filter(|((of, _), _)| *of == kind);
            let most = same.max_by_key(|(_, count)| **count);
            most.map_or(usual, |((_, bits), _)| *bits)
        };
        let file = |may_edit, executable, usual| {
            let kind = Kind::File {
                may_edit,
                executable,
            };
            most(kind, usual)
        };
        let usual = Usual {
            write: file(true, false, 0o644),
            read: file(false, false, 0o444),
            write_executable: file(true, true, 0o755),
            read_executable: file(false, true, 0o555),
            directory: most(Kind::Directory, 0o755),
        };
        let filled = filled(&self.list);
        let states = &self.saving.survey.states;
        // a checkout has a file in its place
        let replaces = |path: &RepoPath| entry_in(&states.manifest, &states.head, path).is_some();
        let mut classifier = self.saving.known.scope.classifier();
        let mut list = self.list;
        list.retain_mut(|one| {
            let Some(bits) = one.bits else {
                return one.stood != Stood::AsCheckedOut;
            };
            let needed = match one.stood {
                Stood::Directory => !filled.contains(&one.path) || replaces(&one.path),
                Stood::AsCheckedOut => one.recorded.is_some(),
                Stood::Nothing
                | Stood::Content(_)
                | Stood::Placed(_)
                | Stood::AtSource
                | Stood::Special => true,
            };
            let expected = if one.stood == Stood::Directory {
                usual.directory
            } else {
                let access = classifier.verdict(&one.path, EntryKind::File).access;
                usual.of(access == Access::Write, bits & 0o100 != 0)
            };
            let is_usual = bits == expected;
            // of what is not as checked out they are kept in any case: it may be a key
            if is_usual && matches!(one.stood, Stood::Directory | Stood::AsCheckedOut) {
                one.bits = None;
            }
            needed || !is_usual
        });
        Files {
            list,
            content: self.content,
            usual,
            is_gone,
            notes: notes(&self.special, &self.skipped),
            paths: Vec::new(),
            stands: BTreeMap::new(),
        }
    }
}

/// The directories that come back with what is in them.
fn filled(list: &[Listed]) -> BTreeSet<RepoPath> {
    let mut filled = BTreeSet::new();
    let mut before = None;
    for one in list {
        match one.stood {
            Stood::Nothing | Stood::Special => continue,
            Stood::AsCheckedOut
            | Stood::Content(_)
            | Stood::Placed(_)
            | Stood::AtSource
            | Stood::Directory => {}
        }
        let parent = one.path.parent();
        if parent != before {
            filled.extend(parent.clone());
            before = parent;
        }
    }
    filled
}

fn notes(special: &[RepoPath], skipped: &[RepoPath]) -> Vec<String> {
    let names = |paths: &[RepoPath]| {
        let mut names: Vec<String> = paths.iter().take(SHOWN).map(ToString::to_string).collect();
        if paths.len() > SHOWN {
            names.push(format!("… and {} more", paths.len() - SHOWN));
        }
        names.join(", ")
    };
    let mut notes = Vec::new();
    if !special.is_empty() {
        let names = names(special);
        notes.push(format!("git cannot hold a FIFO, socket or device: {names}"));
    }
    if !skipped.is_empty() {
        let names = names(skipped);
        notes.push(format!("too large to be saved, and made by `add`: {names}"));
    }
    notes
}
