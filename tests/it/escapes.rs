//! What an agent may try in a fence, each attempt at each fence. Every attempt is also made without a fence,
//! where it must succeed: so none is stopped by accident.
//!
//! An attempt is a script in which `{main}`, `{other}` (another worktree), `{home}` and `{victim}` (a process
//! of the user, in whose directory a file is open as 7) stand for what it attacks. It has escaped if the check
//! says so afterwards.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::support::{Said, TestRepo, allow_root, allow_root_words};

/// What is attacked.
struct Target {
    repo: TestRepo,
    victim: Child,
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

impl Target {
    fn new() -> Self {
        let repo = TestRepo::project();
        repo.write(".gitignore", "/target/\n");
        repo.write("secrets/key", "KEY\n");
        repo.commit_all("a secret");
        repo.add("task");
        repo.add("other");
        let home = repo.home();
        fs::write(home.join(".bashrc"), "").expect("it is ours");
        let open = fs::File::create(home.join("open")).expect("it is ours");
        let mut victim = repo.command("sleep", &home);
        victim
            .arg("1000")
            .stdin(Stdio::from(open))
            .stdout(Stdio::null());
        let victim = victim.spawn().expect("it starts");
        Self { repo, victim }
    }

    fn worktree(&self) -> PathBuf {
        self.repo.worktree("task")
    }

    fn filled(&self, script: &str) -> String {
        let show = |path: &Path| path.display().to_string();
        script
            .replace("{main}", &show(self.repo.main()))
            .replace("{other}", &show(&self.repo.worktree("other")))
            .replace("{home}", &show(&self.repo.home()))
            .replace("{victim}", &self.victim.id().to_string())
    }

    fn run(&self, fence: &str, script: &str) -> Said {
        let fence = format!("--fence={fence}");
        self.repo.fenced(&[&fence], &self.filled(script))
    }

    /// Whether a fence works here; one that does not is named in the summary.
    fn has(&self, fence: &str) -> bool {
        self.repo.has_fence(&[&format!("--fence={fence}")])
    }

    /// Whether a file of the worktree is as the commit has it.
    fn is_whole(&self, path: &str, text: &str) -> bool {
        fs::read_to_string(self.worktree().join(path)).is_ok_and(|found| found == text)
    }
}

/// The fences in which everything is tried.
const FENCES: [&str; 3] = ["landlock", "mount", "container"];

/// One attempt.
struct Attempt {
    name: &'static str,
    script: &'static str,
    /// Whether it had an effect.
    escaped: fn(&Target, &Said) -> bool,
    /// Fences that do not stop it, as `docs/fences.md` says.
    open: &'static [&'static str],
}

const API: &str = "api v1\n";

fn api_changed(target: &Target, _: &Said) -> bool {
    !target.is_whole("docs/api.md", API)
}

fn said_escaped(_: &Target, said: &Said) -> bool {
    said.stdout.contains("ESCAPED")
}

fn main_marked(target: &Target, _: &Said) -> bool {
    target.repo.main().join("mark").exists()
}

const fn attempt(
    name: &'static str,
    script: &'static str,
    escaped: fn(&Target, &Said) -> bool,
) -> Attempt {
    Attempt {
        name,
        script,
        escaped,
        open: &[],
    }
}

const FILES: &[Attempt] = &[
    attempt(
        "write",
        "chmod u+w docs/api.md; echo x >docs/api.md",
        api_changed,
    ),
    attempt(
        "truncate",
        "chmod u+w docs/api.md; truncate -s 0 docs/api.md",
        api_changed,
    ),
    attempt("unlink", "rm -f docs/api.md", api_changed),
    attempt(
        "rename over",
        "echo x >src/x; mv -f src/x docs/api.md",
        api_changed,
    ),
    attempt("rename away", "mv docs/api.md src/api.md", api_changed),
    attempt("rename the directory", "mv docs src/docs", api_changed),
    attempt(
        "exchange",
        "echo x >src/x; python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"src/x\", -100, b\"docs/api.md\", 2)'",
        api_changed,
    ),
    attempt(
        "through a link",
        "chmod u+w docs/api.md; ln -s ../docs/api.md src/l; echo x >src/l",
        api_changed,
    ),
    attempt(
        "through a hard link",
        "chmod u+w docs/api.md; ln docs/api.md src/l && echo x >src/l",
        api_changed,
    ),
    attempt(
        "by /proc/self/root",
        "chmod u+w docs/api.md; echo x >/proc/self/root$PWD/docs/api.md",
        api_changed,
    ),
    attempt(
        "by /proc/self/cwd",
        "chmod u+w docs/api.md; echo x >/proc/self/cwd/docs/api.md",
        api_changed,
    ),
    attempt("a new file", "echo x >docs/new.md", |target, _| {
        target.worktree().join("docs/new.md").exists()
    }),
    attempt("a new file at the root", "echo x >new", |target, _| {
        target.worktree().join("new").exists()
    }),
    attempt("a new directory at the root", "mkdir new", |target, _| {
        target.worktree().join("new").exists()
    }),
    Attempt {
        open: &["landlock"],
        ..attempt("chmod", "chmod 755 docs/api.md", |target, _| {
            use std::os::unix::fs::PermissionsExt as _;
            let file = target.worktree().join("docs/api.md");
            fs::metadata(file).is_ok_and(|there| there.permissions().mode() & 0o100 != 0)
        })
    },
    Attempt {
        open: &["landlock"],
        ..attempt("utime", "touch -d 2001-01-01 docs/api.md", |target, _| {
            let file = target.worktree().join("docs/api.md");
            let time = fs::metadata(file).and_then(|there| there.modified());
            time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age.as_secs() > 1 << 28))
        })
    },
    attempt("the main worktree", "echo x >{main}/mark", main_marked),
    attempt(
        "another worktree",
        "echo x >{other}/src/mark",
        |target, _| target.repo.worktree("other").join("src/mark").exists(),
    ),
    attempt(
        "a dot file of the user",
        "echo x >>{home}/.bashrc",
        |target, _| {
            fs::read_to_string(target.repo.home().join(".bashrc"))
                .is_ok_and(|text| !text.is_empty())
        },
    ),
    attempt(
        "read the main worktree",
        "cat {main}/secrets/key && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "read another worktree",
        "cat {other}/src/main.rs >/dev/null && echo ESCAPED",
        said_escaped,
    ),
];

const GIT: &[Attempt] = &[
    attempt(
        "a hook",
        "mkdir -p {main}/.git/hooks; echo >{main}/.git/hooks/post-checkout",
        |target, _| target.repo.main().join(".git/hooks/post-checkout").exists(),
    ),
    attempt(
        "a setting",
        "git config --file {main}/.git/config core.editor evil",
        |target, _| {
            let config = target.repo.main().join(".git/config");
            fs::read_to_string(config).is_ok_and(|text| text.contains("evil"))
        },
    ),
    attempt(
        "a setting by git",
        "git config core.editor evil",
        |target, _| {
            target
                .repo
                .try_git(target.repo.main(), &["config", "core.editor"])
                .status
                == 0
        },
    ),
    attempt(
        "a setting of the worktree",
        "echo '[core] editor = evil' >>{main}/.git/worktrees/task/config.worktree",
        |target, _| {
            let config = target
                .repo
                .main()
                .join(".git/worktrees/task/config.worktree");
            fs::read_to_string(config).is_ok_and(|text| text.contains("evil"))
        },
    ),
    attempt(
        "the common directory",
        "echo /nowhere >{main}/.git/worktrees/task/commondir",
        |target, _| {
            let file = target.repo.main().join(".git/worktrees/task/commondir");
            fs::read_to_string(file).is_ok_and(|text| text.contains("nowhere"))
        },
    ),
    attempt(
        "the .git file",
        "rm -f .git; echo 'gitdir: /nowhere' >.git",
        |target, _| {
            let file = target.worktree().join(".git");
            fs::read_to_string(file).is_ok_and(|text| text.contains("nowhere"))
        },
    ),
    attempt(
        "the .git file by a rename",
        "mkdir src/g; mv .git src/old; mv -T src/g .git",
        |target, _| target.worktree().join(".git").is_dir(),
    ),
    attempt(
        "another branch",
        "git update-ref refs/heads/main HEAD~1",
        |target, _| target.repo.git(&["log", "-1", "--format=%s", "main"]) != "a secret",
    ),
    attempt(
        "another branch by a file",
        "echo $(git rev-parse HEAD~1) >{main}/.git/refs/heads/main",
        |target, _| target.repo.git(&["log", "-1", "--format=%s", "main"]) != "a secret",
    ),
    attempt(
        "delete a branch",
        "git branch -D agentwt/other 2>/dev/null || git update-ref -d refs/heads/agentwt/other",
        |target, _| {
            target
                .repo
                .try_git(
                    target.repo.main(),
                    &["rev-parse", "-q", "--verify", "agentwt/other"],
                )
                .status
                != 0
        },
    ),
    attempt(
        "delete objects",
        "rm -rf {main}/.git/objects/??",
        |target, _| {
            target
                .repo
                .try_git(target.repo.main(), &["cat-file", "-e", "main:secrets/key"])
                .status
                != 0
        },
    ),
    attempt(
        "the record",
        "echo >{main}/.git/agentwt/worktrees/task/record.toml",
        |target, _| {
            let file = target
                .repo
                .main()
                .join(".git/agentwt/worktrees/task/record.toml");
            fs::metadata(file).is_ok_and(|there| there.len() < 10)
        },
    ),
    attempt(
        "an excluded file by sparse-checkout",
        "git sparse-checkout disable; cat secrets/key && echo ESCAPED",
        said_escaped,
    ),
];

const PROCESSES: &[Attempt] = &[
    attempt(
        "signal a process",
        "kill -0 {victim} && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "limit a process",
        "prlimit --pid {victim} --nofile=7:7; grep -q 'open files *7 ' /proc/{victim}/limits && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "a lease on a file",
        "python3 -c 'import fcntl; fcntl.fcntl(open(\"{main}/.git/config\"), 1024, 1)' && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "a file that a process has open",
        "echo x >/proc/{victim}/fd/0; test -s {home}/open && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "read the memory of a process",
        "head -c 1 /proc/{victim}/environ >/dev/null && test -r /proc/{victim}/maps && python3 -c 'open(\"/proc/{victim}/mem\", \"r+b\")' && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "an abstract socket",
        "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"\\0agentwt-escape-{victim}\")' && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "a socket of the user",
        "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"{home}/socket\")' && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "a datagram to a socket of the user",
        "python3 -c 'import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b\"x\", \"{home}/datagrams\")' && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "a datagram of a raw pair to a socket of the user",
        "python3 -c 'import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW); a.sendto(b\"x\", \"{home}/datagrams\")' && echo ESCAPED",
        said_escaped,
    ),
    attempt(
        "a namespace of its own",
        "unshare -Urm sh -c 'mount -t tmpfs none docs' && echo ESCAPED",
        said_escaped,
    ),
];

/// The processes whose command line has this word.
fn left(word: &str) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.any(|one| one == word.as_bytes()) && line.starts_with(b"sleep")
    };
    pids.filter(has).collect()
}

fn kill(pid: u32) -> std::io::Result<std::process::ExitStatus> {
    std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status()
}

/// Listens where attempts try to connect to.
fn listen(target: &Target) -> (Vec<std::os::unix::net::UnixListener>, UnixDatagram) {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let name = format!("agentwt-escape-{}", target.victim.id());
    let address = SocketAddr::from_abstract_name(name).expect("a name");
    let by_name = UnixListener::bind_addr(&address).expect("it listens");
    let by_path = UnixListener::bind(target.repo.home().join("socket")).expect("it listens");
    let datagrams = UnixDatagram::bind(target.repo.home().join("datagrams"));
    (vec![by_name, by_path], datagrams.expect("it listens"))
}

#[track_caller]
fn check(fence: &str, attempts: &[Attempt]) {
    if !Target::new().has(fence) {
        return;
    }
    let mut wrong = Vec::new();
    for one in attempts {
        let target = Target::new();
        let _listeners = listen(&target);
        let said = target.run(fence, one.script);
        let is_open = one.open.contains(&fence);
        if (one.escaped)(&target, &said) != is_open {
            let what = if is_open { "was stopped" } else { "ESCAPED" };
            wrong.push(format!("{}: {what}\n{said}", one.name));
        }
    }
    assert!(wrong.is_empty(), "{fence}: {}", wrong.join("\n"));
}

/// The same attempts where nothing is enforced.
#[track_caller]
fn control(attempts: &[Attempt]) {
    let mut wrong = Vec::new();
    for one in attempts {
        let target = Target::new();
        let _listeners = listen(&target);
        let said = target.run("none", one.script);
        if !(one.escaped)(&target, &said) {
            wrong.push(format!("{}\n{said}", one.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "without a fence these have no effect: {}",
        wrong.join("\n")
    );
}

#[test]
fn without_a_fence_files_are_reached() {
    control(FILES);
}

#[test]
fn without_a_fence_git_is_reached() {
    control(GIT);
}

#[test]
fn without_a_fence_processes_are_reached() {
    control(PROCESSES);
}

#[test]
fn landlock_stops_writes_of_files() {
    check("landlock", FILES);
}

#[test]
fn landlock_keeps_git_whole() {
    check("landlock", GIT);
}

#[test]
fn landlock_keeps_processes_apart() {
    check("landlock", PROCESSES);
}

#[test]
fn mount_stops_writes_of_files() {
    check("mount", FILES);
}

#[test]
fn mount_keeps_git_whole() {
    check("mount", GIT);
}

#[test]
fn mount_keeps_processes_apart() {
    check("mount", PROCESSES);
}

#[test]
fn container_stops_writes_of_files() {
    check("container", FILES);
}

#[test]
fn container_keeps_git_whole() {
    check("container", GIT);
}

#[test]
fn container_keeps_processes_apart() {
    check("container", PROCESSES);
}

/// Where `open` says that a fence does not stop an attempt, the page says so too.
#[test]
fn an_inherited_file_is_closed() {
    let target = Target::new();
    for fence in FENCES {
        if !target.has(fence) {
            continue;
        }
        let line = format!(
            "git-agentwt exec task --fence={fence} {} -- sh -c 'echo x >&9' 9>>{}",
            allow_root(),
            target.repo.home().join(".bashrc").display()
        );
        let _ = target.repo.sh(target.repo.main(), &line);
        let text = fs::read_to_string(target.repo.home().join(".bashrc")).expect("it is there");
        assert_eq!(text, "", "{fence}");
    }
}

#[test]
fn no_process_stays() {
    for (number, fence) in FENCES.into_iter().enumerate() {
        let target = Target::new();
        if !target.has(fence) {
            continue;
        }
        let word = format!("98765{number}");
        let script = format!("setsid sleep {word} >/dev/null 2>&1 & sleep 0.2; exit 0");
        // the control: without us it stays
        let _ = target.repo.sh(target.repo.main(), &script);
        let stays = left(&word);
        assert_eq!(stays.len(), 1, "{fence}");
        let _ = kill(stays[0]);
        let _ = target.run(fence, &script);
        assert_eq!(left(&word), Vec::<u32>::new(), "{fence}");
    }
}

#[test]
fn a_scope_root_that_became_a_link_is_not_followed() {
    for fence in FENCES {
        let target = Target::new();
        if !target.has(fence) {
            continue;
        }
        let (worktree, home) = (target.worktree(), target.repo.home());
        fs::remove_dir_all(worktree.join("src")).expect("it is ours");
        std::os::unix::fs::symlink(&home, worktree.join("src")).expect("it is ours");
        let said = target.run(fence, "echo x >src/mark");
        assert!(!home.join("mark").exists(), "{fence}: {said}");
        assert_ne!(said.status, 0, "{fence}: {said}");
    }
}

#[test]
fn a_nested_repository_is_named() {
    for fence in FENCES {
        let target = Target::new();
        if !target.has(fence) {
            continue;
        }
        let script = "mkdir src/n && cd src/n && git init -q && git config core.fsmonitor evil";
        let said = target.run(fence, script);
        let note = "src/n is a repository of its own";
        assert!(said.stderr.contains(note), "{fence}: {said}");
        // with an entry for it, the user's `git status` would run its settings
        let script = "cd src/n && git commit -q --allow-empty -m n && cd ../.. && git add src/n 2>/dev/null && git commit -qm n";
        let said = target.run(fence, script);
        assert_eq!(said.status, 120, "{fence}: {said}");
        assert!(
            said.stderr.contains("for no submodule here"),
            "{fence}: {said}"
        );
    }
}

#[test]
fn excluded_content_is_withheld_where_asked() {
    for fence in FENCES {
        let target = Target::new();
        let show = "git show main:secrets/key || git show HEAD:secrets/key";
        if !target.has(fence) {
            continue;
        }
        let said = target.run(fence, show);
        assert!(said.stdout.contains("KEY"), "the control: {said}");
        let hook = "mkdir -p .git/hooks; printf '#!/bin/sh\necho HOOKED\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
        target.repo.sh(target.repo.main(), hook).ok();
        target.repo.agentwt(&["accept", "task", "--shared"]).ok();
        let root = allow_root_words();
        let fence = format!("--fence={fence}");
        let script = format!(
            "{show}; echo 1 >src/one.rs; git add -A; git commit -qm one; git log --format=%s -1"
        );
        let script = format!(
            "{script}; grep -rl KEY {}/.git/objects",
            target.repo.main().display()
        );
        let words = [
            &["exec", "task", "--withhold", &fence],
            root,
            &["--", "sh", "-c", &script],
        ];
        let said = target.repo.agentwt(&words.concat());
        assert!(!said.stdout.contains("KEY"), "{said}");
        assert!(said.stdout.contains("one"), "{said}");
        assert!(said.stderr.contains("HOOKED"), "{said}");
        let log = target
            .repo
            .git(&["log", "--format=%s", "-1", "agentwt/task"]);
        assert_eq!(log, "one", "{said}");
    }
}

/// What of the objects is borrowed from elsewhere, and what the runs of other worktrees have, goes with them.
#[test]
fn objects_are_withheld_wherever_they_are() {
    for fence in FENCES {
        let target = Target::new();
        if !target.has(fence) {
            continue;
        }
        let repo = &target.repo;
        let common = repo.main().join(".git");
        for below in ["ref", "further"] {
            let clone = format!("git clone -q --bare --no-hardlinks . .git/{below}");
            repo.sh(repo.main(), &clone).ok();
        }
        for (below, borrowed) in [("", "../ref"), ("ref/", "../../further")] {
            let file = common.join(below).join("objects/info/alternates");
            fs::write(file, format!("{borrowed}/objects\n")).expect("it is ours");
        }
        let copies = "cd .git; mkdir -p lfs/objects rr-cache/x; echo KEY | tee lfs/objects/x >rr-cache/x/preimage";
        repo.sh(repo.main(), copies).ok();
        let moved = "mv .git/objects .git/objs; ln -s objs .git/objects";
        repo.sh(repo.main(), moved).ok();
        let root = allow_root_words();
        let stash = "echo OTHERKEY >src/new.rs; git add -A; git stash -q";
        let script = ["--", "sh", "-c", stash];
        repo.agentwt(&[&["exec", "other"], root, &script].concat())
            .ok();
        let ids = "git rev-parse main:secrets/key; echo OTHERKEY | git hash-object --stdin";
        let ids = repo.sh(repo.main(), ids).ok();
        let script = format!(
            "cd {}; cat lfs/objects/x rr-cache/x/preimage; for dir in objects objs ref/objects further/objects \
            agentwt/worktrees/other/private/git/objects; do
            export GIT_ALTERNATE_OBJECT_DIRECTORIES=$PWD/$dir
            for id in {}; do git -C {} cat-file -p $id; done; done; true",
            common.display(),
            ids.replace('\n', " "),
            target.worktree().display(),
        );
        let fence = format!("--fence={fence}");
        let open = repo.fenced(&[&fence], &script);
        assert_eq!(open.stdout.matches("KEY").count(), 12, "control: {open}");
        let said = repo.fenced(&["--withhold", &fence], &script);
        assert_eq!(said.status, 0, "{said}");
        assert!(!said.stdout.contains("KEY"), "{said}");
    }
}

/// What git and we write below the git directory while the command runs goes with it.
#[test]
fn what_the_user_does_meanwhile_is_withheld() {
    // not in a container, whose root is below the record: the search would go through all of it
    for fence in ["landlock", "mount"] {
        let fence_option = format!("--fence={fence}");
        let open = found_by_a_command_beside_the_user(fence, &[&fence_option]);
        let Some(open) = open else { continue };
        for place in ["rr-cache", "COMMIT_EDITMSG", "agentwt/trash"] {
            assert!(open.contains(place), "the control, {fence}: {open}");
        }
        let options = ["--withhold", &fence_option];
        let withheld = found_by_a_command_beside_the_user(fence, &options);
        assert_eq!(withheld.as_deref(), Some(""), "{fence}");
    }
}

/// The files with excluded content that a command finds after the user had a conflict in the main
/// worktree and removed another one; none where the fence does not work here.
fn found_by_a_command_beside_the_user(fence: &str, options: &[&str]) -> Option<String> {
    let target = Target::new();
    if !target.has(fence) {
        return None;
    }
    let repo = &target.repo;
    let conflict = "git switch -qc side; echo KEY1 >secrets/key; git commit -qam side;
        git switch -q main; echo KEY2 >secrets/key; git commit -qam main";
    repo.sh(repo.main(), conflict).ok();
    let leave = "mkdir $TMPDIR/own; echo KEY >$TMPDIR/own/key; echo KEY >src/key; git add src/key; git stash -q";
    let words = ["--", "sh", "-c", leave];
    let leaving = [&["exec", "other"], allow_root_words(), &words].concat();
    repo.agentwt(&leaving).ok();
    let script =
        "touch src/ready; for n in $(seq 400); do test -e src/go && break; sleep 0.05; done;
        rm src/ready src/go; grep -rlE '^.?KEY' {main}/.git 2>/dev/null; true";
    let ready = target.worktree().join("src/ready");
    let said = std::thread::scope(|threads| {
        let run = threads.spawn(|| repo.fenced(options, &target.filled(script)));
        while !ready.exists() && !run.is_finished() {
            std::thread::yield_now();
        }
        let acts = "git -c rerere.enabled=true merge -q side; test -f .git/MERGE_HEAD
            echo KEY2 >secrets/key; git commit -qam KEY";
        repo.sh(repo.main(), acts).ok();
        repo.agentwt(&["remove", "other", "--force"]).ok();
        repo.sh(&target.worktree(), "touch src/go").ok();
        run.join().expect("it ends")
    });
    said.ok();
    Some(said.stdout)
}

#[test]
fn ordinary_work_goes_on_in_each_fence() {
    for fence in FENCES {
        let target = Target::new();
        if !target.has(fence) {
            continue;
        }
        for script in [
            "mkdir -p target/debug && echo x >target/debug/out",
            "echo x >src/new.rs && mv src/new.rs src/newer.rs && rm src/newer.rs",
            "echo x >src/.tmp && mv src/.tmp src/main.rs",
            "f=$(mktemp) && echo x >$f && cat $f >/dev/null && rm $f",
            "echo x >/dev/null; test -e /dev/tty; cat /etc/passwd >/dev/null; ls / >/dev/null",
            "python3 -c 'import multiprocessing; multiprocessing.Lock()'",
            "git add -A && git commit -qm one && git log --oneline >/dev/null && git status --short",
            "git stash list; git fetch -q . ; git diff main --stat >/dev/null; git blame src/main.rs >/dev/null",
            "sh -c 'sleep 0.1 & wait' && (exit 0)",
        ] {
            // with the repository below /dev/shm, that is not writable
            let is_there = target.repo.root().starts_with("/dev/shm");
            if fence == "landlock" && is_there && script.contains("multiprocessing") {
                continue;
            }
            let said = target.run(fence, script);
            assert_eq!(said.status, 0, "{fence}: {script}: {said}");
        }
    }
}
