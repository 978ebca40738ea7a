//! Copies a repository that git made once, instead of letting git make it anew for every test.
//!
//! What git makes is the same each time (dates and names are fixed) but for the stat data in the
//! index: that of the copies is written in its place. `template.rs` holds a copy against the real
//! thing.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha1::{Digest, Sha1};

use super::{TestRepo, hermetic};

/// Where the templates are, from one run to the next.
const PLACE: &str = env!("CARGO_TARGET_TMPDIR");

/// Everything a template is made by: when it changes, another is made.
const SOURCES: [&str; 3] = [
    include_str!("mod.rs"),
    include_str!("repo.rs"),
    include_str!("template.rs"),
];

/// Puts into the main worktree what `make` makes of an empty directory, copied when it was made
/// before under this name.
pub fn put(repo: &TestRepo, name: &str, make: fn(&TestRepo)) {
    let template = Path::new(PLACE).join(format!("{name}-{:016x}", key(repo)));
    if !template.is_dir() {
        make(repo);
        keep(repo, &template);
        return;
    }
    copy(&template, repo.main());
    let index = repo.main().join(".git/index");
    if index.exists() {
        write_stat_data(&index, repo.main());
    }
}

/// Keeps what was made for the next time; of two that do, one is the first. A test that runs as
/// another user may not.
fn keep(repo: &TestRepo, template: &Path) {
    let half = match tempfile::tempdir_in(PLACE) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return,
        half => half.expect("a directory"),
    };
    let copied = half.path().join("copied");
    fs::create_dir(&copied).expect("a new directory");
    copy(repo.main(), &copied);
    if fs::rename(&copied, template).is_err() {
        assert!(template.is_dir(), "another test was first");
    }
}

/// Says what a template depends on: the sources, git, the filesystem (`git init` tries what it
/// can) and which permissions new files have.
fn key(repo: &TestRepo) -> u64 {
    let mut key = DefaultHasher::new();
    SOURCES.hash(&mut key);
    let command = hermetic("git", repo.root(), repo.root());
    let variable = command.get_envs().find(|(name, _)| *name == "PATH");
    let path = variable.and_then(|(_, path)| path);
    let mut places = std::env::split_paths(path.expect("a search path"));
    let git = places.find_map(|place| place.join("git").canonicalize().ok());
    let git = git.expect("there is a git");
    let metadata = git.metadata().expect("it is there");
    (git, metadata.len(), metadata.mtime()).hash(&mut key);
    let home = repo.home().metadata().expect("it is there");
    (home.dev(), home.mode()).hash(&mut key);
    key.finish()
}

/// Copies files, links and directories with their permissions.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            fs::create_dir(&to).expect("a new directory");
            copy(&from, &to);
        } else if kind.is_symlink() {
            let text = fs::read_link(&from).expect("a link");
            std::os::unix::fs::symlink(text, &to).expect("a new link");
        } else {
            fs::copy(&from, &to).expect("a copy");
        }
    }
}

/// Writes the stat data of the files as they are into the index, and it after them: as of git's
/// own, whose index is never as new as a file of a test that has just begun.
fn write_stat_data(index: &Path, worktree: &Path) {
    let mut bytes = fs::read(index).expect("it is there");
    let newest = replace_stat_data(&mut bytes, worktree);
    for _ in 0..50 {
        fs::write(index, &bytes).expect("it can be written");
        let metadata = index.metadata().expect("it is there");
        if (metadata.mtime(), metadata.mtime_nsec()) > newest {
            break;
        }
        // the clock of files moves every few milliseconds
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Replaces the stat data and the checksum; when the newest file was modified.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "git has 32 bits of each"
)]
fn replace_stat_data(bytes: &mut [u8], worktree: &Path) -> (i64, i64) {
    assert_eq!(bytes[..8], *b"DIRC\0\0\0\x02", "an index of version 2");
    let entries = u32::from_be_bytes(bytes[8..12].try_into().expect("4 bytes"));
    let mut newest = (0, 0);
    let mut at = 12;
    for _ in 0..entries {
        let name = at + 62;
        let len = bytes[name..].iter().position(|byte| *byte == 0);
        let len = len.expect("a name ends with a zero");
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(&bytes[name..name + len]));
        let stat = fs::symlink_metadata(worktree.join(path)).expect("what is tracked is there");
        newest = newest.max((stat.mtime(), stat.mtime_nsec()));
        let before = [
            stat.ctime() as u32,
            stat.ctime_nsec() as u32,
            stat.mtime() as u32,
            stat.mtime_nsec() as u32,
            stat.dev() as u32,
            stat.ino() as u32,
        ];
        // the mode as git writes it is between
        let after = [stat.uid(), stat.gid(), stat.size() as u32];
        let write = |bytes: &mut [u8], at: usize, words: &[u32]| {
            for (slot, word) in bytes[at..].chunks_exact_mut(4).zip(words) {
                slot.copy_from_slice(&word.to_be_bytes());
            }
        };
        write(bytes, at, &before);
        write(bytes, at + 28, &after);
        // at least one zero ends an entry, and its length is a multiple of eight
        at += (62 + len + 8) & !7;
    }
    let end = bytes.len() - 20;
    let checksum = Sha1::digest(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum);
    newest
}
