//! Saves files that are replaced: as a commit under `refs/agentwt/rescue/<name>/<time>`.
//!
//! The bytes are those on disk: no filter runs, no index of the user's is touched.

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::DiskError;
use crate::disk::below::open_below;
use crate::disk::files;
use crate::entry::{Entry, Mode};
use crate::error::Error;
use crate::facts::{Repository, Worktree};
use crate::git::objects::Objects;
use crate::git::{Git, GitMode};
use crate::name::CommitId;
use crate::path::RepoPath;

/// Holds what was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// The ref.
    pub name: String,
    /// The commit it names.
    pub commit: CommitId,
}

/// Saves these files of a root, the worktree's or the main one's, before they are replaced.
///
/// # Errors
/// Fails when a file cannot be read or git fails; no ref is then written.
pub fn save_files(
    repository: &Repository,
    known: &Worktree,
    root: &Utf8Path,
    paths: &[RepoPath],
    time: &str,
) -> Result<Rescue, Error> {
    let base = &known.record.base.commit;
    let info = differences(repository, known, root, paths)?;
    let index = known.dir.join("rescue-index");
    let git = repository
        .git
        .with_mode(GitMode::Hardened)
        .with_index(&index);
    let message = format!("git-agentwt: what `sync --force` replaced in {root}\n");
    let made = git.commit_differences(base, &info, &message, &[base]);
    files::remove_file(&index)?;
    let commit = made?;
    let name = format!("refs/agentwt/rescue/{}/{time}", known.record.name);
    let name = unused(repository, &name)?;
    let git = &repository.git;
    git.update_ref(
        &name,
        &commit,
        None,
        "agentwt: saved before it was replaced",
    )?;
    Ok(Rescue { name, commit })
}

/// This name, or, where something was saved within the same second, the next one. What is saved in
/// a clone comes home under its name.
pub(super) fn unused(repository: &Repository, name: &str) -> Result<String, Error> {
    let mut free = name.to_owned();
    for number in 2_u32.. {
        let is_free = |git: &Git| Ok::<_, Error>(git.rev_parse_commit(&free)?.is_none());
        if is_free(&repository.git)? && (!repository.is_clone() || is_free(&repository.home().git)?)
        {
            break;
        }
        free = format!("{name}-{number}");
    }
    Ok(free)
}

/// The lines for `git update-index -z --index-info` that turn HEAD into what is on disk.
fn differences(
    repository: &Repository,
    known: &Worktree,
    root: &Utf8Path,
    paths: &[RepoPath],
) -> Result<Vec<u8>, Error> {
    let objects = repository.objects()?;
    let mut info = Vec::new();
    for path in paths {
        let entry = match read(&objects, root, path)? {
            // an excluded path is absent on purpose, not deleted
            None if is_absent_on_purpose(known, path) => continue,
            other => other,
        };
        let (mode, id) = match entry.and_then(|e| Some((e.mode.git_octal()?, e.id.to_string()))) {
            Some((mode, id)) => (mode, id),
            None => ("0", "0".repeat(known.record.base.commit.as_str().len())),
        };
        info.extend_from_slice(format!("{mode} {id}\t").as_bytes());
        info.extend_from_slice(path.as_bstr());
        info.push(0);
    }
    Ok(info)
}

fn is_absent_on_purpose(known: &Worktree, path: &RepoPath) -> bool {
    use crate::scope::{Access, EntryKind};
    known.scope.verdict(path, EntryKind::File).access == Access::Excluded
}

/// Writes what stands at a path into the repository; none when nothing does that git can hold.
/// Nothing is read through a link on the way: what is there is not the root's.
pub(super) fn read(
    objects: &Objects,
    root: &Utf8Path,
    path: &RepoPath,
) -> Result<Option<Entry>, Error> {
    let failed = |error: std::io::Error| DiskError::new(format!("save {path}"), error);
    Ok(match open_below(root, path).map_err(failed)? {
        files::Opened::File {
            size,
            executable,
            mut content,
        } => {
            let id = objects.write_blob(size, &mut content)?;
            let mode = if executable {
                Mode::Executable
            } else {
                Mode::File
            };
            Some(Entry { mode, id })
        }
        files::Opened::Link(text) => {
            let id = objects.write_blob(text.len() as u64, &mut text.as_bytes())?;
            Some(Entry {
                mode: Mode::Link,
                id,
            })
        }
        files::Opened::Other => None,
    })
}
