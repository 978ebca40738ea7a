//! A disk that is full while work is saved: it is said as such, and nothing is lost.

use crate::support::{TestRepo, needs_root, skipped};

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

fn unmount(repo: &TestRepo) {
    let objects = repo.main().join(".git/objects");
    let line = format!("umount '{}'", objects.display());
    repo.sh(repo.root(), &line).ok();
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
