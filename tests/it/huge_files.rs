//! Files of a terabyte that take no room on disk: nothing reads what their size tells already, and
//! a signal ends what has to be read.

use std::path::Path;
use std::process::{Child, Stdio};

use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};

use crate::cases::Case;
use crate::support::{Said, TestRepo, binary, chmod, wait_for_end, wait_until};

/// Bytes in a terabyte.
const TERABYTE: u64 = 1 << 40;

/// Makes a file a terabyte long; all of what is added is a hole.
fn lengthen(file: &Path) {
    if file.exists() {
        // what is out of scope is read-only
        chmod(file, 0o644);
    }
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(file)
        .expect("the file opens");
    file.set_len(TERABYTE)
        .expect("the file system has holes in files");
}

fn start(repo: &TestRepo, arguments: &[&str]) -> Child {
    repo.command(binary(), repo.main())
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Runs a command that reads no huge file. To read one takes a quarter of an hour.
#[track_caller]
fn run(repo: &TestRepo, arguments: &[&str]) -> Said {
    let mut child = start(repo, arguments);
    wait_for_end(&format!("{arguments:?} reads a terabyte"), &mut child);
    repo.said(&child.wait_with_output().expect("it has ended"))
}

/// Sends SIGTERM to a command that reads a file, and gives its status.
#[track_caller]
fn end_while_reading(repo: &TestRepo, arguments: &[&str], file: &Path) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    let mut child = start(repo, arguments);
    let open_files = format!("/proc/{}/fd", child.id());
    let is_reading = || {
        let files = std::fs::read_dir(&open_files).expect("it runs");
        let targets = files.flatten().map(|one| std::fs::read_link(one.path()));
        targets.flatten().any(|target| target == file)
    };
    wait_until(&format!("{arguments:?} opens the file"), is_reading);
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it gets the signal");
    wait_for_end(&format!("{arguments:?} goes on after SIGTERM"), &mut child).signal()
}

/// A worktree with huge files: changed and new ones, in scope and out of scope.
fn with_huge_files() -> Case {
    let case = Case::new();
    for path in ["README.md", "docs/huge.bin", "src/main.rs", "src/huge.bin"] {
        lengthen(&case.worktree.join(path));
    }
    case
}

#[test]
fn no_command_reads_a_huge_file() {
    let case = with_huge_files();
    let repo = &case.repo;
    assert_snapshot!(run(repo, &["verify", "task"]), @"
    NO task: 2 violations, 4 paths changed
      !  modified  README.md      disk       read-only: read ** (default)
      !  created   docs/huge.bin  untracked  read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task README.md docs/huge.bin
    to let the agent edit these paths: git agentwt scope task --add-write /README.md --add-write /docs/huge.bin
    --- status 1
    ");
    assert_snapshot!(run(repo, &["changed", "task"]), @"
    modified  README.md      disk
    created   docs/huge.bin  untracked
    created   src/huge.bin   untracked
    modified  src/main.rs    disk
    --- status 0
    ");
    assert_snapshot!(run(repo, &["restore", "task", "-n"]), @"
    modified  README.md
    created   docs/huge.bin
    --- stderr
    task: would put back 2 paths
    --- status 0
    ");
    for (arguments, status) in [
        (&["status", "task"][..], 0),
        (&["list"], 0),
        (&["changed", "task", "--json"], 0),
        (&["changed", "task", "--base", "main"], 0),
        (&["reapply", "task", "-n"], 0),
        (&["land", "task", "-n"], 1),
        (&["remove", "task"], 4),
    ] {
        run(repo, arguments).fails(status);
    }
    assert_snapshot!(run(repo, &["changed", "task", "--patch"]), @"
    --- stderr
    note: not in the patch: README.md
    note: not in the patch: docs/huge.bin
    note: not in the patch: src/huge.bin
    note: not in the patch: src/main.rs
    --- status 0
    ");
    run(repo, &["remove", "task", "--force"]).fails(0);
    run(repo, &["remove", "--undo", "task"]).fails(0);
}

#[test]
fn no_command_reads_a_huge_file_where_git_converts_what_it_writes() {
    let repo = TestRepo::project();
    repo.write(".gitattributes", "* text=auto\n*.txt eol=crlf\n");
    repo.write("lines.txt", "one\ntwo\n");
    repo.commit_all("attributes");
    let worktree = repo.add("task");
    lengthen(&worktree.join("lines.txt"));
    lengthen(&worktree.join("docs/huge.bin"));
    assert_snapshot!(run(&repo, &["verify", "task"]), @"
    NO task: 2 violations, 2 paths changed
      !  created   docs/huge.bin  untracked  read-only: read ** (default)
      !  modified  lines.txt      disk       read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task docs/huge.bin lines.txt
    to let the agent edit these paths: git agentwt scope task --add-write /docs/huge.bin --add-write /lines.txt
    --- status 1
    ");
    assert_snapshot!(run(&repo, &["changed", "task"]), @"
    created   docs/huge.bin  untracked
    modified  lines.txt      disk
    --- status 0
    ");
}

#[test]
fn an_acceptance_makes_no_command_read_a_huge_file() {
    let case = Case::new();
    case.does("edit README.md; edit docs/api.md");
    case.repo
        .agentwt(&["accept", "task", "README.md", "docs/api.md"])
        .ok();
    lengthen(&case.worktree.join("docs/huge.bin"));
    lengthen(&case.worktree.join("README.md"));
    assert_snapshot!(run(&case.repo, &["verify", "task"]), @"
    NO task: 2 violations, 3 paths changed, 1 accepted
      !  modified  README.md      disk       read-only: read ** (default)
      !  created   docs/huge.bin  untracked  read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task README.md docs/huge.bin
    to let the agent edit these paths: git agentwt scope task --add-write /README.md --add-write /docs/huge.bin
    --- status 1
    ");
}

#[test]
fn a_large_file_is_accepted_by_its_content() {
    let case = Case::new();
    let file = case.worktree.join("docs/large.bin");
    std::fs::write(&file, vec![1; 65 << 20]).expect("a large file");
    case.repo
        .agentwt(&["accept", "task", "docs/large.bin"])
        .ok();
    assert_eq!(case.findings(), "");
    let mut bytes = vec![1; 65 << 20];
    bytes[1000] = 2;
    std::fs::write(&file, bytes).expect("another one of the same size");
    assert_snapshot!(case.findings(), @"docs/large.bin created read-only violation");
}

#[test]
fn a_huge_file_in_a_submodule_is_not_read() {
    let repo = TestRepo::project();
    repo.sh(
        repo.root(),
        "git init -q sub && cd sub && echo a >a && git add a && git commit -q -m a",
    )
    .ok();
    repo.sh(
        repo.main(),
        "git -c protocol.file.allow=always submodule --quiet add ../sub sub && git commit -q -m sub",
    )
    .ok();
    let worktree = repo.add("task");
    repo.sh(
        &worktree,
        "git -c protocol.file.allow=always submodule --quiet update --init",
    )
    .ok();
    lengthen(&worktree.join("sub/a"));
    lengthen(&worktree.join("sub/huge.bin"));
    assert_snapshot!(run(&repo, &["verify", "task"]), @"
    NO task: 3 violations, 3 paths changed
      !  modified  sub           disk  read-only: read ** (default)
      !  modified  sub/a         disk  read-only: read ** (default)
      !  created   sub/huge.bin  disk  read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task sub/a sub/huge.bin
    to let the agent edit these paths: git agentwt scope task --add-write /sub --add-write /sub/a --add-write /sub/huge.bin
    --- status 1
    ");
}

#[test]
fn a_signal_ends_what_reads_a_huge_file() {
    let case = Case::new();
    let file = case.worktree.join("docs/huge.bin");
    lengthen(&file);
    let before = case.repo.agentwt(&["verify", "task"]);
    for arguments in [
        &["restore", "task", "docs/huge.bin"][..],
        &["accept", "task", "docs/huge.bin"],
        &["accept", "task", "--all"],
    ] {
        let signal = end_while_reading(&case.repo, arguments, &file);
        assert_eq!(signal, Some(15), "{arguments:?}");
        let size = std::fs::metadata(&file).map(|found| found.len());
        assert_eq!(size.ok(), Some(TERABYTE), "{arguments:?} left the file");
    }
    let after = run(&case.repo, &["verify", "task"]);
    assert_eq!(
        after.to_string(),
        before.to_string(),
        "nothing was left behind"
    );
}
