//! Looks at a worktree that git was bringing forward, and puts it back.
//!
//! What git replaces there is kept in the directory of the journal before git begins: a second name
//! for each file, and the index. A file that is neither as before nor as git writes it was written
//! by the user since, and is never touched (`docs/decisions/0042-land-half.md`).

use std::collections::BTreeSet;
use std::path::Path;

use camino::Utf8Path;

use crate::actions::journal::touched::{TouchedPath, touched_paths};
use crate::disk::backup::{Backup, EntryState};
use crate::disk::files;
use crate::disk::locked_file::replace_by_link;
use crate::git::process::Git;
use crate::record::journal::{ForwardMove, HalfWritten};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::repository::Repository;

/// How many files git is asked for at once, as each is held whole.
const READ_AT_ONCE: usize = 64;

/// A worktree that git brings forward.
#[derive(Clone, Copy)]
pub struct ForwardedWorktree<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The directory of the journal.
    pub directory: &'a Utf8Path,
    /// The step.
    pub step: &'a ForwardMove,
}

impl ForwardedWorktree<'_> {
    /// Keeps what git will replace.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn keep(self) -> Result<(), Error> {
        files::create_directories(&self.directory.join("kept"))?;
        let index = self.git().absolute_git_dir()?.join("index");
        files::link_or_copy(&index, &self.directory.join("index"))?;
        let kept = self.kept();
        let touched = touched_paths(self.repository, self.step)?;
        for (number, path) in touched.iter().enumerate() {
            if path.old_file().is_some() {
                kept.keep(number, &path.file)?;
            }
        }
        Ok(())
    }

    /// Looks at what git has written by now.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn now(self) -> Result<HalfWritten, Error> {
        let git = self.git();
        let full = self.step.into.full_ref();
        if !files::is_directory(&self.step.checkout)
            || git.symbolic_ref_head()?.as_ref() != Some(&full)
            || git.rev_parse_commit(&full)?.as_ref() != Some(&self.step.before)
        {
            return Ok(HalfWritten::Over);
        }
        let changed = self.paths_of_user()?;
        if !changed.is_empty() {
            return Ok(HalfWritten::Changed(changed));
        }
        if git.index_has(&self.step.before)? || git.index_has(&self.step.commit)? {
            return Ok(HalfWritten::AsGitLeft);
        }
        Ok(HalfWritten::Staged)
    }

    /// Puts back what is kept: the index, where it is git's new one, and the files.
    ///
    /// # Errors
    /// Fails when git or the disk does: then what is not put back is still kept.
    pub fn revert(self) -> Result<(), Error> {
        let git = self.git();
        if !git.index_has(&self.step.before)? {
            let index = git.absolute_git_dir()?.join("index");
            replace_by_link(&index, &self.directory.join("index"))?;
        }
        let kept = self.kept();
        let touched = touched_paths(self.repository, self.step)?;
        // a file may stand where a directory was
        for path in &touched {
            if path.new_file().is_some() && path.old.is_none() {
                kept.remove(&path.file)?;
            }
        }
        for (number, path) in touched.iter().enumerate() {
            kept.put_back(number, &path.file)?;
        }
        Ok(())
    }

    fn kept(self) -> Backup {
        Backup::new(&self.step.checkout, &self.directory.join("kept"))
    }

    fn git(self) -> Git {
        self.repository.git.at(&self.step.checkout)
    }

    /// Lists the touched paths where something of the user's stands: neither what was there before,
    /// nor what git writes there, nor the beginning of that.
    fn paths_of_user(self) -> Result<Vec<String>, Error> {
        let kept = self.kept();
        let touched = touched_paths(self.repository, self.step)?;
        let written: BTreeSet<&Path> = written_files(&touched);
        let mut changed = Vec::new();
        let mut files = Vec::new();
        for (number, path) in touched.iter().enumerate() {
            let is_changed = match kept.state(number, &path.file)? {
                EntryState::Nothing | EntryState::Kept => false,
                EntryState::File => {
                    // not known yet: git is asked below, for many at once
                    files.push(path);
                    false
                }
                // it is in the way only where a file is to be put back
                EntryState::Directory => {
                    path.old_file().is_some() && kept.has_others(&path.file, &written)
                }
                EntryState::Link(text) => !path.has_link(&text, self.repository.home().format),
                EntryState::Other => true,
            };
            if is_changed {
                changed.push(path.path.to_string());
            }
        }
        for chunk in self.unlike_either_commit(files)?.chunks(READ_AT_ONCE) {
            changed.extend(self.longer_than_a_beginning(chunk)?);
        }
        changed.sort();
        Ok(changed)
    }

    /// Those of these files that are as in neither of the commits.
    fn unlike_either_commit(self, files: Vec<&TouchedPath>) -> Result<Vec<&TouchedPath>, Error> {
        // git cannot be asked by a line for a path with a line break
        let (askable, mut unlike): (Vec<&TouchedPath>, Vec<&TouchedPath>) = files
            .into_iter()
            .partition(|touched| !touched.path.as_bstr().contains(&b'\n'));
        let paths: Vec<&RepoPath> = askable.iter().map(|touched| &touched.path).collect();
        let ids = self.git().hash_files(&paths)?;
        for (touched, id) in askable.into_iter().zip(ids) {
            let sides = [touched.old, touched.new];
            if !sides.iter().flatten().any(|side| side.id == id) {
                unlike.push(touched);
            }
        }
        Ok(unlike)
    }

    /// Lists those where more stands than the beginning of what git writes there.
    fn longer_than_a_beginning(self, files: &[&TouchedPath]) -> Result<Vec<String>, Error> {
        let mut asked = Vec::new();
        let mut written_by_git = Vec::new();
        let mut changed = Vec::new();
        for file in files {
            match file.new_file() {
                Some(new) => {
                    asked.push((new.id.to_string(), file.path.as_bstr().to_vec()));
                    written_by_git.push(file);
                }
                None => changed.push(file.path.to_string()),
            }
        }
        let contents = self.git().cat_file_filters(&asked)?;
        let kept = self.kept();
        for (file, content) in written_by_git.into_iter().zip(contents) {
            let there = kept.read(&file.file)?;
            if !content.is_some_and(|content| content.starts_with(&there)) {
                changed.push(file.path.to_string());
            }
        }
        Ok(changed)
    }
}

/// The files that git writes.
fn written_files(touched: &[TouchedPath]) -> BTreeSet<&Path> {
    let mut written = BTreeSet::new();
    for path in touched {
        if path.new_file().is_some() {
            written.insert(path.file.as_path());
        }
    }
    written
}
