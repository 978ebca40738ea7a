//! `git agentwt restore`: puts out-of-scope changes back, after saving them, and undoes that.

mod apply;
pub mod facts;
pub mod plan;
mod rewrite;

use std::ffi::OsString;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use self::plan::RestorePlan;
pub use self::plan::RestoreRefusal;
pub use self::rewrite::Rewritten;
use super::{Outcome, Session};
use crate::answer::shapes::{PathField, SavedField, paths};
use crate::answer::{Answer, Cell, Paint, Row, Text, count};
use crate::disk::files::Lock;
use crate::entry::Mode;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::truth::{Survey, collect};
use crate::verify::{VerifyOptions, verify};
use crate::worktree::saved::find_restore;
use crate::worktree::{Repository, Worktree, WorktreeError, arguments};

/// The answer of `restore`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoreAnswer {
    /// The name of the worktree.
    pub name: String,
    /// The directory of the worktree.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// Whether a restore was undone (`--undo`).
    pub undo: bool,
    /// The paths that were put back, or with `--undo` brought back.
    pub restored: Vec<RestoredPath>,
    /// The read-only files that lost their write bits.
    pub write_bits: Vec<PathField>,
    /// Whether the sparse patterns were put back.
    pub patterns: bool,
    /// The placed files that stay as they are, as their source is not what was placed any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stays: Vec<PathField>,
    /// The FIFOs, sockets and devices, which `--undo` does not make again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<PathField>,
    /// Where all that was put back is saved, or what `--undo` brought back; absent if there was
    /// nothing to lose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescue: Option<SavedField>,
    /// The commit that undoes what was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// What became of commits that were made anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Rewritten>,
    /// How `--undo` moved the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchMove>,
    /// What would become of commits, for people.
    #[serde(skip)]
    pub commits: Option<&'static str>,
}

/// A path that was put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoredPath {
    /// The path.
    #[serde(flatten)]
    pub path: PathField,
    /// What had happened: `created`, `modified`, `deleted`, …; absent with `--undo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Whether a commit had the change.
    pub committed: bool,
    /// Whether the content was saved: a FIFO, a socket or a device has none.
    pub saved: bool,
}

/// How a branch was moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BranchMove {
    /// The commit on which the branch was.
    pub from: CommitId,
    /// The commit on which the branch is.
    pub to: CommitId,
}

impl Answer for RestoreAnswer {
    const DOCUMENT: &'static str = "restore";

    /// The paths on stdout; what was done with them on stderr.
    fn print(&self, text: &mut Text) {
        let row = |kind: Option<&str>, path: &PathField| {
            let kind = kind.map(|kind| Cell::people(kind).paint(Paint::warning));
            let cells = kind.into_iter().chain([Cell::people(path.shown())]);
            Row::new(cells.collect())
        };
        let restored = self.restored.iter();
        let mut rows: Vec<Row> = restored.map(|one| row(one.kind, &one.path)).collect();
        let bits = self.write_bits.iter();
        rows.extend(bits.map(|path| row(Some("perm"), path)));
        text.table(&rows, "");
        let name = text.paint.name(&self.name);
        let rescue = self.rescue.as_ref().map(|rescue| &rescue.reference);
        let number = count(rows.len(), "path", "paths");
        let is_nothing = rows.is_empty() && !self.patterns && self.branch.is_none();
        let done = match (self.undo, rescue) {
            (true, Some(rescue)) if is_nothing && self.lost.is_empty() => {
                format!("all is as it was before {rescue}")
            }
            (true, Some(rescue)) if self.dry_run => {
                format!("would bring back {number} from {rescue}")
            }
            (true, Some(rescue)) => format!("brought back {number} from {rescue}"),
            _ if is_nothing && self.rewritten.is_none() && self.commits.is_none() => {
                if self.stays.is_empty() {
                    "nothing to restore"
                } else {
                    "nothing can be put back"
                }
                .to_owned()
            }
            _ => {
                let would = if self.dry_run {
                    "would put back"
                } else {
                    "put back"
                };
                let sparse = if self.patterns {
                    " and the sparse patterns"
                } else {
                    ""
                };
                format!("{would} {number}{sparse}")
            }
        };
        text.tell(format!("{name}: {done}"));
        self.print_commits(text);
    }
}

impl RestoreAnswer {
    /// What became of commits, and how to undo all of it.
    fn print_commits(&self, text: &mut Text) {
        if let Some(BranchMove { from, to }) = &self.branch {
            let goes = if self.dry_run { "would go" } else { "went" };
            let (from, to) = (from.short(), to.short());
            text.tell(format!("its branch {goes} back from {from} to {to}"));
        }
        if let Some(Rewritten { made, dropped, .. }) = self.rewritten {
            let made = count(made, "commit", "commits");
            let dropped = match dropped {
                0 => String::new(),
                n => format!(", {n} dropped"),
            };
            text.tell(format!("made {made} anew, without signatures{dropped}"));
        }
        if let Some(commit) = &self.commit {
            text.tell(format!("committed as {}", commit.short()));
        }
        if let Some(rescue) = self.rescue.as_ref().filter(|_| !self.undo) {
            let (rescue, name) = (&rescue.reference, &self.name);
            text.tell(format!(
                "saved what was there as {rescue}; to bring it back: git agentwt restore {name} --undo"
            ));
        }
        if let Some(commits) = self.commits {
            text.tell(commits);
        }
    }
}

/// Puts back, or undoes that.
///
/// # Errors
/// Fails when it is refused, or git or the disk fails; what was there is then saved.
pub fn run(
    session: &Session,
    options: &crate::cli::Restore,
) -> Result<Outcome<RestoreAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let mut words: Vec<OsString> = options.args.clone();
    let named = arguments::load_named(&repository, &mut words)?;
    words.extend(options.paths.iter().cloned());
    let _lock = Lock::wait(&repository.name_lock(&named.record.name))?;
    // it may have changed while we waited
    let known = Worktree::load(&repository, &named.record.name)?;
    let repository = known.repository(&repository);
    let asked = asked_paths(&repository, &known, words)?;
    let mut outcome = Outcome::done(RestoreAnswer {
        name: known.record.name.to_string(),
        path: known.record.path.clone(),
        dry_run: options.dry_run,
        undo: options.undo.is_some(),
        ..RestoreAnswer::default()
    });
    if let Some(restore) = &options.undo {
        undo(
            &repository,
            &known,
            restore.as_deref(),
            &asked,
            &mut outcome,
        )?;
    } else {
        let survey = collect(&repository, &known)?;
        let facts = facts::read(&repository, &known, &survey, None);
        let plan = plan::plan(&facts, &asked, options.rewrite)?;
        session.check()?;
        restore(
            session,
            &repository,
            &known,
            &survey,
            &plan,
            &asked,
            &mut outcome,
        )?;
    }
    Ok(outcome)
}

/// The paths: relative to where we stand in the worktree, else to its root.
fn asked_paths(
    repository: &Repository,
    known: &Worktree,
    words: Vec<OsString>,
) -> Result<Vec<RepoPath>, Error> {
    let root = &known.record.path;
    let below = arguments::prefix(repository, Some(root));
    let roots = [root, &repository.root];
    let parse = |word| arguments::parse(&below, &roots, &arguments::bytes_of(word));
    let paths: Result<Vec<_>, WorktreeError> = words.into_iter().map(parse).collect();
    Ok(paths?.into_iter().map(|(path, _)| path).collect())
}

fn restore(
    session: &Session,
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    plan: &RestorePlan,
    asked: &[RepoPath],
    outcome: &mut Outcome<RestoreAnswer>,
) -> Result<(), Error> {
    let answer = &mut outcome.answer;
    answer.restored = plan
        .paths
        .iter()
        .map(|violation| RestoredPath {
            path: PathField::from(violation.path.as_bstr()),
            kind: Some(violation.kind.as_str()),
            committed: violation.committed,
            saved: !violation.cannot_be_saved(),
        })
        .collect();
    answer.write_bits = paths(&plan.permissions);
    answer.patterns = plan.sparse;
    answer.stays = paths(plan.stays.iter().map(|violation| &violation.path));
    if !plan.stays.is_empty() {
        outcome.exit = ExitCode::Violations;
    }
    if answer.dry_run {
        answer.commits = match plan.committed().next() {
            _ if plan.rewrite => Some("would make commits anew"),
            Some(_) => Some("would undo what is committed by a new commit"),
            None => None,
        };
    } else if !plan.is_empty() {
        let done = apply::restore(session, repository, known, survey, plan, asked)?;
        answer.rescue = done.rescue.as_ref().map(SavedField::from);
        answer.commit = done.commit;
        answer.rewritten = done.rewritten.filter(|r| r.made + r.dropped > 0);
        // all is done: a failure of this look is not one of the restore
        if let Err(error) = verify_again(repository, known, plan, outcome) {
            let name = &known.record.name;
            let note = format!("{error}; to verify it: git agentwt verify {name}");
            outcome.notes.push(note);
        }
    }
    let name = &known.record.name;
    outcome.notes.extend(plan.stays.iter().map(|v| {
        let path = &v.path;
        format!("{path} stays as it is: its source is not what was placed; see: git agentwt sync {name} --status")
    }));
    let lost = plan.paths.iter().filter(|v| v.cannot_be_saved());
    outcome.notes.extend(lost.map(|v| {
        let path = &v.path;
        format!("{path} is no file: it has no content to save, and --undo does not make it again")
    }));
    Ok(())
}

/// Verifies again, for `list`; notes what is left.
fn verify_again(
    repository: &Repository,
    known: &Worktree,
    plan: &RestorePlan,
    outcome: &mut Outcome<RestoreAnswer>,
) -> Result<(), Error> {
    let changes = collect(repository, known)?.changes;
    let report = verify(&known.scope, changes, VerifyOptions::default());
    if let Err(error) = known.write_verification(&report, &Session::now()) {
        let note = format!("the outcome is not kept for `list`: {error}");
        outcome.notes.push(note);
    }
    let violations = report.violations().filter_map(|v| v.change.place.path());
    for path in violations.filter(|path| plan.paths.iter().any(|v| v.path == **path)) {
        outcome.exit = ExitCode::Violations;
        let note = format!(
            "{path} is still out of scope: somebody works there, or the shared info/attributes changes what git writes"
        );
        outcome.notes.push(note);
    }
    let left = report.violations().count();
    if left > 0 {
        let left = count(left, "violation is left", "violations are left");
        let note = format!("{left}: git agentwt verify {}", known.record.name);
        outcome.notes.push(note);
    }
    Ok(())
}

/// Undoes the restore that is named, or the newest one.
fn undo(
    repository: &Repository,
    known: &Worktree,
    named: Option<&str>,
    asked: &[RepoPath],
    outcome: &mut Outcome<RestoreAnswer>,
) -> Result<(), Error> {
    let name = &known.record.name;
    if let Some(path) = asked.first() {
        return Err(RestoreRefusal::Unknown {
            message: format!("cannot undo the restore of {path} alone"),
            help: format!("--undo brings back all of a restore: git agentwt restore {name} --undo"),
        }
        .into());
    }
    let objects = repository.objects()?;
    let Some(saved) = find_restore(&repository.git, &objects, name, named)? else {
        let help = format!("see what was saved: git for-each-ref refs/agentwt/rescue/{name}/");
        let refusal = match named.map(|text| crate::path::escape_for_terminal(text.as_bytes())) {
            Some(text) => {
                let message = format!("`{text}` names no restore of worktree `{name}`");
                RestoreRefusal::Unknown { message, help }
            }
            None => {
                let message = format!("there is no restore of worktree `{name}` to undo");
                RestoreRefusal::Undo { message, help }
            }
        };
        return Err(refusal.into());
    };
    let survey = collect(repository, known)?;
    let facts = facts::read(repository, known, &survey, Some(&saved));
    let now = facts::read_paths_now(repository, known, &survey, &saved)?;
    let branch = known.record.branch.full_ref();
    let tip = repository.git.rev_parse_commit(&branch)?;
    let plan = plan::plan_undo(&facts, &saved, now, tip.as_ref())?;
    if !outcome.answer.dry_run && !plan.is_empty() {
        apply::undo(repository, known, &saved, &plan)?;
    }
    let answer = &mut outcome.answer;
    for now in &plan.paths {
        let path = PathField::from(now.saved.path.as_bstr());
        if now
            .saved
            .disk
            .is_some_and(|entry| entry.mode == Mode::Special)
        {
            let note = format!("{} was no file, and is not made again", path.shown());
            outcome.notes.push(note);
            answer.lost.push(path);
            continue;
        }
        answer.restored.push(RestoredPath {
            path,
            kind: None,
            committed: false,
            saved: true,
        });
    }
    answer.rescue = Some(SavedField {
        reference: saved.rescue,
        commit: None,
    });
    answer.branch = plan.branch.map(|(from, to)| BranchMove { from, to });
    Ok(())
}
