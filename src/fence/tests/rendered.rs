//! One rich policy in the language of each fence.

use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

use super::*;
use crate::config::value::Fence;
use crate::fence::container::{ContainerStart, HostUser};
use crate::fence::landlock::{FileView, read_rules, write_rules};
use crate::fence::mount::CommandSession;
use crate::fence::policy::ContainerProgram;
use crate::fence::{container, mount, seatbelt};

#[test]
fn landlock_has_the_rules_of_the_grants() {
    insta::assert_snapshot!(rules(&write_rules(&rich(), FileView::Host)), @r##"
    file ./README.md
    file ./a "b".md
    file ./docs/a.md
    tree ./new
    file ./package.json
    tree ./src
    tree ./target
    tree ./tests
    tree /r/main/.git/agentwt/worktrees/task/private/git
    tree /r/main/.git/agentwt/worktrees/task/private/tmp
    tree /r/main/.git/agentwt/worktrees/task/state/claude
    tree /home/u/.cargo/registry
    file /dev/null
    file /dev/zero
    file /dev/full
    terminal /dev/tty
    terminal /dev/ptmx
    terminal /dev/pts
    tree /dev/shm
    "##);
}

#[test]
fn landlock_hides_a_worktree_by_granting_what_stands_beside_it() {
    let list = |directory: &Path| -> Vec<OsString> {
        let names: &[&str] = match directory.to_str() {
            Some("/") => &["dev", "etc", "r", "usr"],
            Some("/r") => &["lender", "main", "notes", "wt"],
            Some("/r/lender") => &["HEAD", "objects"],
            Some("/r/wt") => &["other", "task"],
            other => panic!("{other:?} is not on the way to what is hidden"),
        };
        names.iter().map(OsString::from).collect()
    };
    let mut policy = rich();
    insta::assert_snapshot!(rules(&read_rules(&policy, &list)), @r##"
    read /dev
    read /etc
    read /r/lender
    read /r/notes
    read /r/wt/task
    read /usr
    read /r/main/target/git-agentwt
    read /r/main/.git
    read /r/main/Cargo.toml
    read /home/u/.cargo/registry
    "##);
    policy.request.withholds = true;
    policy.places.withheld = vec!["/r/main/.git".into(), "/r/lender/objects".into()];
    policy.places.shown_in_git = vec!["/r/main/.git/hooks".into()];
    let withheld = rules(&read_rules(&policy, &list));
    insta::assert_snapshot!(withheld, @r##"
    read /dev
    read /etc
    read /r/lender/HEAD
    read /r/notes
    read /r/wt/task
    read /usr
    read /r/main/target/git-agentwt
    read /r/main/.git/agentwt/worktrees/task
    read /r/main/.git/hooks
    read /r/main/Cargo.toml
    read /home/u/.cargo/registry
    "##);
    policy.places.withheld.clear();
    policy.request.withholds = false;
    policy.places.main = policy.places.root.clone();
    policy.places.others.clear();
    assert_eq!(read_rules(&policy, &list), []);
}

#[test]
fn bubblewrap_mounts_the_grants() {
    let directory = Utf8Path::new("/r/wt/task/src");
    let words = mount::arguments(&rich(), &command(), directory, CommandSession::Own);
    insta::assert_snapshot!(lines(&words), @r##"
    --unshare-user
    --unshare-pid
    --unshare-ipc
    --unshare-uts
    --die-with-parent
    --cap-drop ALL
    --ro-bind / /
    --dev /dev
    --proc /proc
    --ro-bind /proc/sys /proc/sys
    --tmpfs /tmp
    --tmpfs /run
    --new-session
    --ro-bind-try /run/systemd/resolve /run/systemd/resolve
    --ro-bind-try /run/resolvconf /run/resolvconf
    --ro-bind-try /run/NetworkManager/resolv.conf /run/NetworkManager/resolv.conf
    --ro-bind-try /run/nscd /run/nscd
    --ro-bind-try /run/current-system /run/current-system
    --bind-try /home/u/.cargo/registry /home/u/.cargo/registry
    --ro-bind-try /home/u/.cargo/registry/config /home/u/.cargo/registry/config
    --ro-bind-try /run/user/1000/bus /run/user/1000/bus
    --tmpfs /r/main
    --tmpfs /r/wt/other
    --ro-bind /r/main/.git /r/main/.git
    --bind-try /r/main/.git/agentwt/worktrees/task/private/git /r/main/.git/agentwt/worktrees/task/private/git
    --bind-try /r/main/.git/agentwt/worktrees/task/private/tmp /r/main/.git/agentwt/worktrees/task/private/tmp
    --bind-try /r/main/.git/agentwt/worktrees/task/state/claude /r/main/.git/agentwt/worktrees/task/state/claude
    --ro-bind /r/main/target/git-agentwt /r/main/target/git-agentwt
    --ro-bind /r/wt/task /r/wt/task
    --bind /r/wt/task/README.md /r/wt/task/README.md
    --bind /r/wt/task/a "b".md /r/wt/task/a "b".md
    --bind /r/wt/task/docs/a.md /r/wt/task/docs/a.md
    --bind /r/wt/task/new /r/wt/task/new
    --bind /r/wt/task/package.json /r/wt/task/package.json
    --bind /r/wt/task/src /r/wt/task/src
    --bind /r/wt/task/target /r/wt/task/target
    --bind /r/wt/task/tests /r/wt/task/tests
    --ro-bind /r/wt/task/src/gen /r/wt/task/src/gen
    --ro-bind /r/main/.git/agentwt/worktrees/task/private/dotgit /r/wt/task/.git
    --remount-ro /r/main
    --remount-ro /r/wt/other
    --chdir /r/wt/task/src /r/main/target/git-agentwt __init /r/main/.git/agentwt/worktrees/task/private/start.json
    -- sh -c true
    "##);
}

fn container_words(policy: &Policy) -> String {
    let exists = |path: &Path| {
        ["/usr", "/etc", "/home", "/home/u/.cargo/registry"]
            .iter()
            .any(|one| path == Path::new(one))
    };
    let words = container::arguments(
        policy,
        &ContainerStart {
            command: &command(),
            directory: Utf8Path::new("/r/wt/task"),
            has_terminal: true,
            has_input: true,
            variables: vec!["PATH", "TERM"],
            name: "agentwt-task",
            user: HostUser {
                user: 1000,
                group: 1000,
            },
            exists: &exists,
        },
    );
    lines(&words)
}

#[test]
fn podman_has_the_root_of_the_host() {
    insta::assert_snapshot!(container_words(&rich()), @r##"
    --log-level=fatal run
    --rm
    --interactive
    --tty
    --name=agentwt-task
    --replace
    --userns=keep-id
    --user=1000:1000
    --cap-drop=all
    --security-opt=no-new-privileges
    --security-opt=label=disable
    --log-driver=none
    --network=host
    --read-only
    --read-only-tmpfs=false
    --tmpfs=/tmp:mode=1777,exec
    --tmpfs=/run:mode=0755
    --mount=type=bind,source=/usr,destination=/usr,readonly
    --mount=type=bind,source=/etc,destination=/etc,readonly
    --mount=type=bind,source=/home,destination=/home,readonly
    --mount=type=tmpfs,destination=/r/main,tmpfs-mode=0755,ro,notmpcopyup,U=true
    --mount=type=tmpfs,destination=/r/wt/other,tmpfs-mode=0755,ro,notmpcopyup,U=true
    --mount=type=bind,source=/r/main/target/git-agentwt,destination=/r/main/target/git-agentwt,readonly
    --mount=type=bind,source=/r/main/.git,destination=/r/main/.git,readonly
    --mount=type=bind,source=/home/u/.cargo/registry,destination=/home/u/.cargo/registry
    --mount=type=bind,source=/r/wt/task,destination=/r/wt/task,readonly
    --mount=type=bind,source=/r/wt/task/README.md,destination=/r/wt/task/README.md
    --mount=type=bind,"source=/r/wt/task/a ""b"".md","destination=/r/wt/task/a ""b"".md"
    --mount=type=bind,source=/r/wt/task/docs/a.md,destination=/r/wt/task/docs/a.md
    --mount=type=bind,source=/r/wt/task/new,destination=/r/wt/task/new
    --mount=type=bind,source=/r/wt/task/package.json,destination=/r/wt/task/package.json
    --mount=type=bind,source=/r/wt/task/src,destination=/r/wt/task/src
    --mount=type=bind,source=/r/wt/task/target,destination=/r/wt/task/target
    --mount=type=bind,source=/r/wt/task/tests,destination=/r/wt/task/tests
    --mount=type=bind,source=/r/wt/task/src/gen,destination=/r/wt/task/src/gen,readonly
    --mount=type=bind,source=/r/main/.git/agentwt/worktrees/task/private/dotgit,destination=/r/wt/task/.git,readonly
    --env=PATH
    --env=TERM
    --workdir=/r/wt/task
    --rootfs /r/main/.git/agentwt/worktrees/task/private/rootfs /r/main/target/git-agentwt __init /r/main/.git/agentwt/worktrees/task/private/start.json
    -- sh -c true
    "##);
}

#[test]
fn docker_has_an_image() {
    let mut policy = rich();
    let request = &mut policy.request.container;
    request.program = ContainerProgram::Docker;
    request.image = Some("node:20".to_owned());
    request.memory = Some("4g".to_owned());
    request.cpus = Some(1.5);
    policy.request.net = Net::None;
    insta::assert_snapshot!(container_words(&policy), @r##"
    --log-level=fatal run
    --rm
    --interactive
    --tty
    --name=agentwt-task
    --init
    --user=1000:1000
    --cap-drop=all
    --security-opt=no-new-privileges
    --security-opt=label=disable
    --log-driver=none
    --network=none
    --memory=4g
    --cpus=1.5
    --mount=type=bind,source=/r/main/.git,destination=/r/main/.git,readonly
    --mount=type=bind,source=/home/u/.cargo/registry,destination=/home/u/.cargo/registry
    --mount=type=bind,source=/r/wt/task,destination=/r/wt/task,readonly
    --mount=type=bind,source=/r/wt/task/README.md,destination=/r/wt/task/README.md
    --mount=type=bind,"source=/r/wt/task/a ""b"".md","destination=/r/wt/task/a ""b"".md"
    --mount=type=bind,source=/r/wt/task/docs/a.md,destination=/r/wt/task/docs/a.md
    --mount=type=bind,source=/r/wt/task/new,destination=/r/wt/task/new
    --mount=type=bind,source=/r/wt/task/package.json,destination=/r/wt/task/package.json
    --mount=type=bind,source=/r/wt/task/src,destination=/r/wt/task/src
    --mount=type=bind,source=/r/wt/task/target,destination=/r/wt/task/target
    --mount=type=bind,source=/r/wt/task/tests,destination=/r/wt/task/tests
    --mount=type=bind,source=/r/wt/task/src/gen,destination=/r/wt/task/src/gen,readonly
    --mount=type=bind,source=/r/main/.git/agentwt/worktrees/task/private/dotgit,destination=/r/wt/task/.git,readonly
    --env=TERM
    --workdir=/r/wt/task
    --entrypoint= node:20 sh -c true
    "##);
    policy.request.net = Net::Ports(vec![443]);
    assert_eq!(policy.unable(Fence::Container).len(), 1);
    // PATH has no place for the `git` of the fence
    policy.places.private = "/r/12:30/.git/private".into();
    assert_eq!(policy.unable(Fence::Landlock).len(), 1);
    assert_eq!(policy.unable(Fence::Mount), [""; 0]);
}

#[test]
fn seatbelt_has_each_pattern_as_a_regular_expression() {
    insta::assert_snapshot!(seatbelt::profile(&rich()), @r##"
    (version 1)
    (allow default)
    (deny signal (target others))
    (deny mach-lookup (global-name "com.apple.coreservices.launchservicesd"))
    (deny network*)
    (allow network-outbound (remote tcp "*:443"))
    (allow network-outbound (remote tcp "*:22"))
    (allow network-outbound (literal "/private/var/run/mDNSResponder"))
    (allow network-outbound (literal "/run/user/1000/bus"))
    (deny file-write*)
    (allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$") (literal "/dev/dtracehelper"))
    (allow file-write* (subpath "/home/u/.cargo/registry"))
    (deny file-write* (subpath "/r/main/.git"))
    (deny file-write* (subpath "/r/wt/task"))
    (deny file-write* (subpath "/home/u/.cargo/registry/config"))
    (allow file-write* (subpath "/r/main/.git/agentwt/worktrees/task/private/git"))
    (allow file-write* (subpath "/r/main/.git/agentwt/worktrees/task/private/tmp"))
    (allow file-write* (subpath "/r/main/.git/agentwt/worktrees/task/state/claude"))
    (allow file-write* (regex #"^/r/wt/task/target/"))
    (allow file-write* (regex #"^/r/wt/task/src/.*(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/package\.json(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/docs/[^/]*\.md(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/tests/(.*/)?[^/]*\.rs(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/(.*/)?[^/]*\.md(/.*)?$"))
    (allow file-write* (regex #"^/r/wt/task/new/.*$"))
    (deny file-write* (regex #"^/r/wt/task/src/gen/.*(/.*)?$"))
    (deny file-write* (regex #"^/r/wt/task/(.*/)?[^/]*\.pem(/.*)?$"))
    (deny file-write* (subpath "/r/wt/task/.agentwt"))
    (deny file-write* (subpath "/r/wt/task/.git"))
    (deny file-read-data (subpath "/r/main"))
    (deny file-read-data (subpath "/r/wt/other"))
    (allow file-read-data (subpath "/r/main/.git"))
    (allow file-read-data (subpath "/r/main/target/git-agentwt"))
    (allow file-read-data (subpath "/r/main/Cargo.toml"))
    (allow file-read-data (subpath "/r/wt/task"))
    "##);
}

#[test]
fn odd_names_stay_whole() {
    let scope = scope(&[(Write, "/a \\\\\"(,)b/**"), (Write, "caf\u{e9}.[!a-c]*")]);
    let mut policy = policy_of(&scope, &["a \\\"(,)b/x"], FenceRequest::default());
    policy.places.root = Utf8PathBuf::from("/r/w,\"t");
    let profile = seatbelt::profile(&policy);
    let expected = [
        r#"(allow file-write* (regex "^/r/w,\"t/a \\\\\"\\(,\\)b/.*(/.*)?$"))"#,
        "(allow file-write* (regex \"^/r/w,\\\"t/(.*/)?caf\u{e9}\\\\.[^/a-c][^/]*(/.*)?$\"))",
    ];
    for line in expected {
        assert!(
            profile.lines().any(|one| one == line),
            "{line} in {profile}"
        );
    }
    let words = container_words(&policy);
    let mounts =
        r#"--mount=type=bind,"source=/r/w,""t/a \""(,)b","destination=/r/w,""t/a \""(,)b""#;
    assert!(words.contains(mounts), "{words}");
}
