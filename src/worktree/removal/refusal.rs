//! Says why worktrees are not removed: [`RemoveRefusal`], all reasons at once.

use std::fmt;

use super::plan::{RemoveFacts, Running, Work};
use crate::answer::count;
use crate::error::Fault;
use crate::exit::ExitCode;
use crate::path::{RepoPath, escape_for_terminal};
use crate::worktree::Owner;

/// Says why a worktree is not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoveRefusal {
    /// Its name.
    pub name: String,
    /// Everything that speaks against it; never empty.
    pub reasons: Vec<Reason>,
}

/// Represents one thing that speaks against a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    code: &'static str,
    /// How often `--force` must be given for it not to count; none when it always does.
    pub force: Option<u8>,
    phrase: String,
    advice: String,
    /// What is listed below, a line each.
    items: Vec<String>,
}

/// How many paths, and how many commits, are listed.
const SHOWN: usize = 20;

impl fmt::Display for RemoveRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reasons } = self;
        write!(f, "cannot remove worktree `{name}`: {}", self.reason())?;
        let mut items = reasons.iter().flat_map(|reason| &reason.items);
        items.try_for_each(|item| write!(f, "\n  {item}"))
    }
}

impl std::error::Error for RemoveRefusal {}

impl miette::Diagnostic for RemoveRefusal {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let code = self.reasons.first()?.code;
        Some(Box::new(format!("agentwt::remove::{code}")))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.advice()))
    }
}

impl Fault for RemoveRefusal {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Refused
    }
}

impl RemoveRefusal {
    /// All reasons in one line.
    pub fn reason(&self) -> String {
        let all: Vec<&str> = self.reasons.iter().map(|one| &*one.phrase).collect();
        all.join(", ")
    }

    /// The next commands, one for each reason.
    pub fn advice(&self) -> String {
        let all: Vec<&str> = self.reasons.iter().map(|one| &*one.advice).collect();
        all.join("; ")
    }
}

impl Reason {
    /// Creates a reason that always counts.
    pub(super) fn new(
        code: &'static str,
        phrase: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            code,
            force: None,
            phrase: phrase.into(),
            advice: advice.into(),
            items: Vec::new(),
        }
    }

    /// The reason does not count where `--force` is given so often.
    pub(super) fn up_to(self, force: u8) -> Self {
        let force = Some(force);
        Self { force, ..self }
    }

    /// Something in the worktree cannot be read.
    pub(super) fn unreadable(facts: &RemoveFacts) -> Self {
        let (name, path) = (&facts.record.name, &facts.record.path);
        let advice = format!("chmod -R u+rX {path}, or {}", keep_all(name.as_str()));
        let items = facts.unreadable.iter();
        Self {
            items: items
                .map(|item| format!("{item} (it cannot be read)"))
                .collect(),
            ..Self::new(
                "unreadable",
                "it cannot be read whether work would be lost",
                advice,
            )
            .up_to(1)
        }
    }

    /// Work would be lost.
    pub(super) fn would_lose(name: &str, work: &Work) -> Self {
        let parts = [
            (
                work.changed,
                "file has uncommitted changes",
                "files have uncommitted changes",
            ),
            (work.untracked, "file is untracked", "files are untracked"),
            (
                work.placed,
                "placed file is edited",
                "placed files are edited",
            ),
            (
                work.commits.len(),
                "commit is on no other branch",
                "commits are on no other branch",
            ),
        ];
        let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
        let parts: Vec<String> = parts
            .map(|(number, one, many)| count(number, one, many))
            .collect();
        let paths = work.paths.iter().map(ToString::to_string);
        let commits = work.commits.iter().map(|(id, subject)| {
            let subject = escape_for_terminal(subject.as_bytes());
            format!("{} {subject}", id.short())
        });
        let mut items = shortened(paths.collect());
        items.extend(shortened(commits.collect()));
        let pull = pull(name, &work.synced);
        let advice = format!("{pull}commit and merge it, or {}", keep_all(name));
        Self {
            items,
            ..Self::new("would_lose", parts.join(", "), advice).up_to(1)
        }
    }

    /// Processes work in the worktree.
    pub(super) fn running(name: &str, running: &[Running]) -> Self {
        let one = |one: &Running| format!("{} ({})", one.pid, one.name);
        let all: Vec<String> = running.iter().map(one).collect();
        let phrase = match all.as_slice() {
            [one] => format!("process {one} works in it"),
            _several => format!("processes {} work in it", shortened(all).join(", ")),
        };
        let pids: Vec<String> = running.iter().map(|one| one.pid.to_string()).collect();
        let advice = format!(
            "end it or wait for it (ps -f -p {}), or remove it all the same with `git agentwt remove -ff {name}`",
            pids.join(",")
        );
        Self::new("running", phrase, advice).up_to(2)
    }

    /// The owner is alive.
    pub(super) fn owned(name: &str, owner: &Owner) -> Self {
        let id = &owner.id;
        let pid = owner.process.as_ref();
        let pid = pid.map(|process| format!(" (process {})", process.pid));
        let phrase = format!("its owner `{id}` is alive{}", pid.unwrap_or_default());
        let advice = format!(
            "if that is you: git agentwt remove --owner '{id}' {name}; to take it away from a live owner: git agentwt remove -ff {name}"
        );
        Self::new("owned", phrase, advice).up_to(2)
    }
}

/// The command that keeps everything.
pub(super) fn keep_all(name: &str) -> String {
    format!("keep all of it in the trash: git agentwt remove --force {name}")
}

fn shortened(mut items: Vec<String>) -> Vec<String> {
    if items.len() > SHOWN {
        let more = items.len() - SHOWN;
        items.truncate(SHOWN);
        items.push(format!("… and {more} more"));
    }
    items
}

/// The command that keeps edited synced files, if there are any.
fn pull(name: &str, synced: &[RepoPath]) -> String {
    const SHOWN: usize = 8;
    let shown = synced.iter().take(SHOWN).map(|path| format!(" {path}"));
    let shown: String = shown.collect();
    let more = if synced.len() > SHOWN { " …" } else { "" };
    if synced.is_empty() {
        return shown;
    }
    format!("git agentwt sync {name} --pull{shown}{more}, to keep what was synced; ")
}
