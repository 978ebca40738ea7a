//! Tests `add` for programs: retries, owners, the probe, and locks of other gits.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use insta::assert_snapshot;

use super::support::{TestRepo, binary, wait_until};

const WRITE: &[&str] = &["--write", "src/**"];

fn project() -> TestRepo {
    let repo = TestRepo::empty();
    repo.write("src/a", "a\n");
    repo.commit_all("one");
    repo
}

/// `add task-5` with more options.
fn add<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["add", "task-5", "--no-hooks"];
    arguments.extend(WRITE);
    arguments.extend(options);
    arguments
}

fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

/// A process of its own to be an owner; it ends with the test.
struct Sleeper(Child);

impl Sleeper {
    fn new(repo: &TestRepo, dir: &Path) -> Self {
        let mut sleeper = repo.command("sleep", dir);
        Self(sleeper.arg("600").spawn().expect("it starts"))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A probe that writes what it was told, and then goes on.
fn probe(repo: &TestRepo, then: &str) -> (PathBuf, String) {
    let log = repo.root().join("asked");
    let says = r#"echo "$AGENTWT_NAME $AGENTWT_OWNER $AGENTWT_ATTEMPT""#;
    let command = format!("{says} >>'{}'; {then}", log.display());
    (log, command)
}

#[test]
fn add_alone_fails_at_once_and_with_retries_when_all_have_failed() {
    let repo = project();
    repo.git(&["branch", "agentwt/task-5"]);
    let before = repo.fingerprint();
    let said = repo.agentwt(&add(&[]));
    assert!(!said.fails(4).stderr.contains("attempt"), "{said}");
    let said = repo.agentwt(&add(&["--retries", "--retry-delay=1ms"]));
    assert_snapshot!(said, @r"
    --- stderr
    note: attempt 1 of 3 failed: cannot add `task-5`: the branch `agentwt/task-5` exists; the next one in 1ms
    note: attempt 2 of 3 failed: cannot add `task-5`: the branch `agentwt/task-5` exists; the next one in 1ms
    error: cannot add `task-5`: the branch `agentwt/task-5` exists
    help: to work on it: git agentwt add task-5 -b agentwt/task-5; to see what it has: git log agentwt/task-5
    --- status 4
    ");
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn what_does_not_pass_fails_at_once_also_with_retries() {
    let repo = project();
    for (options, status) in [
        (&["--base", "nowhere"][..], 2),
        (&["--write", "!x"], 3),
        (&["--base", "nowhere", "--owner", "me"], 2),
        (&["--owner", "me", "--owner-pid", "4194999"], 2),
    ] {
        let mut all = options.to_vec();
        all.extend(["--retries=9", "--retry-delay=60"]);
        let said = repo.agentwt(&add(&all));
        assert!(!said.fails(status).stderr.contains("attempt"), "{said}");
    }
    repo.agentwt(&add(&[])).ok();
    let other = ["add", "task-5", "--write", "docs/**", "--retries"];
    let said = repo.agentwt(&other);
    assert!(!said.fails(4).stderr.contains("attempt"), "{said}");
}

#[test]
fn an_attempt_after_the_obstacle_has_gone_succeeds_and_json_counts_it() {
    let repo = project();
    repo.git(&["branch", "agentwt/task-5"]);
    // the probe is asked before each retry: here it takes the branch away before the third attempt
    let then = r#"[ "$AGENTWT_ATTEMPT" = 2 ] || git branch -q -D agentwt/task-5"#;
    let (log, command) = probe(&repo, then);
    let options = [
        "--owner-probe",
        &command,
        "--owner=me",
        "--retry-delay=1ms",
        "--json",
    ];
    let said = repo.agentwt(&add(&options));
    let json = said.ok();
    assert!(json.contains(r#""attempts": 3"#), "{said}");
    assert!(json.contains(r#""strategy": "worktree""#), "{said}");
    assert!(
        json.contains(r#""path": "$TMP/repo/.agentwt/worktrees/task-5""#),
        "{said}"
    );
    assert_eq!(lines(&log), ["task-5 me 2", "task-5 me 3"]);
    // and where nothing is in the way, nobody is asked
    let said = repo.agentwt(&add(&options));
    assert!(said.ok().contains(r#""attempts": 1"#), "{said}");
    assert_eq!(lines(&log).len(), 2);
}

#[test]
fn lost_ownership_stops_at_once_and_leaves_nothing() {
    let repo = project();
    repo.git(&["branch", "agentwt/task-5"]);
    let before = repo.fingerprint();
    let (log, command) = probe(&repo, "echo no longer yours; exit 1");
    let said = repo.agentwt(&add(&[
        "--owner-probe",
        &command,
        "--retries=9",
        "--retry-delay=1ms",
    ]));
    said.fails(8);
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("no longer yours\n"), "{said}");
    assert!(
        said.stderr
            .contains("error: ownership of `task-5` is lost, according to the probe"),
        "{said}"
    );
    assert_eq!(lines(&log), ["task-5  2"]);
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn an_answer_that_says_nothing_is_told_and_tried_on() {
    let repo = project();
    repo.git(&["branch", "agentwt/task-5"]);
    let hangs = "sleep 600";
    for (command, why) in [
        ("exit 3", "it ended with status 3"),
        ("kill -9 $$", "a signal ended it"),
        (hangs, "it gave no answer in 100ms"),
    ] {
        let said = repo.agentwt(&add(&[
            "--owner-probe",
            command,
            "--probe-timeout=100ms",
            "--retry-delay=1ms",
        ]));
        let told = format!("cannot say whether `task-5` is still ours ({why}); it is tried on");
        assert_eq!(said.fails(4).stderr.matches(&told).count(), 2, "{said}");
    }
}

#[test]
fn a_prompt_from_a_pipe_is_read_once_for_all_attempts() {
    let repo = project();
    repo.git(&["branch", "agentwt/task-5"]);
    let options = "--owner-probe 'git branch -q -D agentwt/task-5' --retry-delay=1ms";
    let line = format!(
        "mkfifo ../task && (echo 'Make it green' >../task &) && git agentwt {} {options} \
        --client codex --prompt-file ../task",
        add(&[]).join(" ").replace('*', "\\*")
    );
    repo.sh(repo.main(), &line).ok();
    let text = std::fs::read_to_string(repo.worktree("task-5").join("AGENTS.md"));
    let text = text.expect("context");
    assert!(text.starts_with("Make it green\n"), "{text}");
}

/// Starts `add` so that it meets a branch that is in the way, with its own stderr in a file.
fn start(repo: &TestRepo, options: &[&str]) -> (Child, PathBuf) {
    let file = repo.root().join("stderr");
    let stderr = std::fs::File::create(&file).expect("a file");
    let mut command = repo.command(binary(), repo.main());
    command.args(add(options)).stdin(Stdio::null());
    let child = command.stdout(Stdio::null()).stderr(stderr).spawn();
    (child.expect("it starts"), file)
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args([name, &pid])
        .status();
    assert!(sent.expect("kill starts").success());
}

#[test]
fn a_signal_ends_the_pause_between_two_attempts() {
    let repo = project();
    repo.git(&["branch", "agentwt/task-5"]);
    let before = repo.fingerprint();
    for (name, status) in [("-INT", 130), ("-TERM", 143)] {
        let (mut child, stderr) = start(&repo, &["--retries", "--retry-delay=10m"]);
        wait_until("it waits", || !lines(&stderr).is_empty());
        signal(&child, name);
        let ended = child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(status), "{name}");
        assert_eq!(repo.fingerprint(), before);
    }
}

#[test]
fn a_signal_ends_the_probe_and_all_that_it_started() {
    let repo = project();
    repo.git(&["branch", "agentwt/task-5"]);
    let (log, command) = probe(&repo, "sleep 600 & echo $! >>asked-pid; wait");
    let options = ["--owner-probe", &command, "--retry-delay=1ms"];
    let (mut child, _) = start(&repo, &options);
    let pid_file = repo.main().join("asked-pid");
    wait_until("the probe runs", || !lines(&pid_file).is_empty());
    signal(&child, "-TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    assert_eq!(lines(&log).len(), 1);
    let pid = lines(&pid_file)[0].clone();
    let pid: u32 = pid.parse().expect("a number");
    wait_until("what the probe started has ended", || {
        git_agentwt::system::processes::start_time(pid).is_none()
    });
}

#[test]
fn a_second_owner_is_refused_while_the_first_one_lives() {
    let repo = project();
    let first = Sleeper::new(&repo, repo.root());
    let pid = first.pid();
    repo.agentwt(&add(&["--owner=one", "--owner-pid", &pid]))
        .ok();
    let two = ["--owner=two", "--retries=1"];
    let said = repo.agentwt(&add(&two));
    let said_text = said.fails(4).stderr.clone();
    assert!(
        said_text.contains("worktree `task-5` belongs to `one` (process "),
        "{said}"
    );
    assert!(
        said_text.contains("and that agent is still running"),
        "{said}"
    );
    assert!(
        said_text.contains("git agentwt add task-5 --owner two --take-over"),
        "{said}"
    );
    // the same one may ask again, and anybody who only wants the path
    repo.agentwt(&add(&["--owner=one", "--retries=1"])).ok();
    let said = repo.agentwt(&add(&[]));
    said.ok();
    assert!(
        said.stderr.contains("note: it belongs to `one` (process "),
        "{said}"
    );

    drop(first);
    let said = repo.agentwt(&add(&two));
    said.ok();
    assert!(
        said.stderr.contains("note: it belonged to `one` (process "),
        "{said}"
    );
    // the second one named no process: nobody can tell whether it lives
    let said = repo.agentwt(&add(&["--owner=three", "--retries=1"]));
    assert!(
        said.fails(4).stderr.contains("it is unknown whether"),
        "{said}"
    );
    repo.agentwt(&add(&["--owner=three", "--take-over"])).ok();
    let said = repo.agentwt(&add(&["--owner=two", "--retries=1"]));
    assert!(
        said.fails(4).stderr.contains("belongs to `three`"),
        "{said}"
    );
}

#[test]
fn an_agent_that_still_works_there_is_waited_for() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let repo = project();
    repo.agentwt(&add(&[])).ok();
    let agent = Sleeper::new(&repo, &repo.worktree("task-5").join("src"));
    let said = repo.agentwt(&add(&["--owner=me", "--retries=1"]));
    let still = format!(
        "a program is still running in worktree `task-5`: process {}",
        agent.pid()
    );
    assert!(said.fails(4).stderr.contains(&still), "{said}");
    // whoever names it as the owner means it
    repo.agentwt(&add(&["--owner=me", "--owner-pid", &agent.pid()]))
        .ok();
}

#[test]
fn an_owner_is_known_from_the_first_step_on() {
    let repo = project();
    // the user's own hook runs in the middle of `add`
    let hook = repo.root().join("hooks/post-checkout");
    let intent = "$(git rev-parse --git-common-dir)/agentwt/worktrees/task-5/intent.toml";
    let text = format!("#!/bin/sh\ngrep '^id' \"{intent}\" >&2\nexit 1\n");
    std::fs::create_dir(repo.root().join("hooks")).expect("a directory");
    std::fs::write(&hook, text).expect("a hook");
    super::support::chmod(&hook, 0o755);
    let hooks = repo.root().join("hooks");
    repo.git(&["config", "core.hooksPath", &hooks.to_string_lossy()]);
    let said = repo.agentwt(&add(&["--owner=me", "--retries=1"]));
    assert!(said.fails(5).stderr.contains("id = \"me\""), "{said}");
}

#[test]
fn a_lock_of_another_git_that_goes_away_is_no_failure_and_no_attempt() {
    let repo = project();
    let lock = repo.main().join(".git/config.lock");
    std::fs::write(&lock, "").expect("a lock");
    let goes = lock.clone();
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(150));
        std::fs::remove_file(goes).expect("it is there");
    });
    let said = repo.agentwt(&add(&["--json"]));
    assert!(said.ok().contains(r#""attempts": 1"#), "{said}");
    other.join().expect("no panic");
}

#[test]
fn a_lock_that_stays_is_an_error_that_says_how_to_find_who_has_it() {
    let repo = project();
    let lock = repo.main().join(".git/config.lock");
    std::fs::write(&lock, "").expect("a lock");
    let before = repo.fingerprint();
    let said = repo.agentwt(&add(&["--retries", "--retry-delay=10m"]));
    assert!(!said.fails(5).stderr.contains("attempt"), "{said}");
    assert!(said.stderr.contains("could not lock config file"), "{said}");
    assert!(said.stderr.contains("help: another git holds"), "{said}");
    assert!(said.stderr.contains("fuser -v "), "{said}");
    assert_eq!(repo.fingerprint(), before, "the lock is not ours: it stays");
}

#[test]
fn a_lock_that_stays_stops_the_hooks_with_the_same_remedy() {
    let repo = project();
    let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"**\"]\n";
    repo.write(".agentwt/config.toml", config);
    repo.commit_all("a scope");
    repo.sh(repo.main(), "git worktree add -q ../plain").ok();
    let lock = repo.main().join(".git/config.lock");
    std::fs::write(&lock, "").expect("a lock");
    let plain = repo.root().join("plain");
    let said = repo.sh(&plain, "git-agentwt hooks install");
    assert!(
        said.fails(5).stderr.contains("help: another git holds"),
        "{said}"
    );
    assert!(lock.exists(), "the lock is not ours: it stays");
}
