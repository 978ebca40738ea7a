//! What a process does to itself before it becomes the command: closes the descriptors that it was given,
//! and restricts itself by Landlock and seccomp.
//!
//! With `landlock`, that is our child between fork(2) and execve(2), for which we opened what the rules
//! name. In the mount fence and in a container, it is our program as `__init`, inside of the mounts: what
//! a rule names has to be opened in the file system that the command sees.
#![expect(
    clippy::disallowed_methods,
    reason = "opens what rules name, becomes the command"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
    make_bitflags,
};
use bstr::ByteSlice as _;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, fcntl_getfl,
    fstat, openat, openat2, statx,
};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::stdio::{stderr, stdin, stdout};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use serde::{Deserialize, Serialize};

use crate::config::value::{Fence, Net};
use crate::fence::landlock::{LandlockRule, RuleAccess, RulePlace, read_rules, write_rules};
use crate::fence::policy::{Policy, Wishes};
use crate::fence::supervise::{CommandEnd, CommandProcess, Supervisor};
use crate::words::path::RepoPath;

/// The word that starts us so, before every other argument.
pub const INIT: &str = "__init";
/// Instead of a file: restricts itself, and tells of it by the status.
pub(super) const PROBE: &str = "--probe";
/// What a fence needs of Landlock: signals and abstract sockets are restricted since this one.
pub(super) const FLOOR: i32 = 6;

/// Holds what a command's process is restricted to: the start file.
#[derive(Serialize, Deserialize)]
pub struct Start<P = Policy> {
    /// The fence.
    pub fence: Fence,
    /// What it enforces.
    pub policy: P,
    /// What stood at each path that was asked for.
    pub stood: Vec<Option<(u64, u64)>>,
}

/// Reads which file or directory stands at each path that was asked for, zeros for one that is missing; none where a
/// link stands on the way or, inside of the mounts, where it was not mounted.
pub(super) fn read_asked(wishes: &Wishes, is_inside: bool) -> Vec<Option<(u64, u64)>> {
    let identity = |path: &Utf8PathBuf| {
        let file = match open_plain(path.as_std_path()) {
            Err(Errno::LOOP) => return None,
            Err(_) => return Some((0, 0)),
            Ok(file) => file,
        };
        let said = statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::INO).ok()?;
        let is_mounted = said.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
        let stat = fstat(&file).ok()?;
        // its program replaces a file at any time, as the state of an agent
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let inode = if is_file { 1 } else { stat.st_ino };
        (is_mounted || !is_inside).then_some((stat.st_dev, inode))
    };
    let asked = wishes.rw.iter().chain(&wishes.sockets);
    asked.map(identity).collect()
}

fn open_plain(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Says what could not be restricted, so that nothing was started.
#[derive(Debug, thiserror::Error)]
pub(super) enum RestrictError {
    #[error("cannot read {0}: {1}")]
    Read(String, String),
    #[error(
        "{0} is not what it was when the scope was read: {1}; no link is followed into a scope"
    )]
    Grant(RepoPath, std::io::Error),
    #[error("cannot open {path}: {1}", path = .0.display())]
    Open(PathBuf, std::io::Error),
    #[error("Landlock refuses: {0}")]
    Landlock(#[from] ::landlock::RulesetError),
    #[error("seccomp refuses: {0}")]
    Seccomp(String),
    #[error("cannot close what it was given: {0}")]
    Close(std::io::Error),
    #[error("{0}")]
    Signal(Errno),
    #[error("a path of --rw, --preset or --socket is not what it was before the start; try again")]
    Replaced,
}

/// Becomes the command, restricted: the arguments are `__init <start file> -- <command> …`. Returns the
/// status to end with where that cannot be, and what to say.
pub fn run(arguments: &[OsString]) -> (u8, String) {
    let [_ours, _init, file, rest @ ..] = arguments else {
        return (125, "it is started by git-agentwt only".to_owned());
    };
    let restricted = if file == PROBE {
        probe()
    } else {
        let start = read_start(Path::new(file));
        let restriction = start.and_then(|start| {
            let is_inside = start.fence != Fence::Landlock;
            let stands = read_asked(&start.policy.wishes, is_inside);
            if stands != start.stood || stands.contains(&None) {
                return Err(RestrictError::Replaced);
            }
            Restriction::new(start.fence, &start.policy)
        });
        restriction.and_then(|mut restriction| {
            end_with(None, Signal::KILL)?;
            restriction.apply()
        })
    };
    if let Err(error) = restricted {
        return (125, error.to_string());
    }
    let [_dashes, program, words @ ..] = rest else {
        return (0, String::new());
    };
    mask_signals(libc::SIG_UNBLOCK);
    if std::process::id() == 1 {
        return look_after(program, words);
    }
    execute(program, words)
}

/// Looks after a command as the first process of a container: the status to end with, and what to say.
fn look_after(program: &OsString, words: &[OsString]) -> (u8, String) {
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
        Ok(CommandEnd::Status(status)) => (status, String::new()),
        Ok(CommandEnd::Signal(signal)) => (128 + signal, String::new()),
        Ok(CommandEnd::TimedOut) => (124, String::new()),
        Err(error) => (error.status().unwrap_or(125), error.to_string()),
    }
}

/// Becomes a command, found as execvp(3) does; the status and the words of env(1) where that fails.
pub(super) fn execute(program: &OsString, words: &[OsString]) -> (u8, String) {
    let error = Command::new(program).args(words).exec();
    let is_missing = error.kind() == ErrorKind::NotFound;
    let status = if is_missing { 127 } else { 126 };
    let text = format!("cannot start {}: {error}", program.display());
    (status, text)
}

fn read_start(file: &Path) -> Result<Start, RestrictError> {
    let text = std::fs::read(file);
    let start = text.and_then(|text| Ok(serde_json::from_slice(&text)?));
    start.map_err(|error| RestrictError::Read(file.display().to_string(), error.to_string()))
}

/// Restricts our process as far as any fence does.
fn probe() -> Result<(), RestrictError> {
    let rules = Some(Rules::new(false, false)?.0);
    let filter = seccomp_filter(&Wishes::default())?;
    Restriction { rules, filter }.apply()
}

/// Has a command end with us, whatever ends us, and with `landlock` restrict itself before it starts. Where
/// it cannot, it says so and ends with 125, as env(1) does.
///
/// # Errors
/// Fails when what a rule names cannot be opened.
#[expect(unsafe_code, reason = "only the child itself can restrict itself")]
pub(super) fn restrict_before_start(
    command: &mut Command,
    fence: Fence,
    policy: &Policy,
) -> Result<(), RestrictError> {
    let is_ours = fence == Fence::Landlock;
    let restriction = is_ours.then(|| Restriction::new(fence, policy));
    let mut restriction = restriction.transpose()?;
    let ours = Some(getpid());
    // podman ends its container then
    let signal = match fence {
        Fence::Container => Signal::TERM,
        _no_container => Signal::KILL,
    };
    let before = move || {
        if fence == Fence::Mount {
            mask_signals(libc::SIG_BLOCK);
        }
        let apply = |()| restriction.as_mut().map_or(Ok(()), Restriction::apply);
        let restricted = end_with(ours, signal).and_then(apply);
        if let Err(error) = restricted {
            let _ = writeln!(std::io::stderr(), "git-agentwt: {error}");
            // SAFETY: ends the child without what our own end would do
            unsafe { libc::_exit(125) }
        }
        Ok(())
    };
    // SAFETY: it makes system calls only, unless it fails; then the child ends
    unsafe { command.pre_exec(before) };
    Ok(())
}

/// Blocks what a terminal sends to bubblewrap as well, with which the command would end that handles it; and
/// unblocks that for the command.
#[expect(unsafe_code, reason = "no safe crate sets the mask of a child")]
fn mask_signals(how: libc::c_int) {
    // SAFETY: fills a set of ours, and sets the mask of this thread (pthread_sigmask(3))
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in super::signals::FORWARDED {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    }
}

/// Has our own process end with its parent, which may have ended already.
fn end_with(parent: Option<Pid>, signal: Signal) -> Result<(), RestrictError> {
    set_parent_process_death_signal(Some(signal)).map_err(RestrictError::Signal)?;
    if parent.is_some() && getppid() != parent {
        return Err(RestrictError::Signal(Errno::SRCH));
    }
    Ok(())
}

/// What a process is restricted by, as far as it can be made before.
struct Restriction {
    /// The rules of Landlock; none inside of which another sandbox is to start.
    rules: Option<RulesetCreated>,
    filter: BpfProgram,
}

impl Restriction {
    fn new(fence: Fence, policy: &Policy) -> Result<Self, RestrictError> {
        let wishes = &policy.wishes;
        let is_inside_mounts = matches!(fence, Fence::Mount | Fence::Container);
        // another sandbox does not start inside of Landlock
        let has_rules = !(wishes.nested && is_inside_mounts);
        let rules = has_rules.then(|| landlock_rules(policy, is_inside_mounts));
        let rules = rules.transpose()?;
        let filter = seccomp_filter(wishes)?;
        Ok(Self { rules, filter })
    }

    /// Restricts our own process, for good.
    fn apply(&mut self) -> Result<(), RestrictError> {
        close_at_exec()?;
        if let Some(rules) = self.rules.take() {
            rules.restrict_self()?;
        }
        let applied = seccompiler::apply_filter(&self.filter);
        applied.map_err(|error| RestrictError::Seccomp(error.to_string()))
    }
}

fn landlock_rules(
    policy: &Policy,
    is_inside_mounts: bool,
) -> Result<RulesetCreated, RestrictError> {
    let hidden = (!is_inside_mounts).then(|| read_rules(policy, &names));
    let hidden = hidden.unwrap_or_default();
    let net = &policy.wishes.net;
    let mut rules = Rules::new(!hidden.is_empty(), *net != Net::Host)?;
    let root = open_root(&policy.places.root)?;
    for rule in write_rules(policy, is_inside_mounts).iter().chain(&hidden) {
        rules.add(&root, rule)?;
    }
    for given in [stdin(), stdout(), stderr()] {
        rules.add_given(given)?;
    }
    if let Net::Ports(ports) = net {
        for port in ports {
            (&mut rules.0).add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
    }
    Ok(rules.0)
}

/// The names in a directory; none where it cannot be read, as nothing in it can be then.
fn names(directory: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    entries.flatten().map(|entry| entry.file_name()).collect()
}

fn open_root(root: &Utf8Path) -> Result<OwnedFd, RestrictError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let opened = openat(CWD, root.as_std_path(), flags, Mode::empty());
    opened.map_err(|error| RestrictError::Open(root.as_std_path().to_owned(), error.into()))
}

/// Has every descriptor closed but the three of the standard when the command starts.
#[expect(
    unsafe_code,
    reason = "no safe crate closes descriptors that it did not open"
)]
fn close_at_exec() -> Result<(), RestrictError> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: closes nothing before our program has ended
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, flags) };
    let error = RestrictError::Close(std::io::Error::last_os_error());
    (closed == 0).then_some(()).ok_or(error)
}

/// Asks the kernel for the version of Landlock.
#[expect(unsafe_code, reason = "the crate landlock does not tell the version")]
pub(super) fn landlock_version() -> std::io::Result<i32> {
    const VERSION: libc::c_uint = 1;
    let nothing: *const libc::c_void = std::ptr::null();
    // SAFETY: with this flag the call reads and writes no memory of ours (landlock_create_ruleset(2))
    let asked = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, VERSION) };
    match i32::try_from(asked) {
        Ok(version) if version >= 0 => Ok(version),
        _ => Err(std::io::Error::last_os_error()),
    }
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

/// The rights that no one has but by a rule.
fn restricted(reading: bool) -> BitFlags<AccessFs> {
    let writing = make_bitflags!(AccessFs::{ MakeChar | MakeBlock | IoctlDev });
    let read = reading.then(|| RuleAccess::Read.rights());
    writing | RuleAccess::Tree.rights() | read.unwrap_or_default()
}

/// The rules that are given, one by one, to the kernel.
struct Rules(RulesetCreated);

impl Rules {
    fn new(reading: bool, net: bool) -> Result<Self, RestrictError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(restricted(reading))?
            .scope(Scope::from_all(ABI::V6))?;
        if net {
            ruleset = ruleset.handle_access(AccessNet::ConnectTcp | AccessNet::BindTcp)?;
        }
        Ok(Self(ruleset.create()?))
    }

    /// Adds a rule where its path can be opened; what is granted in the worktree has to be there.
    fn add(&mut self, root: &OwnedFd, rule: &LandlockRule) -> Result<(), RestrictError> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let open = |path: &Path, more| openat(CWD, path, flags | more, Mode::empty());
        let (opened, path) = match &rule.place {
            RulePlace::Root => (openat(root, ".", flags, Mode::empty()), Path::new(".")),
            RulePlace::Below(path) => {
                let bytes = path.as_bstr().as_bytes();
                let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
                let opened = openat2(root, bytes, flags, Mode::empty(), inside);
                let error = |error: Errno| RestrictError::Grant(path.clone(), error.into());
                return self.add_opened(opened.map_err(error)?, rule.access);
            }
            RulePlace::Other(path) => {
                let opened = match rule.access {
                    // what was found without a link can have become one since
                    RuleAccess::Tree => open_plain(path),
                    // a link beside a hidden directory could lead into it
                    RuleAccess::Read => open(path, OFlags::NOFOLLOW),
                    // devices, of which some systems make links
                    RuleAccess::File | RuleAccess::Terminal => open(path, OFlags::empty()),
                };
                (opened, &**path)
            }
        };
        match opened {
            Ok(file) => self.add_opened(file, rule.access),
            // not there, or nothing that we could name
            Err(Errno::NOENT | Errno::ACCESS | Errno::LOOP) => Ok(()),
            Err(error) => Err(RestrictError::Open(path.to_owned(), error.into())),
        }
    }

    /// Adds a rule for a file or terminal that the command is given to write, which it can open anew (`/dev/stderr`).
    fn add_given(&mut self, given: BorrowedFd<'_>) -> Result<(), RestrictError> {
        let flags = fcntl_getfl(given).unwrap_or(OFlags::empty());
        let is_written = flags.intersects(OFlags::RDWR | OFlags::WRONLY);
        let access = match fstat(given).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) if is_written => RuleAccess::File,
            Ok(FileType::CharacterDevice) if is_written => RuleAccess::Terminal,
            _other => return Ok(()),
        };
        let file = given.try_clone_to_owned();
        file.map_or(Ok(()), |file| self.add_opened(file, access))
    }

    fn add_opened(&mut self, file: OwnedFd, access: RuleAccess) -> Result<(), RestrictError> {
        let kind = fstat(&file).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let access = match kind {
            Ok(FileType::Symlink) => return Ok(()),
            Ok(FileType::Directory) => access.rights(),
            _file => access.rights() & AccessFs::from_file(ABI::V6),
        };
        (&mut self.0).add_rule(PathBeneath::new(file, access))?;
        Ok(())
    }
}

/// The first number of a system call of the x32 ABI, whose calls have other numbers (`__X32_SYSCALL_BIT`).
const X32: u32 = 0x4000_0000;
/// The numbers of system calls.
macro_rules! calls {
    ($($name:ident)*) => { [$(libc::$name),*] };
}
/// Refused in every fence: another process's memory, the user's keys, and rings that no filter looks into.
const NEVER: [i64; 10] = calls! {
    SYS_add_key SYS_keyctl SYS_request_key SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_pidfd_getfd
    SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register
};
/// Refused where no namespaces are made: another view of the files, and the kernel itself.
const VIEWS: [i64; 25] = calls! {
    SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_move_mount SYS_open_tree SYS_fsopen SYS_fsconfig
    SYS_fsmount SYS_fspick SYS_mount_setattr SYS_setns SYS_open_by_handle_at SYS_bpf SYS_init_module
    SYS_finit_module SYS_delete_module SYS_kexec_load SYS_reboot SYS_swapon SYS_sethostname SYS_setdomainname
    SYS_settimeofday SYS_clock_settime SYS_syslog
};
/// Pushes a key into the terminal, or pastes into the console (`ioctl_tty(2)`, `ioctl_console(2)`).
const PUSHES: [u64; 2] = [0x5412, 0x541c];
/// A new user namespace, for clone(2) and unshare(2).
const NEW_USER: u64 = 0x1000_0000;
/// Connects and sends at once, and asks nobody (send(2)).
const FAST_OPEN: u64 = 0x2000_0000;
/// A lease on a file (`fcntl(2)`).
const SET_LEASE: u64 = 1024;
const UNIX: u64 = 1;
const NETLINK: u64 = 16;

/// Each call with the conditions of which one has to hold; without any, the call is refused.
type Denied = BTreeMap<i64, Vec<SeccompRule>>;

/// The filter of seccomp(2). What is refused with another error than the rest comes first; the shorter
/// the filter, the sooner the kernel has it.
fn seccomp_filter(wishes: &Wishes) -> Result<BpfProgram, RestrictError> {
    let seccomp = |error: seccompiler::BackendError| RestrictError::Seccomp(error.to_string());
    let mut denied = Denied::new();
    deny(wishes, &mut denied).map_err(seccomp)?;
    let refuse = |errno: i32| SeccompAction::Errno(errno.unsigned_abs());
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(seccomp)?;
    let filter = SeccompFilter::new(denied, SeccompAction::Allow, refuse(libc::EPERM), machine);
    let rest = BpfProgram::try_from(filter.map_err(seccomp)?).map_err(seccomp)?;
    let [load, greater, equal, end] = [0x20, 0x35, 0x15, 0x06];
    let step = |code, k, jt, jf| sock_filter { code, jt, jf, k };
    // the number of the call
    let mut program = vec![step(load, 0, 0, 0)];
    if cfg!(target_arch = "x86_64") {
        program.push(step(greater, X32, 0, 1));
        program.push(step(end, refuse(libc::ENOSYS).into(), 0, 0));
    }
    if !wishes.nested {
        // its flags are in memory, where no filter looks; libraries take clone(2) then
        let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or_default();
        program.push(step(equal, clone3, 0, 1));
        program.push(step(end, refuse(libc::ENOSYS).into(), 0, 0));
    }
    program.extend(rest);
    Ok(program)
}

fn deny(wishes: &Wishes, denied: &mut Denied) -> Result<(), seccompiler::BackendError> {
    denied.extend(NEVER.map(|call| (call, Vec::new())));
    let pushes = PUSHES.map(|code| all(&[equal(1, code)]));
    let pushes = pushes.into_iter().collect::<Result<_, _>>()?;
    denied.insert(libc::SYS_ioctl, pushes);
    // who opens a file on which it has a lease waits
    denied.insert(libc::SYS_fcntl, vec![all(&[equal(1, SET_LEASE)])?]);
    // of another process: a limit on its time ends it
    denied.insert(libc::SYS_prlimit64, vec![all(&[differs(0, 0)])?]);
    if !wishes.nested {
        denied.extend(VIEWS.map(|call| (call, Vec::new())));
        let new_user = || all(&[(0, SeccompCmpOp::MaskedEq(NEW_USER), NEW_USER)]);
        denied.insert(libc::SYS_unshare, vec![new_user()?]);
        denied.insert(libc::SYS_clone, vec![new_user()?]);
    }
    let mut sockets = Vec::new();
    if wishes.sockets.is_empty() {
        sockets.push(all(&[equal(0, UNIX)])?);
        // one of a pair of datagram sockets can send to any other socket (unix(7))
        let datagram = (1, SeccompCmpOp::MaskedEq(0xf), 2);
        let pair = all(&[equal(0, UNIX), datagram])?;
        denied.insert(libc::SYS_socketpair, vec![pair]);
    }
    match &wishes.net {
        Net::Host => {}
        Net::None => sockets.push(all(&[differs(0, UNIX), differs(0, NETLINK)])?),
        Net::Ports(_) => {
            let others = [UNIX, NETLINK, 2, 10].map(|family| differs(0, family));
            sockets.push(all(&others)?);
            // TCP and UDP, and not what Landlock does not look at: SCTP, MPTCP
            let inet = || [UNIX, NETLINK].map(|family| differs(0, family)).to_vec();
            let packets = (1, SeccompCmpOp::MaskedEq(0xf), 5);
            sockets.push(all(&[inet(), vec![packets]].concat())?);
            let usual = [0, 6, 17].map(|protocol| differs(2, protocol));
            sockets.push(all(&[inet(), usual.to_vec()].concat())?);
        }
    }
    if wishes.net != Net::Host {
        let fast = |place| all(&[(place, SeccompCmpOp::MaskedEq(FAST_OPEN), FAST_OPEN)]);
        denied.insert(libc::SYS_sendto, vec![fast(3)?]);
        denied.insert(libc::SYS_sendmsg, vec![fast(2)?]);
        denied.insert(libc::SYS_sendmmsg, vec![fast(3)?]);
    }
    if !sockets.is_empty() {
        denied.insert(libc::SYS_socket, sockets);
    }
    Ok(())
}

/// The place of an argument, the comparison, the value: of 32 bits, as the kernel takes these.
type Test = (u8, SeccompCmpOp, u64);

const fn equal(place: u8, value: u64) -> Test {
    (place, SeccompCmpOp::Eq, value)
}

const fn differs(place: u8, value: u64) -> Test {
    (place, SeccompCmpOp::Ne, value)
}

fn all(tests: &[Test]) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = |(place, how, value): &Test| {
        SeccompCondition::new(*place, SeccompCmpArgLen::Dword, how.clone(), *value)
    };
    SeccompRule::new(tests.iter().map(condition).collect::<Result<_, _>>()?)
}
