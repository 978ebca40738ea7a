//! The set-up and the teardown of the config: they run only as the user trusted them, and what they
//! create is no change of the agent.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;

use crate::support::{Said, TestRepo, skipped, wait_until};

mod requests;
mod submodules;

const HEAD: &str = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\nexclude = [\"**/secrets/**\"]\n";

/// A project with this set-up and teardown, as lists of TOML.
fn with_commands(setup: &str, teardown: &str) -> TestRepo {
    let repo = TestRepo::project();
    configure(&repo, setup, teardown);
    repo
}

fn configure(repo: &TestRepo, setup: &str, teardown: &str) {
    let text = format!("{HEAD}[setup]\ncommands = {setup}\n[teardown]\ncommands = {teardown}\n");
    repo.write(".agentwt/config.toml", &text);
}

fn trusted(setup: &str, teardown: &str) -> TestRepo {
    let repo = with_commands(setup, teardown);
    repo.agentwt(&["trust"]).ok();
    repo
}

fn is_there(repo: &TestRepo, file: &str) -> bool {
    repo.worktree("task").join(file).exists()
}

#[test]
fn nothing_runs_before_the_user_trusts_it_and_a_second_add_catches_up() {
    let repo = with_commands("[\"touch .ready\", 'echo \"$AGENTWT_NAME\" >&1']", "[]");
    assert_snapshot!(repo.agentwt(&["add", "task"]), @"
    $TMP/repo/.agentwt/worktrees/task
    --- stderr
    note: the set-up is skipped, as you have not trusted its commands; to review them and run them: git agentwt trust && git agentwt add task
    task: new branch agentwt/task at af82e40edf (main); 2 files to edit, 8 to read, 2 excluded
    --- status 0
    ");
    assert!(!is_there(&repo, ".ready"));
    assert_snapshot!(repo.agentwt(&["trust"]), @r#"
    setup     touch .ready
    setup     echo "$AGENTWT_NAME" >&1
    --- stderr
    trusted: `git agentwt add` runs [setup], and a removal runs [teardown]; a changed text is not run
    to take it back: git agentwt trust --revoke
    --- status 0
    "#);
    assert_snapshot!(repo.agentwt(&["add", "task"]), @r#"
    $TMP/repo/.agentwt/worktrees/task
    --- stderr
    note: task: setup 1 of 2: touch .ready
    note: task: setup 2 of 2: echo "$AGENTWT_NAME" >&1
    task
    task is there already
    --- status 0
    "#);
    assert!(is_there(&repo, ".ready"));
    fs::remove_file(repo.worktree("task").join(".ready")).expect("it is there");
    repo.agentwt(&["add", "task"]).ok();
    assert!(!is_there(&repo, ".ready"), "once is enough");
}

#[test]
fn a_changed_text_is_not_run_nor_the_same_text_of_another_repository() {
    let repo = trusted("[\"touch .ready\"]", "[]");
    for (setup, teardown) in [
        ("[\"touch .ready \"]", "[]"),
        ("[\"touch .ready\", \"true\"]", "[]"),
        ("[]", "[\"touch .ready\"]"),
        ("[\"touch .ready\"]", "[\"true\"]"),
    ] {
        configure(&repo, setup, teardown);
        repo.agentwt(&["add", "task"]).ok();
        assert!(!is_there(&repo, ".ready"), "{setup} {teardown}");
        repo.agentwt(&["remove", "task"]).ok();
    }
    configure(&repo, "[\"touch .ready\"]", "[]");
    repo.agentwt(&["add", "task"]).ok();
    assert!(is_there(&repo, ".ready"), "the trusted text again");
    repo.sh(repo.main(), "cp -r . ../other && cd ../other && rm -rf .agentwt/worktrees .git/agentwt .git/worktrees && git branch -D agentwt/task").ok();
    let other = repo.root().join("other");
    let said = repo.agentwt_in(&other, &["add", "task"]);
    assert!(said.stderr.contains("git agentwt trust"), "{said}");
    assert!(!other.join(".agentwt/worktrees/task/.ready").exists());
}

#[test]
fn trust_is_the_users_own_listed_and_taken_back() {
    let repo = with_commands("[\"npm ci\"]", "[\"docker compose\\u001b[2J down\"]");
    let file = repo.home().join(".local/state/git-agentwt/trust.toml");
    assert_snapshot!(repo.agentwt(&["trust", "-n"]), @r#"
    setup     npm ci
    teardown  docker compose\033[2J down
    --- stderr
    would trust: `git agentwt add` runs [setup], and a removal runs [teardown]; a changed text is not run
    to take it back: git agentwt trust --revoke
    --- status 0
    "#);
    assert!(!file.exists());
    repo.agentwt(&["trust"]).ok();
    let mode = |path: &std::path::Path| {
        let found = fs::metadata(path).expect("it is there");
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().expect("a directory")), 0o700);
    let listed = repo.agentwt(&["trust", "--list"]).ok();
    assert!(listed.starts_with("$TMP/repo/.git (20"), "{listed}");
    assert!(
        listed.ends_with("\n  setup     npm ci\n  teardown  docker compose\\033[2J down"),
        "{listed}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&repo.agentwt(&["trust", "--list", "--json"]).ok()).expect("JSON");
    assert_eq!(json["list"][0]["setup"][0], "npm ci");
    assert_eq!(json["trusted"], true);
    repo.agentwt(&["add", "task", "--no-setup"]).ok();
    for arguments in [&["trust"][..], &["trust", "--revoke"]] {
        let said = repo.agentwt_in(&repo.worktree("task"), arguments);
        said.fails(4);
    }
    // what others can write counts for nothing
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("it is ours");
    let json = repo.agentwt(&["trust", "-n", "--list", "--json"]);
    assert_eq!(json.status, 2, "a list changes nothing");
    assert_eq!(repo.agentwt(&["trust", "--list"]).ok(), "");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    // whatever the config is by now
    repo.write(".agentwt/config.toml", "nonsense\n");
    repo.agentwt(&["trust"]).fails(3);
    assert_eq!(repo.agentwt(&["trust", "--list"]).ok(), listed);
    let said = repo.agentwt(&["trust", "--revoke", "-n"]);
    assert!(said.stderr.contains("would revoke"), "{said}");
    assert_snapshot!(repo.agentwt(&["trust", "--revoke"]), @"
    --- stderr
    revoked the trust in 1 text of this repository
    --- status 0
    ");
    assert_eq!(repo.agentwt(&["trust", "--list"]).ok(), "");
}

#[test]
fn what_a_set_up_creates_is_no_finding_and_an_edit_of_it_is() {
    let setup = "echo 1 >made.txt; mkdir -p deep/x src && echo 2 >deep/x/y && echo 3 >src/gen.rs; mkdir secrets; echo 4 >secrets/k";
    let repo = trusted(&format!("[\"{setup}\"]"), "[]");
    let worktree = repo.agentwt(&["add", "task"]).ok();
    let worktree =
        std::path::PathBuf::from(worktree.replace("$TMP", &repo.root().to_string_lossy()));
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    NO task: 1 violation, 1 path changed
      !  created  secrets/k  untracked  excluded: exclude **/secrets/** (.agentwt/config.toml:4)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task secrets/k
    --- status 1
    ");
    let status = repo.git_in(&worktree, &["status", "--porcelain", "-uall"]);
    assert_eq!(status, "?? secrets/k", "the others stay out of commits");
    fs::remove_dir_all(worktree.join("secrets")).expect("it is there");
    repo.agentwt(&["verify", "task"]).ok();
    fs::write(worktree.join("made.txt"), "2\n").expect("it is ours");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    NO task: 1 violation, 1 path changed
      !  modified  made.txt  synced  read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task made.txt
    to let the agent edit these paths: git agentwt scope task --add-write /made.txt
    --- status 1
    ");
    assert_snapshot!(repo.agentwt(&["restore", "task"]), @"
    --- stderr
    note: a violation is left: made.txt modified: read-only: read ** (default)
    note: to restore these paths: git agentwt restore task
    note: to accept these paths as they are: git agentwt accept task made.txt
    note: to let the agent edit these paths: git agentwt scope task --add-write /made.txt
    note: made.txt stays as it is: the set-up created it, and its content is not kept
    task: nothing can be put back
    --- status 1
    ");
    assert_snapshot!(repo.agentwt(&["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 1 placed file is edited
      made.txt
    help: commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
    fs::write(worktree.join("made.txt"), "1\n").expect("it is ours");
    let status = repo.agentwt(&["status", "task"]).ok();
    assert!(status.contains("\n  placed   3 files, same\n"), "{status}");
    repo.agentwt(&["remove", "task"]).ok();
}

#[test]
fn a_failed_set_up_leaves_the_worktree_and_a_second_add_runs_it_again() {
    let repo = trusted(
        "[\"echo one >one\", \"test -e ../../../go\", \"touch .ready\"]",
        "[]",
    );
    assert_snapshot!(repo.agentwt(&["add", "task"]), @"
    --- stderr
    note: task: setup 1 of 3: echo one >one
    note: task: setup 2 of 3: test -e ../../../go
    error: the set-up of `task` failed: `test -e ../../../go` ended with status 1
    help: the worktree stays; to run the set-up again: git agentwt add task; to remove it: git agentwt remove task
    --- status 5
    ");
    repo.agentwt(&["verify", "task"]).ok();
    repo.write("go", "");
    let said = repo.agentwt(&["add", "task"]);
    assert!(is_there(&repo, ".ready"), "{said}");
    repo.agentwt(&["verify", "task"]).ok();
    fs::remove_file(repo.main().join("go")).expect("it is there");
    repo.agentwt(&["remove", "--wait", "task"]).ok();
    assert_snapshot!(repo.agentwt(&["add", "task", "--rollback-on-failure"]), @"
    --- stderr
    note: task: setup 1 of 3: echo one >one
    note: task: setup 2 of 3: test -e ../../../go
    error: the set-up of `task` failed: `test -e ../../../go` ended with status 1
    help: to try again: git agentwt add task --rollback-on-failure
    --- status 5
    ");
    assert!(!repo.worktree("task").exists());
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
}

#[test]
fn a_rollback_keeps_what_would_be_lost() {
    let repo = trusted("[\"chmod u+w README.md; echo 2 >README.md; false\"]", "[]");
    repo.agentwt(&["add", "task", "--rollback-on-failure"])
        .fails(5);
    assert!(!repo.worktree("task").exists());
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(repo.sh(&repo.worktree("task"), "cat README.md").ok(), "2");
}

#[test]
fn a_rollback_is_not_stopped_by_the_owner_who_asked_for_it() {
    let repo = trusted("[\"false\"]", "[]");
    let owner = std::process::id().to_string();
    let add = ["add", "task", "--rollback-on-failure", "--owner", "ci"];
    let said = repo.agentwt(&[&add[..], &["--owner-pid", &owner]].concat());
    said.fails(5);
    assert!(!repo.worktree("task").exists(), "{said}");
}

#[test]
fn a_rollback_leaves_the_worktree_to_an_owner_who_took_it_over() {
    let other = std::process::id();
    let take_over = format!(
        "cd ../../.. && git agentwt add task --owner b --owner-pid {other} --take-over --no-setup"
    );
    let repo = trusted(&format!("[\"{take_over}\", \"false\"]"), "[]");
    let add = ["add", "task", "--rollback-on-failure", "--owner", "a"];
    let said = repo.agentwt(&add);
    assert!(
        said.fails(5)
            .stderr
            .contains("what is left: worktree `task`"),
        "{said}"
    );
    assert!(repo.worktree("task").exists(), "{said}");
}

#[test]
fn a_dry_run_shows_what_would_run_and_no_setup_runs_nothing() {
    let repo = with_commands("[\"touch .ready\", \"true\"]", "[]");
    let said = repo.agentwt(&["add", "task", "-n"]).ok();
    let shown: Vec<_> = said.lines().filter(|line| line.contains("setup")).collect();
    assert_eq!(
        shown,
        [
            "  setup    touch .ready  (not trusted: git agentwt trust)",
            "  setup    true  (not trusted: git agentwt trust)"
        ]
    );
    repo.agentwt(&["trust"]).ok();
    let said = repo.agentwt(&["add", "task", "-n"]).ok();
    assert!(said.contains("  setup    touch .ready\n"), "{said}");
    repo.agentwt(&["add", "task", "--no-setup"]).ok();
    repo.agentwt(&["add", "task"]).ok();
    assert!(!is_there(&repo, ".ready"), "it was declined for good");
}

#[test]
fn a_command_gets_the_worktrees_variables_and_no_repository_of_the_caller() {
    let line = "test -z \"$GIT_DIR$GIT_INDEX_FILE\" && test \"$AGENTWT_ROOT\" = \"$PWD\" && test -n \"$GIT_CEILING_DIRECTORIES\" && test \"$AGENTWT_PORT\" -gt 1024 && git rev-parse --show-toplevel >.top && ! read -r line";
    let repo = trusted(&format!("['{line}']"), "[]");
    let env = "GIT_DIR=$PWD/.git GIT_INDEX_FILE=$PWD/.git/index git agentwt add task";
    repo.sh(repo.main(), env).ok();
    let top = fs::read_to_string(repo.worktree("task").join(".top")).expect("it ran");
    assert!(
        top.trim_end().ends_with("/.agentwt/worktrees/task"),
        "{top}"
    );
}

#[test]
fn a_teardown_runs_before_a_removal_and_stops_none() {
    let repo = trusted(
        "[]",
        "[\"basename $PWD >>../../../down\", \"echo log >log; exit 3\"]",
    );
    repo.agentwt(&["add", "task"]).ok();
    assert_snapshot!(repo.agentwt(&["remove", "task"]), @"
    --- stderr
    note: task: teardown 1 of 2: basename $PWD >>../../../down
    note: task: teardown 2 of 2: echo log >log; exit 3
    note: the teardown of `task` failed: `echo log >log; exit 3` ended with status 3; the removal goes on
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf)
    --- status 0
    ");
    repo.agentwt(&["add", "task"]).ok();
    repo.write("down", "");
    repo.sh(
        &repo.worktree("task"),
        "echo x >src/new.rs && git add . && git commit -qm x",
    )
    .ok();
    repo.agentwt(&["land", "task"]).ok();
    let down = fs::read_to_string(repo.main().join("down")).expect("it ran");
    assert_eq!(down, "task\n");
    repo.agentwt(&["add", "task"]).ok();
    repo.sh(&repo.worktree("task"), "echo x >src/new2.rs").ok();
    repo.agentwt(&["remove", "task"]).fails(4);
    let down = fs::read_to_string(repo.main().join("down")).expect("it ran");
    assert_eq!(
        down, "task\n",
        "a removal that is refused tears nothing down"
    );
    // what is forced goes into the trash as it is
    repo.agentwt(&["remove", "--force", "task"]).ok();
    let down = fs::read_to_string(repo.main().join("down")).expect("it ran");
    assert_eq!(down, "task\n");
    repo.agentwt(&["add", "task"]).ok();
    repo.agentwt(&["trust", "--revoke"]).ok();
    let said = repo.agentwt(&["remove", "task"]);
    said.ok();
    assert!(said.stderr.contains("you have not trusted it"), "{said}");
}

#[test]
fn work_that_appears_during_a_teardown_is_not_lost() {
    let repo = trusted("[]", "[\"echo 2 >>src/main.rs\"]");
    repo.agentwt(&["add", "task"]).ok();
    let said = repo.agentwt(&["remove", "task"]);
    said.fails(4);
    assert!(repo.worktree("task").exists(), "{said}");
}

#[test]
fn a_signal_ends_the_set_up_and_a_second_add_finishes_it() {
    let repo = trusted(
        "[\"echo $$ >pid; test -e ../../../go || exec sleep 600\", \"touch .ready\"]",
        "[]",
    );
    for signal in ["TERM", "KILL"] {
        let mut add = repo.command("git-agentwt", repo.main());
        let mut add = add.args(["add", "task"]).spawn().expect("it starts");
        let pid = repo.worktree("task").join("pid");
        wait_until("the set-up runs", || {
            let number = fs::read_to_string(&pid).unwrap_or_default();
            !number.trim().is_empty()
        });
        let shell = fs::read_to_string(&pid).expect("it is there");
        repo.sh(repo.main(), &format!("kill -{signal} {}", add.id()))
            .ok();
        let ended = add.wait().expect("it ended");
        if signal == "TERM" {
            assert_eq!(ended.code(), Some(143));
            repo.agentwt(&["verify", "task"]).ok();
            let alive = repo.sh(repo.main(), &format!("kill -0 {}", shell.trim()));
            assert_ne!(alive.status, 0, "nothing of it goes on");
        } else {
            let _ = repo.sh(repo.main(), &format!("kill -9 {}", shell.trim()));
        }
        fs::remove_file(&pid).expect("it is there");
    }
    repo.write("go", "");
    repo.agentwt(&["add", "task"]).ok();
    assert!(is_there(&repo, ".ready"));
    repo.agentwt(&["verify", "task"]).ok();
}

/// Starts a command, and sends it a signal once this file is in the worktree.
fn signalled(repo: &TestRepo, args: &[&str], file: &str, signal: &str) -> Said {
    let words = args.join(" ");
    let line = format!(
        "git-agentwt {words} >../said 2>&1 & started=$!
        until test -s .agentwt/worktrees/task/{file}; do sleep .02; done
        kill -{signal} $started; wait $started; status=$?; cat ../said >&2; exit $status"
    );
    repo.sh(repo.main(), &line)
}

#[test]
fn a_killed_set_up_is_finished_once_its_commands_have_ended_and_hides_nobodys_files() {
    let repo = trusted(
        "[\"echo one >one.txt; echo $$ >pid; test -e ../../../go || exec sleep 600\"]",
        "[]",
    );
    signalled(&repo, &["add", "task"], "pid", "KILL").fails(137);
    let again = repo.agentwt(&["add", "task"]);
    let running = "a program is still running in worktree `task`: process ";
    assert!(again.fails(4).stderr.contains(running), "{again}");
    repo.sh(
        &repo.worktree("task"),
        "kill -9 $(cat pid); while kill -0 $(cat pid) 2>/dev/null; do sleep .02; done",
    )
    .ok();
    repo.write("go", "");
    repo.sh(&repo.worktree("task"), "echo agent >new.txt").ok();
    repo.agentwt(&["add", "task"]).ok();
    let said = repo.agentwt(&["verify", "task"]).fails(1).stdout.clone();
    assert!(said.contains("new.txt"), "an agent made it: {said}");
    repo.agentwt(&["accept", "task", "--all"]).ok();
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn an_interrupted_rollback_or_teardown_is_named_as_such() {
    let repo = trusted("[\"echo 1 >up; exec sleep 600\"]", "[]");
    let args = ["add", "task", "--rollback-on-failure"];
    assert_snapshot!(signalled(&repo, &args, "up", "TERM"), @"
    --- stderr
    note: task: setup 1 of 1: echo 1 >up; exec sleep 600
    error: the set-up of `task` was interrupted by signal 15
    help: to try again: git agentwt add task --rollback-on-failure
    --- status 143
    ");
    configure(&repo, "[]", "[\"echo 1 >down; exec sleep 600\"]");
    repo.agentwt(&["trust"]).ok();
    repo.agentwt(&["add", "task"]).ok();
    assert_snapshot!(signalled(&repo, &["remove", "task"], "down", "TERM"), @"
    --- stderr
    note: task: teardown 1 of 1: echo 1 >down; exec sleep 600
    error: the teardown of `task` was interrupted by signal 15
    help: the worktree stays; to remove it: git agentwt remove task
    --- status 143
    ");
}

#[test]
fn npm_ci_sets_a_worktree_up() {
    let repo = TestRepo::project();
    let has_npm = repo.sh(repo.main(), "npm --version").status == 0;
    if !has_npm {
        return skipped("npm");
    }
    repo.write(
        "lib/dep/package.json",
        "{\"name\": \"dep\", \"version\": \"1.0.0\"}",
    );
    let line = "echo node_modules/ >>.gitignore; rm -f package.json package-lock.json;
        npm init -y >/dev/null && npm install --offline --no-audit --no-fund ./lib/dep >/dev/null && git add -A && git commit -qm npm";
    repo.sh(repo.main(), line).ok();
    configure(&repo, "[\"npm ci --offline --no-audit --no-fund\"]", "[]");
    repo.agentwt(&["trust"]).ok();
    let said: Said = repo.agentwt(&["add", "task"]);
    said.ok();
    assert!(is_there(&repo, "node_modules/dep/package.json"), "{said}");
    repo.agentwt(&["verify", "task"]).ok();
    assert_eq!(
        repo.git_in(&repo.worktree("task"), &["status", "--porcelain"]),
        ""
    );
    repo.agentwt(&["remove", "task"]).ok();
}

/// What husky's `npm ci` does: writes `.husky/_` and the setting that makes git run the hooks there.
const HUSKY: &str = "mkdir -p .husky/_ && echo '*' >.husky/_/.gitignore && rm -f .husky/_/h && \
    echo 'echo hook ran' >.husky/_/h && cp .husky/_/h .husky/_/pre-commit && \
    chmod +x .husky/_/pre-commit && git config core.hooksPath .husky/_";

/// A project with husky, which was installed in the main worktree, and this pattern of copies.
fn with_husky(patterns: &str) -> TestRepo {
    let repo = TestRepo::project();
    repo.write(".husky/pre-commit", "echo hook ran\n");
    repo.write("install.sh", HUSKY);
    repo.commit_all("husky");
    repo.sh(repo.main(), "sh install.sh").ok();
    let sync = format!("[worktree.file_sync]\noptional_patterns = {patterns}\n");
    let setup = "[setup]\ncommands = [\"sh install.sh\"]\n";
    repo.write(".agentwt/config.toml", &format!("{HEAD}{sync}{setup}"));
    repo.agentwt(&["trust"]).ok();
    repo
}

#[test]
fn init_copies_nothing_that_a_command_of_the_set_up_writes() {
    let repo = with_husky("[]");
    std::fs::remove_file(repo.main().join(".agentwt/config.toml")).expect("it is there");
    repo.write("package-lock.json", "{}\n");
    repo.commit_all("a lock file");
    repo.agentwt(&["init"]).ok();
    let text = fs::read_to_string(repo.main().join(".agentwt/config.toml")).expect("it is written");
    assert!(text.contains("\ncommands = [\"npm ci\"]\n"), "{text}");
    assert!(!text.contains("husky"), "{text}");
}

#[test]
fn an_installer_of_hooks_can_write_its_directory_again_and_is_no_finding() {
    // the second is what `init` proposed once
    for patterns in ["[]", "[\".husky/_\"]"] {
        let repo = with_husky(patterns);
        repo.agentwt(&["add", "task"]).ok();
        let worktree = repo.worktree("task");
        let writable = |file: &str| {
            let mode = fs::metadata(worktree.join(file)).expect("it is there");
            mode.permissions().mode() & 0o200 != 0
        };
        for file in [".gitignore", "h", "pre-commit"] {
            assert!(writable(&format!(".husky/_/{file}")), "{patterns} {file}");
        }
        assert_eq!(repo.findings(&worktree), "", "{patterns}");
        repo.agentwt(&["verify", "--strict", "task"]).ok();
        repo.agentwt(&["sync", "task"]).ok();
        assert!(writable(".husky/_/h"), "{patterns}");
        repo.sh(&worktree, "sh install.sh && echo 1 >>src/main.rs")
            .ok();
        let committed = repo.sh(&worktree, "git commit -qam work 2>&1");
        assert!(committed.ok().contains("hook ran"), "{committed}");
        assert_eq!(repo.findings(&worktree), "", "{patterns}");
        let status = repo.git_in(&worktree, &["status", "--porcelain"]);
        assert_eq!(status, "", "{patterns}");
        repo.agentwt(&["land", "task"]).ok();
    }
}

#[test]
fn a_copy_that_the_set_up_writes_is_the_set_ups_and_another_one_stays_as_it_is() {
    let repo = TestRepo::project();
    repo.write(".gitignore", "/local/\n");
    repo.commit_all("ignored");
    for name in ["port", "key", "old", "twice"] {
        repo.write(&format!("local/{name}"), "of the user\n");
    }
    let sync = "[worktree.file_sync]\npatterns = [\"local/**\"]\n";
    let setup = "[setup]\ncommands = [\"echo 8081 >local/port; rm -f local/old; ln local/twice local/link\"]\n";
    repo.write(".agentwt/config.toml", &format!("{HEAD}{sync}{setup}"));
    repo.agentwt(&["trust"]).ok();
    repo.agentwt(&["add", "task"]).ok();
    let worktree = repo.worktree("task");
    assert_eq!(repo.findings(&worktree), "");
    let mode = |file: &str| {
        let found = fs::metadata(worktree.join(file)).expect("it is there");
        found.permissions().mode() & 0o777
    };
    assert_eq!((mode("local/port"), mode("local/key")), (0o644, 0o444));
    repo.sh(&worktree, "chmod u+w local/key; echo 2 >local/key")
        .ok();
    assert_eq!(
        repo.findings(&worktree),
        "local/key modified read-only violation\n"
    );
}

#[test]
fn what_a_set_up_changes_of_the_shared_settings_and_hooks_is_accepted_where_no_agent_works() {
    let setup = "git config core.hooksPath .husky/_; echo true >$(git rev-parse --git-common-dir)/hooks/pre-push; \
        chmod +x $(git rev-parse --git-common-dir)/hooks/pre-push";
    let repo = trusted(&format!("[\"{setup}\"]"), "[]");
    repo.agentwt(&["add", "task"]).ok();
    assert_eq!(repo.findings(&repo.worktree("task")), "");
    let status = repo.agentwt(&["status", "task"]).ok();
    assert!(
        status.contains("accepted @git/config, @git/hooks/pre-push"),
        "{status}"
    );
    // another value is a finding
    repo.git(&["config", "core.hooksPath", "src"]);
    repo.agentwt(&["verify", "task"]).fails(1);
    // and so is what comes while another agent works, who may have changed the settings
    repo.git(&["config", "--unset", "core.hooksPath"]);
    repo.agentwt(&["accept", "task", "--all"]).ok();
    repo.agentwt(&["add", "other"]).ok();
    repo.agentwt(&["verify", "other"]).fails(1);
}

#[test]
fn an_installer_that_writes_where_git_runs_hooks_leaves_ours() {
    let setup = "echo 'echo theirs' >$(git rev-parse --git-path hooks)/post-commit";
    let repo = trusted(&format!("[\"{setup}\"]"), "[]");
    repo.agentwt(&["add", "task"]).ok();
    let worktree = repo.worktree("task");
    assert_eq!(repo.findings(&worktree), "");
    repo.sh(&worktree, "chmod +w README.md; echo no >>README.md")
        .ok();
    let said = repo.sh(&worktree, "git commit -qam out");
    assert!(said.stderr.contains("README.md"), "{said}");
}

#[test]
fn submodules_come_with_the_objects_of_the_main_worktree_and_are_no_finding() {
    let repo = TestRepo::project();
    let line = "git config --global protocol.file.allow always
        for one in lib tool idle hid; do git init -q ../$one; git -C ../$one commit -q --allow-empty -m one;
            echo $one >../$one/file; git -C ../$one add .; git -C ../$one commit -qm two; done
        at=file://$PWD/..; git submodule --quiet add $at/lib vendor/lib; git submodule --quiet add $at/tool src/tool
        git submodule --quiet add $at/idle idle; git submodule --quiet add $at/hid secrets/hid
        git commit -qm submodules; git submodule --quiet deinit -f idle";
    repo.sh(repo.main(), line).ok();
    repo.write(
        ".agentwt/config.toml",
        &format!("{HEAD}[setup]\nsubmodules = true\n"),
    );
    let other = repo.agentwt(&["add", "other", "--no-setup"]);
    other.ok();
    let before = repo.git(&["config", "--list", "--local"]);
    let said = repo.agentwt(&["add", "task"]);
    said.ok();
    let line = "the submodule idle stays empty, as in the main worktree; to have it there: git submodule update --init idle";
    assert!(said.stderr.contains(line), "{said}");
    let worktree = repo.worktree("task");
    for (file, is_there) in [
        ("vendor/lib/file", true),
        ("src/tool/file", true),
        ("idle/file", false),
        ("secrets/hid/file", false),
    ] {
        assert_eq!(worktree.join(file).exists(), is_there, "{file}: {said}");
    }
    let alternates = repo
        .main()
        .join(".git/worktrees/task/modules/vendor/lib/objects/info/alternates");
    let alternates = fs::read_to_string(alternates).expect("it has no objects of its own");
    assert!(
        alternates.ends_with("/repo/.git/modules/vendor/lib/objects\n"),
        "{alternates}"
    );
    assert_eq!(repo.git(&["config", "--list", "--local"]), before);
    for name in ["task", "other"] {
        let said = repo.agentwt(&["verify", "--strict", name]);
        assert_eq!(said.status, 0, "{said}");
    }
    let said = repo.agentwt(&["remove", "task"]);
    assert!(!said.stderr.contains("kept in"), "{said}");
    said.ok();
    repo.agentwt(&["add", "task"]).ok();
    repo.sh(
        &worktree.join("vendor/lib"),
        "git commit -q --allow-empty -m work",
    )
    .ok();
    repo.agentwt(&["remove", "task"]).fails(4);
    repo.agentwt(&["add", "copy", "--strategy", "clone"]).ok();
    assert!(repo.worktree("copy").join("src/tool/file").exists());
    repo.agentwt(&["verify", "copy"]).ok();
}

#[test]
fn a_rewritten_lock_file_is_a_finding_with_the_command_that_keeps_it() {
    let repo = TestRepo::project();
    repo.write("web/package-lock.json", "{}\n");
    repo.commit_all("a lock file");
    let worktree = repo.add("task");
    repo.sh(
        &worktree,
        "chmod u+w web/*; echo '{ }' >web/package-lock.json",
    )
    .ok();
    let said = repo.agentwt(&["verify", "task"]);
    let hint = "to install without a change of web/package-lock.json: use `npm ci`\n";
    assert!(said.fails(1).stderr.contains(hint), "{said}");
}

#[test]
fn init_proposes_what_the_project_calls_for_and_doctor_names_what_is_missing() {
    let repo = TestRepo::project();
    for file in [
        "package-lock.json",
        "yarn.lock",
        ".yarnrc.yml",
        "go.sum",
        ".gitmodules",
        ".husky/pre-commit",
    ] {
        repo.write(file, "");
    }
    repo.commit_all("a project");
    repo.write(".env", "A=1\n");
    let said = repo.agentwt(&["init"]);
    said.ok();
    assert!(said.stderr.contains("git agentwt trust"), "{said}");
    let text = fs::read_to_string(repo.main().join(".agentwt/config.toml")).expect("it is written");
    for line in [
        "commands = [\"npm ci\", \"yarn install --immutable\", \"go mod download\"]",
        "submodules = true",
        "optional_patterns = [\".env*\"]",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{text}");
    }
    configure(
        &repo,
        "[\"A=1 no-such-program-9 x\", \"false\"]",
        "[\"cd x\"]",
    );
    let checks = || {
        let json = repo.agentwt(&["doctor", "--json"]).stdout;
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let all = json["checks"].as_array().expect("a list").clone();
        let all = all.into_iter().filter(|one| one["topic"] == "setup");
        all.map(|one| one["found"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let missing = "`A=1 no-such-program-9 x` needs no-such-program-9, which is not on PATH";
    let untrusted = "you have not trusted the commands of the config, so they are skipped";
    let unserved = [
        "nothing installs what package-lock.json names",
        "nothing installs what yarn.lock names",
        "nothing installs what go.sum names",
        "new worktrees have no submodules",
        "new worktrees get no copy of .env",
    ];
    assert_eq!(checks(), [&[untrusted, missing], &unserved[..]].concat());
    repo.agentwt(&["trust"]).ok();
    repo.agentwt(&["add", "task"]).fails(5);
    let pending = "the set-up of task was not run to its end";
    assert_eq!(checks(), [&[missing, pending], &unserved[..]].concat());
    repo.write(".agentwt/config.toml", &text);
    repo.agentwt(&["trust"]).ok();
    let left = checks();
    let is_left = |one: &&str| left.iter().any(|left| left == one);
    assert_eq!(
        unserved.iter().find(|one| is_left(one)),
        None,
        "init serves all"
    );
}

#[test]
fn a_config_that_cannot_be_read_keeps_no_worktree() {
    let repo = trusted("[]", "[\"true\"]");
    repo.agentwt(&["add", "task"]).ok();
    repo.write(".agentwt/config.toml", "schema_version = 9\n");
    let said = repo.agentwt(&["remove", "task"]);
    said.ok();
    assert!(
        said.stderr.contains("the teardown is skipped: cannot read"),
        "{said}"
    );
}

#[test]
fn a_dry_run_on_a_worktree_that_is_there_shows_the_set_up_that_waits() {
    let repo = with_commands("[\"touch .ready\"]", "[]");
    repo.agentwt(&["add", "task"]).ok();
    let said = repo.agentwt(&["add", "task", "-n"]).ok();
    assert!(said.contains("touch .ready"), "{said}");
    let json = repo
        .agentwt(&["add", "task", "-n", "--format", "json"])
        .ok();
    assert!(
        json.contains("\"dry_run\":true") || json.contains("\"dry_run\": true"),
        "{json}"
    );
}
