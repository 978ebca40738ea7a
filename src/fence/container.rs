//! Renders a policy as the arguments of podman(1) or docker(1).
//!
//! Without an image, the container has the host's root, read only, and the command starts by way of
//! this program, as with `mount`, so that Landlock and seccomp are added. (`--rootfs /` and an
//! overlay of `/` were tried with podman 4.3: both fail for an ordinary user. So the directories of
//! the root are mounted into an empty one.) With an image, there is no program of ours inside, and
//! the mounts are all there is.
//!
//! Its first process is ours, or that of `--init`: for that one, the kernel ignores each signal
//! that it does not handle (`pid_namespaces(7)`). No option says how processes are counted: of crun
//! and runc, each refuses some, and each works without.

use std::ffi::OsString;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::{getegid, geteuid};

use crate::config::value::Net;
use crate::fence::mount::inner_command;
use crate::fence::policy::{ContainerProgram, ContainerRequest, FenceRequest, Policy};

/// What of the host's root a container gets; `/dev`, `/proc`, `/sys`, `/run` and `/tmp` are its
/// own.
const ROOT: &str = "bin sbin lib lib32 lib64 libx32 usr etc opt home root srv var nix snap";
/// What an image says better than the environment of the host.
const OF_IMAGE: [&str; 3] = ["PATH", "HOME", "SHELL"];

/// Holds what a container is started with beside the policy.
pub struct ContainerStart<'a> {
    /// The command.
    pub command: &'a [OsString],
    /// Where it starts.
    pub directory: &'a Utf8Path,
    /// Whether it has a terminal.
    pub has_terminal: bool,
    /// Whether it reads what we are given.
    pub has_input: bool,
    /// The names of its variables; the values come from the environment of podman.
    pub variables: Vec<&'a str>,
    /// The name of the container, by which it can be killed.
    pub name: &'a str,
    /// Who we are outside.
    pub user: HostUser,
    /// Whether a path exists.
    pub exists: &'a dyn Fn(&Path) -> bool,
}

/// The numbers of a user and its group on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostUser {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl HostUser {
    /// Us.
    pub fn ours() -> Self {
        Self {
            user: geteuid().as_raw(),
            group: getegid().as_raw(),
        }
    }
}

/// The arguments by which podman or docker runs the command in a container, without the program's
/// own name.
pub fn arguments(policy: &Policy, start: &ContainerStart<'_>) -> Vec<OsString> {
    let image = policy.request.container.image.as_deref();
    let mut list = Arguments::default();
    list.add_limits(&policy.request, start);
    list.add_mounts(policy, start);
    for name in &start.variables {
        if image.is_none() || !OF_IMAGE.contains(name) {
            list.word(format!("--env={name}"));
        }
    }
    list.word(format!("--workdir={}", start.directory));
    match image {
        Some(image) => {
            // an entry point of the image would get the command as its arguments
            list.word("--entrypoint=");
            list.word(image);
            list.0.extend_from_slice(start.command);
        }
        None => {
            list.word("--rootfs");
            list.word(rootfs(policy).as_str());
            list.0.extend(inner_command(policy, start.command));
        }
    }
    list.0
}

/// The arguments that run only the probe of our program, in a container like that of a fence.
pub fn trial(binary: &Utf8Path, rootfs: &Utf8Path, start: &ContainerStart<'_>) -> Vec<OsString> {
    let mut list = Arguments::default();
    list.add_limits(&FenceRequest::default(), start);
    list.add_root(start);
    list.mount(binary.as_str(), MountAccess::ReadOnly);
    list.word("--rootfs");
    list.word(rootfs.as_str());
    list.0.extend_from_slice(start.command);
    list.0
}

/// The empty directory that is the root of a container without an image; made before the start.
pub fn rootfs(policy: &Policy) -> Utf8PathBuf {
    policy.places.private.join("rootfs")
}

/// The directories above what is mounted, made in the root before the start: those that podman
/// makes belong to a user whose files only root removes.
pub fn mount_points(policy: &Policy) -> Vec<Utf8PathBuf> {
    let places = &policy.places;
    let request = &policy.request;
    let mut mounted: Vec<&Utf8Path> = vec![&places.binary, &places.common_dir, &places.root];
    for paths in [
        &request.rw,
        &request.sockets,
        &request.read_only,
        &places.withheld,
        &places.shown_in_git,
    ] {
        mounted.extend(paths.iter().map(Utf8PathBuf::as_path));
    }
    mounted.extend(policy.hidden());
    let mut points = Vec::new();
    for path in mounted {
        if let Some(directory) = path.parent()
            && let Ok(below) = directory.strip_prefix("/")
        {
            points.push(rootfs(policy).join(below));
        }
    }
    points
}

/// Says what a container may do with a mount.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MountAccess {
    ReadOnly,
    Writable,
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn word(&mut self, word: impl Into<OsString>) {
        self.0.push(word.into());
    }

    fn words(&mut self, words: &str) {
        self.0.extend(words.split_whitespace().map(OsString::from));
    }

    /// Mounts a path at another. The option is a line of CSV, so that any path can be said.
    fn bind(&mut self, from: impl Into<OsString>, to: impl Into<OsString>, access: MountAccess) {
        let mut option = OsString::from("--mount=type=bind,");
        option.push(csv_field("source=", from.into()));
        option.push(",");
        option.push(csv_field("destination=", to.into()));
        if access == MountAccess::ReadOnly {
            option.push(",readonly");
        }
        self.word(option);
    }

    /// Mounts a path where it stands.
    fn mount(&mut self, path: impl Into<OsString>, access: MountAccess) {
        let path = path.into();
        self.bind(path.clone(), path, access);
    }

    /// Mounts an empty directory at a path.
    fn hide(&mut self, path: &Utf8Path, program: ContainerProgram) {
        let mut option = OsString::from("--mount=type=tmpfs,");
        option.push(csv_field("destination=", path.as_str().into()));
        option.push(",tmpfs-mode=0755");
        if program == ContainerProgram::Podman {
            // without the second, podman copies what is to be hidden into it; without the third, it
            // belongs to root, and git takes nothing in the directory of another (git-config(1),
            // `safe.directory`)
            option.push(",ro,notmpcopyup,U=true");
        }
        self.word(option);
    }

    /// How the container runs: its input, name, user, rights, network and resources.
    fn add_limits(&mut self, request: &FenceRequest, start: &ContainerStart<'_>) {
        let container = &request.container;
        self.words("--log-level=fatal run --rm");
        if start.has_input {
            self.word("--interactive");
        }
        if start.has_terminal {
            self.word("--tty");
        }
        self.word(format!("--name={}", start.name));
        if container.program == ContainerProgram::Podman {
            // a container of this name may be there that podman is still removing
            self.word("--replace");
        }
        if container.image.is_some() {
            self.word("--init");
        }
        self.add_user(container, start.user);
        self.words("--cap-drop=all --security-opt=no-new-privileges --security-opt=label=disable");
        self.word("--log-driver=none");
        // ports are limited by Landlock inside
        let network = match request.net {
            Net::None => "none",
            Net::Host | Net::Ports(_) => "host",
        };
        self.word(format!("--network={network}"));
        if let Some(memory) = &container.memory {
            self.word(format!("--memory={memory}"));
        }
        if let Some(cpus) = container.cpus {
            self.word(format!("--cpus={cpus}"));
        }
    }

    /// The user inside: the one that is asked for, or us.
    fn add_user(&mut self, container: &ContainerRequest, host_user: HostUser) {
        let own = format!("{}:{}", host_user.user, host_user.group);
        let wanted = container.user.as_ref().unwrap_or(&own);
        let (user, group) = wanted.split_once(':').unwrap_or((wanted, wanted));
        let are_numbers = user.parse::<u32>().is_ok() && group.parse::<u32>().is_ok();
        if container.program == ContainerProgram::Podman && host_user.user != 0 {
            // the user outside is that one inside, so that the files are its own
            if are_numbers && *wanted != own {
                self.word(format!("--userns=keep-id:uid={user},gid={group}"));
            } else {
                self.word("--userns=keep-id");
            }
        }
        if are_numbers {
            // without a group, a number would have the group of root
            self.word(format!("--user={user}:{group}"));
        } else {
            self.word(format!("--user={wanted}"));
        }
    }

    /// The root of the host, read only.
    fn add_root(&mut self, start: &ContainerStart<'_>) {
        self.words("--read-only --read-only-tmpfs=false");
        self.words("--tmpfs=/tmp:mode=1777,exec --tmpfs=/run:mode=0755");
        for name in ROOT.split_whitespace() {
            let directory = format!("/{name}");
            if (start.exists)(Path::new(&directory)) {
                self.mount(directory, MountAccess::ReadOnly);
            }
        }
    }

    /// Everything that the container sees, each mount after what it lies in.
    fn add_mounts(&mut self, policy: &Policy, start: &ContainerStart<'_>) {
        let places = &policy.places;
        let container = &policy.request.container;
        if container.image.is_none() {
            self.add_root(start);
            for hidden in policy.hidden() {
                self.hide(hidden, container.program);
            }
            self.mount(places.binary.as_str(), MountAccess::ReadOnly);
        }
        for withheld in &places.withheld {
            self.hide(withheld, container.program);
        }
        for readable in policy.readable_in_git() {
            self.mount(readable.as_str(), MountAccess::ReadOnly);
        }
        self.add_requested(policy, start);
        self.add_worktree(policy);
    }

    /// The directories of the run, and what the user asks for beside the worktree.
    fn add_requested(&mut self, policy: &Policy, start: &ContainerStart<'_>) {
        let request = &policy.request;
        let own = policy.own_directories();
        let mut mounts: Vec<(&Utf8Path, MountAccess)> = Vec::new();
        for path in own.iter().chain(&request.rw) {
            mounts.push((path, MountAccess::Writable));
        }
        for path in request.read_only.iter().chain(&request.sockets) {
            mounts.push((path, MountAccess::ReadOnly));
        }
        // what is in another path is mounted after that
        mounts.sort();
        for (path, access) in mounts {
            if (start.exists)(path.as_std_path()) {
                self.mount(path.as_str(), access);
            }
        }
    }

    /// The worktree, writable where it is granted.
    fn add_worktree(&mut self, policy: &Policy) {
        let places = &policy.places;
        if policy.is_whole {
            self.mount(places.root.as_str(), MountAccess::Writable);
        } else {
            self.mount(places.root.as_str(), MountAccess::ReadOnly);
            for grant in &policy.grants {
                self.mount(policy.at(&grant.path), MountAccess::Writable);
            }
        }
        for mask in &policy.masks {
            self.mount(policy.at(mask), MountAccess::ReadOnly);
        }
        let private_dot_git = places.private.join("dotgit");
        let dot_git = places.root.join(".git");
        self.bind(
            private_dot_git.as_str(),
            dot_git.as_str(),
            MountAccess::ReadOnly,
        );
    }
}

/// A field of a line of CSV, in quotes where it needs them.
fn csv_field(key: &str, value: OsString) -> OsString {
    let is_plain = !value
        .as_encoded_bytes()
        .iter()
        .any(|byte| b",\"\r\n".contains(byte));
    let mut field = OsString::from(key);
    if is_plain {
        field.push(value);
        return field;
    }
    // what is not text stays as it is
    let doubled = value.to_str().map(|text| text.replace('"', "\"\"").into());
    field.push(doubled.unwrap_or(value));
    let mut quoted = OsString::from("\"");
    quoted.push(field);
    quoted.push("\"");
    quoted
}
