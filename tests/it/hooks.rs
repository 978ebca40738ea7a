//! The hooks, end to end, with every git that is there: they verify and report, put write bits
//! back, refuse a commit only where that was asked for, and never break a command of the user's.

mod chain;

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::support::{Said, TestRepo, gits};

/// Does this with every git: a project, its worktree `task`, and the version.
#[track_caller]
fn with_each_git(config: &str, body: impl Fn(&World)) {
    for (version, bin) in gits() {
        let repo = TestRepo::project().with_git(&bin);
        if !config.is_empty() {
            let text = format!("schema_version = \"1.0\"\n{config}\n");
            repo.write(".agentwt/config.toml", &text);
            repo.commit_all("config");
        }
        let worktree = repo.add("task");
        body(&World {
            repo,
            worktree,
            version,
        });
    }
}

struct World {
    repo: TestRepo,
    worktree: PathBuf,
    version: String,
}

const WORDS: &str = r#"set -e
edit() { chmod u+w "$1"; echo more >>"$1"; }
upstream() { (
    cd "$MAIN"; echo v2 >docs/api.md; git add -A; git commit -q -m upstream-1
    echo v3 >README.md; git commit -q -a -m upstream-2
) }
"#;

impl World {
    fn run(&self, dir: &Path, script: &str) -> Said {
        self.repo.sh(
            dir,
            &format!("MAIN='{}'\n{WORDS}{script}", self.repo.main().display()),
        )
    }

    /// Runs a script in the worktree, which must succeed; what was said beside the answer.
    #[track_caller]
    fn does(&self, script: &str) -> String {
        let said = self.run(&self.worktree, script);
        assert_eq!(said.status, 0, "{}: {script}: {said}", self.version);
        said.stderr
    }

    /// Runs a script in the worktree, which must succeed; its answer.
    #[track_caller]
    fn does_out(&self, script: &str) -> String {
        self.run(&self.worktree, script).ok()
    }

    /// Asserts that a script is told of this edit of the README, and that `list` knows.
    #[track_caller]
    fn reports(&self, script: &str) {
        let said = self.does(script);
        assert!(
            said.contains("agentwt: NO task: 1 new violation"),
            "{}: {script}: {said}",
            self.version
        );
        assert!(
            said.contains("README.md"),
            "{}: {script}: {said}",
            self.version
        );
        self.listed("1 violation just now");
    }

    #[track_caller]
    fn listed(&self, what: &str) {
        let list = self.repo.agentwt(&["list", "--stored"]).ok();
        let line = list
            .lines()
            .find(|line| line.starts_with("task "))
            .unwrap_or_default();
        let verdict = line
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty());
        assert_eq!(
            verdict.clone().nth(1),
            Some(what),
            "{}: {list}",
            self.version
        );
    }

    /// Asserts that no file that is only to be read is writable, and that those to edit are.
    #[track_caller]
    fn bits_are_right(&self, after: &str) {
        let wrong = "find . -name .git -prune -o -type f -perm -200 -print | grep -v -e '^./src/' -e '^./tests/' -e '^./package.json$'
            find src tests package.json -type f ! -perm -200";
        let said = self.repo.sh(&self.worktree, wrong);
        assert_eq!(said.stdout, "", "{}: after {after}", self.version);
    }
}

// ---- verification ----------------------------------------------------------------------------

#[test]
fn a_commit_out_of_scope_is_reported_in_one_line() {
    with_each_git("", |world| {
        world.reports("edit README.md; git commit -q -a -m x");
        world.does("git reset -q --hard HEAD~");
        world.reports("edit README.md; git commit -q -a --no-verify -m y");
        world.reports("git commit -q --amend -m z");
        let next = "edit src/main.rs; git commit -q -m one src/main.rs";
        assert_eq!(world.does(next), "", "it has no new finding");
    });
}

#[test]
fn the_report_of_a_commit_is_this() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let script =
        "chmod u+w README.md; echo more >>README.md; for i in 1 2 3 4 5 6; do echo x >docs/$i; done
        git add -A; git commit -q -m work";
    assert_snapshot!(repo.sh(&worktree, script), @"
    --- stderr
    agentwt: NO task: 7 new violations: modified README.md, created docs/ (6); git agentwt restore task
    --- status 0
    ");
}

#[test]
fn commits_in_scope_are_silent_and_kept_for_list() {
    with_each_git("", |world| {
        world.listed("not verified");
        assert_eq!(world.does("edit src/main.rs; git commit -q -a -m x"), "");
        world.listed("ok just now");
        for script in [
            "git commit -q --amend -m y",
            "upstream; git rebase -q --merge main~",
            "git rebase -q --apply main",
            "(cd $MAIN; echo v4 >docs/api.md; git commit -q -a -m up); git merge -q -m merge main",
            "git revert --no-edit -m 1 HEAD >/dev/null; git reset -q --hard HEAD~; git commit -q --allow-empty -m z",
        ] {
            let said = world.does(script);
            let reverting = script.contains("revert");
            assert!(
                reverting || said.is_empty(),
                "{}: {script}: {said}",
                world.version
            );
            world.listed("ok just now");
        }
    });
}

#[test]
fn every_way_to_take_work_over_reports() {
    with_each_git("", |world| {
        // foreign work on a branch that is not the base
        world
            .run(
                world.repo.main(),
                "git switch -q -c topic; echo t >>README.md; git commit -q -a -m t
            git format-patch -q -1 -o ..; git switch -q main",
            )
            .ok();
        for script in [
            "git cherry-pick topic >/dev/null",
            "git merge -q --no-ff -m merge topic",
            "git merge -q --ff-only topic",
            "git am -q ../../../../0001-t.patch",
        ] {
            world.reports(script);
            // with the fixed dates of the tests these bring the very same commit
            world.does("git reset -q --hard HEAD~");
            world.repo.agentwt(&["verify", "task"]).ok();
        }
        world.reports(
            "edit src/main.rs; git commit -q -a -m s; git pull -q --no-rebase --no-edit . topic",
        );
    });
}

#[test]
fn a_rebase_reports_once_at_its_end() {
    with_each_git("", |world| {
        world.does("edit README.md; git commit -q -a -m one; edit src/main.rs; git commit -q -a -m two; edit tests/t.rs; git commit -q -a -m three");
        world.run(world.repo.main(), "echo v2 >docs/api.md; git commit -q -a -m up; echo v3 >docs/api.md; git commit -q -a -m up").ok();
        for (backend, onto) in [("--merge", "main~"), ("--apply", "main")] {
            let said = world.does(&format!("git rebase -q {backend} {onto}"));
            assert_eq!(
                said.matches("agentwt:").count(),
                1,
                "{}: {backend}: {said}",
                world.version
            );
            world.listed("1 violation just now");
        }
    });
}

#[test]
fn write_bits_do_not_stop_an_operation_of_many_steps_that_takes_seconds() {
    // git compares whole seconds: what is touched after it wrote the index shows only in another
    // one. The user's hook, which runs before ours there, makes sure of that.
    with_each_git("", |world| {
        world.does("for i in 1 2; do edit README.md; git commit -q -a -m $i 2>/dev/null; done");
        world
            .run(
                world.repo.main(),
                "echo g >docs/guide.md; git commit -q -a -m up
                printf '#!/bin/sh\n[ \"$1\" = 0 ] || perl -MTime::HiRes=time,sleep -e \"sleep(int(time) + 1.05 - time)\"\n' >.git/hooks/post-index-change
                chmod +x .git/hooks/post-index-change",
            )
            .ok();
        world.does("git rebase -q main");
        world.bits_are_right("rebase");
        world.does("git switch -q -c copy main; git cherry-pick main..agentwt/task >/dev/null");
        world.bits_are_right("cherry-pick");
    });
}

#[test]
fn several_edits_of_a_read_only_file_can_be_rebased() {
    // write bits that come back in the middle must not make the next step see a changed file
    with_each_git("", |world| {
        world.does("for i in 1 2 3; do edit README.md; git commit -q -a -m $i 2>/dev/null; done; edit docs/api.md; git commit -q -a -m d");
        world.run(world.repo.main(), "echo g >docs/guide.md; git commit -q -a -m up; echo h >>docs/guide.md; git commit -q -a -m up").ok();
        for (backend, onto) in [("--merge", "main~"), ("--apply", "main")] {
            world.does(&format!("git rebase -q {backend} {onto}"));
            world.bits_are_right(backend);
        }
        world.does("git switch -q -c copy main; git cherry-pick main..agentwt/task >/dev/null; git revert --no-edit HEAD HEAD~ >/dev/null");
        assert_eq!(
            world.does("git status --porcelain; git diff-files --name-only"),
            ""
        );
    });
}

#[test]
fn hooks_that_were_not_asked_are_silent_in_the_list() {
    with_each_git("", |world| {
        world.does("edit src/main.rs; git commit -q -a -m x");
        world.listed("ok just now");
        // what the worktree's own hooks journal is no silence
        let bare = "t=$(git write-tree); git update-ref HEAD $(git commit-tree -p HEAD -m y $t)";
        world.does(bare);
        world.listed("ok just now");
        let beside =
            "b=agentwt/task; git update-ref refs/heads/$b $(git commit-tree -p $b -m z $b^{tree})";
        world.run(world.repo.main(), beside).ok();
        world.listed("ok just now, hooks silent");
        world.repo.agentwt(&["verify", "task"]).ok();
        world.listed("ok just now");
    });
}

// ---- write bits ------------------------------------------------------------------------------

#[test]
fn write_bits_come_back_whatever_git_writes_again() {
    with_each_git("", |world| {
        world.bits_are_right("add");
        world.run(world.repo.main(), "git switch -q -c topic; echo t >>README.md; echo t >>docs/api.md; git commit -q -a -m t; git switch -q main").ok();
        for script in [
            "git switch -q --detach topic",
            "git checkout -q agentwt/task",
            "git reset -q --hard topic",
            "git reset -q --hard main",
            "edit README.md; git checkout -q -- README.md",
            "rm -f docs/api.md; git restore docs/api.md",
            "edit README.md; edit src/main.rs; git stash -q",
            "git stash pop -q 2>/dev/null || git stash drop -q",
            "git reset -q --hard",
            "edit src/main.rs; git commit -q -a -m s; git merge -q -m m topic 2>/dev/null",
            "git reset -q --hard HEAD~; git rebase -q topic 2>/dev/null",
            "git reset -q --hard main; git merge -q --squash topic",
            "git reset -q --hard main; git cherry-pick -n topic",
            "git reset -q --hard main; git cherry-pick topic >/dev/null 2>&1",
        ] {
            world.does(script);
            world.bits_are_right(script);
        }
    });
}

// ---- refusing commits ------------------------------------------------------------------------

#[test]
fn block_refuses_a_commit_with_a_violation_and_says_how_to_undo() {
    let config = "[worktree]\non_violation = \"block\"\n[scope.default]\nwrite = [\"src/**\"]";
    with_each_git(config, |world| {
        let head = world.repo.git_in(&world.worktree, &["rev-parse", "HEAD"]);
        for commit in [
            "git commit -q -a -m x",
            "git commit -q -m x README.md",
            "git add -A; git commit -q -m x",
        ] {
            let said = world.run(&world.worktree, &format!("edit README.md; {commit}"));
            assert_ne!(said.status, 0, "{}: {commit}: {said}", world.version);
            assert!(
                said.stderr.contains("the commit is refused"),
                "{}: {commit}: {said}",
                world.version
            );
            assert!(
                said.stderr.contains("git agentwt restore task"),
                "{}: {commit}: {said}",
                world.version
            );
            assert_eq!(
                world.repo.git_in(&world.worktree, &["rev-parse", "HEAD"]),
                head,
                "{commit}"
            );
        }
        // the advice works as it is printed
        let said = world.run(&world.worktree, "git commit -q -m x");
        let advice = said
            .stderr
            .lines()
            .find(|line| line.contains("git agentwt restore"))
            .unwrap_or_default()
            .to_owned();
        world.does(&advice);
        assert_eq!(world.does("edit src/main.rs; git commit -q -a -m fine"), "");
        assert_ne!(
            world.repo.git_in(&world.worktree, &["rev-parse", "HEAD"]),
            head
        );
    });
}

#[test]
fn what_block_says_is_this() {
    let repo = TestRepo::project();
    let config = "schema_version = \"1.0\"\n[worktree]\non_violation = \"block\"\n[scope.default]\nwrite = [\"src/**\"]\n";
    repo.write(".agentwt/config.toml", config);
    repo.commit_all("config");
    let worktree = repo.add("task");
    let script = "echo n >'docs/it'\\''s new'; git add -A; git commit -q -m x";
    assert_snapshot!(repo.sh(&worktree, script), @r"
    --- stderr
    agentwt: NO task: 1 violation: created docs/it's new
    agentwt: the commit is refused; to save and restore these paths:
      git agentwt restore task
    --- status 1
    ");
}

#[test]
fn what_is_not_committed_does_not_refuse_a_commit_of_something_else() {
    let config = "[worktree]\non_violation = \"block\"\n[scope.default]\nwrite = [\"src/**\"]";
    with_each_git(config, |world| {
        // an edit that stays out of the commit is reported, not refused
        let said = world.run(
            &world.worktree,
            "edit README.md; edit src/main.rs; git commit -q -m fine src/main.rs",
        );
        assert_eq!(said.status, 0, "{}: {said}", world.version);
    });
}

// ---- the user's own hooks, and plain git's worktrees -----------------------------------------

#[test]
fn the_users_own_hooks_still_run() {
    with_each_git("", |world| {
        for name in ["pre-commit", "commit-msg", "post-commit", "post-checkout"] {
            let hook = world.repo.main().join(".git/hooks").join(name);
            let text = format!("#!/bin/sh\necho {name} >>\"$LOG\"\n");
            crate::support::write(
                world.repo.main(),
                format!(".git/hooks/{name}").as_bytes(),
                text.as_bytes(),
            );
            crate::support::chmod(&hook, 0o755);
        }
        world.repo.agentwt(&["accept", "task", "--shared"]).ok();
        let log = world.repo.root().join("log");
        world.reports(&format!("export LOG='{}'; edit README.md; git commit -q -a -m x; git checkout -q --detach 2>/dev/null; git checkout -q -", log.display()));
        let ran = std::fs::read_to_string(&log).expect("they ran");
        assert_eq!(
            ran, "pre-commit\ncommit-msg\npost-commit\npost-checkout\npost-checkout\n",
            "{}",
            world.version
        );
        // and one that refuses still refuses
        crate::support::write(
            world.repo.main(),
            b".git/hooks/pre-commit",
            b"#!/bin/sh\nexit 3\n",
        );
        let said = world.run(&world.worktree, "edit src/main.rs; git commit -q -a -m y");
        assert_ne!(said.status, 0, "{}: {said}", world.version);
    });
}

#[test]
fn a_worktree_of_plain_git_is_adopted_by_installing_hooks_in_it() {
    for (version, bin) in gits() {
        let repo = TestRepo::project().with_git(&bin);
        let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\nexclude = [\"secrets/**\"]\n";
        repo.write(".agentwt/config.toml", config);
        repo.commit_all("config");
        repo.git(&["worktree", "add", "-q", "-b", "topic", "../plain"]);
        let plain = repo.root().join("plain");
        let world = World {
            repo,
            worktree: plain,
            version,
        };
        world.does("edit src/main.rs; git commit -q -a -m before");
        world.repo.agentwt(&["hooks", "install", "../plain"]).ok();
        world.repo.agentwt(&["hooks", "status", "plain"]).ok();
        let said = world.does("edit README.md; git commit -q -a -m x");
        assert!(
            said.contains("agentwt: NO plain: 1 new violation"),
            "{}: {said}",
            world.version
        );
        assert!(
            world
                .repo
                .agentwt(&["list", "--stored"])
                .ok()
                .contains("topic")
        );
        let found = world
            .repo
            .agentwt_in(&world.worktree, &["verify", "--format=tsv"]);
        assert_eq!(
            found.stdout, "README.md\tmodified\tread-only\tviolation\n",
            "{}: {found}",
            world.version
        );
        let _ = world.repo.agentwt(&["remove", "plain", "--force"]).fails(4);
        world.repo.agentwt(&["hooks", "uninstall", "plain"]).ok();
        assert_eq!(
            world.does("edit README.md; git commit -q -a -m y"),
            "",
            "{}",
            world.version
        );
        assert!(
            !world
                .repo
                .agentwt(&["list", "--stored"])
                .stdout
                .contains("plain")
        );
        world.repo.git(&["worktree", "remove", "../plain"]);
    }
}

#[test]
fn hooks_can_be_removed_and_installed_again() {
    with_each_git("", |world| {
        world.repo.agentwt(&["hooks", "uninstall", "task"]).ok();
        let _ = world.repo.agentwt(&["hooks", "status", "task"]).fails(1);
        assert_eq!(world.does("edit README.md; git commit -q -a -m x"), "");
        world.listed("not verified, hooks silent");
        // our own change of git's files is no finding
        assert_eq!(
            world.repo.findings(&world.worktree),
            "README.md modified read-only violation\n"
        );
        world.repo.agentwt(&["hooks", "install", "task"]).ok();
        world.repo.agentwt(&["hooks", "status", "task"]).ok();
        assert_eq!(
            world.repo.findings(&world.worktree),
            "README.md modified read-only violation\n"
        );
        world.reports("git commit -q --amend -m y");
    });
}

#[test]
fn a_dry_run_of_install_and_uninstall_changes_nothing() {
    let repo = TestRepo::project();
    repo.add("task");
    let before = repo.fingerprint();
    repo.agentwt(&["hooks", "uninstall", "task", "-n"]).ok();
    repo.agentwt(&["hooks", "install", "task", "-n"]).ok();
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn status_says_how_hooks_are() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let said = repo.agentwt(&["hooks", "status", "task"]).ok();
    assert!(said.contains("installed, "), "{said}");
    assert_eq!(
        repo.agentwt_in(&worktree.join("src"), &["hooks", "status"])
            .ok(),
        said
    );
    let json = repo.agentwt(&["hooks", "status", "task", "--json"]).ok();
    let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(value["schema"], "agentwt.hooks/1");
    assert_eq!(value["hooks"]["state"], "complete");
    assert_eq!(value["hooks"]["binary_found"], true);
    let porcelain = repo
        .agentwt(&["hooks", "status", "task", "--porcelain"])
        .ok();
    assert!(porcelain.starts_with("task\tcomplete\t"), "{porcelain}");
    assert_snapshot!(repo.agentwt(&["hooks", "status"]), @"
    --- stderr
    error: $TMP/repo is not a linked worktree of this repository
    help: see what there is: git worktree list
    --- status 2
    ");
    assert_snapshot!(repo.agentwt(&["hooks", "install", "/nowhere"]), @"
    --- stderr
    error: /nowhere is not a linked worktree of this repository
    help: see what there is: git worktree list
    --- status 2
    ");
}

// ---- faults of ours --------------------------------------------------------------------------

#[test]
fn without_the_program_every_command_still_works() {
    let config = "[worktree]\non_violation = \"block\"\n[scope.default]\nwrite = [\"src/**\"]";
    with_each_git(config, |world| {
        let admin = world.repo.main().join(".git/worktrees/task");
        std::fs::write(admin.join("agentwt/bin"), "/nowhere/git-agentwt\n")
            .expect("it can be written");
        // of PATH, only what git and sh need
        let path = std::env::var("PATH").unwrap_or_default();
        let own: Vec<&str> = path
            .split(':')
            .filter(|dir| !Path::new(dir).join("git-agentwt").exists())
            .collect();
        let git = world
            .repo
            .sh(&world.worktree, "dirname $(command -v git)")
            .ok();
        let script = format!(
            "PATH={git}:{}; export PATH; edit README.md; git commit -q -a -m x; git checkout -q --detach; git checkout -q -; git reset -q --hard",
            own.join(":")
        );
        let said = world.does(&script);
        assert!(
            said.contains("git-agentwt: "),
            "{}: one line of warning: {said}",
            world.version
        );
        assert!(!said.contains("agentwt: NO"), "{said}");
    });
}

#[test]
fn a_damaged_record_is_told_and_does_not_break_a_commit() {
    with_each_git("", |world| {
        let record = world
            .repo
            .main()
            .join(".git/agentwt/worktrees/task/record.toml");
        std::fs::write(record, "no record").expect("it can be written");
        let said = world.does("edit README.md; git commit -q -a -m x");
        let words = "error: cannot read the record of worktree `task`: it is damaged";
        assert!(said.contains(words), "{}: {said}", world.version);
        world.does("git checkout -q --detach; git reset -q --hard");
    });
}

#[test]
fn hooks_of_a_worktree_do_not_run_in_the_main_worktree_or_in_a_worktree_of_a_worktree() {
    with_each_git("", |world| {
        let main = world.run(world.repo.main(), "edit README.md; git commit -q -a -m x");
        assert_eq!(
            (main.status, main.stderr.as_str()),
            (0, ""),
            "{}",
            world.version
        );
        world.does("git worktree add -q ../../../../second");
        let second = world.repo.root().join("second");
        let said = world.run(&second, "edit README.md; git commit -q -a -m x");
        assert_eq!(
            (said.status, said.stderr.as_str()),
            (0, ""),
            "{}",
            world.version
        );
    });
}

#[test]
fn block_lets_a_commit_be_that_leaves_out_what_was_only_announced() {
    with_each_git(BLOCK, |world| {
        world
            .does("echo n >docs/n.md; git add -N docs/n.md; edit src/main.rs; git add src/main.rs");
        world.does("git commit -q -m in-scope");
        assert_eq!(world.does_out("git ls-tree --name-only HEAD docs/n.md"), "");
        let said = world.run(&world.worktree, "git commit -q -a -m out");
        assert_eq!(said.status, 1, "{}: {said}", world.version);
        assert!(said.stderr.contains("docs/n.md"), "{said}");
    });
}

// ---- past pre-commit -------------------------------------------------------------------------

const BLOCK: &str = "[worktree]\non_violation = \"block\"\n[scope.default]\nwrite = [\"src/**\"]";

#[test]
fn block_keeps_the_branch_from_a_commit_that_skips_pre_commit() {
    with_each_git(BLOCK, |world| {
        let head = "git rev-parse HEAD; git status --porcelain";
        world.does("edit README.md; git add README.md");
        let before = world.run(&world.worktree, head).ok();
        for commit in [
            "commit -q --no-verify -m x",
            "commit -q --no-verify -a -m x",
        ] {
            let said = world.run(&world.worktree, &format!("git {commit}"));
            assert_eq!(said.status, 128, "{}: {commit}: {said}", world.version);
            assert!(said.stderr.contains("README.md"), "{commit}: {said}");
            assert!(said.stderr.contains("git agentwt restore task"), "{said}");
            assert_eq!(world.run(&world.worktree, head).ok(), before, "{commit}");
        }
        world.does("git restore --staged --worktree README.md");
        world.does("edit src/main.rs; git commit -q --no-verify -a -m in-scope");
    });
}

#[test]
fn block_keeps_the_branch_from_a_copy_of_an_excluded_file() {
    let config = format!("{BLOCK}\nexclude = [\"**/secrets/**\"]");
    with_each_git(&config, |world| {
        let change_key = "echo rotated >secrets/key.pem; git commit -q -a -m rotated";
        world.run(world.repo.main(), change_key).ok();
        let before = world.does_out("git rev-parse HEAD");
        for key in ["main", "HEAD"] {
            world.does(&format!(
                "git show {key}:secrets/key.pem >src/copy; git add src/copy"
            ));
            let said = world.run(&world.worktree, "git commit -q --no-verify -m x");
            assert_eq!(said.status, 128, "{}: {key}: {said}", world.version);
            assert!(said.stderr.contains("src/copy"), "{key}: {said}");
            assert_eq!(world.does_out("git rev-parse HEAD"), before, "{key}");
        }
        world.does("echo mine >src/copy; git add src/copy; git commit -q --no-verify -m mine");
    });
}

#[test]
fn block_keeps_the_branch_from_a_merge_and_leaves_it_whole() {
    with_each_git(BLOCK, |world| {
        world.run(
            world.repo.main(),
            "git switch -q -c topic; echo t >docs/t; git add -A; git commit -q -m t; git switch -q main",
        )
        .ok();
        world.does("edit src/main.rs; git commit -q -a -m mine");
        let before = world.does_out("git rev-parse HEAD");
        let said = world.run(&world.worktree, "git merge -q --no-verify -m m topic");
        assert_ne!(said.status, 0, "{}: {said}", world.version);
        assert_eq!(world.does_out("git rev-parse HEAD"), before);
        world.does("git merge --abort");
        assert_eq!(world.does_out("git status --porcelain"), "");
        // upstream's own work is nobody's violation
        world.does("upstream; git merge -q --no-verify -m m main");
    });
}

#[test]
fn block_stops_neither_a_rebase_nor_a_reset_nor_a_pick() {
    with_each_git(BLOCK, |world| {
        world
            .run(
                world.repo.main(),
                "git switch -q -c topic; echo t >docs/t; git add -A; git commit -q -m t
            echo u >docs/u; git add -A; git commit -q -m u; git switch -q main",
            )
            .ok();
        world.does(
            "edit src/main.rs; git commit -q -a -m mine; git cherry-pick topic~ topic >/dev/null",
        );
        world.does("upstream; git rebase -q main; git reset -q --hard HEAD~; git reset -q --hard ORIG_HEAD");
        assert_eq!(
            world.repo.findings(&world.worktree),
            "docs/t created read-only violation\ndocs/u created read-only violation\n",
            "{}",
            world.version
        );
    });
}

#[test]
fn the_base_is_the_branch_of_the_main_worktree_where_a_tag_has_its_name() {
    let repo = TestRepo::project();
    let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\n";
    repo.git(&["tag", "main"]);
    repo.write(".agentwt/config.toml", config);
    repo.commit_all("config");
    repo.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "topic",
        "../plain",
        "heads/main",
    ]);
    repo.agentwt(&["hooks", "install", "../plain"]).ok();
    let head = repo.git(&["rev-parse", "--short=10", "heads/main"]);
    let status = repo.agentwt(&["status", "plain"]).ok();
    assert!(status.contains(head.trim()), "{head}{status}");
}
