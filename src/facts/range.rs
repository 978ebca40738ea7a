//! Reads what a range of commits changed: trees and commits only, no worktree, index or record.
//!
//! The reference trees are those of the best common ancestors of both ends, so that what the
//! head took over from the base side is not its change. The config is that of the base side's
//! tree: what is verified must not widen its own scope.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use camino::Utf8Path;

use super::history::History;
use super::leaks::{contents, leaks};
use super::references::Trees;
use crate::change::{ChangeSet, Looked, Seen};
use crate::compare::{Delta, State, compare, entry_in, same};
use crate::disk::files;
use crate::entry::Entry;
use crate::error::Error;
use crate::git::objects::Objects;
use crate::git::quarantine::Quarantine;
use crate::git::{Git, GitMode};
use crate::manifest::{Item, Manifest};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::plan::range::{Range, RangeRefusal};
use crate::scope::Scope;
use crate::worktree::RecordState;
use crate::worktree::WorktreeError;
use crate::worktree::repository::{CONFIG, Repository};

/// Represents a range, found in the repository.
pub struct Span<'a> {
    /// The repository, of which only what verification believes is read.
    pub repository: Repository,
    range: &'a Range,
    objects: Objects,
    base: CommitId,
    head: CommitId,
    /// Their best common ancestors, at least one.
    common: Vec<CommitId>,
    /// The tree of the first of them.
    tree: Manifest,
    /// The differences of all of them from that tree.
    references: Vec<Delta>,
}

impl<'a> Span<'a> {
    /// Finds the ends of the range and what they have in common. `quarantine` is what a hook was
    /// told of objects that wait for it; one of another repository is passed over.
    ///
    /// # Errors
    /// Fails when an end names no commit, nothing is common, or history is missing here.
    pub fn find(
        repository: Repository,
        range: &'a Range,
        quarantine: Option<&Utf8Path>,
    ) -> Result<Self, Error> {
        let here = here(&repository)?;
        let mut repository = repository;
        repository.git = repository.git.with_mode(GitMode::Hardened);
        let mut objects = repository.objects()?;
        if let Some(quarantine) = quarantine.and_then(|dir| of_push(&repository, dir)) {
            repository.git = repository.git.with_quarantine(&quarantine);
            objects = objects.with_quarantine(&quarantine)?;
        }
        let git = repository.git.on(&here, None);
        let base = commit(&git, range, &range.base)?;
        let head = commit(&git, range, &range.head)?;
        let common = common(&repository, range, &base, &head)?;
        let mut trees = Trees::new(&objects, &common[0])?;
        let mut references = trees.merged(&repository.git, &common)?;
        // to be like the base side is no change: a merge makes none of it
        references.push(trees.delta(&base)?);
        let tree = manifest(&objects, &common[0])?;
        Ok(Self {
            repository,
            range,
            objects,
            base,
            head,
            common,
            tree,
            references,
        })
    }

    /// The bytes of the config that the base side has; none when it has none.
    ///
    /// # Errors
    /// Fails when it is no file, or cannot be read.
    pub fn config(&self) -> Result<Option<Vec<u8>>, Error> {
        let mut trees = Trees::new(&self.objects, &self.common[0])?;
        let path = RepoPath::parse(CONFIG).expect("because it is relative and normal");
        let Some(entry) = entry_in(&self.tree, &trees.delta(&self.base)?, &path) else {
            return Ok(None);
        };
        if !entry.mode.is_regular() {
            let (range, base) = (self.range.text.clone(), self.range.shown_base());
            return Err(RangeRefusal::ConfigIsNoFile { range, base }.into());
        }
        Ok(Some(self.objects.blob(&entry.id)?))
    }

    /// What the head changed, and what its commits touched and put back.
    ///
    /// # Errors
    /// Fails when a tree or a commit cannot be read.
    pub fn changes(&self, scope: &Scope) -> Result<ChangeSet, WorktreeError> {
        let git = &self.repository.git;
        let commits = git.rev_list(&[&self.head], &[&self.base])?;
        let history = History::read(&self.objects, &commits)?;
        let delta = Trees::new(&self.objects, &self.common[0])?.delta(&self.head)?;
        let committed = |path: &RepoPath| match history.newest(path) {
            Some(id) => Seen::Commit(id.clone()),
            None => Seen::Committed,
        };
        let state = State {
            delta: &delta,
            references: &self.references,
            seen: &committed,
            silent: &|_| false,
        };
        let changes = compare(&self.tree, &[state]);
        let net: BTreeSet<&RepoPath> = changes.iter().filter_map(|c| c.place.path()).collect();
        let is_known = |path: &RepoPath, entry: Option<Entry>| {
            let mut references = self.references.iter();
            references.any(|reference| same(entry_in(&self.tree, reference, path), entry))
        };
        // whose a commit of a range is, nothing says
        let mut put_back = history.put_back(&net, &is_known, &|_| true);
        put_back.extend(leaks(scope, &self.tree, &history.contents(&net)));
        let leaks = leaks(scope, &self.tree, &contents(&changes, &[&delta]));
        Ok(ChangeSet {
            history: put_back,
            leaks,
            looked: Looked::Commits,
            ..ChangeSet::new(self.base.clone(), self.head.clone(), changes)
        })
    }
}

/// The git directory in which HEAD is that of the worktree we are in. In a worktree of ours it is
/// the recorded one: its own `.git` can be redirected or removed.
fn here(repository: &Repository) -> Result<camino::Utf8PathBuf, WorktreeError> {
    if let Some(name) = &repository.inside
        && let RecordState::Complete(known) = RecordState::read(repository, name)?
    {
        let record = known.record;
        return if files::is_directory(&record.admin_dir) {
            Ok(record.admin_dir)
        } else {
            Err(WorktreeError::Damaged {
                name: record.name.to_string(),
                file: "the git directory".to_owned(),
                detail: format!("{} is gone", record.admin_dir),
            })
        };
    }
    let found = repository.git.at(&repository.start).absolute_git_dir()?;
    let found = files::canonical(&found)?;
    let linked = repository.common_dir.join("worktrees");
    // a worktree that nobody recorded: its `.git` may lead anywhere, also to the repository around
    if repository.inside.is_some() && found.parent() != Some(&linked) {
        let name = repository.inside.as_ref().map(ToString::to_string);
        return Err(WorktreeError::UnknownWorktree {
            name: name.unwrap_or_default(),
            known: Vec::new(),
        });
    }
    Ok(found)
}

fn of_push(repository: &Repository, directory: &Utf8Path) -> Option<Quarantine> {
    let directory = files::canonical(&repository.start.join(directory)).ok()?;
    let objects = files::canonical(&repository.common_dir.join("objects")).ok()?;
    Quarantine::in_objects(&objects, &directory)
}

fn commit(git: &Git, range: &Range, revision: &str) -> Result<CommitId, Error> {
    let unknown = || RangeRefusal::Unknown {
        range: range.text.clone(),
        revision: crate::path::escape_for_terminal(revision.as_bytes()),
    };
    Ok(git.rev_parse_commit(revision)?.ok_or_else(unknown)?)
}

/// The best common ancestors. Where the clone is shallow and ends between them and an end of the
/// range, git would see others than there are.
fn common(
    repository: &Repository,
    range: &Range,
    base: &CommitId,
    head: &CommitId,
) -> Result<Vec<CommitId>, Error> {
    let git = &repository.git;
    let common = git.merge_base_all(head, std::slice::from_ref(base))?;
    let range = range.text.clone();
    let shallow = files::read(&repository.common_dir.join("shallow"))?.unwrap_or_default();
    let known: Vec<&CommitId> = common.iter().collect();
    let apart = git.rev_list(&[base, head], &known)?;
    let ends = |commit: &CommitId| {
        shallow
            .lines()
            .any(|line| *line == *commit.as_str().as_bytes())
    };
    if apart.iter().any(ends) {
        return Err(RangeRefusal::Shallow { range }.into());
    }
    if common.is_empty() {
        return Err(RangeRefusal::Unrelated { range }.into());
    }
    Ok(common)
}

fn manifest(objects: &Objects, commit: &CommitId) -> Result<Manifest, WorktreeError> {
    let entries = objects.list(&objects.commit(commit)?.tree)?;
    let item = |(path, entry): (RepoPath, Entry)| Item {
        path,
        base: Some(entry),
        disk: None,
    };
    Ok(Manifest::new(entries.into_iter().map(item).collect(), 0))
}
