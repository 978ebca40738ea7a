//! `git agentwt exec`: runs a command in a worktree, fenced in by its scope.
//!
//! Facts: the worktree, what is asked of the fence, which fences work here. Plan: the policy. Apply: a
//! private git directory, the command in its fence, and, when all its processes have ended, the import of
//! what it committed. Nothing but the import changes anything that the user's git believes.

pub mod answer;
pub mod arguments;
pub mod facts;
pub mod fleet;
pub mod import;
pub mod settings;
pub mod state;

use std::collections::BTreeSet;
use std::ffi::OsString;

use camino::Utf8Path;

use crate::actions::bring::kept_ref;
use crate::answer::verdict::VerdictField;
use crate::answer::waiting::WaitingField;
use crate::arguments::output::Format;
use crate::commands::exec::answer::{ExecAnswer, ExecRun, KeptField, MovedField};
use crate::commands::exec::arguments::{Exec, FenceOptions, PolicyForm};
use crate::commands::exec::import::Imported;
use crate::commands::exec::state::{Begun, ClientState};
use crate::commands::{Outcome, Session};
use crate::config::value::{Choice as _, Fence};
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::fence::error::FenceError;
use crate::fence::policy::Class;
use crate::fence::seatbelt;
use crate::fence::shim::PRIVATE_GIT;
use crate::fence::start::{CommandOutput, Launch};
use crate::fence::supervise::CommandEnd;
use crate::git::error::GitError;
use crate::judge::change::INDEX_LOCK;
use crate::judge::finding::{Report, VerifyOptions};
use crate::refusal::Refusal;
use crate::system::{environment, families, users};
use crate::truth::live::verify_now;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::path::shell_word;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::{find_operation, read_operation};
use crate::worktree::private_git::{PrivateGit, incoming_ref};
use crate::worktree::repository::Repository;
use crate::worktree::settings::load_config;

/// Runs the command, and ends with its status if everything is in scope.
///
/// # Errors
/// Fails when there is no such worktree, or no such fence works here: then nothing was run. Fails when
/// the import does: then the branch is where it was.
pub fn run(session: &Session, options: &Exec) -> Result<Outcome<ExecAnswer>, Error> {
    if options.all {
        return fleet::run(session);
    }
    let repository = session.repository()?;
    let known = Worktree::of(&repository, options.name.as_deref())?;
    if options.fence.print_policy.is_none() {
        session.require_own(&repository, &known.record.name)?;
    }
    let fence = &options.fence;
    let command = &options.command;
    let output = output_of(options.output.form().format);
    run_in(session, &repository, &known, fence, command, output)
}

/// Where the output of the command goes: where the answer is a document, standard output is that alone.
pub fn output_of(format: Format) -> CommandOutput {
    match format {
        Format::Json => CommandOutput::Stderr,
        _people => CommandOutput::Stdout,
    }
}

/// As [`run`], in a worktree that is known.
///
/// # Errors
/// As [`run`].
pub fn run_in(
    session: &Session,
    repository: &Repository,
    known: &Worktree,
    options: &FenceOptions,
    command: &[OsString],
    output: CommandOutput,
) -> Result<Outcome<ExecAnswer>, Error> {
    check(repository, known, options)?;
    let loaded = load_config(repository, &[], &session.environment)?;
    let set = loaded.settings.client.as_ref().map(|client| client.value);
    let is_set_client = command.is_empty() && known.record.client.is_none();
    let command = facts::command(command, known.record.client.or(set))?;
    let root: &Utf8Path = &known.record.path;
    let others = facts::others(repository, root)?;
    let own = [root, &*repository.root].map(Utf8Path::to_owned);
    let worktrees = [&own[..], &others].concat();
    let is_inside = |start: &&Utf8Path| start.starts_with(root);
    let start = Some(&*session.start).filter(is_inside).unwrap_or(root);
    let asked = settings::read(session, &loaded, options, &command, start, &worktrees)?;
    let private = PrivateGit::new(known);
    let states = asked.stand_ins.into_iter();
    let states: Vec<_> = states.map(|one| ClientState::new(known, one)).collect();
    let places = states.iter().map(|state| state.place.clone()).collect();
    let policy = facts::policy(
        session,
        repository,
        known,
        &private,
        others,
        places,
        asked.wishes,
    )?;
    let mut outcome = Outcome::done(ExecAnswer::default());
    outcome.notes = asked.notes;
    if is_set_client {
        let unused = loaded.git_settings.notes(&["agentwt.client"]);
        outcome.notes.extend(unused);
    }
    let mut run = FencedRun {
        session,
        repository,
        known,
        private: &private,
        states: &states,
        launch: Launch {
            fence: asked.fence,
            policy: &policy,
            command: &command,
            dir: start,
            variables: Vec::new(),
            output,
            // 0 is no limit (timeout(1))
            timeout: options.timeout.filter(|time| !time.is_zero()),
            signal: &session.signal,
        },
    };
    if let Some(form) = options.print_policy {
        if asked.fence == Fence::Auto {
            run.launch.fence = Fence::Mount;
        }
        outcome.answer.policy = Some(rendered(form, &run.launch));
        return Ok(outcome);
    }
    run.launch.fence = facts::choose(repository, &policy, asked.fence)?;
    let has_user = policy.wishes.container.user.is_some();
    if run.launch.fence == Fence::Container && users::is_root() && !has_user {
        let help = "name its user in .agentwt/config.toml: [fence.container] user = \"1000\"";
        let why = "a container never runs a command as root";
        return Err(not_fenced(known, why, help));
    }
    run.say_classes(&mut outcome.notes);
    let Some(alone) = Lock::if_free(&repository.run_lock(&known.record.name))? else {
        let help = "wait for its end, or take another worktree: git agentwt run <name> -- …";
        return Err(not_fenced(known, "a command runs in it already", help));
    };
    for directory in asked.made {
        // where it cannot be, the program says so
        let _ = files::create_directories(&directory);
    }
    run.launch.variables = facts::variables(repository, known, &private, run.launch.fence);
    run.name_states();
    let before = KeptField::read(repository, known)?;
    let done = run.apply(&mut outcome.notes)?;
    drop(alone);
    finish(&mut outcome, known, done);
    if let Some(run) = &mut outcome.answer.run
        && let Err(error) = describe_rest(repository, known, &before, run)
    {
        // the command has ended, and its answer counts
        let note = format!("what is left of the command cannot be listed: {error}");
        outcome.notes.push(note);
    }
    Ok(outcome)
}

/// Adds to an answer what the command left: refs that keep its work, and what waits.
fn describe_rest(
    repository: &Repository,
    known: &Worktree,
    before: &BTreeSet<KeptField>,
    run: &mut ExecRun,
) -> Result<(), Error> {
    let now = KeptField::read(repository, known)?;
    run.kept = now.difference(before).cloned().collect();
    run.waiting = WaitingField::find(repository, known)?;
    Ok(())
}

/// Holds what became of a command and of its commits.
struct Done {
    ended: CommandEnd,
    report: Report,
    imported: Imported,
    /// Where the branch was and where it is since the import of what an earlier command left.
    moved_before: Option<MovedField>,
}

/// Holds a run of a command in its worktree.
struct FencedRun<'a> {
    session: &'a Session,
    repository: &'a Repository,
    known: &'a Worktree,
    private: &'a PrivateGit,
    /// The directories of its clients.
    states: &'a [ClientState],
    launch: Launch<'a>,
}

impl FencedRun<'_> {
    /// Says which patterns are granted more widely, and with `-v` the fence.
    fn say_classes(&self, notes: &mut Vec<String>) {
        let policy = self.launch.policy;
        let fence = self.launch.fence;
        let over = policy.classes(fence).filter(|one| one.class == Class::Over);
        notes.extend(over.map(ToString::to_string));
        self.session
            .tell_step(&format!("fence: {}", fence.as_str()));
    }

    /// Sets the variables by which clients find their directories.
    fn name_states(&mut self) {
        if self.launch.fence <= Fence::Perms {
            return;
        }
        for state in self.states {
            let (name, place) = state.variable();
            let variables = &mut self.launch.variables;
            variables.retain(|(other, _)| other != name);
            variables.push((name.into(), place.into()));
        }
    }

    /// Makes the directories of clients.
    fn prepare_states(&self) -> Result<Vec<(&ClientState, Begun)>, Error> {
        let start = self.launch.dir;
        let prepare = |state| Ok((state, ClientState::prepare(state, start)?));
        self.states.iter().map(prepare).collect()
    }

    /// Runs the command and imports what it committed. The lock of the name is free while the command runs.
    fn apply(&self, notes: &mut Vec<String>) -> Result<Done, Error> {
        let repository = self.repository;
        let name = &self.known.record.name;
        let is_private = self.launch.fence > Fence::Perms;
        let goes_on = self.private.is_there();
        let mut states = Vec::new();
        let mut moved_before = None;
        if is_private {
            moved_before = self.prepare(notes)?;
            states = self.prepare_states()?;
        }
        let ended = self.launch.run();
        for (state, begun) in &states {
            // the client begins with what the user has in the next run
            let brought = state.bring_back(begun);
            notes.extend(brought.err().map(|error| error.to_string()));
        }
        // where we stand may be gone
        environment::enter(&repository.common_dir);
        let ended = ended.inspect_err(|error| {
            if is_private && !goes_on && !matches!(error, FenceError::Leftover { .. }) {
                // what is left of it is written anew for the next run
                let _ = self.private.remove();
            }
        })?;
        for made in self.launch.policy.directories_to_make.iter().rev() {
            files::remove_if_empty(&self.known.record.path.join(made.to_string()));
        }
        let (_lock, known) = Worktree::lock(repository, name)?;
        let (report, imported) = if is_private {
            import::import(repository, &known, self.private)?
        } else {
            let live = verify_now(repository, &known, VerifyOptions::default())?;
            (live.report, Imported::default())
        };
        Ok(Done {
            ended,
            report,
            imported,
            moved_before,
        })
    }

    /// Writes the private git directory, after the import of what an earlier run left; returns how that moved the
    /// branch.
    fn prepare(&self, notes: &mut Vec<String>) -> Result<Option<MovedField>, Error> {
        let repository = self.repository;
        let private = self.private;
        let (_lock, known) = Worktree::lock(repository, &self.known.record.name)?;
        let mut imported = None;
        let mut moved = None;
        if private.is_there() {
            // where that `exec` was killed
            let pids = families::end_started_with(PRIVATE_GIT, private.git_dir().as_str());
            if !pids.is_empty() {
                return Err(FenceError::Leftover { pids }.into());
            }
            notes.push("what an earlier command left is imported first".to_owned());
            let import = || import::import(repository, &known, private);
            let stopped = |error: Error| {
                // a child of git can have been ended, as by want of memory
                let is_damage = is_damage(&error, private);
                is_damage.then(import).unwrap_or(Err(error))
            };
            match import().or_else(stopped) {
                Ok((_, left)) => {
                    let fits = left.is_restaged && left.stays_away.is_none();
                    imported = Some((left.at.clone(), fits));
                    // what is in progress goes on where it is
                    let is_busy = find_operation(&private.git_dir()).is_some();
                    let tip = left.stays_away.as_ref().filter(|_| !is_busy);
                    if let (Some(tip), Some(why)) = (tip, left.late()) {
                        if why == import::LOCKED {
                            let lock = known.record.admin_dir.join(INDEX_LOCK);
                            let help = format!("wait for its end; if no git runs there: rm {lock}");
                            return Err(not_fenced(&known, why, &help));
                        }
                        import::keep_all(repository, &known)?;
                        if left.is_kept {
                            let apart = private.set_apart(&known)?;
                            notes.push(format!("its git directory is kept at {apart}"));
                        } else {
                            private.remove()?;
                        }
                        let branch = &known.record.branch;
                        let kept = kept_ref(&known, tip);
                        notes.push(format!(
                            "{branch} is without the commits of an earlier \
                            command, as {why} meanwhile: git log {kept}"
                        ));
                        notes.extend(left.notes);
                    }
                    moved = left.moved.map(MovedField::new);
                    if let Some(MovedField { to, .. }) = &moved {
                        let branch = &known.record.branch;
                        let now = to.short();
                        notes.push(format!("verified, {branch} moved to {now}"));
                    }
                }
                Err(error) if !is_damage(&error, private) => return Err(error),
                Err(_damaged) => {
                    import::keep_all(repository, &known)?;
                    let kept = private.set_apart(&known)?;
                    let name = &known.record.name;
                    notes.push(format!(
                        "its git directory is damaged, and kept at {kept}; the \
                        commits that could be read: git log --glob=refs/agentwt/kept/{name}"
                    ));
                }
            }
        }
        let withholds = self.launch.policy.wishes.withholds;
        if withholds && private.is_there() && !private.is_withheld() {
            let name = &known.record.name;
            let help = format!("finish that first, without --withhold: git agentwt exec {name}");
            let why = "an earlier command had all objects, and left something";
            return Err(not_fenced(&known, why, &help));
        }
        let binary = &self.session.binary;
        private.write(repository, &known, binary, withholds, imported)?;
        Ok(moved)
    }
}

/// What git says at the end of a line where the machine refuses; in the git directory of a run, all is readable by then.
const OF_THE_MACHINE: &str = "Permission denied|No space left on device|Disk quota exceeded|Read-only file system|\
    Cannot allocate memory|Resource temporarily unavailable";

/// Whether git cannot read the git directory of a run, and not only something else stopped git.
fn is_damage(error: &Error, private: &PrivateGit) -> bool {
    use std::io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory};
    let kind = error.find::<DiskError>().map(|error| error.source.kind());
    if let Some(AlreadyExists | IsADirectory | NotADirectory) = kind {
        return true;
    }
    error.find::<GitError>().is_some_and(|error| match error {
        GitError::TimedOut { .. } => true,
        GitError::Failed { words, argv, .. } => {
            let is_asked = argv.contains(&private.git_dir().into_string());
            let is_other = |line: &str| {
                let is_quoted = line.starts_with("warning") || line.starts_with("error: object ");
                // at the end, where no name is that the command gave to a file
                let is_refused = OF_THE_MACHINE.split('|').any(|said| line.ends_with(said));
                // of all refs, `git fetch` reads those of the repository
                let is_foreign = line.starts_with("fatal: bad object refs/");
                is_foreign || line.contains("fatal: Out of memory") || is_refused && !is_quoted
            };
            is_asked && !error.was_killed() && !error.is_locked() && !words.lines().any(is_other)
        }
        _other => false,
    })
}

/// Fills the answer: a violation beats the status of the command.
fn finish(outcome: &mut Outcome<ExecAnswer>, known: &Worktree, done: Done) {
    let record = &known.record;
    let imported = done.imported;
    let report = done.report;
    outcome.exit = match done.ended {
        CommandEnd::Status(0) => ExitCode::Success,
        CommandEnd::Status(status) => ExitCode::Program(status),
        CommandEnd::Signal(signal) => ExitCode::Signal(signal),
        CommandEnd::TimedOut => ExitCode::TimedOut,
    };
    if !report.valid() {
        let broken = imported.breaks_seal.then_some(ExitCode::SealBroken);
        outcome.exit = broken.unwrap_or(ExitCode::RunRefused);
    }
    let incoming = incoming_ref(known);
    let late = imported.late_note(known, &incoming);
    if late.is_some() {
        outcome.exit = ExitCode::RunRefused;
    }
    outcome.notes.extend(late.into_iter().chain(imported.notes));
    let name = record.name.to_string();
    let path = record.path.clone();
    outcome.answer.run = Some(ExecRun {
        verdict: VerdictField::worktree(&name, path.clone(), &report),
        name,
        path,
        branch: record.branch.to_string(),
        command: done.ended.into(),
        status: outcome.exit.code(),
        moved: imported.moved.map(MovedField::new),
        moved_before: done.moved_before,
        incoming: imported.stays_away.map(|_| incoming),
        kept: Vec::new(),
        waiting: None,
        removed: None,
    });
}

fn not_fenced(known: &Worktree, why: &str, help: &str) -> Error {
    let name = known.record.name.to_string();
    let why = why.to_owned();
    let help = help.to_owned();
    Refusal::NotFenced { name, why, help }.into()
}

/// Checks what a fence needs of a worktree.
fn check(repository: &Repository, known: &Worktree, options: &FenceOptions) -> Result<(), Error> {
    let refuse = |why: &str, help: &str| Err(not_fenced(known, why, help));
    let path = &known.record.path;
    let branch = &known.record.branch;
    if known.repository(repository).is_clone() || !files::is_directory(&known.record.path) {
        let help = "a fence needs a linked worktree: git agentwt add <name> --strategy worktree; \
            where its directory is gone: git agentwt prune -n";
        return refuse("it is no linked worktree that is there", help);
    }
    if users::is_root() && !options.allow_root {
        let help = "run it as an ordinary user, or with --allow-root";
        return refuse("you are root, from whom no fence protects as well", help);
    }
    if environment::variable("AGENTWT_EXEC").is_some() {
        let help = "run the command directly";
        return refuse("this is a fence already, and fences do not nest", help);
    }
    if let Some(operation) = read_operation(&known.record) {
        let help = format!("finish or abort it: git -C {path} {operation} --abort");
        return refuse(&format!("a {operation} is in progress there"), &help);
    }
    if known.git(repository).symbolic_ref_head()? != Some(branch.full_ref()) {
        let help = format!("git -C {path} switch {branch}");
        return refuse("it is not on its branch", &help);
    }
    Ok(())
}

fn rendered(form: PolicyForm, launch: &Launch<'_>) -> Vec<u8> {
    match form {
        PolicyForm::Json => launch.policy.to_json(),
        PolicyForm::Sbpl => seatbelt::profile(launch.policy).into_bytes(),
        PolicyForm::Argv => {
            let words = launch.line().into_iter();
            let words = words.map(|word| shell_word(&word.to_string_lossy()) + "\n");
            words.collect::<String>().into_bytes()
        }
    }
}
