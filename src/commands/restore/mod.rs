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
use crate::answer::shapes::{RefusedFile, SavedWork};
use crate::answer::verdict::VerdictReport;
use crate::commands::restore::answer::{RestoreAnswer, RestoredPath, SHOWN};
use crate::commands::restore::arguments::Restore;
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::disk::mode::remove_refused;
use crate::inventory::placed::PlacedOrigin;
use crate::judge::finding::VerifyOptions;
use crate::truth::survey::Survey;
use crate::truth::{collect, planted};
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;
use crate::words::path::{RepoPath, shell_word};
use crate::words::path_text::{PathText, paths};
use crate::worktree::loaded::Worktree;
use crate::worktree::operands;
use crate::worktree::repository::Repository;

/// Puts out-of-scope changes back, or undoes an earlier restore.
///
/// 1. Locks the worktree, and parses the paths that are named.
/// 2. Refuses planted settings and hooks, since git would run them; forgets the last verification,
///    since it no longer holds.
/// 3. Restores, or with `--undo` undoes a restore.
///
/// # Errors
/// Fails when it is refused, or git or the disk fails; what was there is then saved.
pub fn run(session: &Session, options: &Restore) -> Result<Outcome<RestoreAnswer>, Error> {
    let main_repository = session.repository_to_change()?;
    if options.rewrite {
        return Err(RestoreRefusal::rewrite().into());
    }
    // 1
    let mut operands: Vec<OsString> = options.args.clone();
    // takes the name of the worktree out of the operands
    let named = operands::load_named(&main_repository, &mut operands)?;
    if !options.dry_run {
        session.require_own(&main_repository, &named.record.name)?;
    }
    operands.extend(options.paths.iter().cloned());
    let (_lock, worktree) = Worktree::lock(&main_repository, &named.record.name)?;
    let repository = worktree.repository(&main_repository);
    let paths = operands::parse_all(&repository, &worktree.record.path, &operands)?;
    // 2
    if !options.dry_run {
        planted::refuse(&repository, &worktree, "restore")?;
        worktree.remove_verification()?;
    }
    // 3
    match &options.undo {
        None => restore(session, &repository, &worktree, options, &paths),
        Some(rescue) => {
            require_no_paths(&worktree, &paths)?;
            undo(session, &repository, &worktree, options, rescue.as_deref())
        }
    }
}

/// Puts the out-of-scope changes at these paths back, or all if there are no paths.
///
/// 1. Surveys the worktree.
/// 2. Decides what each path gets back ([`plan`]).
/// 3. Saves what stands there, and puts the paths back.
/// 4. Verifies again.
/// 5. Notes what could not be put back or saved.
fn restore(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    options: &Restore,
    paths: &[RepoPath],
) -> Result<Outcome<RestoreAnswer>, Error> {
    require_directory(worktree)?;
    // 1; a signal ends it at once, as nothing was changed yet
    let survey = session.waiting(|| collect(repository, worktree))?;
    require_readable_index(worktree, &survey)?;
    // 2
    let facts = facts::read(repository, worktree, &survey, None);
    let restore_plan = plan(&facts, paths)?;
    let mut outcome = Outcome::done(answer(worktree, &restore_plan));
    outcome.answer.dry_run = options.dry_run;
    if !restore_plan.stays.is_empty() {
        outcome.exit = ExitCode::Violations;
    }
    session.check()?;
    // 3
    if !options.dry_run && !restore_plan.is_empty() {
        let restoring = Restoring {
            repository,
            worktree,
            plan: &restore_plan,
            survey: &survey,
            saving: Saving::begin(repository, &worktree.record.name)?,
            progress: &session.progress,
        };
        apply(session, &restoring, &mut outcome.answer)?;
        if !outcome.answer.refused.is_empty() {
            outcome.exit = ExitCode::Disk;
        }
    }
    // 4
    if !options.dry_run {
        note_verdict(repository, &worktree.record.name, &mut outcome);
    }
    // 5
    note_unrestored(worktree, &mut outcome)?;
    note_unsaved(&mut outcome);
    Ok(outcome)
}

/// Verifies the worktree again, and notes the violations that are left. The restore itself is done:
/// a failure to verify is a note, not an error.
fn note_verdict(
    repository: &Repository,
    name: &WorktreeName,
    outcome: &mut Outcome<RestoreAnswer>,
) {
    match verify_again(repository, name, &mut outcome.notes) {
        Ok(verdict) => note_violations(name, verdict, outcome),
        Err(error) => {
            let note = format!("{error}; to verify it: git agentwt verify {name}");
            outcome.notes.push(note);
        }
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
    let paths_before = session.waiting(|| restoring.read_paths())?;
    let before = restoring.save(commit, paths_before, &Session::now())?;
    let refused = restoring.apply(&before)?;
    let mut write_bits = restoring.plan.write_bits.clone();
    remove_refused(&mut write_bits, &refused);
    answer.write_bits = paths(write_bits.iter().map(RepoPath::as_bstr));
    answer.refused = RefusedFile::all(&refused);
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
    let index = shell_word(worktree.record.admin_dir.join("index").as_str());
    let word = shell_word(path.as_str());
    Err(RestoreRefusal::blocked(
        format!("cannot restore {path}: its index cannot be read"),
        format!(
            "where git reads it (git -C {word} status), it is a sparse one; to make it whole: git \
             -C {word} sparse-checkout reapply --no-sparse-index; else what was staged is lost; to \
             make a new index from HEAD, without touching a file: mv {index} {index}.damaged && \
             git -C {word} reset"
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

/// Verifies the worktree as it is after the restore, and stores the verdict for `list`.
fn verify_again(
    repository: &Repository,
    name: &WorktreeName,
    notes: &mut Vec<String>,
) -> Result<VerdictReport, Error> {
    // loaded again: placed files that came back have new digests in the record
    let worktree = Worktree::load(repository.home(), name)?;
    let changes = collect(repository, &worktree)?.changes;
    let report = worktree.judge(changes, VerifyOptions::default());
    if let Err(error) = worktree.write_verification(&report, &Session::now()) {
        notes.push(format!("the outcome is not kept for `list`: {error}"));
    }
    let path = worktree.record.path.clone();
    Ok(VerdictReport::worktree(name.as_str(), path, &report))
}

/// Notes the violations that are left, and sets the exit status if there are any.
fn note_violations(
    name: &WorktreeName,
    verdict: VerdictReport,
    outcome: &mut Outcome<RestoreAnswer>,
) {
    if verdict.valid {
        return;
    }
    outcome.exit = ExitCode::Violations;
    for violation in verdict.violations.iter().take(SHOWN) {
        let place = &violation.change.place;
        let kind = violation.change.kind.as_str();
        let why = violation.why();
        let note = format!("a violation is left: {place} {kind}: {why}");
        outcome.notes.push(note);
    }
    let unnamed = verdict.violations.len().saturating_sub(SHOWN);
    if unnamed > 0 {
        outcome.notes.push(format!(
            "{unnamed} more violations are left: git agentwt verify {name}"
        ));
    }
    outcome.notes.extend(verdict.remedies());
    outcome.answer.violations = verdict.violations;
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

/// Returns the outcome of an undo that has done what is planned, or would (`-n`). A FIFO, socket or
/// device is not created again: it is lost, and a note says so.
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
    for planned in plan.paths {
        let path = planned.saved.path;
        let shown = PathText::from(path.as_bstr());
        let entry_on_disk = planned.saved.disk;
        if entry_on_disk.is_some_and(|entry| entry.mode == Mode::Special) {
            let note = format!("{path} was no file, and is not made again");
            outcome.notes.push(note);
            outcome.answer.lost.push(shown);
        } else {
            outcome.answer.restored.push(RestoredPath {
                shown,
                kind: None,
                committed: false,
                saved: true,
            });
        }
    }
    outcome
}
