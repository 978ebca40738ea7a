use super::*;

fn goes(leftover: &Leftover) -> bool {
    leftover.remedy.is_some()
}

#[test]
fn only_what_is_empty_or_provably_ours_goes_without_a_record() {
    for (recorded, standing, entry, is_gone) in [
        (NameState::Nothing, Standing::Empty, false, Some(true)),
        (NameState::Nothing, Standing::Other, false, Some(false)),
        (NameState::Nothing, Standing::Worktree, true, Some(false)),
        (NameState::Nothing, Standing::Nothing, false, None),
        (NameState::Empty, Standing::Nothing, false, Some(true)),
        (NameState::Empty, Standing::Nothing, true, Some(false)),
        (NameState::Empty, Standing::Other, false, Some(false)),
        (NameState::Incomplete, Standing::Other, true, Some(true)),
        (
            NameState::Damaged("no".into()),
            Standing::Nothing,
            false,
            Some(true),
        ),
        (
            NameState::Damaged("no".into()),
            Standing::Nothing,
            true,
            Some(false),
        ),
        (
            NameState::Damaged("no".into()),
            Standing::Worktree,
            true,
            Some(false),
        ),
        (NameState::Forgotten, Standing::Nothing, false, Some(true)),
        (NameState::There, Standing::Worktree, true, None),
    ] {
        let facts = NameFacts {
            name: "task".to_owned(),
            recorded,
            standing,
            entry,
            copies: Vec::new(),
            claim: None,
        };
        let found = judge_name(&facts).first().map(goes);
        assert_eq!(found, is_gone, "{facts:?}");
    }
}

#[test]
fn what_is_known_of_a_claim_goes_when_nobody_waits_for_it() {
    for (recorded, age, is_gone) in [
        (NameState::Nothing, CLAIM_OLD, Some(true)),
        (NameState::Nothing, CLAIM_OLD - 1, Some(false)),
        (NameState::There, CLAIM_OLD, None),
    ] {
        let facts = NameFacts {
            name: "task".to_owned(),
            recorded,
            standing: Standing::Nothing,
            entry: false,
            copies: Vec::new(),
            claim: Some(age),
        };
        assert_eq!(judge_name(&facts).first().map(goes), is_gone, "{facts:?}");
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
        assert_eq!(goes(&judge_lock(&facts)), is_gone, "{facts:?}");
    }
}

#[test]
fn an_entry_of_git_or_with_work_stays() {
    for (ours, work, is_gone) in [
        (true, Some(false), true),
        (true, Some(true), false),
        (true, None, false),
        (false, Some(false), false),
    ] {
        let facts = EntryFacts {
            path: "/r/.git/worktrees/x".to_owned(),
            fault: EntryFault::Dangling("/r/x".to_owned()),
            ours,
            work,
        };
        assert_eq!(goes(&judge_entry(&facts)), is_gone, "{facts:?}");
    }
}
