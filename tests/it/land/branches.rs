//! Where the base branch is: checked out, dirty, elsewhere, gone, in a bare repository or a clone.

use super::{assert_landed, go_on, log, refused, state, with_work, work};
use crate::support::{Shim, TestRepo, chmod};

#[test]
fn a_dirty_worktree_of_the_base_branch_is_never_touched() {
    let (repo, _) = with_work();
    repo.write("docs/api.md", "edited\n");
    let said = refused(
        &repo,
        &["task"],
        "which has uncommitted changes:\n  docs/api.md",
    );
    // the printed way brings the changes back where the next try is refused for another reason
    let (_, printed) = said.split_once("commit them there, or: ").expect("a way");
    let way = printed.lines().next().expect("a command");
    let way = way.replace("$TMP/repo", &repo.main().display().to_string());
    repo.write(".agentwt/worktrees/task/src/late.rs", "late\n");
    let tried = repo.sh(repo.main(), &way);
    assert!(tried.stderr.contains("cannot land"), "{tried}");
    assert_eq!(repo.git(&["stash", "list"]), "");
    repo.sh(
        repo.main(),
        "grep -q edited docs/api.md; rm .agentwt/worktrees/task/src/late.rs",
    )
    .ok();
    repo.git(&["add", "-A"]);
    refused(&repo, &["task"], "uncommitted changes");
    repo.git(&["reset", "-q", "--hard"]);
    // an untracked file is in nobody's way, unless it is
    repo.write("notes.txt", "mine\n");
    repo.write("src/one.rs", "mine\n");
    refused(
        &repo,
        &["task"],
        "untracked files would be overwritten in $TMP/repo:\n  src/one.rs",
    );
    std::fs::remove_file(repo.main().join("src/one.rs")).expect("a file");
    repo.agentwt(&["land", "task"]).ok();
    std::fs::remove_file(repo.main().join("notes.txt")).expect("it is there");
    assert_landed(&repo);
}

#[test]
fn a_merge_in_progress_on_the_base_branch_is_finished_first() {
    let (repo, _) = with_work();
    let merge =
        "git switch -qc topic; echo t >>docs/guide.md; git commit -qam topic; git switch -q -
        git merge -q --no-commit --no-ff topic";
    repo.sh(repo.main(), merge).ok();
    let said = refused(&repo, &["task"], "where a merge is in progress");
    assert!(said.contains("merge --continue"), "{said}");
    repo.sh(repo.main(), "GIT_EDITOR=true git merge --continue")
        .ok();
    repo.agentwt(&["land", "task"]).ok();
    assert_eq!(
        repo.git(&["branch", "--merged", "main", "--list", "topic"])
            .trim(),
        "topic"
    );
}

#[test]
fn a_branch_that_was_renamed_gets_its_name_back_by_what_is_printed() {
    let (repo, dir) = with_work();
    repo.git_in(&dir, &["branch", "-m", "mine"]);
    let said = refused(&repo, &["task"], "it is not on its branch");
    let (_, printed) = said.split_once("where it was renamed: ").expect("a way");
    let way = printed.lines().next().expect("a command");
    let way = way.replace("$TMP/repo", &repo.main().display().to_string());
    repo.sh(repo.main(), &way).ok();
    repo.agentwt(&["land", "task"]).ok();
    assert_landed(&repo);
}

#[test]
fn a_change_of_a_file_that_the_base_branch_renamed_stays_in_the_scope() {
    for (options, to, lands) in [
        (&[][..], "secrets/moved.rs", false),
        (&["--squash"], "docs/moved.rs", false),
        (&["--rebase"], "docs/moved.rs", false),
        (&["-n"], "docs/moved.rs", false),
        (&[], "src/moved.rs", true),
    ] {
        let repo = TestRepo::project();
        let lines: String = (0..40).map(|number| format!("line {number}\n")).collect();
        repo.write("src/long.rs", &lines);
        repo.commit_all("long");
        let dir = repo.add("task");
        repo.sh(&dir, "echo agent >>src/long.rs; git commit -qam edit")
            .ok();
        repo.sh(
            repo.main(),
            &format!("git mv src/long.rs {to}; git commit -qm move"),
        )
        .ok();
        let said = repo.agentwt(&[&["land", "task"], options].concat());
        if lands {
            said.ok();
            continue;
        }
        let words = format!("does not let it write:\n  {to}");
        assert!(said.fails(4).stderr.contains(&words), "{options:?}: {said}");
        repo.git_in(&dir, &["merge", "-q", "main"]);
        repo.agentwt(&["verify", "task"]).fails(1);
    }
}

#[test]
fn a_base_branch_that_is_not_checked_out_moves_alone() {
    for head in ["-qc other", "-q --detach"] {
        let (repo, _) = with_work();
        repo.sh(repo.main(), &format!("git switch {head}")).ok();
        repo.write("docs/api.md", "edited\n");
        let before = repo.git(&["rev-parse", "HEAD"]);
        repo.agentwt(&["land", "task"]).ok();
        assert_eq!(repo.git(&["rev-parse", "HEAD"]), before);
        assert_eq!(repo.git(&["status", "--porcelain"]), " M docs/api.md");
        assert_eq!(log(&repo).lines().count(), 3);
        let logged = repo.git(&["reflog", "-1", "--format=%gs", "main"]);
        assert_eq!(logged, "merge agentwt/task: landed by git-agentwt");
    }
}

#[test]
fn a_base_branch_in_another_worktree_moves_with_that() {
    let (repo, _) = with_work();
    repo.git(&["switch", "-qc", "other"]);
    repo.git(&["worktree", "add", "-q", "../second", "main"]);
    repo.agentwt(&["land", "task"]).ok();
    let second = repo.root().join("second");
    assert!(second.join("src/two.rs").exists());
    assert_eq!(repo.git_in(&second, &["status", "--porcelain"]), "");
}

#[test]
fn a_base_branch_that_is_rebased_is_left_alone() {
    let (repo, _) = with_work();
    go_on(&repo);
    repo.sh(
        repo.main(),
        "git rebase -q -x false HEAD~ 2>/dev/null; test -d .git/rebase-merge",
    )
    .ok();
    refused(&repo, &["task"], "main is being rebased");
}

#[test]
fn a_base_branch_that_is_gone_is_one_error() {
    let (repo, _) = with_work();
    repo.sh(repo.main(), "git switch -qc other; git branch -qD main")
        .ok();
    let said = refused(&repo, &["task"], "its base main is not another branch here");
    assert!(said.contains("git branch main "), "{said}");
}

#[test]
fn head_must_be_on_the_branch_that_is_landed() {
    let (repo, dir) = with_work();
    repo.git_in(&dir, &["switch", "-q", "--detach"]);
    let before = state(&repo);
    let said = repo.agentwt(&["land", "task"]);
    assert!(matches!(said.status, 1 | 4), "{said}");
    let is_told = said.to_string().contains("not on");
    assert!(is_told, "{said}");
    assert_eq!(state(&repo), before);
}

#[test]
fn an_agent_does_not_land_its_own_work() {
    let (repo, dir) = with_work();
    let before = state(&repo);
    for keep in [&[][..], &["--keep"]] {
        let said = repo.agentwt_in(&dir.join("src"), &[&["land", "task"], keep].concat());
        assert_eq!(said.status, 4, "{said}");
        assert!(
            said.stderr.contains("an agent does not run this command"),
            "{said}"
        );
    }
    assert_eq!(state(&repo), before);
}

#[test]
fn a_worktree_in_use_stays_and_can_be_landed_all_the_same() {
    let (repo, dir) = with_work();
    repo.git(&["worktree", "lock", ".agentwt/worktrees/task"]);
    let said = refused(&repo, &["task"], "it is locked");
    assert!(said.contains("git agentwt land --keep task"), "{said}");
    repo.agentwt(&["land", "--keep", "task"]).ok();
    assert!(dir.exists());
    assert_eq!(log(&repo).lines().count(), 3);
}

#[test]
fn a_commit_that_a_hook_adds_after_the_merge_is_landed_with_it() {
    let (repo, dir) = with_work();
    let script = "#!/bin/sh\necho 1 >generated; git add generated; git commit -qm generated\n";
    repo.write(".git/hooks/post-merge", script);
    chmod(&repo.main().join(".git/hooks/post-merge"), 0o755);
    repo.agentwt(&["accept", "task", "--shared"]).ok();
    let said = repo.agentwt(&["land", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stdout.contains("landed task in main"), "{said}");
    assert!(log(&repo).contains("generated"), "{said}");
    assert!(!dir.exists(), "{said}");
}

#[test]
fn the_message_passes_the_hooks_of_the_user() {
    let (repo, _) = with_work();
    go_on(&repo);
    let hook = repo.main().join(".git/hooks/commit-msg");
    // it counts letters in the locale of the user, whose git speaks English here
    let script = "#!/bin/sh\ngrep -q ^Merge \"$1\" || { echo 'no ticket' >&2; exit 1; }
        echo \"Ticket: 1 ${LC_ALL:-${LC_CTYPE:-$LANG}} $LC_MESSAGES\" >>\"$1\"\n";
    repo.write(".git/hooks/commit-msg", script);
    chmod(&hook, 0o755);
    repo.agentwt(&["accept", "task", "--shared"]).ok();
    let said = refused(
        &repo,
        &["-m", "Other words", "task"],
        "your hook commit-msg refuses: no ticket",
    );
    let again = "(-m <message>): git agentwt land -m 'Other words' task";
    assert!(said.contains(again), "{said}");
    repo.agentwt(&["land", "task"]).ok();
    assert_landed(&repo);
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert_eq!(message, "Merge branch 'agentwt/task'\nTicket: 1 C.UTF-8 C");
}

#[test]
fn a_user_without_a_name_is_told_so() {
    let (repo, _) = with_work();
    go_on(&repo);
    let before = state(&repo);
    repo.sh(
        repo.root(),
        "git config --global --unset user.email; git config --global user.useConfigOnly true",
    )
    .ok();
    let said = repo.agentwt(&["land", "task"]);
    assert_eq!(said.status, 5, "{said}");
    assert!(said.stderr.contains("Please tell me who you are"), "{said}");
    assert_eq!(state(&repo), before);
}

#[test]
fn commits_are_signed_where_the_user_signs() {
    let (repo, _) = with_work();
    go_on(&repo);
    repo.write(
        "../sign",
        "#!/bin/sh\ncat >/dev/null\nprintf '[GNUPG:] SIG_CREATED \\n' >&2\necho 'a signature'\n",
    );
    chmod(&repo.root().join("sign"), 0o755);
    let sign = repo.root().join("sign").display().to_string();
    repo.git(&["config", "--global", "gpg.program", &sign]);
    repo.git(&["config", "--global", "commit.gpgSign", "true"]);
    repo.agentwt(&["land", "--rebase", "task"]).ok();
    for commit in ["main", "main~"] {
        let raw = repo.git(&["cat-file", "commit", commit]);
        assert!(raw.contains("gpgsig a signature"), "{raw}");
    }
}

#[test]
fn the_work_of_a_clone_is_fetched_first() {
    for options in [&[][..], &["--squash"], &["--rebase"]] {
        let repo = TestRepo::project();
        repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", "clone"])
            .ok();
        let dir = repo.worktree("task");
        work(&repo, &dir, "one");
        work(&repo, &dir, "two");
        go_on(&repo);
        let before = state(&repo);
        repo.agentwt(&[&["land", "-n", "task"], options].concat())
            .ok();
        assert_eq!(state(&repo), before);
        repo.agentwt(&[&["land", "task"], options].concat()).ok();
        assert_landed(&repo);
    }
}

#[test]
fn a_conflict_in_a_clone_is_resolved_there() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "src/**", "--strategy", "clone"])
        .ok();
    let dir = repo.worktree("task");
    work(&repo, &dir, "one");
    work(&repo, &dir, "two");
    repo.write("src/one.rs", "another\n");
    repo.commit_all("on main");
    let said = refused(&repo, &["task"], "it conflicts with main");
    let resolve = said.split("in the worktree: ").nth(1).expect("commands");
    let resolve = resolve.split(", edit").next().expect("commands");
    let resolve = resolve.replace("$TMP", &repo.root().display().to_string());
    let line = format!(
        "{resolve} >&2; cd .agentwt/worktrees/task; echo one >src/one.rs; git add -A; git commit -qm both"
    );
    repo.sh(repo.main(), &line).ok();
    repo.agentwt(&["land", "task"]).ok();
    assert_landed(&repo);
}

#[test]
fn a_branch_lands_where_the_repository_is_bare() {
    let repo = TestRepo::project();
    repo.git_in(
        repo.root(),
        &["clone", "-q", "--bare", "repo", "project/.bare"],
    );
    let project = repo.root().join("project");
    let bare = project.join(".bare");
    repo.git_in(&bare, &["worktree", "add", "-q", "../m", "main"]);
    let m = project.join("m");
    for name in ["one", "two"] {
        repo.agentwt_in(&m, &["add", name, "--write", "src/**"])
            .ok();
        work(&repo, &project.join(".agentwt/worktrees").join(name), name);
    }
    repo.agentwt_in(&m, &["land", "one"]).ok();
    assert!(m.join("src/one.rs").exists());
    repo.git_in(&bare, &["worktree", "remove", "../m"]);
    repo.agentwt_in(&bare, &["land", "two"]).ok();
    let log = repo.git_in(&bare, &["log", "--format=%s", "main"]);
    assert_eq!(log.lines().count(), 4, "{log}");
}

#[test]
fn a_branch_lands_where_refs_are_tables() {
    let probe = TestRepo::empty();
    let made = probe.try_git(
        probe.root(),
        &["init", "-q", "--ref-format=reftable", "probe"],
    );
    if made.status != 0 {
        return;
    }
    let repo = TestRepo::empty_with(&["--ref-format=reftable"]);
    repo.fill();
    let dir = repo.add("task");
    work(&repo, &dir, "one");
    work(&repo, &dir, "two");
    go_on(&repo);
    repo.agentwt(&["land", "task"]).ok();
    assert!(repo.main().join("src/two.rs").exists());
    repo.git(&["switch", "-q", "--detach"]);
    let add = ["add", "next", "--base", "main", "--write", "src/**"];
    repo.agentwt(&add).ok();
    let dir = repo.worktree("next");
    work(&repo, &dir, "three");
    repo.agentwt(&["land", "next"]).ok();
    assert!(log(&repo).contains("add three"), "{}", log(&repo));
}

#[test]
fn no_more_is_merged_than_was_verified() {
    // commits that the user took out of main
    let repo = TestRepo::project();
    go_on(&repo);
    let dir = repo.add("task");
    work(&repo, &dir, "one");
    work(&repo, &dir, "two");
    repo.git(&["reset", "-q", "--hard", "HEAD~"]);
    let said = refused(&repo, &["task"], "main does not have its base ");
    assert!(said.contains("rebase --onto main"), "{said}");
    // commits that a branch had before it was added
    let repo = TestRepo::project();
    repo.sh(
        repo.main(),
        "git switch -qc topic; echo x >README.md; git commit -qam x; git switch -q main",
    )
    .ok();
    repo.agentwt(&["add", "task", "-b", "topic", "--write", "src/**"])
        .ok();
    work(&repo, &repo.worktree("task"), "one");
    let said = refused(&repo, &["task"], "main does not have its base ");
    // as the user agrees to those
    let merge = said.split("merge that first: ").nth(1).expect("a command");
    let merge = merge.split(';').next().expect("a command");
    repo.sh(repo.main(), &format!("{merge} >&2")).ok();
    repo.agentwt(&["land", "task"]).ok();
    assert!(log(&repo).starts_with("Ada add one"), "{}", log(&repo));
}

#[test]
fn an_object_that_stands_for_another_is_not_merged() {
    let (repo, _) = with_work();
    go_on(&repo);
    let shim = Shim::new(
        repo.root(),
        "(unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES; PATH=${PATH#*:}; \
            echo evil >README.md; git commit -qam evil; git replace agentwt/task HEAD; \
            git reset -q --hard HEAD~) >&2;",
    );
    let said = shim.run_at_words(&repo, &["land", "task"], "merge-tree");
    assert_eq!(said.status, 0, "{said}");
    assert_landed(&repo);
    let readme = std::fs::read_to_string(repo.main().join("README.md"));
    assert_eq!(readme.expect("a file"), "read me\n");
}

/// Git leaves out of a sparse worktree what its patterns leave out, and so does a landing.
#[test]
fn a_main_worktree_that_is_sparse_gets_what_its_patterns_show() {
    for way in ["--cone --no-sparse-index", "--cone --sparse-index"] {
        let repo = TestRepo::project();
        let line = "mkdir src/in src/out; echo 1 >src/in/old; echo 1 >src/out/old
            git add -A; git commit -qm more";
        repo.sh(repo.main(), line).ok();
        let line = format!("git sparse-checkout set {way} src/in");
        repo.sh(repo.main(), &line).ok();
        let dir = repo.add("task");
        let line = "for d in in out; do echo 2 >src/$d/old; echo 2 >src/$d/new; done
            git add -A; git commit -qm both";
        repo.sh(&dir, line).ok();
        let said = repo.agentwt(&["land", "task"]);
        assert_eq!(said.status, 0, "{way}: {said}");
        let files = repo.sh(repo.main(), "cd src; ls -d in/* out; cat in/*");
        assert_eq!(files.stdout, "in/new\nin/old\n2\n2\n", "{way}: {files}");
        assert_eq!(repo.git(&["show", "main:src/out/new"]), "2", "{way}");
        assert_eq!(repo.git(&["status", "--porcelain"]), "", "{way}");
    }
}

#[test]
fn a_filter_that_fails_is_told_in_the_words_of_git() {
    let repo = TestRepo::project();
    let line = "git config filter.bad.smudge false; git config filter.bad.clean cat
        git config filter.bad.required true; echo '*.bad filter=bad' >.git/info/attributes";
    repo.sh(repo.main(), line).ok();
    let dir = repo.add("task");
    let line = "echo new >src/new.bad; git add -A; git commit -qm new";
    repo.sh(&dir, line).ok();
    let said = refused(&repo, &["task"], "external filter 'false' failed");
    assert!(!said.contains("room"), "{said}");
    assert!(!said.contains("df -h"), "{said}");
}

#[test]
fn a_link_that_becomes_a_directory_does_not_stand_in_the_way() {
    let repo = TestRepo::project();
    let line = "mkdir src/d; echo theirs >src/d/x; ln -s d src/a; git add -A; git commit -qm link";
    repo.sh(repo.main(), line).ok();
    let dir = repo.add("task");
    let line = "rm src/a; mkdir src/a; echo new >src/a/x; git add -A; git commit -qm directory";
    repo.sh(&dir, line).ok();
    let said = repo.agentwt(&["land", "task"]);
    assert_eq!(said.status, 0, "{said}");
    let files = repo.sh(repo.main(), "cat src/a/x src/d/x").ok();
    assert_eq!(files, "new\ntheirs", "{said}");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_ignored_file_or_link_where_a_directory_is_to_be_stands_in_the_way() {
    for mine in ["echo mine >src/one", "ln -s ../docs src/one"] {
        let repo = TestRepo::project();
        let dir = repo.add("task");
        let line = "mkdir src/one; echo new >src/one/x; git add -A; git commit -qm new";
        repo.sh(&dir, line).ok();
        let line = format!("echo /src/one >>.git/info/exclude; {mine}");
        repo.sh(repo.main(), &line).ok();
        let words = "untracked files would be overwritten in $TMP/repo:\n  src/one\n";
        let said = repo.agentwt(&["land", "task"]);
        assert_eq!(said.status, 4, "{said}");
        assert!(said.stderr.contains(words), "{said}");
        let kept = repo.sh(repo.main(), "test -L src/one || cat src/one");
        assert_eq!(kept.status, 0, "{kept}");
    }
}

/// Git itself names the git directory as the main worktree there.
#[test]
fn a_main_worktree_with_its_git_directory_elsewhere() {
    let repo = TestRepo::project();
    repo.git(&["init", "-q", "--separate-git-dir", "../elsewhere.git"]);
    let dir = repo.add("task");
    work(&repo, &dir, "one");
    work(&repo, &dir, "two");
    repo.write("docs/api.md", "edited\n");
    let said = repo.agentwt(&["land", "task"]);
    assert_eq!(said.status, 4, "{said}");
    let words = "main is checked out in $TMP/repo, which has uncommitted changes";
    assert!(said.stderr.contains(words), "{said}");
    repo.git(&["checkout", "-q", "."]);
    repo.agentwt(&["land", "task"]).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert!(repo.main().join("src/two.rs").exists());
    assert!(!repo.worktree("task").exists());
}

#[test]
fn a_submodule_is_landed_in_like_any_repository() {
    let repo = TestRepo::with_submodule();
    let lib = repo.main().join("vendor/lib");
    repo.git_in(&lib, &["switch", "-qC", "main"]);
    repo.agentwt_in(&lib, &["add", "task", "--write", "**"])
        .ok();
    let dir = lib.join(".agentwt/worktrees/task");
    let line = "echo one >one.rs; git add -A; git commit -qm 'add one'";
    repo.sh(&dir, line).ok();
    repo.agentwt_in(&lib, &["land", "task"]).ok();
    assert!(lib.join("one.rs").exists());
    assert!(!dir.exists());
}

#[test]
fn what_is_not_committed_in_a_submodule_is_named_before_the_commit_around_it() {
    let repo = TestRepo::with_submodule();
    repo.sh(
        repo.main(),
        "git config --global protocol.file.allow always",
    )
    .ok();
    repo.agentwt(&["add", "task", "--write", "**"]).ok();
    let worktree = repo.worktree("task");
    let fill = "git submodule --quiet update --init; echo new >vendor/lib/new.c";
    repo.sh(&worktree, fill).ok();
    let refused = repo.agentwt(&["land", "task"]);
    let printed = "task/vendor/lib status, and commit or remove";
    assert!(refused.fails(4).stderr.contains(printed), "{refused}");
    repo.sh(
        &worktree.join("vendor/lib"),
        "git add -A; git commit -qm new",
    )
    .ok();
    repo.sh(&worktree, "git add -A && git commit -qm lib").ok();
    repo.agentwt(&["land", "--keep", "task"]).ok();
}

#[test]
fn what_a_rule_of_the_branch_ignores_is_not_to_be_committed() {
    let (repo, worktree) = TestRepo::task_after(
        "echo dist/ >src/.gitignore; git add src/.gitignore; git commit -qm ignore
        mkdir src/dist; echo 1 >src/dist/out",
    );
    let refused = repo.agentwt(&["land", "task"]);
    refused.fails(4);
    assert!(!refused.stderr.contains("add -A"), "{refused}");
    let printed = "git agentwt land --keep task";
    assert!(refused.stderr.contains(printed), "{refused}");
    repo.agentwt(&["land", "--keep", "task"]).ok();
    assert_eq!(repo.git(&["log", "-1", "--format=%s", "main"]), "ignore");
    assert!(worktree.join("src/dist/out").exists());
}
