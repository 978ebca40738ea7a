//! Settings that take a fence off or start a program: an agent can write the repository's configuration, so there
//! they do not count.

use insta::assert_snapshot;

use crate::support::TestRepo;

/// Each file of settings of the repository that an agent can write from its worktree, by the command that sets
/// `key` to `value` there.
const FILES: [&str; 3] = [
    "git config",
    "git config extensions.worktreeConfig true; git config --worktree",
    "git config include.path evil; git config --file .git/evil",
];

#[test]
fn a_fence_that_the_repositorys_config_takes_off_stays_on() {
    let repo = TestRepo::project();
    repo.add("task");
    if !repo.has_fence(&[]) {
        return;
    }
    for set in FILES {
        repo.sh(repo.main(), "git config --remove-section agentwt; true")
            .ok();
        repo.sh(repo.main(), &format!("{set} agentwt.fence none"))
            .ok();
        let said = repo.fenced(&[], "echo x >docs/new");
        assert_ne!(said.status, 0, "{set}: {said}");
        let told = "agentwt.fence in the repository's configuration does not count, as an agent can write it; if it is yours: git config --global agentwt.fence none";
        assert!(said.stderr.contains(told), "{set}: {said}");
        assert!(!repo.worktree("task").join("docs/new").exists(), "{set}");
    }
    repo.git(&["config", "--global", "agentwt.fence", "perms"]);
    let said = repo.fenced(&["-v"], "true");
    assert!(said.stderr.contains("fence: perms"), "the user's: {said}");
}

#[test]
fn a_path_that_the_repositorys_config_opens_stays_closed() {
    let repo = TestRepo::project();
    let outside = repo.root().join("outside");
    std::fs::create_dir(&outside).expect("it is ours");
    let outside = outside.display().to_string();
    repo.git(&["config", "agentwt.rw", &outside]);
    repo.git(&["config", "agentwt.image", "evil"]);
    repo.add("task");
    if !repo.has_fence(&[]) {
        return;
    }
    let write = format!("echo x >{outside}/x");
    let said = repo.fenced(&[], &write);
    assert_ne!(said.status, 0, "{said}");
    for command in ["--add agentwt.rw $TMP/outside", "agentwt.image evil"] {
        let command = format!("git config --global {command}");
        assert!(said.stderr.contains(&command), "{command}: {said}");
    }
    repo.git(&["config", "--global", "--add", "agentwt.rw", &outside]);
    repo.fenced(&[], &write).ok();
}

#[test]
fn the_repositorys_config_can_take_the_network_away_and_not_give_it() {
    let repo = TestRepo::project();
    repo.add("task");
    if !repo.has_fence(&[]) {
        return;
    }
    let connect = "python3 -c 'import socket; socket.socket(socket.AF_INET)'";
    repo.fenced(&[], connect).ok();
    repo.git(&["config", "agentwt.net", "none"]);
    assert_ne!(repo.fenced(&[], connect).status, 0, "less counts");
    repo.git(&["config", "agentwt.net", "host"]);
    repo.git(&["config", "--global", "agentwt.net", "none"]);
    let said = repo.fenced(&[], connect);
    assert_ne!(said.status, 0, "{said}");
    let told = "git config --global agentwt.net host";
    assert!(said.stderr.contains(told), "{said}");
}

#[test]
fn no_program_of_the_repositorys_config_is_opened() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    for set in FILES {
        for key in ["agentwt.opener", "agentwt.client", "core.editor"] {
            repo.sh(repo.main(), &format!("{set} {key} 'touch $PWD/ran; false'"))
                .ok();
        }
    }
    let said = repo.sh(
        repo.main(),
        "unset GIT_EDITOR; VISUAL='echo by' TERM=xterm git agentwt open task",
    );
    assert_snapshot!(said, @"
    by
    --- stderr
    note: agentwt.opener in the repository's configuration does not count, as an agent can write it; if it is yours: git config --global agentwt.opener 'touch $PWD/ran; false'
    note: agentwt.client in the repository's configuration does not count, as an agent can write it; if it is yours: git config --global agentwt.client 'touch $PWD/ran; false'
    note: core.editor in the repository's configuration does not count, as an agent can write it; if it is yours: git config --global core.editor 'touch $PWD/ran; false'
    note: no client is set, so your editor is started
    note: echo by is not fenced: it can read and write whatever you can
    --- status 0
    ");
    assert!(!worktree.join("ran").exists() && !repo.main().join("ran").exists());
}

#[test]
fn a_worktree_is_not_added_by_what_an_agent_set() {
    let repo = TestRepo::project();
    let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\n[scope.all]\nwrite = [\"**\"]\n";
    repo.write(".agentwt/config.toml", config);
    for (key, value) in [
        ("scope", "all"),
        ("client", "codex"),
        ("onViolation", "block"),
    ] {
        repo.git(&["config", &format!("agentwt.{key}"), value]);
    }
    assert_snapshot!(repo.agentwt(&["add", "task", "-n"]), @"
    would make $TMP/repo/.agentwt/worktrees/task
      branch   new branch agentwt/task
      base     af82e40edf (main)
      write    src/**
      read     **
      exclude  nothing
      files    2 files to edit, 10 to read, 0 excluded
    --- stderr
    note: agentwt.scope in the repository's configuration does not count, as an agent can write it; if it is yours: git config --global agentwt.scope all
    note: agentwt.client in the repository's configuration does not count, as an agent can write it; if it is yours: git config --global agentwt.client codex
    note: agentwt.onViolation in the repository's configuration does not count, as an agent can write it; if it is yours: git config --global agentwt.onViolation block
    --- status 0
    ");
    repo.git(&["config", "--global", "agentwt.scope", "all"]);
    repo.git(&["config", "--global", "agentwt.client", "none"]);
    repo.git(&["config", "--unset", "agentwt.client"]);
    assert_snapshot!(repo.agentwt(&["add", "task", "-n"]), @"
    would make $TMP/repo/.agentwt/worktrees/task
      branch   new branch agentwt/task
      base     af82e40edf (main)
      write    **
      read     **
      exclude  nothing
      files    12 files to edit, 0 to read, 0 excluded
    --- stderr
    note: agentwt.onViolation in the repository's configuration does not count, as an agent can write it; if it is yours: git config --global agentwt.onViolation block
    --- status 0
    ");
}

#[test]
fn a_setting_of_a_fence_or_a_program_that_an_agent_changes_is_a_violation() {
    for key in [
        "client",
        "fence",
        "image",
        "net",
        "onViolation",
        "opener",
        "rw",
        "scope",
        "socket",
    ] {
        let repo = TestRepo::project();
        let worktree = repo.add("task");
        repo.git_in(&worktree, &["config", &format!("agentwt.{key}"), "none"]);
        let found = repo.findings(&worktree);
        let expected = "@git/config config shared violation";
        assert_eq!(found.trim_end(), expected, "{key}");
    }
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.git_in(&worktree, &["config", "agentwt.fence", "none"]);
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    NO task: 1 violation, 0 paths changed
      !  config  @git/config  disk  agentwt.fence was added: none (a fence would be weaker by it)
    --- stderr
    to remove a setting that was added: git -C $TMP/repo/.agentwt/worktrees/task config --unset-all agentwt.fence
    to accept the shared settings and hooks for all worktrees: git agentwt accept task --shared
    --- status 1
    ");
    repo.git(&["config", "--unset", "agentwt.fence"]);
    repo.git_in(&worktree, &["config", "agentwt.base", "develop"]);
    let found = repo.findings(&worktree);
    assert_eq!(found.trim_end(), "@git/config config shared notice");
}
