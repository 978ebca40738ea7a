//! Makes a private git directory one that git can read after a command that can have put anything
//! there.

use std::fs::FileType;
use std::path::Path;

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::files;
use crate::disk::writable::make_writable;
use crate::git::refs::Ref;
use crate::record::run::RunObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::entries::{clear, copy, put};
use crate::worktree::private_git::packed_refs::{packed, read_packed};
use crate::worktree::private_git::result::read_log;
use crate::worktree::private_git::write::write_given;
use crate::worktree::private_git::{PrivateGit, SNAPSHOT};
use crate::worktree::repository::Repository;

/// The files without which git reads no ref or no object.
const FILES: &str = "HEAD index packed-refs";
/// The directories without which git reads no ref or no object.
const DIRECTORIES: &str = "objects objects/info objects/pack refs refs/heads refs/tags";
/// What git makes of objects to find them faster, and can make again: a damaged one stops a fetch.
const CACHES: &str = "objects/info/commit-graph objects/info/commit-graphs \
    objects/pack/multi-pack-index objects/pack/multi-pack-index.d";

impl PrivateGit {
    /// Makes the git directory after a run one that can be read, without pipes, locks and links
    /// that lead out of it, and writes what is known anew, so that nothing hides what the command
    /// made (`transfer.hideRefs`, `commondir`).
    ///
    /// # Errors
    /// Fails when the repository cannot be read, or the disk not be written.
    pub fn write_mended(&self, repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
        let git_dir = self.git_dir();
        let objects = self.objects()?;
        // no git of the run is left that would hold a lock
        make_writable(&git_dir, &|path, kind| stays(&git_dir, path, kind))?;
        for name in FILES.split_whitespace() {
            if files::is_directory(&git_dir.join(name)) {
                clear(&git_dir.join(name))?;
            }
        }
        for name in DIRECTORIES.split_whitespace() {
            if !files::is_directory(&git_dir.join(name)) {
                clear(&git_dir.join(name))?;
            }
        }
        for name in CACHES.split_whitespace() {
            clear(&git_dir.join(name))?;
        }
        self.write_mended_refs(worktree)?;
        for name in ["commondir", "config.worktree"] {
            clear(&git_dir.join(name))?;
        }
        if objects == RunObjects::Shared {
            clear(&git_dir.join("shallow"))?;
            copy(&repository.common_dir.join("shallow"), &git_dir, "shallow")?;
        }
        write_given(&git_dir, repository, worktree, objects)
    }

    /// Writes HEAD and the refs anew where they are none, as after a loss of power: the logs of the
    /// branch and of the stash have where these were.
    fn write_mended_refs(&self, worktree: &Worktree) -> Result<(), Error> {
        let git_dir = self.git_dir();
        let branch = worktree.record.branch.full_ref();
        if !names_ref_or_commit(&git_dir.join("HEAD"))? {
            put(&git_dir, "HEAD", format!("ref: {branch}\n").as_bytes())?;
        }
        let own = self.read_own_packed_refs()?;
        let mut refs = read_packed(&self.dir.join(SNAPSHOT))?;
        for name in [branch.as_str(), "refs/stash"] {
            let file = git_dir.join(name);
            files::remove_if_empty(&file);
            let is_whole = if files::exists(&file) {
                files::is_directory(&file) || names_ref_or_commit(&file)?
            } else {
                own.iter().any(|packed| packed.name == name)
            };
            if is_whole {
                continue;
            }
            let _ = files::remove_file(&file);
            // git removes the log of a ref that was removed or dropped
            let last = read_log(&git_dir.join("logs").join(name), 1);
            refs.extend(last.into_iter().map(|id| Ref::new(name, id)));
        }
        put(&git_dir, "packed-refs", &packed(refs.iter().chain(&own)))?;
        Ok(())
    }
}

/// True if an entry of the git directory stays: a file, a directory, or a link that leads to
/// another entry, and no lock.
fn stays(git_dir: &Utf8Path, path: &Path, kind: FileType) -> bool {
    if path
        .extension()
        .is_some_and(|extension| extension == "lock")
    {
        return false;
    }
    if !kind.is_symlink() {
        return kind.is_file() || kind.is_dir();
    }
    let target = Utf8Path::from_path(path).and_then(|path| files::canonical(path).ok());
    target.is_some_and(|target| target.starts_with(git_dir))
}

/// True if the file of a ref names another ref or a commit.
fn names_ref_or_commit(file: &Utf8Path) -> Result<bool, Error> {
    let bytes = files::read(file)?.unwrap_or_default();
    let text = bytes.to_str_lossy();
    Ok(text.starts_with("ref: refs/") || CommitId::parse(text.trim_end()).is_ok())
}
