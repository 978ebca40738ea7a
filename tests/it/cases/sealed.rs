//! What is sealed at `add` beside refs: settings in every file, hooks and what they run, the states of
//! the main worktree and of plain ones.

use insta::assert_snapshot;

use super::{Case, prepared};
use crate::support::TestRepo;

/// What verification says of a case, without the first line.
#[track_caller]
fn said(case: &Case) -> String {
    let json = case.repo.agentwt(&["verify", "task", "--json"]).stdout;
    let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let verdict = &value["worktrees"][0];
    let all = ["violations", "notices"].map(|level| verdict[level].as_array().cloned());
    let details = all.into_iter().flatten().flatten();
    let details = details.map(|one| one["detail"].as_str().unwrap_or_default().to_owned() + "\n");
    details.collect()
}

const SUBMODULE: &str = "git init -q ../lib; git -C ../lib commit -q --allow-empty -m lib
    git -c protocol.file.allow=always submodule -q add ../lib lib 2>/dev/null; git commit -q -m lib; ";

#[test]
fn a_setting_that_changed_is_shown_with_both_values_unless_it_may_be_a_password() {
    let case =
        prepared("git config user.email a@b.c; git config http.extraHeader 'Authorization: one'");
    case.main_does(
        "git config user.email d@e.f; git config pull.rebase true; git config alias.st status
        git config http.extraHeader 'Authorization: two'",
    );
    assert_snapshot!(said(&case), @"
    alias.st was added: status
    http.extraheader is not as at `add`
    pull.rebase was added: true
    user.email was `a@b.c` and is `d@e.f`
    ");
}

#[test]
fn what_a_user_sets_for_convenience_is_a_notice() {
    for setting in [
        "git config alias.st status",
        "git config user.email x@y.z",
        "git config pull.rebase true",
        "git config core.untrackedCache true",
        "git config core.fsmonitor true",
        "git config pager.log false",
        "git config push.default simple",
        "git sparse-checkout set src",
        "echo x >>.git/info/exclude",
        "git config branch.main.remote origin; git config branch.main.merge refs/heads/main",
        "git remote add origin /nowhere",
    ] {
        let case = Case::new();
        case.main_does(setting);
        let findings = case.findings();
        let is_notice = |line: &str| line.ends_with(" config shared notice");
        assert!(
            !findings.is_empty() && findings.lines().all(is_notice),
            "{setting}: {findings}"
        );
    }
}

#[test]
fn a_setting_by_which_a_program_runs_is_a_violation_whatever_its_file() {
    for setting in [
        "git config gc.recentObjectsHook /tmp/x",
        "git config gpg.ssh.defaultKeyCommand /tmp/x",
        "git config imap.tunnel /tmp/x",
        "git config lfs.customtransfer.x.path /tmp/x",
        "git config core.fsmonitor /tmp/x",
        "git config core.sshCommand ''",
        "git config alias.st '!/tmp/x'",
        "git config pager.log /tmp/x",
    ] {
        let case = Case::new();
        case.main_does(setting);
        assert_eq!(
            case.findings(),
            "@git/config config shared violation\n",
            "{setting}"
        );
    }
}

#[test]
fn a_switch_that_became_empty_is_off() {
    // the key alone is on
    let case =
        prepared("printf '[core]\\n\\tfileMode\\n[filter \"x\"]\\n\\trequired\\n' >>.git/config");
    case.main_does("sed -i 's/^\\trequired$/\\trequired =/' .git/config");
    assert_snapshot!(case.findings(), @"@git/config config shared violation");
}

#[test]
fn settings_of_remotes_branches_and_submodules_are_seen() {
    let case = prepared("git remote add origin /nowhere; git config branch.main.remote origin");
    case.does(
        "git config remote.origin.pushurl /elsewhere; git config remote.origin.mirror true
        git config remote.pushDefault evil; git config branch.main.merge refs/heads/x; git config submodule.lib.url /x",
    );
    assert_snapshot!(said(&case), @"
    branch.main.merge was added: refs/heads/x
    remote.origin.mirror was added: true
    remote.origin.pushurl was added: /elsewhere
    remote.pushdefault was added: evil
    submodule.lib.url was added: /x
    ");
}

#[test]
fn branches_that_are_pushed_under_their_names_are_nothing() {
    let case = prepared(
        "git init -q --bare ../o.git; git remote add origin \"$PWD/../o.git\"; git push -q -u origin main
        git branch old; git push -q -u origin old",
    );
    case.main_does(
        "git switch -q -c new; git push -q -u origin new; git branch -q -D old; git switch -q main",
    );
    case.does("git push -q -u origin HEAD");
    // the settings of the branch that was deleted
    assert_snapshot!(case.findings(), @"
    @git/config config shared notice
    @git/config config shared notice
    ");
    // where a branch is fetched from is not a remote's name
    case.does("git config branch.new.remote /evil");
    assert_snapshot!(case.findings(), @"
    @git/config config shared notice
    @git/config config shared notice
    @git/config config shared notice
    ");
}

#[test]
fn a_file_that_a_condition_includes_is_sealed() {
    let case =
        prepared("git config includeIf.onbranch:never.path extra; echo '[user]' >.git/extra");
    case.does("git config --file $MAIN/.git/extra core.sshCommand /tmp/x");
    assert_snapshot!(case.findings(), @"@git/extra config shared violation");
    let case = prepared("git config includeIf.gitdir:/nowhere.path ~/later");
    case.does("git config --file ~/later core.fileMode false");
    assert_snapshot!(case.findings(), @"
    @outside$TMP/home/later config shared violation
    ");
}

#[test]
fn files_that_a_hook_runs_are_sealed() {
    let hooks = "mkdir -p .git/hooks/lib .git/hooks/pre-commit.d; echo one >.git/hooks/lib/a; echo x >.git/hooks/env; ";
    let case = prepared(hooks);
    case.does("echo two >$MAIN/.git/hooks/lib/a; echo x >$MAIN/.git/hooks/pre-commit.d/50; echo y >$MAIN/.git/hooks/env; echo z >$MAIN/.git/hooks/README");
    assert_snapshot!(case.findings(), @"
    @git/hooks/env hook shared violation
    @git/hooks/lib/a hook shared violation
    @git/hooks/pre-commit.d/50 hook shared violation
    @git/hooks/README hook shared notice
    ");
}

#[test]
fn hooks_that_the_users_pull_brought_are_no_violation() {
    let case = prepared(
        "mkdir .githooks; printf '#!/bin/sh\\n' >.githooks/pre-commit; chmod +x .githooks/pre-commit; git config core.hooksPath .githooks
        git add -A; git commit -q -m hooks",
    );
    case.main_does("echo : >>.githooks/pre-commit; git commit -q -a -m hook");
    assert_snapshot!(case.findings(), @"@main/.githooks/pre-commit hook shared notice");
    case.main_does("echo true >>.githooks/pre-commit");
    assert_snapshot!(case.findings(), @"@main/.githooks/pre-commit hook shared violation");
}

#[test]
fn the_repository_of_a_submodule_is_sealed() {
    let case = prepared(SUBMODULE);
    case.does("git config --file $MAIN/.git/modules/lib/config core.fsmonitor /tmp/x
        echo x >$MAIN/.git/modules/lib/hooks/post-checkout; chmod +x $MAIN/.git/modules/lib/hooks/post-checkout");
    assert_snapshot!(case.findings(), @"
    @git/modules/lib/config config shared violation
    @git/modules/lib/hooks/post-checkout hook shared violation
    ");
    // one that came since has what git writes
    let case = Case::new();
    case.main_does(SUBMODULE);
    assert_snapshot!(case.findings(), @"
    @git/config config shared notice
    @git/config config shared notice
    ");
    case.does("git config --file $MAIN/.git/modules/lib/config core.sshCommand /tmp/x");
    assert_snapshot!(case.findings(), @"
    @git/modules/lib/config config shared violation
    @git/config config shared notice
    @git/config config shared notice
    ");
}

#[test]
fn a_plain_worktree_beside_is_sealed_and_its_users_work_is_nothing() {
    let case = prepared("git worktree add -q ../plain; git config extensions.worktreeConfig true");
    case.main_does(
        "cd ../plain; echo x >>README.md; git commit -q -a -m x; git switch -q --detach; git switch -q -c other
        git stash -q || true; git worktree add -q ../plain2; git -C ../plain2 config --worktree core.fileMode false",
    );
    assert_snapshot!(case.findings(), @"");
    case.does(
        "git config --file $MAIN/.git/worktrees/plain/config.worktree core.fsmonitor /tmp/x
        git config --file $MAIN/.git/worktrees/plain2/config.worktree core.sshCommand /tmp/x",
    );
    assert_snapshot!(case.findings(), @"
    @git/worktrees/plain/config.worktree config shared violation
    @git/worktrees/plain2/config.worktree config shared violation
    ");
    let case = prepared("git worktree add -q ../plain");
    case.main_does("git worktree remove ../plain");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_head_that_was_written_past_its_log_is_told() {
    let case = prepared("git branch other; git worktree add -q ../plain");
    case.does("echo 'ref: refs/heads/other' >$MAIN/.git/HEAD; git rev-parse HEAD >$MAIN/.git/worktrees/plain/HEAD");
    assert_snapshot!(said(&case), @"
    it was `ref: refs/heads/main` and is `ref: refs/heads/other`, and its log does not have that move
    ");
    let case = prepared("git branch other");
    case.main_does(
        "git switch -q other; git switch -q -c third; git branch -m fourth; git commit -q --allow-empty -m x
        git commit -q --allow-empty -m y; git rebase -q HEAD~ --onto HEAD~2",
    );
    assert_snapshot!(case.findings(), @"");
    case.main_does("git switch -q --detach; git bisect start -q HEAD HEAD~ >/dev/null");
    assert_snapshot!(case.findings(), @"@git/BISECT_START ref shared notice");
}

#[test]
fn a_rebase_of_the_main_worktree_runs_what_its_user_said() {
    let before = "git worktree add -q ../plain; cd ../plain; for i in 1 2 3; do echo $i >>README.md; git commit -q -a -m $i; done
        GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~3 2>/dev/null";
    let case = prepared(before);
    case.main_does(
        "cd ../plain; git commit -q --amend -m other; git rebase --continue 2>/dev/null",
    );
    assert_snapshot!(case.findings(), @"");
    let case = prepared(before);
    case.does("sed -i '1iexec /tmp/x' $MAIN/.git/worktrees/plain/rebase-merge/git-rebase-todo");
    assert_snapshot!(case.findings(), @"@git/worktrees/plain/rebase-merge/git-rebase-todo config shared violation");
    let case = prepared(before);
    case.does("sed -i 1d $MAIN/.git/worktrees/plain/rebase-merge/git-rebase-todo");
    assert_snapshot!(case.findings(), @"@git/worktrees/plain/rebase-merge/git-rebase-todo config shared notice");
    let case = prepared("for i in 1 2 3; do echo $i >>README.md; git commit -q -a -m $i; done");
    case.main_does(
        "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~3 2>/dev/null",
    );
    assert_snapshot!(case.findings(), @"@git/rebase-merge/git-rebase-todo ref shared notice");
}

#[test]
fn what_the_own_repository_of_a_submodule_runs_is_a_violation() {
    let repo = TestRepo::project();
    repo.sh(
        repo.root(),
        "git init -q lib; cd lib; echo x >x; git add x; git -c user.name=u -c user.email=u@e commit -qm x
        cd ../repo; git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm lib",
    )
    .ok();
    let case = Case::of(repo);
    case.does("git -c protocol.file.allow=always submodule --quiet update --init");
    assert_snapshot!(case.findings(), @"");
    case.does("m=$(git -C lib rev-parse --absolute-git-dir); git -C lib config core.fsmonitor /tmp/x
        mkdir -p $m/hooks; printf '#!/bin/sh\nx\n' >$m/hooks/post-checkout; chmod +x $m/hooks/post-checkout");
    assert_snapshot!(case.findings(), @"
    @wt/modules/lib/config config shared violation
    @wt/modules/lib/hooks/post-checkout hook shared violation
    ");
}

#[test]
fn an_empty_path_of_hooks_is_told() {
    let case = Case::new();
    case.does("git config core.hooksPath ''");
    assert_snapshot!(case.findings(), @"@git/config config shared violation");
}
