//! A checkout that fails, is stopped, or meets a main worktree that is not what it seems.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{add, reason};
use crate::support::{TestRepo, binary, needs_root, strace_works};

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

/// The edit keeps the size and every time that can be kept; only the change time tells.
#[test]
fn an_edited_file_of_the_main_worktree_is_not_taken_for_the_blob() {
    let repo = many();
    let script = "touch -d '-1 hour' stamp; touch -r stamp README.md; git update-index --refresh
        touch -d '+1 hour' .git/index
        printf 'READ ME\\n' >README.md; touch -r stamp README.md; rm stamp";
    repo.sh(repo.main(), script).ok();
    let said = add(&repo, "own", "022", &["task"]);
    assert_eq!((said.status, reason(&said)), (0, None), "{said}");
    let worktree = repo.worktree("task");
    let read_me = std::fs::read_to_string(worktree.join("README.md")).expect("it is there");
    assert_eq!(read_me, "read me\n");
    let fresh = [
        "-c",
        "core.trustctime=true",
        "hash-object",
        "README.md",
        "many/0/7",
    ];
    let wanted = repo.git(&["rev-parse", "HEAD:README.md", "HEAD:many/0/7"]);
    assert_eq!(repo.git_in(&worktree, &fresh), wanted);
}

/// Git does not write a file anew that two branches have in common, whatever filter one of them has:
/// what the filter wrote stays, and is as long as the blob here.
#[test]
fn what_a_filter_of_another_branch_has_written_is_not_taken_for_the_blob() {
    let repo = TestRepo::project();
    let script = r#"git config filter.up.smudge 'tr a-z A-Z'; git config filter.up.clean 'tr A-Z a-z'
        git switch -qc filtered; echo '*.md filter=up' >.gitattributes; git add -A; git commit -qm filter
        rm README.md; git checkout -q README.md; touch -d '-1 hour' README.md; git update-index --refresh
        git switch -q main; touch -d '+1 hour' .git/index; test -z "$(git status --porcelain)""#;
    repo.sh(repo.main(), script).ok();
    let left = std::fs::read(repo.main().join("README.md")).expect("it is there");
    assert_eq!(
        left, b"READ ME\n",
        "the main worktree has what the test is about"
    );
    let said = add(&repo, "own", "022", &["task"]);
    assert_eq!((said.status, reason(&said)), (0, None), "{said}");
    let ours = std::fs::read(repo.worktree("task").join("README.md")).expect("it is there");
    assert_eq!(ours, b"read me\n");
    let verify = repo
        .command(binary(), repo.main())
        .env("GIT_AGENTWT_WALK", "full")
        .args(["verify", "task"])
        .output()
        .expect("it starts");
    let verify = repo.said(&verify);
    assert_eq!(verify.status, 0, "{verify}");
}

/// A filter that is gone has left a file whose stat data git takes for those of the blob.
#[test]
fn a_file_that_a_filter_has_changed_is_not_taken_for_the_blob() {
    let repo = TestRepo::project();
    let script = "git config core.autocrlf true; rm docs/guide.md; git checkout docs/guide.md
        git config --unset core.autocrlf; touch -d '+1 hour' .git/index; test -z \"$(git status --porcelain)\"";
    repo.sh(repo.main(), script).ok();
    let crlf = std::fs::read(repo.main().join("docs/guide.md")).expect("it is there");
    assert_eq!(
        crlf, b"guide\r\n",
        "the main worktree has what the test is about"
    );
    let said = add(&repo, "own", "022", &["task"]);
    assert_eq!((said.status, reason(&said)), (0, None), "{said}");
    let ours = std::fs::read(repo.worktree("task").join("docs/guide.md")).expect("it is there");
    assert_eq!(ours, b"guide\n");
}

#[test]
fn a_missing_or_damaged_object_undoes_everything() {
    for damage in ["rm -f", "chmod u+w \"$0\"; printf x >"] {
        let repo = many();
        let id = repo.git(&["rev-parse", "HEAD:many/3/3"]);
        let (directory, file) = id.split_at(2);
        // nothing of the main worktree proves what the object is
        repo.sh(repo.main(), "touch many/3/3").ok();
        let object = format!(".git/objects/{directory}/{file}");
        let script = format!(
            "{} '{object}'",
            damage.replace("\"$0\"", &format!("'{object}'"))
        );
        repo.sh(repo.main(), &script).ok();
        let before = repo.fingerprint();
        let said = add(&repo, "own", "022", &["task"]);
        assert_ne!(said.status, 0, "{said}");
        assert!(said.stderr.contains(&id), "{said}");
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
    let said = add(&repo, "own", "022", &["task"]);
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

/// Each file takes a while, so that the signal comes between two of them.
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
        .args(["-f", "-qq", "-e", "trace=utimensat", "-o"])
        .arg(&log)
        .args(["-e", "inject=utimensat:delay_enter=100000"])
        .arg(binary())
        .args(["add", "task", "--write", "src/**"])
        .env("GIT_AGENTWT_CHECKOUT", "own")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("strace starts");
    let patience = Instant::now() + Duration::from_secs(20);
    let pid = loop {
        assert!(Instant::now() < patience, "it wrote files");
        let lines = std::fs::read_to_string(&log).unwrap_or_default();
        // the first number of a line is the thread's
        let mut written = lines.lines().filter(|line| line.contains("utimensat("));
        if let Some(pid) = written.nth(5).and_then(|line| line.split(' ').next()) {
            break pid.to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let leader = format!("kill -INT $(sed -n 's/^Tgid:[^0-9]*//p' /proc/{pid}/status)");
    repo.sh(repo.root(), &leader).ok();
    let said = repo.said(&child.wait_with_output().expect("it ends"));
    assert_eq!(said.status, 130, "{said}");
    assert!(said.stderr.contains("everything was undone"), "{said}");
    assert_eq!(repo.fingerprint(), before, "{said}");
}
