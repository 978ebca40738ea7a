//! Makes a private git directory one that git can read after a command that can have put anything
//! there.

use std::fs::FileType;
use std::path::Path;

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::writable::make_writable;
use crate::git::git_dir::{ALTERNATES, SHALLOW};
use crate::git::refs::Ref;
use crate::record::run::RunObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::private_git::entries::{clear, copy, put};
use crate::worktree::private_git::packed_refs::packed;
use crate::worktree::private_git::result::read_log;
use crate::worktree::private_git::settings::write_settings;
use crate::worktree::repository::Repository;

/// The files without which git reads no ref or no object.
const FILES: &str = "HEAD index packed-refs";
/// The directories without which git reads no ref or no object.
const DIRECTORIES: &str =
    "objects objects/info objects/pack refs refs/heads refs/tags refs/agentwt";
/// What git makes of objects to find them faster, and can make again: a damaged one stops a fetch.
const CACHES: &str = "objects/info/commit-graph objects/info/commit-graphs \
    objects/pack/multi-pack-index objects/pack/multi-pack-index.d";

impl PrivateGit {
    /// Removes from the git directory what a command can have put there and git must not follow or
    /// cannot read: pipes, locks, links that lead out of it, a directory in the place of a file or
    /// the reverse, what git derives from objects, and the list of other places with objects. After
    /// it, a run with `--withhold` has the objects that it was given and those that it made.
    ///
    /// # Errors
    /// Fails when the disk cannot be written.
    pub fn clean(&self) -> Result<(), DiskError> {
        let git_dir = self.git_dir();
        // locks go too: no git of the run is left
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
        clear(&git_dir.join(ALTERNATES))?;
        // the command can have removed it; without it no objects can be opened
        files::create_directories(&git_dir.join("objects"))
    }

    /// Makes a [cleaned](Self::clean) git directory one that git can read after a run: settings and
    /// refs are written anew, so that nothing hides what the command made (`transfer.hideRefs`,
    /// `commondir`).
    ///
    /// # Errors
    /// Fails when the repository cannot be read, or the disk not be written.
    pub fn write_mended(&self, repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
        let git_dir = self.git_dir();
        self.write_mended_refs(worktree)?;
        for name in ["commondir", "config.worktree"] {
            clear(&git_dir.join(name))?;
        }
        clear(&git_dir.join(SHALLOW))?;
        copy(&repository.common_dir.join(SHALLOW), &git_dir, SHALLOW)?;
        // as for a command that had all objects: what one without them made can name them
        write_settings(&git_dir, repository, worktree, RunObjects::Shared)
    }

    /// Writes HEAD anew if its file is damaged, as after a loss of power, and the branch and the
    /// stash as packed refs with the commit that is last in their logs.
    fn write_mended_refs(&self, worktree: &Worktree) -> Result<(), Error> {
        let git_dir = self.git_dir();
        let branch = worktree.record.branch.full_ref();
        if !names_ref_or_commit(&git_dir.join("HEAD"))? {
            put(&git_dir, "HEAD", format!("ref: {branch}\n").as_bytes())?;
        }
        let refs_of_runs = self.packed_refs_of_runs()?;
        let refs_at_begin = self.refs_at_begin()?;
        let mut mended = Vec::new();
        for name in [branch.as_str(), "refs/stash"] {
            let file = git_dir.join(name);
            files::remove_if_empty(&file);
            if has_whole_ref(&file, name, &refs_of_runs)? {
                continue;
            }
            let _ = files::remove_file(&file);
            // git removes the log of a ref that was removed or dropped: then there is no entry
            for commit in read_log(&git_dir.join("logs").join(name), 1) {
                mended.push(Ref::new(name, commit));
            }
        }
        let all_refs = refs_at_begin.iter().chain(&mended).chain(&refs_of_runs);
        put(&git_dir, "packed-refs", &packed(all_refs))?;
        Ok(())
    }
}

/// True if git can read a ref of a run: in its file, where one stands, or packed. (A directory in
/// the place of the file has refs below.)
fn has_whole_ref(file: &Utf8Path, name: &str, refs_of_runs: &[Ref]) -> Result<bool, Error> {
    if files::is_directory(file) {
        return Ok(true);
    }
    if files::exists(file) {
        return names_ref_or_commit(file);
    }
    Ok(refs_of_runs.iter().any(|packed| packed.name == name))
}

/// True if an entry of the git directory stays: a file, a directory, or a link that leads to
/// another entry, and no lock.
fn stays(git_dir: &Utf8Path, path: &Path, kind: FileType) -> bool {
    let is_lock = path.extension().is_some_and(|ending| ending == "lock");
    if is_lock {
        return false;
    }
    if !kind.is_symlink() {
        return kind.is_file() || kind.is_dir();
    }
    let target = Utf8Path::from_path(path).map(files::canonical);
    matches!(target, Some(Ok(target)) if target.starts_with(git_dir))
}

/// True if the file of a ref names another ref or a commit.
fn names_ref_or_commit(file: &Utf8Path) -> Result<bool, Error> {
    let bytes = files::read(file)?.unwrap_or_default();
    let text = bytes.to_str_lossy();
    Ok(text.starts_with("ref: refs/") || CommitId::parse(text.trim_end()).is_ok())
}
