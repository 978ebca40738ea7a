//! What `init` and `add` refuse, and what stops them: one clear error, what to do, its status,
//! and nothing left behind.

use std::path::Path;

use super::support::{Said, TestRepo, binary, chmod, is_root};

const SRC: &[&str] = &["add", "task-5", "--write", "src/**"];

/// Runs the program in the main worktree, and asserts that it failed with one error and left
/// nothing.
#[track_caller]
fn refused(repo: &TestRepo, arguments: &[&str]) -> Said {
    let before = repo.fingerprint();
    let said = repo.agentwt(arguments);
    assert_eq!(repo.fingerprint(), before, "nothing is left behind: {said}");
    is_one_error(&said);
    said
}

#[track_caller]
fn is_one_error(said: &Said) {
    assert!(said.status > 1, "it fails, and not as an answer: {said}");
    assert_eq!(said.stdout, "", "nothing is answered: {said}");
    let errors = said
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "one clear error: {said}");
    assert!(said.stderr.contains("\nhelp: "), "what to do: {said}");
}

mod names {
    use super::*;

    #[test]
    fn a_name_that_is_no_ref_or_path_part_is_refused() {
        let repo = TestRepo::project();
        let long = "x".repeat(300);
        for name in [
            "..",
            ".",
            "a..b",
            "a b",
            "a/b",
            "/abs",
            ".hidden",
            "a.lock",
            "a.",
            "täsk",
            "a\nb",
            "a\tb",
            "a~b",
            "a:b",
            "a*",
            "@{u}",
            "",
            "a\\b",
            "\u{202e}x",
            &long,
        ] {
            let said = refused(&repo, &["add", name, "--write", ""]);
            assert_eq!(said.status, 2, "{name:?}: {said}");
        }
    }

    #[test]
    fn the_error_shows_the_name_and_the_rule() {
        let repo = TestRepo::project();
        insta::assert_snapshot!(refused(&repo, &["add", "a b", "--write", ""]), @"
        --- stderr
        error: cannot use `a b` as a name: a name has 1 to 100 of the letters A-Z and a-z, digits, `.`, `_` and `-`, does not start with `-` or `.`, and has no `..` and no `.` or `.lock` at its end
        help: for example: git agentwt add task-1
        --- status 2
        ");
        insta::assert_snapshot!(refused(&repo, &["add", "a\x1b[31mb", "--write", ""]), @r"
        --- stderr
        error: cannot use `a\033[31mb` as a name: a name has 1 to 100 of the letters A-Z and a-z, digits, `.`, `_` and `-`, does not start with `-` or `.`, and has no `..` and no `.` or `.lock` at its end
        help: for example: git agentwt add task-1
        --- status 2
        ");
    }

    #[test]
    fn a_name_with_a_leading_dash_is_wrong_usage() {
        let repo = TestRepo::project();
        let before = repo.fingerprint();
        repo.agentwt(&["add", "-x", "--write", ""]).fails(2);
        repo.agentwt(&["add", "--write", "", "--", "-x"]).fails(2);
        assert_eq!(repo.fingerprint(), before);
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_wrong_usage() {
        use std::os::unix::ffi::OsStrExt;
        let repo = TestRepo::project();
        let before = repo.fingerprint();
        let mut command = repo.command(binary(), repo.main());
        command
            .arg("add")
            .arg(std::ffi::OsStr::from_bytes(b"t\xff"));
        let said = repo.said(&command.output().expect("it starts"));
        assert_eq!(said.status, 2, "{said}");
        assert_eq!(repo.fingerprint(), before);
    }

    #[test]
    fn a_name_that_a_plain_worktree_has() {
        let repo = TestRepo::project();
        let path = ".agentwt/worktrees/task-5";
        repo.git(&["worktree", "add", "-q", path, "-b", "mine"]);
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: cannot add `task-5`: $TMP/repo/.agentwt/worktrees/task-5 is a worktree that git-agentwt did not make
        help: take another name, or remove it with git: git worktree remove $TMP/repo/.agentwt/worktrees/task-5
        --- status 4
        ");
    }

    #[test]
    fn a_name_that_a_file_or_a_directory_or_a_link_has() {
        let repo = TestRepo::project();
        repo.write(".agentwt/worktrees/task-5", "mine\n");
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: cannot add `task-5`: $TMP/repo/.agentwt/worktrees/task-5 is there, and git-agentwt did not make it
        help: take another name, or move it away: mv $TMP/repo/.agentwt/worktrees/task-5 <elsewhere>
        --- status 4
        ");
        repo.write(".agentwt/worktrees/task-6/mine", "mine\n");
        refused(&repo, &["add", "task-6", "--write", ""]).fails(4);
        let link = repo.worktree("task-7");
        std::os::unix::fs::symlink("nowhere", link).expect("a link");
        refused(&repo, &["add", "task-7", "--write", ""]).fails(4);
    }

    #[test]
    fn worktrees_that_are_a_link_elsewhere() {
        let repo = TestRepo::project();
        std::fs::create_dir(repo.root().join("elsewhere")).expect("a directory");
        std::fs::create_dir(repo.main().join(".agentwt")).expect("a directory");
        let link = repo.main().join(".agentwt/worktrees");
        std::os::unix::fs::symlink(repo.root().join("elsewhere"), link).expect("a link");
        let said = repo.agentwt(SRC);
        if said.status == 0 {
            assert_eq!(
                repo.findings(&repo.worktree("task-5")),
                "",
                "it works there: {said}"
            );
            repo.agentwt(SRC).ok();
        } else {
            is_one_error(&said);
        }
    }

    #[test]
    fn agentwt_that_is_a_file() {
        let repo = TestRepo::project();
        repo.write(".agentwt", "a file\n");
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: cannot write $TMP/repo/.agentwt/worktrees/.gitignore: Not a directory (os error 20)
        help: look at it with `ls -ld`, fix it, then try again
        --- status 6
        ");
        refused(&repo, &["init"]).fails(6);
    }

    #[test]
    fn a_name_that_differs_only_in_case() {
        let repo = TestRepo::project();
        repo.agentwt(SRC).ok();
        insta::assert_snapshot!(refused(&repo, &["add", "Task-5", "--write", "src/**"]), @"
        --- stderr
        error: cannot add `Task-5`: there is `task-5`, and some file systems cannot tell them apart
        help: take a name that differs in more than case
        --- status 4
        ");
    }

    #[test]
    fn a_name_whose_branch_is_there() {
        let repo = TestRepo::project();
        repo.git(&["branch", "agentwt/task-5"]);
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: cannot add `task-5`: the branch `agentwt/task-5` exists
        help: to work on it: git agentwt add task-5 -b agentwt/task-5; to see what it has: git log agentwt/task-5
        --- status 4
        ");
    }

    #[test]
    fn a_worktree_whose_directory_is_gone() {
        let repo = TestRepo::project();
        repo.agentwt(SRC).ok();
        std::fs::remove_dir_all(repo.worktree("task-5")).expect("it was there");
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: the directory of worktree `task-5` does not exist: $TMP/repo/.agentwt/worktrees/task-5
        help: if a removal was interrupted: git agentwt remove --undo task-5; if the directory was deleted: git agentwt remove task-5
        --- status 6
        ");
    }
}

mod branches_and_bases {
    use super::*;

    #[test]
    fn a_branch_that_is_a_directory_of_another_and_the_other_way_round() {
        let repo = TestRepo::project();
        repo.git(&["branch", "agentwt"]);
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: cannot make the branch `agentwt/task-5`: the branch `agentwt` is in its way
        help: rename one (git branch -m agentwt <new>), or set another `branch_prefix` in the config
        --- status 4
        ");
        let repo = TestRepo::project();
        repo.git(&["branch", "agentwt/task-5/sub"]);
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: cannot make the branch `agentwt/task-5`: the branch `agentwt/task-5/sub` is in its way
        help: rename one (git branch -m agentwt/task-5/sub <new>), or set another `branch_prefix` in the config
        --- status 4
        ");
    }

    #[test]
    fn a_branch_that_git_does_not_accept() {
        let repo = TestRepo::project();
        for branch in [
            "a..b",
            "-x",
            "a b",
            "x.lock",
            "HEAD",
            "a//b",
            "/a",
            "a/",
            "",
            "refs/heads/",
        ] {
            let said = refused(
                &repo,
                &["add", "t", "--write", "", &format!("--branch={branch}")],
            );
            assert_eq!(said.status, 2, "{branch:?}: {said}");
        }
        insta::assert_snapshot!(refused(&repo, &["add", "t", "--write", "", "-b", "a..b"]), @"
        --- stderr
        error: git does not accept `a..b` as the name of a branch
        help: see git-check-ref-format(1); the prefix is `branch_prefix` in the config
        --- status 2
        ");
    }

    #[test]
    fn a_branch_that_is_checked_out() {
        let repo = TestRepo::project();
        insta::assert_snapshot!(refused(&repo, &["add", "t", "--write", "", "-b", "main"]), @"
        --- stderr
        error: the branch `main` is checked out at $TMP/repo
        help: switch that worktree away from it: git -C $TMP/repo switch <branch>
        --- status 4
        ");
    }

    #[test]
    fn a_branch_that_is_being_rebased_elsewhere() {
        let repo = TestRepo::project();
        repo.git(&["worktree", "add", "-q", "../plain", "-b", "topic"]);
        let plain = repo.root().join("plain");
        repo.commit_all_in(&plain, "two");
        let line = "GIT_SEQUENCE_EDITOR='sed -i 1iedit' git rebase -i HEAD~1; \
            GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~1";
        let _ = repo.sh(&plain, line);
        let said = refused(&repo, &["add", "t", "--write", "", "-b", "topic"]);
        assert!([4, 5].contains(&said.status), "{said}");
    }

    #[test]
    fn a_base_that_does_not_exist() {
        let repo = TestRepo::project();
        insta::assert_snapshot!(refused(&repo, &[SRC, &["--base", "no/such"]].concat()), @"
        --- stderr
        error: cannot add `task-5`: there is no commit `no/such` (--base)
        help: see what there is: git branch -a; to get what a remote has: git fetch
        --- status 2
        ");
        for base in [
            "-x",
            "HEAD:README.md",
            "HEAD^{tree}",
            "main..main",
            "^main",
            "a b",
            "@{99}",
        ] {
            let said = refused(&repo, &[SRC, &[&format!("--base={base}")]].concat());
            assert_eq!(said.status, 2, "{base:?}: {said}");
        }
    }

    #[test]
    fn a_base_in_the_config_that_does_not_exist() {
        let repo = TestRepo::project();
        let config = "schema_version = \"1.0\"\n[worktree]\nbase = \"trunk\"\n";
        repo.write(".agentwt/config.toml", config);
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: cannot add `task-5`: there is no commit `trunk` (.agentwt/config.toml:3)
        help: see what there is: git branch -a; to get what a remote has: git fetch
        --- status 2
        ");
    }

    #[test]
    fn a_base_that_is_no_ancestor_of_the_branch() {
        let repo = TestRepo::project();
        repo.git(&["branch", "fix"]);
        repo.commit_all("two");
        let arguments = [SRC, &["-b", "fix", "--base", "main"]].concat();
        insta::assert_snapshot!(refused(&repo, &arguments), @"
        --- stderr
        error: the base 9c8c2ce2e6 is not an ancestor of the branch `fix`
        help: leave --base out to count from the branch's tip, or take: git merge-base HEAD fix
        --- status 4
        ");
    }

    #[test]
    fn a_detached_main_worktree_has_no_default_base() {
        let repo = TestRepo::project();
        repo.git(&["switch", "-q", "--detach"]);
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: cannot add `task-5`: the main worktree is on no branch, so there is no default base
        help: name one: git agentwt add task-5 --base HEAD
        --- status 2
        ");
        repo.agentwt(&[SRC, &["--base", "HEAD"]].concat()).ok();
    }

    #[test]
    fn a_detached_main_worktree_with_an_existing_branch_needs_no_base() {
        let repo = TestRepo::project();
        repo.git(&["branch", "fix"]);
        repo.git(&["switch", "-q", "--detach"]);
        repo.agentwt(&[SRC, &["-b", "fix"]].concat()).ok();
    }

    #[test]
    fn an_unborn_branch() {
        let repo = TestRepo::empty();
        insta::assert_snapshot!(refused(&repo, SRC), @"
        --- stderr
        error: cannot add `task-5`: the repository has no commit yet
        help: make a first commit: git add -A && git commit -m 'first commit'
        --- status 4
        ");
    }

    #[test]
    fn an_orphan_branch_in_a_repository_with_commits() {
        let repo = TestRepo::project();
        repo.git(&["switch", "-q", "--orphan", "fresh"]);
        let said = refused(&repo, SRC);
        assert_eq!(said.status, 4, "{said}");
        repo.agentwt(&[SRC, &["--base", "main"]].concat()).ok();
    }

    #[test]
    fn a_base_whose_objects_are_missing() {
        let repo = TestRepo::project();
        let blob = repo.git(&["rev-parse", "HEAD:docs/api.md"]);
        let (directory, file) = blob.split_at(2);
        let object = repo.main().join(".git/objects").join(directory).join(file);
        std::fs::remove_file(object).expect("it was there");
        let said = refused(&repo, SRC);
        assert_eq!(said.status, 5, "{said}");
        let tree = repo.git(&["rev-parse", "HEAD:src"]);
        let (directory, file) = tree.split_at(2);
        let object = repo.main().join(".git/objects").join(directory).join(file);
        std::fs::remove_file(object).expect("it was there");
        let said = refused(&repo, SRC);
        assert_eq!(said.status, 5, "{said}");
    }
}

mod where_it_is_run {
    use super::*;

    #[test]
    fn no_repository() {
        let repo = TestRepo::project();
        for arguments in [SRC, &["init"]] {
            let said = repo.agentwt_in(&repo.home(), arguments);
            is_one_error(&said);
            insta::allow_duplicates! { insta::assert_snapshot!(said, @"
            --- stderr
            error: not in a git repository: $TMP/home
            help: run it inside a repository, or name one with `git agentwt -C <dir> …`
            --- status 2
            "); }
        }
        let names = std::fs::read_dir(repo.home()).expect("it is there").count();
        assert_eq!(names, 1, "only .gitconfig is there");
    }

    #[test]
    fn a_directory_that_does_not_exist() {
        let repo = TestRepo::project();
        insta::assert_snapshot!(refused(&repo, &["-C", "nowhere", "init"]), @"
        --- stderr
        error: there is no directory $TMP/repo/nowhere
        help: create the directory first: mkdir -p $TMP/repo/nowhere
        --- status 2
        ");
    }

    #[test]
    fn inside_the_git_directory() {
        let repo = TestRepo::project();
        let path = repo.agentwt_in(&repo.main().join(".git"), SRC).ok();
        assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
    }

    #[test]
    fn a_bare_repository_without_a_worktree() {
        let repo = TestRepo::project();
        repo.git_in(repo.root(), &["clone", "-q", "--bare", "repo", "bare.git"]);
        let bare = repo.root().join("bare.git");
        let before = repo
            .sh(&bare, "find . | sort; cat config info/exclude")
            .ok();
        for arguments in [SRC, &["init"]] {
            let said = repo.agentwt_in(&bare, arguments);
            is_one_error(&said);
            insta::allow_duplicates! { insta::assert_snapshot!(said, @"
            --- stderr
            error: this is a bare repository: there is no worktree to take the config from
            help: make a worktree and go there: git worktree add ../main && cd ../main
            --- status 2
            "); }
        }
        let after = repo
            .sh(&bare, "find . | sort; cat config info/exclude")
            .ok();
        assert_eq!(after, before);
    }

    #[test]
    fn a_repository_that_is_damaged() {
        let repo = TestRepo::project();
        std::fs::write(repo.main().join(".git/HEAD"), "garbage\n").expect("a file");
        let said = repo.agentwt(SRC);
        is_one_error(&said);
    }

    #[test]
    fn a_repository_of_a_format_that_git_does_not_know() {
        let repo = TestRepo::project();
        repo.git(&["config", "core.repositoryFormatVersion", "9"]);
        let said = repo.agentwt(SRC);
        is_one_error(&said);
        assert_eq!(said.status, 5, "{said}");
    }

    #[test]
    fn git_configuration_that_git_cannot_parse() {
        let repo = TestRepo::project();
        std::fs::write(repo.home().join(".gitconfig"), "[broken\n").expect("a file");
        let said = repo.agentwt(SRC);
        is_one_error(&said);
        assert_eq!(said.status, 5, "{said}");
    }
}

mod git_itself {
    use super::*;

    #[track_caller]
    fn with_path(repo: &TestRepo, path: &Path, arguments: &[&str]) -> Said {
        let mut command = repo.command(binary(), repo.main());
        command.args(arguments).env("PATH", path);
        repo.said(&command.output().expect("it starts"))
    }

    #[test]
    fn git_is_missing() {
        let repo = TestRepo::project();
        let before = repo.fingerprint();
        let empty = repo.root().join("empty");
        std::fs::create_dir(&empty).expect("a directory");
        let said = with_path(&repo, &empty, SRC);
        insta::assert_snapshot!(said, @"
        --- stderr
        error: cannot start `git`: No such file or directory (os error 2)
        help: install git, or put it on PATH, then try `git --version`
        --- status 5
        ");
        assert_eq!(with_path(&repo, &empty, &["init"]), said);
        assert_eq!(repo.fingerprint(), before);
    }

    #[test]
    fn git_is_too_old() {
        let repo = TestRepo::project();
        let before = repo.fingerprint();
        let old = repo.root().join("old");
        std::fs::create_dir(&old).expect("a directory");
        std::fs::write(old.join("git"), "#!/bin/sh\necho git version 2.30.1\n").expect("a file");
        chmod(&old.join("git"), 0o755);
        let said = with_path(&repo, &old, SRC);
        insta::assert_snapshot!(said, @"
        --- stderr
        error: git 2.30.1 is too old: git-agentwt needs 2.39.0 or newer
        help: upgrade git, then check with `git --version`
        --- status 5
        ");
        assert_eq!(with_path(&repo, &old, &["init"]), said);
        assert_eq!(repo.fingerprint(), before);
    }
}

mod config {
    use super::*;

    const HEAD: &str = "schema_version = \"1.0\"\n";

    #[test]
    fn each_kind_of_mistake_is_status_3_and_named() {
        let repo = TestRepo::project();
        for (message, text) in [
            ("not TOML", "schema_version = \n"),
            ("not TOML", "schema_version = \"1.0\"\n[scope\n"),
            (
                "is set twice",
                "schema_version = \"1.0\"\nschema_version = \"1.0\"\n",
            ),
            (
                "`schema_version` is missing",
                "[scope.default]\nwrite = [\"src/**\"]\n",
            ),
            ("`schema_version` is `2.0`", "schema_version = \"2.0\"\n"),
            (
                "unknown key `wirte`",
                "schema_version = \"1.0\"\n[scope.default]\nwirte = []\n",
            ),
            (
                "`write` in [scope.default]: invalid type",
                "schema_version = \"1.0\"\n[scope.default]\nwrite = \"src/**\"\n",
            ),
            (
                "`schema_version` at the top level: invalid type",
                "schema_version = 1.0\n",
            ),
            (
                "unknown strategy `copy`",
                "schema_version = \"1.0\"\n[worktree]\nstrategy = \"copy\"\n",
            ),
            (
                "empty base",
                "schema_version = \"1.0\"\n[worktree]\nbase = \"\"\n",
            ),
            (
                "0 is not a number of megabytes",
                "schema_version = \"1.0\"\n[worktree.file_sync]\nmax_file_size_mb = 0\n",
            ),
            (
                "bad sync pattern `../x`",
                "schema_version = \"1.0\"\n[worktree.file_sync]\npatterns = [\"../x\"]\n",
            ),
            (
                "bad profile name ``",
                "schema_version = \"1.0\"\n[scope.\"\"]\nwrite = []\n",
            ),
            (
                "bad branch prefix `a..b/`",
                "schema_version = \"1.0\"\n[worktree]\nbranch_prefix = \"a..b/\"\n",
            ),
        ] {
            repo.write(".agentwt/config.toml", text);
            let before = repo.fingerprint();
            let said = repo.agentwt(&["add", "task-5"]);
            assert_eq!(repo.fingerprint(), before, "{text}");
            assert_eq!(said.status, 3, "{text}: {said}");
            assert_eq!(said.stdout, "", "{text}");
            // the line of a terminal may end in between
            let words = said.stderr.replace("\n  │", "");
            assert!(words.contains(message), "{message}: {text}{said}");
        }
    }

    #[test]
    fn a_config_that_is_not_utf_8_is_a_mistake_with_a_place() {
        let repo = TestRepo::project();
        let file = repo.main().join(".agentwt/config.toml");
        std::fs::create_dir(file.parent().expect("a parent")).expect("a directory");
        std::fs::write(
            file,
            b"schema_version = \"1.0\"\n[worktree]\nbase = \"\xff\"\n",
        )
        .expect("a file");
        insta::assert_snapshot!(refused_without_help(&repo, SRC), @r#"
        --- stderr
        error: cannot read .agentwt/config.toml: not TOML: it is not UTF-8
         --> .agentwt/config.toml:3:9
          |
        2 | [worktree]
        3 | base = "�"
          |         ^
        help: save the file as UTF-8
        --- status 3
        "#);
    }

    #[test]
    fn a_config_that_is_a_directory_is_a_fault_of_the_disk() {
        let repo = TestRepo::project();
        repo.write(".agentwt/config.toml/x", "");
        refused_without_help(&repo, SRC).fails(6);
    }

    #[track_caller]
    fn refused_without_help(repo: &TestRepo, arguments: &[&str]) -> Said {
        let before = repo.fingerprint();
        let said = repo.agentwt(arguments);
        assert_eq!(repo.fingerprint(), before, "{said}");
        said
    }

    #[test]
    fn all_mistakes_come_in_one_run() {
        let repo = TestRepo::project();
        let text = format!("{HEAD}[worktree]\nstratgy = \"clone\"\n[scope.default]\nwrite = 1\n");
        repo.write(".agentwt/config.toml", &text);
        insta::assert_snapshot!(repo.agentwt(&["add", "task-5"]), @r#"
        --- stderr
        error: cannot read .agentwt/config.toml: 2 mistakes

        error: unknown key `stratgy` in [worktree]
         --> .agentwt/config.toml:3:1
          |
        2 | [worktree]
        3 | stratgy = "clone"
          | ^^^^^^^
        help: did you mean `strategy`? the keys in [worktree] are `base`, `branch_prefix`, `strategy`, `client`, `on_violation` and `file_sync`

        error: `write` in [scope.default]: invalid type: integer `1`, expected a list of strings
         --> .agentwt/config.toml:5:9
          |
        4 | [scope.default]
        5 | write = 1
          |         ^
        help: see git-agentwt-config(5) for an example
        --- status 3
        "#);
    }

    #[test]
    fn a_profile_that_does_not_exist() {
        let repo = TestRepo::project();
        repo.write(
            ".agentwt/config.toml",
            &format!("{HEAD}[scope.docs]\nwrite = [\"docs/**\"]\n"),
        );
        insta::assert_snapshot!(repo.agentwt(&["add", "task-5", "--scope", "doc"]), @"
        --- stderr
        error: cannot use the settings: unknown scope profile `doc` in --scope
        help: did you mean `docs`? write `docs`, or add a [scope.<profile>] of this name to .agentwt/config.toml
        --- status 3
        ");
    }

    #[test]
    fn a_setting_of_git_config_that_is_wrong() {
        let repo = TestRepo::project();
        repo.git(&["config", "agentwt.strategy", "copy"]);
        let said = refused_without_help(&repo, SRC);
        insta::assert_snapshot!(said, @"
        --- stderr
        error: cannot use the settings: unknown strategy `copy` in git config agentwt.strategy
        help: write `worktree` or `clone`
        --- status 3
        ");
    }

    #[test]
    fn a_variable_that_is_wrong() {
        let repo = TestRepo::project();
        let mut command = repo.command(binary(), repo.main());
        command.args(SRC).env("AGENTWT_ON_VIOLATION", "panic");
        insta::assert_snapshot!(repo.said(&command.output().expect("it starts")), @"
        --- stderr
        error: cannot use the settings: unknown on_violation `panic` in AGENTWT_ON_VIOLATION
        help: write `report` or `block`
        --- status 3
        ");
    }
}

mod patterns {
    use super::*;

    #[test]
    fn a_pattern_that_would_silently_match_nothing_is_refused() {
        let repo = TestRepo::project();
        for pattern in [
            "!src",
            "./src",
            "src/../x",
            "a//b",
            "/",
            " ",
            "#x",
            "a\nb",
            "a\\",
            "[a",
            "[[:nope:]]",
            "[/]",
        ] {
            let said = refused(&repo, &["add", "t", &format!("--write={pattern}")]);
            assert_eq!(said.status, 3, "{pattern:?}: {said}");
            let said = refused(
                &repo,
                &["add", "t", "--write=", &format!("--exclude={pattern}")],
            );
            assert_eq!(said.status, 3, "{pattern:?}: {said}");
        }
    }

    #[test]
    fn the_error_names_the_rule_and_what_to_write() {
        let repo = TestRepo::project();
        insta::assert_snapshot!(refused(&repo, &["add", "t", "--write", "./src"]), @"
        --- stderr
        error: cannot use `./src` as a write pattern (--write): it has a `.`, `..` or empty component, which no path in git has
        help: write the path from the repository's root, with one `/` between directories
        --- status 3
        ");
    }

    #[test]
    fn the_error_names_the_line_of_the_config() {
        let repo = TestRepo::project();
        let text =
            "schema_version = \"1.0\"\n[scope.default]\nwrite = [\n  \"src/**\",\n  \"!lib\",\n]\n";
        repo.write(".agentwt/config.toml", text);
        insta::assert_snapshot!(refused(&repo, &["add", "t"]), @r"
        --- stderr
        error: cannot use `!lib` as a write pattern (.agentwt/config.toml:5): it begins with `!`, but the list decides, not the order
        help: put it without the `!` into the list that says what you mean (exclude beats write beats read), or write `\!` if the name begins with `!`
        --- status 3
        ");
    }
}

/// Disks that are read-only or full: small mounts in a mount namespace of their own, so that
/// nothing is left mounted.
mod disks {
    use super::*;

    /// Runs a script in a new mount namespace; none, visibly, where that is not allowed.
    #[track_caller]
    fn in_namespace(repo: &TestRepo, script: &str) -> Option<Said> {
        let allowed = is_root() && {
            let probe = "mount -t tmpfs none /mnt";
            let output = repo
                .command("unshare", repo.root())
                .args(["-m", "sh", "-c", probe])
                .output();
            output.is_ok_and(|output| output.status.success())
        };
        if !allowed {
            eprintln!("skipped: mounting is not allowed here");
            return None;
        }
        let mut command = repo.command("unshare", repo.root());
        let output = command
            .args(["-m", "sh", "-c", script])
            .output()
            .expect("unshare starts");
        Some(repo.said(&output))
    }

    #[test]
    fn a_read_only_disk() {
        let repo = TestRepo::project();
        let before = repo.fingerprint();
        for command in ["add task-5 --write 'src/**'", "init"] {
            let script = format!(
                "mount --bind repo repo && mount -o remount,bind,ro repo && cd repo && git-agentwt {command}"
            );
            let Some(said) = in_namespace(&repo, &script) else {
                return;
            };
            is_one_error(&said);
            assert_eq!(said.status, 6, "{said}");
            assert!(said.stderr.contains("Read-only file system"), "{said}");
        }
        assert_eq!(repo.fingerprint(), before);
    }

    #[test]
    fn a_read_only_git_directory() {
        let repo = TestRepo::project();
        let before = repo.fingerprint();
        let script = "mount --bind repo/.git repo/.git && mount -o remount,bind,ro repo/.git && \
            cd repo && git-agentwt add task-5 --write 'src/**'";
        if let Some(said) = in_namespace(&repo, script) {
            is_one_error(&said);
            assert_eq!(said.status, 6, "{said}");
        }
        assert_eq!(repo.fingerprint(), before);
    }

    /// The disk is full after this many more kilobytes; then it is freed, and the second `add`
    /// must succeed.
    #[test]
    fn a_full_disk_at_any_moment() {
        let repo = TestRepo::project();
        repo.write("docs/large", &"0123456789abcdef\n".repeat(20_000));
        repo.commit_all("something large");
        let script = r#"
            state() { git for-each-ref; git worktree list; cat .git/config .git/info/exclude
                find . -path ./.git/objects -prune -o -path ./.git/logs -prune -o ! -name fill -print | sort; }
            for free in 0 4 8 16 24 32 40 48 56 64 80 96 128 200 300 400 800; do
                mount -t tmpfs -o size=4m none /mnt && cp -a repo/. /mnt && cd /mnt || exit 99
                state > "$HOME/before"
                dd if=/dev/zero of=fill bs=1k 2>/dev/null
                size=$(stat -c %s fill); truncate -s $((size - free * 1024)) fill
                git-agentwt add task-5 --write 'src/**' > "$HOME/said" 2>&1; status=$?
                if [ $status -ne 0 ]; then
                    failed=1
                    [ $status -eq 6 ] || { echo "free $free: status $status"; cat "$HOME/said"; }
                    [ "$(grep -c '^error: ' "$HOME/said")" = 1 ] || { echo "free $free: not one error"; cat "$HOME/said"; }
                    state > "$HOME/after"; diff "$HOME/before" "$HOME/after" || { echo "free $free left that"; cat "$HOME/said"; }
                else
                    made=1
                fi
                rm fill
                git-agentwt add task-5 --write 'src/**' > "$HOME/said" 2>&1 || { echo "free $free: second add"; cat "$HOME/said"; }
                cd "$HOME/.." && umount /mnt
            done
            echo "failed=$failed made=$made"
        "#;
        if let Some(said) = in_namespace(&repo, script) {
            assert_eq!(said.stdout, "failed=1 made=1\n", "{said}");
        }
    }
}
