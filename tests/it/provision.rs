//! Tests the library's `provision`, `path` and `teardown`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use camino::Utf8PathBuf;
use git_agentwt::commands::add::answer::Done;
use git_agentwt::git::runner::Call;
use git_agentwt::git::runner::Duct;
use git_agentwt::git::runner::Output;
use git_agentwt::git::runner::Runner;
use git_agentwt::git::runner::SharedRunner;
use git_agentwt::library::ErrorKind;
use git_agentwt::library::Options;
use git_agentwt::library::Provision;
use git_agentwt::library::Teardown;
use git_agentwt::library::path;
use git_agentwt::library::provision;
use git_agentwt::library::teardown;
use git_agentwt::system::probe::Ownership;
use git_agentwt::system::probe::Question;
use git_agentwt::system::probe::SharedProber;
use git_agentwt::words::log::Log;

use super::support::{TestRepo, binary};

fn options(repo: &TestRepo) -> (Options, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let options = Options {
        directory: Utf8PathBuf::from_path_buf(repo.main().to_owned()).expect("it is UTF-8"),
        retry_delay: Duration::from_millis(1),
        log: Log::to(move |line| heard.lock().expect("unhurt").push(line.to_owned())),
        ..Options::default()
    };
    (options, said)
}

fn task() -> Provision {
    let mut task = Provision {
        name: "task-5".to_owned(),
        no_hooks: true,
        ..Provision::default()
    };
    task.scope.write = Some(vec!["src/**".to_owned()]);
    task
}

#[test]
fn hooks_start_the_first_of_its_name_that_can_be_started() {
    const MAIN: &str = "AGENTWT_TEST_PROVISION_IN";
    // started below, with another search path
    if let Ok(directory) = std::env::var(MAIN) {
        let options = Options {
            directory: directory.into(),
            ..Options::default()
        };
        let asked = Provision {
            no_hooks: false,
            ..task()
        };
        provision(&options, &asked).expect("it is made");
        return;
    }
    let repo = TestRepo::with_one_file();
    repo.sh(
        repo.root(),
        "mkdir -p text dir/git-agentwt; echo no >text/git-agentwt",
    )
    .ok();
    let root = repo.root().display();
    let own = std::env::current_exe().expect("the test's own path");
    let mut command = repo.command(own, repo.main());
    let search_path = command.get_envs().find(|(name, _)| *name == "PATH");
    let search_path = search_path
        .and_then(|(_, path)| path?.to_str())
        .expect("a search path");
    let search_path = format!("{root}/text:{root}/dir:{search_path}");
    command.env("PATH", search_path).env(MAIN, repo.main());
    let name = "provision::hooks_start_the_first_of_its_name_that_can_be_started";
    let output = command.args(["--exact", name]).output().expect("it starts");
    repo.said(&output).ok();
    let started = repo.main().join(".git/worktrees/task-5/agentwt/bin");
    let started = std::fs::read_to_string(started).expect("hooks");
    assert_eq!(std::path::Path::new(started.trim_end()), binary());
}

#[test]
fn what_is_provisioned_is_there_again_and_can_be_torn_down() {
    let repo = TestRepo::with_one_file();
    let (options, _) = options(&repo);
    let unknown = path(&options, "task-5").expect_err("there is none");
    assert_eq!(unknown.kind(), ErrorKind::UnknownWorktree);
    let unknown = teardown(&options, "task-5", &Teardown::default()).expect_err("there is none");
    assert_eq!(unknown.kind(), ErrorKind::UnknownWorktree);

    let mut asked = task();
    asked.prompt = Some(b"-".to_vec());
    asked.client = git_agentwt::config::value::Choice::parse("codex");
    let made = provision(&options, &asked).expect("it is made");
    assert_eq!(made.done, Done::Made);
    assert_eq!((made.attempts, made.owner.is_none()), (1, true));
    assert_eq!(path(&options, "task-5").expect("it is there"), made.path);
    let context = std::fs::read_to_string(made.path.join("AGENTS.md")).expect("context");
    assert!(context.starts_with("-\n"), "the prompt as it is: {context}");
    let again = provision(&options, &task()).expect("it is there");
    assert_eq!((again.done, &again.path), (Done::Kept, &made.path));

    std::fs::write(made.path.join("src/new"), "new\n").expect("a file");
    let refused = teardown(&options, "task-5", &Teardown::default()).expect_err("work");
    assert_eq!(refused.kind(), ErrorKind::Refused);
    std::fs::remove_file(made.path.join("src/new")).expect("it is there");
    let removed = teardown(&options, "task-5", &Teardown::default()).expect("no work is lost");
    assert_eq!(removed.path, made.path);
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
}

#[test]
fn the_prober_is_asked_and_can_stop_it() {
    let repo = TestRepo::with_one_file();
    repo.git(&["branch", "agentwt/task-5"]);
    let (mut options, said) = options(&repo);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    let prober = move |question: &Question| {
        heard.lock().expect("unhurt").push(question.clone());
        match question.attempt {
            2 => Ownership::Unknown("the scheduler does not answer".to_owned()),
            _ => Ownership::Lost,
        }
    };
    options.prober = Some(SharedProber::new(prober));
    let before = repo.fingerprint();
    let mut task = task();
    task.owner = Some("me".to_owned());
    let lost = provision(&options, &task).expect_err("it is lost");
    assert_eq!(lost.kind(), ErrorKind::LostOwnership);
    assert_eq!(lost.exit_code().code(), 8);
    assert_eq!(repo.fingerprint(), before);
    let asked = asked.lock().expect("unhurt");
    let attempts: Vec<u32> = asked.iter().map(|question| question.attempt).collect();
    assert_eq!(attempts, [2, 3]);
    assert_eq!(asked[0].owner.as_deref(), Some("me"));
    let said = said.lock().expect("unhurt").join("\n");
    assert!(said.contains("the scheduler does not answer"), "{said}");
}

/// Counts the commands, and asks the usual one.
struct Counting(Arc<AtomicUsize>);

impl Runner for Counting {
    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Duct.run(call)
    }
}

#[test]
fn the_runner_starts_git_and_an_unlucky_one_is_an_error_of_git() {
    let repo = TestRepo::with_one_file();
    let (mut options, _) = options(&repo);
    let calls = Arc::new(AtomicUsize::new(0));
    options.runner = SharedRunner::new(Counting(Arc::clone(&calls)));
    provision(&options, &task()).expect("it is made");
    assert!(calls.load(Ordering::Relaxed) > 0);

    let (mut options, _) = self::options(&repo);
    options.directory = "/".into();
    let nowhere = provision(&options, &task()).expect_err("there is no repository");
    assert_eq!(nowhere.kind(), ErrorKind::Usage);
}

#[test]
fn threads_of_one_program_wait_for_each_other() {
    let repo = TestRepo::with_one_file();
    let (options, _) = options(&repo);
    let made: Vec<Done> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| provision(&options, &task()).expect("it is there").done))
            .collect();
        let done = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        done.collect()
    });
    let of = |what: Done| made.iter().filter(|done| **done == what).count();
    assert_eq!((of(Done::Made), of(Done::Kept)), (1, 3));
}

#[test]
fn where_no_repository_is_around_one_is_cloned_into_the_parent_directory() {
    let repo = TestRepo::with_one_file();
    let (mut options, _) = options(&repo);
    let outside = repo.root().join("outside");
    std::fs::create_dir_all(&outside).expect("a directory");
    options.directory = Utf8PathBuf::from_path_buf(repo.root().to_owned()).expect("UTF-8");
    let mut asked = task();
    asked.repo = Some(format!("file://{}", repo.main().display()));
    let nowhere = provision(&options, &asked).expect_err("there is nothing around");
    assert_eq!(nowhere.kind(), ErrorKind::NoParentDir);
    options.parent_dir = Some(Utf8PathBuf::from_path_buf(outside.clone()).expect("UTF-8"));
    let made = provision(&options, &asked).expect("it is made");
    assert_eq!(made.path, outside.join(".agentwt/worktrees/task-5"));
    assert_eq!(path(&options, "task-5").expect("it is there"), made.path);
    teardown(&options, "task-5", &Teardown::default()).expect("no work is lost");
    assert!(!made.path.exists());
}

#[test]
fn a_claim_is_taken_and_given_back() {
    let repo = TestRepo::with_one_file();
    repo.git(&["init", "-q", "--bare", "../up.git"]);
    repo.git(&["remote", "add", "origin", "../up.git"]);
    let (options, _) = options(&repo);
    let mut asked = task();
    asked.claim = Some("origin".to_owned());
    let made = provision(&options, &asked).expect("it is made");
    assert!(made.claim.is_some());
    let there = || repo.git(&["ls-remote", "origin", "refs/agentwt/claims/*"]);
    assert!(there().contains("task-5"), "{}", there());
    teardown(&options, "task-5", &Teardown::default()).expect("no work is lost");
    assert!(!there().contains("claims/task-5"), "{}", there());
}
