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

    /// Asks the server, and fetches what it names unless that is here or `dry_run`. The base branch is
    /// fetched with it: one that is behind would make upstream's commits part of the request.
    ///
    /// # Errors
    /// Fails when no remote is meant, the server cannot be asked, or it has no such ref.
    pub fn fetch(&self, git: &Git, base: &str, dry_run: bool) -> Result<FetchedRequest, Error> {
        let (remote, base_ref) = find_remote(git, base)?;
        let asked = AskedRemote::to_read(remote.clone());
        let mut names = vec![self.ref_name.as_str(), base_ref.as_str()];
        let mut found = git.ls_remote(&asked, &names)?.into_iter();
        let head = found.next().flatten();
        let base = found.next().flatten();
        let ref_name = self.ref_name.clone();
        let Some(head) = head else {
            return Err(Refusal::NoRequest { remote, ref_name }.into());
        };
        names.truncate(if base.is_some() { 2 } else { 1 });
        let is_here = |id: &CommitId| git.rev_parse_commit(id.as_str());
        let mut is_whole = is_here(&head)?.is_some();
        if let Some(base) = &base {
            is_whole &= is_here(base)?.is_some();
        }
        if !is_whole && !dry_run {
            git.fetch_refs(&asked, &names)?;
        }
        Ok(FetchedRequest {
            request: PullRequest { remote, ref_name },
            head,
            base,
        })
    }
}

/// The remote that has the pull requests, with the ref that the base branch is there: what the base
/// tracks, else `origin`, else the only one.
fn find_remote(git: &Git, base: &str) -> Result<(String, String), Error> {
    let remotes = git.remotes()?;
    let base = base.strip_prefix("refs/heads/").unwrap_or(base);
    let setting = |key: &str| git.config_get(&format!("branch.{base}.{key}"));
    let tracked = setting("remote")?.filter(|remote| remotes.contains(remote));
    if let (Some(remote), Some(merge)) = (tracked, setting("merge")?) {
        return Ok((remote, merge));
    }
    let base = base.strip_prefix("refs/remotes/").unwrap_or(base);
    let below = |remote: &str| base.strip_prefix(remote)?.strip_prefix('/');
    for remote in &remotes {
        if let Some(branch) = below(remote) {
            return Ok((remote.clone(), format!("refs/heads/{branch}")));
        }
    }
    let remote = match remotes.as_slice() {
        [only] => only,
        several if several.iter().any(|one| one == "origin") => "origin",
        several => {
            let names = several.join(", ");
            let base = base.to_owned();
            return Err(Refusal::NoRequestRemote { names, base }.into());
        }
    };
    Ok((remote.to_owned(), format!("refs/heads/{base}")))
}
