//! Whatever fails or kills us, the work is merged or not, and the same command goes on.

use super::{assert_landed, go_on, with_work};
use crate::support::{Shim, TestRepo, calls};

const FAILS: &str = "echo 'fatal: the shim says no' >&2; exit 77";
const KILLS_ITS_PARENT: &str = "kill -9 $PPID; exit 77";

/// The ways to land, each with how many commits main has then.
const WAYS: [(&[&str], usize); 3] = [
    (&["land", "task"], 5),
    (&["land", "task", "--squash"], 3),
    (&["land", "task", "--rebase"], 4),
];

fn prepared() -> TestRepo {
    let (repo, _) = with_work();
    go_on(&repo);
    repo.keep_as("pristine");
    repo
}

fn begin_again(repo: &TestRepo) {
    // what empties the trash in the background calls git too, and would take a call of the next run
    let cleaner = format!("empty-[t]rash -- {}", repo.main().display());
    let line = format!(
        "while pgrep -f '{cleaner}' >/dev/null; do sleep 0.02; done
        until rm -rf repo && cp -aT pristine repo; do :; done"
    );
    repo.sh(repo.root(), &line).ok();
}

/// That main is as it was or has all of the work, with the main worktree as clean as before.
#[track_caller]
fn assert_whole(repo: &TestRepo, commits: usize, context: &str) {
    let number = repo.git(&["rev-list", "--count", "main"]);
    let expected = [2.to_string(), commits.to_string()];
    assert!(expected.contains(&number), "{context}: {number} commits");
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "{context}");
}

#[test]
fn killed_at_any_call_the_work_is_merged_or_not() {
    let repo = prepared();
    let shim = Shim::new(repo.root(), KILLS_ITS_PARENT);
    for (way, commits) in WAYS {
        for at in calls(1) {
            begin_again(&repo);
            let (said, call) = shim.run(&repo, way, at);
            let Some(call) = call else {
                said.ok();
                break;
            };
            let context = format!("{way:?}, call {at}, git {call}: {said}");
            assert_eq!(said.status, 137, "{context}");
            assert_whole(&repo, commits, &context);
            let again = repo.agentwt(way);
            assert_eq!(again.status, 0, "{context}, then {again}");
            assert_landed(&repo);
            assert_whole(&repo, commits, &context);
        }
    }
}

#[test]
fn whichever_call_of_git_fails_the_work_is_merged_or_not() {
    let repo = prepared();
    let shim = Shim::new(repo.root(), FAILS);
    for (way, commits) in WAYS {
        for at in calls(2) {
            begin_again(&repo);
            let (said, call) = shim.run(&repo, way, at);
            let Some(call) = call else {
                said.ok();
                break;
            };
            let context = format!("{way:?}, call {at}, git {call}: {said}");
            assert_whole(&repo, commits, &context);
            if said.status != 0 {
                repo.agentwt(way).ok();
            }
            assert_landed(&repo);
        }
    }
}

/// Something happens between the verification and the merge.
#[track_caller]
fn meanwhile(act: &str, words: &str) -> TestRepo {
    let repo = prepared();
    let shim = Shim::new(repo.root(), act);
    let before = repo.git(&["rev-parse", "main"]);
    let said = shim.run_at_words(&repo, &["land", "task"], "fmt-merge-msg");
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains(words), "{said}");
    assert!(repo.worktree("task").exists());
    let after = repo.git(&["rev-parse", "main"]);
    assert!(after == before || repo.git(&["rev-parse", "main~"]) == before);
    assert!(!repo.main().join("src/one.rs").exists(), "{said}");
    repo
}

#[test]
fn what_moved_after_the_verification_is_not_landed() {
    let commits = "(unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES; PATH=${PATH#*:}; cd .agentwt/worktrees/task; \
        echo late >src/late.rs; git add -A; git commit -qm late) >&2;";
    let repo = meanwhile(commits, "agentwt/task moved meanwhile");
    repo.agentwt(&["land", "task"]).ok();
    assert!(repo.main().join("src/late.rs").exists());
    let commits = "(unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES; PATH=${PATH#*:}; echo late >docs/late; git add -A; git commit -qm late) >&2;";
    let repo = meanwhile(commits, "main moved meanwhile");
    repo.agentwt(&["land", "task"]).ok();
    assert_landed(&repo);
}

#[test]
fn what_comes_into_the_worktree_after_the_merge_stays() {
    let repo = prepared();
    let act = "(cd .agentwt/worktrees/task; echo late >src/late.rs);";
    let shim = Shim::new(repo.root(), act);
    let said = shim.run_at_words(&repo, &["land", "task"], "merge --quiet --ff-only");
    assert_eq!(said.status, 4, "{said}");
    assert!(
        said.stderr
            .contains("cannot remove worktree `task`: 1 file is untracked"),
        "{said}"
    );
    assert!(said.stdout.contains("landed task in main"), "{said}");
    assert!(repo.worktree("task").join("src/late.rs").exists());
    assert!(repo.main().join("src/one.rs").exists());
}

#[test]
fn two_that_land_at_once_land_one_after_the_other() {
    let repo = TestRepo::project();
    let names = ["a", "b", "c", "d"];
    for name in names {
        let dir = repo.add(name);
        super::work(&repo, &dir, name);
    }
    std::thread::scope(|threads| {
        for name in names {
            let repo = &repo;
            threads.spawn(move || repo.agentwt(&["land", name]).ok());
        }
    });
    for name in names {
        assert!(repo.main().join(format!("src/{name}.rs")).exists());
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.own_refs(), [""; 0]);
    assert_eq!(repo.git(&["for-each-ref", "refs/heads/agentwt"]), "");
}
