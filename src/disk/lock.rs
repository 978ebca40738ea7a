//! Lets one process at a time do something: [`Lock`], which the system releases when it ends.
//!
//! Who has to wait says so after a second, with the number of the process that it waits for, and
//! stops waiting at a signal. `flock(2)` itself would go on after a signal handler, so it is never
//! asked to wait: the lock is tried again and again, some fifty times a second.
#![expect(clippy::disallowed_methods, reason = "lock files are made only here")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::disk::error::DiskError;
use crate::disk::files::{inside, remove_if_empty};
use crate::disk::stat::is_same_file;
use crate::words::error::{Error, Fault, Interrupted};
use crate::words::exit::ExitCode;
use crate::words::log::Log;

/// A shorter wait is not reported.
const QUIET: Duration = Duration::from_secs(1);
/// The first pause between two tries.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest.
const LONGEST: Duration = Duration::from_millis(20);
/// So often the file of a lock, or its directory, may go with the last lock in it.
const MOST_REMOVALS: u32 = 1_000;

/// A lock, and how one waits for it.
#[derive(Clone, Debug)]
pub struct LockFile {
    /// The file.
    pub path: Utf8PathBuf,
    /// The worktree that one operation at a time works on; none for the short steps in which git
    /// writes files that all worktrees share.
    pub name: Option<String>,
    /// How to wait.
    pub waiting: Waiting,
}

/// How one waits for a lock.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    /// The signal that asks to stop; 0 for none.
    pub signal: Arc<AtomicUsize>,
    /// True if it refuses at once when another program works on the worktree (`--no-wait`).
    pub no_wait: bool,
    /// Where a long wait is reported.
    pub log: Log,
}

/// Says that another process has the lock, and `--no-wait` was given.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("worktree `{name}` is in use by another git-agentwt{}", in_brackets(*pid))]
#[diagnostic(code(agentwt::lock::busy), help("{}", self.advice()))]
pub struct LockHeld {
    name: String,
    pid: Option<u32>,
}

impl LockHeld {
    fn advice(&self) -> String {
        let mut advice = "leave --no-wait out to wait for it; ".to_owned();
        if let Some(pid) = self.pid {
            advice.push_str(&format!("to see it: ps -p {pid}; "));
        }
        advice.push_str("to see the worktree: git agentwt status ");
        advice.push_str(&self.name);
        advice
    }
}

fn in_brackets(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!(" (pid {pid})"),
        None => String::new(),
    }
}

impl Fault for LockHeld {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Refused
    }
}

/// A lock that the system releases when the process ends (flock(2)). Its file is
/// removed with it, and the directories that were made for it, so that nothing is left behind.
#[derive(Debug)]
pub struct Lock {
    open: File,
    file: Utf8PathBuf,
}

/// Who holds a lock besides this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holders {
    /// Nobody.
    OnlyUs,
    /// The programs that are started from now on, until they end: also when this process is killed.
    WithPrograms,
}

/// What a signal does to one who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnSignal {
    Stop,
    GoOn,
}

impl Lock {
    /// Waits for a lock and takes it.
    ///
    /// # Errors
    /// Fails when the disk refuses, a signal comes, or another process has it and that is not
    /// waited for.
    pub fn wait(file: &LockFile) -> Result<Self, Error> {
        Self::take(file, OnSignal::Stop)
    }

    /// As [`Lock::wait`], but no signal ends it: for undoing what a signal has stopped.
    ///
    /// # Errors
    /// As [`Lock::wait`].
    pub fn wait_to_undo(file: &LockFile) -> Result<Self, Error> {
        Self::take(file, OnSignal::GoOn)
    }

    /// Takes a lock that is free; none when a process has it.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn if_free(file: &LockFile) -> Result<Option<Self>, DiskError> {
        for _ in 0..MOST_REMOVALS {
            match Self::try_file(&file.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                tried => return tried.map_err(|error| file.failed(error)),
            }
        }
        Err(file.failed(ErrorKind::NotFound))
    }

    /// Says who holds it from now on.
    ///
    /// # Errors
    /// Fails when the system refuses.
    pub fn hold(&self, holders: Holders) -> Result<(), DiskError> {
        let flags = match holders {
            Holders::OnlyUs => FdFlags::CLOEXEC,
            Holders::WithPrograms => FdFlags::empty(),
        };
        let set = fcntl_setfd(&self.open, flags);
        set.map_err(|error| DiskError::new(format!("hand {} on", self.file), error))
    }

    /// Tries until the lock is free. Reports a long wait, and gives up at a signal or where waiting
    /// is not wanted.
    fn take(file: &LockFile, on_signal: OnSignal) -> Result<Self, Error> {
        let began = Instant::now();
        let mut pause = SHORTEST;
        let mut is_reported = false;
        loop {
            if let Some(lock) = Self::if_free(file)? {
                return Ok(lock);
            }
            // a lock without a name is held for a short step only, so it is waited for in any case
            if file.waiting.no_wait
                && let Some(name) = &file.name
            {
                return Err(Error::from(LockHeld {
                    name: name.clone(),
                    pid: file.holder(),
                }));
            }
            let signal = file.waiting.signal.load(Ordering::SeqCst);
            if signal != 0 && on_signal == OnSignal::Stop {
                return Err(Error::from(Interrupted {
                    signal: u8::try_from(signal).unwrap_or(2),
                }));
            }
            if !is_reported && began.elapsed() >= QUIET {
                file.waiting.log.tell(&file.what_is_waited_for());
                is_reported = true;
            }
            std::thread::sleep(pause);
            pause = LONGEST.min(pause * 2);
        }
    }

    /// Tries the file that is there now, or a new one; none if a process has it. `NotFound` says
    /// that its last holder removed the file, or its directory, before it was ours.
    fn try_file(file: &Utf8Path) -> std::io::Result<Option<Self>> {
        let directory = file.parent().unwrap_or(Utf8Path::new("."));
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let mut open = inside(directory, || options.open(file))?;
        match open.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if !is_same_file(&open.metadata()?, &std::fs::metadata(file)?) {
            return Err(ErrorKind::NotFound.into());
        }
        // for those who wait, and no more than that: a full disk is no reason not to go on
        let _ = open.set_len(0);
        let _ = writeln!(open, "{}", std::process::id());
        Ok(Some(Self {
            open,
            file: file.to_owned(),
        }))
    }
}

impl LockFile {
    fn failed(&self, error: impl Into<std::io::Error>) -> DiskError {
        remove_if_unused(&self.path);
        DiskError::new(format!("lock {}", self.path), error)
    }

    /// True if a process has it; nothing is changed to find out.
    pub fn is_held(&self) -> bool {
        let Ok(open) = File::open(&self.path) else {
            return false;
        };
        // let go of when the file is closed
        matches!(open.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Returns the process that has it, as far as that said so.
    pub fn holder(&self) -> Option<u32> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        text.trim().parse().ok()
    }

    fn what_is_waited_for(&self) -> String {
        let work = match &self.name {
            Some(name) => format!("works on `{name}`"),
            None => "lets git write what all worktrees share".to_owned(),
        };
        let pid = in_brackets(self.holder());
        format!("waiting for another git agentwt that {work}{pid} …")
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // still locked: no other process can have taken this very file
        let _ = std::fs::remove_file(&self.file);
        remove_if_unused(&self.file);
    }
}

/// Removes the directories that were made for a lock file, if nothing is in them.
fn remove_if_unused(file: &Utf8Path) {
    for directory in file.ancestors().skip(1).take(2) {
        remove_if_empty(directory);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn lock_of(directory: &tempfile::TempDir, waiting: Waiting) -> LockFile {
        let path = directory.path().join("agentwt/locks/task-5");
        LockFile {
            path: Utf8PathBuf::from_path_buf(path).expect("it is UTF-8"),
            name: Some("task-5".to_owned()),
            waiting,
        }
    }

    #[test]
    fn a_lock_leaves_nothing_behind() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = lock_of(&directory, Waiting::default());
        let lock = Lock::wait(&file).expect("it is free");
        assert_eq!(file.holder(), Some(std::process::id()));
        drop(lock);
        let left = std::fs::read_dir(directory.path()).expect("it is there");
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn two_never_have_it_and_all_get_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = lock_of(&directory, Waiting::default());
        let inside = AtomicUsize::new(0);
        let rounds = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let _lock = Lock::wait(&file).expect("it comes");
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "we are alone");
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        rounds.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(rounds.into_inner(), 200);
    }

    #[test]
    fn who_does_not_want_to_wait_hears_whom_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let _held = Lock::wait(&lock_of(&directory, Waiting::default())).expect("it is free");
        let impatient = Waiting {
            no_wait: true,
            ..Waiting::default()
        };
        let refused = Lock::wait(&lock_of(&directory, impatient)).map(drop);
        let refused = refused.expect_err("it was taken");
        let LockHeld { name, pid } = refused.find().expect("it is held");
        assert_eq!((name.as_str(), *pid), ("task-5", Some(std::process::id())));
    }

    #[test]
    fn a_signal_ends_the_waiting_but_not_that_of_an_undo() {
        let directory = tempfile::tempdir().expect("a directory");
        let held = Lock::wait(&lock_of(&directory, Waiting::default())).expect("it is free");
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let waiting = Waiting {
            log: Log::to(move |line| heard.lock().expect("unhurt").push(line.to_owned())),
            ..Waiting::default()
        };
        let file = lock_of(&directory, waiting.clone());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Lock::wait(&file).map(drop));
            let undoes = scope.spawn(|| Lock::wait_to_undo(&file).map(drop));
            while said.lock().expect("unhurt").len() < 2 {
                std::thread::yield_now();
                std::thread::sleep(LONGEST);
            }
            waiting.signal.store(15, Ordering::SeqCst);
            let ended = waits.join().expect("no panic");
            let ended = ended.expect_err("it was stopped");
            assert_eq!(ended.find(), Some(&Interrupted { signal: 15 }));
            drop(held);
            undoes.join().expect("no panic").expect("it comes");
        });
        let own = std::process::id();
        let line = format!("waiting for another git agentwt that works on `task-5` (pid {own}) …");
        assert_eq!(*said.lock().expect("unhurt"), [line.clone(), line]);
    }
}
