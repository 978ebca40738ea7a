use super::*;

#[test]
fn only_what_is_empty_or_provably_ours_goes_without_a_record() {
    let broken = Some("no");
    for (state, damage, is_gone) in [
        (PlaceState::Empty, None, Some(true)),
        (PlaceState::Other, None, Some(false)),
        (PlaceState::Worktree, None, Some(false)),
        (PlaceState::Nothing, None, None),
        (PlaceState::OnlyEntry, None, None),
        (PlaceState::Nothing, broken, Some(true)),
        (PlaceState::OnlyEntry, broken, Some(false)),
        (PlaceState::Empty, broken, Some(false)),
        (PlaceState::Other, broken, Some(false)),
        (PlaceState::Worktree, broken, Some(false)),
    ] {
        let found = judge_name("task", state, damage);
        let is_helped = |one: &Leftover| one.goes != one.help.is_some();
        assert!(found.as_ref().is_none_or(is_helped), "{found:?}");
        assert_eq!(found.as_ref().map(|one| one.goes), is_gone, "{found:?}");
    }
}

#[test]
fn what_is_known_of_a_claim_goes_when_nobody_waits_for_it() {
    assert!(judge_claim("task", CLAIM_OLD).goes);
    assert!(!judge_claim("task", CLAIM_OLD - 1).goes);
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
        let facts = LockFacts {
            path: "/r/.git/worktrees/task/index.lock".into(),
            age,
            ours,
            gits,
            open,
        };
        assert_eq!(judge_lock(&facts).goes, is_gone, "{facts:?}");
    }
}

#[test]
fn an_entry_of_git_or_with_work_stays() {
    for (content, is_gone) in [
        (EntryContent::NoWork, true),
        (EntryContent::Work, false),
        (EntryContent::Unreadable, false),
        (EntryContent::NotOurs, false),
    ] {
        let admin_dir = Utf8Path::new("/r/.git/worktrees/x");
        let found = judge_entry(admin_dir, &EntryFault::NoWorktree, content);
        assert_eq!(found.goes, is_gone, "{found:?}");
        assert_eq!(found.help.is_none(), is_gone, "{found:?}");
    }
}
