//! Fetches the head of a pull request, as the ref of it that the server has (`--pr`, `--mr`).
//!
//! GitHub, Gitea and Forgejo have `refs/pull/<n>/head`, GitLab `refs/merge-requests/<n>/head`, for
//! requests from forks too. Only objects are fetched: no ref here moves but the new branch.

use crate::commands::add::arguments::Add;
use crate::git::process::Git;
use crate::git::remote::AskedRemote;
use crate::record::worktree::PullRequest;
use crate::refusal::Refusal;
use crate::words::error::Error;
use crate::words::name::{CommitId, branch_of};

/// What `--pr` or `--mr` asks for.
pub(super) struct AskedRequest {
    /// The name of the worktree, unless another one is given.
    pub name: String,
    /// The ref at the server.
    pub ref_name: String,
}

/// The head of a pull request.
pub(super) struct FetchedRequest {
    /// Where it is.
    pub request: PullRequest,
    /// The commit that the server has.
    pub head: CommitId,
    /// The commit of the base branch that the server has; `None` if there is no such branch.
    pub base: Option<CommitId>,
}

impl AskedRequest {
    /// What the options ask for.
    pub fn of(options: &Add) -> Option<Self> {
        let (word, place, number) = match (options.pr, options.mr) {
            (Some(number), _) => ("pr", "pull", number),
            (None, Some(number)) => ("mr", "merge-requests", number),
            (None, None) => return None,
        };
        Some(Self {
            name: format!("{word}-{number}"),
            ref_name: format!("refs/{place}/{number}/head"),
        })
    }

    /// Asks the server for the request's head and the base branch, and fetches both; not with `-n`,
    /// and not if both are here. If our base branch were behind, commits that are merged at the
    /// server would count as the request's. `base` is the name of the base.
    ///
    /// # Errors
    /// Fails when no remote is meant, the server cannot be asked, or it has no such ref.
    pub fn fetch(&self, git: &Git, base: &str, options: &Add) -> Result<FetchedRequest, Error> {
        let remote_base = find_remote_base(git, base)?;
        let remote = remote_base.remote;
        let ref_name = self.ref_name.clone();
        let asked = AskedRemote::to_read(remote.clone());
        let both = [ref_name.as_str(), remote_base.ref_name.as_str()];
        // one answer for each name, in the order of the names
        let mut tips = git.ls_remote(&asked, &both)?.into_iter();
        let Some(head) = tips.next().flatten() else {
            return Err(Refusal::NoRequest { remote, ref_name }.into());
        };
        let base_tip = tips.next().flatten();
        let mut names = vec![ref_name.as_str()];
        let mut are_here = git.rev_parse_commit(head.as_str())?.is_some();
        if let Some(tip) = &base_tip {
            names.push(&remote_base.ref_name);
            are_here &= git.rev_parse_commit(tip.as_str())?.is_some();
        }
        if !are_here && !options.dry_run {
            git.fetch_refs(&asked, &names)?;
        }
        Ok(FetchedRequest {
            request: PullRequest { remote, ref_name },
            head,
            base: base_tip,
        })
    }
}

/// The base branch as a server has it.
struct RemoteBase {
    /// The remote that has the pull requests, too.
    remote: String,
    /// The full name of the branch there.
    ref_name: String,
}

/// Finds the remote of the pull requests, and the base branch there. The remote is the one that the
/// base tracks, or that its name begins with, else the only one, else `origin`.
fn find_remote_base(git: &Git, base: &str) -> Result<RemoteBase, Error> {
    let remotes = git.remotes()?;
    let branch = branch_of(base);
    let tracked_remote = git.config_get(&format!("branch.{branch}.remote"))?;
    let tracked_branch = git.config_get(&format!("branch.{branch}.merge"))?;
    if let (Some(remote), Some(ref_name)) = (tracked_remote, tracked_branch)
        // a branch that tracks one of this repository has the remote `.`
        && remotes.contains(&remote)
    {
        return Ok(RemoteBase { remote, ref_name });
    }
    let short = branch.strip_prefix("refs/remotes/").unwrap_or(branch);
    for remote in &remotes {
        if let Some(name) = short.strip_prefix(&format!("{remote}/")) {
            return Ok(RemoteBase {
                remote: remote.clone(),
                ref_name: format!("refs/heads/{name}"),
            });
        }
    }
    let remote = match remotes.as_slice() {
        [only] => only.clone(),
        _several if remotes.iter().any(|remote| remote == "origin") => "origin".to_owned(),
        _several => {
            return Err(Error::from(Refusal::NoRequestRemote {
                names: remotes.join(", "),
                base: short.to_owned(),
            }));
        }
    };
    let ref_name = format!("refs/heads/{short}");
    Ok(RemoteBase { remote, ref_name })
}
