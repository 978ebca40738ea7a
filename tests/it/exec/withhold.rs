//! `--withhold`: the command has the commits of its branch, and nothing of the excluded files, in
//! whatever way it names them.

use std::path::Path;

use super::private;
use crate::support::{Said, TestRepo, allow_root_words, fenced_task};

/// The content of the excluded file, and a command that prints an object.
const SECRET: &str = "PEM";

#[test]
fn without_the_excluded_objects_no_later_run_is_stopped() {
    let Some(repo) = fenced_task() else { return };
    let one = "echo 1 >src/one.rs; git add -A; git commit -qm first";
    repo.fenced(&["--withhold"], one).ok();
    // the parents of the amended commit are not there
    let amended = "echo 2 >src/one.rs; git commit -qa --amend -m amended";
    let said = repo.fenced(&["--withhold"], amended);
    let printed = "git agentwt exec task -- git reset -q refs/agentwt/branch;";
    assert!(said.fails(120).stderr.contains(printed), "{said}");
    assert_eq!(repo.log_of_task(), "first");
    let left_out = "git reset -q refs/agentwt/branch; git log --format=%s";
    assert_eq!(repo.fenced(&["--withhold"], left_out).ok(), "first");
    repo.fenced(&["--withhold"], amended).fails(120);
    let orphan =
        "git reset -q; git stash -q; git checkout -q --orphan other; git commit -qm orphan";
    let said = repo.fenced(&["--withhold"], orphan);
    assert!(matches!(said.status, 0 | 120), "{said}");
    let _ = repo.fenced(&[], "true");
    let kept = repo.git(&["log", "--format=%s", "--glob=refs/agentwt"]);
    assert!(
        kept.contains("orphan") && kept.contains("amended"),
        "{kept}"
    );
}

/// Runs a script without the excluded objects, whatever its end.
fn withheld(repo: &TestRepo, script: &str) -> String {
    let said = repo.fenced(&["--withhold"], script);
    format!("{}\n{}", said.stdout, said.stderr)
}

#[test]
fn what_is_withheld_comes_by_no_other_path() {
    let commit =
        "git update-ref HEAD $(git commit-tree -p HEAD -m c $(git write-tree --missing-ok))";
    for mode in ["100644", "120000", "160000"] {
        let stage = format!(
            "git update-index --add --cacheinfo {mode},$(git rev-parse HEAD:secrets/key.pem),src/x"
        );
        let unstaged = format!("{stage}; {commit}; git rm -q --cached src/x; git commit -qm gone");
        for script in [stage.clone(), format!("{stage}; {commit}"), unstaged] {
            let Some(repo) = fenced_task() else { return };
            withheld(&repo, &script);
            for object in [
                ":src/x",
                "HEAD:src/x",
                "HEAD~1:src/x",
                "HEAD:secrets/key.pem",
            ] {
                let shown = withheld(&repo, &format!("git cat-file -p {object}"));
                assert!(!shown.contains(SECRET), "{script}: {object}: {shown}");
            }
        }
    }
}

#[test]
fn what_a_command_writes_makes_git_bring_nothing_that_is_withheld() {
    // a commit whose parent is the excluded file; a tag in the place of which git reads that
    let parent = "c=$( (echo tree $(git rev-parse HEAD^{tree}); echo parent $id; \
        echo 'author u <u@x> 2700000000 +0000'; echo 'committer u <u@x> 2700000000 +0000'; \
        echo; echo m) | git hash-object -t commit -w --stdin --literally); \
        echo $c >$AGENTWT_PRIVATE_GIT/refs/heads/x";
    let replaced = "git tag -am m T; mkdir -p $AGENTWT_PRIVATE_GIT/refs/replace; \
        echo $id >$AGENTWT_PRIVATE_GIT/refs/replace/$(git rev-parse refs/tags/T)";
    for planted in [parent, replaced] {
        let Some(repo) = fenced_task() else { return };
        let id = repo.git(&["rev-parse", "HEAD:secrets/key.pem"]);
        let script = format!("id={id}; {planted}; echo x >>src/main.rs; git stash -q");
        withheld(&repo, &script);
        let user = "echo user >src/mod/util.rs; git commit -qam user";
        repo.sh(&repo.worktree("task"), user).ok();
        let shown = withheld(
            &repo,
            &format!("git log -1 --format=%s; git cat-file -p {id}"),
        );
        assert!(shown.contains("user"), "{planted}: {shown}");
        assert!(!shown.contains(SECRET), "{planted}: {shown}");
    }
}

#[test]
fn a_damaged_boundary_of_history_keeps_nothing_away() {
    let Some(repo) = fenced_task() else { return };
    let script =
        "echo x >>src/main.rs; git commit -qam one; echo garbage >$AGENTWT_PRIVATE_GIT/shallow";
    repo.fenced(&["--withhold"], script).ok();
    assert_eq!(repo.log_of_task(), "one");
    assert!(!private(&repo).join("git").exists());
}

/// Runs a script without the excluded objects in the worktree `task` of this repository.
fn withheld_in(repo: &TestRepo, main: &Path, script: &str) -> Said {
    let root = allow_root_words();
    let words = [
        &["exec", "task", "--withhold"],
        root,
        &["--", "sh", "-c", script],
    ]
    .concat();
    repo.agentwt_in(main, &words)
}

#[test]
fn a_partial_clone_fetches_nothing_that_is_withheld_and_its_runs_are_imported() {
    let Some(repo) = fenced_task() else { return };
    repo.git(&["config", "--global", "uploadpack.allowFilter", "true"]);
    repo.write("src/main.rs", "fn main() { }\n");
    repo.commit_all("two");
    let clone = "git clone -q --filter=blob:none file://$PWD ../partial
        cd ../partial && git-agentwt add task --exclude '**/secrets/**' --write 'src/**'";
    repo.sh(repo.main(), clone).ok();
    let partial = repo.main().with_file_name("partial");
    let shown = withheld_in(&repo, &partial, "git cat-file -p HEAD:secrets/key.pem");
    assert_ne!(shown.status, 0, "{shown}");
    assert!(!shown.stdout.contains(SECRET), "{shown}");
    withheld_in(&repo, &partial, "echo w >>src/main.rs; git commit -qam w1").ok();
    withheld_in(&repo, &partial, "echo w >>src/main.rs; git commit -qam w2").ok();
    assert_eq!(
        repo.git_in(&partial, &["log", "--format=%s", "-2", "agentwt/task"]),
        "w2\nw1"
    );
}
