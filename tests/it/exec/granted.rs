//! What a command sees and may write, and what cannot be granted.

use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::support::{TestRepo, allow_root, allow_root_words, fenced_task, is_root};

#[test]
fn a_bare_repository_is_no_hidden_worktree() {
    let Some(repo) = fenced_task() else { return };
    let root = repo.root().display().to_string();
    let script = format!(
        "git clone -q --bare . {root}/bare.git; cd {root}/bare.git; git worktree add -q ../beside main"
    );
    repo.sh(repo.main(), &script).ok();
    let allow = allow_root();
    for fence in ["landlock", "mount"] {
        let line = format!(
            "git-agentwt add {fence} --write 'src/**' >/dev/null && git-agentwt exec {fence} --fence {fence} {allow} -- \
            sh -c 'echo 1 >src/one.rs; git add -A; git commit -qm one; cat ../other/src/main.rs {root}/beside/src/main.rs; true'"
        );
        let said = repo.sh(&repo.root().join("beside"), &line);
        if said.status == 9 {
            continue;
        }
        assert_eq!(said.ok(), "");
        let bare = repo.root().join("bare.git");
        let log = repo.git_in(
            &bare,
            &["log", "-1", "--format=%s", &format!("agentwt/{fence}")],
        );
        assert_eq!(log, "one");
    }
}

#[test]
fn a_program_that_looks_in_all_directories_above_is_not_refused() {
    let repo = TestRepo::project();
    for name in ["Cargo.toml", ".cargo/config.toml", "hidden.toml"] {
        repo.write(name, "of the main worktree\n");
    }
    repo.sh(repo.main(), "ln -s secrets/key key.toml").ok();
    repo.write("secret.toml", "harmless\n");
    repo.write("directory.toml", "a file\n");
    repo.commit_all("settings");
    repo.write("own.toml", "untracked\n");
    repo.agentwt(&["add", "task", "--write=src/**", "--exclude=/hidden.toml"])
        .ok();
    repo.sh(
        repo.main(),
        "git rm -q --cached secret.toml; git commit -qm secret; rm directory.toml",
    )
    .ok();
    repo.write("directory.toml/key", "untracked\n");
    // as cargo, pytest and uv do
    let script = "cd src; while [ $PWD != / ]; do cd ..; for name in \
        Cargo.toml .cargo/config.toml; do if test -e $name; then cat $name >/dev/null || exit 1; fi; done; done";
    let main = repo.main().display();
    for fence in ["--fence=landlock", "--fence=mount"] {
        if repo.has_fence(&[fence]) {
            repo.fenced(&[fence], script).ok();
            for name in [
                "hidden.toml",
                "own.toml",
                "key.toml",
                "secret.toml",
                "directory.toml/key",
            ] {
                let said = repo.fenced(&[fence], &format!("cat {main}/{name}"));
                assert_eq!((said.status, &*said.stdout), (1, ""), "{fence} {name}");
            }
        }
    }
}

#[test]
fn nothing_behind_a_link_is_granted() {
    let Some(repo) = fenced_task() else { return };
    repo.agentwt(&["add", "other", "--write=src/way/in/**"])
        .ok();
    let outside = repo.root().join("outside");
    std::fs::create_dir_all(outside.join("in")).expect("it is ours");
    let way = repo.worktree("other").join("src/way");
    std::os::unix::fs::symlink(&outside, way).expect("it is ours");
    let root = allow_root_words();
    let words = [&["exec", "other", "--print-policy"], root, &["--", "true"]];
    let policy = repo.agentwt(&words.concat()).ok();
    assert!(!policy.contains("\"path\": \"src/way"), "{policy}");
    let script = format!("touch {}/in/new", outside.display());
    let words = [&["exec", "other"], root, &["--", "sh", "-c", &script]];
    assert_ne!(repo.agentwt(&words.concat()).status, 0);
    assert!(!outside.join("in/new").exists());
}

#[test]
fn other_programs_than_git_find_the_objects_of_the_repository() {
    let Some(repo) = fenced_task() else { return };
    for fence in ["landlock", "mount"] {
        let fence = format!("--fence={fence}");
        if repo.has_fence(&[&fence]) {
            let script = "sed s,^,:, \"$(git rev-parse --git-dir)/objects/info/alternates\"";
            let said = repo.fenced(&[&fence], script).ok();
            assert_eq!(said, ":$TMP/repo/.git/objects", "they read no quotes");
        }
    }
}

#[test]
fn the_committed_config_only_narrows() {
    let Some(repo) = fenced_task() else { return };
    let config = |fence: &str| {
        let text = format!("schema_version = \"1.0\"\n{fence}");
        repo.write(".agentwt/config.toml", &text);
    };
    let outside = repo.root().join("outside");
    std::fs::create_dir(&outside).expect("it is ours");
    let strongest = repo.fenced(&["-v"], "true").stderr;
    let strongest = strongest.lines().find(|line| line.contains("fence: "));
    let strongest = strongest.expect("it is told").to_owned();
    for kind in ["none", "perms", "landlock"] {
        config(&format!("[fence]\nkind = \"{kind}\"\n"));
        let said = repo.fenced(&["-v"], "echo x >docs/new");
        assert!(said.stderr.contains(&strongest), "{kind}: {said}");
        assert_ne!(said.status, 0, "{kind}");
    }
    let write = format!("echo x >{}/x", outside.display());
    config(&format!("[fence]\nrw = [\"{}\"]\n", outside.display()));
    let said = repo.fenced(&[], &write);
    assert!(
        said.status != 0 && said.stderr.contains("`rw` of the config does not count"),
        "{said}"
    );
    repo.git(&[
        "config",
        "--global",
        "agentwt.rw",
        outside.to_str().expect("UTF-8"),
    ]);
    repo.fenced(&[], &write).ok();
    let connect = "python3 -c 'import socket; socket.socket(socket.AF_INET)'";
    repo.fenced(&[], connect).ok();
    config("[fence]\nnet = \"none\"\n");
    assert_ne!(repo.fenced(&[], connect).status, 0, "less network counts");
}

#[test]
fn to_print_the_policy_runs_and_creates_nothing() {
    let Some(repo) = fenced_task() else { return };
    let said = repo.fenced(&["--print-policy"], "touch src/ran").ok();
    assert!(said.contains("\"grants\""), "{said}");
    let said = repo.agentwt(&["exec", "--all", "--print-policy", "--", "touch", "src/ran"]);
    said.fails(2);
    assert!(!repo.worktree("task").join("src/ran").exists());
    let root = allow_root_words();
    let run = [
        &["run", "new", "--write", "src/**", "--print-policy"],
        root,
        &["--", "true"],
    ];
    repo.agentwt(&run.concat()).fails(7);
    assert!(!repo.worktree("new").exists());
}

#[test]
fn what_cannot_be_granted_starts_nothing_and_leaves_nothing() {
    let Some(repo) = fenced_task() else { return };
    let root = allow_root_words();
    for (option, status, said) in [
        ("--rw=.git", 9, "would make the repository writable"),
        ("--rw=.git/hooks", 9, "would make the repository writable"),
        ("--rw=.", 9, "would make the repository writable"),
        ("--rw=/", 9, "would make the repository writable"),
        ("--socket=.git", 9, "would make the repository writable"),
        (
            "--socket=.git/hooks",
            9,
            "would make the repository writable",
        ),
        ("--rw=/nowhere", 125, "something that is there"),
        ("--socket=/nowhere", 125, "something that is there"),
        ("--net=foo", 125, "unknown value"),
    ] {
        let _ = std::fs::create_dir_all(repo.main().join(".git/hooks"));
        let words = ["run", "new", "--write=src/**", option];
        let run = [&words, root, &["--", "touch", "src/ran"]].concat();
        let refused = repo.agentwt(&run);
        assert_eq!(refused.status, status, "{option}: {refused}");
        assert!(refused.stderr.contains(said), "{option}: {refused}");
        assert!(!repo.worktree("new").exists(), "{option}");
        let branch = repo.git(&["branch", "--list", "agentwt/new"]);
        assert_eq!(branch, "", "{option}");
    }
    repo.fenced(&["--timeout=60"], "true").ok();
    repo.fenced(&["--timeout=0"], "true").ok();
    repo.fenced(&["--timeout=1e18"], "true").ok();
    // also before the fence has started it
    for time in ["0.2", "0.003"] {
        let began = std::time::Instant::now();
        let timeout = format!("--timeout={time}");
        assert_eq!(repo.fenced(&[&timeout], "sleep 600").status, 124);
        assert!(began.elapsed().as_secs() < 300, "it is ended early");
    }
}

#[test]
fn no_link_that_a_command_can_have_made_is_followed() {
    let Some(repo) = fenced_task() else { return };
    let home = repo.home();
    let link = |to: &str, at: &Path| {
        std::os::unix::fs::symlink(home.join(to), at).expect("it is ours");
    };
    for directory in ["cache/made", ".cache/uv", ".local/dir", "other/deep"] {
        std::fs::create_dir_all(home.join(directory)).expect("it is ours");
    }
    link("other", &home.join("cache/planted"));
    link("cache", &home.join("link"));
    link("other", &home.join(".cache/pip"));
    link("other", &home.join(".local/state"));
    let worktree = repo.worktree("task");
    link("other", &worktree.join("src/planted"));
    let inside = worktree.join("src/planted/deep");
    let script =
        "cd; ls -d cache/made >/dev/null; for at in other other/deep cache cache/made .cache/uv; do
        { true >$at/new; } 2>/dev/null && echo $at; done; true";
    let home_of = |path: &str| format!("--rw={}", home.join(path).display());
    for (option, writable) in [
        (home_of("cache/planted"), ""),
        (home_of("link"), ""),
        (format!("--rw={}", inside.display()), ""),
        (home_of("link/made"), ""),
        (home_of("cache/made"), "cache/made"),
        (home_of("cache"), "cache\ncache/made"),
        ("--preset=uv".to_owned(), ".cache/uv"),
        ("--preset=pip".to_owned(), ""),
        ("--preset=opencode".to_owned(), ""),
    ] {
        let said = repo.fenced(&[&option], script);
        assert_eq!(said.ok(), writable, "{option}: {said}");
        let is_told = said.stderr.contains("is not followed");
        assert_eq!(is_told, writable.is_empty(), "{option}: {said}");
    }
    // what a preset names is made, and is no link then
    let state = "echo x >~/.npm/state && echo x >src/one.rs && chmod 0 src/one.rs";
    let said = repo.fenced(&["--preset=npm"], state);
    assert_eq!(said.status, if is_root() { 0 } else { 120 }, "{said}");
    assert!(home.join(".npm/state").exists());
    repo.fenced(&[], "chmod 644 src/one.rs").ok();
    // nor one in /dev/shm, where a command at landlock may write
    let shared = tempfile::tempdir_in("/dev/shm").expect("there is room");
    link(".local", &shared.path().join("way"));
    let option = format!("--rw={}/way/dir", shared.path().display());
    let said = repo.fenced(&[&option], "true");
    assert!(said.stderr.contains("is not followed"), "{said}");
    // nor one in what is writable in this run as well
    let options = [home_of("cache"), home_of("cache/planted/deep")];
    let said = repo.fenced(&options.each_ref().map(|option| &**option), script);
    assert_eq!(said.ok(), "cache\ncache/made");
}

#[test]
fn a_worktree_that_git_knows_by_a_link_is_hidden() {
    let Some(repo) = fenced_task() else { return };
    let script = "git worktree add -q --detach ../known; mv ../known ../real; ln -s real ../known; echo TOP >../real/top";
    repo.sh(repo.main(), script).ok();
    let file = repo.root().join("real/top").display().to_string();
    for fence in ["landlock", "mount"] {
        let fence = format!("--fence={fence}");
        if repo.has_fence(&[&fence]) {
            let said = repo.fenced(&[&fence], &format!("echo x >src/one.rs; cat {file}"));
            assert!(said.status == 1 && !said.stdout.contains("TOP"), "{said}");
            assert!(repo.worktree("task").join("src/one.rs").exists());
        }
    }
}

#[test]
fn directories_that_were_made_for_a_run_and_stay_empty_go() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "x/y/z/**", "--write", "x/w/"])
        .ok();
    if !repo.has_fence(&[]) {
        return;
    }
    let made = repo.worktree("task").join("x");
    assert!(!made.exists());
    repo.fenced(&[], "test -d x/y/z && test -d x/w").ok();
    assert!(!made.exists());
    repo.fenced(&[], "echo 1 >x/y/z/one").ok();
    assert!(made.join("y/z/one").exists() && !made.join("w").exists());
}

#[test]
fn a_socket_that_was_given_is_connected_to_and_nothing_is_written_beside_it() {
    let Some(repo) = fenced_task() else { return };
    let place = repo.home().join("place");
    std::fs::create_dir(&place).expect("it is ours");
    let _listener = UnixListener::bind(place.join("socket")).expect("it is free");
    let connect = format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{0}/socket\")' \
        && ! touch {0}/new 2>/dev/null",
        place.display()
    );
    for fence in ["--fence=mount", "--fence=landlock", "--fence=container"] {
        for given in [place.clone(), place.join("socket")] {
            if repo.has_fence(&[fence]) {
                let option = format!("--socket={}", given.display());
                repo.fenced(&[fence, &option], &connect).ok();
                assert!(!place.join("new").exists(), "{fence} {option}");
            }
        }
    }
}
