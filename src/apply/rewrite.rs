//! Makes the commits of a worktree anew, so that none of them touches what is out of scope.
//!
//! Only objects are written; no ref moves. What is out of scope in a new commit is what its
//! first parent has, and in a merge what the other parents bring: both are in order, as they were
//! made anew before, or are upstream's.

use std::collections::BTreeMap;

use super::saved::Bench;
use crate::compare::Delta;
use crate::entry::{Entry, Mode, ObjectId};
use crate::error::Error;
use crate::facts::changes::Survey;
use crate::facts::restore::held_by;
use crate::git::index_edit::index_info;
use crate::git::objects::Objects;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::plan::refusal::Refusal;
use crate::plan::restore::is_asked;
use crate::plan::restore::refusal::RestoreRefusal;
use crate::plan::restore::rewrite::with_tree_and_parents;
use crate::scope::{Access, Classifier, EntryKind};

/// Holds what became of commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The new tip.
    pub tip: CommitId,
    /// How many were made anew.
    pub made: usize,
    /// How many had nothing left and are gone.
    pub dropped: usize,
}

struct Rewriter<'a> {
    bench: &'a Bench<'a>,
    objects: Objects,
    classifier: Classifier<'a>,
    asked: &'a [RepoPath],
    /// What became of each commit.
    new: BTreeMap<CommitId, CommitId>,
    made: usize,
    dropped: usize,
    /// The oldest that changes.
    first: Option<CommitId>,
}

/// Makes anew what needs it, the oldest first.
///
/// # Errors
/// Refuses commits that others have, and what would change work that is in scope; fails when git
/// does.
pub(super) fn rewrite(
    bench: &Bench<'_>,
    survey: &Survey,
    asked: &[RepoPath],
) -> Result<Rewritten, Error> {
    let known = bench.known;
    let head = &survey.changes.head;
    let trusted: Vec<&CommitId> = survey.trusted.iter().collect();
    let git = known.hardened_git(bench.repository);
    let commits = git.rev_list(&[head], &trusted)?;
    let mut rewriter = Rewriter {
        bench,
        objects: bench.repository.objects()?,
        classifier: known.scope.classifier(),
        asked,
        new: BTreeMap::new(),
        made: 0,
        dropped: 0,
        first: None,
    };
    for commit in commits.iter().rev() {
        rewriter.one(commit)?;
    }
    let tip = rewriter.now(head);
    rewriter.check(head, &tip)?;
    Ok(Rewritten {
        tip,
        made: rewriter.made,
        dropped: rewriter.dropped,
    })
}

impl Rewriter<'_> {
    fn now(&self, commit: &CommitId) -> CommitId {
        self.new.get(commit).unwrap_or(commit).clone()
    }

    fn tree(&self, commit: &CommitId) -> Result<ObjectId, Error> {
        Ok(self.objects.commit(commit)?.tree)
    }

    fn one(&mut self, id: &CommitId) -> Result<(), Error> {
        let commit = self.objects.commit(id)?;
        let parents: Vec<CommitId> = commit.parents.iter().map(|p| self.now(p)).collect();
        // a history of its own has nothing that it could be held against
        let Some(first) = parents.first() else {
            return Ok(());
        };
        let above = self.tree(first)?;
        let mut wanted = self.out_of_scope(&commit.tree, &above)?;
        for (old, new) in commit.parents.iter().zip(&parents).skip(1) {
            wanted.extend(self.brought(&commit.parents[0], old, new)?);
        }
        let same = wanted.is_empty();
        let tree = if same {
            commit.tree.to_string()
        } else {
            let mut info = Vec::new();
            for (path, entry) in &wanted {
                index_info(&mut info, path.as_bstr(), *entry, 0, self.bench.digits);
            }
            self.bench.tree(Some(&commit.tree.to_string()), &info)?
        };
        let unchanged = tree == commit.tree.to_string();
        if unchanged && parents == commit.parents {
            return Ok(());
        }
        self.first.get_or_insert_with(|| id.clone());
        let was_empty = commit.tree == self.tree(&commit.parents[0])?;
        if parents.len() == 1 && tree == above.to_string() && !was_empty {
            self.new.insert(id.clone(), first.clone());
            self.dropped += 1;
            return Ok(());
        }
        let raw = self.objects.raw_commit(id)?;
        let raw = with_tree_and_parents(&raw, &tree, &parents);
        let made = self.objects.write_commit(&raw)?;
        self.new.insert(id.clone(), made);
        self.made += 1;
        Ok(())
    }

    /// What `to` has at the paths out of scope at which `from` has something else.
    fn out_of_scope(&mut self, from: &ObjectId, to: &ObjectId) -> Result<Delta, Error> {
        let back = self.objects.difference(Some(to), Some(from))?;
        let mut delta = self.objects.difference(Some(from), Some(to))?;
        delta.retain(|path, entry| {
            let there = back.get(path).copied().flatten();
            self.is_out(path, *entry) && self.is_out(path, there.or(*entry))
        });
        Ok(delta)
    }

    fn is_out(&mut self, path: &RepoPath, entry: Option<Entry>) -> bool {
        let kind = match entry.map(|entry| entry.mode) {
            Some(Mode::Gitlink) => EntryKind::Directory,
            Some(_) | None => EntryKind::File,
        };
        is_asked(self.asked, path) && self.classifier.verdict(path, kind).access != Access::Write
    }

    /// What another parent of a merge brings, that is out of scope: how it differs from where it
    /// parted from the first one.
    fn brought(
        &mut self,
        first: &CommitId,
        old: &CommitId,
        new: &CommitId,
    ) -> Result<Delta, Error> {
        let git = self.bench.known.hardened_git(self.bench.repository);
        let bases = git.merge_base_all(first, std::slice::from_ref(old))?;
        let Some(base) = bases.first() else {
            return Ok(Delta::new());
        };
        let (base, theirs) = (self.tree(&self.now(base))?, self.tree(new)?);
        self.out_of_scope(&base, &theirs)
    }

    /// Refuses what others have, and what would lose work in scope.
    fn check(&mut self, head: &CommitId, tip: &CommitId) -> Result<(), Error> {
        let known = self.bench.known;
        let name = || known.record.name.to_string();
        if let Some(first) = &self.first {
            let (refs, other) = held_by(self.bench.repository, known, first)?;
            if !refs.is_empty() {
                let refusal = RestoreRefusal::Published { name: name(), refs };
                return Err(Refusal::from(refusal).into());
            }
            if let Some(other) = other {
                let name = name();
                let refusal = RestoreRefusal::HeldElsewhere { name, other };
                return Err(Refusal::from(refusal).into());
            }
        }
        let (before, after) = (self.tree(head)?, self.tree(tip)?);
        let back = self.objects.difference(Some(&after), Some(&before))?;
        for (path, entry) in self.objects.difference(Some(&before), Some(&after))? {
            let was = back.get(&path).copied().flatten();
            if !self.is_out(&path, entry) && !self.is_out(&path, was) {
                let (name, path) = (name(), path.to_string());
                let refusal = RestoreRefusal::RewriteTouches { name, path };
                return Err(Refusal::from(refusal).into());
            }
        }
        Ok(())
    }
}
