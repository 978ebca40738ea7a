//! Turns a walk of the disk, and an index, into differences from the base, as trees are told.
//!
//! Untracked files are told from ignored ones by the ignore rules of the base: what an agent adds to
//! a `.gitignore` or to `info/exclude` hides nothing.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::drift::{Difference, Proof};
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::open::Opened;
use crate::disk::open::open_below;
use crate::disk::scan::RunningWalk;
use crate::disk::scan::walk::{FoundEntry, Scan, Unreadable};
use crate::git::ignore::IgnoreStack;
use crate::git::index::{IndexEntry, OpenIndex, Stage};
use crate::git::object_format::ObjectFormat;
use crate::git::objects::Objects;
use crate::inventory::manifest::{Item, Manifest, OnDisk, Stat};
use crate::inventory::placed::{Placed, PlacedFile, PlacedKind};
use crate::judge::change::{Cause, Change, Content, Kind, Place, Seen, SharedChange};
use crate::judge::compare::{Delta, entry_in};
use crate::judge::finding::Reason;
use crate::record::accepted::Acceptances;
use crate::scope::{Access, EntryKind, Scope};
use crate::truth::converted::Converted;
use crate::truth::ground::{Ground, Sources};
use crate::truth::submodule;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::ignore_rules::EXCLUDE_RULE;
use crate::worktree::loaded::Worktree;

/// Holds what the disk says.
#[derive(Debug, Default)]
pub struct DiskState {
    /// How it differs from the base; what the scope excludes and is absent is not in it.
    pub delta: Delta,
    /// Read-only files that were made writable, with their content as it was.
    pub permissions: Vec<RepoPath>,
    /// Placed files that are not as they were placed. What stands there now is in `delta`.
    pub placed: BTreeMap<RepoPath, Change>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
    /// What was changed inside submodules.
    pub inside: Vec<Change>,
    /// How large each file is that was not there when the worktree was made.
    pub sizes: BTreeMap<RepoPath, u64>,
    /// Directories that were read and have what the base has there, and nothing else.
    pub walked: Vec<(RepoPath, Stat)>,
}

const LINKED: &str = "it is a hard link to the main worktree's file";

/// Whether filters may be started to tell what a checkout would write: not where a setting that runs a
/// program or says how files are converted was changed since `add`, or the repository's attributes. A
/// converted file then counts by its raw bytes.
pub(super) fn runs_filters(known: &Worktree, shared: &[SharedChange]) -> bool {
    let ignored = Place::Git("info/exclude".into());
    let accepted = Acceptances::new(&known.record.decisions);
    let is_open = |one: &&SharedChange| !accepted.cover(&one.change, Reason::Shared);
    let settings = shared.iter().filter(|one| one.change.kind == Kind::Config);
    let mut settings = settings.filter(is_open);
    !settings.any(|one| {
        one.cause == Cause::RunsCode || one.cause == Cause::Hides && one.change.place != ignored
    })
}

impl DiskState {
    /// Ends a walk of the worktree and compares it with its manifest, over which the list of placed
    /// files was laid. A file may be that of a reference, or of HEAD, as a checkout writes it.
    pub fn read(
        ground: &Ground<'_>,
        walk: Result<RunningWalk<'_, '_>, DiskError>,
        proof: Proof<'_>,
        (sources, index): (&Sources, &IndexState),
    ) -> Result<Self, Error> {
        let (known, manifest) = (ground.known, &ground.manifest);
        let (references, head) = (&sources.compared.working, &sources.compared.head);
        let with_head: Vec<&Delta> = references.iter().chain([head]).collect();
        let mut allowed = gitlinks(manifest, references);
        for (path, entry) in head.iter().chain(index.deltas.iter().flatten()) {
            if entry.is_some_and(|entry| entry.mode == Mode::Gitlink) {
                allowed.entry(path.clone()).or_default();
            }
        }
        let Scan {
            found,
            missing,
            submodules,
            unreadable,
            clean_directories: walked,
        } = walk?.finish(&allowed.keys().cloned().collect());
        let mut state = Self {
            unreadable,
            walked,
            ..Self::default()
        };
        for path in missing {
            if let Some(file) = proof.placed.get(&path) {
                // git itself takes an empty directory away with what was in it
                if file.kind != PlacedKind::Directory {
                    state.add_placed(path, Kind::Deleted, None, None);
                }
            } else if manifest.base(&path).is_some() {
                state.delta.insert(path, None);
            }
        }
        let mut stored = BTreeSet::new();
        let mut unread = BTreeMap::new();
        for mut found in found {
            let item = manifest.get(&found.path);
            if let Some(file) = proof.placed.get(&found.path) {
                let recorded = item.and_then(|item| item.disk);
                state.add_found_placed(known, recorded, proof, file, found);
                continue;
            }
            if found.entry.mode.is_regular() {
                state.sizes.insert(found.path.clone(), found.stat.size);
            }
            if found.is_unread() {
                let size = found.stat.size;
                if ground.needs_content(&found) || ground.may_be_a_blob(&found, &with_head)? {
                    found.entry.id =
                        read_content(&known.record.path, ground.repository.format, &found.path)?;
                } else {
                    unread.insert(found.path.clone(), size);
                }
            }
            if item.is_some_and(|item| may_be_as_stored(item, &found)) {
                stored.insert(found.path.clone());
            }
            state.add(known, item, found);
        }
        for path in submodules {
            let committed = entry_in(manifest, head, &path);
            state.add_submodule(ground, &allowed[&path], committed, path);
        }
        let converted = Converted {
            ground,
            references,
            head,
            runs_filters: runs_filters(known, &sources.around.shared),
            delta: &mut state.delta,
            stored,
            unread,
            settled: BTreeSet::new(),
        };
        ground.terms.effort.or(converted.settle(), || ())?;
        Ok(state)
    }

    fn add(&mut self, known: &Worktree, item: Option<&Item>, found: FoundEntry) {
        let recorded = item.and_then(|item| item.disk);
        let base = item.and_then(|item| item.base);
        let mut entry = found.entry;
        let are_regular = |other: Entry| entry.mode.is_regular() && other.mode.is_regular();
        if entry.mode == Mode::Special && found.path.file_name().starts_with(b".git") {
            let detail = "it is no file, and each git here waits for it".to_owned();
            let path = Some(found.path.clone());
            self.unreadable.push(Unreadable { path, detail });
        }
        if let Some(recorded) = recorded {
            if entry == recorded.entry {
                let verdict = || known.scope.verdict(&found.path, EntryKind::File);
                if was_opened(&recorded.stat, &found.stat) && verdict().access == Access::Read {
                    self.permissions.push(found.path);
                }
                return;
            }
            let same_kind = entry.mode == recorded.entry.mode || are_regular(recorded.entry);
            if let Some(base) = base.filter(|_| same_kind && entry.id == recorded.entry.id) {
                entry.id = base.id;
            }
        }
        if !known.record.file_mode && entry.mode.is_regular() {
            let kept = base.filter(|base| base.mode.is_regular());
            entry.mode = kept.map_or(Mode::File, |base| base.mode);
        }
        // what an `add` hook left there untracked, and was edited since, is a new file to git
        self.delta.insert(found.path, Some(entry));
    }

    /// The walk gives what was recorded for a placed file that is as it was placed.
    fn add_found_placed(
        &mut self,
        known: &Worktree,
        recorded: Option<OnDisk>,
        proof: Proof<'_>,
        file: &PlacedFile,
        found: FoundEntry,
    ) {
        let now = found.entry.mode;
        let is_same = recorded.is_some_and(|recorded| recorded.entry == found.entry);
        let change = match file.kind {
            _ if is_same => None,
            PlacedKind::File if now.is_regular() => {
                match proof.difference(&known.record.path, file) {
                    Difference::Linked => Some((Kind::Modified, Some(LINKED))),
                    Difference::Mode => known.record.file_mode.then_some((Kind::Mode, None)),
                    Difference::Content => Some((Kind::Modified, None)),
                }
            }
            PlacedKind::Link if now == Mode::Link => Some((Kind::Modified, None)),
            PlacedKind::Directory if now == Mode::EmptyDirectory => return,
            _ => Some((Kind::Typechange, None)),
        };
        if let Some((kind, detail)) = change {
            self.delta.insert(found.path.clone(), Some(found.entry));
            self.add_placed(found.path, kind, detail, Some(found.entry));
        } else if recorded.is_some_and(|then| was_opened(&then.stat, &found.stat))
            && known.scope.verdict(&found.path, EntryKind::File).access != Access::Write
        {
            self.permissions.push(found.path);
        }
    }

    fn add_placed(&mut self, path: RepoPath, kind: Kind, detail: Option<&str>, now: Option<Entry>) {
        let change = Change {
            is_directory: now.is_some_and(|entry| entry.mode.is_directory()),
            detail: detail.map(str::to_owned),
            now: vec![Content::Entry(now)],
            ..Change::new(Place::Path(path.clone()), kind, Seen::Synced)
        };
        self.placed.insert(path, change);
    }

    /// A submodule is what its HEAD says, if its files are those of its HEAD. One that is still where
    /// the base or upstream had it is as committed: `git submodule update` comes after a merge, and
    /// git leaves a submodule that upstream removed.
    fn add_submodule(
        &mut self,
        ground: &Ground<'_>,
        allowed: &BTreeSet<ObjectId>,
        committed: Option<Entry>,
        path: RepoPath,
    ) {
        let seen = submodule::read(ground.repository, ground.known, &path, allowed);
        self.inside.extend(seen.changes);
        self.unreadable.extend(seen.unreadable);
        let now = match seen.clean_head {
            Some(id) if allowed.contains(&id) => committed,
            other => Some(Entry {
                mode: Mode::Gitlink,
                id: other.unwrap_or(ObjectId::none()),
            }),
        };
        if ground.manifest.base(&path) != now {
            self.delta.insert(path, now);
        }
    }

    /// Whether nothing stands at a path because the scope excludes a file there.
    pub fn leaves_out(&self, path: &RepoPath, scope: &Scope) -> bool {
        !matches!(self.delta.get(path), Some(Some(_))) && scope.excludes_file(path)
    }

    /// Excluded paths that are there with the very content that a reference has, and what was
    /// changed inside submodules.
    pub fn present(
        &self,
        ground: &Ground<'_>,
        references: &[Delta],
        net: &BTreeSet<&RepoPath>,
    ) -> Vec<Change> {
        let mut present = self.inside.clone();
        let mut classifier = ground.known.scope.classifier();
        for (path, entry) in &self.delta {
            let Some(Entry { mode, .. }) = *entry else {
                continue;
            };
            let at = |reference| entry_in(&ground.manifest, reference, path);
            if classifier.verdict(path, EntryKind::of(mode)).access == Access::Excluded
                && references.iter().any(|reference| at(reference).is_some())
                && !net.contains(path)
            {
                present.push(Change {
                    is_directory: mode.is_directory(),
                    now: vec![Content::Entry(*entry)],
                    ..Change::new(Place::Path(path.clone()), Kind::Present, Seen::Disk)
                });
            }
        }
        present
    }
}

/// Every path at which a tree or one of these differences from it has a submodule, with the commits.
pub fn gitlinks(
    manifest: &Manifest,
    references: &[Delta],
) -> BTreeMap<RepoPath, BTreeSet<ObjectId>> {
    let base = manifest.items().iter().map(|item| (&item.path, item.base));
    let later = references.iter().flatten();
    let later = later.map(|(path, entry)| (path, *entry));
    let mut all: BTreeMap<RepoPath, BTreeSet<ObjectId>> = BTreeMap::new();
    for (path, entry) in base.chain(later) {
        if let Some(entry) = entry.filter(|entry| entry.mode == Mode::Gitlink) {
            all.entry(path.clone()).or_default().insert(entry.id);
        }
    }
    all
}

impl Ground<'_> {
    /// Whether a file that was not read has the size of a blob that it must be told from: one that a
    /// reference has at its path, or one that the scope excludes.
    fn may_be_a_blob(&self, found: &FoundEntry, references: &[&Delta]) -> Result<bool, Error> {
        let at = |reference: &&Delta| entry_in(&self.manifest, reference, &found.path);
        let base = self.manifest.base(&found.path);
        let mut classifier = self.known.scope.classifier();
        let items = self.manifest.items().iter();
        let excluded = items.filter_map(|item| {
            let access = classifier.verdict(&item.path, EntryKind::File).access;
            item.base.filter(|_| access == Access::Excluded)
        });
        let all = references.iter().filter_map(at).chain(base).chain(excluded);
        for blob in all.filter(|blob| blob.mode.is_regular()) {
            if self.objects.size(&blob.id)? == found.stat.size {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the content of a large file is asked for, or may be one that a person accepted.
    fn needs_content(&self, found: &FoundEntry) -> bool {
        if self.terms.large_files.reads(&found.path) {
            return true;
        }
        let place = Place::Path(found.path.clone()).to_tsv();
        let decisions = self.known.record.decisions.iter();
        let mut accepted = decisions.flat_map(|decision| &decision.accepted);
        accepted.any(|one| one.place == place && one.may_have_size(found.stat.size))
    }
}

/// Reads the id of the content of a file in the worktree.
pub(super) fn read_content(
    root: &Utf8Path,
    format: ObjectFormat,
    path: &RepoPath,
) -> Result<ObjectId, Error> {
    let failed = |error| DiskError::new(format!("read {path}"), error);
    match open_below(root, path).map_err(failed)? {
        Opened::File {
            size, mut content, ..
        } => Ok(format.hash_blob(size, &mut content).map_err(failed)?),
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
fn may_be_as_stored(item: &Item, found: &FoundEntry) -> bool {
    let both = item.base.zip(item.disk.map(|disk| disk.entry));
    both.is_some_and(|(base, recorded)| {
        let all = [base, recorded, found.entry];
        all.iter().all(|entry| entry.mode.is_regular())
            && recorded.id != base.id
            && recorded.id != found.entry.id
    })
}

/// The user's own rules (`core.excludesFile`), as `add` recorded them.
pub const EXCLUDES_FILE: &str = "ignore/excludes-file";
/// The rules of `info/exclude`, as `add` recorded them.
pub const INFO_EXCLUDE: &str = "ignore/info-exclude";

/// Says of every path on disk that git does not know whether it is ignored, or was placed and is
/// not as it was.
pub fn classify(
    ground: &Ground<'_>,
    sources: &Sources,
    placed: &Placed,
    disk: &Delta,
    index: &IndexState,
) -> Result<BTreeMap<RepoPath, Seen>, Error> {
    let manifest = &ground.manifest;
    let (references, head) = (&sources.compared.working, &sources.compared.head);
    let is_unknown = |path: &RepoPath| {
        let mut trees = references.iter().chain([head]);
        !index.adds(path) && !trees.any(|delta| entry_in(manifest, delta, path).is_some())
    };
    let mut seen = BTreeMap::new();
    // read for the first; without rules everything that is untracked counts
    let mut rules_of_base: Option<Option<IgnoreStack>> = None;
    for (path, entry) in disk {
        let Some(entry) = entry.filter(|_| is_unknown(path)) else {
            continue;
        };
        if placed.get(path).is_some() {
            seen.insert(path.clone(), Seen::Synced);
            continue;
        }
        if rules_of_base.is_none() {
            let nearest = sources.compared.reference_on_disk();
            let recorded = [EXCLUDES_FILE, INFO_EXCLUDE];
            let read = rules(ground.known, manifest, &ground.objects, nearest, &recorded);
            rules_of_base = Some(ground.terms.effort.or(read.map(Some), || None)?);
        }
        let mut rules = rules_of_base.iter_mut().flatten();
        let ignored = rules.any(|rules| is_ignored(rules, path, entry.mode));
        let how = if ignored {
            Seen::Ignored
        } else {
            Seen::Untracked
        };
        seen.insert(path.clone(), how);
    }
    Ok(seen)
}

/// Finds the ignored paths that the base's own rules do not name: a `.gitignore` that came into the
/// worktree hides them. `self_ignored` are those in a directory that ignores itself.
pub fn find_hidden(
    ground: &Ground<'_>,
    sources: &Sources,
    disk: &Delta,
    untracked: &BTreeMap<RepoPath, Seen>,
    self_ignored: BTreeSet<RepoPath>,
) -> Result<BTreeSet<RepoPath>, Error> {
    let nearest = sources.compared.reference_on_disk();
    if !nearest.keys().any(is_rules_file) && !has_own_rules(ground.known)? {
        // those of the base are the rules that were asked
        return Ok(self_ignored);
    }
    let nothing = Delta::new();
    let read = rules(
        ground.known,
        &ground.manifest,
        &ground.objects,
        &nothing,
        &[],
    );
    let mut rules_of_base = ground.terms.effort.or(read.map(Some), || None)?;
    let mut hidden = self_ignored;
    for (path, seen) in untracked {
        let entry = disk.get(path).copied().flatten();
        let (Seen::Ignored, Some(entry)) = (seen, entry) else {
            continue;
        };
        let by_base = rules_of_base
            .as_mut()
            .is_some_and(|rules| is_ignored(rules, path, entry.mode));
        if !by_base {
            hidden.insert(path.clone());
        }
    }
    Ok(hidden)
}

/// Whether the user had rules of their own at `add`, which no commit has: what they hide may be work.
fn has_own_rules(known: &Worktree) -> Result<bool, DiskError> {
    for name in [EXCLUDES_FILE, INFO_EXCLUDE] {
        let text = files::read(&known.dir.join(name))?.unwrap_or_default();
        let mut lines = text.lines().map(<[u8]>::trim_ascii);
        if lines.any(|line| {
            !line.is_empty() && !line.starts_with(b"#") && line != EXCLUDE_RULE.as_bytes()
        }) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether git reads ignore rules from a file of this path.
fn is_rules_file(path: &RepoPath) -> bool {
    // to look where the name begins takes longer than to see that it does not end so
    path.as_bstr().ends_with(b".gitignore") && path.file_name() == ".gitignore"
}

/// Whether the rules ignore what stands at a path on disk.
pub fn is_ignored(rules: &mut IgnoreStack, path: &RepoPath, mode: Mode) -> bool {
    match mode {
        Mode::EmptyDirectory => rules.ignores_directory(path),
        Mode::NestedGit => path.parent().is_some_and(|p| rules.ignores_directory(&p)),
        Mode::File | Mode::Executable | Mode::Link | Mode::Gitlink | Mode::Special => {
            rules.ignores_file(path)
        }
    }
}

/// The rules of one tree, and these of those that were recorded beside it.
pub fn rules(
    known: &Worktree,
    manifest: &Manifest,
    objects: &Objects,
    reference: &Delta,
    recorded: &[&str],
) -> Result<IgnoreStack, Error> {
    let base = manifest.items().iter().map(|item| &item.path);
    let paths = base
        .chain(reference.keys())
        .filter(|path| is_rules_file(path));
    let paths: BTreeSet<&RepoPath> = paths.collect();
    let mut texts = Vec::new();
    for path in paths {
        if let Some(entry) = entry_in(manifest, reference, path).filter(|e| e.mode.is_regular()) {
            texts.push((path.parent(), objects.blob(&entry.id)?));
        }
    }
    let mut shared = Vec::new();
    for name in recorded {
        shared.extend(files::read(&known.dir.join(name))?);
    }
    let ignore_case = known.record.ignore_case;
    Ok(IgnoreStack::new(&shared, &texts, ignore_case)?)
}

/// Holds what an index says.
#[derive(Clone, Debug, Default)]
pub struct IndexState {
    /// How it differs from the base: one difference, and in a conflict a second one with
    /// "theirs" where the first has "ours".
    pub deltas: Vec<Delta>,
    /// Paths that a flag hides from git's own eyes, with how they are seen.
    pub hidden: BTreeMap<RepoPath, Seen>,
    /// Paths in a conflict.
    pub conflicts: BTreeSet<RepoPath>,
    /// Whether it is missing or cannot be read.
    pub damaged: bool,
}

impl IndexState {
    /// Compares an index with the base; none where it has what can be no path.
    pub fn compare(known: &Worktree, manifest: &Manifest, index: &OpenIndex) -> Option<Self> {
        let mut entries = index.entries().peekable();
        let mut group = Vec::new();
        let mut items = manifest.items().iter().peekable();
        let mut classifier = known.scope.classifier();
        let (mut ours, mut theirs, mut hidden) = (Delta::new(), Delta::new(), BTreeMap::new());
        let mut conflicts = BTreeSet::new();
        while let Some(first) = entries.next() {
            let first = first.ok()?;
            // several entries of a path in a conflict
            group.clear();
            group.push(first);
            while let Some(Ok(next)) = entries.peek()
                && next.path == first.path
            {
                group.push(*next);
                entries.next();
            }
            while let Some(item) = items.next_if(|item| item.path.as_bstr() < first.path) {
                if item.base.is_some() {
                    ours.insert(item.path.clone(), None);
                }
            }
            let item = items.next_if(|item| item.path.as_bstr() == first.path);
            let base = item.and_then(|item| item.base);
            // a commit leaves out what is only announced: where the base has a file, that deletes it
            let is_in = |one: &&IndexEntry<_>| base.is_none() || !one.intent_to_add;
            let side = |stage| {
                let mut staged = group.iter().filter(is_in);
                staged.find(|one| one.stage == stage).map(|one| one.entry)
            };
            let conflict = group.iter().any(|entry| entry.stage != Stage::Unconflicted);
            let now = side(if conflict {
                Stage::Ours
            } else {
                Stage::Unconflicted
            });
            let is_marked = first.assume_unchanged || first.skip_worktree;
            // as nearly all are
            if now == base && !conflict && !is_marked && item.is_some() {
                continue;
            }
            let path = item.map(|item| item.path.clone());
            let path = path.or_else(|| RepoPath::parse(first.path).ok())?;
            let kind = EntryKind::of(first.entry.mode);
            if first.assume_unchanged {
                hidden.insert(path.clone(), Seen::AssumeUnchanged);
            } else if first.skip_worktree
                && classifier.verdict(&path, kind).access != Access::Excluded
            {
                hidden.insert(path.clone(), Seen::SkipWorktree);
            }
            if conflict {
                theirs.insert(path.clone(), side(Stage::Theirs));
                conflicts.insert(path.clone());
            }
            if now != base {
                ours.insert(path, now);
            }
        }
        let gone = items.filter(|item| item.base.is_some());
        ours.extend(gone.map(|gone| (gone.path.clone(), None)));
        let mut deltas = vec![ours];
        if !theirs.is_empty() {
            let mut second = deltas[0].clone();
            second.extend(theirs);
            deltas.push(second);
        }
        Some(Self {
            deltas,
            hidden,
            conflicts,
            damaged: false,
        })
    }

    /// Whether it has an entry for a path that the base does not have.
    pub fn adds(&self, path: &RepoPath) -> bool {
        let mut deltas = self.deltas.iter();
        deltas.any(|delta| matches!(delta.get(path), Some(Some(_))))
    }
}
