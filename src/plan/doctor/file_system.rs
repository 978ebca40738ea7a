//! Judges the file system, and who we are on it.

use super::{Diagnosis, Level, Topic};
use crate::disk::file_system::Tried;
use crate::size::Size;

/// Holds what the repository stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its kind, as mount(8) has it, where that is known.
    pub kind: Option<&'static str>,
    /// Whether its files are on another host, or served by a program.
    pub is_served: bool,
    /// What it keeps, or why that could not be tried.
    pub tried: Result<Tried, String>,
    /// Bytes that are free.
    pub free: u64,
    /// Bytes of the files of a whole checkout, where the index tells.
    pub checkout: Option<u64>,
    /// Whether we are root.
    pub is_root: bool,
}

fn line(check: &'static str, level: Level, found: impl Into<String>) -> Diagnosis {
    Diagnosis::new(Topic::FileSystem, check, level, found)
}

/// Judges it: only what loses work or speed has a line.
#[must_use]
pub fn diagnose(fs: &FileSystem) -> Vec<Diagnosis> {
    let elsewhere = "clone the repository onto a disk of this host";
    let mut lines = vec![match fs.kind {
        Some(name) if fs.is_served => line(
            "file-system",
            Level::Warning,
            format!("{name}: another host or a program serves it, which makes git slow, and locks and times less certain"),
        )
        .fixed_by(elsewhere),
        Some(name) => line("file-system", Level::Ok, format!("{name}, on this host")),
        None => line("file-system", Level::Ok, "a file system of an unknown kind"),
    }];
    match &fs.tried {
        Ok(tried) => {
            if !tried.locks {
                let found = "file locks do not hold here: two `add` at once could break each other";
                lines.push(line("locks", Level::Problem, found).fixed_by(elsewhere));
            }
            if !tried.write_bits {
                let found = "a file cannot be made read-only here: the read list is only verified";
                let fix = "clone the repository onto a file system with permissions";
                lines.push(line("write-bits", Level::Warning, found).fixed_by(fix));
            }
        }
        Err(why) => lines.push(
            line(
                "locks",
                Level::Warning,
                format!("could not be tried: {why}"),
            )
            .fixed_by("let this user write there"),
        ),
    }
    lines.push(space(fs));
    if fs.is_root {
        let found = "you are root: read-only bits have no effect";
        let fix = "start agents as an ordinary user; verify finds every change all the same";
        lines.push(line("root", Level::Note, found).fixed_by(fix));
    }
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

    #[test]
    fn each_shortcoming_has_a_line() {
        let lines_of = |change: fn(&mut FileSystem)| {
            let mut fs = FileSystem {
                kind: Some("ext4"),
                is_served: false,
                tried: Ok(Tried {
                    locks: true,
                    write_bits: true,
                }),
                free: 1 << 40,
                checkout: Some(1 << 20),
                is_root: false,
            };
            change(&mut fs);
            let lines = diagnose(&fs);
            let bad = lines.iter().filter(|line| line.level != Level::Ok);
            bad.map(|line| format!("{} {}", line.level.as_str(), line.check))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let tried = |locks, write_bits| Ok(Tried { locks, write_bits });
        assert_eq!(lines_of(|_| {}), "");
        assert_eq!(lines_of(|fs| fs.is_served = true), "warning file-system");
        assert_eq!(lines_of(|fs| fs.kind = None), "");
        for (kept, expected) in [
            (tried(false, true), "problem locks"),
            (tried(true, false), "warning write-bits"),
            (Err("x".to_owned()), "warning locks"),
        ] {
            let fs = FileSystem {
                kind: None,
                is_served: false,
                tried: kept,
                free: 1,
                checkout: None,
                is_root: false,
            };
            let bad = diagnose(&fs)
                .into_iter()
                .find(|line| line.level != Level::Ok);
            let bad = bad.map(|line| format!("{} {}", line.level.as_str(), line.check));
            assert_eq!(bad.as_deref(), Some(expected));
        }
        assert_eq!(lines_of(|fs| fs.free = 1 << 20), "warning space");
        assert_eq!(lines_of(|fs| fs.is_root = true), "note root");
    }
}
