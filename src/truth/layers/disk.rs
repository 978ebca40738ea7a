//! Turns a walk of the disk into a [`Delta`]: what differs from the base.
//!
//! Untracked files are distinguished from ignored ones by the ignore rules of the base: what an
//! agent adds to a `.gitignore` or to `info/exclude` hides nothing.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::disk::drift::{Difference, Proof};
use crate::disk::error::DiskError;
use crate::disk::scan::RunningWalk;
use crate::disk::scan::walk::{FoundEntry, Unreadable};
use crate::inventory::manifest::{Item, OnDisk, Stat};
use crate::inventory::placed::{Placed, PlacedFile, PlacedKind, PlacedOrigin};
use crate::judge::change::{Change, Content, Kind, Place, Seen};
use crate::judge::compare::{Delta, entry_in};
use crate::record::worktree::Record;
use crate::scope::compiled::Scope;
use crate::scope::rule::{Access, EntryKind};
use crate::truth::facts::CommitFacts;
use crate::truth::inputs::SurveyInputs;
use crate::truth::layers::content::{gitlinks, is_size_of_blob, read_content};
use crate::truth::layers::converted::{Converted, Filters};
use crate::truth::layers::index::IndexState;
use crate::truth::layers::submodules;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::path::RepoPath;
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
    /// The commit of each filled submodule whose files and index are those of its HEAD. Where others
    /// had it on that commit, `delta` says that it is as committed.
    pub clean_submodules: BTreeMap<RepoPath, ObjectId>,
    /// How large each regular file is that the walk found and that is not placed.
    pub sizes: BTreeMap<RepoPath, u64>,
    /// Directories that were read and have what the base has there, and nothing else.
    pub walked: Vec<(RepoPath, Stat)>,
}

/// Holds what the disk is compared with.
pub struct DiskReferences<'a> {
    /// What was read of all but the files.
    pub inputs: &'a SurveyInputs<'a>,
    /// What was committed.
    pub facts: &'a CommitFacts,
    /// The index.
    pub index: &'a IndexState,
    /// Whether filters may be started.
    pub filters: Filters,
}

const LINKED: &str = "it is a hard link to the main worktree's file";

impl DiskState {
    /// Ends a walk of the worktree and compares it with its manifest, over which the list of placed
    /// files was laid. What cannot be read at all is unreadable as a whole.
    ///
    /// # Errors
    /// Fails when git or an object cannot be read.
    pub fn read(
        references: &DiskReferences<'_>,
        walk: Result<RunningWalk<'_, '_>, DiskError>,
        proof: Proof<'_>,
    ) -> Result<Self, Error> {
        match Self::compare(references, walk, proof) {
            Err(error) if error.find::<DiskError>().is_some() => Ok(Self {
                unreadable: vec![Unreadable {
                    path: None,
                    detail: error.to_string(),
                }],
                ..Self::default()
            }),
            read => read,
        }
    }

    /// Ends the walk and compares what it found with the manifest. At last, each file that a
    /// checkout of a reference or of HEAD would write gets the blob of that.
    fn compare(
        references: &DiskReferences<'_>,
        walk: Result<RunningWalk<'_, '_>, DiskError>,
        proof: Proof<'_>,
    ) -> Result<Self, Error> {
        let inputs = references.inputs;
        let facts = references.facts;
        let manifest = &inputs.manifest;
        let head = &facts.references.head;
        let allowed = allowed_submodules(inputs, facts, references.index);
        let scan = walk?.finish(&allowed.keys().cloned().collect());
        let mut state = Self {
            unreadable: scan.unreadable,
            walked: scan.clean_directories,
            ..Self::default()
        };
        for path in scan.missing {
            state.add_missing(inputs, proof, path);
        }
        let uncertain = state.add_found_files(references, proof, scan.found)?;
        for path in scan.submodules {
            let committed = entry_in(manifest, head, &path);
            state.add_submodule(inputs, &allowed[&path], committed, path);
        }
        let converted = Converted {
            inputs,
            references: &facts.references.working,
            head,
            filters: references.filters,
            delta: &mut state.delta,
            converted_and_changed: uncertain.converted_and_changed,
            unread: uncertain.unread,
            settled: BTreeSet::new(),
        };
        let read_policy = &inputs.options.read_policy;
        read_policy.or(converted.settle(), || ())?;
        Ok(state)
    }

    /// Adds the files that the walk found. Returns those whose bytes do not yet say which blob they
    /// are: large ones that were not read, and ones that git converted at `add` and that changed.
    fn add_found_files(
        &mut self,
        references: &DiskReferences<'_>,
        proof: Proof<'_>,
        files: Vec<FoundEntry>,
    ) -> Result<UncertainFiles, Error> {
        let inputs = references.inputs;
        let large_files = LargeFileReader::new(inputs, references.facts);
        let mut uncertain = UncertainFiles::default();
        for mut found in files {
            let item = inputs.manifest.get(&found.path);
            if let Some(file) = proof.placed.get(&found.path) {
                let recorded = item.and_then(|item| item.disk);
                self.add_found_placed(inputs.worktree, recorded, proof, file, found);
                continue;
            }
            if found.entry.mode.is_regular() {
                self.sizes.insert(found.path.clone(), found.stat.size);
            }
            if found.is_unread() {
                let was_read = large_files.read_where_needed(&mut found)?;
                if !was_read {
                    uncertain.unread.insert(found.path.clone(), found.stat.size);
                }
            }
            if item.is_some_and(|item| was_converted_and_changed(item, &found)) {
                uncertain.converted_and_changed.insert(found.path.clone());
            }
            self.add(inputs.worktree, item, found);
        }
        Ok(uncertain)
    }

    /// Adds what the manifest has and the disk has not.
    fn add_missing(&mut self, inputs: &SurveyInputs<'_>, proof: Proof<'_>, path: RepoPath) {
        if let Some(file) = proof.placed.get(&path) {
            if is_copy(file) && inputs.worktree.scope.excludes_file(&path) {
                // the scope was changed since, and it is gone as it is to be
                self.delta.insert(path, None);
            } else if file.kind != PlacedKind::Directory {
                // git itself takes an empty directory away with what was in it
                self.add_placed(path, Kind::Deleted, None, None);
            }
        } else if inputs.manifest.base(&path).is_some() {
            self.delta.insert(path, None);
        }
    }

    /// Adds what stands at a path where no placed file is.
    fn add(&mut self, worktree: &Worktree, item: Option<&Item>, found: FoundEntry) {
        if found.entry.mode == Mode::Special && found.path.file_name().starts_with(b".git") {
            let detail = "it is no file, and each git here waits for it".to_owned();
            let path = Some(found.path.clone());
            self.unreadable.push(Unreadable { path, detail });
        }
        let recorded = item.and_then(|item| item.disk);
        if let Some(recorded) = recorded
            && found.entry == recorded.entry
        {
            if was_made_writable(&recorded.stat, &found.stat)
                && worktree.scope.verdict(&found.path, EntryKind::File).access == Access::Read
            {
                self.permissions.push(found.path);
            }
            return;
        }
        let base = item.and_then(|item| item.base);
        let recorded_entry = recorded.map(|recorded| recorded.entry);
        let entry = entry_as_stored(&worktree.record, base, recorded_entry, found.entry);
        // what an `add` hook left there untracked, and was edited since, is a new file to git
        self.delta.insert(found.path, Some(entry));
    }

    /// Adds what stands at the path of a placed file, if it is not as it was placed, or got a write
    /// bit. Of a file that the walk proved unchanged, `found` has the recorded entry.
    fn add_found_placed(
        &mut self,
        worktree: &Worktree,
        recorded: Option<OnDisk>,
        proof: Proof<'_>,
        file: &PlacedFile,
        found: FoundEntry,
    ) {
        let now = found.entry;
        let is_as_recorded = recorded.is_some_and(|recorded| recorded.entry == now);
        // of a placed directory it only counts that a directory is there
        let is_directory = now.mode == Mode::EmptyDirectory && file.kind == PlacedKind::Directory;
        if is_directory && !is_as_recorded {
            return;
        }
        if !is_as_recorded && let Some(change) = change_of_placed(worktree, proof, file, now.mode) {
            self.delta.insert(found.path.clone(), Some(now));
            self.add_placed(found.path, change.kind, change.detail, Some(now));
            return;
        }
        let is_made_writable =
            recorded.is_some_and(|recorded| was_made_writable(&recorded.stat, &found.stat));
        if !is_made_writable {
            return;
        }
        // not only `Read`: a placed file can also be one that the scope excludes
        let access = worktree.scope.verdict(&found.path, EntryKind::File).access;
        if access != Access::Write {
            self.permissions.push(found.path);
        }
    }

    /// Adds the change of a placed file; `now` is what stands there.
    fn add_placed(&mut self, path: RepoPath, kind: Kind, detail: Option<&str>, now: Option<Entry>) {
        let change = Change {
            is_directory: now.is_some_and(|entry| entry.mode.is_directory()),
            detail: detail.map(str::to_owned),
            now: vec![Content::Entry(now)],
            ..Change::new(Place::Path(path.clone()), kind, Seen::Synced)
        };
        self.placed.insert(path, change);
    }

    /// A submodule is what its HEAD says, if its files are those of its HEAD. One that is still
    /// where the base or upstream had it is as committed: `git submodule update` comes after a
    /// merge, and git leaves a submodule that upstream removed.
    fn add_submodule(
        &mut self,
        inputs: &SurveyInputs<'_>,
        allowed: &BTreeSet<ObjectId>,
        committed: Option<Entry>,
        path: RepoPath,
    ) {
        let seen = submodules::read(inputs.repository, inputs.worktree, &path, allowed);
        self.inside.extend(seen.changes);
        self.unreadable.extend(seen.unreadable);
        if let Some(id) = seen.clean_head {
            self.clean_submodules.insert(path.clone(), id);
        }
        let now = match seen.clean_head {
            Some(id) if allowed.contains(&id) => committed,
            clean_head => Some(Entry {
                mode: Mode::Gitlink,
                id: clean_head.unwrap_or(ObjectId::none()),
            }),
        };
        if inputs.manifest.base(&path) != now {
            self.delta.insert(path, now);
        }
    }

    /// True if nothing stands at a path because the scope excludes a file there.
    pub fn leaves_out(&self, path: &RepoPath, scope: &Scope) -> bool {
        !matches!(self.delta.get(path), Some(Some(_))) && scope.excludes_file(path)
    }

    /// Lists what the scope excludes and is on disk, but is no net change, as upstream has it: git
    /// checks out nothing there. Those in `reported` are net changes. A directory counts only if a
    /// reference has a submodule there: of others, an empty one is build output.
    pub fn present_though_excluded(
        &self,
        inputs: &SurveyInputs<'_>,
        references: &[Delta],
        reported: &BTreeSet<&RepoPath>,
    ) -> Vec<Change> {
        let mut present = Vec::new();
        let mut classifier = inputs.worktree.scope.classifier();
        for (path, content) in &self.delta {
            let Some(entry) = content else {
                continue;
            };
            let verdict = classifier.verdict(path, EntryKind::of(entry.mode));
            if verdict.access != Access::Excluded || reported.contains(path) {
                continue;
            }
            let has_path = |reference| entry_in(&inputs.manifest, reference, path).is_some();
            if !entry.mode.is_directory() || references.iter().any(has_path) {
                present.push(Change {
                    is_directory: entry.mode.is_directory(),
                    now: vec![Content::Entry(*content)],
                    ..Change::new(Place::Path(path.clone()), Kind::Present, Seen::Disk)
                });
            }
        }
        present
    }

    /// Lists the copies of untracked files that are there as they were copied, though the scope
    /// excludes them. `add` and `sync` copy no such file: the scope was changed since.
    pub fn copied_though_excluded(&self, placed: &Placed, scope: &Scope) -> Vec<Change> {
        let mut copies = Vec::new();
        let mut classifier = scope.classifier();
        for file in placed.files() {
            // one that was edited is a change of its own
            let is_edited = self.placed.contains_key(&file.path);
            let is_absent = self.delta.get(&file.path) == Some(&None);
            let is_copied = is_copy(file) && !is_edited && !is_absent;
            if is_copied && classifier.excludes_file(&file.path) {
                let place = Place::Path(file.path.clone());
                copies.push(Change {
                    now: vec![Content::value("", Some(content_of_copy(file)))],
                    ..Change::new(place, Kind::Present, Seen::Disk)
                });
            }
        }
        copies
    }
}

/// True for the copy of an untracked file.
fn is_copy(file: &PlacedFile) -> bool {
    file.origin == PlacedOrigin::Synced && file.kind != PlacedKind::Directory
}

/// Names the content of a copy that is as it was copied: by its digest, and that of a large file,
/// which the file system cloned without reading it, by its size and time.
fn content_of_copy(file: &PlacedFile) -> String {
    match file.digest {
        Some(digest) => digest.to_string(),
        None => format!("{} bytes of {}", file.stat.size, file.stat.mtime),
    }
}

/// Holds the files of which the blob is not known by their bytes.
#[derive(Default)]
struct UncertainFiles {
    /// Those that were converted at `add`, and have other bytes now.
    converted_and_changed: BTreeSet<RepoPath>,
    /// Those that were not read, with their sizes.
    unread: BTreeMap<RepoPath, u64>,
}

/// Returns what git would store of a file: the blob of the base, where the file has the content of
/// `add`; and the mode of the base, where git tells no modes apart.
fn entry_as_stored(
    record: &Record,
    base: Option<Entry>,
    recorded: Option<Entry>,
    found: Entry,
) -> Entry {
    let mut entry = found;
    if let Some(base) = base
        && let Some(recorded) = recorded
        && found.id == recorded.id
    {
        let are_regular = found.mode.is_regular() && recorded.mode.is_regular();
        if found.mode == recorded.mode || are_regular {
            entry.id = base.id;
        }
    }
    if !record.file_mode && entry.mode.is_regular() {
        entry.mode = match base {
            Some(base) if base.mode.is_regular() => base.mode,
            Some(_) | None => Mode::File,
        };
    }
    entry
}

/// Holds how a placed file was changed.
struct PlacedChange {
    kind: Kind,
    detail: Option<&'static str>,
}

impl PlacedChange {
    const fn new(kind: Kind) -> Self {
        Self { kind, detail: None }
    }
}

/// Says how a placed file was changed, by the mode of what stands there now; none if that has the
/// content of before and git tells no modes apart. Called only for what is not as the manifest has
/// it.
fn change_of_placed(
    worktree: &Worktree,
    proof: Proof<'_>,
    file: &PlacedFile,
    now: Mode,
) -> Option<PlacedChange> {
    match file.kind {
        PlacedKind::File if now.is_regular() => {
            match proof.difference(&worktree.record.path, file) {
                Difference::Linked => Some(PlacedChange {
                    kind: Kind::Modified,
                    detail: Some(LINKED),
                }),
                Difference::Mode if worktree.record.file_mode => {
                    Some(PlacedChange::new(Kind::Mode))
                }
                Difference::Mode => None,
                Difference::Content => Some(PlacedChange::new(Kind::Modified)),
            }
        }
        PlacedKind::Link if now == Mode::Link => Some(PlacedChange::new(Kind::Modified)),
        PlacedKind::File | PlacedKind::Link | PlacedKind::Directory => {
            Some(PlacedChange::new(Kind::Typechange))
        }
    }
}

/// Lists where a submodule may stand, with the commits that a reference has there.
fn allowed_submodules(
    inputs: &SurveyInputs<'_>,
    facts: &CommitFacts,
    index: &IndexState,
) -> BTreeMap<RepoPath, BTreeSet<ObjectId>> {
    let mut allowed = gitlinks(&inputs.manifest, &facts.references.working);
    for delta in std::iter::once(&facts.references.head).chain(&index.deltas) {
        for (path, entry) in delta {
            if entry.is_some_and(|entry| entry.mode == Mode::Gitlink) {
                allowed.entry(path.clone()).or_default();
            }
        }
    }
    allowed
}

/// Reads the content of large files where their size does not tell that they are changed.
struct LargeFileReader<'a> {
    inputs: &'a SurveyInputs<'a>,
    references: Vec<&'a Delta>,
    /// The sizes of the files of the base that the scope excludes; read for the first large file.
    excluded_sizes: OnceCell<BTreeSet<u64>>,
}

impl<'a> LargeFileReader<'a> {
    fn new(inputs: &'a SurveyInputs<'_>, facts: &'a CommitFacts) -> Self {
        let mut references: Vec<&Delta> = facts.references.working.iter().collect();
        references.push(&facts.references.head);
        Self {
            inputs,
            references,
            excluded_sizes: OnceCell::new(),
        }
    }

    /// Reads a file where its content is needed. Returns true if it was read.
    fn read_where_needed(&self, found: &mut FoundEntry) -> Result<bool, Error> {
        if !self.is_content_asked_for(found) && !self.may_be_a_blob(found)? {
            return Ok(false);
        }
        let root = &self.inputs.worktree.record.path;
        let format = self.inputs.repository.format;
        found.entry.id = read_content(root, format, &found.path)?;
        Ok(true)
    }

    /// True if only the content of a file says that it is not a certain blob: it has the size of
    /// one that a reference has at its path, or of one that the scope excludes.
    fn may_be_a_blob(&self, found: &FoundEntry) -> Result<bool, Error> {
        let size = found.stat.size;
        let base = Delta::new();
        let trees = self.references.iter().copied().chain([&base]);
        let objects = &self.inputs.objects;
        if is_size_of_blob(objects, &self.inputs.manifest, trees, &found.path, size)? {
            return Ok(true);
        }
        Ok(self.excluded_sizes()?.contains(&size))
    }

    /// The sizes of the files of the base that the scope excludes.
    fn excluded_sizes(&self) -> Result<&BTreeSet<u64>, Error> {
        if let Some(sizes) = self.excluded_sizes.get() {
            return Ok(sizes);
        }
        let mut sizes = BTreeSet::new();
        let mut classifier = self.inputs.worktree.scope.classifier();
        for item in self.inputs.manifest.items() {
            let Some(base) = item.base.filter(|base| base.mode.is_regular()) else {
                continue;
            };
            if classifier.excludes_file(&item.path) {
                sizes.insert(self.inputs.objects.size(&base.id)?);
            }
        }
        Ok(self.excluded_sizes.get_or_init(|| sizes))
    }

    /// True if the content of a file is asked for, or may be one that a person accepted.
    fn is_content_asked_for(&self, found: &FoundEntry) -> bool {
        if self.inputs.options.large_files.reads(&found.path) {
            return true;
        }
        let place = Place::Path(found.path.clone()).to_tsv();
        for decision in &self.inputs.worktree.record.decisions {
            for accepted in &decision.accepted {
                if accepted.place == place && accepted.may_have_size(found.stat.size) {
                    return true;
                }
            }
        }
        false
    }
}

/// True if a file got a write bit, and nothing else: git's own rewrite of a file has another mtime
/// or inode.
fn was_made_writable(recorded: &Stat, now: &Stat) -> bool {
    let has_new_write_bit = now.mode & 0o222 & !recorded.mode != 0;
    has_new_write_bit && now.mtime == recorded.mtime && now.inode == recorded.inode
}

/// True if git converted a file at `add` and it has other bytes now: those that git stores,
/// perhaps.
fn was_converted_and_changed(item: &Item, found: &FoundEntry) -> bool {
    let Some(base) = item.base else {
        return false;
    };
    let Some(recorded) = item.disk else {
        return false;
    };
    let entries = [base, recorded.entry, found.entry];
    let was_converted = recorded.entry.id != base.id;
    let has_other_bytes = recorded.entry.id != found.entry.id;
    was_converted && has_other_bytes && entries.iter().all(|entry| entry.mode.is_regular())
}
