//! Holds what all workers share: the repository, the ledger, what was done, and what was lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use super::ledger::{Entry, Held, Ledger};
use super::places;
use crate::support::{Choices, TestRepo, binary};

const CONFIG: &str = "schema_version = '1.0'\n[worktree.file_sync]\npatterns = ['.env']\n\
    [scope.default]\nwrite = ['src/**']\nexclude = ['secrets/**']\n";

/// How a command of ours runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    ToItsEnd,
    Killed,
}

/// What a command of ours answered.
pub struct Answer {
    pub status: i32,
    pub stdout: String,
}

/// Represents one thing that was done, for the report of a loss.
struct Line {
    at: u128,
    name: String,
    text: String,
}

/// Holds what all workers share.
pub struct World {
    pub repo: TestRepo,
    pub seed: u64,
    pub ledger: Ledger,
    /// Held for reading by who looks for texts, and for writing by `prune --merged`, which may
    /// remove any worktree.
    pub removing_any: RwLock<()>,
    began: Instant,
    until: Instant,
    lines: Mutex<Vec<Line>>,
    statuses: Mutex<BTreeMap<String, usize>>,
    lost: Mutex<Vec<String>>,
}

impl World {
    /// Makes the repository, in which each worker has a tracked file of its own.
    pub fn new(seed: u64, workers: usize, time: Duration) -> Self {
        let repo = TestRepo::project();
        repo.write(".agentwt/config.toml", CONFIG);
        repo.write(".gitignore", "target/\n*.log\n.env\n");
        repo.write("docs/user.md", "user\n");
        for worker in 0..workers {
            repo.write(&format!("src/worker-{worker}.txt"), "tracked\n");
        }
        repo.commit_all("the beginning");
        repo.write(".env", "A=1\n");
        std::fs::create_dir(repo.root().join("new")).expect("a directory");
        let began = Instant::now();
        Self {
            repo,
            seed,
            ledger: Ledger::default(),
            removing_any: RwLock::default(),
            began,
            until: began + time,
            lines: Mutex::default(),
            statuses: Mutex::default(),
            lost: Mutex::default(),
        }
    }

    /// True if the time is over, or something is lost.
    pub fn is_over(&self) -> bool {
        Instant::now() > self.until || !self.lost.lock().expect("no failure").is_empty()
    }

    /// Milliseconds since the beginning.
    pub fn now(&self) -> u128 {
        self.began.elapsed().as_millis()
    }

    /// Writes down what was done to a worktree.
    pub fn note(&self, name: &str, text: String) {
        let line = Line {
            at: self.now(),
            name: name.to_owned(),
            text,
        };
        self.lines.lock().expect("no failure").push(line);
    }

    fn count(&self, what: String) {
        *self
            .statuses
            .lock()
            .expect("no failure")
            .entry(what)
            .or_default() += 1;
    }

    /// Replaces a file at once, or does nothing; true if it was written.
    pub fn put(&self, root: &Path, path: &str, text: &str) -> bool {
        let number = self.ledger.len();
        let thread = std::thread::current().id();
        let new = self.repo.root().join(format!("new/{thread:?}-{number}"));
        std::fs::write(&new, text).expect("a file of the test");
        let is_written = std::fs::rename(&new, root.join(path)).is_ok();
        if !is_written {
            std::fs::remove_file(&new).expect("a file of the test");
        }
        is_written
    }

    /// Enters a text that was written into the ledger.
    pub fn enter(&self, name: &str, path: &str, text: String, act: &str, held: Held) {
        let written = self.now();
        self.note(
            name,
            format!("{act} writes {:?} into {path}", text.trim_end()),
        );
        let entry = Entry {
            text,
            name: name.to_owned(),
            path: path.to_owned(),
            act: act.to_owned(),
            written,
            held,
        };
        self.ledger.add(entry);
    }

    /// Runs git in a worktree that may vanish: git does not look above it. Its stdout if it
    /// ended well.
    pub fn git(&self, name: &str, directory: &Path, words: &[&str]) -> Option<String> {
        let mut command = self.repo.command("git", directory);
        let above = self.repo.main().join(".agentwt/worktrees");
        command.env("GIT_CEILING_DIRECTORIES", above);
        // a directory that is not there is not a fault of the test
        let output = command.args(words).stdin(Stdio::null()).output().ok()?;
        let is_reading = ["rev-parse", "ls-files", "diff-tree", "rev-list"].contains(&words[0]);
        if !is_reading {
            let status = output.status;
            self.note(name, format!("git {}: {status}", words.join(" ")));
        }
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(stdout)
    }

    /// Runs the program in the main worktree, and kills it after a moment if that is wanted.
    pub fn agentwt(&self, name: &str, words: &[&str], run: Run, choices: &mut Choices) -> Answer {
        let mut command = self.repo.command(binary(), self.repo.main());
        command.args(words);
        self.run(name, command, words, run, choices)
    }

    /// Runs `prune` that takes the term of clean worktrees as over.
    pub fn prune_at_once(&self, run: Run, choices: &mut Choices) -> Answer {
        let words = ["-c", "agentwt.trashExpireClean=now", "agentwt", "prune"];
        let mut command = self.repo.command("git", self.repo.main());
        command.args(words);
        self.run("main", command, &["prune", "(clean: now)"], run, choices)
    }

    fn run(
        &self,
        name: &str,
        mut command: Command,
        words: &[&str],
        run: Run,
        choices: &mut Choices,
    ) -> Answer {
        self.note(name, format!("begins: {} ({run:?})", words.join(" ")));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let moment = choices.below(100) * choices.below(100);
        if run == Run::Killed {
            // most commands take between 50 ms and half a second here
            std::thread::sleep(Duration::from_micros(moment as u64 * 60));
            // it may have ended
            let _ = child.kill();
        }
        let output = child.wait_with_output().expect("it ends");
        let said = self.repo.said(&output);
        let mut error = said.stderr.lines().filter(|line| line.starts_with("error"));
        let error = error.next().unwrap_or_default();
        self.note(
            name,
            format!("ends: {}: {} {error}", words.join(" "), said.status),
        );
        self.count(format!("{}: {}", without_names(words), said.status));
        if said.status == 101 {
            self.lose(format!("a bug, at {words:?}: {said}"));
        }
        Answer {
            status: said.status,
            stdout: said.stdout,
        }
    }

    /// Looks for what must be found of these worktrees; what is missing is reported.
    pub fn audit(&self, when: &str, is_meant: impl Fn(&str) -> bool) {
        let guard = self.removing_any.read().expect("no failure");
        let required = self.ledger.required(is_meant);
        for entry in places::missing(&self.repo, required) {
            let around = self.around(&entry);
            self.lose(format!("lost ({when}): {entry}\n{around}"));
        }
        drop(guard);
    }

    fn lose(&self, what: String) {
        self.lost.lock().expect("no failure").push(what);
    }

    /// The last things that were done to the worktree of an entry, and to all.
    fn around(&self, entry: &Entry) -> String {
        const LAST: usize = 60;
        let lines = self.lines.lock().expect("no failure");
        let mut around = Vec::new();
        for line in lines.iter() {
            let concerns = line.name == entry.name || line.text.contains("prune");
            if concerns && line.at + 2000 > entry.written {
                around.push(format!("  {:>7} ms {}: {}", line.at, line.name, line.text));
            }
        }
        let first = around.len().saturating_sub(LAST);
        around[first..].join("\n")
    }

    /// Prints what was done, and fails with what was lost; the repository is kept then.
    pub fn end(self) {
        for (what, count) in self.statuses.lock().expect("no failure").iter() {
            eprintln!("{count:6}  {what}");
        }
        let lost = self.lost.into_inner().expect("no failure");
        let written = self.ledger.len();
        eprintln!(
            "seed {}: {written} texts written, {} lost",
            self.seed,
            lost.len()
        );
        assert!(written > 0, "the workers wrote");
        if !lost.is_empty() {
            let place = self.repo.keep();
            let lost = lost.join("\n");
            panic!("seed {}, kept in {}\n{lost}", self.seed, place.display());
        }
    }
}

/// Returns the command and its options, for the table of what was answered.
fn without_names(words: &[&str]) -> String {
    let mut shown = words[0].to_owned();
    for word in &words[1..] {
        if *word == "--" {
            break;
        }
        if word.starts_with('-') {
            shown.push(' ');
            shown.push_str(word);
        }
    }
    shown
}
