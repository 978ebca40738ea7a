//! Reads what `remove` decides on.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use super::merged::{self, Target};
use super::plan::{Merged, RemoveFacts, Running, Unmerged};
use crate::change::Seen;
use crate::disk::file_system::mounted_below;
use crate::disk::files;
use crate::disk::files::Opened;
use crate::disk::scan::Unreadable;
use crate::disk::trash_bin::TrashBin;
use crate::entry::Mode;

use crate::git::GitMode;
use crate::git::objects::Objects;
use crate::git::refs::{Ref, ReflogEntry};
use crate::git::worktree::WorktreeEntry;
use crate::name::{BranchName, CommitId};
use crate::path::RepoPath;
use crate::placed::PlacedKind;
use crate::process;
use crate::truth::Survey;
use crate::truth::heads::Heads;
use crate::worktree::Alive;
use crate::worktree::Owner;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::private_refs::read_put_aside;
use crate::worktree::repository::{Repository, joined};
use crate::worktree::trash::{begun, has_own_modules, is_locked_by_us};

/// Holds what is the same for all worktrees that one command removes.
pub struct Around {
    refs: Vec<Ref>,
    worktrees: Vec<WorktreeEntry>,
    stashes: Vec<ReflogEntry>,
}

impl Around {
    /// Reads it, both questions to git side by side.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn read(repository: &Repository) -> Result<Self, WorktreeError> {
        let git = repository.git.with_mode(GitMode::Hardened);
        let all = ["refs/heads/", "refs/remotes/", "refs/tags/", "refs/stash"];
        let (refs, worktrees) = std::thread::scope(|scope| {
            let worktrees = scope.spawn(|| repository.worktrees());
            (git.for_each_ref(&all), joined(worktrees))
        });
        let mut refs = refs?;
        let is_stash = |one: &Ref| one.name == "refs/stash";
        let stashes = if refs.iter().any(is_stash) {
            git.reflog("refs/stash")?
        } else {
            Vec::new()
        };
        refs.retain(|one| !is_stash(one));
        Ok(Self {
            refs,
            worktrees: worktrees?,
            stashes,
        })
    }

    /// Whether git knows a worktree at this path.
    pub fn lists(&self, path: &Utf8Path) -> bool {
        self.worktrees.iter().any(|entry| entry.path == *path)
    }

    /// Where a branch is; none when there is none.
    pub fn tip_of(&self, branch: &BranchName) -> Option<&CommitId> {
        let name = branch.full_ref();
        let found = self.refs.iter().find(|one| one.name == name);
        found.map(|one| &one.id)
    }

    /// The commits of a tip that no branch, remote-tracking branch or tag of this repository has.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn nowhere(
        &self,
        repository: &Repository,
        tip: &CommitId,
    ) -> Result<Vec<CommitId>, WorktreeError> {
        let others: Vec<&CommitId> = self.refs.iter().map(|one| &one.id).collect();
        nowhere_else(repository, &[tip], &others)
    }

    /// Stashes whose message says that they were made on this branch (git-stash(1)).
    fn stashes_on(&self, branch: &BranchName) -> Vec<String> {
        let starts = [format!("WIP on {branch}:"), format!("On {branch}:")];
        let all = self.stashes.iter().enumerate();
        let made = all.filter(|(_, one)| starts.iter().any(|start| one.reason.starts_with(start)));
        made.map(|(at, _)| format!("stash@{{{at}}}")).collect()
    }
}

/// Reads what decides. Without a `survey` the worktree goes into the trash whatever it holds.
/// `leaving` are the branches that may go in the same command: what only they hold is on no other
/// branch.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(
    repository: &Repository,
    around: &Around,
    known: &Worktree,
    survey: Option<&Survey>,
    heads: &Heads,
    leaving: &[BranchName],
) -> Result<RemoveFacts, WorktreeError> {
    let record = &known.record;
    let repository = &known.readable_repository(repository);
    let there = files::is_directory(&record.path);
    let own = record.branch.full_ref();
    let entry = around.worktrees.iter().find(|e| e.path == record.path);
    let others = |e: &&WorktreeEntry| e.path != record.path && e.branch.as_ref() == Some(&own);
    let commits = if repository.is_clone() {
        // all that only a clone has is fetched before it goes
        Commits::default()
    } else {
        Commits::read(
            repository,
            around,
            known,
            (survey.is_none(), heads),
            leaving,
        )?
    };
    let facts = RemoveFacts {
        record: Box::new(record.clone()),
        start: repository.start.clone(),
        root: repository.root.clone(),
        place: repository.worktree_path(&record.name),
        barred: TrashBin::open(&repository.root)
            .err()
            .map(|error| error.to_string()),
        link: link(&record.path),
        locked: entry.is_some_and(|entry| entry.locked) && !is_locked_by_us(&record.admin_dir),
        uncommitted: Vec::new(),
        untracked: Vec::new(),
        placed: Vec::new(),
        nested: Vec::new(),
        unreadable: Vec::new(),
        linked: linked(repository),
        modules: has_own_modules(&record.admin_dir)?,
        is_left: there || files::is_directory(&record.admin_dir),
        mounted: mounted_below(&record.path)?,
        running: running(repository, known, there),
        owner: record.owner.as_ref().map_or(Alive::No, Owner::alive),
        moved_to: moved_to(known)?,
        held: around.worktrees.iter().any(|e| others(&e)),
        branch_tip: around.tip_of(&record.branch).cloned(),
        detached: commits.detached,
        unmerged: commits.unmerged,
        merged: commits.merged,
        stashes: around.stashes_on(&record.branch),
    };
    match survey {
        Some(survey) => with_files(facts, repository, known, survey, there),
        None => Ok(facts),
    }
}

/// Adds what is in the worktree.
fn with_files(
    facts: RemoveFacts,
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    there: bool,
) -> Result<RemoveFacts, WorktreeError> {
    let staged = survey.staged_only();
    let mut uncommitted = if there {
        survey.uncommitted(known)
    } else {
        staged.clone()
    };
    if begun(known).is_some() {
        // what is missing is what was deleted already
        let stands = |path: &RepoPath| matches!(survey.states.disk.get(path), Some(Some(_)));
        uncommitted.retain(|path| stands(path) || staged.binary_search(path).is_ok());
    }
    // what stands in the place of a directory that we created is nobody's placed file
    let placed = |path: &RepoPath| {
        let file = survey.states.placed.get(path)?;
        (file.kind != PlacedKind::Directory).then(|| (file.path.clone(), file.origin))
    };
    let is_untracked = |path: &&RepoPath| match survey.states.untracked.get(*path) {
        Some(Seen::Untracked) => true,
        Some(Seen::Synced) => placed(path).is_none(),
        Some(_) | None => false,
    };
    let mut nested = nested(repository, known, survey);
    nested.extend(submodules(repository, known, survey)?);
    nested.sort_unstable();
    nested.dedup();
    Ok(RemoveFacts {
        untracked: uncommitted.iter().filter(is_untracked).cloned().collect(),
        placed: uncommitted.iter().filter_map(placed).collect(),
        uncommitted,
        nested,
        unreadable: if there {
            unreadable(known, survey)
        } else {
            Vec::new()
        },
        ..facts
    })
}

/// The worktrees that were added elsewhere to a clone's own repository.
fn linked(repository: &Repository) -> Vec<String> {
    let all = repository.common_dir.join("worktrees");
    let ids = files::names(&all).unwrap_or_default();
    let ids = ids.iter().filter(|_| repository.is_clone());
    let of = |id: &String| {
        let text = files::read(&all.join(id).join("gitdir")).ok().flatten()?;
        let path = Utf8PathBuf::from(String::from_utf8_lossy(text.trim_ascii_end()).into_owned());
        Some(path.parent()?.to_string())
    };
    ids.map(|id| of(id).unwrap_or_else(|| id.clone())).collect()
}

/// The directory behind a link that stands in the place of a worktree.
fn link(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let is_link = matches!(files::open_entry(path.as_std_path()), Ok(Opened::Link(_)));
    let target = files::canonical(path).ok();
    target.filter(|target| is_link && files::is_directory(target))
}

/// Processes that work inside. Where the command was started inside, whoever started it is no
/// news.
fn running(repository: &Repository, known: &Worktree, there: bool) -> Option<Vec<Running>> {
    let path = &known.record.path;
    if !there {
        return Some(Vec::new());
    }
    let mut found = process::inside(path)?;
    if repository.start.starts_with(path) {
        let ours = process::ancestors();
        found.retain(|one| !ours.contains(&one.pid));
    }
    let running = |one: process::Inside| Running {
        pid: one.pid,
        name: one.name,
    };
    Some(found.into_iter().map(running).collect())
}

/// Holds the commits that would be on no branch.
#[derive(Default)]
struct Commits {
    detached: Vec<CommitId>,
    unmerged: Unmerged,
    merged: Option<Merged>,
}

impl Commits {
    fn read(
        repository: &Repository,
        around: &Around,
        known: &Worktree,
        (is_kept, heads): (bool, &Heads),
        leaving: &[BranchName],
    ) -> Result<Self, WorktreeError> {
        let record = &known.record;
        let mut going: Vec<String> = leaving.iter().map(BranchName::full_ref).collect();
        going.push(record.branch.full_ref());
        let stay = |one: &&Ref| !going.iter().any(|name| one.name == *name);
        let staying: Vec<&Ref> = around.refs.iter().filter(stay).collect();
        let tip = around.tip_of(&record.branch);
        let mut others: Vec<&CommitId> = staying.iter().map(|one| &one.id).collect();
        others.sort_unstable();
        others.dedup();
        let branch = nowhere_else(repository, tip.as_slice(), &others)?;
        let mut left = heads.detached();
        left.extend(read_put_aside(repository, known)?);
        left.sort_unstable();
        left.dedup();
        let left: Vec<&CommitId> = left.iter().filter(|id| Some(*id) != tip).collect();
        others.extend(tip);
        let alone = nowhere_else(repository, &left, &others)?;
        let is_alone: BTreeSet<&CommitId> = alone.iter().collect();
        let detached = left.into_iter().filter(|id| is_alone.contains(id));
        let mut detached: Vec<CommitId> = detached.cloned().collect();
        if is_kept {
            // in the trash the reflog comes back, so nothing that it names may be collected
            let objects = repository.objects()?;
            let there = |id: &&CommitId| objects.commit(id).is_ok();
            let logged: BTreeSet<&CommitId> = heads.reflog.iter().map(|entry| &entry.id).collect();
            let logged: Vec<&CommitId> = logged.into_iter().filter(there).collect();
            let alone = nowhere_else(repository, &logged, &others)?;
            let alone: BTreeSet<&CommitId> = alone.iter().collect();
            let more = logged
                .into_iter()
                .filter(|id| alone.contains(id) && !detached.contains(id));
            let more: Vec<CommitId> = more.cloned().collect();
            detached.extend(more);
        }
        if branch.is_empty() && alone.is_empty() {
            let unmerged = Unmerged::default();
            let merged = None;
            return Ok(Self {
                detached,
                unmerged,
                merged,
            });
        }
        let targets = targets(record, &staying);
        let merged = tip.and_then(|tip| merged::find(repository, tip, &branch, &targets));
        let is_merged = |tip: &CommitId| {
            merged::find(repository, tip, &alone, &targets).is_some_and(|_| detached.len() == 1)
        };
        let objects = repository.objects()?;
        let kept = |merged: bool, all| if merged { Vec::new() } else { all };
        let unmerged = Unmerged {
            branch: kept(merged.is_some(), with_subjects(&objects, branch)),
            detached: kept(
                detached.first().is_some_and(is_merged),
                with_subjects(&objects, alone),
            ),
        };
        Ok(Self {
            detached,
            unmerged,
            merged,
        })
    }
}

/// The refs whose content counts: those that the base was taken from, as they are now.
fn targets(record: &crate::worktree::Record, staying: &[&Ref]) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for tip in &record.base.tips {
        let now = staying.iter().find(|one| one.name == tip.name);
        if let Some(now) = now
            && !targets.iter().any(|other| other.commit == now.id)
        {
            targets.push(Target {
                name: tip.name.clone(),
                commit: now.id.clone(),
            });
        }
    }
    targets
}

/// The commits of these tips that no other ref has, the newest first. Git is not asked where a
/// ref names each tip.
fn nowhere_else(
    repository: &Repository,
    tips: &[&CommitId],
    others: &[&CommitId],
) -> Result<Vec<CommitId>, WorktreeError> {
    let is_elsewhere = |tip: &&CommitId| others.contains(tip);
    if tips.iter().all(is_elsewhere) {
        return Ok(Vec::new());
    }
    let git = repository.git.with_mode(GitMode::Hardened);
    Ok(git.rev_list(tips, others)?)
}

/// The subjects of the first ones, which are shown.
fn with_subjects(objects: &Objects, commits: Vec<CommitId>) -> Vec<(CommitId, String)> {
    const SHOWN: usize = 20;
    let subject = |at: usize, id: &CommitId| {
        let headline = (at < SHOWN).then(|| objects.headline(id).ok()).flatten();
        headline.map_or_else(String::new, |line| line.subject.to_str_lossy().into_owned())
    };
    let with = |(at, id): (usize, CommitId)| {
        let subject = subject(at, &id);
        (id, subject)
    };
    commits.into_iter().enumerate().map(with).collect()
}

/// Directories with a repository of their own, the worktree's own `.git` among them if it is a
/// directory with anything in it: git makes it a file.
fn nested(repository: &Repository, known: &Worktree, survey: &Survey) -> Vec<RepoPath> {
    let mut nested = survey.nested();
    let own = known.record.path.join(".git");
    if !repository.is_clone() && files::names(&own).is_ok_and(|names| !names.is_empty()) {
        nested.push(RepoPath::child(None, b".git"));
    }
    nested
}

/// Where git has the worktree, if that is another place (`git worktree move`).
fn moved_to(known: &Worktree) -> Result<Option<Utf8PathBuf>, WorktreeError> {
    let record = &known.record;
    let Some(bytes) = files::read(&record.admin_dir.join("gitdir"))? else {
        return Ok(None);
    };
    let dot_git = record
        .admin_dir
        .join(String::from_utf8_lossy(&bytes).trim_end());
    let directory = dot_git.parent().unwrap_or(&dot_git);
    if *directory == record.path {
        return Ok(None);
    }
    // relative where `worktree.useRelativePaths` is set
    let elsewhere = files::canonical(directory).ok();
    Ok(elsewhere.filter(|path| *path != record.path && files::exists(&dot_git)))
}

/// What could not be read: the worktree itself, or paths in it.
fn unreadable(known: &Worktree, survey: &Survey) -> Vec<String> {
    let name = |unreadable: &Unreadable| match &unreadable.path {
        Some(path) => path.to_string(),
        None => known.record.path.to_string(),
    };
    survey.states.unreadable.iter().map(name).collect()
}

/// Submodules that hold something of their own: changed files, or commits that no remote has.
fn submodules(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
) -> Result<Vec<RepoPath>, WorktreeError> {
    let manifest = &survey.states.manifest;
    let gitlinks = manifest
        .items()
        .iter()
        .filter(|item| item.base.is_some_and(|entry| entry.mode == Mode::Gitlink));
    let mut with_work = Vec::new();
    for item in gitlinks {
        let Some(relative) = item.path.to_os_path().ok() else {
            continue;
        };
        let directory = known.record.path.as_std_path().join(relative);
        let Ok(directory) = camino::Utf8PathBuf::from_path_buf(directory) else {
            continue;
        };
        if files::exists(&directory.join(".git"))
            && repository
                .git
                .at(&directory)
                .with_mode(GitMode::Hardened)
                .has_own_work()?
        {
            with_work.push(item.path.clone());
        }
    }
    Ok(with_work)
}
