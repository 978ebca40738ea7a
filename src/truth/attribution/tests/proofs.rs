//! What the logs of refs and of HEADs prove, as tables.

use bstr::BString;

use super::{World, commit, log};
use crate::git::refs::Ref;
use crate::truth::attribution::{Origin, attribute};
use crate::words::name::CommitId;

#[test]
fn a_move_is_proven_by_the_log_of_the_ref_or_of_a_head() {
    let main = "refs/heads/main";
    let tracking = "refs/remotes/origin/main";
    for (name, entry, facts, is_proven) in [
        (main, "C commit: c", "", true),
        (
            main,
            "C commit: c",
            "main refs/heads/main: A clone: from x",
            false,
        ),
        (
            main,
            "C commit: c",
            "main refs/heads/main: C commit: c",
            true,
        ),
        (main, "C commit: c", "main refs/heads/y: C commit: c", true),
        // the branch is checked out nowhere
        (
            main,
            "C commit: c",
            "main refs/heads/y: A clone: from x",
            true,
        ),
        (main, "C", "", false),
        (main, "C", "main refs/heads/main: C commit: c", true),
        (
            main,
            "C",
            "main refs/heads/main: C reset: moving to C",
            false,
        ),
        (
            main,
            "C fetch origin main:main: fast-forward",
            "agent refs/heads/main",
            true,
        ),
        (
            main,
            "C merge x: Fast-forward",
            "agent refs/heads/main",
            false,
        ),
        (main, "C branch: Reset to C", "", false),
        (
            main,
            "C",
            "main refs/heads/y: C rebase (start): checkout main",
            false,
        ),
        (
            main,
            "C rebase (finish): refs/heads/main onto C",
            "main refs/heads/main: C rebase (finish): returning to refs/heads/main",
            true,
        ),
        (main, "C push", "", false),
        (tracking, "C fetch origin: fast-forward", "", true),
        (tracking, "C fetch . x: fast-forward", "", false),
        (tracking, "C update by push", "", true),
        (tracking, "C commit: c", "", false),
        (tracking, "C", "main refs/heads/main: C commit: c", false),
    ] {
        let mut world = World::default();
        world.add_fact(facts);
        let entry = log(entry).remove(0);
        let found = world.records().entry_proves_foreign_move(name, &entry);
        assert_eq!(found, is_proven, "{name}: {} ({facts})", entry.reason);
    }
}

#[test]
fn a_head_that_was_moved_from_here_proves_nothing() {
    let mut world = World::default();
    world.add_fact("main refs/heads/main: C commit: c");
    world.add_journal("main-worktree/HEAD", "A>C");
    assert!(!world.records().is_logged_elsewhere(&commit("C")));
}

#[test]
fn a_fetch_from_here_is_told_by_the_log_from_a_move_from_here() {
    let name = "refs/remotes/origin/main";
    for (entries, journal, is_fetched) in [
        ("C fetch origin: fast-forward", "A>C", true),
        ("C fetch origin: fast-forward", "A>C, C>D, D>C", false),
        // a push of what is there does not say where the ref was
        ("C fetch origin: fast-forward", "A>C, ->C", true),
        (
            "C fetch origin: fast-forward; C update by push",
            "A>C, ->C",
            true,
        ),
        (
            "C fetch origin: fast-forward; D fetch origin: fast-forward; C",
            "A>C, ->C",
            false,
        ),
        (
            "C fetch origin: fast-forward; D fetch origin: fast-forward",
            "A>C, ->C",
            false,
        ),
        // moves to other places, and to the same, are no moves to this one
        ("C fetch origin: fast-forward", "A>B, B>C", true),
        ("C fetch origin: fast-forward", "A>C, C>C", true),
        // what came between says that the ref was elsewhere
        (
            "D fetch origin: fast-forward; C fetch origin: fast-forward",
            "A>C, C>D, ->C",
            false,
        ),
        ("C fetch origin: fast-forward", "->C, C>D, D>C", false),
        ("C fetch origin: fast-forward", "A>C, B>C", false),
        ("C update by push", "A>C", false),
        ("C", "A>C", false),
        ("", "A>C", false),
        ("", "C>C, ->C", false),
        ("", "", true),
    ] {
        let mut world = World::default();
        world.add_journal(name, journal);
        world.files.logs.insert(name.into(), log(entries));
        let found = world.records().is_fetched_place(name, &commit("C"));
        assert_eq!(found, is_fetched, "{entries} ({journal})");
    }
    let records = World::default().records();
    assert!(!records.is_fetched_place("refs/heads/main", &commit("C")));
}

#[test]
fn a_ref_that_the_worktree_took_back_was_not_rewound_by_others() {
    let main = "refs/heads/main";
    let tracking = "refs/remotes/origin/main";
    let reset = "A clone: from x; C reset: moving to HEAD~";
    for (name, entries, journal, facts, is_by_others) in [
        (main, reset, "", "", true),
        (main, reset, "A>C", "", false),
        (
            main,
            reset,
            "->C",
            "main refs/heads/main: C reset: moving to HEAD~",
            true,
        ),
        (main, "A clone: from x; C", "", "", false),
        (main, "A clone: from x; C push", "", "", false),
        // a table also logs an update-ref for the HEAD there
        (
            main,
            "A clone: from x; C",
            "",
            "main refs/heads/main: A clone: from x / C",
            true,
        ),
        (main, "", "", "", true),
        (main, "", "A>C", "", false),
        (tracking, "A clone: from x; C", "A>C", "", false),
        (tracking, "A clone: from x; C", "", "", false),
        (
            tracking,
            "A clone: from x; C fetch . x: forced-update",
            "",
            "",
            false,
        ),
        (
            tracking,
            "A clone: from x; C fetch origin: forced-update",
            "A>C",
            "",
            true,
        ),
        (tracking, "A clone: from x; C update by push", "", "", true),
        (
            tracking,
            "A clone: from x; C update by push",
            "A>C",
            "",
            false,
        ),
    ] {
        let mut world = World::default();
        world.add_fact(facts);
        world.add_journal(name, journal);
        world.files.logs.insert(name.into(), log(entries));
        let found = world.records().is_rewound_by_others(name, &commit("C"));
        assert_eq!(found, is_by_others, "{name}: {entries} ({facts})");
    }
}

#[test]
fn a_place_is_of_others_if_they_fetched_it_left_the_branch_there_or_committed_it() {
    let main = "refs/heads/main";
    let tracking = "refs/remotes/origin/main";
    for (name, entries, journal, facts, is_of_others) in [
        (tracking, "C fetch origin: fast-forward", "A>C", "", true),
        (
            main,
            "A clone: from x; C reset: moving to C",
            "->C",
            "main refs/heads/main: A clone: from x / C reset: moving to C",
            true,
        ),
        (
            main,
            "A clone: from x; C commit: c; A reset: moving to A; C",
            "A>C",
            "main refs/heads/main: C commit: c / A reset: moving to A",
            true,
        ),
        // the log of the ref was expired
        (main, "", "A>C", "main refs/heads/y: C commit: c", true),
        // they committed it on another branch
        (
            main,
            "A clone: from x; C",
            "A>C",
            "main refs/heads/y: C commit: c",
            false,
        ),
        (
            main,
            "A clone: from x; C",
            "A>C",
            "made C; main refs/heads/y: C commit: c",
            false,
        ),
        (main, "A clone: from x; C", "A>C", "", false),
    ] {
        let mut world = World::default();
        world.add_facts(facts);
        world.add_journal(name, journal);
        world.files.logs.insert(name.into(), log(entries));
        let found = world.records().is_place_of_others(name, &commit("C"));
        assert_eq!(found, is_of_others, "{name}: {entries} ({facts})");
    }
}

#[test]
fn a_fetch_elsewhere_brings_a_commit_that_was_neither_made_nor_pushed_here() {
    let name = "refs/remotes/origin/main";
    let fetched = "A clone: from x; C fetch origin: fast-forward";
    let fetched_back = "C fetch origin: fast-forward; A fetch origin: forced-update";
    for (entries, journal, facts, is_fetched) in [
        (fetched, "", "", true),
        (fetched, "A>C", "", true),
        (fetched, "", "made C", false),
        (fetched_back, "", "", false),
        ("C update by push", "", "", true),
        ("C update by push", "->C", "", false),
        ("C", "", "", false),
        ("", "", "", false),
    ] {
        let mut world = World::default();
        world.add_facts(facts);
        world.add_journal(name, journal);
        world.files.logs.insert(name.into(), log(entries));
        let found = world.records().is_fetched(name.into(), &commit("C"));
        assert_eq!(found, is_fetched, "{entries} ({journal})");
    }
}

#[test]
fn a_bare_move_is_the_newest_entry_and_went_to_where_the_ref_is() {
    for (entries, is_bare) in [
        ("A clone: from x; C reset: moving to C", true),
        ("A clone: from x; C commit: c", false),
        ("C reset: moving to C; A reset: moving to A", false),
        ("", false),
    ] {
        let records = World::default().records();
        let found = records.is_bare_move_to(&log(entries), &commit("C"));
        assert_eq!(found, is_bare, "{entries}");
    }
}

/// What a tip was at `add`: it had a log, or none.
const LOGGED: bool = true;
const NOT_LOGGED: bool = false;

#[test]
fn a_move_elsewhere_is_proven_by_the_log_or_where_nothing_of_here_explains_it() {
    let name = "refs/heads/main";
    for (entries, new, was_logged, journal, facts, is_proven) in [
        ("A clone: from x; C commit: c", "C", LOGGED, "", "", true),
        ("A clone: from x; C", "", LOGGED, "", "", true),
        ("A clone: from x; C", "C", LOGGED, "", "", false),
        // written past git
        ("C commit: c; D commit: d", "C", LOGGED, "", "", false),
        // a log that was emptied
        ("", "C", LOGGED, "", "", true),
        ("", "C", LOGGED, "->A", "", false),
        ("", "C", LOGGED, "", "made C", false),
        ("", "CD", LOGGED, "", "made C", false),
        // no log
        ("", "C", NOT_LOGGED, "->A", "", true),
        ("", "C", NOT_LOGGED, "", "made C", false),
    ] {
        let mut world = World::default();
        world.add_before(name, "A");
        world.add_facts(facts);
        world.add_journal(name, journal);
        let log = log(entries);
        let new: Vec<CommitId> = new
            .split_inclusive(char::is_alphabetic)
            .map(commit)
            .collect();
        let records = world.records();
        let found = records.proves_move_elsewhere(name, &log, &commit("C"), &new, was_logged);
        assert_eq!(found, is_proven, "{entries} ({journal}; {facts})");
    }
}

#[test]
fn a_commit_that_a_ref_was_on_at_add_was_not_moved_from_here() {
    let mut world = World::default();
    world.add_before("refs/heads/main", "C");
    world.add_journal("refs/heads/new", "->C, C>B");
    let records = world.records();
    assert!(!records.was_made_or_moved_here(&commit("C")));
    assert!(records.was_made_or_moved_here(&commit("B")));
}

#[test]
fn a_ref_whose_name_is_no_text_is_moved_here_as_others_are() {
    let name = BString::from(b"refs/heads/\xff".as_slice());
    let mut world = World::default();
    world.before.insert(name.clone(), commit("A"));
    world
        .now
        .insert(name.clone(), Ref::new(name.clone(), commit("C")));
    let line = format!("{} {} ", commit("A"), commit("C"));
    world.journal = [line.as_bytes(), &name, b"\n"].concat();
    let origins = attribute(&world.records());
    assert_eq!(origins.get(&name), Some(&Origin::MovedHere));
}
