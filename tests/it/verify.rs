//! `verify` and `changed`: what they say, in every form, from everywhere, and what they do when
//! something cannot be read.

use insta::assert_snapshot;

use crate::support::TestRepo;

mod answers;
mod changed;
mod from_where;
mod unreadable;

/// A worktree after an edit in scope, one out of it, a new file, and a notice.
#[track_caller]
fn with_violations() -> (TestRepo, std::path::PathBuf) {
    let (repo, worktree) = TestRepo::with_task();
    let script = "echo more >>src/main.rs; chmod u+w README.md; echo more >>README.md
        git commit -q -a -m work; echo n >docs/new.md; mkdir -p secrets; echo k >secrets/k
        chmod u+w docs/api.md";
    assert_eq!(repo.sh(&worktree, script).status, 0);
    (repo, worktree)
}

/// The one fixed test that holds the shape of verification: what git itself can be made to
/// believe is not what we believe.
#[test]
fn forged_stat_data_assume_unchanged_an_amended_base_and_a_replaced_base_are_each_reported() {
    // same size, mtime put back: git compares whole seconds, and with core.trustctime=false no
    // change time at all
    for trust in ["true", "false"] {
        let (repo, worktree) = TestRepo::with_task();
        let script = format!(
            "git config core.trustctime {trust}; git status >/dev/null
            touch -r README.md ../stamp; chmod u+w README.md; printf 'READ ME\\n' >README.md
            touch -r ../stamp README.md; chmod a-w README.md; git status >/dev/null"
        );
        repo.script(&worktree, &script);
        assert_eq!(
            repo.findings(&worktree),
            "README.md modified read-only violation\n@git/config config shared violation\n",
            "core.trustctime={trust}"
        );
    }
    let (repo, worktree) = TestRepo::with_task();
    let script = "git update-index --assume-unchanged README.md
        chmod u+w README.md; echo more >>README.md; test -z \"$(git status --porcelain)\"";
    repo.script(&worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    README.md modified read-only violation
    @wt/index integrity integrity violation
    ");

    let (repo, worktree) = TestRepo::with_task();
    let script = "chmod u+w README.md; echo more >>README.md; git commit -q -a --amend --no-edit
        test \"$(git rev-list --count HEAD)\" = 1";
    repo.script(&worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    README.md modified read-only violation
    @head ref integrity violation
    ");

    // git now shows the agent's commit wherever the base is named
    let (repo, worktree) = TestRepo::with_task();
    let script =
        "base=$(git rev-parse HEAD); chmod u+w README.md; echo more >>README.md; git add -A
        git replace $base $(git commit-tree -m base $(git write-tree))
        test -z \"$(git diff $base)\"";
    repo.script(&worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    README.md modified read-only violation
    @git/refs/replace ref shared violation
    ");
    repo.script(
        &worktree,
        "GIT_NO_REPLACE_OBJECTS=1 git commit -q -m work; test -z \"$(git diff HEAD~)\"",
    );
    assert_snapshot!(repo.findings(&worktree), @"
    README.md modified read-only violation
    @git/refs/replace ref shared violation
    ");
}
