//! Renders a policy as the arguments of bubblewrap (bwrap(1)): a file system in which only what is
//! granted is writable, and namespaces in which no other process, and no hidden worktree, is to be
//! seen.
//!
//! The system's own `bwrap` is used: where unprivileged user namespaces are restricted
//! (`AppArmor`), that is the program which is let through. Inside of it, the command starts by way
//! of this program, which adds Landlock and seccomp. Landlock forbids every mount too, so
//! `--disable-userns` is not needed.

use std::collections::BTreeSet;
use std::ffi::OsString;

use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::Net;
use crate::fence::policy::Policy;

/// The namespaces and the system's directories, which are the same in each run. As root,
/// `/proc/sys` has settings of the whole system.
pub(super) const FLAGS: &str = "--unshare-user --unshare-pid --unshare-ipc --unshare-uts \
    --die-with-parent --cap-drop ALL --ro-bind / / --dev /dev --proc /proc \
    --ro-bind /proc/sys /proc/sys --tmpfs /tmp --tmpfs /run";
/// What of `/run` programs need: the names of hosts, and the programs of `NixOS`.
const RUN: &str = "/run/systemd/resolve /run/resolvconf /run/NetworkManager/resolv.conf /run/nscd \
     /run/current-system";

/// Says in which session a command starts (setsid(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandSession {
    /// In ours, to which the terminal belongs.
    OfTerminal,
    /// In one of its own: there is no terminal.
    Own,
}

/// The arguments, without the program's own name.
pub fn arguments(
    policy: &Policy,
    command: &[OsString],
    directory: &Utf8Path,
    session: CommandSession,
) -> Vec<OsString> {
    let mut list = Arguments::default();
    list.add_system(policy, session);
    list.add_requested(policy, Position::AroundRepository);
    list.add_repository(policy);
    list.add_worktree(policy);
    for hidden in policy.hidden() {
        list.words(&["--remount-ro", hidden.as_str()]);
    }
    for withheld in &policy.places.withheld {
        list.words(&["--remount-ro", withheld.as_str()]);
    }
    list.words(&["--chdir", directory.as_str()]);
    list.0.extend(inner_command(policy, command));
    list.0
}

/// The command as it starts inside: by way of this program.
pub(super) fn inner_command(policy: &Policy, command: &[OsString]) -> Vec<OsString> {
    let places = &policy.places;
    let start_file = places.private.join("start.json");
    let mut words = vec![
        places.binary.as_str().into(),
        "__init".into(),
        start_file.into_string().into(),
        "--".into(),
    ];
    words.extend_from_slice(command);
    words
}

/// Says where a path stands that the user asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Beside or around the repository and the worktrees: it is mounted before these.
    AroundRepository,
    /// In one of these: it is mounted after them.
    InRepository,
}

impl Position {
    fn of(policy: &Policy, path: &Utf8Path) -> Self {
        let mut places = policy.hidden();
        places.extend([&*policy.places.root, &*policy.places.common_dir]);
        if places.iter().any(|place| path.starts_with(place)) {
            Self::InRepository
        } else {
            Self::AroundRepository
        }
    }
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    /// Mounts a path where it stands.
    fn mount(&mut self, option: &str, path: impl Into<OsString>) {
        let path = path.into();
        self.0.extend([option.into(), path.clone(), path]);
    }

    fn add_system(&mut self, policy: &Policy, session: CommandSession) {
        self.0.extend(FLAGS.split_whitespace().map(Into::into));
        if policy.request.net == Net::None {
            self.words(&["--unshare-net"]);
        }
        if session == CommandSession::Own {
            self.words(&["--new-session"]);
        }
        for path in RUN.split_whitespace() {
            self.mount("--ro-bind-try", path);
        }
    }

    fn add_repository(&mut self, policy: &Policy) {
        let places = &policy.places;
        for hidden in policy.hidden_outside_repository() {
            self.words(&["--tmpfs", hidden.as_str()]);
        }
        for withheld in &places.withheld {
            self.words(&["--tmpfs", withheld.as_str()]);
        }
        for readable in policy.readable_in_git() {
            self.mount("--ro-bind", readable.as_str());
        }
        for hidden in policy.hidden_in_repository() {
            self.words(&["--tmpfs", hidden.as_str()]);
        }
        for directory in policy.own_directories() {
            self.mount("--bind-try", directory.as_str());
        }
        if is_binary_covered(policy) {
            self.mount("--ro-bind", places.binary.as_str());
        }
    }

    fn add_worktree(&mut self, policy: &Policy) {
        let places = &policy.places;
        if policy.is_whole {
            self.mount("--bind", places.root.as_str());
        } else {
            self.mount("--ro-bind", places.root.as_str());
            for grant in &policy.grants {
                self.mount("--bind", policy.at(&grant.path));
            }
        }
        self.add_requested(policy, Position::InRepository);
        for mask in &policy.masks {
            self.mount("--ro-bind", policy.at(mask));
        }
        // last, so that it is above whatever else is writable
        let private_dot_git = places.private.join("dotgit");
        let dot_git = places.root.join(".git");
        self.words(&["--ro-bind", private_dot_git.as_str(), dot_git.as_str()]);
    }

    /// What the user asks for beside the worktree.
    fn add_requested(&mut self, policy: &Policy, position: Position) {
        let request = &policy.request;
        // sorted: what is in another path is mounted after that
        let mut mounts: BTreeSet<(&Utf8PathBuf, &str)> = BTreeSet::new();
        mounts.extend(request.rw.iter().map(|path| (path, "--bind-try")));
        // one connects to a socket that is read only as well
        let read_only = request.read_only.iter().chain(&request.sockets);
        mounts.extend(read_only.map(|path| (path, "--ro-bind-try")));
        for (path, option) in mounts {
            if Position::of(policy, path) == position {
                self.mount(option, path.as_str());
            }
        }
    }
}

/// True if our program would not be there: by what is hidden, by a directory of its own that the
/// fence has, or by what is writable.
fn is_binary_covered(policy: &Policy) -> bool {
    let mut covering = ["/tmp", "/run", "/dev"].map(Utf8Path::new).to_vec();
    covering.extend(policy.hidden());
    covering.extend(policy.places.withheld.iter().map(|path| &**path));
    covering.extend(policy.request.rw.iter().map(|path| &**path));
    let binary = &policy.places.binary;
    covering.iter().any(|place| binary.starts_with(place))
}
