//! Gives a private git directory the commits of its branch and what is staged, without the content
//! of excluded files (`--withhold`): [`PresentHistory`].
//!
//! The command knows the ids of what is withheld from the trees of its commits, and can name them
//! anywhere: at a path of the scope, in its index, as a parent. So nothing is given by its id alone.
//! Git fetches into a directory of its own, which no command has written to, and never by itself
//! (`--filter`, git-rev-list(1)); and nothing that is withheld comes by another path.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::git::index::OpenIndex;
use crate::git::objects::Objects;
use crate::record::run::RunObjects;
use crate::scope::classifier::Classifier;
use crate::scope::rule::{Access, EntryKind};
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::entries::put;
use crate::worktree::private_git::settings::{WITHHELD_REMOTE, write_settings};
use crate::worktree::private_git::{NEW, PrivateGit};
use crate::worktree::repository::Repository;

/// The file that says where history ends (gitrepository-layout(5), `shallow`).
pub(super) const SHALLOW: &str = "shallow";
/// Where a git directory has its packs.
const PACKS: &str = "objects/pack";

/// The commits of a branch that a command is given, and what it is not given of them.
pub(super) struct PresentHistory {
    /// The last commit of the branch.
    tip: CommitId,
    /// The commits of upstream that those of the branch stand on: history ends there.
    ends: BTreeSet<CommitId>,
    /// The files at excluded paths in all of these commits.
    withheld: HashSet<ObjectId>,
}

impl PresentHistory {
    /// Reads what is given of the branch, the last commit of which is `tip`. The commits that are of
    /// the branch alone come whole, so that the command can amend and rebase them; of upstream, only
    /// those that they stand on.
    ///
    /// # Errors
    /// Refuses where a commit of the branch has the content of an excluded file at a path that the
    /// scope shows. Fails when a commit or a tree cannot be read.
    pub fn read(
        repository: &Repository,
        worktree: &Worktree,
        tip: &CommitId,
    ) -> Result<Self, Error> {
        let base = &worktree.record.base;
        let mut upstream = vec![base.commit.clone()];
        for followed in &base.tips {
            upstream.push(followed.commit.clone());
            upstream.extend(repository.git.rev_parse_commit(&followed.name)?);
        }
        let upstream: Vec<&CommitId> = upstream.iter().collect();
        let own_commits = repository.git.rev_list(&[tip], &upstream)?;
        let objects = repository.objects()?;
        let mut contents = SeenContents::new(worktree.scope.classifier());
        let mut ends = BTreeSet::new();
        let own: BTreeSet<&CommitId> = own_commits.iter().collect();
        for id in &own_commits {
            let commit = objects.commit(id)?;
            let parents = objects.without_cut_off(commit.parents)?;
            let before = match parents.first() {
                Some(parent) => Some(objects.commit(parent)?.tree),
                None => None,
            };
            for (path, entry) in objects.difference(before.as_ref(), Some(&commit.tree))? {
                contents.note_of_branch(path, entry);
            }
            ends.extend(parents.into_iter().filter(|parent| !own.contains(parent)));
        }
        if own_commits.is_empty() {
            ends.insert(tip.clone());
        }
        for end in &ends {
            for (path, entry) in objects.list(&objects.commit(end)?.tree)? {
                contents.note_of_upstream(&path, entry);
            }
        }
        Ok(Self {
            tip: tip.clone(),
            ends,
            withheld: contents.withheld(repository, worktree)?,
        })
    }

    /// Fetches the commits into a git directory that no command has written to yet.
    ///
    /// # Errors
    /// Fails when git does, or the disk.
    pub fn fetch(
        &self,
        new: &Utf8Path,
        repository: &Repository,
        worktree: &Worktree,
    ) -> Result<(), Error> {
        let file = worktree.record.admin_dir.join("info/sparse-checkout");
        let patterns = files::read(&file)?.unwrap_or_default();
        let size = u64::try_from(patterns.len()).unwrap_or(u64::MAX);
        let filter = repository
            .objects()?
            .write_blob(size, &mut patterns.as_slice())?;
        if !self.ends.is_empty() {
            // before the fetch: git tells the other side of it, which sends no more then
            put(new, SHALLOW, &self.shallow())?;
        }
        let git = repository.git.on(new, None);
        let from = &repository.common_dir;
        git.fetch_filtered(from, WITHHELD_REMOTE, &filter, &self.tip)?;
        Ok(())
    }

    /// The text of the file `shallow`.
    pub fn shallow(&self) -> Vec<u8> {
        let mut text = String::new();
        for commit in &self.ends {
            text.push_str(commit.as_str());
            text.push('\n');
        }
        text.into_bytes()
    }

    /// Copies the staged files that the scope shows and no commit of the git directory has.
    ///
    /// # Errors
    /// Fails when the repository cannot be read, or the disk not be written.
    pub fn copy_staged(
        &self,
        git_dir: &Utf8Path,
        repository: &Repository,
        worktree: &Worktree,
    ) -> Result<(), Error> {
        let Ok(index) = OpenIndex::read(&git_dir.join("index"), repository.format) else {
            // damaged: git says so to the command
            return Ok(());
        };
        let home = repository.objects()?;
        let private = Objects::open(git_dir, repository.format)?;
        let mut classifier = worktree.scope.classifier();
        for entry in index.entries() {
            let entry = entry?;
            let id = &entry.entry.id;
            let is_given = is_file(entry.entry) && !self.withheld.contains(id);
            if !is_given || private.is_blob(id) || !home.is_blob(id) {
                continue;
            }
            let path = index.repo_path(entry.path)?;
            if is_excluded(&mut classifier, &path) {
                continue;
            }
            let content = home.blob(id)?;
            let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
            private.write_blob(size, &mut content.as_slice())?;
        }
        Ok(())
    }
}

impl PrivateGit {
    /// Brings the commits into the git directory that an earlier run left, by way of a new one, as
    /// a command can have put anything into that.
    ///
    /// # Errors
    /// Fails when git does, or the disk.
    pub(super) fn bring_present(
        &self,
        history: &PresentHistory,
        repository: &Repository,
        worktree: &Worktree,
    ) -> Result<(), Error> {
        let new = self.dir.join(NEW);
        files::remove_directory(&new)?;
        files::create_directories(&new.join(PACKS))?;
        put(&new, "HEAD", b"ref: refs/heads/none\n")?;
        write_settings(&new, repository, worktree, RunObjects::Withheld)?;
        history.fetch(&new, repository, worktree)?;
        for name in files::names(&new.join(PACKS))? {
            let pack = new.join(PACKS).join(&name);
            files::rename(&pack, &self.git_dir().join(PACKS).join(&name))?;
        }
        // the run has its own commits on top of earlier ends, and goes on with them
        let mut ends = files::read(&self.shallow_file())?.unwrap_or_default();
        ends.extend(history.shallow());
        files::write(&self.shallow_file(), &ends)?;
        Ok(files::remove_directory(&new)?)
    }

    /// The file `shallow` that a run without the excluded files is given. It stands beside the git
    /// directory, where the command cannot write.
    pub(super) fn shallow_file(&self) -> Utf8PathBuf {
        self.dir.join(SHALLOW)
    }
}

/// Holds which files stand where in the commits that are given.
struct SeenContents<'a> {
    classifier: Classifier<'a>,
    /// What stands at an excluded path.
    excluded: HashSet<ObjectId>,
    /// What upstream has at a path that the scope shows.
    shown_upstream: HashSet<ObjectId>,
    /// What a commit of the branch has at such a path.
    shown_in_branch: BTreeMap<ObjectId, RepoPath>,
}

impl<'a> SeenContents<'a> {
    fn new(classifier: Classifier<'a>) -> Self {
        Self {
            classifier,
            excluded: HashSet::new(),
            shown_upstream: HashSet::new(),
            shown_in_branch: BTreeMap::new(),
        }
    }

    /// Notes what a commit of the branch has otherwise than its parent.
    fn note_of_branch(&mut self, path: RepoPath, entry: Option<Entry>) {
        let Some(entry) = entry.filter(|entry| is_file(*entry)) else {
            return;
        };
        if is_excluded(&mut self.classifier, &path) {
            self.excluded.insert(entry.id);
        } else {
            self.shown_in_branch.insert(entry.id, path);
        }
    }

    /// Notes what a commit of upstream has.
    fn note_of_upstream(&mut self, path: &RepoPath, entry: Entry) {
        if !is_file(entry) {
            return;
        }
        if is_excluded(&mut self.classifier, path) {
            self.excluded.insert(entry.id);
        } else {
            self.shown_upstream.insert(entry.id);
        }
    }

    /// Returns what is withheld: what stands at excluded paths, and nowhere else in upstream.
    ///
    /// # Errors
    /// Refuses where the branch has it at a path that the scope shows.
    fn withheld(
        self,
        repository: &Repository,
        worktree: &Worktree,
    ) -> Result<HashSet<ObjectId>, Error> {
        let mut withheld = self.excluded;
        withheld.remove(&repository.format.blob_id(b""));
        withheld.retain(|id| !self.shown_upstream.contains(id));
        for (id, path) in self.shown_in_branch {
            if withheld.contains(&id) {
                let name = worktree.record.name.to_string();
                return Err(WorktreeFault::ExcludedContent { name, path }.into());
            }
        }
        Ok(withheld)
    }
}

/// True for what git stores as a file: a regular one or a link.
fn is_file(entry: Entry) -> bool {
    entry.mode != Mode::Gitlink
}

fn is_excluded(classifier: &mut Classifier<'_>, path: &RepoPath) -> bool {
    classifier.verdict(path, EntryKind::File).access == Access::Excluded
}
