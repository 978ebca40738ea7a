//! Writes down how the files of a removed worktree were: [`Listed`].
//!
//! The list is a difference from what a checkout of HEAD within the scope gives. Four fields a
//! path, each ended by NUL: the path; what stood there (`-`, `=` for what a checkout gives,
//! `<mode> <id>`, `placed <mode> <id>`, `source`, `directory` or `special`); its permission bits, in
//! octal or `-` for the usual ones; and those that it was recorded with, where they count.

use crate::entry::{Entry, Mode, ObjectId};
use crate::path::RepoPath;

/// Holds how a path was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The path.
    pub path: RepoPath,
    /// What stood there.
    pub stood: Stood,
    /// Its permission bits, if they were not the usual ones.
    pub bits: Option<u32>,
    /// The mode that it was recorded with, where it had got a write bit since.
    pub recorded: Option<u32>,
}

/// Says what stood at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stood {
    /// Nothing.
    Nothing,
    /// What a checkout gives.
    AsCheckedOut,
    /// A file or a link: the raw bytes.
    Content(Entry),
    /// A placed file as it was placed: the raw bytes.
    Placed(Entry),
    /// A placed file as it was placed, which is to be had where it came from.
    AtSource,
    /// A directory.
    Directory,
    /// What has no content: a FIFO, socket or device.
    Special,
}

/// Writes a list.
#[must_use]
pub fn to_bytes(list: &[Listed]) -> Vec<u8> {
    let octal = |bits: Option<u32>| bits.map_or_else(|| "-".to_owned(), |bits| format!("{bits:o}"));
    let mut bytes = Vec::new();
    for one in list {
        bytes.extend_from_slice(one.path.as_bstr());
        let stood = match one.stood {
            Stood::Nothing => "-".to_owned(),
            Stood::AsCheckedOut => "=".to_owned(),
            Stood::Content(entry) => in_git(entry),
            Stood::Placed(entry) => format!("placed {}", in_git(entry)),
            Stood::AtSource => "source".to_owned(),
            Stood::Directory => "directory".to_owned(),
            Stood::Special => "special".to_owned(),
        };
        let (bits, recorded) = (octal(one.bits), octal(one.recorded));
        bytes.extend_from_slice(format!("\0{stood}\0{bits}\0{recorded}\0").as_bytes());
    }
    bytes
}

fn in_git(entry: Entry) -> String {
    format!("{} {}", entry.mode.git_octal().unwrap_or("0"), entry.id)
}

/// Reads a list; none when it is not one.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Option<Vec<Listed>> {
    let fields: Vec<&[u8]> = match bytes.strip_suffix(b"\0") {
        Some(bytes) => bytes.split(|byte| *byte == 0).collect(),
        None if bytes.is_empty() => Vec::new(),
        None => return None,
    };
    let (records, rest) = fields.as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    records.iter().map(listed).collect()
}

fn listed([path, stood, bits, recorded]: &[&[u8]; 4]) -> Option<Listed> {
    let stood = match std::str::from_utf8(stood).ok()? {
        "-" => Stood::Nothing,
        "=" => Stood::AsCheckedOut,
        "source" => Stood::AtSource,
        "directory" => Stood::Directory,
        "special" => Stood::Special,
        text => match text.strip_prefix("placed ") {
            Some(text) => Stood::Placed(entry(text)?),
            None => Stood::Content(entry(text)?),
        },
    };
    Some(Listed {
        path: RepoPath::parse(*path).ok()?,
        stood,
        bits: octal(bits)?.0,
        recorded: octal(recorded)?.0,
    })
}

/// Permission bits, or none.
struct Bits(Option<u32>);

fn octal(field: &[u8]) -> Option<Bits> {
    match std::str::from_utf8(field).ok()? {
        "-" => Some(Bits(None)),
        text => {
            let bits = u32::from_str_radix(text, 8).ok()?;
            (bits <= 0o177_777).then_some(Bits(Some(bits)))
        }
    }
}

fn entry(text: &str) -> Option<Entry> {
    let (mode, id) = text.split_once(' ')?;
    let modes = [Mode::File, Mode::Executable, Mode::Link];
    let mode = modes.into_iter().find(|m| m.git_octal() == Some(mode))?;
    let id = ObjectId::from_hex(id.as_bytes())?;
    Some(Entry { mode, id })
}
