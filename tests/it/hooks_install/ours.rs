//! Our hooks: when they start the binary, and that nothing the binary does is the user's trouble.

use std::fs;

use git_agentwt::config::value::OnViolation;

use super::gits::with_each_git;
use super::world::{Length, World};

#[test]
fn ours_run_for_the_events_of_the_matrix() {
    with_each_git(|| {
        let world = World::new();
        world.install();
        world.operate(Length::Full);
        let lines = world.matrix().into_iter();
        let lines: Vec<_> = lines
            .map(|(command, events)| format!("{command}: {events}"))
            .collect();
        assert_eq!(lines.join("\n"), MATRIX.trim());
    });
}

/// `git-agentwt hook …`: ids are left out, so post-checkout shows its flag alone.
const MATRIX: &str = "
git commit -qm one: post-commit
git commit -qm path -- a: post-index-change 1 0, post-commit
git commit -q --amend -m amended: post-commit, post-rewrite amend
env FAIL=pre-commit:1 git commit -qam refused: post-commit
env FAIL=post-commit:4 git commit -q --allow-empty -m status-of-post-commit: post-commit
git merge -q ff: post-index-change 1 0, post-merge 0
git commit -qam four: post-commit
git rebase -q up: post-index-change 1 0, post-checkout 1, post-index-change 1 0, post-commit, post-rewrite rebase
git checkout -q -b other: post-index-change 1 0, post-checkout 1
env FAIL=post-checkout:3 git checkout -q topic: post-index-change 1 0, post-checkout 1
git commit -qam five: post-commit
git merge -q side -m merged: post-index-change 1 0, post-merge 0
git merge -q --squash squash: post-index-change 1 0, post-merge 1
git commit -qm squashed: post-commit
git commit -qam six: post-commit
git merge -q conflict: post-index-change 1 0
git commit -qam resolved: post-commit
git commit -qam eight: post-commit
git rebase -q --apply up2: post-index-change 1 0, post-checkout 1, post-applypatch, post-rewrite rebase
git am -q ROOT/patch: post-applypatch
git cherry-pick pick: post-index-change 1 0, post-commit
git revert --no-edit HEAD: post-index-change 1 0, post-commit
git stash -q: post-index-change 1 0, post-index-change 1 0
git stash pop -q: post-index-change 1 0
git reset -q --hard: post-index-change 1 0
git checkout -q other: post-index-change 1 0, post-checkout 1
env FAIL=post-checkout:3 git restore a: post-checkout 0
git rebase -q topic: post-index-change 1 0, post-checkout 1
git commit -qm below: post-commit
";

#[test]
fn a_fault_of_ours_is_one_line_and_no_status() {
    with_each_git(|| {
        let lines = [Length::Short, Length::Full].map(|length| World::new().operate(length));
        // A crash is status 134 here, a kill is 137.
        for fault in [
            "exit 134",
            "kill -ABRT $$",
            "kill -9 $$",
            "exit 2",
            "missing",
            "no state",
        ] {
            let world = World::new();
            world.fake(fault);
            world.install_asking(OnViolation::Block);
            match fault {
                "missing" => fs::remove_file(world.binary()),
                "no state" => fs::remove_dir_all(world.admin().join("agentwt")),
                _ => Ok(()),
            }
            .expect("it was there");
            let (length, expected) = match fault {
                "missing" => (Length::Full, &lines[1]),
                _ => (Length::Short, &lines[0]),
            };
            let said = world.operate(length);
            let (ours, git): (Vec<_>, Vec<_>) = said
                .lines()
                .partition(|line| line.starts_with("git-agentwt: "));
            assert_eq!(git, expected.lines().collect::<Vec<_>>(), "{fault}");
            let warned = said
                .split("\n== ")
                .map(|part| part.matches("git-agentwt: ").count());
            let most = warned.max().unwrap_or(0);
            let silent = ["exit 2", "no state"].contains(&fault);
            assert_eq!(most, usize::from(!silent), "{fault}: {ours:#?}");
        }
    });
}

#[test]
fn only_status_1_of_what_asks_first_refuses_a_commit() {
    with_each_git(|| {
        let world = World::new();
        world.user_hooks("main/.git/hooks");
        world.fake("exit 1");
        let commit = ["commit", "-q", "--allow-empty", "-m", "x"];
        world.install();
        world.git("wt", &commit);
        world.install_asking(OnViolation::Block);
        assert_eq!(world.try_git("wt", &commit).status.code(), Some(1));
        assert_eq!(world.status().on_violation, OnViolation::Block);
        // the branch is not moved past pre-commit either
        let past = ["commit", "-q", "--no-verify", "--allow-empty", "-m", "x"];
        assert_eq!(world.try_git("wt", &past).status.code(), Some(128));
        world.git("wt", &["checkout", "-q", "-b", "x"]);
        world.fake("exit 3");
        world.git("wt", &commit);
    });
}

#[test]
fn a_binary_on_path_replaces_the_recorded_one() {
    with_each_git(|| {
        let world = World::new();
        world.install();
        let moved = world.root.join("path/git-agentwt");
        fs::create_dir(world.root.join("path")).expect("a new directory");
        fs::rename(world.binary(), &moved).expect("the binary moves");
        assert_eq!(world.status().binary, Some((world.binary(), false)));
        let path = std::env::var("PATH").expect("the test sets it");
        let mut git = std::process::Command::new("git");
        git.args(["commit", "-q", "--allow-empty", "-m", "x"])
            .current_dir(world.root.join("wt"));
        git.env("PATH", format!("{}/path:{path}", world.root))
            .env("LOGS", world.root.join("logs"));
        let answer = git.output().expect("git starts");
        assert!(
            answer.status.success() && answer.stderr.is_empty(),
            "{answer:?}"
        );
        assert!(world.log("ours").contains("hook post-commit"));
    });
}

#[test]
fn git_started_by_the_binary_does_not_start_it_again() {
    with_each_git(|| {
        let world = World::new();
        world.user_hooks("main/.git/hooks");
        // The count ends the recursion that the test is about, should there be one.
        let nested = "echo \"$@\" >>\"$LOGS/ours\"\n[ $(wc -l <\"$LOGS/ours\") -gt 3 ] \
            || git commit -q --allow-empty -m nested";
        world.fake(nested);
        world.install();
        world.git("wt", &["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(world.log("ours"), "hook post-commit\n");
        assert_eq!(
            world
                .log("user")
                .matches("hook post-commit, called")
                .count(),
            2
        );
    });
}

#[test]
fn a_worktree_added_from_ours_does_not_run_ours_even_when_ours_is_gone() {
    with_each_git(|| {
        let world = World::new();
        world.user_hooks("main/.git/hooks");
        world.install();
        let commit = ["commit", "-q", "--allow-empty", "-m", "x"];
        world.git("wt", &["worktree", "add", "-q", "../wt2"]);
        world.git("wt2", &commit);
        world.git("wt", &["worktree", "remove", "--force", "."]);
        world.git("wt2", &commit);
        assert_eq!(world.log("ours"), "");
        assert_eq!(
            world
                .log("user")
                .matches("hook post-commit, called")
                .count(),
            2
        );
    });
}
