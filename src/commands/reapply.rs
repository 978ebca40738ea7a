//! `git agentwt reapply`: puts sparse patterns and write bits back as the scope says.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::apply::write_bits;
use crate::disk::files::{self, Lock};
use crate::disk::mode::{Applied, Doing};
use crate::entry::Mode;
use crate::error::Error;
use crate::facts::{Known, Repository};
use crate::git::index::{IndexEntry, read_index};
use crate::path::RepoPath;
use crate::scope::{Access, EntryKind};

/// Holds what was put back, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reapplied {
    /// The worktree's name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Whether it was only looked at (`-n`).
    pub dry_run: bool,
    /// Whether the sparse patterns were other ones, or switched off.
    pub patterns: bool,
    /// Excluded files that are on disk: git removes those that hold no change.
    pub present: Vec<RepoPath>,
    /// What happened to write bits.
    pub bits: Applied,
}

/// Puts everything back.
///
/// # Errors
/// Fails when git or the disk does.
pub fn run(session: &Session, options: &crate::cli::Reapply) -> Result<Outcome<Reapplied>, Error> {
    let repository = session.repository()?;
    let known = Known::of(&repository, options.name.as_deref())?;
    let record = &known.record;
    let git = known.hardened_git(&repository);
    let index_file = record.admin_dir.join("index");
    let index = read_index(&index_file, repository.format)?;
    let patterns = patterns(&known, &index);
    let file = record.admin_dir.join("info/sparse-checkout");
    let is_on = git.config_get_bool("core.sparseCheckout")? == Some(true);
    let other_patterns = !is_on || files::read(&file)?.as_deref() != Some(&patterns);
    let before = present(&known, &index);
    // looked for first: our own hook puts them back as soon as git has moved a file
    let mut bits = write_bits::apply(&record.path, &known.scope, &index, Doing::Look)?;
    if !options.dry_run {
        put_patterns_back(&repository, &known, other_patterns.then_some(&patterns))?;
        let index = read_index(&index_file, repository.format)?;
        let now = write_bits::apply(&record.path, &known.scope, &index, Doing::Change)?;
        bits.changed.extend(now.changed);
        bits.changed.sort_unstable();
        bits.changed.dedup();
        bits.refused = now.refused;
        git.update_index_refresh()?;
    }
    let left = if options.dry_run {
        Vec::new()
    } else {
        present(&known, &index)
    };
    let mut outcome = Outcome::done(Reapplied {
        name: record.name.to_string(),
        path: record.path.clone(),
        dry_run: options.dry_run,
        patterns: other_patterns,
        present: before,
        bits,
    });
    outcome.notes.extend(left.iter().map(|path| {
        format!("{path} is excluded and stays on disk, because it is changed: save or revert it")
    }));
    Ok(outcome)
}

fn patterns(known: &Known, index: &[IndexEntry]) -> Vec<u8> {
    let gitlinks = index
        .iter()
        .filter(|entry| entry.entry.mode == Mode::Gitlink);
    known
        .scope
        .sparse_patterns_with_gitlinks(gitlinks.map(|entry| &entry.path))
        .to_bytes()
}

/// Excluded tracked files that are on disk.
fn present(known: &Known, index: &[IndexEntry]) -> Vec<RepoPath> {
    let mut classifier = known.scope.classifier();
    let root = known.record.path.as_std_path();
    let excluded = index.iter().filter(|entry| {
        entry.entry.mode != Mode::Gitlink
            && classifier.verdict(&entry.path, EntryKind::File).access == Access::Excluded
    });
    let there = excluded.filter(|entry| {
        entry
            .path
            .to_os_path()
            .is_ok_and(|path| files::stands(&root.join(path)))
    });
    there.map(|entry| entry.path.clone()).collect()
}

fn put_patterns_back(
    repository: &Repository,
    known: &Known,
    patterns: Option<&Vec<u8>>,
) -> Result<(), Error> {
    // hooks and file watchers could have been planted in the shared configuration
    let git = known.hardened_git(repository);
    let _shared = Lock::wait(&repository.shared_lock())?;
    match patterns {
        Some(patterns) => {
            git.sparse_checkout_set(patterns)?;
            // `git sparse-checkout disable` leaves it behind
            let config = known.record.admin_dir.join("config.worktree");
            git.config_file_unset(&config, "index.sparse")?;
        }
        None => git.sparse_checkout_reapply()?,
    }
    Ok(())
}
