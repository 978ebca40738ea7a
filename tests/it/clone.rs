//! Strategy `clone`: a repository of its own, of which everything says what it says of a linked
//! worktree.

use std::path::{Path, PathBuf};

use super::support::{Shim, TestRepo, calls, chmod};

const ADD: &[&str] = &[
    "add",
    "task-5",
    "--write",
    "src/**",
    "--exclude",
    "**/secrets/**",
];

const STRATEGIES: [&str; 2] = ["worktree", "clone"];

#[track_caller]
fn add(repo: &TestRepo, strategy: &str) -> PathBuf {
    repo.agentwt(&[ADD, &["--strategy", strategy]].concat())
        .ok();
    repo.worktree("task-5")
}

fn is_clone(dir: &Path) -> bool {
    dir.join(".git").is_dir()
}

/// At whichever call of git the directory is created by another, up to the one that has it ours.
#[test]
fn a_directory_that_another_process_creates_where_the_clone_comes_is_not_removed() {
    let repo = TestRepo::project();
    let directory = repo.worktree("task-5");
    let path = directory.display();
    let act = format!("[ -e '{path}' ] || {{ mkdir -p '{path}'; echo mine >'{path}/mine'; }}");
    let shim = Shim::new(repo.root(), &act);
    let add = [ADD, &["--strategy", "clone"]].concat();
    for at in 1.. {
        let (said, call) = shim.run(&repo, &add, at);
        let what = format!("at {call:?}: {said}");
        if said.status == 0 {
            assert!(at > 1 && is_clone(&directory), "{what}");
            break;
        }
        let kept = std::fs::read_to_string(directory.join("mine"));
        assert_eq!(kept.ok().as_deref(), Some("mine\n"), "{what}");
        std::fs::remove_dir_all(&directory).expect("it is there");
    }
}

/// What happens, and what `verify` says of it.
const SCENARIOS: &[(&str, &str)] = &[
    ("true", ""),
    ("echo more >> src/main.rs", ""),
    (
        "echo new > src/new.rs && git add -A && git commit -qm new",
        "",
    ),
    (
        "echo new > docs/new.md",
        "docs/new.md created read-only violation\n",
    ),
    (
        "chmod u+w docs/api.md && echo more >> docs/api.md && git add docs/api.md",
        "docs/api.md modified read-only violation\n",
    ),
    ("rm -f README.md", "README.md deleted read-only violation\n"),
    (
        "rm -f README.md && git commit -qam gone --no-verify",
        "README.md deleted read-only violation\n",
    ),
    (
        "git sparse-checkout disable",
        "secrets/key.pem present excluded violation\n",
    ),
    (
        "mkdir -p secrets && echo mine > secrets/new",
        "secrets/new created excluded violation\n",
    ),
    (
        "rm -r \"$(git rev-parse --git-dir)/agentwt/hooks\"",
        "@wt/agentwt/hooks",
    ),
    ("git config core.fsmonitor /bin/true", "@git/config config"),
    (
        "d=$(git rev-parse --git-common-dir)/hooks && mkdir -p \"$d\" && printf '#!/bin/sh\\n' > \"$d/post-merge\" && chmod +x \"$d/post-merge\"",
        "@git/hooks/post-merge hook",
    ),
    (
        "git checkout -q -b elsewhere",
        "@head ref integrity notice\n",
    ),
    (
        "git update-index --assume-unchanged src/main.rs",
        "@wt/index integrity",
    ),
    (
        "echo 'gitdir: /nowhere' > other && rm -rf .git && mv other .git",
        "@worktree integrity integrity violation\n",
    ),
    ("rm -rf .git", "@worktree integrity integrity violation\n"),
];

#[test]
fn verify_says_the_same_of_both_strategies() {
    for (what, expected) in SCENARIOS {
        for strategy in STRATEGIES {
            let repo = TestRepo::project();
            let dir = add(&repo, strategy);
            assert_eq!(is_clone(&dir), strategy == "clone");
            repo.sh(&dir, what).ok();
            let found = repo.agentwt(&["verify", "task-5", "--format", "tsv"]);
            let found = found.stdout.replace('\t', " ");
            let holds = if expected.is_empty() {
                found.is_empty()
            } else {
                found.contains(expected)
            };
            assert!(holds, "{strategy}: {what}: {expected}: {found}");
        }
    }
}

#[test]
fn it_is_a_repository_of_its_own_with_the_branches_and_remotes_of_the_other() {
    let repo = TestRepo::project();
    repo.git(&["init", "-q", "--bare", "../up.git"]);
    repo.git(&["remote", "add", "origin", "../up.git"]);
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    repo.git(&["config", "http.https://x.invalid/.extraheader", "secret"]);
    repo.git(&["config", "filter.twice.clean", "cat"]);
    repo.git(&["update-ref", "refs/agentwt/rescue/other/1", "HEAD"]);
    repo.git(&["branch", "topic"]);
    let before = repo.fingerprint();
    let dir = add(&repo, "clone");
    let refs = repo.git_in(&dir, &["for-each-ref", "--format=%(refname)"]);
    insta::assert_snapshot!(refs, @"
    refs/heads/agentwt/task-5
    refs/heads/main
    refs/heads/topic
    refs/remotes/origin/main
    ");
    assert_eq!(repo.git_in(&dir, &["fsck", "--full"]), "");
    assert_eq!(repo.git_in(&dir, &["config", "filter.twice.clean"]), "cat");
    repo.git_in(&dir, &["fetch", "-q", "origin"]);
    let config = std::fs::read_to_string(dir.join(".git/config")).expect("it is there");
    assert!(!config.contains("secret"), "{config}");
    assert_eq!(repo.findings(&dir), "");
    repo.agentwt(&["remove", "task-5"]).ok();
    let rules = repo.main().join(".git/info/exclude");
    assert!(rules.exists(), "git ignores the worktrees since");
    let after = repo.fingerprint();
    let refs = |text: &str| text.split("repo ").next().map(ToOwned::to_owned);
    assert_eq!(refs(&after), refs(&before), "no ref, no worktree is left");
}

#[test]
fn nothing_that_happens_in_the_main_repository_breaks_it() {
    let repo = TestRepo::project();
    repo.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    let dir = {
        repo.agentwt(&[ADD, &["--strategy", "clone", "--base", "HEAD"]].concat())
            .ok();
        repo.worktree("task-5")
    };
    // the base is on no branch any more
    repo.git(&["reset", "-q", "--hard", "HEAD~"]);
    repo.git(&["reflog", "expire", "--expire=all", "--all"]);
    repo.git(&["gc", "-q", "--prune=all"]);
    assert_eq!(repo.git_in(&dir, &["fsck", "--full"]), "");
    assert_eq!(repo.findings(&dir), "");
    let alternates = dir.join(".git/objects/info/alternates");
    assert!(!alternates.exists(), "it lends nothing");
}

/// HEAD of a clone is on its own branch, which the base does not follow.
#[test]
fn the_own_branch_of_a_clone_from_a_tag_is_no_branch_of_the_base() {
    let repo = TestRepo::project();
    repo.git(&["tag", "v1"]);
    repo.agentwt(&[ADD, &["--strategy", "clone", "--base", "v1"]].concat())
        .ok();
    let dir = repo.worktree("task-5");
    let work =
        "echo 1 >src/one.rs; git add src; git commit -q -m one; git commit -q --amend -m two";
    repo.sh(&dir, work).ok();
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn a_base_that_only_a_detached_head_has_is_there() {
    let repo = TestRepo::project();
    repo.git(&["checkout", "-q", "--detach"]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "loose"]);
    let arguments = [ADD, &["--strategy", "clone", "--base", "HEAD"]].concat();
    repo.agentwt(&arguments).ok();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let dir = repo.worktree("task-5");
    assert_eq!(repo.git_in(&dir, &["rev-parse", "HEAD"]), head);
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn a_shallow_repository_is_cloned_as_it_is() {
    let repo = TestRepo::project();
    repo.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    let url = format!("file://{}", repo.main().display());
    let shallow = repo.root().join("shallow");
    let there = shallow.to_string_lossy();
    repo.git(&["clone", "-q", "--depth=1", &url, &there]);
    let arguments = [ADD, &["--strategy", "clone"]].concat();
    repo.agentwt_in(&shallow, &arguments).ok();
    let dir = shallow.join(".agentwt/worktrees/task-5");
    assert_eq!(repo.findings(&dir), "");
    assert_eq!(repo.git_in(&dir, &["rev-list", "--count", "HEAD"]), "1");
}

#[test]
fn the_same_again_is_no_error_and_another_strategy_is() {
    let repo = TestRepo::project();
    let dir = add(&repo, "clone");
    let again = repo.agentwt(ADD).ok();
    assert_eq!(again, "$TMP/repo/.agentwt/worktrees/task-5");
    let other = repo.agentwt(&[ADD, &["--strategy", "worktree"]].concat());
    insta::assert_snapshot!(other, @"
    --- stderr
    error: worktree `task-5` exists, and its strategy is `clone`
    help: take another name, or remove it first: git agentwt remove task-5
    --- status 4
    ");
    assert!(is_clone(&dir));
}

#[test]
fn every_command_takes_it_as_it_takes_a_linked_worktree() {
    for strategy in STRATEGIES {
        let repo = TestRepo::project();
        repo.write(".env", "A=1\n");
        repo.write(".gitignore", "target/\n*.log\n.env\n");
        repo.commit_all("ignore it");
        let arguments = [ADD, &["--strategy", strategy, "--sync", ".env"]].concat();
        repo.agentwt(&arguments).ok();
        let dir = repo.worktree("task-5");
        assert_eq!(repo.git_in(&dir, &["status", "--porcelain"]), "");
        repo.sh(&dir, "chmod u+w docs/api.md && echo more >> docs/api.md")
            .ok();
        repo.agentwt(&["restore", "task-5"]).ok();
        assert_eq!(repo.findings(&dir), "", "{strategy}: restored");
        repo.agentwt(&["restore", "task-5", "--undo"]).ok();
        let text = std::fs::read_to_string(dir.join("docs/api.md")).expect("it is there");
        assert_eq!(text, "api v1\nmore\n", "{strategy}: undone");
        repo.agentwt(&["restore", "task-5"]).ok();
        chmod(&dir.join("README.md"), 0o644);
        repo.sh(&dir, "git sparse-checkout disable").ok();
        repo.agentwt(&["reapply", "task-5"]).ok();
        assert!(!dir.join("secrets").exists(), "{strategy}: excluded again");
        assert_eq!(repo.findings(&dir), "", "{strategy}: applied again");
        repo.write(".env", "A=2\n");
        repo.agentwt(&["sync", "task-5"]).ok();
        let env = std::fs::read_to_string(dir.join(".env")).expect("it is there");
        assert_eq!(env, "A=2\n", "{strategy}: synced");
        repo.agentwt(&["hooks", "uninstall", "task-5"]).ok();
        assert_eq!(repo.findings(&dir), "", "{strategy}: without hooks");
        repo.agentwt(&["hooks", "install", "task-5"]).ok();
        repo.agentwt(&["hooks", "status", "task-5"]).ok();
        assert_eq!(repo.findings(&dir), "", "{strategy}: with hooks");
        repo.sh(&dir, "echo new > src/new.rs").ok();
        repo.commit_all_in(&dir, "new");
        let listed = repo.agentwt(&["list"]).ok();
        assert!(listed.contains("task-5"), "{listed}");
        assert_eq!(repo.findings(&dir), "", "{strategy}: committed");
        for command in ["scope", "status", "changed"] {
            let said = repo.agentwt_in(&dir.join("src"), &[command]).ok();
            assert!(!said.is_empty(), "{strategy}: {command}");
        }
    }
}

#[test]
fn hooks_speak_after_a_commit_and_refuse_one_where_they_are_to() {
    for strategy in STRATEGIES {
        let repo = TestRepo::project();
        repo.git(&["config", "--global", "agentwt.onViolation", "block"]);
        let dir = add(&repo, strategy);
        repo.sh(&dir, "echo new > docs/new.md && git add -A").ok();
        let said = repo.try_git(&dir, &["commit", "-q", "-m", "out"]);
        assert_eq!(said.status, 1, "{strategy}: {said}");
        assert!(said.stderr.contains("docs/new.md"), "{strategy}: {said}");
        let said = repo.try_git(&dir, &["commit", "-q", "-m", "out", "--no-verify"]);
        assert_ne!(said.status, 0, "{strategy}: {said}");
    }
}

#[test]
fn what_was_committed_comes_in_before_it_is_removed() {
    let repo = TestRepo::project();
    let dir = add(&repo, "clone");
    repo.sh(&dir, "echo a > src/a.rs").ok();
    let tip = repo.commit_all_in(&dir, "a");
    repo.sh(&dir, "git checkout -q -b side && echo b > src/b.rs")
        .ok();
    let side = repo.commit_all_in(&dir, "b");
    repo.sh(
        &dir,
        "git checkout -q agentwt/task-5 && echo c >> src/a.rs && git stash -q",
    )
    .ok();
    repo.sh(
        &dir,
        "git checkout -q --detach && git commit -q --allow-empty -m loose",
    )
    .ok();
    let loose = repo.git_in(&dir, &["rev-parse", "HEAD"]);
    repo.sh(&dir, "git checkout -q agentwt/task-5").ok();
    let stash = repo.git_in(&dir, &["rev-parse", "stash"]);
    let said = repo.agentwt(&["remove", "task-5"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(!dir.exists());
    let at = |name: &str| repo.git(&["rev-parse", "--verify", name]);
    assert_eq!(at("refs/agentwt/incoming/task-5"), tip);
    for kept in [side, loose, stash] {
        assert_eq!(at(&format!("refs/agentwt/kept/task-5/{kept}")), kept);
    }
    assert_eq!(repo.git(&["fsck", "--full"]), "");
    let refs = repo.git(&["for-each-ref", "refs/agentwt", "--format=%(refname)"]);
    assert_eq!(refs.lines().count(), 4, "nothing twice: {refs}");
    // an earlier clone of the same name is not forgotten for a later one
    let dir = add(&repo, "clone");
    repo.sh(&dir, "echo other > src/other.rs").ok();
    let other = repo.commit_all_in(&dir, "other");
    repo.agentwt(&["remove", "task-5"]).ok();
    assert_eq!(at("refs/agentwt/incoming/task-5"), other);
    assert_eq!(at(&format!("refs/agentwt/kept/task-5/{tip}")), tip);
}

#[test]
fn work_that_is_not_committed_is_refused_and_kept_in_the_trash() {
    let repo = TestRepo::project();
    let dir = add(&repo, "clone");
    repo.sh(&dir, "echo a > src/a.rs; echo b >> src/main.rs; git add src/main.rs; git checkout -q HEAD -- . ; echo c >> src/main.rs; git add src/main.rs; echo d >> src/main.rs").ok();
    repo.agentwt(&["remove", "task-5"]).fails(4);
    assert!(dir.exists());
    let kept = repo.agentwt(&["remove", "task-5", "--force"]).ok();
    assert!(!dir.exists());
    let kept = repo.main().join(kept);
    let read = |file: &str| std::fs::read_to_string(kept.join(file)).expect("it is kept");
    assert_eq!(read("src/a.rs"), "a\n");
    assert_eq!(read("src/main.rs"), "fn main() {}\nc\nd\n");
    assert_eq!(
        repo.git_in(&kept, &["show", ":src/main.rs"]),
        "fn main() {}\nc"
    );
    assert_eq!(repo.git(&["fsck", "--full"]), "");
}

#[test]
fn what_the_agent_planted_in_its_settings_does_not_run_when_its_commits_come_in() {
    let repo = TestRepo::project();
    let dir = add(&repo, "clone");
    repo.sh(&dir, "echo a > src/a.rs").ok();
    repo.commit_all_in(&dir, "a");
    let evil = repo.root().join("evil");
    let script = format!(
        "#!/bin/sh\ntouch '{}/ran'\nexec \"$@\"\n",
        repo.root().display()
    );
    std::fs::write(&evil, script).expect("a script");
    chmod(&evil, 0o755);
    let evil = evil.to_string_lossy().into_owned();
    for key in [
        "uploadpack.packObjectsHook",
        "core.fsmonitor",
        "remote.origin.uploadpack",
        "core.alternateRefsCommand",
    ] {
        repo.git_in(&dir, &["config", key, &evil]);
    }
    repo.sh(
        &dir,
        &format!("for h in reference-transaction post-checkout; do cp {evil} .git/hooks/$h; done"),
    )
    .ok();
    let _ = std::fs::remove_file(repo.root().join("ran"));
    repo.agentwt(&["remove", "task-5"]).ok();
    assert!(!repo.root().join("ran").exists(), "nothing ran");
}

#[test]
fn one_whose_git_directory_was_exchanged_is_kept_whole() {
    let repo = TestRepo::project();
    let dir = add(&repo, "clone");
    repo.sh(
        &dir,
        "rm -rf .git && git init -q . && git add src && git commit -qm own",
    )
    .ok();
    let own = repo.git_in(&dir, &["rev-parse", "HEAD"]);
    let said = repo.agentwt(&["remove", "task-5"]);
    said.fails(4);
    assert!(dir.join(".git").is_dir(), "it may be somebody's work");
    let kept = repo.agentwt(&["remove", "task-5", "--force"]).ok();
    let kept = repo.main().join(kept);
    assert_eq!(repo.git_in(&kept, &["rev-parse", "HEAD"]), own);
    repo.agentwt(&["remove", "--undo", "task-5"]).ok();
    assert_eq!(repo.git_in(&dir, &["rev-parse", "HEAD"]), own);
    assert_eq!(repo.agentwt(&["verify", "task-5"]).status, 1);
}

#[test]
fn whichever_call_of_git_fails_nothing_is_left() {
    let repo = TestRepo::project();
    let arguments = [ADD, &["--strategy", "clone"]].concat();
    let shim = Shim::new(repo.root(), "echo 'fatal: the shim says no' >&2; exit 77");
    repo.keep_as("pristine");
    let before = repo.fingerprint();
    let mut refused = 0;
    for at in calls(1) {
        let (said, call) = shim.run(&repo, &arguments, at);
        let Some(call) = call else {
            said.ok();
            break;
        };
        if said.status == 0 {
            // the first fails in a bare repository, so it is asked again without that
            let is_asked_again = call.ends_with("--show-toplevel") || call.ends_with(" version");
            assert!(is_asked_again, "call {at}, git {call}");
            repo.bring_back("pristine");
            continue;
        }
        refused += 1;
        assert_eq!(repo.fingerprint(), before, "call {at}, git {call}: {said}");
        let errors = said.stderr.matches("error: ").count();
        assert_eq!(errors, 1, "call {at}, git {call}: one clear error: {said}");
    }
    assert!(refused > 2, "{refused}");
}

#[test]
fn killed_at_some_calls_the_next_add_succeeds() {
    let repo = TestRepo::project();
    let arguments = [ADD, &["--strategy", "clone"]].concat();
    let shim = Shim::new(repo.root(), "kill -9 $PPID; exit 77");
    for at in calls(3) {
        let (said, call) = shim.run(&repo, &arguments, at);
        let Some(call) = call else {
            said.ok();
            break;
        };
        assert_eq!(said.status, 137, "call {at}, git {call}, killed it: {said}");
        repo.agentwt(&arguments).ok();
        assert_eq!(
            repo.findings(&repo.worktree("task-5")),
            "",
            "call {at}, git {call}"
        );
        repo.agentwt(&["remove", "task-5"]).ok();
    }
}

#[test]
fn a_clone_whose_record_was_removed_is_a_violation() {
    let repo = TestRepo::project();
    add(&repo, "clone");
    repo.sh(repo.main(), "rm -r .git/agentwt/worktrees/task-5")
        .ok();
    let said = repo.agentwt(&["verify", "task-5", "--format", "tsv"]);
    said.fails(1);
    assert!(said.stdout.contains("agentwt/worktrees/task-5"), "{said}");
}

#[test]
fn a_url_is_cloned_instead_of_the_repository_around() {
    let repo = TestRepo::project();
    let other = TestRepo::project();
    let url = format!("file://{}", other.main().display());
    let arguments = [ADD, &["--repo", &url]].concat();
    repo.agentwt(&arguments).ok();
    let dir = repo.worktree("task-5");
    assert!(is_clone(&dir));
    assert_eq!(repo.git_in(&dir, &["remote", "get-url", "origin"]), url);
    assert_eq!(repo.findings(&dir), "");
    assert_eq!(
        repo.agentwt(&arguments).ok(),
        "$TMP/repo/.agentwt/worktrees/task-5"
    );
    repo.sh(
        &dir,
        "chmod u+w docs/api.md; echo a > src/a.rs; echo b >> docs/api.md",
    )
    .ok();
    let tip = repo.commit_all_in(&dir, "a");
    let found = repo.findings(&dir);
    assert!(found.contains("docs/api.md modified"), "{found}");
    assert!(!found.contains("src/a.rs"), "{found}");
    repo.agentwt(&["remove", "task-5"]).ok();
    let incoming = repo.git(&["rev-parse", "refs/agentwt/incoming/task-5"]);
    assert_eq!(incoming, tip);
    repo.agentwt(&[ADD, &["--repo", &url, "--strategy", "worktree"]].concat())
        .fails(2);
}

#[test]
fn a_url_that_cannot_be_cloned_leaves_nothing() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    let said = repo.agentwt(&[ADD, &["--repo", "file:///nowhere/at/all"]].concat());
    said.fails(5);
    assert_eq!(said.stderr.matches("error: ").count(), 1, "{said}");
    let no_locks = |text: String| -> String {
        let lines = text.lines().filter(|line| !line.contains(".git/agentwt"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(no_locks(repo.fingerprint()), no_locks(before));
}

#[test]
fn where_no_repository_is_around_a_directory_keeps_the_records() {
    let repo = TestRepo::project();
    let url = format!("file://{}", repo.main().display());
    let outside = repo.root().join("outside");
    std::fs::create_dir_all(&outside).expect("a directory");
    let arguments = [ADD, &["--repo", &url]].concat();
    insta::assert_snapshot!(repo.agentwt_in(&outside, &arguments), @"
    --- stderr
    error: cannot clone here: $TMP/outside is in no git repository that could keep its record
    help: name a directory for clones: git agentwt add … --repo <URL> --parent <dir>
    --- status 2
    ");
    assert!(!outside.join(".agentwt").exists());
    let arguments = [&arguments[..], &["--parent", "outside"]].concat();
    let path = repo.agentwt_in(repo.root(), &arguments).ok();
    assert_eq!(path, "$TMP/outside/.agentwt/worktrees/task-5");
    let again = repo.agentwt_in(repo.root(), &arguments).ok();
    assert_eq!(again, path);
    let dir = outside.join(".agentwt/worktrees/task-5");
    assert_eq!(repo.findings(&dir), "");
    repo.sh(&dir, "echo a > src/a.rs").ok();
    let tip = repo.commit_all_in(&dir, "a");
    assert_eq!(
        repo.agentwt_in(&dir.join("src"), &["path", "task-5"]).ok(),
        path
    );
    assert!(repo.agentwt_in(&outside, &["list"]).ok().contains("task-5"));
    repo.agentwt_in(&outside, &["remove", "task-5"]).ok();
    let home = outside.join(".agentwt/repository.git");
    let incoming = repo.git_in(&home, &["rev-parse", "refs/agentwt/incoming/task-5"]);
    assert_eq!(incoming, tip);
    let inside = [ADD, &["--repo", &url, "--parent", "."]].concat();
    repo.agentwt(&inside).fails(2);
}

#[test]
fn a_commit_that_is_made_while_git_clones_is_no_failure() {
    let repo = TestRepo::project();
    let commits = "PATH=\"${PATH#*:}\"; git \"$@\" || exit
        env -u GIT_DIR git -C \"$HOME/../repo\" commit -q --allow-empty -m meanwhile; exit";
    let shim = Shim::new(repo.root(), commits);
    let add = [ADD, &["--strategy", "clone"]].concat();
    shim.run_at_words(&repo, &add, " clone ").ok();
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "meanwhile");
    assert_eq!(repo.findings(&repo.worktree("task-5")), "");
}
