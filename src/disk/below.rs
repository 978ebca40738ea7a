//! Opens single entries of a worktree for reading, never through a link.
//!
//! Every directory on the way is opened from the one above it without following links: what
//! stands behind a link is not in the worktree, whatever the path says (openat(2),
//! `O_NOFOLLOW`).

use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use super::files::Opened;
use super::stat::{is_regular, stat_from, stat_of};
use crate::path::RepoPath;

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opens what stands at a path of a worktree. Where a link or a file stands on the way, nothing
/// of the worktree does.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn open_below(root: &Utf8Path, path: &RepoPath) -> std::io::Result<Opened> {
    let above = match parent_of(root, path) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Opened::Other),
        other => other?,
    };
    let name = path.file_name().as_bytes();
    let stat = match statat(&above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(Opened::Other),
        other => stat_from(&other?),
    };
    if FileType::from_raw_mode(stat.mode) == FileType::Symlink {
        let text = readlinkat(&above, name, Vec::new())?;
        return Ok(Opened::Link(text.to_bytes().into()));
    }
    if !is_regular(&stat) {
        return Ok(Opened::Other);
    }
    // a FIFO put there since must not block us
    let file = openat(&above, name, FILE | OFlags::NONBLOCK, Mode::empty())?;
    let content = std::fs::File::from(file);
    let metadata = content.metadata()?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("it changed while it was read"));
    }
    Ok(Opened::File {
        size: metadata.len(),
        executable: stat_of(&metadata).mode & 0o100 != 0,
        content,
    })
}

/// Opens the directory that a path is in.
fn parent_of(root: &Utf8Path, path: &RepoPath) -> Result<OwnedFd, Errno> {
    let flags = FILE | OFlags::DIRECTORY;
    let mut directory = openat(CWD, root.as_std_path(), flags, Mode::empty())?;
    let mut components: Vec<&[u8]> = path.as_bstr().split(|byte| *byte == b'/').collect();
    components.pop();
    for name in components {
        directory = openat(&directory, name, flags, Mode::empty())?;
    }
    Ok(directory)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make files")]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_through_a_link() {
        let tmp = tempfile::tempdir().expect("a directory");
        let tmp = Utf8Path::from_path(tmp.path()).expect("it is UTF-8");
        let root = tmp.join("root");
        for directory in [tmp.join("out"), root.join("in/side")] {
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::write(directory.join("f"), "text").expect("a file");
        }
        std::os::unix::fs::symlink(tmp.join("out"), root.join("link")).expect("a link");
        std::os::unix::fs::symlink("in", root.join("near")).expect("a link");
        let read = |path: &str| {
            let path = RepoPath::parse(path).expect("a path");
            match open_below(&root, &path).expect("it can be read") {
                Opened::File { size, .. } => format!("file {size}"),
                Opened::Link(_) => "link".to_owned(),
                Opened::Other => "nothing".to_owned(),
            }
        };
        for (path, stands) in [
            ("in/side/f", "file 4"),
            ("in/side", "nothing"),
            ("in/side/g", "nothing"),
            ("in/side/f/g", "nothing"),
            ("link", "link"),
            ("link/f", "nothing"),
            ("near/side/f", "nothing"),
        ] {
            assert_eq!(read(path), stands, "{path}");
        }
    }
}
