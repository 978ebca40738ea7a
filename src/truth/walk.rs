//! Turns a walk of the disk into a difference from the base, as trees and the index are told.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::{Cause, Change, Kind, Place, Seen, SharedChange};
use crate::compare::{Delta, entry_in};
use crate::disk::DiskError;
use crate::disk::below::open_below;
use crate::disk::drift::{Difference, Proof};
use crate::disk::files::Opened;
use crate::disk::scan::{Begun, Found, Scan, Unreadable};
use crate::entry::{Entry, Mode, ObjectId};
use crate::manifest::{Manifest, Stat};
use crate::path::RepoPath;
use crate::placed::{PlacedFile, PlacedKind};
use crate::scope::{Access, EntryKind};
use crate::truth::converted::Converted;
use crate::truth::ground::{Ground, Sources};
use crate::truth::submodule;
use crate::worktree::repository::Repository;
use crate::worktree::{Worktree, WorktreeError};

/// Holds what the disk says.
#[derive(Debug, Default)]
pub struct DiskState {
    /// How it differs from the base; what the scope excludes and is absent is not in it.
    pub delta: Delta,
    /// Read-only files that were made writable, with their content as it was.
    pub permissions: Vec<RepoPath>,
    /// Placed files that are not as they were placed. What stands there now is in `delta`.
    pub placed: BTreeMap<RepoPath, PlacedChange>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
    /// What was changed inside submodules.
    pub inside: Vec<Change>,
    /// How large each file is that was not there when the worktree was made.
    pub sizes: BTreeMap<RepoPath, u64>,
    /// Directories that were read and have what the base has there, and nothing else.
    pub walked: Vec<(RepoPath, Stat)>,
}

/// Holds what became of a placed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedChange {
    kind: Kind,
    detail: Option<&'static str>,
}

impl From<Kind> for PlacedChange {
    fn from(kind: Kind) -> Self {
        Self { kind, detail: None }
    }
}

const LINKED: &str = "it is a hard link to the main worktree's file";

/// Whether filters may be started to tell what a checkout would write: not where a setting that runs a
/// program or says how files are converted was changed since `add`, or the repository's attributes. A
/// converted file then counts by its raw bytes.
fn runs_filters(shared: &[SharedChange]) -> bool {
    let ignored = Place::Git("info/exclude".into());
    let is_planted = |one: &SharedChange| {
        one.change.kind == Kind::Config
            && match one.cause {
                Cause::RunsCode => true,
                Cause::Hides => one.change.place != ignored,
                Cause::MadeHere | Cause::Unknown => false,
            }
    };
    !shared.iter().any(is_planted)
}

impl DiskState {
    /// Ends a walk of the worktree and compares it with its manifest, over which the list of placed
    /// files was laid. A file may be that of a reference, or of HEAD, as a checkout writes it.
    pub fn read(
        ground: &Ground<'_>,
        walk: Result<Begun<'_, '_>, DiskError>,
        proof: Proof<'_>,
        sources: &Sources,
    ) -> Result<Self, WorktreeError> {
        let (repository, known, manifest) = (ground.repository, ground.known, &ground.manifest);
        let (references, head) = (&sources.compared.working, &sources.compared.head);
        let with_head: Vec<&Delta> = references.iter().chain([head]).collect();
        let submodules = gitlinks(manifest, &with_head);
        let Scan {
            found,
            missing,
            submodules,
            unreadable,
            walked,
        } = walk?.finish(&submodules);
        let mut state = Self {
            unreadable,
            walked,
            ..Self::default()
        };
        for path in missing {
            if let Some(file) = proof.placed.get(&path) {
                // git itself takes an empty directory away with what was in it
                if file.kind != PlacedKind::Directory {
                    state.placed.insert(path, Kind::Deleted.into());
                }
            } else if manifest.base(&path).is_some() {
                state.delta.insert(path, None);
            }
        }
        let mut stored = BTreeSet::new();
        for mut found in found {
            if let Some(file) = proof.placed.get(&found.path) {
                state.add_placed(known, manifest, proof, file, found);
                continue;
            }
            let is_new = manifest.get(&found.path).is_none_or(|i| i.disk.is_none());
            if is_new && found.entry.mode.is_regular() {
                state.sizes.insert(found.path.clone(), found.stat.size);
            }
            if found.is_unread() && ground.may_be_a_blob(&found, &with_head)? {
                found.entry.id = content_of(repository, known, &found.path)?;
            }
            if may_be_as_stored(manifest, &found) {
                stored.insert(found.path.clone());
            }
            state.add(known, manifest, found);
        }
        for path in submodules {
            state.add_submodule(ground, references, path);
        }
        let converted = Converted {
            repository,
            known,
            manifest,
            references,
            head,
            runs_filters: runs_filters(&sources.shared),
        };
        ground
            .terms
            .effort
            .or(converted.settle(&mut state.delta, &stored), || ())?;
        Ok(state)
    }
}

/// Every path at which the base or a reference has a submodule.
fn gitlinks(manifest: &Manifest, references: &[&Delta]) -> BTreeSet<RepoPath> {
    let is_gitlink = |entry: Option<Entry>| entry.is_some_and(|e| e.mode == Mode::Gitlink);
    let base = manifest
        .items()
        .iter()
        .filter(|item| is_gitlink(item.base))
        .map(|i| &i.path);
    let later = references
        .iter()
        .copied()
        .flatten()
        .filter(|(_, entry)| is_gitlink(**entry));
    base.chain(later.map(|(path, _)| path)).cloned().collect()
}

impl DiskState {
    fn add(&mut self, known: &Worktree, manifest: &Manifest, found: Found) {
        let item = manifest.get(&found.path);
        let recorded = item.and_then(|item| item.disk);
        let base = item.and_then(|item| item.base);
        let mut entry = found.entry;
        if let Some(recorded) = recorded {
            let same_content = entry.id == recorded.entry.id
                && (entry.mode == recorded.entry.mode
                    || entry.mode.is_regular() && recorded.entry.mode.is_regular());
            if entry == recorded.entry {
                let is_read = || access(known, &found.path) == Access::Read;
                if was_opened(&recorded.stat, &found.stat) && is_read() {
                    self.permissions.push(found.path);
                }
                return;
            }
            if let (true, Some(base)) = (same_content, base) {
                entry.id = base.id;
            }
        }
        if !known.record.file_mode && entry.mode.is_regular() {
            let kept = base.filter(|base| base.mode.is_regular());
            entry.mode = kept.map_or(Mode::File, |base| base.mode);
        }
        // what an `add` hook left there untracked and somebody edited is a new file to git
        self.delta.insert(found.path, Some(entry));
    }

    /// The walk gives what was recorded for a placed file that is as it was placed.
    fn add_placed(
        &mut self,
        known: &Worktree,
        manifest: &Manifest,
        proof: Proof<'_>,
        file: &PlacedFile,
        found: Found,
    ) {
        let recorded = manifest.get(&found.path).and_then(|item| item.disk);
        let path = &found.path;
        let now = found.entry.mode;
        let is_same = recorded.is_some_and(|recorded| recorded.entry == found.entry);
        let change = match file.kind {
            _ if is_same => None,
            PlacedKind::File if now.is_regular() => {
                match proof.difference(&known.record.path, file) {
                    Difference::Linked => Some(PlacedChange {
                        kind: Kind::Modified,
                        detail: Some(LINKED),
                    }),
                    Difference::Mode => known.record.file_mode.then(|| Kind::Mode.into()),
                    Difference::Content => Some(Kind::Modified.into()),
                }
            }
            PlacedKind::Link if now == Mode::Link => Some(Kind::Modified.into()),
            PlacedKind::Directory if now == Mode::EmptyDirectory => return,
            PlacedKind::File | PlacedKind::Link | PlacedKind::Directory => {
                Some(Kind::Typechange.into())
            }
        };
        let Some(change) = change else {
            let opened = recorded.is_some_and(|then| was_opened(&then.stat, &found.stat));
            if opened && access(known, path) != Access::Write {
                self.permissions.push(found.path);
            }
            return;
        };
        self.placed.insert(path.clone(), change);
        self.delta.insert(found.path, Some(found.entry));
    }

    /// The changes of placed files.
    pub fn of_placed(&self) -> impl Iterator<Item = Change> {
        self.placed.iter().map(|(path, change)| {
            let now = self.delta.get(path).copied().flatten();
            Change {
                place: Place::Path(path.clone()),
                kind: change.kind,
                seen: BTreeSet::from([Seen::Synced]),
                is_directory: now.is_some_and(|entry| entry.mode.is_directory()),
                detail: change.detail.map(str::to_owned),
            }
        })
    }

    /// A submodule is what its HEAD says, if its files are those of its HEAD.
    fn add_submodule(&mut self, ground: &Ground<'_>, references: &[Delta], path: RepoPath) {
        let (repository, known, manifest) = (ground.repository, ground.known, &ground.manifest);
        let at = references
            .iter()
            .map(|reference| entry_in(manifest, reference, &path));
        let all = at.chain([manifest.base(&path)]).flatten();
        let allowed = all.filter(|e| e.mode == Mode::Gitlink).map(|e| e.id);
        let seen = submodule::read(repository, known, &path, &allowed.collect());
        self.inside.extend(seen.changes);
        self.unreadable.extend(seen.unreadable);
        let entry = Entry {
            mode: Mode::Gitlink,
            id: seen.clean_head.unwrap_or(ObjectId::none()),
        };
        if manifest.base(&path) != Some(entry) {
            self.delta.insert(path, Some(entry));
        }
    }

    /// Excluded paths that are there with the very content that a reference has, and what was
    /// changed inside submodules.
    pub fn present(
        &self,
        ground: &Ground<'_>,
        references: &[Delta],
        net: &BTreeSet<&RepoPath>,
    ) -> Vec<Change> {
        let (known, manifest) = (ground.known, &ground.manifest);
        let tracked = |path: &RepoPath| {
            references
                .iter()
                .any(|reference| entry_in(manifest, reference, path).is_some())
        };
        let there = self
            .delta
            .iter()
            .filter_map(|(path, entry)| Some((path, (*entry)?)));
        let present = there.filter(|(path, entry)| {
            let kind = EntryKind::of(entry.mode);
            known.scope.verdict(path, kind).access == Access::Excluded
                && tracked(path)
                && !net.contains(path)
        });
        let change = |(path, entry): (&RepoPath, Entry)| Change {
            place: Place::Path(path.clone()),
            kind: Kind::Present,
            seen: BTreeSet::from([Seen::Disk]),
            is_directory: entry.mode.is_directory(),
            detail: None,
        };
        let inside = self.inside.iter().cloned();
        present.map(change).chain(inside).collect()
    }
}

impl Ground<'_> {
    /// Whether a file that was not read has the size of a blob that it must be told from: one that a
    /// reference has at its path, or one that the scope excludes.
    fn may_be_a_blob(&self, found: &Found, references: &[&Delta]) -> Result<bool, WorktreeError> {
        let at = |reference: &&Delta| entry_in(&self.manifest, reference, &found.path);
        let base = self.manifest.base(&found.path);
        let mut classifier = self.known.scope.classifier();
        let items = self.manifest.items().iter();
        let excluded = items.filter_map(|item| {
            let base = item.base?;
            (classifier.verdict(&item.path, EntryKind::File).access == Access::Excluded)
                .then_some(base)
        });
        let all = references.iter().filter_map(at).chain(base).chain(excluded);
        for blob in all.filter(|blob| blob.mode.is_regular()) {
            if self.objects.size(&blob.id)? == found.stat.size {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Reads the id of a large file's content.
fn content_of(
    repository: &Repository,
    known: &Worktree,
    path: &RepoPath,
) -> Result<ObjectId, WorktreeError> {
    let failed = |error| DiskError::new(format!("read {path}"), error);
    match open_below(&known.record.path, path).map_err(failed)? {
        Opened::File {
            size, mut content, ..
        } => {
            let id = repository.format.hash_blob(size, &mut content);
            Ok(id.map_err(failed)?)
        }
        Opened::Link(_) | Opened::Other => Ok(ObjectId::none()),
    }
}

/// Whether a file got a write bit, and nothing else: git's own rewrite of a file has another mtime
/// or inode.
fn was_opened(recorded: &Stat, now: &Stat) -> bool {
    let opened = now.mode & 0o222 & !recorded.mode != 0;
    opened && now.mtime == recorded.mtime && now.inode == recorded.inode
}

/// Whether a file was converted at `add` and has other bytes now: those that git stores, perhaps.
fn may_be_as_stored(manifest: &Manifest, found: &Found) -> bool {
    let item = manifest.get(&found.path);
    let both = item.and_then(|item| Some((item.base?, item.disk?.entry)));
    found.entry.mode.is_regular()
        && both.is_some_and(|(base, recorded)| {
            base.mode.is_regular()
                && recorded.mode.is_regular()
                && recorded.id != base.id
                && recorded.id != found.entry.id
        })
}

fn access(known: &Worktree, path: &RepoPath) -> Access {
    known.scope.verdict(path, EntryKind::File).access
}
