//! What a process can do that restricted itself.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use super::{World, alone, as_each_user, is_root, text};
use git_agentwt::config::value::Fence;
use git_agentwt::config::value::Net;
use git_agentwt::fence::init::{RequestedEntry, Start};

#[test]
fn writes_pass_inside_of_the_scope_and_nowhere_else() {
    as_each_user(|world| {
        let scripts = [
            (
                "echo a >src/a; mkdir -p src/d; mv src/a src/d/b; ln -sf x src/l; rm -r src/d src/l",
                true,
            ),
            ("echo '{ }' >package.json", true),
            (
                "echo a >src/t; mv src/t src/u; mkfifo src/p; rm src/p src/u",
                true,
            ),
            ("echo a >/dev/null", true),
            ("cat readme package.json ../outside/file >/dev/null", true),
            ("echo a >>readme", false),
            ("echo a >new", false),
            ("echo a >../outside/new", false),
            (
                "ln -f ../outside/file src/linked; echo a >>src/linked",
                false,
            ),
            ("ln -sf ../../outside/file src/sym; echo a >>src/sym", false),
            ("echo a >src/m; mv src/m ../outside/moved", false),
            ("mkdir ../outside/d; rmdir ../outside/d", false),
            ("cp package.json pack; mv pack package.json", false),
            (": >/proc/self/cwd/readme; echo text >readme", false),
        ];
        for (script, passes) in scripts {
            world.script(script, passes);
        }
        let removed = "rm -f ../outside/file";
        world.script(
            &format!("test -e ../outside/file || echo text >../outside/file; {removed}"),
            false,
        );
    });
}

#[test]
fn a_scope_that_became_a_link_is_not_followed() {
    as_each_user(|world| {
        let swap = "rmdir src; ln -s ../outside src";
        assert!(
            world
                .run(&["sh", "-ec", swap].map(str::to_owned))
                .status
                .success()
        );
        let line = world.fenced(&world.start(), &["touch", "src/new"]);
        let said = world.run(&line);
        assert_eq!(said.status.code(), Some(125), "{}", text(&said));
        assert!(
            text(&said).contains("src is not what it was"),
            "{}",
            text(&said)
        );
        assert!(!super::is_there(&world.path("outside/new")));
        // the control: without the check, the link is followed
        assert!(
            world
                .run(&["touch", "src/new"].map(str::to_owned))
                .status
                .success()
        );
    });
}

#[test]
fn files_of_the_main_worktree_cannot_be_read() {
    as_each_user(|world| {
        let start = world.start_with_main_hidden();
        assert_eq!(world.both(&start, &["cat", "../main/file"]), (true, false));
        assert_eq!(
            world.both(&start, &["cat", "readme", "../outside/file"]),
            (true, true)
        );
        let script = "echo a >src/a && cat src/a /etc/passwd >/dev/null && ls / >/dev/null";
        assert_eq!(world.both(&start, &["sh", "-c", script]), (true, true));
        // a link beside it does not lead into it
        let link = "ln -s main ../way";
        assert!(
            world
                .run(&["sh", "-c", link].map(str::to_owned))
                .status
                .success()
        );
        assert_eq!(world.both(&start, &["cat", "../way/file"]), (true, false));
    });
}

#[test]
fn inherited_descriptors_are_closed() {
    as_each_user(|world| {
        let line = world.fenced(&world.start(), &["sh", "-c", "echo a >&9"]);
        let quoted: Vec<String> = line.iter().map(|word| format!("'{word}'")).collect();
        let outer = format!("exec 9>../outside/open; {}", quoted.join(" "));
        let said = world.run(&["sh".to_owned(), "-c".to_owned(), outer]);
        assert!(!said.status.success(), "{}", text(&said));
        let control = "exec 9>../outside/open; sh -c 'echo a >&9'";
        assert!(
            world
                .run(&["sh", "-c", control].map(str::to_owned))
                .status
                .success()
        );
    });
}

#[test]
fn processes_outside_get_no_signal() {
    as_each_user(|world| {
        let mut other = world
            .command("sleep")
            .arg("600")
            .spawn()
            .expect("it starts");
        let pid = other.id().to_string();
        let found = world.both(&world.start(), &["kill", "-0", &pid]);
        assert_eq!(found, (true, false));
        world.script("sleep 600 & kill $!", true);
        other.kill().expect("it runs");
        other.wait().expect("it ended");
    });
}

/// Does what the variable `ATTACK` names, and succeeds with it or panics.
#[test]
#[ignore = "it is started in a fence by other tests"]
fn attack() {
    let wanted = std::env::var("ATTACK").expect("a name");
    let (name, value) = wanted.split_once('=').unwrap_or((&wanted, ""));
    let call = |number: i64, first: usize, second: usize| errno(number, first, second);
    match name {
        "abstract" => {
            let address = SocketAddr::from_abstract_name(value).expect("a name");
            UnixStream::connect_addr(&address).expect("it listens");
        }
        "socket" => drop(UnixStream::connect(value).expect("it listens")),
        "pair" => drop(UnixStream::pair().expect("two ends")),
        "tcp" => drop(std::net::TcpStream::connect(value).expect("it listens")),
        "udp" => drop(std::net::UdpSocket::bind("127.0.0.1:0").expect("a port")),
        "thread" => std::thread::spawn(|| ()).join().expect("it ends"),
        // by the type alone; a kernel need not have these protocols
        "sctp" => assert_ne!(call(libc::SYS_socket, 2, 5), libc::EPERM),
        "dccp" => assert_ne!(call(libc::SYS_socket, 2, 6), libc::EPERM),
        // no terminal, no such pointer: any answer but "not permitted"
        "push" => assert_ne!(call(libc::SYS_ioctl, 0, 0x5412), libc::EPERM),
        "push-high" => assert_ne!(call(libc::SYS_ioctl, 0, 0x1_0000_5412), libc::EPERM),
        "paste" => assert_ne!(call(libc::SYS_ioctl, 0, 0x541c), libc::EPERM),
        "trace" => assert_ne!(call(libc::SYS_ptrace, 16, 0), libc::EPERM),
        "ring" => assert_ne!(call(libc::SYS_io_uring_setup, 1, 0), libc::EPERM),
        "memory" => {
            let parent = std::os::unix::process::parent_id() as usize;
            assert_ne!(call(libc::SYS_process_vm_readv, parent, 0), libc::EPERM);
        }
        "clone3" => assert_ne!(call(libc::SYS_clone3, 0, 0), libc::ENOSYS),
        "fsopen" => assert_ne!(call(libc::SYS_fsopen, 0, 0), libc::EPERM),
        _unknown => panic!("{name}"),
    }
}

/// The error of a system call with two arguments, 0 for none.
#[expect(unsafe_code, reason = "no crate makes calls that nobody should")]
fn errno(number: i64, first: usize, second: usize) -> i32 {
    // SAFETY: neither argument is the address of anything
    let result = unsafe { libc::syscall(number, first, second, 0, 0, 0, 0) };
    if result == -1 {
        std::io::Error::last_os_error().raw_os_error().unwrap_or(-1)
    } else {
        0
    }
}

impl World {
    /// Whether an attack succeeds without a fence, and in one.
    fn attack(&self, wanted: &str, change: impl Fn(&mut Start)) -> (bool, bool) {
        let mut start = self.start();
        change(&mut start);
        let line = alone("fences::restricted::attack");
        let variable = format!("ATTACK={wanted}");
        let mut words = vec!["env", &variable];
        words.extend(line.iter().map(String::as_str));
        self.both(&start, &words)
    }
}

#[test]
fn where_an_asked_path_was_replaced_nothing_starts() {
    as_each_user(|world| {
        let mut start = world.start();
        start.policy.request.rw = vec!["/usr".into()];
        let line = world.fenced(&start, &["true"]);
        assert_eq!(world.run(&line).status.code(), Some(125));
        let usr = std::fs::metadata("/usr").expect("it is there");
        start.requested = vec![RequestedEntry::Other {
            device: usr.dev(),
            inode: usr.ino(),
        }];
        assert!(world.run(&world.fenced(&start, &["true"])).status.success());
    });
}

#[test]
fn unix_sockets_are_refused_unless_they_are_wished_for() {
    as_each_user(|world| {
        let name = format!("agentwt-test-{}-{:?}", std::process::id(), world.user);
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let _abstract = UnixListener::bind_addr(&address).expect("it is free");
        let path = world.path("outside/socket");
        let _listener = UnixListener::bind(&path).expect("it is free");
        crate::support::chmod(&path, 0o777);
        let to_path = format!("socket={}", path.display());
        let to_abstract = format!("abstract={name}");
        let wish = |start: &mut Start| {
            start.policy.request.sockets = vec!["/somewhere".into()];
            start.requested = vec![RequestedEntry::Missing];
        };
        assert_eq!(world.attack(&to_path, |_| ()), (true, false));
        assert_eq!(world.attack(&to_path, wish), (true, true));
        assert_eq!(world.attack(&to_abstract, |_| ()), (true, false));
        // Landlock: nothing outside is connected to, sockets or not
        assert_eq!(world.attack(&to_abstract, wish), (true, false));
        assert_eq!(world.attack("pair", |_| ()), (true, true));
    });
}

#[test]
fn the_network_is_that_which_was_asked_for() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let to = format!("tcp={address}");
    as_each_user(|world| {
        let with = |net: Net| move |all: &mut Start| all.policy.request.net = net.clone();
        let only = |port| with(Net::Ports(vec![port]));
        assert_eq!(world.attack(&to, with(Net::Host)), (true, true));
        assert_eq!(world.attack(&to, with(Net::None)), (true, false));
        assert_eq!(world.attack(&to, only(address.port())), (true, true));
        assert_eq!(world.attack(&to, only(443)), (true, false));
        assert_eq!(world.attack("udp", with(Net::None)), (true, false));
        assert_eq!(world.attack("udp", only(443)), (true, true));
        for protocol in ["sctp", "dccp"] {
            assert_eq!(world.attack(protocol, with(Net::Host)), (true, true));
            assert_eq!(world.attack(protocol, only(443)), (true, false));
        }
    });
}

#[test]
fn calls_that_leave_a_fence_are_refused() {
    as_each_user(|world| {
        assert_eq!(world.attack("thread", |_| ()), (true, true));
        for attack in [
            "push",
            "push-high",
            "paste",
            "trace",
            "ring",
            "memory",
            "clone3",
        ] {
            assert_eq!(world.attack(attack, |_| ()), (true, false), "{attack}");
        }
        if is_root() && world.user.is_none() {
            assert_eq!(world.attack("fsopen", |_| ()), (true, false));
        }
        let namespace = ["unshare", "--user", "--map-root-user", "true"];
        assert_eq!(world.both(&world.start(), &namespace), (true, false));
        let mut start = world.start();
        start.fence = Fence::Mount;
        start.policy.request.nested = true;
        assert_eq!(world.both(&start, &namespace), (true, true));
    });
}

#[test]
fn the_statuses_are_those_of_env() {
    as_each_user(|world| {
        let status = |line: &[&str]| world.run(&world.fenced(&world.start(), line)).status.code();
        assert_eq!(status(&["sh", "-c", "exit 7"]), Some(7));
        for line in [&["no-such-program"], &["/no/such"], &["./readme"]] {
            let env = [&["env".to_owned()], &line.map(str::to_owned)[..]].concat();
            assert_eq!(status(line), world.run(&env).status.code(), "{line:?}");
        }
        let line = world.fenced(&world.start(), &["true"]);
        std::fs::write(world.path("private/start.json"), "{").expect("it is ours");
        let said = world.run(&line);
        assert_eq!(said.status.code(), Some(125));
        assert!(text(&said).contains("cannot read"), "{}", text(&said));
    });
}
