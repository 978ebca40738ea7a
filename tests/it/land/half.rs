//! Git is stopped while it writes the worktree of the base branch: that is put back, and the same
//! command lands.

use std::path::Path;

use super::work;
use crate::support::{Said, Shim, TestRepo, needs_root, skipped, strace_works};

/// What happens at a system call of the git that writes the files.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Git is killed, and we with it.
    KillBoth,
    /// Git alone is killed.
    KillGit,
    /// The call fails.
    Fail(&'static str),
}

/// The system calls by which git writes files, index and refs, beside those that it makes by the hundred.
const SYSCALLS: [&str; 8] = [
    "unlink",
    "rmdir",
    "mkdir",
    "symlink",
    "rename",
    "chmod",
    "fsync",
    "ftruncate",
];

/// A worktree whose commits change, add and delete files, links and directories, and make files of
/// directories and the reverse.
#[track_caller]
fn world() -> TestRepo {
    let repo = TestRepo::project();
    let line = "mkdir src/was-dir; echo 1 >src/was-dir/file; echo 1 >src/was-file; ln -s 1 src/link
        echo old >src/old; mkdir src/gone; echo gone >src/gone/file; seq 9999 >src/long
        git add -A; git commit -qm more";
    repo.sh(repo.main(), line).ok();
    let dir = repo.add("task");
    let line = "cd src; rm -r was-dir was-file gone; echo 2 >was-dir; mkdir was-file
        echo 2 >was-file/file; ln -sf 2 link; echo new >old; seq 9 99999 >long; mkdir -p a/b
        seq 999 >a/b/c; chmod +x main.rs; git add -A; git commit -qm all";
    repo.sh(&dir, line).ok();
    work(&repo, &dir, "one");
    repo.keep_as("pristine");
    repo
}

/// What the main worktree has: files, their modes and contents, and what git says of them.
#[track_caller]
fn tree(repo: &TestRepo) -> String {
    let script = "git rev-parse main; git status --porcelain; find src -printf '%p %m %l\\n' | sort
        find src -type f | sort | xargs cksum";
    repo.sh(repo.main(), script).ok()
}

/// Whatever is left of a landing, but for the worktree in the trash and what empties that.
#[track_caller]
fn left(repo: &TestRepo) -> String {
    let script = "find .git -name '*.lock' -o -name '*landing*'
        ls .git/agentwt 2>/dev/null | grep -vx -e trash -e locks || true";
    repo.sh(repo.main(), script).stdout
}

/// That main is clean, and nothing is left of a landing.
#[track_caller]
fn nothing_is_left(repo: &TestRepo) {
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(left(repo), "");
}

/// Lands with this act at one system call of git's; what was said, and whether the act happened.
#[track_caller]
fn land_with(repo: &TestRepo, act: Act, syscall: &str, nth: usize) -> (Said, bool) {
    stop_at("merge --quiet --ff-only", repo, act, syscall, nth)
}

/// As [`land_with`], at the call of git that has these words.
#[track_caller]
fn stop_at(words: &str, repo: &TestRepo, act: Act, syscall: &str, nth: usize) -> (Said, bool) {
    let what = match act {
        Act::KillBoth | Act::KillGit => "signal=KILL".to_owned(),
        Act::Fail(error) => format!("error={error}"),
    };
    let end = match act {
        Act::KillBoth => "[ $s = 137 ] && kill -9 $PPID;",
        Act::KillGit | Act::Fail(_) => "",
    };
    let log = repo.root().join("strace").display().to_string();
    let shim = Shim::new(
        repo.root(),
        &format!(
            "PATH=${{PATH#*:}}; strace -f -qq -o '{log}' -e trace={syscall} \
             -e inject={syscall}:{what}:when={nth} git \"$@\"; s=$?; {end} exit $s"
        ),
    );
    let said = shim.run_at_words(repo, &["land", "task"], words);
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let is_hit = log.contains("(INJECTED)") || log.contains("+++ killed by SIGKILL +++");
    (said, is_hit)
}

/// Goes through the points of each system call, each `step`th; the points at which something is wrong.
#[track_caller]
fn sweep(act: Act, syscalls: &[&str], step: usize) {
    if !strace_works() {
        return;
    }
    let repo = world();
    let before = tree(&repo);
    repo.agentwt(&["land", "task"]).ok();
    let wanted = tree(&repo);
    let mut taken = 0;
    for syscall in syscalls {
        for nth in (1..).step_by(step) {
            repo.bring_back("pristine");
            let (said, is_hit) = land_with(&repo, act, syscall, nth);
            if !is_hit {
                break;
            }
            taken += 1;
            let what = format!("{act:?} at {syscall} {nth}: {said}");
            if !matches!(act, Act::KillBoth) {
                let now = tree(&repo);
                assert!(now == before || now == wanted, "{now}\n{what}");
                assert_eq!(left(&repo).replace("worktrees\n", ""), "", "{what}");
            }
            if repo.worktree("task").exists() {
                let again = repo.agentwt(&["land", "task"]);
                assert_eq!(again.status, 0, "{what}\nthen {again}");
            }
            assert_eq!(tree(&repo), wanted, "{what}");
            assert_eq!(left(&repo), "", "{what}");
        }
    }
    assert!(taken > 0, "nothing was hit");
}

#[test]
fn killed_while_git_writes_the_files_the_same_command_lands() {
    sweep(Act::KillBoth, &["unlink", "symlink", "rename"], 4);
}

#[test]
fn where_git_alone_is_killed_main_is_put_back() {
    sweep(Act::KillGit, &["unlink", "rename"], 4);
}

#[test]
fn where_git_cannot_write_main_is_put_back() {
    sweep(Act::Fail("ENOSPC"), &["write"], 5);
    sweep(Act::Fail("ENOSPC"), &["rename"], 1);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_the_merge_of_land() {
    for act in [Act::KillBoth, Act::KillGit] {
        sweep(act, &["openat"], 7);
        sweep(act, &["write", "close"], 3);
        sweep(act, &SYSCALLS, 1);
    }
}

/// Where git cannot remove a file, it says so and goes on.
#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_the_merge_of_land_where_the_disk_is_full() {
    for error in ["ENOSPC", "EIO"] {
        sweep(Act::Fail(error), &["openat"], 7);
        sweep(
            Act::Fail(error),
            &["mkdir", "symlink", "write", "rename", "fsync"],
            1,
        );
    }
}

/// Stops a landing in the middle of its files, with us.
#[track_caller]
fn stopped() -> Option<TestRepo> {
    if !strace_works() {
        return None;
    }
    let repo = world();
    let (said, is_hit) = land_with(&repo, Act::KillBoth, "unlink", 4);
    assert!(is_hit, "{said}");
    assert_ne!(repo.git(&["status", "--porcelain"]), "", "{said}");
    Some(repo)
}

#[test]
fn what_the_user_wrote_after_the_kill_is_not_touched() {
    for path in ["src/gone/file", "src/was-file/mine"] {
        let Some(repo) = stopped() else { return };
        repo.write(path, "mine\n");
        let said = repo.agentwt(&["land", "task"]);
        assert_eq!(said.status, 4, "{said}");
        let words = "git was stopped while it wrote $TMP/repo, and these files changed since:\n  ";
        assert!(said.stderr.contains(words), "{said}");
        let advice = "help: move them elsewhere, then: git agentwt land task\n";
        assert!(said.stderr.ends_with(advice), "{said}");
        let kept = repo.sh(repo.main(), &format!("cat {path}")).ok();
        assert_eq!(kept, "mine", "{said}");
        repo.sh(repo.main(), &format!("mv {path} ..")).ok();
        repo.agentwt(&["land", "task"]).ok();
        nothing_is_left(&repo);
    }
}

/// The file that git did not come to is still the user's.
#[test]
fn a_file_that_the_user_edited_after_the_kill_keeps_the_edit() {
    let Some(repo) = stopped() else { return };
    repo.write("src/old", "mine\n");
    let said = repo.agentwt(&["land", "task"]);
    assert_eq!(said.status, 4, "{said}");
    let words = "which has uncommitted changes:\n  src/old\n";
    assert!(said.stderr.contains(words), "{said}");
    assert_eq!(repo.git(&["status", "--porcelain"]), " M src/old");
}

#[test]
fn what_the_user_staged_after_the_kill_is_not_touched() {
    let Some(repo) = stopped() else { return };
    let line = "rm .git/index.lock; echo mine >docs/mine; git add docs; rm docs/mine";
    repo.sh(repo.main(), line).ok();
    let before = tree(&repo);
    let said = repo.agentwt(&["land", "task"]);
    insta::assert_snapshot!(said, @r"
    --- stderr
    error: cannot land worktree `task`: git was stopped while it wrote $TMP/repo, and its index changed since
    help: to unstage it, which changes no file: git -C $TMP/repo reset -q; then: git agentwt land task
    --- status 4
    ");
    assert_eq!(tree(&repo), before, "{said}");
    repo.git(&["reset", "-q"]);
    repo.agentwt(&["land", "task"]).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

/// What the last version wrote in place of the journal, as old as that.
const OLDER_FILES: &str = "grep -E '^(version|into|checkout|before|commit) ' steps >begun.toml
    touch -r steps begun.toml moving; rm steps";

#[test]
fn what_a_landing_of_an_older_version_left_is_put_back() {
    let Some(repo) = stopped() else { return };
    let line = format!("cd .git/agentwt/landing/*; {OLDER_FILES}; rm moving");
    repo.sh(repo.main(), &line).ok();
    let said = repo.agentwt(&["land", "-n", "task"]);
    assert_eq!(said.status, 4, "{said}");
    let said = repo.agentwt(&["land", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(
        said.stderr
            .contains("ended a landing in main that was killed"),
        "{said}"
    );
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["show", "main:src/one.rs"]), "one");
    assert_eq!(left(&repo), "");
}

#[test]
fn the_locks_that_a_landing_of_an_older_version_left_are_removed() {
    if !strace_works() {
        return;
    }
    let repo = world();
    repo.git(&["switch", "-qc", "other"]);
    let (said, is_hit) = stop_at("update-ref", &repo, Act::KillBoth, "rename", 1);
    assert!(is_hit, "{said}");
    let line = format!("cd .git/agentwt/landing/*; {OLDER_FILES}; rm begun.toml");
    repo.sh(repo.main(), &line).ok();
    assert!(left(&repo).contains("main.lock"));
    repo.agentwt(&["land", "task"]).ok();
    assert_eq!(repo.git(&["show", "main:src/one.rs"]), "one");
    assert_eq!(left(&repo), "");
}

/// No worktree has the base branch: only the lock of the branch is left.
#[test]
fn killed_while_git_moves_a_branch_that_nobody_has_checked_out_the_same_command_lands() {
    if !strace_works() {
        return;
    }
    let repo = world();
    repo.git(&["switch", "-qc", "other"]);
    repo.keep_as("pristine");
    for act in [Act::KillBoth, Act::KillGit] {
        for syscall in ["rename", "write", "close"] {
            repo.bring_back("pristine");
            let (said, is_hit) = stop_at("update-ref", &repo, act, syscall, 1);
            let what = format!("{act:?} at {syscall}: {said}");
            assert!(is_hit, "{what}");
            let again = repo.agentwt(&["land", "task"]);
            assert_eq!(again.status, 0, "{what}\nthen {again}");
            assert_eq!(repo.git(&["show", "main:src/one.rs"]), "one", "{what}");
            assert_eq!(left(&repo), "", "{what}");
        }
    }
}

/// Git is not killed with us: the next landing waits for it.
#[test]
fn a_git_that_goes_on_after_we_were_killed_is_waited_for() {
    let repo = world();
    let go = repo.root().join("go");
    let act = format!(
        "kill -9 $PPID; until [ -e '{}' ]; do sleep 0.01; done;",
        go.display()
    );
    let shim = Shim::new(repo.root(), &act);
    let said = shim.run_at_words(&repo, &["land", "task"], "merge --quiet --ff-only");
    assert_eq!(said.status, 137, "{said}");
    let said = repo.agentwt(&["land", "--no-wait", "task"]);
    assert_eq!(said.status, 4, "{said}");
    let words = "worktree `main` is in use by another git-agentwt";
    assert!(said.stderr.contains(words), "{said}");
    std::fs::write(&go, "").expect("a file");
    let said = repo.agentwt(&["land", "task"]).ok();
    assert!(said.contains("main has the work of task already"), "{said}");
    nothing_is_left(&repo);
}

/// Git has written the index, and not moved the branch; then the user commits there.
#[test]
fn the_lock_of_a_living_git_is_not_taken_from_it() {
    if !strace_works() {
        return;
    }
    let repo = world();
    repo.keep_as("pristine");
    let is_written =
        "git diff --cached --quiet agentwt/task && ! git diff --quiet main agentwt/task";
    for nth in 1.. {
        repo.bring_back("pristine");
        let (said, is_hit) = land_with(&repo, Act::KillBoth, "rename", nth);
        assert!(is_hit, "{said}");
        if repo.sh(repo.main(), is_written).status == 0 {
            break;
        }
    }
    let commit = "rm -f .git/index.lock
        export GIT_EDITOR='touch ../editing; until [ -e ../go ]; do sleep 0.01; done; echo x >'
        git commit -qa >../said 2>&1 & echo $! >../pid
        until [ -e ../editing ]; do sleep 0.01; done; ls -i .git/index.lock >../lock";
    repo.sh(repo.main(), commit).ok();
    let said = repo.agentwt(&["land", "task"]);
    let is_there = "ls -i .git/index.lock | cmp - ../lock";
    let lock = repo.sh(repo.main(), is_there);
    repo.sh(
        repo.main(),
        "touch ../go; while kill -0 $(cat ../pid) 2>/dev/null; do sleep 0.01; done",
    )
    .ok();
    assert_eq!(lock.status, 0, "{said}\n{lock}");
    assert_ne!(said.status, 0, "{said}");
    assert!(said.stderr.contains("index.lock"), "{said}");
}

#[test]
fn a_user_who_went_on_after_the_kill_lands_as_ever() {
    let Some(repo) = stopped() else { return };
    let line = "rm -f .git/index.lock; git reset -q --hard; git clean -qfd; echo x >docs/x
        git add -A; git commit -qm x";
    repo.sh(repo.main(), line).ok();
    let said = repo.agentwt(&["land", "task"]);
    assert_eq!(said.status, 0, "{said}");
    nothing_is_left(&repo);
}

#[test]
fn a_dry_run_says_what_waits() {
    let Some(repo) = stopped() else { return };
    let before = tree(&repo);
    let said = repo.agentwt(&["land", "-n", "task"]);
    assert_eq!(said.status, 4, "{said}");
    let words = "a landing was stopped while git wrote";
    assert!(said.stderr.contains(words), "{said}");
    assert!(said.stderr.contains(": git agentwt land task"), "{said}");
    assert_eq!(tree(&repo), before, "{said}");
}

/// Puts a small file system where the worktree of main is to be; whether that can be done here.
#[track_caller]
fn mounted(repo: &TestRepo) -> bool {
    let line = "git switch -qc other; mkdir ../second; mount -t tmpfs -o size=1m none ../second &&
        git worktree add -q ../second main";
    let is_mounted = repo.sh(repo.main(), line).status == 0;
    if !is_mounted {
        skipped("mount(8) of a tmpfs");
    }
    is_mounted
}

#[track_caller]
fn unmount(repo: &TestRepo) {
    repo.sh(repo.root(), "umount second").ok();
}

/// Each file of a directory with its inode.
#[track_caller]
fn inodes(repo: &TestRepo, dir: &Path) -> String {
    let line = "find . -path ./fill -prune -o -printf '%p %i %m %s\\n' | sort";
    repo.sh(dir, line).ok()
}

#[test]
fn as_root_nothing_is_written_where_there_is_no_room_for_all() {
    if !needs_root() {
        return;
    }
    let repo = TestRepo::project();
    let dir = repo.add("task");
    let line = "head -c 400000 /dev/urandom >src/big; echo more >>src/main.rs; git add -A
        git commit -qm big";
    repo.sh(&dir, line).ok();
    if !mounted(&repo) {
        return;
    }
    let second = repo.root().join("second");
    repo.sh(&second, "head -c 750000 /dev/zero >fill").ok();
    let before = inodes(&repo, &second);
    let said = repo.agentwt(&["land", "task"]);
    let after = inodes(&repo, &second);
    let status = repo.git_in(&second, &["status", "--porcelain"]);
    repo.sh(&second, "rm fill").ok();
    let again = repo.agentwt(&["land", "task"]);
    let landed = repo.git_in(&second, &["status", "--porcelain"]);
    unmount(&repo);
    assert_eq!(said.status, 4, "{said}");
    assert!(
        said.stderr.contains("have no room in $TMP/second"),
        "{said}"
    );
    assert!(said.stderr.contains(" KiB more are needed"), "{said}");
    assert!(said.stderr.contains("df -h"), "{said}");
    assert_eq!(after, before, "{said}");
    assert_eq!(status, "?? fill", "{said}");
    assert_eq!((again.status, landed.as_str()), (0, ""), "{again}");
}

/// The repository itself is on the full disk.
#[test]
fn as_root_a_full_disk_leaves_main_as_it_was() {
    if !needs_root() {
        return;
    }
    let repo = TestRepo::project();
    let mount =
        "mv repo kept; mkdir repo; mount -t tmpfs -o size=4m none repo && cp -a kept/. repo";
    if repo.sh(repo.root(), mount).status != 0 {
        skipped("mount(8) of a tmpfs");
        return;
    }
    let dir = repo.add("task");
    let line = "head -c 400000 /dev/urandom >src/big; echo more >>src/main.rs; git add -A
        git commit -qm big";
    repo.sh(&dir, line).ok();
    let fill = "echo fill >>.git/info/exclude
        head -c $(($(df --output=avail -B1 . | tail -n 1) - 200000)) /dev/zero >fill";
    repo.sh(repo.main(), fill).ok();
    let before = tree(&repo);
    let said = repo.agentwt(&["land", "task"]);
    let after = tree(&repo);
    repo.sh(repo.main(), "rm fill").ok();
    let again = repo.agentwt(&["land", "task"]);
    let landed = repo.git(&["status", "--porcelain"]);
    repo.sh(repo.root(), "umount -l repo").ok();
    assert_ne!(said.status, 0, "{said}");
    assert!(
        said.stderr
            .contains("nothing was changed; to see the room: df -h"),
        "{said}"
    );
    assert_eq!(after, before, "{said}");
    assert_eq!((again.status, landed.as_str()), (0, ""), "{again}");
}

#[test]
fn what_cannot_be_forgotten_after_the_merge_is_a_note() {
    let repo = world();
    let act = "PATH=${PATH#*:} git \"$@\"; s=$?; kept=$(echo .git/agentwt/landing/*)
        rm -r $kept; echo >$kept; exit $s";
    let shim = Shim::new(repo.root(), act);
    let said = shim.run_at_words(&repo, &["land", "task"], "merge --quiet --ff-only");
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stdout.contains("landed task in main"), "{said}");
    assert!(
        said.stderr
            .contains("cannot remove $TMP/repo/.git/agentwt/landing/"),
        "{said}"
    );
    assert_eq!(repo.git(&["show", "main:src/one.rs"]), "one");
    assert!(!repo.worktree("task").exists(), "{said}");
}

/// Nothing of the worktree was written by then.
#[test]
fn a_dry_run_after_a_kill_before_git_wrote_files_says_what_would_land() {
    let repo = world();
    let shim = Shim::new(repo.root(), "kill -9 $PPID; exit 77");
    let said = shim.run_at_words(&repo, &["land", "task"], "checkout-index --quiet");
    assert_eq!(said.status, 137, "{said}");
    assert!(left(&repo).contains("landing"), "{said}");
    let said = repo.agentwt(&["land", "-n", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stdout.contains("would land task in main"), "{said}");
    repo.agentwt(&["land", "task"]).ok();
    assert_eq!(left(&repo), "");
}

#[test]
fn many_files_that_the_user_wrote_after_the_kill_are_asked_of_git_at_once() {
    let Some(repo) = stopped() else { return };
    let line = "cd src; for f in one.rs a/b/c was-file/file was-dir; do
        rm -rf $f; mkdir -p $(dirname $f); echo mine >$f; done; rm -f old; mkdir old";
    repo.sh(repo.main(), line).ok();
    let log = repo.root().join("asked");
    let act = format!(
        "echo >>'{}'; PATH=${{PATH#*:}} exec git \"$@\"",
        log.display()
    );
    let shim = Shim::new(repo.root(), &act);
    let said = shim.run_at_words(&repo, &["land", "task"], "cat-file --batch --filters");
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("  src/a/b/c\n"), "{said}");
    assert!(said.stderr.contains("  src/one.rs\n"), "{said}");
    // a directory without anything is in the way of the file too
    assert!(said.stderr.contains("  src/old\n"), "{said}");
    let asked = std::fs::read_to_string(&log).unwrap_or_default();
    assert_eq!(asked.lines().count(), 1, "{said}");
}
