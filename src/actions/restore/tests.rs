use std::collections::BTreeSet;

use crate::actions::restore::plan::{
    PlacedSource, PlannedPath, RestoreFacts, RestorePlan, blocking, has_below, plan,
};
use crate::actions::restore::refusal::RestoreRefusal;
use crate::actions::restore::undo_plan::{PathNow, UndoPlan, plan_undo};
use crate::actions::saved::{SavedPath, SavedRestore};
use crate::answer::shapes::BranchMove;
use crate::record::worktree::Record;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path::RepoPath;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).expect("it is normal")
}

fn entry(mode: Mode) -> Entry {
    let id = ObjectId::from_bytes(&[1; 20]).expect("20 bytes");
    Entry { mode, id }
}

fn violation(text: &str, disk: Option<Mode>, target: Option<Mode>) -> PlannedPath {
    PlannedPath {
        path: path(text),
        kind: "modified",
        excluded: false,
        committed: false,
        can_be_saved: true,
        disk: disk.map(entry),
        target: target.map(entry),
        source: PlacedSource::NotPlaced,
    }
}

fn facts(violations: Vec<PlannedPath>) -> RestoreFacts<'static> {
    let name = WorktreeName::parse("t").expect("it is a name");
    let record = Record::new(name, "/w".into(), String::new());
    RestoreFacts {
        record: Box::leak(Box::new(record)),
        busy: None,
        violations,
        permissions: Vec::new(),
        sparse: false,
        others: BTreeSet::new(),
        others_on_disk: BTreeSet::new(),
        history: Vec::new(),
    }
}

fn names(plan: &RestorePlan) -> Vec<String> {
    plan.restored.iter().map(|v| v.path.to_string()).collect()
}

fn is_blocked(refused: Result<RestorePlan, RestoreRefusal>, why: &str) -> bool {
    matches!(refused, Err(RestoreRefusal::Blocked { message, .. }) if message.contains(why))
}

fn is_about_branch(refused: Result<RestorePlan, RestoreRefusal>, why: &str) -> bool {
    matches!(refused, Err(RestoreRefusal::Branch { message, .. }) if message.contains(why))
}

const FILE: Option<Mode> = Some(Mode::File);

#[test]
fn a_path_means_itself_and_all_below_it_and_nothing_that_only_begins_so() {
    let all = ["docs/a", "docs/b/c", "docs2"].map(|text| violation(text, FILE, FILE));
    let facts = facts(all.to_vec());
    let planned = |asked: &[&str]| {
        let asked: Vec<RepoPath> = asked.iter().map(|text| path(text)).collect();
        plan(&facts, &asked).map(|plan| names(&plan))
    };
    assert_eq!(planned(&["docs"]).expect("ok"), ["docs/a", "docs/b/c"]);
    assert_eq!(planned(&["docs/b/c"]).expect("ok"), ["docs/b/c"]);
    assert_eq!(planned(&[]).expect("ok"), ["docs/a", "docs/b/c", "docs2"]);
    let refused = planned(&["docs", "doc"]);
    assert!(
        matches!(refused, Err(RestoreRefusal::Unknown { message, .. }) if message.starts_with("doc "))
    );
}

#[test]
fn a_link_in_the_place_of_a_directory_goes_before_what_was_in_it() {
    let facts = facts(vec![
        violation("docs", Some(Mode::Link), None),
        violation("docs/a", None, FILE),
        violation("docs/b", None, FILE),
    ]);
    let plan = plan(&facts, &[path("docs/a")]).expect("ok");
    assert_eq!(names(&plan), ["docs", "docs/a"]);
}

#[test]
fn work_in_scope_is_never_in_the_way() {
    for other in ["README.md/notes", "README.md"] {
        let target = if other == "README.md" {
            "README.md/x"
        } else {
            "README.md"
        };
        let mut facts = facts(vec![violation(target, None, FILE)]);
        facts.others.insert(path(other));
        let refused = plan(&facts, &[]);
        assert!(is_blocked(refused, "is in its way"), "{other}");
    }
}

#[test]
fn a_repository_is_refused_and_an_empty_directory_of_that_name_is_not() {
    let nested = Some(Mode::NestedGit);
    let refused = plan(&facts(vec![violation("d/n/.git", nested, None)]), &[]);
    assert!(is_blocked(refused, "inside it: d/n"));
    let empty = Some(Mode::EmptyDirectory);
    let empty = facts(vec![violation("d/n/.git", empty, None)]);
    assert!(plan(&empty, &[]).is_ok());
}

#[test]
fn only_what_is_committed_needs_the_branch() {
    let mut facts = facts(vec![violation("a", FILE, FILE), violation("b", FILE, FILE)]);
    facts.violations[1].committed = true;
    facts.busy = Some(("a merge is in progress".into(), "abort it".into()));
    let refused = plan(&facts, &[]);
    assert!(is_about_branch(refused, "a merge is in progress"));
    assert!(plan(&facts, &[path("a")]).is_ok());
}

#[test]
fn a_placed_file_is_put_back_from_a_source_that_is_the_same_and_stays_otherwise() {
    let placed = |text, source| PlannedPath {
        source,
        ..violation(text, FILE, None)
    };
    let facts = facts(vec![
        placed("a", PlacedSource::Same),
        placed("b", PlacedSource::Changed),
        placed("c", PlacedSource::Changed),
    ]);
    let both = plan(&facts, &[]).expect("ok");
    assert_eq!(names(&both), ["a"]);
    let stays: Vec<_> = both.stays.iter().map(ToString::to_string).collect();
    assert_eq!(stays, ["b", "c"]);
    let nothing = plan(&facts, &[path("b")]).expect("ok");
    assert!(nothing.restored.is_empty() && nothing.stays.len() == 1);
}

#[test]
fn ignored_work_in_the_place_of_a_placed_file_is_in_its_way() {
    let mut facts = facts(vec![PlannedPath {
        source: PlacedSource::Same,
        ..violation("a", None, None)
    }]);
    facts.others.insert(path("a/built.log"));
    let refused = plan(&facts, &[]);
    assert!(is_blocked(refused, "is in its way"));
}

fn commit(digit: &str) -> CommitId {
    CommitId::parse(&digit.repeat(40)).expect("40 digits")
}

fn file(byte: u8) -> Entry {
    let id = ObjectId::from_bytes(&[byte; 20]).expect("20 bytes");
    let mode = Mode::File;
    Entry { mode, id }
}

/// `a` had content 1; its base has 9, and the branch was moved from `a` to `b`.
fn undo(
    disk: Option<Entry>,
    disk_changed: bool,
    others: &[&str],
    tip: &str,
) -> Result<UndoPlan, RestoreRefusal> {
    let now = PathNow {
        saved: SavedPath {
            path: path("a"),
            disk: Some(file(1)),
            permissions: None,
            index: Vec::new(),
            intent_to_add: false,
        },
        disk,
        index: Vec::new(),
        disk_changed,
        index_changed: false,
    };
    let saved = SavedRestore {
        rescue: "r".into(),
        previous: commit("a"),
        made: Some(commit("b")),
        paths: Vec::new(),
        directories: Vec::new(),
    };
    let mut facts = facts(Vec::new());
    facts.others_on_disk = others.iter().map(|text| path(text)).collect();
    plan_undo(&facts, &saved, vec![now], Some(&commit(tip)))
}

#[test]
fn what_is_as_the_restore_left_it_is_brought_back() {
    let plan = undo(Some(file(9)), false, &[], "b").expect("nothing is lost");
    assert_eq!(plan.paths.len(), 1);
    let (from, to) = (commit("b"), commit("a"));
    assert_eq!(plan.branch, Some(BranchMove { from, to }));
}

#[test]
fn what_was_changed_since_is_never_overwritten() {
    let refused = undo(Some(file(2)), true, &[], "b");
    assert!(matches!(refused, Err(RestoreRefusal::Undo { .. })));
    let refused = undo(Some(file(9)), false, &["a/b"], "b");
    assert!(matches!(refused, Err(RestoreRefusal::Undo { .. })));
}

#[test]
fn what_a_killed_restore_left_as_it_was_is_no_newer_work() {
    let kept = undo(Some(file(1)), true, &[], "b").expect("nothing is lost");
    assert_eq!(kept.paths, []);
    let taken_away = undo(None, true, &[], "b").expect("nothing is lost");
    assert_eq!(taken_away.paths.len(), 1);
}

#[test]
fn a_branch_that_went_on_is_refused_and_one_that_never_moved_stays() {
    let refused = undo(Some(file(9)), false, &[], "c");
    assert!(matches!(refused, Err(RestoreRefusal::Branch { .. })));
    let stays = undo(Some(file(9)), false, &[], "a").expect("nothing is lost");
    assert_eq!(stays.branch, None);
}

#[test]
fn what_is_above_or_below_a_path_is_found() {
    let texts = [
        "a", "a!", "a-b/c", "a/b", "a/b!d", "a/b/c", "a/b/c/d", "a/b0", "b",
    ];
    let others: BTreeSet<RepoPath> = texts.map(path).into();
    let sorted: Vec<&RepoPath> = others.iter().collect();
    for text in [
        "a",
        "a!",
        "a-b",
        "a/b",
        "a/b/c",
        "a/b/c/d/e",
        "b",
        "b/c",
        "c",
    ] {
        let one = path(text);
        let below = |other: &&RepoPath| other.is_below(one.as_bstr());
        let above = |other: &&RepoPath| one.is_below(other.as_bstr());
        let expected: BTreeSet<&RepoPath> = others
            .iter()
            .filter(|other| below(other) || above(other))
            .collect();
        let found: BTreeSet<&RepoPath> = blocking(&one, &others).collect();
        assert_eq!(found, expected, "{text}");
        assert_eq!(has_below(&sorted, &one), others.iter().any(|o| below(&o)));
    }
}
