//! What is written into a worktree while it is removed: nothing of it is lost.

use std::path::{Path, PathBuf};

use crate::support::{Said, Shim, TestRepo, binary};

const WORK: &str = "echo 1 >src/one; git add .; git commit -qm one";
const SQUASHED: &str = "git merge -q --squash agentwt/task >/dev/null; git commit -qm all";

/// Writes into the worktree after it was looked at: where the only content of a branch is merged,
/// its commits are kept by a ref then.
fn writes(worktree: &Path, script: &str) -> String {
    format!("(cd '{}' && {script})", worktree.display())
}

/// A repository whose worktree `task` is merged by content.
fn squashed() -> (TestRepo, PathBuf) {
    let (repo, worktree) = TestRepo::task_after(WORK);
    repo.script(repo.main(), SQUASHED);
    (repo, worktree)
}

/// What a command says during which this is done in the worktree.
fn meanwhile(repo: &TestRepo, arguments: &[&str], script: &str) -> Said {
    let act = writes(&repo.worktree("task"), script);
    let shim = Shim::new(repo.root(), &act);
    shim.run_at_words(repo, arguments, "refs/agentwt/trash/")
}

/// That the worktree is where it was, with its late work, and nothing of a removal is left.
#[track_caller]
fn is_back(repo: &TestRepo, said: &Said) {
    let worktree = repo.worktree("task");
    let late = std::fs::read_to_string(worktree.join("src/late.rs"));
    assert_eq!(late.expect("it is there"), "late\n", "{said}");
    let status = repo.git_in(&worktree, &["status", "--porcelain", "--branch"]);
    assert_eq!(status, "## agentwt/task\n?? src/late.rs", "{said}");
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert!(!listed.contains("/task-"), "{listed}");
    let held = "git for-each-ref refs/agentwt/trash/+git | grep /task-";
    assert_eq!(repo.sh(repo.main(), held).stdout, "", "{said}");
    assert_eq!(repo.own_refs(), [""; 0]);
    let trashed = "find .agentwt/worktrees/.trash .git/agentwt/trash -maxdepth 1 -name 'task*'";
    assert_eq!(repo.sh(repo.main(), trashed).stdout, "", "{said}");
    // and it can be removed
    std::fs::remove_file(worktree.join("src/late.rs")).expect("a file");
    assert_eq!(repo.agentwt(&["remove", "task"]).status, 0);
}

const LATE: &str = "echo late >src/late.rs";

#[test]
fn a_file_written_after_the_look_puts_the_worktree_back() {
    let (repo, _) = squashed();
    let said = meanwhile(&repo, &["remove", "task"], LATE);
    insta::assert_snapshot!(said, @"
    --- stderr
    error: cannot remove worktree `task`: 1 file is untracked
      src/late.rs
    help: commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
    is_back(&repo, &said);
}

#[test]
fn a_prune_puts_it_back_too() {
    let (repo, _) = squashed();
    let said = meanwhile(&repo, &["prune", "--merged"], LATE);
    insta::assert_snapshot!(said, @"
    kept
      worktree task: 1 file is untracked; merged by rebase or cherry-pick in f6264e30b5
        to go on: commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 0
    ");
    is_back(&repo, &said);
}

#[test]
fn a_landing_puts_it_back_too() {
    let (repo, _) = TestRepo::task_after(WORK);
    repo.write("docs/api.md", "api v2\n");
    repo.commit_all("on main");
    let said = meanwhile(&repo, &["land", "--squash", "task"], LATE);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stdout.contains("landed task in main"), "{said}");
    assert!(said.stderr.contains("1 file is untracked"), "{said}");
    is_back(&repo, &said);
}

#[test]
fn of_several_those_before_it_are_reported() {
    let (repo, _) = squashed();
    repo.add("first");
    let said = meanwhile(&repo, &["remove", "first", "task"], LATE);
    insta::assert_snapshot!(said, @"
    --- stderr
    note: cannot remove worktree `task`: 1 file is untracked
      src/late.rs; commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    removed first: $TMP/repo/.agentwt/worktrees/first, branch agentwt/first (was f6264e30b5)
    --- status 4
    ");
    assert!(!repo.worktree("first").exists());
    is_back(&repo, &said);
}

#[test]
fn a_commit_made_after_the_look_puts_the_worktree_back() {
    let (repo, worktree) = squashed();
    // without what our own call of git has in its environment
    let commit = "echo late >src/late.rs && unset $(env | sed -n 's/^\\(GIT_[A-Z_]*DIR[A-Z_]*\\)=.*/\\1/p') GIT_WORK_TREE; git add . && git commit -qm late";
    let said = meanwhile(&repo, &["remove", "task"], commit);
    assert_eq!(said.status, 4, "{said}");
    let tip = repo.git_in(&worktree, &["log", "-1", "--format=%s", "agentwt/task"]);
    assert_eq!(tip, "late", "{said}");
    let words = "2 commits are on no other branch";
    assert!(said.stderr.contains(words), "{said}");
}

#[test]
fn where_something_new_stands_in_its_place_it_is_kept_as_work_is() {
    let (repo, worktree) = squashed();
    // an agent that makes its directories anew, as soon as they are gone
    let again = format!(
        "echo late >src/late.rs; ( while [ -d '{repository}' ]; do mkdir '{worktree}' && break; done
            echo new >'{worktree}/new' ) >/dev/null 2>&1 &",
        repository = repo.main().display(),
        worktree = worktree.display()
    );
    let said = meanwhile(&repo, &["remove", "task"], &again);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains("it is kept in the trash"), "{said}");
    let kept = super::kept(&repo, &said);
    let late = std::fs::read_to_string(kept.join("src/late.rs"));
    assert_eq!(late.expect("it is kept"), "late\n");
    assert!(worktree.exists(), "{said}");
}

#[test]
fn a_second_look_that_cannot_be_written_down_leaves_what_the_first_one_kept() {
    for end in ["exit 1", "kill -9 $PPID; exit 1"] {
        let (repo, _) = squashed();
        let tip = repo.git(&["rev-parse", "agentwt/task"]);
        let fetched = repo.git(&["commit-tree", "-m", "fetched", "HEAD^{tree}"]);
        // the first write of the ref is done, and no other but its deletion
        let act = format!(
            "if [ -e '{0}' ]; then case \"$*\" in *' -d '*) ;; *update-ref*) {end} ;; esac; \
             else echo '{fetched}' >'{0}'; fi",
            repo.main().join(".git/worktrees/task/FETCH_HEAD").display()
        );
        let shim = Shim::new(repo.root(), &act);
        let failed = shim.run_at_words(&repo, &["remove", "task"], "refs/agentwt/trash/");
        assert_ne!(failed.status, 0, "{failed}");
        let said = repo.agentwt(&["remove", "task"]);
        assert_eq!(said.status, 0, "{failed}, then {said}");
        let kept = repo.git(&["for-each-ref", "--contains", &tip, "refs/agentwt/trash"]);
        assert_ne!(kept, "", "{end}: {failed}, then {said}");
    }
}

/// The directories in the trash.
fn in_trash(repo: &TestRepo) -> Vec<PathBuf> {
    let trash = repo.main().join(".agentwt/worktrees/.trash");
    let Ok(found) = std::fs::read_dir(trash) else {
        return Vec::new();
    };
    found.map(|one| one.expect("a name").path()).collect()
}

/// Lets the term of clean worktrees be over.
fn let_expire(repo: &TestRepo) {
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
}

#[test]
fn a_clean_worktree_comes_back_within_its_term() {
    for strategy in ["worktree", "clone"] {
        let repo = TestRepo::project();
        repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", strategy])
            .ok();
        let head = repo.git_in(&repo.worktree("task"), &["rev-parse", "HEAD"]);
        let removed = repo.agentwt(&["remove", "task", "--wait"]);
        assert_eq!(removed.ok(), "", "nothing is kept as work: {removed}");
        assert_eq!(in_trash(&repo).len(), 1, "{strategy}: {removed}");
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        let worktree = repo.worktree("task");
        assert_eq!(repo.git_in(&worktree, &["rev-parse", "agentwt/task"]), head);
        assert_eq!(repo.git_in(&worktree, &["status", "--porcelain"]), "");
        let verified = repo.agentwt(&["verify", "task"]);
        assert_eq!(verified.status, 0, "{strategy}: {verified}");
    }
}

#[test]
fn a_clean_worktree_goes_when_its_term_is_over() {
    for strategy in ["worktree", "clone"] {
        let repo = TestRepo::project();
        for name in ["task", "next"] {
            repo.agentwt(&["add", name, "--write", "src/**", "--strategy", strategy])
                .ok();
        }
        repo.agentwt(&["remove", "task", "--wait"]).ok();
        assert_eq!(in_trash(&repo).len(), 1, "{strategy}");
        let_expire(&repo);
        repo.agentwt(&["remove", "next", "--wait"]).ok();
        assert_eq!(in_trash(&repo), Vec::<PathBuf>::new(), "{strategy}");
        let left =
            "find .git/worktrees .git/agentwt .agentwt/worktrees -name '*task*' -o -name '*next*'";
        assert_eq!(repo.sh(repo.main(), left).stdout, "", "{strategy}");
        let listed = repo.git(&["worktree", "list", "--porcelain"]);
        assert_eq!(listed.matches("worktree ").count(), 1, "{listed}");
    }
}

#[test]
fn what_is_written_into_an_open_file_after_the_removal_is_kept_as_work_is() {
    use std::io::Write;
    for strategy in ["worktree", "clone"] {
        let repo = TestRepo::project();
        repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", strategy])
            .ok();
        let file = repo.worktree("task").join("src/main.rs");
        let open = std::fs::OpenOptions::new().append(true).open(file);
        let mut open = open.expect("a file");
        repo.agentwt(&["remove", "task", "--wait"]).ok();
        open.write_all(b"// late\n").expect("it is written");
        drop(open);
        let_expire(&repo);
        repo.agentwt(&["prune"]).ok();
        let kept = in_trash(&repo);
        assert_eq!(kept.len(), 1, "{strategy}");
        let text = std::fs::read_to_string(kept[0].join("src/main.rs")).expect("a file");
        assert!(text.ends_with("// late\n"), "{strategy}: {text}");
        // and for as long as work is
        let removal = repo.sh(repo.main(), "cat .git/agentwt/trash/*/removing");
        assert!(!removal.stdout.contains("short"), "{removal}");
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        let status = repo.git_in(&repo.worktree("task"), &["status", "--porcelain"]);
        assert_eq!(status, " M src/main.rs", "{strategy}");
    }
}

/// Each counts the branch of the other as what keeps the commit, until one of them has ended.
#[test]
fn two_removals_at_once_leave_a_branch_with_the_commit_of_both() {
    for round in 0..4 {
        let (repo, worktree) = TestRepo::task_after(WORK);
        let commit = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
        let other = [
            "add",
            "other",
            "--write",
            "src/**",
            "--base",
            "agentwt/task",
        ];
        repo.agentwt(&other).ok();
        let both = format!(
            "'{binary}' remove task 2>one & '{binary}' remove other 2>two & wait",
            binary = binary().display()
        );
        repo.sh(repo.main(), &both).ok();
        let said = repo.sh(repo.main(), "cat one two").ok();
        let holding = ["for-each-ref", "--contains", &commit, "refs/heads"];
        assert_ne!(repo.git(&holding), "", "round {round}: {said}");
        assert!(said.contains("cannot remove"), "{said}");
    }
}
