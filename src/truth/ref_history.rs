//! Reads the refs of a repository as they were at `add` and as they are, with what is recorded of
//! their moves. Who moved which is said by [`crate::truth::attribution`].

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::hooks::journal;
use crate::git::hooks::journal::{Journal, Target};
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::reflog::{ReflogEntry, made_commits};
use crate::git::refs::{OWN_REFS, Ref, STASH, is_stash};
use crate::scope::rule::{Access, EntryKind};
use crate::truth::attribution::records::{OtherHead, RecordCache, RecordSource, RefRecords};
use crate::truth::git_dirs::TAKEN_UP;
use crate::truth::head::{WorktreeHead, read_commits, reflog_file};
use crate::truth::history::touched;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::gitdir::read_gitdir;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::{incoming_ref, run_refs};
use crate::worktree::repository::{Main, Repository};

/// Refs whose commits are no work of a worktree, or are judged by themselves; the stash is another.
const WITHOUT_WORK: [&str; 3] = ["refs/replace/", "refs/prefetch/", "refs/agentwt/run/"];

/// Holds the refs as they were at `add` and as they are, with what is known of their moves.
pub struct RefHistory<'a> {
    /// Git on the repository.
    pub git: Git,
    /// The worktree.
    pub worktree: &'a Worktree,
    /// The repository.
    pub repository: &'a Repository,
    /// What is recorded of refs.
    pub records: RefRecords<'a>,
    /// The worktrees that were made from this one.
    pub made_worktrees: Vec<MadeWorktree>,
}

/// Holds a worktree that was made from this one.
pub struct MadeWorktree {
    /// Its directory in `worktrees`.
    pub id: String,
    /// The path of that: its private git directory.
    admin_dir: Utf8PathBuf,
    /// Where it is.
    pub path: String,
    /// Its HEAD.
    pub head: OtherHead,
}

/// Holds a ref or a stash that was made in the worktree, or a commit of here that an operation in
/// another worktree takes up.
#[derive(Clone, Debug)]
pub struct OwnRef {
    /// The full name of the ref, or that of the file in the other git directory.
    pub name: BString,
    /// The commit of now.
    pub tip: CommitId,
    /// The commit that it was made at; none if that is not known.
    pub start: Option<CommitId>,
}

impl<'a> RefHistory<'a> {
    /// Reads the refs, and what is known of their moves.
    ///
    /// # Errors
    /// Fails when the refs cannot be read.
    pub fn read(
        repository: &'a Repository,
        worktree: &'a Worktree,
        journal: Journal,
        head: &WorktreeHead,
    ) -> Result<Self, Error> {
        let git = repository.git.with_mode(GitMode::Hardened);
        let mut before = worktree.refs_at_add()?;
        // these were left by an earlier worktree of this name, and a run of this one moves them: as
        // new refs they are its own
        let incoming = incoming_ref(worktree);
        let runs = run_refs(worktree);
        before
            .commits
            .retain(|name, _| *name != incoming && !name.starts_with(runs.as_bytes()));
        let found = git.for_each_ref(&["refs/"])?;
        // collected, not inserted one after the other: they are sorted, and there can be thousands
        let by_name = found
            .into_iter()
            .map(|reference| (reference.name.clone(), reference));
        let now: BTreeMap<BString, Ref> = by_name.collect();
        let made_worktrees = read_made_worktrees(&git, repository, worktree, &journal)?;
        let mut made_here: BTreeSet<CommitId> = head.made_here().into_iter().collect();
        // what was committed in a worktree that was made from this one counts as made here
        for made in &made_worktrees {
            made_here.extend(made_commits(&made.head.log));
        }
        let record = &worktree.record;
        let source = RepositoryRecords {
            git: git.clone(),
            repository,
            own_id: record.admin_dir.file_name(),
            made_ids: made_worktrees.iter().map(|made| made.id.clone()).collect(),
        };
        Ok(Self {
            git,
            worktree,
            repository,
            records: RefRecords {
                branch: record.branch.full_ref(),
                base: record.base.commit.clone(),
                head_ref: head.symbolic.clone(),
                before: before.commits,
                symbolic_before: before.targets,
                now,
                journal,
                made_here,
                source: Box::new(source),
                cache: RecordCache::default(),
            },
            made_worktrees,
        })
    }

    /// True if those of these commits that were made here touch nothing that the scope does not let
    /// the worktree write.
    ///
    /// # Errors
    /// Fails when a commit or a tree cannot be read.
    pub fn hide_nothing(&self, objects: &Objects, new: &[CommitId]) -> Result<bool, Error> {
        let mut classifier = self.worktree.scope.classifier();
        for commit in new {
            if !self.records.is_made_here(commit) {
                continue;
            }
            for path in touched(objects, commit)?.keys() {
                if classifier.verdict(path, EntryKind::File).access != Access::Write {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Lists what was made in the worktree and is there: branches, also on remotes, tags, stashes and
    /// refs of any other name. A branch that was renamed or copied from one of these is one.
    pub fn own_refs(&self) -> Vec<OwnRef> {
        let mut own_refs = Vec::new();
        for reference in self.records.now.values() {
            own_refs.extend(self.own_ref(reference));
        }
        own_refs.extend(self.own_upstreams());
        own_refs.extend(self.own_private_refs());
        for made in &self.made_worktrees {
            own_refs.extend(self.work_of(made));
        }
        own_refs.extend(self.taken_up_elsewhere());
        own_refs.extend(self.own_stashes());
        own_refs
    }

    /// Returns a ref of now if it was made in the worktree and its commit can be work.
    fn own_ref(&self, reference: &Ref) -> Option<OwnRef> {
        let records = &self.records;
        let name = reference.name.as_bstr();
        if records.before.contains_key(name) || reference.is_symbolic() {
            return None;
        }
        if !self.may_have_work(name) || !records.is_own(name) {
            return None;
        }
        let tip = self.git.rev_parse_commit(reference.id.as_str()).ok()??;
        if !self.is_of_files(name, &tip) {
            return None;
        }
        Some(OwnRef {
            name: reference.name.clone(),
            tip,
            start: self.first_place_there(name),
        })
    }

    /// True if the commit of a ref of this name may be work of the worktree. What a fetch prefetches
    /// is work of others, and what our own commands write is looked at by them.
    fn may_have_work(&self, name: &BStr) -> bool {
        if name.starts_with(b"refs/remotes/") {
            return self.is_pushed_to_other(name);
        }
        let has_none = WITHOUT_WORK.iter().any(|start| name.starts_with_str(start));
        !has_none && !is_stash(name)
    }

    /// True if the commit of a ref has files of the repository: notes have a history of their own
    /// (git-notes(1)).
    fn is_of_files(&self, name: &BStr, tip: &CommitId) -> bool {
        if !name.starts_with(b"refs/notes/") {
            return true;
        }
        let base = std::slice::from_ref(&self.records.base);
        let common = self.git.merge_base_all(tip, base).unwrap_or_default();
        !common.is_empty()
    }

    /// Lists the refs that only this worktree has (git-worktree(1), "REFS"), as the journal says.
    fn own_private_refs(&self) -> Vec<OwnRef> {
        let journal = &self.records.journal;
        let mut own_refs = Vec::new();
        for name in journal.private() {
            let Some(Target::Object(id)) = journal.moves(name).last().map(|last| &last.new) else {
                continue;
            };
            let tip = self.git.rev_parse_commit(id.as_str()).ok().flatten();
            own_refs.extend(tip.map(|tip| OwnRef {
                name: name.clone(),
                tip,
                start: None,
            }));
        }
        own_refs
    }

    /// Lists what a worktree that was made from this one has beside the branches that were made here:
    /// the newest commit that was made there, if its HEAD or a ref is on it, and its own refs.
    fn work_of(&self, made: &MadeWorktree) -> Vec<OwnRef> {
        let mut own_refs = Vec::new();
        let git = self.git.on(&made.admin_dir, None);
        let head = git.rev_parse_commit("HEAD").ok().flatten();
        if let Some(newest) = made_commits(&made.head.log).into_iter().next()
            && (head.as_ref() == Some(&newest) || self.is_on_a_ref(&newest))
        {
            let begun = made.head.log.last();
            own_refs.push(OwnRef {
                name: made.head.name.clone().into(),
                tip: newest,
                start: begun.map(|entry| entry.id.clone()),
            });
        }
        for own in git.for_each_ref(&OWN_REFS).unwrap_or_default() {
            if let Ok(Some(tip)) = git.rev_parse_commit(own.id.as_str()) {
                own_refs.push(OwnRef {
                    name: format!("worktrees/{}/{}", made.id, own.name).into(),
                    tip,
                    start: None,
                });
            }
        }
        own_refs
    }

    /// True if a ref of now names a commit.
    fn is_on_a_ref(&self, commit: &CommitId) -> bool {
        self.records.now.values().any(|now| now.id == *commit)
    }

    /// Lists the commits of here that an operation in progress in another worktree takes up: the next
    /// commit there has them, whoever began it.
    fn taken_up_elsewhere(&self) -> Vec<OwnRef> {
        let mut own_refs = Vec::new();
        let records = &self.records;
        let stash = BStr::new(STASH);
        let has_stashed = records.journal.places(stash).next().is_some();
        // there may be hundreds of other worktrees, which are then not looked at
        if !has_stashed && !records.has_made_or_moved_any() {
            return own_refs;
        }
        for (place, git_dir) in self.git_dirs_of_others() {
            for name in TAKEN_UP {
                let file = git_dir.join(name);
                if !files::exists(&file) {
                    continue;
                }
                let commits = read_commits(&file).unwrap_or_default();
                for tip in commits.into_iter().filter(|tip| self.is_of_here(tip)) {
                    own_refs.push(OwnRef {
                        name: format!("{place}/{name}").into(),
                        tip,
                        start: None,
                    });
                }
            }
        }
        own_refs
    }

    /// Returns the git directories of the other worktrees, by the names that git has for them
    /// (git-worktree(1), "REFS").
    fn git_dirs_of_others(&self) -> BTreeMap<String, Utf8PathBuf> {
        let mut git_dirs = BTreeMap::new();
        if self.repository.is_clone() {
            return git_dirs;
        }
        let common_dir = &self.repository.common_dir;
        git_dirs.insert("main-worktree".to_owned(), common_dir.clone());
        let linked = common_dir.join("worktrees");
        let own_id = self.worktree.record.admin_dir.file_name();
        for id in files::names(&linked).unwrap_or_default() {
            if own_id != Some(&id) {
                git_dirs.insert(format!("worktrees/{id}"), linked.join(&id));
            }
        }
        git_dirs
    }

    /// True if a commit was made or stashed in the worktree, and no other worktree has taken it over.
    fn is_of_here(&self, commit: &CommitId) -> bool {
        let records = &self.records;
        let is_stashed = records.has_place(BStr::new(STASH), commit);
        (is_stashed || records.was_made_or_moved_here(commit))
            && !records.is_logged_elsewhere(commit)
    }

    /// Returns the first place to which a ref was moved from here; none if git collected it.
    fn first_place_there(&self, name: &BStr) -> Option<CommitId> {
        let first = self.records.journal.places(name).next()?;
        self.git.rev_parse_commit(first.as_str()).ok().flatten()
    }

    /// True if a ref is the branch on a remote of another name than the own one, which a push made.
    /// A log is only read of what the worktree moved.
    fn is_pushed_to_other(&self, name: &BStr) -> bool {
        let records = &self.records;
        name.starts_with(b"refs/remotes/")
            && !records.journal.moves(name).is_empty()
            && !records.is_own_upstream(name)
            && records.began_with_push(name)
    }

    /// Lists where the worktree's own branch is on remotes, as far as it was pushed from here, also
    /// where others went on from there.
    fn own_upstreams(&self) -> Vec<OwnRef> {
        let records = &self.records;
        let mut own_refs = Vec::new();
        for name in records.journal.shared() {
            let Some(now) = records.now.get(name) else {
                continue;
            };
            if !records.is_own_upstream(name.as_bstr()) {
                continue;
            }
            let Some(pushed) = records.last_pushed_place(name.as_bstr()) else {
                continue;
            };
            if self.git.is_ancestor(pushed, &now.id).unwrap_or(true) {
                own_refs.push(OwnRef {
                    name: name.clone(),
                    tip: pushed.clone(),
                    start: None,
                });
            }
        }
        own_refs
    }

    /// Lists what was stashed in the worktree and is there.
    fn own_stashes(&self) -> Vec<OwnRef> {
        let name = BStr::new(STASH);
        let stashed: BTreeSet<&CommitId> = self.records.journal.places(name).collect();
        if stashed.is_empty() {
            return Vec::new();
        }
        let mut own_refs = Vec::new();
        for entry in &*self.records.log(name) {
            if stashed.contains(&entry.id) {
                own_refs.push(OwnRef {
                    name: name.to_owned(),
                    tip: entry.id.clone(),
                    start: None,
                });
            }
        }
        own_refs
    }

    /// Lists the commits that others brought: what refs named at `add`, and the remote-tracking
    /// refs that a fetch moved since; sorted, each once: there can be as many as refs.
    pub fn fetched_commits(&self) -> Vec<CommitId> {
        let records = &self.records;
        // what others put on top there brings back what was pushed from here
        let mut pushed: BTreeSet<BString> = BTreeSet::new();
        for own in self.own_upstreams() {
            pushed.insert(own.name);
        }
        let mut commits: Vec<&CommitId> = records.before.values().collect();
        for (name, now) in &records.now {
            // what a symbolic ref names is judged by itself
            if name.starts_with(b"refs/remotes/")
                && !now.is_symbolic()
                && records.before.get(name) != Some(&now.id)
                && !pushed.contains(name)
                && records.is_fetched(name.as_bstr(), &now.id)
            {
                commits.push(&now.id);
            }
        }
        commits.sort_unstable();
        commits.dedup();
        commits.into_iter().cloned().collect()
    }

    /// Lists the commits that a fetch brought to remote-tracking refs which the worktree moved, as
    /// their logs tell: such a ref may be elsewhere now.
    fn fetched_and_moved_on(&self) -> Vec<CommitId> {
        let records = &self.records;
        let mut fetched = Vec::new();
        for name in records.now.keys() {
            let is_remote = name.starts_with(b"refs/remotes/");
            if !is_remote || records.journal.moves(name).is_empty() {
                continue;
            }
            let text = name.to_str_lossy();
            for entry in &*records.log(name.as_bstr()) {
                let is_push = entry.is_push_of(&entry.id);
                if !is_push && !records.is_made_here(&entry.id) && entry.came_from_elsewhere(&text)
                {
                    fetched.push(entry.id.clone());
                }
            }
        }
        fetched
    }

    /// True if all that the file `shallow` names is where a fetch lets history end: commits of
    /// others, whose parents are not here, or that upstream has, or that no ref leads to.
    ///
    /// # Errors
    /// Fails when a commit is damaged.
    pub fn ends_where_others_fetched(&self) -> Result<bool, Error> {
        let mut with_parents = Vec::new();
        for end in self.git.shallow_commits()? {
            if self.records.is_made_here(&end) {
                return Ok(false);
            }
            if !self.git.has_lost_parent(&end)? {
                with_parents.push(end);
            }
        }
        if with_parents.is_empty() {
            return Ok(true);
        }
        let mut fetched = self.fetched_commits();
        fetched.extend(self.fetched_and_moved_on());
        fetched.sort_unstable();
        let of_others: Vec<&CommitId> = fetched.iter().collect();
        let mut tips: Vec<&CommitId> = self.records.now.values().map(|now| &now.id).collect();
        tips.retain(|tip| fetched.binary_search(tip).is_err());
        let not_upstream = self.git.rev_list(&tips, &of_others)?;
        Ok(!with_parents.iter().any(|end| not_upstream.contains(end)))
    }
}

/// Reads records in a repository.
struct RepositoryRecords<'a> {
    git: Git,
    repository: &'a Repository,
    /// The directory of the worktree in `worktrees`.
    own_id: Option<&'a str>,
    /// Those of the worktrees that were made from it.
    made_ids: BTreeSet<String>,
}

impl RecordSource for RepositoryRecords<'_> {
    fn read_log(&self, name: &BStr) -> Vec<ReflogEntry> {
        let Ok(name) = name.to_str() else {
            return Vec::new();
        };
        if files::is_endless(&self.repository.common_dir.join("logs").join(name)) {
            return Vec::new();
        }
        let log = self.git.log(name).ok().flatten();
        log.unwrap_or_default()
    }

    /// The main worktree has a log then, which may be empty; where refs are tables, it is no file.
    fn keeps_logs(&self) -> bool {
        let common_dir = &self.repository.common_dir;
        files::exists(&common_dir.join("logs/HEAD"))
            || matches!(self.git.on(common_dir, None).log("HEAD"), Ok(Some(_)))
    }

    fn is_remote(&self, name: &str) -> bool {
        let url = self.git.config_get(&format!("remote.{name}.url"));
        url.ok().flatten().is_some()
    }

    fn read_main_head(&self) -> Option<OtherHead> {
        let has_head = self.repository.main == Main::Worktree && !self.repository.is_clone();
        let common_dir = &self.repository.common_dir;
        has_head.then(|| read_head(&self.git, common_dir, "main-worktree"))
    }

    fn read_linked_heads(&self) -> Vec<OtherHead> {
        let linked = self.repository.common_dir.join("worktrees");
        let mut heads = Vec::new();
        for id in files::names(&linked).unwrap_or_default() {
            if self.own_id != Some(&id) && !self.made_ids.contains(&id) {
                let git_dir = linked.join(&id);
                let git = self.git.on(&git_dir, None);
                heads.push(read_head(&git, &git_dir, &format!("worktrees/{id}")));
            }
        }
        heads
    }
}

/// Reads a HEAD and its log from its git directory.
fn read_head(git: &Git, git_dir: &Utf8Path, private: &str) -> OtherHead {
    let file = files::read(&git_dir.join("HEAD"))
        .ok()
        .flatten()
        .unwrap_or_default();
    let mut head = OtherHead {
        name: format!("{private}/HEAD"),
        is_of_agent: files::exists(&git_dir.join(journal::FILE)),
        ..OtherHead::default()
    };
    // where refs are tables, the file of that name does not say
    if file.trim_ascii_end().ends_with(b"/.invalid") {
        head.branch = git.symbolic_ref_head().ok().flatten();
        head.log = git.log("HEAD").ok().flatten().unwrap_or_default();
    } else {
        let name = file.strip_prefix(b"ref:").map(<[u8]>::trim_ascii);
        head.branch = name.and_then(|name| Some(name.to_str().ok()?.to_owned()));
        head.log = reflog_file(git_dir).unwrap_or_default();
    }
    head
}

/// Finds the worktrees that were created from this one (gitrepository-layout(5), `worktrees/<id>`).
fn read_made_worktrees(
    git: &Git,
    repository: &Repository,
    worktree: &Worktree,
    journal: &Journal,
) -> Result<Vec<MadeWorktree>, Error> {
    let mut made_worktrees = Vec::new();
    if journal.worktrees.is_empty() {
        return Ok(made_worktrees);
    }
    let directory = repository.common_dir.join("worktrees");
    let own_id = worktree.record.admin_dir.file_name();
    for id in files::names(&directory)? {
        let admin_dir = directory.join(&id);
        let Some(dot_git) = read_gitdir(&admin_dir)? else {
            continue;
        };
        let path = dot_git.parent().unwrap_or(&dot_git);
        if own_id != Some(&id) && journal.worktrees.iter().any(|made| made == path.as_str()) {
            let name = format!("worktrees/{id}");
            made_worktrees.push(MadeWorktree {
                head: read_head(&git.on(&admin_dir, None), &admin_dir, &name),
                path: path.to_string(),
                admin_dir,
                id,
            });
        }
    }
    Ok(made_worktrees)
}
