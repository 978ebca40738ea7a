use super::*;

fn commit(digit: char) -> CommitId {
    let digits: String = std::iter::repeat_n(digit, 40).collect();
    CommitId::parse(&digits).expect("an id")
}

/// A run that made a commit, left nothing else, and met nobody.
fn facts() -> ImportFacts {
    ImportFacts {
        verdict: ImportVerdict::InScope,
        began: Some(commit('a')),
        before: Some(commit('a')),
        now: Some(commit('a')),
        tip: Some(commit('b')),
        head: UserHead::OnBranch,
        operation: None,
        lock: IndexLockHolder::Import,
        user_index: UserIndex::AsInRun,
        left: Vec::new(),
    }
}

/// A row of the table: what differs from [`facts`], and what is planned then.
struct Row {
    what: &'static str,
    facts: ImportFacts,
    branch: BranchStep,
    index: IndexStep,
    staged: StagedStep,
    git_directory: GitDirectoryStep,
}

fn moves() -> BranchStep {
    BranchStep::Moves {
        from: commit('a'),
        to: commit('b'),
    }
}

fn kept(conflict: ImportConflict) -> BranchStep {
    BranchStep::Kept(KeptReason::Conflict(conflict))
}

fn stays_for(leftover: Leftover) -> GitDirectoryStep {
    GitDirectoryStep::Stays(vec![leftover])
}

/// A run that is imported wholly, and its git directory removed.
fn imported(what: &'static str, facts: ImportFacts) -> Row {
    Row {
        what,
        facts,
        branch: moves(),
        index: IndexStep::TakenFromRun,
        staged: StagedStep::WithIndex,
        git_directory: GitDirectoryStep::Removed,
    }
}

/// A run of which nothing is imported, for what the user did.
fn refused(what: &'static str, facts: ImportFacts, conflict: ImportConflict) -> Row {
    Row {
        branch: kept(conflict),
        index: IndexStep::Stays,
        staged: StagedStep::KeptByRef,
        git_directory: GitDirectoryStep::Stays(Vec::new()),
        ..imported(what, facts)
    }
}

fn check(rows: Vec<Row>) {
    for row in rows {
        let planned = plan(&row.facts);
        let what = row.what;
        assert_eq!(planned.branch, row.branch, "{what}: the branch");
        assert_eq!(planned.index, row.index, "{what}: the index");
        assert_eq!(planned.staged, row.staged, "{what}: what is staged");
        assert_eq!(planned.git_directory, row.git_directory, "{what}: the rest");
    }
}

#[test]
fn what_a_run_left_decides_what_comes() {
    let left = |left: LeftBehind| ImportFacts {
        left: vec![left],
        ..facts()
    };
    let nested = crate::words::path::RepoPath::parse("src/n").expect("a path");
    check(vec![
        imported("commits alone", facts()),
        imported("nested", left(LeftBehind::NestedRepository(nested))),
        Row {
            git_directory: stays_for(Leftover::Stash),
            ..imported("a stash", left(LeftBehind::Stash))
        },
        Row {
            git_directory: stays_for(Leftover::Repositories),
            ..imported("worktrees of its own", left(LeftBehind::Repositories))
        },
        Row {
            git_directory: stays_for(Leftover::UnfetchedCommits),
            ..imported("a broken stash", left(LeftBehind::UnfetchedCommits))
        },
        Row {
            index: IndexStep::MovedToCommits,
            git_directory: stays_for(Leftover::OtherHead),
            ..imported("another branch", left(LeftBehind::OtherHead))
        },
        Row {
            index: IndexStep::MovedToCommits,
            git_directory: stays_for(Leftover::Operation),
            ..imported("a rebase", left(LeftBehind::Operation("rebase")))
        },
        Row {
            index: IndexStep::MovedToCommits,
            git_directory: stays_for(Leftover::UnfetchedFiles),
            ..imported("broken staged files", left(LeftBehind::UnfetchedFiles))
        },
        Row {
            index: IndexStep::MovedToCommits,
            ..imported("a broken index", left(LeftBehind::UnreadableIndex))
        },
    ]);
}

#[test]
fn commits_that_do_not_fit_what_the_user_did_stay_away() {
    let moved = ImportFacts {
        now: Some(commit('c')),
        ..facts()
    };
    let gone = ImportFacts {
        now: None,
        ..facts()
    };
    let away = ImportFacts {
        head: UserHead::Elsewhere,
        ..facts()
    };
    let merging = ImportFacts {
        operation: Some("merge"),
        ..facts()
    };
    let locked = ImportFacts {
        lock: IndexLockHolder::Git,
        ..facts()
    };
    check(vec![
        refused("moved", moved, ImportConflict::BranchMoved),
        refused("gone", gone, ImportConflict::BranchMoved),
        refused("elsewhere", away, ImportConflict::SwitchedAway),
        refused("merging", merging, ImportConflict::OperationBegun),
        Row {
            git_directory: stays_for(Leftover::LockedIndex),
            ..refused("locked", locked, ImportConflict::IndexLocked)
        },
    ]);
}

#[test]
fn without_commits_only_a_head_elsewhere_is_in_the_way() {
    let facts = || ImportFacts {
        tip: None,
        ..facts()
    };
    let stays = |what, facts| Row {
        branch: BranchStep::Stays,
        index: IndexStep::Stays,
        staged: StagedStep::KeptByRef,
        ..imported(what, facts)
    };
    let moved = ImportFacts {
        now: Some(commit('c')),
        ..facts()
    };
    let merging = ImportFacts {
        operation: Some("merge"),
        ..facts()
    };
    let locked = ImportFacts {
        lock: IndexLockHolder::Git,
        ..facts()
    };
    let away = ImportFacts {
        head: UserHead::Elsewhere,
        ..facts()
    };
    check(vec![
        Row {
            branch: BranchStep::Stays,
            ..imported("staged only", facts())
        },
        stays("moved", moved),
        stays("merging", merging),
        Row {
            git_directory: stays_for(Leftover::LockedIndex),
            ..stays("locked", locked)
        },
        refused("elsewhere", away, ImportConflict::SwitchedAway),
    ]);
}

#[test]
fn violations_keep_all_of_it_away_and_are_told_before_what_the_user_did() {
    let facts = ImportFacts {
        verdict: ImportVerdict::Violations,
        ..facts()
    };
    let moved = ImportFacts {
        now: Some(commit('c')),
        ..facts.clone()
    };
    let row = |what, facts, staged| Row {
        branch: BranchStep::Kept(KeptReason::Violations),
        index: IndexStep::Stays,
        staged,
        git_directory: GitDirectoryStep::Stays(Vec::new()),
        ..imported(what, facts)
    };
    check(vec![
        row("violations", facts, StagedStep::WithIndex),
        row("and moved", moved, StagedStep::KeptByRef),
    ]);
}

#[test]
fn what_the_user_staged_stays_and_the_commits_come_below_it() {
    let restaged = ImportFacts {
        user_index: UserIndex::Restaged,
        ..facts()
    };
    let unreadable = ImportFacts {
        left: vec![LeftBehind::UnreadableIndex],
        ..restaged.clone()
    };
    check(vec![
        Row {
            index: IndexStep::MovedToCommits,
            staged: StagedStep::KeptByRef,
            ..imported("restaged", restaged)
        },
        Row {
            index: IndexStep::MovedToCommits,
            ..imported("restaged, and a broken index", unreadable)
        },
    ]);
}

#[test]
fn a_branch_that_is_not_there_does_not_move() {
    let facts = ImportFacts {
        began: None,
        before: None,
        now: None,
        ..facts()
    };
    check(vec![Row {
        branch: BranchStep::Stays,
        ..imported("no branch", facts)
    }]);
}
