//! `git agentwt add`: creates a scoped worktree, or nothing.

pub mod answer;
pub mod apply;
pub mod arguments;
pub mod checkout;
pub mod clone;
pub mod context;
pub mod plan;
pub mod request;
pub mod retry;
pub mod setup;

use camino::Utf8Path;

use crate::actions::scope_edit::{Classified, Listing};
use crate::actions::selection::patterns;
use crate::actions::sync_plan::{Selection, WorktreeFiles};
use crate::actions::trash;
use crate::actions::unfinished::remove_unfinished;
use crate::answer::shapes::CopiesField;
use crate::commands::add::answer::{AddAnswer, Done};
use crate::commands::add::apply::{Creation, plan_sync};
use crate::commands::add::arguments::Add;
use crate::commands::add::clone::FetchedClone;
use crate::commands::add::context::ContextFacts;
use crate::commands::add::request::AskedRequest;
use crate::commands::add::retry::Attempts;
use crate::commands::{Outcome, Session};
use crate::config::value::{Choice as _, Client, Strategy};
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::record::worktree::{Owner, PullRequest, SetupState};
use crate::refusal::Refusal;
use crate::scope::compiled::Scope;
use crate::scope::overlap::{note_on, overlaps_of, refused_items};
use crate::sync::{Candidates, PatternOrigin};
use crate::system::users;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::words::path::{RepoPath, escape_for_terminal, shell_word};
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{RecordState, Worktree, worktree_scopes};
use crate::worktree::repository::{Main, Repository, intent_file, joined};
use crate::worktree::settings::Loaded;

const AS_ROOT: &str = "you are root: read-only bits have no effect; \
    `git agentwt verify` sees every change all the same";

/// Creates the worktree, in as many attempts as are asked for.
///
/// # Errors
/// Fails when the plan refuses, or a step fails: everything that was created is then removed. Fails
/// when ownership is lost between two attempts.
pub fn run(session: &Session, options: &Add) -> Result<Outcome<AddAnswer>, Error> {
    let by_default = || AskedRequest::of(options).map(|asked| asked.name);
    let name = options.name.clone().or_else(by_default).unwrap_or_default();
    let name = WorktreeName::parse(&name).map_err(|error| Refusal::BadName {
        text: escape_for_terminal(name.as_bytes()),
        why: error.to_string(),
    })?;
    if options.repo.is_some() && options.strategy.as_deref() == Some(Strategy::Worktree.as_str()) {
        let name = name.to_string();
        return Err(Refusal::RepoIsClone { name }.into());
    }
    // once: it may come from a pipe
    let prompt = session
        .waiting(|| context::read_prompt(&options.context, &session.start, &session.input))?;
    let mut outcome = retry::run(session, &name, options, |attempts| {
        attempt(session, options, &name, prompt.as_deref(), attempts)
    })?;
    setup::apply(session, options, &name, &mut outcome)?;
    Ok(outcome)
}

/// The command line as it works in another directory.
fn command_for_user(session: &Session, options: &Add) -> String {
    match &options.context.prompt_file {
        Some(file) if file != "-" => {
            let path = session.resolve(Utf8Path::new(file));
            session.command_line_with("--prompt-file", file, path.as_str())
        }
        Some(_) | None => session.command_line.clone(),
    }
}

/// Creates the worktree, with facts of its own: what an earlier attempt saw may have changed.
fn attempt(
    session: &Session,
    options: &Add,
    name: &WorktreeName,
    prompt: Option<&[u8]>,
    attempts: &mut Attempts<'_>,
) -> Result<Outcome<AddAnswer>, Error> {
    let home = clone::find_home(session, name, options)?;
    if !options.dry_run {
        session.require_no_agent(&home, &command_for_user(session, options))?;
    }
    let _one_at_a_time = Lock::wait(&home.name_lock(name))?;
    let mut notes = Vec::new();
    let known = existing(&home, name, options, &mut notes)?;
    let fetched = match (&options.repo, &known) {
        (Some(url), None) => Some(FetchedClone::create(session, &home, name, url)?),
        (Some(_) | None, _) => None,
    };
    let ground = match (&fetched, &known) {
        (Some(fetched), _) => fetched.repository.clone(),
        (None, Some(known)) if options.repo.is_some() => known.readable_repository(&home),
        (None, _) => home.clone(),
    };
    let loaded = plan::load_settings(session, &ground, options)?;
    notes.extend(loaded.notes());
    let wanted = plan::wanted(&ground, &loaded, options, name)?;
    let client = plan::client(name, &loaded, prompt.is_some())?;
    let setup = setup::plan(session, &home, &loaded.config, options)?;
    if let Some(known) = &known {
        let owner = plan::keep(&ground, &loaded, options, &wanted, &known.record)?;
        let mut outcome = keep(&home, known, owner, options, prompt, attempts)?;
        outcome.answer.setup = setup.filter(|_| known.record.setup == Some(SetupState::Pending));
        return Ok(outcome);
    }
    let mut record = session.waiting(|| plan::plan_new(&ground, &loaded, options, wanted))?;
    record.setup = setup.as_ref().map(|_| SetupState::Pending);
    record.client = Some(client).filter(|client| *client != Client::None);
    let scope = Scope::compile(record.scope.clone(), ground.case()?)?;
    let start = plan::readable_start(&ground, &record)?;
    if *start != record.checked_out {
        notes.push(
            "the pull request is not here yet: the files are those of the base branch".into(),
        );
    }
    // two long readings that need nothing of each other
    let (listing, selection) = std::thread::scope(|threads| {
        let selected = threads.spawn(|| select(session, &home, &loaded, options, &mut notes));
        let listing = Listing::read(&ground, start)?;
        Ok::<_, Error>((listing, joined(selected)?))
    })?;
    // another repository's files are not those of the worktrees here
    let around = fetched.is_none().then_some(&home);
    let classified = classify(around, name, &scope, &listing, options, &mut notes)?;
    let there = WorktreeFiles::tracking(listing.entries.iter().map(|(path, _)| path));
    let mut synced = plan_sync(&home, &record, &scope, &selection, &there)?;
    let copied: Vec<RepoPath> = synced.copy.iter().map(|one| one.path.clone()).collect();
    let around = ContextFacts {
        scope: &scope,
        tracked: &listing.entries,
        synced: &copied,
        root: &home.root,
        closed_root: &home.closed_root(),
        binary: &session.binary,
    };
    let context = around.plan_context(client, &record, prompt.unwrap_or_default())?;
    notes.extend(context.notes);
    notes.extend(plan::behind_upstream(&ground, &record)?);
    notes.extend(users::is_root().then(|| AS_ROOT.to_owned()));
    if let Some((claim, note)) = attempts.take_claim(&home, None)? {
        record.claim = Some(claim);
        notes.push(note);
    }
    let mut done = Done::Planned;
    if !options.dry_run {
        let creation = Creation {
            session,
            options,
            home: &home,
            fetched: fetched.as_ref(),
            record: &record,
            context: &context.files,
            scope: &scope,
            selection: &selection,
        };
        (record, synced) = creation.apply(&classified, &mut notes)?;
        done = Done::Made;
    }
    let mut answer = AddAnswer::new(done, record, classified.counts());
    answer.synced = Some(CopiesField::from(&synced));
    answer.setup = setup;
    if options.dry_run {
        answer.exclusions = Some(listing.exclusions(&scope));
    }
    Ok(Outcome {
        notes,
        ..Outcome::done(answer.with_context(client, &context.files))
    })
}

/// Loads the worktree of this name, if it exists. What a killed `add` left is removed; work in it is
/// kept in the trash.
fn existing(
    home: &Repository,
    name: &WorktreeName,
    options: &Add,
    notes: &mut Vec<String>,
) -> Result<Option<Worktree>, Error> {
    let intent = match RecordState::read(home, name)? {
        RecordState::Complete(known) => return Ok(Some(*known)),
        RecordState::Missing => return Ok(None),
        RecordState::Incomplete(intent) => intent,
    };
    // we hold the lock of the name, so the process that wrote the intent is gone
    if options.dry_run {
        let name = name.to_string();
        return Err(WorktreeFault::Incomplete { name }.into());
    }
    let kept = remove_unfinished(home, &intent)?;
    let note = |place| format!("an `add` of `{name}` was killed; the work in it is kept: {place}");
    notes.extend(kept.map(note));
    Ok(None)
}

/// The access to each file. Notes advice for the author of the scope, and what other worktrees of the
/// repository around may write as well: two that are created at the same moment do not see each other.
fn classify<'l>(
    around: Option<&Repository>,
    name: &WorktreeName,
    scope: &Scope,
    listing: &'l Listing,
    options: &Add,
    notes: &mut Vec<String>,
) -> Result<Classified<'l>, Error> {
    std::thread::scope(|threads| {
        let covered = threads.spawn(|| listing.coverage(scope));
        let classified = listing.classify(scope);
        let wanted = |home: &&Repository| {
            let wanted = home.git.config_get_bool("agentwt.overlap");
            options.exclusive || wanted.ok().flatten() != Some(false)
        };
        let around = around.filter(wanted);
        let others = around.map(|home| worktree_scopes(home, Some(name)));
        let mut overlaps = Vec::new();
        if let Some(others) = others.transpose()?.filter(|others| !others.is_empty()) {
            overlaps = overlaps_of(scope, &others, &listing.kinds());
        }
        if options.exclusive && !overlaps.is_empty() {
            let name = name.to_string();
            let items = refused_items(&overlaps);
            return Err(Refusal::Overlap { name, items }.into());
        }
        notes.extend(joined(covered).advice);
        notes.extend(note_on(&overlaps));
        Ok(classified)
    })
}

/// Selects the untracked files of the main worktree that a new worktree gets. Those of the main
/// worktree belong to another repository than a clone of a URL.
fn select(
    session: &Session,
    home: &Repository,
    loaded: &Loaded,
    options: &Add,
    notes: &mut Vec<String>,
) -> Result<Selection, Error> {
    let limits = loaded.config.file_sync.clone();
    let without_config = options.sync.no_sync || options.repo.is_some();
    let origin = PatternOrigin::Flag("--sync");
    let mut patterns = patterns(&limits, without_config, &options.sync.globs, &origin)?;
    let mut candidates = Candidates::default();
    if home.main == Main::Bare {
        if patterns.len() > 1 {
            let note = "the repository is bare: there is no main worktree to sync files from";
            notes.push(note.to_owned());
        }
        patterns.clear();
    } else {
        let include = limits.enabled && !without_config;
        candidates = home.candidates(&patterns, include)?;
    }
    session.tell_each("not entered:", &candidates.not_entered);
    if candidates.entries.is_empty() && patterns.len() <= 1 {
        session.tell_step("no file is to be synced");
    }
    Ok(Selection {
        patterns,
        limits,
        candidates,
    })
}

/// Keeps the worktree that exists, and records a new owner or claim.
fn keep(
    home: &Repository,
    known: &Worktree,
    owner: Option<Owner>,
    options: &Add,
    prompt: Option<&[u8]>,
    attempts: &mut Attempts<'_>,
) -> Result<Outcome<AddAnswer>, Error> {
    let mut record = known.record.clone();
    let name = &record.name;
    let path = &record.path;
    // without `.git`, git would take the main worktree for an empty directory there
    if !files::exists(&path.join(".git")) {
        let name = name.to_string();
        let path = path.clone();
        return Err(WorktreeFault::NoDirectory { name, path }.into());
    }
    let context = context::note_on_kept_context(known, &options.context, prompt)?;
    let mut notes = Vec::from_iter(context);
    if !options.sync.globs.is_empty() {
        notes.push(format!(
            "--sync only counts when a worktree is made; to have what this one was \
            made with: git agentwt sync {name}"
        ));
    }
    if let Some(PullRequest { remote, ref_name }) = &record.request {
        let at = shell_word(path.as_str());
        notes.push(format!(
            "to update it: git -C {at} pull --ff-only {remote} {ref_name}; if the request was \
                rewritten: git agentwt remove {name}, then add it again"
        ));
    }
    match (&owner, &record.owner) {
        (Some(new), Some(other)) if other.id != new.id => {
            notes.push(format!("it belonged to {other} until now"));
        }
        (None, Some(other)) if options.programs.owner.is_none() => {
            notes.push(format!("it belongs to {other}"));
        }
        _ => {}
    }
    let own = known.readable_repository(home);
    let listing = Listing::read(&own, &record.checked_out)?;
    let files = listing.classify(&known.scope).counts();
    if let Some((claim, note)) = attempts.take_claim(home, Some(&record))? {
        record.claim = Some(claim);
        notes.push(note);
    }
    record.owner = owner.or(record.owner);
    if !options.dry_run {
        // what an `add` left that was killed at its end
        files::remove_file(&intent_file(home, name))?;
        if trash::going(home, known).is_none() {
            // and a removal that was interrupted before it took the directory
            trash::end(known)?;
        }
        if record != known.record {
            known.write_record(&record)?;
        }
    }
    Ok(Outcome {
        notes,
        ..Outcome::done(AddAnswer::new(Done::Kept, record, files))
    })
}
