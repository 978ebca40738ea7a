//! Finds out which fences work here, by trying them.
//!
//! What a probe says is what its fence would meet: it starts a process that restricts itself, or
//! bubblewrap or podman with the flags of the fence.
#![expect(clippy::disallowed_methods, reason = "tries what the fences start")]

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use camino::Utf8Path;

use crate::config::value::Fence;
use crate::fence::availability::{Probe, ProbeFailure};
use crate::fence::error::FenceError;
use crate::fence::policy::{ContainerProgram, ContainerWishes};
use crate::fence::{container, mount};
use crate::system::boot::boot_id;
use crate::system::path::{is_on_path, programs_named};

/// Tries each fence of the list. `binary` is our own program.
pub fn probes(fences: &[Fence], binary: &Utf8Path) -> Vec<Probe> {
    let asks = ContainerWishes {
        program: container_program(),
        ..ContainerWishes::default()
    };
    let tried = fences.iter().map(|fence| probe(*fence, binary, &asks));
    tried.collect()
}

/// The program that runs containers here: docker only where there is no podman.
pub fn container_program() -> ContainerProgram {
    if !is_on_path("podman") && is_on_path("docker") {
        ContainerProgram::Docker
    } else {
        ContainerProgram::Podman
    }
}

/// Tries a fence.
fn probe(fence: Fence, binary: &Utf8Path, asks: &ContainerWishes) -> Probe {
    let result = match fence {
        Fence::None | Fence::Auto => Ok("nothing is enforced".to_owned()),
        Fence::Perms => Ok("write bits only".to_owned()),
        Fence::Landlock => probe_landlock(binary),
        Fence::Mount => probe_mount(binary),
        Fence::Container => probe_container(binary, asks),
        Fence::Seatbelt => probe_seatbelt(),
    };
    Probe { fence, result }
}

/// Tries a fence for a start. What worked since the system was started, with the same program, is
/// believed: a file in `state` has it. Landlock says its version; a process that cannot restrict itself
/// then runs nothing.
pub fn probe_for_start(
    fence: Fence,
    binary: &Utf8Path,
    state: &Utf8Path,
    asks: &ContainerWishes,
) -> Probe {
    #[cfg(target_os = "linux")]
    if fence == Fence::Landlock {
        let result = probe_landlock_quickly();
        return Probe { fence, result };
    }
    let (program, suffix) = match fence {
        Fence::Mount => ("bwrap", ""),
        Fence::Container if asks.image.is_some() => (asks.program.name(), "-image"),
        Fence::Container => (asks.program.name(), ""),
        _others => return probe(fence, binary, asks),
    };
    let file = state.join(format!("fence-{program}{suffix}"));
    let mark = mark(program, binary);
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    if let Some((before, found)) = known.split_once('\n')
        && mark.as_deref() == Some(before)
    {
        let result = Ok(found.to_owned());
        return Probe { fence, result };
    }
    let probe = probe(fence, binary, asks);
    if let (Some(mark), Ok(found)) = (mark, &probe.result) {
        // without it the next start tries again
        let _ = std::fs::create_dir_all(state);
        let _ = std::fs::write(&file, format!("{mark}\n{found}"));
    }
    probe
}

/// What is the same as long as a program, ours and the running system are.
fn mark(program: &str, binary: &Utf8Path) -> Option<String> {
    let boot = boot_id()?;
    let found = programs_named(program).next()?.metadata;
    let ours = std::fs::metadata(binary).ok()?;
    let of = |file: &Metadata| (file.dev(), file.ino(), file.mtime(), file.mtime_nsec());
    let user = rustix::process::geteuid().as_raw();
    let all = (boot, user, of(&found), of(&ours));
    Some(format!("{all:?}"))
}

/// What `auto` takes, the strongest first; a container is to be asked for.
const STRONG: [Fence; 3] = [Fence::Mount, Fence::Seatbelt, Fence::Landlock];

/// Takes the fence that was asked for, or, for `auto`, the strongest that works; each is tried only
/// where it is needed.
///
/// # Errors
/// Fails when that fence does not work, or, for `auto`, none from [`Fence::Landlock`] on.
pub fn choose(
    asked: Fence,
    try_fence: &mut dyn FnMut(Fence) -> Probe,
) -> Result<Fence, FenceError> {
    let mut failed = None;
    let is_auto = asked == Fence::Auto;
    let wanted = if is_auto { &STRONG[..] } else { &[asked] };
    for fence in wanted.iter().copied() {
        match try_fence(fence).result {
            Ok(_) => return Ok(fence),
            Err(failure) => failed = Some((fence, failure)),
        }
    }
    let (fence, failure) = failed.expect("because one was tried");
    let below = STRONG.into_iter().chain([Fence::Perms]);
    let below = below.filter(|weaker| *weaker < fence);
    let weaker = below.map(try_fence).find(|probe| probe.result.is_ok());
    Err(FenceError::Unavailable {
        fence,
        failure: Box::new(failure),
        weaker: weaker.map(Box::new),
    })
}

/// Asks for the version only: a restriction that fails ends its process, before anything is run.
///
/// # Errors
/// Returns what is missing.
#[cfg(target_os = "linux")]
pub fn probe_landlock_quickly() -> Result<String, ProbeFailure> {
    use super::restrict::{FLOOR, landlock_version};
    let remedy = "a kernel from 6.12 on has what is needed";
    match landlock_version() {
        Ok(version) if version >= FLOOR => Ok(format!("Landlock ABI {version}")),
        Ok(version) => {
            let what = format!("Landlock ABI {version}");
            let said = format!("{FLOOR} is needed, for signals and abstract sockets");
            Err(ProbeFailure::new(what, said, remedy))
        }
        Err(error) => {
            let disabled = "add `landlock` to the list of `lsm=` on the kernel's command line \
                (/sys/kernel/security/lsm has the list now)";
            let (what, remedy) = match error.raw_os_error() {
                Some(libc::EOPNOTSUPP) => ("Landlock is not enabled", disabled),
                _missing => ("the kernel has no Landlock", remedy),
            };
            Err(ProbeFailure::new(what, error.to_string(), remedy))
        }
    }
}

#[cfg(target_os = "linux")]
fn probe_landlock(binary: &Utf8Path) -> Result<String, ProbeFailure> {
    use super::restrict::{INIT, PROBE};
    let found = probe_landlock_quickly()?;
    let mut command = Command::new(binary.as_std_path());
    let what = "a process that restricts itself";
    let remedy =
        "look for what forbids it: the seccomp filter of a container, or a 16th restriction";
    succeed(command.args([INIT, PROBE]), what, |_| remedy.to_owned())?;
    Ok(found)
}

#[cfg(not(target_os = "linux"))]
fn probe_landlock(_binary: &Utf8Path) -> Result<String, ProbeFailure> {
    let remedy = "use --fence seatbelt";
    Err(ProbeFailure::new("Landlock", "only Linux has it", remedy))
}

/// What a probe says of a program that is not there.
const NOT_INSTALLED: &str = "not installed";

fn probe_mount(binary: &Utf8Path) -> Result<String, ProbeFailure> {
    if !cfg!(target_os = "linux") {
        let remedy = "use --fence seatbelt";
        return Err(ProbeFailure::new("bwrap", "only Linux has it", remedy));
    }
    let mut command = Command::new("bwrap");
    command.args(mount::FLAGS.split_whitespace());
    let binary = binary.as_str();
    command.args(["--ro-bind", binary, binary, "--"]);
    command.args([binary, "__init", "--probe"]);
    succeed(&mut command, "bwrap", |said| {
        if said.contains("uid map") || said.contains("new namespace") {
            "load a profile that lets bwrap make user namespaces (AppArmor: \
                /etc/apparmor.d/bwrap-userns-restrict of the package apparmor-profiles, then \
                `apparmor_parser -r` of it; else `sysctl user.max_user_namespaces \
                kernel.unprivileged_userns_clone kernel.apparmor_restrict_unprivileged_userns`)"
        } else if said.contains("Landlock") {
            "a kernel from 6.12 on has what is needed"
        } else if said == NOT_INSTALLED {
            "install bubblewrap: apt install bubblewrap"
        } else {
            "see whether `bwrap --unshare-user --ro-bind / / true` starts"
        }
        .to_owned()
    })?;
    let version = output(Command::new("bwrap").arg("--version"));
    Ok(version.unwrap_or_default().trim().to_owned())
}

fn probe_container(binary: &Utf8Path, asks: &ContainerWishes) -> Result<String, ProbeFailure> {
    let name = asks.program.name();
    let mut command = Command::new(name);
    if asks.program == ContainerProgram::Docker {
        command.args(["info", "--format", "docker {{.ServerVersion}}"]);
        let remedy = "see what `docker info` says, or install podman";
        let said = succeed(&mut command, name, |_| remedy.to_owned())?;
        return Ok(said.trim().to_owned());
    }
    let unmade = |error: std::io::Error| {
        let remedy = "check TMPDIR and the space there";
        ProbeFailure::new("a directory for the probe", error.to_string(), remedy)
    };
    let place = tempfile::tempdir().map_err(unmade)?;
    let rootfs = Utf8Path::from_path(place.path()).unwrap_or(Utf8Path::new("/nonexistent"));
    let above = binary.parent().and_then(|dir| dir.strip_prefix("/").ok());
    std::fs::create_dir_all(rootfs.join(above.unwrap_or(rootfs))).map_err(unmade)?;
    // there is nothing of ours in an image
    let inside: &[&str] = match asks.image {
        Some(_) => &["true"],
        None => &[binary.as_str(), "__init", "--probe"],
    };
    command.args(container::trial(
        binary,
        rootfs,
        &container::ContainerStart {
            command: &inside.iter().map(Into::into).collect::<Vec<_>>(),
            directory: Utf8Path::new("/"),
            has_terminal: false,
            has_input: false,
            variables: Vec::new(),
            name: &format!("agentwt-probe-{}", std::process::id()),
            user: container::user(),
            exists: &|path| path.symlink_metadata().is_ok(),
        },
    ));
    succeed(&mut command, name, |said| {
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if said == NOT_INSTALLED {
            "install it: apt install podman uidmap"
        } else if has(&["cgroups in hybrid mode"]) {
            "let podman take runc: apt install runc, and in ~/.config/containers/containers.conf: \
                [engine] and below it runtime = \"runc\""
        } else if has(&["subuid", "subgid", "newuidmap", "newgidmap", "keep-id"]) {
            "apt install uidmap, then `usermod --add-subuids 100000-165535 --add-subgids \
                100000-165535` and the user's name as root, then `podman system migrate`"
        } else if has(&["Landlock"]) {
            "a kernel from 6.12 on has what is needed, or take an image: --image"
        } else {
            "see what `podman run --rm` and `podman info` say; as root it is not made for this"
        }
        .to_owned()
    })?;
    let version = output(Command::new(name).arg("--version"));
    Ok(version.unwrap_or_default().trim().to_owned())
}

fn probe_seatbelt() -> Result<String, ProbeFailure> {
    let program = "/usr/bin/sandbox-exec";
    let mut command = Command::new(program);
    command.args(["-p", "(version 1) (allow default)", "/usr/bin/true"]);
    let remedy = "use --fence mount or landlock; only macOS has it";
    succeed(&mut command, program, |_| remedy.to_owned())?;
    Ok("sandbox-exec".to_owned())
}

/// Runs a probe: what it printed, or what it said on its way down.
fn succeed(
    command: &mut Command,
    what: &str,
    remedy: impl Fn(&str) -> String,
) -> Result<String, ProbeFailure> {
    output(command).map_err(|said| {
        let advice = remedy(&said);
        let said = said.trim().trim_start_matches(&format!("{what}: "));
        ProbeFailure::new(what, said.trim_start_matches("Error: "), &advice)
    })
}

/// Runs a command: what it printed, or the last that it said.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    // the keys of the terminal are for us
    command.process_group(0);
    command.stdin(Stdio::null()).env("LC_ALL", "C");
    match command.output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            let ended = || output.status.to_string();
            Err(last.map_or_else(ended, ToOwned::to_owned))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(NOT_INSTALLED.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
