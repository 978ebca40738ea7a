//! `scope --add-write` and its like: a person changes the scope of a worktree that is there.

use insta::assert_snapshot;

use crate::cases::Case;
use crate::support::{Said, TestRepo, fenced_task};

fn scope(case: &Case, arguments: &[&str]) -> Said {
    case.repo.agentwt(&[&["scope", "task"], arguments].concat())
}

#[test]
fn a_widened_scope_lets_files_be_edited_and_is_taken_back() {
    let case = Case::new();
    case.does("edit README.md; git commit -q -a -m x");
    assert_snapshot!(scope(&case, &["--add-write", "/README.md", "--add-write", "docs/**", "-n"]), @"
    + write /README.md
    + write docs/**
    --- stderr
    task: would change 2 rules, and the write bits of 2 files
    --- status 0
    ");
    assert_eq!(case.findings(), "README.md modified read-only violation\n");
    assert_snapshot!(scope(&case, &["--add-write", "/README.md", "--add-write", "docs/**"]), @"
    + write /README.md
    + write docs/**
    --- stderr
    task: changed 2 rules, and the write bits of 2 files
    to take that back: git agentwt scope task --undo
    --- status 0
    ");
    case.does("test -w docs/api.md; echo x >>docs/api.md; git commit -q -a -m y");
    assert_eq!(case.findings(), "");
    let shown = scope(&case, &[]).ok();
    assert!(shown.contains("scope --add-write"), "{shown}");
    let status = case.repo.agentwt(&["status", "task"]).ok();
    assert!(
        status.contains("write /README.md, write docs/**, by "),
        "{status}"
    );
    // the same call of a scheduler is the same worktree
    case.repo.add("task");
    assert_snapshot!(scope(&case, &["--add-write", "docs/**"]), @"
    --- stderr
    task: the scope has these rules already
    --- status 0
    ");
    assert_snapshot!(scope(&case, &["--undo"]), @"
    - write /README.md
    - write docs/**
    --- stderr
    task: changed 2 rules, and the write bits of 3 files
    --- status 0
    ");
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    docs/api.md modified read-only violation
    ");
    scope(&case, &["--undo"]).fails(4);
}

#[test]
fn a_file_that_may_be_seen_appears() {
    let case = Case::new();
    case.does("! test -e secrets && ! test -e src/secrets");
    scope(&case, &["--add-exclude", "/docs"]).ok();
    case.does("! test -e docs");
    assert_eq!(case.findings(), "");
    scope(&case, &["--undo"]).ok();
    case.does("cat docs/api.md; ! test -w docs/api.md || test $(id -u) = 0");
    assert_eq!(case.findings(), "");
    assert_snapshot!(case.repo.agentwt(&["reapply", "task", "-n"]), @"
    --- stderr
    task: everything is as the scope says
    --- status 0
    ");
}

#[test]
fn work_in_a_file_that_is_excluded_then_is_not_lost() {
    let case = Case::new();
    case.does("echo work >>src/main.rs; echo new >src/new.rs");
    assert_snapshot!(scope(&case, &["--add-exclude", "src/**"]), @"
    + exclude src/**
    --- stderr
    note: src/main.rs is excluded and stays on disk, because it is changed: save or revert it
    task: changed 1 rule, and the write bits of 0 files
    to take that back: git agentwt scope task --undo
    --- status 0
    ");
    case.does("grep -q work src/main.rs; grep -q new src/new.rs");
    assert_snapshot!(case.findings(), @"
    src/main.rs modified excluded violation
    src/new.rs created excluded violation
    ");
}

#[test]
fn nothing_is_excluded_while_a_command_runs_that_would_commit_it_as_deleted() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let (started, end) = (worktree.join("src/started"), worktree.join("src/end"));
    std::thread::scope(|threads| {
        let script =
            "touch src/started; until [ -e src/end ]; do sleep 0.05; done; rm src/started src/end
            git add -A; git commit -q --allow-empty -m work";
        let run = threads.spawn(|| repo.fenced(&[], script));
        while !started.exists() && !run.is_finished() {
            std::thread::yield_now();
        }
        let refused = repo.agentwt(&["scope", "task", "--add-exclude", "docs/**"]);
        // a wider scope takes nothing away
        repo.agentwt(&["scope", "task", "--add-write", "docs/**"])
            .ok();
        // nor does what is printed to take that back
        repo.agentwt(&["scope", "task", "--undo"]).ok();
        std::fs::write(end, "").expect("it is there");
        run.join().expect("it ends").ok();
        assert_snapshot!(refused, @"
        --- stderr
        error: cannot narrow the scope of worktree `task`: a command is running in its fence, and would commit the files that go as deleted
        help: wait for its end, then run this again; to see it: git agentwt status task
        --- status 4
        ");
    });
    assert_eq!(
        repo.agentwt(&["verify", "task"]).ok(),
        "ok task: in scope, 0 paths changed"
    );
    repo.agentwt(&["scope", "task", "--add-exclude", "docs/**"])
        .ok();
}

#[test]
fn an_invalid_pattern_changes_nothing_and_no_agent_widens() {
    let case = Case::new();
    scope(&case, &["--add-write", "!x"]).fails(3);
    scope(&case, &["README.md", "--add-write", "x"]).fails(2);
    let script = "set +e; git agentwt scope task --add-write '**'; exit $?";
    assert_snapshot!(case.runs(&case.worktree, script), @"
    --- stderr
    error: an agent does not decide about its worktree: this command is refused inside
    help: run the command outside the worktree: cd $TMP/repo && git agentwt scope task --add-write '**'
    --- status 4
    ");
    case.runs(
        &case.worktree,
        "set +e; git agentwt scope --add-write '**'; exit $?",
    )
    .fails(2);
    if cfg!(target_os = "linux") {
        let script = "set +e; git -C $MAIN agentwt scope task --add-write '**'; exit $?";
        case.runs(&case.worktree, script).fails(4);
    }
    case.does("edit README.md");
    assert_eq!(case.findings(), "README.md modified read-only violation\n");
}

#[test]
fn a_kill_between_record_and_files_is_finished_by_reapply() {
    let case = Case::new();
    let record = case
        .repo
        .main()
        .join(".git/agentwt/worktrees/task/record.toml");
    let before = std::fs::read(case.worktree.join(".git")).expect("it is there");
    scope(
        &case,
        &["--add-exclude", "/docs", "--add-write", "/README.md"],
    )
    .ok();
    let new = std::fs::read(&record).expect("it is there");
    scope(&case, &["--undo"]).ok();
    std::fs::write(&record, new).expect("it can be written");
    assert_ne!(case.findings(), "");
    case.repo.agentwt(&["reapply", "task"]).ok();
    case.does("! test -e docs; edit README.md");
    assert_eq!(case.findings(), "");
    assert_eq!(
        std::fs::read(case.worktree.join(".git")).expect("it is there"),
        before
    );
}

#[test]
fn what_restore_leaves_is_named_with_its_command() {
    let case = Case::new();
    case.does("edit README.md; git branch mine; git update-index --assume-unchanged src/main.rs");
    case.main_does("git replace HEAD $(git commit-tree -m x HEAD^{tree})");
    let said = case.repo.agentwt(&["restore", "task"]);
    said.fails(1);
    assert!(
        said.stderr.contains("a violation is left: @wt/index"),
        "{said}"
    );
    assert!(
        said.stderr.contains("git agentwt accept task --refs"),
        "{said}"
    );
    case.repo.agentwt(&["restore", "task"]).fails(1);
}

#[test]
fn the_printed_command_lets_exactly_these_paths_be_edited() {
    let case = Case::new();
    case.does("echo x >'docs/[i] *.md'; edit README.md; mkdir -p secrets; echo k >secrets/new");
    let said = case.repo.agentwt(&["verify", "task"]);
    let line = said
        .stderr
        .split_once("to let the agent edit these paths: ");
    let (_, command) = line.expect("it is printed");
    assert_snapshot!(command, @r"git agentwt scope task --add-write /README.md --add-write '/docs/\[i] \*.md'");
    case.main_does(command);
    assert_snapshot!(case.findings(), @"secrets/new created excluded violation");
    case.does("echo x >'docs/[i] x.md'; echo x >'docs/i *.md'");
    assert_snapshot!(case.findings(), @"
    docs/[i] x.md created read-only violation
    docs/i *.md created read-only violation
    secrets/new created excluded violation
    ");
}

#[test]
fn a_setting_that_had_no_value_is_removed_by_the_printed_command() {
    let case = Case::new();
    case.main_does("git config core.editor vi");
    case.repo.add("other");
    case.main_does(
        "git config alias.z '!y'; git config --add alias.z '!x'; git config core.editor x",
    );
    let said = case.repo.agentwt(&["verify", "other"]);
    assert_snapshot!(said, @"
    NO other: 2 violations, 0 paths changed
      !  config  @git/config  disk  alias.z was added: !y, !x (git can run a program by it)
      !  config  @git/config  disk  core.editor was `vi` and is `x` (git can run a program by it)
    --- stderr
    to remove a setting that was added: git -C $TMP/repo/.agentwt/worktrees/other config --unset-all alias.z
    to accept the shared settings and hooks for all worktrees: git agentwt accept other --shared
    --- status 1
    ");
    let line = said
        .stderr
        .split_once("to remove a setting that was added: ");
    let command = line.and_then(|(_, rest)| rest.lines().next());
    let root = case.repo.root().display().to_string();
    case.main_does(&command.expect("it is printed").replace("$TMP", &root));
    let left = case.repo.agentwt(&["verify", "other"]);
    assert!(left.stdout.contains("1 violation,"), "{left}");
}

#[test]
fn a_lock_of_the_sparse_patterns_that_a_killed_git_left_is_named_and_goes() {
    let case = Case::new();
    let lock = ".git/worktrees/task/info/sparse-checkout.lock";
    case.repo
        .sh(case.repo.main(), &format!("touch -d '3 hours ago' {lock}"))
        .ok();
    let said = case.repo.agentwt(&["doctor"]);
    assert!(said.to_string().contains(lock), "{said}");
    let said = case.repo.agentwt(&["prune"]);
    assert!(said.to_string().contains(lock), "{said}");
    assert!(!case.repo.main().join(lock).exists());
    scope(&case, &["--add-exclude", "/docs"]).ok();
    assert_eq!(case.findings(), "");
}

#[test]
fn copies_that_a_narrower_scope_excludes_are_named_and_taken_away_by_what_is_printed() {
    let repo = TestRepo::project();
    repo.write(".git/info/exclude", "local/\n");
    repo.write("local/a.env", "SECRET=1\n");
    repo.write("local/b.txt", "b\n");
    repo.agentwt(&["add", "task", "--write", "src/**", "--sync", "local/**"])
        .ok();
    repo.agentwt(&["verify", "task"]).ok();
    let said = repo.agentwt(&["scope", "task", "--add-exclude", "*.env"]);
    said.ok();
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    NO task: 1 violation, 1 path changed
      !  present  local/a.env  disk  excluded: exclude *.env (scope --add-exclude)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task local/a.env
    --- status 1
    ");
    let (_, named) = said
        .stderr
        .split_once("excluded now are still in the worktree: local/a.env; ")
        .expect("it is named");
    let (_, way) = named.split_once(": git agentwt").expect("a command");
    let way = format!("git agentwt{}", way.lines().next().expect("a line"));
    repo.sh(repo.main(), &way).ok();
    let worktree = repo.worktree("task");
    assert!(!worktree.join("local/a.env").exists());
    assert!(worktree.join("local/b.txt").exists());
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn restore_takes_a_copy_away_that_the_scope_excludes() {
    for edit in ["true", "echo SECRET=2 >>local/a.env"] {
        let repo = TestRepo::project();
        repo.write(".git/info/exclude", "local/\n");
        repo.write("local/a.env", "SECRET=1\n");
        repo.agentwt(&["add", "task", "--write", "src/**", "--sync", "local/**"])
            .ok();
        let worktree = repo.worktree("task");
        repo.agentwt(&["scope", "task", "--add-exclude", "*.env"])
            .ok();
        repo.sh(&worktree, &format!("chmod u+w local/a.env; {edit}"))
            .ok();
        let copy = worktree.join("local/a.env");
        let copied = std::fs::read(&copy).expect("the copy");
        repo.agentwt(&["restore", "task", "local/a.env"]).ok();
        assert!(!copy.exists());
        repo.agentwt(&["verify", "task"]).ok();
        repo.agentwt(&["restore", "task", "--undo"]).ok();
        assert_eq!(std::fs::read(&copy).expect("it is back"), copied, "{edit}");
        assert_eq!(repo.agentwt(&["verify", "task"]).status, 1, "{edit}");
        repo.agentwt(&["accept", "task", "local/a.env"]).ok();
        repo.agentwt(&["verify", "task"]).ok();
        repo.sh(&worktree, "chmod u+w local/a.env; echo x >>local/a.env")
            .ok();
        assert_eq!(repo.agentwt(&["verify", "task"]).status, 1, "{edit}");
    }
}
