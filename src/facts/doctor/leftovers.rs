//! Finds what was left behind.

use camino::Utf8Path;

use super::Here;
use crate::disk::files;
use crate::disk::lock_files::{Depth, lock_files};
use crate::facts::WorktreeError;
use crate::name::WorktreeName;
use crate::plan::doctor::leftovers::{AdminFault, Leftovers, Runs, Saved, Stray};
use crate::process;
use crate::worktree::repository::{Repository, WORKTREES};
use crate::worktree::{RecordState, lost};

/// The namespaces of work that was saved, and how many parts of a name come before its time.
const SAVED: [&str; 2] = ["refs/agentwt/rescue", "refs/agentwt/trash"];

/// Looks for it.
pub(in crate::facts::doctor) fn look(here: &Here<'_>) -> Result<Leftovers, WorktreeError> {
    let repository = here.repository;
    let mut all = Leftovers::default();
    records(here, &mut all);
    let lost = lost(repository)?;
    all.lost = lost.iter().map(|lost| lost.name.to_string()).collect();
    directories(here, &mut all)?;
    refs(here, &mut all)?;
    let common = &repository.common_dir;
    let mut locks = lock_files(common, Depth::Here);
    locks.extend(lock_files(&common.join("refs"), Depth::Below));
    let admins = common.join("worktrees");
    for id in files::names(&admins)? {
        let admin = admins.join(&id);
        locks.extend(lock_files(&admin, Depth::Here));
        let fault = admin_fault(&admin, &all)?;
        all.admin
            .extend(fault.map(|fault| (admin.to_string(), fault)));
    }
    for known in here.known().filter(|known| known.has_own_repository()) {
        let own = known.record.path.join(".git");
        locks.extend(lock_files(&own, Depth::Here));
        locks.extend(lock_files(&own.join("refs"), Depth::Below));
    }
    let locks = locks.into_iter().map(|(path, age)| (path.to_string(), age));
    all.locks = locks.collect();
    if !all.locks.is_empty() {
        let in_root = process::count_in("git", &repository.root);
        let in_common = process::count_in("git", common);
        all.gits = in_root.zip(in_common).map(|(a, b)| a.max(b));
    }
    Ok(all)
}

fn records(here: &Here<'_>, all: &mut Leftovers) {
    for (name, recorded) in &here.records {
        let name = name.to_string();
        match recorded {
            Ok(RecordState::Complete(known)) if !files::is_directory(&known.record.path) => {
                all.missing.push(name);
            }
            Ok(RecordState::Complete(_) | RecordState::Missing) => {}
            Ok(RecordState::Incomplete(intent)) => {
                let runs = match process::started(intent.process) {
                    Some(_) => Runs::Maybe,
                    None => Runs::No,
                };
                all.incomplete.push((name, runs));
            }
            Err(error) => all.damaged.push((name, error.to_string())),
        }
    }
}

/// What stands beside the worktrees, and in the root where `sync --pull` found no such directory.
fn directories(here: &Here<'_>, all: &mut Leftovers) -> Result<(), WorktreeError> {
    let root = &here.repository.root;
    let worktrees = root.join(WORKTREES);
    let is_recorded = |name: &str| {
        let recorded = here
            .records
            .iter()
            .find(|(known, _)| known.as_str() == name);
        !matches!(recorded, None | Some((_, Ok(RecordState::Missing))))
    };
    for name in files::names(&worktrees)? {
        let path = worktrees.join(&name);
        if name.starts_with(".placing-") || name.starts_with(".cloning-") {
            all.placing.push(format!("{WORKTREES}/{name}"));
        } else if name == ".deleted" {
            all.trash = files::names(&path)?.len();
        } else if !name.starts_with('.') && !is_recorded(&name) && !all.lost.contains(&name) {
            let stray = if is_worktree(here.repository, &path) {
                Stray::Worktree
            } else if files::is_empty(&path) {
                Stray::Empty
            } else {
                Stray::Other
            };
            all.unrecorded.push((name, stray));
        }
    }
    let beside = files::names(root)?.into_iter();
    all.placing
        .extend(beside.filter(|name| name.starts_with(".placing-")));
    Ok(())
}

/// Whether a private git directory of this repository belongs to a directory.
pub(in crate::facts) fn is_worktree(repository: &Repository, path: &Utf8Path) -> bool {
    let text = files::read(&path.join(".git"))
        .ok()
        .flatten()
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let admin = text
        .strip_prefix("gitdir: ")
        .map(|dir| path.join(dir.trim_end()));
    let admins = repository.common_dir.join("worktrees");
    admin.is_some_and(|admin| admin.starts_with(admins) && files::is_directory(&admin))
}

/// What is wrong with a private git directory that no record of ours accounts for
/// (gitrepository-layout(5), `worktrees/<id>/`).
fn admin_fault(admin: &Utf8Path, all: &Leftovers) -> Result<Option<AdminFault>, WorktreeError> {
    let text = |name: &str| -> Result<Option<String>, WorktreeError> {
        let bytes = files::read(&admin.join(name))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned()))
    };
    let locked = text("locked")?;
    if locked.as_deref() == Some("initializing") {
        // an `add` of ours that runs, or one that is told of already
        let is_told = |(name, _): &(String, Runs)| admin.file_name() == Some(name);
        return Ok((!all.incomplete.iter().any(is_told)).then_some(AdminFault::Initializing));
    }
    let Some(dot_git) = text("gitdir")? else {
        return Ok(Some(AdminFault::NoWorktree));
    };
    let dot_git = admin.join(dot_git);
    let worktree = dot_git.parent().unwrap_or(&dot_git);
    let name = worktree.file_name().unwrap_or_default();
    let is_told = all.missing.iter().any(|missing| missing == name);
    // a locked one is away on purpose (git-worktree(1), `lock`)
    let is_gone = !files::exists(&dot_git) && locked.is_none() && !is_told;
    Ok(is_gone.then(|| AdminFault::Dangling(worktree.to_string())))
}

fn refs(here: &Here<'_>, all: &mut Leftovers) -> Result<(), WorktreeError> {
    let prefix = here.prefix.as_deref().unwrap_or_default();
    let heads = format!("refs/heads/{prefix}");
    let prefixes = ["refs/heads/", SAVED[0], SAVED[1]];
    let found = here.repository.git.for_each_ref(&prefixes)?;
    let names: Vec<String> = found.iter().map(|one| one.name.to_string()).collect();
    // without a prefix every branch would be one
    if !prefix.is_empty() {
        let taken: Vec<String> = here.known().map(|k| k.record.branch.full_ref()).collect();
        for full in names.iter().filter(|name| !taken.contains(name)) {
            let name = full.strip_prefix(&heads);
            let Some(name) = name.filter(|name| WorktreeName::parse(name).is_ok()) else {
                continue;
            };
            if !all
                .incomplete
                .iter()
                .any(|(incomplete, _)| incomplete == name)
            {
                all.branches
                    .push((format!("{prefix}{name}"), name.to_owned()));
            }
        }
    }
    for below in SAVED {
        let of = |name: &&String| name.strip_prefix(below).is_some_and(|n| n.starts_with('/'));
        let saved: Vec<&String> = names.iter().filter(of).collect();
        let times = saved.iter().filter_map(|name| name.rsplit('/').next());
        if let Some(oldest) = times.min() {
            all.saved.push(Saved {
                below,
                count: saved.len(),
                oldest: oldest.to_owned(),
            });
        }
    }
    Ok(())
}
