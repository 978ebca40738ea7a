//! What counts as merged by content, and what does not.

use super::{assert_gone, refused};
use crate::support::{Said, TestRepo};

/// What `remove` says of a worktree in which `ours` was done, then `theirs` in the main one.
#[track_caller]
fn removed(ours: &str, theirs: &str) -> (TestRepo, Said) {
    let (repo, _) = TestRepo::task_after(ours);
    repo.script(repo.main(), theirs);
    let said = repo.agentwt(&["remove", "task"]);
    (repo, said)
}

/// That it went with its branch, and in these words; its tip is kept all the same.
#[track_caller]
fn merged(ours: &str, theirs: &str, words: &str) {
    let (repo, worktree) = TestRepo::task_after(ours);
    repo.script(repo.main(), theirs);
    let tip = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 0, "{said}");
    let main = repo.git(&["rev-parse", "--short=10", "main"]);
    let words = words.replace("MAIN", &main);
    assert!(said.stderr.contains(&words), "{words}: {said}");
    assert_gone(&repo, "task");
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
    let kept = repo.git(&["rev-parse", &said.ok()]);
    assert_eq!(kept, tip, "the tip can be had again");
}

/// That it is refused, because of commits.
#[track_caller]
fn not_merged(ours: &str, theirs: &str) {
    let (repo, said) = removed(ours, theirs);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("on no other branch"), "{said}");
    assert!(repo.worktree("task").join(".git").exists());
    let loose = repo.git(&["for-each-ref", "refs/agentwt"]);
    assert_eq!(loose, "");
}

const TWO: &str = "echo 1 >src/one; git add .; git commit -qm one; echo 2 >src/two; git add .; git commit -qm two";
const MOVED: &str = "echo more >>docs/api.md; git commit -qam 'on main'";

#[test]
fn a_branch_that_was_rebased_or_picked_is_merged() {
    let picked = format!("{MOVED}; git cherry-pick agentwt/task~ agentwt/task >/dev/null");
    merged(TWO, &picked, ", merged by rebase or cherry-pick in MAIN)");
    let with_more = format!("{picked}; {MOVED}");
    merged(TWO, &with_more, ", merged by rebase or cherry-pick in ");
}

#[test]
fn a_branch_that_was_squashed_is_merged() {
    let squashed =
        format!("{MOVED}; git merge -q --squash agentwt/task >/dev/null; git commit -qm all");
    merged(TWO, &squashed, ", merged by squash in MAIN)");
    let and_edited = format!("{squashed}; echo other >src/two; git commit -qam later");
    merged(TWO, &and_edited, ", merged by squash in ");
}

#[test]
fn a_branch_whose_content_came_otherwise_is_merged() {
    // one commit of main has more than the branch
    let more = "echo 1 >src/one; echo 2 >src/two; echo 3 >src/three; git add .; git commit -qm all";
    merged(TWO, more, ", merged: main has its content)");
}

#[test]
fn a_branch_that_took_main_in_and_was_squashed_is_merged() {
    let ours = format!(
        "{TWO}; (cd $MAIN; {MOVED}); git merge -q -m m main; echo 3 >src/three; git add .; git commit -qm three"
    );
    let theirs = "git merge -q --squash agentwt/task >/dev/null; git commit -qm all";
    merged(&ours, theirs, ", merged by squash in MAIN)");
}

#[test]
fn a_squash_that_only_upstream_has_counts() {
    let repo = TestRepo::project();
    repo.script(repo.main(),
        "git clone -q --bare . ../server; git remote add origin ../server; git fetch -q; git branch -q -u origin/main",
    );
    let worktree = repo.add("task");
    repo.script(&worktree, TWO);
    repo.script(repo.main(),
        "git switch -q -c elsewhere; git merge -q --squash agentwt/task >/dev/null; git commit -qm all; git push -q origin elsewhere:main; git switch -q main; git branch -qD elsewhere",
    );
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains("merged by squash in"), "{said}");
}

#[test]
fn renames_modes_links_and_binary_files_count_as_what_they_are() {
    let ours = "git mv docs/guide.md docs/book.md; chmod u+w docs/book.md; echo x >>docs/book.md; chmod +x src/main.rs; printf 'a\\0b' >src/bin
        ln -s bin src/link; git add -A; git commit -qm all; echo more >src/text; git add .; git commit -qm text";
    let theirs =
        format!("{MOVED}; git merge -q --squash agentwt/task >/dev/null; git commit -qm all");
    merged(ours, &theirs, ", merged by squash in MAIN)");
    // the same patch but for the mode, the bytes, the blanks
    for (ours, theirs) in [
        (
            "chmod +x src/main.rs; echo x >>src/main.rs",
            "echo x >>src/main.rs",
        ),
        ("chmod +x src/main.rs", "echo y >src/y; git add ."),
        ("printf 'a\\0b' >src/bin", "printf 'a\\0c' >src/bin"),
        (
            "printf 'if x:\\n  y\\n' >src/py",
            "printf 'if x:\\ny\\n' >src/py",
        ),
        (
            "git mv docs/guide.md docs/book.md",
            "git rm -q docs/guide.md",
        ),
    ] {
        let commit = |script: &str| format!("{script}; git add -A; git commit -qm x");
        not_merged(&commit(ours), &commit(theirs));
    }
}

#[test]
fn a_part_that_was_picked_does_not_make_the_rest_merged() {
    not_merged(
        TWO,
        &format!("{MOVED}; git cherry-pick agentwt/task~ >/dev/null"),
    );
    not_merged(
        TWO,
        &format!("{MOVED}; git cherry-pick agentwt/task >/dev/null"),
    );
}

#[test]
fn what_was_taken_back_on_the_branch_is_nowhere_else() {
    let undone =
        "echo 1 >src/one; git add .; git commit -qm one; git revert --no-edit HEAD >/dev/null";
    not_merged(undone, MOVED);
    let and_more = format!("{undone}; echo 2 >src/two; git add .; git commit -qm two");
    let theirs = format!("{MOVED}; git cherry-pick agentwt/task >/dev/null");
    not_merged(&and_more, &theirs);
}

#[test]
fn an_empty_commit_is_no_other_ones_twin() {
    let empty = "git commit -q --allow-empty -m";
    not_merged(&format!("{empty} ours"), &format!("{empty} theirs"));
    let ours = format!("{TWO}; {empty} ours");
    let theirs =
        format!("{MOVED}; git cherry-pick agentwt/task~2 agentwt/task~ >/dev/null; {empty} theirs");
    // each change is there, but not each commit: the content is, and that is what is said
    merged(&ours, &theirs, ", merged: main has its content)");
}

#[test]
fn a_conflict_and_another_change_of_the_same_lines_are_not_merged() {
    not_merged(
        "echo ours >src/main.rs; git commit -qam ours",
        "echo theirs >src/main.rs; git commit -qam theirs",
    );
    // a driver that always takes what is there would make every merge change nothing
    not_merged(
        "echo ours >src/main.rs; git commit -qam ours",
        "echo '* merge=mine' >.git/info/attributes; git config merge.mine.driver true
        echo theirs >src/main.rs; git commit -qam theirs",
    );
}

#[test]
fn a_merge_with_changes_of_its_own_is_only_merged_as_a_whole() {
    let ours = format!("{TWO}; git switch -q -c side HEAD~; echo 3 >src/three; git add .; git commit -qm three
        git switch -q agentwt/task; git merge -q --no-commit side; echo evil >src/evil; git add .; git commit -qm m; git branch -qD side");
    let theirs =
        format!("{MOVED}; git cherry-pick agentwt/task~2 agentwt/task~ agentwt/task^2 >/dev/null");
    not_merged(&ours, &theirs);
}

#[test]
fn nothing_is_asked_of_a_branch_that_is_plainly_merged() {
    let (repo, _) = TestRepo::with_task();
    let said = repo.agentwt(&["-vv", "remove", "task"]);
    assert_eq!(said.status, 0, "{said}");
    for costly in ["cherry-mark", "merge-tree", "merge-base", "diff-tree"] {
        assert!(!said.stderr.contains(costly), "{costly}: {said}");
    }
}

#[test]
fn nothing_is_written_into_the_repository_to_find_out() {
    let (repo, _) = TestRepo::task_after(TWO);
    repo.script(repo.main(), MOVED);
    let objects = || {
        repo.sh(repo.main(), "find .git/objects -type f | sort")
            .ok()
    };
    let before = objects();
    let _ = refused(&repo, &["remove", "task"]);
    assert_eq!(objects(), before);
}
