//! `git agentwt reapply`: puts sparse patterns and write bits back as the scope says.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Outcome, Session};
use crate::answer::shapes::{PathField, paths};
use crate::answer::{Answer, Text, count, when, would};
use crate::disk::mode::{Applied, Doing};
use crate::error::Error;

use crate::git::index::{IndexEntry, read_index};
use crate::worktree::Worktree;
use crate::worktree::scope_edit::{set_bits_of_index, set_bits_of_placed, sparse_patterns};

/// The answer of `reapply`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReapplyAnswer {
    /// The name of the worktree.
    pub name: String,
    /// The directory of the worktree.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// Whether the sparse patterns had been changed or switched off.
    pub patterns: bool,
    /// The excluded files that were on disk; git removes those without changes.
    pub present: Vec<PathField>,
    /// The files whose write bits are set again.
    pub write_bits: Vec<PathField>,
    /// The files whose write bits cannot be set.
    pub refused: Vec<PathField>,
    /// Why they cannot be set.
    #[serde(skip)]
    pub faults: Vec<String>,
}

impl Answer for ReapplyAnswer {
    const DOCUMENT: &'static str = "reapply";

    /// The paths on stdout; a summary on stderr.
    fn print(&self, text: &mut Text) {
        for present in &self.present {
            text.line(format!("excluded  {}", present.shown()));
        }
        for path in &self.write_bits {
            text.line(format!("bits      {}", path.shown()));
        }
        let error = text.paint.bad("error:");
        for (path, fault) in self.refused.iter().zip(&self.faults) {
            let path = path.shown();
            text.tell(format!(
                "{error} cannot set the write bits of {path}: {fault}"
            ));
        }
        let name = text.paint.name(&self.name);
        let nothing = !self.patterns && self.present.is_empty() && self.write_bits.is_empty();
        if nothing && self.refused.is_empty() {
            text.tell(format!("{name}: everything is as the scope says"));
            return;
        }
        let done = would(self.dry_run, "restored", "would restore");
        let patterns = when(self.patterns, "the sparse patterns, ");
        let bits = count(self.write_bits.len(), "file", "files");
        let absent = count(self.present.len(), "excluded file", "excluded files");
        text.tell(format!(
            "{name}: {done} {patterns}the write bits of {bits}, {absent}"
        ));
    }
}

/// Puts everything back.
///
/// # Errors
/// Fails when git or the disk does.
pub fn run(
    session: &Session,
    options: &crate::cli::Reapply,
) -> Result<Outcome<ReapplyAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let known = Worktree::of(&repository, options.name.as_deref())?;
    let repository = known.repository(&repository);
    let record = &known.record;
    let git = known.hardened_git(&repository);
    let index_file = record.admin_dir.join("index");
    let index = read_index(&index_file, repository.format)?;
    let patterns = sparse_patterns(&known.scope, &index);
    let other_patterns = !known.is_sparse_by(&repository, &patterns)?;
    let before = known.excluded_on_disk(&index);
    // looked for first: our own hook puts them back as soon as git has moved a file
    let placed = known.placed()?;
    let set_bits = |index: &[IndexEntry], doing| -> Result<Applied, Error> {
        let mut bits = set_bits_of_index(&record.path, &known.scope, index, doing)?;
        let files = placed.files().iter();
        let more = set_bits_of_placed(&record.path, &known.scope, files, doing)?;
        bits.changed.extend(more.changed);
        bits.refused.extend(more.refused);
        bits.refused.dedup();
        Ok(bits)
    };
    let mut bits = set_bits(&index, Doing::Look)?;
    if !options.dry_run {
        known.remove_verification()?;
        known.set_sparse(&repository, &patterns)?;
        let index = read_index(&index_file, repository.format)?;
        let now = set_bits(&index, Doing::Change)?;
        bits.changed.extend(now.changed);
        bits.refused = now.refused;
        git.update_index_refresh()?;
    }
    bits.changed.sort_unstable();
    bits.changed.dedup();
    let mut outcome = Outcome::done(ReapplyAnswer {
        name: record.name.to_string(),
        path: record.path.clone(),
        dry_run: options.dry_run,
        patterns: other_patterns,
        present: paths(&before),
        write_bits: paths(&bits.changed),
        refused: paths(bits.refused.iter().map(|(path, _)| path)),
        faults: bits.refused.iter().map(|(_, why)| why.clone()).collect(),
    });
    if !options.dry_run {
        outcome
            .notes
            .extend(known.excluded_on_disk(&index).iter().map(|path| {
                format!(
                    "{path} is excluded and stays on disk, because it is changed: save or revert it"
                )
            }));
    }
    Ok(outcome)
}
