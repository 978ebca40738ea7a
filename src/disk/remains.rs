//! Removes what killed processes left: lock files of a killed git, temporary files of ours.
//!
//! Nothing marks a lock file as dead. One counts as such when it was made after something of ours
//! was, and nothing has happened to it while it was watched: a living git holds a lock for
//! milliseconds, and one that writes for longer can be seen to (`packed-refs.new` grows).
#![expect(clippy::disallowed_methods, reason = "removes files it is told of")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::error::DiskError;
use crate::disk::files::{TEMPORARY, exists, remove_directory, stat};
use crate::inventory::manifest::Stat;

/// How often a lock file is looked at while it is watched.
const PAUSE: Duration = Duration::from_millis(20);

/// How long nothing may happen to a lock file until it counts as dead: any git takes some of them.
const PATIENCE: Duration = Duration::from_secs(2);

/// Holds a lock file that is watched, and the file beside it into which git writes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WatchedLock {
    lock: Utf8PathBuf,
    new: Utf8PathBuf,
    lock_stat: Option<Stat>,
    new_stat: Option<Stat>,
}

impl WatchedLock {
    fn of(lock: &Utf8Path) -> Self {
        let new = lock.with_extension("new");
        Self {
            lock_stat: stat(lock),
            new_stat: stat(&new),
            lock: lock.to_owned(),
            new,
        }
    }
}

/// Removes the dead ones of these lock files: made after the file `since` was, and without a
/// change for as long as they are watched. Returns at once where there is none.
pub fn remove_dead_locks(locks: &[Utf8PathBuf], since: &Utf8Path) {
    let mut watched = Vec::new();
    for lock in locks {
        if exists(lock) && is_newer(lock, since) {
            watched.push(WatchedLock::of(lock));
        }
    }
    let until = Instant::now() + PATIENCE;
    while !watched.is_empty() && Instant::now() < until {
        thread::sleep(PAUSE);
        watched.retain(|before| WatchedLock::of(&before.lock) == *before);
    }
    for dead in watched {
        // first what the lock guards: without it the next one would find it free
        let _ = fs::remove_file(dead.new);
        let _ = fs::remove_file(dead.lock);
    }
}

/// True if something was changed after a file was made, or at the same time.
pub fn is_newer(path: &Utf8Path, file: &Utf8Path) -> bool {
    match (stat(path), stat(file)) {
        (Some(changed), Some(made)) => changed.mtime >= made.mtime,
        _ => false,
    }
}

/// Removes the temporary files that a killed [`write`](crate::disk::files::write) left in a
/// directory, of the files with these names (`[""]`: all). The caller holds the lock under which
/// alone these are written there.
pub fn sweep(directory: &Utf8Path, names: &[&str]) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let file_name = entry.file_name();
        let name = file_name.to_string_lossy();
        let is_ours = match name.strip_prefix(TEMPORARY) {
            Some(rest) => names.iter().any(|file| rest.starts_with(file)),
            None => false,
        };
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes a directory into which a process that is about to end may still write: it is tried again
/// for a moment.
///
/// # Errors
/// As [`remove_directory`].
pub fn remove_busy_directory(directory: &Utf8Path) -> Result<(), DiskError> {
    for pause in [20, 50, 100, 200, 400, 800] {
        match remove_directory(directory) {
            Ok(()) if !exists(directory) => return Ok(()),
            Ok(()) | Err(_) => thread::sleep(Duration::from_millis(pause)),
        }
    }
    remove_directory(directory)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    struct Place {
        _held: tempfile::TempDir,
        path: Utf8PathBuf,
    }

    fn place() -> Place {
        let held = tempfile::tempdir().expect("a directory");
        let path = Utf8PathBuf::from_path_buf(held.path().to_owned()).expect("UTF-8");
        Place { _held: held, path }
    }

    fn put(file: &Utf8Path, text: &str) {
        std::fs::write(file, text).expect("a file");
    }

    #[test]
    fn a_lock_that_nobody_touches_is_removed_with_what_it_guarded() {
        let place = place();
        let [since, lock, new] =
            ["intent", "packed-refs.lock", "packed-refs.new"].map(|name| place.path.join(name));
        for file in [&since, &lock, &new] {
            put(file, "");
        }
        remove_dead_locks(std::slice::from_ref(&lock), &since);
        assert!(!lock.exists() && !new.exists() && since.exists());
    }

    #[test]
    fn a_lock_from_before_stays() {
        let place = place();
        let (lock, since) = (place.path.join("x.lock"), place.path.join("intent"));
        put(&lock, "");
        let old = SystemTime::now() - Duration::from_secs(60);
        let open = std::fs::File::options().write(true).open(&lock);
        open.and_then(|file| file.set_modified(old))
            .expect("a time");
        put(&since, "");
        remove_dead_locks(std::slice::from_ref(&lock), &since);
        assert!(lock.exists());
    }

    #[test]
    fn a_lock_whose_holder_is_at_work_stays() {
        let place = place();
        let [since, lock, new] =
            ["intent", "packed-refs.lock", "packed-refs.new"].map(|name| place.path.join(name));
        put(&since, "");
        put(&lock, "");
        let growing = std::thread::spawn(move || {
            for n in 0..20 {
                put(&new, &"x".repeat(n));
                std::thread::sleep(Duration::from_millis(15));
            }
        });
        remove_dead_locks(std::slice::from_ref(&lock), &since);
        growing.join().expect("it ends");
        assert!(lock.exists());
    }
}
