//! Which refs are the worktree's own, as tables.

use super::{World, log};

#[test]
fn the_branch_of_the_worktree_is_own_also_if_it_was_there_at_add() {
    let name = "refs/heads/agent/x";
    let mut world = World::default();
    world.add_before(name, "A");
    world.add_now(name, "A");
    assert!(world.records().is_own(name.into()));
}

#[test]
fn a_branch_renamed_or_copied_from_an_own_one_is_own() {
    let name = "refs/heads/new";
    let from = "refs/heads/tmp";
    let theirs = "D branch: Created; B commit: b";
    // what `tmp` was at `add`, is, and its log
    for (before, now, log_of_from, journal, facts, is_own) in [
        // made here, and gone
        ("-", "-", "", "->B", "made C", true),
        ("-", "-", "", "->B, B>-", "made C", true),
        ("-", "-", theirs, "->B", "made C", true),
        ("-", "-", theirs, "->B, B>C", "made C", true),
        // of others
        ("-", "-", "", "", "made C", false),
        ("-", "-", "", "->-", "made C", false),
        ("-", "-", "", "D>B", "made C", false),
        ("-", "-", "", "D>-", "made C", false),
        (
            "-",
            "-",
            "",
            "refs/heads/y:->B, refs/heads/y:B>-",
            "made C",
            false,
        ),
        // still there
        ("-", "B", "", "->B", "made C", true),
        ("-", "B", theirs, "->B", "made C", false),
        // there at `add`
        ("A", "-", "", "A>B, B>-, refs/heads/new:B>C", "", true),
        ("A", "-", "", "A>B, refs/heads/new:B>C", "", false),
        ("A", "-", "", "refs/heads/new:B>C", "", false),
        ("A", "-", "", "->B, B>-, refs/heads/new:B>C", "", false),
        ("A", "A", "", "", "made C", true),
        (
            "A",
            "A",
            "",
            "",
            "made C; main refs/heads/main: C commit: c",
            false,
        ),
    ] {
        let mut world = World::default();
        world.add_before(from, before);
        world.add_now(from, now);
        world.add_now(name, "C");
        world.add_journal(from, journal);
        world.add_facts(facts);
        let renamed = "B Branch: renamed refs/heads/tmp to refs/heads/new; C commit: c";
        world.files.logs.insert(name.into(), log(renamed));
        world.files.logs.insert(from.into(), log(log_of_from));
        let found = world.records().is_own(name.into());
        assert_eq!(
            found, is_own,
            "{before}, {now}, {log_of_from} ({journal}; {facts})"
        );
    }
}

#[test]
fn a_copy_of_an_own_branch_is_own_while_it_has_to_do_with_here() {
    let name = "refs/heads/new";
    let own_branch = Some("refs/heads/agent/x");
    for (before, now, head, facts, is_own) in [
        ("-", "C", own_branch, "made C", true),
        ("-", "C", Some(name), "", true),
        // others went on there
        ("-", "C", own_branch, "", false),
        ("-", "C", None, "", false),
        // it is gone, or was there at `add`
        ("-", "-", own_branch, "", false),
        ("A", "C", own_branch, "made C", false),
    ] {
        let mut world = World::default();
        world.add_before(name, before);
        world.add_now(name, now);
        world.add_facts(facts);
        let copied = "B Branch: copied refs/heads/agent/x to refs/heads/new; C commit: c";
        world.files.logs.insert(name.into(), log(copied));
        let mut records = world.records();
        records.head_ref = head.map(ToOwned::to_owned);
        let found = records.is_own(name.into());
        assert_eq!(found, is_own, "{before}, {now} ({head:?}; {facts})");
    }
}

#[test]
fn a_branch_that_is_gone_was_renamed_from_nothing_that_was_there_at_add() {
    let name = "refs/heads/new";
    let mut world = World::default();
    world.add_before("refs/heads/tmp", "A");
    world.add_journal(name, "B>C");
    let renamed = "B Branch: renamed refs/heads/tmp to refs/heads/new";
    world.files.logs.insert(name.into(), log(renamed));
    assert!(!world.records().is_own(name.into()));
}

#[test]
fn a_branch_that_began_with_a_push_of_a_commit_of_here_is_own() {
    let name = "refs/heads/new";
    for (entries, journal, facts, is_own) in [
        ("C push", "", "made C", true),
        ("C push", "A>C", "", false),
        ("D commit: d; C push", "", "made C", false),
    ] {
        let mut world = World::default();
        world.add_now(name, "C");
        world.add_journal(name, journal);
        world.add_facts(facts);
        world.files.logs.insert(name.into(), log(entries));
        let found = world.records().is_own(name.into());
        assert_eq!(found, is_own, "{entries} ({journal})");
    }
}

#[test]
fn a_remote_tracking_branch_began_with_a_push_by_its_log_or_the_journal() {
    let name = "refs/remotes/origin/side";
    for (entries, journal, facts, is_pushed) in [
        ("B update by push", "->B", "", true),
        (
            "B fetch origin: storing head; C update by push",
            "B>C",
            "made C",
            false,
        ),
        ("", "->B", "made B", true),
        ("", "->B", "", false),
        ("", "", "made B", false),
    ] {
        let mut world = World::default();
        world.add_journal(name, journal);
        world.add_facts(facts);
        world.files.logs.insert(name.into(), log(entries));
        let found = world.records().began_with_push(name.into());
        assert_eq!(found, is_pushed, "{entries} ({journal}; {facts})");
    }
}
