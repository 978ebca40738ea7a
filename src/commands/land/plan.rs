//! Tries the merge without a checkout, and decides how work is landed, or why not.

use std::fmt::Display;

use camino::Utf8PathBuf;

use crate::actions::remove::plan::{RemoveRefusal, shortened};
use crate::commands::land::answer::LandedField;
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
    pub landed: LandedField,
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
    let tips = record.base.tips.iter();
    let branches = tips.filter_map(|tip| tip.name.strip_prefix("refs/heads/"));
    let branches = branches.filter(|branch| *branch != record.branch.as_str());
    let branches: Vec<&str> = branches.collect();
    let found = branches.iter().find(|branch| **branch == named);
    let only = found.or(branches.first().filter(|_| branches.len() == 1));
    only.map(|branch| BranchName::from_git(*branch))
}

impl Landing<'_> {
    /// Decides. `heads` were verified; what a merge writes stays in a directory of its own.
    ///
    /// # Errors
    /// Refuses what would lose work, and what git would have to ask the user about; fails when git or
    /// the disk does.
    pub fn plan(&self, uncommitted: Vec<String>, heads: &WorktreeHead) -> Result<LandPlan, Error> {
        let record = &self.known.record;
        let repository = self.repository;
        let name = &record.name;
        let path = &record.path;
        let branch = &record.branch;
        let again = self.command();
        if let Some(operation) = read_operation(record) {
            let help = format!(
                "see it: git -C {path} status; finish it: git -C {path} {operation} --continue, \
                    or drop it: git -C {path} {operation} --abort; then: {again}"
            );
            let reason = format!("a {operation} is in progress there");
            return Err(self.refused("operation", reason, help));
        }
        let is_on_branch = heads.symbolic == Some(branch.full_ref()) && heads.head == heads.branch;
        let Some(verified) = heads.branch.clone().filter(|_| is_on_branch) else {
            let reason = format!("it is not on its branch {branch}");
            let help = format!("git -C {path} status, then: git -C {path} switch {branch}");
            return Err(self.refused("not_on_branch", reason, help));
        };
        if !uncommitted.is_empty() {
            let reason = format!("it has work that is not committed:{}", listed(uncommitted));
            let help = format!("git -C {path} add -A && git -C {path} commit, then: {again}");
            return Err(self.refused("uncommitted", reason, help));
        }
        let into = base_branch(record);
        let tip = into.as_ref().map(BranchName::full_ref);
        let tip = tip.map(|full| repository.git.rev_parse_commit(&full));
        let (Some(into), Some(before)) = (&into, tip.transpose()?.flatten()) else {
            let base = &record.base;
            let reason = format!("its base {} is not another branch here", base.revision);
            let create = into.map(|gone| {
                let commit = &base.commit;
                format!("to create it again: git branch {gone} {commit}; ")
            });
            let help = format!(
                "{}to merge by hand: git agentwt verify {name} && git merge {branch}",
                create.unwrap_or_default()
            );
            return Err(self.refused("no_base_branch", reason, help));
        };
        let checkout = self.checkout_of(into)?;
        let own = repository.home();
        let scratch = QuarantinedObjects::create(&own.common_dir, own.format, name.as_str())?;
        let landed = LandedField {
            into: into.clone(),
            how: "already",
            commit: Some(before.clone()),
            before,
            verified,
        };
        let mut plan = LandPlan {
            landed,
            new: Vec::new(),
            checkout,
            scratch,
        };
        self.decide_how(&mut plan)?;
        Ok(plan)
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
        let private = repository.common_dir.join("worktrees");
        let names = files::names(&private)?.into_iter();
        let private = names.map(|id| private.join(id));
        let mut dirs = std::iter::once(repository.common_dir.clone()).chain(private);
        let works_on = |bytes: &[u8]| [full.as_bytes(), into.as_str().as_bytes()].contains(&bytes);
        let busy = dirs.find(|dir| {
            let texts = BUSY.map(|file| files::read(&dir.join(file)).ok().flatten());
            texts
                .iter()
                .flatten()
                .any(|text| works_on(text.trim_ascii()))
        });
        if let Some(at) = busy.as_ref().or(places.get(1)) {
            let reason =
                format!("{into} is being rebased or bisected, or checked out twice: see {at}");
            let help = format!("finish or abort that, or switch there, then: {again}");
            return Err(self.refused("base_in_use", reason, help));
        }
        Ok(places.pop())
    }

    /// Finds out what landing would be.
    fn decide_how(&self, plan: &mut LandPlan) -> Result<(), Error> {
        let record = &self.known.record;
        let options = self.options;
        let landed = &mut plan.landed;
        let into = &landed.into;
        let base = &landed.before;
        let tip = &landed.verified;
        let git = &self.repository.git;
        let git = git.with_quarantine(&plan.scratch.quarantine());
        if record.strategy == Strategy::Clone {
            git.fetch_objects(
                record.admin_dir.as_str(),
                FetchCheck::Fsck,
                &[tip.to_string()],
            )?;
        }
        if git.is_ancestor(tip, base)? {
            return Ok(());
        }
        let path = &record.path;
        let again = self.command();
        let start = &record.base.commit;
        if git.is_ancestor(start, tip)? && !git.is_ancestor(start, base)? {
            let short = start.short();
            let reason = format!(
                "{into} does not have its base {short}, so more would be merged than was verified"
            );
            let help = format!(
                "see what: git log {into}..{short}; to merge that first: git merge {short}; to \
                    leave it out: git -C {path} rebase --onto {into} {short}; then: {again}"
            );
            return Err(self.refused("not_verified", reason, help));
        }
        let setting = git.config_get("merge.ff")?.filter(|_| options.is_plain());
        let only = options.ff_only || setting.as_deref() == Some("only");
        let is_ahead = git.is_ancestor(base, tip)?;
        let with_commit = || git.config_get_bool("merge.ff").map(|ff| ff == Some(false));
        let objects = plan.scratch.objects();
        if is_ahead && (only || !options.squash && (setting.is_none() || !with_commit()?)) {
            (landed.how, landed.commit) = ("fast-forward", Some(tip.clone()));
            return Ok(());
        }
        if only {
            let reason = format!("{into} went on, so it cannot be fast-forwarded");
            let resolve = self.resolution(into);
            let help = format!("{resolve}, then: {again}; or without --ff-only (merge.ff)");
            return Err(self.refused("diverged", reason, help));
        }
        let (how, new) = if options.rebase {
            ("rebase", self.pick(&git, plan)?)
        } else {
            let tree = if is_ahead {
                objects.commit(tip)?.tree
            } else {
                self.merge(&git, into, base, tip)?
            };
            let is_new = tree != objects.commit(base)?.tree;
            let new = is_new.then(|| (tip.clone(), tree));
            let how = if options.squash { "squash" } else { "merge" };
            (how, new.into_iter().collect())
        };
        // else a merge would change nothing
        if !new.is_empty() {
            (plan.landed.how, plan.landed.commit) = (how, None);
        }
        plan.new = new;
        if !plan.new.is_empty() {
            plan.landed.commit = self.pushed_before(plan)?;
        }
        Ok(())
    }

    /// Picks each commit onto the base branch, as `git rebase` does; one that changes nothing any
    /// more is dropped.
    fn pick(&self, git: &Git, plan: &LandPlan) -> Result<Vec<(CommitId, ObjectId)>, Error> {
        let LandedField { into, before, .. } = &plan.landed;
        let objects = plan.scratch.objects();
        let mut tree = objects.commit(before)?.tree;
        let mut picked = Vec::new();
        let all = git.rev_list(&[&plan.landed.verified], &[before])?;
        for id in all.into_iter().rev() {
            let commit = objects.commit(&id)?;
            let [parent] = commit.parents.as_slice() else {
                let name = &self.known.record.name;
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
            let path = &self.known.record.path;
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
        let path = &self.known.record.path;
        let is_rebased = self.options.rebase || self.options.ff_only;
        let verb = if is_rebased { "rebase" } else { "merge" };
        match self.known.record.strategy {
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
        let how = [
            (*squash, " --squash"),
            (*rebase, " --rebase"),
            (*ff_only, " --ff-only"),
            (*keep, " --keep"),
        ];
        let how: String = how
            .iter()
            .map(|(is_asked, how)| when(*is_asked, how))
            .collect();
        let push = push.as_ref().map(|remote| format!(" --push {remote}"));
        let push = push.unwrap_or_default();
        format!("git agentwt land{how}{push} {}", self.known.record.name)
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
                self.known.record.name
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
