//! Finds the upstream of branches, as `%(upstream)` is (git-for-each-ref(1), git-branch(1)).

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};

use super::Own;
use super::answer::{Answer, AskGit};
use super::refs::{Refs, is_name};
use crate::git::error::GitError;
use crate::git::refs::Ref;
use crate::git::run::Git;

/// Branches, each with its upstream if it has one.
type Branches = Vec<(Ref, Option<BString>)>;

/// Holds the settings that say what branches track.
pub(in crate::git) struct Tracking {
    values: HashMap<String, Vec<BString>>,
}

impl Tracking {
    /// Takes them from all settings (`git config --list`), as (scope, key, value).
    pub(in crate::git) fn of(settings: Vec<(String, String, BString)>) -> Self {
        let mut values: HashMap<String, Vec<BString>> = HashMap::new();
        let wanted = |key: &str| key.starts_with("branch.") || key.starts_with("remote.");
        for (_, key, value) in settings {
            if wanted(&key) {
                values.entry(key).or_default().push(value);
            }
        }
        Self { values }
    }

    /// The only value of a key, none where it is not set. What several of them mean is git's.
    fn only(&self, key: &str) -> Answer<Option<&BStr>> {
        match self.values.get(key).map(Vec::as_slice) {
            None => Ok(None),
            Some([one]) if !one.is_empty() => Ok(Some(one.as_bstr())),
            Some(_) => Err(AskGit),
        }
    }
}

impl Own {
    /// The upstream of a ref, by its full name: none where it is no branch, or tracks nothing.
    pub(in crate::git) fn upstream(
        &self,
        tracking: &Tracking,
        name: &BStr,
    ) -> Answer<Option<BString>> {
        let Some(branch) = name.strip_prefix(b"refs/heads/") else {
            return Ok(None);
        };
        let branch = branch.to_str().map_err(|_| AskGit)?;
        // git takes that for the branch that is checked out
        if branch == "HEAD" {
            return Err(AskGit);
        }
        let remote = tracking.only(&format!("branch.{branch}.remote"))?;
        let merge = tracking.only(&format!("branch.{branch}.merge"))?;
        let (Some(remote), Some(merge)) = (remote, merge) else {
            return Ok(None);
        };
        if !is_name(merge) {
            return Err(AskGit);
        }
        if remote == "." {
            // one that is not there can be the name of another
            let there = Refs::of(self)?.resolve(merge)?.id.is_some();
            return there.then(|| Some(merge.to_owned())).ok_or(AskGit);
        }
        let remote = remote.to_str().map_err(|_| AskGit)?;
        // without a URL, git looks for the remote in files of old
        if tracking.only(&format!("remote.{remote}.url"))?.is_none() {
            return Err(AskGit);
        }
        let fetch = tracking
            .only(&format!("remote.{remote}.fetch"))?
            .ok_or(AskGit)?;
        let below = whole(fetch).ok_or(AskGit)?;
        let short = merge.strip_prefix(b"refs/heads/").ok_or(AskGit)?;
        Ok(Some([below, short].concat().into()))
    }
}

/// Where a refspec puts all branches (git-fetch(1)): `+refs/heads/*:refs/remotes/<x>/*`.
fn whole(refspec: &BStr) -> Option<&[u8]> {
    let spec = refspec.strip_prefix(b"+").unwrap_or(refspec);
    let below = spec.strip_prefix(b"refs/heads/*:")?.strip_suffix(b"*")?;
    let name = below.strip_suffix(b"/")?.as_bstr();
    (name.starts_with(b"refs/remotes/") && is_name(name)).then_some(below)
}

impl Git {
    /// As [`Git::branches`]; none where git has to be asked.
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    pub(in crate::git) fn own_branches(&self) -> Result<Option<Branches>, GitError> {
        let Some(found) = self.without_git(|own| own.refs(&["refs/heads/", "refs/remotes/"]))
        else {
            return Ok(None);
        };
        let tracking = Tracking::of(self.config_list()?);
        let all = found.into_iter().map(|one| {
            let upstream = self.without_git(|own| own.upstream(&tracking, one.name.as_bstr()))?;
            Some((one, upstream))
        });
        Ok(all.collect())
    }

    /// As [`Git::upstream`]; none where git has to be asked.
    ///
    /// # Errors
    /// Fails when the settings cannot be read.
    #[expect(clippy::option_option, reason = "none where git has to be asked")]
    pub(in crate::git) fn own_upstream(
        &self,
        branch: &str,
    ) -> Result<Option<Option<String>>, GitError> {
        let Some(found) = self.without_git(|own| own.refs(&[branch])) else {
            return Ok(None);
        };
        match found.first() {
            None => return Ok(Some(None)),
            Some(first) if first.name == branch => {}
            Some(_) => return Ok(None),
        }
        let tracking = Tracking::of(self.config_list()?);
        let upstream = self.without_git(|own| own.upstream(&tracking, branch.into()));
        Ok(upstream.map(|found| found.map(|name| name.to_str_lossy().into_owned())))
    }
}
