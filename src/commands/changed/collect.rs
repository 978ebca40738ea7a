//! Collects what `changed` answers.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use crate::answer::shapes::WorktreeBase;
use crate::commands::changed::answer::{
    ChangedAnswer, ChangedCommit, PatchText, Uncommitted, bytes_unless_utf8,
};
use crate::commands::changed::patch::Patches;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::resolve::resolve;
use crate::git::environment::GitMode;
use crate::git::error::GitError;
use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::{Delta, change_between, entry_in, same};
use crate::refusal::Refusal;
use crate::truth::collect_with;
use crate::truth::history::touched;
use crate::truth::options::{ReadPolicy, SurveyOptions};
use crate::truth::survey::Survey;
use crate::words::error::Error;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path::{RepoPath, escape_for_terminal};
use crate::words::text::count;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

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
    /// Whether patches are coloured, for a terminal.
    pub colour: bool,
    /// Whether to go on without what cannot be read.
    pub best_effort: bool,
    /// Absolute directories outside of which changes are listed; none where that is not asked.
    pub roots: Vec<PathBuf>,
    /// Whether paths are absolute.
    pub absolute: bool,
}

/// Collects what changed in a repository, if it was found.
///
/// # Errors
/// As [`super::run`].
pub fn collect(
    repository: Result<Repository, Error>,
    asked: &Asked,
) -> Result<ChangedAnswer, Error> {
    let mut terms = SurveyOptions::default();
    if asked.best_effort {
        terms.read_policy = ReadPolicy::best();
    }
    let mut answer = ChangedAnswer::default();
    if let Some((repository, worktree)) = find(repository, asked, &terms.read_policy)? {
        terms.base = base(&repository, asked, &terms.read_policy)?;
        answer.name = Some(worktree.record.name.to_string());
        answer.path = Some(worktree.record.path.clone());
        let mut shown = Shown::default();
        if asked.base.is_none() || terms.base.is_some() {
            let found = read(&repository, &worktree, asked, &terms, &mut answer);
            shown = if asked.best_effort {
                found?
            } else {
                worktree.unless_gone(&repository, found)?
            };
        }
        let mut changes = shown.changes.clone();
        changes.append(&mut shown.hidden);
        answer.changed = listed(&worktree, asked, &changes);
        if !asked.roots.is_empty() {
            let roots = terms
                .read_policy
                .or(resolve_roots(&worktree, asked), Vec::new)?;
            let shown_roots = roots.iter().map(|root| root.to_string_lossy().into());
            answer.roots = Some(shown_roots.collect());
            // what worktrees share is in no root, and no lease is given on it
            let beside =
                |place: &Place| matches!(place, Place::Git(_) | Place::Main(_) | Place::Outside(_));
            let mut changes = shown.changes;
            changes.retain(|change| !beside(&change.place));
            let found = outside_of(&worktree, &roots, &changes);
            let found = terms.read_policy.or(found, || changes)?;
            answer.outside = Some(listed(&worktree, asked, &found));
        }
    }
    answer.incomplete = terms.read_policy.missing();
    Ok(answer)
}

/// The changes as they are listed: with absolute paths if that was asked for.
fn listed(worktree: &Worktree, asked: &Asked, changes: &[Change]) -> Vec<Change> {
    let mut listed = changes.to_vec();
    if asked.absolute {
        let root = worktree.record.path.as_str().as_bytes();
        for change in &mut listed {
            if let Place::Path(path) = &change.place {
                let absolute = [root, b"/", path.as_ref()].concat();
                change.place = Place::Absolute(absolute.into());
            }
        }
    }
    listed
}

/// Finds the worktree; none when the best effort finds nothing that can be read.
fn find(
    repository: Result<Repository, Error>,
    asked: &Asked,
    effort: &ReadPolicy,
) -> Result<Option<(Repository, Worktree)>, Error> {
    let repository = match repository {
        Err(error) if asked.best_effort => {
            effort.note(&error);
            return Ok(None);
        }
        repository => repository?,
    };
    let error = match Worktree::of(&repository, asked.name.as_deref()) {
        Ok(worktree) => return Ok(Some((worktree.readable_repository(&repository), worktree))),
        Err(error) => error,
    };
    let wrong_name = match error.find() {
        // with a directory of that name, it is the record that is gone
        Some(WorktreeFault::UnknownWorktree { name, .. }) => !WorktreeName::parse(name)
            .is_ok_and(|name| files::exists(&repository.worktree_path(&name))),
        Some(WorktreeFault::NotInWorktree { .. }) => true,
        _others => false,
    };
    if wrong_name {
        return Err(error);
    }
    effort.or(Err(error), || None)
}

/// Resolves the other base that was asked for.
fn base(
    repository: &Repository,
    asked: &Asked,
    effort: &ReadPolicy,
) -> Result<Option<CommitId>, Error> {
    let Some(revision) = &asked.base else {
        return Ok(None);
    };
    let git = repository.git.with_mode(GitMode::Hardened);
    let found = git.rev_parse_commit(revision).map(Some);
    let Some(found) = effort.or(found, || None)? else {
        return Ok(None);
    };
    let revision = escape_for_terminal(revision.as_bytes());
    let commit = found.ok_or(Refusal::NoSuchCommit { revision })?;
    Ok(Some(commit))
}

/// Holds the changes that are listed.
#[derive(Default)]
struct Shown {
    /// The net changes: ignored files only if they count, and then what is no path.
    changes: Vec<Change>,
    /// Where ignored files are that the base's own rules do not name. No lease is asked for these.
    hidden: Vec<Change>,
}

/// Reads everything but the net changes into the answer, and returns these.
fn read(
    repository: &Repository,
    worktree: &Worktree,
    asked: &Asked,
    terms: &SurveyOptions,
    answer: &mut ChangedAnswer,
) -> Result<Shown, Error> {
    let effort = &terms.read_policy;
    let survey = collect_with(repository, worktree, terms).map(Some);
    let Some(survey) = effort.or(survey, || None)? else {
        return Ok(Shown::default());
    };
    if survey.states.index.damaged && !asked.best_effort {
        // what is only staged cannot be told
        let what = format!("the index of worktree {}", worktree.record.name);
        let detail = "it is missing or damaged".to_owned();
        return Err(GitError::Read { what, detail }.into());
    }
    let set = &survey.changes;
    answer.base = Some(WorktreeBase::commit(&set.base));
    answer.head = Some(set.head.clone());
    let shared = set.shared.iter().map(|one| &one.change);
    let mut shown = Vec::new();
    for change in set.changes.iter().chain(&set.integrity).chain(shared) {
        if asked.ignored || !change.is_ignored() {
            shown.push(change.clone());
        }
    }
    // one file can have changed in two ways, of different weight
    shown.dedup_by(|a, b| a.place == b.place && a.kind == b.kind);
    let mut left = Vec::new();
    if asked.commits {
        let commits = read_commits(repository, worktree, asked, &survey);
        answer.commits = Some(effort.or(commits, Vec::new)?);
        left = uncommitted(worktree, &survey, asked.ignored);
        answer.uncommitted = Some(Uncommitted {
            paths: listed(worktree, asked, &left),
            patch: None,
        });
    }
    if asked.patch {
        let made = add_patches(
            repository,
            worktree,
            asked,
            &survey,
            (&shown, &left),
            answer,
        );
        effort.or(made, || ())?;
    }
    let mut hidden = Vec::new();
    if !asked.ignored {
        hidden = find_hidden(&survey);
    }
    Ok(Shown {
        changes: shown,
        hidden,
    })
}

/// Ignored files that the base's own rules do not name, by the places where they are.
fn find_hidden(survey: &Survey) -> Vec<Change> {
    let mut changes = Vec::new();
    for hidden in survey.hidden_places() {
        let files = count(hidden.files, "file", "files");
        let detail = format!("{files} that the base's own ignore rules do not name");
        let place = Place::Path(hidden.path.clone());
        changes.push(Change {
            is_directory: hidden.is_directory,
            seen: [Seen::Untracked].into(),
            ..Change::detailed(place, Kind::Created, detail)
        });
    }
    changes.sort();
    changes
}

/// Makes every patch that was asked for.
fn add_patches(
    repository: &Repository,
    worktree: &Worktree,
    asked: &Asked,
    survey: &Survey,
    (shown, left): (&[Change], &[Change]),
    answer: &mut ChangedAnswer,
) -> Result<(), Error> {
    if let Some(one) = survey.states.disk.unreadable.first() {
        let path = one.path.as_ref().map(ToString::to_string);
        let path = path.unwrap_or_else(|| worktree.record.path.to_string());
        let why = std::io::Error::other(one.detail.clone());
        return Err(DiskError::new(format!("read {path}"), why).into());
    }
    let references = &survey.states.references;
    let nearest = references.nearest.as_ref().unwrap_or(&survey.changes.base);
    let mut patches = Patches::new(repository, worktree, survey, nearest)?;
    patches.colour = asked.colour;
    let (patch, left_out) = patches.to_disk(nearest, shown)?;
    answer.patch_base = Some(nearest.clone());
    answer.patch = Some(PatchText::new(&patch));
    answer.not_in_patch = left_out.iter().map(ToString::to_string).collect();
    for change in shown {
        if change.place.path().is_none() {
            answer.not_in_patch.push(change.place.to_string());
        }
    }
    for commit in answer.commits.iter_mut().flatten() {
        commit.patch = Some(PatchText::new(&patches.of_commit(&commit.commit)?));
    }
    if let Some(uncommitted) = &mut answer.uncommitted {
        let onto = survey.head.head.as_ref().unwrap_or(nearest);
        uncommitted.patch = Some(PatchText::new(&patches.to_disk(onto, left)?.0));
    }
    Ok(())
}

/// Reads the commits that a survey found, the oldest first.
fn read_commits(
    repository: &Repository,
    worktree: &Worktree,
    asked: &Asked,
    survey: &Survey,
) -> Result<Vec<ChangedCommit>, Error> {
    let objects = repository.objects()?;
    let git = repository.git.with_mode(GitMode::Hardened);
    let heads = survey.head.head.iter().chain(&survey.head.branch);
    let trusted: Vec<&CommitId> = survey.states.references.trusted.iter().collect();
    let reachable: BTreeSet<CommitId> = git
        .rev_list(&heads.collect::<Vec<_>>(), &trusted)?
        .into_iter()
        .collect();
    let one = |id: &CommitId| {
        let commit = objects.commit(id)?;
        let headline = objects.headline(id)?;
        let parent = match commit.parents.first() {
            Some(parent) => Some(objects.commit(parent)?.tree),
            None => None,
        };
        // the other way round it gives what the parent had
        let before_all = objects.difference(Some(&commit.tree), parent.as_ref())?;
        let touched = touched(&objects, id)?;
        let changes = touched.iter().filter_map(|(path, now)| {
            let before = before_all.get(path).copied().flatten();
            let was_directory = || has_below(&before_all, path);
            let seen = Seen::Commit(id.clone());
            change_between(path, before, *now, seen, &was_directory)
        });
        Ok(ChangedCommit {
            paths: listed(worktree, asked, &changes.collect::<Vec<_>>()),
            abandoned: !reachable.contains(id),
            commit: id.clone(),
            parents: commit.parents,
            authored: headline.authored,
            subject: headline.subject.to_str_lossy().into_owned(),
            subject_bytes: bytes_unless_utf8(&headline.subject),
            patch: None,
        })
    };
    survey.commits.iter().rev().map(one).collect()
}

/// Whether a tree that is told as a difference has something below a path.
fn has_below(tree: &Delta, path: &RepoPath) -> bool {
    let first = RepoPath::child(Some(path), b"");
    for (other, entry) in tree.range(first..) {
        if !other.is_below(path.as_bstr()) {
            return false;
        }
        if entry.is_some() {
            return true;
        }
    }
    false
}

/// What differs from HEAD, on disk or else in the index: what is not committed.
fn uncommitted(worktree: &Worktree, survey: &Survey, with_ignored: bool) -> Vec<Change> {
    let states = &survey.states;
    let manifest = &states.manifest;
    let ignored = states.untracked.iter();
    let ignored = ignored.filter(|(_, seen)| with_ignored && **seen == Seen::Ignored);
    let mut paths: BTreeSet<RepoPath> = survey.uncommitted(worktree).into_iter().collect();
    paths.extend(ignored.map(|(path, _)| path.clone()));
    paths.retain(|path| states.placed.get(path).is_none());
    let changes = paths.iter().filter_map(|path| {
        let at = |delta: &Delta| entry_in(manifest, delta, path);
        let head = at(&states.references.head);
        let disk = at(&states.disk.delta);
        let staged = states.index.deltas.first().map_or(head, at);
        let absent = states.disk.leaves_out(path, &worktree.scope);
        let on_disk = !absent && !same(head, disk);
        let now = if on_disk { disk } else { staged };
        let seen = states.index.hidden.get(path);
        let seen = seen.or_else(|| states.untracked.get(path));
        let seen = seen.filter(|_| on_disk).cloned().unwrap_or(Seen::Disk);
        let was_directory = || manifest.has_directory(path);
        let mut change = change_between(path, head, now, seen, &was_directory)?;
        if staged != head {
            change.seen.insert(Seen::Index);
        }
        if !on_disk {
            change.seen.remove(&Seen::Disk);
        }
        Some(change)
    });
    let mut changes: Vec<Change> = changes.chain(survey.placed_changes().cloned()).collect();
    changes.sort();
    changes
}

/// Resolves write roots ("leases"), each once. A root inside the worktree counts where it really is
/// but for the last link, so that an agent cannot widen it by a link in the place of its directory;
/// one outside is resolved fully.
fn resolve_roots(worktree: &Worktree, asked: &Asked) -> Result<Vec<PathBuf>, Error> {
    let directory = resolve(worktree.record.path.as_std_path(), &|_| true)?;
    let mut roots = BTreeSet::new();
    for root in &asked.roots {
        roots.insert(resolve(root, &|path| path.starts_with(&directory))?);
    }
    Ok(roots.into_iter().collect())
}

/// Picks the changes that no root covers; what is no path of the repository never is. A path counts
/// where its file really is: links in its parents are resolved, each directory once, the file
/// itself is not.
fn outside_of(
    worktree: &Worktree,
    roots: &[PathBuf],
    changes: &[Change],
) -> Result<Vec<Change>, Error> {
    let mut parents: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut outside = Vec::new();
    for change in changes {
        let mut covered = false;
        if let Some(path) = change.place.path() {
            let failed =
                |error| DiskError::new(format!("resolve {path}"), std::io::Error::other(error));
            let relative = path.to_os_path().map_err(failed)?;
            let file = worktree.record.path.as_std_path().join(&relative);
            let directory = file.parent().unwrap_or(Path::new("/"));
            if !parents.contains_key(directory) {
                let resolved = resolve(directory, &|_| false)?;
                parents.insert(directory.to_owned(), resolved);
            }
            let file = parents[directory].join(file.file_name().unwrap_or_default());
            covered = is_covered(roots, &file);
        }
        if !covered {
            outside.push(change.clone());
        }
    }
    Ok(outside)
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
