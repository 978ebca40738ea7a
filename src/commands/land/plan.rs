//! Tries the merge without a checkout, and decides how work is landed, or why not.

use std::fmt::Display;

use camino::Utf8PathBuf;

use crate::actions::remove::decide::{RemoveRefusal, shortened};
use crate::commands::land::answer::LandedWork;
use crate::commands::land::arguments::Land;
use crate::commands::land::landing::Landing;
use crate::config::value::Strategy;
use crate::disk::files;
use crate::git::landing::FetchCheck;
use crate::git::process::Git;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::record::worktree::Record;
use crate::truth::head::WorktreeHead;
use crate::words::entry::ObjectId;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::{BranchName, CommitId};
use crate::words::text::when;
use crate::worktree::operation::read_operation;

/// The files in which git writes down which branch it works on while HEAD is elsewhere.
const BUSY: [&str; 3] = [
    "rebase-merge/head-name",
    "rebase-apply/head-name",
    "BISECT_START",
];

/// Holds a landing.
pub struct LandPlan {
    /// What is landed, and how.
    pub landed: LandedWork,
    /// The commits to create, the oldest first: the commit that each comes from, and its tree.
    pub new: Vec<(CommitId, ObjectId)>,
    /// The worktree that has the base branch checked out; none where only the branch moves.
    pub checkout: Option<Utf8PathBuf>,
    /// Where the trees are.
    pub scratch: QuarantinedObjects,
}

/// The branch that the base of a worktree was taken from: the one that was named, else the only one
/// that the base follows.
pub(super) fn base_branch(record: &Record) -> Option<BranchName> {
    let revision = record.base.revision.as_str();
    let named = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let mut branches = Vec::new();
    for tip in &record.base.tips {
        if let Some(branch) = tip.name.strip_prefix("refs/heads/")
            && branch != record.branch.as_str()
        {
            branches.push(branch);
        }
    }
    match branches.as_slice() {
        [only] => Some(BranchName::from_git(*only)),
        several if several.contains(&named) => Some(BranchName::from_git(named)),
        _several => None,
    }
}

/// The base branch, and where it is.
struct BaseBranch {
    name: BranchName,
    at: CommitId,
}

/// How work is landed, and the commits that are created for it.
struct Method {
    how: &'static str,
    new: Vec<(CommitId, ObjectId)>,
}

impl Landing<'_> {
    /// Decides. `heads` were verified; what a merge writes stays in a directory of its own.
    ///
    /// # Errors
    /// Refuses what would lose work, and what git would have to ask the user about; fails when git
    /// or the disk does.
    pub fn plan(&self, uncommitted: Vec<String>, heads: &WorktreeHead) -> Result<LandPlan, Error> {
        self.require_no_operation()?;
        let verified = self.require_own_branch(heads)?;
        self.require_all_committed(uncommitted)?;
        let base = self.require_base_branch()?;
        let checkout = self.checkout_of(&base.name)?;
        let own = self.repository.home();
        let name = self.worktree.record.name.as_str();
        let scratch = QuarantinedObjects::create(&own.common_dir, own.format, name)?;
        let mut plan = LandPlan {
            landed: LandedWork {
                into: base.name,
                how: "already",
                commit: Some(base.at.clone()),
                before: base.at,
                verified,
            },
            new: Vec::new(),
            checkout,
            scratch,
        };
        self.decide_how(&mut plan)?;
        Ok(plan)
    }

    fn require_no_operation(&self) -> Result<(), Error> {
        let record = &self.worktree.record;
        let Some(operation) = read_operation(record) else {
            return Ok(());
        };
        let path = &record.path;
        let again = self.command();
        let help = format!(
            "see it: git -C {path} status; finish it: git -C {path} {operation} --continue, \
                or drop it: git -C {path} {operation} --abort; then: {again}"
        );
        let reason = format!("a {operation} is in progress there");
        Err(self.refused("operation", reason, help))
    }

    /// Returns the verified commit of the branch, which HEAD is on.
    fn require_own_branch(&self, heads: &WorktreeHead) -> Result<CommitId, Error> {
        let record = &self.worktree.record;
        let path = &record.path;
        let branch = &record.branch;
        let is_on_branch = heads.symbolic == Some(branch.full_ref()) && heads.head == heads.branch;
        if let Some(verified) = heads.branch.clone().filter(|_| is_on_branch) {
            return Ok(verified);
        }
        let reason = format!("it is not on its branch {branch}");
        let help = format!("git -C {path} status, then: git -C {path} switch {branch}");
        Err(self.refused("not_on_branch", reason, help))
    }

    fn require_all_committed(&self, uncommitted: Vec<String>) -> Result<(), Error> {
        if uncommitted.is_empty() {
            return Ok(());
        }
        let path = &self.worktree.record.path;
        let again = self.command();
        let reason = format!("it has work that is not committed:{}", listed(uncommitted));
        let help = format!("git -C {path} add -A && git -C {path} commit, then: {again}");
        Err(self.refused("uncommitted", reason, help))
    }

    fn require_base_branch(&self) -> Result<BaseBranch, Error> {
        let record = &self.worktree.record;
        let base = &record.base;
        let base_branch = base_branch(record);
        if let Some(name) = &base_branch
            && let Some(at) = self.repository.git.rev_parse_commit(&name.full_ref())?
        {
            return Ok(BaseBranch {
                name: name.clone(),
                at,
            });
        }
        let name = &record.name;
        let branch = &record.branch;
        let reason = format!("its base {} is not another branch here", base.revision);
        let mut help = String::new();
        if let Some(gone) = base_branch {
            let commit = &base.commit;
            help = format!("to create it again: git branch {gone} {commit}; ");
        }
        help += &format!("to merge by hand: git agentwt verify {name} && git merge {branch}");
        Err(self.refused("no_base_branch", reason, help))
    }

    /// The worktree that has the base branch checked out, if one has, where the branch can move.
    fn checkout_of(&self, into: &BranchName) -> Result<Option<Utf8PathBuf>, Error> {
        let repository = self.repository;
        let again = self.command();
        let full = into.full_ref();
        let mut places = Vec::new();
        for entry in repository.git.worktree_list()? {
            let at = entry.path;
            if entry.branch.as_ref() != Some(&full) || !files::is_directory(&at) {
                continue;
            }
            let changed = repository.git.at(&at).changed_files()?;
            if !changed.is_empty() {
                let items = listed(changed);
                let reason =
                    format!("{into} is checked out in {at}, which has uncommitted changes:{items}");
                let help = format!(
                    "commit them there, or: git -C {at} stash && {again} && git -C {at} stash pop"
                );
                return Err(self.refused("base_in_use", reason, help));
            }
            places.push(at);
        }
        let busy = self.git_dir_at_work_on(into)?;
        if let Some(at) = busy.as_ref().or(places.get(1)) {
            let reason =
                format!("{into} is being rebased or bisected, or checked out twice: see {at}");
            let help = format!("finish or abort that, or switch there, then: {again}");
            return Err(self.refused("base_in_use", reason, help));
        }
        Ok(places.pop())
    }

    /// Finds a git directory in which a rebase or a bisect of a branch is in progress.
    fn git_dir_at_work_on(&self, branch: &BranchName) -> Result<Option<Utf8PathBuf>, Error> {
        let common_dir = &self.repository.common_dir;
        let worktrees = common_dir.join("worktrees");
        let mut git_dirs = vec![common_dir.clone()];
        for id in files::names(&worktrees)? {
            git_dirs.push(worktrees.join(id));
        }
        let full = branch.full_ref();
        for git_dir in git_dirs {
            for file in BUSY {
                let text = files::read(&git_dir.join(file))
                    .ok()
                    .flatten()
                    .unwrap_or_default();
                let named = text.trim_ascii();
                if named == full.as_bytes() || named == branch.as_str().as_bytes() {
                    return Ok(Some(git_dir));
                }
            }
        }
        Ok(None)
    }

    /// Decides how the work is landed: it is in the base branch already, or by a fast-forward, or
    /// by new commits.
    fn decide_how(&self, plan: &mut LandPlan) -> Result<(), Error> {
        let record = &self.worktree.record;
        let base = &plan.landed.before;
        let tip = &plan.landed.verified;
        let git = &self
            .repository
            .git
            .with_quarantine(&plan.scratch.quarantine());
        if record.strategy == Strategy::Clone {
            let clone = record.admin_dir.as_str();
            git.fetch_objects(clone, FetchCheck::Fsck, &[tip.to_string()])?;
        }
        if git.is_ancestor(tip, base)? {
            return Ok(());
        }
        self.require_verified_history(git, plan)?;
        let is_ahead = git.is_ancestor(base, tip)?;
        if is_ahead && self.is_fast_forward(git)? {
            plan.landed.how = "fast-forward";
            plan.landed.commit = Some(tip.clone());
            return Ok(());
        }
        if self.is_fast_forward_only(git)? {
            return Err(self.diverged(&plan.landed.into));
        }
        let Method { how, new } = self.create(git, plan)?;
        plan.new = new;
        // else a merge would change nothing
        if !plan.new.is_empty() {
            plan.landed.how = how;
            plan.landed.commit = self.pushed_before(plan)?;
        }
        Ok(())
    }

    /// Refuses where the base branch does not have the base: more would be merged than was
    /// verified.
    fn require_verified_history(&self, git: &Git, plan: &LandPlan) -> Result<(), Error> {
        let record = &self.worktree.record;
        let start = &record.base.commit;
        let landed = &plan.landed;
        if !git.is_ancestor(start, &landed.verified)? || git.is_ancestor(start, &landed.before)? {
            return Ok(());
        }
        let into = &landed.into;
        let path = &record.path;
        let again = self.command();
        let short = start.short();
        let reason = format!(
            "{into} does not have its base {short}, so more would be merged than was verified"
        );
        let help = format!(
            "see what: git log {into}..{short}; to merge that first: git merge {short}; to \
                leave it out: git -C {path} rebase --onto {into} {short}; then: {again}"
        );
        Err(self.refused("not_verified", reason, help))
    }

    /// The user's `merge.ff`, where no option says how to land.
    fn merge_setting(&self, git: &Git) -> Result<Option<String>, Error> {
        let setting = git.config_get("merge.ff")?;
        Ok(setting.filter(|_| self.options.is_plain()))
    }

    /// True if work is landed by a fast-forward or not at all.
    fn is_fast_forward_only(&self, git: &Git) -> Result<bool, Error> {
        let setting = self.merge_setting(git)?;
        Ok(self.options.ff_only || setting.as_deref() == Some("only"))
    }

    /// True if work that is ahead of the base branch is landed without a new commit.
    fn is_fast_forward(&self, git: &Git) -> Result<bool, Error> {
        if self.is_fast_forward_only(git)? {
            return Ok(true);
        }
        if self.options.squash {
            return Ok(false);
        }
        let asks_for_commit =
            self.merge_setting(git)?.is_some() && git.config_get_bool("merge.ff")? == Some(false);
        Ok(!asks_for_commit)
    }

    fn diverged(&self, into: &BranchName) -> Error {
        let reason = format!("{into} went on, so it cannot be fast-forwarded");
        let resolve = self.resolution(into);
        let again = self.command();
        let help = format!("{resolve}, then: {again}; or without --ff-only (merge.ff)");
        self.refused("diverged", reason, help)
    }

    /// Decides which commits are created: the work's own ones anew, one of all of them, or a merge.
    fn create(&self, git: &Git, plan: &LandPlan) -> Result<Method, Error> {
        let base = &plan.landed.before;
        let tip = &plan.landed.verified;
        if self.options.rebase {
            return Ok(Method {
                how: "rebase",
                new: self.pick(git, plan)?,
            });
        }
        let objects = plan.scratch.objects();
        let tree = if git.is_ancestor(base, tip)? {
            objects.commit(tip)?.tree
        } else {
            self.merge(git, &plan.landed.into, base, tip)?
        };
        let mut new = Vec::new();
        if tree != objects.commit(base)?.tree {
            new.push((tip.clone(), tree));
        }
        let how = if self.options.squash {
            "squash"
        } else {
            "merge"
        };
        Ok(Method { how, new })
    }

    /// Picks each commit onto the base branch, as `git rebase` does; one that changes nothing any
    /// more is dropped.
    fn pick(&self, git: &Git, plan: &LandPlan) -> Result<Vec<(CommitId, ObjectId)>, Error> {
        let LandedWork { into, before, .. } = &plan.landed;
        let objects = plan.scratch.objects();
        let mut tree = objects.commit(before)?.tree;
        let mut picked = Vec::new();
        let commits = git.rev_list(&[&plan.landed.verified], &[before])?;
        for id in commits.into_iter().rev() {
            let commit = objects.commit(&id)?;
            let [parent] = commit.parents.as_slice() else {
                let name = &self.worktree.record.name;
                let reason = format!("{} is a merge, which a rebase would drop", id.short());
                let help = format!(
                    "git agentwt land --squash {name}, or without --rebase: git agentwt land {name}"
                );
                return Err(self.refused("merges", reason, help));
            };
            // `git merge-tree` takes a base from git 2.40 on only, and finds the parent as the base
            let ours = objects.write_commit_on(parent, &tree)?;
            let next = self.merge(git, into, &ours, &id)?;
            if next != tree || commit.tree == objects.commit(parent)?.tree {
                picked.push((id, next));
            }
            tree = next;
        }
        Ok(picked)
    }

    /// Merges two commits, or refuses with the commands that resolve the conflict in the worktree.
    fn merge(
        &self,
        git: &Git,
        into: &BranchName,
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<ObjectId, Error> {
        git.merge_commits(ours, theirs)?.map_err(|paths| {
            let path = &self.worktree.record.path;
            let again = self.command();
            let next = if self.options.rebase {
                "rebase --continue"
            } else {
                "commit --no-edit"
            };
            let reason = format!("it conflicts with {into}:{}", listed(paths));
            let help = format!(
                "resolve it in the worktree: {}, edit the files, git -C {path} add -A && git -C \
                    {path} {next}; then: {again}",
                self.resolution(into)
            );
            self.refused("conflict", reason, help)
        })
    }

    /// The command that brings the base branch into the worktree.
    fn resolution(&self, into: &BranchName) -> String {
        let path = &self.worktree.record.path;
        let is_rebased = self.options.rebase || self.options.ff_only;
        let verb = if is_rebased { "rebase" } else { "merge" };
        match self.worktree.record.strategy {
            Strategy::Worktree => format!("git -C {path} {verb} {into}"),
            // a clone has its own branches
            Strategy::Clone => {
                format!("git -C {path} fetch ../../.. {into} && git -C {path} {verb} FETCH_HEAD")
            }
        }
    }

    /// The command to type again.
    pub fn command(&self) -> String {
        let Land {
            squash,
            rebase,
            ff_only,
            keep,
            push,
            ..
        } = self.options;
        let mut command = "git agentwt land".to_owned();
        command += when(*squash, " --squash");
        command += when(*rebase, " --rebase");
        command += when(*ff_only, " --ff-only");
        command += when(*keep, " --keep");
        if let Some(remote) = push {
            command += &format!(" --push {remote}");
        }
        format!("{command} {}", self.worktree.record.name)
    }

    /// Says why work is not landed: `agentwt::land::<code>`.
    pub fn refused(&self, code: &str, reason: impl Display, help: String) -> Error {
        self.ended(ExitCode::Refused, code, reason.to_string(), help)
    }

    /// As [`Landing::refused`], with another exit status.
    pub fn ended(&self, exit: ExitCode, code: &str, reason: String, help: String) -> Error {
        let refusal = RemoveRefusal {
            exit,
            code: format!("land::{code}"),
            message: format!(
                "cannot land worktree `{}`: {reason}",
                self.worktree.record.name
            ),
            reason,
            help,
        };
        refusal.into()
    }
}

/// Writes items below a line, not more than a few.
pub(super) fn listed(items: Vec<String>) -> String {
    let items = shortened(items.into_iter());
    items.iter().map(|item| format!("\n  {item}")).collect()
}
