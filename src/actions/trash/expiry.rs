//! Says when what is in the trash expires: [`Expiry`].

use crate::actions::trash::entry::Trashed;
use crate::record::worktree::Term;
use crate::words::error::Error;
use crate::worktree::repository::Repository;

/// How long work is kept by default, in seconds.
const DAYS_30: i64 = 30 * 24 * 60 * 60;
/// How long a worktree without work is kept by default, in seconds.
const HOUR: i64 = 60 * 60;

/// Says before which moments what was removed has expired, in seconds since the epoch; 0 for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    long: i64,
    short: i64,
}

impl Expiry {
    /// Reads `agentwt.trashExpire`, by default 30 days ago, and `agentwt.trashExpireClean`, by
    /// default an hour ago.
    ///
    /// # Errors
    /// Fails when a setting is not a time, or git fails.
    pub fn read(repository: &Repository) -> Result<Self, Error> {
        let git = &repository.git;
        let now = jiff::Timestamp::now().as_second();
        let long = git.config_get_expiry("agentwt.trashExpire")?;
        let short = git.config_get_expiry("agentwt.trashExpireClean")?;
        Ok(Self {
            long: long.unwrap_or(now - DAYS_30),
            short: short.unwrap_or(now - HOUR),
        })
    }

    /// The moment for this one.
    pub fn of(&self, entry: &Trashed) -> i64 {
        match entry.term() {
            Term::Long => self.long,
            Term::Short => self.short,
        }
    }

    /// True if its term is over.
    pub fn is_over(&self, entry: &Trashed) -> bool {
        entry
            .removed()
            .is_some_and(|removed| removed <= self.of(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::worktree::{Removal, TrashStamp};
    use crate::words::name::WorktreeName;

    fn entry(time: &str, term: Option<Term>) -> Trashed {
        Trashed {
            directory: None,
            time: time.to_owned(),
            reference: None,
            commit: None,
            name: WorktreeName::parse("task").expect("a name"),
            removal: term.map(|term| Removal {
                began: String::new(),
                created: String::new(),
                branch_at: None,
                saved: None,
                trash: Some(TrashStamp {
                    time: time.to_owned(),
                    head: None,
                    on: None,
                    tip: None,
                    term,
                }),
            }),
        }
    }

    #[test]
    fn each_expires_at_the_moment_of_its_term() {
        let expiry = Expiry {
            long: 100,
            short: 200,
        };
        let removed_at_150 = "19700101T000230Z";
        for (term, is_over) in [
            (Some(Term::Short), true),
            (Some(Term::Long), false),
            // commits alone are kept as long as work
            (None, false),
        ] {
            assert_eq!(expiry.is_over(&entry(removed_at_150, term)), is_over);
        }
        let at_the_moment = "19700101T000140Z";
        assert!(expiry.is_over(&entry(at_the_moment, Some(Term::Long))));
    }

    #[test]
    fn what_never_expires_or_has_no_time_stays() {
        let never = Expiry { long: 0, short: 0 };
        assert!(!never.is_over(&entry("20261122T080000Z", Some(Term::Short))));
        let expiry = Expiry {
            long: i64::MAX,
            short: i64::MAX,
        };
        assert!(!expiry.is_over(&entry("nonsense", Some(Term::Long))));
    }
}
