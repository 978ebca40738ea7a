//! `git agentwt changed`: the ground truth.

mod answer;
pub mod patch;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use camino::Utf8PathBuf;

pub use answer::ChangedAnswer;

use crate::change::{Change, ChangeSet, Place};
use crate::commands::changed::patch::{Patch, Patches};
use crate::commands::{Outcome, Session};
use crate::disk::below::resolve;
use crate::disk::{DiskError, files};
use crate::error::Error;
use crate::exit::ExitCode;
use crate::git::{GitError, GitMode};
use crate::name::{CommitId, WorktreeName};
use crate::path::RepoPath;
use crate::refusal::Refusal;
use crate::truth::commits::OwnCommit;
use crate::truth::{Effort, Survey, Terms, collect_with, commits};
use crate::worktree::{Repository, Worktree, WorktreeError};

/// Says what is to be collected; the default is the net set of the worktree that we are in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The worktree's name; none for the one that we are in.
    pub name: Option<String>,
    /// Another base than the recorded one: a revision (gitrevisions(7)).
    pub base: Option<String>,
    /// Whether ignored files count.
    pub ignored: bool,
    /// Whether each commit is listed.
    pub commits: bool,
    /// Whether patches are made.
    pub patch: bool,
    /// Whether to go on without what cannot be read.
    pub best_effort: bool,
}

/// Holds what was collected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// The worktree's name; none when it cannot be told.
    pub name: Option<String>,
    /// Its directory; none when it cannot be told.
    pub path: Option<Utf8PathBuf>,
    /// The whole set; none when nothing could be compared.
    pub set: Option<ChangeSet>,
    /// What was asked for of it: net changes, ignored files only if they count, and then what is
    /// no path.
    pub shown: Vec<Change>,
    /// Its commits, the oldest first, each with its patch; none unless asked for.
    pub commits: Option<Vec<(OwnCommit, Option<Vec<u8>>)>>,
    /// What is not committed, with its patch; none unless commits were asked for.
    pub uncommitted: Option<(Vec<Change>, Option<Patch>)>,
    /// The patch of all that is shown; none unless asked for, or when it could not be made.
    pub patch: Option<Patch>,
    /// What could not be read, in the words of the failures; nothing when this is whole.
    pub incomplete: Vec<String>,
}

/// Holds what lies outside the roots that were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The roots, resolved.
    pub roots: Vec<PathBuf>,
    /// The changes that none of them covers.
    pub changes: Vec<Change>,
}

/// Collects what changed, and holds it against write roots if there are any.
///
/// # Errors
/// Fails when the facts cannot be read, unless the best effort is asked for; never says
/// "nothing" instead.
pub fn run(
    session: &Session,
    options: &crate::cli::Changed,
) -> Result<Outcome<ChangedAnswer>, Error> {
    let asked = Asked {
        name: options.name.clone(),
        base: options.base.clone(),
        ignored: options.ignored,
        commits: options.commits,
        patch: options.patch,
        best_effort: options.best_effort,
    };
    let roots = (session.start.as_std_path(), options.roots.as_slice());
    let (collected, outside) = collect_outside(session.repository(), &asked, roots)?;
    let mut exit = ExitCode::Success;
    if outside
        .as_ref()
        .is_some_and(|found| !found.changes.is_empty())
    {
        exit = ExitCode::Violations;
    }
    if !collected.incomplete.is_empty() {
        exit = ExitCode::Incomplete;
    }
    Ok(Outcome {
        notes: notes(&collected),
        answer: ChangedAnswer::new(&collected, outside.as_ref(), options),
        exit,
    })
}

/// Collects what changed in a repository, if it was found.
///
/// # Errors
/// As [`run`].
pub fn collect(repository: Result<Repository, Error>, asked: &Asked) -> Result<Collected, Error> {
    let no_roots = (Path::new("/"), &[][..]);
    collect_outside(repository, asked, no_roots).map(|(collected, _)| collected)
}

fn collect_outside(
    repository: Result<Repository, Error>,
    asked: &Asked,
    (start, given): (&Path, &[PathBuf]),
) -> Result<(Collected, Option<Outside>), Error> {
    let mut terms = Terms::default();
    if asked.best_effort {
        terms.effort = Effort::best();
    }
    let mut collected = Collected::default();
    let mut outside = None;
    if let Some((repository, known)) = find(repository, asked, &terms.effort)? {
        terms.base = base(&repository, asked, &terms.effort)?;
        let lost = asked.base.is_some() && terms.base.is_none();
        collected.name = Some(known.record.name.to_string());
        collected.path = Some(known.record.path.clone());
        if !lost {
            let found = read(&repository, &known, asked, &terms, &mut collected);
            if asked.best_effort {
                found?;
            } else {
                known.unless_gone(&repository, found)?;
            }
        }
        if !given.is_empty() {
            let resolved = resolve_roots(&known, start, given);
            let roots = terms.effort.or(resolved, Vec::new)?;
            // what worktrees share is in no root, and nobody gives a lease on it
            let mut candidates = collected.shown.clone();
            let beside =
                |place: &Place| matches!(place, Place::Git(_) | Place::Main(_) | Place::Outside(_));
            candidates.retain(|change| !beside(&change.place));
            let found = outside_of(&known, &roots, &candidates);
            let changes = terms.effort.or(found, || candidates)?;
            outside = Some(Outside { roots, changes });
        }
    }
    collected.incomplete = terms.effort.missing();
    Ok((collected, outside))
}

/// Finds the worktree; none when the best effort finds nothing that can be read.
fn find(
    repository: Result<Repository, Error>,
    asked: &Asked,
    effort: &Effort,
) -> Result<Option<(Repository, Worktree)>, Error> {
    let repository = match repository {
        Ok(repository) => repository,
        Err(error) if asked.best_effort => {
            effort.note(&error);
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    match Worktree::of(&repository, asked.name.as_deref()) {
        Ok(known) => Ok(Some((known.readable_repository(&repository), known))),
        Err(error) => {
            let wrong_name = match &error {
                // with a directory of that name, it is the record that is gone
                WorktreeError::UnknownWorktree { name, .. } => !WorktreeName::parse(name)
                    .is_ok_and(|name| files::exists(&repository.worktree_path(&name))),
                WorktreeError::NotInWorktree { .. } => true,
                _others => false,
            };
            if wrong_name {
                return Err(error.into());
            }
            Ok(effort.or(Err(error), || None)?)
        }
    }
}

/// Resolves the other base that was asked for.
fn base(
    repository: &Repository,
    asked: &Asked,
    effort: &Effort,
) -> Result<Option<CommitId>, Error> {
    let Some(revision) = &asked.base else {
        return Ok(None);
    };
    let git = repository.git.with_mode(GitMode::Hardened);
    let found = git.rev_parse_commit(revision).map(Some);
    match effort.or(found, || None)? {
        Some(Some(commit)) => Ok(Some(commit)),
        Some(None) => Err(Refusal::NoSuchCommit {
            revision: crate::path::escape_for_terminal(revision.as_bytes()),
        }
        .into()),
        None => Ok(None),
    }
}

fn read(
    repository: &Repository,
    known: &Worktree,
    asked: &Asked,
    terms: &Terms,
    collected: &mut Collected,
) -> Result<(), WorktreeError> {
    let effort = &terms.effort;
    let survey = collect_with(repository, known, terms).map(Some);
    let Some(survey) = effort.or(survey, || None)? else {
        return Ok(());
    };
    if survey.states.index.damaged && !asked.best_effort {
        // what is only staged cannot be told
        let what = format!("the index of worktree {}", known.record.name);
        let detail = "it is missing or damaged".to_owned();
        return Err(GitError::Read { what, detail }.into());
    }
    let set = &survey.changes;
    let shared = set.shared.iter().map(|one| &one.change);
    let shown = set.changes.iter().chain(&set.integrity).chain(shared);
    let shown = shown.filter(|change| asked.ignored || !change.is_ignored());
    collected.shown = shown.cloned().collect();
    // one file can have changed in two ways, of different weight
    let same = |a: &mut Change, b: &mut Change| a.place == b.place && a.kind == b.kind;
    collected.shown.dedup_by(same);
    if asked.commits {
        let objects = repository.objects()?;
        let own = effort.or(commits::read(repository, &objects, &survey), Vec::new)?;
        collected.commits = Some(own.into_iter().map(|commit| (commit, None)).collect());
        let left = commits::uncommitted(known, &survey, asked.ignored);
        collected.uncommitted = Some((left, None));
    }
    if asked.patch {
        let made = patches(repository, known, &survey, collected);
        effort.or(made, || ())?;
    }
    collected.set = Some(survey.changes);
    Ok(())
}

/// Makes every patch that was asked for.
fn patches(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    collected: &mut Collected,
) -> Result<(), WorktreeError> {
    if let Some(one) = survey.states.unreadable.first() {
        let path = one.path.as_ref().map(ToString::to_string);
        let path = path.unwrap_or_else(|| known.record.path.to_string());
        let why = std::io::Error::other(one.detail.clone());
        return Err(DiskError::new(format!("read {path}"), why).into());
    }
    let nearest = survey.nearest.as_ref();
    let nearest = nearest.unwrap_or(&survey.changes.base);
    let patches = Patches::new(repository, known, survey, nearest)?;
    let paths = |changes: &[Change]| -> Vec<_> {
        let paths = changes.iter().filter_map(|change| change.place.path());
        paths.cloned().collect()
    };
    let all = paths(&collected.shown);
    collected.patch = Some(patches.to_disk(nearest, all.iter())?);
    for (commit, patch) in collected.commits.iter_mut().flatten() {
        *patch = Some(patches.of_commit(commit)?);
    }
    if let Some((changes, patch)) = &mut collected.uncommitted {
        let onto = survey.heads.head.as_ref().unwrap_or(nearest);
        *patch = Some(patches.to_disk(onto, paths(changes).iter())?);
    }
    Ok(())
}

/// What is missing, and what a patch cannot hold.
fn notes(collected: &Collected) -> Vec<String> {
    let missing = collected.incomplete.iter();
    let mut notes: Vec<String> = missing.map(|why| format!("incomplete: {why}")).collect();
    if let Some(patch) = &collected.patch {
        let beside = collected.shown.iter().filter(|c| c.place.path().is_none());
        let beside = beside.map(|change| change.place.to_string());
        let left_out = patch.left_out.iter().map(ToString::to_string);
        notes.extend(
            left_out
                .chain(beside)
                .map(|what| format!("not in the patch: {what}")),
        );
    }
    notes
}

/// Resolves write roots ("leases"), each once; relative ones start in `start`. A root inside the
/// worktree counts where it really is but for the last link, so that an agent cannot widen it by a
/// link in the place of its directory; one outside is resolved fully.
fn resolve_roots(
    known: &Worktree,
    start: &Path,
    given: &[PathBuf],
) -> Result<Vec<PathBuf>, WorktreeError> {
    let worktree = resolve(known.record.path.as_std_path(), &|_| true)?;
    let inside = |path: &Path| path.starts_with(&worktree);
    let roots = given.iter().map(|root| resolve(&start.join(root), &inside));
    let roots: BTreeSet<PathBuf> = roots.collect::<Result<_, DiskError>>()?;
    Ok(roots.into_iter().collect())
}

/// Picks the changes that no root covers; what is no path of the repository never is. A path counts
/// where its file really is: links in its parents are resolved, the file itself is not.
fn outside_of(
    known: &Worktree,
    roots: &[PathBuf],
    changes: &[Change],
) -> Result<Vec<Change>, WorktreeError> {
    let mut parents: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut outside = Vec::new();
    for change in changes {
        let covered = match change.place.path() {
            Some(path) => is_covered(roots, &place_of(known, path, &mut parents)?),
            None => false,
        };
        if !covered {
            outside.push(change.clone());
        }
    }
    Ok(outside)
}

/// Where a path of the repository is on disk; each directory is resolved once.
fn place_of(
    known: &Worktree,
    path: &RepoPath,
    parents: &mut HashMap<PathBuf, PathBuf>,
) -> Result<PathBuf, WorktreeError> {
    let relative = path
        .to_os_path()
        .map_err(|error| DiskError::new(format!("resolve {path}"), std::io::Error::other(error)))?;
    let file = known.record.path.as_std_path().join(&relative);
    let directory = file.parent().unwrap_or(Path::new("/"));
    if !parents.contains_key(directory) {
        let resolved = resolve(directory, &|_| false)?;
        parents.insert(directory.to_owned(), resolved);
    }
    Ok(parents[directory].join(file.file_name().unwrap_or_default()))
}

fn is_covered(roots: &[PathBuf], path: &Path) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_covers_whole_components_only() {
        let roots = ["/a/b".into(), "/c".into()];
        for (path, covered) in [
            ("/a/b", true),
            ("/a/b/c", true),
            ("/a/bc", false),
            ("/a", false),
            ("/c/d/e", true),
            ("/", false),
        ] {
            assert_eq!(is_covered(&roots, path.as_ref()), covered, "{path}");
        }
        assert!(!is_covered(&[], "/".as_ref()));
        assert!(is_covered(&["/".into()], "/x".as_ref()));
    }
}
