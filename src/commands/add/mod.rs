//! `git agentwt add`: creates a scoped worktree, or nothing.

pub mod answer;
pub mod arguments;
pub mod clone;
pub mod context;
pub mod plan;
pub mod request;
pub mod retry;
pub mod setup;

use camino::Utf8Path;

use crate::actions::create::clone::FetchedClone;
use crate::actions::create::{Created, WorktreeToCreate, plan_sync};
use crate::actions::follower::Follower;
use crate::actions::lock::undo_killed;
use crate::actions::scope_edit::{Classified, Listing};
use crate::actions::selection::{ConfigPatterns, patterns};
use crate::actions::sync_plan::{Selection, SyncPlan, WorktreeFiles};
use crate::actions::trash::enter::pending_move;
use crate::actions::trash::undo::finish_undo;
use crate::actions::unfinished::remove_unfinished;
use crate::answer::shapes::CopyReport;
use crate::client::layout::{ContextFile, ContextLayout};
use crate::commands::add::answer::{AddAnswer, Done};
use crate::commands::add::arguments::Add;
use crate::commands::add::context::ContextFacts;
use crate::commands::add::request::AskedRequest;
use crate::commands::add::retry::Attempts;
use crate::commands::{Outcome, Session};
use crate::config::value::{Choice as _, Client, Strategy};
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::record::worktree::{Owner, PullRequest, Record, SetupState};
use crate::refusal::Refusal;
use crate::scope::compiled::Scope;
use crate::scope::overlap::{Overlap, note_on, overlaps_of, refused_items};
use crate::sync::{Candidates, PatternOrigin};
use crate::system::users;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::words::path::{RepoPath, escape_for_terminal, shell_word};
use crate::worktree::absence::no_directory;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{RecordState, Worktree, worktree_scopes};
use crate::worktree::repository::{Main, Repository, intent_file, joined};
use crate::worktree::settings::Loaded;

const AS_ROOT: &str = "you are root: read-only bits have no effect; \
    `git agentwt verify` sees every change all the same";

/// Creates the worktree, in as many attempts as are asked for, and runs the set-up.
///
/// # Errors
/// Fails when the plan refuses, or a step fails: everything that was created is then removed. Fails
/// when ownership is lost between two attempts.
pub fn run(session: &Session, options: &Add) -> Result<Outcome<AddAnswer>, Error> {
    let name = worktree_name(options)?;
    if options.repo.is_some() && options.strategy.as_deref() == Some(Strategy::Worktree.as_str()) {
        let name = name.to_string();
        return Err(Refusal::RepoIsClone { name }.into());
    }
    // once: it may come from a pipe
    let prompt = session
        .waiting(|| context::read_prompt(&options.context, &session.start, &session.input))?;
    let addition = Addition {
        session,
        options,
        name: &name,
        prompt: prompt.as_deref(),
    };
    let mut outcome = retry::run(session, &name, options, |attempts| {
        addition.attempt(attempts)
    })?;
    setup::apply(session, options, &name, &mut outcome)?;
    Ok(outcome)
}

/// Returns the name that is given, or that of the request.
fn worktree_name(options: &Add) -> Result<WorktreeName, Refusal> {
    let by_default = || AskedRequest::of(options).map(|asked| asked.name);
    let name = options.name.clone().or_else(by_default).unwrap_or_default();
    WorktreeName::parse(&name).map_err(|error| Refusal::BadName {
        text: escape_for_terminal(name.as_bytes()),
        why: error.to_string(),
    })
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

/// What one call of `add` was asked for.
struct Addition<'a> {
    session: &'a Session,
    options: &'a Add,
    name: &'a WorktreeName,
    prompt: Option<&'a [u8]>,
}

/// The repositories that a new worktree has to do with.
struct Repositories {
    /// The one that keeps the record.
    home: Repository,
    /// The one whose commits are checked out.
    source: Repository,
    /// The clone of a URL, if one is to become the worktree.
    fetched: Option<FetchedClone>,
}

/// A new worktree, as it is planned before anything is created.
struct PlannedWorktree {
    record: Record,
    scope: Scope,
    listing: Listing,
    selection: Selection,
}

impl Addition<'_> {
    /// Makes one attempt. It reads everything anew: what an earlier attempt saw may have changed.
    ///
    /// 1. Finds the repository that keeps the record, and takes the lock of the name.
    /// 2. Removes what a killed `add` of the name left.
    /// 3. Clones the URL of `--repo`; loads the config.
    /// 4. Keeps a worktree of this name that exists, if it is as asked for.
    /// 5. Plans the record, and reads the commit and what may be copied.
    /// 6. Plans the write bits, the copies and the context for the agent program.
    /// 7. Takes the claim.
    /// 8. Creates the worktree (`actions/create`).
    fn attempt(&self, attempts: &mut Attempts<'_>) -> Result<Outcome<AddAnswer>, Error> {
        let session = self.session;
        let options = self.options;
        let name = self.name;
        // 1
        let home = clone::find_home(session, name, options)?;
        if !options.dry_run {
            session.require_no_agent(&home, &command_for_user(session, options))?;
        }
        let _one_at_a_time = Lock::wait(&home.name_lock(name))?;
        // 2
        let mut notes = Vec::new();
        let existing = load_existing(&home, name, options, &mut notes)?;
        // 3
        let repositories = self.repositories(home, existing.as_ref())?;
        let source = &repositories.source;
        let loaded = plan::load_settings(session, source, options)?;
        notes.extend(loaded.notes());
        let wanted = plan::wanted(source, &loaded, options, name)?;
        let client = plan::client(name, &loaded, self.prompt)?;
        let setup = setup::plan(session, &repositories.home, &loaded.config, options)?;
        // 4
        if let Some(worktree) = &existing {
            let record = &worktree.record;
            let new_owner = plan::owner_of_kept(source, &loaded, options, &wanted, record)?;
            let mut outcome = self.keep(&repositories.home, worktree, new_owner, attempts)?;
            notes.append(&mut outcome.notes);
            outcome.notes = notes;
            if record.setup == Some(SetupState::Pending) {
                outcome.answer.setup = setup;
            }
            return Ok(outcome);
        }
        // 5
        let mut planned = self.plan_worktree(&repositories, &loaded, wanted, &mut notes)?;
        planned.record.setup = setup.as_ref().map(|_| SetupState::Pending);
        planned.record.client = Some(client).filter(|client| *client != Client::None);
        // 6 to 8
        let mut outcome = self.create(&repositories, &planned, client, notes, attempts)?;
        outcome.answer.setup = setup;
        Ok(outcome)
    }

    /// Keeps the worktree that exists, and records a new owner or claim; with `-n` records nothing.
    fn keep(
        &self,
        home: &Repository,
        worktree: &Worktree,
        new_owner: Option<Owner>,
        attempts: &mut Attempts<'_>,
    ) -> Result<Outcome<AddAnswer>, Error> {
        let options = self.options;
        let mut record = worktree.record.clone();
        // without a `.git` there, git would search above, and work on the main worktree
        if !files::exists(&record.path.join(".git")) {
            return Err(no_directory(&record).into());
        }
        let mut notes = Vec::new();
        notes.extend(context::note_on_kept_context(
            worktree,
            &options.context,
            self.prompt,
        )?);
        notes.extend(notes_on_kept(&record, new_owner.as_ref(), options));
        let repository = worktree.readable_repository(home);
        let listing = Listing::read(&repository, &record.checked_out)?;
        let files = listing.classify(&worktree.scope).counts();
        if let Some((claim, note)) = attempts.take_claim(home, Some(&record))? {
            record.claim = Some(claim);
            notes.push(note);
        }
        record.owner = new_owner.or(record.owner);
        if !options.dry_run {
            remove_rest_of_add(home, worktree)?;
            if record != worktree.record {
                worktree.write_record(&record)?;
            }
        }
        let mut answer = AddAnswer::new(Done::Kept, record, files);
        answer.dry_run = options.dry_run;
        Ok(Outcome {
            notes,
            ..Outcome::done(answer)
        })
    }

    /// Finds the repository whose commits are checked out; clones it, if it is that of a URL.
    fn repositories(
        &self,
        home: Repository,
        existing: Option<&Worktree>,
    ) -> Result<Repositories, Error> {
        let Some(url) = &self.options.repo else {
            return Ok(Repositories {
                source: home.clone(),
                home,
                fetched: None,
            });
        };
        if let Some(worktree) = existing {
            // the worktree is the clone that an earlier `add` made
            return Ok(Repositories {
                source: worktree.readable_repository(&home),
                home,
                fetched: None,
            });
        }
        let fetched = clone::fetch(self.session, &home, self.name, url)?;
        Ok(Repositories {
            source: fetched.repository.clone(),
            home,
            fetched: Some(fetched),
        })
    }

    /// Plans the record, and reads the commit and what may be copied.
    fn plan_worktree(
        &self,
        repositories: &Repositories,
        loaded: &Loaded,
        wanted: Record,
        notes: &mut Vec<String>,
    ) -> Result<PlannedWorktree, Error> {
        let session = self.session;
        let source = &repositories.source;
        let plan_record = || plan::plan_new(source, loaded, self.options, wanted);
        let record = match AskedRequest::of(self.options) {
            // the server may never answer: a signal ends it
            Some(_) => session.waiting(plan_record)?,
            None => plan_record()?,
        };
        let scope = Scope::compile(record.scope.clone(), source.case()?)?;
        let start = plan::readable_start(source, &record)?;
        if *start != record.checked_out {
            notes.push(
                "the pull request is not here yet: the files are those of the base branch".into(),
            );
        }
        // two long readings that need nothing of each other
        let (listing, selection) = std::thread::scope(|threads| {
            let home = &repositories.home;
            let selected = threads.spawn(|| select(session, home, loaded, self.options, notes));
            let listing = Listing::read(source, start)?;
            Ok::<_, Error>((listing, joined(selected)?))
        })?;
        Ok(PlannedWorktree {
            record,
            scope,
            listing,
            selection,
        })
    }

    /// Plans the rest, takes the claim, and creates the worktree; with `-n` it stays a plan.
    fn create(
        &self,
        repositories: &Repositories,
        planned: &PlannedWorktree,
        client: Client,
        mut notes: Vec<String>,
        attempts: &mut Attempts<'_>,
    ) -> Result<Outcome<AddAnswer>, Error> {
        let options = self.options;
        let home = &repositories.home;
        let mut record = planned.record.clone();
        let scope = &planned.scope;
        let listing = &planned.listing;
        // 6; a clone of a URL has no files in common with the worktrees here
        let neighbours = repositories.fetched.is_none().then_some(home);
        let classified = classify(neighbours, self.name, scope, listing, options, &mut notes)?;
        let tracked = WorktreeFiles::tracking(listing.entries.iter().map(|(path, _)| path));
        let mut copies = plan_sync(home, &record, scope, &planned.selection, &tracked)?;
        let context = self.plan_context(home, planned, client, &copies)?;
        notes.extend(context.notes);
        notes.extend(plan::behind_upstream(&repositories.source, &record)?);
        notes.extend(users::is_root().then(|| AS_ROOT.to_owned()));
        // 7; after everything that may refuse, as it has to be given back then
        if let Some((claim, note)) = attempts.take_claim(home, None)? {
            record.claim = Some(claim);
            notes.push(note);
        }
        // 8
        let mut done = Done::Planned;
        if !options.dry_run {
            let created = self.apply(
                repositories,
                planned,
                &record,
                &classified,
                &context.files,
                &mut notes,
            )?;
            record = created.record;
            copies = created.copies;
            done = Done::Made;
        }
        let mut answer = AddAnswer::new(done, record, classified.counts());
        answer.synced = Some(CopyReport::from(&copies));
        if options.dry_run {
            answer.exclusions = Some(listing.exclusions(scope));
        }
        Ok(Outcome {
            notes,
            ..Outcome::done(answer.with_context(client, &context.files))
        })
    }

    /// Plans what is written for the agent program.
    fn plan_context(
        &self,
        home: &Repository,
        planned: &PlannedWorktree,
        client: Client,
        copies: &SyncPlan,
    ) -> Result<ContextLayout, Error> {
        let synced: Vec<RepoPath> = copies.copy.iter().map(|copy| copy.path.clone()).collect();
        let facts = ContextFacts {
            scope: &planned.scope,
            tracked: &planned.listing.entries,
            synced: &synced,
            root: &home.root,
            closed_root: &home.closed_root(),
            binary: &self.session.binary,
        };
        Ok(facts.plan_context(client, &planned.record, self.prompt.unwrap_or_default())?)
    }

    /// Creates the worktree, or nothing.
    fn apply(
        &self,
        repositories: &Repositories,
        planned: &PlannedWorktree,
        record: &Record,
        classified: &Classified<'_>,
        context: &[ContextFile],
        notes: &mut Vec<String>,
    ) -> Result<Created, Error> {
        let session = self.session;
        let stop = || session.check();
        let creation = WorktreeToCreate {
            home: &repositories.home,
            fetched: repositories.fetched.as_ref(),
            record,
            context,
            scope: &planned.scope,
            selection: &planned.selection,
            globs: &self.options.sync.globs,
            config_patterns: config_patterns(self.options),
            program_of_hooks: (!self.options.no_hooks).then_some(&session.binary),
            follower: Follower {
                progress: &session.progress,
                trace: &session.trace,
                stop: &stop,
            },
        };
        creation
            .apply(classified, notes)
            .map_err(|error| plan::explain(&repositories.source, self.options, record, error))
    }
}

/// Loads the worktree of this name, if it exists; called with the lock of the name held.
///
/// A command on it that was killed is undone. What a killed `add` left is removed, and work in it
/// is kept in the trash. With `-n` nothing is undone, and what a killed `add` left is refused.
fn load_existing(
    home: &Repository,
    name: &WorktreeName,
    options: &Add,
    notes: &mut Vec<String>,
) -> Result<Option<Worktree>, Error> {
    match RecordState::read(home, name)? {
        RecordState::Missing => Ok(None),
        RecordState::Complete(worktree) => {
            if options.dry_run {
                return Ok(Some(*worktree));
            }
            undo_killed(home, &worktree)?;
            Worktree::load(home, name).map(Some)
        }
        RecordState::Incomplete(intent) => {
            // we hold the lock of the name, so the process that wrote the intent is gone
            if options.dry_run {
                let name = name.to_string();
                return Err(WorktreeFault::Incomplete { name }.into());
            }
            let cleared = remove_unfinished(home, &intent)?;
            if let Some(place) = cleared.kept {
                notes.push(format!(
                    "an `add` of `{name}` was killed; the work in it is kept: {place}"
                ));
            }
            for item in cleared.stays {
                notes.push(format!(
                    "an `add` of `{name}` was killed; not undone: {item}"
                ));
            }
            Ok(None)
        }
    }
}

/// The access to each file. Notes advice for the author of the scope, and what the worktrees of
/// `neighbours` may write as well.
fn classify<'l>(
    neighbours: Option<&Repository>,
    name: &WorktreeName,
    scope: &Scope,
    listing: &'l Listing,
    options: &Add,
    notes: &mut Vec<String>,
) -> Result<Classified<'l>, Error> {
    std::thread::scope(|threads| {
        let coverage = threads.spawn(|| listing.coverage(scope));
        let classified = listing.classify(scope);
        let overlaps = match neighbours {
            Some(repository) => find_overlaps(repository, name, scope, listing, options)?,
            None => Vec::new(),
        };
        if options.exclusive && !overlaps.is_empty() {
            let name = name.to_string();
            let items = refused_items(&overlaps);
            return Err(Refusal::Overlap { name, items }.into());
        }
        notes.extend(joined(coverage).advice);
        notes.extend(note_on(&overlaps));
        Ok(classified)
    })
}

/// Finds what other worktrees may write as well; nothing where the user does not want to know. Two
/// that are created at the same moment do not see each other.
fn find_overlaps(
    repository: &Repository,
    name: &WorktreeName,
    scope: &Scope,
    listing: &Listing,
    options: &Add,
) -> Result<Vec<Overlap>, Error> {
    let setting = repository.git.config_get_bool("agentwt.overlap");
    if !options.exclusive && setting.ok().flatten() == Some(false) {
        return Ok(Vec::new());
    }
    let others = worktree_scopes(repository, Some(name))?;
    if others.is_empty() {
        return Ok(Vec::new());
    }
    Ok(overlaps_of(scope, &others, &listing.kinds()))
}

/// Whether the patterns of the config count: in another repository they do not.
fn config_patterns(options: &Add) -> ConfigPatterns {
    if options.sync.no_sync || options.repo.is_some() {
        ConfigPatterns::Unused
    } else {
        ConfigPatterns::Used
    }
}

/// Selects the untracked files of the main worktree that a new worktree gets. With `--repo`, only
/// the globs of `--sync` count: the config is about another repository.
fn select(
    session: &Session,
    home: &Repository,
    loaded: &Loaded,
    options: &Add,
    notes: &mut Vec<String>,
) -> Result<Selection, Error> {
    let limits = loaded.config.file_sync.clone();
    let config_patterns = config_patterns(options);
    let origin = PatternOrigin::Flag("--sync");
    let patterns = patterns(&limits, config_patterns, &options.sync.globs, &origin)?;
    // one pattern is always there: the built-in one of the memory bank
    let has_own_patterns = patterns.len() > 1;
    if home.main == Main::Bare {
        if has_own_patterns {
            let note = "the repository is bare: there is no main worktree to sync files from";
            notes.push(note.to_owned());
        }
        session.tell_step("no file is to be synced");
        return Ok(Selection {
            patterns: Vec::new(),
            limits,
            candidates: Candidates::default(),
        });
    }
    let include_file = config_patterns.include_file(&limits);
    let candidates = home.candidates(&patterns, include_file)?;
    session.tell_each("not entered:", &candidates.not_entered);
    if candidates.entries.is_empty() && !has_own_patterns {
        session.tell_step("no file is to be synced");
    }
    Ok(Selection {
        patterns,
        limits,
        candidates,
    })
}

/// Notes what the user should know about a worktree that is kept: options without effect, how to
/// update a pull request, and whose it is.
fn notes_on_kept(record: &Record, new_owner: Option<&Owner>, options: &Add) -> Vec<String> {
    let name = &record.name;
    let mut notes = Vec::new();
    if !options.sync.globs.is_empty() {
        notes.push(format!(
            "--sync only counts when a worktree is made; to have what this one was \
                made with: git agentwt sync {name}"
        ));
    }
    if let Some(PullRequest { remote, ref_name }) = &record.request {
        let at = shell_word(record.path.as_str());
        notes.push(format!(
            "to update it: git -C {at} pull --ff-only {remote} {ref_name}; if the request was \
                rewritten: git agentwt remove {name}, then add it again"
        ));
    }
    let Some(recorded) = &record.owner else {
        return notes;
    };
    match new_owner {
        Some(owner) => {
            if owner.id != recorded.id {
                notes.push(format!("it belonged to {recorded} until now"));
            }
        }
        None => {
            if options.programs.owner.is_none() {
                notes.push(format!("it belongs to {recorded}"));
            }
        }
    }
    notes
}

/// Removes what an `add` left that was killed at its end, and what a removal left that was
/// interrupted before it took the directory.
fn remove_rest_of_add(home: &Repository, worktree: &Worktree) -> Result<(), Error> {
    files::remove_file(&intent_file(home, &worktree.record.name))?;
    if pending_move(home, worktree).is_none() {
        finish_undo(home, worktree)?;
    }
    Ok(())
}
