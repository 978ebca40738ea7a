//! `git agentwt reapply`: puts sparse patterns and write bits back as the scope says.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::apply::{sparse, write_bits};
use crate::disk::mode::{Applied, Doing};
use crate::error::Error;
use crate::facts::Known;
use crate::git::index::{IndexEntry, read_index};
use crate::path::RepoPath;

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
    let repository = session.repository_to_change()?;
    let known = Known::of(&repository, options.name.as_deref())?;
    let repository = known.repository(&repository);
    let record = &known.record;
    let git = known.hardened_git(&repository);
    let index_file = record.admin_dir.join("index");
    let index = read_index(&index_file, repository.format)?;
    let patterns = sparse::patterns(&known, &index);
    let other_patterns = !sparse::is_on(&repository, &known, &patterns)?;
    let before = sparse::present(&known, &index);
    // looked for first: our own hook puts them back as soon as git has moved a file
    let placed = known.placed()?;
    let set_bits = |index: &[IndexEntry], doing| -> Result<Applied, Error> {
        let mut bits = write_bits::apply(&record.path, &known.scope, index, doing)?;
        let files = placed.files().iter();
        let more = write_bits::apply_to_placed(&record.path, &known.scope, files, doing)?;
        bits.changed.extend(more.changed);
        bits.refused.extend(more.refused);
        bits.refused.dedup();
        Ok(bits)
    };
    let mut bits = set_bits(&index, Doing::Look)?;
    if !options.dry_run {
        if other_patterns {
            sparse::put_back(&repository, &known, &patterns)?;
        } else {
            sparse::reapply(&repository, &known)?;
        }
        let index = read_index(&index_file, repository.format)?;
        let now = set_bits(&index, Doing::Change)?;
        bits.changed.extend(now.changed);
        bits.refused = now.refused;
        git.update_index_refresh()?;
    }
    bits.changed.sort_unstable();
    bits.changed.dedup();
    let left = if options.dry_run {
        Vec::new()
    } else {
        sparse::present(&known, &index)
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
