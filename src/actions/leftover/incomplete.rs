//! Tells whether what no record accounts for holds work: an incomplete worktree something that
//! neither a checkout nor a copy has written, a private git directory something that is nowhere
//! else.
//!
//! A killed `add` has neither a record nor, maybe, an index, so the files are compared with the
//! base and with the main worktree. A file that was being written when `add` was killed is the
//! beginning of the expected content. Every doubt counts as work.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use camino::Utf8Path;

use crate::actions::bring::read_put_aside_in;
use crate::actions::remove::facts::{SharedFacts, has_own_modules};
use crate::config::value::Strategy;
use crate::disk::digest::digest_of;
use crate::disk::files::TEMPORARY;
use crate::disk::open::Opened;
use crate::disk::{files, open};
use crate::git::environment::GitMode;
use crate::git::index::{Stage, read_index};
use crate::git::objects::Objects;
use crate::git::reflog::ReflogEntry;
use crate::inventory::placed::{Digest, Placed};
use crate::record::worktree::Intent;
use crate::truth::head::reflog_file;
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::{PLACED, PLACING};
use crate::worktree::repository::Repository;

/// What git notes in a private directory while it is at work there.
const OPERATIONS: &str = "MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD rebase-merge rebase-apply";

/// Whether a private git directory has something that is nowhere else.
pub(super) fn has_work(repository: &Repository, admin: &Utf8Path) -> Result<bool, Error> {
    let git = repository.git.on(admin, None).with_mode(GitMode::Hardened);
    let has = |name: &str| files::exists(&admin.join(name));
    if OPERATIONS.split(' ').any(has) || has_own_modules(admin)? {
        return Ok(true);
    }
    let head = git.rev_parse_commit("HEAD")?;
    let reflog = match &head {
        Some(_) => git.reflog("HEAD")?,
        None => reflog_file(admin)?,
    };
    if reflog.iter().any(ReflogEntry::left_a_detached_head) {
        return Ok(true);
    }
    let mut alone = read_put_aside_in(&git, admin)?;
    alone.extend(match &head {
        Some(_) if git.symbolic_ref_head()?.is_some() => None,
        Some(head) => Some(head.clone()),
        None => reflog.first().map(|newest| newest.id.clone()),
    });
    if !alone.is_empty() {
        let shared = SharedFacts::read(repository)?;
        for commit in &alone {
            if !shared.unreachable_from_refs(repository, commit)?.is_empty() {
                return Ok(true);
            }
        }
    }
    let index = admin.join("index");
    if !files::exists(&index) {
        return Ok(false);
    }
    let committed = match &head {
        Some(head) => entries_of(&repository.objects()?, head)?,
        None => BTreeMap::new(),
    };
    let index = read_index(&index, repository.format)?;
    let mut entries = index.iter();
    let is_committed = index.len() == committed.len()
        && entries.all(|one| {
            one.stage == Stage::Unconflicted
                && !one.intent_to_add
                && committed.get(&one.path) == Some(&one.entry)
        });
    Ok(!is_committed)
}

fn entries_of(objects: &Objects, commit: &CommitId) -> Result<BTreeMap<RepoPath, Entry>, Error> {
    let tree = objects.commit(commit)?.tree;
    Ok(objects.list(&tree)?.into_iter().collect())
}

/// Whether a killed `add` left a worktree that an agent has worked in. `admin` is the private git
/// directory, if git has created one.
///
/// # Errors
/// Fails when something cannot be read.
pub fn has_incomplete_work(
    repository: &Repository,
    intent: &Intent,
    admin: Option<&Utf8Path>,
) -> Result<bool, Error> {
    let own_git_dir = intent.record.path.join(".git");
    // without these, no git works there yet
    let is_there = |name: &&str| files::exists(&own_git_dir.join(name));
    let (objects, git_dir) = match intent.record.strategy {
        Strategy::Clone if ["HEAD", "objects", "refs"].iter().all(is_there) => (
            Objects::open(&own_git_dir, repository.format)?,
            Some(&*own_git_dir),
        ),
        Strategy::Worktree | Strategy::Clone => (repository.objects()?, admin),
    };
    let log = git_dir.map(|dir| files::read(&dir.join("logs/HEAD")));
    let log = log.transpose()?.flatten().unwrap_or_default();
    // git logs the creation, a reset to the same commit, and with the null id a deleted branch
    let log = String::from_utf8_lossy(&log);
    let commits = log.lines().filter_map(|line| line.split(' ').nth(1));
    let mut commits = commits.filter(|id| !id.trim_matches('0').is_empty());
    let first = commits.next();
    if commits.any(|commit| Some(commit) != first) {
        return Ok(true);
    }
    if let Some(admin) = admin.filter(|admin| files::exists(&admin.join("index")))
        && has_work(repository, admin).unwrap_or(true)
    {
        return Ok(true);
    }
    let git = match git_dir {
        Some(dir) => repository.git.on(dir, None),
        None => repository.git.clone(),
    };
    let base = match &intent.branch_at {
        Some(base) => Some(base.clone()),
        None => git.rev_parse_commit(&intent.record.branch.full_ref())?,
    };
    let base = base.map(|base| entries_of(&objects, &base)).transpose()?;
    let walk = Expected {
        main: &repository.root,
        base: base.unwrap_or_default(),
        objects,
        placed: placed_in(&repository.record_dir(&intent.record.name)),
    };
    walk.differs(intent.record.path.as_std_path(), None)
}

struct Expected<'a> {
    main: &'a Utf8Path,
    objects: Objects,
    base: BTreeMap<RepoPath, Entry>,
    placed: BTreeSet<Digest>,
}

impl Expected<'_> {
    /// Whether something in a directory is neither of the base nor of the main worktree.
    fn differs(&self, directory: &Path, parent: Option<&RepoPath>) -> Result<bool, Error> {
        for (name, is_directory) in files::entries(directory)? {
            let file = directory.join(&name);
            let is_ours = name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes());
            if (parent.is_none() && name == ".git") || (is_ours && !is_directory) {
                continue;
            }
            let path = RepoPath::child(parent, name.as_encoded_bytes());
            let differs = if is_directory {
                self.differs(&file, Some(&path))?
            } else {
                !self.is_written_by_add(&file, &path)
            };
            if differs {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_written_by_add(&self, file: &Path, path: &RepoPath) -> bool {
        let Some(found) = content(file) else {
            return false;
        };
        let entry = self.base.get(path);
        let blob = entry.filter(|entry| entry.mode != Mode::Gitlink);
        let blob = blob.and_then(|entry| self.objects.blob(&entry.id).ok());
        let source = path.to_os_path().ok();
        let source = source.and_then(|path| content(&self.main.as_std_path().join(path)));
        // a conversion of line endings is one of the checkout
        let without_cr = || found.iter().copied().filter(|byte| *byte != b'\r');
        blob.is_some_and(|blob| blob.starts_with(&found) || blob.iter().copied().eq(without_cr()))
            || source.is_some_and(|source| source.starts_with(&found))
            || (entry.is_none()
                && digest_of(&*found).is_ok_and(|digest| self.placed.contains(&digest)))
    }
}

/// The digests of what a killed `add` placed, or was about to: copies, context and guards.
fn placed_in(record_dir: &Utf8Path) -> BTreeSet<Digest> {
    let lists = [PLACED, PLACING].map(|list| files::read(&record_dir.join(list)).ok().flatten());
    let lists = lists.into_iter().flatten();
    let lists = lists.filter_map(|bytes| Placed::from_bytes(&bytes).ok());
    let digests = lists.flat_map(|list| {
        list.files()
            .iter()
            .filter_map(|file| file.digest)
            .collect::<Vec<_>>()
    });
    digests.collect()
}

/// The bytes of a file, or the text of a link.
fn content(file: &Path) -> Option<Vec<u8>> {
    match open::open_entry(file).ok()? {
        Opened::File { mut content, .. } => {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes).ok()?;
            Some(bytes)
        }
        Opened::Link(text) => Some(text.into()),
        Opened::Other => None,
    }
}
