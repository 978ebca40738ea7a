//! Saves what no tree of files can say: the list, the index, git's private directory, the record.

use std::collections::BTreeSet;

use camino::Utf8Path;

use super::files::Files;
use super::{Saving, clone};
use crate::commands::restore::facts::{read_own_index, stages};
use crate::disk::files;
use crate::disk::inventory::files_below;
use crate::disk::put::permissions;
use crate::entry::{Entry, Mode, ObjectId};
use crate::error::Error;
use crate::facts::trash::{ABOUT, ADMIN, BRANCH_LOG, LIST, MANIFEST, RECORD, is_left_out};
use crate::git::objects::Named;
use crate::git::trees::Edits;
use crate::manifest::{Item, Manifest};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::plan::trash::list::to_bytes;
use crate::scope::{Access, EntryKind};
use crate::worktree::saved::write_entry;
use crate::worktree::{PLACED, PLACING};
use crate::worktree::{Trash, VERSION, to_text};

/// Makes the last parent: a commit that has all of this, and as its parents what only this
/// worktree still had.
pub(super) fn save(
    saving: &Saving<'_>,
    files: &Files,
    keep: &[CommitId],
) -> Result<CommitId, Error> {
    let mut state = State {
        saving,
        edits: Edits::new(),
        commits: BTreeSet::new(),
    };
    state.blob(LIST, &to_bytes(&files.list))?;
    state.blob(MANIFEST, &manifest(saving)?.to_bytes())?;
    for (path, entry) in &files.content {
        if !saving.work.contains(path) {
            state.put("kept/", path, *entry);
        }
    }
    state.index()?;
    let private = state.admin()?;
    state.blob(ABOUT, to_text(&about(saving, files, private)).as_bytes())?;
    state.record()?;
    let record = &saving.known.record;
    let log = format!("logs/{}", record.branch.full_ref());
    // a clone's private directory has it
    if !saving.repository.is_clone()
        && let Ok(log) = RepoPath::parse(log)
        && let Some(entry) = write_entry(saving.objects, &saving.repository.common_dir, &log)?
    {
        state.edits.insert(BRANCH_LOG.into(), Some(entry.into()));
    }
    state.commits.extend(saving.survey.heads.branch.clone());
    state.commits.extend(saving.survey.heads.detached());
    if saving.repository.is_clone() {
        state.commits = clone::tips(saving, &state.commits, keep)?;
    }
    let started = [&record.checked_out, &record.base.commit];
    state.commits.extend(started.into_iter().cloned());
    let parents = state.independent(keep)?;
    let tree = saving
        .objects
        .write_tree(None, std::mem::take(&mut state.edits))?
        .to_string();
    let message = format!("git-agentwt: how {} was when it was removed\n", record.name);
    let parents: Vec<&CommitId> = parents.iter().collect();
    Ok(saving
        .repository
        .git
        .commit_tree(&tree, &message, &parents)?)
}

fn about(saving: &Saving<'_>, files: &Files, private: Vec<String>) -> Trash {
    let (record, heads) = (&saving.known.record, &saving.survey.heads);
    Trash {
        version: VERSION,
        name: record.name.clone(),
        removed: saving.time.to_owned(),
        head: saving.head.clone(),
        on: heads.symbolic.clone(),
        unborn: heads.unborn().is_some(),
        branch: record.branch.clone(),
        tip: heads.branch.clone(),
        path: record.path.clone(),
        strategy: record.strategy,
        whole: saving.whole,
        private,
        usual: files.usual,
    }
}

/// What of the manifest cannot be told from the tree that was checked out and the scope
/// ([`crate::facts::Worktree::unproven_manifest`]).
fn manifest(saving: &Saving<'_>) -> Result<Manifest, Error> {
    let mut classifier = saving.known.scope.classifier();
    let mut is_told = |item: &Item| {
        let Some(base) = item.base else {
            return false;
        };
        let kind = EntryKind::of(base.mode);
        let excluded = classifier.verdict(&item.path, kind).access == Access::Excluded;
        item.disk.map(|disk| disk.entry) == (!excluded).then_some(base)
    };
    let manifest = saving.known.manifest()?;
    let settled = manifest.settled();
    let mut items = manifest.into_items();
    items.retain(|item| !is_told(item));
    Ok(Manifest::new(items, settled))
}

struct State<'a> {
    saving: &'a Saving<'a>,
    edits: Edits,
    commits: BTreeSet<CommitId>,
}

impl State<'_> {
    fn blob(&mut self, place: &str, bytes: &[u8]) -> Result<(), Error> {
        let objects = self.saving.objects;
        let id = objects.write_blob(bytes.len() as u64, &mut &*bytes)?;
        let mode = Mode::File;
        self.edits.insert(place.into(), Some((Some(mode), id)));
        Ok(())
    }

    fn put(&mut self, directory: &str, path: &RepoPath, entry: Entry) {
        let place = [directory.as_bytes(), path.as_bstr()].concat();
        self.edits.insert(place, Some(entry.into()));
    }

    /// The objects that perhaps only the index names.
    fn index(&mut self) -> Result<(), Error> {
        let survey = self.saving.survey;
        let deltas = &survey.states.index.deltas;
        if let Some(ours) = deltas.first() {
            let there = ours
                .iter()
                .filter_map(|(path, entry)| Some((path, (*entry)?)));
            for (path, entry) in there {
                // what is only announced need not be in the repository
                if self.saving.objects.kind_of(&entry.id) == Some(Named::Blob) {
                    self.put("index/0/", path, entry);
                }
            }
        }
        if deltas.len() > 1 {
            let index = read_own_index(self.saving.repository, self.saving.known)?;
            for (path, entries) in stages(&index) {
                for (stage, entry) in entries.into_iter().filter(|(stage, _)| *stage > 0) {
                    self.put(&format!("index/{stage}/"), path, entry);
                }
            }
        }
        Ok(())
    }

    /// Git's private directory, with the objects that its files name; which of them only their
    /// owner may read.
    fn admin(&mut self) -> Result<Vec<String>, Error> {
        let mut private = Vec::new();
        let (repository, known) = (self.saving.repository, self.saving.known);
        if known.is_without(repository) {
            // what stands there now is none of ours
            return Ok(private);
        }
        let directory = &known.record.admin_dir;
        let skip = |path: &RepoPath| is_left_out(repository, path) || is_passing(path);
        let digits = self.saving.head.as_str().len();
        for path in files_below(directory, &skip)? {
            self.take(ADMIN, directory, &path)?;
            if permissions(directory, &path)?.is_some_and(|bits| bits % 0o100 == 0) {
                private.push(path.to_string());
            }
            // an index holds no names of commits in text, and may be large; git tells what the
            // refs and reflogs of a clone name
            let is_told = repository.is_clone() && clone::is_of_refs(&path);
            if !path.as_bstr().ends_with(b"index") && !is_told {
                self.named_in(directory, &path, digits)?;
            }
        }
        Ok(private)
    }

    fn record(&mut self) -> Result<(), Error> {
        let known = self.saving.known;
        let own = [MANIFEST, "intent.toml", PLACED, PLACING];
        let skip =
            |path: &RepoPath| own.iter().any(|name| path.as_bstr() == *name) || is_passing(path);
        for path in files_below(&known.dir, &skip)? {
            self.take(RECORD, &known.dir, &path)?;
        }
        if files::exists(&known.dir.join(PLACED)) || files::exists(&known.dir.join(PLACING)) {
            let placed = known.placed()?.to_bytes();
            self.blob(&format!("{RECORD}{PLACED}"), &placed)?;
        }
        Ok(())
    }

    fn take(&mut self, place: &str, root: &Utf8Path, path: &RepoPath) -> Result<(), Error> {
        if let Some(entry) = write_entry(self.saving.objects, root, path)? {
            self.put(place, path, entry);
        }
        Ok(())
    }

    /// Keeps what a file of git's names from being collected.
    fn named_in(&mut self, root: &Utf8Path, path: &RepoPath, digits: usize) -> Result<(), Error> {
        use crate::disk::below::open_below;
        let failed = |error| crate::disk::DiskError::new(format!("read {root}/{path}"), error);
        let files::Opened::File { mut content, .. } = open_below(root, path).map_err(failed)?
        else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut content, &mut bytes).map_err(failed)?;
        let words: BTreeSet<&[u8]> = bytes
            .split(|byte| !byte.is_ascii_hexdigit())
            .filter(|word| word.len() == digits)
            .collect();
        for word in words {
            let Some(id) = ObjectId::from_hex(word) else {
                continue;
            };
            let mode = Mode::File;
            let slot = match self.saving.objects.kind_of(&id) {
                Some(Named::Commit) => {
                    self.commits.extend(CommitId::parse(&id.to_string()).ok());
                    continue;
                }
                Some(Named::Tree) => Some((None, id)),
                Some(Named::Blob) => Some((Some(mode), id)),
                None => continue,
            };
            self.edits.insert(format!("objects/{id}").into(), slot);
        }
        Ok(())
    }

    /// The commits that are no ancestors of each other or of what is kept anyway.
    fn independent(&self, keep: &[CommitId]) -> Result<Vec<CommitId>, Error> {
        let (objects, git) = (self.saving.objects, &self.saving.repository.git);
        let head = self.saving.head;
        let is_kept = |commit: &CommitId| commit == head || keep.contains(commit);
        let others = self.commits.iter();
        let others = others.filter(|one| !is_kept(one) && objects.commit(one).is_ok());
        let mut all: Vec<CommitId> = others.cloned().collect();
        if all.is_empty() {
            return Ok(all);
        }
        all.push(head.clone());
        all.extend(keep.iter().cloned());
        let mut apart = git.merge_base_independent(&all)?;
        apart.retain(|commit| !is_kept(commit));
        Ok(apart)
    }
}

/// Locks, and files that are only there while something is done.
fn is_passing(path: &RepoPath) -> bool {
    let name = path.file_name();
    name.ends_with(b".lock")
        || name.starts_with(b".agentwt-")
        || name.starts_with(b"rescue-index")
        || name.starts_with(b"restore-index")
}
