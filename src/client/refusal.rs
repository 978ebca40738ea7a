//! Says why no context is written: [`ClientRefusal`], with each place and what stands there.

use std::fmt;

use super::{About, Held, PathState};

/// Says that no file that a client reads by itself is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRefusal {
    /// The client.
    pub client: &'static About,
    /// The worktree's name.
    pub worktree: String,
    /// The places that were tried, and what stands at each.
    pub places: Vec<(&'static str, PathState)>,
}

impl ClientRefusal {
    /// What to do instead: the commands, with the user's own names in them.
    #[must_use]
    pub fn advice(&self) -> String {
        let Self {
            client, worktree, ..
        } = self;
        let shown = self.places.iter().find_map(|(path, state)| match state {
            PathState::Excluded(None) => Some(format!("let it be seen (--add-read /{path}), or ")),
            PathState::Excluded(Some(_)) => Some(format!("let the scope show {path}, or ")),
            PathState::Free | PathState::Held(_) => None,
        });
        let shown = shown.unwrap_or_default();
        format!(
            "{shown}make it without context (git agentwt add {worktree} --client none) and give {} its task yourself: {}",
            client.name, client.by_hand
        )
    }
}

impl fmt::Display for ClientRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, client) = (&self.worktree, self.client.name);
        write!(f, "cannot write the context of `{name}` for {client}: ")?;
        for (at, (path, state)) in self.places.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", and " };
            write!(f, "{comma}{path} {}", reason(state))?;
        }
        Ok(())
    }
}

impl std::error::Error for ClientRefusal {}

fn reason(state: &PathState) -> String {
    match state {
        PathState::Free => "is free".to_owned(),
        PathState::Held(Held::Tracked) => "is tracked".to_owned(),
        PathState::Held(Held::Synced) => "is synced from the main worktree".to_owned(),
        PathState::Held(Held::Directory) => "is a directory".to_owned(),
        PathState::Held(Held::Above(path)) => format!("cannot be below {path}, which is a file"),
        PathState::Excluded(Some(rule)) => format!("is kept away by {rule}"),
        PathState::Excluded(None) => "is in no list of the scope".to_owned(),
    }
}
