//! Writes the private git directory for a run: a new one, or one that an earlier run left.

use camino::Utf8Path;

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::git::git_dir::SHALLOW;
use crate::git::refs::Ref;
use crate::record::run::RunObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::find_operation;
use crate::worktree::private_git::entries::{clear, copy, put};
use crate::worktree::private_git::given::give_staged;
use crate::worktree::private_git::packed_refs::packed;
use crate::worktree::private_git::settings::write_settings;
use crate::worktree::private_git::{
    BRANCH_REF, ImportedBefore, NEW, PrivateGit, SNAPSHOT, WorktreeIndex,
};
use crate::worktree::repository::Repository;

/// Says on which commit the branch of a run is that goes on.
enum BranchOfRun {
    /// Where the run left it: the user did not move it since.
    AsRunLeftIt,
    /// Where the user has moved it.
    TakenFromUser(CommitId),
    /// Where it was when the run began, or after its last import: the user has moved it since, but
    /// a merge or a rebase is in progress on top of that commit; or the user has deleted it.
    WhereRunBegan(Option<CommitId>),
}

impl PrivateGit {
    /// Writes the git directory for a new run. It is written under another name and renamed at the
    /// end, so that a kill leaves none or a whole one. `binary` is what `git` is in the fence.
    ///
    /// # Errors
    /// Fails when the repository cannot be read, or the disk not be written.
    pub fn write_new(
        &self,
        repository: &Repository,
        worktree: &Worktree,
        binary: &Utf8Path,
        objects: RunObjects,
    ) -> Result<(), Error> {
        self.write_beside(binary)?;
        let branch = worktree.record.branch.full_ref();
        let branch_commit = repository.git.rev_parse_commit(&branch)?;
        let new = self.dir.join(NEW);
        files::remove_directory(&new)?;
        files::create_directories(&new.join("logs"))?;
        put(&new, "HEAD", format!("ref: {branch}\n").as_bytes())?;
        // where the history of the repository ends; where one ends that is given in part is written
        // beside, with what is given
        copy(&repository.common_dir.join(SHALLOW), &new, SHALLOW)?;
        write_settings(&new, repository, worktree, objects)?;
        let refs = shown_refs(repository, &branch, branch_commit.as_ref(), objects)?;
        if let Some(commit) = &branch_commit
            && objects == RunObjects::Withheld
        {
            files::remove_file(&self.shallow_file())?;
            // after the settings, which name the remote
            self.fetch_given(&new, repository, worktree, commit)?;
        }
        let since = self.write_snapshot(&refs)?;
        put(&new, "packed-refs", &packed(&refs))?;
        self.give_index(&new, repository, worktree, objects)?;
        // before the rename: a git directory without a state counts as one of an older version
        self.run_file()
            .record_prepared(branch_commit.as_ref(), since, objects)?;
        Ok(files::rename(&new, &self.git_dir())?)
    }

    /// Prepares, for the next run, the git directory that an earlier run left, once that run is
    /// imported. HEAD, objects, its own refs and an operation in progress stay; the refs of the
    /// repository are written anew. The branch and the index stay, unless those of the user take
    /// their place. Until here it has the settings of an import, with all objects; a run without the
    /// excluded files loses them again.
    ///
    /// # Errors
    /// Fails when the repository cannot be read, or the disk not be written.
    pub fn write_for_next_run(
        &self,
        repository: &Repository,
        worktree: &Worktree,
        binary: &Utf8Path,
        imported: &ImportedBefore,
    ) -> Result<(), Error> {
        self.write_beside(binary)?;
        let git_dir = self.git_dir();
        let branch = worktree.record.branch.full_ref();
        let run = self.run_file().read()?;
        let began_on = run.branch_commit.as_ref();
        let user_commit = imported.branch_commit.as_ref();
        let operation = find_operation(&git_dir);
        let branch_of_run = branch_of_run(user_commit, began_on, operation);
        let is_taken = matches!(branch_of_run, BranchOfRun::TakenFromUser(_));
        // before the snapshot is replaced: what it does not have is of runs
        let refs_of_runs = self.packed_refs_of_runs()?;
        let shown_refs = shown_refs(repository, &branch, user_commit, run.objects)?;
        if run.objects == RunObjects::Withheld {
            if let BranchOfRun::TakenFromUser(commit) = &branch_of_run {
                self.bring_given(repository, worktree, commit)?;
            }
            self.withhold_again(repository, worktree)?;
        }
        let since = self.write_snapshot(&shown_refs)?;
        let refs = refs_of_next_run(&branch, &branch_of_run, shown_refs, refs_of_runs);
        put(&git_dir, "packed-refs", &packed(&refs))?;
        // a file of that name would count more
        clear(&git_dir.join(BRANCH_REF))?;
        if let BranchOfRun::TakenFromUser(commit) = &branch_of_run {
            write_branch(&git_dir, &branch, began_on, commit)?;
        }
        let fits_run = imported.index == WorktreeIndex::FitsRun && operation.is_none();
        // with the branch of the user comes their index
        let takes_index = (is_taken || fits_run) && is_head_on(&git_dir, &branch)?;
        // an import removes an index that cannot be read
        if takes_index || !files::exists(&self.index()) {
            self.give_index(&git_dir, repository, worktree, run.objects)?;
        }
        let begins_on = match operation {
            // what is in progress is on top of that commit
            Some(_) => began_on,
            None => user_commit,
        };
        Ok(self
            .run_file()
            .record_prepared(begins_on, since, run.objects)?)
    }

    /// Takes from the git directory what an import needs, and a command without the excluded files
    /// must not have. The file `shallow` is again as it was given.
    fn withhold_again(&self, repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
        let git_dir = self.git_dir();
        write_settings(&git_dir, repository, worktree, RunObjects::Withheld)?;
        clear(&git_dir.join(SHALLOW))?;
        Ok(copy(&self.shallow_file(), &git_dir, SHALLOW)?)
    }

    /// Writes what stands beside the git directory.
    fn write_beside(&self, binary: &Utf8Path) -> Result<(), DiskError> {
        for directory in ["tmp", "bin", "rootfs"] {
            files::create_directories(&self.dir.join(directory))?;
        }
        // first in PATH where nothing can be mounted over `.git`
        files::write_link(&self.dir.join("bin/git"), binary)?;
        let text = format!("gitdir: {}\n", self.git_dir());
        put(&self.dir, "dotgit", text.as_bytes())
    }

    /// Writes the refs that the run begins with, and returns when that was, by the clock of the
    /// file system.
    fn write_snapshot(&self, refs: &[Ref]) -> Result<i64, DiskError> {
        put(&self.dir, SNAPSHOT, &packed(refs))?;
        let stat = files::stat(&self.dir.join(SNAPSHOT));
        Ok(stat.map_or(0, |stat| stat.mtime))
    }

    /// Gives the run the index of the worktree, and the objects that it names where the run does not
    /// find them.
    fn give_index(
        &self,
        git_dir: &Utf8Path,
        repository: &Repository,
        worktree: &Worktree,
        objects: RunObjects,
    ) -> Result<(), Error> {
        self.copy_index(git_dir, worktree)?;
        match objects {
            RunObjects::Shared => Ok(()),
            RunObjects::Withheld => give_staged(git_dir, repository, worktree),
        }
    }

    /// Copies the index of the worktree into the git directory, with the parts of a split one. It
    /// is also kept as [`Self::begun_index`], last: after a kill before that, the next import
    /// compares with the one of before.
    fn copy_index(&self, git_dir: &Utf8Path, worktree: &Worktree) -> Result<(), DiskError> {
        let new = self.dir.join("index.new");
        let admin_dir = &worktree.record.admin_dir;
        files::link_or_copy(&admin_dir.join("index"), &new)?;
        for name in files::names(admin_dir)? {
            if name.starts_with("sharedindex.") {
                copy(&admin_dir.join(&name), git_dir, &name)?;
            }
        }
        if files::exists(&new) {
            copy(&new, git_dir, "index")?;
            files::copy_time(&new, &git_dir.join("index"))?;
            files::rename(&new, &self.begun_index())?;
        }
        Ok(())
    }
}

/// Says on which commit the branch of a run is that goes on. The run began on the branch at
/// `began_on`; the user has it at `user_commit`.
fn branch_of_run(
    user_commit: Option<&CommitId>,
    began_on: Option<&CommitId>,
    operation: Option<&'static str>,
) -> BranchOfRun {
    if user_commit == began_on {
        return BranchOfRun::AsRunLeftIt;
    }
    match user_commit {
        Some(commit) if operation.is_none() => BranchOfRun::TakenFromUser(commit.clone()),
        Some(_) | None => BranchOfRun::WhereRunBegan(began_on.cloned()),
    }
}

/// Joins the refs of the repository and those that runs made or moved. Of two refs of one name, the
/// last counts ([`packed`]).
fn refs_of_next_run(
    branch: &str,
    branch_of_run: &BranchOfRun,
    shown_refs: Vec<Ref>,
    mut refs_of_runs: Vec<Ref>,
) -> Vec<Ref> {
    let mut refs = shown_refs;
    match branch_of_run {
        BranchOfRun::AsRunLeftIt | BranchOfRun::WhereRunBegan(None) => {}
        BranchOfRun::WhereRunBegan(Some(commit)) => {
            refs.push(Ref::new(branch, commit.clone()));
            // the commit of the user may not be there
            refs.retain(|shown| shown.name != BRANCH_REF);
        }
        BranchOfRun::TakenFromUser(_) => refs_of_runs.retain(|of_run| of_run.name != branch),
    }
    refs.extend(refs_of_runs);
    refs
}

/// Reads the refs of the repository that a run begins with. Its branch is on `branch_commit`: the
/// user may have committed since that was read. A stash is left out, as it is nothing without its
/// log.
fn shown_refs(
    repository: &Repository,
    branch: &str,
    branch_commit: Option<&CommitId>,
    objects: RunObjects,
) -> Result<Vec<Ref>, Error> {
    let below = match objects {
        RunObjects::Shared => "refs/",
        RunObjects::Withheld => branch,
    };
    let mut refs = repository.git.for_each_ref(&[below])?;
    refs.retain(|shown| shown.name != "refs/stash" && shown.name != branch);
    if let Some(commit) = branch_commit {
        refs.push(Ref::new(branch, commit.clone()));
        refs.push(Ref::new(BRANCH_REF, commit.clone()));
    }
    Ok(refs)
}

/// Moves the branch of a run from `began_on` to the commit of the user, with an entry in its log:
/// where the file of a ref is damaged, its log says where it was. Where a branch of the run is in
/// the way of the file (`agentwt`), the packed ref counts.
fn write_branch(
    git_dir: &Utf8Path,
    branch: &str,
    began_on: Option<&CommitId>,
    commit: &CommitId,
) -> Result<(), DiskError> {
    let file = git_dir.join(branch);
    let directory = file.parent().unwrap_or(git_dir);
    if files::create_directories(directory).is_err() {
        return Ok(());
    }
    put(git_dir, branch, format!("{commit}\n").as_bytes())?;
    let before = began_on.unwrap_or(commit);
    let time = jiff::Timestamp::now().as_second();
    let line = format!("{before} {commit} git-agentwt <> {time} +0000\tby the user\n");
    let _ = files::append(&git_dir.join("logs").join(branch), line.as_bytes());
    Ok(())
}

/// True if HEAD names the branch.
fn is_head_on(git_dir: &Utf8Path, branch: &str) -> Result<bool, DiskError> {
    let head = files::read(&git_dir.join("HEAD"))?.unwrap_or_default();
    Ok(head.trim_ascii_end() == format!("ref: {branch}").as_bytes())
}
