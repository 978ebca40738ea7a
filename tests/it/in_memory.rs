//! A file system in memory, on which a file is written to without a trace: through a map of which
//! the page was read before, no time changes (mmap(2), tmpfs(5)).

use std::path::{Path, PathBuf};

use camino::Utf8Path;
use git_agentwt::disk::file_system::leaves_no_trace;

use crate::support::{Said, TestRepo, binary, skipped};

/// Writes into a file as said above.
const WRITE: &str = "import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
before = os.fstat(fd)
m = mmap.mmap(fd, 0)
m[0]
m[0:4] = b'EVIL'
after = os.fstat(fd)
sys.exit((before.st_mtime_ns, before.st_ctime_ns) != (after.st_mtime_ns, after.st_ctime_ns))";

/// A project on tmpfs, where there is one; its main worktree.
fn project_in_memory(repo: &TestRepo) -> Option<(tempfile::TempDir, PathBuf)> {
    let shm = Utf8Path::new("/dev/shm");
    let has_python = repo.sh(repo.main(), "command -v python3").status == 0;
    if !leaves_no_trace(shm) || !has_python {
        skipped("python3 and a tmpfs at /dev/shm: sudo apt-get install python3-minimal");
        return None;
    }
    let place = tempfile::Builder::new()
        .prefix("agentwt")
        .tempdir_in(shm)
        .expect("it can be written");
    let main = place.path().join("repo");
    let script = format!("cp -a . '{}'", main.display());
    repo.sh(repo.main(), &script).ok();
    Some((place, main))
}

fn write_through_a_map(repo: &TestRepo, file: &Path) {
    let python = repo
        .command("python3", repo.main())
        .args(["-c", WRITE])
        .arg(file)
        .output()
        .expect("it starts");
    assert!(python.status.success(), "{python:?}");
}

fn agentwt(repo: &TestRepo, directory: &Path, arguments: &[&str]) -> Said {
    let output = repo
        .command(binary(), directory)
        .env_remove("GIT_AGENTWT_WALK")
        .args(arguments)
        .output()
        .expect("it starts");
    repo.said(&output)
}

#[test]
fn a_write_without_a_trace_is_found_and_not_lost() {
    let repo = TestRepo::project();
    let Some((_place, main)) = project_in_memory(&repo) else {
        return;
    };
    agentwt(&repo, &main, &["add", "task", "--write", "src/**"]).ok();
    agentwt(&repo, &main, &["verify", "task"]).ok();
    let file = main.join(".agentwt/worktrees/task/src/mod/util.rs");
    write_through_a_map(&repo, &file);
    let changed = agentwt(&repo, &main, &["changed", "task"]);
    assert!(changed.stdout.contains("src/mod/util.rs"), "{changed}");
    let removed = agentwt(&repo, &main, &["remove", "task"]);
    assert_eq!(removed.status, 4, "{removed}");
    assert!(file.exists());
}

#[test]
fn a_placed_file_that_was_written_without_a_trace_is_found() {
    let repo = TestRepo::project();
    let Some((_place, main)) = project_in_memory(&repo) else {
        return;
    };
    std::fs::write(main.join(".env"), "SECRET=1\n").expect("it can be written");
    let ignore = main.join(".git/info/exclude");
    std::fs::write(ignore, ".env\n").expect("it can be written");
    let scope = ["--write", "src/**", "--write", ".env"];
    let add = [&["add", "task", "--sync", ".env"][..], &scope].concat();
    agentwt(&repo, &main, &add).ok();
    let before = agentwt(&repo, &main, &["verify", "task"]);
    before.ok();
    write_through_a_map(&repo, &main.join(".agentwt/worktrees/task/.env"));
    let verify = agentwt(&repo, &main, &["verify", "task"]);
    assert_ne!(verify.stdout, before.stdout, "{verify}");
    let changed = agentwt(&repo, &main, &["changed", "task"]);
    assert!(changed.stdout.contains(".env"), "{changed}");
}

#[test]
fn what_was_written_into_the_main_worktree_is_not_copied() {
    let repo = TestRepo::project();
    let Some((_place, main)) = project_in_memory(&repo) else {
        return;
    };
    let script =
        "touch -d '-1 hour' README.md; git update-index --refresh; touch -d '+1 hour' .git/index";
    let settled = repo.sh(&main, script);
    settled.ok();
    write_through_a_map(&repo, &main.join("README.md"));
    agentwt(&repo, &main, &["add", "task", "--write", "src/**"]).ok();
    let ours = std::fs::read(main.join(".agentwt/worktrees/task/README.md")).expect("it is there");
    assert_eq!(ours, b"read me\n");
}
