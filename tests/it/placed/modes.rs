//! Permissions of placed files: every bit counts but the write bits, which are ours.

use insta::assert_snapshot;

use super::World;
use crate::support::{TestRepo, is_root};

/// The words of `sync --status` for every placed file.
fn status(world: &World) -> String {
    let said = world.agentwt(&["sync", "task", "--status"]);
    let lines = said.stdout.lines().map(str::trim);
    let of = [".env", "run.sh", "src/local.json"];
    let lines = lines.filter(|line| of.iter().any(|path| line.contains(path)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_bit_but_the_write_bits_is_a_change_and_is_put_back() {
    for (mode, path) in [
        ("400", ".env"),
        ("445", ".env"),
        ("4555", "run.sh"),
        ("2555", "run.sh"),
        ("1555", "run.sh"),
    ] {
        let world = World::new();
        let before = world.everything();
        world.sh(&format!("chmod {mode} {path}"));
        assert_eq!(
            world.findings(),
            format!("{path} mode read-only violation\n"),
            "{mode}"
        );
        assert_eq!(world.seen(path), "mode [synced]");
        assert!(
            status(&world).contains("edited here"),
            "{mode}: {}",
            status(&world)
        );
        world.agentwt(&["restore", "task"]).ok();
        assert_eq!(world.everything(), before, "{mode}");
        assert_eq!(world.findings(), "");
    }
}

#[test]
fn a_file_that_can_no_longer_be_read_is_a_violation() {
    let world = World::after("chmod 000 .env");
    // root reads the content all the same
    let kind = if is_root() {
        "mode read-only"
    } else {
        "integrity integrity"
    };
    assert_eq!(world.findings(), format!(".env {kind} violation\n"));
}

#[test]
fn a_key_that_others_may_read_now_is_a_change() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.write("id.key", "KEY\n");
    repo.chmod("id.key", 0o600);
    repo.place("task", &["id.key"]);
    assert_eq!(repo.findings(&worktree), "");
    repo.sh(&worktree, "chmod 444 id.key").ok();
    let found = "id.key mode read-only violation\n";
    assert_eq!(repo.findings(&worktree), found);
    repo.agentwt(&["restore", "task"]).ok();
    assert_eq!(repo.sh(&worktree, "stat -c %a id.key").ok(), "400");
}

#[test]
fn the_mode_of_a_large_clone_without_a_digest_is_told_from_its_content() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.write("big.bin", "0123456789");
    repo.place_with("task", &["big.bin"], crate::support::Digests::Unknown);
    repo.sh(&worktree, "chmod 440 big.bin").ok();
    let found = "big.bin mode read-only violation\n";
    assert_eq!(repo.findings(&worktree), found);
    repo.sh(&worktree, "chmod 640 big.bin; echo other >big.bin")
        .ok();
    let found = "big.bin modified read-only violation\n";
    assert_eq!(repo.findings(&worktree), found);
}

#[test]
fn write_bits_alone_are_none() {
    let world = World::after("chmod 666 .env; chmod 444 src/local.json");
    assert_snapshot!(world.findings(), @".env perm read-only notice");
    assert!(!status(&world).contains("edited"), "{}", status(&world));
}

#[test]
fn where_git_counts_no_modes_none_counts_here() {
    let repo = TestRepo::project();
    repo.git(&["config", "core.fileMode", "false"]);
    let worktree = repo.add("task");
    repo.write(".env", "A=1\n");
    repo.place("task", &[".env"]);
    repo.sh(&worktree, "chmod 555 .env").ok();
    assert_eq!(repo.findings(&worktree), "");
    repo.agentwt(&["remove", "task"]).ok();
}
