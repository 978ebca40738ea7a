//! Reads what `remove` decides on.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::bring::{read_passing, read_put_aside};
use crate::actions::remove::merged;
use crate::actions::remove::plan::{RemoveFacts, WorkKind};
use crate::actions::trash::begun;
use crate::disk::error::DiskError;
use crate::disk::file_system::mounted_below;
use crate::disk::files;
use crate::disk::trash_bin::TrashBin;
use crate::git::environment::GitMode;
use crate::git::reflog::ReflogEntry;
use crate::git::refs::Ref;
use crate::git::worktree::WorktreeEntry;
use crate::inventory::placed::PlacedKind;
use crate::judge::change::Seen;
use crate::record::worktree::{Alive, Owner};
use crate::system::processes;
use crate::truth::head::WorktreeHead;
use crate::truth::survey::Survey;
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId};
use crate::words::path::RepoPath;
use crate::worktree::admin_dir::worktree_of;
use crate::worktree::loaded::{Worktree, is_locked_by_us};
use crate::worktree::private_git;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::Repository;

/// Holds what is the same for all worktrees that one command removes.
pub struct Around {
    refs: Vec<Ref>,
    worktrees: Vec<WorktreeEntry>,
    stashes: Vec<ReflogEntry>,
}

impl Around {
    /// Reads it.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn read(repository: &Repository) -> Result<Self, Error> {
        let git = repository.git.with_mode(GitMode::Hardened);
        let is_stash = |one: &Ref| one.name == "refs/stash";
        let all = ["refs/heads/", "refs/remotes/", "refs/tags/", "refs/stash"];
        let mut refs = git.for_each_ref(&all)?;
        let stashes = if refs.iter().any(is_stash) {
            git.reflog("refs/stash")?
        } else {
            Vec::new()
        };
        refs.retain(|one| !is_stash(one));
        Ok(Self {
            refs,
            worktrees: repository.git.worktree_list()?,
            stashes,
        })
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
    pub fn nowhere(&self, repository: &Repository, tip: &CommitId) -> Result<Vec<CommitId>, Error> {
        let others: Vec<&CommitId> = self.refs.iter().map(|one| &one.id).collect();
        nowhere_else(repository, &[tip], &others)
    }

    /// Those of these commits that no branch, remote-tracking branch or tag has. A branch that goes
    /// with the worktree counts, as a ref keeps its tip where nothing else has it.
    fn without_ref(
        &self,
        repository: &Repository,
        commits: &[CommitId],
    ) -> Result<Vec<CommitId>, Error> {
        let tips: Vec<&CommitId> = commits.iter().collect();
        let others: Vec<&CommitId> = self.refs.iter().map(|one| &one.id).collect();
        let alone = nowhere_else(repository, &tips, &others)?;
        let is_alone: BTreeSet<&CommitId> = alone.iter().collect();
        let found = commits.iter().filter(|id| is_alone.contains(id));
        Ok(found.cloned().collect())
    }

    /// Stashes whose message says that they were made on this branch (git-stash(1)).
    fn stashes_on(&self, branch: &BranchName) -> Vec<String> {
        let starts = [format!("WIP on {branch}:"), format!("On {branch}:")];
        let all = self.stashes.iter().enumerate();
        let made = all.filter(|(_, one)| starts.iter().any(|start| one.reason.starts_with(start)));
        made.map(|(at, _)| format!("stash@{{{at}}}")).collect()
    }
}

/// Holds a worktree by its record, and as it stands: in its place, or in the trash.
pub struct Site<'a> {
    /// As it was recorded.
    pub known: &'a Worktree,
    /// Where it stands.
    pub stands: &'a Worktree,
}

impl Site<'_> {
    /// True if the worktree stands where it was made.
    fn is_in_place(&self) -> bool {
        self.known.record.path == self.stands.record.path
    }
}

/// Reads what decides. Without a `survey` the worktree goes into the trash whatever it holds.
/// `going` are the branches that may go in the same command: what only they hold is on no other
/// branch.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(
    repository: &Repository,
    around: &Around,
    site: &Site<'_>,
    survey: Option<&Survey>,
    heads: &WorktreeHead,
    going: &[BranchName],
) -> Result<RemoveFacts, Error> {
    let known = site.stands;
    let record = &known.record;
    let repository = &known.readable_repository(repository);
    let is_there = files::is_directory(&record.path);
    let own = record.branch.full_ref();
    // git knows it by the place in which it was made
    let registered = &site.known.record.path;
    let entry = around.worktrees.iter().find(|e| e.path == *registered);
    let mut others = around.worktrees.iter().filter(|e| e.path != *registered);
    let barred = TrashBin::open(&repository.root).err();
    let private = PrivateGit::new(known);
    let mut facts = RemoveFacts {
        start: repository.start.clone(),
        root: repository.root.clone(),
        barred: barred.map(|error| error.to_string()),
        moved_to: site.is_in_place().then(|| moved_to(known)).flatten(),
        locked: entry.is_some_and(|entry| entry.locked) && !is_locked_by_us(&record.admin_dir),
        linked: linked(repository),
        mounted: mounted_below(&record.path)?,
        running: running(repository, site, is_there),
        owner: record.owner.as_ref().map_or(Alive::No, Owner::alive),
        modules: has_own_modules(&record.admin_dir)?,
        runs: private
            .is_there()
            .then(|| private.git_dir().into_string())
            .into_iter()
            .collect(),
        damaged: PrivateGit::find_damaged(known)?
            .into_iter()
            .map(Utf8PathBuf::into_string)
            .collect(),
        is_there,
        is_left: is_there || files::is_directory(&record.admin_dir),
        held: others.any(|other| other.branch.as_ref() == Some(&own)),
        branch_tip: around.tip_of(&record.branch).cloned(),
        stashes: around.stashes_on(&record.branch),
        ..RemoveFacts::default()
    };
    if !repository.is_clone() {
        // all that only a clone has is fetched before it goes
        let mut left = heads.detached();
        left.extend(read_put_aside(repository, known)?);
        left.extend(
            private_git::read_run_refs(repository, known)?
                .into_iter()
                .map(|one| one.id),
        );
        if survey.is_none() {
            // in the trash the reflog comes back, so nothing that it names may be collected
            let objects = repository.objects()?;
            let logged = heads.reflog.iter().map(|entry| &entry.id);
            left.extend(logged.filter(|id| objects.commit(id).is_ok()).cloned());
        }
        left.sort_unstable();
        left.dedup();
        read_commits(&mut facts, repository, around, known, &left, going)?;
        let passing = read_passing(repository, known, heads)?;
        facts.passing = around.without_ref(repository, &passing)?;
    }
    if let Some(survey) = survey {
        read_files(&mut facts, repository, known, survey, is_there)?;
    }
    Ok(facts)
}

/// Reads the commits that would be on no branch: of the branch, and of those that it leaves behind.
fn read_commits(
    facts: &mut RemoveFacts,
    repository: &Repository,
    around: &Around,
    known: &Worktree,
    left: &[CommitId],
    going: &[BranchName],
) -> Result<(), Error> {
    let record = &known.record;
    let mut going: Vec<String> = going.iter().map(BranchName::full_ref).collect();
    going.push(record.branch.full_ref());
    let stays = |one: &&Ref| !going.iter().any(|name| one.name == *name);
    let staying: Vec<&Ref> = around.refs.iter().filter(stays).collect();
    let tip = around.tip_of(&record.branch);
    let mut others: Vec<&CommitId> = staying.iter().map(|one| &one.id).collect();
    // the server has the commits of a pull request
    others.extend(record.request.as_ref().map(|_| &record.checked_out));
    others.sort_unstable();
    others.dedup();
    let branch = nowhere_else(repository, tip.as_slice(), &others)?;
    let left: Vec<&CommitId> = left.iter().filter(|id| Some(*id) != tip).collect();
    others.extend(tip);
    let alone = nowhere_else(repository, &left, &others)?;
    if branch.is_empty() && alone.is_empty() {
        return Ok(());
    }
    let is_alone: BTreeSet<&CommitId> = alone.iter().collect();
    let detached = left.into_iter().filter(|id| is_alone.contains(id));
    facts.detached = detached.cloned().collect();
    // the refs whose content counts: those that the base was taken from, as they are now
    let mut targets: Vec<&Ref> = Vec::new();
    for tip in &record.base.tips {
        let now = staying.iter().find(|one| one.name == tip.name);
        let new = now.filter(|now| !targets.iter().any(|other| other.id == now.id));
        targets.extend(new);
    }
    let find = |tip: &CommitId, own: &[CommitId]| merged::find(repository, tip, own, &targets);
    facts.merged = tip.and_then(|tip| find(tip, &branch));
    if facts.merged.is_none() {
        facts.unmerged = with_subjects(repository, branch)?;
    }
    if !matches!(&*facts.detached, [only] if find(only, &alone).is_some()) {
        facts.alone = with_subjects(repository, alone)?;
    }
    Ok(())
}

/// Reads what is in the worktree.
fn read_files(
    facts: &mut RemoveFacts,
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    is_there: bool,
) -> Result<(), Error> {
    let states = &survey.states;
    let path = &known.record.path;
    let staged = survey.staged_only();
    let mut uncommitted = if is_there {
        survey.uncommitted(known)
    } else {
        staged.clone()
    };
    if begun(known).is_some_and(|removal| removal.trash.is_none()) {
        // what is missing is what was deleted already
        let stands = |path: &RepoPath| matches!(states.disk.delta.get(path), Some(Some(_)));
        uncommitted.retain(|path| stands(path) || staged.binary_search(path).is_ok());
    }
    let kind = |path: &RepoPath| {
        // what stands in the place of a directory that we created is not a placed file
        let placed = states.placed.get(path);
        let placed = placed.filter(|file| file.kind != PlacedKind::Directory);
        match (placed, states.untracked.get(path)) {
            (Some(file), _) => WorkKind::Placed(file.origin),
            (None, Some(Seen::Untracked | Seen::Synced)) => WorkKind::Untracked,
            (None, _) => WorkKind::Changed,
        }
    };
    let of_kind = |path: RepoPath| {
        let kind = kind(&path);
        (path, kind)
    };
    facts.uncommitted = uncommitted.into_iter().map(of_kind).collect();
    let mut nested: BTreeSet<RepoPath> = survey.nested().into_iter().collect();
    // git makes it a file
    if !repository.is_clone() && files::names(&path.join(".git")).is_ok_and(|all| !all.is_empty()) {
        nested.insert(RepoPath::child(None, b".git"));
    }
    let unreadable = states.disk.unreadable.iter().filter(|_| is_there);
    let shown = |at: Option<&RepoPath>| at.map_or_else(|| path.to_string(), RepoPath::to_string);
    facts.unreadable = unreadable.map(|one| shown(one.path.as_ref())).collect();
    for item in states.manifest.items() {
        let is_submodule = item.base.is_some_and(|entry| entry.mode == Mode::Gitlink);
        let Some(relative) = item.path.as_bstr().to_str().ok().filter(|_| is_submodule) else {
            continue;
        };
        let directory = path.join(relative);
        let git = known.submodule_git(repository, &directory);
        // git would wait for ever for a pipe that stands for its index
        let is_unread = facts.unreadable.contains(&item.path.to_string());
        if !is_unread && files::exists(&directory.join(".git")) && git.has_own_work()? {
            nested.insert(item.path.clone());
            facts.submodules.push(item.path.to_string());
        }
    }
    facts.nested = nested.into_iter().collect();
    facts.hidden = survey.hidden_places();
    Ok(())
}

/// The worktrees that were added elsewhere to a clone's own repository.
fn linked(repository: &Repository) -> Vec<String> {
    let all = repository.common_dir.join("worktrees");
    let ids = files::names(&all).unwrap_or_default().into_iter();
    let path = |id: String| worktree_of(&all.join(&id)).map_or(id, Utf8PathBuf::into_string);
    ids.filter(|_| repository.is_clone()).map(path).collect()
}

/// Processes that work inside. Where the command was started inside, the processes that started it
/// do not count.
fn running(
    repository: &Repository,
    site: &Site<'_>,
    is_there: bool,
) -> Option<Vec<processes::InsideProcess>> {
    if !is_there {
        return Some(Vec::new());
    }
    let mut found = processes::working_in(&site.stands.record.path)?;
    if repository.start.starts_with(&site.known.record.path) {
        let ours = processes::ancestor_pids();
        found.retain(|one| !ours.contains(&one.pid));
    }
    Some(found)
}

/// The commits of these tips that no other ref has, the newest first. Git is not asked where a
/// ref names each tip.
fn nowhere_else(
    repository: &Repository,
    tips: &[&CommitId],
    others: &[&CommitId],
) -> Result<Vec<CommitId>, Error> {
    if tips.iter().all(|tip| others.contains(tip)) {
        return Ok(Vec::new());
    }
    let git = repository.git.with_mode(GitMode::Hardened);
    Ok(git.rev_list(tips, others)?)
}

/// Adds the subjects of the first ones, which are shown.
fn with_subjects(
    repository: &Repository,
    commits: Vec<CommitId>,
) -> Result<Vec<(CommitId, String)>, Error> {
    const SHOWN: usize = 20;
    let objects = repository.objects()?;
    let with = |(at, id): (usize, CommitId)| {
        let line = (at < SHOWN).then(|| objects.headline(&id).ok()).flatten();
        let subject = line.map_or_else(String::new, |line| line.subject.to_str_lossy().into());
        (id, subject)
    };
    Ok(commits.into_iter().enumerate().map(with).collect())
}

/// Where the worktree is, if that is another place (`git worktree move`, a link).
fn moved_to(known: &Worktree) -> Option<Utf8PathBuf> {
    let path = &known.record.path;
    let named = worktree_of(&known.record.admin_dir);
    let named = named.filter(|named| files::exists(&named.join(".git")));
    let places = [Some(path.clone()), named].into_iter().flatten();
    let mut places = places.filter_map(|place| files::canonical(&place).ok());
    places.find(|place| place != path && files::is_directory(place))
}

/// Whether a repository of a submodule below `modules/` has something of its own, other than what a
/// clone brings, also one with `--reference`: a clone leaves one pack, no loose object, and no trace
/// of `git gc`. Submodules of its own count too: git finds them only where the worktree was made.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn has_own_modules(git_dir: &Utf8Path) -> Result<bool, DiskError> {
    let mut left = vec![git_dir.join("modules")];
    while let Some(directory) = left.pop() {
        let names = files::names(&directory)?;
        if !names.iter().any(|name| name == "objects") {
            let below = names.iter().map(|name| directory.join(name));
            left.extend(below.filter(|path| files::is_directory(path)));
            continue;
        }
        let objects = directory.join("objects");
        let is_loose = |name: &String| !matches!(name.as_str(), "info" | "pack");
        let packs = files::names(&objects.join("pack"))?;
        let is_pack = |name: &&String| Utf8Path::new(name).extension() == Some("pack");
        let is_as_cloned = packs.iter().filter(is_pack).count() <= 1
            && !files::names(&objects)?.iter().any(is_loose)
            && files::names(&objects.join("info"))?
                .iter()
                .all(|name| name == "alternates")
            && files::names(&directory.join("worktrees"))?.is_empty()
            && files::names(&directory.join("modules"))?.is_empty();
        if !is_as_cloned {
            return Ok(true);
        }
    }
    Ok(false)
}
