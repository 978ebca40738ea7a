//! Judges the file system, and who we are on it.

use super::{Diagnosis, Level, Topic};
use crate::size::Size;

/// Holds what the repository stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its kind, where it is known.
    pub kind: Option<Kind>,
    /// Whether a file lock of one process is seen by another (flock(2)).
    pub locks: Kept,
    /// Whether a file that is made read-only is.
    pub write_bits: Kept,
    /// `core.ignoreCase` is true.
    pub ignores_case: bool,
    /// `core.fileMode` is false.
    pub ignores_executable: bool,
    /// Bytes of placed files that are copied for each worktree.
    pub placed: u64,
    /// Bytes that are free.
    pub free: u64,
    /// Bytes of the files of a whole checkout, where the index tells.
    pub checkout: Option<u64>,
    /// Whether processes can be looked at (proc(5)).
    pub processes: Kept,
    /// Whether we are root.
    pub is_root: bool,
}

/// Holds the kind of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name, as mount(8) has it.
    pub name: &'static str,
    /// Where its files are.
    pub place: Place,
    /// Whether a copy can share its bytes.
    pub clones: Clones,
}

/// Says where files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On this host.
    Local,
    /// On another host, or served by a program.
    Served,
}

/// Says whether copies can share bytes until one is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clones {
    /// They can, or could.
    Maybe,
    /// They cannot.
    Never,
}

/// Says whether something holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It could not be tried, for this reason.
    Unknown(String),
}

fn line(check: &'static str, level: Level, found: impl Into<String>) -> Diagnosis {
    Diagnosis::new(Topic::FileSystem, check, level, found)
}

/// From how many bytes of copies on sharing them would be felt.
const LARGE: u64 = 100 * 1024 * 1024;

/// Judges it.
#[must_use]
pub fn diagnose(fs: &FileSystem) -> Vec<Diagnosis> {
    let mut lines = vec![kind(fs.kind)];
    lines.extend(kept(fs));
    let note = |check, found: &str, fix: &str| line(check, Level::Note, found).fixed_by(fix);
    if fs.ignores_case {
        lines.push(note(
            "ignores-case",
            "names that differ in case are one here (core.ignoreCase): scopes match so, too",
            "nothing, unless git is wrong: git config core.ignoreCase false",
        ));
    }
    if fs.ignores_executable {
        lines.push(note(
            "executable-bit",
            "the executable bit is not kept here (core.fileMode=false): a change of it is not seen",
            "nothing, unless git is wrong: git config core.fileMode true",
        ));
    }
    let never = fs.kind.is_some_and(|kind| kind.clones == Clones::Never);
    if never && fs.placed >= LARGE {
        let found = format!(
            "copies cannot share bytes here, and {} are placed",
            Size(fs.placed)
        );
        let fix = "a file system with reflinks (btrfs, xfs, APFS), or fewer patterns in [worktree.file_sync]";
        lines.push(note("reflinks", &found, fix));
    }
    lines.push(space(fs));
    if fs.is_root {
        lines.push(note(
            "root",
            "you are root: read-only files stop neither you nor an agent that you start",
            "start agents as an ordinary user; verify finds every change all the same",
        ));
    }
    lines
}

fn kind(kind: Option<Kind>) -> Diagnosis {
    let Some(Kind { name, place, .. }) = kind else {
        return line(
            "file-system",
            Level::Ok,
            "a file system of a kind that is not listed",
        );
    };
    match place {
        Place::Local => line("file-system", Level::Ok, format!("{name}, on this host")),
        Place::Served => {
            let found = format!(
                "{name}: it is served by another host or a program, which makes git slow, and locks and times less certain"
            );
            line("file-system", Level::Warning, found)
                .fixed_by("clone the repository onto a disk of this host")
        }
    }
}

fn kept(fs: &FileSystem) -> Vec<Diagnosis> {
    let mut lines = Vec::new();
    let mut bad = |check, kept: &Kept, found: &str, level, fix: &str| match kept {
        Kept::Yes => {}
        Kept::No => lines.push(line(check, level, found).fixed_by(fix)),
        Kept::Unknown(why) => {
            let found = format!("could not be tried: {why}");
            lines.push(line(check, Level::Warning, found).fixed_by("let this user write there"));
        }
    };
    bad(
        "locks",
        &fs.locks,
        "file locks do not hold here: two `add` at once could break each other",
        Level::Problem,
        "clone the repository onto a disk of this host",
    );
    bad(
        "write-bits",
        &fs.write_bits,
        "a file cannot be made read-only here: the read list is only verified",
        Level::Warning,
        "clone the repository onto a file system with permissions",
    );
    bad(
        "processes",
        &fs.processes,
        "processes cannot be looked at (/proc): a dead owner or a used worktree is not noticed",
        Level::Note,
        "mount -t proc proc /proc",
    );
    lines
}

fn space(fs: &FileSystem) -> Diagnosis {
    let free = Size(fs.free);
    match fs.checkout {
        Some(checkout) if fs.free < checkout.saturating_mul(2) => {
            let found = format!(
                "{free} are free, and a checkout of everything takes {}",
                Size(checkout)
            );
            let fix = "git agentwt list, and remove what is done; a scope with a short read list takes less";
            line("space", Level::Warning, found).fixed_by(fix)
        }
        Some(checkout) => {
            let found = format!(
                "{free} are free; a checkout of everything takes {}",
                Size(checkout)
            );
            line("space", Level::Ok, found)
        }
        None => line("space", Level::Ok, format!("{free} are free")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> FileSystem {
        FileSystem {
            kind: Some(Kind {
                name: "ext4",
                place: Place::Local,
                clones: Clones::Never,
            }),
            locks: Kept::Yes,
            write_bits: Kept::Yes,
            ignores_case: false,
            ignores_executable: false,
            placed: 0,
            free: 1 << 40,
            checkout: Some(1 << 20),
            processes: Kept::Yes,
            is_root: false,
        }
    }

    #[test]
    fn each_shortcoming_has_a_line() {
        let told = |change: fn(&mut FileSystem)| {
            let mut fs = good();
            change(&mut fs);
            let lines = diagnose(&fs);
            let bad = lines.iter().filter(|line| line.level != Level::Ok);
            bad.map(|line| format!("{} {}", line.level.as_str(), line.check))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(told(|_| {}), "");
        assert_eq!(
            told(|fs| fs.kind = fs.kind.map(|kind| Kind {
                place: Place::Served,
                ..kind
            })),
            "warning file-system"
        );
        assert_eq!(told(|fs| fs.kind = None), "");
        assert_eq!(told(|fs| fs.locks = Kept::No), "problem locks");
        assert_eq!(told(|fs| fs.write_bits = Kept::No), "warning write-bits");
        assert_eq!(told(|fs| fs.processes = Kept::No), "note processes");
        assert_eq!(told(|fs| fs.ignores_case = true), "note ignores-case");
        assert_eq!(
            told(|fs| fs.ignores_executable = true),
            "note executable-bit"
        );
        assert_eq!(told(|fs| fs.placed = LARGE), "note reflinks");
        assert_eq!(told(|fs| fs.free = 1 << 20), "warning space");
        assert_eq!(told(|fs| fs.is_root = true), "note root");
    }
}
