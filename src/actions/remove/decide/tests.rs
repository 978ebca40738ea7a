use camino::Utf8PathBuf;

use super::*;
use crate::actions::remove::plan::{Merged, MergedHow};
use crate::record::worktree::{Owner, OwnerProcess};
use crate::words::name::{BranchName, CommitId, WorktreeName};

fn commit(digit: &str) -> CommitId {
    CommitId::parse(&digit.repeat(40)).expect("40 digits")
}

/// A clean, merged worktree whose branch `add` made.
struct Case {
    record: Record,
    facts: RemoveFacts,
}

fn clean() -> Case {
    let path = Utf8PathBuf::from("/r/.agentwt/worktrees/task");
    let name = WorktreeName::parse("task").expect("a name");
    Case {
        record: Record {
            branch: BranchName::from_git("agentwt/task"),
            branch_made: true,
            ..Record::new(name, path, "2026-11-22T10:00:00Z".into())
        },
        facts: RemoveFacts {
            start: "/r".into(),
            root: "/r".into(),
            running: Some(Vec::new()),
            is_left: true,
            branch_tip: Some(commit("2")),
            ..RemoveFacts::default()
        },
    }
}

impl Case {
    fn plan(&self, options: &RemoveOptions) -> Result<RemovePlan, RemoveRefusal> {
        plan(&self.record, &self.facts, options)
    }

    fn owned(&mut self, alive: Alive) {
        self.record.owner = Some(Owner {
            id: "ci-7".into(),
            host: "host-1".into(),
            process: Some(OwnerProcess {
                pid: 17,
                started: "boot 1".into(),
            }),
            since: "2026-11-22T10:00:00Z".into(),
        });
        self.facts.owner = alive;
    }
}

fn with_force(force: u8) -> RemoveOptions {
    RemoveOptions {
        force,
        ..RemoveOptions::default()
    }
}

fn lost(digit: &str) -> LostCommit {
    LostCommit {
        id: commit(digit),
        subject: "x".into(),
    }
}

#[test]
fn each_reason_needs_its_own_force() {
    type Change = fn(&mut Case);
    let cases: &[(&str, Option<u8>, Change)] = &[
        ("plain git made it", None, |f| {
            f.record.made_by = MadeBy::Git;
        }),
        ("another place", None, |f| f.record.path = "/etc".into()),
        ("a link", None, |f| f.facts.barred = Some("a link".into())),
        ("you are inside it", None, |f| {
            f.facts.start = f.record.path.join("src");
        }),
        ("it was moved", None, |f| {
            f.facts.moved_to = Some("/x".into());
        }),
        ("a repository is inside", Some(1), |f| {
            f.facts.nested.extend(RepoPath::parse("in").ok());
        }),
        ("a submodule has uncommitted", Some(1), |f| {
            f.facts.submodules.push("lib".into());
        }),
        ("is mounted inside", None, |f| {
            f.facts.mounted.push("target".into());
        }),
        ("cannot be read", Some(1), |f| {
            f.facts.unreadable.push("src".into());
        }),
        ("uncommitted changes", Some(1), |f| {
            let path = RepoPath::parse("src/a").expect("a path");
            let kind = WorkKind::Changed;
            f.facts.uncommitted = vec![UncommittedWork { path, kind }];
        }),
        ("is on no other branch", Some(1), |f| {
            f.facts.unmerged = vec![lost("2")];
        }),
        ("it is locked", Some(2), |f| f.facts.locked = true),
        ("process 4 (vi) works in it", Some(2), |f| {
            let name = "vi".into();
            f.facts.running = Some(vec![InsideProcess { pid: 4, name }]);
        }),
        ("its owner `ci-7` is alive", Some(2), |f| {
            f.owned(Alive::Yes);
        }),
    ];
    for (words, enough, change) in cases {
        let mut case = clean();
        change(&mut case);
        for force in 0..4 {
            let decided = case.plan(&with_force(force));
            let allowed = enough.is_some_and(|enough| force >= enough);
            assert_eq!(decided.is_ok(), allowed, "{words}, force {force}");
            if let Err(refusal) = decided {
                assert!(refusal.to_string().contains(words), "{refusal}");
                assert!(!refusal.help.is_empty());
            }
        }
    }
    // the first two stand alone
    let mut all = clean();
    for (_, _, change) in cases.iter().skip(2) {
        change(&mut all);
    }
    let refusal = all.plan(&with_force(0)).expect_err("it is refused");
    for (words, ..) in cases.iter().skip(2) {
        assert!(refusal.to_string().contains(words), "{words}: {refusal}");
    }
}

#[test]
fn an_owner_may_remove_its_own_and_one_nobody_knows_of_stops_nothing() {
    let mut case = clean();
    case.owned(Alive::Yes);
    let ours = RemoveOptions {
        owner: Some("ci-7".into()),
        ..with_force(0)
    };
    assert!(case.plan(&ours).is_ok());
    let other = RemoveOptions {
        owner: Some("ci-8".into()),
        ..with_force(0)
    };
    assert!(case.plan(&other).is_err());
    case.facts.owner = Alive::Unknown;
    assert!(case.plan(&with_force(0)).is_ok());
    let said = case.plan(&with_force(0)).expect("it goes").notes.join("\n");
    assert!(said.contains("owner `ci-7` on host-1"), "{said}");
    assert!(case.plan(&ours).expect("it goes").notes.is_empty());
}

#[test]
fn a_branch_merged_by_content_is_deleted_and_its_tip_kept() {
    let mut case = clean();
    case.facts.merged = Some(Merged {
        how: MergedHow::Squashed,
        commit: Some(commit("3")),
        reference: None,
    });
    let decided = case.plan(&with_force(0)).expect("it goes");
    assert_eq!(decided.branch, BranchFate::Deleted);
    assert_eq!(decided.keep, [commit("2")]);
    let plainly = clean().plan(&with_force(0)).expect("it goes");
    assert!(plainly.keep.is_empty());
}

#[test]
fn a_branch_that_stays_loses_nothing() {
    let mut case = clean();
    case.facts.unmerged = vec![lost("2")];
    case.record.branch_made = false;
    let decided = case
        .plan(&with_force(0))
        .expect("the user's own branch stays");
    assert_eq!(decided.branch, BranchFate::Stays);
    let delete = RemoveOptions {
        delete_branch: true,
        ..with_force(0)
    };
    let decided = case.plan(&delete).expect("it was asked for");
    assert_eq!(decided.branch, BranchFate::Deleted);
    assert_eq!(decided.keep, [commit("2")]);
}
