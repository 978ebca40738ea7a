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
use crate::words::name::CommitId;

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
    /// The commit of the base branch that the server has; none if there is no such branch.
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

    /// Asks the server, and fetches what it names unless that is here, or with `-n`. The base
    /// branch is fetched with it: one that is behind would make upstream's commits part of the
    /// request.
    ///
    /// # Errors
    /// Fails when no remote is meant, the server cannot be asked, or it has no such ref.
    pub fn fetch(&self, git: &Git, base: &str, options: &Add) -> Result<FetchedRequest, Error> {
        let (remote, base_ref) = find_remote(git, base)?;
        let asked = AskedRemote::to_read(remote.clone());
        let mut names = vec![self.ref_name.as_str(), base_ref.as_str()];
        let mut found = git.ls_remote(&asked, &names)?.into_iter();
        let head = found.next().flatten();
        let base_tip = found.next().flatten();
        let ref_name = self.ref_name.clone();
        let Some(head) = head else {
            return Err(Refusal::NoRequest { remote, ref_name }.into());
        };
        names.truncate(if base_tip.is_some() { 2 } else { 1 });
        let is_here = |id: &CommitId| git.rev_parse_commit(id.as_str());
        let mut is_whole = is_here(&head)?.is_some();
        if let Some(base_tip) = &base_tip {
            is_whole &= is_here(base_tip)?.is_some();
        }
        if !is_whole && !options.dry_run {
            git.fetch_refs(&asked, &names)?;
        }
        Ok(FetchedRequest {
            request: PullRequest { remote, ref_name },
            head,
            base: base_tip,
        })
    }
}

/// The remote that has the pull requests, with the ref that the base branch is there: what the base
/// tracks, else `origin`, else the only one.
fn find_remote(git: &Git, base: &str) -> Result<(String, String), Error> {
    let remotes = git.remotes()?;
    let branch = base.strip_prefix("refs/heads/").unwrap_or(base);
    let setting = |key: &str| git.config_get(&format!("branch.{branch}.{key}"));
    let tracked = setting("remote")?.filter(|remote| remotes.contains(remote));
    if let (Some(remote), Some(merge)) = (tracked, setting("merge")?) {
        return Ok((remote, merge));
    }
    let short = branch.strip_prefix("refs/remotes/").unwrap_or(branch);
    for remote in &remotes {
        let below = short.strip_prefix(remote.as_str());
        if let Some(name) = below.and_then(|below| below.strip_prefix('/')) {
            return Ok((remote.clone(), format!("refs/heads/{name}")));
        }
    }
    let remote = match remotes.as_slice() {
        [only] => only,
        several if several.iter().any(|one| one == "origin") => "origin",
        several => {
            let names = several.join(", ");
            let base = short.to_owned();
            return Err(Refusal::NoRequestRemote { names, base }.into());
        }
    };
    Ok((remote.to_owned(), format!("refs/heads/{short}")))
}
