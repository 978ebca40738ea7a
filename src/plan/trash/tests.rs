//! Tests of what is saved and what is refused, without a repository.

use super::list::{Listed, Stood, from_bytes, to_bytes};
use super::*;
use crate::config::Strategy;
use crate::entry::{Entry, Mode, ObjectId};
use crate::name::BranchName;
use crate::path::RepoPath;
use crate::worktree::{Usual, VERSION};

fn commit(digit: &str) -> CommitId {
    CommitId::parse(&digit.repeat(40)).expect("40 digits")
}

fn facts() -> ReviveFacts {
    let trash = Trash {
        version: VERSION,
        name: WorktreeName::parse("task").expect("a name"),
        removed: "2026-11-22T08:00:00Z".into(),
        head: commit("a"),
        on: Some("refs/heads/agentwt/task".into()),
        unborn: false,
        branch: BranchName::from_git("agentwt/task"),
        tip: Some(commit("a")),
        path: "/r/.agentwt/worktrees/task".into(),
        strategy: Strategy::Worktree,
        whole: false,
        private: Vec::new(),
        usual: Usual {
            write: 0o644,
            read: 0o444,
            write_executable: 0o755,
            read_executable: 0o555,
            directory: 0o755,
        },
    };
    ReviveFacts {
        path: trash.path.clone(),
        trash,
        reference: "refs/agentwt/trash/task/20261122T080000Z".into(),
        has_repository: true,
        recorded: false,
        taken: false,
        branches: vec![BranchNow {
            name: "refs/heads/agentwt/task".into(),
            saved: Some(commit("a")),
            now: None,
            held: None,
        }],
    }
}

fn refused(change: impl FnOnce(&mut ReviveFacts)) -> &'static str {
    let mut facts = facts();
    change(&mut facts);
    plan(&facts).expect_err("it is refused").code_name()
}

#[test]
fn a_branch_is_made_where_it_is_gone_and_used_where_it_is_as_it_was() {
    let mut facts = facts();
    let made = plan(&facts).expect("it can be brought back").make;
    assert_eq!(made, [("refs/heads/agentwt/task".to_owned(), commit("a"))]);
    facts.branches[0].now = Some(commit("a"));
    assert_eq!(plan(&facts).expect("it can be brought back").make, []);
}

#[test]
fn nothing_that_is_there_is_replaced() {
    assert_eq!(refused(|f| f.recorded = true), "agentwt::trash::exists");
    assert_eq!(refused(|f| f.taken = true), "agentwt::trash::path_taken");
    let moved = |f: &mut ReviveFacts| f.branches[0].now = Some(commit("b"));
    assert_eq!(refused(moved), "agentwt::trash::branch_moved");
    let held = |f: &mut ReviveFacts| f.branches[0].held = Some("/elsewhere".into());
    assert_eq!(refused(held), "agentwt::trash::branch_held");
}

fn trashed(time: i64, number: u32) -> Trashed {
    Trashed {
        name: WorktreeName::parse("task").expect("a name"),
        reference: format!("refs/agentwt/trash/task/{time}-{number}"),
        commit: commit(&(number % 10).to_string()),
        removed: Some(time),
        number,
    }
}

#[test]
fn the_newest_is_chosen_unless_one_is_named() {
    let all = [trashed(5, 2), trashed(5, 10), trashed(4, 3)];
    let number = |named| chosen(&all, named).map(|one| one.number);
    assert_eq!(number(None), Some(10));
    assert_eq!(number(Some("4-3")), Some(3));
    assert_eq!(number(Some("refs/agentwt/trash/task/5-2")), Some(2));
    assert_eq!(number(Some("3333333")), Some(3));
    assert_eq!(number(Some("333")), None);
}

#[test]
fn what_is_older_expires_and_what_does_not_say_stays() {
    let mut all = vec![trashed(100, 1), trashed(200, 2), trashed(300, 3)];
    all[0].removed = None;
    let gone: Vec<u32> = expired(&all, 250).iter().map(|t| t.number).collect();
    assert_eq!(gone, [2]);
}

#[test]
fn a_list_is_read_back_as_it_was_written() {
    let id = ObjectId::from_bytes(&[7; 20]).expect("20 bytes");
    let entry = |mode| Entry { mode, id };
    let one = |path: &[u8], stood, bits, recorded| Listed {
        path: RepoPath::parse(path).expect("a path"),
        stood,
        bits,
        recorded,
    };
    let list = [
        one(
            b"-a\n\xff",
            Stood::Content(entry(Mode::File)),
            Some(0o4755),
            None,
        ),
        one(b"b", Stood::Placed(entry(Mode::Link)), None, None),
        one(b"c", Stood::Nothing, None, None),
        one(b"d", Stood::AsCheckedOut, Some(0o644), Some(0o100_444)),
        one(b"e", Stood::Directory, Some(0o555), None),
        one(b"f", Stood::Special, None, None),
        one(b"g", Stood::AtSource, None, None),
    ];
    assert_eq!(from_bytes(&to_bytes(&list)).as_deref(), Some(&list[..]));
    assert_eq!(from_bytes(b""), Some(Vec::new()));
    for bytes in [
        &b"a\0-\0-\0"[..],
        b"a",
        b"a\0?\0-\0-\0",
        b"../a\0-\0-\0-\0",
        b"a\0-\x009\0-\0",
    ] {
        assert_eq!(from_bytes(bytes), None, "{bytes:?}");
    }
}
