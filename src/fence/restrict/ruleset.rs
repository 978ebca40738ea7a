//! Gives the rules of Landlock to the kernel, which has each by a file that is open.
#![expect(clippy::disallowed_methods, reason = "reads what rules name")]

use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
    make_bitflags,
};
use bstr::ByteSlice as _;
use camino::Utf8Path;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fcntl_getfl, fstat, openat, openat2};
use rustix::io::Errno;
use rustix::stdio::{stderr, stdin, stdout};

use crate::config::value::Net;
use crate::fence::landlock::{
    FileView, LandlockRule, RuleAccess, RulePlace, read_rules, write_rules,
};
use crate::fence::policy::Policy;
use crate::fence::restrict::error::RestrictError;
use crate::words::path::RepoPath;

/// What a fence needs of Landlock: signals and abstract sockets are restricted since this version.
pub const MIN_ABI: i32 = 6;

/// How a file is opened that a rule names.
const NAMED: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Asks the kernel for the version of Landlock.
///
/// # Errors
/// Fails where there is none, or it is not enabled.
#[expect(unsafe_code, reason = "the crate landlock does not tell the version")]
pub fn landlock_version() -> io::Result<i32> {
    const VERSION: libc::c_uint = 1;
    let nothing: *const libc::c_void = std::ptr::null();
    // SAFETY: with this flag the call reads and writes no memory of ours
    // (landlock_create_ruleset(2))
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, VERSION) };
    match i32::try_from(answer) {
        Ok(version) if version >= 0 => Ok(version),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens a path in which no link is followed.
///
/// # Errors
/// Fails with `LOOP` where a link stands on the way.
pub fn open_plain(path: &Path) -> Result<OwnedFd, Errno> {
    openat2(CWD, path, NAMED, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

impl RuleAccess {
    /// The rights as the kernel names them; those of Landlock ABI 5 and later.
    fn rights(self) -> BitFlags<AccessFs> {
        match self {
            Self::Tree => make_bitflags!(AccessFs::{
                WriteFile | Truncate | MakeReg | MakeDir | MakeSym | MakeSock | MakeFifo
                    | RemoveFile | RemoveDir | Refer
            }),
            Self::File => make_bitflags!(AccessFs::{ WriteFile | Truncate }),
            Self::Terminal => make_bitflags!(AccessFs::{ WriteFile | IoctlDev }),
            Self::Read => make_bitflags!(AccessFs::{ ReadFile | Execute }),
        }
    }
}

/// Makes the rules of a policy. What they name is opened now.
///
/// # Errors
/// Fails when what a rule names cannot be opened, or the kernel refuses.
pub fn policy_rules(policy: &Policy, view: FileView) -> Result<RulesetCreated, RestrictError> {
    let reading = match view {
        FileView::Host => read_rules(policy, &names),
        // what is hidden is not mounted
        FileView::Mounts => Vec::new(),
    };
    // a right that is named here is refused wherever no rule gives it
    let mut file_rights = writing_rights();
    if !reading.is_empty() {
        file_rights |= RuleAccess::Read.rights();
    }
    let net_rights = match policy.request.net {
        Net::Host => BitFlags::empty(),
        Net::None | Net::Ports(_) => AccessNet::ConnectTcp | AccessNet::BindTcp,
    };
    let mut rules = Rules::new(file_rights, net_rights)?;
    let root = open_root(&policy.places.root)?;
    for rule in write_rules(policy, view).iter().chain(&reading) {
        rules.add(&root, rule)?;
    }
    for stream in [stdin(), stdout(), stderr()] {
        rules.add_stream(stream)?;
    }
    if let Net::Ports(ports) = &policy.request.net {
        for port in ports {
            (&mut rules.0).add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
    }
    Ok(rules.0)
}

/// Makes rules by which nothing can be written.
///
/// # Errors
/// Fails when the kernel refuses.
pub fn closed_rules() -> Result<RulesetCreated, RestrictError> {
    Ok(Rules::new(writing_rights(), BitFlags::empty())?.0)
}

/// The names in a directory; none if it cannot be read, as nothing in it can be then.
fn names(directory: &Path) -> Vec<OsString> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    entries.flatten().map(|entry| entry.file_name()).collect()
}

fn open_root(root: &Utf8Path) -> Result<OwnedFd, RestrictError> {
    let flags = NAMED | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let opened = openat(CWD, root.as_std_path(), flags, Mode::empty());
    opened.map_err(|error| RestrictError::Open(root.as_std_path().to_owned(), error.into()))
}

/// The rights to write, that no one has but by a rule.
fn writing_rights() -> BitFlags<AccessFs> {
    make_bitflags!(AccessFs::{ MakeChar | MakeBlock | IoctlDev }) | RuleAccess::Tree.rights()
}

/// Opens a path outside of the worktree.
fn open_other(path: &Path, access: RuleAccess) -> Result<OwnedFd, Errno> {
    match access {
        // what was found without a link can have become one since
        RuleAccess::Tree => open_plain(path),
        // a link beside a hidden directory could lead into it
        RuleAccess::Read => openat(CWD, path, NAMED | OFlags::NOFOLLOW, Mode::empty()),
        // devices, of which some systems make links
        RuleAccess::File | RuleAccess::Terminal => openat(CWD, path, NAMED, Mode::empty()),
    }
}

/// The rules that are given, one by one, to the kernel.
struct Rules(RulesetCreated);

impl Rules {
    /// Refuses these rights everywhere, until rules are added.
    fn new(files: BitFlags<AccessFs>, net: BitFlags<AccessNet>) -> Result<Self, RestrictError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(files)?
            .scope(Scope::from_all(ABI::V6))?;
        if !net.is_empty() {
            ruleset = ruleset.handle_access(net)?;
        }
        Ok(Self(ruleset.create()?))
    }

    /// Adds a rule where its path can be opened; what is granted in the worktree has to be there.
    fn add(&mut self, root: &OwnedFd, rule: &LandlockRule) -> Result<(), RestrictError> {
        match &rule.place {
            RulePlace::Root => {
                let root_itself = openat(root, ".", NAMED, Mode::empty());
                self.add_if_there(root_itself, Path::new("."), rule.access)
            }
            RulePlace::Below(path) => self.add_grant(root, path, rule.access),
            RulePlace::Other(path) => {
                self.add_if_there(open_other(path, rule.access), path, rule.access)
            }
        }
    }

    /// Adds a rule for a path of the worktree, which is reached without a link.
    fn add_grant(
        &mut self,
        root: &OwnedFd,
        path: &RepoPath,
        access: RuleAccess,
    ) -> Result<(), RestrictError> {
        let bytes = path.as_bstr().as_bytes();
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let file = openat2(root, bytes, NAMED, Mode::empty(), resolve)
            .map_err(|error| RestrictError::Grant(path.clone(), error.into()))?;
        self.add_opened(file, access)
    }

    /// Adds a rule for what could be opened; what is not there needs none.
    fn add_if_there(
        &mut self,
        file: Result<OwnedFd, Errno>,
        path: &Path,
        access: RuleAccess,
    ) -> Result<(), RestrictError> {
        match file {
            Ok(file) => self.add_opened(file, access),
            // not there, or nothing that we could name
            Err(Errno::NOENT | Errno::ACCESS | Errno::LOOP) => Ok(()),
            Err(error) => Err(RestrictError::Open(path.to_owned(), error.into())),
        }
    }

    /// Adds a rule for a file or terminal that the command is given to write, which it can open
    /// anew (`/dev/stderr`).
    fn add_stream(&mut self, stream: BorrowedFd<'_>) -> Result<(), RestrictError> {
        let flags = fcntl_getfl(stream).unwrap_or(OFlags::empty());
        let is_written = flags.intersects(OFlags::RDWR | OFlags::WRONLY);
        let access = match fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) if is_written => RuleAccess::File,
            Ok(FileType::CharacterDevice) if is_written => RuleAccess::Terminal,
            _other => return Ok(()),
        };
        match stream.try_clone_to_owned() {
            Ok(file) => self.add_opened(file, access),
            Err(_) => Ok(()),
        }
    }

    /// Adds a rule for an open file or directory; a link gets none.
    fn add_opened(&mut self, file: OwnedFd, access: RuleAccess) -> Result<(), RestrictError> {
        let kind = fstat(&file).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let rights = match kind {
            Ok(FileType::Symlink) => return Ok(()),
            Ok(FileType::Directory) => access.rights(),
            _file => access.rights() & AccessFs::from_file(ABI::V6),
        };
        (&mut self.0).add_rule(PathBeneath::new(file, rights))?;
        Ok(())
    }
}
