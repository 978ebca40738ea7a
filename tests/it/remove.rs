//! `remove`: refuses what would lose work, saves what is given up, and takes the rest away.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::support::{Said, TestRepo, chmod};

mod deleted;
mod expiry;
mod faults;
mod hidden;
mod in_use;
mod meanwhile;
mod merged;
mod operations;
mod private_refs;
mod soak;

/// A repository with the worktree `task`.
#[track_caller]
fn with_worktree() -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    (repo, worktree)
}

/// A repository with the worktree `task` in which this was done.
#[track_caller]
fn after(script: &str) -> (TestRepo, PathBuf) {
    let (repo, worktree) = with_worktree();
    sh(&repo, &worktree, script);
    (repo, worktree)
}

#[track_caller]
fn sh(repo: &TestRepo, dir: &Path, script: &str) {
    repo.sh(
        dir,
        &format!("set -e\nMAIN='{}'\n{script}", repo.main().display()),
    )
    .ok();
}

/// That a refused `remove` has touched nothing.
#[track_caller]
fn refused(repo: &TestRepo, arguments: &[&str]) -> Said {
    let before = repo.fingerprint();
    let said = repo.agentwt(arguments);
    assert_eq!(said.status, 4, "{said}");
    assert_eq!(said.stdout, "", "{said}");
    assert_eq!(repo.fingerprint(), before, "a refusal touches nothing");
    said
}

/// The trash ref that a `remove` printed.
#[track_caller]
fn trash(said: &Said) -> String {
    let name = said.ok();
    assert!(name.starts_with("refs/agentwt/trash/"), "{said}");
    assert!(!name.contains('\n'), "{said}");
    name
}

/// The directory in the trash that a `remove` printed.
#[track_caller]
fn kept(repo: &TestRepo, said: &Said) -> PathBuf {
    let name = said.ok();
    assert!(name.starts_with(".agentwt/worktrees/.trash/"), "{said}");
    assert!(!name.contains('\n'), "{said}");
    repo.main().join(name)
}

/// That nothing of a worktree is left but what its branch and trash refs keep.
#[track_caller]
fn assert_gone(repo: &TestRepo, name: &str) {
    assert!(!repo.worktree(name).exists(), "the directory is gone");
    let record = repo.main().join(".git/agentwt/worktrees").join(name);
    assert!(!record.exists(), "the record is gone");
    assert!(
        !repo
            .git(&["worktree", "list", "--porcelain"])
            .contains(&format!("worktrees/{name}\n"))
    );
    let _ = repo.agentwt(&["path", name]).fails(7);
}

/// Hides the time in a trash ref.
fn without_time(said: &Said, name: &str) -> String {
    let text = said.to_string();
    let start = format!("refs/agentwt/trash/{name}/");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(&start) {
        let (head, tail) = rest.split_at(at + start.len());
        out.push_str(head);
        let time = tail
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(tail.len());
        out.push_str(if time > 0 { "TIME" } else { "" });
        rest = &tail[time..];
    }
    out + rest
}

// ---- refusals --------------------------------------------------------------------------------

#[test]
fn uncommitted_work_is_refused_with_a_list() {
    let (repo, _) = after(
        "echo x >>src/main.rs; rm tests/t.rs; echo n >src/new.rs; echo s >>package.json; git add package.json",
    );
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 3 files have uncommitted changes, 1 file is untracked
      package.json
      src/main.rs
      src/new.rs
      tests/t.rs
    help: commit and merge it, or keep all of it in the trash: git agentwt remove --force task
    --- status 4
    ");
}

#[test]
fn work_that_index_flags_hide_is_refused() {
    for flag in ["assume-unchanged", "skip-worktree"] {
        let (repo, _) = after(&format!(
            "git update-index --{flag} src/main.rs; echo x >>src/main.rs"
        ));
        let said = refused(&repo, &["remove", "task"]);
        assert!(said.stderr.contains("\n  src/main.rs\n"), "{flag}: {said}");
    }
}

#[test]
fn an_untracked_file_is_refused() {
    let (repo, _) = after("echo n >notes");
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 1 file is untracked
      notes
    help: commit and merge it, or keep all of it in the trash: git agentwt remove --force task
    --- status 4
    ");
}

#[test]
fn only_twenty_paths_are_listed() {
    let (repo, _) = after("for i in $(seq 10 40); do echo x >src/f$i; done");
    let said = refused(&repo, &["remove", "task"]);
    assert_eq!(said.stderr.matches("\n  src/f").count(), 20, "{said}");
    assert!(said.stderr.contains("… and 11 more"), "{said}");
}

#[test]
fn a_staged_change_that_is_not_on_disk_is_refused() {
    let (repo, _) =
        after("echo x >>src/main.rs; git add src/main.rs; git show HEAD:src/main.rs >src/main.rs");
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 1 file has uncommitted changes
      src/main.rs
    help: commit and merge it, or keep all of it in the trash: git agentwt remove --force task
    --- status 4
    ");
}

#[test]
fn commits_that_are_on_no_other_branch_are_refused() {
    let (repo, _) =
        after("echo x >>src/main.rs; git commit -q -a -m x; git commit -q --allow-empty -m y");
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 2 commits are on no other branch
      0e8f8383f4 y
      7d790cc5ac x
    help: commit and merge it, or keep all of it in the trash: git agentwt remove --force task
    --- status 4
    ");
}

#[test]
fn commits_on_a_detached_head_are_refused() {
    let (repo, _) = after("git checkout -q --detach; echo x >>src/main.rs; git commit -q -a -m x");
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 1 commit is on no other branch
      7d790cc5ac x
    help: commit and merge it, or keep all of it in the trash: git agentwt remove --force task
    --- status 4
    ");
    let _ = refused(&repo, &["remove", "task", "-D"]);
    let _ = refused(&repo, &["remove", "task", "--keep-branch"]);
}

#[test]
fn a_nested_repository_is_refused_and_force_keeps_it() {
    let (repo, _) = after("git init -q src/inner; git -C src/inner commit -q --allow-empty -m x");
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: a repository is inside it: src/inner
    help: move it out of $TMP/repo/.agentwt/worktrees/task, or keep all of it in the trash: git agentwt remove --force task
    --- status 4
    ");
    let kept = kept(&repo, &repo.agentwt(&["remove", "task", "--force"]));
    repo.git_in(&kept.join("src/inner"), &["rev-parse", "HEAD"]);
}

#[test]
fn an_ignored_nested_repository_stays_when_ignored_files_are_deleted() {
    let (repo, _) = after(
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

#[track_caller]
pub fn with_submodule() -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    let script = "git init -q ../lib; echo lib >../lib/lib.c; git -C ../lib add .
        git -C ../lib commit -q -m lib; git submodule --quiet add ../lib vendor/lib; git commit -q -m lib";
    sh(&repo, repo.main(), script);
    let worktree = repo.add("task");
    sh(&repo, &worktree, "git submodule --quiet update --init");
    (repo, worktree)
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
        sh(&repo, &worktree.join("vendor/lib"), work);
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
    sh(&repo, &worktree.join("vendor/lib"), script);
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
    let (repo, worktree) = with_worktree();
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
    let (repo, worktree) = with_worktree();
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
    let (repo, _) = with_worktree();
    assert_snapshot!(repo.agentwt(&["remove", "tusk"]), @"
    --- stderr
    error: there is no worktree named `tusk`
    help: there are: task; `git agentwt list` shows them
    --- status 7
    ");
}

#[test]
fn of_several_names_none_is_removed_when_one_is_refused() {
    let (repo, worktree) = after("echo n >src/new.rs");
    let other = repo.add("other");
    let _ = refused(&repo, &["remove", "other", "task"]);
    let _ = repo.agentwt(&["remove", "other", "tusk"]).fails(7);
    assert!(other.join(".git").exists() && worktree.join("src/new.rs").exists());
    std::fs::remove_file(worktree.join("src/new.rs")).expect("it is there");
    repo.agentwt(&["remove", "other", "task", "other"]).ok();
    assert_gone(&repo, "other");
    assert_gone(&repo, "task");
}

// ---- what goes -------------------------------------------------------------------------------

#[test]
fn a_merged_worktree_goes_with_its_branch() {
    let (repo, _) =
        after("echo x >>src/main.rs; git commit -q -a -m x; git -C $MAIN merge -q agentwt/task");
    assert_snapshot!(repo.agentwt(&["remove", "task"]), @"
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was 7d790cc5ac)
    --- status 0
    ");
    assert_gone(&repo, "task");
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
    assert_eq!(repo.git(&["for-each-ref", "refs/agentwt"]), "");
}

#[test]
fn keep_branch_keeps_the_branch_and_its_commits() {
    let (repo, _) = after("echo x >>src/main.rs; git commit -q -a -m x");
    assert_snapshot!(repo.agentwt(&["remove", "task", "--keep-branch"]), @"
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task stays
    --- status 0
    ");
    assert_gone(&repo, "task");
    assert_eq!(
        repo.git(&["rev-list", "--count", "main..agentwt/task"]),
        "1"
    );
}

#[test]
fn a_deleted_branch_that_is_not_merged_is_kept_under_the_trash_ref() {
    let (repo, worktree) = after("echo x >>src/main.rs; git commit -q -a -m x");
    let tip = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    let said = repo.agentwt(&["remove", "task", "-D"]);
    assert_snapshot!(without_time(&said, "task"), @"
    refs/agentwt/trash/task/TIME
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was 7d790cc5ac)
    kept its commits; to see them: git log refs/agentwt/trash/task/TIME
    --- status 0
    ");
    assert_eq!(repo.git(&["rev-parse", &trash(&said)]), tip);
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
}

#[test]
fn force_keeps_a_branch_that_is_not_merged() {
    let (repo, _) = after("echo x >>src/main.rs; git commit -q -a -m x");
    repo.agentwt(&["remove", "task", "--force"]).ok();
    assert_gone(&repo, "task");
    assert_eq!(
        repo.git(&["rev-list", "--count", "main..agentwt/task"]),
        "1"
    );
}

#[test]
fn a_branch_of_the_users_own_stays() {
    let repo = TestRepo::project();
    repo.git(&["branch", "mine"]);
    repo.agentwt(&["add", "task", "-b", "mine", "--write", "src/**"])
        .ok();
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
    repo.git(&["rev-parse", "refs/heads/mine"]);
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_by_now_stays() {
    let (repo, _) = after("git checkout -q --detach");
    repo.git(&["switch", "-q", "agentwt/task"]);
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
    assert_eq!(
        repo.git(&["symbolic-ref", "HEAD"]),
        "refs/heads/agentwt/task"
    );
    repo.git(&["rev-parse", "refs/heads/agentwt/task"]);
}

#[test]
fn two_worktrees_with_the_same_commits_do_not_vouch_for_each_other() {
    let (repo, worktree) = after("echo x >>src/main.rs; git commit -q -a -m x");
    let tip = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    repo.agentwt(&[
        "add",
        "second",
        "--base",
        "agentwt/task",
        "--write",
        "src/**",
    ])
    .ok();
    let _ = refused(&repo, &["remove", "task", "second"]);
    repo.agentwt(&["remove", "second"]).ok();
    assert_eq!(repo.git(&["rev-parse", "agentwt/task"]), tip);
}

#[test]
fn ignored_files_go_and_are_counted() {
    let (repo, _) = after("mkdir target; echo x >target/a; echo x >b.log");
    assert_snapshot!(repo.agentwt(&["remove", "task"]), @"
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf), 2 ignored files (b.log 2 B, target/ 2 B)
    --- status 0
    ");
    assert_gone(&repo, "task");
}

#[test]
fn read_only_directories_do_not_stop_it() {
    let (repo, worktree) = after("mkdir -p target/deep; echo x >target/deep/f");
    chmod(&worktree.join("target/deep"), 0o555);
    chmod(&worktree.join("src"), 0o555);
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
}

#[test]
fn a_directory_that_is_gone_already_is_forgotten() {
    let (repo, worktree) = with_worktree();
    std::fs::remove_dir_all(&worktree).expect("it is there");
    assert_snapshot!(repo.agentwt(&["remove", "task"]), @"
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf)
    --- status 0
    ");
    assert_gone(&repo, "task");
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
}

#[test]
fn commits_are_not_lost_when_the_directory_is_gone_already() {
    let (repo, worktree) = after("echo x >>src/main.rs; git commit -q -a -m x");
    let tip = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    std::fs::remove_dir_all(&worktree).expect("it is there");
    let _ = refused(&repo, &["remove", "task"]);
    let said = repo.agentwt(&["remove", "task", "-D"]);
    assert_eq!(repo.git(&["rev-parse", &trash(&said)]), tip);
    assert_gone(&repo, "task");
}

#[test]
fn detached_commits_are_not_lost_when_the_directory_is_gone_already() {
    let (repo, worktree) =
        after("git checkout -q --detach; echo x >>src/main.rs; git commit -q -a -m x");
    let tip = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    std::fs::remove_dir_all(&worktree).expect("it is there");
    let _ = refused(&repo, &["remove", "task"]);
    repo.agentwt(&["remove", "task", "--force"]).ok();
    assert_gone(&repo, "task");
    let kept = repo.git(&[
        "for-each-ref",
        "--format=%(objectname)",
        "refs/agentwt/trash",
    ]);
    assert_eq!(kept, tip);
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(repo.git_in(&worktree, &["rev-parse", "HEAD"]), tip);
}

#[test]
fn a_worktree_of_plain_git_is_never_touched() {
    let (repo, worktree) = with_worktree();
    repo.git(&["worktree", "add", "-q", "../away"]);
    // it is on a disk that is not there now
    std::fs::rename(repo.root().join("away"), repo.root().join("unplugged")).expect("it moves");
    std::fs::remove_dir_all(&worktree).expect("it is there");
    repo.agentwt(&["remove", "task"]).ok();
    std::fs::rename(repo.root().join("unplugged"), repo.root().join("away")).expect("it moves");
    repo.git_in(&repo.root().join("away"), &["status"]);
}

#[test]
fn a_worktree_whose_git_file_was_removed_or_redirected_goes_too() {
    for script in [
        "rm .git",
        "echo 'gitdir: /nowhere' >.git",
        "rm .git; mkdir .git",
        "rm .git; ln -s /nowhere .git",
    ] {
        let (repo, _) = after(script);
        let said = repo.agentwt(&["remove", "task", "--force"]);
        assert_eq!(said.status, 0, "{script}: {said}");
        assert_gone(&repo, "task");
    }
}

#[test]
fn a_worktree_whose_private_git_directory_was_removed_goes_too() {
    let (repo, _) = after("echo n >src/new.rs");
    std::fs::remove_dir_all(repo.main().join(".git/worktrees/task")).expect("it is there");
    let _ = refused(&repo, &["remove", "task"]);
    let said = repo.agentwt(&["remove", "task", "--force"]);
    let new = std::fs::read_to_string(kept(&repo, &said).join("src/new.rs"));
    assert_eq!(new.expect("it is kept"), "n\n");
    assert_gone(&repo, "task");
}

#[test]
fn a_repository_in_place_of_the_git_file_is_refused() {
    let (repo, worktree) = after("rm .git; git init -q .; git commit -q --allow-empty -m mine");
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: a repository is inside it: .git
    help: move it out of $TMP/repo/.agentwt/worktrees/task, or keep all of it in the trash: git agentwt remove --force task
    --- status 4
    ");
    repo.git_in(&worktree, &["rev-parse", "HEAD"]);
}

#[test]
fn a_link_in_place_of_the_worktree_is_refused_and_not_followed() {
    let (repo, worktree) = with_worktree();
    let elsewhere = repo.root().join("elsewhere");
    std::fs::rename(&worktree, &elsewhere).expect("it moves");
    std::os::unix::fs::symlink(&elsewhere, &worktree).expect("a link");
    assert_snapshot!(refused(&repo, &["remove", "task", "--force"]), @"
    --- stderr
    error: cannot remove worktree `task`: it was moved to $TMP/elsewhere
    help: move it back first: git worktree move $TMP/elsewhere $TMP/repo/.agentwt/worktrees/task, or where $TMP/repo/.agentwt/worktrees/task is a link: rm $TMP/repo/.agentwt/worktrees/task && mv $TMP/elsewhere $TMP/repo/.agentwt/worktrees/task
    --- status 4
    ");
    assert!(elsewhere.join("src/main.rs").exists());
    let back = format!(
        "rm {0} && mv {1} {0}",
        worktree.display(),
        elsewhere.display()
    );
    repo.sh(repo.root(), &back).ok();
    repo.agentwt(&["remove", "task"]).ok();
    assert!(!worktree.exists());
}

#[test]
fn what_cannot_be_read_is_refused_and_force_keeps_it() {
    let (repo, _) = after(
        "echo work >src/main.rs; chmod 000 src/main.rs; mkdir src/closed; echo x >src/closed/f; chmod 000 src/closed",
    );
    let arguments = ["remove", "task"];
    let Some(said) = crate::verify::as_ordinary_user(&repo, repo.main(), &arguments) else {
        return;
    };
    assert_snapshot!(said, @"
    --- stderr
    error: cannot remove worktree `task`: it cannot be read whether work would be lost
      src/closed (it cannot be read)
      src/main.rs (it cannot be read)
    help: chmod -R u+rX $TMP/repo/.agentwt/worktrees/task, or keep all of it in the trash: git agentwt remove --force task
    --- status 4
    ");
    let arguments = ["remove", "task", "--force"];
    let said = crate::verify::as_ordinary_user(&repo, repo.main(), &arguments).expect("a user");
    assert!(kept(&repo, &said).join("src/main.rs").exists());
}

#[test]
fn a_dry_run_says_what_would_be_and_touches_nothing() {
    let (repo, _) = after("echo n >src/new.rs; echo x >b.log");
    let before = repo.fingerprint();
    assert_snapshot!(repo.agentwt(&["remove", "task", "--force", "-n"]), @"
    --- stderr
    would remove task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf), 1 ignored file (b.log 2 B)
      would keep it in the trash, with 1 uncommitted file
    --- status 0
    ");
    assert_eq!(repo.fingerprint(), before);
    let _ = refused(&repo, &["remove", "task", "-n"]);
    repo.add("clean");
    assert_snapshot!(repo.agentwt(&["remove", "clean", "-n"]), @"
    --- stderr
    would remove clean: $TMP/repo/.agentwt/worktrees/clean, branch agentwt/clean (was af82e40edf)
    --- status 0
    ");
}

#[test]
fn json_names_what_is_kept() {
    let (repo, _) = after("echo n >src/new.rs; git commit -q --allow-empty -m x");
    let said = repo.agentwt(&["remove", "task", "--force", "-D", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&said.ok()).expect("it is JSON");
    assert_eq!(value["schema"], "agentwt.remove/1");
    let one = &value["worktrees"][0];
    assert_eq!(one["branch_fate"], "deleted");
    assert_eq!(one["saved"], serde_json::Value::Null);
    let name = one["trash"]["ref"].as_str().expect("a ref");
    assert_eq!(one["trash"]["commit"], repo.git(&["rev-parse", name]));
    let directory = one["trash"]["directory"].as_str().expect("a directory");
    assert!(repo.main().join(directory).join("src/new.rs").exists());
}

// ---- what is kept ----------------------------------------------------------------------------

#[test]
fn force_keeps_byte_for_byte_what_was_on_disk() {
    let (repo, worktree) = with_worktree();
    repo.git(&["config", "core.autocrlf", "input"]);
    let script = "printf 'crlf\\r\\n\\0\\377' >src/main.rs; rm tests/t.rs; chmod +x package.json
        echo new >src/new.rs; printf '#!/bin/sh\\n' >src/tool; chmod +x src/tool; ln -s /etc/passwd src/out
        mkdir -p 'src/a b'; printf x >\"$(printf 'src/a b/caf\\351\\n\\t\"q\"')\"; printf x >./-n
        rm -f docs/api.md; mkdir docs/api.md; echo f >docs/api.md/f; mkfifo src/pipe
        mkdir -p secrets; echo mine >secrets/mine; chmod u+w README.md; echo more >>README.md
        ls -laR --time-style=full-iso . | grep -v ' \\.\\.$' >../../../../before";
    sh(&repo, &worktree, script);
    let kept = kept(
        &repo,
        &repo.agentwt(&["remove", "task", "--force", "--wait"]),
    );
    assert_gone(&repo, "task");
    let script =
        "ls -laR --time-style=full-iso . | grep -v ' \\.\\.$' | diff ../../../../../before -";
    sh(&repo, &kept, script);
}

#[test]
fn force_keeps_a_link_to_a_directory_and_leaves_what_is_behind_it() {
    let (repo, worktree) = after(
        "mv docs ../../../../moved; ln -s ../../../../moved docs; echo ours >../../../../moved/new.md",
    );
    let kept = kept(
        &repo,
        &repo.agentwt(&["remove", "task", "--force", "--wait"]),
    );
    assert!(kept.join("docs").is_symlink());
    let moved = repo.root().join("moved/new.md");
    assert_eq!(std::fs::read(moved).expect("a file"), b"ours\n");
    assert!(!worktree.exists());
}

#[test]
fn detached_commits_and_a_deleted_branch_are_parents_of_what_is_kept() {
    let (repo, worktree) = after(
        "git commit -q --allow-empty -m branch; git checkout -q --detach HEAD~
        git commit -q --allow-empty -m detached; echo n >src/new.rs",
    );
    let branch = repo.git(&["rev-parse", "agentwt/task"]);
    let detached = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    repo.agentwt(&["remove", "task", "--force", "-D"]).ok();
    let parents = repo.git(&["log", "--format=%P", "-1", "--glob=refs/agentwt/trash"]);
    assert!(
        parents.contains(&detached) && parents.contains(&branch),
        "{parents}"
    );
}

#[test]
fn what_was_kept_before_is_not_overwritten_within_the_same_second() {
    let repo = TestRepo::project();
    let mut all = Vec::new();
    for round in 0..3 {
        let worktree = repo.add("task");
        crate::support::write(&worktree, b"src/new.rs", format!("{round}").as_bytes());
        all.push(kept(&repo, &repo.agentwt(&["remove", "task", "--force"])));
    }
    for (round, kept) in all.iter().enumerate() {
        let text = std::fs::read_to_string(kept.join("src/new.rs")).expect("it is kept");
        assert_eq!(text, round.to_string());
    }
    let listed = repo.git(&["worktree", "list"]);
    assert_eq!(listed.lines().count(), 4, "{listed}");
}

#[test]
fn a_branch_in_a_rebase_in_the_trash_is_free() {
    let (repo, _) = after(
        "echo ours >src/main.rs; git commit -q -a -m ours
        (cd $MAIN; echo theirs >src/main.rs; git commit -q -a -m theirs); ! git rebase -q main",
    );
    let kept = kept(&repo, &repo.agentwt(&["remove", "task", "--force", "-D"]));
    assert!(kept.join("src/main.rs").exists());
    repo.add("task");
    repo.agentwt(&["remove", "task"]).ok();
    let kept = kept.to_string_lossy();
    repo.agentwt(&["remove", "--undo", "task", "--from", &kept])
        .ok();
    let status = repo.git_in(&repo.worktree("task"), &["status"]);
    assert!(status.contains("rebase in progress"), "{status}");
}

#[test]
fn a_lock_of_the_users_comes_back() {
    let (repo, worktree) = with_worktree();
    let path = worktree.display().to_string();
    repo.git(&["worktree", "lock", "--reason=mine", &path]);
    repo.agentwt(&["remove", "-ff", "task"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("locked mine"), "{listed}");
}

#[test]
fn replaced_objects_do_not_change_what_comes_back() {
    let (repo, worktree) =
        after("echo one >src/main.rs; git commit -qam one; echo two >src/main.rs");
    repo.agentwt(&["remove", "--force", "task"]).ok();
    repo.git(&["replace", "agentwt/task", "main"]);
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    let text = std::fs::read_to_string(worktree.join("src/main.rs")).expect("it is back");
    assert_eq!(text, "two\n");
}

#[test]
fn sockets_and_stat_data_come_back() {
    let (repo, worktree) = with_worktree();
    let socket =
        std::os::unix::net::UnixListener::bind(worktree.join("src/sock")).expect("a socket");
    let stat = "stat -c '%n %i %Y %Z %a' src/* .git; git ls-files --debug";
    let before = repo.sh(&worktree, stat).ok();
    repo.agentwt(&["remove", "--force", "task"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(repo.sh(&worktree, stat).ok(), before);
    drop(socket);
}

#[test]
fn ignored_files_are_deleted_in_the_background_and_placed_files_stay() {
    let repo = TestRepo::project();
    repo.write("certs/a.log", "cert\n");
    repo.agentwt(&["add", "task", "--write", "src/**", "--sync", "certs/**"])
        .ok();
    let worktree = repo.worktree("task");
    sh(
        &repo,
        &worktree,
        "mkdir target; echo x >target/a; echo x >b.log; echo n >src/new.rs",
    );
    let kept = kept(
        &repo,
        &repo.agentwt(&["remove", "--force", "task", "--wait"]),
    );
    assert!(!kept.join("target").exists() && !kept.join("b.log").exists());
    assert!(kept.join("certs/a.log").exists() && kept.join("src/new.rs").exists());
}

#[test]
fn two_removals_of_the_same_worktrees_in_another_order_do_not_wait_for_each_other() {
    let (repo, _) = after("echo n >src/new.rs");
    for name in ["b", "c"] {
        repo.add(name);
    }
    let start = |names: [&str; 2]| {
        let mut command = repo.command(crate::support::binary(), repo.main());
        command.args(["remove", "--force"]).args(names);
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.spawn().expect("it starts")
    };
    let mut children = [start(["b", "c"]), start(["c", "b"])];
    for _ in 0..600 {
        if children
            .iter_mut()
            .all(|child| child.try_wait().expect("it is ours").is_some())
        {
            assert_gone(&repo, "b");
            assert_gone(&repo, "c");
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    children.iter_mut().for_each(|child| drop(child.kill()));
    panic!("they wait for each other");
}

#[test]
fn commits_that_a_detached_head_was_left_on_are_refused_and_saved() {
    let (repo, _) = after(
        "git checkout -q --detach; echo p >>src/main.rs; git commit -qam p; git checkout -q agentwt/task",
    );
    let said = refused(&repo, &["remove", "task"]);
    assert!(
        said.stderr.contains("1 commit is on no other branch"),
        "{said}"
    );
    repo.agentwt(&["remove", "--force", "task"]).ok();
    let saved = repo.git(&["log", "--format=%s", "--glob=refs/agentwt/trash"]);
    assert!(saved.lines().any(|line| line == "p"), "{saved}");
}

#[test]
fn what_an_amend_or_a_rebase_left_behind_is_no_work() {
    let (repo, _) = after("echo p >>src/main.rs; git commit -qam p; git commit -q --amend -m q");
    repo.git(&["merge", "-q", "--ff-only", "agentwt/task"]);
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
}

#[test]
fn a_worktree_that_was_moved_is_refused() {
    let (repo, worktree) = with_worktree();
    let elsewhere = repo.root().join("elsewhere");
    let from = worktree.display().to_string();
    repo.git(&["worktree", "move", &from, &elsewhere.display().to_string()]);
    let said = repo.agentwt(&["remove", "--force", "task"]);
    said.fails(4);
    assert!(
        said.stderr.contains("it was moved to $TMP/elsewhere"),
        "{said}"
    );
    assert_eq!(repo.git_in(&elsewhere, &["status", "--porcelain"]), "");
}

#[test]
fn what_is_below_a_directory_named_like_gits_is_refused_and_force_keeps_it() {
    let (repo, worktree) = after("mkdir src/.git; echo precious >src/.git/e");
    repo.agentwt(&["remove", "task"]).fails(4);
    assert!(worktree.join("src/.git/e").exists());
    let kept = kept(&repo, &repo.agentwt(&["remove", "--force", "task"]));
    assert!(kept.join("src/.git/e").exists());
}

#[test]
fn what_was_staged_is_not_lost_with_a_directory_that_is_gone() {
    let (repo, worktree) = after("echo precious >src/p; git add src/p");
    std::fs::remove_dir_all(&worktree).expect("it is ours");
    let said = refused(&repo, &["remove", "task"]);
    assert!(said.stderr.contains("src/p"), "{said}");
    repo.agentwt(&["remove", "--force", "task"]).ok();
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(repo.git_in(&worktree, &["show", ":src/p"]), "precious");
}
