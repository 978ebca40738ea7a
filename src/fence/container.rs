//! Renders a policy as the arguments of podman(1) or docker(1).
//!
//! Without an image, the container has the host's root, read only, and the command starts by way of this
//! program, as with `mount`, so that Landlock and seccomp are added. (`--rootfs /` and an overlay of `/`
//! were tried with podman 4.3: both fail for an ordinary user. So the directories of the root are mounted
//! into an empty one.) With an image, there is no program of ours inside, and the mounts are all there is.
//!
//! Its first process is ours, or that of `--init`: for that one, the kernel ignores each signal that it does
//! not handle (`pid_namespaces(7)`). No option says how processes are counted: of crun and runc, each
//! refuses some, and each works without.

use std::ffi::OsString;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::Net;
use crate::fence::mount::inner_command;
use crate::fence::policy::{ContainerProgram, Policy, Wishes};

/// What of the host's root a container gets; `/dev`, `/proc`, `/sys`, `/run` and `/tmp` are its own.
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
    /// The user and the group outside.
    pub user: (u32, u32),
    /// Whether a path exists.
    pub exists: &'a dyn Fn(&Path) -> bool,
}

/// The arguments, without the program's own name.
pub fn arguments(policy: &Policy, start: &ContainerStart<'_>) -> Vec<OsString> {
    let mut list = Arguments(Vec::new());
    let image = policy.wishes.container.image.as_deref();
    list.add_limits(&policy.wishes, start);
    list.add_mounts(policy, start);
    let variables = start.variables.iter();
    let variables = variables.filter(|name| image.is_none() || !OF_IMAGE.contains(name));
    list.0
        .extend(variables.map(|name| format!("--env={name}").into()));
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
    let mut list = Arguments(Vec::new());
    list.add_limits(&Wishes::default(), start);
    list.add_root(start);
    list.mount(binary.as_str(), false);
    list.word("--rootfs");
    list.word(rootfs.as_str());
    list.0.extend_from_slice(start.command);
    list.0
}

/// The empty directory that is the root of a container without an image; made before the start.
pub fn rootfs(policy: &Policy) -> Utf8PathBuf {
    policy.places.private.join("rootfs")
}

/// The directories above what is mounted, made in the root before the start: those that podman makes belong
/// to a user whose files only root removes.
pub fn mount_points(policy: &Policy) -> Vec<Utf8PathBuf> {
    let (places, wishes) = (&policy.places, &policy.wishes);
    let own = [&places.binary, &places.common_dir, &places.root];
    let asked = [&wishes.rw[..], &wishes.sockets, &wishes.read_only].concat();
    let all = own.into_iter().chain(&asked).chain(&places.withheld);
    let all = all.map(Utf8PathBuf::as_path);
    let above = all.chain(policy.hidden()).filter_map(Utf8Path::parent);
    let inside = above.filter_map(|path| path.strip_prefix("/").ok());
    inside.map(|path| rootfs(policy).join(path)).collect()
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn word(&mut self, word: impl Into<OsString>) {
        self.0.push(word.into());
    }

    fn word_if(&mut self, is_wanted: bool, word: &str) {
        self.0.extend(is_wanted.then(|| word.into()));
    }

    fn words(&mut self, words: &str) {
        self.0.extend(words.split_whitespace().map(OsString::from));
    }

    /// Mounts a path at another. The option is a line of CSV, so that any path can be said.
    fn bind(&mut self, from: impl Into<OsString>, to: impl Into<OsString>, is_writable: bool) {
        let mut option = OsString::from("--mount=type=bind,");
        option.push(csv_field("source=", from.into()));
        option.push(",");
        option.push(csv_field("destination=", to.into()));
        if !is_writable {
            option.push(",readonly");
        }
        self.word(option);
    }

    fn mount(&mut self, path: impl Into<OsString>, is_writable: bool) {
        let path = path.into();
        self.bind(path.clone(), path, is_writable);
    }

    fn hide(&mut self, path: &Utf8Path, program: ContainerProgram) {
        let mut option = OsString::from("--mount=type=tmpfs,");
        option.push(csv_field("destination=", path.as_str().into()));
        option.push(",tmpfs-mode=0755");
        if program == ContainerProgram::Podman {
            // without the second, podman copies what is to be hidden into it; without the third, it belongs to root,
            // and git takes nothing in the directory of another (git-config(1), `safe.directory`)
            option.push(",ro,notmpcopyup,U=true");
        }
        self.word(option);
    }

    fn add_limits(&mut self, all: &Wishes, start: &ContainerStart<'_>) {
        let wishes = &all.container;
        let is_podman = wishes.program == ContainerProgram::Podman;
        self.words("--log-level=fatal run --rm");
        self.word_if(start.has_input, "--interactive");
        self.word_if(start.has_terminal, "--tty");
        self.word(format!("--name={}", start.name));
        // one that goes on since its run was killed
        self.word_if(is_podman, "--replace");
        self.word_if(wishes.image.is_some(), "--init");
        let own = format!("{}:{}", start.user.0, start.user.1);
        let asked = wishes.user.as_ref().unwrap_or(&own);
        let (user, group) = asked.split_once(':').unwrap_or((asked, asked));
        let are_numbers = [user, group].iter().all(|one| one.parse::<u32>().is_ok());
        if is_podman && start.user.0 != 0 {
            // the user outside is that one inside, so that the files are its own
            let other = are_numbers && *asked != own;
            let ids = other.then(|| format!(":uid={user},gid={group}"));
            let ids = ids.unwrap_or_default();
            self.word(format!("--userns=keep-id{ids}"));
        }
        // without a group, a number would have the group of root
        let numbers = are_numbers.then(|| format!("{user}:{group}"));
        self.word(format!("--user={}", numbers.as_ref().unwrap_or(asked)));
        self.words(
            "--cap-drop=all --security-opt=no-new-privileges --security-opt=label=disable --log-driver=none",
        );
        // ports are limited by Landlock inside
        let network = if all.net == Net::None { "none" } else { "host" };
        self.word(format!("--network={network}"));
        let (memory, cpus) = (&wishes.memory, &wishes.cpus);
        let memory = memory.iter().map(|memory| format!("--memory={memory}"));
        let cpus = cpus.iter().map(|cpus| format!("--cpus={cpus}"));
        self.0.extend(memory.chain(cpus).map(OsString::from));
    }

    /// The root of the host, read only.
    fn add_root(&mut self, start: &ContainerStart<'_>) {
        self.words("--read-only --read-only-tmpfs=false --tmpfs=/tmp:mode=1777,exec --tmpfs=/run:mode=0755");
        let directories = ROOT.split_whitespace().map(|name| format!("/{name}"));
        for directory in directories.filter(|path| (start.exists)(Path::new(path))) {
            self.mount(directory, false);
        }
    }

    fn add_mounts(&mut self, policy: &Policy, start: &ContainerStart<'_>) {
        let (places, wishes) = (&policy.places, &policy.wishes);
        let program = wishes.container.program;
        if wishes.container.image.is_none() {
            self.add_root(start);
            for hidden in policy.hidden() {
                self.hide(hidden, program);
            }
            self.mount(places.binary.as_str(), false);
        }
        self.mount(places.common_dir.as_str(), false);
        for withheld in &places.withheld {
            self.hide(withheld, program);
        }
        self.mount(policy.record().as_str(), false);
        let own = policy.own_directories().into_iter();
        let writable = own.chain(wishes.rw.iter().cloned());
        let writable = writable.map(|path| (path, true));
        let read_only = wishes.read_only.iter().chain(&wishes.sockets).cloned();
        let read_only = read_only.map(|path| (path, false));
        let mut all: Vec<_> = writable.chain(read_only).collect();
        // what is in another path is mounted after that
        all.sort();
        for (path, is_writable) in all {
            if (start.exists)(path.as_std_path()) {
                self.mount(path.as_str(), is_writable);
            }
        }
        self.mount(places.root.as_str(), policy.is_whole);
        let grants = policy.grants.iter().filter(|_| !policy.is_whole);
        for grant in grants {
            self.mount(policy.at(&grant.path), true);
        }
        for mask in &policy.masks {
            self.mount(policy.at(mask), false);
        }
        let dot_git = places.private.join("dotgit");
        self.bind(dot_git.as_str(), places.root.join(".git").as_str(), false);
    }
}

/// A field of a line of CSV, in quotes where it needs them.
fn csv_field(key: &str, value: OsString) -> OsString {
    let bytes = value.as_encoded_bytes();
    let is_plain = !bytes.iter().any(|byte| b",\"\r\n".contains(byte));
    let quote = if is_plain { "" } else { "\"" };
    let doubled = value.to_str().map(|text| text.replace('"', "\"\"").into());
    let value = doubled.unwrap_or(value);
    let parts = [quote.into(), key.into(), value, quote.into()];
    parts.into_iter().collect()
}

/// Our user and group.
pub fn user() -> (u32, u32) {
    use rustix::process::{getegid, geteuid};
    (geteuid().as_raw(), getegid().as_raw())
}
