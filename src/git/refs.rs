//! Reads and moves refs and asks how commits are related, one method a git command.

use bstr::{BString, ByteSlice};

use super::error::GitError;
use super::own::{Own, Reading, is_branch_name};
use super::run::{Git, odd_output};
use crate::name::CommitId;

/// Holds a ref and the object it names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ref {
    /// The full name.
    pub name: BString,
    /// The object: for an annotated tag the tag, not the commit.
    pub id: CommitId,
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
    #[must_use]
    pub fn made_a_commit(&self) -> bool {
        let reason = self.reason.as_str();
        let went = ["checkout:", "reset:", "branch:", "Branch:", "clone:"];
        let passed = ["(start)", "(finish)", "(abort)", "Fast-forward"];
        !reason.is_empty()
            && !went.iter().any(|start| reason.starts_with(start))
            && !passed.iter().any(|part| reason.contains(part))
    }
}

impl ReflogEntry {
    /// Judges a move by what the command that made it wrote into the log (`git update-ref` writes
    /// nothing, `git branch -f` "branch: Reset to …").
    #[must_use]
    pub fn came_from_elsewhere(&self, name: &str, made_here: &dyn Fn(&CommitId) -> bool) -> bool {
        let reason = self.reason.as_str();
        let (command, words) = reason.split_once(':').unwrap_or((reason, ""));
        let mut command = command.split_whitespace();
        match command.next() {
            Some("fetch" | "pull" | "clone" | "remote") => {
                // `fetch . HEAD:…` brings what is here already; any refspec can name it
                let is_here = |word: &str| word.starts_with(['.', '/']) || word == "file";
                // the refspec of another remote can name this ref as well
                let is_word = |word: &&str| {
                    !word.starts_with('-') && !word.bytes().all(|byte| byte.is_ascii_digit())
                };
                let of_another = |word: &str| !name.starts_with(&format!("refs/remotes/{word}/"));
                let remote = command.clone().find(is_word);
                if name.starts_with("refs/remotes/") && remote.is_some_and(of_another) {
                    return false;
                }
                let mut words = command.chain(words.split_whitespace());
                let named = |word: &str| word.contains("refs/") || word.contains(':');
                !(words.clone().any(is_here) || made_here(&self.id) && words.any(named))
            }
            Some("branch" | "fast-import" | "checkout") | None => false,
            Some(_) => !made_here(&self.id),
        }
    }

    /// Whether a push to a remote moved a remote-tracking ref onto this commit (git-push(1)).
    #[must_use]
    pub fn is_push_of(&self, commit: &CommitId) -> bool {
        self.id == *commit && self.reason.starts_with("update by push")
    }

    /// Whether HEAD went away from a commit that it named by itself, and from no branch: the
    /// entry before then names a commit that perhaps nothing else does.
    #[must_use]
    pub fn left_a_detached_head(&self) -> bool {
        let from = self.reason.strip_prefix("checkout: moving from ");
        let from = from.and_then(|rest| rest.split(' ').next());
        from.is_some_and(|from| CommitId::parse(from).is_ok())
    }
}

/// Parses lines of an object and the ref that names it.
///
/// # Errors
/// Says what is odd about it: an id is none.
pub fn parse_refs(output: &[u8]) -> Result<Vec<Ref>, String> {
    let mut refs = Vec::new();
    for line in output.lines() {
        let (id, name) = line.split_once_str(" ").unwrap_or((line, b""));
        let id = CommitId::parse(id.to_str_lossy().trim()).map_err(|error| error.to_string())?;
        let name = name.into();
        refs.push(Ref { name, id });
    }
    Ok(refs)
}

/// Parses lines of a commit and why a ref went there. What has no commit is passed over.
#[must_use]
pub fn parse_reflog(output: &[u8]) -> Vec<ReflogEntry> {
    let text = output.to_str_lossy();
    let entry = |line: &str| {
        let (id, reason) = line.split_once(' ').unwrap_or((line, ""));
        let reason = reason.to_owned();
        let id = CommitId::parse(id).ok()?;
        Some(ReflogEntry { id, reason })
    };
    text.lines().filter_map(entry).collect()
}

/// Parses the file of a reflog, the newest entry first (gitrepository-layout(5), `logs`).
#[must_use]
pub fn parse_reflog_file(bytes: &[u8]) -> Vec<ReflogEntry> {
    let text = bytes.to_str_lossy();
    let entry = |line: &str| {
        let (ids, reason) = line.split_once('\t').unwrap_or((line, ""));
        let id = CommitId::parse(ids.split(' ').nth(1)?).ok()?;
        let reason = reason.to_owned();
        Some(ReflogEntry { id, reason })
    };
    text.lines().rev().filter_map(entry).collect()
}

impl Git {
    /// Returns the commit that a user's revision names (gitrevisions(7)), none when there is none.
    ///
    /// # Errors
    /// Fails when git cannot run.
    pub fn rev_parse_commit(&self, revision: &str) -> Result<Option<CommitId>, GitError> {
        if let Some(found) = self.without_git(|own| own.commit(revision)) {
            return Ok(found);
        }
        // all that follows `:/` is the text to look for, and only commits are found by it
        let spec = if revision.starts_with(":/") {
            revision.to_owned()
        } else {
            format!("{revision}^{{commit}}")
        };
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &spec,
        ];
        let answer = self.run(&args, None)?;
        match answer.status {
            // `^main` is a valid revision too, and printed as such: it names no commit
            Some(0) => Ok(CommitId::parse(&answer.stdout.trim().to_str_lossy()).ok()),
            Some(1) => Ok(None),
            // 128: git failed, and says at what; it says nothing of a log that is too short, and
            // of an upstream or a place to push to that there is none (`@{u}`)
            Some(128) if answer.stderr.is_empty() || revision.contains("@{") => Ok(None),
            Some(_) | None => Err(self.failed("resolve a revision", &args, &answer)),
        }
    }

    /// Returns the full name of the ref that HEAD names, none when HEAD is detached.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn symbolic_ref_head(&self) -> Result<Option<String>, GitError> {
        if let Some(name) = self.without_git(Own::symbolic_head) {
            return Ok(name);
        }
        let args = ["symbolic-ref", "--quiet", "HEAD"];
        let answer = self.maybe("read HEAD", &args)?;
        Ok(answer.map(|name| name.trim().to_str_lossy().into_owned()))
    }

    /// Returns the refs below these prefixes, sorted by name; all of them without a prefix.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn for_each_ref(&self, prefixes: &[&str]) -> Result<Vec<Ref>, GitError> {
        if let Some(found) = self.without_git(|own| own.refs(prefixes)) {
            return Ok(found);
        }
        let what = "list the refs";
        let mut args = vec!["for-each-ref", "--format=%(objectname) %(refname)"];
        args.extend(prefixes);
        parse_refs(&self.output(what, &args)?).map_err(|detail| odd_output(what, &args, &detail))
    }

    /// Returns the branches and remote-tracking branches, each with its upstream as a full ref if
    /// it has one (`%(upstream)`, git-for-each-ref(1)).
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn branches(&self) -> Result<Vec<(Ref, Option<BString>)>, GitError> {
        if let Some(found) = self.own_branches()? {
            return Ok(found);
        }
        let what = "list the branches";
        let format = "--format=%(objectname) %(refname) %(upstream)";
        let args = ["for-each-ref", format, "refs/heads/", "refs/remotes/"];
        let output = self.output(what, &args)?;
        let branch = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ');
            let id = one_id(what, &args, fields.next().unwrap_or_default())?;
            let name = fields.next().unwrap_or_default().into();
            let upstream = fields.next().filter(|name| !name.is_empty());
            Ok((Ref { name, id }, upstream.map(BString::from)))
        };
        output.lines().map(branch).collect()
    }

    /// Returns these commits and all their ancestors with their parents, each after its children,
    /// but for `shared` and what is reachable from it.
    ///
    /// # Errors
    /// Fails when a commit is missing, or git fails.
    pub fn rev_list_parents(
        &self,
        tips: &[CommitId],
        shared: Option<&CommitId>,
    ) -> Result<Vec<(CommitId, Vec<CommitId>)>, GitError> {
        if let Some(found) = self.without_git(|own| own.list_parents(tips, shared)) {
            return Ok(found);
        }
        let what = "compare the branches";
        let args = ["rev-list", "--topo-order", "--parents", "--stdin"];
        let mut input: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
        input.extend(shared.map(|shared| format!("^{shared}\n")));
        let output = self.output_with_input(what, &args, Some(input.as_bytes()))?;
        let commit = |line: &[u8]| {
            let ids = line.split(|byte| *byte == b' ');
            let ids: Result<Vec<_>, GitError> = ids.map(|id| one_id(what, &args, id)).collect();
            let mut ids = ids?.into_iter();
            let id = ids.next();
            let id = id.ok_or_else(|| odd_output(what, &args, "a line is empty"))?;
            Ok((id, ids.collect()))
        };
        output.lines().map(commit).collect()
    }

    /// Returns the names of the refs below these prefixes that contain a commit.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn refs_containing(
        &self,
        commit: &CommitId,
        prefixes: &[&str],
    ) -> Result<Vec<BString>, GitError> {
        if let Some(found) = self.own_refs_containing(commit, prefixes) {
            return Ok(found);
        }
        let contains = format!("--contains={commit}");
        let mut args = vec!["for-each-ref", "--format=%(refname)", &contains];
        args.extend(prefixes);
        let output = self.output("look for branches that contain a commit", &args)?;
        Ok(output.lines().map(Into::into).collect())
    }

    /// Returns the upstream of a branch as a full ref (`%(upstream)`, git-for-each-ref(1)).
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn upstream(&self, branch: &str) -> Result<Option<String>, GitError> {
        if let Some(found) = self.own_upstream(branch)? {
            return Ok(found);
        }
        let args = ["for-each-ref", "--format=%(upstream)", branch];
        let output = self.output("read the upstream of a branch", &args)?;
        let name = output
            .lines()
            .next()
            .unwrap_or(b"")
            .to_str_lossy()
            .into_owned();
        Ok(Some(name).filter(|name| !name.is_empty()))
    }

    /// Whether git takes this as the name of a branch (`git check-ref-format --branch`).
    ///
    /// # Errors
    /// Fails when git cannot run.
    pub fn check_branch_name(&self, name: &str) -> Result<bool, GitError> {
        if name.starts_with('-') || name.starts_with('@') && name.contains('{') {
            return Ok(false);
        }
        if self.reading() == Reading::Own {
            return Ok(is_branch_name(name));
        }
        let answer = self.run(&["check-ref-format", &format!("refs/heads/{name}")], None)?;
        Ok(answer.status == Some(0) && name != "HEAD")
    }

    /// Returns the best common ancestors of a commit and a hypothetical merge of the tips
    /// (`git merge-base --all`); none when the histories are unrelated.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn merge_base_all(
        &self,
        commit: &CommitId,
        tips: &[CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        if let Some(found) = self.without_git(|own| own.common(commit, tips)) {
            return Ok(found);
        }
        let what = "find the common ancestors";
        let mut args = vec!["merge-base", "--all", commit.as_str()];
        args.extend(tips.iter().map(CommitId::as_str));
        let Some(output) = self.maybe(what, &args)? else {
            return Ok(Vec::new());
        };
        output
            .lines()
            .map(|line| one_id(what, &args, line))
            .collect()
    }

    /// Returns a best common ancestor of all these commits (`git merge-base --octopus`); none when
    /// there is none.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn merge_base_octopus(&self, commits: &[CommitId]) -> Result<Option<CommitId>, GitError> {
        if let Some(found) = self.without_git(|own| own.common_of_all(commits)) {
            return Ok(found);
        }
        let what = "find the common ancestor";
        let mut args = vec!["merge-base", "--octopus"];
        args.extend(commits.iter().map(CommitId::as_str));
        let output = self.maybe(what, &args)?.unwrap_or_default();
        let line = output.lines().next();
        line.map(|line| one_id(what, &args, line)).transpose()
    }

    /// Returns those of these commits that no other of them has (`git merge-base --independent`).
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn merge_base_independent(&self, commits: &[CommitId]) -> Result<Vec<CommitId>, GitError> {
        if let Some(found) = self.without_git(|own| own.independent(commits)) {
            return Ok(found);
        }
        let what = "find the newest commits";
        let mut args = vec!["merge-base", "--independent"];
        args.extend(commits.iter().map(CommitId::as_str));
        let output = self.maybe(what, &args)?.unwrap_or_default();
        output
            .lines()
            .map(|line| one_id(what, &args, line))
            .collect()
    }

    /// Whether a commit is an ancestor of another, or the same.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn is_ancestor(&self, older: &CommitId, newer: &CommitId) -> Result<bool, GitError> {
        if older == newer {
            return Ok(true);
        }
        if let Some(has) = self.without_git(|own| own.has(newer, older)) {
            return Ok(has);
        }
        let args = [
            "merge-base",
            "--is-ancestor",
            older.as_str(),
            newer.as_str(),
        ];
        Ok(self.maybe("compare two commits", &args)?.is_some())
    }

    /// Returns the commits that are reachable from `tips` and not from `known`, the newest first.
    /// Tips that are gone (a reflog can name what was collected) are passed over.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn rev_list(
        &self,
        tips: &[&CommitId],
        known: &[&CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        if let Some(found) = self.without_git(|own| own.list(tips, known)) {
            return Ok(found);
        }
        let what = "list the new commits";
        let args = ["rev-list", "--topo-order", "--ignore-missing", "--stdin"];
        let mut input = String::new();
        for tip in tips {
            input.push_str(tip.as_str());
            input.push('\n');
        }
        for id in known {
            input.push('^');
            input.push_str(id.as_str());
            input.push('\n');
        }
        let output = self.output_with_input(what, &args, Some(input.as_bytes()))?;
        output
            .lines()
            .map(|line| one_id(what, &args, line))
            .collect()
    }

    /// Counts the commits that are in `newer` and not in `older`.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn rev_list_count(&self, older: &CommitId, newer: &CommitId) -> Result<u64, GitError> {
        if let Some(count) = self.without_git(|own| own.count(older, newer)) {
            return Ok(count);
        }
        let range = format!("{older}..{newer}");
        let args = ["rev-list", "--count", &range];
        let line = self.line("count commits", &args)?;
        line.parse()
            .map_err(|_| odd_output("count commits", &args, "it is no number"))
    }

    /// Whether a ref has a reflog (`git reflog exists`).
    ///
    /// # Errors
    /// Fails when git does.
    pub fn reflog_exists(&self, name: &str) -> Result<bool, GitError> {
        if let Some(logged) = self.without_git(|own| own.is_logged(name)) {
            return Ok(logged);
        }
        let args = ["reflog", "exists", name];
        Ok(self.maybe("look for a reflog", &args)?.is_some())
    }

    /// Returns a ref's reflog, the newest entry first; none when it has no reflog.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn reflog(&self, name: &str) -> Result<Vec<ReflogEntry>, GitError> {
        // of a ref without one, git says "bad revision"
        if !self.reflog_exists(name)? {
            return Ok(Vec::new());
        }
        self.log_g(name)
    }

    /// Returns HEAD's reflog, the newest entry first; none when it has no reflog, and while its
    /// branch is unborn: git then reads none.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn reflog_head(&self) -> Result<Vec<ReflogEntry>, GitError> {
        let read = self.log_g("HEAD");
        if read.is_err()
            && self.symbolic_ref_head()?.is_some()
            && self.rev_parse_commit("HEAD")?.is_none()
        {
            return Ok(Vec::new());
        }
        read
    }

    /// Returns the stashes, the newest first, each with its message (git-stash(1)); there must be
    /// one.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn stashes(&self) -> Result<Vec<ReflogEntry>, GitError> {
        self.log_g("refs/stash")
    }

    fn log_g(&self, name: &str) -> Result<Vec<ReflogEntry>, GitError> {
        if let Some(log) = self.without_git(|own| own.log(name)) {
            return Ok(log);
        }
        let args = [
            "log",
            "-g",
            "--format=%H %gs",
            "--end-of-options",
            name,
            "--",
        ];
        Ok(parse_reflog(&self.output("read a reflog", &args)?))
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
        let args = [
            "update-ref",
            "-m",
            reason,
            "--create-reflog",
            name,
            id.as_str(),
            old,
        ];
        self.output(&format!("write {name}"), &args).map(drop)
    }

    /// Deletes a ref, if it still names this object.
    ///
    /// # Errors
    /// Fails when it names another, or git fails.
    pub fn delete_ref(&self, name: &str, expected: &CommitId) -> Result<(), GitError> {
        let args = ["update-ref", "-d", name, expected.as_str()];
        self.output(&format!("delete {name}"), &args).map(drop)
    }
}

pub(super) fn one_id(what: &str, args: &[&str], text: &[u8]) -> Result<CommitId, GitError> {
    let text = text.to_str_lossy();
    CommitId::parse(text.trim()).map_err(|error| odd_output(what, args, &error.to_string()))
}

impl Git {
    /// Whether this repository has files that are not committed, or commits that no
    /// remote-tracking branch has: for submodules, whose repository goes with the worktree.
    ///
    /// # Errors
    /// Fails when git cannot run.
    pub fn has_own_work(&self) -> Result<bool, GitError> {
        let status = ["status", "--porcelain", "-z", "--untracked-files=all"];
        if !self.output("look at a submodule", &status)?.is_empty() {
            return Ok(true);
        }
        let args = [
            "rev-list",
            "--max-count=1",
            "HEAD",
            "--branches",
            "--not",
            "--remotes",
        ];
        Ok(!self.output("look at a submodule", &args)?.is_empty())
    }
}
