//! `--pull` brings edited files back to the main worktree; `--clean` removes copies that were not
//! edited.

use std::collections::{BTreeMap, BTreeSet};

use crate::actions::placing::{Destination, staging};
use crate::actions::sync_plan::{SHOWN, SyncRefusal};
use crate::answer::shapes::SavedWork;
use crate::commands::sync::answer::{CleanedFiles, StayedFile, SyncedWorktree};
use crate::commands::sync::{Run, is_config};
use crate::disk::copy::content::stage;
use crate::disk::copy::move_in::move_in;
use crate::disk::copy::removal::remove_placed;
use crate::disk::copy::staging::{CopyItem, Source, Staged, Staging};
use crate::disk::drift::drift;
use crate::disk::entries::stat_entries;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::git::index::read_paths;
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{
    CopyState, Drift, Placed, PlacedFile, PlacedKind, PlacedOrigin, SourceState,
};
use crate::words::error::Error;
use crate::words::path::{RepoPath, first_of};
use crate::words::path_text::{PathText, paths};
use crate::worktree::ignore_rules::write_exclude;
use crate::worktree::loaded::{PLACED, Worktree};
use crate::worktree::operands;

type Stats = BTreeMap<RepoPath, Stat>;

/// Holds what a pull is decided on.
struct PullFacts<'a> {
    name: &'a str,
    asked: &'a [RepoPath],
    placed: &'a Placed,
    drift: &'a [Drift],
    /// What stands in the worktree.
    here: &'a Stats,
    /// What the main worktree tracks, sorted.
    tracked: &'a [RepoPath],
    force: bool,
}

/// Holds what a pull will do.
#[derive(Default)]
struct PullPlan<'a> {
    pull: Vec<&'a PlacedFile>,
    save: Vec<RepoPath>,
    unchanged: usize,
}

impl Run<'_> {
    pub(super) fn pull(
        &mut self,
        worktree: &Worktree,
        placed: &Placed,
        synced: &mut SyncedWorktree,
    ) -> Result<(), Error> {
        let repository = self.repository;
        let options = self.options;
        let path = &worktree.record.path;
        let asked = operands::parse_all(repository, path, &options.pull)?;
        let home = repository.home();
        // of a sparse index only git knows; what is in it as a directory is not on disk
        let tracked = read_paths(&home.common_dir.join("index"), home.format)?.unwrap_or_default();
        let here = stat_entries(path, placed.files().iter().map(|file| &file.path))?.entries;
        let drift = self.drift(worktree, placed)?;
        let plan = plan_pull(&PullFacts {
            name: worktree.record.name.as_str(),
            asked: &asked,
            placed,
            drift: &drift,
            here: &here,
            tracked: &tracked,
            force: options.force,
        })?;
        synced.pulled = Some(paths(plan.pull.iter().map(|file| &file.path)));
        synced.unchanged = Some(plan.unchanged);
        if options.dry_run || plan.pull.is_empty() {
            return Ok(());
        }
        let rescue = self.save(worktree, &repository.root, &plan.save)?;
        synced.rescue = rescue.as_ref().map(SavedWork::from);
        let stop = || self.session.check();
        let from = Destination::new(repository, worktree, &self.session.progress, &stop);
        let warnings = apply_pull(&from, placed, &here, &plan.pull)?;
        self.notes.extend(warnings);
        Ok(())
    }

    pub(super) fn clean(
        &self,
        worktree: &Worktree,
        placed: &Placed,
    ) -> Result<CleanedFiles, Error> {
        let drifts = drift(&worktree.record.path, Some(&self.repository.root), placed)?;
        let mut cleaned = CleanedFiles::default();
        let mut remove = Vec::new();
        let mut gone = BTreeSet::new();
        for (file, drift) in placed.files().iter().zip(drifts) {
            if file.origin != PlacedOrigin::Synced {
                continue;
            }
            let is_directory = file.kind == PlacedKind::Directory;
            match drift.copy {
                CopyState::Same if !is_directory && drift.source == SourceState::Gone => {
                    cleaned.last.push(PathText::from(&file.path));
                }
                CopyState::Same => remove.push(file),
                CopyState::Edited if is_directory => {}
                CopyState::Edited => cleaned.edited.push(PathText::from(&file.path)),
                CopyState::Missing => drop(gone.insert(file.path.clone())),
            }
        }
        if self.options.dry_run {
            remove.retain(|file| file.kind != PlacedKind::Directory);
            cleaned.removed = paths(remove.iter().map(|file| &file.path));
            return Ok(cleaned);
        }
        let own = worktree.repository(self.repository);
        let renew = worktree.config_is_as_recorded(&own)?;
        let stop = || Ok(());
        let progress = &self.session.progress;
        let to = Destination::new(self.repository, worktree, progress, &stop);
        if apply_clean(&to, placed, &remove, gone, &mut cleaned)? && renew {
            worktree.renew_digests(&own, is_config)?;
        }
        Ok(cleaned)
    }
}

/// Decides on a pull.
fn plan_pull<'a>(facts: &PullFacts<'a>) -> Result<PullPlan<'a>, SyncRefusal> {
    for asked in facts.asked {
        let is_synced =
            |file: &PlacedFile| file.origin == PlacedOrigin::Synced && is_below(file, asked);
        if !facts.placed.files().iter().any(is_synced) {
            return Err(nothing_to_pull(facts, asked, "it was not synced"));
        }
    }
    let mut plan = PullPlan::default();
    let mut newer = Vec::new();
    for (file, drift) in facts.placed.files().iter().zip(facts.drift) {
        if file.origin != PlacedOrigin::Synced
            || file.kind == PlacedKind::Directory
            || !facts.asked.iter().any(|asked| is_below(file, asked))
        {
            continue;
        }
        match drift.copy {
            CopyState::Same => plan.unchanged += 1,
            CopyState::Missing if facts.asked.contains(&file.path) => {
                return Err(nothing_to_pull(facts, &file.path, "it is gone there"));
            }
            CopyState::Missing => {}
            CopyState::Edited => {
                require_replaceable(facts, file)?;
                let is_newer = drift.source == SourceState::Newer;
                if is_newer && !facts.force {
                    newer.push(file.path.clone());
                    continue;
                }
                plan.save.extend(is_newer.then(|| file.path.clone()));
                plan.pull.push(file);
            }
        }
    }
    if newer.is_empty() {
        return Ok(plan);
    }
    Err(refuse_newer(facts.name, newer))
}

/// True if a file is what was asked for, or below it.
fn is_below(file: &PlacedFile, asked: &RepoPath) -> bool {
    file.path == *asked || file.path.is_below(asked.as_bstr())
}

fn nothing_to_pull(facts: &PullFacts<'_>, path: &RepoPath, why: &str) -> SyncRefusal {
    let name = facts.name;
    let help = format!(
        "see what was synced: git agentwt sync {name} --status; to copy it in again: git \
            agentwt sync {name}"
    );
    refused(name, path, why, help)
}

fn refuse_newer(name: &str, newer: Vec<RepoPath>) -> SyncRefusal {
    let first = &newer[0];
    SyncRefusal::Edited {
        message: format!(
            "cannot pull {} from worktree `{name}`: the main worktree has changed it as well",
            first_of(&newer, SHOWN)
        ),
        help: format!(
            "compare {first} with \"$(git agentwt path {name})/{first}\"; to replace the main \
                worktree's, saved first: git agentwt sync {name} --force --pull {first}"
        ),
        paths: newer,
    }
}

fn refused(name: &str, path: &RepoPath, why: &str, help: String) -> SyncRefusal {
    let message = format!("cannot pull {path} from worktree `{name}`: {why}");
    SyncRefusal::blocked(message, help)
}

/// Neither a tracked file is replaced, nor a file by something of another kind.
fn require_replaceable(facts: &PullFacts<'_>, file: &PlacedFile) -> Result<(), SyncRefusal> {
    let name = facts.name;
    let path = &file.path;
    if facts.tracked.binary_search(path).is_ok() {
        let compare = format!(
            "compare them: git diff --no-index {path} \"$(git agentwt path {name})/{path}\""
        );
        return Err(refused(
            name,
            path,
            "the main worktree tracks it by now",
            compare,
        ));
    }
    let kind_now = facts.here.get(path).map(PlacedKind::of);
    if kind_now == Some(file.kind) || kind_now == Some(PlacedKind::Link) && facts.force {
        return Ok(());
    }
    let now = kind_now.map_or("missing file", PlacedKind::as_str);
    let placed = file.kind.as_str();
    let why = format!("it is a {now} there, and was placed as a {placed}");
    let help = format!(
        "look at it: ls -ld \"$(git agentwt path {name})/{path}\"; to pull it all the same: git \
            agentwt sync {name} --force --pull {path}"
    );
    Err(refused(name, path, &why, help))
}

/// Copies these files over those of the main worktree, which keep their permissions, and writes
/// down that both sides are the same again. Returns what could not be tidied up.
fn apply_pull(
    from: &Destination<'_>,
    placed: &Placed,
    here: &Stats,
    pull: &[&PlacedFile],
) -> Result<Vec<String>, Error> {
    let there = stat_entries(from.main, pull.iter().map(|file| &file.path))?.entries;
    let item = |file: &&PlacedFile| {
        let stat = here.get(&file.path)?;
        Some(CopyItem {
            path: file.path.clone(),
            from: Source::File(PlacedKind::of(stat), *stat),
            bits: permissions(file, there.get(&file.path), stat),
        })
    };
    let items: Vec<CopyItem> = pull.iter().filter_map(item).collect();
    // on the file system of the main worktree, where the worktree stands beside too, if it does
    let name = from.path.file_name().unwrap_or("worktree");
    let worktrees = from.main.join(".agentwt/worktrees");
    let beside = Some(&*worktrees).filter(|directory| files::is_directory(directory));
    let directory = staging(&beside.unwrap_or(from.main).join(name));
    files::remove_directory(&directory)?;
    let copying = Staging {
        source: from.path,
        directory: &directory,
        progress: from.progress,
        stop: from.stop,
    };
    let staged = stage(&copying, &items);
    from.progress.end();
    // in the main worktree nothing is ours
    let settled = move_in(&copying, from.main, staged?, &there, &Placed::default())?;
    match write_down(from, placed, here, &settled.staged) {
        Ok(()) => Ok(settled.done()),
        Err(error) => Err(Error::from(error).leaving(settled.take_back())),
    }
}

/// Those that the main worktree's file has, or had, with the execute bits that were changed since
/// it was placed: who else may read or write it is the user's to say.
fn permissions(file: &PlacedFile, there: Option<&Stat>, here: &Stat) -> u32 {
    let Some(before) = there.or(file.source.as_ref()) else {
        return here.permissions() & 0o777 | 0o200;
    };
    let changed = (here.permissions() ^ file.stat.permissions()) & 0o111;
    before.permissions() & !changed | here.permissions() & changed
}

fn write_down(
    from: &Destination<'_>,
    placed: &Placed,
    here: &Stats,
    staged: &[Staged],
) -> Result<(), DiskError> {
    let mut new = Vec::new();
    for entry in staged {
        if entry.kind == PlacedKind::Directory {
            continue;
        }
        if let (Some(stat), Some(file)) = (here.get(&entry.path), placed.get(&entry.path)) {
            new.push(PlacedFile {
                kind: entry.kind,
                digest: entry.digest,
                stat: *stat,
                source: Some(entry.stat),
                ..file.clone()
            });
        }
    }
    let newest = new.iter().map(|file| file.stat.ctime).max().unwrap_or(0);
    let time = files::settled_time(from.path, newest)?;
    let list = placed.replaced_by(new, time);
    files::write(&from.record_dir.join(PLACED), &list.to_bytes())
}

/// Removes copies from a worktree that stays, and directories that we created and that are empty
/// then. Returns whether the worktree's configuration is another now, too.
fn apply_clean(
    to: &Destination<'_>,
    placed: &Placed,
    remove: &[&PlacedFile],
    mut gone: BTreeSet<RepoPath>,
    cleaned: &mut CleanedFiles,
) -> Result<bool, Error> {
    // touched since it was placed and with the same content, its stat data are others
    let stands = stat_entries(to.path, remove.iter().map(|file| &file.path))?;
    let mut expected = Vec::new();
    for file in remove {
        if let Some(stat) = stands.entries.get(&file.path) {
            expected.push(Staged {
                path: file.path.clone(),
                kind: file.kind,
                digest: file.digest,
                stat: *stat,
            });
        }
    }
    let mut done = remove_placed(to.path, &expected)?;
    gone.extend(done.removed.iter().cloned());
    let mut kept = Vec::new();
    for file in placed.files() {
        if !gone.contains(&file.path) {
            kept.push(file.clone());
        }
    }
    let list = placed.with_files(kept, Vec::new(), placed.settled());
    let excluded = write_exclude(to.git, to.admin_dir, &list)?;
    files::write(&to.record_dir.join(PLACED), &list.to_bytes())?;
    let is_file = |path: &RepoPath| {
        let file = placed.get(path);
        file.is_some_and(|file| file.kind != PlacedKind::Directory)
    };
    done.removed.retain(is_file);
    done.removed.sort_unstable();
    cleaned.removed = paths(done.removed);
    // a directory that holds something else simply stays
    for (path, detail) in done.stayed {
        if is_file(&path) {
            cleaned.stayed.push(StayedFile {
                path: PathText::from(path),
                detail,
            });
        }
    }
    Ok(excluded.changed_config())
}
