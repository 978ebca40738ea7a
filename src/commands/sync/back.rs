//! `--pull` brings edited files back to the main worktree; `--clean` removes copies that were not
//! edited.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;

use crate::actions::placing::{Destination, staging};
use crate::actions::sync_plan::{SHOWN, SyncRefusal, path_there};
use crate::answer::shapes::SavedWork;
use crate::commands::sync::answer::{CleanedFiles, StayedFile, SyncedWorktree};
use crate::commands::sync::{Run, is_config};
use crate::disk::copy::content::stage;
use crate::disk::copy::move_in::move_in;
use crate::disk::copy::removal::remove_placed;
use crate::disk::copy::staging::{CopyItem, Source, Staged, Staging};
use crate::disk::entries::stat_entries;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{
    CopyState, Drift, Placed, PlacedFile, PlacedKind, PlacedOrigin, SourceState,
};
use crate::words::error::Error;
use crate::words::path::{RepoPath, first_of, shell_path};
use crate::words::path_text::{PathText, paths};
use crate::worktree::ignore_rules::write_exclude;
use crate::worktree::loaded::{PLACED, Worktree};
use crate::worktree::operands;
use crate::worktree::repository::{Main, WORKTREES};

type Stats = BTreeMap<RepoPath, Stat>;

/// What a pull is decided on.
struct PullFacts<'a> {
    name: &'a str,
    asked: &'a [RepoPath],
    placed: &'a Placed,
    /// How each placed file differs from its source, in their order.
    drifts: &'a [Drift],
    /// The stat data of the copies in the worktree.
    copies: &'a Stats,
    /// What the main worktree tracks, sorted.
    tracked: &'a [RepoPath],
    force: bool,
}

/// What a pull will do.
#[derive(Default)]
struct PullPlan<'a> {
    /// The files whose copies go to the main worktree.
    pull: Vec<&'a PlacedFile>,
    /// Those of them that the main worktree has changed too: its version is saved first.
    save: Vec<RepoPath>,
    /// How many of the files that were asked for are not edited.
    unchanged: usize,
}

impl Run<'_> {
    /// Copies edited copies of a worktree back to the main worktree (`--pull`). Those that the main
    /// worktree has changed too are saved first.
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
        let tracked = home.tracked()?;
        let copies = stat_entries(path, placed.files().iter().map(|file| &file.path))?.entries;
        let drifts = self.drift(worktree, placed)?;
        let plan = plan_pull(&PullFacts {
            name: worktree.record.name.as_str(),
            asked: &asked,
            placed,
            drifts: &drifts,
            copies: &copies,
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
        let sides = Destination::new(repository, worktree, &self.session.progress, &stop);
        let warnings = apply_pull(&sides, placed, &copies, &plan.pull)?;
        self.notes.extend(warnings);
        Ok(())
    }

    /// Removes copies that were not edited (`--clean`), unless they are the last ones: those whose
    /// source is gone stay, and all in a bare repository.
    pub(super) fn clean(
        &self,
        worktree: &Worktree,
        placed: &Placed,
    ) -> Result<CleanedFiles, Error> {
        let path = &worktree.record.path;
        // before the content is compared: what is edited after that has other stat data, and stays
        let stats = stat_entries(path, placed.files().iter().map(|file| &file.path))?.entries;
        let drifts = self.drift(worktree, placed)?;
        let has_sources = self.repository.main == Main::Worktree;
        let mut cleaned = CleanedFiles::default();
        let mut remove = Vec::new();
        let mut gone = BTreeSet::new();
        for (file, drift) in placed.files().iter().zip(drifts) {
            if file.origin != PlacedOrigin::Synced {
                continue;
            }
            let is_directory = file.kind == PlacedKind::Directory;
            let is_source_gone = !has_sources || drift.source == SourceState::Gone;
            let is_last = is_source_gone && !is_directory;
            match drift.copy {
                CopyState::Same => {
                    if is_last {
                        cleaned.last.push(PathText::from(&file.path));
                    } else {
                        remove.push(file);
                    }
                }
                CopyState::Edited => {
                    if !is_directory {
                        cleaned.edited.push(PathText::from(&file.path));
                    }
                }
                CopyState::Missing => {
                    gone.insert(file.path.clone());
                }
            }
        }
        if self.options.dry_run {
            remove.retain(|file| file.kind != PlacedKind::Directory);
            cleaned.removed = paths(remove.iter().map(|file| &file.path));
            return Ok(cleaned);
        }
        let own = worktree.repository(self.repository);
        // asked before the change: a configuration that somebody else changed is not recorded
        let may_record_config = worktree.config_is_as_recorded(&own)?;
        // nothing is copied: `apply_clean` does not call this
        let stop = || Ok(());
        let to = Destination::new(self.repository, worktree, &self.session.progress, &stop);
        let changed_config = apply_clean(&to, placed, &stats, &remove, gone, &mut cleaned)?;
        if changed_config && may_record_config {
            worktree.renew_digests(&own, is_config)?;
        }
        Ok(cleaned)
    }
}

/// Decides which copies replace files of the main worktree.
///
/// # Errors
/// Refuses a path that was not synced or whose copy is gone, and a file that is not to be replaced.
/// Without `--force`, refuses files that the main worktree has changed as well, all at once.
fn plan_pull<'a>(facts: &PullFacts<'a>) -> Result<PullPlan<'a>, SyncRefusal> {
    for asked in facts.asked {
        require_synced(facts, asked)?;
    }
    let mut plan = PullPlan::default();
    let mut changed_in_main = Vec::new();
    for (file, drift) in facts.placed.files().iter().zip(facts.drifts) {
        let is_asked = facts.asked.iter().any(|asked| is_below(file, asked));
        let is_synced_file =
            file.origin == PlacedOrigin::Synced && file.kind != PlacedKind::Directory;
        if !is_asked || !is_synced_file {
            continue;
        }
        match drift.copy {
            CopyState::Same => plan.unchanged += 1,
            CopyState::Missing => {
                // a missing file below a directory that was named is no fault
                if facts.asked.contains(&file.path) {
                    return Err(nothing_to_pull(facts, &file.path, "it is gone there"));
                }
            }
            CopyState::Edited => {
                require_pullable(facts, file)?;
                let is_changed_in_main = drift.source == SourceState::Newer;
                if is_changed_in_main && !facts.force {
                    changed_in_main.push(file.path.clone());
                    continue;
                }
                if is_changed_in_main {
                    plan.save.push(file.path.clone());
                }
                plan.pull.push(file);
            }
        }
    }
    if changed_in_main.is_empty() {
        return Ok(plan);
    }
    Err(refuse_newer(facts.name, changed_in_main))
}

/// Refuses a path at which nothing was synced.
fn require_synced(facts: &PullFacts<'_>, asked: &RepoPath) -> Result<(), SyncRefusal> {
    for file in facts.placed.files() {
        if file.origin == PlacedOrigin::Synced && is_below(file, asked) {
            return Ok(());
        }
    }
    Err(nothing_to_pull(facts, asked, "it was not synced"))
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
    let first = shell_path(&newer[0]);
    let of_agent = path_there(name, &newer[0]);
    SyncRefusal::Edited {
        message: format!(
            "cannot pull {} from worktree `{name}`: the main worktree has changed it as well",
            first_of(&newer, SHOWN)
        ),
        help: format!(
            "compare {first} with {of_agent}; to replace the main \
                worktree's, saved first: git agentwt sync {name} --force --pull {first}"
        ),
        paths: newer,
    }
}

fn refused(name: &str, path: &RepoPath, why: &str, help: String) -> SyncRefusal {
    let message = format!("cannot pull {path} from worktree `{name}`: {why}");
    SyncRefusal::blocked(message, help)
}

/// Refuses a file that the main worktree tracks by now, and a copy that is not of the kind that was
/// placed; with `--force`, it may have become a link. What stands in the main worktree is looked at
/// when the copy is moved there.
fn require_pullable(facts: &PullFacts<'_>, file: &PlacedFile) -> Result<(), SyncRefusal> {
    let name = facts.name;
    let path = &file.path;
    let quoted = shell_path(path);
    let of_agent = path_there(name, path);
    if facts.tracked.binary_search(path).is_ok() {
        let compare = format!("compare them: git diff --no-index -- {quoted} {of_agent}");
        return Err(refused(
            name,
            path,
            "the main worktree tracks it by now",
            compare,
        ));
    }
    let kind_of_copy = facts.copies.get(path).map(PlacedKind::of);
    let is_link = kind_of_copy == Some(PlacedKind::Link);
    if kind_of_copy == Some(file.kind) || is_link && facts.force {
        return Ok(());
    }
    let now = kind_of_copy.map_or("missing file", PlacedKind::as_str);
    let placed = file.kind.as_str();
    let why = format!("it is a {now} there, and was placed as a {placed}");
    let mut help = format!("look at it: ls -ld {of_agent}");
    if is_link {
        help.push_str(&format!(
            "; to pull it all the same: git agentwt sync {name} --force --pull {quoted}"
        ));
    }
    Err(refused(name, path, &why, help))
}

/// Copies these files over those of the main worktree, which keep their permissions, and records
/// that both sides are the same again; all or nothing. Returns what could not be tidied up.
///
/// `sides` names both worktrees: the copies are taken from the agent's.
fn apply_pull(
    sides: &Destination<'_>,
    placed: &Placed,
    copies: &Stats,
    pull: &[&PlacedFile],
) -> Result<Vec<String>, Error> {
    let replaced = stat_entries(sides.main, pull.iter().map(|file| &file.path))?.entries;
    let mut items = Vec::new();
    for file in pull {
        if let Some(stat) = copies.get(&file.path) {
            // a link has no permissions of its own (symlink(7))
            let replaced_file = replaced.get(&file.path).filter(|before| before.is_file());
            items.push(CopyItem {
                path: file.path.clone(),
                from: Source::File(PlacedKind::of(stat), *stat),
                bits: permissions(file, replaced_file, stat),
            });
        }
    }
    let directory = staging_in_main(sides);
    // what a killed call left
    files::remove_directory(&directory)?;
    let copying = Staging {
        source: sides.path,
        directory: &directory,
        progress: sides.progress,
        stop: sides.stop,
    };
    let staged = stage(&copying, &items);
    sides.progress.end();
    // in the main worktree nothing is ours
    let nothing_placed = Placed::default();
    let moved = move_in(&copying, sides.main, staged?, &replaced, &nothing_placed)?;
    match record_pulled(sides, placed, copies, &moved.staged) {
        Ok(()) => Ok(moved.done()),
        Err(error) => Err(Error::from(error).leaving(moved.take_back())),
    }
}

/// The directory in which files for the main worktree are staged: on its file system, so that they
/// are moved in by a rename; beside the worktrees, if these are in the main worktree.
fn staging_in_main(sides: &Destination<'_>) -> Utf8PathBuf {
    let name = sides.path.file_name().unwrap_or("worktree");
    let worktrees = sides.main.join(WORKTREES);
    if files::is_directory(&worktrees) {
        staging(&worktrees.join(name))
    } else {
        staging(&sides.main.join(name))
    }
}

/// The permissions of a file of the main worktree: those that it has, or had when it was copied,
/// with the execute bits that were changed on the copy. Who may read or write it, the user decides.
fn permissions(file: &PlacedFile, replaced: Option<&Stat>, copy: &Stat) -> u32 {
    let Some(before) = replaced.or(file.source.as_ref()) else {
        return copy.permissions() & 0o777 | 0o200;
    };
    let changed = (copy.permissions() ^ file.stat.permissions()) & 0o111;
    before.permissions() & !changed | copy.permissions() & changed
}

/// Records of the files that were moved into the main worktree (`staged`) that they are the same as
/// their copies.
fn record_pulled(
    sides: &Destination<'_>,
    placed: &Placed,
    copies: &Stats,
    staged: &[Staged],
) -> Result<(), DiskError> {
    let mut pulled = Vec::new();
    for entry in staged {
        if entry.kind == PlacedKind::Directory {
            continue;
        }
        if let (Some(stat), Some(file)) = (copies.get(&entry.path), placed.get(&entry.path)) {
            pulled.push(PlacedFile {
                kind: entry.kind,
                digest: entry.digest,
                stat: *stat,
                source: Some(entry.stat),
                ..file.clone()
            });
        }
    }
    let ctimes = pulled.iter().map(|file| file.stat.ctime);
    let newest = ctimes.max().unwrap_or(0);
    // stat data prove nothing unless they are older than the time of the list
    let time = files::settled_time(sides.path, newest)?;
    let list = placed.replaced_by(pulled, time);
    files::write(&sides.record_dir.join(PLACED), &list.to_bytes())
}

/// Removes copies that have these stat data, and directories of ours that are then empty. The list
/// of placed files forgets these, and those that are `gone` already. Completes `cleaned`. Returns
/// whether the configuration of the worktree changed, by its exclude rules.
fn apply_clean(
    to: &Destination<'_>,
    placed: &Placed,
    stats: &Stats,
    remove: &[&PlacedFile],
    gone: BTreeSet<RepoPath>,
    cleaned: &mut CleanedFiles,
) -> Result<bool, Error> {
    let mut expected = Vec::new();
    for file in remove {
        if let Some(stat) = stats.get(&file.path) {
            expected.push(Staged {
                path: file.path.clone(),
                kind: file.kind,
                digest: file.digest,
                stat: *stat,
            });
        }
    }
    let mut removal = remove_placed(to.path, &expected)?;
    let mut forgotten = gone;
    forgotten.extend(removal.removed.iter().cloned());
    let list = placed.without(&forgotten);
    let excluded = write_exclude(to.git, to.admin_dir, &list)?;
    files::write(&to.record_dir.join(PLACED), &list.to_bytes())?;
    // directories are not reported; one that holds something else stays
    removal.removed.retain(|path| is_placed_file(placed, path));
    removal.removed.sort_unstable();
    cleaned.removed = paths(removal.removed);
    for (path, detail) in removal.stayed {
        if is_placed_file(placed, &path) {
            cleaned.stayed.push(StayedFile {
                path: PathText::from(path),
                detail,
            });
        }
    }
    Ok(excluded.changed_config())
}

fn is_placed_file(placed: &Placed, path: &RepoPath) -> bool {
    let file = placed.get(path);
    file.is_some_and(|file| file.kind != PlacedKind::Directory)
}
