//! Reads the logs of refs, as `git log -g` and `git reflog exists` do (git-reflog(1)).

use std::collections::HashSet;

use bstr::{BString, ByteSlice};

use super::Own;
use super::answer::{Answer, AskGit};
use super::commits::Commits;
use super::entries::{Entry, look};
use super::refs::{Refs, is_name};
use crate::git::refs::{ReflogEntry, parse_reflog};
use crate::name::CommitId;

impl Own {
    /// Whether a ref has a log.
    pub(in crate::git) fn is_logged(&self, name: &str) -> Answer<bool> {
        let refs = Refs::of(self)?;
        match look(&refs.file("logs", name.into())?)? {
            Entry::Nothing | Entry::Directory => Ok(false),
            Entry::File(_) => Ok(true),
        }
    }

    /// The log of a ref that names a commit, the newest entry first. Git walks the commits that it
    /// names; where one is missing or the log is empty or odd, it is for git to say what that means.
    pub(in crate::git) fn log(&self, name: &str) -> Answer<Vec<ReflogEntry>> {
        if !is_name(name.into()) {
            return Err(AskGit);
        }
        let refs = Refs::of(self)?;
        let now = refs.resolve(name.into())?.id.ok_or(AskGit)?;
        let Entry::File(content) = look(&refs.file("logs", name.into())?)? else {
            return Err(AskGit);
        };
        let mut commits = Commits::of(self, &now)?;
        if !commits.is_commit(&now)? {
            return Err(AskGit);
        }
        let complete = content.strip_suffix(b"\n").ok_or(AskGit)?;
        let mut known = HashSet::from([now]);
        // as git prints them: what an entry is worth is decided in one place
        let mut printed = BString::default();
        for line in complete.rsplit_str("\n") {
            let (id, reason) = parsed(line).ok_or(AskGit)?;
            if !known.contains(&id) {
                if !commits.is_commit(&id)? {
                    return Err(AskGit);
                }
                known.insert(id.clone());
            }
            for part in [id.as_str().as_bytes(), b" ", reason, b"\n"] {
                printed.extend_from_slice(part);
            }
        }
        Ok(parse_reflog(&printed))
    }
}

/// Reads a line exactly as git writes it: `<old> <new> <who> <when> <zone>`, and after a tab why.
fn parsed(line: &[u8]) -> Option<(CommitId, &[u8])> {
    let (ids, reason) = line.split_once_str("\t").unwrap_or((line, b""));
    let (old, rest) = ids.split_once_str(" ")?;
    let (new, rest) = rest.split_once_str(" ")?;
    let id = |text: &[u8]| CommitId::parse(text.to_str().ok()?).ok();
    let (old, new) = (id(old)?, id(new)?);
    let (who, when) = rest.split_once_str("> ")?;
    let (date, zone) = when.split_once_str(" ")?;
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let is_date = is_number(date) && date.len() <= 15 && date.iter().any(|digit| *digit != b'0');
    let is_zone =
        matches!(zone, [b'+' | b'-', digits @ ..] if digits.len() == 4 && is_number(digits));
    let plain =
        !line.contains(&0) && who.contains_str(" <") && old.as_str().len() == new.as_str().len();
    // a ref that was deleted and made again has an entry that went to nothing
    (plain && is_date && is_zone && new.is_known()).then_some((new, reason))
}
