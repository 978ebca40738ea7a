//! Asks a git server who holds a ref, and moves the ref by compare-and-swap.
//!
//! Every push names the value that it expects (`--force-with-lease=<ref>:<expect>`, git-push(1)),
//! and the server itself compares again when it writes. Neither the user's hooks nor their
//! settings for pushes count; no ref of the local repository is written, whatever the remote's
//! refspecs say: a negative one (git-fetch(1)) keeps claims out.

use bstr::ByteSlice;

use super::error::GitError;
use super::process::{Git, words};
use super::refs::one_id;
use crate::name::CommitId;

/// Represents a remote that holds claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRemote {
    /// Its name.
    pub name: String,
    /// Where pushes go, when that is not what is fetched from: who reads elsewhere may read an
    /// older state.
    asked: Option<String>,
}

impl Git {
    /// The names of the remotes.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn remotes(&self) -> Result<Vec<String>, GitError> {
        let names = self.output("list the remotes", &["remote"])?;
        Ok(names.lines().map(|n| n.to_str_lossy().into()).collect())
    }

    /// Takes one of the known remotes by its name.
    ///
    /// # Errors
    /// Fails when git does; the inner error says why the remote cannot hold claims.
    pub fn claim_remote(
        &self,
        name: &str,
        known: &[String],
    ) -> Result<Result<ClaimRemote, &'static str>, GitError> {
        if !known.iter().any(|known| known == name) {
            return Ok(Err("there is no such remote"));
        }
        if name.contains('=') {
            return Ok(Err(
                "its name has a `=`, which no setting on the command line can have",
            ));
        }
        let what = "read where a remote is";
        let push = self.output(what, &["remote", "get-url", "--push", "--all", "--", name])?;
        let places: Vec<_> = push.lines().map(|line| line.to_str_lossy()).collect();
        let [place] = places.as_slice() else {
            return Ok(Err("it pushes to several servers, and a claim is on one"));
        };
        let fetch = self.line(what, &["remote", "get-url", "--", name])?;
        Ok(Ok(ClaimRemote {
            name: name.to_owned(),
            asked: (fetch != *place).then(|| place.to_string()),
        }))
    }

    /// Makes a commit of nothing with this message, that no ref names.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn commit_nothing(&self, message: &str) -> Result<CommitId, GitError> {
        // the server must get the empty tree too, so it has to be written
        let what = "write a claim";
        let tree = self.line(what, &["mktree"])?;
        self.commit_tree(&tree, message, &[])
    }

    /// Moves a ref of a server, or deletes it, if it is where it is expected to be (none: not there).
    /// Where git does not say that the server did it, the inner error has git's words.
    ///
    /// # Errors
    /// Fails when git cannot be started.
    pub fn push_claim(
        &self,
        remote: &ClaimRemote,
        name: &str,
        new: Option<&CommitId>,
        expected: Option<&CommitId>,
    ) -> Result<Result<(), String>, GitError> {
        let id = |id: Option<&CommitId>| id.map(ToString::to_string).unwrap_or_default();
        let lease = format!("--force-with-lease={name}:{}", id(expected));
        let change = format!("{}:{name}", id(new));
        let settings = settings(remote);
        let command = "push --no-verify --no-signed --no-follow-tags --recurse-submodules=no";
        let args = [lease.as_str(), "--", remote.name.as_str(), &change];
        let args = claim_words(&settings, command, &args);
        match self.run(&args, None) {
            Ok(answer) if answer.status == Some(0) => Ok(Ok(())),
            Ok(answer) => Ok(Err(reasons(&answer.stderr))),
            Err(error @ GitError::TimedOut { .. }) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// What a ref of a server names; none when there is no such ref.
    ///
    /// # Errors
    /// Fails when the server cannot be asked.
    pub fn ls_remote(
        &self,
        remote: &ClaimRemote,
        name: &str,
    ) -> Result<Option<CommitId>, GitError> {
        let what = "ask the server";
        let settings = settings(remote);
        let args = claim_words(&settings, "ls-remote --quiet --", &[remote.place(), name]);
        let output = self.output(what, &args)?;
        // the name is a pattern: `x/refs/agentwt/claims/task` would match as well
        let mut exact = output.lines().filter_map(|line| {
            let (id, found) = line.split_once_str("\t")?;
            (found == name.as_bytes()).then_some(id)
        });
        exact.next().map(|id| one_id(&args, id)).transpose()
    }

    /// Fetches what a ref of a server names, without any trace here but the objects.
    ///
    /// # Errors
    /// Fails when the server does not give it.
    pub fn fetch_claim(&self, remote: &ClaimRemote, name: &str) -> Result<(), GitError> {
        let settings = settings(remote);
        let command = "fetch --quiet --no-tags --no-write-fetch-head --no-auto-maintenance \
             --no-recurse-submodules --no-prune --refmap= --";
        let args = claim_words(&settings, command, &[remote.place(), name]);
        self.output("read a claim", &args).map(drop)
    }

    /// The raw bytes of a commit, if it is one and not longer than that.
    ///
    /// # Errors
    /// Fails when git cannot be started.
    pub fn short_commit(&self, id: &CommitId, most: u64) -> Result<Option<Vec<u8>>, GitError> {
        let size = self.run(&["cat-file", "-s", id.as_str()], None)?;
        let size = size.stdout.trim().to_str_lossy().parse::<u64>().ok();
        if size.is_none_or(|size| size > most) {
            return Ok(None);
        }
        let commit = self.run(&["cat-file", "commit", id.as_str()], None)?;
        Ok((commit.status == Some(0)).then_some(commit.stdout))
    }
}

impl ClaimRemote {
    fn place(&self) -> &str {
        self.asked.as_deref().unwrap_or(&self.name)
    }
}

/// What the user has set for their own pushes and fetches, and is not meant for ours.
fn settings(remote: &ClaimRemote) -> Vec<String> {
    let name = &remote.name;
    let of_remote = [
        format!("remote.{name}.mirror=false"),
        format!("remote.{name}.fetch=^refs/agentwt/*"),
    ];
    let usual = ["push.negotiate=false", "fetch.showForcedUpdates=true"];
    let all = of_remote.into_iter().chain(usual.map(ToOwned::to_owned));
    all.flat_map(|one| ["-c".to_owned(), one]).collect()
}

fn claim_words<'a>(settings: &'a [String], command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let settings = settings.iter().map(String::as_str);
    settings.chain(words(command, more)).collect()
}

/// What git and the server said, in one line.
fn reasons(stderr: &[u8]) -> String {
    let said = stderr.to_str_lossy();
    let noise = ["hint:", "To ", "error: failed to push some refs"];
    let lines = said.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !noise.iter().any(|n| line.starts_with(n)));
    let all: Vec<&str> = lines.collect();
    all.join("; ").chars().take(600).collect()
}
