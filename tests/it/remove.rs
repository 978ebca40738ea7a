//! `remove`: refuses what would lose work, saves what is given up, and takes the rest away.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::support::{Said, TestRepo, chmod};

mod deleted;
mod in_use;
mod merged;
mod private_refs;

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
    help: commit and merge it, or let `git agentwt remove --force task` save it under refs/agentwt/trash/task/ first
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
    help: commit and merge it, or let `git agentwt remove --force task` save it under refs/agentwt/trash/task/ first
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
    help: commit and merge it, or let `git agentwt remove --force task` save it under refs/agentwt/trash/task/ first
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
    help: commit and merge it, or let `git agentwt remove --force task` save it under refs/agentwt/trash/task/ first
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
    help: commit and merge it, or let `git agentwt remove --force task` save it under refs/agentwt/trash/task/ first
    --- status 4
    ");
    let _ = refused(&repo, &["remove", "task", "-D"]);
    let _ = refused(&repo, &["remove", "task", "--keep-branch"]);
}

#[test]
fn a_nested_repository_is_refused_even_with_force() {
    let (repo, _) = after("git init -q src/inner; git -C src/inner commit -q --allow-empty -m x");
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: a repository is inside it: src/inner
    help: no commit can save its history: move it out of $TMP/repo/.agentwt/worktrees/task first
    --- status 4
    ");
    let _ = refused(&repo, &["remove", "task", "--force"]);
}

#[track_caller]
fn with_submodule() -> (TestRepo, PathBuf) {
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
    ] {
        let (repo, worktree) = with_submodule();
        sh(&repo, &worktree.join("vendor/lib"), work);
        let said = refused(&repo, &["remove", "task"]);
        assert!(said.stderr.contains("vendor/lib"), "{work}: {said}");
        let _ = refused(&repo, &["remove", "task", "--force"]);
    }
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
    saved what was not committed or merged; to see it: git show --stat refs/agentwt/trash/task/TIME
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
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf), 2 ignored files (b.log 2 bytes, target/ 2 bytes)
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
    let said = repo.agentwt(&["remove", "task", "--force"]);
    let head = format!("{}^", trash(&said));
    assert_eq!(repo.git(&["rev-parse", &head]), tip);
    assert_gone(&repo, "task");
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
    assert_eq!(
        repo.git(&["show", &format!("{}:src/new.rs", trash(&said))]),
        "n"
    );
    assert_gone(&repo, "task");
}

#[test]
fn a_repository_in_place_of_the_git_file_is_refused() {
    let (repo, worktree) = after("rm .git; git init -q .; git commit -q --allow-empty -m mine");
    assert_snapshot!(refused(&repo, &["remove", "task", "--force"]), @"
    --- stderr
    error: cannot remove worktree `task`: a repository is inside it: .git
    help: no commit can save its history: move it out of $TMP/repo/.agentwt/worktrees/task first
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
    error: cannot remove worktree `task`: a link to $TMP/elsewhere stands in its place, which is not followed
    help: put the directory back: rm $TMP/repo/.agentwt/worktrees/task && mv $TMP/elsewhere $TMP/repo/.agentwt/worktrees/task
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
fn what_cannot_be_read_is_refused_even_with_force() {
    let (repo, worktree) = after(
        "echo work >src/main.rs; chmod 000 src/main.rs; mkdir src/closed; echo x >src/closed/f; chmod 000 src/closed",
    );
    let arguments = ["remove", "task", "--force"];
    let Some(said) = crate::verify::as_ordinary_user(&repo, repo.main(), &arguments) else {
        return;
    };
    assert_snapshot!(said, @"
    --- stderr
    error: cannot remove worktree `task`: it cannot be read whether work would be lost
      src/closed
      src/main.rs
    help: chmod -R u+rX $TMP/repo/.agentwt/worktrees/task
    --- status 4
    ");
    assert!(worktree.join("src/main.rs").exists());
}

#[test]
fn a_dry_run_says_what_would_be_and_touches_nothing() {
    let (repo, _) = after("echo n >src/new.rs; echo x >b.log");
    let before = repo.fingerprint();
    assert_snapshot!(repo.agentwt(&["remove", "task", "--force", "-n"]), @"
    --- stderr
    would remove task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf), 1 ignored file (b.log 2 bytes)
      would first save 1 file under refs/agentwt/trash/task/
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
fn json_names_what_was_saved() {
    let (repo, _) = after("echo n >src/new.rs; git commit -q --allow-empty -m x");
    let said = repo.agentwt(&["remove", "task", "--force", "-D", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&said.ok()).expect("it is JSON");
    assert_eq!(value["schema"], "agentwt.remove/1");
    let one = &value["worktrees"][0];
    assert_eq!(one["branch_fate"], "deleted");
    assert_eq!(one["saved"], serde_json::json!([{"path": "src/new.rs"}]));
    let name = one["trash"]["ref"].as_str().expect("a ref");
    assert_eq!(one["trash"]["commit"], repo.git(&["rev-parse", name]));
}

// ---- what is saved ---------------------------------------------------------------------------

#[test]
fn force_saves_byte_for_byte_what_was_on_disk() {
    let (repo, worktree) = with_worktree();
    repo.git(&["config", "core.autocrlf", "input"]);
    let script = "printf 'crlf\\r\\n\\0\\377' >src/main.rs; rm tests/t.rs; chmod +x package.json
        echo new >src/new.rs; printf '#!/bin/sh\\n' >src/tool; chmod +x src/tool; ln -s /etc/passwd src/out
        mkdir -p 'src/a b'; printf x >\"$(printf 'src/a b/caf\\351\\n\\t\"q\"')\"; printf x >./-n
        rm -f docs/api.md; mkdir docs/api.md; echo f >docs/api.md/f; echo x >trace.log; mkfifo src/pipe
        mkdir -p secrets; echo mine >secrets/mine; chmod u+w README.md; echo more >>README.md";
    sh(&repo, &worktree, script);
    let saved = repo.root().join("saved");
    repo.sh(
        repo.root(),
        &format!(
            "cp -a '{}' saved; rm -r saved/.git saved/trace.log saved/src/pipe saved/tests",
            worktree.display()
        ),
    )
    .ok();
    let said = repo.agentwt(&["remove", "task", "--force"]);
    let name = trash(&said);
    assert_gone(&repo, "task");
    let back = repo.root().join("back");
    std::fs::create_dir(&back).expect("a new directory");
    // git archive would convert line endings: the plumbing does not
    let script = format!(
        "git -C ../repo ls-tree -r -z --full-tree {name} >../tree; cd ../back
        perl -0ne 'chomp; my ($m, $t, $i, $p) = /^(\\S+) (\\S+) (\\S+)\\t(.*)$/s; my $d = $p; if ($d =~ s|/[^/]*$||s) {{ system \"mkdir\", \"-p\", \"--\", $d }}
            my $b = `git -C ../repo cat-file blob $i`; if ($m eq \"120000\") {{ symlink $b, $p }} else {{ open my $f, \">\", $p or die; print $f $b; close $f; chmod(($m eq \"100755\" ? 0755 : 0644), $p) }}' ../tree"
    );
    sh(&repo, &back, &script);
    // excluded files are in the commit as HEAD has them, and never were on disk
    let script = "cmp back/secrets/key.pem repo/secrets/key.pem; rm -r back/secrets/key.pem back/app
        diff -r --no-dereference saved back; cd saved; find . -type f -perm -100 | sort >../one; cd ../back; find . -type f -perm -100 | sort >../two; cmp ../one ../two";
    sh(&repo, repo.root(), script);
    assert!(saved.join("src/tool").exists());
}

#[test]
fn force_saves_a_link_to_a_directory_and_nothing_that_is_behind_it() {
    // the directory was moved out, so the same names stand behind the link, and one more
    let (repo, worktree) = after(
        "mv docs ../../../../moved; chmod u+w ../../../../moved/api.md; ln -s ../../../../moved docs; echo ours >../../../../moved/api.md
        mv tests ../../../../kept; ln -s ../../../../kept tests; echo n >src/new.rs; echo t >../../../../kept/u.rs",
    );
    let name = trash(&repo.agentwt(&["remove", "task", "--force"]));
    let head = format!("{name}^");
    let said = repo.git(&["diff", "--name-status", "--no-renames", &head, &name]);
    assert_snapshot!(said, @"
    A\tdocs
    D\tdocs/api.md
    D\tdocs/guide.md
    A\tsrc/new.rs
    A\ttests
    D\ttests/t.rs
    ");
    assert_eq!(
        repo.git(&["cat-file", "blob", &format!("{name}:docs")]),
        "../../../../moved"
    );
    let moved = repo.root().join("moved/api.md");
    assert_eq!(std::fs::read(moved).expect("a file"), b"ours\n");
    assert!(!worktree.exists());
}

#[test]
fn the_saved_commit_stands_on_the_head() {
    let (repo, worktree) = after("git commit -q --allow-empty -m x; echo n >src/new.rs");
    let head = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    let name = trash(&repo.agentwt(&["remove", "task", "--force"]));
    assert_eq!(repo.git(&["rev-parse", &format!("{name}^1")]), head);
    assert_snapshot!(repo.git(&["log", "-1", "--format=%B", &name]), @"
    git-agentwt: what was not committed in task when it was removed

    To bring the worktree back: git agentwt remove --undo task
    ");
    assert_eq!(
        repo.git(&["diff", "--name-status", &format!("{name}^"), &name]),
        "A\tsrc/new.rs"
    );
}

#[test]
fn what_was_only_staged_is_in_the_last_parent() {
    let (repo, _) = after("echo staged >src/main.rs; git add src/main.rs; echo disk >src/main.rs");
    let name = trash(&repo.agentwt(&["remove", "task", "--force"]));
    assert_eq!(repo.git(&["show", &format!("{name}:src/main.rs")]), "disk");
    assert_eq!(
        repo.git(&["show", &format!("{name}^2:index/0/src/main.rs")]),
        "staged"
    );
}

#[test]
fn detached_commits_and_a_deleted_branch_are_parents_of_what_is_saved() {
    let (repo, worktree) = after(
        "git commit -q --allow-empty -m branch; git checkout -q --detach HEAD~
        git commit -q --allow-empty -m detached; echo n >src/new.rs",
    );
    let branch = repo.git(&["rev-parse", "agentwt/task"]);
    let detached = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    let name = trash(&repo.agentwt(&["remove", "task", "--force", "-D"]));
    assert_eq!(
        repo.git(&["rev-parse", &format!("{name}^1"), &format!("{name}^2")]),
        format!("{detached}\n{branch}")
    );
    assert_eq!(repo.git(&["show", &format!("{name}:src/new.rs")]), "n");
}

#[test]
fn what_was_saved_before_is_not_overwritten_within_the_same_second() {
    let repo = TestRepo::project();
    let mut names = Vec::new();
    for round in 0..3 {
        let worktree = repo.add("task");
        crate::support::write(&worktree, b"src/new.rs", format!("{round}\n").as_bytes());
        names.push(trash(&repo.agentwt(&["remove", "task", "--force"])));
    }
    for (round, name) in names.iter().enumerate() {
        assert_eq!(
            repo.git(&["show", &format!("{name}:src/new.rs")]),
            round.to_string()
        );
    }
}

#[test]
fn a_conflict_is_saved_as_it_is_on_disk() {
    let (repo, worktree) = after(
        "echo ours >src/main.rs; git commit -q -a -m ours
        (cd $MAIN; echo theirs >src/main.rs; git commit -q -a -m theirs); ! git merge -q main",
    );
    let disk = std::fs::read_to_string(worktree.join("src/main.rs")).expect("it is there");
    assert!(disk.contains("<<<<<<<"));
    let name = trash(&repo.agentwt(&["remove", "task", "--force"]));
    assert_eq!(
        repo.git(&["show", &format!("{name}:src/main.rs")]),
        disk.trim_end()
    );
}

#[test]
fn a_sha_256_repository_is_saved_too() {
    let repo = TestRepo::empty_with(&["--object-format=sha256"]);
    repo.fill();
    let worktree = repo.add("task");
    sh(
        &repo,
        &worktree,
        "echo n >src/new.rs; rm tests/t.rs; echo s >package.json; git add -A; echo d >package.json",
    );
    let name = trash(&repo.agentwt(&["remove", "task", "--force"]));
    assert_eq!(
        repo.git(&["diff", "--name-status", "main", &name]),
        "M\tpackage.json\nA\tsrc/new.rs\nD\ttests/t.rs"
    );
    assert_gone(&repo, "task");
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
    let said = repo.agentwt(&["remove", "--force", "task"]);
    let saved = repo.git(&["log", "--format=%s", &trash(&said)]);
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
fn what_is_below_a_directory_named_like_gits_is_refused_even_with_force() {
    let (repo, worktree) = after("mkdir src/.git; echo precious >src/.git/e");
    repo.agentwt(&["remove", "--force", "task"]).fails(4);
    assert!(worktree.join("src/.git/e").exists());
}

#[test]
fn what_was_staged_is_not_lost_with_a_directory_that_is_gone() {
    let (repo, worktree) = after("echo precious >src/p; git add src/p");
    std::fs::remove_dir_all(&worktree).expect("it is ours");
    let said = refused(&repo, &["remove", "task"]);
    assert!(said.stderr.contains("src/p"), "{said}");
    let said = repo.agentwt(&["remove", "--force", "task"]);
    let saved = trash(&said);
    assert_eq!(
        repo.git(&["show", &format!("{saved}^2:index/0/src/p")]),
        "precious"
    );
}
