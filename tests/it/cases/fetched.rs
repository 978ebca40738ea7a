//! What a fetch does in a clone beside the branches that it brings: it moves what `origin/HEAD` and other
//! symbolic refs lead to, and in a shallow clone the ends of history.

use std::fs;

use insta::assert_snapshot;

use super::Case;
use crate::support::TestRepo;

/// A worktree in a clone that git made of a repository with three commits, with these options.
#[track_caller]
fn cloned(options: &str) -> Case {
    let repo = unused_clone(options);
    Case::of(repo)
}

/// The clone of [`cloned`], without a worktree of ours.
#[track_caller]
fn unused_clone(options: &str) -> TestRepo {
    let repo = TestRepo::project();
    let mate = repo.root().join("mate");
    fs::rename(repo.main(), mate).expect("it is there");
    let script = format!(
        "cd mate; for i in 1 2; do echo $i >docs/new.md; git add -A; git commit -qm $i; done; cd ..
        git clone -q --bare mate origin.git; git -C mate remote add origin ../origin.git
        git clone -q {options} \"file://$PWD/origin.git\" repo"
    );
    repo.sh(repo.root(), &script).ok();
    repo
}

/// Two commits of a teammate come to the remote, which touch what the worktree may not.
const TEAMMATE: &str =
    "(cd $MAIN/../mate; for i in a b; do echo $i >>docs/api.md; git commit -qam $i; done
    git push -q origin main);";

#[test]
fn a_pull_in_a_clone_is_no_change() {
    for (options, pull) in [
        ("", "--ff-only"),
        ("", "--rebase"),
        ("", "--no-rebase --no-edit"),
        ("--ref-format=reftable", "--ff-only"),
        ("--depth 1", "--ff-only"),
        ("--depth 1", "--rebase"),
    ] {
        let case = cloned(options);
        let work = match pull {
            "--ff-only" => "",
            _ => "edit src/main.rs; commit;",
        };
        case.does(&format!("{work} {TEAMMATE} git pull -q {pull} origin main"));
        assert_eq!(case.findings(), "", "{options} {pull}");
    }
}

#[test]
fn a_fetch_of_the_user_is_no_change_and_neither_is_what_is_merged_of_it() {
    let case = cloned("");
    case.main_does(&format!("{TEAMMATE} git fetch -q"));
    case.does("git merge -q --ff-only origin/main");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_base_that_is_a_symbolic_ref_is_followed() {
    for base in ["origin/HEAD", "trunk"] {
        let repo = unused_clone("");
        repo.git(&["symbolic-ref", "refs/heads/trunk", "refs/heads/main"]);
        repo.agentwt(&["add", "task", "--base", base, "--write", "src/**"])
            .ok();
        let worktree = repo.worktree("task");
        let case = Case { repo, worktree };
        case.main_does(&format!("{TEAMMATE} git pull -q"));
        case.does("git merge -q --ff-only origin/main");
        assert_eq!(case.findings(), "", "{base}");
    }
}

#[test]
fn another_default_branch_is_a_notice_and_no_excuse() {
    let case = cloned("");
    case.main_does("git push -q origin HEAD:refs/heads/other; git remote set-head origin other");
    let notice = "@git/refs/remotes/origin/HEAD ref shared notice\n";
    assert_eq!(case.findings(), notice);
    case.does("edit README.md; commit");
    let both = format!("README.md modified read-only violation\n{notice}");
    assert_eq!(case.findings(), both);
    case.main_does("git remote set-head origin -d");
    assert_eq!(case.findings(), both);
}

#[test]
fn a_default_branch_that_is_moved_onto_own_work_is_a_violation_and_hides_nothing() {
    for script in [
        "git push -q origin HEAD; git remote set-head origin agentwt/task",
        "git symbolic-ref refs/remotes/origin/HEAD refs/heads/agentwt/task",
        "echo 'ref: refs/heads/agentwt/task' >$MAIN/.git/refs/remotes/origin/HEAD",
        "git update-ref --no-deref refs/remotes/origin/HEAD HEAD",
        "git branch b; echo 'ref: refs/heads/b' >$MAIN/.git/refs/remotes/origin/HEAD",
    ] {
        let case = cloned("");
        case.does(&format!("edit README.md; commit; {script}"));
        let findings = case.findings();
        for expected in [
            "README.md modified read-only violation",
            "@git/refs/remotes/origin/HEAD ref shared violation",
        ] {
            assert!(findings.contains(expected), "{script}: {findings}");
        }
    }
}

#[test]
fn in_a_shallow_clone_a_fetch_moves_where_history_ends() {
    let notice = "@git/shallow integrity shared notice\n";
    for fetch in [
        "git fetch -q --depth 1; git reset -q --hard origin/main",
        "git fetch -q --depth 2",
        "git fetch -q --deepen 1",
        "git fetch -q --unshallow",
    ] {
        let case = cloned("--depth 1");
        case.main_does(&format!("{TEAMMATE} {fetch}"));
        assert_eq!(case.findings(), notice, "by the user: {fetch}");
        let case = cloned("--depth 1");
        case.does(&format!("{TEAMMATE} {fetch}"));
        assert_eq!(case.findings(), notice, "by the agent: {fetch}");
    }
}

#[test]
fn a_branch_that_was_fetched_without_its_history_is_judged_as_any_other() {
    let notice = "@git/shallow integrity shared notice\n";
    let file = "docs/new.md modified read-only violation\n";
    let head = "@head ref integrity violation\n";
    let other = "(cd $MAIN/../mate; git checkout -q -b other; for i in 1 2; do echo o >>docs/new.md
        git add -A; git commit -qm o; done; git push -q origin other);
        git fetch -q --depth 1 origin other;";
    for script in [
        "git reset -q --hard FETCH_HEAD",
        "git checkout -q --detach FETCH_HEAD",
        "git checkout -q --detach FETCH_HEAD; edit src/main.rs; commit",
    ] {
        let case = cloned("--depth 1");
        case.does(&format!("{other} {script}"));
        let findings = case.findings();
        assert_eq!(findings, format!("{file}{head}{notice}"), "{script}");
    }
}

#[test]
fn an_end_of_history_that_no_ref_leads_to_is_a_notice() {
    let case = cloned("--depth 1");
    case.does(
        "(cd $MAIN/../mate; echo a >>docs/api.md; git commit -qam a; git push -q origin main)
        git fetch -q --depth 1 --refmap= origin main",
    );
    assert_snapshot!(case.findings(), @"@git/shallow integrity shared notice");
}

#[test]
fn an_end_of_history_at_own_work_is_a_violation_and_hides_nothing() {
    for script in [
        "edit README.md; commit; git rev-parse HEAD >>$MAIN/.git/shallow",
        "edit README.md; commit; edit src/main.rs; commit; git rev-parse HEAD >>$MAIN/.git/shallow",
        "git fetch -q --depth 1; git reset -q --hard origin/main; edit README.md; commit
        git rev-parse HEAD >>$MAIN/.git/shallow",
    ] {
        let case = cloned("--depth 1");
        case.does(&format!("{TEAMMATE} {script}"));
        let findings = case.findings();
        for expected in [
            "README.md modified read-only violation",
            "@git/shallow integrity shared violation",
        ] {
            assert!(findings.contains(expected), "{script}: {findings}");
        }
    }
}
