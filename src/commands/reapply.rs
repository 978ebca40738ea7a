//! `git agentwt reapply`: puts sparse patterns and write bits back as the scope says.

use camino::Utf8PathBuf;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::shapes::RefusedFile;
use crate::answer::text::Text;
use crate::arguments::output::AnswerOutput;
use crate::commands::{Outcome, Session};
use crate::disk::mode::BitsChange;
use crate::truth::planted;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::path_text::{PathText, paths};
use crate::words::text::{count, when, would};
use crate::worktree::loaded::Worktree;

/// Restore the sparse-checkout patterns and write bits of the scope
///
/// Sets the sparse-checkout patterns and the write bits of the files as the recorded scope
/// demands. The hooks do the same after a checkout, merge, rebase, reset or stash; use this command
/// when the hooks could not run. The contents of files are never changed. Where the write bits of a
/// file cannot be set, the rest is done, and the exit status is 6.
#[derive(Args, Debug)]
pub struct Reapply {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print what would be restored, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

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
    pub present: Vec<PathText>,
    /// The files whose write bits are set again.
    pub write_bits: Vec<PathText>,
    /// The files whose write bits cannot be set.
    pub refused: Vec<RefusedFile>,
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
        for refused in &self.refused {
            text.tell(format!("{error} {}", refused.message()));
        }
        let name = text.paint.name(&self.name);
        let is_same = !self.patterns && self.present.is_empty() && self.write_bits.is_empty();
        if is_same && self.refused.is_empty() {
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

/// Puts sparse patterns and write bits back as the scope says. Where the bits of a file cannot be
/// set, the rest is done, and the status is that of a disk that fails.
///
/// # Errors
/// Fails when git or the disk does.
pub fn run(session: &Session, options: &Reapply) -> Result<Outcome<ReapplyAnswer>, Error> {
    let home = session.repository_to_change()?;
    let named = Worktree::of(&home, options.name.as_deref())?;
    if !options.dry_run {
        session.require_own(&home, &named.record.name)?;
    }
    let (_lock, worktree) = Worktree::lock(&home, &named.record.name)?;
    let repository = worktree.repository(&home);
    let record = &worktree.record;
    if !options.dry_run {
        planted::refuse(&repository, &worktree, "reapply the scope of")?;
    }
    let reapplied = if options.dry_run {
        worktree.apply_scope(&repository, BitsChange::Preview)?
    } else {
        worktree.reapply(&repository)?
    };
    let bits = &reapplied.bits;
    let mut outcome = Outcome::done(ReapplyAnswer {
        name: record.name.to_string(),
        path: record.path.clone(),
        dry_run: options.dry_run,
        patterns: reapplied.patterns,
        present: paths(&reapplied.present),
        write_bits: paths(&bits.changed),
        refused: RefusedFile::all(&bits.refused),
    });
    outcome.notes = reapplied.notes();
    if !outcome.answer.refused.is_empty() {
        outcome.exit = ExitCode::Disk;
    }
    Ok(outcome)
}
