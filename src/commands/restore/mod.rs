//! `git agentwt restore`: puts out-of-scope changes back, after saving them, and undoes that.

mod apply;
pub mod plan;
mod rewrite;

use std::ffi::OsString;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::plan::RestoreRefusal;
pub use self::rewrite::Rewritten;
use super::{Outcome, Session};
use crate::answer::shapes::{FindingField, PathField, SavedField};
use crate::answer::{Answer, Cell, Paint, Row, Text, VerdictField, and_count, count, when, would};
use crate::disk::files;
use crate::entry::{Entry, Mode};
use crate::error::Error;
use crate::exit::ExitCode;
use crate::name::CommitId;
use crate::path::{RepoPath, escape_for_terminal};
use crate::placed::PlacedOrigin;
use crate::truth::{collect, planted};
use crate::verify::VerifyOptions;
use crate::worktree::saved::find_restores;
use crate::worktree::{Repository, Worktree, arguments};

/// The number of remaining violations that notes name.
const SHOWN: usize = 10;

/// The answer of `restore`, and what it will do.
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
    /// The violations that remain; absent if there are none, and with `-n` or `--undo`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<FindingField>,
    /// What became of commits that were made anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Rewritten>,
    /// How `--undo` moved the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchMove>,
    /// Whether commits are made anew.
    #[serde(skip)]
    pub rewrite: bool,
}

/// A path that was put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoredPath {
    /// The path.
    #[serde(flatten)]
    pub shown: PathField,
    /// What had happened: `created`, `modified`, `deleted`, …; absent with `--undo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Whether a commit had the change.
    pub committed: bool,
    /// Whether the content was saved: a FIFO, a socket or a device has none.
    pub saved: bool,
    /// The path.
    #[serde(skip)]
    pub path: RepoPath,
    /// Whether the scope excludes it: then it is absent from the disk.
    #[serde(skip)]
    pub excluded: bool,
    /// What stands on disk.
    #[serde(skip)]
    pub disk: Option<Entry>,
    /// What it gets back.
    #[serde(skip)]
    pub target: Option<Entry>,
    /// Whether the source of what was placed there still is that, from which it can be put back;
    /// none where nothing was placed.
    #[serde(skip)]
    pub source: Option<bool>,
}

/// How a branch was moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BranchMove {
    /// The commit on which the branch was.
    pub from: CommitId,
    /// The commit on which the branch is.
    pub to: CommitId,
}

impl RestoredPath {
    /// What is to stand on disk.
    pub fn wanted(&self) -> Option<Entry> {
        self.target.filter(|_| !self.excluded)
    }

    /// Whether it gets back what was placed there, from its source.
    pub fn from_source(&self) -> bool {
        self.source == Some(true)
    }
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
        let restored = self.restored.iter().map(|one| row(one.kind, &one.shown));
        let bits = self.write_bits.iter().map(|path| row(Some("perm"), path));
        let rows: Vec<Row> = restored.chain(bits).collect();
        text.table(&rows, "");
        let number = count(rows.len(), "path", "paths");
        let is_nothing = rows.is_empty() && self.is_empty() && self.lost.is_empty();
        let done = match (&self.rescue, self.dry_run) {
            (Some(rescue), _) if self.undo && is_nothing => {
                format!("all is as it was before {}", rescue.reference)
            }
            (Some(rescue), dry_run) if self.undo => {
                let brought = would(dry_run, "brought", "would bring");
                format!("{brought} back {number} from {}", rescue.reference)
            }
            _ if is_nothing && self.stays.is_empty() => "nothing to restore".to_owned(),
            _ if is_nothing => "nothing can be put back".to_owned(),
            (_, dry_run) => {
                let would = when(dry_run, "would ");
                let sparse = when(self.patterns, " and the sparse patterns");
                format!("{would}put back {number}{sparse}")
            }
        };
        text.tell(format!("{}: {done}", text.paint.name(&self.name)));
        self.print_commits(text);
    }
}

impl RestoreAnswer {
    /// Whether all is as the scope says, or as it was.
    fn is_empty(&self) -> bool {
        let paths = self.restored.is_empty() && self.write_bits.is_empty();
        paths && !self.patterns && !self.rewrite && self.branch.is_none()
    }

    /// What became of commits, and how to undo all of it.
    fn print_commits(&self, text: &mut Text) {
        if let Some(BranchMove { from, to }) = &self.branch {
            let goes = would(self.dry_run, "went", "would go");
            let (from, to) = (from.short(), to.short());
            text.tell(format!("its branch {goes} back from {from} to {to}"));
        }
        if let Some(Rewritten { made, dropped, .. }) = self.rewritten {
            let made = count(made, "commit", "commits");
            let dropped = and_count(dropped, "dropped", "dropped");
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
        if self.dry_run && self.rewrite {
            text.tell("would make commits anew");
        } else if self.dry_run && self.restored.iter().any(|one| one.committed) {
            text.tell("would undo what is committed by a new commit");
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
    if !options.dry_run {
        session.require_own(&repository, &named.record.name)?;
    }
    words.extend(options.paths.iter().cloned());
    let (_lock, known) = Worktree::lock(&repository, &named.record.name)?;
    let repository = known.repository(&repository);
    let asked = arguments::parse_all(&repository, &known.record.path, &words)?;
    if !options.dry_run {
        planted::refuse(&repository, &known, "restore")?;
        known.remove_verification()?;
    }
    if let Some(restore) = &options.undo {
        let named = restore.as_deref();
        return undo(session, &repository, &known, named, &asked, options.dry_run);
    }
    let (name, path) = (&known.record.name, &known.record.path);
    if !files::is_directory(path) {
        return Err(RestoreRefusal::blocked(
            format!("cannot restore worktree `{name}`: {path} is gone"),
            format!("to forget it (its branch stays unless merged): git agentwt remove {name}"),
        )
        .into());
    }
    // nothing was changed: a signal ends it
    let survey = session.waiting(|| collect(&repository, &known))?;
    if survey.states.index.damaged {
        let index = known.record.admin_dir.join("index");
        return Err(RestoreRefusal::blocked(
            format!("cannot restore {path}: its index cannot be read"),
            format!(
                "what was staged is lost; to make a new index from HEAD, without touching a file: mv {index} {index}.damaged && git -C {path} reset"
            ),
        )
        .into());
    }
    let facts = plan::read(&repository, &known, &survey, None);
    let mut outcome = Outcome::done(plan::plan(&facts, &asked, options.rewrite)?);
    let answer = &mut outcome.answer;
    answer.dry_run = options.dry_run;
    session.check()?;
    if !answer.stays.is_empty() {
        outcome.exit = ExitCode::Violations;
    }
    if !answer.dry_run {
        if !answer.is_empty() {
            apply::restore(session, &repository, &known, &survey, &asked, answer)?;
        }
        // all is done: a failure of this look is not one of the restore
        if let Err(error) = verify_again(&repository, &known, &mut outcome) {
            let note = format!("{error}; to verify it: git agentwt verify {name}");
            outcome.notes.push(note);
        }
    }
    let (answer, placed) = (&outcome.answer, known.placed()?);
    outcome.notes.extend(answer.stays.iter().map(|path| {
        let known = RepoPath::parse(path.path.as_str()).ok();
        let origin = known.and_then(|path| placed.get(&path).map(|file| file.origin));
        let why = if origin == Some(PlacedOrigin::Setup) {
            "the set-up created it, and its content is not kept".to_owned()
        } else {
            format!("its source is not what was placed; see: git agentwt sync {name} --status")
        };
        format!("{} stays as it is: {why}", path.shown())
    }));
    let lost = answer.restored.iter().filter(|one| !one.saved);
    outcome.notes.extend(lost.map(|one| {
        let path = &one.path;
        format!("{path} is not a regular file: its content cannot be saved, and --undo does not make it again")
    }));
    Ok(outcome)
}

/// Verifies again, for `list`; notes what is left.
fn verify_again(
    repository: &Repository,
    known: &Worktree,
    outcome: &mut Outcome<RestoreAnswer>,
) -> Result<(), Error> {
    let notes = &mut outcome.notes;
    // placed files that came back renewed the digests in the record
    let known = &Worktree::load(repository.home(), &known.record.name)?;
    let changes = collect(repository, known)?.changes;
    let report = known.judge(changes, VerifyOptions::default());
    if let Err(error) = known.write_verification(&report, &Session::now()) {
        notes.push(format!("the outcome is not kept for `list`: {error}"));
    }
    let record = &known.record;
    let verdict = VerdictField::worktree(record.name.as_str(), record.path.clone(), &report);
    if verdict.valid {
        return Ok(());
    }
    outcome.exit = ExitCode::Violations;
    let name = &record.name;
    for left in verdict.violations.iter().take(SHOWN) {
        let (place, kind) = (left.change.shown(), left.change.kind);
        notes.push(format!(
            "a violation is left: {place} {kind}: {}",
            left.why()
        ));
    }
    if let more @ 1.. = verdict.violations.len().saturating_sub(SHOWN) {
        notes.push(format!(
            "{more} more violations are left: git agentwt verify {name}"
        ));
    }
    notes.extend(verdict.remedies());
    outcome.answer.violations = verdict.violations;
    Ok(())
}

/// Undoes the restore that is named, or the newest one.
fn undo(
    session: &Session,
    repository: &Repository,
    known: &Worktree,
    named: Option<&str>,
    asked: &[RepoPath],
    dry_run: bool,
) -> Result<Outcome<RestoreAnswer>, Error> {
    let name = &known.record.name;
    if let Some(path) = asked.first() {
        return Err(RestoreRefusal::Unknown {
            message: format!("cannot undo the restore of {path} alone"),
            help: format!("--undo brings back all of a restore: git agentwt restore {name} --undo"),
        }
        .into());
    }
    let objects = repository.objects()?;
    let mut found = find_restores(&repository.git, &objects, name, named)?.into_iter();
    let Some(saved) = found.next() else {
        let help = format!("see what was saved: git for-each-ref refs/agentwt/rescue/{name}/");
        let refusal = match named.map(|text| escape_for_terminal(text.as_bytes())) {
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
    let survey = session.waiting(|| collect(repository, known))?;
    let facts = plan::read(repository, known, &survey, Some(&saved));
    // nothing was changed: a signal ends it
    let now = session.waiting(|| plan::read_paths_now(repository, known, &survey, &saved))?;
    let branch = known.record.branch.full_ref();
    let tip = repository.git.rev_parse_commit(&branch)?;
    let plan = plan::plan_undo(&facts, &saved, now, tip.as_ref())?;
    let is_empty = plan.paths.is_empty() && plan.branch.is_none();
    if !dry_run && !is_empty {
        apply::undo(repository, known, &saved, &plan)?;
    }
    let restored = plan.paths.iter().map(|now| RestoredPath {
        shown: PathField::from(now.saved.path.as_bstr()),
        kind: None,
        committed: false,
        saved: true,
        path: now.saved.path.clone(),
        excluded: false,
        disk: now.saved.disk,
        target: now.saved.disk,
        source: None,
    });
    let is_special = |one: &RestoredPath| one.disk.is_some_and(|disk| disk.mode == Mode::Special);
    let (lost, restored): (Vec<_>, Vec<_>) = restored.partition(is_special);
    let mut outcome = Outcome::done(RestoreAnswer {
        name: name.to_string(),
        path: known.record.path.clone(),
        dry_run,
        undo: true,
        restored,
        rescue: Some(SavedField {
            reference: saved.rescue.clone(),
            commit: None,
        }),
        branch: plan.branch,
        ..RestoreAnswer::default()
    });
    if !dry_run {
        // the restore may only have gone on where a killed one had ended
        let earlier = found.next().map(|earlier| earlier.rescue);
        outcome.notes.extend(earlier.map(|rescue| {
            format!(
                "to undo an earlier restore as well: git agentwt restore {name} --undo={rescue}"
            )
        }));
    }
    for one in lost {
        let note = format!("{} was no file, and is not made again", one.path);
        outcome.notes.push(note);
        outcome.answer.lost.push(one.shown);
    }
    Ok(outcome)
}
