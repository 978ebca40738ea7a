#![expect(clippy::disallowed_methods, reason = "the tests make files")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use rustix::fs::CWD;

use super::*;

struct World {
    _tmp: tempfile::TempDir,
    root: Utf8PathBuf,
}

impl World {
    /// A root with the worktree `task`, and `out` beside it.
    fn new() -> Self {
        let tmp = tempfile::tempdir().expect("a directory");
        let path = tmp.path().canonicalize().expect("it is there");
        let root = Utf8PathBuf::from_path_buf(path).expect("it is UTF-8");
        let world = Self { _tmp: tmp, root };
        for directory in ["out/deep", ".agentwt/worktrees/task/src/deep"] {
            std::fs::create_dir_all(world.root.join(directory)).expect("a directory");
            std::fs::write(world.root.join(directory).join("f"), "text").expect("a file");
        }
        world
    }

    fn worktrees(&self) -> Utf8PathBuf {
        self.root.join(".agentwt/worktrees")
    }

    fn bin(&self) -> TrashBin {
        let bin = TrashBin::open(&self.root).expect("it opens");
        bin.expect("it is there")
    }

    /// Moves a worktree into the trash, with its term over.
    fn expire(&self, name: &str) {
        let bin = self.bin();
        bin.keep(name, &format!("{name}-1")).expect("it moves");
        bin.expire(&format!("{name}-1")).expect("it expires");
    }

    /// Every path below the root.
    fn all(&self) -> String {
        let mut left = vec![self.root.clone()];
        let mut all = Vec::new();
        while let Some(next) = left.pop() {
            for entry in next.read_dir_utf8().expect("a directory") {
                let entry = entry.expect("an entry");
                let relative = entry.path().strip_prefix(&self.root).expect("below");
                all.push(relative.to_string());
                if entry.file_type().expect("a type").is_dir() {
                    left.push(entry.path().to_owned());
                }
            }
        }
        all.sort();
        all.join(" ")
    }
}

const GONE: Option<Vec<String>> = Some(Vec::new());
const OUT: &str = "out out/deep out/deep/f";

#[test]
fn an_entry_expires_and_is_then_deleted() {
    let world = World::new();
    world.expire("task");
    assert!(!world.worktrees().join("task").exists());
    assert!(
        world
            .bin()
            .place_of_expired()
            .expect("it is read")
            .is_some()
    );
    let left = world.bin().delete_expired(None).expect("it is emptied");
    assert_eq!(left, GONE);
    assert_eq!(world.bin().place_of_expired().expect("it is read"), None);
    assert_eq!(world.all(), format!(".agentwt .agentwt/worktrees {OUT}"));
    world.expire("task");
    assert_eq!(world.bin().delete_expired(None).expect("nothing"), GONE);
}

#[test]
fn only_what_has_expired_is_deleted() {
    let world = World::new();
    world.bin().keep("task", "task-1").expect("it moves");
    let left = world.bin().delete_expired(None).expect("it is looked at");
    assert_eq!(left, GONE);
    world.bin().bring_back("task-1", "task").expect("it moves");
    assert!(world.worktrees().join("task/src/deep/f").exists());
}

#[test]
fn what_an_older_version_left_is_deleted() {
    let world = World::new();
    let old = world.worktrees().join(".deleted");
    std::fs::create_dir(&old).expect("a directory");
    let task = world.worktrees().join("task");
    std::fs::rename(task, old.join("task-1-2")).expect("it moves");
    assert!(
        world
            .bin()
            .place_of_expired()
            .expect("it is read")
            .is_some()
    );
    let left = world.bin().delete_expired(None).expect("it is emptied");
    assert_eq!(left, GONE);
    assert_eq!(world.all(), format!(".agentwt .agentwt/worktrees {OUT}"));
}

#[test]
fn links_are_unlinked_and_never_followed() {
    let world = World::new();
    let task = world.worktrees().join("task");
    symlink(world.root.join("out"), task.join("link")).expect("a link");
    symlink("../../../../out", task.join("src/near")).expect("a link");
    world.expire("task");
    world.bin().delete_expired(None).expect("it is emptied");
    symlink(world.root.join("out"), world.worktrees().join("other")).expect("a link");
    world.bin().delete_in_place("other").expect("unlinked");
    assert_eq!(world.all(), format!(".agentwt .agentwt/worktrees {OUT}"));
}

#[test]
fn a_bin_or_a_parent_that_is_a_link_is_refused() {
    let world = World::new();
    symlink(world.root.join("out"), world.worktrees().join(TRASH)).expect("a link");
    let refused = |error: DiskError| error.to_string();
    let said = refused(
        world
            .bin()
            .keep("task", "task-1")
            .expect_err("it is a link"),
    );
    assert!(said.contains("it is a link or not a directory"), "{said}");
    world.bin().delete_expired(None).expect_err("it is a link");
    let elsewhere = world.root.join("elsewhere");
    std::fs::rename(world.root.join(".agentwt"), &elsewhere).expect("it moves");
    symlink(&elsewhere, world.root.join(".agentwt")).expect("a link");
    let said = refused(TrashBin::open(&world.root).expect_err("it is a link"));
    assert!(said.contains(".agentwt"), "{said}");
    assert!(world.all().contains(OUT));
    assert!(elsewhere.join("worktrees/task/src/deep/f").exists());
}

#[test]
fn closed_directories_are_opened() {
    let world = World::new();
    let task = world.worktrees().join("task");
    for (path, mode) in [("src/deep", 0o000), ("src", 0o555), ("", 0o555)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(task.join(path), mode).expect("a directory");
    }
    world.expire("task");
    let left = world.bin().delete_expired(None).expect("it is emptied");
    assert_eq!(left, GONE);
}

#[test]
fn a_tree_of_any_depth_is_deleted() {
    let world = World::new();
    let bin = world.bin();
    let task = world.worktrees().join("task");
    let mut at = open_directory(CWD, task.as_std_path()).expect("it opens");
    for _ in 0..3000 {
        mkdirat(&at, "deeper", Mode::RWXU).expect("a directory");
        at = open_directory(&at, "deeper").expect("it opens");
    }
    world.expire("task");
    let left = bin.delete_expired(None).expect("it is emptied");
    assert_eq!(left, GONE);
}

#[test]
fn an_entry_that_is_no_directory_is_unlinked_and_stops_nothing() {
    let world = World::new();
    world.expire("task");
    let file = world.worktrees().join(TRASH).join(".expired-a");
    std::fs::write(&file, "text").expect("a file");
    let left = world.bin().delete_expired(None).expect("it is emptied");
    assert_eq!(left, GONE);
    assert_eq!(world.all(), format!(".agentwt .agentwt/worktrees {OUT}"));
}

#[test]
fn whoever_has_no_time_leaves_the_rest() {
    let world = World::new();
    world.expire("task");
    let before = world.all();
    let left = world.bin().delete_expired(Some(Instant::now()));
    assert_eq!(left.expect("it is looked at"), None);
    assert_eq!(world.all(), before);
}

#[test]
fn one_empties_at_a_time() {
    let world = World::new();
    let bin = world.bin();
    world.expire("task");
    let held = bin
        .directory(TRASH)
        .expect("it opens")
        .expect("it is there");
    flock(&held, FlockOperation::LockExclusive).expect("a lock");
    let soon = Some(Instant::now() + Duration::from_secs(60));
    let left = world.bin().delete_expired(soon).expect("it is looked at");
    assert_eq!(left, None);
    drop(held);
    let left = world.bin().delete_expired(soon).expect("it is emptied");
    assert_eq!(left, GONE);
}

#[test]
fn what_is_deleted_in_place_is_gone_without_a_bin() {
    let world = World::new();
    world.bin().delete_in_place("task").expect("it is deleted");
    assert_eq!(world.all(), format!(".agentwt .agentwt/worktrees {OUT}"));
}
