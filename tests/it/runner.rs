//! Tests that a program can bring its own git adapter: all git goes through it.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use camino::Utf8PathBuf;
use clap::Parser;
use git_agentwt::cli::Cli;
use git_agentwt::cli::Command;
use git_agentwt::commands;
use git_agentwt::commands::Caller;
use git_agentwt::commands::Session;
use git_agentwt::commands::hooks::arguments::HooksCommand;
use git_agentwt::git::patches::PatchColour;
use git_agentwt::git::runner::Call;
use git_agentwt::git::runner::Duct;
use git_agentwt::git::runner::Output;
use git_agentwt::git::runner::Runner;
use git_agentwt::git::runner::SharedRunner;
use git_agentwt::git::runner::Trace;
use git_agentwt::words::error::Error;
use git_agentwt::words::log::Log;

use crate::support::{TestRepo, binary, chmod};

/// Marks what it starts, in the environment, and counts it.
struct Marking(Arc<AtomicUsize>);

impl Runner for Marking {
    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let mut environment = call.environment.to_vec();
        environment.push((MARK.into(), "1".into()));
        Duct.run(&Call {
            environment: &environment,
            ..*call
        })
    }
}

/// Answers the version, and fails all else as a git would.
struct Failing;

impl Runner for Failing {
    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        if call.args.iter().any(|arg| arg == "version") {
            return Duct.run(call);
        }
        Ok(Output {
            status: Some(77),
            stdout: Vec::new(),
            stderr: b"fatal: the adapter has no connection\n".to_vec(),
        })
    }
}

/// Cannot start anything.
struct Missing;

impl Runner for Missing {
    fn run(&self, _: &Call<'_>) -> std::io::Result<Output> {
        Err(std::io::Error::other("the adapter is switched off"))
    }
}

const MARK: &str = "AGENTWT_TEST_MARK";
/// Where the program below is told to work: it needs a search path of its own.
const CHILD: &str = "AGENTWT_TEST_CHILD";

fn session(dir: &Path, runner: impl Runner + 'static) -> Session {
    Session {
        caller: Caller::Library,
        start: Utf8PathBuf::from_path_buf(dir.to_owned()).expect("it is UTF-8"),
        state: None,
        environment: Vec::new(),
        hook_index: None,
        walking: git_agentwt::disk::scan::walk::WalkMode::default(),
        input: Vec::new(),
        quarantine: None,
        command_line: String::new(),
        binary: Utf8PathBuf::from_path_buf(binary()).expect("it is UTF-8"),
        runner: SharedRunner::new(runner),
        trace: Trace::default(),
        progress: Arc::default(),
        signal: Arc::default(),
        idle: Arc::default(),
        no_wait: false,
        log: Log::default(),
        prober: None,
        parent_dir: None,
    }
}

fn run(session: &Session, arguments: &[&str]) -> Result<(), Error> {
    let all = std::iter::once(&"git-agentwt").chain(arguments);
    match Cli::parse_from(all).command {
        Command::Init(o) => commands::init::run(session, &o).map(drop),
        Command::Add(o) => commands::add::run(session, &o).map(drop),
        Command::Land(o) => commands::land::run(session, &o).map(drop),
        Command::List(o) => commands::list::run(session, &o, &mut |_| {}).map(drop),
        Command::Status(o) => commands::status::run(session, &o).map(drop),
        Command::Path(o) => commands::path::run(session, o.name.as_deref()).map(drop),
        Command::Scope(o) => commands::scope::run(session, &o).map(drop),
        Command::Changed(o) => commands::changed::run(session, &o, PatchColour::Off).map(drop),
        Command::Verify(o) => match &o.range {
            Some(range) => commands::verify::range::run(session, &o, range).map(drop),
            None => commands::verify::run(session, &o).map(drop),
        },
        Command::Accept(o) => commands::accept::run(session, &o).map(drop),
        Command::Restore(o) => commands::restore::run(session, &o).map(drop),
        Command::Reapply(o) => commands::reapply::run(session, &o).map(drop),
        Command::Renew(o) => commands::renew::run(session, &o).map(drop),
        Command::Remove(o) => commands::remove::run(session, &o).map(drop),
        Command::Prune(o) => commands::prune::run(session, &o).map(drop),
        Command::Sync(o) => commands::sync::run(session, &o).map(drop),
        Command::Hooks(o) => match &o.command {
            HooksCommand::Install(o) => commands::hooks::install(session, o).map(drop),
            HooksCommand::Uninstall(o) => commands::hooks::uninstall(session, o).map(drop),
            HooksCommand::Status(o) => commands::hooks::status(session, o).map(drop),
            HooksCommand::Claude(o) => commands::hooks::claude::run(session, o).map(drop),
        },
        Command::Doctor(o) => commands::doctor::run(session, &o).map(drop),
        Command::Hook(o) => commands::hook::run(session, &o).map(drop),
        Command::EmptyTrash(o) => commands::remove::empty_trash(session, &o).map(drop),
        Command::Guard(o) => {
            drop(commands::guard::run(session, &o));
            Ok(())
        }
        Command::Exec(o) => commands::exec::run(session, &o).map(drop),
        Command::Open(o) => commands::open::run(session, &o).map(drop),
        Command::Env(o) => commands::env::run(session, &o).map(drop),
        Command::Statusline(o) => commands::statusline::run(session, o.name.as_deref()).map(drop),
        Command::Trust(o) => commands::trust::run(session, &o).map(drop),
        Command::Clients(_)
        | Command::Completions(_)
        | Command::Run(_)
        | Command::Schema(_)
        | Command::ShellInit(_) => Ok(()),
    }
}

/// Every command once, in this process.
fn every_command(dir: &Path) {
    let calls = Arc::new(AtomicUsize::new(0));
    let session = session(dir, Marking(Arc::clone(&calls)));
    for line in [
        "init",
        "add task --write=src/** --exclude=**/secrets/**",
        "list",
        "status task",
        "path task",
        "scope task",
        "changed task",
        "verify --all",
        "verify --range HEAD..HEAD --write=src/**",
        "restore task",
        "reapply task",
        "sync task",
        "hooks status task",
        "doctor",
        "prune",
        "hook post-commit",
        "remove --force task",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        run(&session, &words).unwrap_or_else(|error| panic!("{line}: {error}"));
        if line == "changed task" {
            let file = dir.join(".agentwt/worktrees/task/src/main.rs");
            std::fs::write(file, "fn main() { edited(); }\n").expect("it can be edited");
        }
    }
    assert!(calls.load(Ordering::Relaxed) > 0);
}

#[test]
fn every_git_process_of_every_command_is_started_by_the_runner() {
    if let Some(dir) = std::env::var_os(CHILD) {
        return every_command(Path::new(&dir));
    }
    let repo = TestRepo::project();
    let log = repo.root().join("unmarked");
    let shims = repo.root().join("shims");
    std::fs::create_dir(&shims).expect("a directory");
    let real = repo.sh(repo.main(), "command -v git").ok();
    let shim = format!(
        "#!/bin/sh\n[ -n \"${MARK}\" ] || echo \"$*\" >>'{}'\nexec {real} \"$@\"\n",
        log.display()
    );
    std::fs::write(shims.join("git"), shim).expect("a shim");
    chmod(&shims.join("git"), 0o755);

    let own = std::env::current_exe().expect("a program");
    let name = "runner::every_git_process_of_every_command_is_started_by_the_runner";
    let mut command = repo.command(own, repo.main());
    let mut path = OsString::from(shims.as_os_str());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    command.args(["--exact", name, "--nocapture"]);
    command.env("PATH", path).env(CHILD, repo.main());
    let said = repo.said(&command.output().expect("it starts"));
    assert_eq!(said.status, 0, "{said}");
    let unmarked = std::fs::read_to_string(&log).unwrap_or_default();
    // gix asks for the place of the attributes of git's installation by itself
    let ours = unmarked.lines();
    let ours: Vec<_> = ours
        .filter(|line| !line.starts_with("config -lz --show-origin"))
        .collect();
    assert_eq!(ours, [""; 0], "these were started past the runner");

    // and the log would have said so
    repo.command(shims.join("git"), repo.main())
        .arg("version")
        .output()
        .expect("it starts");
    let unmarked = std::fs::read_to_string(&log).unwrap_or_default();
    assert!(unmarked.ends_with("version\n"), "{unmarked}");
}

#[test]
fn a_runner_that_fails_is_an_error_with_its_words() {
    let repo = TestRepo::project();
    // what a revision means is for git to say
    let words = ["add", "task", "--base=HEAD~0", "--write=/src/"];
    let error = run(&session(repo.main(), Failing), &words).expect_err("it fails");
    let text = error.to_string();
    assert!(
        text.ends_with("fatal: the adapter has no connection"),
        "{text}"
    );
    assert_eq!(error.exit_code().code(), 5);
    let error = run(&session(repo.main(), Missing), &words).expect_err("it fails");
    assert_eq!(
        error.to_string(),
        "cannot start `git`: the adapter is switched off"
    );
}
