//! Finds what a run without the excluded files (`--withhold`) names only by its id. A command can
//! know the id of a content that it was not given, and name it in a commit at a path of its scope:
//! if the import took such a commit, the next command would be given the content.

use std::collections::{BTreeMap, BTreeSet};

use crate::actions::import::run::RunToImport;
use crate::git::index::OpenIndex;
use crate::judge::change::{Change, Content, Kind, Place, Seen};
use crate::truth::survey::Survey;
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// Where a run has an entry otherwise than the commit that it was given.
type Differences = BTreeMap<(RepoPath, Entry), BTreeSet<Seen>>;

/// Finds the files of which the run neither was given the content nor made it: in its commits, in
/// the commits on which these stand, and in its index. None where a run finds all objects. Files at
/// excluded paths are left out: no command is given these. There is no `run_index` where that of the
/// run cannot be read.
///
/// # Errors
/// Fails when a commit or a tree cannot be read.
pub fn find_not_given(
    run: &RunToImport<'_>,
    survey: &Survey,
    run_index: Option<&OpenIndex>,
) -> Result<Vec<Change>, Error> {
    let Some(own_objects) = &run.own_objects else {
        return Ok(Vec::new());
    };
    let mut differences = Differences::new();
    add_commits(run, &mut differences)?;
    if let Some(index) = run_index {
        add_index(survey, index, &mut differences);
    }
    let mut classifier = run.worktree.scope.classifier();
    let mut changes = Vec::new();
    for ((path, entry), seen) in differences {
        let is_shown = entry.has_content() && !classifier.excludes_file(&path);
        if is_shown && !own_objects.holds(&entry.id) {
            changes.push(not_given(path, entry, seen));
        }
    }
    changes.sort();
    Ok(changes)
}

/// Adds what the commits of the run have otherwise than the commit that it was given, and their
/// parents too, as the next command is given these. Not only what a commit has otherwise than its
/// parents: a merge has it in common with one of them, whichever commit the command named.
fn add_commits(run: &RunToImport<'_>, differences: &mut Differences) -> Result<(), Error> {
    let Some(tip) = &run.tip else {
        return Ok(());
    };
    let objects = run.repository.objects()?;
    let given_commits: Vec<&CommitId> = run.began.iter().collect();
    let mut commits = BTreeSet::from([tip.clone()]);
    for commit in run.repository.git.rev_list(&[tip], &given_commits)? {
        let parents = objects.commit(&commit)?.parents;
        commits.extend(objects.without_cut_off(parents)?);
        commits.insert(commit);
    }
    let given_tree = match &run.began {
        Some(commit) => Some(objects.commit(commit)?.tree),
        None => None,
    };
    for commit in commits {
        let tree = objects.commit(&commit)?.tree;
        for (path, entry) in objects.difference(given_tree.as_ref(), Some(&tree))? {
            if let Some(entry) = entry {
                let places = differences.entry((path, entry)).or_default();
                places.insert(Seen::Commit(commit.clone()));
            }
        }
    }
    Ok(())
}

/// Adds each entry of the index that HEAD does not have: all sides of a conflict, and what is only
/// announced, as the next command is given what the index names. An index with an entry that none
/// may have does not become that of the worktree.
fn add_index(survey: &Survey, index: &OpenIndex, differences: &mut Differences) {
    let states = &survey.states;
    for staged in index.entries().flatten() {
        let Ok(path) = index.repo_path(staged.path) else {
            continue;
        };
        let entry = staged.entry;
        if states.entry_in(&states.references.head, &path) != Some(entry) {
            let places = differences.entry((path, entry)).or_default();
            places.insert(Seen::Index);
        }
    }
}

fn not_given(path: RepoPath, entry: Entry, seen: BTreeSet<Seen>) -> Change {
    let detail = "the command was not given its content";
    Change {
        seen,
        now: vec![Content::value("", Some(entry.id.to_string()))],
        ..Change::detailed(Place::Path(path), Kind::Leak, detail)
    }
}
