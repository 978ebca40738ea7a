//! An object that git reads from a forged pack, or from a forged loose file, is not landed.

use std::path::{Path, PathBuf};

use super::{go_on, work};
use crate::support::{TestRepo, bytes_of_id};

const WAYS: [&[&str]; 3] = [&[], &["--squash"], &["--rebase"]];

/// Where the fanout of an index of a pack is, and its ids (gitformat-pack(5), version 2).
const FANOUT: usize = 8;
const IDS: usize = FANOUT + 256 * 4;

/// Puts a pack with one object into the repository, whose index says that the object has another id.
#[track_caller]
fn forge_pack(repo: &TestRepo, content: &str, id: &str) {
    let line = format!("echo {content} | git pack-objects -q .git/objects/pack/pack");
    let pack = repo.sh(repo.main(), &line).ok();
    let index = repo
        .main()
        .join(format!(".git/objects/pack/pack-{pack}.idx"));
    let mut bytes = std::fs::read(&index).expect("an index");
    let id = bytes_of_id(id);
    for first in 0..256_usize {
        let count = u32::from(first >= usize::from(id[0]));
        let at = FANOUT + first * 4;
        bytes[at..at + 4].copy_from_slice(&count.to_be_bytes());
    }
    bytes[IDS..IDS + id.len()].copy_from_slice(&id);
    std::fs::remove_file(&index).expect("removed");
    std::fs::write(&index, bytes).expect("written");
}

/// Replaces the loose file of an object with that of another one, and puts the true one into a pack.
#[track_caller]
fn forge_loose(repo: &TestRepo, content: &str, id: &str) {
    let file = |id: &str| format!(".git/objects/{}/{}", &id[..2], &id[2..]);
    let (from, to) = (file(content), file(id));
    let line = format!(
        "echo {id} | git pack-objects -q .git/objects/pack/pack >&2; rm -f {to}; cp {from} {to}"
    );
    repo.sh(repo.main(), &line).ok();
}

/// A worktree with a commit in scope, and objects that are not: a commit, its trees and a blob.
#[track_caller]
fn world() -> (TestRepo, PathBuf, Vec<(String, String)>) {
    let repo = TestRepo::project();
    let dir = repo.add("task");
    work(&repo, &dir, "one");
    let line = "export GIT_INDEX_FILE=$PWD/../evil.idx; git read-tree HEAD
        b=$(echo evil | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$b,README.md
        git update-index --cacheinfo 100644,$b,src/one.rs
        git commit-tree -p HEAD~ -m 'add one' $(git write-tree); rm ../evil.idx";
    let evil = repo.sh(&dir, line).ok();
    let ids = |commit: &str| {
        let names = ["", "^{tree}", ":src", ":src/one.rs"];
        names.map(|name| repo.git(&["rev-parse", &format!("{commit}{name}")]))
    };
    let (evil, own) = (ids(&evil), ids("agentwt/task"));
    let pairs = evil.into_iter().zip(own).collect();
    (repo, dir, pairs)
}

#[track_caller]
fn main_of(repo: &TestRepo) -> String {
    repo.git(&["rev-parse", "main"])
}

/// That a verdict or a refusal comes, and main has nothing of it.
#[track_caller]
fn is_refused(repo: &TestRepo, way: &[&str], what: &str) -> String {
    let before = main_of(repo);
    let said = repo.agentwt(&[&["land", "task"], way].concat());
    assert_ne!(said.status, 0, "{what}: {said}");
    assert_eq!(main_of(repo), before, "{what}: {said}");
    let readme = std::fs::read_to_string(repo.main().join("README.md"));
    assert_eq!(readme.expect("a file"), "read me\n", "{what}: {said}");
    assert!(!repo.main().join("src/one.rs").exists(), "{what}: {said}");
    assert!(repo.worktree("task").exists(), "{what}: {said}");
    said.to_string()
}

#[test]
fn what_git_reads_from_a_forged_pack_is_not_landed() {
    for way in WAYS {
        for at in 0..4 {
            for ahead in [true, false] {
                let (repo, _, pairs) = world();
                if !ahead {
                    go_on(&repo);
                }
                let (evil, own) = &pairs[at];
                forge_pack(&repo, evil, own);
                let what = format!("{way:?}, object {at}, ahead {ahead}");
                is_refused(&repo, way, &what);
            }
        }
    }
}

#[test]
fn what_git_reads_from_a_forged_loose_file_is_not_landed() {
    for at in 0..4 {
        let (repo, _, pairs) = world();
        go_on(&repo);
        let (evil, own) = &pairs[at];
        forge_loose(&repo, evil, own);
        let said = repo.agentwt(&["land", "task"]);
        let readme = std::fs::read_to_string(repo.main().join("README.md"));
        assert_eq!(readme.expect("a file"), "read me\n", "{at}: {said}");
        let one = std::fs::read_to_string(repo.main().join("src/one.rs"));
        assert!(
            one.is_err() || one.is_ok_and(|text| text == "one\n"),
            "{at}: {said}"
        );
    }
}

/// The base branch is not checked out: git reads less, and the commit is the same.
#[test]
fn nor_is_it_landed_in_a_branch_that_nobody_has_checked_out() {
    let (repo, _, pairs) = world();
    repo.git(&["switch", "-qc", "other"]);
    let (evil, own) = &pairs[1];
    forge_pack(&repo, evil, own);
    let said = is_refused(&repo, &[], "update-ref");
    let words = format!("git reads another content of the object {own} than was verified");
    assert!(said.contains(&words), "{said}");
    assert!(said.contains("git -C $TMP/repo fsck --full"), "{said}");
    repo.sh(repo.main(), "rm -f .git/objects/pack/*").ok();
    repo.agentwt(&["land", "task"]).ok();
    assert_eq!(repo.git(&["show", "main:src/one.rs"]), "one");
}

/// Git finds nothing to merge, and the worktree would go with the work.
#[test]
fn work_that_git_does_not_see_is_not_taken_as_landed() {
    let (repo, dir, pairs) = world();
    go_on(&repo);
    let nothing = repo.git(&["rev-parse", "agentwt/task~^{tree}"]);
    forge_pack(&repo, &nothing, &pairs[1].1);
    let said = is_refused(&repo, &[], "nothing to merge");
    assert!(said.contains("git reads another content"), "{said}");
    assert!(dir.join("src/one.rs").exists(), "{said}");
}

/// Whether git reads this in the place of that.
#[test]
fn git_does_read_a_forged_pack() {
    let (repo, dir, pairs) = world();
    let (evil, own) = &pairs[3];
    let read = |dir: &Path| repo.git_in(dir, &["cat-file", "blob", own]);
    assert_eq!(read(&dir), "one");
    forge_pack(&repo, evil, own);
    assert_eq!(read(&dir), "evil");
}
