use super::select::{Commits, Selected, Standing, select};
use super::*;
use crate::plan::doctor::leftovers::AdminFault;
use crate::worktree::Alive;

fn goes(candidate: &Candidate) -> bool {
    matches!(candidate.fate, Fate::Goes(..))
}

#[test]
fn only_what_is_empty_or_provably_ours_goes_without_a_record() {
    for (recorded, place, entry, is_gone) in [
        (Recorded::Nothing, Place::Empty, false, Some(true)),
        (Recorded::Nothing, Place::Other, false, Some(false)),
        (Recorded::Nothing, Place::Worktree, true, Some(false)),
        (Recorded::Nothing, Place::Nothing, false, None),
        (Recorded::Empty, Place::Nothing, false, Some(true)),
        (Recorded::Empty, Place::Nothing, true, Some(false)),
        (Recorded::Empty, Place::Other, false, Some(false)),
        (Recorded::Incomplete, Place::Other, true, Some(true)),
        (
            Recorded::Damaged("no".into()),
            Place::Nothing,
            false,
            Some(true),
        ),
        (
            Recorded::Damaged("no".into()),
            Place::Nothing,
            true,
            Some(false),
        ),
        (
            Recorded::Damaged("no".into()),
            Place::Worktree,
            true,
            Some(false),
        ),
        (Recorded::Forgotten, Place::Nothing, false, Some(true)),
        (Recorded::There, Place::Worktree, true, None),
    ] {
        let facts = NameFacts {
            name: "task".to_owned(),
            recorded,
            place,
            entry,
            copies: Vec::new(),
            claim: None,
        };
        let found = of_name(&facts).first().map(goes);
        assert_eq!(found, is_gone, "{facts:?}");
    }
}

#[test]
fn what_is_known_of_a_claim_goes_when_nobody_waits_for_it() {
    for (recorded, age, is_gone) in [
        (Recorded::Nothing, CLAIM_OLD, Some(true)),
        (Recorded::Nothing, CLAIM_OLD - 1, Some(false)),
        (Recorded::There, CLAIM_OLD, None),
    ] {
        let facts = NameFacts {
            name: "task".to_owned(),
            recorded,
            place: Place::Nothing,
            entry: false,
            copies: Vec::new(),
            claim: Some(age),
        };
        assert_eq!(of_name(&facts).first().map(goes), is_gone, "{facts:?}");
    }
}

#[test]
fn a_lock_of_git_goes_when_it_is_old_ours_and_nobodys() {
    for (age, ours, gits, open, is_gone) in [
        (OLD, true, Some(0), Some(false), true),
        (OLD - 1, true, Some(0), Some(false), false),
        (OLD, false, Some(0), Some(false), false),
        (OLD, true, Some(1), Some(false), false),
        (OLD, true, Some(0), Some(true), false),
        (OLD, true, None, Some(false), false),
        (OLD, true, Some(0), None, false),
    ] {
        let path = "/r/.git/worktrees/task/index.lock".to_owned();
        let facts = LockFacts {
            path,
            age,
            ours,
            gits,
            open,
        };
        assert_eq!(goes(&of_lock(&facts)), is_gone, "{facts:?}");
    }
}

#[test]
fn an_entry_of_git_or_with_work_stays() {
    for (ours, work, is_gone) in [
        (true, Some(Work::None), true),
        (true, Some(Work::Some), false),
        (true, None, false),
        (false, Some(Work::None), false),
    ] {
        let facts = EntryFacts {
            path: "/r/.git/worktrees/x".to_owned(),
            fault: AdminFault::Dangling("/r/x".to_owned()),
            ours,
            work,
        };
        assert_eq!(goes(&of_entry(&facts)), is_gone, "{facts:?}");
    }
}

#[test]
fn flags_select_together_and_the_age_narrows_them() {
    let asked = |merged, dead_owners, older_than| Asked {
        merged,
        dead_owners,
        older_than,
    };
    let of = |alive: Option<Alive>, idle, commits: Option<Commits>| Standing {
        owner: alive.map(|alive| ("s".to_owned(), alive)),
        idle,
        commits,
    };
    let merged = || Some(Commits::Merged(None));
    let table = [
        (asked(true, false, None), of(None, None, None), None),
        (
            asked(true, false, None),
            of(None, None, merged()),
            Some(true),
        ),
        (
            asked(true, false, None),
            of(None, None, Some(Commits::None)),
            Some(false),
        ),
        (
            asked(true, false, None),
            of(None, None, Some(Commits::Unmerged(2))),
            Some(false),
        ),
        (
            asked(false, true, None),
            of(Some(Alive::No), None, None),
            Some(true),
        ),
        (
            asked(false, true, None),
            of(Some(Alive::Yes), None, None),
            Some(false),
        ),
        (
            asked(false, true, None),
            of(Some(Alive::Unknown), None, None),
            Some(false),
        ),
        (
            asked(false, true, None),
            of(None, None, merged()),
            Some(false),
        ),
        (
            asked(true, true, None),
            of(Some(Alive::Yes), None, merged()),
            Some(true),
        ),
        (
            asked(true, true, None),
            of(Some(Alive::No), None, None),
            Some(true),
        ),
        (
            asked(false, false, Some(60)),
            of(None, Some(60), None),
            Some(true),
        ),
        (
            asked(false, false, Some(60)),
            of(None, Some(59), None),
            Some(false),
        ),
        (
            asked(false, false, Some(60)),
            of(None, None, None),
            Some(false),
        ),
        (
            asked(true, false, Some(60)),
            of(None, Some(59), merged()),
            Some(false),
        ),
        (
            asked(true, false, Some(60)),
            of(None, Some(61), Some(Commits::None)),
            Some(false),
        ),
        (
            asked(false, true, Some(60)),
            of(Some(Alive::No), Some(61), None),
            Some(true),
        ),
    ];
    for (asked, standing, is_selected) in table {
        let found = match select(asked, &standing) {
            Selected::Yes(_) => Some(true),
            Selected::No(why) => {
                assert!(!why.is_empty());
                Some(false)
            }
            Selected::LookAtCommits => None,
        };
        assert_eq!(found, is_selected, "{asked:?} {standing:?}");
    }
}
