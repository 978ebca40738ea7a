//! Proves by stat data that files of a directory tree were not touched since a moment.
//!
//! It is asked about files by name, and finds on its way which directories were changed since:
//! something was made, removed or renamed in them. It reads nothing and makes no path for what is
//! proven. What it does not prove is for the caller to look at.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use super::directories::DIRECTORY;
use super::error::DiskError;
use super::listing::Listing;
use super::stat::stat_from;
use crate::manifest::{IndexStat, Stat};

/// How many files a thread takes at once.
const BLOCK: usize = 512;

/// Holds a file that is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Its path, below the root.
    pub path: &'a BStr,
    /// What an index has of its stat data.
    pub stat: IndexStat,
    /// Whether they prove anything: they do not where the file may have changed in the very moment in
    /// which they were taken.
    pub tells: bool,
}

/// Holds what is not proven to be untouched.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Files, by their place in the list: with their stat data, or none where nothing is there.
    pub files: Vec<(usize, Option<Stat>)>,
    /// Directories in which something was made, removed or renamed; empty for the root.
    pub directories: Vec<BString>,
}

/// Looks at files, sorted by path, and at the directories on the way to them. What was changed at
/// `since` or later is touched: the change time is the one that no call can set (inode(7)). So is
/// a file whose stat data are not the expected ones: another may have been moved into its place.
///
/// # Errors
/// Fails when the root cannot be opened, or something below it cannot be looked at.
pub fn touched(root: &Utf8Path, files: &[Expected<'_>], since: i64) -> Result<Touched, DiskError> {
    let failed = |error: Errno| DiskError::new(format!("look at {root}"), error);
    let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
    let top = openat(CWD, root.as_std_path(), flags, Mode::empty()).map_err(failed)?;
    let mut all = Touched::default();
    if stat_from(&fstat(&top).map_err(failed)?).ctime >= since {
        all.directories.push(BString::default());
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut looking = Looking::new(top.as_fd(), since);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed) * BLOCK;
            let Some(rest) = files.get(at..).filter(|rest| !rest.is_empty()) else {
                return Ok(looking.touched);
            };
            for (more, file) in rest.iter().take(BLOCK).enumerate() {
                looking.file(at + more, file)?;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
    let threads = threads.min(files.len().div_ceil(BLOCK)).max(1);
    let parts: Vec<Result<Touched, Errno>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
            handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        handles.into_iter().map(join).chain([own]).collect()
    });
    for part in parts {
        let part = part.map_err(failed)?;
        all.files.extend(part.files);
        all.directories.extend(part.directories);
    }
    all.files.sort_unstable_by_key(|(at, _)| *at);
    all.directories.sort_unstable();
    all.directories.dedup();
    Ok(all)
}

/// Looks at one file after another, and keeps the directories open that lead to it.
struct Looking<'a> {
    root: BorrowedFd<'a>,
    since: i64,
    /// The directory of the last file, and the length of each part of it that is open.
    path: Vec<u8>,
    open: Vec<(usize, Option<OwnedFd>)>,
    touched: Touched,
}

impl<'a> Looking<'a> {
    fn new(root: BorrowedFd<'a>, since: i64) -> Self {
        Self {
            root,
            since,
            path: Vec::new(),
            open: Vec::new(),
            touched: Touched::default(),
        }
    }

    fn file(&mut self, at: usize, file: &Expected<'_>) -> Result<(), Errno> {
        let path = file.path;
        let (directory, name) = match path.rfind_byte(b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (b"".as_bstr(), path),
        };
        if self.path != **directory {
            self.go_to(directory)?;
        }
        let above = match self.open.last() {
            Some((_, Some(fd))) => fd.as_fd(),
            Some((_, None)) => {
                self.touched.files.push((at, None));
                return Ok(());
            }
            None => self.root,
        };
        let stat = match statat(above, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat_from(&stat)),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(error),
        };
        let proven = |stat: &Stat| file.tells && stat.ctime < self.since && file.stat.is_of(stat);
        if !stat.as_ref().is_some_and(proven) {
            self.touched.files.push((at, stat));
        }
        Ok(())
    }

    /// Opens what is missing on the way, and closes what is not on it.
    fn go_to(&mut self, directory: &BStr) -> Result<(), Errno> {
        let is_on_the_way = |length: usize| {
            directory.starts_with(&self.path[..length])
                && matches!(directory.get(length), None | Some(b'/'))
        };
        let shared = self
            .open
            .iter()
            .take_while(|(length, _)| is_on_the_way(*length));
        let shared = shared.count();
        self.open.truncate(shared);
        self.path.clear();
        self.path.extend_from_slice(directory);
        let mut start = self.open.last().map_or(0, |(length, _)| length + 1);
        while start < directory.len() {
            let rest = &directory[start..];
            let end = start + rest.find_byte(b'/').unwrap_or(rest.len());
            let above = match self.open.last() {
                Some((_, above)) => above.as_ref().map(AsFd::as_fd),
                None => Some(self.root),
            };
            let fd = match above {
                Some(above) => enter(above, &directory[start..end])?,
                None => None,
            };
            if let Some(fd) = &fd
                && stat_from(&fstat(fd)?).ctime >= self.since
            {
                self.touched.directories.push(directory[..end].into());
            }
            self.open.push((end, fd));
            start = end + 1;
        }
        Ok(())
    }
}

/// Opens a directory; none where there is none, or a link in its place.
fn enter(above: BorrowedFd<'_>, name: &[u8]) -> Result<Option<OwnedFd>, Errno> {
    match openat(above, name, DIRECTORY, Mode::empty()) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Says what is known of what stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knows {
    /// It is looked at elsewhere, whatever it is.
    Whatever,
    /// It is, if it is a directory.
    Directory,
    /// Nothing.
    Nothing,
}

/// Whether something in a directory was made or changed at `since` or later, apart from what
/// is known; also in the directories in it, where those are entered: then what is gone counts as
/// well.
///
/// # Errors
/// Fails when something of it cannot be looked at.
pub fn is_stirred(
    root: &Utf8Path,
    directory: &BStr,
    since: i64,
    known: &dyn Fn(&BStr) -> Knows,
    enters: Enters,
) -> Result<bool, DiskError> {
    let failed = |error: Errno| DiskError::new(format!("look at {root}"), error);
    let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
    let top = openat(CWD, root.as_std_path(), flags, Mode::empty()).map_err(failed)?;
    let mut fd = Some(top);
    for name in directory
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
    {
        fd = match &fd {
            Some(above) => enter(above.as_fd(), name).map_err(failed)?,
            None => None,
        };
    }
    match fd {
        Some(fd) => stirred(&fd, directory, since, known, enters).map_err(failed),
        None => Ok(true),
    }
}

/// Says whether directories in a directory are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enters {
    /// They are.
    All,
    /// They are not.
    None,
}

fn stirred(
    fd: &OwnedFd,
    directory: &BStr,
    since: i64,
    known: &dyn Fn(&BStr) -> Knows,
    enters: Enters,
) -> Result<bool, Errno> {
    // what made a nested repository of it may be gone
    if enters == Enters::All && stat_from(&fstat(fd)?).ctime >= since {
        return Ok(true);
    }
    let mut listing = Listing::default();
    listing.read(fd)?;
    for name in listing.names() {
        let path = match directory.as_bytes() {
            b"" => name.to_bytes().to_vec(),
            directory => [directory, b"/", name.to_bytes()].concat(),
        };
        let path = path.as_bstr();
        let known_as = known(path);
        if known_as == Knows::Whatever {
            continue;
        }
        let stat = match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat_from(&stat),
            Err(Errno::NOENT) => return Ok(true),
            Err(error) => return Err(error),
        };
        if known_as == Knows::Directory && stat.is_directory() {
            continue;
        }
        if stat.ctime >= since {
            return Ok(true);
        }
        if stat.is_directory() && enters == Enters::All {
            let below = match enter(fd.as_fd(), name.to_bytes())? {
                Some(below) => stirred(&below, path, since, known, enters)?,
                None => true,
            };
            if below {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
