//! Describes what is in the trash of one removed worktree: [`Trashed`]; pure.

use schemars::JsonSchema;
use serde::Serialize;

use crate::disk::trash_bin::TRASH;
use crate::record::worktree::{Removal, Term};
use crate::words::name::{CommitId, WorktreeName};
use crate::worktree::repository::WORKTREES;

/// Where commits of removed worktrees are kept, by name and time.
pub const REFS: &str = "refs/agentwt/trash/";
/// The file of a record that says that a removal has begun.
pub const REMOVING: &str = "removing";

/// What the trash keeps of a removed worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trashed {
    /// The directory below the root; absent if only commits are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The time of the removal, as `--from` takes it.
    pub time: String,
    /// The ref that keeps commits.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit of this ref.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The name of the worktree.
    #[serde(skip)]
    pub name: WorktreeName,
    /// What the removal wrote down; none where only commits are kept.
    #[serde(skip)]
    pub removal: Option<Removal>,
}

/// Orders the removals of one name: by time, and of one second by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemovalOrder {
    /// In seconds since the epoch.
    second: Option<i64>,
    number: u32,
}

impl Trashed {
    /// Its name in the trash.
    pub fn id(&self) -> String {
        id(&self.name, &self.time)
    }

    /// The time of its removal, in seconds since the epoch; none when it cannot be read.
    pub fn removed(&self) -> Option<i64> {
        let second = self.time.split('-').next()?;
        let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", second).ok()?;
        let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(zoned.timestamp().as_second())
    }

    /// Its place among the removals of its name, the oldest first.
    pub fn order(&self) -> RemovalOrder {
        let suffix = self.time.split_once('-').map(|(_second, suffix)| suffix);
        RemovalOrder {
            second: self.removed(),
            number: suffix.and_then(|suffix| suffix.parse().ok()).unwrap_or(1),
        }
    }

    /// For how long it is kept; commits alone are kept as long as work.
    pub fn term(&self) -> Term {
        let removal = self.removal.as_ref();
        let stamp = removal.and_then(|removal| removal.trash.as_ref());
        stamp.map_or(Term::Long, |stamp| stamp.term)
    }

    /// What is kept as long as work: of a worktree without work only the ref, if it has one.
    pub fn lasting(&self) -> Option<&str> {
        match self.term() {
            Term::Long => Some(self.shown()),
            Term::Short => self.reference.as_deref(),
        }
    }

    /// What the user sees of it: the directory below the root, or the ref.
    pub fn shown(&self) -> &str {
        let directory = self.directory.as_deref();
        directory.or(self.reference.as_deref()).unwrap_or_default()
    }

    /// True if a user means this one: by directory, time, ref, or abbreviated commit.
    fn is_named(&self, text: &str) -> bool {
        let commit = self.commit.as_ref().map_or("", CommitId::as_str);
        let in_trash = format!("{TRASH}/{}", self.id());
        self.time == text
            || ends_with_part(self.shown(), text)
            || self
                .reference
                .as_deref()
                .is_some_and(|reference| ends_with_part(reference, text))
            || text.trim_end_matches('/').ends_with(&in_trash)
            || text.len() >= 7 && commit.starts_with(text)
    }
}

/// True if a path or the name of a ref is this text, or ends with it after a slash.
fn ends_with_part(full: &str, text: &str) -> bool {
    full == text || full.ends_with(&format!("/{text}"))
}

/// The newest, or the one that is named.
pub fn choose<'t>(
    entries: impl Iterator<Item = &'t Trashed>,
    named: Option<&str>,
) -> Option<&'t Trashed> {
    entries
        .filter(|entry| named.is_none_or(|text| entry.is_named(text)))
        .max_by_key(|entry| (entry.order(), entry.removal.is_some()))
}

/// The name of a removed worktree in the trash.
pub fn id(name: &WorktreeName, time: &str) -> String {
    format!("{name}-{time}")
}

/// The directory of a removed worktree, below the root.
pub fn shown(id: &str) -> String {
    format!("{WORKTREES}/{TRASH}/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commits of a removed worktree that a ref keeps.
    fn commits(time: &str) -> Trashed {
        let name = WorktreeName::parse("task").expect("a name");
        let digit = time.bytes().next_back().expect("a time") % 8;
        Trashed {
            removal: None,
            directory: None,
            reference: Some(format!("{REFS}task/{time}")),
            commit: CommitId::parse(&digit.to_string().repeat(40)).ok(),
            name,
            time: time.to_owned(),
        }
    }

    /// A removed worktree, with its commits.
    fn worktree(time: &str) -> Trashed {
        let commits = commits(time);
        Trashed {
            removal: Some(Removal {
                began: String::new(),
                created: String::new(),
                branch_at: None,
                saved: None,
                trash: None,
            }),
            directory: Some(shown(&commits.id())),
            ..commits
        }
    }

    #[test]
    fn the_time_in_a_name_is_read() {
        let seconds = |time: &str| {
            Trashed {
                time: time.to_owned(),
                ..commits("1")
            }
            .removed()
        };
        assert_eq!(seconds("19700102T000001Z"), Some(86_401));
        assert_eq!(seconds("19700102T000001Z-7"), Some(86_401));
        for odd in ["", "Z", "19700102", "19700102T000001", "nonsense"] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_newest_is_chosen_unless_one_is_named() {
        let [a, b, c] = [
            "20261122T080000Z-2",
            "20261122T080000Z-10",
            "20261121T080000Z-3",
        ];
        let all = [worktree(a), worktree(b), commits(c)];
        let time = |named: &str| choose(all.iter(), Some(named)).map(|one| one.time.as_str());
        assert_eq!(
            choose(all.iter(), None).map(|one| one.time.as_str()),
            Some(b)
        );
        assert_eq!(time(c), Some(c));
        assert_eq!(
            time(&format!("/r/.agentwt/worktrees/.trash/task-{a}")),
            Some(a)
        );
        assert_eq!(time(&format!("{REFS}task/{a}")), Some(a));
        assert_eq!(time("3333333"), Some(c));
        assert_eq!(time("333"), None);
    }
}
