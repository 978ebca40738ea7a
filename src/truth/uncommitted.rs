//! Finds what is not committed as git does: by what git would store of a file, not by the bytes
//! that the file has.
//!
//! A committed file can have other bytes than HEAD where git converts what it stores: by line
//! endings, filters or an encoding (gitattributes(5)).

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::files::Temporary;
use crate::git::conversions::settings_convert_what_is_added;
use crate::truth::layers::content::{files_of_tree, read_small_file};
use crate::truth::layers::converted::{Filters, is_attributes, put_aside, write_aside};
use crate::truth::survey::Survey;
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Holds the paths that are not as HEAD has them.
#[derive(Debug, Default)]
pub struct Uncommitted {
    /// Those that a commit would change.
    pub paths: Vec<RepoPath>,
    /// Those of which git would store what HEAD has, though neither HEAD has their bytes nor a
    /// checkout is known to write them.
    pub converted: Vec<RepoPath>,
}

impl Uncommitted {
    /// Finds which of these paths, which are not as HEAD has them, are work, and which only a
    /// conversion of git makes differ. Git is asked once for all of them, by the attributes of HEAD.
    ///
    /// # Errors
    /// Fails when git, an object or the disk does.
    pub fn without_converted(
        repository: &Repository,
        worktree: &Worktree,
        survey: &Survey,
        paths: Vec<RepoPath>,
    ) -> Result<Self, Error> {
        let question = Question {
            repository,
            worktree,
            survey,
        };
        let mut uncommitted = Self::default();
        let mut candidates = Vec::new();
        for path in paths {
            match question.entry_if_only_the_file_differs(&path) {
                Some(head) => candidates.push(Candidate { path, head }),
                None => uncommitted.paths.push(path),
            }
        }
        if !candidates.is_empty() {
            question.classify(candidates, &mut uncommitted)?;
        }
        uncommitted.paths.sort_unstable();
        Ok(uncommitted)
    }
}

/// A file that differs from HEAD on disk only.
struct Candidate {
    path: RepoPath,
    /// What HEAD has there.
    head: Entry,
}

/// Holds of what git is asked.
struct Question<'a> {
    repository: &'a Repository,
    worktree: &'a Worktree,
    survey: &'a Survey,
}

impl Question<'_> {
    /// What HEAD has at a path, where a regular file of the same mode is there, in the index as in
    /// HEAD, and on disk with other bytes.
    fn entry_if_only_the_file_differs(&self, path: &RepoPath) -> Option<Entry> {
        let states = &self.survey.states;
        let head = states.entry_in(&states.references.head, path)?;
        let on_disk = states.entry_in(&states.disk.delta, path)?;
        let is_file = head.mode.is_regular() && head.mode == on_disk.mode;
        let is_staged = states
            .staged_entries(path)
            .any(|staged| staged != Some(head));
        let is_placed = states.placed.get(path).is_some();
        // git is given the paths by lines
        let is_askable = !path.as_bstr().contains(&b'\n');
        (is_file && !is_staged && !is_placed && is_askable).then_some(head)
    }

    /// Adds each file to the uncommitted ones by what git would store of it. One that already has
    /// the bytes that git stores is committed, and added to neither list.
    fn classify(
        &self,
        candidates: Vec<Candidate>,
        uncommitted: &mut Uncommitted,
    ) -> Result<(), Error> {
        let may_convert = self.may_convert()?;
        let dir = Temporary::new()?;
        let root = &self.worktree.record.path;
        let mut to_convert = Vec::new();
        for candidate in candidates {
            let Ok(Some(content)) = read_small_file(root, &candidate.path) else {
                uncommitted.paths.push(candidate.path);
                continue;
            };
            if self.repository.format.blob_id(&content) == candidate.head.id {
                continue;
            }
            if may_convert {
                write_aside(&candidate.path, &content, &dir)?;
                to_convert.push(candidate);
            } else {
                uncommitted.paths.push(candidate.path);
            }
        }
        if !to_convert.is_empty() {
            self.classify_converted(to_convert, &dir, uncommitted)?;
        }
        Ok(())
    }

    /// True if git may store other bytes than a file has, and its filters may be started.
    fn may_convert(&self) -> Result<bool, Error> {
        let shared = &self.survey.changes.shared;
        if Filters::of(self.worktree, shared) == Filters::Refused {
            return Ok(false);
        }
        let has_attributes = !self.attributes().is_empty();
        Ok(has_attributes || settings_convert_what_is_added(&self.repository.git)?)
    }

    /// The attribute files of HEAD.
    fn attributes(&self) -> BTreeMap<&RepoPath, Entry> {
        let states = &self.survey.states;
        files_of_tree(&states.manifest, &states.references.head, is_attributes)
    }

    /// Adds each file to one of the two lists by what git makes of its copy, which `dir` already
    /// has: there no setting of the worktree counts, and a filter finds no program of it to start.
    fn classify_converted(
        &self,
        candidates: Vec<Candidate>,
        dir: &Temporary,
        uncommitted: &mut Uncommitted,
    ) -> Result<(), Error> {
        let objects = self.repository.objects()?;
        let paths: Vec<&RepoPath> = candidates.iter().map(|file| &file.path).collect();
        let written: BTreeSet<&RepoPath> = paths.iter().copied().collect();
        for (path, entry) in self.attributes() {
            // an attribute file that is a candidate itself stands there as it is on disk
            if !written.contains(path) {
                put_aside(&objects, path, &entry.id, dir)?;
            }
        }
        let common_dir = &self.repository.common_dir;
        let git = self.repository.git.on(common_dir, Some(dir.path()));
        // if a filter fails, every change stays a change
        let stored_ids = git.hash_files(&paths).unwrap_or_default();
        for (number, candidate) in candidates.into_iter().enumerate() {
            if stored_ids.get(number) == Some(&candidate.head.id) {
                uncommitted.converted.push(candidate.path);
            } else {
                uncommitted.paths.push(candidate.path);
            }
        }
        Ok(())
    }
}
