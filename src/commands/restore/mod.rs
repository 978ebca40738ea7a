//! `git agentwt restore`: puts out-of-scope changes back, after saving them, and undoes that.

pub mod answer;
pub mod apply;
pub mod arguments;
pub mod plan;
pub mod rewrite;

use crate::actions::saved::find_restores;
use crate::answer::shapes::{PathField, SavedField};
use crate::answer::verdict::VerdictField;
use crate::commands::restore::answer::{RestoreAnswer, RestoredPath, SHOWN};
use crate::commands::restore::plan::RestoreRefusal;
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::inventory::placed::PlacedOrigin;
use crate::judge::finding::VerifyOptions;
use crate::truth::{collect, planted};
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::path::{RepoPath, escape_for_terminal};
use crate::worktree::loaded::Worktree;
use crate::worktree::operands;
use crate::worktree::repository::Repository;
use std::ffi::OsString;

/// Puts back, or undoes that.
///
/// # Errors
/// Fails when it is refused, or git or the disk fails; what was there is then saved.
pub fn run(
    session: &Session,
    options: &crate::commands::restore::arguments::Restore,
) -> Result<Outcome<RestoreAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let mut words: Vec<OsString> = options.args.clone();
    let named = operands::load_named(&repository, &mut words)?;
    if !options.dry_run {
        session.require_own(&repository, &named.record.name)?;
    }
    words.extend(options.paths.iter().cloned());
    let (_lock, known) = Worktree::lock(&repository, &named.record.name)?;
    let repository = known.repository(&repository);
    let asked = operands::parse_all(&repository, &known.record.path, &words)?;
    if !options.dry_run {
        planted::refuse(&repository, &known, "restore")?;
        known.remove_verification()?;
    }
    if let Some(restore) = &options.undo {
        let named = restore.as_deref();
        return undo(session, &repository, &known, named, &asked, options.dry_run);
    }
    let name = &known.record.name;
    let path = &known.record.path;
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
                "what was staged is lost; to make a new index from HEAD, without touching a file: \
                    mv {index} {index}.damaged && git -C {path} reset"
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
    let answer = &outcome.answer;
    let placed = known.placed()?;
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
        format!(
            "{path} is not a regular file: its content cannot be saved, and --undo does not \
            make it again"
        )
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
        let place = left.change.shown();
        let kind = left.change.kind;
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
