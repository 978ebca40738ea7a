//! Brings back what a restore put away: the branch, the disk and the index, in this order.

use camino::Utf8Path;

use super::restore::directories;
use super::saved::Bench;
use crate::disk::DiskError;
use crate::disk::put::{self, Content};
use crate::disk::standing::standing;
use crate::entry::{Entry, Mode};
use crate::error::Error;
use crate::facts::restore::is_excluded;
use crate::facts::{Repository, Worktree};
use crate::git::index_edit::{index_info, nul_ended};
use crate::git::objects::Objects;
use crate::placed::{PlacedFile, PlacedKind};
use crate::plan::restore::saved::SavedPath;
use crate::plan::restore::undo::UndoPlan;

/// Does what a plan says. The raw bytes come back as they were, without any conversion.
///
/// # Errors
/// Fails when git or the disk does; what was saved stays saved.
pub fn undo(
    repository: &Repository,
    known: &Worktree,
    plan: &UndoPlan,
    rescue: &str,
) -> Result<(), Error> {
    change(repository, known, plan).map_err(|error| Error::HalfRestored {
        error: Box::new(error),
        name: known.record.name.to_string(),
        rescue: rescue.to_owned(),
    })
}

fn change(repository: &Repository, known: &Worktree, plan: &UndoPlan) -> Result<(), Error> {
    if let Some((from, to)) = &plan.branch {
        let branch = known.record.branch.full_ref();
        let reason = "agentwt restore: undo";
        let git = known.git(repository);
        git.update_ref(&branch, to, Some(from), reason)?;
    }
    let objects = repository.objects()?;
    let root = &known.record.path;
    let directories = directories(known, plan.paths.iter().map(|saved| &saved.path))?;
    let written = remove_empty(known, plan).and_then(|()| write_files(&objects, root, plan));
    let left_open = directories.close(root);
    written?;
    if let Some(what) = left_open.into_iter().next() {
        return Err(DiskError::new("bring all back", std::io::Error::other(what)).into());
    }
    let bench = Bench::new(repository, known);
    let git = known.hardened_git(repository);
    git.update_index_info(&staged(&plan.paths, bench.digits))?;
    let absent = plan.paths.iter().filter(|saved| {
        let was_absent = saved.disk.is_none() && !saved.index.is_empty();
        was_absent && is_excluded(known, &saved.path)
    });
    let absent = nul_ended(absent.map(|saved| &saved.path));
    if !absent.is_empty() {
        git.update_index_skip_worktree(&absent)?;
    }
    Ok(git.update_index_refresh()?)
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
        // one with something in it goes once that has gone, or tells why not
        let _ = put::remove_alone(root, path);
    }
    Ok(())
}

fn write_files(objects: &Objects, root: &Utf8Path, plan: &UndoPlan) -> Result<(), Error> {
    for saved in plan.paths.iter().rev() {
        put::remove_entry(root, &saved.path)?;
    }
    for saved in &plan.paths {
        if let Some(content) = content(objects, saved.disk)? {
            put::put_entry(root, &saved.path, &content, saved.permissions)?;
        }
    }
    Ok(())
}

fn staged(paths: &[SavedPath], digits: usize) -> Vec<u8> {
    let mut info = Vec::new();
    for saved in paths {
        // all stages go, then those that were there come
        index_info(&mut info, saved.path.as_bstr(), None, 0, digits);
    }
    for saved in paths {
        for (stage, entry) in &saved.index {
            index_info(
                &mut info,
                saved.path.as_bstr(),
                Some(*entry),
                *stage,
                digits,
            );
        }
    }
    info
}

fn content(objects: &Objects, disk: Option<Entry>) -> Result<Option<Content>, Error> {
    let Some(entry) = disk else { return Ok(None) };
    Ok(match entry.mode {
        Mode::File => Some(Content::File(objects.blob(&entry.id)?)),
        Mode::Executable => Some(Content::Executable(objects.blob(&entry.id)?)),
        Mode::Link => Some(Content::Link(objects.blob(&entry.id)?)),
        Mode::EmptyDirectory => Some(Content::Directory),
        Mode::Gitlink | Mode::NestedGit | Mode::Special => None,
    })
}
