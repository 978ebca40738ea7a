//! `accept`: a person agrees with a finding as it is now; no agent does, and no later change profits.

use insta::assert_snapshot;

use crate::cases::Case;
use crate::support::{Said, TestRepo};

fn accept(case: &Case, arguments: &[&str]) -> Said {
    case.repo
        .agentwt(&[&["accept", "task"], arguments].concat())
}

fn edited() -> Case {
    let case = Case::new();
    case.does("edit README.md; edit docs/api.md; git commit -q -a -m x");
    case
}

#[test]
fn a_path_is_accepted_as_it_is_now_and_a_later_change_is_reported_again() {
    let case = edited();
    assert_snapshot!(accept(&case, &["README.md"]), @"
    modified  README.md
    --- stderr
    note: 1 violation is left: git agentwt verify task
    task: accepted 1 finding
    to take that back: git agentwt accept task --undo
    --- status 0
    ");
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
    assert_snapshot!(case.repo.agentwt(&["verify", "task"]), @"
    NO task: 1 violation, 2 paths changed, 1 accepted
      !  modified  docs/api.md  commit cb5258b12c, index, disk  read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task docs/api.md
    to let the agent edit these paths: git agentwt scope task --add-write /docs/api.md
    --- status 1
    ");
    case.does("echo evil >>README.md");
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    docs/api.md modified read-only violation
    ");
    case.does("git checkout -q README.md");
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
}

#[test]
fn accepted_content_may_be_committed_and_taken_back() {
    let case = Case::new();
    case.does("edit README.md; echo x >docs/new.md");
    accept(&case, &["README.md", "docs"]).ok();
    assert_eq!(case.findings(), "");
    case.does("commit");
    assert_eq!(case.findings(), "");
    case.does("git checkout -q HEAD~ -- README.md; git rm -q docs/new.md");
    assert_eq!(case.findings(), "");
    case.does("commit back");
    assert_snapshot!(case.findings(), @"
    README.md modified history notice
    docs/new.md modified history notice
    ");
}

#[test]
fn an_accepted_deletion_is_not_an_accepted_other_content() {
    let case = Case::new();
    case.does("git rm -q README.md; commit");
    accept(&case, &["README.md"]).ok();
    assert_eq!(case.findings(), "");
    case.does("echo other >README.md");
    assert_snapshot!(case.findings(), @"README.md deleted read-only violation");
    case.does("git add README.md; rm README.md");
    assert_snapshot!(case.findings(), @"README.md deleted read-only violation");
    case.does("git reset -q; ln -s /etc/passwd README.md");
    assert_snapshot!(case.findings(), @"README.md deleted read-only violation");
}

#[test]
fn a_mode_a_link_and_an_excluded_file_are_accepted_by_what_they_are() {
    let case = Case::new();
    case.does("chmod u+w,+x README.md; mkdir -p secrets; echo k >secrets/new; rm docs/api.md; ln -s x docs/api.md");
    assert_snapshot!(accept(&case, &["--all", "--json"]), @r#"
    {
      "accepted": [
        {
          "contents": [
            "100755 d9b401251bb36c51ca5c56c2ffc8a24a78ff20ae"
          ],
          "kind": "mode",
          "level": "violation",
          "place": "README.md",
          "reason": "read-only",
          "size": 8
        },
        {
          "contents": [
            "120000 c1b0730e0133447badcfd47fd144e254807b06e1"
          ],
          "kind": "typechange",
          "level": "violation",
          "place": "docs/api.md",
          "reason": "read-only"
        },
        {
          "contents": [
            "100644 b68fde2a051d9af2fe3ff4c96c0898e5a3212e4d"
          ],
          "kind": "created",
          "level": "violation",
          "place": "secrets/new",
          "reason": "excluded",
          "size": 2
        }
      ],
      "dry_run": false,
      "name": "task",
      "others": [],
      "schema": "agentwt.accept/1",
      "undo": false,
      "violations": 0
    }
    --- status 0
    "#);
    assert_eq!(case.findings(), "");
    case.does("ln -sfn y docs/api.md");
    assert_snapshot!(case.findings(), @"docs/api.md typechange read-only violation");
    case.does("ln -sfn x docs/api.md; git checkout -q README.md");
    assert_eq!(case.findings(), "");
    case.does("echo other >secrets/new");
    assert_snapshot!(case.findings(), @"secrets/new created excluded violation");
}

#[test]
fn the_history_of_a_path_is_accepted_with_everything_only() {
    let case = Case::new();
    case.does(
        "edit README.md; commit; git revert --no-edit HEAD >/dev/null; edit docs/api.md; commit",
    );
    accept(&case, &["README.md"]).fails(4);
    assert_snapshot!(accept(&case, &["README.md"]), @"
    --- stderr
    error: cannot accept README.md: it has no finding with content, apart from its history
    help: see the findings: git agentwt verify task; to accept everything, history too: git agentwt accept task --all
    --- status 4
    ");
    accept(&case, &["docs"]).ok();
    assert_snapshot!(case.findings(), @"README.md modified history notice");
    accept(&case, &["--all"]).ok();
    assert_eq!(case.findings(), "");
    // another commit of the same kind is another history
    case.does("edit README.md; commit; git revert --no-edit HEAD >/dev/null");
    assert_snapshot!(case.findings(), @"README.md modified history notice");
}

#[test]
fn no_agent_accepts_from_inside_its_worktree() {
    let case = edited();
    let main = case.repo.main().display().to_string();
    let inside = [
        "git agentwt accept task README.md",
        "cd src && git agentwt accept task README.md",
        "GIT_DIR=$MAIN/.git GIT_WORK_TREE=$MAIN git agentwt accept task --all",
        "git init -q src/deep && cd src/deep && git agentwt -C $MAIN accept task --all",
        "git agentwt accept task --undo",
    ];
    for script in inside {
        let said = case.runs(&case.worktree, &format!("set +e; {script}; exit $?"));
        said.fails(4);
        assert!(
            said.stderr
                .contains("cd $TMP/repo && git agentwt accept task"),
            "{said}"
        );
    }
    assert_snapshot!(case.runs(&case.worktree, "git agentwt -C src accept task --refs \"it's here\" '*.md'"), @r"
    --- stderr
    error: an agent does not decide about its worktree: this command is refused inside
    help: run the command outside the worktree: cd $TMP/repo && git agentwt accept task --refs 'it'\''s here' '*.md'
    --- status 4
    ");
    if cfg!(target_os = "linux") {
        // the process that started the command works inside
        for script in [
            "(cd $MAIN && git agentwt accept task --all); exit $?",
            "git -C $MAIN agentwt accept task --all; exit $?",
            "git-agentwt -C $MAIN accept task --all; exit $?",
        ] {
            case.runs(&case.worktree, &format!("set +e; {script}"))
                .fails(4);
        }
    }
    let record = format!("{main}/.git/agentwt/worktrees/task/record.toml");
    let record = std::fs::read_to_string(record).expect("the record");
    assert!(!record.contains("decisions"), "{record}");
}

#[test]
fn a_worktree_that_plain_git_made_is_an_agents_too() {
    let case = edited();
    let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\n";
    case.repo.write(".agentwt/config.toml", config);
    case.main_does("git worktree add -q ../plain; git agentwt hooks install ../plain");
    let plain = case.repo.main().join("../plain");
    case.runs(&plain, "set +e; git agentwt accept task --all; exit $?")
        .fails(4);
}

#[test]
fn another_worktree_is_judged_as_before() {
    let case = edited();
    let other = case.repo.add("other");
    case.runs(&other, "edit README.md").ok();
    accept(&case, &["README.md"]).ok();
    assert_snapshot!(case.repo.findings(&other), @"README.md modified read-only violation");
}

#[test]
fn what_worktrees_share_is_accepted_for_all_of_them_and_only_as_seen() {
    let case = Case::new();
    case.main_does("git config alias.x '!y'");
    let other = case.repo.add("other");
    case.main_does("git config core.editor vi; printf '#!/bin/sh\\n' >.git/hooks/pre-push; chmod +x .git/hooks/pre-push");
    let said = case.repo.agentwt(&["accept", "other", "--shared"]);
    assert_snapshot!(said, @"
    config  @git/config          core.editor
    hook    @git/hooks/pre-push
    --- stderr
    other: accepted 2 findings, for 1 other worktree too
    to take that back: git agentwt accept other --undo
    --- status 0
    ");
    assert_eq!(case.repo.findings(&other), "");
    // the alias came before the other worktree, and nobody looked at it
    assert_snapshot!(case.findings(), @"@git/config config shared violation");
    assert_snapshot!(accept(&case, &["--shared"]), @"
    config  @git/config  alias.x
    --- stderr
    task: accepted 1 finding
    to take that back: git agentwt accept task --undo
    --- status 0
    ");
    assert_eq!(case.findings(), "");
    case.main_does("git config core.editor evil");
    assert_snapshot!(case.findings(), @"@git/config config shared violation");
    accept(&case, &["--shared"]).ok();
    assert_eq!(case.repo.findings(&other), "");
    // what was accepted before is not accepted for ever
    case.main_does("git config core.editor vi");
    assert_snapshot!(case.findings(), @"@git/config config shared violation");
}

#[test]
fn what_the_user_set_up_is_not_taken_back_in_silence() {
    let case = Case::new();
    case.main_does("git config core.editor vi; git config user.name me; printf '#!/bin/sh\\n' >.git/hooks/pre-push; chmod +x .git/hooks/pre-push; echo x >>.git/info/exclude");
    accept(&case, &["--shared"]).ok();
    // it has all of that from the beginning
    let later = case.repo.add("later");
    accept(&case, &["--shared"]).ok();
    assert_eq!(case.repo.findings(&later), "");
    case.does("git config --unset core.editor; git config --unset user.name; rm $MAIN/.git/hooks/pre-push");
    assert_snapshot!(case.repo.agentwt(&["verify", "task"]), @"
    NO task: 2 violations, 1 notice, 0 paths changed, 1 accepted
      !  config  @git/config          disk  core.editor was accepted, and is as at `add` again
      !  hook    @git/hooks/pre-push  disk  it was accepted, and is as at `add` again
      -  config  @git/config          disk  user.name was accepted, and is as at `add` again
    --- stderr
    to accept the shared settings and hooks for all worktrees: git agentwt accept task --shared
    --- status 1
    ");
    accept(&case, &["--shared"]).ok();
    assert_eq!(case.findings(), "");
    case.main_does("git config core.editor vi");
    assert_snapshot!(case.findings(), @"@git/config config shared violation");
}

#[test]
fn a_ref_is_accepted_by_its_commit() {
    let case = Case::new();
    case.main_does("git branch feature");
    case.does("echo x >src/new; commit; git branch -f feature");
    accept(&case, &["--refs"]).ok();
    assert_eq!(case.findings(), "");
    case.does("echo y >src/new; commit; git branch -f feature");
    assert_snapshot!(case.findings(), @"@git/refs/heads/feature ref shared violation");
}

#[test]
fn a_dropped_stash_is_not_covered_by_an_accepted_one() {
    let case = Case::new();
    case.main_does("edit README.md; git stash -q");
    case.does("edit src/main.rs; git stash -q");
    accept(&case, &["--refs"]).ok();
    case.does("git stash drop -q stash@{1}");
    assert!(
        case.findings().contains("@git/refs/stash"),
        "{}",
        case.findings()
    );
}

#[test]
fn an_acceptance_is_shown_and_taken_back() {
    let case = edited();
    let before = case.findings();
    accept(&case, &["README.md"]).ok();
    accept(&case, &["docs"]).ok();
    assert_eq!(case.findings(), "");
    let status = case.repo.agentwt(&["status", "task"]).ok();
    let lines: Vec<&str> = status
        .lines()
        .filter(|line| line.contains("accepted"))
        .collect();
    assert_eq!(lines.len(), 2, "{status}");
    assert!(
        lines[0].contains("README.md, by ") && lines[1].contains("docs/api.md, by "),
        "{status}"
    );
    let json = case.repo.agentwt(&["status", "task", "--json"]).ok();
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let decisions = &json["worktrees"][0]["decisions"];
    assert_eq!(
        decisions[0]["accepted"][0]["place"], "README.md",
        "{decisions}"
    );
    for key in ["user", "host", "at"] {
        assert!(decisions[0][key].is_string(), "{decisions}");
    }
    let json = case.repo.agentwt(&["verify", "task", "--json"]).ok();
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(
        json["worktrees"][0]["accepted"].as_array().map(Vec::len),
        Some(2)
    );
    assert_snapshot!(accept(&case, &["--undo", "-n"]), @"
    modified  docs/api.md
    --- stderr
    task: would take back 1 finding
    --- status 0
    ");
    assert_eq!(case.findings(), "");
    accept(&case, &["--undo"]).ok();
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
    accept(&case, &["--undo"]).ok();
    assert_eq!(case.findings(), before);
    assert_snapshot!(accept(&case, &["--undo"]), @"
    --- stderr
    error: there is nothing to take back: worktree `task` has no such decision
    help: see what was decided: git agentwt status task
    --- status 4
    ");
}

#[test]
fn a_shared_acceptance_is_taken_back_everywhere() {
    let case = Case::new();
    let other = case.repo.add("other");
    case.main_does("git config alias.x '!y'");
    accept(&case, &["--shared"]).ok();
    assert_eq!(case.repo.findings(&other), "");
    case.repo.agentwt(&["accept", "other", "--undo"]).ok();
    assert_ne!(case.repo.findings(&other), "");
    assert_ne!(case.findings(), "");
}

#[test]
fn the_printed_command_accepts_a_path_with_any_name() {
    let case = Case::new();
    case.does(r#"echo x >"docs/it's {a,b}""#);
    let said = case.repo.agentwt(&["verify", "task"]);
    let command = said.stderr.lines().find(|line| line.contains("accept"));
    let (_, command) = command
        .and_then(|line| line.split_once(": "))
        .expect("it is printed");
    case.main_does(command);
    assert_eq!(case.findings(), "");
}

#[test]
fn what_to_accept_is_said_when_nothing_is_named() {
    let case = edited();
    case.main_does("git config alias.x '!y'");
    assert_snapshot!(accept(&case, &[]), @"
    --- stderr
    error: nothing says what to accept of worktree `task`
    help: to accept these paths as they are: git agentwt accept task README.md docs/api.md
    to accept the shared settings and hooks for all worktrees: git agentwt accept task --shared
    to accept everything, notices and history too: git agentwt accept task --all
    --- status 2
    ");
    assert_snapshot!(accept(&case, &["src/main.rs"]), @"
    --- stderr
    error: cannot accept src/main.rs: it has no finding with content, apart from its history
    help: see the findings: git agentwt verify task
    --- status 4
    ");
    assert_snapshot!(accept(&case, &["../README.md"]), @"
    --- stderr
    error: cannot use ../README.md as a path: it is outside the repository
    help: paths are relative to where you stand: git agentwt scope -- src/main.rs
    --- status 2
    ");
    assert_snapshot!(accept(&case, &["--refs"]), @"
    --- stderr
    task: nothing to accept
    --- status 0
    ");
    assert_snapshot!(accept(&case, &["docs", "-n"]), @"
    modified  docs/api.md
    --- stderr
    task: would accept 1 finding
    --- status 0
    ");
    assert!(case.findings().contains("docs/api.md"));
}

#[test]
fn damage_is_not_accepted() {
    let case = Case::new();
    case.does("git update-index --assume-unchanged src/main.rs; edit README.md");
    let said = accept(&case, &["--all"]);
    said.fails(1);
    assert_snapshot!(said, @"
    modified  README.md
    --- stderr
    note: 1 violation is left: git agentwt verify task
    task: accepted 1 finding
    to take that back: git agentwt accept task --undo
    --- status 1
    ");
    assert_snapshot!(case.findings(), @"@wt/index integrity integrity violation");
}

#[test]
fn what_is_accepted_is_not_restored_and_lets_a_commit_pass() {
    let case = edited();
    accept(&case, &["README.md"]).ok();
    case.repo.agentwt(&["restore", "task"]).ok();
    let text = std::fs::read_to_string(case.worktree.join("README.md")).expect("it is there");
    assert!(text.ends_with("more\n"), "{text}");
    assert_snapshot!(case.findings(), @"docs/api.md modified history notice");
}

#[test]
fn a_nested_repository_and_a_device_have_no_content_to_accept() {
    let case = Case::new();
    case.does("git init -q docs/deep; mkfifo docs/pipe");
    for path in ["docs/deep", "docs/pipe"] {
        accept(&case, &[path]).fails(4);
    }
}

/// A repository of the agent's that was staged as it is.
const STAGED_REPOSITORY: &str = "git init -q docs/n; git -C docs/n commit -q --allow-empty -m x
    git add docs/n 2>/dev/null";

#[test]
fn a_repository_inside_is_no_content_that_could_be_accepted() {
    let case = Case::new();
    case.does(STAGED_REPOSITORY);
    let verified = case.repo.agentwt(&["verify", "task", "--json"]);
    let words = "move it out of the worktree: mv $TMP/repo/.agentwt/worktrees/task/docs/n <";
    assert!(verified.stdout.contains(words), "{verified}");
    // nothing else can be done about it before
    assert_eq!(case.repo.agentwt(&["verify", "task"]).stderr, "");
    assert_snapshot!(accept(&case, &["docs/n"]), @"
    --- stderr
    error: cannot accept docs/n: it has no finding with content, apart from its history
    help: see the findings: git agentwt verify task
    --- status 4
    ");
    assert_snapshot!(accept(&case, &["--all"]), @"
    --- stderr
    error: nothing of worktree `task` can be accepted: no content could be recorded
      docs/n: read-only: read ** (default)
      docs/n: it cannot be read: cannot read the submodule docs/n: its `.git` is for no submodule here, and a git in the worktree would run its settings; move it out of the worktree: mv $TMP/repo/.agentwt/worktrees/task/docs/n <elsewhere>
    help: see what to do about it: git agentwt verify task
    --- status 4
    ");
}

#[test]
fn a_repository_inside_is_moved_away_and_then_decided_about() {
    for decision in [
        &["restore", "task"][..],
        &["accept", "task", "docs/n"],
        &["scope", "task", "--add-write", "/docs/n"],
    ] {
        let case = Case::new();
        case.does(STAGED_REPOSITORY);
        case.does("mv docs/n ..");
        let words = decision.join(" ");
        let said = case.repo.agentwt(&["verify", "task"]);
        let hint = format!(": git agentwt {words}\n");
        assert!(said.stderr.contains(&hint), "{said}");
        case.repo.agentwt(decision).ok();
        assert!(!case.findings().contains("violation"), "{words}");
    }
}

#[test]
fn a_linked_worktree_inside_is_moved_by_git() {
    let case = Case::new();
    case.does("git worktree add -q -b sub docs/n");
    let said = case.repo.agentwt(&["verify", "task"]);
    let way = "git worktree move ";
    let (_, rest) = said.stderr.split_once(way).expect("a command");
    let directory = rest.split(' ').next().expect("a word");
    assert!(directory.ends_with("/task/docs/n"), "{said}");
    case.does("git worktree move docs/n ../n; git -C ../n status");
    assert!(!case.findings().contains("docs/n"));
}

#[test]
fn a_repository_that_is_not_staged_is_moved_away() {
    let case = Case::new();
    case.does("git init -q docs/n; echo f >docs/n/f");
    let said = case.repo.agentwt(&["verify", "task"]);
    assert_snapshot!(said, @"
    NO task: 2 violations, 2 paths changed
      !  created  docs/ (2)  read-only: read ** (default)
    --- stderr
    to move a repository out of the worktree: mv $TMP/repo/.agentwt/worktrees/task/docs/n/.git <elsewhere>
    to accept these paths as they are: git agentwt accept task docs/n/f
    to let the agent edit these paths: git agentwt scope task --add-write /docs/n/f
    --- status 1
    ");
    case.does("mv docs/n/.git ../git");
    case.repo.agentwt(&["restore", "task"]).ok();
    assert_eq!(case.findings(), "");
}

#[test]
fn what_has_only_history_is_accepted_with_all() {
    let case = edited();
    case.does("git revert --no-edit HEAD");
    let said = accept(&case, &["README.md"]);
    said.fails(4);
    let words = "to accept everything, history too: git agentwt accept task --all";
    assert!(said.stderr.contains(words), "{said}");
    accept(&case, &["--all"]).ok();
}

#[test]
fn a_branch_whose_base_was_squashed_into_upstream_can_be_accepted() {
    let repo = TestRepo::project();
    let first = repo.add("first");
    repo.sh(&first, "echo 1 >src/one.rs; git add -A; git commit -qm one")
        .ok();
    let add = [
        "add",
        "second",
        "--base",
        "agentwt/first",
        "--write",
        "src/**",
    ];
    repo.agentwt(&add).ok();
    let second = repo.worktree("second");
    repo.sh(
        &second,
        "echo 2 >src/two.rs; git add -A; git commit -qm two",
    )
    .ok();
    repo.agentwt(&["land", "--squash", "first", "-m", "squashed"])
        .ok();
    repo.sh(&second, "git rebase -q --onto main HEAD~1").ok();
    let said = repo.agentwt(&["verify", "second"]);
    let way = "git agentwt accept second --all";
    assert!(said.fails(1).stderr.contains(way), "{said}");
    repo.sh(repo.main(), way).ok();
    repo.agentwt(&["verify", "second"]).ok();
    // what it changes is judged as before
    repo.sh(
        &second,
        "chmod u+w README.md; echo x >>README.md; git commit -qam bad",
    )
    .ok();
    repo.agentwt(&["verify", "second"]).fails(1);
    repo.sh(&second, "git reset -q --hard HEAD~").ok();
    // the base branch is gone, so git merges it
    repo.sh(repo.main(), "git merge -q --ff-only agentwt/second")
        .ok();
}
