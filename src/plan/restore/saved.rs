//! Writes down how paths were before a restore, for `restore --undo`: [`SavedPath`].
//!
//! The list is a blob in the rescue commit's last parent. Three fields a path, each ended by NUL:
//! the path; what stood on disk (`<mode> <id>`, and for files ` <permission bits>`, in octal, which
//! older lists have not; or `directory`, `special` or `-`); and its index entries
//! (`<mode> <id> <stage>`, comma-separated). Nothing else in git can say of a path that
//! it was *absent*, or that nothing was staged there.

use crate::entry::{Entry, Mode, ObjectId};
use crate::path::RepoPath;

/// Holds how a path was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPath {
    /// The path.
    pub path: RepoPath,
    /// What stood on disk: the raw bytes.
    pub disk: Option<Entry>,
    /// The permission bits of the file that stood there, if they are known.
    pub permissions: Option<u32>,
    /// Its entries in the index, with their stages.
    pub index: Vec<(u8, Entry)>,
}

/// Writes a list.
#[must_use]
pub fn to_bytes(paths: &[SavedPath]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for saved in paths {
        bytes.extend_from_slice(saved.path.as_bstr());
        let index = saved.index.iter();
        let index: Vec<String> = index
            .filter_map(|(stage, entry)| Some(format!("{} {stage}", in_git(*entry)?)))
            .collect();
        let disk = match saved.disk {
            None => "-".to_owned(),
            Some(entry) => on_disk(entry, saved.permissions),
        };
        bytes.extend_from_slice(format!("\0{disk}\0{}\0", index.join(",")).as_bytes());
    }
    bytes
}

fn on_disk(entry: Entry, permissions: Option<u32>) -> String {
    let Some(text) = in_git(entry) else {
        let empty = entry.mode == Mode::EmptyDirectory;
        return if empty { "directory" } else { "special" }.to_owned();
    };
    match permissions.filter(|_| entry.mode.is_regular()) {
        Some(bits) => format!("{text} {bits:04o}"),
        None => text,
    }
}

fn in_git(entry: Entry) -> Option<String> {
    Some(format!("{} {}", entry.mode.git_octal()?, entry.id))
}

/// Reads a list; none when it is not one.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Option<Vec<SavedPath>> {
    let fields: Vec<&[u8]> = match bytes.strip_suffix(b"\0") {
        Some(bytes) => bytes.split(|byte| *byte == 0).collect(),
        None if bytes.is_empty() => Vec::new(),
        None => return None,
    };
    let (records, rest) = fields.as_chunks::<3>();
    if !rest.is_empty() {
        return None;
    }
    records.iter().map(saved_path).collect()
}

fn saved_path([path, disk, index]: &[&[u8]; 3]) -> Option<SavedPath> {
    let none = |mode| Entry {
        mode,
        id: ObjectId::none(),
    };
    let mut permissions = None;
    let disk = match std::str::from_utf8(disk).ok()? {
        "-" => None,
        "directory" => Some(none(Mode::EmptyDirectory)),
        "special" => Some(none(Mode::Special)),
        text => {
            let (text, bits) = with_permissions(text)?;
            permissions = bits;
            Some(entry(text)?)
        }
    };
    let index = std::str::from_utf8(index).ok()?;
    let staged = index
        .split(',')
        .filter(|text| !text.is_empty())
        .map(|text| {
            let (text, stage) = text.rsplit_once(' ')?;
            let stage = stage.parse().ok().filter(|stage| *stage < 4)?;
            Some((stage, entry(text)?))
        });
    Some(SavedPath {
        path: RepoPath::parse(*path).ok()?,
        disk,
        permissions,
        index: staged.collect::<Option<_>>()?,
    })
}

/// Takes the permission bits off, if there are any.
fn with_permissions(text: &str) -> Option<(&str, Option<u32>)> {
    let (rest, bits) = text.rsplit_once(' ')?;
    if !rest.contains(' ') {
        return Some((text, None));
    }
    let bits = u32::from_str_radix(bits, 8).ok();
    let bits = bits.filter(|bits| *bits <= 0o777)?;
    Some((rest, Some(bits)))
}

fn entry(text: &str) -> Option<Entry> {
    let (mode, id) = text.split_once(' ')?;
    let modes = [Mode::File, Mode::Executable, Mode::Link, Mode::Gitlink];
    let mode = modes.into_iter().find(|m| m.git_octal() == Some(mode))?;
    let digits = id.as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> = digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    let id = ObjectId::from_bytes(&bytes?)?;
    Some(Entry { mode, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(byte: u8) -> Entry {
        let id = ObjectId::from_bytes(&[byte; 20]).expect("20 bytes");
        let mode = Mode::File;
        Entry { mode, id }
    }

    #[test]
    fn a_list_is_read_back_as_it_was_written() {
        let none = |mode| Entry {
            mode,
            id: ObjectId::none(),
        };
        let saved = |path: &[u8], disk, index: &[(u8, Entry)]| SavedPath {
            path: RepoPath::parse(path).expect("it is normal"),
            disk,
            permissions: None,
            index: index.to_vec(),
        };
        let list = [
            saved(b"-a\n\xff, b", Some(file(1)), &[(0, file(2))]),
            saved(b"c", None, &[(1, file(3)), (2, file(4)), (3, file(5))]),
            saved(b"d", Some(none(Mode::EmptyDirectory)), &[]),
            saved(b"e", Some(none(Mode::Special)), &[]),
        ];
        assert_eq!(from_bytes(&to_bytes(&list)).as_deref(), Some(&list[..]));
        assert_eq!(from_bytes(b""), Some(Vec::new()));
    }

    #[test]
    fn permissions_are_kept_and_older_lists_have_none() {
        let id = "01".repeat(20);
        let read = |text: String| Some(from_bytes(text.as_bytes())?.first()?.permissions);
        assert_eq!(read(format!("a\0100644 {id} 0600\0\0")), Some(Some(0o600)));
        assert_eq!(read(format!("a\0100644 {id}\0\0")), Some(None));
        for odd in ["9", "1777", "-1", "", "0600 0600"] {
            assert_eq!(read(format!("a\0100644 {id} {odd}\0\0")), None, "{odd}");
        }
        let bytes = format!("a\0100755 {id} 0700\0100644 {id} 0\0");
        let list = from_bytes(bytes.as_bytes()).expect("it is one");
        assert_eq!(to_bytes(&list), bytes.as_bytes());
    }

    #[test]
    fn what_is_no_list_is_not_read_as_one() {
        for bytes in [
            &b"a"[..],
            b"a\0-\0",
            b"a\0x\0\0",
            b"../a\0-\0\0",
            b"a\0-\x00100644 0 9\0",
        ] {
            assert_eq!(from_bytes(bytes), None, "{bytes:?}");
        }
    }
}
