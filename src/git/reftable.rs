//! Asks git for what gix cannot answer: the refs of a repository that keeps them as reftables
//! (`extensions.refStorage`, git-config(1)), and what a revision means that is more than a name.
//!
//! Which way refs are read is chosen once, when the repository is opened ([`super::repo::Repo`]).

use bstr::ByteSlice;

use crate::git::error::GitError;
use crate::git::process::{Git, odd_output, words};
use crate::git::reflog::ReflogEntry;
use crate::git::refs::{Ref, one_id};
use crate::git::worktree::WorktreeEntry;
use crate::words::name::CommitId;

impl Git {
    /// Returns the commit that a revision names (gitrevisions(7)), none when there is none.
    pub(super) fn commit_by_git(&self, revision: &str) -> Result<Option<CommitId>, GitError> {
        // all that follows `:/` is the text to look for, and only commits are found by it
        let spec = if revision.starts_with(":/") {
            revision.to_owned()
        } else {
            format!("{revision}^{{commit}}")
        };
        let args = words("rev-parse --verify --quiet --end-of-options", &[&spec]);
        let output = self.run(&args, None)?;
        match output.status {
            // `^main` is a valid revision too, and printed as such, but names no commit
            Some(0) => Ok(CommitId::parse(&output.stdout.trim().to_str_lossy()).ok()),
            Some(1) => Ok(None),
            // 128: git failed, and says at what; it says nothing of a log that is too short, and
            // of a missing upstream or place to push to (`@{u}`)
            Some(128) if output.stderr.is_empty() || revision.contains("@{") => Ok(None),
            Some(_) | None => Err(self.failed("resolve a revision", &args, &output)),
        }
    }

    /// Returns the full name of the ref that HEAD names, none when HEAD is detached.
    pub(super) fn head_by_git(&self) -> Result<Option<String>, GitError> {
        let output = self.maybe("read HEAD", &["symbolic-ref", "--quiet", "HEAD"], None)?;
        Ok(output.map(|name| name.trim().to_str_lossy().into_owned()))
    }

    /// Returns the refs below these prefixes, sorted by name.
    pub(super) fn refs_by_git(&self, prefixes: &[&str]) -> Result<Vec<Ref>, GitError> {
        let mut args = vec!["--format=%(objectname) %(refname) %(symref)"];
        args.extend(prefixes);
        let output = self.perform("list the refs", "for-each-ref", &args)?;
        output.lines().map(parse_ref).collect()
    }

    /// Returns the log of a ref, the newest entry first; none when it has none.
    pub(super) fn log_by_git(&self, name: &str) -> Result<Option<Vec<ReflogEntry>>, GitError> {
        let exists = ["reflog", "exists", name];
        if self.maybe("look for a reflog", &exists, None)?.is_none() {
            return Ok(None);
        }
        let more = ["--format=%H %gs", "--end-of-options", name, "--"];
        let args = words("log -g", &more);
        let output = self.run(&args, None)?;
        if output.status == Some(0) {
            let entries = output.stdout.lines().filter_map(parse_entry);
            return Ok(Some(entries.collect()));
        }
        // of a branch without a commit, git reads no log
        if name == "HEAD" && self.commit_by_git("HEAD")?.is_none() {
            return Ok(Some(Vec::new()));
        }
        Err(self.failed("read a reflog", &args, &output))
    }

    /// Returns every worktree of the repository, the main one (or the bare repository) first.
    pub(super) fn worktrees_by_git(&self) -> Result<Vec<WorktreeEntry>, GitError> {
        let command = "worktree list --porcelain -z";
        let output = self.perform("list the worktrees", command, &[])?;
        let mut entries: Vec<WorktreeEntry> = Vec::new();
        for field in output.split_str("\0") {
            let text = field.to_str_lossy();
            let (key, value) = text.split_once(' ').unwrap_or((&text, ""));
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
                    let id = CommitId::parse(value)
                        .map_err(|error| odd_output(command, &error.to_string()))?;
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

/// Parses `<id> <name> <target>`; the target is empty for a ref that names an object.
fn parse_ref(line: &[u8]) -> Result<Ref, GitError> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = one_id("for-each-ref", fields.next().unwrap_or_default())?;
    let name = fields.next().unwrap_or_default();
    let target = fields.next().unwrap_or_default();
    Ok(Ref {
        name: name.into(),
        id,
        target: (!target.is_empty()).then(|| target.into()),
    })
}

/// Parses `<id> <reason>`.
fn parse_entry(line: &[u8]) -> Option<ReflogEntry> {
    let (digits, reason) = line.split_once_str(" ").unwrap_or((line, b""));
    Some(ReflogEntry {
        old: None,
        id: CommitId::parse(&digits.to_str_lossy()).ok()?,
        reason: reason.to_str_lossy().into_owned(),
    })
}
