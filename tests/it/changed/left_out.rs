//! What is listed as changed and stands on disk as in the base: no patch to the disk has it.

use super::json;
use crate::support::TestRepo;

#[test]
fn a_deletion_that_the_disk_does_not_show_is_named() {
    for deletion in [
        "git rm -q --cached src/main.rs; git commit -qm gone",
        "git rm -q --cached src/main.rs",
    ] {
        let (repo, worktree) = TestRepo::with_task();
        repo.script(&worktree, deletion);
        repo.script(&worktree, "echo new >src/new.rs");
        let said = repo.agentwt(&["changed", "task", "--patch"]);
        assert_eq!(
            said.stderr, "note: not in the patch: src/main.rs\n",
            "{deletion}: {said}"
        );
        let patch = said.ok();
        assert!(
            patch.contains("src/new.rs") && !patch.contains("src/main.rs"),
            "{patch}"
        );
        let all = json(&repo, &["--patch", "--commits"]);
        let notes = all["notes"].to_string();
        assert_eq!(notes, r#"["not in the patch: src/main.rs"]"#, "{all}");
    }
}

#[test]
fn what_was_committed_and_put_back_on_disk_is_named() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree,
        "cp src/main.rs ../main.rs; echo more >>src/main.rs; git commit -qam more; mv ../main.rs src/main.rs",
    );
    let said = repo.agentwt(&["changed", "task", "--patch"]);
    assert_eq!(said.stderr, "note: not in the patch: src/main.rs\n");
    assert_eq!(said.ok(), "");
}

#[test]
fn what_the_patch_has_is_not_named() {
    let (repo, worktree) = TestRepo::with_task();
    repo.write("src/up.rs", "up\n");
    repo.commit_all("upstream");
    repo.script(&worktree,
        "git merge -q main; echo a >>src/main.rs; git commit -qam a; git rm -q src/up.rs; echo b >src/b.rs",
    );
    let all = json(&repo, &["--patch", "--commits"]);
    assert_eq!(all["notes"], serde_json::Value::Null, "{all}");
}

#[test]
fn what_is_only_staged_is_not_in_the_uncommitted_patch_and_is_named() {
    let (repo, _) = TestRepo::task_after(
        "echo x >src/main.rs; git commit -qam x; echo y >src/main.rs; git add src/main.rs
        echo x >src/main.rs",
    );
    let all = json(&repo, &["--patch", "--commits"]);
    assert_eq!(all["uncommitted"]["patch"], "", "{all}");
    let notes = all["notes"].to_string();
    let told = r#"["not in the patch: src/main.rs, as it is staged"]"#;
    assert_eq!(notes, told, "{all}");
}
