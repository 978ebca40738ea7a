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
use crate::git::objects::Objects;
use crate::git::patches::PatchColour;
use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::{Delta, change_between, same};
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
    /// The worktree's name; `None` for the one that we are in.
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
    pub colour: PatchColour,
    /// Whether to go on without what cannot be read.
    pub best_effort: bool,
    /// Absolute directories outside of which changes are listed; empty if that is not asked.
    pub roots: Vec<PathBuf>,
    /// Whether paths are absolute.
    pub absolute: bool,
}

/// Collects what changed in a repository, if it was found.
///
/// 1. Finds the worktree.
/// 2. Resolves the other base.
/// 3. Reads everything that was asked for into the answer.
///
/// # Errors
/// As [`super::run`].
pub fn collect(
    repository: Result<Repository, Error>,
    asked: &Asked,
) -> Result<ChangedAnswer, Error> {
    let mut options = SurveyOptions::default();
    if asked.best_effort {
        options.read_policy = ReadPolicy::best();
    }
    let mut answer = ChangedAnswer::default();
    // 1
    if let Some((repository, worktree)) = find(repository, asked, &options.read_policy)? {
        // 2
        options.base = resolve_base(&repository, asked, &options.read_policy)?;
        // 3
        let collector = Collector {
            repository: &repository,
            worktree: &worktree,
            asked,
            options: &options,
        };
        collector.fill(&mut answer)?;
    }
    answer.incomplete = options.read_policy.missing();
    Ok(answer)
}

/// Finds the worktree; `None` if the best effort finds nothing that can be read.
fn find(
    repository: Result<Repository, Error>,
    asked: &Asked,
    policy: &ReadPolicy,
) -> Result<Option<(Repository, Worktree)>, Error> {
    let repository = match repository {
        Err(error) if asked.best_effort => {
            policy.note(&error);
            return Ok(None);
        }
        repository => repository?,
    };
    match Worktree::of(&repository, asked.name.as_deref()) {
        Ok(worktree) => Ok(Some((worktree.readable_repository(&repository), worktree))),
        Err(error) if is_wrong_name(&repository, &error) => Err(error),
        Err(error) => policy.or(Err(error), || None),
    }
}

/// True if no worktree was meant by the name or the directory: there is nothing to read.
fn is_wrong_name(repository: &Repository, error: &Error) -> bool {
    match error.find() {
        Some(WorktreeFault::NotInWorktree { .. }) => true,
        // if the directory is there, only the record is gone
        Some(WorktreeFault::UnknownWorktree { name, .. }) => match WorktreeName::parse(name) {
            Ok(name) => !files::exists(&repository.worktree_path(&name)),
            Err(_) => true,
        },
        Some(_) | None => false,
    }
}

/// Resolves the other base that was asked for; `None` if the best effort cannot ask git.
fn resolve_base(
    repository: &Repository,
    asked: &Asked,
    policy: &ReadPolicy,
) -> Result<Option<CommitId>, Error> {
    let Some(revision) = &asked.base else {
        return Ok(None);
    };
    let git = repository.git.with_mode(GitMode::Hardened);
    let resolved = git.rev_parse_commit(revision).map(Some);
    match policy.or(resolved, || None)? {
        None => Ok(None),
        Some(Some(commit)) => Ok(Some(commit)),
        Some(None) => {
            let revision = escape_for_terminal(revision.as_bytes());
            Err(Refusal::NoSuchCommit { revision }.into())
        }
    }
}

/// Collects from one worktree.
struct Collector<'a> {
    repository: &'a Repository,
    worktree: &'a Worktree,
    asked: &'a Asked,
    options: &'a SurveyOptions,
}

/// Holds the changes that are listed.
#[derive(Default)]
struct NetChanges {
    /// The net changes: ignored files only if they count, and then what is no path.
    changes: Vec<Change>,
    /// Where ignored files are that the base's own rules do not name. No lease is asked for these.
    hidden: Vec<Change>,
}

impl Collector<'_> {
    /// Reads everything that was asked for into the answer.
    fn fill(&self, answer: &mut ChangedAnswer) -> Result<(), Error> {
        answer.name = Some(self.worktree.record.name.to_string());
        answer.path = Some(self.worktree.record.path.clone());
        let lacks_base = self.asked.base.is_some() && self.options.base.is_none();
        let mut net = NetChanges::default();
        if !lacks_base {
            let read = self.read(answer);
            net = if self.asked.best_effort {
                read?
            } else {
                self.worktree.unless_gone(self.repository, read)?
            };
        }
        answer.changed = self.listed(&net.changes);
        answer.changed.extend(self.listed(&net.hidden));
        if !self.asked.roots.is_empty() {
            self.fill_outside(net.changes, answer)?;
        }
        Ok(())
    }

    /// Lists the changes that no root covers. What worktrees share is in no root, and no lease is
    /// given on it: it is not among them.
    fn fill_outside(
        &self,
        mut changes: Vec<Change>,
        answer: &mut ChangedAnswer,
    ) -> Result<(), Error> {
        let policy = &self.options.read_policy;
        let roots = policy.or(self.resolve_roots(), Vec::new)?;
        let mut shown_roots = Vec::new();
        for root in &roots {
            shown_roots.push(root.to_string_lossy().into_owned());
        }
        answer.roots = Some(shown_roots);
        changes.retain(|change| {
            !matches!(
                change.place,
                Place::Git(_) | Place::Main(_) | Place::Outside(_)
            )
        });
        let uncovered = outside_of(self.worktree, &roots, &changes);
        let outside = policy.or(uncovered, || changes)?;
        answer.outside = Some(self.listed(&outside));
        Ok(())
    }

    /// The changes as they are listed: with absolute paths if that was asked for.
    fn listed(&self, changes: &[Change]) -> Vec<Change> {
        let mut listed = changes.to_vec();
        if self.asked.absolute {
            let root = self.worktree.record.path.as_str().as_bytes();
            for change in &mut listed {
                if let Place::Path(path) = &change.place {
                    let absolute = [root, b"/", path.as_ref()].concat();
                    change.place = Place::Absolute(absolute.into());
                }
            }
        }
        listed
    }

    /// Reads base, head, commits, uncommitted changes and patches into the answer; returns the net
    /// changes. With the best effort, what cannot be read is noted, and the rest is read.
    fn read(&self, answer: &mut ChangedAnswer) -> Result<NetChanges, Error> {
        let policy = &self.options.read_policy;
        let survey = collect_with(self.repository, self.worktree, self.options).map(Some);
        let Some(survey) = policy.or(survey, || None)? else {
            return Ok(NetChanges::default());
        };
        if survey.states.index.damaged && !self.asked.best_effort {
            // there may be changes that only the index has
            let what = format!("the index of worktree {}", self.worktree.record.name);
            let detail = "it is missing or damaged".to_owned();
            return Err(GitError::Read { what, detail }.into());
        }
        answer.base = Some(WorktreeBase::commit(&survey.changes.base));
        answer.head = Some(survey.changes.head.clone());
        let net = self.net_changes(&survey);
        let mut uncommitted = Vec::new();
        if self.asked.commits {
            let commits = self.read_commits(&survey);
            answer.commits = Some(policy.or(commits, Vec::new)?);
            uncommitted = self.uncommitted(&survey);
            answer.uncommitted = Some(Uncommitted {
                paths: self.listed(&uncommitted),
                patch: None,
            });
        }
        if self.asked.patch {
            let added = self.add_patches(&survey, &net.changes, &uncommitted, answer);
            policy.or(added, || ())?;
        }
        Ok(net)
    }

    fn net_changes(&self, survey: &Survey) -> NetChanges {
        let set = &survey.changes;
        let mut changes = set.changes.clone();
        changes.extend_from_slice(&set.integrity);
        for shared in &set.shared {
            changes.push(shared.change.clone());
        }
        let mut hidden = Vec::new();
        if !self.asked.ignored {
            changes.retain(|change| !change.is_ignored());
            hidden = find_hidden(survey);
        }
        // the same change can be listed twice, with different details
        changes.dedup_by(|a, b| a.place == b.place && a.kind == b.kind);
        NetChanges { changes, hidden }
    }

    /// Makes every patch that was asked for: of these net changes, of each commit in the answer,
    /// and of the uncommitted changes.
    fn add_patches(
        &self,
        survey: &Survey,
        net: &[Change],
        uncommitted: &[Change],
        answer: &mut ChangedAnswer,
    ) -> Result<(), Error> {
        // a patch must not lack a file without a word
        if let Some(unreadable) = survey.states.disk.unreadable.first() {
            let path = match &unreadable.path {
                Some(path) => path.to_string(),
                None => self.worktree.record.path.to_string(),
            };
            let why = std::io::Error::other(unreadable.detail.clone());
            return Err(DiskError::new(format!("read {path}"), why).into());
        }
        let references = &survey.states.references;
        // upstream work that was merged in is in the nearest reference, and so not in the patch
        let patch_base = references.nearest.as_ref().unwrap_or(&survey.changes.base);
        let colour = self.asked.colour;
        let patches = Patches::new(self.repository, self.worktree, survey, patch_base, colour)?;
        let net_patch = patches.to_disk(patch_base, net)?;
        answer.patch_base = Some(patch_base.clone());
        answer.patch = Some(PatchText::new(&net_patch.text));
        for path in &net_patch.left_out {
            answer.not_in_patch.push(path.to_string());
        }
        for change in net {
            if change.place.path().is_none() {
                answer.not_in_patch.push(change.place.to_string());
            }
        }
        for commit in answer.commits.iter_mut().flatten() {
            commit.patch = Some(PatchText::new(&patches.of_commit(&commit.commit)?));
        }
        if let Some(listed) = &mut answer.uncommitted {
            let onto = survey.head.head.as_ref().unwrap_or(patch_base);
            let patch = patches.to_disk(onto, uncommitted)?;
            listed.patch = Some(PatchText::new(&patch.text));
            for path in &patch.left_out {
                let name = path.to_string();
                if !answer.not_in_patch.contains(&name) {
                    answer.not_in_patch.push(format!("{name}, as it is staged"));
                }
            }
        }
        Ok(())
    }

    /// Reads the commits that a survey found, the oldest first.
    fn read_commits(&self, survey: &Survey) -> Result<Vec<ChangedCommit>, Error> {
        let objects = self.repository.objects()?;
        let git = self.repository.git.with_mode(GitMode::Hardened);
        let heads: Vec<&CommitId> = survey.head.head.iter().chain(&survey.head.branch).collect();
        let trusted: Vec<&CommitId> = survey.states.references.trusted.iter().collect();
        let reachable: BTreeSet<CommitId> = git.rev_list(&heads, &trusted)?.into_iter().collect();
        let mut commits = Vec::new();
        for id in survey.commits.iter().rev() {
            let mut commit = self.read_commit(&objects, id)?;
            commit.abandoned = !reachable.contains(id);
            commits.push(commit);
        }
        Ok(commits)
    }

    /// Reads a commit, with what it changed against its first parent; of a merge, only the paths at
    /// which it differs from every parent.
    fn read_commit(&self, objects: &Objects, id: &CommitId) -> Result<ChangedCommit, Error> {
        let commit = objects.commit(id)?;
        let headline = objects.headline(id)?;
        let parent_tree = match commit.parents.first() {
            Some(parent) => Some(objects.commit(parent)?.tree),
            None => None,
        };
        // from the commit to its parent: the entries are those that the parent had
        let parent_entries = objects.difference(Some(&commit.tree), parent_tree.as_ref())?;
        let mut changes = Vec::new();
        for (path, now) in touched(objects, id)? {
            let before = parent_entries.get(&path).copied().flatten();
            let was_directory = || has_below(&parent_entries, &path);
            let seen = Seen::Commit(id.clone());
            changes.extend(change_between(&path, before, now, seen, &was_directory));
        }
        Ok(ChangedCommit {
            paths: self.listed(&changes),
            abandoned: false,
            commit: id.clone(),
            parents: commit.parents,
            authored: headline.authored,
            subject: headline.subject.to_str_lossy().into_owned(),
            subject_bytes: bytes_unless_utf8(&headline.subject),
            patch: None,
        })
    }

    /// What differs from HEAD, on disk or else in the index: what is not committed.
    fn uncommitted(&self, survey: &Survey) -> Vec<Change> {
        let states = &survey.states;
        let mut paths: BTreeSet<RepoPath> = survey.uncommitted(self.worktree).into_iter().collect();
        if self.asked.ignored {
            for (path, seen) in &states.untracked {
                if *seen == Seen::Ignored {
                    paths.insert(path.clone());
                }
            }
        }
        let mut changes = Vec::new();
        for path in &paths {
            if states.placed.get(path).is_none() {
                changes.extend(self.uncommitted_change(survey, path));
            }
        }
        changes.extend(survey.placed_changes().cloned());
        changes.sort();
        changes
    }

    /// The change at a path against HEAD: on disk, or if the disk does not differ, in the index.
    fn uncommitted_change(&self, survey: &Survey, path: &RepoPath) -> Option<Change> {
        let states = &survey.states;
        let head = states.entry_in(&states.references.head, path);
        let staged = states.staged_entries(path).next().unwrap_or(head);
        let disk = states.entry_in(&states.disk.delta, path);
        let is_silent = states.disk.leaves_out(path, &self.worktree.scope);
        let was_directory = || states.manifest.has_directory(path);
        if is_silent || same(head, disk) {
            return change_between(path, head, staged, Seen::Index, &was_directory);
        }
        let hidden = states.index.hidden.get(path);
        let hidden_or_untracked = hidden.or_else(|| states.untracked.get(path));
        let seen = hidden_or_untracked.cloned().unwrap_or(Seen::Disk);
        let mut change = change_between(path, head, disk, seen, &was_directory)?;
        if staged != head {
            change.seen.insert(Seen::Index);
        }
        Some(change)
    }

    /// Resolves write roots ("leases"), each once. A root inside the worktree counts where it
    /// really is but for the last link, so that an agent cannot widen it by a link in the place of
    /// its directory; one outside is resolved fully.
    fn resolve_roots(&self) -> Result<Vec<PathBuf>, Error> {
        let directory = resolve(self.worktree.record.path.as_std_path(), &|_| true)?;
        let mut roots = BTreeSet::new();
        for root in &self.asked.roots {
            roots.insert(resolve(root, &|path| path.starts_with(&directory))?);
        }
        Ok(roots.into_iter().collect())
    }
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

/// True if a tree has something below a path; the tree is given as its difference from another.
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

/// Picks the changes that none of these roots covers, which are resolved (`resolve_roots`), and
/// those that are not at a path of the repository. A path counts where its file really is: links in
/// its parents are followed, the file itself is not.
fn outside_of(
    worktree: &Worktree,
    roots: &[PathBuf],
    changes: &[Change],
) -> Result<Vec<Change>, Error> {
    // each directory is resolved once
    let mut resolved_parents: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut outside = Vec::new();
    for change in changes {
        let Some(path) = change.place.path() else {
            outside.push(change.clone());
            continue;
        };
        let relative = path.to_os_path().map_err(|error| {
            DiskError::new(format!("resolve {path}"), std::io::Error::other(error))
        })?;
        let unresolved = worktree.record.path.as_std_path().join(&relative);
        let parent = unresolved.parent().unwrap_or(Path::new("/"));
        if !resolved_parents.contains_key(parent) {
            let follow_every_link = |_: &Path| false;
            resolved_parents.insert(parent.to_owned(), resolve(parent, &follow_every_link)?);
        }
        let file = resolved_parents[parent].join(unresolved.file_name().unwrap_or_default());
        if !is_covered(roots, &file) {
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
