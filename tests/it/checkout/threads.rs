//! A checkout by the library changes nothing of the process that other threads would see.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use camino::Utf8PathBuf;
use git_agentwt::library::{Options, Provision, provision};
use git_agentwt::words::log::Log;
use seccompiler::{SeccompAction, SeccompFilter, TargetArch};

use crate::support::TestRepo;

/// What a thread sees of the process that it runs in.
#[derive(Debug, PartialEq)]
struct Seen {
    umask: String,
    work_dir: PathBuf,
}

impl Seen {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/thread-self/status").expect("/proc");
        let umask = status.lines().find(|line| line.starts_with("Umask:"));
        Self {
            umask: umask.expect("a umask").to_owned(),
            work_dir: std::env::current_dir().expect("a working directory"),
        }
    }
}

/// A repository with `files` files in `docs`, most of which are to be read-only.
fn project(files: usize) -> TestRepo {
    let repo = TestRepo::project();
    for number in 0..files {
        repo.write(&format!("docs/{number}"), "text\n");
    }
    repo.commit_all("files");
    repo
}

fn add(repo: &TestRepo, log: Log) {
    let options = Options {
        directory: Utf8PathBuf::from_path_buf(repo.main().to_owned()).expect("UTF-8"),
        log,
        ..Options::default()
    };
    let mut task = Provision {
        name: "task".to_owned(),
        no_hooks: true,
        ..Provision::default()
    };
    task.scope.write = Some(vec!["src/**".to_owned()]);
    provision(&options, &task).expect("a worktree");
}

/// Runs `work` while another thread looks at the process all the time.
#[track_caller]
fn nothing_changes_during(work: impl FnOnce()) {
    let before = Seen::now();
    let is_over = AtomicBool::new(false);
    let changed = std::thread::scope(|threads| {
        let watcher = threads.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let seen = Seen::now();
                if seen != before {
                    return Some(seen);
                }
            }
            None
        });
        work();
        is_over.store(true, Ordering::Relaxed);
        watcher.join().expect("the watcher ends")
    });
    assert_eq!(changed, None, "another thread saw a change of {before:?}");
}

fn is_read_only(repo: &TestRepo, file: &str) -> bool {
    let metadata = std::fs::metadata(repo.worktree("task").join(file)).expect("the file");
    metadata.permissions().mode() & 0o222 == 0
}

#[test]
fn other_threads_keep_their_umask() {
    let repo = project(2000);
    nothing_changes_during(|| add(&repo, Log::default()));
    assert!(is_read_only(&repo, "docs/1"));
}

#[test]
fn other_threads_keep_their_working_directory() {
    let repo = project(2);
    let script = r#"git config filter.slow.smudge 'pwd >"$PWD/../../../seen"; sleep 0.1; cat'
        git config filter.slow.clean cat; echo 'docs/1 filter=slow' >.gitattributes
        git add -A; git commit -qm x"#;
    repo.sh(repo.main(), script).ok();
    nothing_changes_during(|| add(&repo, Log::default()));
    let seen = std::fs::read_to_string(repo.main().join("seen")).expect("the filter ran");
    let worktree = repo.worktree("task").canonicalize().expect("the worktree");
    assert_eq!(seen.trim_end(), worktree.to_str().expect("UTF-8"));
}

/// Runs `work` in a thread that may not call unshare(2), as in a container of Docker.
fn without_unshare(work: impl FnOnce() + Send) {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).expect("a known one");
    let filter = SeccompFilter::new(
        [(libc::SYS_unshare, Vec::new())].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(1),
        architecture,
    );
    let program: seccompiler::BpfProgram = filter
        .and_then(TryInto::try_into)
        .expect("it can be compiled");
    std::thread::scope(|threads| {
        threads.spawn(move || {
            seccompiler::apply_filter(&program).expect("it can be applied");
            work();
        });
    });
}

#[test]
fn files_are_read_only_where_a_thread_can_have_no_umask() {
    let repo = project(20);
    nothing_changes_during(|| without_unshare(|| add(&repo, Log::default())));
    assert!(is_read_only(&repo, "docs/1"));
    assert_eq!(repo.findings(&repo.worktree("task")), "");
}

#[test]
fn git_runs_filters_where_a_thread_can_have_no_working_directory() {
    let repo = project(2);
    let script = "git config filter.up.smudge 'tr a-z A-Z'; git config filter.up.clean 'tr A-Z a-z'
        echo 'docs/1 filter=up' >.gitattributes; git add -A; git commit -qm x";
    repo.sh(repo.main(), script).ok();
    nothing_changes_during(|| without_unshare(|| add(&repo, Log::default())));
    let text = std::fs::read_to_string(repo.worktree("task").join("docs/1")).expect("the file");
    assert_eq!(text, "TEXT\n");
    assert!(is_read_only(&repo, "docs/1"));
}
