//! With `--push` the remote has the work first: what it rejects has moved nothing here.

use super::{assert_landed, go_on, state, with_work, work};
use crate::support::{Said, Shim, TestRepo};

const PUSH: [&str; 4] = ["land", "--push", "origin", "task"];
const WAYS: [&[&str]; 3] = [&[], &["--squash"], &["--rebase"]];

/// A worktree with two commits, whose name is claimed on a server that has main as it is here.
#[track_caller]
fn with_server() -> TestRepo {
    let repo = TestRepo::project();
    let line = "git clone -q --bare repo server.git; git clone -q server.git other
        git -C repo remote add origin ../server.git; git -C repo fetch -q origin";
    repo.sh(repo.root(), line).ok();
    repo.agentwt(&["add", "task", "--claim", "origin", "--write", "src/**"])
        .ok();
    let dir = repo.worktree("task");
    work(&repo, &dir, "one");
    work(&repo, &dir, "two");
    repo
}

/// The refs of the server.
#[track_caller]
fn server(repo: &TestRepo) -> String {
    repo.git_in(&repo.root().join("server.git"), &["for-each-ref"])
}

/// A teammate pushes to main.
#[track_caller]
fn teammate_pushes(repo: &TestRepo) {
    let line = "echo theirs >docs/theirs; git add -A; git commit -qm theirs; git push -q 2>&1";
    repo.sh(&repo.root().join("other"), line).ok();
}

/// Branches, worktrees, the record of ours and what the worktree holds.
#[track_caller]
fn held(repo: &TestRepo) -> String {
    let script = "git for-each-ref; git worktree list; git status --porcelain
        ls .git/agentwt/worktrees; cat src/*; ls .agentwt/worktrees/task/src";
    repo.sh(repo.main(), script).ok()
}

/// The refs of a server that has only our main.
#[track_caller]
fn main_alone(repo: &TestRepo) -> String {
    let main = repo.git(&["rev-parse", "main"]);
    format!("{main} commit\trefs/heads/main")
}

#[track_caller]
fn assert_pushed(repo: &TestRepo) {
    assert_landed(repo);
    assert_eq!(server(repo), main_alone(repo));
}

/// The first command that the help names.
#[track_caller]
fn advice(repo: &TestRepo, said: &Said) -> String {
    let help = said.stderr.split("help: ").nth(1).expect("help");
    let help = help.split("first: ").nth(1).expect("a command");
    let root = repo.root().display().to_string();
    help.trim_end().replace("$TMP", &root)
}

#[test]
fn a_push_that_is_rejected_moves_nothing_and_the_printed_commands_end_it() {
    for way in WAYS {
        let repo = with_server();
        teammate_pushes(&repo);
        let (before, on_server) = (held(&repo), server(&repo));
        let said = repo.agentwt(&[&PUSH[..], way].concat());
        assert_eq!(said.status, 5, "{said}");
        assert_eq!(said.stdout, "", "{said}");
        assert!(said.stderr.contains("(fetch first)"), "{said}");
        assert_eq!(held(&repo), before, "{said}");
        assert_eq!(server(&repo), on_server, "{said}");
        let line = advice(&repo, &said);
        assert!(line.contains("--push origin"), "{line}");
        repo.sh(repo.main(), &format!("{{ {line}; }} 2>&1")).ok();
        assert_pushed(&repo);
    }
}

#[test]
fn a_push_that_a_hook_of_the_server_refuses_moves_nothing() {
    let repo = with_server();
    let hook = "echo 'echo no ticket >&2; exit 1' >server.git/hooks/pre-receive
        chmod +x server.git/hooks/pre-receive";
    repo.sh(repo.root(), hook).ok();
    let (before, on_server) = (held(&repo), server(&repo));
    let said = repo.agentwt(&PUSH);
    assert_eq!(said.status, 5, "{said}");
    assert!(said.stderr.contains("no ticket"), "{said}");
    let again = "nothing was changed; then: git agentwt land --push origin task";
    assert!(said.stderr.contains(again), "{said}");
    assert_eq!(held(&repo), before, "{said}");
    assert_eq!(server(&repo), on_server, "{said}");
    repo.sh(repo.root(), "rm server.git/hooks/pre-receive").ok();
    repo.agentwt(&PUSH).ok();
    assert_pushed(&repo);
}

/// The server has the work, and main here does not.
#[test]
fn killed_after_the_push_the_same_command_ends_it() {
    let act = "PATH=${PATH#*:} git \"$@\"; kill -9 $PPID; exit 77";
    for way in WAYS {
        let repo = with_server();
        go_on(&repo);
        let command = [&PUSH[..], way].concat();
        let shim = Shim::new(repo.root(), act);
        let said = shim.run_at_words(&repo, &command, " push --quiet");
        assert_eq!(said.status, 137, "{said}");
        let on_server = repo.git(&["rev-parse", "refs/remotes/origin/main"]);
        assert_ne!(on_server, repo.git(&["rev-parse", "main"]), "{said}");
        repo.agentwt(&command).ok();
        assert_pushed(&repo);
        assert_eq!(repo.git(&["rev-parse", "main"]), on_server);
    }
}

#[test]
fn nothing_is_pushed_that_main_could_not_take_here() {
    for exclude in ["", "/src/one.rs\n"] {
        let repo = with_server();
        repo.write(".git/info/exclude", exclude);
        repo.write("src/one.rs", "mine\n");
        let (before, on_server) = (held(&repo), server(&repo));
        let said = repo.agentwt(&PUSH);
        assert_eq!(said.status, 4, "{said}");
        assert!(said.stderr.contains("src/one.rs"), "{said}");
        let again = "make room for it, then: git agentwt land --push origin task";
        assert!(said.stderr.contains(again), "{said}");
        assert_eq!(held(&repo), before, "{said}");
        assert_eq!(server(&repo), on_server, "{said}");
    }
}

#[test]
fn of_several_each_is_pushed_before_it_is_landed() {
    let repo = with_server();
    let dir = repo.add("next");
    work(&repo, &dir, "three");
    // the second push is refused
    let hook = "printf '%s\\n' 'read old new ref; git rev-parse -q --verify $new:src/three.rs &&' \
        ' exit 1; exit 0' >server.git/hooks/pre-receive; chmod +x server.git/hooks/pre-receive";
    repo.sh(repo.root(), hook).ok();
    let said = repo.agentwt(&["land", "--push", "origin", "task", "next"]);
    assert_eq!(said.status, 5, "{said}");
    assert!(said.stdout.contains("landed task in main"), "{said}");
    assert!(
        said.stderr.contains("cannot land worktree `next`"),
        "{said}"
    );
    assert!(dir.join("src/three.rs").exists(), "{said}");
    assert!(!repo.worktree("task").exists(), "{said}");
    assert_eq!(server(&repo), main_alone(&repo), "{said}");
}

#[test]
fn what_main_has_already_is_pushed_before_the_worktree_goes() {
    let (repo, _) = with_work();
    let line = "git init -q --bare server.git; git -C repo remote add origin ../server.git
        git -C repo push -q origin main";
    repo.sh(repo.root(), line).ok();
    repo.agentwt(&["land", "--keep", "task"]).ok();
    repo.sh(repo.root(), "mv server.git gone.git").ok();
    let before = state(&repo);
    let said = repo.agentwt(&PUSH);
    assert_eq!(said.status, 5, "{said}");
    assert_eq!(state(&repo), before, "{said}");
    repo.sh(repo.root(), "mv gone.git server.git").ok();
    repo.agentwt(&PUSH).ok();
    assert_pushed(&repo);
}

#[test]
fn a_rejected_push_is_told_though_what_was_kept_cannot_be_forgotten() {
    let repo = with_server();
    teammate_pushes(&repo);
    let act = "kept=$(echo .git/agentwt/landing/*); rm -r $kept; echo >$kept
        PATH=${PATH#*:} exec git \"$@\"";
    let shim = Shim::new(repo.root(), act);
    let said = shim.run_at_words(&repo, &PUSH, " push --quiet");
    assert_eq!(said.status, 5, "{said}");
    assert!(said.stderr.contains("(fetch first)"), "{said}");
}

#[test]
fn a_checkout_that_vanished_is_not_taken_for_a_branch_that_moved() {
    let repo = with_server();
    let line = "git switch -q -c elsewhere; git worktree add -q ../checkout main";
    repo.sh(repo.main(), line).ok();
    let act = format!("mv {0}/checkout {0}/gone", repo.root().display());
    let shim = Shim::new(repo.root(), &act);
    let said = shim.run_at_words(&repo, &PUSH, " push --quiet");
    assert_ne!(said.status, 0, "{said}");
    assert!(!said.stderr.contains("moved meanwhile"), "{said}");
    assert!(said.stderr.contains("no such directory"), "{said}");
}
