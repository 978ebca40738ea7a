//! What the model found, or what the program is known to judge otherwise than the model, in the
//! shortest form. The model says `known:` where it allows for one of these.

use super::acts::{Act, Actor, Way};
use super::world::World;
use super::{CLONES, findings};

const A: Actor = Actor::Agent;
const U: Actor = Actor::User;
const R: Actor = Actor::Upstream;

/// The findings after these acts, in a clone with all history: a line each, place and level.
#[track_caller]
fn after(acts: &[(Actor, &'static str)]) -> String {
    after_in(CLONES[0], acts)
}

/// The same in a clone with these options.
#[track_caller]
fn after_in(options: &str, acts: &[(Actor, &'static str)]) -> String {
    let world = World::new(options);
    for (number, (who, script)) in acts.iter().enumerate() {
        let act: Act = (*who, Way::Plain, script);
        world.does(&act, number + 1);
    }
    findings(&world)
}

#[test]
fn a_reset_of_main_to_where_the_worktree_went() {
    let findings = after(&[
        (U, "git reset -q --hard HEAD~"),
        (A, "git reset -q --hard main"),
    ]);
    assert_eq!(findings, "");
}

#[test]
fn a_move_to_the_same_place() {
    let stays = (A, "git update-ref refs/heads/main main");
    let findings = after(&[(U, "work README"), stays]);
    assert_eq!(findings, "");
    let findings = after(&[
        (A, "git push -q origin HEAD:main"),
        (U, "work docs/x; git push -q origin main"),
    ]);
    assert_eq!(findings, "");
}

#[test]
fn a_log_that_was_made_to_forget_a_push() {
    let push = (A, "git push -q -f origin HEAD:dev");
    let violation = "@git/refs/remotes/origin/dev 2\n";
    assert_eq!(after(&[push]), violation);
    let forget = (A, "git reflog expire --expire=now --all");
    for options in &CLONES[..2] {
        assert_eq!(after_in(options, &[push, forget]), violation, "{options}");
    }
}

#[test]
fn a_branch_that_was_made_here_and_its_log_forgot() {
    let make = (A, "git checkout -q -b side");
    let forget = (A, "git reflog expire --expire=now --all");
    let go_on = (A, "work src/a");
    let expected = "@git/refs/heads/side 1\n@head 1\n";
    assert_eq!(after(&[make, forget, go_on]), expected);
}

#[test]
fn a_branch_that_was_made_here_twice() {
    let make = (
        A,
        "git checkout -q -b side; work src/a; git checkout -q agentwt/task",
    );
    let again = (A, "git branch -D side; work src/b; git branch side");
    assert_eq!(after(&[make, again]), "@git/refs/heads/side 1\n");
}

#[test]
fn a_branch_that_was_pushed_twice() {
    let push = (A, "work src/a; git push -q -f origin HEAD:x");
    let delete = (A, "git push -q origin --delete x");
    let notice = "@git/refs/remotes/origin/x 1\n";
    assert_eq!(after(&[push, delete, push]), notice);
    let others = (R, "level; work docs/x; git push -q origin HEAD:x");
    let fetch = (U, "git fetch -q");
    let findings = after(&[others, fetch, delete, push]);
    assert!(
        findings.contains("@git/refs/remotes/origin/x 2"),
        "{findings}"
    );
}

#[test]
fn a_copy_of_the_own_branch_that_was_deleted() {
    let copy = (A, "git branch -C agentwt/task copy; git branch -D copy");
    assert_eq!(after(&[copy]), "@git/refs/heads/copy 2\n");
}

#[test]
fn a_base_branch_that_the_worktree_rewound() {
    let rewind = "git update-ref refs/remotes/origin/main origin/main~";
    let findings = after(&[(A, rewind), (A, "git reset -q --hard HEAD~")]);
    assert!(findings.contains("@head 2"), "{findings}");
}

#[test]
fn work_of_others_as_the_own_branch_while_head_is_elsewhere() {
    let bring = (A, "git reset -q --hard dev");
    assert!(after(&[bring]).contains("docs/dev 2"));
    let findings = after(&[bring, (A, "git symbolic-ref HEAD refs/heads/dev")]);
    assert!(findings.contains("docs/dev 2"), "{findings}");
}

#[test]
fn a_staged_state_of_upstream_that_went_on() {
    let take = (A, "git merge -q --squash main");
    let acts = [(U, "work README"), take, (U, "work README")];
    assert_eq!(after(&acts[..2]), "");
    assert_eq!(after(&acts), "");
}

#[test]
fn a_branch_that_was_pushed_to_the_path_of_the_repository() {
    let push = (A, "git push -q \"$MAIN\" HEAD:refs/heads/z");
    let findings = after(&[(A, "work README"), push, (A, "git reset -q --hard HEAD~")]);
    assert!(findings.contains("README 2"), "{findings}");
}

#[test]
fn a_renamed_branch_whose_log_is_gone() {
    let rename = (A, "git branch -M agentwt/task renamed");
    let forget = (A, "git reflog expire --expire=now --all");
    let findings = after(&[rename, (A, "work src/a"), forget]);
    assert!(!findings.contains(" 2"), "{findings}");
}

#[test]
fn a_reset_of_main_without_a_log_to_where_the_worktree_went() {
    let reset = "git reset -q --hard HEAD~";
    let forget = (U, "git reflog expire --expire=now --all");
    let findings = after(&[forget, (U, reset), (A, reset)]);
    assert!(!findings.contains("main 2"), "{findings}");
}

#[test]
fn a_move_to_the_place_of_add_before_a_commit_of_the_user() {
    let stays = (A, "git update-ref refs/heads/main HEAD");
    assert_eq!(after(&[stays, (U, "work src/a")]), "");
}

#[test]
fn a_push_to_the_path_of_the_repository_of_what_the_user_took_over() {
    let findings = after(&[
        (A, "work src/a"),
        (U, "git merge -q --no-edit agentwt/task"),
        (A, "git push -q -f \"$MAIN\" HEAD:dev"),
    ]);
    assert!(findings.contains("@git/refs/heads/dev 1"), "{findings}");
}

#[test]
fn a_branch_of_others_that_was_moved_past_the_hooks_and_renamed() {
    let findings = after(&[
        (A, "work src/a"),
        (A, "git push -q -f \"$MAIN\" HEAD:dev"),
        (A, "git branch -M dev dev2"),
    ]);
    assert!(findings.contains("@git/refs/heads/dev2 1"), "{findings}");
}

#[test]
fn what_one_of_two_refs_of_upstream_has_that_went_different_ways() {
    let findings = after(&[
        (A, "git cherry-pick dev"),
        (U, "git merge -q --no-edit dev"),
        (R, "level; work docs/x; git push -q"),
        (U, "git fetch -q"),
    ]);
    assert!(!findings.contains("docs/dev 2"), "{findings}");
    let reverts = "git merge -q --no-edit main; git rm -q docs/dev; git commit -q -m rm";
    let findings = after(&[
        (U, "git merge -q --no-edit dev"),
        (R, "level; work docs/x; git push -q"),
        (U, "git fetch -q"),
        (A, reverts),
    ]);
    assert!(findings.contains("docs/dev 2"), "{findings}");
}

#[test]
fn a_branch_beside_head_whose_work_the_user_took_over() {
    let findings = after(&[
        (A, "git rm -q docs/x; git commit -q -m rm; git branch side"),
        (
            U,
            "git merge -q --squash agentwt/task; git commit -q -m squash",
        ),
        (A, "git rebase -q main"),
    ]);
    assert_eq!(findings, "@git/refs/heads/side 1\n");
}

#[test]
fn a_branch_whose_first_commit_git_collected() {
    let findings = after(&[
        (A, "git branch -M agentwt/task renamed; work src/a"),
        (A, "put src/a; git commit -q -a --amend -m amend"),
        (U, "git gc -q --prune=now"),
    ]);
    assert_eq!(findings, "@git/refs/heads/renamed 1\n@head 1\n");
}

#[test]
fn work_in_a_worktree_that_was_made_here_and_its_log_forgot() {
    let make = "git worktree add -q -b made \"$ROOT/made\"";
    let forget = "git reflog expire --expire=now --all";
    let acts = [
        (A, make),
        (A, forget),
        (A, "cd \"$ROOT/made\" && work README"),
    ];
    for options in &CLONES[..2] {
        let findings = after_in(options, &acts);
        assert!(findings.contains("README 2"), "{options}: {findings}");
    }
}

#[test]
fn work_that_was_pushed_and_its_log_forgot() {
    for push in [
        "work docs/x; git push -q origin HEAD:agentwt/task",
        "work docs/x; git push -q origin HEAD:x",
    ] {
        let forget = "git reset -q --hard HEAD~; git reflog expire --expire=now --all";
        let findings = after(&[(A, push), (A, forget)]);
        assert!(findings.contains("docs/x 2"), "{push}: {findings}");
    }
}

#[test]
fn a_merge_that_failed_made_no_commit() {
    let acts = [
        (A, "git checkout -q dev -- docs/dev; git merge -q dev"),
        (A, "git fetch -q --depth 1"),
    ];
    let findings = after_in(CLONES[2], &acts);
    assert!(findings.contains("@git/shallow 1"), "{findings}");
}

#[test]
fn a_move_of_the_branch_that_the_user_is_on_where_refs_are_tables() {
    let findings = after_in(
        CLONES[1],
        &[
            (A, "work src/a"),
            (U, "git reflog expire --expire=now --all"),
            (A, "git update-ref refs/heads/main HEAD"),
        ],
    );
    assert!(findings.contains("@git/refs/heads/main 2"), "{findings}");
}

#[test]
fn a_rename_over_which_others_made_the_branch_again() {
    for options in &CLONES[..2] {
        let findings = after_in(
            options,
            &[
                (
                    A,
                    "work src/a; git branch -f dev HEAD; git branch -M dev dev2",
                ),
                (U, "git update-ref refs/heads/dev main"),
            ],
        );
        assert!(
            findings.contains("@git/refs/heads/dev2 1"),
            "{options}: {findings}"
        );
    }
}

#[test]
fn what_the_worktree_pulled_and_pushed_where_it_was() {
    let upstream = (R, "level; work docs/x; git push -q");
    let pull = (A, "git pull -q --ff-only origin main");
    let push = (A, "git push -q origin HEAD:main");
    for options in &CLONES[..3] {
        let findings = after_in(options, &[upstream, pull, push]);
        assert!(!findings.contains("docs/x"), "{options}: {findings}");
    }
}

#[test]
fn a_branch_that_the_user_took_back_from_under_the_worktree() {
    for options in &CLONES[..2] {
        let findings = after_in(
            options,
            &[
                (A, "git checkout -q dev; work src/a"),
                (U, "git update-ref refs/heads/dev main"),
                (A, "git reset -q --hard"),
            ],
        );
        assert!(
            findings.contains("@git/refs/heads/dev 1"),
            "{options}: {findings}"
        );
    }
}

#[test]
fn a_branch_of_others_that_was_renamed_at_the_base() {
    let acts = [
        (A, "git fetch -q . +HEAD:dev"),
        (A, "git symbolic-ref HEAD refs/heads/dev"),
        (A, "git branch -M dev dev2"),
    ];
    let findings = after_in(CLONES[1], &acts);
    assert!(findings.contains("@head 2"), "{findings}");
}
