//! Git does not list what is in the trash, and collects nothing of it.

use bstr::ByteSlice as _;

use super::world::World;
use crate::support::{Said, TestRepo};

/// Staged only, announced, in own refs, in a resolved conflict, on no branch, and in the reflog.
const WORK: &str = "
    echo base >src/both.rs; git add .; git commit -qm base
    git checkout -q --detach; echo ours >src/both.rs; git commit -qam ours
    git checkout -q agentwt/task; echo theirs >src/both.rs; git commit -qam theirs
    ! git merge -q HEAD@{2} 2>/dev/null; echo merged >src/both.rs; git add src/both.rs
    git write-tree >/dev/null; echo staged >src/staged.rs; git add src/staged.rs; rm src/staged.rs
    echo later >src/later.rs; git add -N src/later.rs
    git update-ref refs/worktree/blob $(echo blob | git hash-object -w --stdin)
    git tag -a -m tag t HEAD^{tree}; git update-ref refs/worktree/tag t; git tag -d t >/dev/null
    git update-ref refs/worktree/lost $(git commit-tree -m lost HEAD^{tree})";

/// Lets git collect whatever it may.
fn collect_garbage(repo: &TestRepo) {
    repo.git(&["reflog", "expire", "--expire=all", "--all"]);
    repo.git(&["worktree", "prune", "--expire=now"]);
    repo.git(&["gc", "-q", "--prune=now"]);
}

/// That git knows the main worktree and no other.
#[track_caller]
fn is_unlisted(repo: &TestRepo, said: &Said) {
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.matches("worktree ").count(), 1, "{said}\n{listed}");
    assert!(!repo.main().join(".git/worktrees").exists(), "{said}");
}

/// What is held for private git directories.
fn held(repo: &TestRepo) -> String {
    repo.git(&["for-each-ref", "refs/agentwt/trash/+git"])
}

#[test]
fn no_command_that_removes_leaves_a_worktree_to_git() {
    let merged = "echo n >src/n.rs; git add .; git commit -qm n";
    for (script, command) in [
        ("", &["remove", "task"][..]),
        ("echo n >src/n.rs", &["remove", "--force", "task"]),
        ("echo n >src/n.rs", &["remove", "-ff", "-D", "task"]),
        (
            "echo n >src/n.rs",
            &["prune", "--force", "--older-than", "0s"],
        ),
        (merged, &["land", "task"]),
    ] {
        let world = World::after(script);
        let said = world.agentwt(command);
        assert_eq!(said.status, 0, "{said}");
        assert!(!world.worktree.exists(), "{said}");
        is_unlisted(&world.repo, &said);
    }
    // what a killed `add` left
    let repo = TestRepo::project();
    let add = "git worktree add -q -b agentwt/task .agentwt/worktrees/task; echo n >.agentwt/worktrees/task/src/n.rs";
    repo.sh(repo.main(), add).ok();
    repo.write_intent("task", "agentwt/task", 999_999_999, "2026-01-02T03:04:05Z");
    let said = repo.agentwt(&["prune"]);
    is_unlisted(&repo, &said);
    let kept = repo
        .sh(repo.main(), "ls -d .agentwt/worktrees/.trash/*")
        .ok();
    let status = repo.git_in(&repo.main().join(kept), &["status", "--porcelain"]);
    assert_eq!(status, "?? src/n.rs");
}

#[test]
fn what_only_the_private_git_directory_names_is_not_collected() {
    for more in [&[][..], &["-D"]] {
        let world = World::after(WORK);
        let before = world.everything();
        world.remove(more);
        collect_garbage(&world.repo);
        let said = world.agentwt(&["remove", "--undo", "task"]);
        assert_eq!(said.status, 0, "{said}");
        assert_eq!(held(&world.repo), "");
        let own_refs = "git for-each-ref refs/worktree; git cat-file -p refs/worktree/blob
            git cat-file -p refs/worktree/tag; git log -1 --format=%s refs/worktree/lost";
        let refs = world.sh(own_refs);
        assert!(
            refs.contains("\nblob\n") && refs.ends_with("\nlost"),
            "{refs}"
        );
        let now = world.everything();
        assert_eq!(now.disk, before.disk);
        // but for the reflogs, which were expired
        let status = |text: &str| text.split("\n0000").next().map(ToOwned::to_owned);
        assert_eq!(status(&now.git), status(&before.git));
        world.sh("git checkout -q -- src/staged.rs; test $(cat src/staged.rs) = staged");
        world.sh("git checkout -q -m -- src/both.rs; grep -q '^<<<<<<<' src/both.rs");
        let fsck = world.sh("git fsck --no-dangling --no-progress 2>&1");
        assert_eq!(fsck, "");
    }
}

#[test]
fn what_an_index_says_of_its_trees_is_not_believed() {
    // the entry is another blob, and the extension still says that the entries are HEAD's
    let world = World::after("git read-tree HEAD; git status >/dev/null");
    let committed = raw_id(&world, "git rev-parse HEAD:src/main.rs");
    let staged = raw_id(&world, "echo staged | git hash-object -w --stdin");
    let file = world.repo.main().join(".git/worktrees/task/index");
    let mut index = std::fs::read(&file).expect("the index");
    let at = index.find(&committed).expect("the entry");
    index[at..at + 20].copy_from_slice(&staged);
    let end = index.len() - 20;
    // `index.skipHash` (git-config(1))
    index[end..].fill(0);
    std::fs::write(&file, index).expect("it is ours");
    world.remove(&[]);
    collect_garbage(&world.repo);
    world.agentwt(&["remove", "--undo", "task"]).ok();
    let script = "git cat-file blob :src/main.rs";
    assert_eq!(world.repo.sh(&world.worktree, script).ok(), "staged");
}

/// The bytes of the id that a command prints.
fn raw_id(world: &World, command: &str) -> Vec<u8> {
    let hex = world.repo.sh(&world.worktree, command).ok();
    let mut bytes = Vec::new();
    for at in (0..hex.len()).step_by(2) {
        bytes.push(u8::from_str_radix(&hex[at..at + 2], 16).expect("an id"));
    }
    bytes
}

#[test]
fn a_clean_worktree_comes_back_whole_after_everything_was_collected() {
    let world = World::after(
        "echo a >src/a.rs; git add .; git commit -qm before; git commit -q --amend -m after
        git -C $MAIN merge -q agentwt/task",
    );
    let log = world.sh("git log -g --format='%H %gs' HEAD");
    world.agentwt(&["remove", "task"]).ok();
    // the reflog of the main worktree has none of it
    collect_garbage(&world.repo);
    world.agentwt(&["remove", "--undo", "task"]).ok();
    let subjects = world.sh("git log -g --format=%s HEAD");
    assert!(subjects.contains("before"), "{subjects}");
    assert_eq!(world.sh("git log -g --format='%H %gs' HEAD"), log);
    assert_eq!(world.sh("git fsck --no-dangling --no-progress 2>&1"), "");
}

#[test]
fn what_is_held_goes_with_the_entry() {
    let world = World::after("echo n >src/n.rs; git add src/n.rs");
    world.remove(&[]);
    assert!(held(&world.repo).contains("/+git/task-"));
    let listed = world.agentwt(&["list", "--trash"]).ok();
    assert_eq!(listed.matches("task").count(), 2, "one line: {listed}");
    world.repo.git(&["config", "agentwt.trashExpire", "now"]);
    world.agentwt(&["prune"]).ok();
    assert_eq!(held(&world.repo), "");
    assert!(!world.repo.main().join(".git/agentwt/trash").exists());
}

/// Makes of what is in the trash what an older version left there.
const AS_BEFORE: &str = "set -e
    record=$(ls -d .git/agentwt/trash/task-*); admin=.git/worktrees/task
    mkdir -p .git/worktrees $record/admin; mv $record/git $admin
    printf '../..\\n' >$admin/commondir; cp $admin/gitdir $record/admin/gitdir
    cp $admin/logs/HEAD $record/admin/head-log
    if test -e $record/head-before; then mv $record/head-before $record/admin/HEAD
    else cp $admin/HEAD $record/admin/HEAD; fi
    if test -e $record/branch-log; then mv $record/branch-log $record/admin/branch-log; fi
    for operation in rebase-merge rebase-apply BISECT_LOG; do
        if test -e $admin/$operation; then mv $admin/$operation $record/admin/; fi; done
    echo $PWD/.agentwt/worktrees/.trash/${record##*/}/.git >$admin/gitdir
    echo 'git-agentwt: removed; git agentwt remove --undo brings it back' >$admin/locked
    git for-each-ref --format='delete %(refname)' refs/agentwt/trash/+git | git update-ref --stdin
    git worktree list | grep -q /.trash/task-";

const REBASE: &str = "echo one >src/main.rs; git commit -qam one
    (cd $MAIN; echo theirs >src/main.rs; git commit -qam theirs); upstream; ! git rebase -q main; echo half >src/main.rs";

#[test]
fn what_an_older_version_removed_comes_back() {
    for script in [
        "echo s >src/s.rs; git add src/s.rs; echo u >src/u.rs",
        REBASE,
    ] {
        let world = World::after(script);
        let before = world.everything();
        world.remove(&["-D"]);
        world.wait_for_the_background();
        world.repo.sh(world.repo.main(), AS_BEFORE).ok();
        assert!(world.agentwt(&["list", "--trash"]).ok().contains("task-"));
        world.agentwt(&["remove", "--undo", "task"]).ok();
        world.is_as(&before, "undone");
        // and goes as any other
        let said = world.agentwt(&["remove", "--force", "task"]);
        is_unlisted(&world.repo, &said);
    }
}

#[test]
fn what_an_older_version_removed_expires() {
    for removed in [&["remove", "--force", "task"][..], &["remove", "task"]] {
        let world = World::new();
        world.agentwt(removed).ok();
        world.wait_for_the_background();
        world.repo.sh(world.repo.main(), AS_BEFORE).ok();
        for setting in ["agentwt.trashExpire", "agentwt.trashExpireClean"] {
            world.repo.git(&["config", setting, "now"]);
        }
        let said = world.agentwt(&["prune"]);
        is_unlisted(&world.repo, &said);
        let trash = ".git/agentwt/trash";
        assert!(!world.repo.main().join(trash).exists(), "{said}");
    }
}

/// The entry is clean when `prune` lists what has expired, and has work when it comes to delete.
#[test]
fn what_another_process_finds_to_be_work_meanwhile_stays() {
    let world = World::new();
    world.agentwt(&["remove", "task"]).ok();
    world.wait_for_the_background();
    let repo = &world.repo;
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
    let bin = repo.root().join("bin");
    std::fs::create_dir(&bin).expect("it is new");
    let record = repo.main().join(".git/agentwt/trash");
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}}\ncase \"$*\" in *expiry-date*trashExpireClean)
        sed -i '/^term/d' {}/*/removing\nesac\nexec git \"$@\"\n",
        record.display()
    );
    std::fs::write(bin.join("git"), script).expect("it is ours");
    crate::support::chmod(&bin.join("git"), 0o755);
    let prune = format!("PATH={}:$PATH git-agentwt prune", bin.display());
    let said = repo.sh(repo.main(), &prune);
    world.agentwt(&["remove", "--undo", "task"]).ok();
    assert!(!said.stdout.contains("removed"), "{said}");
}

#[test]
fn a_removal_that_an_older_version_was_killed_in_is_finished_both_ways() {
    for is_undone in [true, false] {
        let world = World::after(REBASE);
        let before = world.everything();
        world.remove(&[]);
        world.wait_for_the_background();
        let killed = format!(
            "{AS_BEFORE}; mkdir -p .git/agentwt/worktrees; mv $record .git/agentwt/worktrees/task"
        );
        world.repo.sh(world.repo.main(), &killed).ok();
        if !is_undone {
            let said = world.agentwt(&["remove", "--force", "task"]);
            assert_eq!(said.status, 0, "{said}");
            is_unlisted(&world.repo, &said);
        }
        world.agentwt(&["remove", "--undo", "task"]).ok();
        world.is_as(&before, "undone");
    }
}

#[test]
fn submodules_lead_to_their_repository_whatever_its_name_is() {
    for is_taken in [false, true] {
        let (repo, worktree) = crate::remove::with_submodule();
        let lib = worktree.join("vendor/lib");
        repo.sh(
            &lib,
            "git checkout -q -b mine; echo x >lib.c; git commit -qam mine",
        )
        .ok();
        let before = repo.git_in(&lib, &["log", "--format=%H", "mine"]);
        let findings = repo.findings(&worktree);
        repo.agentwt(&["remove", "--force", "task"]).ok();
        if is_taken {
            repo.git(&["worktree", "add", "-q", "--detach", "../elsewhere/task"]);
        }
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        assert_eq!(repo.git_in(&lib, &["log", "--format=%H", "mine"]), before);
        let status = repo.git_in(&worktree, &["submodule", "status"]);
        assert!(status.contains("vendor/lib"), "{status}");
        assert_eq!(repo.findings(&worktree), findings);
        if is_taken {
            let other = repo.root().join("elsewhere/task");
            assert_eq!(repo.git_in(&other, &["status", "--porcelain"]), "");
        }
    }
}

#[test]
fn a_clean_worktree_with_a_submodule_is_looked_at_where_its_repository_is() {
    let repo = TestRepo::project();
    let script = "set -e; git init -q ../lib; echo lib >../lib/lib.c; git -C ../lib add .
        git -C ../lib commit -q -m lib; git submodule --quiet add file://$PWD/../lib vendor/lib; git commit -q -m lib";
    repo.sh(repo.main(), script).ok();
    let worktree = repo.add("task");
    repo.git_in(&worktree, &["submodule", "--quiet", "update", "--init"]);
    let said = repo.agentwt(&["remove", "task", "--wait"]);
    assert_eq!(said.status, 0, "{said}");
    is_unlisted(&repo, &said);
    let removal = repo
        .sh(repo.main(), "cat .git/agentwt/trash/*/removing")
        .ok();
    assert!(removal.contains("short"), "{removal}");
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
    repo.agentwt(&["prune"]).ok();
    assert!(!repo.main().join(".git/agentwt/trash").exists());
}

#[test]
fn a_worktree_of_the_users_that_has_the_name_by_now_is_not_touched() {
    let world = World::after("echo n >src/n.rs");
    world.remove(&[]);
    let add = ["worktree", "add", "-q", "--detach", "../elsewhere/task"];
    world.repo.git(&add);
    let other = world.repo.root().join("elsewhere/task");
    world.repo.git(&["config", "agentwt.trashExpire", "now"]);
    world.agentwt(&["prune"]).ok();
    assert_eq!(world.repo.git_in(&other, &["status", "--porcelain"]), "");
    // an agent that adds one of its own is still seen
    world.repo.git(&["worktree", "remove", "../elsewhere/task"]);
    world.repo.git(&["config", "agentwt.trashExpire", "never"]);
    world.repo.add("task");
    world.agentwt(&["remove", "--force", "task"]).ok();
    let agent = world.repo.add("agent");
    world
        .repo
        .sh(&agent, "git worktree add -q --detach ../../../../own/task")
        .ok();
    let findings = world.repo.findings(&agent);
    assert!(findings.contains("worktrees/task"), "{findings}");
}

#[test]
fn a_reftable_comes_back_whole() {
    let repo = TestRepo::empty();
    let init = ["init", "-q", "--ref-format=reftable", "rt"];
    if repo.try_git(repo.root(), &init).status != 0 {
        eprintln!("skipped: this git has no reftable");
        return;
    }
    let main = repo.root().join("rt");
    let begin = "mkdir src; echo 1 >src/main.rs; git add .; git commit -qm begin";
    repo.sh(&main, begin).ok();
    repo.agentwt_in(&main, &["add", "task", "--write", "src/**"])
        .ok();
    let worktree = main.join(".agentwt/worktrees/task");
    let work = "echo staged >src/staged.rs; git add .; git checkout -q --detach
        git commit -q --allow-empty -m left; git update-ref refs/worktree/mine HEAD
        git checkout -q agentwt/task; echo u >src/u.rs";
    repo.sh(&worktree, work).ok();
    let state = "git status --porcelain --branch; git for-each-ref refs/worktree; git log -1 --format=%s refs/worktree/mine
        git ls-files -s; git symbolic-ref HEAD";
    let before = repo.sh(&worktree, state).ok();
    repo.agentwt_in(&main, &["remove", "--force", "-D", "task"])
        .ok();
    let listed = repo.git_in(&main, &["worktree", "list"]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
    repo.git_in(&main, &["gc", "-q", "--prune=now"]);
    repo.agentwt_in(&main, &["remove", "--undo", "task"]).ok();
    assert_eq!(repo.sh(&worktree, state).ok(), before);
    let fsck = "git fsck --no-dangling --no-progress 2>&1";
    assert_eq!(repo.sh(&worktree, fsck).ok(), "");
}

#[test]
fn an_index_with_a_path_of_very_many_directories_is_held() {
    let (repo, worktree) = TestRepo::with_task();
    let script = "id=$(echo deep | git hash-object -w --stdin)
        python3 -c \"print('100644 $id\\t' + 'a/' * 20000 + 'b')\" | git update-index --index-info
        echo $id";
    let id = repo.sh(&worktree, script).ok();
    repo.agentwt(&["remove", "--force", "task"]).ok();
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.git(&["cat-file", "-e", &id]);
    repo.agentwt(&["prune"]).ok();
}
