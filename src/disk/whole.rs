//! Reads a file whole; a large one in two pieces at once.
//!
//! What is in memory already is copied, and the place it is copied to is given page by page: for the
//! index of a large repository, which every hook reads, that is a part of the time it takes.
#![allow(clippy::disallowed_methods, reason = "the boundary to the disk")]

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, OpenOptionsExt as _};

use camino::Utf8Path;
use rustix::fs::OFlags;

/// From how many bytes on a second thread is worth its start.
const LARGE: usize = 2 << 20;
/// From how many on no place is asked for at once: a file can say that it has more than there is.
const HUGE: usize = 1 << 30;

/// Reads all that is in a file.
pub(super) fn read(file: &Utf8Path) -> Result<Vec<u8>> {
    // a pipe would make us wait for one who writes into it
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut open = File::options().read(true).custom_flags(flags).open(file)?;
    let metadata = open.metadata()?;
    if metadata.file_type().is_fifo() {
        return Err(Error::other("it is a pipe, not a file"));
    }
    let told = usize::try_from(metadata.len()).unwrap_or(0);
    let mut bytes = match told {
        ..LARGE => Vec::with_capacity(told),
        LARGE..HUGE => in_two(&open, told)?,
        HUGE.. => Vec::new(),
    };
    if !bytes.is_empty() {
        open.seek(SeekFrom::Start(bytes.len() as u64))?;
    }
    open.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first bytes, so many; none of them where there are not as many.
fn in_two(file: &File, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let (first, second) = bytes.split_at_mut(length / 2);
    let at = first.len() as u64;
    let (first, second) = std::thread::scope(|threads| {
        let first = threads.spawn(|| file.read_exact_at(first, 0));
        let second = file.read_exact_at(second, at);
        let first = first.join();
        let first = first.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (first, second)
    });
    match first.and(second) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_comes_whatever_its_size() {
        let directory = tempfile::tempdir().expect("there is room");
        let file = directory.path().join("file");
        let file = Utf8Path::from_path(&file).expect("it is UTF-8");
        for size in [0, 1, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 7] {
            let written: Vec<u8> = (0..=250).cycle().take(size).collect();
            std::fs::write(file, &written).expect("there is room");
            assert!(read(file).expect("it is there") == written, "{size}");
        }
    }

    #[test]
    fn what_is_cut_short_or_goes_on_is_read_as_it_stands() {
        let directory = tempfile::tempdir().expect("there is room");
        let file = directory.path().join("file");
        std::fs::write(&file, vec![7; LARGE]).expect("there is room");
        let open = File::open(&file).expect("it is there");
        assert_eq!(in_two(&open, LARGE + 1).expect("it is read"), b"");
        assert_eq!(
            in_two(&open, LARGE - 1).expect("it is read").len(),
            LARGE - 1
        );
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let directory = tempfile::tempdir().expect("there is room");
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("it starts").success());
        let pipe = Utf8Path::from_path(&pipe).expect("it is UTF-8");
        assert!(read(pipe).is_err());
    }
}
