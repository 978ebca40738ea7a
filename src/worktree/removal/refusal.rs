//! Says why worktrees are not removed: [`RemoveRefusal`], all reasons at once.

use std::fmt;

use camino::Utf8PathBuf;

use super::plan::Running;
use crate::name::CommitId;
use crate::path::RepoPath;

/// Says why a worktree is not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoveRefusal {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Everything that speaks against it; never empty.
    pub reasons: Vec<Reason>,
}

/// Names one thing that speaks against a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum Reason {
    /// We did not make it.
    NotOurs,
    /// The record names another place than that of our worktrees.
    Elsewhere { place: Utf8PathBuf },
    /// A directory on the way to it is a link.
    Barred { why: String },
    /// The worktree itself is a link to another directory.
    Link { target: Utf8PathBuf },
    /// The command was started inside the worktree.
    Inside { root: Utf8PathBuf },
    /// Somebody moved the worktree.
    Moved { to: Utf8PathBuf },
    /// A clone has worktrees elsewhere, of which nothing would be left but their files.
    Linked { items: Vec<String> },
    /// A repository inside the worktree would be lost.
    Nested { items: Vec<String> },
    /// A file system is mounted inside.
    Mounted { items: Vec<String> },
    /// Something in it cannot be read, so that nobody can say or save what it holds.
    Unreadable { items: Vec<String> },
    /// Work would be lost.
    WouldLose(Lost),
    /// The worktree is locked.
    Locked,
    /// Processes work in it.
    Running { running: Vec<Running> },
    /// Its owner is alive.
    Owned { id: String, pid: Option<u32> },
}

/// Holds what would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How many tracked files are not as in HEAD.
    pub changed: usize,
    /// How many files are untracked.
    pub untracked: usize,
    /// How many placed files are edited.
    pub placed: usize,
    /// All of these, in the order in which they are shown.
    pub paths: Vec<RepoPath>,
    /// Which of these can be taken over by `sync --pull`.
    pub synced: Vec<RepoPath>,
    /// Commits that are nowhere else.
    pub commits: Vec<(CommitId, String)>,
}

/// How many paths, and how many commits, are listed.
const SHOWN: usize = 20;

impl std::error::Error for RemoveRefusal {}

impl fmt::Display for RemoveRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said: Vec<String> = self.reasons.iter().map(Reason::phrase).collect();
        let name = &self.name;
        write!(f, "cannot remove worktree `{name}`: {}", said.join(", "))?;
        let alone = self.reasons.len() == 1;
        for item in self.reasons.iter().flat_map(|reason| reason.items(alone)) {
            write!(f, "\n  {item}")?;
        }
        Ok(())
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}

impl Lost {
    fn phrase(&self) -> String {
        let parts = [
            (
                self.changed,
                "file has uncommitted changes",
                "files have uncommitted changes",
            ),
            (self.untracked, "file is untracked", "files are untracked"),
            (
                self.placed,
                "placed file is edited",
                "placed files are edited",
            ),
            (
                self.commits.len(),
                "commit is on no other branch",
                "commits are on no other branch",
            ),
        ];
        let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
        let parts: Vec<String> = parts
            .map(|(number, one, many)| count(number, one, many))
            .collect();
        parts.join(", ")
    }

    fn items(&self) -> Vec<String> {
        let paths = self.paths.iter().map(ToString::to_string);
        let commits = self.commits.iter().map(|(id, subject)| {
            let subject = crate::path::escape_for_terminal(subject.as_bytes());
            format!("{} {subject}", id.short())
        });
        let mut items = shortened(paths.collect());
        items.extend(shortened(commits.collect()));
        items
    }
}

fn shortened(mut items: Vec<String>) -> Vec<String> {
    if items.len() > SHOWN {
        let more = items.len() - SHOWN;
        items.truncate(SHOWN);
        items.push(format!("… and {more} more"));
    }
    items
}

impl Reason {
    /// How often `--force` must be given for it not to count; none when it always does.
    #[must_use]
    pub const fn force_needed(&self) -> Option<u8> {
        match self {
            Self::WouldLose(_) | Self::Nested { .. } | Self::Unreadable { .. } => Some(1),
            Self::Locked | Self::Running { .. } | Self::Owned { .. } => Some(2),
            Self::NotOurs
            | Self::Elsewhere { .. }
            | Self::Barred { .. }
            | Self::Link { .. }
            | Self::Inside { .. }
            | Self::Moved { .. }
            | Self::Linked { .. }
            | Self::Mounted { .. } => None,
        }
    }

    fn phrase(&self) -> String {
        match self {
            Self::NotOurs => "plain git made it".to_owned(),
            Self::Elsewhere { place } => format!("its record names another place than {place}"),
            Self::Barred { why } => why.clone(),
            Self::Link { target } => {
                format!("a link to {target} stands in its place, which is not followed")
            }
            Self::Inside { .. } => "you are inside it".to_owned(),
            Self::Moved { to } => format!("it was moved to {to}"),
            Self::Linked { items } => {
                format!("its repository has other worktrees: {}", items.join(", "))
            }
            Self::Nested { items } => format!("a repository is inside it: {}", items.join(", ")),
            Self::Mounted { items } => {
                format!("a file system is mounted inside it: {}", items.join(", "))
            }
            Self::Unreadable { .. } => "it cannot be read whether work would be lost".to_owned(),
            Self::WouldLose(lost) => lost.phrase(),
            Self::Locked => "it is locked".to_owned(),
            Self::Running { running } => {
                let one = |one: &Running| format!("{} ({})", one.pid, one.name);
                let all: Vec<String> = running.iter().map(one).collect();
                match all.len() {
                    1 => format!("process {} works in it", all.join(", ")),
                    _ => format!("processes {} work in it", shortened(all).join(", ")),
                }
            }
            Self::Owned { id, pid: Some(pid) } => {
                format!("its owner `{id}` is alive (process {pid})")
            }
            Self::Owned { id, pid: None } => format!("its owner `{id}` is alive"),
        }
    }

    /// What is listed below, a line each; said of it what it is where it is not `alone`.
    fn items(&self, alone: bool) -> Vec<String> {
        match self {
            Self::WouldLose(lost) => lost.items(),
            Self::Unreadable { items } if alone => items.clone(),
            Self::Unreadable { items } => {
                let mark = |item: &String| format!("{item} (it cannot be read)");
                items.iter().map(mark).collect()
            }
            Self::NotOurs
            | Self::Elsewhere { .. }
            | Self::Barred { .. }
            | Self::Link { .. }
            | Self::Inside { .. }
            | Self::Moved { .. }
            | Self::Linked { .. }
            | Self::Nested { .. }
            | Self::Mounted { .. }
            | Self::Locked
            | Self::Running { .. }
            | Self::Owned { .. } => Vec::new(),
        }
    }

    const fn code_name(&self) -> &'static str {
        match self {
            Self::NotOurs => "agentwt::remove::not_ours",
            Self::Elsewhere { .. } => "agentwt::remove::elsewhere",
            Self::Barred { .. } => "agentwt::remove::barred",
            Self::Link { .. } => "agentwt::remove::link",
            Self::Inside { .. } => "agentwt::remove::inside",
            Self::Moved { .. } => "agentwt::remove::moved",
            Self::Linked { .. } => "agentwt::remove::linked",
            Self::Nested { .. } => "agentwt::remove::nested_repository",
            Self::Mounted { .. } => "agentwt::remove::mounted",
            Self::Unreadable { .. } => "agentwt::remove::unreadable",
            Self::WouldLose(_) => "agentwt::remove::would_lose",
            Self::Locked => "agentwt::remove::locked",
            Self::Running { .. } => "agentwt::remove::running",
            Self::Owned { .. } => "agentwt::remove::owned",
        }
    }
}

impl RemoveRefusal {
    /// The name of the first reason, for programs.
    #[must_use]
    pub fn code_name(&self) -> &'static str {
        self.reasons
            .first()
            .map_or("agentwt::remove::would_lose", Reason::code_name)
    }

    /// All reasons in one line.
    #[must_use]
    pub fn reason(&self) -> String {
        let said: Vec<String> = self.reasons.iter().map(Reason::phrase).collect();
        said.join(", ")
    }

    /// The next commands, one for each reason.
    #[must_use]
    pub fn advice(&self) -> String {
        let advice: Vec<String> = self.reasons.iter().map(|r| self.advice_on(r)).collect();
        advice.join("; ")
    }

    fn advice_on(&self, reason: &Reason) -> String {
        let (name, path) = (&self.name, &self.path);
        match reason {
            Reason::NotOurs => {
                format!("git agentwt hooks uninstall {name} && git worktree remove {path}")
            }
            Reason::Elsewhere { place } => format!(
                "if the repository was moved, move it back to where {path} is in it; {place} is not touched: git worktree list"
            ),
            Reason::Barred { .. } => {
                format!(
                    "put the directory back where the link is: ls -ld {path} {path}/.. {path}/../.."
                )
            }
            Reason::Link { target } => {
                format!("put the directory back: rm {path} && mv {target} {path}")
            }
            Reason::Inside { root } => format!("cd {root} && git agentwt remove {name}"),
            Reason::Moved { to } => format!("move it back first: git worktree move {to} {path}"),
            Reason::Linked { .. } => format!(
                "remove these first: git -C {path} worktree list; git -C {path} worktree remove <path>"
            ),
            Reason::Nested { .. } => format!(
                "move it out of {path}, or keep all of it in the trash: git agentwt remove --force {name}"
            ),
            Reason::Mounted { items } => {
                let all: Vec<String> = items.iter().map(|item| format!("{path}/{item}")).collect();
                format!("umount {}", all.join(" "))
            }
            Reason::Unreadable { .. } => format!(
                "chmod -R u+rX {path}, or keep all of it in the trash: git agentwt remove --force {name}"
            ),
            Reason::WouldLose(lost) => {
                let keep = pull(name, &lost.synced);
                format!(
                    "{keep}commit and merge it, or keep all of it in the trash: git agentwt remove --force {name}"
                )
            }
            Reason::Locked => format!("git worktree unlock {path}"),
            Reason::Running { running } => {
                let all: Vec<String> = running.iter().map(|one| one.pid.to_string()).collect();
                format!(
                    "end it or wait for it (ps -f -p {}), or remove it all the same with `git agentwt remove -ff {name}`",
                    all.join(",")
                )
            }
            Reason::Owned { id, .. } => format!(
                "if that is you: git agentwt remove --owner '{id}' {name}; to take it away from a live owner: git agentwt remove -ff {name}"
            ),
        }
    }
}

/// The command that keeps edited synced files, if there are any.
fn pull(name: &str, synced: &[RepoPath]) -> String {
    const SHOWN: usize = 8;
    let shown = synced.iter().take(SHOWN).map(|path| format!(" {path}"));
    let more = if synced.len() > SHOWN { " …" } else { "" };
    match synced {
        [] => String::new(),
        [_, ..] => format!(
            "git agentwt sync {name} --pull{}{more}, to keep what was synced; ",
            shown.collect::<String>()
        ),
    }
}
