//! Finds out which fences work here, by trying them.
//!
//! What a probe says is what its fence would meet: it starts a process that restricts itself, or
//! bubblewrap or podman with the flags of the fence.
#![expect(clippy::disallowed_methods, reason = "tries what the fences start")]

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::geteuid;

use crate::config::value::Fence;
use crate::fence::availability::{Probe, ProbeFailure};
use crate::fence::container::{ContainerStart, HostUser};
use crate::fence::error::FenceError;
use crate::fence::policy::{ContainerProgram, ContainerRequest};
use crate::fence::trial::{NOT_INSTALLED, output, succeed};
use crate::fence::{container, kernel, mount};
use crate::system::boot::boot_id;
use crate::system::path::{is_on_path, programs_named};

/// Tries each fence of the list. `binary` is our own program.
pub fn probes(fences: &[Fence], binary: &Utf8Path) -> Vec<Probe> {
    let request = ContainerRequest {
        program: container_program(),
        ..ContainerRequest::default()
    };
    fences
        .iter()
        .map(|fence| probe(*fence, binary, &request))
        .collect()
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
fn probe(fence: Fence, binary: &Utf8Path, request: &ContainerRequest) -> Probe {
    let result = match fence {
        Fence::None | Fence::Auto => Ok("nothing is enforced".to_owned()),
        Fence::Perms => Ok("write bits only".to_owned()),
        Fence::Landlock => kernel::probe_landlock(binary),
        Fence::Mount => probe_mount(binary),
        Fence::Container => match request.program {
            ContainerProgram::Podman => probe_podman(binary, request),
            ContainerProgram::Docker => probe_docker(),
        },
        Fence::Seatbelt => probe_seatbelt(),
    };
    Probe { fence, result }
}

/// Finds out, fast, whether a fence works for a start.
///
/// The answer of an earlier probe counts as long as the system runs, with the same programs: a file
/// in `state` has it. Landlock is only asked for its version, since a process that cannot restrict
/// itself runs nothing.
pub fn probe_for_start(
    fence: Fence,
    binary: &Utf8Path,
    state: &Utf8Path,
    request: &ContainerRequest,
) -> Probe {
    let program = match fence {
        Fence::Landlock => {
            let result = kernel::landlock_support();
            return Probe { fence, result };
        }
        Fence::None | Fence::Perms | Fence::Seatbelt | Fence::Auto => {
            return probe(fence, binary, request);
        }
        Fence::Mount => "bwrap",
        Fence::Container => request.program.name(),
    };
    let is_of_image = fence == Fence::Container && request.image.is_some();
    let suffix = if is_of_image { "-image" } else { "" };
    let earlier = EarlierProbe {
        file: state.join(format!("fence-{program}{suffix}")),
        mark: mark(program, binary),
    };
    if let Some(answer) = earlier.read() {
        let result = Ok(answer);
        return Probe { fence, result };
    }
    let probe = probe(fence, binary, request);
    if let Ok(answer) = &probe.result {
        earlier.write(answer);
    }
    probe
}

/// The file in which the answer of a probe is kept that worked.
struct EarlierProbe {
    file: Utf8PathBuf,
    /// What was the same as long as the answer counts; none if nothing says so.
    mark: Option<String>,
}

impl EarlierProbe {
    /// The answer, if it counts still.
    fn read(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        let (mark, answer) = text.split_once('\n')?;
        (self.mark.as_deref() == Some(mark)).then(|| answer.to_owned())
    }

    /// Keeps an answer; where it cannot be, the next start tries again.
    fn write(&self, answer: &str) {
        if let Some(mark) = &self.mark
            && let Some(directory) = self.file.parent()
        {
            let _ = std::fs::create_dir_all(directory);
            let _ = std::fs::write(&self.file, format!("{mark}\n{answer}"));
        }
    }
}

/// What is the same as long as a program, ours, our user and the running system are.
fn mark(program: &str, binary: &Utf8Path) -> Option<String> {
    let boot = boot_id()?;
    let user = geteuid().as_raw();
    let theirs = file_mark(&programs_named(program).next()?.metadata);
    let ours = file_mark(&std::fs::metadata(binary).ok()?);
    Some(format!("{boot} {user} {theirs} {ours}"))
}

/// What is another word for each file, and each content that the program was given.
fn file_mark(file: &Metadata) -> String {
    let device = file.dev();
    let inode = file.ino();
    format!("{device}:{inode}:{}.{}", file.mtime(), file.mtime_nsec())
}

/// What `auto` takes, the strongest first; a container is to be asked for.
const STRONG: [Fence; 3] = [Fence::Mount, Fence::Seatbelt, Fence::Landlock];

/// Takes the fence that was asked for, or, for `auto`, the strongest that works; each is tried only
/// where it is needed.
///
/// # Errors
/// Fails when that fence does not work, or, for `auto`, none from [`Fence::Landlock`] on.
pub fn choose(
    requested: Fence,
    try_fence: &mut dyn FnMut(Fence) -> Probe,
) -> Result<Fence, FenceError> {
    let candidates = match requested {
        Fence::Auto => &STRONG[..],
        fence => &[fence],
    };
    let mut failed = None;
    for fence in candidates.iter().copied() {
        match try_fence(fence).result {
            Ok(_) => return Ok(fence),
            Err(failure) => failed = Some((fence, failure)),
        }
    }
    let (fence, failure) = failed.expect("because one was tried");
    Err(FenceError::Unavailable {
        fence,
        failure: Box::new(failure),
        weaker: weaker_that_works(fence, try_fence).map(Box::new),
    })
}

/// The strongest fence below another that works here.
fn weaker_that_works(fence: Fence, try_fence: &mut dyn FnMut(Fence) -> Probe) -> Option<Probe> {
    for weaker in STRONG.into_iter().chain([Fence::Perms]) {
        if weaker < fence {
            let probe = try_fence(weaker);
            if probe.result.is_ok() {
                return Some(probe);
            }
        }
    }
    None
}

fn probe_mount(binary: &Utf8Path) -> Result<String, ProbeFailure> {
    kernel::bubblewrap_support()?;
    let binary = binary.as_str();
    let mut command = Command::new("bwrap");
    command
        .args(mount::FLAGS.split_whitespace())
        .args(["--ro-bind", binary, binary, "--"])
        .args([binary, "__init", "--probe"]);
    succeed(&mut command, "bwrap", bubblewrap_remedy)?;
    Ok(version("bwrap"))
}

/// What a program says of its version.
fn version(program: &str) -> String {
    let text = output(Command::new(program).arg("--version"));
    text.unwrap_or_default().trim().to_owned()
}

fn bubblewrap_remedy(message: &str) -> &'static str {
    if message.contains("uid map") || message.contains("new namespace") {
        "load a profile that lets bwrap make user namespaces (AppArmor: \
            /etc/apparmor.d/bwrap-userns-restrict of the package apparmor-profiles, then \
            `apparmor_parser -r` of it; else `sysctl user.max_user_namespaces \
            kernel.unprivileged_userns_clone kernel.apparmor_restrict_unprivileged_userns`)"
    } else if message.contains("Landlock") {
        "a kernel from 6.12 on has what is needed"
    } else if message == NOT_INSTALLED {
        "install bubblewrap: apt install bubblewrap"
    } else {
        "see whether `bwrap --unshare-user --ro-bind / / true` starts"
    }
}

fn probe_docker() -> Result<String, ProbeFailure> {
    let mut command = Command::new("docker");
    command.args(["info", "--format", "docker {{.ServerVersion}}"]);
    let version = succeed(
        &mut command,
        "docker",
        |_| "see what `docker info` says, or install podman",
    )?;
    Ok(version.trim().to_owned())
}

/// Runs the probe of our program in a container like that of a fence without an image: the
/// directories of the host in an empty root. For a fence with an image it runs only `true`, in that
/// same container: the image is never started.
fn probe_podman(binary: &Utf8Path, request: &ContainerRequest) -> Result<String, ProbeFailure> {
    let directory = tempfile::tempdir().map_err(|error| no_directory(&error))?;
    let rootfs = Utf8Path::from_path(directory.path())
        .ok_or_else(|| no_directory(&io::Error::other("its path is not UTF-8")))?;
    // our program is mounted at its own path. The directories above it are made by us: those that
    // podman makes belong to a user whose files only root removes
    let mut above_binary = rootfs.to_owned();
    if let Some(above) = binary.parent() {
        above_binary.push(above.as_str().trim_start_matches('/'));
    }
    std::fs::create_dir_all(above_binary).map_err(|error| no_directory(&error))?;
    // nothing of ours runs in an image, so what our program needs does not matter
    let inside: Vec<OsString> = match request.image {
        Some(_) => vec!["true".into()],
        None => vec![binary.as_str().into(), "__init".into(), "--probe".into()],
    };
    let start = ContainerStart {
        command: &inside,
        directory: Utf8Path::new("/"),
        has_terminal: false,
        has_input: false,
        variables: Vec::new(),
        name: &format!("agentwt-probe-{}", std::process::id()),
        user: HostUser::ours(),
        exists: &|path| path.symlink_metadata().is_ok(),
    };
    let mut command = Command::new("podman");
    command.args(container::trial(binary, rootfs, &start));
    succeed(&mut command, "podman", podman_remedy)?;
    Ok(version("podman"))
}

fn no_directory(error: &io::Error) -> ProbeFailure {
    ProbeFailure::new(
        "a directory for the probe",
        error.to_string(),
        "check TMPDIR and the space there",
    )
}

fn podman_remedy(message: &str) -> &'static str {
    let lacks_numbers = ["subuid", "subgid", "newuidmap", "newgidmap", "keep-id"]
        .iter()
        .any(|word| message.contains(word));
    if message == NOT_INSTALLED {
        "install it: apt install podman uidmap"
    } else if message.contains("cgroups in hybrid mode") {
        "let podman take runc: apt install runc, and in ~/.config/containers/containers.conf: \
            [engine] and below it runtime = \"runc\""
    } else if lacks_numbers {
        "apt install uidmap, then `usermod --add-subuids 100000-165535 --add-subgids \
            100000-165535` and the user's name as root, then `podman system migrate`"
    } else if message.contains("Landlock") {
        "a kernel from 6.12 on has what is needed, or take an image: --image"
    } else {
        "see what `podman run --rm` and `podman info` say; as root it is not made for this"
    }
}

fn probe_seatbelt() -> Result<String, ProbeFailure> {
    let program = "/usr/bin/sandbox-exec";
    let mut command = Command::new(program);
    command.args(["-p", "(version 1) (allow default)", "/usr/bin/true"]);
    succeed(
        &mut command,
        program,
        |_| "use --fence mount or landlock; only macOS has it",
    )?;
    Ok("sandbox-exec".to_owned())
}
