//! Our program as `__init`: the first of ours inside of the mounts of a fence, which restricts
//! itself and becomes the command.
#![expect(
    clippy::disallowed_methods,
    reason = "reads the start file, becomes the command"
)]

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, StatxAttributes, StatxFlags, fstat, statx};
use rustix::io::Errno;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::config::value::Fence;
use crate::fence::landlock::FileView;
use crate::fence::policy::{FenceRequest, Policy};
use crate::fence::program_end::ProgramEnd;
use crate::fence::restrict::error::RestrictError;
use crate::fence::restrict::ruleset::open_plain;
use crate::fence::restrict::{Restriction, end_with_parent, unblock_signals};
use crate::fence::supervise::{CommandEnd, CommandProcess, Supervisor};

/// The word that starts us so, before every other argument.
pub const INIT: &str = "__init";
/// Instead of a file: restricts itself, and reports by the status whether it can.
pub const PROBE: &str = "--probe";

/// Holds what a command's process is restricted to: the start file.
#[derive(Serialize, Deserialize)]
pub struct Start<P = Policy> {
    /// The fence.
    pub fence: Fence,
    /// What it enforces.
    pub policy: P,
    /// What stood at each path that the user asked for.
    pub requested: Vec<RequestedEntry>,
}

/// Says what stands at a path that the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestedEntry {
    /// Nothing.
    Missing,
    /// A regular file, which its program replaces at any time, as the state of an agent.
    File {
        /// The device (`st_dev`).
        device: u64,
    },
    /// A directory or socket.
    Other {
        /// The device (`st_dev`).
        device: u64,
        /// The inode.
        inode: u64,
    },
    /// Nothing that could be granted: a link stands on the way or, inside of the mounts, it was not
    /// mounted.
    Refused,
}

impl RequestedEntry {
    fn at(path: &Path, view: FileView) -> Self {
        let file = match open_plain(path) {
            Ok(file) => file,
            Err(Errno::LOOP) => return Self::Refused,
            Err(_) => return Self::Missing,
        };
        Self::of(&file, view).unwrap_or(Self::Refused)
    }

    /// What an open file is; refused inside of the mounts where nothing was mounted there.
    fn of(file: &OwnedFd, view: FileView) -> Result<Self, Errno> {
        let attributes = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::INO)?.stx_attributes;
        let is_mount = attributes.contains(StatxAttributes::MOUNT_ROOT);
        if view == FileView::Mounts && !is_mount {
            return Ok(Self::Refused);
        }
        let stat = fstat(file)?;
        let device = stat.st_dev;
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File { device },
            _other => Self::Other {
                device,
                inode: stat.st_ino,
            },
        })
    }
}

/// Reads what stands at each path that the user asked for.
pub fn requested_entries(request: &FenceRequest, view: FileView) -> Vec<RequestedEntry> {
    let paths = request.rw.iter().chain(&request.sockets);
    paths
        .map(|path| RequestedEntry::at(path.as_std_path(), view))
        .collect()
}

/// Becomes the command, restricted: the arguments are `__init <start file> -- <command> …`. Returns
/// only where that cannot be, or as the first process of a container, when the command has ended.
pub fn run(arguments: &[OsString]) -> ProgramEnd {
    let [_ours, _init, file, rest @ ..] = arguments else {
        return not_restricted("it is started by git-agentwt only".to_owned());
    };
    let restricted = if file == PROBE {
        Restriction::closed().and_then(|mut restriction| restriction.apply())
    } else {
        restrict_by(Path::new(file))
    };
    if let Err(error) = restricted {
        return not_restricted(error.to_string());
    }
    let [_dashes, program, words @ ..] = rest else {
        return ProgramEnd::quiet(0);
    };
    unblock_signals();
    if std::process::id() == 1 {
        return look_after(program, words);
    }
    execute(program, words)
}

/// The status of env(1) for what it cannot do itself.
fn not_restricted(message: String) -> ProgramEnd {
    ProgramEnd {
        status: 125,
        message,
    }
}

/// Restricts our process by a start file.
fn restrict_by(file: &Path) -> Result<(), RestrictError> {
    let start = read_start(file)?;
    let view = FileView::of(start.fence);
    let entries = requested_entries(&start.policy.request, view);
    if entries != start.requested || entries.contains(&RequestedEntry::Refused) {
        return Err(RestrictError::Replaced);
    }
    let mut restriction = Restriction::new(&start.policy, view)?;
    end_with_parent(Signal::KILL)?;
    restriction.apply()
}

fn read_start(file: &Path) -> Result<Start, RestrictError> {
    let text = std::fs::read(file);
    let start = text.and_then(|text| Ok(serde_json::from_slice(&text)?));
    start.map_err(|error| RestrictError::Read(file.display().to_string(), error.to_string()))
}

/// Looks after a command as the first process of a container.
fn look_after(program: &OsString, words: &[OsString]) -> ProgramEnd {
    let mut command = Command::new(program);
    command.args(words);
    let supervisor = Supervisor {
        command,
        process: CommandProcess::Below(0),
        timeout: None,
        kill_after: Duration::ZERO,
        signal: &Arc::default(),
    };
    match supervisor.run() {
        Ok(CommandEnd::Status(status)) => ProgramEnd::quiet(status),
        Ok(CommandEnd::Signal(signal)) => ProgramEnd::quiet(128 + signal),
        Ok(CommandEnd::TimedOut) => ProgramEnd::quiet(124),
        Err(error) => ProgramEnd {
            status: error.status().unwrap_or(125),
            message: error.to_string(),
        },
    }
}

/// Becomes a command, found as execvp(3) does; the status and the words of env(1) where that fails.
fn execute(program: &OsString, words: &[OsString]) -> ProgramEnd {
    let error = Command::new(program).args(words).exec();
    let is_missing = error.kind() == ErrorKind::NotFound;
    ProgramEnd {
        status: if is_missing { 127 } else { 126 },
        message: format!("cannot start {}: {error}", program.display()),
    }
}
