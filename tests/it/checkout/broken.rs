//! A checkout that fails or is stopped.

use std::process::Stdio;

use super::add;
use crate::support::{TestRepo, binary, needs_root, strace_works, wait_until};

/// A project with a hundred files more.
fn many() -> TestRepo {
    let repo = TestRepo::project();
    for n in 0..100 {
        repo.write(
            &format!("many/{}/{n}", n % 7),
            &format!("file {n}\n").repeat(400),
        );
    }
    repo.commit_all("many");
    repo
}

#[test]
fn a_missing_or_damaged_object_undoes_everything() {
    for damage in ["rm -f", "chmod u+w \"$0\"; printf x >"] {
        let repo = many();
        let id = repo.git(&["rev-parse", "HEAD:many/3/3"]);
        let (directory, file) = id.split_at(2);
        let object = format!(".git/objects/{directory}/{file}");
        let script = format!(
            "{} '{object}'",
            damage.replace("\"$0\"", &format!("'{object}'"))
        );
        repo.sh(repo.main(), &script).ok();
        let before = repo.fingerprint();
        let said = add(&repo, "022", &["task"]);
        assert_ne!(said.status, 0, "{said}");
        assert!(said.stderr.contains(file), "{said}");
        assert_eq!(repo.fingerprint(), before, "{said}");
    }
}

#[test]
fn as_root_a_full_disk_undoes_everything() {
    if !needs_root() {
        return;
    }
    let repo = many();
    let directory = repo.main().join(".agentwt");
    std::fs::create_dir_all(&directory).expect("a directory");
    let mount = format!("mount -t tmpfs -o size=256k none '{}'", directory.display());
    if repo.sh(repo.root(), &mount).status != 0 {
        eprintln!("nothing can be mounted here");
        return;
    }
    let said = add(&repo, "022", &["task"]);
    let left = repo.sh(
        &directory,
        "find . -mindepth 1 ! -name worktrees ! -name .gitignore",
    );
    repo.sh(repo.root(), &format!("umount '{}'", directory.display()))
        .ok();
    assert_ne!(said.status, 0, "{said}");
    assert!(said.stderr.contains("No space left"), "{said}");
    assert_eq!(left.stdout, "", "{said}");
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "", "{said}");
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1, "{said}");
}

/// The umask of the checkout is set slowly, so that the signal comes before the first file.
#[test]
fn a_signal_in_the_middle_undoes_everything() {
    if !strace_works() {
        return;
    }
    let repo = many();
    let before = repo.fingerprint();
    let log = repo.root().join("slow");
    let child = repo
        .command("strace", repo.main())
        .args(["-f", "-qq", "-e", "trace=umask", "-o"])
        .arg(&log)
        .args(["-e", "inject=umask:delay_enter=1500000"])
        .arg(binary())
        .args(["add", "task", "--write", "src/**"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("strace starts");
    let mut pid = String::new();
    wait_until("it writes files", || {
        let lines = std::fs::read_to_string(&log).unwrap_or_default();
        // the first number of a line is the thread's
        let mut written = lines.lines().filter(|line| line.contains("umask(0222)"));
        let thread = written.next().and_then(|line| line.split(' ').next());
        pid = thread.unwrap_or_default().to_owned();
        !pid.is_empty()
    });
    let leader = format!("kill -INT $(sed -n 's/^Tgid:[^0-9]*//p' /proc/{pid}/status)");
    repo.sh(repo.root(), &leader).ok();
    let said = repo.said(&child.wait_with_output().expect("it ends"));
    assert_eq!(said.status, 130, "{said}");
    assert!(said.stderr.contains("everything was undone"), "{said}");
    assert_eq!(repo.fingerprint(), before, "{said}");
}
