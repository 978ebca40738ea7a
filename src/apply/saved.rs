//! Saves how paths are before a restore: a commit under `refs/agentwt/rescue/<name>/<time>`.
//!
//! Its tree is HEAD's with what is on disk at those paths, so that git's own commands show it;
//! its first parent is HEAD. Its last parent has no history; in its tree are the list of the
//! paths (`plan/restore/saved.rs`) and, under `index/<stage>/`, what was staged.

use super::rescue::{Rescue, read, unused};
use crate::disk::{DiskError, files, put};
use crate::entry::{Entry, Mode};
use crate::error::Error;
use crate::facts::changes::Survey;
use crate::facts::restore::{self as facts, LIST, MADE, NAME, PREVIOUS};
use crate::facts::{Repository, Worktree};
use crate::git::index_edit::index_info;
use crate::git::objects::Objects;
use crate::git::{Git, GitMode};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::plan::restore::saved::{SavedPath, to_bytes};
use crate::plan::restore::{RestorePlan, Violation};

/// Holds what a restore needs of git: this worktree, an index for what is built, and ids of this
/// length.
pub(super) struct Bench<'a> {
    pub repository: &'a Repository,
    pub known: &'a Worktree,
    /// Git on a temporary index and the files of the worktree, with the settings of the main
    /// worktree.
    pub git: Git,
    pub digits: usize,
    index: camino::Utf8PathBuf,
}

impl<'a> Bench<'a> {
    /// Starts with no index.
    pub fn new(repository: &'a Repository, known: &'a Worktree) -> Self {
        let index = format!("restore-index-{}", std::process::id());
        let index = known.dir.join(index);
        let git = repository.git.with_mode(GitMode::Hardened);
        let git = git.on_files(&repository.common_dir, &known.record.path, &index);
        let digits = known.record.base.commit.as_str().len();
        Self {
            repository,
            known,
            git,
            digits,
            index,
        }
    }

    /// Makes a tree of another one and these lines of [`index_info`].
    pub fn tree(&self, from: Option<&str>, info: &[u8]) -> Result<String, Error> {
        files::remove_file(&self.index)?;
        if let Some(from) = from {
            self.git.read_tree(from)?;
        }
        self.git.update_index_info(info)?;
        Ok(self.git.write_tree()?)
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        let _ = files::remove_file(&self.index);
    }
}

/// Saves the paths of a plan, before anything is changed. `made` is where the branch will go,
/// `time` becomes part of the ref.
pub(super) fn save(
    bench: &Bench<'_>,
    survey: &Survey,
    plan: &RestorePlan,
    made: Option<&CommitId>,
    time: &str,
) -> Result<(Rescue, Vec<SavedPath>), Error> {
    let known = bench.known;
    let name = &known.record.name;
    let head = &survey.changes.head;
    let saved = saved_paths(bench, plan)?;
    let list = list(bench, &saved)?;
    let tree = bench.tree(Some(head.as_str()), &on_disk(bench, plan, &saved))?;
    let reference = unused(
        bench.repository,
        &format!("refs/agentwt/rescue/{name}/{time}"),
    )?;
    let mut message = format!(
        "git-agentwt: what was out of scope in {name} before `restore`\n\n\
         To bring it back: git agentwt restore {name} --undo={reference}\n\n\
         {NAME}{name}\n{PREVIOUS}{head}\n"
    );
    if let Some(made) = made {
        message.push_str(&format!("{MADE}{made}\n"));
    }
    let commit = bench.git.commit_tree(&tree, &message, &[head, &list])?;
    let reason = "agentwt: saved before restore";
    let git = &bench.repository.git;
    git.update_ref(&reference, &commit, None, reason)?;
    let rescue = Rescue {
        name: reference,
        commit,
    };
    Ok((rescue, saved))
}

/// Fails when what stands at a path is not what was saved: somebody works there.
pub(super) fn check_unchanged(
    bench: &Bench<'_>,
    objects: &Objects,
    saved: &SavedPath,
) -> Result<(), Error> {
    let has_content = saved
        .disk
        .is_some_and(|entry| entry.mode.git_octal().is_some());
    if has_content && read(objects, &bench.known.record.path, &saved.path)? != saved.disk {
        let error = std::io::Error::other("it was changed while it was put away");
        return Err(DiskError::new(format!("put back {}", saved.path), error).into());
    }
    Ok(())
}

/// Reads every path from the disk and the index.
fn saved_paths(bench: &Bench<'_>, plan: &RestorePlan) -> Result<Vec<SavedPath>, Error> {
    let objects = bench.repository.objects()?;
    let index = facts::index(bench.repository, bench.known)?;
    let stages = facts::stages(&index);
    let mut saved = Vec::new();
    for violation in &plan.paths {
        let path = &violation.path;
        let read = read(&objects, &bench.known.record.path, path)?;
        // what has no content is as the walk found it
        let without_content = violation
            .disk
            .filter(|entry| matches!(entry.mode, Mode::EmptyDirectory | Mode::Special));
        saved.push(SavedPath {
            path: path.clone(),
            disk: read.or(without_content),
            permissions: put::permissions(&bench.known.record.path, path)?,
            index: stages.get(path).cloned().unwrap_or_default(),
        });
    }
    for entry in index.iter().filter(|entry| entry.intent_to_add) {
        // the empty file that it stands for need not be in the repository
        if saved.iter().any(|saved| saved.path == entry.path) {
            objects.write_blob(0, &mut std::io::empty())?;
        }
    }
    Ok(saved)
}

/// A commit without parents, with the list and what was staged.
fn list(bench: &Bench<'_>, saved: &[SavedPath]) -> Result<CommitId, Error> {
    let bytes = to_bytes(saved);
    let objects = bench.repository.objects()?;
    let id = objects.write_blob(bytes.len() as u64, &mut bytes.as_slice())?;
    let mut info = Vec::new();
    let blob = Entry {
        mode: Mode::File,
        id,
    };
    index_info(&mut info, LIST.as_bytes(), Some(blob), 0, bench.digits);
    for saved in saved {
        for (stage, entry) in &saved.index {
            let place = [
                format!("index/{stage}/").as_bytes(),
                saved.path.as_bstr() as &[u8],
            ]
            .concat();
            index_info(&mut info, &place, Some(*entry), 0, bench.digits);
        }
    }
    let tree = bench.tree(None, &info)?;
    let name = &bench.known.record.name;
    let message = format!("git-agentwt: how {name} was before `restore`\n");
    Ok(bench.git.commit_tree(&tree, &message, &[])?)
}

/// What turns HEAD's tree into what is on disk at those paths.
fn on_disk(bench: &Bench<'_>, plan: &RestorePlan, saved: &[SavedPath]) -> Vec<u8> {
    let mut info = Vec::new();
    for (violation, saved) in plan.paths.iter().zip(saved) {
        // an excluded path is absent on purpose, not deleted
        if saved.disk.is_some() || !violation.excluded {
            line(&mut info, &saved.path, saved.disk, bench.digits);
        }
    }
    info
}

fn line(info: &mut Vec<u8>, path: &RepoPath, entry: Option<Entry>, digits: usize) {
    index_info(info, path.as_bstr(), entry, 0, digits);
}

/// What gives these paths what they get back.
pub(super) fn targets<'v>(paths: impl Iterator<Item = &'v Violation>, digits: usize) -> Vec<u8> {
    let mut info = Vec::new();
    for violation in paths {
        line(&mut info, &violation.path, violation.target, digits);
    }
    info
}
