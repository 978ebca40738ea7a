//! Refs that are moved past the hooks, or by a command whose log looks like a fetch: what they are moved
//! onto counts as made here, and so does history that was cut short.

use super::own_refs::with_branches;
use super::{Case, with_reftables};
use crate::support::{TestRepo, gits};

/// A commit that changes README.md and is in no log: `$X`.
const X: &str = "b=$(echo evil | git hash-object -w --stdin)
    export GIT_INDEX_FILE=$WT/../other; git read-tree HEAD
    git update-index --cacheinfo 100644,$b,README.md; t=$(git write-tree); unset GIT_INDEX_FILE
    X=$(git commit-tree -p HEAD -m x $t); M=$(git rev-parse main)\n";

/// The ref is a violation, and where the worktree took the commit over, so is the file.
#[track_caller]
fn is_found(options: &[&str], script: &str, place: &str) {
    let case = with_branches(options);
    case.does(&format!("{X}{script}"));
    let findings = case.findings();
    let is_told = |line: &str| line.starts_with(place) && line.ends_with("violation");
    assert!(findings.lines().any(is_told), "{script}: {findings}");
    if script.contains("--ff-only") {
        let file = "README.md modified read-only violation";
        assert!(findings.contains(file), "{script}: {findings}");
    }
}

#[test]
fn a_branch_that_is_overwritten_past_the_hooks_is_found() {
    let feature = "@git/refs/heads/feature";
    is_found(&[], "git branch x $X; git branch -M x feature", feature);
    is_found(&[], "git branch x $X; git branch -C x feature", feature);
    let script =
        "git symbolic-ref refs/heads/feature refs/heads/agentwt/task; git merge -q --ff-only $X";
    is_found(&[], script, feature);
    let case = with_branches(&[]);
    case.does("git reflog delete --updateref feature@{0}");
    assert_eq!(
        case.findings(),
        "@git/refs/heads/feature ref shared notice\n"
    );
}

#[test]
fn a_base_branch_that_is_overwritten_past_the_hooks_hides_nothing() {
    for script in [
        "git branch x $X; git branch -C x dev; git merge -q --ff-only dev",
        "git branch x $X; git branch -M x dev; git merge -q --ff-only dev",
        "git push -q $MAIN $X:refs/heads/dev; git merge -q --ff-only dev",
        "git update-ref refs/heads/dev $X; git update-ref refs/heads/dev $M; git reflog delete --updateref dev@{0}; git merge -q --ff-only dev",
        "git fetch -q . $X:refs/heads/dev; git reflog expire --expire=now --all; git merge -q --ff-only dev",
    ] {
        is_found(&["--base", "dev"], script, "@git/refs/heads/dev");
    }
    let script = "git update-ref --no-deref main-worktree/HEAD $X; git push -q $MAIN +$X:refs/heads/main; git merge -q --ff-only main";
    is_found(&[], script, "@git/refs/heads/main");
    is_found(&[], script, "@git/main-worktree/HEAD");
}

#[test]
fn a_remote_tracking_branch_that_no_fetch_of_its_own_moved_hides_nothing() {
    for script in [
        "git push -q . $X:refs/remotes/origin/main; git merge -q --ff-only origin/main",
        "git symbolic-ref HEAD refs/remotes/origin/main; git reset -q --hard $X; git symbolic-ref HEAD refs/heads/agentwt/task; git merge -q --ff-only origin/main",
        "git reset -q --hard $X; git push -q origin HEAD; git reflog expire --expire=now --all; git fetch -q origin agentwt/task:refs/remotes/origin/main; git merge -q --ff-only origin/main",
    ] {
        is_found(&[], script, "@git/refs/remotes/origin/main");
    }
}

#[test]
fn a_remote_with_another_history_is_no_upstream() {
    let case = with_branches(&[]);
    case.main_does("git init -q ../u; cd ../u; git commit -q --allow-empty -m u; git branch -M main; cd $MAIN; git remote add u ../u; git fetch -q u");
    case.repo
        .agentwt(&["add", "other", "--write", "src/**"])
        .ok();
    let worktree = case.repo.worktree("other");
    let other = Case {
        repo: case.repo,
        worktree,
    };
    other.does("git rm -q README.md; commit; git update-ref -d refs/remotes/origin/main; git update-ref refs/heads/main HEAD");
    let findings = other.findings();
    assert!(
        findings.contains("README.md deleted read-only violation"),
        "{findings}"
    );
}

#[test]
fn history_that_was_cut_short_hides_nothing() {
    let case = with_branches(&[]);
    case.main_does("echo v2 >docs/api.md; git commit -q -a -m up; git push -q origin main");
    case.does(
        "git show HEAD:docs/api.md >$WT/../old; git merge -q --no-commit --no-ff main
        chmod u+w docs/api.md; cp $WT/../old docs/api.md; git add docs; git commit -q -m evil
        git fetch -q --depth=1 file://$MAIN/../origin.git main",
    );
    let findings = case.findings();
    assert!(
        findings.contains("docs/api.md modified read-only violation"),
        "{findings}"
    );
    assert!(
        findings.contains("@git/shallow integrity shared violation"),
        "{findings}"
    );
}

#[test]
fn each_stash_of_the_user_is_watched() {
    for (script, level) in [
        ("git stash drop -q stash@{1}", "notice"),
        ("git stash pop -q; git restore .", "notice"),
        (
            "s=$(git rev-parse stash); git stash clear; git stash store $s",
            "violation",
        ),
        ("git stash clear", "violation"),
    ] {
        let case = with_branches(&[]);
        case.main_does("for i in 1 2; do echo $i >>src/main.rs; git stash -q; done");
        case.repo
            .agentwt(&["add", "other", "--write", "src/**"])
            .ok();
        let worktree = case.repo.worktree("other");
        let other = Case {
            repo: case.repo,
            worktree,
        };
        other.does(script);
        let expected = format!("@git/refs/stash ref shared {level}\n");
        assert_eq!(other.findings(), expected, "{script}");
    }
}

/// A worktree of each git, with the git's version; with reftables too, where the git has them.
fn with_each_git() -> Vec<(String, Case)> {
    let mut cases = Vec::new();
    for (version, bin) in gits() {
        if let Some(repo) = with_reftables(&bin) {
            let case = Case::of(repo);
            cases.push((format!("{version} with reftables"), case));
        }
        let case = Case::of(TestRepo::project().with_git(&bin));
        cases.push((version, case));
    }
    cases
}

#[test]
fn a_commit_past_the_hooks_stays_told_whatever_moves_later() {
    let commit = "edit src/main.rs; git -c core.hooksPath=/dev/null -c hook.agentwt-reference-transaction.enabled=false \
        commit -q -a -m quiet; X=$(git rev-parse HEAD)";
    for later in [
        "git branch x $X",
        "git reset -q --hard HEAD~; git reset -q --hard $X",
        "git reset -q --hard HEAD~; git merge -q --ff-only $X",
        "git update-ref HEAD $X $X",
        "git update-ref HEAD $X",
        "git checkout -q --detach $X",
        "git checkout -q --detach $X; git update-ref HEAD $X $X; git checkout -q agentwt/task",
        "git checkout -q -b side; git checkout -q agentwt/task",
        "git rebase -q -f HEAD~; git reset -q --hard $X",
        "git checkout -q -B side HEAD~; git checkout -q -B side $X; git checkout -q agentwt/task",
        "git reset -q --hard HEAD~; git checkout -q --detach $X; git checkout -q agentwt/task; git reset -q --hard $X",
        "git reset -q --hard HEAD~; git update-ref -m back HEAD $X; git reset -q --hard",
    ] {
        for (version, case) in with_each_git() {
            case.does(&format!("{commit}; {later}"));
            let findings = case.findings();
            assert!(
                findings.contains("@head integrity integrity violation"),
                "{version}: {later}: {findings}"
            );
        }
    }
}

#[test]
fn each_command_that_makes_a_commit_is_told_where_no_hook_ran() {
    let off = "-c core.hooksPath=/dev/null -c hook.agentwt-reference-transaction.enabled=false";
    for command in [
        "git branch s; edit src/main.rs; git commit -q -a -m x; git switch -q s; git OFF cherry-pick agentwt/task
        git checkout -q -b s2; git checkout -q agentwt/task",
        "edit src/main.rs; git commit -q -a -m x; git format-patch -q -1 --stdout >../p; git reset -q --hard HEAD~
        git OFF am -q ../p; git checkout -q -b s2; git checkout -q agentwt/task",
        "git checkout -q -b s HEAD~; edit src/main.rs; git commit -q -a -m 'fix: Fast-forward'; git checkout -q agentwt/task
        git OFF merge -q --no-edit --no-ff ':/fix: Fast-forward'",
        "edit src/main.rs; git commit -q -a -m x
        FILTER_BRANCH_SQUELCH_WARNING=1 git OFF filter-branch -f --msg-filter 'cat; echo x' main..HEAD >/dev/null 2>&1",
        "edit src/main.rs; git commit -q -a -m x; git fast-export agentwt/task | sed 's/^more$/less/' | git OFF fast-import --quiet --force
        git reset -q --hard",
    ] {
        for (version, case) in with_each_git() {
            case.does("edit src/main.rs; git commit -q -a -m one");
            case.does(&command.replace("OFF", off));
            let findings = case.findings();
            assert!(
                findings.contains("@head integrity integrity violation"),
                "{version}: {command}: {findings}"
            );
        }
    }
}

/// After each of these works, verification finds no commit past the hooks.
#[track_caller]
fn none_is_past_the_hooks(works: &[&str]) {
    let cases = with_each_git();
    let mut number = 0;
    for work in works {
        number += 1;
        for (version, case) in &cases {
            // each work has commits of its own: the journal of one could excuse another
            let begin = format!(
                "git reset -q --hard main; for i in 1 2 3; do edit src/main.rs; git commit -q -a -m $i-{number}; done"
            );
            case.does(&begin);
            let script = format!("{{ {work}; }} >../said 2>&1");
            let said = case.runs(&case.worktree, &script);
            let ended = case.runs(
                &case.worktree,
                "git symbolic-ref HEAD; cat ../said; rm ../said",
            );
            assert!(
                ended.stdout.starts_with("refs/heads/agentwt/task\n"),
                "{version}: {work}: {said}{ended}"
            );
            let findings = case.findings();
            assert!(
                !findings.contains("@head integrity"),
                "{version}: {work}: {findings}"
            );
        }
    }
}

#[test]
fn rebases_are_not_past_the_hooks() {
    none_is_past_the_hooks(&[
        "git branch -q side; git rebase -q main side; git checkout -q agentwt/task; git branch -q -D side",
        "git checkout -q -b feature; git checkout -q agentwt/task; git rebase -q HEAD~ feature; git checkout -q agentwt/task
        git branch -q -D feature",
        "git rebase -q -x true HEAD~2",
        "git rebase -q -x true HEAD~3",
        "git rebase -q -r -x true HEAD~2",
        "git rebase -q -f HEAD~2",
        "git rebase -q -f HEAD~3",
        "GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~3; while git rebase --continue; do :; done",
        "GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git rebase -q -i HEAD~3; git rebase --continue",
        "GIT_SEQUENCE_EDITOR='sed -i 1!s/^pick/squash/' git rebase -q -i HEAD~3",
        "git rebase -q main; git reset -q --soft HEAD~1; git commit -qm again",
        "git rebase -q main; git reset -q --soft HEAD~1",
        "git rebase -q --root; git reset -q --hard HEAD~1",
    ]);
}

#[test]
fn ordinary_work_is_not_past_the_hooks() {
    none_is_past_the_hooks(&[
        "git checkout -q --detach HEAD~; git reset -q --hard agentwt/task; git checkout -q agentwt/task",
        "git checkout -q --detach; edit src/main.rs; git commit -q -a -m d; C=$(git rev-parse HEAD)
        git checkout -q agentwt/task; git reset -q --hard $C",
        "git checkout -q --detach; edit src/main.rs; git commit -q -a -m d; git checkout -q -B agentwt/task",
        "git reset -q --hard; git commit -q --amend --no-edit",
        "git commit -q --amend -m x; git reset -q --hard HEAD@{1}; git cherry-pick HEAD@{1}",
        "git branch -m a; edit src/main.rs; git commit -q -a -m a; git branch -m agentwt/task",
        "git symbolic-ref HEAD refs/heads/b; git reset -q agentwt/task; edit src/main.rs
        git commit -q -a -m b; git symbolic-ref HEAD refs/heads/agentwt/task; git reset -q",
        "git checkout -q --orphan new; git commit -q -m new; git checkout -q agentwt/task",
        "git checkout -q --orphan new2; git rm -rqf --sparse .; git cherry-pick agentwt/task~3 || :; git checkout -qf agentwt/task; git branch -D new2",
        "git checkout -q -b side HEAD~2; edit src/main.rs; git commit -q -a -m s; git checkout -q agentwt/task
        git merge -q -s ours -m m side; git reset -q --hard HEAD~; git merge -q -s ours -m m side",
        "edit src/main.rs; git stash -q; git stash pop -q; git commit -q -a -m popped; git gc -q; git pack-refs --all",
        "git reset -q --hard HEAD~; git pull -q . HEAD@{1}; git reset -q --hard HEAD~2; git merge -q --ff-only HEAD@{1}",
        "git format-patch -q -1 --stdout >../p; git reset -q --hard HEAD~; git am -q ../p; rm ../p",
        "git revert --no-edit HEAD; git revert --no-edit HEAD; git reset -q --hard HEAD~2",
    ]);
}

#[test]
fn plumbing_is_not_past_the_hooks() {
    none_is_past_the_hooks(&[
        "git symbolic-ref HEAD refs/heads/main; git symbolic-ref HEAD refs/heads/agentwt/task",
        "git update-ref HEAD HEAD~; git update-ref -m back HEAD HEAD@{1}; git reset -q",
        "git checkout -q -b s; edit src/main.rs; git commit -q -a -m x; X=$(git rev-parse HEAD); git checkout -q agentwt/task
        git update-ref -m land HEAD $X; git reset -q --hard",
        "git checkout -q --detach; edit src/main.rs; git commit -q -a -m d; X=$(git rev-parse HEAD)
        git update-ref -m advance refs/heads/agentwt/task $X; git checkout -q agentwt/task; git reset -q --hard",
        "git switch -q --orphan e; git commit -q --allow-empty --allow-empty-message -m ''; git switch -q agentwt/task",
        "X=$(git rev-parse HEAD); git -C $MAIN update-ref refs/heads/agentwt/task $X~; git reset -q --hard
        git -C $MAIN update-ref refs/heads/agentwt/task $X; git reset -q --hard",
        "git checkout -q --detach; edit src/main.rs; git commit -q -a -m f; X=$(git rev-parse HEAD); git checkout -q agentwt/task
        git fetch -q --update-head-ok . $X:refs/heads/agentwt/task; git reset -q --hard",
        "git filter-branch -f --msg-filter 'cat; echo more' main..HEAD; git reset -q --hard",
        "git history reword HEAD~1 -m again || :",
        "git replay --advance agentwt/task HEAD~1..HEAD | git update-ref --stdin || :; git reset -q --hard",
        "git fast-export agentwt/task | sed 's/^more$/less/' | git fast-import --quiet --force; git reset -q --hard",
    ]);
}

#[test]
fn a_commit_whose_hook_of_the_user_takes_its_time_is_not_one_without_hooks() {
    for hook in ["reference-transaction", "post-commit", "pre-commit"] {
        let repo = TestRepo::project();
        let file = format!(".git/hooks/{hook}");
        let script = "#!/bin/sh\n[ ! -e \"$WAITS\" ] || [ \"$1\" = prepared ] || {\n\
            [ -e \"$WAITS.began\" ] || git rev-parse -q --verify HEAD >\"$WAITS.began\"; sleep 4; }\n";
        repo.write(&file, script);
        repo.chmod(&file, 0o755);
        let case = Case::of(repo);
        let waits = case.repo.root().join("waits");
        std::fs::write(&waits, "").expect("a file");
        case.does(&format!(
            "edit src/main.rs; export WAITS='{}'; (git commit -qam slow; : >$WAITS.done) >/dev/null 2>&1 &
            until [ -e $WAITS.began ]; do sleep 0.1; done",
            waits.display()
        ));
        let said = case.repo.agentwt_in(&case.worktree, &["verify"]);
        assert!(!said.stdout.contains("without our hooks"), "{hook}: {said}");
        assert_eq!(said.status, 0, "{hook}: {said}");
        case.does(&format!(
            "until [ -e '{}.done' ]; do sleep 0.1; done",
            waits.display()
        ));
        assert_eq!(case.findings(), "", "{hook}");
    }
}

/// A commit past the hooks, while a git stands in the worktree for as long as the hooks of it might.
const BESIDE_A_GIT: &str = "(sleep 14 | git cat-file --batch) >/dev/null 2>&1 &
    edit src/main.rs; old=$(git rev-parse HEAD); git -c core.hooksPath=/dev/null commit -qam silent\n";

#[test]
fn a_commit_that_is_reported_late_is_waited_for_while_a_git_works_there() {
    let case = with_branches(&[]);
    case.does(&format!(
        "{BESIDE_A_GIT} (sleep 3; echo $old $(git rev-parse HEAD) HEAD >>$(git rev-parse --git-dir)/agentwt/journal
        ) >/dev/null 2>&1 &"
    ));
    assert_eq!(case.findings(), "");
}

#[test]
fn a_git_that_is_left_asleep_is_no_excuse_for_a_commit_without_hooks() {
    let case = with_branches(&[]);
    case.does(BESIDE_A_GIT);
    let said = case.repo.agentwt_in(&case.worktree, &["verify"]);
    assert_eq!(said.status, 1, "{said}");
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    let expected =
        "was made without our hooks, or a hook still runs: git is working here, verify again";
    assert!(words.join(" ").contains(expected), "{said}");
}
