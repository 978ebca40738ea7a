//! What only a container does: podman starts it, and its processes are not below ours.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use crate::support::{Said, TestRepo, wait_until};

const CONTAINER: &str = "--fence=container";

fn fenced(repo: &TestRepo, options: &[&str], script: &str) -> Said {
    repo.fenced(&[&[CONTAINER], options].concat(), script)
}

fn log(repo: &TestRepo) -> String {
    repo.log_of_task()
}

#[test]
fn work_in_a_container_comes_back() {
    let Some(repo) = TestRepo::with_fence(&[CONTAINER]) else {
        return;
    };
    let script = "set -e; mkdir -p 'src/a \"b\",c'; echo 1 >'src/a \"b\",c/one.rs'; git add -A
        git commit -qm one; echo 2 >src/two.rs; git stash -qu; git stash pop -q >/dev/null
        git add -A; git commit -qm two; git status --porcelain
        basename $PWD; id -u; git config --local user.email";
    let said = fenced(&repo, &[], script).ok();
    let user = rustix::process::getuid().as_raw();
    // an image does not have the home directory that says who commits
    let email = repo.git(&["config", "user.email"]);
    assert_eq!(said, format!("task\n{user}\n{email}"));
    assert_eq!(log(&repo), "two\none");
    repo.agentwt(&["verify", "task"]).ok();
    let below = repo.worktree("task").join("src/a \"b\",c");
    let line = "git-agentwt exec task --fence=container -- sh -c 'basename \"$PWD\"; cat one.rs'";
    assert_eq!(repo.sh(&below, line).ok(), "a \"b\",c\n1");
    // what podman made in the git directory of the run is gone with it
    repo.agentwt(&["remove", "--force", "--delete-branch", "task"])
        .ok();
}

#[test]
fn our_program_and_its_guard_work_in_a_container() {
    let Some(repo) = TestRepo::with_fence(&[CONTAINER]) else {
        return;
    };
    // where the main worktree is hidden, it still belongs to the user
    let verdict = fenced(&repo, &[], "git agentwt verify").ok();
    assert_eq!(
        verdict,
        "ok task: in scope, 0 paths changed\n  waits: a command that is running; its commits are not here yet"
    );
    let call = |path: &str| {
        let call = format!(
            r#"{{"tool_name":"Write","tool_input":{{"file_path":"'$PWD'/{path}"}},"cwd":"'$PWD'"}}"#
        );
        fenced(&repo, &[], &format!("echo '{call}' | git agentwt guard"))
    };
    call("src/main.rs").ok();
    let denied = call("README.md");
    assert!(denied.stdout.contains("deny"), "{denied}");
    assert!(denied.stdout.contains("README.md"), "{denied}");
}

#[test]
fn a_container_ends_as_its_command_does() {
    let Some(repo) = TestRepo::with_fence(&[CONTAINER]) else {
        return;
    };
    assert_eq!(fenced(&repo, &[], "exit 7").status, 7);
    assert_eq!(fenced(&repo, &[], "kill -TERM $$").status, 143);
    let said = repo.agentwt(&["exec", "task", "--fence=container", "--", "/no/such"]);
    assert_eq!(said.status, 127, "{said}");
    // the first process of a container would get no signal that it does not handle
    let began = Instant::now();
    fenced(&repo, &[], "true").ok();
    let shortest = began.elapsed();
    let began = Instant::now();
    let said = repo.agentwt(&[
        "exec",
        "task",
        "--fence=container",
        "--timeout=1s",
        "--",
        "sleep",
        "600",
    ]);
    assert_eq!(said.status, 124, "{said}");
    // one second, and five more where it must be killed
    let killed = shortest + Duration::from_secs(6);
    assert!(began.elapsed() < killed, "{said}");
    assert_eq!(said.stderr, "", "nobody asks it twice");
    for (signal, status) in [("TERM", 143), ("INT", 130)] {
        let ready = repo.worktree("task").join("src/ready");
        let line = format!(
            "git-agentwt exec task --fence=container -- sh -c 'echo >src/ready; exec sleep 600' & run=$!
            for n in $(seq 200); do test -e {ready} && break; sleep 0.05; done; kill -{signal} $run; wait $run",
            ready = ready.display()
        );
        let began = Instant::now();
        let said = repo.sh(repo.main(), &line);
        assert_eq!(said.status, status, "{said}");
        assert!(began.elapsed() < Duration::from_secs(300), "{said}");
        fs::remove_file(ready).expect("the command made it");
    }
}

#[test]
fn a_container_ends_with_a_run_that_is_killed() {
    let Some(repo) = TestRepo::with_fence(&[CONTAINER]) else {
        return;
    };
    let line = "git-agentwt exec task --fence=container -- sh -c 'echo 1 >src/one.rs; git add -A
            git commit -qm one; echo >src/ready; sleep 7654321' & run=$!
        for n in $(seq 200); do test -e .agentwt/worktrees/task/src/ready && break; sleep 0.05; done
        kill -9 $run; wait $run";
    let _ = repo.sh(repo.main(), line);
    wait_until("the command of the container ends", || {
        repo.sh(repo.main(), "pgrep -f '^sleep 7654321$'").status != 0
    });
    assert_eq!(log(&repo), "");
    // one that its program had no time to remove
    let left = "name=$(git-agentwt exec task --fence=container --print-policy=argv -- true |
            grep -o 'agentwt-task-[0-9a-f]*')
        until podman create --name=$name --rootfs / true; do sleep 0.1; done";
    repo.sh(repo.main(), left).ok();
    let said = fenced(&repo, &[], "git log -1 --format=%s").ok();
    assert_eq!((said.as_str(), log(&repo).as_str()), ("one", "one"));
}

#[test]
fn a_container_has_no_network_where_none_is_asked_for() {
    let Some(repo) = TestRepo::with_fence(&[CONTAINER]) else {
        return;
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    let script = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'; exec cat"
    );
    let said = fenced(&repo, &["--net=host"], &script);
    assert_eq!(said.stderr, "", "the control");
    for net in ["--net=none", "--net=ports:1"] {
        let said = fenced(&repo, &[net], &script);
        assert!(said.stderr.contains("Error"), "{net}: {said}");
    }
    let port = format!("--net=ports:{port}");
    assert_eq!(fenced(&repo, &[&port], &script).stderr, "");
}

#[test]
fn podman_does_not_start_in_the_worktree() {
    let (repo, worktree) = TestRepo::with_task();
    // its monitor lives on for a moment, and would keep `remove` from the worktree
    let script = "mkdir ../bin; cd ../bin; echo '#!/bin/sh\npwd >>'$PWD'/places
        PATH=${PATH#*:} exec podman \"$@\"' >podman; chmod +x podman";
    repo.sh(repo.main(), script).ok();
    let bin = repo.root().join("bin");
    let path = format!("PATH={}:$PATH", bin.display());
    let doctor = repo.sh(&worktree, &format!("{path} git-agentwt doctor"));
    assert!(doctor.status <= 1, "{doctor}");
    if repo.has_fence(&[CONTAINER]) {
        let line = format!("{path} git-agentwt exec {CONTAINER} -- true");
        repo.sh(&worktree, &line).ok();
    }
    let places = fs::read_to_string(bin.join("places")).expect("podman was started");
    let worktree = worktree.display().to_string();
    assert!(!places.contains(&worktree), "{places}");
}

#[test]
fn an_image_has_only_what_is_mounted() {
    let Some(repo) = TestRepo::with_fence(&[CONTAINER]) else {
        return;
    };
    // the shell of this machine with what it needs
    let make = "set -e; mkdir image; cp --parents -L /bin/sh /bin/sleep \
            $(ldd /bin/sh /bin/sleep | grep -o '/[^ :]* ' | sort -u) image
        tar -C image --owner=0 --group=0 --numeric-owner -c . | podman import -q - localhost/small";
    repo.sh(repo.root(), make).ok();
    let main = repo.main().display();
    let script = format!(
        "echo 1 >src/one.rs; echo x >docs/new; echo x >new
        test -e {main}/README.md && echo main; test -e {home} && echo home; while read name value rest; do
            case $name in Uid:|CapBnd:|NoNewPrivs:|Seccomp:) echo $name $value;; esac
        done </proc/self/status",
        home = repo.home().display()
    );
    let image = ["--image=localhost/small"];
    let said = fenced(&repo, &image, &script);
    let user = rustix::process::getuid().as_raw();
    let expected = format!("Uid: {user}\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2");
    assert_eq!(said.stdout.trim(), expected, "{said}");
    assert_eq!(
        said.stderr.matches("Read-only file system").count(),
        2,
        "{said}"
    );
    repo.agentwt(&["verify", "task"]).ok();
    let written = fs::read_to_string(repo.worktree("task").join("src/one.rs"));
    assert_eq!(written.expect("it was written"), "1\n");
    let options = [image[0], "--timeout=1s"];
    assert_eq!(fenced(&repo, &options, "sleep 60").status, 124);
    repo.write(
        ".agentwt/config.toml",
        "schema_version = \"1.0\"\n[fence.container]\nuser = \"1234\"\n",
    );
    let script = "while read name value rest; do test $name != Gid: || echo $value
        done </proc/self/status; echo 2 >src/two.rs";
    assert_eq!(fenced(&repo, &image, script).ok(), "1234");
    let written = fs::metadata(repo.worktree("task").join("src/two.rs")).expect("it was written");
    assert_eq!(written.uid(), user, "on the disk it is ours");
}
