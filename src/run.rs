//! Runs a command line: parses it, calls the command, prints, and gives the status.
#![expect(clippy::disallowed_methods, reason = "reads the environment, prints")]

mod claude;
mod fenced;
mod print;

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use camino::Utf8PathBuf;
use rustix::termios::tcgetwinsize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::answer::paint::Paint;
use crate::answer::text::TextStyle;
use crate::arguments::output::{Format, OutputForm, RecordEnd};
use crate::cli::{Cli, Command, completions, man};
use crate::commands::changed::answer::ChangedNames;
use crate::commands::env::{FishEnv, ShellName};
use crate::commands::hooks::arguments::HooksCommand;
use crate::commands::list::arguments::List;
use crate::commands::{Caller, Outcome, Session};
use crate::disk::error::DiskError;
use crate::disk::scan::walk::WalkMode;
use crate::git::error::GitError;
use crate::git::patches::PatchColour;
use crate::git::process::Git;
use crate::git::runner::{SharedRunner, Stoppable, Trace, TraceEvent};
use crate::library::{read_environment, state_home};
use crate::output::screen::Screen;
use crate::output::{render, render_error, schema};
use crate::refusal::Refusal;
use crate::run::print::{
    draws_progress, paint_on, print, tell, tell_note, width_of, write_answer, write_text,
};
use crate::system::families::{family, send_signal};
use crate::words::error::{Error, ErrorDocument, Stopped};
use crate::words::exit::ExitCode;
use crate::words::log::Log;
use crate::words::path::{escape_for_terminal, shell_word};
use crate::{commands, fence, output};

/// Runs a command line, the program's name first, and returns the status to end with.
pub fn run(arguments: &[OsString]) -> ExitCode {
    // first, to be quick: in a fence, each start of a program waits for this
    if let Some(end) = fence::become_program_of_fence(arguments) {
        if !end.message.is_empty() {
            tell(&format!("git-agentwt: {}\n", end.message));
        }
        return ExitCode::Program(end.status);
    }
    std::panic::set_hook(Box::new(|panic| {
        let version = env!("CARGO_PKG_VERSION");
        tell(&format!(
            "error: a bug in git-agentwt {version}: {panic}\n\
            help: please report it with the command that you typed\n"
        ));
        // what a bug leaves is what a kill leaves: the next command clears it
        std::process::exit(i32::from(ExitCode::Bug.code()));
    }));
    run_command_line(arguments)
}

/// Runs what the command line asks for, and prints its error; `--help` on a terminal shows the
/// manual page, if one is installed.
fn run_command_line(arguments: &[OsString]) -> ExitCode {
    if let Some(page) = man::page_asked_for(arguments)
        && std::io::stdout().is_terminal()
        && Git::open_manual(&page)
    {
        return ExitCode::Success;
    }
    let cli = match Cli::of(arguments) {
        Ok(cli) => cli,
        Err(error) => return print_usage_error(&error, arguments),
    };
    match run_command(&cli, arguments) {
        Ok(exit) => exit,
        Err(error) => {
            tell(&render_error(&error, paint_on(&std::io::stderr())));
            if asks_for_json(arguments) {
                let _ = write_answer(&output::json::json(&ErrorDocument::new(&error)));
            }
            error.exit_code()
        }
    }
}

/// Prints why there is nothing to run: the help that was asked for, or what is wrong with the
/// command line.
fn print_usage_error(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::Success;
    }
    if asks_for_json(arguments) {
        let document = ErrorDocument::usage(&error.render().to_string());
        let _ = write_answer(&output::json::json(&document));
    }
    ExitCode::Usage
}

fn run_command(cli: &Cli, arguments: &[OsString]) -> Result<ExitCode, Error> {
    let session = session(cli, arguments)?;
    if draws_progress(cli) {
        session.progress.draw();
    }
    dispatch(&session, cli).map_err(|error| or_stopped(&session, &cli.command, error))
}

/// True if a command line asks for JSON.
fn asks_for_json(arguments: &[OsString]) -> bool {
    let mut previous = None;
    for word in arguments.iter().take_while(|word| *word != "--") {
        let is_format = previous.is_some_and(|previous| previous == "--format");
        if word == "--json" || word == "--format=json" || (is_format && word == "json") {
            return true;
        }
        previous = Some(word);
    }
    false
}

/// The error of a command; that it was stopped, where the error is that of a git which was killed
/// by the signal that we handed on to it.
fn or_stopped(session: &Session, command: &Command, error: Error) -> Error {
    let Some(interrupted) = session.interrupted() else {
        return error;
    };
    if !error.find::<GitError>().is_some_and(GitError::was_killed) {
        return error;
    }
    if matches!(command, Command::Add(_) | Command::Sync(_)) {
        return interrupted.into();
    }
    let signal = interrupted.signal;
    Stopped { signal, error }.into()
}

/// Lists the worktrees, and draws the list again while it becomes complete, where people look at a
/// terminal.
fn list_on(session: &Session, cli: &Cli, options: &List) -> Result<ExitCode, Error> {
    let stdout = std::io::stdout();
    let form = options.output.form();
    let mut window = None;
    if form.format == Format::Human && stdout.is_terminal() {
        window = tcgetwinsize(&stdout).ok();
    }
    let mut screen = Screen {
        height: window.map_or(0, |window| window.ws_row.into()),
        drawn: 0,
    };
    let style = TextStyle {
        paint: paint_on(&stdout),
        width: width_of(&stdout),
        ..TextStyle::PLAIN
    };
    let outcome = commands::list::run(session, options, &mut |list| {
        if window.is_some() {
            screen.draw(&render(list, form, style, &[]).stdout);
        }
    })?;
    screen.draw(&[]);
    Ok(print(cli, form, &outcome))
}

/// Collects what the commands need to know of this run, and begins to catch signals for the
/// commands that have something to undo.
fn session(cli: &Cli, arguments: &[OsString]) -> Result<Session, Error> {
    let start = start_directory(cli)?;
    let binary =
        std::env::current_exe().map_err(|error| DiskError::new("find our own program", error))?;
    let input = input(&cli.command)?;
    let signal = Arc::new(AtomicUsize::new(0));
    let idle = Arc::new(AtomicBool::new(false));
    if defers_signals(&cli.command) {
        // a hook ends at a signal, but for the moment in which it has the index's lock
        idle.store(matches!(cli.command, Command::Hook(_)), Ordering::SeqCst);
        listen_for_signals(&signal, &idle)?;
    }
    Ok(Session {
        start,
        environment: read_environment(),
        state: state_home(),
        hook_index: path_variable("GIT_INDEX_FILE"),
        walking: walk_mode(),
        input,
        quarantine: path_variable("GIT_QUARANTINE_PATH"),
        command_line: command_line(arguments),
        binary: utf8_path(binary, "our own program")?,
        caller: Caller::CommandLine,
        runner: SharedRunner::new(Stoppable {
            signal: Arc::clone(&signal),
            family: |pid| {
                let processes = family(pid);
                Box::new(move |number| send_signal(&processes, number))
            },
        }),
        trace: trace(cli.common.verbose),
        signal,
        idle,
        no_wait: has_no_wait(&cli.command),
        log: log(cli),
        ..Session::default()
    })
}

/// How much of stat data is believed (`GIT_AGENTWT_WALK`); a word that is unknown counts for
/// nothing.
fn walk_mode() -> WalkMode {
    let word = std::env::var("GIT_AGENTWT_WALK").unwrap_or_default();
    WalkMode::parse(&word).unwrap_or_default()
}

fn path_variable(name: &str) -> Option<Utf8PathBuf> {
    std::env::var(name).ok().map(Utf8PathBuf::from)
}

/// The directory of `-C`, or the current directory.
fn start_directory(cli: &Cli) -> Result<Utf8PathBuf, Error> {
    let current = std::env::current_dir()
        .map_err(|error| DiskError::new("find the current directory", error))?;
    let start = match &cli.common.directory {
        Some(directory) => current.join(directory),
        None => current,
    };
    if !start.is_dir() {
        let path = escape_for_terminal(start.as_os_str().as_encoded_bytes());
        return Err(Refusal::NoDirectory { path }.into());
    }
    utf8_path(start, "this directory")
}

fn utf8_path(path: PathBuf, what: &str) -> Result<Utf8PathBuf, Error> {
    Utf8PathBuf::from_path_buf(path).map_err(|_| {
        let why = "it is not UTF-8, and paths of repositories must be";
        DiskError::new(format!("use {what}"), std::io::Error::other(why)).into()
    })
}

/// Writes each signal that would end the program into `signal`; while `idle` is set, the signal
/// ends the program.
fn listen_for_signals(signal: &Arc<AtomicUsize>, idle: &Arc<AtomicBool>) -> Result<(), Error> {
    let failed = |error| DiskError::new("listen for signals", error);
    for number in [SIGINT, SIGTERM, SIGHUP] {
        let value = usize::try_from(number).unwrap_or(2);
        // before the flag: while something is waited for, nothing has to be undone
        signal_hook::flag::register_conditional_default(number, Arc::clone(idle))
            .map_err(failed)?;
        signal_hook::flag::register_usize(number, Arc::clone(signal), value).map_err(failed)?;
    }
    Ok(())
}

/// Whether a command ends what it has begun, or undoes it, when a signal comes.
fn defers_signals(command: &Command) -> bool {
    match command {
        Command::Scope(options) => options.is_change(),
        Command::Accept(_)
        | Command::Add(_)
        | Command::Exec(_)
        | Command::Run(_)
        | Command::Hook(_)
        | Command::Land(_)
        | Command::Prune(_)
        | Command::Remove(_)
        | Command::Restore(_)
        | Command::Sync(_) => true,
        _others => false,
    }
}

/// Computes the command line without `-C`, as a shell reads it.
fn command_line(arguments: &[OsString]) -> String {
    let mut line = "git agentwt".to_owned();
    let mut words = arguments.iter().skip(1).map(|word| word.as_encoded_bytes());
    while let Some(word) = words.next() {
        if word == b"-C" {
            words.next();
        } else if !word.starts_with(b"-C") {
            line += &format!(" {}", shell_word(&escape_for_terminal(word)));
        }
    }
    line
}

/// Reads standard input for the commands that are promised something there; empty for the others.
fn input(command: &Command) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    if reads_stdin(command) {
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| DiskError::new("read standard input", error))?;
    }
    Ok(bytes)
}

/// True if a command is promised a prompt, paths, a tool call, or what git tells a hook. Only these
/// hooks are handed something: any other would wait for a terminal.
fn reads_stdin(command: &Command) -> bool {
    match command {
        Command::Hook(hook) => matches!(
            hook.event.as_str(),
            "ref-update" | "claude-create" | "claude-remove"
        ),
        Command::Add(add) => add.context.reads_stdin(),
        Command::Scope(scope) => scope.stdin,
        Command::Guard(_) => true,
        _others => false,
    }
}

/// True if the command refuses at once when another program works on the worktree.
fn has_no_wait(command: &Command) -> bool {
    let waiting = match command {
        Command::Add(options) => &options.waiting,
        Command::Land(options) => &options.waiting,
        Command::Remove(options) => &options.waiting,
        Command::Restore(options) => &options.waiting,
        Command::Sync(options) => &options.waiting,
        _others => return false,
    };
    waiting.no_wait
}

/// What goes on is told on stderr as it happens.
fn log(cli: &Cli) -> Log {
    if cli.common.quiet {
        return Log::default();
    }
    Log::to(|line| tell_note(paint_on(&std::io::stderr()), line))
}

/// `-v` names each step as it is done, `-vv` every git command with its time.
fn trace(verbose: u8) -> Trace {
    match verbose {
        0 => Trace::default(),
        1 => Trace::to(|asked| {
            if let TraceEvent::Step(step) = asked {
                tell(&format!("{step}\n"));
            }
        }),
        _ => Trace::to(|asked| {
            if let TraceEvent::Command(arguments, took) = asked {
                let words: Vec<_> = arguments
                    .iter()
                    .map(|word| word.to_string_lossy())
                    .collect();
                let milliseconds = took.as_secs_f64() * 1000.0;
                tell(&format!(
                    "{milliseconds:>7.1} ms  git {}\n",
                    words.join(" ")
                ));
            }
        }),
    }
}

/// Whether a patch is printed in colour: for people at a terminal.
fn patch_colour(form: OutputForm) -> PatchColour {
    if form.format == Format::Human && paint_on(&std::io::stdout()) == Paint::Colour {
        PatchColour::On
    } else {
        PatchColour::Off
    }
}

/// Calls the command, and prints what it answers.
#[allow(clippy::too_many_lines, reason = "a table: a command, a line")]
fn dispatch(session: &Session, cli: &Cli) -> Result<ExitCode, Error> {
    use commands::{
        accept, add, changed, clients, doctor, env, guard, hook, hooks, init, land, path, prune,
        reapply, remove, renew, restore, scope, status, sync, trust, verify,
    };
    Ok(match &cli.command {
        Command::Init(o) => print(cli, o.output.form(), &init::run(session, o)?),
        Command::Add(o) => print(cli, o.output.form(), &add::run(session, o)?),
        Command::List(o) => list_on(session, cli, o)?,
        Command::Status(o) => print(cli, o.output.form(), &status::run(session, o)?),
        Command::Path(o) => {
            let mut form = o.output.form();
            if o.nul {
                form.end = RecordEnd::Nul;
            }
            print(cli, form, &path::run(session, o.name.as_deref())?)
        }
        Command::Scope(o) => print(cli, o.output.form(), &scope::run(session, o)?),
        Command::Changed(o) => {
            let form = o.output.form();
            let outcome = changed::run(session, o, patch_colour(form))?;
            if o.name_only {
                print(cli, form, &outcome.map(ChangedNames))
            } else {
                print(cli, form, &outcome)
            }
        }
        Command::Verify(o) => print(cli, o.output.form(), &verify::run(session, o)?),
        Command::Accept(o) => print(cli, o.output.form(), &accept::run(session, o)?),
        Command::Reapply(o) => print(cli, o.output.form(), &reapply::run(session, o)?),
        Command::Restore(o) => print(cli, o.output.form(), &restore::run(session, o)?),
        Command::Renew(o) => print(cli, o.output.form(), &renew::run(session, o)?),
        Command::Land(o) => print(cli, o.output.form(), &land::run(session, o)?),
        Command::Remove(o) if o.undo => {
            print(cli, o.output.form(), &remove::undo::run(session, o)?)
        }
        Command::Remove(o) => print(cli, o.output.form(), &remove::run(session, o)?),
        Command::Prune(o) => print(cli, o.output.form(), &prune::run(session, o)?),
        Command::Sync(o) => print(cli, o.output.form(), &sync::run(session, o)?),
        Command::Hooks(o) => match &o.command {
            HooksCommand::Install(o) => print(cli, o.output.form(), &hooks::install(session, o)?),
            HooksCommand::Uninstall(o) => {
                print(cli, o.output.form(), &hooks::uninstall(session, o)?)
            }
            HooksCommand::Status(o) => print(cli, o.output.form(), &hooks::status(session, o)?),
            HooksCommand::Claude(o) => {
                print(cli, o.output.form(), &hooks::claude::run(session, o)?)
            }
        },
        Command::Exec(o) if o.fence.print_policy.is_some() => {
            print(cli, OutputForm::HUMAN, &commands::exec::run(session, o)?)
        }
        Command::Exec(o) => print(cli, o.output.form(), &commands::exec::run(session, o)?),
        Command::Run(o) => fenced::run(session, cli, o)?,
        Command::Open(o) => commands::open::run(session, o)?,
        Command::Env(o) => {
            let outcome = env::run(session, o)?;
            match o.shell {
                Some(ShellName::Fish) => print(cli, o.output.form(), &outcome.map(FishEnv)),
                Some(ShellName::Bash | ShellName::Zsh) | None => {
                    print(cli, o.output.form(), &outcome)
                }
            }
        }
        Command::Statusline(o) => match commands::statusline::run(session, o.name.as_deref())? {
            Some(line) => write_text(&format!("{line}\n")),
            None => ExitCode::Success,
        },
        Command::ShellInit(o) => write_text(completions::shell_function(o.shell)),
        Command::Doctor(o) => print(cli, o.output.form(), &doctor::run(session, o)?),
        Command::Trust(o) => print(cli, o.output.form(), &trust::run(session, o)?),
        Command::Hook(o) if o.event == "claude-create" => claude::create(session, cli)?,
        Command::Hook(o) if o.event == "claude-remove" => claude::remove(session, cli)?,
        Command::Hook(o) => print(cli, OutputForm::HUMAN, &hook::run(session, o)?),
        Command::EmptyTrash(o) => remove::empty_trash(session, o)?.exit,
        Command::Clients(o) => print(cli, o.output.form(), &Outcome::done(clients::run())),
        Command::Guard(o) => print(cli, OutputForm::HUMAN, &guard::run(session, o)),
        Command::Completions(o) => write_text(&completions::completions(o.shell)),
        Command::Schema(o) => write_text(&schema::schema_text(o.document.as_deref())?),
    })
}
