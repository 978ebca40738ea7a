//! Asks a git server who holds a ref, and moves the ref by compare-and-swap.
//!
//! Every push names the value that it expects (`--force-with-lease=<ref>:<expect>`, git-push(1)),
//! and the server itself compares again when it writes. Neither the user's hooks nor their
//! settings for pushes count; no ref of the local repository is written, whatever the remote's
//! refspecs say: a negative one (git-fetch(1)) keeps claims out.

use bstr::ByteSlice;

use super::error::GitError;
use super::process::Git;
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

/// Says why a remote cannot hold claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteFault {
    /// There is none of this name.
    #[error("there is no such remote")]
    Unknown,
    /// Its name cannot stand in a setting that is given on the command line.
    #[error("its name has a `=` in it")]
    Name,
    /// A push would go to several servers.
    #[error("it pushes to several servers, and a claim is on one")]
    Several,
}

/// Says what came of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The server did it.
    Done,
    /// The server, or git before it asked, says no (`!` of `--porcelain`).
    Rejected(String),
    /// The push failed otherwise: whether the server did it is not known.
    Unknown(String),
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

    /// Takes a remote by its name.
    ///
    /// # Errors
    /// Fails when git does; the inner one says why it cannot hold claims.
    pub fn claim_remote(&self, name: &str) -> Result<Result<ClaimRemote, RemoteFault>, GitError> {
        if !self.remotes()?.iter().any(|known| known == name) {
            return Ok(Err(RemoteFault::Unknown));
        }
        if name.contains('=') {
            return Ok(Err(RemoteFault::Name));
        }
        let what = "read where a remote is";
        let push = self.output(what, &["remote", "get-url", "--push", "--all", "--", name])?;
        let mut places = push.lines();
        let (first, second) = (places.next(), places.next());
        let first = match (first, second) {
            (Some(first), None) => first.to_str_lossy().into_owned(),
            (Some(_), Some(_)) => return Ok(Err(RemoteFault::Several)),
            (None, _) => return Ok(Err(RemoteFault::Unknown)),
        };
        let fetch = self.line(what, &["remote", "get-url", "--", name])?;
        Ok(Ok(ClaimRemote {
            name: name.to_owned(),
            asked: (fetch != first).then_some(first),
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

    /// Moves a ref of a server, or deletes it, if it is still where it is expected to be; none
    /// expects it not to exist.
    ///
    /// # Errors
    /// Fails when git cannot be started.
    pub fn push_claim(
        &self,
        remote: &ClaimRemote,
        name: &str,
        new: Option<&CommitId>,
        expected: Option<&CommitId>,
    ) -> Result<Pushed, GitError> {
        let lease = expected.map_or("", CommitId::as_str);
        let lease = format!("--force-with-lease={name}:{lease}");
        let change = format!("{}:{name}", new.map_or("", CommitId::as_str));
        let settings = settings(remote);
        let mut args: Vec<&str> = settings.iter().map(String::as_str).collect();
        args.extend(["push", "--porcelain", "--no-verify", "--no-signed"]);
        args.extend(["--no-follow-tags", "--recurse-submodules=no", &lease, "--"]);
        args.extend([remote.name.as_str(), &change]);
        let answer = match self.run(&args, None) {
            Ok(answer) => answer,
            Err(error @ GitError::TimedOut { .. }) => {
                return Ok(Pushed::Unknown(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let line = answer.stdout.lines().find(|line| {
            let mut fields = line.split_str("\t");
            let second = fields.nth(1).unwrap_or_default();
            second.ends_with_str(format!(":{name}"))
        });
        Ok(match (line.and_then(|line| line.first()), answer.status) {
            (Some(b' ' | b'+' | b'*' | b'=' | b'-'), Some(0)) => Pushed::Done,
            (Some(b'!'), _) => {
                let line = line.unwrap_or_default().to_str_lossy();
                let why = line.rsplit('\t').next().unwrap_or_default();
                Pushed::Rejected(joined(why, &answer.stderr))
            }
            (Some(_) | None, _) => Pushed::Unknown(joined("", &answer.stderr)),
        })
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
        let mut args: Vec<&str> = settings.iter().map(String::as_str).collect();
        args.extend(["ls-remote", "--quiet", "--", remote.place(), name]);
        let output = self.output(what, &args)?;
        // the name is a pattern: `x/refs/agentwt/claims/task` would match as well
        let mut exact = output.lines().filter_map(|line| {
            let (id, found) = line.split_once_str("\t")?;
            (found == name.as_bytes()).then_some(id)
        });
        exact.next().map(|id| one_id(what, &args, id)).transpose()
    }

    /// Fetches what a ref of a server names, without any trace here but the objects.
    ///
    /// # Errors
    /// Fails when the server does not give it.
    pub fn fetch_claim(&self, remote: &ClaimRemote, name: &str) -> Result<(), GitError> {
        let settings = settings(remote);
        let mut args: Vec<&str> = settings.iter().map(String::as_str).collect();
        args.extend(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
        args.extend(["--no-auto-maintenance", "--no-recurse-submodules"]);
        args.extend(["--no-prune", "--refmap=", "--", remote.place(), name]);
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

/// Git's reason and what it said besides, in one line.
fn joined(reason: &str, stderr: &[u8]) -> String {
    let said = stderr.to_str_lossy();
    let lines = said.lines().map(str::trim);
    let lines = lines.filter(|line| {
        let is_summary = line.starts_with("error: failed to push some refs");
        !line.is_empty() && !line.starts_with("hint:") && !is_summary
    });
    let all: Vec<&str> = std::iter::once(reason).chain(lines).collect();
    let all: Vec<&str> = all.into_iter().filter(|line| !line.is_empty()).collect();
    if all.is_empty() {
        "git said nothing".to_owned()
    } else {
        all.join("; ").chars().take(600).collect()
    }
}
