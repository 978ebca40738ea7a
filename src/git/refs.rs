//! Reads refs and their logs through `gix` (gitrepository-layout(5)), and moves refs with git.

use std::collections::{BTreeMap, HashSet};

use bstr::{BStr, BString, ByteSlice};
use gix::refs::{FullName, FullNameRef, Target};
use gix::remote::Direction;

use crate::git::error::{GitError, reading, unreadable};
use crate::git::git_dir::{read_file, refuse_special_file};
use crate::git::object_format::commit_id_of;
use crate::git::process::{Git, odd_output};
use crate::git::reflog::{ReflogEntry, parse_reflog_file};
use crate::git::repo::Repo;
use crate::words::name::{BranchName, CommitId};

/// How many symbolic refs git follows (`SYMREF_MAXDEPTH`, refs.c).
const MAX_DEPTH: usize = 5;

/// Refs that each worktree has for itself (git-worktree(1), "REFS").
pub const OWN_REFS: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// Below which all refs are.
const ALL_REFS: &str = "refs/";

/// The newest stash; its log has the others (git-stash(1)).
pub const STASH: &str = "refs/stash";

/// Where git looks for the ref that a revision begins with (gitrevisions(7)).
const REF_PREFIXES: [&str; 5] = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];

/// True if git can have a ref of this name (git-check-ref-format(1)).
pub fn is_ref_name(name: &[u8]) -> bool {
    gix::validate::reference::name(name.into()).is_ok()
}

/// A ref and the object it names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ref {
    /// The full name.
    pub name: BString,
    /// The object: for an annotated tag the tag, not the commit.
    pub id: CommitId,
    /// The ref that it names; none if it names the object by itself.
    pub target: Option<BString>,
}

impl Ref {
    /// Makes one that names an object.
    pub fn new(name: impl Into<BString>, id: CommitId) -> Self {
        Self {
            name: name.into(),
            id,
            target: None,
        }
    }

    /// True if it names another ref.
    pub fn is_symbolic(&self) -> bool {
        self.target.is_some()
    }
}

/// Patterns of git-for-each-ref(1): the name of a ref, a prefix of names, and `*` for one part of a
/// name. There can be as many names as refs.
struct RefPatterns<'a> {
    names: HashSet<&'a [u8]>,
    /// True if one of the names is `refs/`.
    has_all: bool,
    globs: Vec<&'a str>,
    /// The directories that are read, none below another.
    directories: Vec<&'a str>,
}

impl<'a> RefPatterns<'a> {
    fn new(patterns: &[&'a str]) -> Self {
        let mut names = HashSet::new();
        let mut globs = Vec::new();
        let mut directories = Vec::new();
        for pattern in patterns {
            names.insert(pattern.as_bytes());
            if pattern.contains('*') {
                globs.push(*pattern);
            }
            let plain = pattern.split('*').next().unwrap_or_default();
            directories.push(match plain.rfind('/') {
                Some(end) => &plain[..=end],
                None => ALL_REFS,
            });
        }
        directories.sort_unstable();
        directories.dedup_by(|next, above| next.starts_with(*above));
        Self {
            has_all: names.contains(ALL_REFS.as_bytes()),
            names,
            globs,
            directories,
        }
    }

    fn matches(&self, name: &[u8]) -> bool {
        self.has_all
            || self.names.contains(name)
            || self.has_prefix_of(name)
            || self.has_glob_of(name)
    }

    /// True if a ref is below one of the names.
    fn has_prefix_of(&self, name: &[u8]) -> bool {
        name.find_iter("/")
            .any(|end| self.names.contains(&name[..end]) || self.names.contains(&name[..=end]))
    }

    fn has_glob_of(&self, name: &[u8]) -> bool {
        let mode = gix_glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
        self.globs
            .iter()
            .any(|glob| gix_glob::wildmatch((*glob).into(), name.into(), mode))
    }
}

/// True for the stash, and for the name of an entry of it (`refs/stash@{1}`): no ref can have that.
pub fn is_stash(name: &[u8]) -> bool {
    name == STASH.as_bytes() || name.starts_with(b"refs/stash@{")
}

/// True for a ref that each worktree has for itself.
pub fn is_own_ref(name: &[u8]) -> bool {
    OWN_REFS.iter().any(|prefix| name.starts_with_str(prefix))
}

impl Repo {
    /// Reads one ref that is a file, or a line of `packed-refs`.
    fn read_ref(&self, local: &gix::Repository, name: &BStr) -> Result<Option<Target>, GitError> {
        let Ok(full) = FullName::try_from(name) else {
            return Ok(None);
        };
        if let Ok(text) = name.to_str() {
            refuse_special_file(self.common_dir.join(text))?;
        }
        let found = local
            .refs
            .try_find(full.as_ref().as_partial_name())
            .map_err(reading(format_args!("the ref {name}")))?;
        match found {
            Some(reference) if reference.name == full => Ok(Some(reference.target)),
            Some(_) | None => Ok(None),
        }
    }

    /// Follows a ref to the last name, and the object if there is one.
    pub(super) fn resolve(
        &self,
        local: &gix::Repository,
        name: &BStr,
    ) -> Result<(BString, Option<CommitId>), GitError> {
        let mut last = name.to_owned();
        for _ in 0..MAX_DEPTH {
            match self.read_ref(local, last.as_bstr())? {
                None => return Ok((last, None)),
                Some(Target::Object(id)) => return Ok((last, Some(commit_id_of(&id)))),
                Some(Target::Symbolic(next)) => last = next.into_inner(),
            }
        }
        Err(too_deep(last.as_bstr()))
    }

    fn list_refs(&self, patterns: &[&str]) -> Result<Vec<Ref>, GitError> {
        let local = self.local();
        let platform = local.references().map_err(reading("the refs"))?;
        let wanted = RefPatterns::new(patterns);
        let mut refs = Vec::new();
        for directory in &wanted.directories {
            let references = platform.prefixed(*directory).map_err(reading("the refs"))?;
            // git passes over a broken ref as well, with a warning
            for reference in references.flatten() {
                if wanted.matches(reference.name().as_bstr()) {
                    refs.extend(self.listed_ref(&local, &reference)?);
                }
            }
        }
        refs.sort_unstable();
        Ok(refs)
    }

    /// Returns a ref as this worktree sees it; none if it names no object, or cannot be followed.
    fn listed_ref(
        &self,
        local: &gix::Repository,
        reference: &gix::Reference<'_>,
    ) -> Result<Option<Ref>, GitError> {
        let name = reference.name().as_bstr();
        let is_linked = self.git_dir != self.common_dir;
        let target = if is_linked && is_own_ref(name) {
            // what gix lists is the main worktree's
            self.read_ref(local, name)?
        } else {
            Some(reference.inner.target.clone())
        };
        match target {
            None => Ok(None),
            Some(Target::Object(id)) => Ok(Some(Ref::new(name, commit_id_of(&id)))),
            Some(Target::Symbolic(next)) => {
                let Ok((_last_name, Some(id))) = self.resolve(local, next.as_bstr()) else {
                    return Ok(None);
                };
                Ok(Some(Ref {
                    name: name.to_owned(),
                    id,
                    target: Some(next.into_inner()),
                }))
            }
        }
    }

    /// Reads the log of a ref as its file has it, the newest entry first; none if it has none.
    fn read_log(&self, name: &str) -> Result<Option<Vec<ReflogEntry>>, GitError> {
        let git_dir = if name == "HEAD" || is_own_ref(name.as_bytes()) {
            &self.git_dir
        } else {
            &self.common_dir
        };
        let bytes = read_file(git_dir.join("logs").join(name))?;
        Ok(bytes.map(|bytes| parse_reflog_file(&bytes)))
    }
}

fn too_deep(name: &BStr) -> GitError {
    unreadable(&format_args!("the ref {name}"), "too many symbolic refs")
}

/// Returns the upstream of a branch as a full ref (`%(upstream)`, git-for-each-ref(1)).
fn upstream_of(local: &gix::Repository, branch: &BStr) -> Option<BString> {
    let full: &FullNameRef = branch.try_into().ok()?;
    if !branch.starts_with(b"refs/heads/") {
        return None;
    }
    let remote = local.branch_remote_name(full.shorten(), Direction::Fetch)?;
    let upstream = if remote.as_bstr() == "." {
        local.branch_remote_ref_name(full, Direction::Fetch)?
    } else {
        local.branch_remote_tracking_ref_name(full, Direction::Fetch)?
    };
    Some(upstream.ok()?.into_inner())
}

impl Git {
    /// Returns the commit that a user's revision names (gitrevisions(7)), none when there is none.
    /// What is neither an id nor the full name of a ref is left to git.
    ///
    /// # Errors
    /// Fails when the repository cannot be read.
    pub fn rev_parse_commit(&self, revision: &str) -> Result<Option<CommitId>, GitError> {
        if let Ok(id) = CommitId::parse(revision) {
            return self.history()?.peel(&id);
        }
        let repo = self.repo()?;
        let is_full_name = revision == "HEAD" || revision.starts_with("refs/");
        if !is_full_name || !is_ref_name(revision.as_bytes()) || repo.is_reftable {
            require_ref_files(&repo, revision)?;
            return self.commit_by_git(revision);
        }
        let (_, id) = repo.resolve(&repo.local(), revision.into())?;
        match id {
            Some(id) => self.history()?.peel(&id),
            None => Ok(None),
        }
    }

    /// Returns the full name of the ref that HEAD names, none when HEAD is detached.
    ///
    /// # Errors
    /// Fails when HEAD cannot be read.
    pub fn symbolic_ref_head(&self) -> Result<Option<String>, GitError> {
        let repo = self.repo()?;
        if repo.is_reftable {
            return self.head_by_git();
        }
        let local = repo.local();
        if repo.read_ref(&local, "HEAD".into())?.is_none() {
            return Err(unreadable("HEAD", "there is none"));
        }
        let (name, _) = repo.resolve(&local, "HEAD".into())?;
        if name == "HEAD" {
            return Ok(None);
        }
        Ok(Some(name.to_str_lossy().into_owned()))
    }

    /// Returns the name of the ref to which a ref leads through symbolic refs: its own for an
    /// ordinary one.
    ///
    /// # Errors
    /// Fails when the refs cannot be read.
    pub fn last_name(&self, name: &str) -> Result<String, GitError> {
        let mut last = name.to_owned();
        for _ in 0..MAX_DEPTH {
            let refs = self.for_each_ref(&[&last])?;
            let reference = refs.into_iter().find(|listed| listed.name == last.as_str());
            match reference.and_then(|reference| reference.target) {
                Some(target) => last = target.to_str_lossy().into_owned(),
                None => return Ok(last),
            }
        }
        Err(too_deep(name.into()))
    }

    /// Returns the refs below these prefixes (`refs/` for all), sorted by name.
    ///
    /// # Errors
    /// Fails when the refs cannot be read.
    pub fn for_each_ref(&self, prefixes: &[&str]) -> Result<Vec<Ref>, GitError> {
        let repo = self.repo_in_any_mode()?;
        let mut patterns: Vec<&str> = prefixes.to_vec();
        // a revision such as `:/words` is below no ref (git-check-ref-format(1))
        patterns.retain(|prefix| !prefix.contains([':', '~', '^', '?', '[', '\\', ' ']));
        if patterns.is_empty() {
            return Ok(Vec::new());
        }
        if repo.is_reftable {
            self.refs_by_git(&patterns)
        } else {
            repo.list_refs(&patterns)
        }
    }

    /// Returns the branches and remote-tracking branches, each with its upstream as a full ref if
    /// it has one (`%(upstream)`, git-for-each-ref(1)).
    ///
    /// # Errors
    /// Fails when the refs cannot be read.
    pub fn branches(&self) -> Result<Vec<(Ref, Option<BString>)>, GitError> {
        let local = self.repo()?.local();
        let mut branches = Vec::new();
        for branch in self.for_each_ref(&["refs/heads/", "refs/remotes/"])? {
            let upstream = upstream_of(&local, branch.name.as_bstr());
            branches.push((branch, upstream));
        }
        Ok(branches)
    }

    /// Returns the upstream of a branch as a full ref (`%(upstream)`, git-for-each-ref(1)).
    ///
    /// # Errors
    /// Fails when the repository cannot be read.
    pub fn upstream(&self, branch: &str) -> Result<Option<String>, GitError> {
        let refs = self.for_each_ref(&[branch])?;
        if !refs.iter().any(|listed| listed.name == branch) {
            return Ok(None);
        }
        let upstream = upstream_of(&self.repo()?.local(), branch.into());
        Ok(upstream.map(|name| name.to_str_lossy().into_owned()))
    }

    /// True if git takes this as the name of a branch (`git check-ref-format --branch`).
    pub fn check_branch_name(&self, name: &str) -> bool {
        let is_previous = name.starts_with('@') && name.contains('{');
        if name == "HEAD" || name.starts_with('-') || is_previous {
            return false;
        }
        is_ref_name(format!("refs/heads/{name}").as_bytes())
    }

    /// Returns a ref's reflog, the newest entry first; none when it has no reflog. As `git log -g`,
    /// it passes over entries whose commits were collected.
    ///
    /// # Errors
    /// Fails when the log cannot be read.
    pub fn reflog(&self, name: &str) -> Result<Vec<ReflogEntry>, GitError> {
        let mut entries = self.log(name)?.unwrap_or_default();
        let history = self.history()?;
        // a log names most commits more than once
        let mut is_there = BTreeMap::new();
        for entry in &entries {
            if !is_there.contains_key(&entry.id) {
                is_there.insert(entry.id.clone(), history.peel(&entry.id)?.is_some());
            }
        }
        entries.retain(|entry| is_there[&entry.id]);
        Ok(entries)
    }

    /// Returns a ref's reflog with the entries whose commits were collected; none when it has none.
    ///
    /// # Errors
    /// Fails when the log cannot be read.
    pub fn log(&self, name: &str) -> Result<Option<Vec<ReflogEntry>>, GitError> {
        let repo = self.repo()?;
        if repo.is_reftable {
            self.log_by_git(name)
        } else {
            repo.read_log(name)
        }
    }

    /// Moves a ref, if it is still where it is expected to be; none expects it not to exist. A symbolic
    /// ref becomes a plain one: what it names may be a branch of anybody.
    ///
    /// # Errors
    /// Fails when it is elsewhere, or git fails.
    pub fn update_ref(
        &self,
        name: &str,
        id: &CommitId,
        expected: Option<&CommitId>,
        reason: &str,
    ) -> Result<(), GitError> {
        let zeros = "0".repeat(id.as_str().len());
        let old = expected.map_or(zeros.as_str(), CommitId::as_str);
        let args = ["-m", reason, "--create-reflog", name, id.as_str(), old];
        let what = format!("write {name}");
        self.perform(&what, "update-ref --no-deref", &args)?;
        Ok(())
    }

    /// Creates a branch at a commit, in one step.
    ///
    /// # Errors
    /// Fails when there is one of this name, or git fails.
    pub fn create_branch(
        &self,
        branch: &BranchName,
        at: &CommitId,
        reason: &str,
    ) -> Result<(), GitError> {
        let zeros = "0".repeat(at.as_str().len());
        let args = ["-m", reason, &branch.full_ref(), at.as_str(), &zeros];
        let what = format!("create branch {branch}");
        self.perform(&what, "update-ref --no-deref", &args)?;
        Ok(())
    }

    /// Sets HEAD to what its file would hold (gitrepository-layout(5)): `ref: <name>` or a commit.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn set_head(&self, head: &str) -> Result<(), GitError> {
        match head.strip_prefix("ref: ") {
            Some(name) => self.perform("set HEAD", "symbolic-ref HEAD", &[name])?,
            None => self.perform("set HEAD", "update-ref --no-deref HEAD", &[head])?,
        };
        Ok(())
    }

    /// Deletes a ref, if it still names this object. Of a symbolic ref, what it names stays.
    ///
    /// # Errors
    /// Fails when it names another, or git fails.
    pub fn delete_ref(&self, name: &str, expected: &CommitId) -> Result<(), GitError> {
        let args = [name, expected.as_str()];
        let what = format!("delete {name}");
        self.perform(&what, "update-ref -d --no-deref", &args)?;
        Ok(())
    }

    /// True if this repository has files that are not committed, or commits that no
    /// remote-tracking branch has: for submodules, whose repository goes with the worktree.
    ///
    /// # Errors
    /// Fails when git cannot run.
    pub fn has_own_work(&self) -> Result<bool, GitError> {
        let what = "look at a submodule";
        let status = "status --porcelain -z --untracked-files=all";
        if !self.perform(what, status, &[])?.is_empty() {
            return Ok(true);
        }
        let listed = self.perform(what, "ls-files -v -z", &[])?;
        if listed.split_str("\0").any(is_hidden_from_status) {
            return Ok(true);
        }
        let unpushed = "rev-list --max-count=1 HEAD --branches --not --remotes";
        Ok(!self.perform(what, unpushed, &[])?.is_empty())
    }
}

/// True if a line of `git ls-files -v` has a flag for which status says nothing of the file: it may
/// be edited (git-update-index(1)).
fn is_hidden_from_status(line: &[u8]) -> bool {
    match line.first() {
        Some(flag) => flag.is_ascii_lowercase() || *flag == b'S',
        None => false,
    }
}

/// Refuses a FIFO in the place of the file of a ref that a revision begins with: git opens it, and
/// waits.
fn require_ref_files(repo: &Repo, revision: &str) -> Result<(), GitError> {
    let name = revision
        .split(['^', '~', '@', ':'])
        .next()
        .unwrap_or_default();
    for prefix in REF_PREFIXES {
        refuse_special_file(repo.common_dir.join(format!("{prefix}{name}")))?;
    }
    Ok(())
}

/// Parses the one id that a command prints.
pub(super) fn one_id(command: &str, text: &[u8]) -> Result<CommitId, GitError> {
    let digits = text.to_str_lossy();
    CommitId::parse(digits.trim()).map_err(|error| odd_output(command, &error.to_string()))
}
