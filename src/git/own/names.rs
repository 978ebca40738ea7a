//! Answers which commit a revision names, and what HEAD is.

use bstr::{BStr, BString, ByteSlice};

use super::Own;
use super::answer::{Answer, AskGit};
use super::commits::Commits;
use super::refs::{Refs, is_name, object};
use crate::git::run::Git;
use crate::name::CommitId;

/// What git looks for where a name is no ref by itself (gitrevisions(7), `<refname>`).
const RULES: [(&str, &str); 5] = [
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

impl Own {
    /// The commit that HEAD, a full name of a ref or a full id names; none where there is no such
    /// ref. All else is git's to read.
    pub(in crate::git) fn commit(&self, revision: &str) -> Answer<Option<CommitId>> {
        let refs = Refs::of(self)?;
        let id = match object(revision.as_bytes()) {
            Ok(id) => id,
            Err(AskGit) if is_name(revision.into()) => match refs.resolve(revision.into())?.id {
                Some(id) => id,
                None => return is_nowhere(&refs, revision),
            },
            Err(AskGit) => return Err(AskGit),
        };
        Commits::of(self, &id)?.peeled(&id)?.map(Some).ok_or(AskGit)
    }

    /// The full name of the ref that HEAD names, whether that is there or not; none when HEAD is
    /// detached.
    pub(in crate::git) fn symbolic_head(&self) -> Answer<Option<String>> {
        let resolved = Refs::of(self)?.resolve("HEAD".into())?;
        if resolved.name == "HEAD" {
            return Ok(None);
        }
        let name = resolved.name.to_str().map_err(|_| AskGit)?;
        Ok(Some(name.to_owned()))
    }
}

/// Says that nothing has this name, also not one of the names that git would try after it: a ref
/// below another directory, or the end of what git-describe(1) prints.
fn is_nowhere(refs: &Refs<'_>, name: &str) -> Answer<Option<CommitId>> {
    let described = name.rsplit_once("-g").map(|(_, rest)| rest);
    if described.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return Err(AskGit);
    }
    for (before, after) in RULES {
        let other = format!("{before}{name}{after}");
        if refs.resolve(BStr::new(&other))?.id.is_some() {
            return Err(AskGit);
        }
    }
    Ok(None)
}

/// Whether git takes this as the name of a branch (git-check-ref-format(1)).
pub(in crate::git) fn is_branch_name(name: &str) -> bool {
    name != "HEAD" && is_name(BStr::new(&format!("refs/heads/{name}")))
}

impl Git {
    /// As [`Git::refs_containing`], where it can be read.
    pub(in crate::git) fn own_refs_containing(
        &self,
        commit: &CommitId,
        prefixes: &[&str],
    ) -> Option<Vec<BString>> {
        let found = self.without_git(|own| own.refs(prefixes))?;
        let objects: Vec<CommitId> = found.iter().map(|one| one.id.clone()).collect();
        let has = self.without_git(|own| own.containing(commit, &objects))?;
        let containing = found.into_iter().zip(has).filter(|(_, has)| *has);
        Some(containing.map(|(one, _)| one.name).collect())
    }
}
