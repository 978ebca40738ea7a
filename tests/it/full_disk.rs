//! A disk that is full while work is saved: it is said as such, and nothing is lost.

use crate::support::{TestRepo, needs_root, skipped, wait_until};

/// Puts the objects of a repository on a file system with no room; whether that can be done here.
fn fill_objects(repo: &TestRepo) -> bool {
    let objects = repo.main().join(".git/objects");
    let objects = objects.display();
    let script = format!(
        "cp -a '{objects}' kept && mount -t tmpfs -o size=1m none '{objects}' || exit 1
        cp -a kept/. '{objects}' && ! cat /dev/zero >'{objects}/fill' 2>said"
    );
    repo.sh(repo.root(), &script).status == 0
}

/// Unmounts the objects, once what a command left working in the background has ended.
fn unmount(repo: &TestRepo) {
    let objects = repo.main().join(".git/objects");
    let line = format!("umount '{}'", objects.display());
    wait_until("nothing uses the disk", || {
        repo.sh(repo.root(), &line).status == 0
    });
}

#[test]
fn as_root_restore_names_the_disk_and_a_removal_needs_no_room() {
    if !needs_root() {
        return;
    }
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let edit = "chmod u+w README.md; echo more >>README.md; echo more >>src/main.rs";
    repo.sh(&worktree, edit).ok();
    if !fill_objects(&repo) {
        skipped("mount(8) of a tmpfs");
        return;
    }
    let commands = [&["restore", "task"][..], &["verify", "task"]];
    let said: Vec<_> = commands.iter().map(|line| repo.agentwt(line)).collect();
    let left = repo.sh(repo.main(), "ls .git/objects | grep tmp_objdir");
    let removed = repo.agentwt(&["remove", "--force", "task"]);
    unmount(&repo);
    assert_eq!(left.stdout, "", "temporary objects stay on a full disk");
    let _ = said[0].fails(6);
    assert!(said[0].stderr.contains("No space left on device"));
    assert!(said[0].stderr.contains("df -h"), "{}", said[0]);
    let _ = said[1].fails(1);
    let _ = removed.ok();
    let _ = repo.agentwt(&["remove", "--undo", "task"]).ok();
    let kept = repo
        .sh(&worktree, "tail -q -n 1 README.md src/main.rs")
        .ok();
    assert_eq!(kept.trim(), "more\nmore");
}

/// A file that is cut, because the disk is full, would count as newer work, and no undo would touch it.
#[test]
fn as_root_a_restore_on_a_full_disk_leaves_every_file_whole() {
    if !needs_root() {
        return;
    }
    let repo = TestRepo::project();
    let script = "head -c 600000 /dev/urandom >big; git add big; git commit -q -m big
        mkdir -p .agentwt/worktrees; mount -t tmpfs -o size=1m none .agentwt/worktrees";
    if repo.sh(repo.main(), script).status != 0 {
        skipped("mount(8) of a tmpfs");
        return;
    }
    let worktree = repo.add("task");
    let edit = "chmod u+w big README.md; echo less >big; echo more >>README.md
        ! cat /dev/zero >src/fill 2>../said; rm ../said; cat big README.md";
    let edited = repo.sh(&worktree, edit).ok();
    let restored = [(); 2].map(|()| repo.agentwt(&["restore", "task"]));
    let after = repo.sh(&worktree, "cat big README.md").ok();
    let undone = repo.agentwt(&["restore", "task", "--undo"]);
    let verified = repo.agentwt(&["verify", "task"]);
    let room = repo.sh(&worktree, "rm src/fill");
    let again = repo.agentwt(&["restore", "task"]);
    let same = repo.sh(&worktree, "cmp big ../../../big; ls -a ..");
    repo.sh(repo.main(), "umount .agentwt/worktrees").ok();
    assert!(restored.iter().all(|one| one.status != 0), "{restored:?}");
    assert_eq!(after, edited, "{}", restored[0]);
    assert_eq!(undone.status, 0, "{undone}");
    assert_eq!(verified.status, 1, "{verified}");
    assert_eq!((room.status, again.status), (0, 0), "{again}");
    assert_eq!(same.stdout, ".\n..\n.gitignore\ntask\n", "{same}");
}
