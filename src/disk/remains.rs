//! Removes what killed processes left: lock files of a killed git, temporary files of ours.
//!
//! Nothing marks a lock file as dead. One counts as such when it was made after something of ours
//! was, and nothing has happened to it while it was watched: a living git holds a lock for
//! milliseconds, and one that writes for longer can be seen to (`packed-refs.new` grows).
#![expect(clippy::disallowed_methods, reason = "removes files it is told of")]

use std::time::{Duration, Instant, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files::TEMPORARY;

/// How often a lock file is looked at while it is watched.
const PAUSE: Duration = Duration::from_millis(20);

/// How long nothing may happen to a lock file until it counts as dead: any git takes some of them.
const PATIENCE: Duration = Duration::from_secs(2);

/// What changes when a process is at work: inode, size, and time of the last change.
type Look = (u64, u64, SystemTime);

/// Removes the dead ones of these lock files: made after the file `since` was, and without a
/// change for as long as they are watched. Returns at once where there is none.
pub fn remove_dead_locks(locks: &[Utf8PathBuf], since: &Utf8Path) {
    let seen = |lock: &Utf8PathBuf| (look(lock), look(&lock.with_extension("new")));
    let is_new = |lock: &&Utf8PathBuf| look(lock).is_some() && is_newer(lock, since);
    let new = locks.iter().filter(is_new);
    let mut watched: Vec<_> = new.map(|lock| (lock, seen(lock))).collect();
    let until = Instant::now() + PATIENCE;
    while !watched.is_empty() && Instant::now() < until {
        std::thread::sleep(PAUSE);
        watched.retain(|(lock, was)| seen(lock) == *was);
    }
    for (lock, _) in watched {
        // first what the lock guards: without it the next one would find it free
        let _ = std::fs::remove_file(lock.with_extension("new"));
        let _ = std::fs::remove_file(lock);
    }
}

fn look(file: &Utf8Path) -> Option<Look> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::symlink_metadata(file).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.modified().ok()?))
}

/// Whether something was changed after a file was made, or at the same time.
pub fn is_newer(path: &Utf8Path, file: &Utf8Path) -> bool {
    let modified = |path| look(path).map(|(.., modified)| modified);
    modified(file).is_some_and(|since| modified(path) >= Some(since))
}

/// Removes the temporary files that a killed [`write`](super::files::write) left in a directory, of
/// the files with these names (`[""]`: all). The caller holds the lock under which alone these are
/// written there.
pub fn sweep(directory: &Utf8Path, names: &[&str]) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let of = |file: &&str| name.starts_with(&format!("{TEMPORARY}{file}"));
        if names.iter().any(of) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removes a directory into which a process that is about to end may still write: it is tried again
/// for a moment.
///
/// # Errors
/// As [`remove_directory`](super::files::remove_directory).
pub fn remove_busy_directory(directory: &Utf8Path) -> Result<(), super::DiskError> {
    for pause in [20, 50, 100, 200, 400, 800] {
        match super::files::remove_directory(directory) {
            Ok(()) if !super::files::exists(directory) => return Ok(()),
            Ok(()) | Err(_) => std::thread::sleep(Duration::from_millis(pause)),
        }
    }
    super::files::remove_directory(directory)
}

#[cfg(test)]
mod tests {
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
