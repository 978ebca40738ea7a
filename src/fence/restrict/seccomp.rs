//! Makes the filter of system calls (seccomp(2)).

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use crate::config::value::Net;
use crate::fence::policy::FenceRequest;
use crate::fence::restrict::error::RestrictError;

/// The first number of a system call of the x32 ABI, whose calls have other numbers
/// (`__X32_SYSCALL_BIT`).
const X32: u32 = 0x4000_0000;

/// The numbers of system calls.
macro_rules! calls {
    ($($name:ident)*) => { [$(libc::$name),*] };
}

/// Refused in every fence: another process's memory, the user's keys, and rings that no filter
/// looks into.
const NEVER: [i64; 10] = calls! {
    SYS_add_key SYS_keyctl SYS_request_key SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev
    SYS_pidfd_getfd SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register
};

/// Refused where no namespaces are made: another view of the files, and the kernel itself.
const VIEWS: [i64; 25] = calls! {
    SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_move_mount SYS_open_tree SYS_fsopen
    SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr SYS_setns SYS_open_by_handle_at SYS_bpf
    SYS_init_module SYS_finit_module SYS_delete_module SYS_kexec_load SYS_reboot SYS_swapon
    SYS_sethostname SYS_setdomainname SYS_settimeofday SYS_clock_settime SYS_syslog
};

/// Pushes a key into the terminal (`ioctl_tty(2)`).
const PUSH_KEY: u64 = 0x5412;
/// Pastes into the console (`ioctl_console(2)`).
const PASTE: u64 = 0x541c;
/// A new user namespace, for clone(2) and unshare(2).
const NEW_USER: u64 = 0x1000_0000;
/// Connects and sends at once, and asks nobody (send(2)).
const FAST_OPEN: u64 = 0x2000_0000;
/// A lease on a file (`fcntl(2)`).
const SET_LEASE: u64 = 1024;

/// Families of sockets (`address_families(7)`).
const UNIX: u64 = 1;
const INET: u64 = 2;
const INET6: u64 = 10;
const NETLINK: u64 = 16;

/// Types of sockets, below the flags (socket(2)).
const TYPE_MASK: u64 = 0xf;
const DATAGRAM: u64 = 2;
const RAW: u64 = 3;
const PACKETS: u64 = 5;
const CONGESTION_CONTROLLED: u64 = 6;

/// Protocols of sockets (protocols(5)).
const USUAL_PROTOCOL: u64 = 0;
const TCP: u64 = 6;
const UDP: u64 = 17;

/// Each call with the conditions of which one has to hold; without any, the call is refused.
type Denied = BTreeMap<i64, Vec<SeccompRule>>;

/// Instructions of the filter's language (`filter.txt` of Linux).
const LOAD_CALL_NUMBER: u16 = 0x20;
const SKIP_NEXT_IF_BELOW: u16 = 0x35;
const SKIP_NEXT_IF_OTHER: u16 = 0x15;
const END: u16 = 0x06;

/// An instruction with its operand; a comparison that does not hold skips so many others.
const fn instruction(code: u16, operand: u32, skipped: u8) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: skipped,
        k: operand,
    }
}

/// What the kernel does about a refused call: it fails with this error.
const fn refuse(errno: i32) -> SeccompAction {
    SeccompAction::Errno(errno.unsigned_abs())
}

/// Makes the filter. What is refused with another error than the rest comes first; the shorter the
/// filter, the sooner the kernel has it.
///
/// # Errors
/// Fails for a kind of processor that seccompiler does not know.
pub fn filter(request: &FenceRequest) -> Result<BpfProgram, RestrictError> {
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    let denied = SeccompFilter::new(
        denied_calls(request)?,
        SeccompAction::Allow,
        refuse(libc::EPERM),
        machine,
    )?;
    let mut program = vec![instruction(LOAD_CALL_NUMBER, 0, 0)];
    if cfg!(target_arch = "x86_64") {
        program.push(instruction(SKIP_NEXT_IF_BELOW, X32, 1));
        program.push(instruction(END, refuse(libc::ENOSYS).into(), 0));
    }
    if !request.nested {
        // its flags are in memory, where no filter looks; libraries take clone(2) then
        let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or_default();
        program.push(instruction(SKIP_NEXT_IF_OTHER, clone3, 1));
        program.push(instruction(END, refuse(libc::ENOSYS).into(), 0));
    }
    program.extend(BpfProgram::try_from(denied)?);
    Ok(program)
}

/// The calls that are always refused, and those that are refused with some arguments.
fn denied_calls(request: &FenceRequest) -> Result<Denied, BackendError> {
    let mut denied = Denied::new();
    denied.extend(NEVER.map(|call| (call, Vec::new())));
    let push_key = all([equal(1, PUSH_KEY)])?;
    let paste = all([equal(1, PASTE)])?;
    denied.insert(libc::SYS_ioctl, vec![push_key, paste]);
    // a lease of the command on a file would make everyone wait who opens that file
    denied.insert(libc::SYS_fcntl, vec![all([equal(1, SET_LEASE)])?]);
    // refused for another process (0 is the own one), which a limit on its time would end
    denied.insert(libc::SYS_prlimit64, vec![all([differs(0, 0)])?]);
    if !request.nested {
        denied.extend(VIEWS.map(|call| (call, Vec::new())));
        for call in [libc::SYS_unshare, libc::SYS_clone] {
            denied.insert(call, vec![all([has_flags(0, NEW_USER)])?]);
        }
    }
    if request.sockets.is_empty() {
        // one of a pair of datagram sockets can send to any other socket (unix(7)), and so can one
        // of a raw pair, which Linux makes of datagram sockets (unix_create, af_unix.c)
        let datagrams = all([equal(0, UNIX), has_type(DATAGRAM)])?;
        let raw = all([equal(0, UNIX), has_type(RAW)])?;
        denied.insert(libc::SYS_socketpair, vec![datagrams, raw]);
    }
    if request.net != Net::Host {
        denied.insert(libc::SYS_sendto, vec![all([has_flags(3, FAST_OPEN)])?]);
        denied.insert(libc::SYS_sendmsg, vec![all([has_flags(2, FAST_OPEN)])?]);
        denied.insert(libc::SYS_sendmmsg, vec![all([has_flags(3, FAST_OPEN)])?]);
    }
    let sockets = denied_sockets(request)?;
    // an empty list would refuse every socket
    if !sockets.is_empty() {
        denied.insert(libc::SYS_socket, sockets);
    }
    Ok(denied)
}

/// The sockets that cannot be created (socket(2)): those for which all conditions of a rule hold.
/// So a rule that tests for "not A" and "not B" leaves A and B, and denies everything else.
fn denied_sockets(request: &FenceRequest) -> Result<Vec<SeccompRule>, BackendError> {
    let mut denied = Vec::new();
    if request.sockets.is_empty() {
        denied.push(all([equal(0, UNIX)])?);
    }
    match &request.net {
        Net::Host => {}
        // local sockets, and those to the kernel, are no network
        Net::None => denied.push(all([differs(0, UNIX), differs(0, NETLINK)])?),
        // Landlock looks at the ports of TCP alone: UDP is left, and SCTP and MPTCP are denied
        Net::Ports(_) => {
            denied.push(all(
                [UNIX, NETLINK, INET, INET6].map(|family| differs(0, family))
            )?);
            // of these types, the usual protocols are SCTP and DCCP
            for kind in [PACKETS, CONGESTION_CONTROLLED] {
                denied.push(all([
                    differs(0, UNIX),
                    differs(0, NETLINK),
                    has_type(kind),
                ])?);
            }
            denied.push(all([
                differs(0, UNIX),
                differs(0, NETLINK),
                differs(2, USUAL_PROTOCOL),
                differs(2, TCP),
                differs(2, UDP),
            ])?);
        }
    }
    Ok(denied)
}

/// A condition for an argument of a call, by its place, from 0: of 32 bits, as the kernel takes
/// these.
fn test(place: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(place, SeccompCmpArgLen::Dword, operator, value)
}

fn equal(place: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    test(place, SeccompCmpOp::Eq, value)
}

fn differs(place: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    test(place, SeccompCmpOp::Ne, value)
}

/// True if an argument has all of these bits.
fn has_flags(place: u8, flags: u64) -> Result<SeccompCondition, BackendError> {
    test(place, SeccompCmpOp::MaskedEq(flags), flags)
}

/// True if a socket is of a type.
fn has_type(kind: u64) -> Result<SeccompCondition, BackendError> {
    test(1, SeccompCmpOp::MaskedEq(TYPE_MASK), kind)
}

/// A rule that holds where all conditions do.
fn all<const N: usize>(
    conditions: [Result<SeccompCondition, BackendError>; N],
) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}
