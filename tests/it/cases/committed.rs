//! Holds what a hook says at once of the commits alone against what everything says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use camino::Utf8Path;
use git_agentwt::git::runner::SharedRunner;
use git_agentwt::git::runner::Trace;
use git_agentwt::judge::change::Change;
use git_agentwt::judge::change::ChangeSet;
use git_agentwt::judge::change::Extent;
use git_agentwt::judge::change::Place;
use git_agentwt::judge::change::Seen;
use git_agentwt::truth::{SurveyExtent, collect, collect_changes};
use git_agentwt::worktree::loaded::Worktree;
use git_agentwt::worktree::repository::Repository;

/// Where commits changed something, and which.
fn in_commits(changes: &[Change]) -> BTreeMap<&Place, BTreeSet<&Seen>> {
    let by_commit = |seen: &&Seen| matches!(seen, Seen::Commit(_) | Seen::Committed);
    let mut all = BTreeMap::new();
    for change in changes {
        let seen: BTreeSet<&Seen> = change.seen.iter().filter(by_commit).collect();
        if !seen.is_empty() {
            all.insert(&change.place, seen);
        }
    }
    all
}

fn places(changes: &[Change]) -> BTreeSet<&Place> {
    changes.iter().map(|change| &change.place).collect()
}

/// Both ways of reading a worktree; nothing where it cannot be read at all.
fn both(worktree: &Path) -> Option<(ChangeSet, ChangeSet)> {
    let start = Utf8Path::from_path(worktree)?;
    let repository = Repository::find(start, SharedRunner::default(), Trace::default()).ok()?;
    let known = Worktree::of(&repository, None).ok()?;
    let repository = known.repository(&repository);
    let all = collect(&repository, &known).ok()?.changes;
    let few = collect_changes(&repository, &known, SurveyExtent::Commits)
        .expect("everything could be read");
    Some((all, few))
}

/// Whatever the commits did, both ways say the same of it.
#[track_caller]
pub fn agree(worktree: &Path) {
    let Some((all, few)) = both(worktree) else {
        return;
    };
    assert_eq!(
        (all.looked, few.looked),
        (Extent::Everything, Extent::Commits)
    );
    assert_eq!((&all.base, &all.head), (&few.base, &few.head));
    assert_eq!(in_commits(&all.changes), in_commits(&few.changes));
    assert_eq!(in_commits(&few.changes).len(), few.changes.len());
    assert_eq!(all.shared, few.shared);
    // what the index and the disk say comes on top
    assert!(places(&few.integrity).is_subset(&places(&all.integrity)));
    assert!(places(&few.leaks).is_subset(&places(&all.leaks)));
    // what is net on disk only is no more what was put back
    let net = places(&all.changes);
    let mut history = places(&few.history);
    history.retain(|place| !net.contains(place));
    assert_eq!(history, places(&all.history));
}
