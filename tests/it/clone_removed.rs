//! A clone that was removed by force comes back, and what stands beside clones.

use std::collections::BTreeSet;
use std::path::Path;

use super::support::{Shim, TestRepo};

const WORK: &str = "
    git switch -q -c side; echo side > src/side.rs; git add -A; git commit -q -m side
    git tag -a -m annotated v9; git tag light; git switch -q agentwt/task
    echo stashed >> src/main.rs; git stash -q
    echo amended > src/amended.rs; git add -A; git commit -q -m before; git commit -q --amend -m after
    echo only-staged > src/new.rs; git add src/new.rs; echo on-disk > src/new.rs; echo untracked > src/u.rs
    git tag -a -m 'of a file' blobtag \"$(echo tagged | git hash-object -w --stdin)\"
    git config agent.mine yes; chmod 600 .git/config; mkdir -p .git/hooks; echo '#!/bin/sh' > .git/hooks/post-merge
    chmod +x .git/hooks/post-merge; git pack-refs --all; git branch loose
";

/// Everything of a clone that must come back.
fn state(repo: &TestRepo, dir: &Path) -> String {
    let script = "git for-each-ref; git stash list; git log -g --format='%H %gs' HEAD; git status --porcelain=v2 --branch
        git ls-files -s; git diff; cat .git/config .git/HEAD; stat -c '%a %n' .git/config .git/hooks/post-merge
        cat src/new.rs src/u.rs; git fsck --no-dangling --no-progress 2>&1";
    repo.sh(dir, script).ok()
}

/// Every object of a repository but those of ours.
fn objects(repo: &TestRepo, dir: &Path) -> BTreeSet<String> {
    let format = "--batch-check=%(objectname)";
    let all = repo.git_in(dir, &["cat-file", "--batch-all-objects", format]);
    all.lines().map(ToOwned::to_owned).collect()
}

fn gc(repo: &TestRepo, dir: &Path) {
    repo.git_in(dir, &["reflog", "expire", "--expire=all", "--all"]);
    repo.git_in(dir, &["gc", "-q", "--prune=now"]);
}

#[test]
fn refs_settings_and_every_object_of_a_clone_come_back() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", "clone"])
        .ok();
    let dir = repo.worktree("task");
    repo.sh(&dir, WORK).ok();
    let before = state(&repo, &dir);
    let ledger = objects(&repo, &dir);
    repo.agentwt(&["remove", "task", "--force"]).ok();
    assert!(!dir.exists());
    gc(&repo, repo.main());
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(state(&repo, &dir), before);
    assert_eq!(objects(&repo, &dir), ledger);
    assert_eq!(repo.findings(&dir).matches("integrity").count(), 0);
    repo.agentwt(&["remove", "task", "--force"]).ok();
}

#[test]
fn a_clone_of_a_url_comes_back_of_what_was_brought_home() {
    let repo = TestRepo::project();
    let url = format!("file://{}", repo.main().display());
    let outside = repo.root().join("outside");
    std::fs::create_dir_all(&outside).expect("a directory");
    let add = ["add", "task", "--write", "src/**", "--repo", &url];
    let add = [&add[..], &["--parent", "outside"]].concat();
    repo.agentwt_in(repo.root(), &add).ok();
    let dir = outside.join(".agentwt/worktrees/task");
    repo.sh(&dir, WORK).ok();
    let before = state(&repo, &dir);
    repo.agentwt_in(&outside, &["remove", "task", "--force"])
        .ok();
    gc(&repo, &outside.join(".agentwt/repository.git"));
    repo.agentwt_in(&outside, &["remove", "--undo", "task"])
        .ok();
    assert_eq!(state(&repo, &dir), before);
}

#[test]
fn a_clone_that_had_lost_its_repository_comes_back_as_it_was() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", "clone"])
        .ok();
    let dir = repo.worktree("task");
    repo.sh(&dir, "rm -rf .git; echo n > src/n.rs").ok();
    repo.agentwt(&["remove", "task", "--force"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert!(dir.join("src/n.rs").exists() && !dir.join(".git").exists());
}

#[test]
fn a_clone_with_a_worktree_of_its_own_is_refused_for_that() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", "clone"])
        .ok();
    let dir = repo.worktree("task");
    repo.git_in(
        &dir,
        &["worktree", "add", "-q", "--detach", "../../../../beside"],
    );
    let said = repo.agentwt(&["remove", "task", "--force"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(
        said.stderr
            .contains("its repository has other worktrees: $TMP/beside"),
        "{said}"
    );
}

#[test]
fn what_a_killed_clone_of_a_url_left_is_cleared_by_the_next() {
    let repo = TestRepo::project();
    let url = format!("file://{}", repo.main().display());
    let add = ["add", "task", "--write", "src/**", "--repo", &url];
    // git does its work before: most of it is one call
    let act = "PATH=${PATH#*:} git \"$@\"; kill -9 $PPID; exit 77";
    let shim = Shim::new(repo.root(), act);
    let left = repo.main().join(".agentwt/worktrees/.cloning-task");
    let mut seen = 0;
    for at in 1..30 {
        let (said, call) = shim.run(&repo, &add, at);
        if call.is_none() || said.status == 0 {
            break;
        }
        if !left.exists() {
            continue;
        }
        seen += 1;
        repo.agentwt(&add).ok();
        assert!(!left.exists(), "{call:?}");
        repo.agentwt(&["remove", "task"]).ok();
        if seen == 2 {
            break;
        }
    }
    assert!(seen > 0, "none was killed at the right time");
}

#[test]
fn doctor_finds_nothing_wrong_with_the_hooks_of_a_clone() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", "clone"])
        .ok();
    let said = repo.agentwt(&["doctor", "--json"]);
    let text = said.stdout;
    assert!(!text.contains("linked worktree"), "{text}");
    assert!(text.contains("\"hooks"), "{text}");
    repo.sh(&repo.worktree("task"), "rm -r .git/agentwt/hooks")
        .ok();
    assert_ne!(repo.agentwt(&["doctor", "--json"]).stdout, text);
    let listed = repo.agentwt(&["list", "--json"]).ok();
    assert!(listed.contains("task"), "{listed}");
}

#[test]
fn a_branch_that_somebody_made_meanwhile_stays() {
    let repo = TestRepo::project();
    let shim = Shim::new(repo.root(), "git branch agentwt/task HEAD");
    for at in 1..60 {
        let (said, call) = shim.run(&repo, &["add", "task", "--write", "src/**"], at);
        let call = call.expect("it creates the branch at some call");
        if call.contains("update-ref") {
            assert_ne!(said.status, 0, "{said}");
            let head = repo.git(&["rev-parse", "HEAD"]);
            assert_eq!(repo.git(&["rev-parse", "agentwt/task"]), head, "{said}");
            return;
        }
        if said.status == 0 {
            repo.agentwt(&["remove", "task"]).ok();
        }
        let _ = repo.try_git(repo.main(), &["branch", "-D", "agentwt/task"]);
    }
    panic!("no branch was created");
}

#[test]
fn worktrees_that_are_not_mounted_are_not_forgotten_with_one_that_failed() {
    let repo = TestRepo::project();
    repo.git(&["worktree", "add", "-q", "--detach", "../disk/mine"]);
    repo.sh(repo.root(), "mv disk away").ok();
    let hook = repo.main().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().expect("a directory")).expect("a directory");
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").expect("a hook");
    super::support::chmod(&hook, 0o755);
    let said = repo.agentwt(&["add", "task", "--write", "src/**"]);
    assert_ne!(said.status, 0, "{said}");
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("disk/mine"), "{listed}");
    assert!(!listed.contains("worktrees/task"), "{listed}");
}

/// Removes the clone `task` for ever, and lets git collect what it may.
#[track_caller]
fn remove_for_ever(repo: &TestRepo) {
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
    repo.agentwt(&["remove", "task"]).ok();
    repo.agentwt(&["prune"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).fails(4);
    gc(repo, repo.main());
}

#[test]
fn what_only_a_ref_of_a_clone_names_is_kept_whatever_it_is() {
    for script in [
        "git tag -a -m notes v1; git rev-parse v1",
        "git tag -a -m notes v1; git tag -a -m of-a-tag v2 v1; git tag -d v1 >&2; git rev-parse v2 v2^{}",
        "git tag -a -m f blobtag $(echo precious | git hash-object -w --stdin)
         git rev-parse blobtag blobtag^{}",
        "git tag light $(echo precious | git hash-object -w --stdin); git rev-parse light",
        "git update-ref refs/blobs/x $(echo precious | git hash-object -w --stdin)
         git rev-parse refs/blobs/x",
        "git update-ref refs/trees/x $(git mktree </dev/null); git rev-parse refs/trees/x",
        "git commit -q --allow-empty -m new; git tag -a -m m v1; git reset -q --hard HEAD~
         git rev-parse v1 v1^{}",
        // home has it too, and nothing there names it
        "echo precious | git -C ../../.. hash-object -w --stdin >&2
         git tag light $(echo precious | git hash-object -w --stdin); git rev-parse light",
    ] {
        let repo = TestRepo::project();
        let add = ["add", "task", "--write", "src/**", "--strategy", "clone"];
        repo.agentwt(&add).ok();
        let ids = repo.sh(&repo.worktree("task"), script).ok();
        remove_for_ever(&repo);
        for id in ids.lines() {
            let found = repo.try_git(repo.main(), &["cat-file", "-t", id]);
            assert_eq!(found.status, 0, "{script}: {found}");
        }
    }
}

#[test]
fn what_a_clone_was_made_with_is_not_kept() {
    let repo = TestRepo::project();
    let tags = "git tag -a -m notes v1; git tag light $(echo x | git hash-object -w --stdin)";
    repo.sh(repo.main(), tags).ok();
    repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", "clone"])
        .ok();
    let own = "git tag -d v1; git tag again light; git branch other";
    repo.sh(&repo.worktree("task"), own).ok();
    remove_for_ever(&repo);
    let kept = repo.git(&["for-each-ref", "refs/agentwt/kept", "refs/agentwt/incoming"]);
    assert_eq!(kept, "");
}

/// Stores a large file as git-lfs does below the git directory `$D`, and commits the pointer. The
/// name of the content is printed.
const LARGE_FILE: &str = "
    S=$(echo bigdata | sha256sum | cut -c1-64); L=$D/lfs/objects/$(echo $S | cut -c1-2)/$(echo $S | cut -c3-4)
    mkdir -p $L; echo bigdata >$L/$S
    printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize 8\\n' $S >src/big
    git add -A; git commit -q -m lfs; echo $S";

/// What the repository stores as git-lfs does.
fn large_file(repo: &TestRepo, name: &str) -> String {
    let find = format!("find .git/lfs/objects -name {name} -exec cat {{}} +");
    repo.sh(repo.main(), &find).ok()
}

#[test]
fn the_large_files_of_a_clone_are_kept() {
    for command in [["remove", "task"], ["land", "task"]] {
        let repo = TestRepo::project();
        repo.git(&["config", "agentwt.trashExpireClean", "now"]);
        let add = ["add", "task", "--write", "src/**", "--strategy", "clone"];
        repo.agentwt(&add).ok();
        let script = format!("D=.git; {LARGE_FILE}");
        let name = repo.sh(&repo.worktree("task"), &script).ok();
        repo.agentwt(&command).ok();
        repo.agentwt(&["prune"]).ok();
        assert_eq!(large_file(&repo, &name), "bigdata", "{command:?}");
    }
}

#[test]
fn a_rescue_commit_to_which_the_branch_moved_comes_home_under_both_names() {
    let repo = TestRepo::project();
    let dir = repo.worktree("task");
    repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", "clone"])
        .ok();
    let work = "echo x >src/x.rs; git add -A; git commit -qm x
        git update-ref refs/agentwt/rescue/task/1 HEAD";
    repo.sh(&dir, work).ok();
    let tip = repo.git_in(&dir, &["rev-parse", "HEAD"]);
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 0, "{said}");
    for name in ["refs/agentwt/incoming/task", "refs/agentwt/rescue/task/1"] {
        assert_eq!(repo.git(&["rev-parse", "--verify", name]), tip, "{said}");
    }
    assert_eq!(repo.git(&["for-each-ref", "refs/agentwt/kept"]), "");
}
