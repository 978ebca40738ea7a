//! What makes whoever opens it wait, and what is too large to be read.

use crate::remove::with_submodule;
use crate::support::{TestRepo, binary};

/// What `verify` says, which must not take long.
#[track_caller]
fn verified(repo: &TestRepo, arguments: &[&str]) -> (i32, String) {
    ended(repo, &[&["verify"], arguments].concat())
}

/// What a command says, which must not take long.
#[track_caller]
fn ended(repo: &TestRepo, arguments: &[&str]) -> (i32, String) {
    let mut command = repo.command("sh", repo.main());
    // what reads a device to its end is stopped before it has all memory
    let limited = "ulimit -v 8000000 2>/dev/null; exec timeout 20 \"$@\"";
    let output = command.args(["-c", limited, "sh"]).arg(binary());
    let output = output.args(arguments);
    let output = output.output().expect("it starts");
    let said = repo.said(&output);
    assert_ne!(said.status, 124, "it hangs: {said}");
    (said.status, said.to_string())
}

#[test]
fn a_pipe_or_device_in_place_of_a_file_of_gits_is_a_finding_and_nothing_waits_for_it() {
    let files = [
        (".git", "worktree"),
        ("$admin/index", "@wt/index"),
        ("$admin/HEAD", "@wt/HEAD"),
        ("$admin/logs/HEAD", "@wt/logs/HEAD"),
        ("$admin/config.worktree", "@wt/config.worktree"),
        ("$admin/commondir", "@wt/commondir"),
        ("$admin/gitdir", "@wt/gitdir"),
        ("$admin/agentwt/journal", "@wt/agentwt/journal"),
    ];
    let puts = ["mkfifo", "ln -s /dev/zero"];
    for ((file, place), put) in files.iter().flat_map(|file| puts.map(|put| (*file, put))) {
        let repo = TestRepo::project();
        repo.add("task");
        let script = format!(
            "admin=$(git rev-parse --absolute-git-dir); mkdir -p $admin/logs; rm -f {file}; {put} {file}"
        );
        repo.sh(&repo.worktree("task"), &script).ok();
        for arguments in [["task", "--format=tsv"], ["--all", "--format=tsv"]] {
            let (status, said) = verified(&repo, &arguments);
            assert_eq!(status, 1, "{put} {file}: {said}");
            let is_it = |line: &str| line.contains(place) && line.contains("integrity");
            assert!(said.lines().any(is_it), "{put} {file}: {said}");
        }
    }
}

#[test]
fn a_pipe_in_place_of_the_base_of_a_split_index_is_a_finding() {
    let repo = TestRepo::project();
    repo.add("task");
    let script = "git update-index --split-index; base=$(git rev-parse --shared-index-path)
        rm \"$base\"; mkfifo \"$base\"";
    repo.sh(&repo.worktree("task"), script).ok();
    let (status, said) = verified(&repo, &["task", "--format=tsv"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("@wt/index\tintegrity"), "{said}");
}

#[test]
fn a_pipe_that_hides_which_worktree_has_lost_its_record_is_no_verdict() {
    let repo = TestRepo::project();
    repo.add("task");
    let script = "rm -r .git/agentwt/worktrees/task
        cd .git/worktrees/task; rm gitdir; mkfifo gitdir";
    repo.sh(repo.main(), script).ok();
    let (status, said) = verified(&repo, &["--all"]);
    assert_eq!(status, 6, "{said}");
    assert!(said.contains("worktrees/task/gitdir"), "{said}");
}

#[test]
fn verify_and_status_end_where_a_pipe_stands_beside_the_worktree() {
    let repo = TestRepo::project();
    repo.add("task");
    repo.keep_as("pristine");
    for (file, verified, shown) in [
        (".git/info/exclude", 0, 0),
        (".git/refs/heads/main", 0, 0),
        ("$admin/commondir", 1, 0),
        ("$admin/agentwt/bin", 1, 0),
        ("$admin/agentwt/hooks/post-commit", 1, 0),
        ("$admin/agentwt/hooks/agentwt.d/post-commit", 1, 0),
        ("$admin/agentwt/hooks/config", 1, 0),
    ] {
        let put = format!("admin=.git/worktrees/task; rm -f {file}; mkfifo {file}");
        repo.sh(repo.main(), &put).ok();
        let (status, said) = ended(&repo, &["verify", "task"]);
        assert_eq!(status, verified, "{file}: {said}");
        let (status, said) = ended(&repo, &["status", "task"]);
        assert_eq!(status, shown, "{file}: {said}");
        let (status, said) = ended(&repo, &["list", "--json"]);
        assert_eq!(status, 0, "{file}: {said}");
        repo.bring_back("pristine");
    }
}

#[test]
fn a_pipe_where_a_watched_file_was_absent_is_a_finding() {
    for file in ["grafts", "attributes"] {
        let repo = TestRepo::project();
        repo.add("task");
        repo.sh(repo.main(), &format!("mkfifo .git/info/{file}"))
            .ok();
        let (status, said) = verified(&repo, &["task", "--format=tsv"]);
        assert_eq!(status, 1, "{file}: {said}");
        assert!(said.contains(&format!("info/{file}")), "{said}");
    }
}

#[test]
fn a_pipe_in_place_of_the_head_of_a_clone_is_a_finding() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--strategy", "clone", "--write", "src/**"])
        .ok();
    repo.sh(&repo.worktree("task"), "rm .git/HEAD; mkfifo .git/HEAD")
        .ok();
    let (status, said) = verified(&repo, &["task"]);
    assert_eq!(status, 1, "{said}");
}

#[test]
fn a_huge_file_is_not_read_where_its_size_says_that_it_changed() {
    let repo = TestRepo::project();
    repo.add("task");
    let worktree = repo.worktree("task");
    repo.sh(&worktree, "truncate -s 20G src/new src/main.rs")
        .ok();
    let (status, said) = verified(&repo, &["task"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("2 paths changed"), "{said}");
    repo.sh(&worktree, "chmod u+w README.md; truncate -s 20G README.md")
        .ok();
    let (status, said) = verified(&repo, &["task", "--format=tsv"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("README.md\tmodified"), "{said}");
}

#[test]
fn a_large_copy_of_an_excluded_file_is_a_leak() {
    let repo = TestRepo::project();
    let large = "mkdir -p a/secrets; { head -c 70000000 /dev/zero; echo key; } >a/secrets/k
        git add -A; git commit -q -m large";
    repo.sh(repo.main(), large).ok();
    repo.add("task");
    let copy = "git show HEAD:a/secrets/k >src/k";
    repo.sh(&repo.worktree("task"), copy).ok();
    let (status, said) = verified(&repo, &["task", "--format=tsv"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("src/k\tleak"), "{said}");
}

#[test]
fn a_removal_does_not_wait_for_a_pipe_in_a_submodules_repository() {
    for file in ["index", "HEAD", "config"] {
        let (repo, worktree) = with_submodule();
        let script = format!(
            "file=$(git -C vendor/lib rev-parse --absolute-git-dir)/{file}; rm $file; mkfifo $file"
        );
        repo.sh(&worktree, &script).ok();
        let (status, said) = ended(&repo, &["remove", "task"]);
        assert_eq!(status, 4, "{file}: {said}");
        assert!(said.contains("vendor/lib"), "{file}: {said}");
        let (status, said) = ended(&repo, &["remove", "--force", "task"]);
        assert_eq!(status, 0, "{file}: {said}");
        assert!(said.contains("kept in"), "{file}: {said}");
    }
}

#[test]
fn reapply_and_restore_do_not_wait_for_a_pipe_in_a_submodules_repository() {
    // settings that cannot be read may be anything, and git would use them
    let files = [
        ("index", 0, "the submodule vendor/lib"),
        ("HEAD", 0, "the submodule vendor/lib"),
        ("config", 4, "unreadable in @wt/modules/vendor/lib/config"),
    ];
    for (file, reapplied, why) in files {
        let (repo, worktree) = with_submodule();
        let script = format!(
            "file=$(git -C vendor/lib rev-parse --absolute-git-dir)/{file}; rm $file; mkfifo $file"
        );
        repo.sh(&worktree, &script).ok();
        let (status, said) = ended(&repo, &["reapply", "task"]);
        assert_eq!(status, reapplied, "{file}: {said}");
        let (status, said) = ended(&repo, &["restore", "task"]);
        assert_eq!(status, 4, "{file}: {said}");
        assert!(said.contains(why), "{file}: {said}");
    }
}
