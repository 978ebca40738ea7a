//! Tests many commands at once: one name, one operation at a time; different names side by side.

use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use super::support::{Said, TestRepo, binary, wait_until};

fn start(repo: &TestRepo, arguments: &[&str]) -> Child {
    let mut command = repo.command(binary(), repo.main());
    command.args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

fn add(repo: &TestRepo, name: &str, options: &[&str]) -> Child {
    let mut arguments = vec!["add", name, "--no-hooks", "--write", "src/**"];
    arguments.extend(options);
    start(repo, &arguments)
}

/// Ends what was started; what each said.
fn all(repo: &TestRepo, children: Vec<Child>) -> Vec<Said> {
    let output = |child: Child| -> Output { child.wait_with_output().expect("it ends") };
    let said = children.into_iter().map(|child| repo.said(&output(child)));
    said.collect()
}

#[test]
fn a_hundred_at_once_all_succeed() {
    let repo = TestRepo::with_one_file();
    let names: Vec<String> = (0..100).map(|number| format!("task-{number}")).collect();
    let children = names.iter().map(|name| add(&repo, name, &[])).collect();
    for said in all(&repo, children) {
        said.ok();
    }
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.matches("worktree ").count(), 101);
    assert!(!listed.contains("locked"), "{listed}");
    for name in &names {
        assert!(repo.worktree(name).join("src/a").is_file(), "{name}");
    }
    let left = repo.sh(
        repo.main(),
        "find .git -name '*.lock' -o -path '*/agentwt/lock*'",
    );
    assert_eq!(left.ok(), "", "no lock is left");
}

#[test]
fn of_twenty_for_one_name_one_makes_it_and_all_print_its_path() {
    let repo = TestRepo::with_one_file();
    let children = (0..20).map(|_| add(&repo, "task-5", &[])).collect();
    let said = all(&repo, children);
    let path = "$TMP/repo/.agentwt/worktrees/task-5";
    for one in &said {
        assert_eq!(one.ok(), path);
    }
    let there = said
        .iter()
        .filter(|one| one.stderr.contains("is there already"));
    assert_eq!(there.count(), 19);
}

#[test]
fn adds_removes_and_the_users_own_git_side_by_side_do_not_fail() {
    let repo = TestRepo::with_one_file();
    for number in 0..8 {
        let name = format!("old-{number}");
        let said = all(&repo, vec![add(&repo, &name, &[])]);
        said[0].ok();
    }
    let mut children: Vec<Child> = Vec::new();
    for number in 0..8 {
        children.push(start(&repo, &["remove", &format!("old-{number}")]));
        children.push(add(&repo, &format!("new-{number}"), &[]));
        let mut users = repo.command("sh", repo.main());
        let loops = "for i in 1 2 3 4 5; do git config user.nick $i; git worktree list >/dev/null; done; exit 0";
        users.args(["-c", loops]).stdin(Stdio::null());
        users.stdout(Stdio::piped()).stderr(Stdio::piped());
        children.push(users.spawn().expect("it starts"));
    }
    for said in all(&repo, children) {
        said.ok();
    }
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(
        listed.matches("/new-").count(),
        16,
        "path and branch of each: {listed}"
    );
    assert_eq!(listed.matches("/worktrees/old-").count(), 0, "{listed}");
}

/// An `add` that holds the lock of its name until the file `go` is there: the user's own hook
/// waits for it.
fn held(repo: &TestRepo) -> Child {
    let hooks = repo.root().join("hooks");
    let go = repo.root().join("go");
    let hook = format!(
        "#!/bin/sh\ntouch ../begun\nwhile ! [ -e '{}' ]; do sleep 0.02; done\n",
        go.display()
    );
    std::fs::create_dir(&hooks).expect("a directory");
    std::fs::write(hooks.join("post-checkout"), hook).expect("a hook");
    super::support::chmod(&hooks.join("post-checkout"), 0o755);
    repo.git(&["config", "core.hooksPath", &hooks.to_string_lossy()]);
    let child = add(repo, "task-5", &[]);
    let begun = repo.worktree("begun");
    wait_until("the command began", || begun.exists());
    child
}

fn release(repo: &TestRepo, held: Child) {
    std::fs::write(repo.root().join("go"), "").expect("a file");
    all(repo, vec![held])[0].ok();
}

#[test]
fn who_does_not_want_to_wait_is_refused_at_once_and_others_go_on() {
    let repo = TestRepo::with_one_file();
    let holder = held(&repo);
    let said = repo.agentwt(&["add", "task-5", "--write", "src/**", "--no-wait"]);
    let by = format!("is in use by another git-agentwt (pid {})", holder.id());
    assert!(said.fails(4).stderr.contains(&by), "{said}");
    assert!(said.stderr.contains("ps -p "), "{said}");
    release(&repo, holder);
    repo.agentwt(&["add", "task-5", "--write", "src/**", "--no-wait"])
        .ok();
    for command in ["sync", "restore", "remove"] {
        repo.agentwt(&[command, "task-5", "--no-wait"]).ok();
    }
}

#[test]
fn who_waits_says_so_and_for_whom_and_a_signal_ends_it() {
    let repo = TestRepo::with_one_file();
    let holder = held(&repo);
    let file = repo.root().join("stderr");
    let mut command = repo.command(binary(), repo.main());
    command.args(["add", "task-5", "--write", "src/**"]);
    let stderr = std::fs::File::create(&file).expect("a file");
    command.stdout(Stdio::null()).stderr(stderr);
    let mut waits = command.spawn().expect("it starts");
    let told = || std::fs::read_to_string(&file).unwrap_or_default();
    wait_until("a line of progress", || told().contains('\n'));
    let line = format!(
        "note: waiting for another git agentwt that works on `task-5` (pid {}) …\n",
        holder.id()
    );
    assert_eq!(told(), line);
    let sent = std::process::Command::new("kill")
        .args(["-INT", &waits.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
    let began = Instant::now();
    assert_eq!(waits.wait().expect("it ends").code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(60), "at once");
    release(&repo, holder);
}

#[test]
fn a_lock_goes_with_the_process_that_was_killed() {
    let repo = TestRepo::with_one_file();
    let mut holder = held(&repo);
    holder.kill().expect("it runs");
    holder.wait().expect("it ends");
    std::fs::write(repo.root().join("go"), "").expect("a file");
    repo.agentwt(&["add", "task-5", "--write", "src/**", "--no-wait"])
        .ok();
}
