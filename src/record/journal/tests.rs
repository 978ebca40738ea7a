use std::collections::BTreeMap;

use super::*;
use crate::words::toml_file::{from_text, to_text};

fn commit(digit: char) -> CommitId {
    CommitId::parse(&digit.to_string().repeat(40)).expect("40 digits")
}

fn entry(at: char, reason: &str) -> LogEntry {
    LogEntry {
        at: commit(at),
        reason: reason.replace("OURS", &reason_of_creation(&commit('a'))),
    }
}

fn branch(at: char, log: Option<Vec<LogEntry>>) -> Now {
    Now::Branch {
        at: commit(at),
        log,
    }
}

fn file(content: &str) -> Now {
    Now::File(content.to_owned())
}

fn change(before: Option<&str>, after: Option<&str>) -> SharedFileChange {
    SharedFileChange {
        path: "/r/.git/config".into(),
        before: before.map(|content| KeptFile {
            name: "0".to_owned(),
            digest: content.to_owned(),
        }),
        after: after.map(ToOwned::to_owned),
    }
}

#[test]
fn only_what_stands_as_the_step_left_it_is_reverted() {
    let path = Utf8PathBuf::from("/r/w");
    let directory = Step::CreatedDirectory { path: path.clone() };
    let worktree = Step::CreatedWorktree { path };
    let created = Step::CreatedBranch {
        name: BranchName::from_git("b".to_owned()),
        at: commit('a'),
    };
    let shared = |before, after| Step::ChangedSharedFile(change(before, after));
    let rule = |before, after| Step::AddedIgnoreRule(change(before, after));
    let worktree_name = || WorktreeName::parse("w").expect("a name");
    let restored = Step::RestoredPaths {
        worktree: worktree_name(),
        rescue: "refs/agentwt/rescue/w/1".to_owned(),
    };
    let applied = Step::AppliedScope {
        worktree: worktree_name(),
        record: None,
    };
    let moved = Undo::Keep("it has moved since");
    let changed = Undo::Keep("another process changed it since");
    let other = Undo::Keep("something else stands there now");
    let of_another = Undo::Keep("another process created it");
    let ours = || vec![entry('a', "OURS")];
    let table = [
        (&directory, Now::Nothing, Undo::Nothing),
        (&directory, Now::Directory, Undo::Revert),
        (&directory, file("x"), other.clone()),
        (&worktree, Now::Nothing, Undo::Nothing),
        (&worktree, Now::Directory, Undo::Revert),
        (&created, Now::Nothing, Undo::Nothing),
        (&created, branch('a', Some(ours())), Undo::Revert),
        // the user keeps no reflogs
        (&created, branch('a', None), Undo::Revert),
        (&created, branch('a', Some(Vec::new())), Undo::Revert),
        (&created, branch('b', Some(ours())), moved.clone()),
        (&created, branch('b', None), moved.clone()),
        // a commit that was reset away is in no other log
        (
            &created,
            branch(
                'a',
                Some(vec![
                    entry('a', "reset"),
                    entry('b', "commit"),
                    entry('a', "OURS"),
                ]),
            ),
            moved,
        ),
        (
            &created,
            branch('a', Some(vec![entry('a', "branch: Created from main")])),
            of_another,
        ),
        (&created, Now::Directory, other),
        (&shared(Some("x"), Some("y")), file("x"), Undo::Nothing),
        (&shared(Some("x"), Some("y")), file("y"), Undo::Revert),
        (&shared(Some("x"), Some("y")), file("z"), changed.clone()),
        (&shared(Some("x"), Some("y")), Now::Nothing, changed.clone()),
        (&shared(None, Some("y")), Now::Nothing, Undo::Nothing),
        (&shared(None, Some("y")), file("y"), Undo::Revert),
        (&shared(None, Some("y")), file("z"), changed.clone()),
        // killed together with the git that wrote it
        (&shared(Some("x"), None), file("x"), Undo::Nothing),
        (&shared(Some("x"), None), file("y"), changed.clone()),
        (&shared(Some("x"), None), Now::Nothing, changed.clone()),
        (&shared(None, None), Now::Nothing, Undo::Nothing),
        (&shared(None, None), file("y"), changed),
        (&shared(Some("x"), Some("x")), file("x"), Undo::Nothing),
        (&rule(None, Some("y")), file("y"), Undo::Revert),
        (&rule(None, Some("y")), Now::Needed, Undo::Nothing),
        (&restored, Now::Saved, Undo::Revert),
        (&restored, Now::NotSaved, Undo::Keep("it was deleted")),
        // the directory of the worktree is gone
        (&restored, Now::Nothing, Undo::Nothing),
        (&applied, Now::Directory, Undo::Revert),
        (&applied, Now::Nothing, Undo::Nothing),
        (&Step::NotTaken, Now::Directory, Undo::Nothing),
    ];
    for (step, now, undo) in table {
        assert_eq!(step.undo(&now), undo, "{step:?} where {now:?} stands");
    }
}

#[test]
fn the_last_entry_of_a_file_counts_and_a_step_that_was_not_taken_is_left_out() {
    let before = Step::ChangedSharedFile(change(Some("x"), None));
    let after = Step::ChangedSharedFile(change(Some("x"), Some("y")));
    let path = Utf8PathBuf::from("/r/w");
    let directory = Step::CreatedDirectory { path };
    let entries = [
        before,
        directory.clone(),
        Step::NotTaken,
        directory.clone(),
        after.clone(),
    ];
    assert_eq!(begun(&entries), [after, directory]);
}

#[test]
fn a_journal_without_a_command_is_of_an_add_and_all_are_read_as_they_were_written() {
    let text = "version = 4\nprocess = 7\nstarted = \"x\"\n\n[[step]]\nkind = \"created-branch\"\n\
        name = \"b\"\nat = \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"\n";
    let file: JournalFile = from_text(text).expect("it is whole");
    assert_eq!(file.command, JournaledCommand::Add);
    assert_eq!(to_text(&file), text);
    let name = || WorktreeName::parse("w").expect("a name");
    let kept = KeptFile {
        name: "before-0".to_owned(),
        digest: "x".to_owned(),
    };
    let file = JournalFile {
        process: 7,
        started: None,
        command: JournaledCommand::UndoRestore,
        steps: vec![
            Step::RestoredPaths {
                worktree: name(),
                rescue: "r".to_owned(),
            },
            Step::AppliedScope {
                worktree: name(),
                record: Some(kept),
            },
        ],
    };
    assert_eq!(from_text(&to_text(&file)), Ok(file));
}

#[test]
fn a_step_that_was_cut_off_was_not_taken() {
    let text = "process = 1\n\n[[step]]\nkind = \"a\"\n\n[[step]]\nkind = ";
    let whole = "process = 1\n\n[[step]]\nkind = \"a\"\n\n";
    assert_eq!(without_cut_step(text), whole);
    assert_eq!(without_cut_step("process = 1\n"), "process = 1\n");
}

/// A repository, as far as steps change it: what stands at each path and branch.
type World = BTreeMap<String, Now>;

/// The steps that the sequences are made of, with what each leaves.
fn kinds() -> Vec<(Step, String, Now)> {
    let at = |path: &str| Utf8PathBuf::from(path);
    let config = |before, after| SharedFileChange {
        path: at("/config"),
        ..change(before, after)
    };
    vec![
        (
            Step::CreatedDirectory { path: at("/w") },
            "/w".to_owned(),
            Now::Directory,
        ),
        (
            Step::CreatedWorktree { path: at("/entry") },
            "/entry".to_owned(),
            Now::Directory,
        ),
        (
            Step::CreatedBranch {
                name: BranchName::from_git("b".to_owned()),
                at: commit('a'),
            },
            "branch".to_owned(),
            branch('a', Some(vec![entry('a', "OURS")])),
        ),
        (
            Step::ChangedSharedFile(config(Some("x"), Some("y"))),
            "/config".to_owned(),
            file("y"),
        ),
        (
            Step::AddedIgnoreRule(change(None, Some("rule"))),
            "/exclude".to_owned(),
            file("rule"),
        ),
    ]
}

/// Undoes the steps of a journal in a world; returns what stayed.
fn undo_all(world: &mut World, journal: &[(Step, String, Now)]) -> Vec<String> {
    let mut stays = Vec::new();
    for (step, place, _) in journal.iter().rev() {
        let now = world.get(place).cloned().unwrap_or(Now::Nothing);
        match step.undo(&now) {
            Undo::Nothing => {}
            Undo::Keep(_) | Undo::Wait(_) => stays.push(place.clone()),
            Undo::Revert => {
                let before = step.file_change().and_then(|change| change.before.clone());
                match before {
                    Some(kept) => world.insert(place.clone(), Now::File(kept.digest)),
                    None => world.remove(place),
                };
            }
        }
    }
    stays
}

/// Returns all sequences of the steps, each of them at most once.
fn sequences(steps: &[(Step, String, Now)]) -> Vec<Vec<(Step, String, Now)>> {
    let mut all = vec![Vec::new()];
    for (at, first) in steps.iter().enumerate() {
        let others = [&steps[..at], &steps[at + 1..]].concat();
        for mut sequence in sequences(&others) {
            sequence.insert(0, first.clone());
            all.push(sequence);
        }
    }
    all
}

fn world_before() -> World {
    World::from([
        ("/config".to_owned(), file("x")),
        ("/users".to_owned(), file("theirs")),
    ])
}

#[test]
fn any_steps_and_a_kill_at_any_moment_are_undone_to_the_state_before() {
    let mut tried = 0;
    for order in sequences(&kinds()) {
        // the last step was written down, and the kill came before it was taken
        for last_step_was_taken in [true, false] {
            let mut world = world_before();
            let taken = order.len() - usize::from(!last_step_was_taken && !order.is_empty());
            for (_, place, left) in &order[..taken] {
                world.insert(place.clone(), left.clone());
            }
            assert_eq!(undo_all(&mut world, &order), [""; 0]);
            assert_eq!(world, world_before(), "{order:?}, {taken} taken");
            // a kill during the undo: the next command undoes all of it once more
            assert_eq!(undo_all(&mut world, &order), [""; 0]);
            assert_eq!(world, world_before());
            tried += 1;
        }
    }
    assert!(tried > 600, "{tried}");
}

#[test]
fn what_another_process_changed_since_stays_and_is_named() {
    let theirs = [
        ("branch", branch('b', None)),
        ("/config", file("z")),
        ("/exclude", file("rule and theirs")),
    ];
    for order in sequences(&kinds()) {
        for (place, now) in &theirs {
            let mut world = world_before();
            for (_, place, left) in &order {
                world.insert(place.clone(), left.clone());
            }
            if !order.iter().any(|(_, taken, _)| taken == place) {
                continue;
            }
            world.insert((*place).to_owned(), now.clone());
            let stays = undo_all(&mut world, &order);
            assert_eq!(stays, [(*place).to_owned()]);
            let mut wanted = world_before();
            wanted.insert((*place).to_owned(), now.clone());
            assert_eq!(world, wanted, "{order:?}");
        }
    }
}

#[test]
fn a_worktree_that_git_wrote_half_is_put_back_unless_somebody_changed_it() {
    let forward = Step::BroughtForward(ForwardMove {
        into: BranchName::from_git("main".to_owned()),
        checkout: "/r".into(),
        before: commit('a'),
        commit: commit('b'),
    });
    let changed = HalfWritten::Changed(vec!["a".to_owned()]);
    let table = [
        (HalfWritten::Over, Undo::Nothing),
        (HalfWritten::AsGitLeft, Undo::Revert),
        (changed, Undo::Wait("files changed there since")),
        (HalfWritten::Staged, Undo::Wait("its index changed since")),
    ];
    for (state, undo) in table {
        assert_eq!(forward.undo(&Now::HalfWritten(state)), undo);
    }
}
