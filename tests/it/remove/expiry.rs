//! What becomes of clean worktrees in the trash when their term is over.

use std::path::PathBuf;
use std::process::{Child, Command};

use crate::support::TestRepo;

/// The directories in the trash.
fn in_trash(repo: &TestRepo) -> Vec<PathBuf> {
    let trash = repo.main().join(".agentwt/worktrees/.trash");
    let Ok(found) = std::fs::read_dir(trash) else {
        return Vec::new();
    };
    found.map(|one| one.expect("a name").path()).collect()
}

/// Removes a worktree; its directory in the trash.
fn removed(repo: &TestRepo, name: &str) -> PathBuf {
    repo.agentwt(&["remove", name, "--wait"]).ok();
    let found = in_trash(repo).into_iter();
    let mut found = found.filter(|path| path.to_string_lossy().contains(&format!("/{name}-")));
    found.next().expect("it is in the trash")
}

/// Lets the term of clean worktrees be over.
fn let_expire(repo: &TestRepo) {
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
}

/// A process, which ends with the test.
struct Standing(Child);

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_stands_in_a_clean_worktree_delays_its_end_and_no_more() {
    let repo = TestRepo::project();
    repo.add("task");
    let kept = removed(&repo, "task");
    let_expire(&repo);
    let mut sleep = Command::new("sleep");
    let standing = sleep.arg("600").current_dir(&kept).spawn();
    let standing = Standing(standing.expect("it starts"));
    repo.agentwt(&["prune"]).ok();
    assert!(kept.exists(), "it is in use");
    let removal = repo.sh(repo.main(), "cat .git/agentwt/trash/*/removing");
    assert!(removal.stdout.contains("short"), "{removal}");
    drop(standing);
    repo.agentwt(&["prune"]).ok();
    assert_eq!(in_trash(&repo), Vec::<PathBuf>::new());
}

#[test]
fn an_entry_that_cannot_be_deleted_does_not_keep_the_others() {
    let repo = TestRepo::project();
    for name in ["first", "second", "third"] {
        repo.add(name);
    }
    let first = removed(&repo, "first");
    let second = removed(&repo, "second");
    let_expire(&repo);
    // its lock cannot be taken
    let lock = repo.main().join(".git/agentwt/locks/first");
    let _ = std::fs::remove_file(&lock);
    std::fs::create_dir_all(&lock).expect("a directory");
    let said = repo.agentwt(&["remove", "third", "--wait"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains("removed third"), "{said}");
    let note = "note: cannot delete .agentwt/worktrees/.trash/first-";
    assert!(said.stderr.contains(note), "{said}");
    assert!(first.exists());
    assert!(!second.exists(), "{said}");
}

#[test]
fn a_bad_setting_does_not_keep_build_output() {
    for setting in ["agentwt.trashExpire", "agentwt.trashExpireClean"] {
        let repo = TestRepo::project();
        repo.write(".gitignore", "target/\n");
        repo.commit_all("ignore");
        repo.add("task");
        let output = repo.worktree("task").join("target");
        std::fs::create_dir_all(&output).expect("a directory");
        std::fs::write(output.join("o"), "o\n").expect("a file");
        repo.git(&["config", setting, "nonsense"]);
        let said = repo.agentwt(&["remove", "task", "--wait"]);
        assert_eq!(said.status, 0, "{said}");
        assert!(said.stderr.contains("removed task"), "{said}");
        assert!(
            said.stderr.contains(&format!("the setting {setting}")),
            "{said}"
        );
        let kept = in_trash(&repo);
        assert_eq!(kept.len(), 1, "{said}");
        assert!(!kept[0].join("target/o").exists(), "{said}");
    }
}
