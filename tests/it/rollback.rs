//! `add` makes a worktree or nothing: whatever fails, whoever stops it, at whichever step.

use std::path::Path;
use std::process::{Command, Stdio};

use super::support::{Said, Shim, TestRepo, binary, text, wait_until};

const ADD: &[&str] = &[
    "add",
    "task-5",
    "--write",
    "src/**",
    "--exclude",
    "**/secrets/**",
];

const FAILS: &str = "echo 'fatal: the shim says no' >&2; exit 77";
const KILLS_ITS_PARENT: &str = "kill -9 $PPID; exit 77";

#[test]
fn whichever_call_of_git_fails_nothing_is_left() {
    let repo = TestRepo::project();
    repo.keep_as("pristine");
    let shim = Shim::new(repo.root(), FAILS);
    let before = repo.fingerprint();
    for at in 1.. {
        let (said, call) = shim.run(&repo, ADD, at);
        let Some(call) = call else {
            said.ok();
            assert!(at > 4, "git was called: {at}");
            break;
        };
        // gix asks git where its installation's attributes are, and goes on without them
        let is_asked_again = call.ends_with("--show-toplevel")
            || call.ends_with(" version")
            || call.starts_with("config -lz --show-origin");
        if said.status == 0 && is_asked_again {
            // the first fails in a bare repository, so it is asked again without that
            assert_eq!(repo.findings(&repo.worktree("task-5")), "");
            repo.bring_back("pristine");
            continue;
        }
        assert_ne!(said.status, 0, "call {at}, git {call}, failed: {said}");
        assert_eq!(repo.fingerprint(), before, "call {at}, git {call}: {said}");
        let errors = said.stderr.matches("error: ").count();
        assert_eq!(errors, 1, "call {at}, git {call}: one clear error: {said}");
    }
    assert_eq!(repo.findings(&repo.worktree("task-5")), "");
}

/// The calls are shared out among tests that run side by side.
fn whichever_call_kills_us_the_next_add_succeeds(remainder: usize) {
    let repo = TestRepo::project();
    repo.keep_as("pristine");
    repo.agentwt(ADD).ok();
    let wanted = repo.fingerprint();
    let shim = Shim::new(repo.root(), KILLS_ITS_PARENT);
    for at in (1..).filter(|at| at % 3 == remainder) {
        repo.bring_back("pristine");
        let (said, call) = shim.run(&repo, ADD, at);
        let Some(call) = call else {
            said.ok();
            break;
        };
        assert_eq!(said.status, 137, "call {at}, git {call}, killed it: {said}");
        let again = repo.agentwt(ADD);
        assert_eq!(again.status, 0, "killed at call {at}, git {call}: {again}");
        assert_eq!(
            repo.fingerprint(),
            wanted,
            "killed at call {at}, git {call}"
        );
    }
}

#[test]
fn killed_at_any_call_the_next_add_succeeds_1() {
    whichever_call_kills_us_the_next_add_succeeds(0);
}

#[test]
fn killed_at_any_call_the_next_add_succeeds_2() {
    whichever_call_kills_us_the_next_add_succeeds(1);
}

#[test]
fn killed_at_any_call_the_next_add_succeeds_3() {
    whichever_call_kills_us_the_next_add_succeeds(2);
}

/// A repository in which an `add` was killed when the worktree was registered and had no files.
fn killed_before_the_checkout() -> TestRepo {
    killed_at(ADD, " reset --hard")
}

fn killed_at(add: &[&str], words: &str) -> TestRepo {
    let repo = TestRepo::project();
    // then it is git that checks out
    repo.git(&["config", "attr.tree", "HEAD"]);
    let shim = Shim::new(repo.root(), KILLS_ITS_PARENT);
    let said = shim.run_at_words(&repo, add, words);
    assert_eq!(said.status, 137, "{said}");
    assert!(repo.worktree("task-5").exists(), "killed before");
    repo
}

/// What git leaves when it is killed itself (facts/git.md, section 7).
#[test]
fn what_a_killed_git_leaves_is_cleared_by_the_next_add() {
    let wounds = [
        "echo initializing > .git/worktrees/task-5/locked",
        "echo half > .agentwt/worktrees/task-5/half; rm -r .git/worktrees/task-5",
        "rm .git/worktrees/task-5/gitdir; echo initializing > .git/worktrees/task-5/locked",
        "touch .git/worktrees/task-5/index.lock",
    ];
    for wound in wounds {
        let repo = killed_before_the_checkout();
        repo.sh(repo.main(), wound).ok();
        let again = repo.agentwt(ADD);
        assert_eq!(again.status, 0, "{wound}: {again}");
        assert_eq!(repo.findings(&repo.worktree("task-5")), "", "{wound}");
        let list = repo.git(&["worktree", "list"]);
        assert_eq!(list.lines().count(), 2, "{wound}: {list}");
        assert!(!repo.worktree("task-5").join("half").exists(), "{wound}");
        if wound.starts_with("echo half") {
            let (_, kept) = again.stderr.split_once("is kept: ").expect("a note");
            let kept = kept.lines().next().expect("a place");
            let kept = kept.replace("$TMP", &repo.root().display().to_string());
            assert!(Path::new(&kept).join("half").exists(), "{again}");
        }
    }
}

#[test]
fn what_only_the_git_directory_of_an_incomplete_clone_has_is_kept() {
    let add = [ADD, &["--strategy", "clone"]].concat();
    for (work, is_kept) in [
        ("true", false),
        ("echo s >>src/main.rs; git stash -q", true),
        ("echo s >src/new; git add src/new; rm src/new", true),
        (
            "git branch mine $(git commit-tree -m mine HEAD^{tree})",
            true,
        ),
    ] {
        let repo = killed_at(&add, " sparse-checkout set");
        let script = format!("git reset -q --hard; {work}");
        repo.sh(&repo.worktree("task-5"), &script).ok();
        let again = repo.agentwt(&add);
        assert_eq!(again.status, 0, "{work}: {again}");
        assert_eq!(
            again.stderr.contains("is kept: "),
            is_kept,
            "{work}: {again}"
        );
    }
}

#[test]
fn a_dry_run_says_that_a_killed_add_left_something_and_leaves_it() {
    let repo = killed_before_the_checkout();
    let said = repo.agentwt(&[ADD, &["-n"]].concat());
    assert!(repo.worktree("task-5").exists(), "a dry run clears nothing");
    insta::assert_snapshot!(said, @"
    --- stderr
    error: worktree `task-5` is incomplete: its `add` is running, or was killed
    help: wait for it, or run `git agentwt add task-5` again: it finishes or clears what is left
    --- status 4
    ");
}

/// Starts `add`, waits until a hook or a filter has made `started`, sends a signal to it alone or
/// to its whole process group (as a terminal does), and waits for its end.
fn signalled(repo: &TestRepo, signal: &str, to: To) -> Said {
    use std::os::unix::process::CommandExt;
    let started = repo.root().join("started");
    let child = repo
        .command(binary(), repo.main())
        .args(ADD)
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_until("the slow step runs", || started.exists());
    let target = match to {
        To::Program => child.id().to_string(),
        To::Group => format!("-{}", child.id()),
    };
    let sent = Command::new("kill")
        .args(["-s", signal, "--", &target])
        .status();
    assert!(sent.expect("kill starts").success(), "the signal was sent");
    std::fs::write(repo.root().join("signalled"), "").expect("it is ours");
    repo.said(&child.wait_with_output().expect("it ends"))
}

#[derive(Clone, Copy)]
enum To {
    Program,
    Group,
}

/// A step that ends once a signal was sent.
const SLOW: &str =
    "touch \"$HOME/../started\"; until [ -e \"$HOME/../signalled\" ]; do sleep 0.02; done";

#[track_caller]
fn is_undone(repo: &TestRepo, signal: &str, to: To, status: i32) {
    let before = repo.fingerprint();
    let said = signalled(repo, signal, to);
    assert_eq!(said.status, status, "{said}");
    assert_eq!(said.stdout, "", "no path of what is not there");
    assert!(said.stderr.contains("everything was undone"), "{said}");
    assert_eq!(repo.fingerprint(), before, "{said}");
    let file = repo.root().join("started");
    std::fs::remove_file(file).expect("it was started");
    repo.agentwt(ADD).ok();
}

#[test]
fn ctrl_c_during_a_slow_hook_undoes_everything() {
    let repo = TestRepo::project();
    repo.hook("post-checkout", SLOW);
    is_undone(&repo, "INT", To::Group, 130);
}

#[test]
fn a_term_to_the_program_alone_during_a_slow_hook_undoes_everything() {
    let repo = TestRepo::project();
    repo.hook("post-checkout", SLOW);
    is_undone(&repo, "TERM", To::Program, 143);
}

#[test]
fn a_hangup_undoes_everything() {
    let repo = TestRepo::project();
    repo.hook("post-checkout", SLOW);
    is_undone(&repo, "HUP", To::Group, 129);
}

/// A smudge filter that is slow for one file, in the middle of the checkout.
fn slow_filter(repo: &TestRepo) {
    repo.write(".gitattributes", "docs/api.md filter=slow\n");
    repo.commit_all("a filter");
    let smudge = format!("{SLOW}; cat");
    repo.git(&["config", "filter.slow.smudge", &smudge]);
    repo.git(&["config", "filter.slow.clean", "cat"]);
    repo.git(&["config", "filter.slow.required", "true"]);
}

#[test]
fn ctrl_c_in_the_middle_of_the_checkout_undoes_everything() {
    let repo = TestRepo::project();
    slow_filter(&repo);
    is_undone(&repo, "INT", To::Group, 130);
}

#[test]
fn a_term_in_the_middle_of_the_checkout_undoes_everything() {
    let repo = TestRepo::project();
    slow_filter(&repo);
    is_undone(&repo, "TERM", To::Program, 143);
}

#[test]
fn a_hook_that_fails_undoes_everything() {
    let repo = TestRepo::project();
    repo.hook("post-checkout", "echo 'no npm here' >&2; exit 3");
    let before = repo.fingerprint();
    let said = repo.agentwt(ADD);
    assert_eq!(repo.fingerprint(), before, "{said}");
    insta::assert_snapshot!(said, @"
    --- stderr
    error: your post-checkout hook failed in the new worktree: no npm here
    help: mend it, or add without your hooks: git -c core.hooksPath=/dev/null agentwt add …
    --- status 5
    ");
}

#[test]
fn a_filter_that_fails_undoes_everything() {
    let repo = TestRepo::project();
    slow_filter(&repo);
    repo.git(&["config", "filter.slow.smudge", "false"]);
    let before = repo.fingerprint();
    let said = repo.agentwt(ADD);
    assert_eq!(repo.fingerprint(), before, "{said}");
    said.fails(5);
    assert!(
        said.stderr.contains("docs/api.md"),
        "it names the file: {said}"
    );
}

#[test]
fn a_commit_that_the_hook_made_is_not_thrown_away_silently() {
    let repo = TestRepo::project();
    let body = "echo more > src/more && git add src/more && git commit -qm more; exit 1";
    repo.hook("post-checkout", body);
    repo.agentwt(ADD).fails(5);
    let branches = repo.git(&["branch", "--list", "agentwt/*"]);
    assert_eq!(
        branches, "  agentwt/task-5",
        "its commit is on no other branch"
    );
}

#[test]
fn a_branch_that_was_there_survives_a_failure() {
    let repo = TestRepo::project();
    repo.git(&["branch", "fix/login"]);
    repo.hook("post-checkout", "exit 1");
    let before = repo.fingerprint();
    let arguments = ["add", "task-5", "-b", "fix/login", "--write", "src/**"];
    repo.agentwt(&arguments).fails(5);
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn what_the_user_had_written_into_info_exclude_survives_a_failure() {
    let repo = TestRepo::project();
    repo.write(".git/info/exclude", "mine\n");
    repo.hook("post-checkout", "exit 1");
    repo.agentwt(ADD).fails(5);
    let file = repo.main().join(".git/info/exclude");
    assert_eq!(text(&file), "mine\n");
}

#[test]
fn twenty_at_once_all_succeed() {
    let repo = TestRepo::project();
    let started: Vec<_> = (0..20)
        .map(|n| {
            let name = format!("task-{n}");
            repo.command(binary(), repo.main())
                .args(["add", &name, "--write", "src/**"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts")
        })
        .collect();
    for child in started {
        let said = repo.said(&child.wait_with_output().expect("it ends"));
        said.ok();
    }
    let list = repo.git(&["worktree", "list"]);
    assert_eq!(list.lines().count(), 21, "{list}");
}

#[test]
fn one_name_asked_for_ten_times_at_once_is_made_once() {
    let repo = TestRepo::project();
    let started: Vec<_> = (0..10)
        .map(|_| {
            repo.command(binary(), repo.main())
                .args(ADD)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts")
        })
        .collect();
    let mut made = 0;
    for child in started {
        let said = repo.said(&child.wait_with_output().expect("it ends"));
        assert_eq!(said.ok(), "$TMP/repo/.agentwt/worktrees/task-5");
        made += usize::from(said.stderr.contains("new branch"));
    }
    assert_eq!(made, 1, "the others found it there");
}

/// Another process creates the branch at the same commit just before git is asked to, and git words
/// its error in its own way: no text says whose branch it is.
#[test]
fn a_branch_that_another_process_created_meanwhile_is_not_removed_whatever_git_says() {
    let repo = TestRepo::project();
    let reworded = "case \"$*\" in *'worktree add'*|*update-ref*)
        PATH=\"${PATH#*:}\"
        env -u GIT_DIR -u GIT_WORK_TREE git -C \"$HOME/../repo\" branch agentwt/task-5 2>/dev/null
        git \"$@\" 2>\"$HOME/../words\"; status=$?
        sed 's/:.*/: nein/' \"$HOME/../words\" >&2; exit $status ;; esac";
    let shim = Shim::new(repo.root(), reworded);
    let said = shim.run_at_words(&repo, ADD, "agentwt/task-5");
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("branch `agentwt/task-5`"), "{said}");
    let branches = repo.git(&["branch", "--list", "agentwt/*"]);
    assert_eq!(branches, "  agentwt/task-5", "{said}");
    assert!(!repo.worktree("task-5").exists(), "{said}");
}

#[test]
fn an_add_without_a_journal_and_one_whose_journal_was_cut_off_are_cleared() {
    let journal = ".git/agentwt/worktrees/task-5/journal";
    // an older version wrote an intent alone; a kill can cut the last step off
    for wound in [
        format!("rm -r {journal}"),
        format!("truncate -s -9 {journal}/steps"),
        format!("truncate -s 9 {journal}/steps"),
    ] {
        let repo = killed_before_the_checkout();
        repo.sh(repo.main(), &wound).ok();
        let again = repo.agentwt(ADD);
        assert_eq!(again.status, 0, "{wound}: {again}");
        assert_eq!(repo.findings(&repo.worktree("task-5")), "", "{wound}");
        let list = repo.git(&["worktree", "list"]);
        assert_eq!(list.lines().count(), 2, "{wound}: {list}");
        assert!(!repo.main().join(journal).exists(), "{wound}");
    }
}

#[test]
fn what_a_hook_changed_since_stays_and_is_named() {
    let repo = TestRepo::project();
    let body = "git config --file \"$(git rev-parse --git-common-dir)/config\" user.mine yes
        echo more > src/more && git add src/more && git commit -qm more; exit 1";
    repo.hook("post-checkout", body);
    let said = repo.agentwt(ADD);
    said.fails(5);
    for left in [
        "branch agentwt/task-5: it has moved since",
        "/.git/config: another process changed it since",
    ] {
        assert!(said.stderr.contains(left), "{left}: {said}");
    }
    assert_eq!(repo.git(&["config", "user.mine"]), "yes");
    assert!(!repo.worktree("task-5").exists(), "{said}");
}

/// Another process puts a directory where the worktree goes, just before git is asked to: it stays.
#[test]
fn what_another_process_put_in_the_place_of_the_worktree_stays() {
    let repo = TestRepo::project();
    let before = repo.git(&["for-each-ref"]);
    let theirs = "case \"$*\" in *'worktree add'*)
        mkdir -p \"$HOME/../repo/.agentwt/worktrees/task-5\"
        echo precious >\"$HOME/../repo/.agentwt/worktrees/task-5/file\" ;; esac";
    let shim = Shim::new(repo.root(), theirs);
    let said = shim.run_at_words(&repo, ADD, "worktree add");
    assert_eq!(said.status, 4, "{said}");
    let text = std::fs::read_to_string(repo.worktree("task-5").join("file"));
    assert_eq!(text.expect("it stays"), "precious\n", "{said}");
    assert_eq!(repo.git(&["for-each-ref"]), before);
}
