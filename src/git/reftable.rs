//! Asks git for what gix cannot answer: the refs of a repository that keeps them as reftables
//! (`extensions.refStorage`, git-config(1)), and what a revision means that is more than a name.
//!
//! Which way refs are read is chosen once, when the repository is opened ([`super::repo::Repo`]).

use bstr::ByteSlice;

use crate::git::error::GitError;
use crate::git::process::{Git, odd_output, words};
use crate::git::refs::{Ref, ReflogEntry, one_id};
use crate::git::worktree::WorktreeEntry;
use crate::words::name::CommitId;

impl Git {
    /// The commit that a revision names (gitrevisions(7)), none when there is none.
    pub(super) fn commit_by_git(&self, revision: &str) -> Result<Option<CommitId>, GitError> {
        // all that follows `:/` is the text to look for, and only commits are found by it
        let spec = if revision.starts_with(":/") {
            revision.to_owned()
        } else {
            format!("{revision}^{{commit}}")
        };
        let args = words("rev-parse --verify --quiet --end-of-options", &[&spec]);
        let answer = self.run(&args, None)?;
        match answer.status {
            // `^main` is a valid revision too, and printed as such, but names no commit
            Some(0) => Ok(CommitId::parse(&answer.stdout.trim().to_str_lossy()).ok()),
            Some(1) => Ok(None),
            // 128: git failed, and says at what; it says nothing of a log that is too short, and
            // of a missing upstream or place to push to (`@{u}`)
            Some(128) if answer.stderr.is_empty() || revision.contains("@{") => Ok(None),
            Some(_) | None => Err(self.failed("resolve a revision", &args, &answer)),
        }
    }

    /// The full name of the ref that HEAD names, none when HEAD is detached.
    pub(super) fn head_by_git(&self) -> Result<Option<String>, GitError> {
        let answer = self.maybe("read HEAD", &["symbolic-ref", "--quiet", "HEAD"], None)?;
        Ok(answer.map(|name| name.trim().to_str_lossy().into_owned()))
    }

    /// The refs below these prefixes, sorted by name.
    pub(super) fn refs_by_git(&self, prefixes: &[&str]) -> Result<Vec<Ref>, GitError> {
        let what = "list the refs";
        let format = "--format=%(objectname) %(refname) %(symref)";
        let listed = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ');
            let id = one_id("for-each-ref", fields.next().unwrap_or_default())?;
            let name = fields.next().unwrap_or_default().into();
            Ok(Ref {
                name,
                id,
                target: fields
                    .next()
                    .filter(|target| !target.is_empty())
                    .map(Into::into),
            })
        };
        let args = [&[format], prefixes].concat();
        let output = self.perform(what, "for-each-ref", &args)?;
        output.lines().map(listed).collect()
    }

    /// The log of a ref, the newest entry first; none when it has none.
    pub(super) fn log_by_git(&self, name: &str) -> Result<Option<Vec<ReflogEntry>>, GitError> {
        let exists = ["reflog", "exists", name];
        if self.maybe("look for a reflog", &exists, None)?.is_none() {
            return Ok(None);
        }
        let what = "read a reflog";
        let more = ["--format=%H %gs", "--end-of-options", name, "--"];
        let args = words("log -g", &more);
        let answer = self.run(&args, None)?;
        if answer.status != Some(0) {
            // of a branch without a commit, git reads no log
            let unborn = name == "HEAD" && self.commit_by_git("HEAD")?.is_none();
            let nothing = unborn.then(|| Some(Vec::new()));
            return nothing.ok_or_else(|| self.failed(what, &args, &answer));
        }
        let entry = |line: &[u8]| {
            let (id, reason) = line.split_once_str(" ").unwrap_or((line, b""));
            let reason = reason.to_str_lossy().into_owned();
            let id = CommitId::parse(&id.to_str_lossy()).ok()?;
            Some(ReflogEntry { id, reason })
        };
        Ok(Some(answer.stdout.lines().filter_map(entry).collect()))
    }

    /// Every worktree of the repository, the main one (or the bare repository) first.
    pub(super) fn worktrees_by_git(&self) -> Result<Vec<WorktreeEntry>, GitError> {
        let what = "list the worktrees";
        let command = "worktree list --porcelain -z";
        let output = self.perform(what, command, &[])?;
        let mut entries: Vec<WorktreeEntry> = Vec::new();
        for field in output.split_str("\0") {
            let field = field.to_str_lossy();
            let (key, value) = field.split_once(' ').unwrap_or((&field, ""));
            if key == "worktree" {
                entries.push(WorktreeEntry {
                    path: value.into(),
                    ..WorktreeEntry::default()
                });
            }
            let Some(entry) = entries.last_mut() else {
                continue;
            };
            match key {
                "bare" => entry.bare = true,
                "HEAD" => {
                    let id = CommitId::parse(value);
                    let id = id.map_err(|error| odd_output(command, &error.to_string()))?;
                    entry.head = Some(id).filter(CommitId::is_known);
                }
                "branch" => entry.branch = Some(value.to_owned()),
                "locked" => entry.locked = true,
                _ => {}
            }
        }
        Ok(entries)
    }
}
