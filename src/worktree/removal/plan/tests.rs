use super::*;
use crate::name::{BranchName, WorktreeName};
use crate::worktree::{Base, Owner, OwnerProcess};

fn commit(digit: &str) -> CommitId {
    CommitId::parse(&digit.repeat(40)).expect("40 digits")
}

/// Facts of a clean, merged worktree whose branch `add` made.
fn clean() -> RemoveFacts {
    let path = Utf8PathBuf::from("/r/.agentwt/worktrees/task");
    let record = Record {
        name: WorktreeName::parse("task").expect("a name"),
        created: "2026-11-22T10:00:00Z".into(),
        made_by: MadeBy::Add,
        strategy: crate::config::Strategy::Worktree,
        owner: None,
        claim: None,
        path: path.clone(),
        admin_dir: "/r/.git/worktrees/task".into(),
        dot_git: String::new(),
        branch: BranchName::from_git("agentwt/task"),
        branch_made: true,
        base: Base {
            commit: commit("1"),
            revision: "main".into(),
            tips: Vec::new(),
        },
        checked_out: commit("1"),
        ignore_case: false,
        file_mode: true,
        conversions: false,
        profile: None,
        on_violation: crate::config::OnViolation::Report,
        integrity: Vec::new(),
        scope: Vec::new(),
    };
    RemoveFacts {
        record: Box::new(record),
        start: "/r".into(),
        root: "/r".into(),
        place: path,
        barred: None,
        link: None,
        locked: false,
        uncommitted: Vec::new(),
        untracked: Vec::new(),
        placed: Vec::new(),
        nested: Vec::new(),
        unreadable: Vec::new(),
        mounted: Vec::new(),
        running: Some(Vec::new()),
        owner: Alive::No,
        held: false,
        linked: Vec::new(),
        modules: false,
        is_left: true,
        branch_tip: Some(commit("2")),
        detached: Vec::new(),
        moved_to: None,
        unmerged: Unmerged::default(),
        merged: None,
        stashes: Vec::new(),
    }
}

fn owned(facts: &mut RemoveFacts, alive: Alive) {
    facts.record.owner = Some(Owner {
        id: "ci-7".into(),
        host: "host-1".into(),
        process: Some(OwnerProcess {
            pid: 17,
            started: "boot 1".into(),
        }),
        since: "2026-11-22T10:00:00Z".into(),
    });
    facts.owner = alive;
}

fn with_force(force: u8) -> RemoveOptions {
    RemoveOptions {
        force,
        ..RemoveOptions::default()
    }
}

#[test]
fn each_reason_needs_its_own_force() {
    type Change = fn(&mut RemoveFacts);
    let path = || RepoPath::parse("src/a").expect("a path");
    let cases: &[(&str, Option<u8>, Change)] = &[
        ("plain git made it", None, |f| {
            f.record.made_by = MadeBy::Git;
        }),
        ("another place", None, |f| f.record.path = "/etc".into()),
        (
            "a link to /x stands in its place, which is not followed",
            None,
            |f| {
                f.link = Some("/x".into());
            },
        ),
        ("a link", None, |f| f.barred = Some("a link".into())),
        ("you are inside it", None, |f| f.start = f.place.join("src")),
        ("it was moved", None, |f| f.moved_to = Some("/x".into())),
        ("a repository is inside", Some(1), |f| {
            f.nested.extend(RepoPath::parse("in").ok());
        }),
        ("is mounted inside", None, |f| {
            f.mounted.push("target".into());
        }),
        ("cannot be read", Some(1), |f| {
            f.unreadable.push("src".into());
        }),
        ("uncommitted changes", Some(1), |f| {
            f.uncommitted.extend(RepoPath::parse("src/a").ok());
        }),
        ("is on no other branch", Some(1), |f| {
            f.unmerged.branch = vec![(commit("2"), "x".into())];
        }),
        ("it is locked", Some(2), |f| f.locked = true),
        ("process 4 (vi) works in it", Some(2), |f| {
            let name = "vi".into();
            f.running = Some(vec![Running { pid: 4, name }]);
        }),
        ("its owner `ci-7` is alive", Some(2), |f| {
            owned(f, Alive::Yes);
        }),
    ];
    for (words, enough, change) in cases {
        let mut facts = clean();
        change(&mut facts);
        for force in 0..4 {
            let decided = plan(&facts, &with_force(force));
            let allowed = enough.is_some_and(|enough| force >= enough);
            assert_eq!(decided.is_ok(), allowed, "{words}, force {force}");
            if let Err(refusal) = decided {
                assert!(refusal.to_string().contains(words), "{refusal}");
                assert!(!refusal.advice().is_empty());
            }
        }
    }
    // the first three stand alone
    let mut all = clean();
    for (_, _, change) in cases.iter().skip(3) {
        change(&mut all);
    }
    let refusal = plan(&all, &with_force(0)).expect_err("it is refused");
    for (words, ..) in cases.iter().skip(3) {
        assert!(refusal.to_string().contains(words), "{words}: {refusal}");
    }
    assert_eq!(all.uncommitted, [path()]);
}

#[test]
fn an_owner_may_remove_its_own_and_one_nobody_knows_of_stops_nothing() {
    let mut facts = clean();
    owned(&mut facts, Alive::Yes);
    let ours = RemoveOptions {
        owner: Some("ci-7".into()),
        ..with_force(0)
    };
    assert!(plan(&facts, &ours).is_ok());
    let other = RemoveOptions {
        owner: Some("ci-8".into()),
        ..with_force(0)
    };
    assert!(plan(&facts, &other).is_err());
    facts.owner = Alive::Unknown;
    assert!(plan(&facts, &with_force(0)).is_ok());
    let said = notes(&facts, &with_force(0)).join("\n");
    assert!(said.contains("owner `ci-7` on host-1"), "{said}");
    assert!(notes(&facts, &ours).is_empty());
}

#[test]
fn a_branch_merged_by_content_is_deleted_and_its_tip_kept() {
    let mut facts = clean();
    facts.merged = Some(Merged::Squashed(commit("3")));
    let decided = plan(&facts, &with_force(0)).expect("it goes");
    assert_eq!(decided.branch, BranchFate::Deleted(commit("2")));
    assert_eq!(decided.keep, [commit("2")]);
    let plainly = plan(&clean(), &with_force(0)).expect("it goes");
    assert!(plainly.keep.is_empty());
}

#[test]
fn a_branch_that_stays_loses_nothing() {
    let mut facts = clean();
    facts.unmerged.branch = vec![(commit("2"), "x".into())];
    facts.record.branch_made = false;
    let decided = plan(&facts, &with_force(0)).expect("the user's own branch stays");
    assert_eq!(decided.branch, BranchFate::Stays);
    let delete = RemoveOptions {
        delete_branch: true,
        ..with_force(0)
    };
    let decided = plan(&facts, &delete).expect("it was asked for");
    assert_eq!(decided.branch, BranchFate::Deleted(commit("2")));
    assert_eq!(decided.keep, [commit("2")]);
}
