//! What `remove` refuses, since work would be lost; a refusal touches nothing.

use insta::assert_snapshot;

use super::{assert_gone, kept, refused, with_submodule};
use crate::support::TestRepo;

#[test]
fn uncommitted_work_is_refused_with_a_list() {
    let (repo, _) = TestRepo::task_after(
        "echo x >>src/main.rs; rm tests/t.rs; echo n >src/new.rs; echo s >>package.json; git add package.json",
    );
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 3 files have uncommitted changes, 1 file is untracked
      package.json
      src/main.rs
      src/new.rs
      tests/t.rs
    help: commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
}

#[test]
fn work_that_index_flags_hide_is_refused() {
    for flag in ["assume-unchanged", "skip-worktree"] {
        let (repo, _) = TestRepo::task_after(&format!(
            "git update-index --{flag} src/main.rs; echo x >>src/main.rs"
        ));
        let said = refused(&repo, &["remove", "task"]);
        assert!(said.stderr.contains("\n  src/main.rs\n"), "{flag}: {said}");
    }
}

#[test]
fn an_untracked_file_is_refused() {
    let (repo, _) = TestRepo::task_after("echo n >notes");
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 1 file is untracked
      notes
    help: commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
}

#[test]
fn only_twenty_paths_are_listed() {
    let (repo, _) = TestRepo::task_after("for i in $(seq 10 40); do echo x >src/f$i; done");
    let said = refused(&repo, &["remove", "task"]);
    assert_eq!(said.stderr.matches("\n  src/f").count(), 20, "{said}");
    assert!(said.stderr.contains("… and 11 more"), "{said}");
}

#[test]
fn a_staged_change_that_is_not_on_disk_is_refused() {
    let (repo, _) = TestRepo::task_after(
        "echo x >>src/main.rs; git add src/main.rs; git show HEAD:src/main.rs >src/main.rs",
    );
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 1 file has uncommitted changes
      src/main.rs
    help: commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
}

#[test]
fn commits_that_are_on_no_other_branch_are_refused() {
    let (repo, _) = TestRepo::task_after(
        "echo x >>src/main.rs; git commit -q -a -m x; git commit -q --allow-empty -m y",
    );
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 2 commits are on no other branch
      0e8f8383f4 y
      7d790cc5ac x
    help: commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
}

#[test]
fn commits_on_a_detached_head_are_refused() {
    let (repo, _) = TestRepo::task_after(
        "git checkout -q --detach; echo x >>src/main.rs; git commit -q -a -m x",
    );
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 1 commit is on no other branch
      7d790cc5ac x
    help: commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
    let _ = refused(&repo, &["remove", "task", "-D"]);
    let _ = refused(&repo, &["remove", "task", "--keep-branch"]);
}

#[test]
fn a_file_that_the_worktree_does_not_ignore_any_more_is_untracked_work() {
    let repo = TestRepo::project();
    repo.script(
        repo.main(),
        "echo '*.log' >.gitignore; git add -A; git commit -q -m rules",
    );
    let worktree = repo.add("task");
    let script = "echo '!kept.log' >src/.gitignore; git add -A; git commit -q -m unignore
        echo work >src/kept.log; echo output >src/other.log";
    repo.script(&worktree, script);
    let landed = repo.agentwt(&["land", "--squash", "task"]);
    assert_eq!(landed.status, 4, "{landed}");
    assert!(landed.stderr.contains("src/kept.log"), "{landed}");
    repo.sh(
        repo.main(),
        "git merge -q --squash agentwt/task; git commit -q -m squash",
    )
    .ok();
    let said = refused(&repo, &["remove", "task"]);
    assert!(said.stderr.contains("1 file is untracked"), "{said}");
    assert!(said.stderr.contains("src/kept.log"), "{said}");
    assert!(!said.stderr.contains("other.log"), "{said}");
    repo.agentwt(&["remove", "task", "--force"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    let kept = repo.script(&worktree, "cat src/kept.log");
    assert_eq!(kept.trim(), "work");
}

#[test]
fn a_directory_that_ignores_itself_is_no_work_where_other_rules_changed() {
    let (repo, worktree) = TestRepo::with_task();
    let script = "echo '*.tmp' >src/.gitignore; git add -A; git commit -q -m rules
        mkdir src/venv; echo '*' >src/venv/.gitignore; echo made >src/venv/lib";
    repo.script(&worktree, script);
    repo.sh(repo.main(), "git merge -q agentwt/task").ok();
    repo.agentwt(&["remove", "task"]).ok();
}

#[test]
fn an_index_that_cannot_be_read_is_refused_with_a_command_that_makes_a_sparse_one_whole() {
    let (repo, worktree) = TestRepo::with_task();
    let script = "git sparse-checkout set --cone --sparse-index src docs
        echo staged >>src/main.rs; git add src/main.rs; git show HEAD:src/main.rs >src/main.rs";
    repo.script(&worktree, script);
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 4, "{said}");
    let (_, printed) = said
        .stderr
        .split_once("to make it whole: ")
        .expect("a command");
    let line = printed.split([';', '\n']).next().expect("a line");
    let root = repo.root().to_str().expect("UTF-8");
    repo.script(repo.main(), &line.replace("$TMP", root));
    let said_then = repo.agentwt(&["remove", "task"]);
    assert_eq!(said_then.status, 4, "{said_then}");
    assert!(
        said_then.stderr.contains("uncommitted changes"),
        "{said_then}"
    );
}

/// A project with the branch `feature`, on which alone a commit is; and where that and `main` are.
fn with_feature() -> (TestRepo, String) {
    let repo = TestRepo::project();
    let script = "git switch -qc feature; echo precious >src/p; git add -A; git commit -qm p
        git switch -q main";
    repo.sh(repo.main(), script).ok();
    let before = branches(&repo);
    (repo, before)
}

fn branches(repo: &TestRepo) -> String {
    let format = "--format=%(refname) %(objectname)";
    repo.git(&[
        "for-each-ref",
        format,
        "refs/heads/main",
        "refs/heads/feature",
    ])
}

#[test]
fn a_branch_that_a_symbolic_ref_names_stays_when_that_ref_goes() {
    for target in ["main", "feature"] {
        let (repo, before) = with_feature();
        let worktree = repo.add("task");
        let point = format!("git symbolic-ref refs/heads/agentwt/task refs/heads/{target}");
        repo.script(&worktree, &point);
        let said = repo.agentwt(&["remove", "task", "--force"]);
        assert_eq!(branches(&repo), before, "{target}: {said}");
        let undone = repo.agentwt(&["remove", "--undo", "task"]);
        assert_eq!(branches(&repo), before, "{target}: {undone}");
    }
    let (repo, before) = with_feature();
    let kept = "refs/agentwt/trash/other/20200101T000000Z";
    repo.git(&["symbolic-ref", kept, "refs/heads/feature"]);
    repo.agentwt(&["prune"]).ok();
    assert_eq!(branches(&repo), before);
    repo.add("task");
    repo.agentwt(&["remove", "task"]).ok();
    for reference in repo.own_refs() {
        let name = reference.split(' ').next().expect("a name");
        repo.git(&["symbolic-ref", name, "refs/heads/feature"]);
    }
    let undone = repo.agentwt(&["remove", "--undo", "task"]);
    assert_eq!(branches(&repo), before, "{undone}");
}

#[test]
fn a_nested_repository_is_refused_and_force_keeps_it() {
    let (repo, _) = TestRepo::task_after(
        "git init -q src/inner; git -C src/inner commit -q --allow-empty -m x",
    );
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: a repository is inside it: src/inner
    help: move it out of $TMP/repo/.agentwt/worktrees/task, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
    let kept = kept(&repo, &repo.agentwt(&["remove", "task", "--force"]));
    repo.git_in(&kept.join("src/inner"), &["rev-parse", "HEAD"]);
}

#[test]
fn an_ignored_nested_repository_stays_when_ignored_files_are_deleted() {
    let (repo, _) = TestRepo::task_after(
        "git init -q target/inner; git -C target/inner commit -q --allow-empty -m x
        echo w >target/inner/w; echo x >target/a; echo x >b.log",
    );
    let kept = kept(
        &repo,
        &repo.agentwt(&["remove", "task", "--force", "--wait"]),
    );
    repo.git_in(&kept.join("target/inner"), &["rev-parse", "HEAD"]);
    assert!(kept.join("target/inner/w").exists());
    assert!(!kept.join("target/a").exists() && !kept.join("b.log").exists());
}

/// Makes a bare repository at this place, with a commit that is nowhere else.
fn bare_repository(place: &str) -> String {
    format!(
        "git init -q --bare {place}; tree=$(git -C {place} mktree </dev/null)
        git -C {place} update-ref refs/heads/x $(git -C {place} commit-tree -m work $tree)"
    )
}

#[test]
fn a_bare_repository_is_refused_as_any_other_wherever_it_is() {
    for place in ["target/n.git", "src/n.git", "target/deep/er"] {
        let (repo, worktree) = TestRepo::task_after(&bare_repository(place));
        let said = refused(&repo, &["remove", "task", "--wait"]);
        let why = format!("`task`: a repository is inside it: {place}\n");
        assert!(said.stderr.contains(&why), "{said}");
        repo.agentwt(&["remove", "task", "--force", "--wait"]).ok();
        repo.agentwt(&["prune"]).ok();
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        repo.git_in(&worktree.join(place), &["log", "-1", "x"]);
    }
}

#[test]
fn a_bare_repository_that_is_committed_stops_nothing() {
    let script = "git init -q --bare src/n.git; git add -A; git commit -q -m fixture
        git -C $MAIN merge -q --ff-only agentwt/task";
    let (repo, _) = TestRepo::task_after(script);
    repo.agentwt(&["remove", "task"]).ok();
}

#[test]
fn a_bare_repository_that_came_into_a_clean_worktree_in_the_trash_stays() {
    let (repo, worktree) = TestRepo::with_task();
    repo.agentwt(&["remove", "task", "--wait"]).ok();
    let kept = repo
        .sh(repo.main(), "ls -d .agentwt/worktrees/.trash/*")
        .ok();
    repo.script(&repo.main().join(kept), &bare_repository("target/n.git"));
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
    repo.agentwt(&["prune"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    repo.git_in(&worktree.join("target/n.git"), &["log", "-1", "x"]);
}

#[test]
fn a_submodule_with_work_of_its_own_is_refused() {
    for work in [
        "echo x >lib.c",
        "echo n >new",
        "git commit -q --allow-empty -m x",
        "git rm -q --cached lib.c",
        "git update-index --cacheinfo 100644,$(echo x | git hash-object -w --stdin),lib.c",
    ] {
        let (repo, worktree) = with_submodule();
        repo.script(&worktree.join("vendor/lib"), work);
        let said = refused(&repo, &["remove", "task"]);
        let why = "a submodule has uncommitted changes or unpushed commits: vendor/lib\n";
        assert!(said.stderr.contains(why), "{work}: {said}");
        let before = repo.git_in(&worktree.join("vendor/lib"), &["status", "--porcelain"]);
        let kept = kept(&repo, &repo.agentwt(&["remove", "task", "--force"]));
        assert!(kept.join("vendor/lib/lib.c").exists());
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        let after = repo.git_in(&worktree.join("vendor/lib"), &["status", "--porcelain"]);
        assert_eq!(after, before);
    }
}

#[test]
fn the_size_of_what_is_in_the_trash_counts_the_repositories_of_submodules() {
    let (repo, worktree) = with_submodule();
    let script = "head -c 500000 /dev/urandom >big; git add big; git commit -q -m x
        git rm -q big; git commit -q -m y";
    repo.script(&worktree.join("vendor/lib"), script);
    repo.agentwt(&["remove", "task", "--force"]).ok();
    let list = repo.agentwt(&["list", "--trash", "--json"]).ok();
    let list: serde_json::Value = serde_json::from_str(&list).expect("it is JSON");
    let bytes = list["trash"][0]["bytes"].as_u64();
    assert!(bytes > Some(500_000), "{list}");
}

#[test]
fn a_filled_submodule_without_work_of_its_own_goes() {
    let (repo, _) = with_submodule();
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
}

#[test]
fn a_locked_worktree_is_refused() {
    let (repo, worktree) = TestRepo::with_task();
    repo.git(&["worktree", "lock", &worktree.display().to_string()]);
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: it is locked
    help: git worktree unlock $TMP/repo/.agentwt/worktrees/task
    --- status 4
    ");
    let _ = refused(&repo, &["remove", "task", "--force"]);
}

#[test]
fn without_a_name_it_is_the_worktree_around_if_that_is_clean() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let inside = worktree.join("src");
    std::fs::write(inside.join("new.rs"), "new\n").expect("a file");
    let said = repo.agentwt_in(&inside, &["remove"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("1 file is untracked"), "{said}");
    let said = repo.agentwt_in(&inside, &["remove", "--force"]);
    assert!(
        said.stderr.contains("git agentwt remove task --force"),
        "{said}"
    );
    std::fs::remove_file(inside.join("new.rs")).expect("it is there");
    repo.agentwt_in(&inside, &["remove", "-n"]).ok();
    let said = repo.agentwt_in(&inside, &["remove"]);
    assert_gone(&repo, "task");
    insta::assert_snapshot!(said, @r"
    --- stderr
    note: the current directory was in it, and is gone: cd $TMP/repo
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf)
    --- status 0
    ");
    let said = repo.agentwt(&["remove"]);
    assert_eq!(said.status, 2, "{said}");
    assert!(said.stderr.contains("so a name is needed"), "{said}");
    assert_eq!(repo.agentwt(&["remove", "--undo"]).status, 2);
}

#[test]
fn it_is_refused_from_inside() {
    let (repo, worktree) = TestRepo::with_task();
    assert_snapshot!(repo.agentwt_in(&worktree.join("src"), &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: you are inside it
    help: cd $TMP/repo && git agentwt remove task
    --- status 4
    ");
    assert!(worktree.join(".git").exists());
}

#[test]
fn a_worktree_that_plain_git_made_is_refused() {
    let repo = TestRepo::project();
    let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\n";
    repo.write(".agentwt/config.toml", config);
    repo.git(&["worktree", "add", "-q", "-b", "topic", "../plain"]);
    let _ = repo.agentwt(&["remove", "plain"]).fails(7);
    repo.agentwt(&["hooks", "install", "../plain"]).ok();
    assert_snapshot!(refused(&repo, &["remove", "plain"]), @"
    --- stderr
    error: cannot remove worktree `plain`: plain git made it
    help: git agentwt hooks uninstall plain && git worktree remove $TMP/plain
    --- status 4
    ");
    let _ = refused(&repo, &["remove", "plain", "--force"]);
}

#[test]
fn an_unknown_name_is_exit_7() {
    let (repo, _) = TestRepo::with_task();
    assert_snapshot!(repo.agentwt(&["remove", "tusk"]), @"
    --- stderr
    error: there is no worktree named `tusk`
    help: there are: task; `git agentwt list` shows them
    --- status 7
    ");
    repo.agentwt(&["remove", "task"]).ok();
    for command in ["remove", "verify", "status", "path"] {
        let said = repo.agentwt(&[command, "task"]);
        let help = "help: it was removed; to bring it back: git agentwt remove --undo task";
        assert!(said.fails(7).stderr.contains(help), "{said}");
    }
}

#[test]
fn of_several_names_none_is_removed_when_one_is_refused() {
    let (repo, worktree) = TestRepo::task_after("echo n >src/new.rs");
    let other = repo.add("other");
    let _ = refused(&repo, &["remove", "other", "task"]);
    let _ = repo.agentwt(&["remove", "other", "tusk"]).fails(7);
    assert!(other.join(".git").exists() && worktree.join("src/new.rs").exists());
    std::fs::remove_file(worktree.join("src/new.rs")).expect("it is there");
    repo.agentwt(&["remove", "other", "task", "other"]).ok();
    assert_gone(&repo, "other");
    assert_gone(&repo, "task");
}
