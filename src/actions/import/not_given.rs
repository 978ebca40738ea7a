//! Finds what a run without the excluded files (`--withhold`) names only by its id: a command can
//! know the id of a content that it was not given, and name it in a commit at a path of its scope.
//! Where that counted, the next command would be given the content.

use crate::actions::import::run::RunToImport;
use crate::git::objects::Objects;
use crate::judge::change::{Change, Content, Kind, Place, Seen};
use crate::truth::history::touched;
use crate::truth::survey::Survey;
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// Finds the files, in the commits of a run and in its index, whose content the run neither was
/// given nor made; none where it was given all. At an excluded path, a file is given to nobody.
///
/// # Errors
/// Fails when a commit or a tree cannot be read.
pub fn find_not_given(run: &RunToImport<'_>, survey: &Survey) -> Result<Vec<Change>, Error> {
    let Some(own_objects) = &run.own_objects else {
        return Ok(Vec::new());
    };
    let mut named = Vec::new();
    if let Some(tip) = &run.tip {
        let known: Vec<_> = run.began.iter().collect();
        let objects = run.repository.objects()?;
        for commit in run.repository.git.rev_list(&[tip], &known)? {
            for (path, entry) in touched(&objects, &commit)? {
                named.push((path, entry, Seen::Commit(commit.clone())));
            }
        }
    }
    let states = &survey.states;
    for (path, entry) in states.index.deltas.iter().flatten() {
        if *entry != states.entry_in(&states.references.head, path) {
            named.push((path.clone(), *entry, Seen::Index));
        }
    }
    let mut classifier = run.worktree.scope.classifier();
    let mut changes = Vec::new();
    for (path, entry, seen) in named {
        if !classifier.excludes_file(&path) && is_only_named(own_objects, entry) {
            changes.push(leak(path, entry, seen));
        }
    }
    changes.sort();
    Ok(changes)
}

/// True for a file or a link of which the run has no content.
fn is_only_named(own_objects: &Objects, entry: Option<Entry>) -> bool {
    entry.is_some_and(|entry| entry.has_content() && !own_objects.holds(&entry.id))
}

fn leak(path: RepoPath, entry: Option<Entry>, seen: Seen) -> Change {
    let content = entry.map(|entry| entry.id.to_string());
    Change {
        now: vec![Content::value("", content)],
        detail: Some("the command was not given its content".to_owned()),
        ..Change::new(Place::Path(path), Kind::Leak, seen)
    }
}
