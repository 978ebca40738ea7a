//! Decides whose a worktree is that is there already; pure.

use camino::Utf8Path;

use super::refusal::Refusal;
use crate::worktree::{Alive, Owner};

/// Holds what is known of who owns a worktree, and who asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerFacts {
    /// Who asks, if anybody said.
    pub asked: Option<Owner>,
    /// What to do with an owner that is there.
    pub other: Other,
    /// Who is recorded, and whether it is alive.
    pub recorded: Option<(Owner, Alive)>,
    /// The processes that work in the worktree, without our own and the one that asks.
    pub inside: Vec<u32>,
}

/// Says what becomes of another owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Other {
    /// The worktree stays its own unless it has ended.
    #[default]
    Stays,
    /// It gives way (`--take-over`).
    GivesWay,
}

/// Decides who is written down as the owner of a worktree that is there; nobody when the record is
/// right as it is.
///
/// # Errors
/// Refuses a worktree that another owns or works in.
pub fn decide(name: &str, path: &Utf8Path, facts: &OwnerFacts) -> Result<Option<Owner>, Refusal> {
    let Some(asked) = &facts.asked else {
        return Ok(None);
    };
    if let Some((recorded, alive)) = &facts.recorded
        && recorded.id == asked.id
    {
        return Ok(again(asked, recorded, *alive));
    }
    if facts.other == Other::GivesWay {
        return Ok(Some(asked.clone()));
    }
    if let Some((recorded, alive @ (Alive::Yes | Alive::Unknown))) = &facts.recorded {
        return Err(Refusal::OwnedByAnother {
            name: name.to_owned(),
            owner: Box::new(recorded.clone()),
            alive: *alive,
            asked: asked.id.clone(),
        });
    }
    if facts.inside.is_empty() {
        return Ok(Some(asked.clone()));
    }
    Err(Refusal::StillRunning {
        name: name.to_owned(),
        path: path.to_owned(),
        pids: facts.inside.clone(),
    })
}

/// The owner asks again: its process counts from now on. Where it named none, one that runs stays.
fn again(asked: &Owner, recorded: &Owner, alive: Alive) -> Option<Owner> {
    let is_known = asked.process.is_some() || alive == Alive::No;
    let now = Owner {
        since: recorded.since.clone(),
        ..asked.clone()
    };
    (is_known && now != *recorded).then_some(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worktree::OwnerProcess;

    fn owner(id: &str, pid: Option<u32>, since: &str) -> Owner {
        Owner {
            id: id.to_owned(),
            host: "host-1".to_owned(),
            process: pid.map(|pid| OwnerProcess {
                pid,
                started: "boot 1".to_owned(),
            }),
            since: since.to_owned(),
        }
    }

    fn decided(facts: &OwnerFacts) -> Result<Option<Owner>, Refusal> {
        decide("task-5", Utf8Path::new("/r/x"), facts)
    }

    #[test]
    fn nobody_who_does_not_say_who_it_is_changes_the_owner() {
        let recorded = Some((owner("one", Some(1), "then"), Alive::Yes));
        let facts = OwnerFacts {
            recorded,
            inside: vec![3],
            ..OwnerFacts::default()
        };
        assert_eq!(decided(&facts), Ok(None));
    }

    #[test]
    fn another_owner_stays_unless_it_has_ended() {
        let mut facts = OwnerFacts {
            asked: Some(owner("two", Some(2), "now")),
            ..OwnerFacts::default()
        };
        for alive in [Alive::Yes, Alive::Unknown] {
            facts.recorded = Some((owner("one", Some(1), "then"), alive));
            let refused = decided(&facts);
            assert!(matches!(refused, Err(Refusal::OwnedByAnother { .. })));
            facts.other = Other::GivesWay;
            assert_eq!(decided(&facts), Ok(facts.asked.clone()));
            facts.other = Other::Stays;
        }
        facts.recorded = Some((owner("one", Some(1), "then"), Alive::No));
        assert_eq!(decided(&facts), Ok(facts.asked.clone()));
        facts.recorded = None;
        assert_eq!(decided(&facts), Ok(facts.asked.clone()));
        facts.inside = vec![17];
        let refused = decided(&facts);
        assert!(matches!(refused, Err(Refusal::StillRunning { .. })));
        facts.other = Other::GivesWay;
        assert_eq!(decided(&facts), Ok(facts.asked.clone()));
    }

    #[test]
    fn the_same_owner_is_written_down_with_its_new_process() {
        let mut facts = OwnerFacts {
            asked: Some(owner("one", Some(2), "now")),
            recorded: Some((owner("one", Some(1), "then"), Alive::No)),
            inside: vec![17],
            ..OwnerFacts::default()
        };
        assert_eq!(decided(&facts), Ok(Some(owner("one", Some(2), "then"))));
        facts.asked = Some(owner("one", None, "now"));
        assert_eq!(decided(&facts), Ok(Some(owner("one", None, "then"))));
        // what is alive and was named stays
        facts.recorded = Some((owner("one", Some(1), "then"), Alive::Yes));
        assert_eq!(decided(&facts), Ok(None));
    }
}
