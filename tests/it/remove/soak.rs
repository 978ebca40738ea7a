//! Writers that do not stop while a worktree is removed: every byte that was written is found
//! again, in the worktree or in the trash (CONTRIBUTING.md).

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::TestRepo;

/// How a writer comes to its file.
#[derive(Clone, Copy, Debug)]
enum Writer {
    /// New files by their path.
    NewFiles,
    /// New files in a directory that it holds open, wherever that is.
    OpenDirectory,
    /// A tracked file that it holds open.
    OpenFile,
}

const WRITERS: [Writer; 3] = [Writer::NewFiles, Writer::OpenDirectory, Writer::OpenFile];

/// The commands that remove, and how the worktree is made.
const REMOVALS: [(&str, &[&str]); 4] = [
    ("worktree", &["remove", "task"]),
    ("clone", &["remove", "task"]),
    ("worktree", &["remove", "other", "task"]),
    ("worktree", &["land", "task"]),
];

/// Lets writers write while it is removed.
#[test]
fn nothing_is_lost_that_is_written_while_it_is_removed() {
    let rounds = std::env::var("AGENTWT_REMOVAL_ROUNDS");
    let rounds = rounds.map_or(12, |rounds| rounds.parse().expect("a number"));
    let mut longest = Duration::from_millis(100);
    let mut written = 0;
    let mut removed = 0;
    for round in 0..rounds {
        let (strategy, command) = REMOVALS[round % REMOVALS.len()];
        let repo = prepared(strategy);
        // each round begins to write a little later in the removal, and then anew
        let part = u32::try_from(round * 7 % 20).expect("a small number");
        let delay = longest * part / 20;
        let texts = std::thread::scope(|threads| {
            let writers = WRITERS.map(|writer| {
                let open = Opened::new(&repo.worktree("task"), writer);
                threads.spawn(move || open.write(round, delay))
            });
            let began = Instant::now();
            let said = repo.agentwt(command);
            // 1: `land` could not tell what a file is that changed each time it was read
            assert!(matches!(said.status, 0 | 1 | 4), "{command:?}: {said}");
            longest = longest.max(began.elapsed());
            removed += usize::from(!repo.worktree("task").join(".git").exists());
            let texts = writers.map(|writer| writer.join().expect("it writes"));
            texts.concat()
        });
        written += texts.len();
        all_are_there(&repo, &texts, round);
        // the term of what was clean is over
        repo.git(&["config", "agentwt.trashExpireClean", "now"]);
        repo.agentwt(&["prune"]).ok();
        all_are_there(&repo, &texts, round);
    }
    eprintln!("{rounds} rounds, {removed} removed, {written} writes, 0 lost");
    assert!(written > 0, "the writers wrote");
}

/// A repository with the worktree `task`, in which something is built.
fn prepared(strategy: &str) -> TestRepo {
    let repo = TestRepo::project();
    for name in ["task", "other"] {
        let scope = ["--write", "src/**", "--strategy", strategy];
        repo.agentwt(&[&["add", name][..], &scope].concat()).ok();
    }
    let build = "mkdir -p target; for i in $(seq 300); do echo $i >target/$i; done
        echo 1 >src/one.rs; git add src; git commit -qm one";
    repo.sh(&repo.worktree("task"), build).ok();
    if strategy == "worktree" {
        repo.git(&["merge", "-q", "agentwt/task"]);
    }
    repo
}

/// Every text is in a file in the worktree or in the trash.
#[track_caller]
fn all_are_there(repo: &TestRepo, texts: &[String], round: usize) {
    let mut there = String::new();
    read_all(&repo.main().join(".agentwt/worktrees"), &mut there);
    for text in texts {
        assert!(there.contains(text.as_str()), "round {round}: lost {text}");
    }
}

fn read_all(directory: &Path, text: &mut String) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_expired = name.starts_with(".expired-");
        if is_directory && !is_expired && !path.ends_with("target") {
            read_all(&path, text);
        } else if let Ok(more) = std::fs::read_to_string(&path) {
            text.push_str(&more);
        }
    }
}

/// What a writer holds open.
struct Opened {
    writer: Writer,
    src: PathBuf,
    directory: File,
    file: File,
}

impl Opened {
    fn new(worktree: &Path, writer: Writer) -> Self {
        let src = worktree.join("src");
        let file = OpenOptions::new().append(true).open(src.join("main.rs"));
        Self {
            writer,
            directory: File::open(&src).expect("a directory"),
            file: file.expect("a file"),
            src,
        }
    }

    /// Writes for a while; what was written, each text with its end.
    fn write(mut self, round: usize, delay: Duration) -> Vec<String> {
        const WRITES: usize = 40;
        std::thread::sleep(delay);
        let mut written = Vec::new();
        for number in 0..WRITES {
            let text = format!("{:?}-{round}-{number};", self.writer);
            let name = format!("{:?}-{number}", self.writer);
            let done = match self.writer {
                Writer::NewFiles => create(&self.src.join(name), &text),
                Writer::OpenDirectory => {
                    let descriptor = self.directory.as_raw_fd();
                    let src = PathBuf::from(format!("/proc/self/fd/{descriptor}"));
                    create(&src.join(name), &text)
                }
                Writer::OpenFile => self.file.write_all(text.as_bytes()),
            };
            if done.is_ok() {
                written.push(text);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        written
    }
}

fn create(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())
}
