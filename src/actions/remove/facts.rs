//! Reads what `remove` decides on.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::put_aside::{read_passing, read_put_aside};
use crate::actions::remove::merged;
use crate::actions::remove::plan::{LostCommit, RemoveFacts, UncommittedWork, WorkKind};
use crate::actions::trash::enter::is_partly_deleted;
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::file_system::mounted_below;
use crate::disk::files;
use crate::disk::trash_bin::TrashBin;
use crate::git::environment::GitMode;
use crate::git::reflog::ReflogEntry;
use crate::git::refs::{Ref, STASH};
use crate::git::worktree::WorktreeEntry;
use crate::inventory::placed::PlacedKind;
use crate::judge::change::Seen;
use crate::record::worktree::{Alive, Owner, Record};
use crate::system::processes;
use crate::truth::head::WorktreeHead;
use crate::truth::survey::Survey;
use crate::truth::uncommitted::Uncommitted;
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId};
use crate::words::path::RepoPath;
use crate::worktree::absence::moved_to;
use crate::worktree::admin_dir::{git_dirs_below, worktree_of};
use crate::worktree::loaded::{Worktree, is_locked_by_us};
use crate::worktree::operation::{AM, read_operation};
use crate::worktree::private_git;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::Repository;

/// What is the same for all worktrees that one command removes.
pub struct SharedFacts {
    refs: Vec<Ref>,
    worktrees: Vec<WorktreeEntry>,
    stashes: Vec<ReflogEntry>,
}

impl SharedFacts {
    /// Reads branches, remote-tracking branches, tags, worktrees and stashes.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn read(repository: &Repository) -> Result<Self, Error> {
        let git = repository.git.with_mode(GitMode::Hardened);
        let mut refs = git.for_each_ref(&["refs/heads/", "refs/remotes/", "refs/tags/", STASH])?;
        let stashes = if refs.iter().any(|reference| reference.name == STASH) {
            git.reflog(STASH)?
        } else {
            Vec::new()
        };
        refs.retain(|reference| reference.name != STASH);
        Ok(Self {
            refs,
            worktrees: repository.worktree_list()?,
            stashes,
        })
    }

    /// Where a branch is; none when there is none.
    pub fn tip_of(&self, branch: &BranchName) -> Option<&CommitId> {
        let name = branch.full_ref();
        let reference = self.refs.iter().find(|reference| reference.name == name)?;
        Some(&reference.id)
    }

    /// The commits of a tip that no branch, remote-tracking branch or tag of this repository has,
    /// beside `leaving_branches`.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn unreachable_from_refs(
        &self,
        repository: &Repository,
        tip: &CommitId,
        leaving_branches: &[BranchName],
    ) -> Result<Vec<CommitId>, Error> {
        unreachable(repository, &[tip], &self.tips(leaving_branches))
    }

    fn tips(&self, leaving_branches: &[BranchName]) -> Vec<&CommitId> {
        let staying = self.staying_refs(leaving_branches);
        staying.iter().map(|reference| &reference.id).collect()
    }

    /// The refs beside these branches.
    fn staying_refs(&self, leaving_branches: &[BranchName]) -> Vec<&Ref> {
        let leaving: Vec<String> = leaving_branches.iter().map(BranchName::full_ref).collect();
        let mut staying = Vec::new();
        for reference in &self.refs {
            if !leaving.iter().any(|name| reference.name == *name) {
                staying.push(reference);
            }
        }
        staying
    }

    /// Those of these commits that no branch, remote-tracking branch or tag has. A branch that goes
    /// with the worktree counts, as a ref keeps its tip where nothing else has it.
    fn retain_unreachable(
        &self,
        repository: &Repository,
        commits: Vec<CommitId>,
    ) -> Result<Vec<CommitId>, Error> {
        let tips: Vec<&CommitId> = commits.iter().collect();
        let listed = unreachable(repository, &tips, &self.tips(&[]))?;
        let unreachable: BTreeSet<CommitId> = listed.into_iter().collect();
        let mut retained = commits;
        retained.retain(|commit| unreachable.contains(commit));
        Ok(retained)
    }

    /// Stashes whose message says that they were made on this branch (git-stash(1)).
    fn stashes_on(&self, branch: &BranchName) -> Vec<String> {
        let starts = [format!("WIP on {branch}:"), format!("On {branch}:")];
        let mut names = Vec::new();
        for (number, entry) in self.stashes.iter().enumerate() {
            if starts.iter().any(|start| entry.reason.starts_with(start)) {
                names.push(format!("stash@{{{number}}}"));
            }
        }
        names
    }
}

/// A worktree by its record, and as it stands: in its place, or in the trash.
pub struct Site<'a> {
    /// As it was recorded.
    pub recorded: &'a Worktree,
    /// As it stands.
    pub current: &'a Worktree,
}

impl Site<'_> {
    /// True if the worktree stands where it was made.
    fn is_in_place(&self) -> bool {
        self.recorded.record.path == self.current.record.path
    }
}

/// Reads what decides on a removal. Without a `survey` no files are looked at: the worktree goes
/// into the trash whatever it holds. `leaving_branches` may go in the same command, so a commit
/// that only they have is on no branch.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read_facts(
    repository: &Repository,
    shared: &SharedFacts,
    site: &Site<'_>,
    survey: Option<&Survey>,
    head: &WorktreeHead,
    leaving_branches: &[BranchName],
) -> Result<RemoveFacts, Error> {
    let own = &site.current.readable_repository(repository);
    let mut facts = read_surroundings(own, shared, site)?;
    // what only a clone has is fetched before it goes, so no commit of it can be lost
    if !own.is_clone() {
        let reading = CommitReading {
            repository: own,
            shared,
            worktree: site.current,
            leaving_branches,
        };
        let left_behind = reading.commits_left_behind(head, survey)?;
        reading.read_commits(&mut facts, &left_behind)?;
        let passing = read_passing(own, site.current, head)?;
        facts.passing = shared.retain_unreachable(own, passing)?;
    }
    if let Some(survey) = survey {
        read_files(&mut facts, own, site.current, survey)?;
    }
    Ok(facts)
}

/// Reads where the worktree is, who uses it, what runs left, and where its branch is.
fn read_surroundings(
    repository: &Repository,
    shared: &SharedFacts,
    site: &Site<'_>,
) -> Result<RemoveFacts, Error> {
    let worktree = site.current;
    let record = &worktree.record;
    let is_there = files::is_directory(&record.path);
    let private_git = PrivateGit::new(worktree);
    let mut facts = RemoveFacts {
        start: repository.start.clone(),
        root: repository.root.clone(),
        locked: is_locked_by_user(worktree),
        linked: linked_worktrees(repository),
        mounted: mounted_below(&record.path)?,
        running: if is_there {
            running(repository, site)
        } else {
            Some(Vec::new())
        },
        owner: record.owner.as_ref().map_or(Alive::No, Owner::alive),
        modules: has_own_modules(&record.admin_dir)?,
        has_patches: read_operation(record) == Some(AM),
        is_there,
        is_left: is_there || files::is_directory(&record.admin_dir),
        is_replaced: !is_there && files::exists(&record.path),
        held: is_held_elsewhere(shared, site),
        branch_tip: shared.tip_of(&record.branch).cloned(),
        stashes: shared.stashes_on(&record.branch),
        ..RemoveFacts::default()
    };
    if let Err(error) = TrashBin::open(&repository.root) {
        facts.barred = Some(error.to_string());
    }
    if site.is_in_place() {
        facts.moved_to = moved_to(&worktree.record);
    }
    if private_git.is_there() {
        facts.runs.push(private_git.git_dir().into_string());
    }
    for damaged in PrivateGit::find_damaged(worktree)? {
        facts.damaged.push(damaged.into_string());
    }
    Ok(facts)
}

/// True if the user has locked a linked worktree (git-worktree(1), `lock`).
fn is_locked_by_user(worktree: &Worktree) -> bool {
    let record = &worktree.record;
    record.strategy == Strategy::Worktree
        && files::exists(&record.admin_dir.join("locked"))
        && !is_locked_by_us(&record.admin_dir)
}

/// True if another worktree has the branch checked out.
fn is_held_elsewhere(shared: &SharedFacts, site: &Site<'_>) -> bool {
    let record = &site.recorded.record;
    let branch = record.branch.full_ref();
    shared
        .worktrees
        .iter()
        // git knows it by the place in which it was made
        .filter(|entry| entry.path != record.path)
        .any(|entry| entry.branch.as_ref() == Some(&branch))
}

/// What the commits of a worktree are read with.
struct CommitReading<'a> {
    repository: &'a Repository,
    shared: &'a SharedFacts,
    worktree: &'a Worktree,
    leaving_branches: &'a [BranchName],
}

impl CommitReading<'_> {
    /// The commits that HEAD, its reflog or the private git directory name, none twice.
    fn commits_left_behind(
        &self,
        head: &WorktreeHead,
        survey: Option<&Survey>,
    ) -> Result<Vec<CommitId>, Error> {
        let repository = self.repository;
        let mut commits: BTreeSet<CommitId> = head.detached().into_iter().collect();
        commits.extend(read_put_aside(repository, self.worktree)?);
        for run_ref in private_git::read_run_refs(repository, self.worktree)? {
            commits.insert(run_ref.id);
        }
        if survey.is_none() {
            // in the trash the reflog comes back, so nothing that it names may be collected
            let objects = repository.objects()?;
            for entry in &head.reflog {
                if objects.commit(&entry.id).is_ok() {
                    commits.insert(entry.id.clone());
                }
            }
        }
        Ok(commits.into_iter().collect())
    }

    /// Reads which commits no ref would have any more: those of the branch, and those of the
    /// commits that the worktree leaves behind.
    fn read_commits(&self, facts: &mut RemoveFacts, left_behind: &[CommitId]) -> Result<(), Error> {
        let record = &self.worktree.record;
        let staying = self.staying_refs();
        let targets = merge_targets(record, &staying);
        let mut kept: Vec<&CommitId> = staying.iter().map(|reference| &reference.id).collect();
        if record.request.is_some() {
            // the server has the commits of a pull request
            kept.push(&record.checked_out);
        }
        kept.sort_unstable();
        kept.dedup();
        if let Some(tip) = self.shared.tip_of(&record.branch) {
            self.read_branch_commits(facts, tip, &kept, &targets)?;
            // what the branch has is judged with the branch
            kept.push(tip);
        }
        self.read_left_behind(facts, left_behind, &kept, &targets)
    }

    /// Reads which commits of the branch are in none of the `kept` ones, and whether their content
    /// is merged.
    fn read_branch_commits(
        &self,
        facts: &mut RemoveFacts,
        tip: &CommitId,
        kept: &[&CommitId],
        targets: &[&Ref],
    ) -> Result<(), Error> {
        let commits = unreachable(self.repository, &[tip], kept)?;
        facts.merged = merged::find(self.repository, tip, &commits, targets);
        if facts.merged.is_none() {
            facts.unmerged = with_subjects(self.repository, commits)?;
        }
        Ok(())
    }

    /// Reads which of the commits that are left behind, and which of their ancestors, are in none
    /// of the `kept` ones, and whether their content is merged.
    fn read_left_behind(
        &self,
        facts: &mut RemoveFacts,
        left_behind: &[CommitId],
        kept: &[&CommitId],
        targets: &[&Ref],
    ) -> Result<(), Error> {
        let tips: Vec<&CommitId> = left_behind.iter().collect();
        let commits = unreachable(self.repository, &tips, kept)?;
        let lost: BTreeSet<&CommitId> = commits.iter().collect();
        for commit in left_behind {
            if lost.contains(commit) {
                facts.detached.push(commit.clone());
            }
        }
        // several are not compared: they count as not merged
        let is_merged = match facts.detached.as_slice() {
            [only] => merged::find(self.repository, only, &commits, targets).is_some(),
            [..] => false,
        };
        if !is_merged {
            facts.unmerged_detached = with_subjects(self.repository, commits)?;
        }
        Ok(())
    }

    /// The refs that do not go in this command.
    fn staying_refs(&self) -> Vec<&Ref> {
        let mut leaving = self.leaving_branches.to_vec();
        leaving.push(self.worktree.record.branch.clone());
        self.shared.staying_refs(&leaving)
    }
}

/// The refs whose content counts: those that the base was taken from, as they are now.
fn merge_targets<'r>(record: &Record, staying: &[&'r Ref]) -> Vec<&'r Ref> {
    let mut targets: Vec<&Ref> = Vec::new();
    for tip in &record.base.tips {
        let current = staying.iter().find(|reference| reference.name == tip.name);
        if let Some(current) = current
            && !targets.iter().any(|target| target.id == current.id)
        {
            targets.push(current);
        }
    }
    targets
}

/// Reads the files of the worktree: what cannot be read, work, what only a conversion of git makes
/// differ, what is hidden, and repositories inside.
/// `facts.is_there` must have been read.
fn read_files(
    facts: &mut RemoveFacts,
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
) -> Result<(), Error> {
    let index = worktree.record.admin_dir.join("index");
    facts.is_index_unreadable = survey.states.index.damaged && files::exists(&index);
    let paths = if facts.is_there {
        for failure in &survey.states.disk.unreadable {
            facts.unreadable.push(match &failure.path {
                Some(path) => path.to_string(),
                None => worktree.record.path.to_string(),
            });
        }
        uncommitted_paths(worktree, survey)
    } else {
        // without the directory every file is missing: only what was staged is work
        survey.staged_only()
    };
    let uncommitted = Uncommitted::without_converted(repository, worktree, survey, paths)?;
    for path in uncommitted.paths {
        let kind = work_kind(survey, &path);
        facts.uncommitted.push(UncommittedWork { path, kind });
    }
    facts.converted = uncommitted.converted;
    facts.hidden = survey.hidden_places();
    read_nested(facts, repository, worktree, survey)
}

/// Reads which repositories are inside the worktree, and which of these are submodules with work.
/// `facts.unreadable` must have been read: git is not started where it would wait for a pipe.
fn read_nested(
    facts: &mut RemoveFacts,
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
) -> Result<(), Error> {
    let mut nested = survey.inner_repositories(&worktree.record.path);
    let dot_git = worktree.record.path.join(".git");
    let is_repository = files::names(&dot_git).is_ok_and(|names| !names.is_empty());
    // in a linked worktree `.git` is a file, unless someone put a repository there
    if !repository.is_clone() && is_repository {
        nested.insert(RepoPath::child(None, b".git"));
    }
    for path in submodules_with_work(facts, repository, worktree, survey)? {
        facts.submodules.push(path.to_string());
        nested.insert(path);
    }
    facts.nested = nested.into_iter().collect();
    Ok(())
}

/// The paths with uncommitted work, of a worktree whose directory is there.
fn uncommitted_paths(worktree: &Worktree, survey: &Survey) -> Vec<RepoPath> {
    let staged = survey.staged_only();
    let mut paths = survey.uncommitted(worktree);
    if is_partly_deleted(worktree) {
        // that removal has deleted what is missing
        paths.retain(|path| {
            let is_on_disk = matches!(survey.states.disk.delta.get(path), Some(Some(_)));
            is_on_disk || staged.binary_search(path).is_ok()
        });
    }
    paths
}

/// What a path with uncommitted work is.
fn work_kind(survey: &Survey, path: &RepoPath) -> WorkKind {
    let states = &survey.states;
    if let Some(file) = states.placed.get(path)
        // what stands in the place of a directory that we created is not a placed file
        && file.kind != PlacedKind::Directory
    {
        return WorkKind::Placed(file.origin);
    }
    match states.untracked.get(path) {
        Some(Seen::Untracked | Seen::Synced | Seen::Ignored) => WorkKind::Untracked,
        _other => WorkKind::Changed,
    }
}

/// The submodules of the base whose repositories have work of their own. `facts.unreadable` must
/// have been read.
fn submodules_with_work(
    facts: &RemoveFacts,
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
) -> Result<Vec<RepoPath>, Error> {
    let mut submodules = Vec::new();
    for item in survey.states.manifest.items() {
        let is_submodule = item.base.is_some_and(|entry| entry.mode == Mode::Gitlink);
        // where a pipe stands for its index, git would wait for ever
        if !is_submodule || facts.unreadable.contains(&item.path.to_string()) {
            continue;
        }
        let Ok(relative) = item.path.as_bstr().to_str() else {
            // a repository there is in `facts.unreadable`: no path of ours leads to it
            continue;
        };
        let directory = worktree.record.path.join(relative);
        if !files::exists(&directory.join(".git")) {
            continue;
        }
        if worktree
            .submodule_git(repository, &directory)
            .has_own_work()?
        {
            submodules.push(item.path.clone());
        }
    }
    Ok(submodules)
}

/// The worktrees that were added elsewhere to a clone's own repository.
fn linked_worktrees(repository: &Repository) -> Vec<String> {
    if !repository.is_clone() {
        return Vec::new();
    }
    let registered = repository.common_dir.join("worktrees");
    let mut paths = Vec::new();
    for id in files::names(&registered).unwrap_or_default() {
        let path = worktree_of(&registered.join(&id));
        paths.push(path.map_or(id, Utf8PathBuf::into_string));
    }
    paths
}

/// Processes that work inside. Where the command was started inside, the processes that started it
/// do not count.
fn running(repository: &Repository, site: &Site<'_>) -> Option<Vec<processes::InsideProcess>> {
    let mut processes = processes::working_in(&site.current.record.path)?;
    if repository.start.starts_with(&site.recorded.record.path) {
        let ours = processes::ancestor_pids();
        processes.retain(|process| !ours.contains(&process.pid));
    }
    Some(processes)
}

/// The commits that `tips` reach and `others` do not, the newest first.
fn unreachable(
    repository: &Repository,
    tips: &[&CommitId],
    others: &[&CommitId],
) -> Result<Vec<CommitId>, Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    Ok(git.rev_list(tips, others)?)
}

/// Adds their subjects to the first commits, which are shown.
fn with_subjects(
    repository: &Repository,
    commits: Vec<CommitId>,
) -> Result<Vec<LostCommit>, Error> {
    const SHOWN: usize = 20;
    let mut lost = Vec::new();
    if commits.is_empty() {
        return Ok(lost);
    }
    let objects = repository.objects()?;
    for (number, id) in commits.into_iter().enumerate() {
        let mut subject = String::new();
        if number < SHOWN
            && let Ok(headline) = objects.headline(&id)
        {
            subject = headline.subject.to_str_lossy().into_owned();
        }
        lost.push(LostCommit { id, subject });
    }
    Ok(lost)
}

/// True if the repository of a submodule, below `modules/`, may have work of its own. A clone, also
/// one with `--reference`, leaves one pack, no loose object, and no trace of `git gc`: anything
/// else counts. So do its own worktrees and submodules, which git finds only where the worktree was
/// made.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn has_own_modules(git_dir: &Utf8Path) -> Result<bool, DiskError> {
    for repository in git_dirs_below(&git_dir.join("modules"))? {
        if !is_as_cloned(&repository)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if a repository has nothing but what a clone brings.
fn is_as_cloned(git_dir: &Utf8Path) -> Result<bool, DiskError> {
    let objects = git_dir.join("objects");
    let mut packs = files::names(&objects.join("pack"))?;
    packs.retain(|name| Utf8Path::new(name).extension() == Some("pack"));
    let mut loose = files::names(&objects)?;
    loose.retain(|name| !matches!(name.as_str(), "info" | "pack"));
    let mut infos = files::names(&objects.join("info"))?;
    infos.retain(|name| name != "alternates");
    Ok(packs.len() <= 1
        && loose.is_empty()
        && infos.is_empty()
        && files::names(&git_dir.join("worktrees"))?.is_empty()
        && files::names(&git_dir.join("modules"))?.is_empty())
}
