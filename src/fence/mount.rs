//! Renders a policy as the arguments of bubblewrap (bwrap(1)): a file system in which only what is granted
//! is writable, and namespaces in which no other process, and no hidden worktree, is to be seen.
//!
//! The system's own `bwrap` is used: where unprivileged user namespaces are restricted (`AppArmor`), that
//! is the program which is let through. Inside of it, the command starts by way of this program, which
//! adds Landlock and seccomp. Landlock forbids every mount too, so `--disable-userns` is not needed.

use std::collections::BTreeSet;
use std::ffi::OsString;

use camino::Utf8Path;

use crate::config::value::Net;
use crate::fence::policy::Policy;

/// The namespaces and the system's directories, which are the same in each run. As root, `/proc/sys` has settings of
/// the whole system.
pub(super) const FLAGS: &str = "--unshare-user --unshare-pid --unshare-ipc --unshare-uts \
    --die-with-parent --cap-drop ALL --ro-bind / / --dev /dev --proc /proc \
    --ro-bind /proc/sys /proc/sys --tmpfs /tmp --tmpfs /run";
/// What of `/run` programs need: the names of hosts, and the programs of `NixOS`.
const RUN: &str = "/run/systemd/resolve /run/resolvconf /run/NetworkManager/resolv.conf /run/nscd \
     /run/current-system";

/// The arguments, without the program's own name. `has_terminal` says whether the command has one: without
/// it, it gets a session of its own.
pub fn arguments(
    policy: &Policy,
    command: &[OsString],
    directory: &Utf8Path,
    has_terminal: bool,
) -> Vec<OsString> {
    let mut list = Arguments::default();
    list.add_system(policy, has_terminal);
    list.add_wishes(policy, false);
    list.add_repository(policy);
    list.add_worktree(policy);
    let withheld = policy.places.withheld.iter().map(|path| &**path);
    for hidden in policy.hidden().into_iter().chain(withheld) {
        list.words(&["--remount-ro", hidden.as_str()]);
    }
    list.words(&["--chdir", directory.as_str()]);
    list.0.extend(inner_command(policy, command));
    list.0
}

/// The command as it starts inside: by way of this program.
pub(super) fn inner_command(policy: &Policy, command: &[OsString]) -> Vec<OsString> {
    let places = &policy.places;
    let start = places.private.join("start.json");
    let own = [places.binary.as_str(), "__init", start.as_str(), "--"];
    let own = own.into_iter().map(OsString::from);
    own.chain(command.iter().cloned()).collect()
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    /// Mounts a path where it stands.
    fn mount(&mut self, how: &str, path: impl Into<OsString>) {
        let path = path.into();
        self.0.extend([how.into(), path.clone(), path]);
    }

    fn add_system(&mut self, policy: &Policy, has_terminal: bool) {
        self.0.extend(FLAGS.split_whitespace().map(Into::into));
        if policy.wishes.net == Net::None {
            self.words(&["--unshare-net"]);
        }
        if !has_terminal {
            self.words(&["--new-session"]);
        }
        for path in RUN.split_whitespace() {
            self.mount("--ro-bind-try", path);
        }
    }

    fn add_repository(&mut self, policy: &Policy) {
        let places = &policy.places;
        let (inside, around) = policy.hidden_inside();
        for hidden in around {
            self.words(&["--tmpfs", hidden.as_str()]);
        }
        self.mount("--ro-bind", places.common_dir.as_str());
        let withheld = places.withheld.iter().map(|path| &**path);
        for hidden in inside.into_iter().chain(withheld) {
            self.words(&["--tmpfs", hidden.as_str()]);
        }
        // each mount takes a quarter of a millisecond
        if policy.wishes.withholds {
            self.mount("--ro-bind", policy.record().as_str());
        }
        for directory in policy.own_directories() {
            self.mount("--bind-try", directory.as_str());
        }
        // by what is hidden, by a directory of its own that the fence has, or by what is writable
        let own = ["/tmp", "/run", "/dev"].map(Utf8Path::new);
        let own = own.into_iter().chain(policy.hidden());
        let mut covered = own.chain(policy.wishes.rw.iter().map(|path| &**path));
        if covered.any(|place| places.binary.starts_with(place)) {
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
        self.add_wishes(policy, true);
        for mask in &policy.masks {
            self.mount("--ro-bind", policy.at(mask));
        }
        // last, so that it is above whatever else is writable
        let dot_git = places.private.join("dotgit");
        let to = places.root.join(".git");
        self.words(&["--ro-bind", dot_git.as_str(), to.as_str()]);
    }

    /// What else is writable: what is around the repository before it, and what is in it after it.
    fn add_wishes(&mut self, policy: &Policy, is_inside: bool) {
        let hidden = policy.hidden();
        let places = [&*policy.places.root, &*policy.places.common_dir];
        let is_in = |path: &Utf8Path| {
            let mut all = hidden.iter().copied().chain(places);
            all.any(|place| path.starts_with(place))
        };
        let wishes = &policy.wishes;
        let rw = wishes.rw.iter().map(|path| (path, "--bind-try"));
        // one connects to a socket that is read only as well
        let read_only = wishes.read_only.iter().chain(&wishes.sockets);
        let read_only = read_only.map(|path| (path, "--ro-bind-try"));
        // what is in another path is mounted after that
        for (path, how) in rw.chain(read_only).collect::<BTreeSet<_>>() {
            if is_in(path) == is_inside {
                self.mount(how, path.as_str());
            }
        }
    }
}
