//! Reads refs and their logs through `gix` (gitrepository-layout(5)), and moves refs with git.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bstr::{BStr, BString, ByteSlice};
use gix::refs::{FullName, FullNameRef, Target};
use gix::remote::Direction;

use crate::git::error::{GitError, reading, unreadable};
use crate::git::git_dir::{read_file, require_file};
use crate::git::object_format::commit_id_of;
use crate::git::process::{Git, odd_output};
use crate::git::repo::Repo;
use crate::words::name::CommitId;

/// How many symbolic refs git follows (`SYMREF_MAXDEPTH`, refs.c).
const DEPTH: usize = 5;

/// Refs that each worktree has for itself (git-worktree(1), "REFS").
pub(super) const PRIVATE: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// Whether git can have a ref of this name (git-check-ref-format(1)).
pub fn is_ref_name(name: &[u8]) -> bool {
    gix::validate::reference::name(name.into()).is_ok()
}

/// Holds a ref and the object it names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ref {
    /// The full name.
    pub name: BString,
    /// The object: for an annotated tag the tag, not the commit.
    pub id: CommitId,
    /// The ref that it names; none where it names the object by itself.
    pub target: Option<BString>,
}

impl Ref {
    /// One that names an object.
    pub fn new(name: impl Into<BString>, id: CommitId) -> Self {
        Self {
            name: name.into(),
            id,
            target: None,
        }
    }

    /// Whether it names another ref.
    pub fn is_symbolic(&self) -> bool {
        self.target.is_some()
    }
}

/// Holds an entry of a reflog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReflogEntry {
    /// Where the ref went.
    pub id: CommitId,
    /// Why, as the command that moved it said.
    pub reason: String,
}

impl ReflogEntry {
    /// Whether the command that logged it made the commit, and did not only go there.
    pub fn made_a_commit(&self) -> bool {
        let reason = self.reason.as_str();
        let went = ["checkout:", "reset:", "branch:", "Branch:", "clone:"];
        let passed = ["(start)", "(finish)", "(abort)", "Fast-forward"];
        !reason.is_empty()
            && !went.iter().any(|start| reason.starts_with(start))
            && !passed.iter().any(|part| reason.contains(part))
    }

    /// Whether the command that logged a move of this ref brought the commit from another repository,
    /// or made it in a worktree that has the branch checked out: by what that command wrote into the
    /// log (`git update-ref` writes nothing, `git branch -f` "branch: Reset to …", a push to this
    /// repository "push").
    pub fn came_from_elsewhere(&self, name: &str) -> bool {
        let reason = self.reason.as_str();
        let (command, words) = reason.split_once(':').unwrap_or((reason, ""));
        let tracked = name.strip_prefix("refs/remotes/");
        let mut command = command.split_whitespace();
        match command.next() {
            Some("fetch" | "pull" | "clone" | "remote") => {
                // `fetch . HEAD:…` brings what is here already
                let is_here = |word: &str| word.starts_with(['.', '/']) || word == "file";
                // the refspec of another remote can name this ref as well
                let is_word = |word: &&str| {
                    !word.starts_with('-') && !word.bytes().all(|byte| byte.is_ascii_digit())
                };
                let of_another = |word: &str| !name.starts_with(&format!("refs/remotes/{word}/"));
                let remote = command.clone().find(is_word);
                if tracked.is_some() && remote.is_some_and(of_another) {
                    return false;
                }
                let mut words = command.chain(words.split_whitespace());
                let mut refspecs = reason.split_whitespace();
                !words.any(is_here) && !refspecs.any(|word| is_misnamed(word, name))
            }
            Some("update") => tracked.is_some() && reason.starts_with("update by push"),
            Some("commit" | "merge" | "rebase" | "am" | "cherry-pick" | "revert") => {
                tracked.is_none()
            }
            Some(_) | None => false,
        }
    }

    /// Whether a command moved the ref that can bring a commit from anywhere: `reset`, `checkout -B`,
    /// `branch -f`, a push to this repository, and `update-ref` without a message.
    pub fn is_bare_move(&self) -> bool {
        let odd = [
            "reset:",
            "checkout:",
            "branch:",
            "Branch:",
            "push",
            "update by push",
        ];
        self.reason.is_empty() || odd.iter().any(|start| self.reason.starts_with(start))
    }

    /// Whether `git reset` moved the ref.
    pub fn is_reset(&self) -> bool {
        self.reason.starts_with("reset:")
    }

    /// The branch that this one was before `git branch -m`, or is a copy of (git-branch(1)).
    pub fn renamed_or_copied_from(&self) -> Option<&str> {
        let mut words = self.reason.strip_prefix("Branch: ")?.split(' ');
        let is_it = matches!(words.next()?, "renamed" | "copied");
        words.next().filter(|_| is_it)
    }

    /// Whether a push to a remote moved a remote-tracking ref onto this commit (git-push(1)).
    pub fn is_push_of(&self, commit: &CommitId) -> bool {
        self.id == *commit && self.reason.starts_with("update by push")
    }

    /// Whether HEAD went away from a commit that it named by itself, and from no branch: the
    /// entry before then names a commit that perhaps nothing else does.
    pub fn left_a_detached_head(&self) -> bool {
        let from = self.reason.strip_prefix("checkout: moving from ");
        let from = from.and_then(|rest| rest.split(' ').next());
        from.is_some_and(|from| CommitId::parse(from).is_ok())
    }
}

/// Whether a word is a refspec that brings another branch than the one that a ref is named after.
fn is_misnamed(word: &str, name: &str) -> bool {
    let word = word.trim_start_matches('+').trim_end_matches(':');
    let Some((from, to)) = word.split_once(':') else {
        return false;
    };
    let tracked = |name: &str| {
        let (_, branch) = name.strip_prefix("refs/remotes/")?.split_once('/')?;
        Some(branch.to_owned())
    };
    let branch = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    let short = |name: &str| tracked(name).unwrap_or_else(|| branch(name));
    let is_it = [to, &format!("refs/{to}"), &format!("refs/heads/{to}")].contains(&name)
        || format!("refs/remotes/{to}") == name;
    is_it && branch(from) != short(name)
}

/// Parses the file of a reflog, the newest entry first. As git does, it passes over a line that is
/// damaged, and over an entry that went to nothing.
pub fn parse_reflog_file(bytes: &[u8]) -> Vec<ReflogEntry> {
    let lines = gix::refs::file::log::iter::forward(bytes).filter_map(Result::ok);
    let mut entries: Vec<ReflogEntry> = lines
        .map(|line| ReflogEntry {
            id: commit_id_of(&line.new_oid()),
            reason: line.message.to_str_lossy().into_owned(),
        })
        .collect();
    entries.retain(|entry| entry.id.is_known());
    entries.reverse();
    entries
}

/// Whether a ref is what one of these patterns of git-for-each-ref(1) names: itself, what is below
/// it, and `*` for one part of a name. There can be as many names as refs.
fn matches(names: &HashSet<&[u8]>, globs: &[&str], name: &[u8]) -> bool {
    let is_below = |end| names.contains(&name[..end]) || names.contains(&name[..=end]);
    let mode = gix_glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
    let is_glob = |glob: &&str| gix_glob::wildmatch((*glob).into(), name.into(), mode);
    names.contains(name) || name.find_iter("/").any(is_below) || globs.iter().any(is_glob)
}

impl Repo {
    /// Reads one ref that is a file, or a line of `packed-refs`.
    fn read_ref(&self, local: &gix::Repository, name: &BStr) -> Result<Option<Target>, GitError> {
        let Ok(full) = FullName::try_from(name) else {
            return Ok(None);
        };
        if let Ok(text) = name.to_str() {
            require_file(self.common_dir.join(text))?;
        }
        let found = local.refs.try_find(full.as_ref().as_partial_name());
        let found = found.map_err(reading(format_args!("the ref {name}")))?;
        let found = found.filter(|found| found.name == full);
        Ok(found.map(|found| found.target))
    }

    /// Follows a ref to the last name, and the object if there is one.
    pub(super) fn resolve(
        &self,
        local: &gix::Repository,
        name: &BStr,
    ) -> Result<(BString, Option<CommitId>), GitError> {
        let mut name = name.to_owned();
        for _ in 0..DEPTH {
            match self.read_ref(local, name.as_bstr())? {
                None => return Ok((name, None)),
                Some(Target::Object(id)) => return Ok((name, Some(commit_id_of(&id)))),
                Some(Target::Symbolic(next)) => name = next.into_inner(),
            }
        }
        let what = format!("the ref {name}");
        Err(unreadable(&what, "too many symbolic refs"))
    }

    fn list_refs(&self, patterns: &[&str]) -> Result<Vec<Ref>, GitError> {
        let local = self.local();
        let refs = local.references().map_err(reading("the refs"))?;
        let is_linked = self.git_dir != self.common_dir;
        let names = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
        let globs = patterns.iter().copied().filter(|one| one.contains('*'));
        let globs: Vec<&str> = globs.collect();
        let starts = patterns.iter().map(|pattern| {
            let plain = pattern.split('*').next().unwrap_or_default();
            plain.rfind('/').map_or("refs/", |end| &plain[..=end])
        });
        // each directory is read once
        let mut starts: Vec<&str> = starts.collect();
        starts.sort_unstable();
        starts.dedup_by(|next, above| next.starts_with(*above));
        let mut all = BTreeSet::new();
        for start in starts {
            let found = refs.prefixed(start).map_err(reading("the refs"))?;
            // git passes over a broken ref as well, with a warning
            for found in found.filter_map(Result::ok) {
                let name = found.name().as_bstr();
                if !matches(&names, &globs, name) {
                    continue;
                }
                // those of the main worktree are not ours
                let is_private = PRIVATE.iter().any(|start| name.starts_with_str(start));
                let target = if is_linked && is_private {
                    self.read_ref(&local, name)?
                } else {
                    Some(found.inner.target.clone())
                };
                let names = match &target {
                    Some(Target::Symbolic(next)) => Some(next.as_bstr().to_owned()),
                    Some(Target::Object(_)) | None => None,
                };
                let id = target.and_then(|target| match target {
                    Target::Object(id) => Some(commit_id_of(&id)),
                    Target::Symbolic(next) => self.resolve(&local, next.as_bstr()).ok()?.1,
                });
                all.extend(id.map(|id| Ref {
                    name: name.to_owned(),
                    id,
                    target: names,
                }));
            }
        }
        Ok(all.into_iter().collect())
    }

    /// The log of a ref as its file has it, the newest entry first; none where it has none.
    fn read_log(&self, name: &str) -> Result<Option<Vec<ReflogEntry>>, GitError> {
        let is_private = name == "HEAD" || PRIVATE.iter().any(|start| name.starts_with(start));
        let dir = if is_private {
            &self.git_dir
        } else {
            &self.common_dir
        };
        let file = dir.join("logs").join(name);
        Ok(read_file(&file)?.map(|bytes| parse_reflog_file(&bytes)))
    }
}

/// The upstream of a branch as a full ref (`%(upstream)`, git-for-each-ref(1)).
fn upstream_of(local: &gix::Repository, branch: &BStr) -> Option<BString> {
    let branch: &FullNameRef = branch.try_into().ok()?;
    branch.as_bstr().strip_prefix(b"refs/heads/")?;
    let remote = local.branch_remote_name(branch.shorten(), Direction::Fetch)?;
    if remote.as_bstr() == "." {
        let merge = local.branch_remote_ref_name(branch, Direction::Fetch)?;
        return Some(merge.ok()?.into_inner());
    }
    let tracking = local.branch_remote_tracking_ref_name(branch, Direction::Fetch)?;
    Some(tracking.ok()?.into_inner())
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
        let is_name = revision == "HEAD" || revision.starts_with("refs/");
        let is_valid = is_ref_name(revision.as_bytes());
        if !is_name || !is_valid || repo.is_reftable {
            // git opens the file of a ref, and waits where that is a FIFO
            let name = revision.split(['^', '~', '@', ':']).next();
            for prefix in ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] {
                let file = format!("{prefix}{}", name.unwrap_or_default());
                require_file(repo.common_dir.join(file))?;
            }
            return self.commit_by_git(revision);
        }
        let id = repo.resolve(&repo.local(), revision.into())?.1;
        id.map_or(Ok(None), |id| self.history()?.peel(&id))
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
        Ok((name != "HEAD").then(|| name.to_str_lossy().into_owned()))
    }

    /// Returns the name of the ref to which a ref leads through symbolic refs: its own for an ordinary one.
    ///
    /// # Errors
    /// Fails when the refs cannot be read.
    pub fn last_name(&self, name: &str) -> Result<String, GitError> {
        let mut last = name.to_owned();
        for _ in 0..DEPTH {
            let found = self.for_each_ref(&[&last])?;
            let found = found.into_iter().find(|found| found.name == last.as_str());
            match found.and_then(|found| found.target) {
                Some(target) => last = target.to_str_lossy().into_owned(),
                None => return Ok(last),
            }
        }
        let what = format!("the ref {name}");
        Err(unreadable(&what, "too many symbolic refs"))
    }

    /// Returns the refs below these prefixes (`refs/` for all), sorted by name.
    ///
    /// # Errors
    /// Fails when the refs cannot be read.
    pub fn for_each_ref(&self, prefixes: &[&str]) -> Result<Vec<Ref>, GitError> {
        let repo = self.repo_in_any_mode()?;
        // a revision such as `:/words` is below no ref (git-check-ref-format(1))
        let is_name = |prefix: &&str| !prefix.contains([':', '~', '^', '?', '[', '\\', ' ']);
        let prefixes: Vec<&str> = prefixes.iter().copied().filter(is_name).collect();
        if prefixes.is_empty() {
            return Ok(Vec::new());
        }
        if repo.is_reftable {
            self.refs_by_git(&prefixes)
        } else {
            repo.list_refs(&prefixes)
        }
    }

    /// Returns the branches and remote-tracking branches, each with its upstream as a full ref if
    /// it has one (`%(upstream)`, git-for-each-ref(1)).
    ///
    /// # Errors
    /// Fails when the refs cannot be read.
    pub fn branches(&self) -> Result<Vec<(Ref, Option<BString>)>, GitError> {
        let repo = self.repo()?;
        let local = repo.local();
        let all = self.for_each_ref(&["refs/heads/", "refs/remotes/"])?;
        let with_upstream = all.into_iter().map(|one| {
            let upstream = upstream_of(&local, one.name.as_bstr());
            (one, upstream)
        });
        Ok(with_upstream.collect())
    }

    /// Returns the upstream of a branch as a full ref (`%(upstream)`, git-for-each-ref(1)).
    ///
    /// # Errors
    /// Fails when the repository cannot be read.
    pub fn upstream(&self, branch: &str) -> Result<Option<String>, GitError> {
        let there = self.for_each_ref(&[branch])?;
        if !there.iter().any(|one| one.name == branch) {
            return Ok(None);
        }
        let repo = self.repo()?;
        let found = upstream_of(&repo.local(), branch.into());
        Ok(found.map(|name| name.to_str_lossy().into_owned()))
    }

    /// Whether git takes this as the name of a branch (`git check-ref-format --branch`).
    pub fn check_branch_name(&self, name: &str) -> bool {
        let full = format!("refs/heads/{name}");
        let is_previous = name.starts_with('@') && name.contains('{');
        name != "HEAD" && !name.starts_with('-') && !is_previous && is_ref_name(full.as_bytes())
    }

    /// Returns a ref's reflog, the newest entry first; none when it has no reflog.
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
        // as `git log -g`, which passes over what was collected
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

    /// Moves a ref, if it is still where it is expected to be; none expects it not to exist.
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
        let zero = "0".repeat(id.as_str().len());
        let old = expected.map_or(zero.as_str(), CommitId::as_str);
        let args = ["-m", reason, "--create-reflog", name, id.as_str(), old];
        self.perform(&format!("write {name}"), "update-ref", &args)
            .map(drop)
    }

    /// Sets HEAD to what its file would hold (gitrepository-layout(5)): `ref: <name>` or a commit.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn set_head(&self, head: &str) -> Result<(), GitError> {
        let (command, to) = match head.strip_prefix("ref: ") {
            Some(name) => ("symbolic-ref HEAD", name),
            None => ("update-ref --no-deref HEAD", head),
        };
        self.perform("set HEAD", command, &[to]).map(drop)
    }

    /// Deletes a ref, if it still names this object.
    ///
    /// # Errors
    /// Fails when it names another, or git fails.
    pub fn delete_ref(&self, name: &str, expected: &CommitId) -> Result<(), GitError> {
        let args = [name, expected.as_str()];
        self.perform(&format!("delete {name}"), "update-ref -d", &args)
            .map(drop)
    }

    /// Whether this repository has files that are not committed, or commits that no
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
        // what a flag hides from status may be edited (git-update-index(1))
        let flags = self.perform(what, "ls-files -v -z", &[])?;
        let mut flags = flags.split_str("\0").filter_map(|line| line.first());
        if flags.any(|flag| flag.is_ascii_lowercase() || *flag == b'S') {
            return Ok(true);
        }
        let new = "rev-list --max-count=1 HEAD --branches --not --remotes";
        Ok(!self.perform(what, new, &[])?.is_empty())
    }
}

pub(super) fn one_id(command: &str, text: &[u8]) -> Result<CommitId, GitError> {
    let text = text.to_str_lossy();
    CommitId::parse(text.trim()).map_err(|error| odd_output(command, &error.to_string()))
}
