//! What several worktrees share: refs, hooks, settings, worktrees, and the files of the main one.

use insta::assert_snapshot;

use super::{Case, after};
use crate::support::TestRepo;

/// A repository with a remote and a stash and a tag of the user's.
#[track_caller]
fn with_remote() -> Case {
    let repo = TestRepo::project();
    let origin = repo.root().join("origin.git").display().to_string();
    repo.git(&["init", "-q", "--bare", &origin]);
    repo.git(&["remote", "add", "origin", &origin]);
    repo.git(&["tag", "v1"]);
    repo.git(&["push", "-q", "-u", "origin", "main", "v1"]);
    repo.sh(repo.main(), "echo mine >>README.md; git stash -q")
        .ok();
    Case::of(repo)
}

// ---- refs ------------------------------------------------------------------------------------

#[test]
fn refs_that_were_there_and_are_moved_from_the_worktree_are_violations() {
    assert_snapshot!(after("edit src/main.rs; commit; git tag v1; git branch side; git notes add -m hi"), @"
    @git/refs/heads/side ref shared notice
    @git/refs/notes/commits ref shared notice
    @git/refs/tags/v1 ref shared notice
    ");
    let case = with_remote();
    case.does("edit src/main.rs; commit; git tag -f v1 >/dev/null; git tag other main");
    assert_snapshot!(case.findings(), @"
    @git/refs/tags/v1 ref shared violation
    @git/refs/tags/other ref shared notice
    ");
    case.does("git tag -d v1 >/dev/null; git tag -d other >/dev/null");
    assert_snapshot!(case.findings(), @"@git/refs/tags/v1 ref shared violation");
    case.main_does("git fetch -q --tags");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn the_branch_of_another_worktree_is_not_this_ones_to_move() {
    let case = Case::new();
    case.repo.add("other");
    case.does("edit src/main.rs; commit; git update-ref refs/heads/agentwt/other HEAD");
    assert_snapshot!(case.findings(), @"
    @git/refs/heads/agentwt/other ref shared violation
    ");
}

#[test]
fn fetching_pushing_the_own_branch_and_packing_are_everyday_work() {
    let case = with_remote();
    case.does(
        "upstream; (cd $MAIN; git tag v2; git push -q origin main main:topic v2; git tag -d v2)
        edit src/mod/util.rs; commit; git fetch -q --prune; git rebase -q origin/main
        git push -q -u origin HEAD; git pull -q --rebase origin main; git pack-refs --all; git -c gc.reflogExpire=never gc -q",
    );
    assert_snapshot!(case.findings(), @"
    @git/refs/tags/v2 ref shared notice
    ");
    // the user moves on, with packed refs
    case.main_does(
        "git tag -d v2; git branch -q later; git tag -d v1; git commit -q --allow-empty -m x",
    );
    assert_snapshot!(case.findings(), @"");
    case.does("git push -q origin HEAD:topic");
    assert_snapshot!(case.findings(), @"@git/refs/remotes/origin/topic ref shared violation");
}

#[test]
fn a_stash_is_a_notice_and_the_loss_of_another_ones_a_violation() {
    let case = with_remote();
    case.does("edit src/main.rs; git stash -q");
    assert_snapshot!(case.findings(), @"@git/refs/stash ref shared notice");
    case.does("git stash pop -q; git restore .");
    assert_snapshot!(case.findings(), @"");
    case.does("git stash drop -q");
    assert_snapshot!(case.findings(), @"@git/refs/stash ref shared violation");
}

#[test]
fn upstream_that_the_worktree_brought_into_main_itself_is_told_from_its_own_work() {
    let case = with_remote();
    case.does(
        "git clone -q $MAIN/../origin.git $MAIN/../elsewhere
        (cd $MAIN/../elsewhere; echo up >docs/up.md; git add -A; git commit -q -m up; git push -q)
        git fetch -q origin; git update-ref refs/heads/main origin/main; git merge -q main",
    );
    // moving main is not this worktree's to do, but what came with it is upstream's
    assert_snapshot!(case.findings(), @"@git/refs/heads/main ref shared violation");
}

#[test]
fn a_main_that_was_moved_from_here_and_goes_on_hides_nothing() {
    let case = Case::new();
    case.does("edit README.md; commit; git update-ref refs/heads/main HEAD");
    case.main_does("git reset -q --hard; git commit -q --allow-empty -m on-top");
    case.does("git merge -q main");
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    @git/refs/heads/main ref shared notice
    ");
}

#[test]
fn a_replaced_object_is_a_violation_whoever_did_it() {
    let case = Case::new();
    case.main_does("git replace HEAD $(git commit-tree -m x HEAD^{tree})");
    assert_snapshot!(case.findings(), @"@git/refs/replace ref shared violation");
}

#[test]
fn worktrees_made_from_the_worktree_are_notices() {
    for (version, bin) in crate::support::gits() {
        let repo = TestRepo::project().with_git(&bin);
        let case = Case::of(repo);
        case.does(
            "git worktree add -q --detach $MAIN/../one; git worktree add -q -b two $MAIN/../two",
        );
        let expected = "@git/refs/heads/two ref shared notice\n\
            @git/worktrees/one worktree shared notice\n\
            @git/worktrees/two worktree shared notice\n";
        assert_eq!(case.findings(), expected, "{version}");
    }
    let case = Case::new();
    case.main_does("git worktree add -q $MAIN/../one");
    case.repo.add("other");
    assert_snapshot!(case.findings(), @"");
}

// ---- hooks -----------------------------------------------------------------------------------

const HOOK: &str = "hook() { printf '#!/bin/sh\\nexit 0\\n' >\"$1\"; chmod +x \"$1\"; }; ";

#[test]
fn hooks_that_everybody_runs_are_watched() {
    let case = Case::new();
    case.main_does(&format!("{HOOK} hook .git/hooks/post-commit"));
    assert_snapshot!(case.findings(), @"@git/hooks/post-commit hook shared violation");
    case.repo.agentwt(&["accept", "task", "--shared"]).ok();
    assert_snapshot!(case.findings(), @"");
    case.main_does("echo 'rm -rf /' >>.git/hooks/post-commit");
    assert_snapshot!(case.findings(), @"@git/hooks/post-commit hook shared violation");
    case.main_does("chmod -x .git/hooks/post-commit");
    assert_snapshot!(case.findings(), @"@git/hooks/post-commit hook shared notice");
    let case = Case::new();
    case.main_does("cp .git/HEAD .git/hooks/README; cp .git/HEAD .git/hooks/update.sample");
    assert_snapshot!(case.findings(), @"@git/hooks/README hook shared notice");
}

#[test]
fn hooks_in_a_directory_of_their_own_are_watched() {
    let repo = TestRepo::project();
    repo.sh(
        repo.main(),
        "echo .husky/_/ >>.git/info/exclude; git config core.hooksPath .husky/_; mkdir -p .husky/_",
    )
    .ok();
    let case = Case::of(repo);
    case.main_does(&format!("{HOOK} hook .husky/_/pre-commit"));
    assert_snapshot!(case.findings(), @"@main/.husky/_/pre-commit hook shared violation");
}

// ---- settings --------------------------------------------------------------------------------

#[test]
fn settings_that_run_something_or_hide_something_are_violations() {
    for setting in [
        "alias.st '!rm'",
        "core.sshCommand x",
        "filter.a.clean x",
        "core.fileMode false",
        "core.hooksPath x",
    ] {
        let case = Case::new();
        case.main_does(&format!("git config {setting}"));
        assert_eq!(
            case.findings(),
            "@git/config config shared violation\n",
            "{setting}"
        );
        case.repo.agentwt(&["accept", "task", "--shared"]).ok();
        assert_eq!(case.findings(), "", "{setting}");
    }
    let case = Case::new();
    case.main_does("git config user.name other; git config alias.x '!y'");
    assert_snapshot!(case.repo.agentwt(&["verify", "task"]), @"
    NO task: 1 violation, 1 notice, 0 paths changed
      !  config  @git/config  disk  alias.x was added: !y (git can run a program by it)
      -  config  @git/config  disk  user.name was added: other
    --- stderr
    to remove a setting that was added: git -C $TMP/repo/.agentwt/worktrees/task config --unset-all alias.x
    to accept the shared settings and hooks for all worktrees: git agentwt accept task --shared
    --- status 1
    ");
}

#[test]
fn settings_of_everyday_work_are_notices() {
    let case = Case::new();
    case.main_does(
        "git config branch.main.remote origin; git config remote.origin.url x
        git config submodule.lib.url y; git config extensions.worktreeConfig true",
    );
    // each is a notice, but for what `add` itself sets
    assert_snapshot!(case.findings(), @"
    @git/config config shared notice
    @git/config config shared notice
    @git/config config shared notice
    ");
}

#[test]
fn an_included_file_is_read_as_git_reads_it() {
    let repo = TestRepo::project();
    repo.sh(repo.main(), "git config include.path more; echo >.git/more")
        .ok();
    let case = Case::of(repo);
    case.main_does("git config --file .git/more alias.x '!y'");
    assert_snapshot!(case.findings(), @"@git/more config shared violation");
}

#[test]
fn a_planted_filter_is_not_started_to_look_at_the_main_worktree() {
    let case = Case::new();
    case.main_does(
        "echo '* filter=evil' >.git/info/attributes; git config filter.evil.clean 'touch ../ran; cat'
        touch README.md; echo x >>docs/api.md",
    );
    case.repo.agentwt(&["verify", "task"]).fails(1);
    case.repo.agentwt(&["list", "--json"]).ok();
    case.repo.agentwt(&["status", "task"]).ok();
    assert!(!case.repo.root().join("ran").exists(), "it ran");
}

// ---- the worktree's own hooks ----------------------------------------------------------------

#[test]
fn a_commit_past_the_hooks_is_told() {
    let case = Case::new();
    case.does("edit src/main.rs; commit");
    assert_snapshot!(case.findings(), @"");
    case.does("edit src/main.rs; git -c core.hooksPath=/dev/null commit -q -a -m quiet");
    assert_snapshot!(case.repo.agentwt(&["verify", "task"]), @"
    NO task: 1 violation, 1 path changed
      !  integrity  @head  disk  commit 12e48e9868 was made without our hooks
    --- stderr
    to accept everything as it is now: git agentwt accept task --all
    --- status 1
    ");
}

#[test]
fn what_the_hooks_are_made_of_is_watched() {
    let admin = "admin=$(git rev-parse --absolute-git-dir); ";
    let after = |script: &str| after(&format!("{admin}{script}"));
    assert_snapshot!(after("rm -r $admin/agentwt"), @"@wt/agentwt integrity integrity violation");
    assert_snapshot!(after("rm $admin/agentwt/journal"), @"@wt/agentwt/journal integrity integrity violation");
    assert_snapshot!(after("echo 'exit 0' >$admin/agentwt/hooks/agentwt.d/post-commit"), @"@wt/agentwt/hooks integrity integrity violation");
    assert_snapshot!(after("touch $admin/index.lock"), @"@wt/index.lock integrity integrity notice");
}

// ---- content ---------------------------------------------------------------------------------

#[test]
fn the_content_of_an_excluded_file_in_another_place_is_a_leak() {
    let repo = TestRepo::project();
    let (main, worktree) = (repo.main().to_owned(), repo.worktree("task"));
    repo.sh(
        &main,
        "mkdir -p a/secrets; echo key >a/secrets/k; echo both >a/secrets/b; echo both >docs/b
        : >a/secrets/empty; git add -A; git commit -q -m secrets",
    )
    .ok();
    repo.add("task");
    let case = Case { repo, worktree };
    case.does("git show HEAD:a/secrets/k >src/k; cp docs/b src/b; : >src/empty");
    assert_snapshot!(case.findings(), @"src/k leak excluded violation");
    case.does("commit; edit src/k");
    assert_snapshot!(case.findings(), @"src/k leak excluded violation");
}

#[test]
fn a_link_that_leads_out_of_the_scope_is_a_notice() {
    assert_snapshot!(after("ln -s mod src/a; ln -s ../docs src/b; ln -s /etc src/c; ln -s ../../.. src/d; ln -s $WT/tests src/e; ln -s nowhere src/f"), @"
    src/b created outside notice
    src/c created outside notice
    src/d created outside notice
    ");
}

/// No text of these links names what is out of the scope.
#[test]
fn a_link_that_leads_out_of_the_scope_through_other_links_is_a_notice() {
    let repo = TestRepo::project();
    let script = "mkdir -p tests/in; ln -s ../docs tests/out; ln -s in tests/near; git add -A; git commit -q -m links";
    repo.sh(repo.main(), script).ok();
    let case = Case::of(repo);
    case.does("ln -s ../tests/out/guide.md src/a; ln -s ../tests src/t; ln -s t/out src/u; ln -s t/near/x src/v");
    assert_snapshot!(case.findings(), @"
    src/a created outside notice
    src/u created outside notice
    ");
}

// ---- the main worktree -----------------------------------------------------------------------

#[test]
fn what_changes_in_the_main_worktree_is_counted_by_status_and_list_only() {
    let case = Case::new();
    case.main_does("echo after >>README.md; echo x >docs/x");
    assert_snapshot!(case.repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed
    --- status 0
    ");
    let counted = |verb: &str| {
        let said = case.repo.agentwt(&[verb, "--json"]).ok();
        let value: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
        value["worktrees"][0]["main_changed"].clone()
    };
    let said = case.repo.agentwt(&["status", "task", "--json"]).ok();
    let value: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    let git = case
        .repo
        .sh(case.repo.main(), "git status --porcelain -uall | wc -l");
    let git: u64 = git.stdout.trim().parse().expect("a number");
    assert_eq!(value["worktrees"][0]["main_changed"], git, "{said}");
    assert_eq!(counted("list"), git);
}

// ---- what was found by breaking in -----------------------------------------------------------

#[test]
fn a_push_to_the_base_branch_is_not_laundered_by_a_fetch() {
    let case = with_remote();
    case.does(
        "base=$(git rev-parse HEAD); edit README.md; commit; git push -q origin HEAD:main
        git update-ref refs/remotes/origin/main $base; git fetch -q",
    );
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    @git/refs/remotes/origin/main ref shared violation
    ");
}

#[test]
fn a_planted_filter_is_not_started_to_tell_what_a_checkout_writes() {
    let repo = TestRepo::project();
    repo.sh(
        repo.main(),
        "printf '*.md text eol=crlf\\n' >.gitattributes; git add -A; git commit -q -m crlf",
    )
    .ok();
    let case = Case::of(repo);
    assert_snapshot!(case.findings(), @"");
    case.main_does(
        "mkdir -p .git/info; echo '*.md filter=evil' >.git/info/attributes
        git config filter.evil.smudge 'touch \"$PWD/ran\"; cat'",
    );
    case.does("edit README.md");
    case.repo.agentwt(&["verify", "task"]).fails(1);
    let ran = case.runs(case.repo.root(), "find . -name ran").ok();
    assert_eq!(ran, "", "it ran");
}

#[test]
fn a_reflog_that_was_made_to_forget_hides_no_history() {
    let case = Case::new();
    case.does(
        "edit README.md; commit; git reset -q --hard HEAD~
        git reflog expire --expire=now --all",
    );
    assert_snapshot!(case.findings(), @"README.md modified history notice");
}

#[test]
fn a_private_git_directory_that_leads_elsewhere_is_found() {
    let case = Case::new();
    case.does("git clone -q --bare $MAIN $MAIN/../copy; echo $MAIN/../copy >$(git rev-parse --absolute-git-dir)/commondir");
    let findings = case.findings();
    assert!(
        findings.contains("@worktree integrity integrity violation"),
        "{findings}"
    );
}

#[test]
fn a_record_that_was_removed_is_a_violation() {
    let case = Case::new();
    case.repo.add("other");
    case.main_does("rm -r .git/agentwt/worktrees/task");
    assert_snapshot!(case.repo.agentwt(&["verify", "task"]), @"
    NO task: 1 violation, 0 paths changed
      !  integrity  @git/agentwt/worktrees/task  disk  the record was removed: what was changed can no
                                                       longer be determined
    --- status 1
    ");
    let inside = case
        .repo
        .agentwt_in(&case.worktree.join("src"), &["verify"]);
    assert_eq!(inside.status, 1, "{inside}");
    let all = case.repo.agentwt(&["verify", "--all", "--porcelain"]);
    assert_eq!(all.status, 1, "{all}");
    assert!(
        all.stdout.starts_with("task\tviolation\tintegrity\t"),
        "{all}"
    );
    let json = case
        .repo
        .agentwt(&["verify", "task", "other", "--json"])
        .stdout;
    let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let base = &value["worktrees"][0]["base"]["commit"];
    assert_eq!(*base, serde_json::Value::Null);
    assert_eq!(value["worktrees"][1]["name"], "other");
    let list = case.repo.agentwt(&["list"]).ok();
    assert!(list.contains("its record was removed"), "{list}");
    let unknown = case.repo.agentwt(&["verify", "nobody"]);
    assert_eq!(unknown.status, 7, "{unknown}");
}

#[test]
fn the_last_report_is_kept() {
    let case = Case::new();
    case.does("edit README.md; git tag v1");
    case.repo.agentwt(&["verify", "task"]).fails(1);
    let json = case.repo.agentwt(&["list", "--json"]).ok();
    let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let findings = &value["worktrees"][0]["verification"]["findings"];
    assert_eq!(findings[0]["place"], "README.md");
    assert_eq!(findings[1]["place"], "@git/refs/tags/v1");
    assert_eq!(findings[1]["level"], "notice");
}

#[test]
fn a_leak_that_was_taken_back_is_in_the_history() {
    let repo = TestRepo::project();
    let worktree = repo.worktree("task");
    repo.sh(
        repo.main(),
        "mkdir -p a/secrets; echo key >a/secrets/k; git add -A; git commit -q -m secrets",
    )
    .ok();
    repo.add("task");
    let case = Case { repo, worktree };
    case.does("git show HEAD:a/secrets/k >src/k; commit; git rm -q src/k; commit");
    assert_snapshot!(case.findings(), @"src/k leak history notice");
}

#[test]
fn commits_of_others_that_were_brought_in_and_put_back_are_told_as_such() {
    let case = Case::new();
    case.main_does(
        "git switch -q -c topic; echo t >docs/t; git add -A; git commit -q -m t; git switch -q main",
    );
    case.does("edit src/main.rs; commit; git merge -q -s ours -m ours topic");
    let said = case.repo.agentwt(&["verify", "task"]).stdout;
    assert!(
        said.contains("docs/t")
            && said.contains("by commits that were not created here, and reset"),
        "{said}"
    );
    let net = case.repo.agentwt(&["verify", "task", "--net"]).stdout;
    assert!(!net.contains("docs/t"), "{net}");
}

#[test]
fn changed_names_a_place_once() {
    let case = Case::new();
    case.main_does("git config user.name other; git config alias.x y");
    case.does("git update-index --assume-unchanged README.md; git update-index --skip-worktree docs/api.md");
    assert_snapshot!(case.changes(), @"
    integrity  disk  @wt/index
    config  disk  @git/config
    ");
}

#[test]
fn a_change_is_told_by_the_commit_that_has_it_and_not_by_an_abandoned_one() {
    let case = Case::new();
    case.does(
        "edit README.md; commit first; edit README.md; commit second; git reset -q --hard HEAD~",
    );
    let head = case
        .runs(&case.worktree, "git rev-parse --short=10 HEAD")
        .ok();
    let changes = case.changes();
    assert!(
        changes.contains(&format!("commit {head},")),
        "{head}: {changes}"
    );
}
