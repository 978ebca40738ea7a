//! `add --pr` and `--mr`: a bare server with the refs that GitHub and GitLab have, and a fork.

use std::path::PathBuf;

use crate::support::TestRepo;

const SRC: [&str; 2] = ["--write", "src/**"];

/// A repository whose server has pull request 7 from a fork, which edits `src` and `docs`, on a
/// `main` that is one commit newer than the one here.
struct Forked {
    repo: TestRepo,
    fork: PathBuf,
}

impl Forked {
    fn new() -> Self {
        let repo = TestRepo::project();
        let script = "git init -q --bare ../server.git; git remote add origin $PWD/../server.git
            git push -q -u origin main
            git clone -q ../server.git ../fork; git init -q --bare ../fork.git; cd ../fork
            git commit -q --allow-empty -m upstream; echo up >README.md
            git commit -q -a -m 'upstream too'; git push -q origin main
            git switch -q -c theirs; echo theirs >>src/main.rs; echo theirs >>docs/guide.md
            git commit -q -a -m theirs; git push -q ../fork.git theirs
            git -C ../server.git fetch -q ../fork.git theirs:refs/pull/7/head
            git -C ../server.git update-ref refs/merge-requests/7/head refs/pull/7/head";
        repo.sh(repo.main(), script).ok();
        let fork = repo.root().join("fork");
        Self { repo, fork }
    }

    fn add(&self, more: &[&str]) -> crate::support::Said {
        self.repo.agentwt(&[&["add"], more, &SRC].concat())
    }

    fn push(&self, script: &str) {
        let push = "git push -q -f ../server.git theirs:refs/pull/7/head";
        self.repo.sh(&self.fork, &format!("{script}\n{push}")).ok();
    }
}

#[test]
fn a_pull_request_of_a_fork_is_judged_by_what_it_changes() {
    let forked = Forked::new();
    let repo = &forked.repo;
    insta::assert_snapshot!(forked.add(&["--pr", "7"]), @"
    $TMP/repo/.agentwt/worktrees/pr-7
    --- stderr
    pr-7: new branch agentwt/pr-7 at 6a9fdef61a (main); 2 files to edit, 10 to read, 0 excluded
    --- status 0
    ");
    let at = repo.git_in(&repo.worktree("pr-7"), &["log", "-1", "--format=%D: %s"]);
    assert_eq!(at, "HEAD -> agentwt/pr-7: theirs");
    // what upstream has and this repository does not is not what the request changes
    insta::assert_snapshot!(repo.agentwt(&["changed", "pr-7"]), @"
    modified  docs/guide.md  commit d5e30e22db, index, disk
    modified  src/main.rs    commit d5e30e22db, index, disk
    --- status 0
    ");
    let verdict = repo.agentwt(&["verify", "pr-7"]);
    assert!(
        verdict.fails(1).stdout.contains("docs/guide.md"),
        "{verdict}"
    );
    assert!(!verdict.stdout.contains("README.md"), "{verdict}");
    assert_eq!(
        repo.git(&["for-each-ref", "--format=%(refname)", "refs/pull"]),
        ""
    );
}

#[test]
fn a_merge_request_and_a_name_and_a_clone() {
    let forked = Forked::new();
    let repo = &forked.repo;
    forked.add(&["--mr", "7"]).ok();
    forked.add(&["review", "--pr", "7"]).ok();
    forked
        .add(&["copy", "--pr", "7", "--strategy", "clone"])
        .ok();
    for name in ["mr-7", "review", "copy"] {
        let at = repo.git_in(&repo.worktree(name), &["log", "-1", "--format=%s"]);
        assert_eq!(at, "theirs");
        assert_eq!(
            repo.agentwt(&["changed", name, "--name-only"]).ok(),
            "docs/guide.md\nsrc/main.rs"
        );
    }
}

#[test]
fn a_second_add_prints_the_path_and_how_to_update() {
    let forked = Forked::new();
    let repo = &forked.repo;
    let path = forked.add(&["--pr", "7"]).ok();
    forked.push("git commit -q --allow-empty -m more");
    let other = repo.git(&["commit-tree", "-m", "other", "main^{tree}"]);
    insta::assert_snapshot!(forked.add(&["--pr", "7", "--base", &other]), @"
    --- stderr
    error: worktree `pr-7` exists, and its base is `main`
    help: take another name, or remove it first: git agentwt remove pr-7
    --- status 4
    ");
    insta::assert_snapshot!(forked.add(&["--pr", "7", "--base", "nowhere"]), @"
    --- stderr
    error: cannot add `pr-7`: there is no commit `nowhere` (--base)
    help: see what there is: git branch -a; to get what a remote has: git fetch
    --- status 2
    ");
    forked.add(&["--pr", "7", "--base", "main"]).ok();
    let again = forked.add(&["--pr", "7"]);
    assert_eq!(again.ok(), path);
    insta::assert_snapshot!(again.stderr, @"
    note: to update it: git -C $TMP/repo/.agentwt/worktrees/pr-7 pull --ff-only origin refs/pull/7/head; if the request was rewritten: git agentwt remove pr-7, then add it again
    pr-7 is there already
    ");
    repo.sh(
        &repo.worktree("pr-7"),
        "git pull -q --ff-only origin refs/pull/7/head",
    )
    .ok();
    let at = repo.git_in(&repo.worktree("pr-7"), &["log", "-1", "--format=%s"]);
    assert_eq!(at, "more");
    // under that name is something else
    insta::assert_snapshot!(forked.add(&["pr-7", "--mr", "7"]), @"
    --- stderr
    error: worktree `pr-7` exists, and its branch is from refs/pull/7/head
    help: take another name, or remove it first: git agentwt remove pr-7
    --- status 4
    ");
    forked.add(&["task-5"]).ok();
    insta::assert_snapshot!(forked.add(&["task-5", "--pr", "7"]), @"
    --- stderr
    error: worktree `task-5` exists, and its branch is from no request
    help: take another name, or remove it first: git agentwt remove task-5
    --- status 4
    ");
}

#[test]
fn a_removed_one_can_be_made_anew_and_work_on_it_is_kept() {
    let forked = Forked::new();
    let repo = &forked.repo;
    forked.add(&["--pr", "7"]).ok();
    repo.agentwt(&["remove", "pr-7"]).ok();
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
    // the server may forget it
    let kept = ["log", "--format=%s", "--glob=refs/agentwt/trash", "-1"];
    assert_eq!(repo.git(&kept), "theirs");
    forked.push("git commit -q --amend -m rewritten");
    forked.add(&["--pr", "7"]).ok();
    let dir = repo.worktree("pr-7");
    let at = repo.git_in(&dir, &["log", "-1", "--format=%s"]);
    assert_eq!(at, "rewritten");
    repo.sh(&dir, "echo ours >>src/main.rs; git commit -q -a -m ours")
        .ok();
    let refused = repo.agentwt(&["remove", "pr-7"]);
    assert!(
        refused
            .fails(4)
            .stderr
            .contains("1 commit is on no other branch"),
        "{refused}"
    );
}

#[test]
fn dry_run_shows_what_would_be_fetched_and_fetches_nothing() {
    let forked = Forked::new();
    let before = forked.repo.fingerprint();
    insta::assert_snapshot!(forked.add(&["--pr", "7", "-n"]), @"
    would make $TMP/repo/.agentwt/worktrees/pr-7
      fetch    refs/pull/7/head from origin, now at d5e30e22db
      branch   new branch agentwt/pr-7
      base     af82e40edf (main)
      write    src/**
      read     **
      exclude  nothing
      files    2 files to edit, 10 to read, 0 excluded
    --- stderr
    note: the pull request is not here yet: the files are those of the base branch
    --- status 0
    ");
    assert_eq!(forked.repo.fingerprint(), before);
    let missing = forked.repo.sh(
        forked.repo.main(),
        "git cat-file -e $(git -C ../fork rev-parse theirs)",
    );
    assert_ne!(missing.status, 0, "the head is not here");
}

#[test]
fn what_is_wrong_is_said_with_the_next_step() {
    let forked = Forked::new();
    let repo = &forked.repo;
    insta::assert_snapshot!(forked.add(&["--pr", "8"]), @"
    --- stderr
    error: origin has no refs/pull/8/head
    help: check the number, and --pr (GitHub, Gitea) or --mr (GitLab); to see what there is: git ls-remote origin 'refs/pull/*' 'refs/merge-requests/*'
    --- status 2
    ");
    forked.add(&[]).fails(2);
    forked.add(&["--pr", "0"]).fails(2);
    repo.git(&["config", "remote.origin.url", "../gone.git"]);
    let offline = forked.add(&["--pr", "7"]);
    assert!(
        offline.fails(5).stderr.contains("cannot ask the server: "),
        "{offline}"
    );
    repo.git(&["remote", "remove", "origin"]);
    insta::assert_snapshot!(forked.add(&["--pr", "7"]), @"
    --- stderr
    error: cannot tell which remote has the pull request: there is none
    help: to add one: git remote add origin <url>; to choose: git branch --set-upstream-to=<remote>/main main
    --- status 2
    ");
    repo.git(&["remote", "add", "one", "../server.git"]);
    repo.git(&["remote", "add", "two", "../gone.git"]);
    insta::assert_snapshot!(forked.add(&["--pr", "7"]), @"
    --- stderr
    error: cannot tell which remote has the pull request: one, two
    help: to add one: git remote add origin <url>; to choose: git branch --set-upstream-to=<remote>/main main
    --- status 2
    ");
    repo.git(&["config", "branch.main.remote", "one"]);
    repo.git(&["config", "branch.main.merge", "refs/heads/main"]);
    forked.add(&["--pr", "7"]).ok();
}

#[test]
fn a_request_that_shares_no_commit_is_refused() {
    let forked = Forked::new();
    forked.push("git switch -q --orphan other; git commit -q --allow-empty -m one; git branch -q -M other theirs");
    insta::assert_snapshot!(forked.add(&["--pr", "7"]), @"
    --- stderr
    error: cannot add `pr-7`: the pull request and `main` have no commit in common
    help: name the branch it is for: --base <branch>; in a shallow clone, first: git fetch --unshallow
    --- status 4
    ");
    assert_eq!(forked.repo.git(&["branch", "--list", "agentwt/*"]), "");
}
