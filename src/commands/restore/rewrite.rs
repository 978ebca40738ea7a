//! Rewrites the commits of a worktree, so that none of them touches what is out of scope.
//!
//! Only objects are written; no ref moves. What is out of scope in a new commit is what its
//! first parent has, and in a merge what the other parents bring: both are in order, as they were
//! rewritten before, or are upstream's.

use std::collections::BTreeMap;

use bstr::ByteSlice;

use crate::commands::restore::answer::Rewritten;
use crate::commands::restore::plan::{RestoreRefusal, is_asked};
use crate::git::objects::Objects;
use crate::judge::compare::Delta;
use crate::scope::classifier::Classifier;
use crate::scope::rule::{Access, EntryKind};
use crate::truth::survey::Survey;
use crate::words::entry::{Entry, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

struct Rewriter<'a> {
    repository: &'a Repository,
    known: &'a Worktree,
    objects: &'a Objects,
    classifier: Classifier<'a>,
    asked: &'a [RepoPath],
    /// What became of each commit.
    new: BTreeMap<CommitId, CommitId>,
    done: Rewritten,
    /// The oldest that changes.
    first: Option<CommitId>,
}

/// Makes anew what needs it, the oldest first.
///
/// # Errors
/// Refuses commits that others have, and what would change work that is in scope; fails when git
/// does.
pub(super) fn rewrite(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    objects: &Objects,
    asked: &[RepoPath],
) -> Result<Rewritten, Error> {
    let head = &survey.changes.head;
    let trusted: Vec<&CommitId> = survey.states.references.trusted.iter().collect();
    let commits = known.hardened_git(repository).rev_list(&[head], &trusted)?;
    let mut rewriter = Rewriter {
        repository,
        known,
        objects,
        classifier: known.scope.classifier(),
        asked,
        new: BTreeMap::new(),
        done: Rewritten {
            tip: head.clone(),
            made: 0,
            dropped: 0,
        },
        first: None,
    };
    for commit in commits.iter().rev() {
        rewriter.rewrite_commit(commit)?;
    }
    rewriter.done.tip = rewriter.now(head);
    rewriter.check(head)?;
    Ok(rewriter.done)
}

/// Names the others that have a commit: remote-tracking branches, and a worktree by its directory.
fn read_holders(
    repository: &Repository,
    known: &Worktree,
    commit: &CommitId,
) -> Result<Vec<String>, Error> {
    let refs = repository.git.refs_containing(commit, &["refs/remotes/"])?;
    let names = refs.iter().map(|name| name.to_str_lossy());
    let names = names.map(|name| name.trim_start_matches("refs/remotes/").to_owned());
    let mut holders: Vec<String> = names.collect();
    for other in repository.git.worktree_list()? {
        if let Some(head) = other.head.filter(|_| other.path != known.record.path)
            && repository.git.is_ancestor(commit, &head)?
        {
            holders.push(other.path.to_string());
        }
    }
    Ok(holders)
}

impl Rewriter<'_> {
    fn now(&self, commit: &CommitId) -> CommitId {
        self.new.get(commit).unwrap_or(commit).clone()
    }

    fn tree(&self, commit: &CommitId) -> Result<ObjectId, Error> {
        Ok(self.objects.commit(commit)?.tree)
    }

    fn rewrite_commit(&mut self, id: &CommitId) -> Result<(), Error> {
        let commit = self.objects.commit(id)?;
        let parents: Vec<CommitId> = commit.parents.iter().map(|p| self.now(p)).collect();
        // a history of its own has nothing that it could be held against
        let Some(first) = parents.first() else {
            return Ok(());
        };
        let above = self.tree(first)?;
        let mut wanted = self.out_of_scope(&commit.tree, &above)?;
        for other in &commit.parents[1..] {
            wanted.extend(self.brought(&commit.parents[0], other)?);
        }
        let wanted = wanted.iter();
        let wanted = wanted.map(|(path, entry)| (&**path.as_bstr(), *entry));
        let tree = self.objects.write_tree(Some(&commit.tree), wanted)?;
        if tree == commit.tree && parents == commit.parents {
            return Ok(());
        }
        self.first.get_or_insert_with(|| id.clone());
        let was_empty = commit.tree == self.tree(&commit.parents[0])?;
        if parents.len() == 1 && tree == above && !was_empty {
            self.new.insert(id.clone(), first.clone());
            self.done.dropped += 1;
            return Ok(());
        }
        let raw = self.objects.raw_commit(id)?;
        let raw = with_tree_and_parents(&raw, &tree.to_string(), &parents);
        let made = self.objects.write_commit(&raw)?;
        self.new.insert(id.clone(), made);
        self.done.made += 1;
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
        let kind = entry.map_or(EntryKind::File, |entry| EntryKind::of(entry.mode));
        is_asked(self.asked, path) && self.classifier.verdict(path, kind).access != Access::Write
    }

    /// What another parent of a merge brings, that is out of scope: how it differs from where it
    /// parted from the first one.
    fn brought(&mut self, first: &CommitId, old: &CommitId) -> Result<Delta, Error> {
        let git = self.known.hardened_git(self.repository);
        let bases = git.merge_base_all(first, std::slice::from_ref(old))?;
        let Some(base) = bases.first() else {
            return Ok(Delta::new());
        };
        let base = self.tree(&self.now(base))?;
        let theirs = self.tree(&self.now(old))?;
        self.out_of_scope(&base, &theirs)
    }

    /// Refuses what others have, and what would lose work in scope.
    fn check(&mut self, head: &CommitId) -> Result<(), Error> {
        let name = &self.known.record.name;
        let refused = |why: String| RestoreRefusal::Branch {
            message: format!("cannot rewrite commits of worktree `{name}`: {why}"),
            help: format!("to undo them by a new commit: git agentwt restore {name}"),
        };
        if let Some(first) = &self.first {
            let holders = read_holders(self.repository, self.known, first)?;
            if !holders.is_empty() {
                return Err(refused(format!("others have them: {}", holders.join(", "))).into());
            }
        }
        let before = self.tree(head)?;
        let after = self.tree(&self.done.tip)?;
        let back = self.objects.difference(Some(&after), Some(&before))?;
        for (path, entry) in self.objects.difference(Some(&before), Some(&after))? {
            let was = back.get(&path).copied().flatten();
            if !self.is_out(&path, entry) && !self.is_out(&path, was) {
                return Err(refused(format!("{path}, which is in scope, would change")).into());
            }
        }
        Ok(())
    }
}

/// Headers that say something of the very bytes of the commit, and are wrong of any other.
const SIGNATURES: [&[u8]; 2] = [b"gpgsig", b"gpgsig-sha256"];

/// Returns the raw bytes of a commit with this tree and these parents. Author, committer, dates,
/// encoding, message and unknown headers stay; signatures go. A tag that was merged (`mergetag`)
/// goes with the parents.
pub fn with_tree_and_parents(raw: &[u8], tree: &str, parents: &[CommitId]) -> Vec<u8> {
    let (headers, message) = match raw.find(b"\n\n") {
        Some(at) => raw.split_at(at + 1),
        None => (raw, &b""[..]),
    };
    let mut new = format!("tree {tree}\n").into_bytes();
    for parent in parents {
        new.extend_from_slice(format!("parent {parent}\n").as_bytes());
    }
    let mut keep = true;
    for line in headers.split_inclusive(|byte| *byte == b'\n') {
        // a line that begins with a space goes on with the header before (gitformat-signature(5))
        if !line.starts_with(b" ") {
            let name = line.split(|byte| *byte == b' ').next().unwrap_or(line);
            let replaced = [&b"tree"[..], b"parent", b"mergetag"].contains(&name);
            keep = !replaced && !SIGNATURES.contains(&name);
        }
        if keep {
            new.extend_from_slice(line);
        }
    }
    new.extend_from_slice(message);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_tree_parents_and_signatures_stays() {
        let raw = b"tree 1\nparent 2\nparent 3\nauthor A <a> 1 +0000\ncommitter C <c> 2 +0100\n\
            mergetag object 3\n type commit\n \n body\ngpgsig -----BEGIN\n \n x\n -----END\n\
            encoding latin1\nHG:extra x\n\nsubject \xe9\n\ntree in the text\n";
        let id = CommitId::parse(&"a".repeat(40)).expect("40 digits");
        let new = with_tree_and_parents(raw, "9", std::slice::from_ref(&id));
        let expected = [
            format!("tree 9\nparent {id}\n").as_bytes(),
            b"author A <a> 1 +0000\ncommitter C <c> 2 +0100\nencoding latin1\nHG:extra x\n\n\
                subject \xe9\n\ntree in the text\n",
        ]
        .concat();
        assert_eq!(new.as_bstr(), expected.as_bstr());
    }
}
