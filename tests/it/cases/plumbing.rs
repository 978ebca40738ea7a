//! What plumbing and other commands bring into HEAD, the branch and the index.

use insta::assert_snapshot;

use super::{Case, after};
use crate::support::TestRepo;

/// A project with a branch `topic` that adds a file outside of the scope.
fn with_topic() -> Case {
    let repo = TestRepo::project();
    let script = "git switch -q -c topic; echo topic >docs/topic.md; git add -A; git commit -q -m topic; git switch -q main";
    repo.sh(repo.main(), script).ok();
    Case::of(repo)
}

#[track_caller]
fn with_topic_after(script: &str) -> String {
    with_topic().does(script).findings()
}

#[test]
fn head_pointed_at_another_branch_is_found() {
    assert_snapshot!(with_topic_after("git symbolic-ref HEAD refs/heads/topic"), @"@head ref integrity violation");
}

#[test]
fn head_overwritten_with_a_commit_is_found() {
    assert_snapshot!(with_topic_after("c=$(git rev-parse topic); echo $c >\"$(git rev-parse --git-path HEAD)\""), @"@head ref integrity violation");
}

#[test]
fn a_branch_that_was_renamed_is_found() {
    assert_snapshot!(after("git branch -m other"), @"
    @git/refs/heads/other ref shared notice
    @head ref integrity notice
    ");
}

#[test]
fn foreign_work_is_found_however_it_came() {
    for script in [
        "git merge -q --squash topic",
        "git merge -q --squash topic; git commit -q -m squashed",
        "git cherry-pick -n topic",
        "git checkout -q topic -- docs/topic.md",
        "git restore --source=topic docs/topic.md",
        "git diff main topic | git apply",
        "git diff main topic | git apply --index",
        "git format-patch -q -1 topic --stdout | git am -q",
        "git read-tree topic",
        "git rebase -q topic",
    ] {
        let findings = with_topic_after(script);
        let expected = "docs/topic.md created read-only violation\n";
        assert!(findings.starts_with(expected), "{script}: {findings}");
    }
}

/// Git takes no such path, to the disk or to an index: it is another directory there.
#[test]
fn a_tree_with_a_name_that_git_takes_nowhere_cannot_be_read() {
    for name in ["..", ".git", ".GIT"] {
        let case = Case::new();
        // a name of the same length that sorts first, as `git mktree` makes no such tree
        let script = "h=$(echo evil | git hash-object -w --stdin)
            s=$(printf \"100644 blob $h\\tconfig\\n\" | git mktree)
            t=$({ git ls-tree HEAD:src; printf \"040000 tree $s\\tPLAIN\\n\"; } | git mktree)
            git cat-file tree $t | LC_ALL=C sed 's/ PLAIN/ NAME/' >\"$MAIN/../raw\"
            t=$(git hash-object -t tree -w --literally \"$MAIN/../raw\")
            git ls-tree --name-only $t | grep -qFx NAME
            r=$(git ls-tree HEAD | sed \"s/tree [0-9a-f]*\\tsrc$/tree $t\\tsrc/\" | git mktree)
            git update-ref HEAD $(git commit-tree -p HEAD -m evil $r)";
        let plain = name.replace('.', "0");
        case.does(&script.replace("PLAIN", &plain).replace("NAME", name));
        let add = [
            "add",
            "other",
            "--base",
            "agentwt/task",
            "--write",
            "src/**",
        ];
        for arguments in [&["verify", "task"][..], &add] {
            let said = case.repo.agentwt(arguments);
            let why = "it has a name that no tree may have";
            assert!(said.fails(5).stderr.contains(why), "{name}: {said}");
        }
        assert!(!case.repo.worktree("other").exists(), "{name}");
    }
}

#[test]
fn commits_made_without_a_worktree_are_found() {
    let import = "printf 'commit refs/heads/agentwt/task\\ncommitter a <a@example.invalid> 0 +0000\\ndata 1\\nx\\nfrom %s\\nM 644 inline README.md\\ndata 2\\nxx\\n' \
        $(git rev-parse HEAD) | git fast-import --quiet --force";
    assert_snapshot!(after(import), @"README.md modified read-only violation");
    let again =
        "edit README.md; git add README.md; t=$(git write-tree); c=$(git commit-tree -m a $t)
        c=$(git commit-tree -m b -p $c $t); git reset -q --soft $c";
    assert_snapshot!(after(again), @"
    README.md modified read-only violation
    @head ref integrity violation
    ");
}

#[test]
fn an_index_that_was_emptied_deletes_what_is_outside_of_the_scope() {
    let findings = after("git read-tree --empty");
    assert!(
        findings.contains("README.md deleted read-only violation\n"),
        "{findings}"
    );
    assert!(
        findings.contains("secrets/key.pem deleted excluded violation\n"),
        "{findings}"
    );
    assert!(!findings.contains("src/"), "{findings}");
}

#[test]
fn an_index_of_another_version_is_read() {
    for version in ["2", "3", "4"] {
        let findings = after(&format!(
            "git update-index --index-version {version}; git update-index --chmod=+x README.md"
        ));
        assert_eq!(
            findings, "README.md mode read-only violation\n",
            "{version}"
        );
    }
}

#[test]
fn a_submodule_moved_in_the_index_is_found_whatever_is_ignored() {
    let repo = TestRepo::project();
    let script = "git init -q ../lib; git -C ../lib commit -q --allow-empty -m lib
        git submodule --quiet add ../lib vendor/lib; git commit -q -m lib";
    repo.sh(repo.main(), script).ok();
    let case = Case::of(repo);
    case.does("git config --worktree submodule.vendor/lib.ignore all; git update-index --cacheinfo 160000,$(git rev-parse HEAD),vendor/lib");
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    @wt/config.worktree config integrity violation
    ");
}

/// Neither git nor gix computes the id of what they read: the edit could be put back later.
#[test]
fn an_object_that_is_not_what_its_name_says_gives_no_verdict() {
    for (what, id) in [
        ("tree", "$(git rev-parse HEAD^{tree})"),
        ("commit", "$(git rev-parse HEAD)"),
    ] {
        let case = Case::new();
        case.does(&format!(
            "edit README.md; commit; id={id}; file=$MAIN/.git/objects/${{id%${{id#??}}}}/${{id#??}}
            old=$(git rev-parse {}); rm -f $file; cp $MAIN/.git/objects/${{old%${{old#??}}}}/${{old#??}} $file",
            id.trim_start_matches("$(git rev-parse ")
                .trim_end_matches(')')
                .replace("HEAD", "HEAD~1"),
        ));
        let verified = case.repo.agentwt(&["verify", "task"]);
        assert_eq!(verified.status, 5, "{what}: {verified}");
        assert!(verified.stderr.contains(what), "{verified}");
    }
}
