//! Reads what `land` decides on: the branches, where the base branch is checked out, and what a merge
//! of the two would be.

use crate::cli::Land;
use crate::config::Strategy;
use crate::disk::files;
use crate::entry::ObjectId;
use crate::error::Error;
use crate::git::Git;
use crate::git::objects::Objects;
use crate::git::scratch::ScratchObjects;
use crate::name::{BranchName, CommitId};
use crate::truth::heads::Heads;
use crate::worktree::removal::Leaving;
use crate::worktree::removal::plan::WorkKind;
use crate::worktree::{Record, Repository};

use camino::Utf8PathBuf;

/// Holds what `land` decides on beside the record and the verdict.
#[derive(Clone, Debug)]
pub struct LandFacts {
    /// The repository's root.
    pub root: Utf8PathBuf,
    /// The directory in which the command was started.
    pub start: Utf8PathBuf,
    /// The commit that was verified, if the worktree is on its branch.
    pub verified: Option<CommitId>,
    /// The files that are not committed.
    pub uncommitted: Vec<String>,
    /// The branch that the base was taken from.
    pub base: Option<BaseBranch>,
    /// What landing would be.
    pub trial: Trial,
}

/// Holds the branch that work is landed in.
#[derive(Clone, Debug)]
pub struct BaseBranch {
    /// The branch.
    pub branch: BranchName,
    /// The commit that it names; none when it is gone.
    pub tip: Option<CommitId>,
    /// Where it is checked out, with the files that differ from it there.
    pub checkouts: Vec<(Utf8PathBuf, Vec<String>)>,
    /// The private git directory in which it is rebased or bisected.
    pub busy: Option<Utf8PathBuf>,
}

/// Says what landing would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// The base branch has all of it already.
    Landed,
    /// The base branch can be brought forward.
    FastForward,
    /// The base branch went on, and `--ff-only` was given.
    Diverged,
    /// A new commit has this tree.
    Tree(ObjectId),
    /// These commits become new ones with these trees, the oldest first.
    Picked(Vec<(CommitId, ObjectId)>),
    /// These paths conflict.
    Conflict(Vec<String>),
    /// A merge commit cannot be rebased without losing what it changed.
    HasMerges(CommitId),
    /// The base branch was rewound behind the base, so more would be merged than was verified.
    Rewound,
    /// The branches have no commit in common.
    Unrelated,
}

/// Reads everything beside `heads`, which were verified. What a merge writes stays in `scratch`.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(
    repository: &Repository,
    leaving: &Leaving,
    heads: &Heads,
    scratch: &ScratchObjects,
    options: &Land,
) -> Result<LandFacts, Error> {
    let record = &leaving.known.record;
    let full = record.branch.full_ref();
    let is_on_branch = heads.symbolic.as_ref() == Some(&full) && heads.head == heads.branch;
    let verified = heads.branch.clone().filter(|_| is_on_branch);
    let base = base_branch(record).map(|branch| read_base(repository, branch));
    let base = base.transpose()?;
    let work = leaving.facts.uncommitted.iter();
    // with --keep an edited copy of a file of the user's stays where it is
    let work = work.filter(|(_, kind)| !matches!(kind, WorkKind::Placed(_)));
    let tips = verified
        .as_ref()
        .zip(base.as_ref().and_then(|base| base.tip.as_ref()));
    let trial = tips.map(|(tip, base)| {
        let git = repository.git.with_quarantine(&scratch.quarantine());
        if record.strategy == Strategy::Clone {
            git.fetch_commit(record.admin_dir.as_str(), tip)?;
        }
        let attempt = Attempt {
            git,
            objects: scratch.objects(),
            start: &record.base.commit,
            base,
            tip,
        };
        attempt.find(options)
    });
    Ok(LandFacts {
        root: repository.root.clone(),
        start: repository.start.clone(),
        uncommitted: work.map(|(path, _)| path.to_string()).collect(),
        trial: trial.transpose()?.unwrap_or(Trial::Unrelated),
        verified,
        base,
    })
}

/// The branch that the base of a worktree was taken from: the one that was named, else the only one
/// that the base follows.
pub fn base_branch(record: &Record) -> Option<BranchName> {
    let revision = record.base.revision.as_str();
    let named = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let tips = record.base.tips.iter();
    let branches = tips.filter_map(|tip| tip.name.strip_prefix("refs/heads/"));
    let branches = branches.filter(|branch| *branch != record.branch.as_str());
    let branches: Vec<&str> = branches.collect();
    let found = branches.iter().find(|branch| **branch == named);
    match (found, branches.as_slice()) {
        (Some(branch), _) | (None, [branch]) => Some(BranchName::from_git(*branch)),
        (None, _) => None,
    }
}

fn read_base(repository: &Repository, branch: BranchName) -> Result<BaseBranch, Error> {
    let full = branch.full_ref();
    let mut checkouts = Vec::new();
    for entry in repository.git.worktree_list()? {
        if entry.branch.as_ref() == Some(&full) && files::is_directory(&entry.path) {
            let changed = repository.git.at(&entry.path).changed_files()?;
            checkouts.push((entry.path, changed));
        }
    }
    let private = repository.common_dir.join("worktrees");
    let private = files::names(&private)?
        .into_iter()
        .map(|id| private.join(id));
    let mut all = std::iter::once(repository.common_dir.clone()).chain(private);
    // the files in which git writes down which branch it works on while HEAD is elsewhere
    let places = [
        "rebase-merge/head-name",
        "rebase-apply/head-name",
        "BISECT_START",
    ];
    let busy = all.find(|dir| {
        places.iter().any(|name| {
            let bytes = files::read(&dir.join(name)).ok().flatten();
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            text.is_some_and(|text| [full.as_str(), branch.as_str()].contains(&text.trim()))
        })
    });
    Ok(BaseBranch {
        tip: repository.git.rev_parse_commit(&full)?,
        branch,
        checkouts,
        busy,
    })
}

/// Tries a landing, without a checkout.
struct Attempt<'a> {
    git: Git,
    objects: &'a Objects,
    start: &'a CommitId,
    base: &'a CommitId,
    tip: &'a CommitId,
}

impl Attempt<'_> {
    fn find(&self, options: &Land) -> Result<Trial, Error> {
        let (git, base, tip) = (&self.git, self.base, self.tip);
        if git.is_ancestor(tip, base)? {
            return Ok(Trial::Landed);
        }
        if git
            .merge_base_all(tip, std::slice::from_ref(base))?
            .is_empty()
        {
            return Ok(Trial::Unrelated);
        }
        if git.is_ancestor(self.start, tip)? && !git.is_ancestor(self.start, base)? {
            return Ok(Trial::Rewound);
        }
        let is_ahead = git.is_ancestor(base, tip)?;
        let setting = git.config_get("merge.ff")?.filter(|_| options.is_plain());
        let with_commit = options.squash || is_false(setting.as_deref());
        if is_ahead && !with_commit {
            return Ok(Trial::FastForward);
        }
        if options.ff_only || setting.as_deref() == Some("only") {
            return Ok(Trial::Diverged);
        }
        if options.rebase {
            return self.pick();
        }
        let before = self.objects.commit(base)?.tree;
        let tree = if is_ahead {
            Ok(self.objects.commit(tip)?.tree)
        } else {
            git.merge_commits(base, tip)?
        };
        Ok(match tree {
            Err(paths) => Trial::Conflict(paths),
            // a merge would change nothing
            Ok(tree) if tree == before => Trial::Landed,
            Ok(tree) => Trial::Tree(tree),
        })
    }

    /// Picks each commit onto the base branch, as `git rebase` does; one that changes nothing any
    /// more is dropped.
    fn pick(&self) -> Result<Trial, Error> {
        let mut tree = self.objects.commit(self.base)?.tree;
        let mut picked = Vec::new();
        for id in self
            .git
            .rev_list(&[self.tip], &[self.base])?
            .into_iter()
            .rev()
        {
            let commit = self.objects.commit(&id)?;
            let [parent] = commit.parents.as_slice() else {
                return Ok(Trial::HasMerges(id));
            };
            let before = self.objects.commit(parent)?.tree;
            let next = match self.merge_trees(&before, &tree, &commit.tree)? {
                Ok(next) => next,
                Err(paths) => return Ok(Trial::Conflict(paths)),
            };
            if next != tree || commit.tree == before {
                picked.push((id, next));
            }
            tree = next;
        }
        Ok(if picked.is_empty() {
            Trial::Landed
        } else {
            Trial::Picked(picked)
        })
    }

    /// Merges two trees that came of a third: by commits of them, as `git merge-tree` takes a base
    /// from git 2.40 on only.
    fn merge_trees(
        &self,
        base: &ObjectId,
        ours: &ObjectId,
        theirs: &ObjectId,
    ) -> Result<Result<ObjectId, Vec<String>>, Error> {
        if ours == base {
            return Ok(Ok(*theirs));
        }
        let commit = |tree: &ObjectId, parent: Option<&CommitId>| {
            let who = "git-agentwt <git-agentwt@localhost> 0 +0000";
            let parent = parent.map(|parent| format!("parent {parent}\n"));
            let parent = parent.unwrap_or_default();
            let raw = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\n\n");
            self.objects.write_commit(raw.as_bytes())
        };
        let root = commit(base, None)?;
        let (ours, theirs) = (commit(ours, Some(&root))?, commit(theirs, Some(&root))?);
        Ok(self.git.merge_commits(&ours, &theirs)?)
    }
}

/// Whether git takes this as false (git-config(1)).
fn is_false(value: Option<&str>) -> bool {
    let value = value.map(str::to_ascii_lowercase);
    matches!(value.as_deref(), Some("false" | "no" | "off" | "0" | ""))
}
