//! Widens or narrows the scope of a worktree that is there, and takes that back.

use crate::actions::placing::{Destination, Placing};
use crate::actions::reapply::apply::Reapplied;
use crate::actions::reapply::plan::{ScopeRequest, plan};
use crate::actions::restore::facts::read_own_index;
use crate::actions::scope_edit::Listing;
use crate::client::guards::{GuardFacts, top_entries};
use crate::client::layout::ContextFile;
use crate::client::programs::guarded_by;
use crate::commands::scope::answer::{ScopeAnswer, ScopeChange};
use crate::commands::scope::arguments::ScopeArguments;
use crate::commands::{Outcome, Session};
use crate::disk::drift::is_unchanged;
use crate::disk::entries::stat_entries;
use crate::disk::files;
use crate::disk::mode::BitsChange;
use crate::inventory::placed::{Placed, PlacedOrigin};
use crate::refusal::Refusal;
use crate::scope::rule::{RuleText, ScopeRule};
use crate::truth::planted;
use crate::words::error::Error;
use crate::words::path::{RepoPath, first_of};
use crate::words::path_text::paths;
use crate::worktree::decisions::{new_decision, require_outside};
use crate::worktree::loaded::{CONTEXT, Worktree};
use crate::worktree::repository::Repository;
use crate::worktree::run_status::{RunProgress, RunStatus};

/// How many files a note names.
const MOST_NAMED: usize = 20;

/// Adds rules to the scope of a worktree, or removes the rules that the last call added.
///
/// 1. Locks the worktree.
/// 2. Plans the next scope.
/// 3. Refuses to take files from a command that is running, and planted settings and hooks, since git
///    would run them; applies the scope, or with `-n` reads what that would change.
/// 4. Writes the guards of the agent program anew.
///
/// # Errors
/// Fails when it is refused, a pattern is invalid, or git or the disk fails; the scope is then the
/// former one.
pub fn run(session: &Session, options: &ScopeArguments) -> Result<Outcome<ScopeAnswer>, Error> {
    let [name] = options.args.as_slice() else {
        return Err(Refusal::OneName.into());
    };
    if !options.paths.is_empty() {
        return Err(Refusal::OneName.into());
    }
    // 1
    let home = session.repository_to_change()?;
    require_outside(&home, &session.command_line)?;
    let named = Worktree::of(&home, Some(&name.to_string_lossy()))?;
    let (_lock, worktree) = Worktree::lock(&home, &named.record.name)?;
    // 2
    let (next, rules) = plan_next(&worktree, options)?;
    let repository = worktree.repository(&home);
    let advice = new_advice(&repository, &worktree, &next)?;
    session.check()?;
    // 3
    let reapplied = apply(&repository, &worktree, &next, options)?;
    let mut outcome = Outcome::done(ScopeAnswer {
        change: Some(ScopeChange {
            name: worktree.record.name.to_string(),
            dry_run: options.dry_run,
            undo: options.undo,
            changed_rules: rules.iter().map(RuleText::from).collect(),
            write_bits: paths(&reapplied.bits.changed),
            present: paths(&reapplied.present),
        }),
        ..ScopeAnswer::default()
    });
    outcome.notes.extend(advice);
    outcome.notes.extend(reapplied.notes());
    let placed = worktree.placed()?;
    outcome.notes.extend(note_of_context(&placed));
    outcome
        .notes
        .extend(note_of_excluded_copies(&placed, &next));
    // 4; a failure is only noted, as the scope is changed
    if !options.dry_run {
        match renew_guards(session, &home, &next, placed) {
            Ok(notes) => outcome.notes.extend(notes),
            Err(error) => {
                let note = format!("the guards still have the former scope: {error}");
                outcome.notes.push(note);
            }
        }
    }
    Ok(outcome)
}

/// Refuses what must not be done now, and applies the next scope; with `-n`, reads what that would
/// change.
fn apply(
    repository: &Repository,
    worktree: &Worktree,
    next: &Worktree,
    options: &ScopeArguments,
) -> Result<Reapplied, Error> {
    if options.dry_run {
        return next.apply_scope(repository, BitsChange::Preview);
    }
    refuse_to_narrow_in_run(repository, worktree, next)?;
    planted::refuse(repository, worktree, "change the scope of")?;
    next.clone().change_scope(repository)
}

/// Refuses to take files away while a command runs that has an index of its own: nothing there says
/// that they are absent on purpose, and `git add -A` would stage them as deleted.
fn refuse_to_narrow_in_run(
    repository: &Repository,
    worktree: &Worktree,
    next: &Worktree,
) -> Result<(), Error> {
    let progress = RunStatus::read(repository, worktree)?.progress;
    if !matches!(progress, RunProgress::Running { pid: Some(_) }) {
        return Ok(());
    }
    let mut before = worktree.scope.classifier();
    let mut after = next.scope.classifier();
    for entry in read_own_index(repository, worktree)? {
        if after.excludes_file(&entry.path) && !before.excludes_file(&entry.path) {
            let name = worktree.record.name.to_string();
            return Err(Refusal::NarrowedInRun { name }.into());
        }
    }
    Ok(())
}

/// Says that a text for the agent program, if one was placed in the worktree, is out of date.
fn note_of_context(placed: &Placed) -> Option<String> {
    let mut files = placed.files().iter();
    if !files.any(|file| file.origin == PlacedOrigin::Context) {
        return None;
    }
    Some("the text for the agent program still states the former scope: tell the agent".to_owned())
}

/// Names the untracked files that were copied into the worktree and that the next scope excludes: the
/// agent may have them.
fn note_of_excluded_copies(placed: &Placed, next: &Worktree) -> Option<String> {
    let mut classifier = next.scope.classifier();
    let mut copies = Vec::new();
    for file in placed.files() {
        let is_copy = file.origin == PlacedOrigin::Synced;
        let place = next.record.path.join(file.path.to_string());
        if is_copy && classifier.excludes_file(&file.path) && files::exists(&place) {
            copies.push(file.path.to_string());
        }
    }
    if copies.is_empty() {
        return None;
    }
    let name = &next.record.name;
    let listed = first_of(&copies, MOST_NAMED);
    Some(format!(
        "copies of files that are excluded now are still in the worktree: {listed}; to take all \
         copies away, and to copy again what is not excluded: git agentwt sync --clean {name} && \
         git agentwt sync {name}"
    ))
}

/// Writes those guards of the agent program that are in the worktree anew, for the next scope. A
/// file that was edited stays as it is; returns notes on such files.
fn renew_guards(
    session: &Session,
    home: &Repository,
    next: &Worktree,
    placed: Placed,
) -> Result<Vec<String>, Error> {
    let root = &next.record.path;
    let mut renewed = Vec::new();
    let mut notes = Vec::new();
    let mut placing = Placing::default();
    for guard in guards_of(session, home, next, &placed)? {
        let Some(file) = placed.get(&guard.path) else {
            continue;
        };
        let content_as_placed = files::read(&next.dir.join(CONTEXT).join(guard.path.to_string()))?;
        if content_as_placed.as_ref() == Some(&guard.content) {
            continue;
        }
        // before its content: `place` replaces the file only if these stat data are still true
        let stats = stat_entries(root, [&guard.path].into_iter())?.entries;
        let is_as_placed = is_unchanged(root, None, file).unwrap_or(false);
        if let Some(stat) = stats.get(&guard.path)
            && is_as_placed
        {
            placing.over.insert(guard.path.clone(), *stat);
            renewed.push(guard);
        } else {
            notes.push(format!(
                "{} was edited and keeps the former scope; `git agentwt guard` goes by the new \
                    scope",
                guard.path
            ));
        }
    }
    if !renewed.is_empty() {
        placing.before = placed;
        placing.add_context(&renewed, &next.scope);
        let stop = || session.check();
        let to = Destination::new(home, next, &session.progress, &stop);
        notes.extend(to.place(&placing)?.keep());
    }
    Ok(notes)
}

/// Generates the guards for a scope; nothing if no client with guards is in the worktree.
fn guards_of(
    session: &Session,
    home: &Repository,
    next: &Worktree,
    placed: &Placed,
) -> Result<Vec<ContextFile>, Error> {
    let Some(client) = guarded_by(placed) else {
        return Ok(Vec::new());
    };
    let listing = Listing::read(&next.repository(home), &next.record.base.commit)?;
    let facts = GuardFacts {
        scope: &next.scope,
        worktree: &next.record.path,
        closed_root: &home.closed_root(),
        binary: &session.binary,
        top: &top_entries(listing.entries.iter().map(|(path, _)| path)),
    };
    let is_placed =
        |path: &&str| RepoPath::parse(*path).is_ok_and(|path| placed.get(&path).is_some());
    let context = client.files.iter().map(|file| file.path).find(is_placed);
    Ok(client.guard_files(&facts, context.unwrap_or_default()))
}

/// Computes the worktree with the scope that the options ask for, and lists the rules in which the
/// two scopes differ.
fn plan_next(
    worktree: &Worktree,
    options: &ScopeArguments,
) -> Result<(Worktree, Vec<ScopeRule>), Error> {
    let request = if options.undo {
        ScopeRequest::UndoLast
    } else {
        ScopeRequest::Add(options.added(), new_decision(&worktree.record.name))
    };
    let plan = plan(&worktree.record, request)?;
    let next = Worktree {
        record: plan.record,
        scope: plan.scope,
        ..worktree.clone()
    };
    Ok((next, plan.rules))
}

/// What there is to say of the new rules only.
fn new_advice(
    repository: &Repository,
    worktree: &Worktree,
    next: &Worktree,
) -> Result<Vec<String>, Error> {
    let listing = Listing::read(repository, &worktree.record.base.commit)?;
    let before = listing.coverage(&worktree.scope).advice;
    let mut advice = listing.coverage(&next.scope).advice;
    advice.retain(|line| !before.contains(line));
    Ok(advice)
}
