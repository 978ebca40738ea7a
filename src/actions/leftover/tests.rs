use super::*;

#[test]
fn only_what_is_empty_or_provably_ours_goes_without_a_record() {
    let broken = Some("no");
    for (standing, entry, damage, is_gone) in [
        (EntryStanding::Empty, false, None, Some(true)),
        (EntryStanding::Other, false, None, Some(false)),
        (EntryStanding::Worktree, true, None, Some(false)),
        (EntryStanding::Nothing, false, None, None),
        (EntryStanding::Nothing, true, None, None),
        (EntryStanding::Nothing, false, broken, Some(true)),
        (EntryStanding::Nothing, true, broken, Some(false)),
        (EntryStanding::Empty, false, broken, Some(false)),
        (EntryStanding::Other, false, broken, Some(false)),
        (EntryStanding::Worktree, true, broken, Some(false)),
    ] {
        let found = judge_name("task", standing, entry, damage);
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
    for (ours, work, is_gone) in [
        (true, Some(false), true),
        (true, Some(true), false),
        (true, None, false),
        (false, Some(false), false),
    ] {
        let help = "git worktree prune".to_owned();
        let found = judge_entry("/r/.git/worktrees/x", "gone", help, ours, work);
        assert_eq!(found.goes, is_gone, "{found:?}");
        assert_eq!(found.help.is_none(), is_gone, "{found:?}");
    }
}
