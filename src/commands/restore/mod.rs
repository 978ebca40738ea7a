//! `git agentwt restore`: puts out-of-scope changes back, after saving them, and undoes that.
//!
//! What is put back, and how, is decided and done in `actions/restore/`.

pub mod answer;
pub mod arguments;

use std::ffi::OsString;

use crate::actions::restore::apply::{Restoring, half_restored};
use crate::actions::restore::bring_back;
use crate::actions::restore::facts;
use crate::actions::restore::plan::{RestorePlan, plan};
use crate::actions::restore::refusal::RestoreRefusal;
use crate::actions::restore::undo_plan::UndoPlan;
use crate::actions::saved::{SavedRestore, Saving, find_restores};
use crate::answer::shapes::SavedWork;
use crate::answer::verdict::VerdictReport;
use crate::commands::restore::answer::{RestoreAnswer, RestoredPath, SHOWN};
use crate::commands::restore::arguments::Restore;
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::inventory::placed::PlacedOrigin;
use crate::judge::finding::VerifyOptions;
use crate::truth::survey::Survey;
use crate::truth::{collect, planted};
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::path::RepoPath;
use crate::words::path_text::{PathText, paths};
use crate::worktree::loaded::Worktree;
use crate::worktree::operands;
use crate::worktree::repository::Repository;

/// Puts out-of-scope changes back, or undoes an earlier restore.
///
/// 1. Locks the worktree that is named, and reads the paths that are named.
/// 2. Refuses a worktree with planted settings; removes the file of its last verification.
/// 3. With `--undo`, goes on in `undo`; else surveys the worktree.
/// 4. Decides what each path gets back ([`plan`]).
/// 5. Saves what stands there, and puts the paths back (`apply`).
/// 6. Verifies again, and notes what could not be put back or saved.
///
/// # Errors
/// Fails when it is refused, or git or the disk fails; what was there is then saved.
pub fn run(session: &Session, options: &Restore) -> Result<Outcome<RestoreAnswer>, Error> {
    let main_repository = session.repository_to_change()?;
    if options.rewrite {
        return Err(RestoreRefusal::rewrite().into());
    }
    let mut operands: Vec<OsString> = options.args.clone();
    let named = operands::load_named(&main_repository, &mut operands)?;
    if !options.dry_run {
        session.require_own(&main_repository, &named.record.name)?;
    }
    operands.extend(options.paths.iter().cloned());
    let (_lock, worktree) = Worktree::lock(&main_repository, &named.record.name)?;
    let repository = worktree.repository(&main_repository);
    let asked = operands::parse_all(&repository, &worktree.record.path, &operands)?;
    if !options.dry_run {
        planted::refuse(&repository, &worktree, "restore")?;
        worktree.remove_verification()?;
    }
    if let Some(rescue) = &options.undo {
        require_no_paths(&worktree, &asked)?;
        return undo(session, &repository, &worktree, options, rescue.as_deref());
    }
    require_directory(&worktree)?;
    // nothing was changed: a signal ends it
    let survey = session.waiting(|| collect(&repository, &worktree))?;
    require_readable_index(&worktree, &survey)?;
    let facts = facts::read(&repository, &worktree, &survey, None);
    let plan = plan(&facts, &asked)?;
    let mut outcome = Outcome::done(answer(&worktree, &plan));
    outcome.answer.dry_run = options.dry_run;
    session.check()?;
    if !outcome.answer.stays.is_empty() {
        outcome.exit = ExitCode::Violations;
    }
    if !options.dry_run {
        if !plan.is_empty() {
            let restoring = Restoring {
                repository: &repository,
                worktree: &worktree,
                plan: &plan,
                survey: &survey,
                saving: Saving::begin(&repository, &worktree.record.name)?,
                progress: &session.progress,
            };
            apply(session, &restoring, &mut outcome.answer)?;
        }
        note_verdict(&repository, &worktree, &mut outcome);
    }
    note_unrestored(&worktree, &mut outcome)?;
    note_unsaved(&mut outcome);
    Ok(outcome)
}

/// Verifies the worktree, and notes what is still violated. All is done: a failure of this look is
/// not one of the restore.
fn note_verdict(
    repository: &Repository,
    worktree: &Worktree,
    outcome: &mut Outcome<RestoreAnswer>,
) {
    if let Err(error) = verify_again(repository, worktree, outcome) {
        let name = &worktree.record.name;
        let note = format!("{error}; to verify it: git agentwt verify {name}");
        outcome.notes.push(note);
    }
}

/// Returns the answer of a restore that does what is planned.
fn answer(worktree: &Worktree, plan: &RestorePlan) -> RestoreAnswer {
    let mut restored = Vec::new();
    for path in &plan.restored {
        restored.push(RestoredPath {
            shown: PathText::from(path.path.as_bstr()),
            kind: Some(path.kind),
            committed: path.committed,
            saved: path.can_be_saved,
        });
    }
    RestoreAnswer {
        name: worktree.record.name.to_string(),
        path: worktree.record.path.clone(),
        restored,
        write_bits: paths(plan.write_bits.iter().map(RepoPath::as_bstr)),
        patterns: plan.patterns,
        stays: paths(plan.stays.iter().map(RepoPath::as_bstr)),
        ..RestoreAnswer::default()
    }
}

/// Saves what stands at the paths, puts them back, and completes the answer.
fn apply(
    session: &Session,
    restoring: &Restoring<'_>,
    answer: &mut RestoreAnswer,
) -> Result<(), Error> {
    let commit = restoring.write_commit()?;
    // a large file takes long, and nothing was changed: a signal ends it, and the next call removes
    // what was stored
    let paths = session.waiting(|| restoring.read_paths())?;
    let before = restoring.save(commit, paths, &Session::now())?;
    restoring.apply(&before)?;
    answer.rescue = before.rescue.as_ref().map(SavedWork::from);
    answer.commit = before.commit;
    Ok(())
}

/// Refuses to undo a part of a restore.
fn require_no_paths(worktree: &Worktree, asked: &[RepoPath]) -> Result<(), RestoreRefusal> {
    let Some(path) = asked.first() else {
        return Ok(());
    };
    let name = &worktree.record.name;
    Err(RestoreRefusal::Unknown {
        message: format!("cannot undo the restore of {path} alone"),
        help: format!("--undo brings back all of a restore: git agentwt restore {name} --undo"),
    })
}

/// Refuses a worktree whose directory is gone.
fn require_directory(worktree: &Worktree) -> Result<(), RestoreRefusal> {
    let name = &worktree.record.name;
    let path = &worktree.record.path;
    if files::is_directory(path) {
        return Ok(());
    }
    Err(RestoreRefusal::blocked(
        format!("cannot restore worktree `{name}`: {path} is gone"),
        format!("to forget it (its branch stays unless merged): git agentwt remove {name}"),
    ))
}

/// Refuses a worktree whose index cannot be read.
fn require_readable_index(worktree: &Worktree, survey: &Survey) -> Result<(), RestoreRefusal> {
    if !survey.states.index.damaged {
        return Ok(());
    }
    let path = &worktree.record.path;
    let index = worktree.record.admin_dir.join("index");
    Err(RestoreRefusal::blocked(
        format!("cannot restore {path}: its index cannot be read"),
        format!(
            "what was staged is lost; to make a new index from HEAD, without touching a file: \
                mv {index} {index}.damaged && git -C {path} reset"
        ),
    ))
}

/// Notes why each placed file that stays as it is was not put back.
fn note_unrestored(worktree: &Worktree, outcome: &mut Outcome<RestoreAnswer>) -> Result<(), Error> {
    let name = &worktree.record.name;
    let placed = worktree.placed()?;
    for shown in &outcome.answer.stays {
        let path = RepoPath::parse(shown.path.as_str()).ok();
        let file = path.and_then(|path| placed.get(&path));
        let why = if file.is_some_and(|file| file.origin == PlacedOrigin::Setup) {
            "the set-up created it, and its content is not kept".to_owned()
        } else {
            format!("its source is not what was placed; see: git agentwt sync {name} --status")
        };
        let note = format!("{} stays as it is: {why}", shown.shown());
        outcome.notes.push(note);
    }
    Ok(())
}

/// Notes each restored path whose content could not be saved.
fn note_unsaved(outcome: &mut Outcome<RestoreAnswer>) {
    for restored in &outcome.answer.restored {
        if !restored.saved {
            let path = restored.shown.shown();
            outcome.notes.push(format!(
                "{path} is not a regular file: its content cannot be saved, and --undo does not \
                make it again"
            ));
        }
    }
}

/// Verifies the worktree again, keeps the outcome for `list`, and notes the violations that remain.
fn verify_again(
    repository: &Repository,
    before: &Worktree,
    outcome: &mut Outcome<RestoreAnswer>,
) -> Result<(), Error> {
    // placed files that came back renewed the digests in the record
    let worktree = Worktree::load(repository.home(), &before.record.name)?;
    let changes = collect(repository, &worktree)?.changes;
    let report = worktree.judge(changes, VerifyOptions::default());
    let notes = &mut outcome.notes;
    if let Err(error) = worktree.write_verification(&report, &Session::now()) {
        notes.push(format!("the outcome is not kept for `list`: {error}"));
    }
    let name = &worktree.record.name;
    let path = worktree.record.path.clone();
    let verdict = VerdictReport::worktree(name.as_str(), path, &report);
    if verdict.valid {
        return Ok(());
    }
    outcome.exit = ExitCode::Violations;
    for violation in verdict.violations.iter().take(SHOWN) {
        let place = &violation.change.place;
        let kind = violation.change.kind.as_str();
        let why = violation.why();
        notes.push(format!("a violation is left: {place} {kind}: {why}"));
    }
    let unnamed = verdict.violations.len().saturating_sub(SHOWN);
    if unnamed > 0 {
        notes.push(format!(
            "{unnamed} more violations are left: git agentwt verify {name}"
        ));
    }
    notes.extend(verdict.remedies());
    outcome.answer.violations = verdict.violations;
    Ok(())
}

/// Undoes the restore that `rescue` names, or the newest one.
///
/// 1. Finds the restore.
/// 2. Surveys the worktree, and reads how its paths are now.
/// 3. Decides what comes back; refuses if any of it was worked on since.
/// 4. Brings it back.
fn undo(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    options: &Restore,
    rescue: Option<&str>,
) -> Result<Outcome<RestoreAnswer>, Error> {
    let name = &worktree.record.name;
    let objects = repository.objects()?;
    let restores = find_restores(&repository.git, &objects, name, rescue)?;
    let Some(saved) = restores.first() else {
        return Err(RestoreRefusal::nothing_to_undo(name, rescue).into());
    };
    let survey = session.waiting(|| collect(repository, worktree))?;
    // nothing was changed: a signal ends it
    let plan = session.waiting(|| bring_back::plan(repository, worktree, &survey, saved))?;
    if !options.dry_run && !plan.is_empty() {
        bring_back::apply(repository, worktree, saved, &plan)
            .map_err(|error| half_restored(worktree, &saved.rescue, error))?;
    }
    let mut outcome = undo_outcome(worktree, saved, plan);
    outcome.answer.dry_run = options.dry_run;
    Ok(outcome)
}

/// Returns the outcome of an undo; what was no file is not made again, and noted.
fn undo_outcome(
    worktree: &Worktree,
    saved: &SavedRestore,
    plan: UndoPlan,
) -> Outcome<RestoreAnswer> {
    let mut outcome = Outcome::done(RestoreAnswer {
        name: worktree.record.name.to_string(),
        path: worktree.record.path.clone(),
        undo: true,
        rescue: Some(SavedWork {
            reference: saved.rescue.clone(),
            commit: None,
        }),
        branch: plan.branch,
        ..RestoreAnswer::default()
    });
    for now in plan.paths {
        let path = now.saved.path;
        let shown = PathText::from(path.as_bstr());
        let disk = now.saved.disk;
        if disk.is_some_and(|entry| entry.mode == Mode::Special) {
            let note = format!("{path} was no file, and is not made again");
            outcome.notes.push(note);
            outcome.answer.lost.push(shown);
            continue;
        }
        outcome.answer.restored.push(RestoredPath {
            shown,
            kind: None,
            committed: false,
            saved: true,
        });
    }
    outcome
}
