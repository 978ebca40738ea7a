//! What a run leaves for the next one, also where the user commits between them.

use super::{meanwhile, private, runs};
use crate::support::fenced_task;

#[test]
fn what_a_run_packed_is_there_in_the_next() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm good
        blob=$(echo bad | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,docs/api.md; git commit -qm bad; git gc -q";
    assert_eq!(repo.fenced(&[], script).status, 120);
    repo.fenced(&[], "git reset -q HEAD~1").ok();
    assert_eq!(repo.log_of_task(), "good");
    // a stash of the user does not hide that of a command
    repo.write("docs/api.md", "by the user\n");
    repo.git(&["stash", "-q"]);
    let script = "echo 2 >src/one.rs; git stash -q; git gc -q";
    repo.fenced(&[], script).ok();
    let script = "git stash pop -q && cat src/one.rs && git commit -qam popped";
    assert_eq!(repo.fenced(&[], script).ok(), "2");
    assert_eq!(repo.git(&["show", "stash@{0}:docs/api.md"]), "by the user");
    // a ref that was written without its log
    let script = "set -e; git commit -q --allow-empty -m logged
        c=$(git commit-tree -p HEAD -m unlogged HEAD^{tree}); echo $c >$AGENTWT_PRIVATE_GIT/refs/heads/agentwt/task; git gc -q";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "unlogged\nlogged\npopped\ngood");
    // nor does a branch with a longer name
    let script = "set -e; git commit -q --allow-empty -m last; git branch -m agentwt/task agentwt/task/more; git gc -q";
    repo.fenced(&[], script).ok();
    let kept = repo.git(&["log", "--format=%s", "--glob=refs/agentwt/kept/task"]);
    assert!(kept.contains("last"), "{kept}");
}

#[test]
fn a_run_on_another_branch_goes_on_where_the_user_commits() {
    let Some(repo) = fenced_task() else { return };
    let user = || {
        let worktree = repo.worktree("task");
        repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    };
    let script =
        "set -e; git switch -qc side; echo 1 >src/one.rs; git add src/one.rs; git commit -qm one
        echo 2 >src/two.rs; git add src/two.rs";
    repo.fenced(&[], script).ok();
    user();
    let status = repo.fenced(&[], "git status --porcelain");
    assert_eq!(
        status.ok(),
        "A  src/two.rs",
        "the index is that of its HEAD"
    );
    let script = "git branch -qM agentwt/task agentwt; git switch -q agentwt";
    repo.fenced(&[], script).ok();
    user();
    repo.fenced(&[], "true").ok();
    let script = "git symbolic-ref HEAD; git status --porcelain";
    assert_eq!(
        repo.fenced(&[], script).ok(),
        "refs/heads/agentwt\nA  src/two.rs"
    );
}

#[test]
fn what_a_run_packs_undoes_no_commit_of_the_user() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; unset GIT_COMMITTER_DATE; git commit -q --allow-empty -m one; echo 1 >src/mod/util.rs; git stash -q";
    repo.fenced(&[], script).ok();
    let worktree = repo.worktree("task");
    repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    repo.fenced(&[], "git pack-refs --all").ok();
    assert_eq!(repo.log_of_task(), "user\none");
    repo.git_in(&worktree, &["reset", "-q", "--hard", "HEAD~1"]);
    repo.fenced(&[], "git gc -q").ok();
    assert_eq!(repo.log_of_task(), "one");
    repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "again"]);
    repo.fenced(&[], "git gc -q").ok();
    assert_eq!(repo.log_of_task(), "again\none");
}

#[test]
fn without_the_excluded_objects_a_run_goes_on_where_the_user_commits() {
    let Some(repo) = fenced_task() else { return };
    let script =
        "set -e; git commit -q --allow-empty -m one; echo 1 >src/mod/util.rs; git stash -q";
    repo.fenced(&["--withhold"], script).ok();
    let user = "echo user >src/main.rs; git commit -qam user";
    repo.sh(&repo.worktree("task"), user).ok();
    let script = "git stash pop -q && git commit -qam two && git log --format=%s -1 && git show HEAD:src/main.rs";
    assert_eq!(repo.fenced(&["--withhold"], script).ok(), "two\nuser");
    assert_eq!(repo.log_of_task(), "two\nuser\none");
}

#[test]
fn what_the_user_merged_of_a_run_does_not_stay_away() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let script = "echo 1 >src/one.rs; git add src/one.rs; git commit -qm one";
    let said = meanwhile(&repo, script, || {
        repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    });
    said.fails(120);
    let merge = "git stash -q -u && git merge -q --no-edit refs/agentwt/incoming/task";
    repo.sh(&worktree, merge).ok();
    let said = repo.fenced(&[], "git status --porcelain; git log -1 --format=%s HEAD^2");
    assert_eq!(said.ok(), "one");
    assert!(!said.stderr.contains("is without"), "{said}");
}

#[test]
fn what_is_in_progress_goes_on_though_the_user_committed() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let script = "git switch -qc side; echo side >src/main.rs; git commit -qam side; git switch -q -
        echo mine >src/main.rs; git commit -qam mine; echo precious >src/mod/util.rs; git rebase -q --autostash side";
    let said = meanwhile(&repo, script, || {
        repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    });
    said.fails(120);
    repo.fenced(&[], "git rebase --abort; cat src/mod/util.rs")
        .fails(120);
    let text = std::fs::read_to_string(worktree.join("src/mod/util.rs"));
    assert_eq!(text.expect("it is there"), "precious\n");
    let said = repo.fenced(&[], "git log -1 --format=%s");
    assert_eq!(said.ok(), "user");
    assert!(said.stderr.contains("is without the commits"), "{said}");
}

#[test]
fn with_a_refused_index_the_next_run_goes_on_and_can_mend_it() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one
        git update-index --assume-unchanged src/one.rs";
    let said = repo.fenced(&[], script);
    assert_eq!(said.status, 120, "{said}");
    assert!(said.stderr.contains("marked assume-unchanged"), "{said}");
    let script = "git log -1 --format=%s; git update-index --no-assume-unchanged src/one.rs";
    let said = repo.fenced(&[], script).ok();
    assert_eq!(said, "one", "the commit is there again");
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn what_is_in_the_middle_or_put_aside_is_there_again() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; for n in 1 2; do echo $n >src/one.rs; git add -A; git commit -qm $n; done
        echo 3 >src/staged.rs; git add src/staged.rs; git stash -q
        GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2 2>/dev/null";
    let said = repo.fenced(&[], script);
    said.ok();
    assert!(said.stderr.contains("in the middle of a rebase"), "{said}");
    assert!(runs(&repo).contains("refs/agentwt/run/task/"));
    let script = "set -e; git commit -q --amend -m first; git rebase --continue >/dev/null 2>&1
        git stash pop -q; git commit -qm staged";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "staged\n2\nfirst");
    assert_eq!(runs(&repo), "");
    // and a worktree of its own, with the HEAD of that one
    let script =
        "git worktree add -q --detach src/w && cd src/w && git commit -q --allow-empty -m own";
    repo.fenced(&[], script).ok();
    // also after a commit of the user, which the next one is made on
    let worktree = repo.worktree("task");
    repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    let script = "git commit -q --allow-empty -m next";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "next\nuser\nstaged\n2\nfirst");
    // what the user threw away does not come again
    repo.git_in(&worktree, &["reset", "-q", "--hard", "HEAD~1"]);
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "user\nstaged\n2\nfirst");
    let script = "git -C src/w log -1 --format=%s && git worktree remove src/w";
    assert_eq!(repo.fenced(&[], script).ok(), "own");
    assert!(!private(&repo).join("git").exists());
}
