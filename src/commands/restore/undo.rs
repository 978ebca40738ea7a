//! Undoes a restore: what `--undo` brings back, when it would lose newer work, and how it is done.

use std::collections::BTreeSet;

use bstr::BStr;
use camino::Utf8PathBuf;

use super::plan::Standing;
use super::refusal::RestoreRefusal;
use super::{Outcome, RestoreAnswer, apply, facts};
use crate::disk::DiskError;
use crate::disk::directory_modes::DirectoryModes;
use crate::disk::put::{self, Content};
use crate::disk::standing::standing;
use crate::entry::{Entry, Mode};
use crate::error::Error;
use crate::facts::{Repository, Worktree};
use crate::git::index_edit::{index_info, nul_ended};
use crate::git::objects::Objects;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::placed::{PlacedFile, PlacedKind};
use crate::truth::IndexFile;
use crate::truth::collect;
use crate::worktree::saved::{SavedPath, SavedRestore, find_restore};

/// Holds what was brought back, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// The ref of the restore, which stays.
    pub rescue: String,
    /// The plan.
    pub plan: UndoPlan,
}

/// Undoes the restore that is named, or the newest one.
///
/// # Errors
/// Fails when it is refused, or git or the disk does; what was saved stays saved.
pub(super) fn run(
    repository: &Repository,
    known: &Worktree,
    named: Option<&str>,
    asked: &[RepoPath],
    dry_run: bool,
) -> Result<Outcome<RestoreAnswer>, Error> {
    let name = known.record.name.to_string();
    if let Some(path) = asked.first() {
        let text = path.to_string();
        return Err(RestoreRefusal::UndoTakesNoPath { name, text }.into());
    }
    let objects = repository.objects()?;
    let saved = find_restore(&repository.git, &objects, &known.record.name, named)?;
    let Some(saved) = saved else {
        return Err(match named {
            Some(text) => {
                let text = crate::path::escape_for_terminal(text.as_bytes());
                RestoreRefusal::UnknownRestore { name, text }
            }
            None => RestoreRefusal::NothingToUndo { name },
        }
        .into());
    };
    let rescue = saved.rescue.clone();
    let survey = collect(repository, known, &IndexFile::Own)?;
    let plan = plan(&facts::read_undo(repository, known, &survey, saved)?)?;
    let is_empty = plan.paths.is_empty() && plan.branch.is_none();
    if !dry_run && !is_empty {
        let done = change(repository, known, &plan);
        done.map_err(|error| apply::half_restored(known, &rescue, error))?;
    }
    let lost = plan.lost.iter();
    let notes = lost.map(|path| format!("{path} was no file, and is not made again"));
    Ok(Outcome {
        notes: notes.collect(),
        ..Outcome::done(RestoreAnswer::Undone(Undone {
            name,
            path: known.record.path.clone(),
            dry_run,
            rescue,
            plan,
        }))
    })
}

/// Holds a path that was restored, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathNow {
    /// How it was.
    pub saved: SavedPath,
    /// What stands on disk.
    pub disk: Option<Entry>,
    /// Its entries in the index.
    pub index: Vec<(u8, Entry)>,
    /// Whether the disk is not as in the base.
    pub disk_changed: bool,
    /// Whether the index is not as in the base.
    pub index_changed: bool,
}

/// Holds what `restore --undo` looks at.
#[derive(Clone, Debug)]
pub struct UndoFacts {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its branch, and where HEAD is.
    pub standing: Standing,
    /// Where the branch is.
    pub tip: Option<CommitId>,
    /// Whether the previous HEAD is an ancestor of where the branch was moved.
    pub is_ancestor: bool,
    /// What was saved.
    pub saved: SavedRestore,
    /// How the paths are now.
    pub now: Vec<PathNow>,
    /// Other paths that stand on disk and are not as in the base.
    pub others: BTreeSet<RepoPath>,
}

/// Holds what `restore --undo` will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPlan {
    /// What is brought back, sorted; none of it holds anything newer.
    pub paths: Vec<SavedPath>,
    /// The permission bits of the directories above, for those that are gone.
    pub directories: Vec<(RepoPath, u32)>,
    /// From where the branch goes back to where.
    pub branch: Option<(CommitId, CommitId)>,
    /// FIFOs, sockets and devices, which are not brought back.
    pub lost: Vec<RepoPath>,
}

impl PathNow {
    fn is_as_saved(&self) -> bool {
        self.disk == self.saved.disk && self.index == self.saved.index
    }

    /// Whether somebody has worked on it since. A restore that was killed has left it as it was,
    /// or taken it away; what is not there holds no work.
    fn is_newer(&self) -> bool {
        let disk = self.disk_changed && self.disk.is_some() && self.disk != self.saved.disk;
        let staged = self.index_changed && !self.index.is_empty();
        disk || staged && self.index != self.saved.index
    }
}

/// Decides.
///
/// # Errors
/// Refuses when the branch went on, or a path was worked on, since the restore.
pub fn plan(facts: &UndoFacts) -> Result<UndoPlan, RestoreRefusal> {
    let branch = branch(facts)?;
    let names: BTreeSet<&RepoPath> = facts.now.iter().map(|now| &now.saved.path).collect();
    let newer = facts.now.iter().filter(|now| now.is_newer());
    let mut newer: Vec<&RepoPath> = newer.map(|now| &now.saved.path).collect();
    let others = facts.others.iter().filter(|path| !names.contains(path));
    let stands = facts.now.iter().filter(|now| now.saved.disk.is_some());
    let stands: Vec<&RepoPath> = stands.map(|now| &now.saved.path).collect();
    newer.extend(others.filter(|other| {
        let blocks =
            |path: &&RepoPath| other.is_below(path.as_bstr()) || path.is_below(other.as_bstr());
        stands.iter().any(blocks)
    }));
    newer.sort_unstable();
    newer.dedup();
    if !newer.is_empty() {
        return Err(RestoreRefusal::ChangedSince {
            name: facts.name.clone(),
            items: newer.iter().map(ToString::to_string).collect(),
            first: newer[0].to_string(),
            path: facts.path.clone(),
            rescue: facts.saved.rescue.clone(),
        });
    }
    let is_special =
        |saved: &SavedPath| saved.disk.is_some_and(|entry| entry.mode == Mode::Special);
    let different = facts.now.iter().filter(|now| !now.is_as_saved());
    let paths: Vec<SavedPath> = different.map(|now| now.saved.clone()).collect();
    let lost = paths.iter().filter(|saved| is_special(saved));
    Ok(UndoPlan {
        lost: lost.map(|saved| saved.path.clone()).collect(),
        paths,
        directories: facts.saved.directories.clone(),
        branch,
    })
}

fn branch(facts: &UndoFacts) -> Result<Option<(CommitId, CommitId)>, RestoreRefusal> {
    let previous = &facts.saved.previous;
    let Some(made) = &facts.saved.made else {
        return Ok(None);
    };
    let (name, path) = (facts.name.clone(), facts.path.clone());
    let branch = facts.standing.branch.clone();
    if facts.tip.as_ref() == Some(previous) {
        return Ok(None);
    }
    if facts.tip.as_ref() != Some(made) {
        let now = facts.tip.as_ref().map_or("nothing", CommitId::short);
        return Err(RestoreRefusal::BranchMoved {
            name,
            path,
            branch,
            now: now.to_owned(),
            command: if facts.is_ancestor {
                format!("revert {}", made.short())
            } else {
                format!("rebase --onto {} {}", previous.short(), made.short())
            },
        });
    }
    facts.standing.check(&name, &path)?;
    Ok(Some((made.clone(), previous.clone())))
}

/// Brings all back: the branch, the disk and the index, in this order. The raw bytes come back as
/// they were, without any conversion.
fn change(repository: &Repository, known: &Worktree, plan: &UndoPlan) -> Result<(), Error> {
    if let Some((from, to)) = &plan.branch {
        let branch = known.record.branch.full_ref();
        let reason = "agentwt restore: undo";
        let git = known.git(repository);
        git.update_ref(&branch, to, Some(from), reason)?;
    }
    let root = &known.record.path;
    let opened = apply::directory_modes(known, plan.paths.iter().map(|saved| &saved.path))?;
    let written = write_files(&repository.objects()?, known, plan);
    let mut left_open = written
        .as_ref()
        .map_or_else(|_| Vec::new(), |created| created.close(root));
    left_open.extend(opened.close(root));
    written?;
    if let Some(what) = left_open.into_iter().next() {
        return Err(DiskError::new("bring all back", std::io::Error::other(what)).into());
    }
    let git = known.hardened_git(repository);
    git.update_index_info(&staged(&plan.paths, repository.format.length() * 2))?;
    let absent = plan.paths.iter().filter(|saved| {
        let was_absent = saved.disk.is_none() && !saved.index.is_empty();
        was_absent && known.scope.excludes_file(&saved.path)
    });
    let absent = nul_ended(absent.map(|saved| &saved.path));
    if !absent.is_empty() {
        git.update_index_skip_worktree(&absent)?;
    }
    Ok(git.update_index_refresh()?)
}

/// Writes the files; the directories that were created for them, with what they had.
fn write_files(
    objects: &Objects,
    known: &Worktree,
    plan: &UndoPlan,
) -> Result<DirectoryModes, Error> {
    let root = &known.record.path;
    remove_empty(known, plan)?;
    for saved in plan.paths.iter().rev() {
        put::remove_entry(root, &saved.path)?;
    }
    let back = plan.paths.iter().filter(|saved| saved.disk.is_some());
    let above: BTreeSet<&BStr> = back
        .clone()
        .flat_map(|saved| saved.path.parents())
        .collect();
    let directories = plan.directories.iter();
    let stands = standing(root, directories.clone().map(|(path, _)| path))?.entries;
    let gone = directories
        .filter(|(path, _)| above.contains(path.as_bstr()) && !stands.contains_key(path));
    let mut created = DirectoryModes::default();
    for (path, mode) in gone {
        put::put_entry(root, path, &Content::Directory, Some(*mode | 0o700))?;
        created.add(path.clone(), *mode);
    }
    for saved in back {
        let content = saved
            .disk
            .map(|entry| content(objects, entry))
            .transpose()?;
        if let Some(content) = content.flatten() {
            let mode = plan
                .directories
                .iter()
                .find(|(path, _)| *path == saved.path);
            let mode = mode.map(|(_, mode)| *mode).or(saved.permissions);
            put::put_entry(root, &saved.path, &content, mode)?;
        }
    }
    Ok(created)
}

/// Removes the empty directories that came back with the one that they are in.
fn remove_empty(known: &Worktree, plan: &UndoPlan) -> Result<(), Error> {
    let root = &known.record.path;
    let placed = known.placed()?;
    let inside = |file: &&PlacedFile| {
        let mut above = file.path.parents();
        file.kind == PlacedKind::Directory
            && above.any(|above| plan.paths.iter().any(|saved| saved.path.as_bstr() == above))
    };
    let inside = placed.files().iter().filter(inside);
    let stands = standing(root, inside.map(|file| &file.path))?.entries;
    let directories = stands.iter().filter(|(_, stat)| stat.is_directory());
    for (path, _) in directories.rev() {
        // one with something in it goes once that has gone, or a later step says why not
        let _ = put::remove_alone(root, path);
    }
    Ok(())
}

/// The lines for the index: all stages go, then those that were there come.
fn staged(paths: &[SavedPath], digits: usize) -> Vec<u8> {
    let mut info = Vec::new();
    for saved in paths {
        index_info(&mut info, saved.path.as_bstr(), None, 0, digits);
    }
    for saved in paths {
        for (stage, entry) in &saved.index {
            let path = saved.path.as_bstr();
            index_info(&mut info, path, Some(*entry), *stage, digits);
        }
    }
    info
}

fn content(objects: &Objects, entry: Entry) -> Result<Option<Content>, Error> {
    Ok(match entry.mode {
        Mode::File => Some(Content::File(objects.blob(&entry.id)?)),
        Mode::Executable => Some(Content::Executable(objects.blob(&entry.id)?)),
        Mode::Link => Some(Content::Link(objects.blob(&entry.id)?)),
        Mode::EmptyDirectory => Some(Content::Directory),
        Mode::Gitlink | Mode::NestedGit | Mode::Special => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::ObjectId;

    fn file(byte: u8) -> Entry {
        let id = ObjectId::from_bytes(&[byte; 20]).expect("20 bytes");
        let mode = Mode::File;
        Entry { mode, id }
    }

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).expect("it is normal")
    }

    /// `a` had content 1; its base has 9.
    fn now(disk: Option<Entry>, disk_changed: bool) -> PathNow {
        PathNow {
            saved: SavedPath {
                path: path("a"),
                disk: Some(file(1)),
                permissions: None,
                index: Vec::new(),
            },
            disk,
            index: Vec::new(),
            disk_changed,
            index_changed: false,
        }
    }

    fn commit(digit: &str) -> CommitId {
        CommitId::parse(&digit.repeat(40)).expect("40 digits")
    }

    fn facts(now: PathNow) -> UndoFacts {
        UndoFacts {
            name: "t".into(),
            path: "/w".into(),
            standing: Standing {
                branch: "b".into(),
                elsewhere: None,
                operation: None,
            },
            tip: Some(commit("b")),
            is_ancestor: true,
            saved: SavedRestore {
                rescue: "r".into(),
                previous: commit("a"),
                made: Some(commit("b")),
                paths: Vec::new(),
                directories: Vec::new(),
            },
            now: vec![now],
            others: BTreeSet::new(),
        }
    }

    #[test]
    fn what_is_as_the_restore_left_it_is_brought_back() {
        let plan = plan(&facts(now(Some(file(9)), false))).expect("nothing is lost");
        assert_eq!(plan.paths.len(), 1);
        assert_eq!(plan.branch, Some((commit("b"), commit("a"))));
    }

    #[test]
    fn what_was_changed_since_is_never_overwritten() {
        let refused = plan(&facts(now(Some(file(2)), true)));
        assert!(matches!(refused, Err(RestoreRefusal::ChangedSince { .. })));
        let mut in_the_way = facts(now(Some(file(9)), false));
        in_the_way.others.insert(path("a/b"));
        let refused = plan(&in_the_way);
        assert!(matches!(refused, Err(RestoreRefusal::ChangedSince { .. })));
    }

    #[test]
    fn what_a_killed_restore_left_as_it_was_is_no_newer_work() {
        let kept = plan(&facts(now(Some(file(1)), true))).expect("nothing is lost");
        assert_eq!(kept.paths, []);
        let taken_away = plan(&facts(now(None, true))).expect("nothing is lost");
        assert_eq!(taken_away.paths.len(), 1);
    }

    #[test]
    fn a_branch_that_went_on_is_refused_and_one_that_never_moved_stays() {
        let mut moved = facts(now(Some(file(9)), false));
        moved.tip = Some(commit("c"));
        assert!(matches!(
            plan(&moved),
            Err(RestoreRefusal::BranchMoved { .. })
        ));
        moved.tip = Some(commit("a"));
        assert_eq!(plan(&moved).expect("nothing is lost").branch, None);
    }
}
