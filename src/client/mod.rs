//! Knows the agent programs: where each reads its context by itself, and which files hold it.
//!
//! A program is one row of [`ALL`]; the config, the flags, the completions and
//! `git agentwt clients` take it from there. All of it is pure: [`AgentProgram::layout`] is told
//! what stands at a path, and answers with files or a [`ClientRefusal`].
//!
//! The prompt is the first bytes of the file, whatever they are. Our part is the last that stands
//! between a line [`BEGIN`] and a line [`END`]: a prompt may hold such lines itself, and what comes
//! from patterns and paths cannot, as it has no line breaks. It is Markdown; patterns stand in code
//! spans, where no client looks for imports (`@path`).
//!
//! What a program enforces by itself, and by which files, is in the same row; `guards` generates those
//! files, and [`call`] reads the tool calls of which the program asks.
//!
//! ```
//! use git_agentwt::client;
//! let codex = client::named("codex").expect("it is one of them");
//! assert_eq!(codex.files[0].path, "AGENTS.md");
//! ```

pub mod call;
pub mod claude;
pub mod guards;
pub mod programs;
pub mod state;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;

use crate::client::guards::Guard;
use crate::client::programs::ALL;
use crate::scope::{RuleList, ScopeRule};
use crate::words::error::Fault;
use crate::words::exit::ExitCode;
use crate::words::name::{BranchName, CommitId, WorktreeName};
use crate::words::path::{RepoPath, escape_for_rule};

/// Answers whether a file that is not ours stands at a path, for the program to read.
type IsRead<'r> = &'r dyn Fn(&str) -> bool;

/// Describes an agent program.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentProgram {
    /// The name in the config, in variables and on the command line.
    pub name: &'static str,
    /// What the program is, in one line.
    pub title: &'static str,
    /// The files that are written for the program, in the order in which they are tried.
    pub files: &'static [Reads],
    /// What is known of how the program reads them, a sentence each.
    pub known: &'static [&'static str],
    /// Where this was read, each with its version or date.
    pub read_in: &'static [&'static str],
    /// The command that gives the program a task where no file can.
    pub by_hand: &'static str,
    /// The files that are generated from the scope, so that the program keeps to it.
    pub guards: &'static [Guard],
    /// What the program then refuses by itself, a sentence each.
    pub enforced: &'static [&'static str],
    /// What the program is told and does not enforce.
    pub told: &'static [&'static str],
    /// What is left to write bits, hooks and `verify`.
    pub left: &'static [&'static str],
    /// The command that starts the program.
    pub command: &'static str,
    /// The option before a task; empty where the task is the first argument.
    #[serde(skip)]
    pub prompt_option: &'static str,
    /// What the program writes into the worktree for itself: files, and directories with a slash.
    #[serde(skip)]
    state: &'static [&'static str],
    /// The lines with which the second file has to begin.
    #[serde(skip)]
    head: &'static str,
    /// Whether the second file is read instead of the first.
    #[serde(skip)]
    local_wins: bool,
    /// The text of its configuration, if that is written along with the context at this path.
    #[serde(skip)]
    config: fn(&str, IsRead<'_>) -> Option<&'static str>,
    /// A paragraph of its own for the context at this path.
    #[serde(skip)]
    paragraph: fn(&str, IsRead<'_>) -> Option<&'static str>,
    /// What the user should know of the context at this path, with so many bytes.
    #[serde(skip)]
    note: fn(&str, usize) -> Option<String>,
}

/// Describes a file that a program reads by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reads {
    /// The path, from the worktree's root.
    pub path: &'static str,
    /// When the file is written, and what it then holds.
    pub when: &'static str,
}

impl Eq for AgentProgram {}

impl PartialEq for AgentProgram {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Whether a program writes this file of a worktree for itself, as settings or a history.
pub fn is_state(path: &[u8]) -> bool {
    let mut all = ALL.iter().flat_map(|program| program.state);
    all.any(|state| {
        path == state.as_bytes() || state.ends_with('/') && path.starts_with(state.as_bytes())
    })
}

/// Finds the program of this name.
pub fn named(name: &str) -> Option<&'static AgentProgram> {
    ALL.iter().find(|program| program.name == name)
}

/// Says what will stand at a path of the worktree before context is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nothing: it can be written.
    Free,
    /// A file that the commit has.
    Tracked,
    /// A file that is synced from the main worktree.
    Synced,
    /// A directory.
    Directory,
    /// A file, link or submodule where a directory above it would have to be.
    Above(RepoPath),
    /// Nothing may: the scope keeps it away. The text names the rule; none where no list has it.
    Excluded(Option<String>),
}

impl PathState {
    fn reason(&self) -> String {
        match self {
            Self::Free => "is free".to_owned(),
            Self::Tracked => "is tracked".to_owned(),
            Self::Synced => "is synced from the main worktree".to_owned(),
            Self::Directory => "is a directory".to_owned(),
            Self::Above(path) => format!("cannot be below {path}, which is a file"),
            Self::Excluded(Some(rule)) => format!("is excluded by {rule}"),
            Self::Excluded(None) => "is not in scope: no read or write pattern matches".to_owned(),
        }
    }
}

/// Holds what is written for a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextLayout {
    /// The files.
    pub files: Vec<ContextFile>,
    /// What the user should know of how the program will read them.
    pub notes: Vec<String>,
}

/// Holds a file that is written into the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    /// Its path.
    pub path: RepoPath,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// Reports that no file that a program reads by itself is free.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error(
    "cannot write the context of `{worktree}` for {client}: {}",
    reasons(places)
)]
#[diagnostic(code(agentwt::client::no_place))]
#[diagnostic(help(
    "create the worktree without context (git agentwt add {worktree} --client none) and give {client} its task yourself: {by_hand}"
))]
pub struct ClientRefusal {
    client: &'static str,
    worktree: String,
    by_hand: &'static str,
    places: Vec<(&'static str, PathState)>,
}

impl Fault for ClientRefusal {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Refused
    }
}

fn reasons(places: &[(&str, PathState)]) -> String {
    let reasons = places.iter();
    let reasons = reasons.map(|(path, state)| format!("{path} {}", state.reason()));
    reasons.collect::<Vec<_>>().join(", and ")
}

impl AgentProgram {
    /// The paths of all files that may be written for the program.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        let guards = self.guards.iter().map(|guard| guard.path);
        self.files.iter().map(|file| file.path).chain(guards)
    }

    /// Decides what is written where; `state` answers what stands at a path.
    ///
    /// # Errors
    /// Refuses when no file that the program reads by itself is free.
    pub fn layout(
        &self,
        context: &Context<'_>,
        state: &dyn Fn(&RepoPath) -> PathState,
    ) -> Result<ContextLayout, ClientRefusal> {
        let state = |path: &str| state(&repo_path(path));
        let is_read = |path: &str| matches!(state(path), PathState::Tracked | PathState::Synced);
        let is_free = |path: &str| state(path) == PathState::Free;
        let [usual, local] = [self.files[0].path, self.files[1].path];
        // with the local variant there, the usual file is never read
        let is_hidden = self.local_wins && is_read(local);
        let config_of =
            |path: &'static str| Some((self.files.get(2)?.path, (self.config)(path, &is_read)?));
        let can_hold = |path: &&'static str| {
            let config = config_of(path);
            !is_hidden && is_free(path) && config.is_none_or(|(config, _)| is_free(config))
        };
        let Some(path) = [usual, local].into_iter().find(can_hold) else {
            return Err(self.refusal(context, state));
        };
        let text = context.render((self.paragraph)(path, &is_read));
        let notes = (self.note)(path, text.len()).into_iter().collect();
        let config = config_of(path).map(|(path, text)| (path, text.as_bytes().to_vec()));
        let head = if path == local { self.head } else { "" };
        let text = [head.as_bytes(), &text].concat();
        let files = std::iter::once((path, text)).chain(config);
        let files = files.map(|(path, content)| ContextFile {
            path: repo_path(path),
            content,
        });
        Ok(ContextLayout {
            files: files.collect(),
            notes,
        })
    }

    fn refusal(&self, context: &Context<'_>, state: impl Fn(&str) -> PathState) -> ClientRefusal {
        let places = self.files.iter().map(|file| (file.path, state(file.path)));
        let places: Vec<_> = places.filter(|(_, s)| *s != PathState::Free).collect();
        ClientRefusal {
            client: self.name,
            worktree: context.name.to_string(),
            by_hand: self.by_hand,
            places,
        }
    }
}

fn repo_path(path: &str) -> RepoPath {
    RepoPath::parse(path).expect("because the table has relative paths")
}

/// The line before our part.
pub const BEGIN: &str = "<!-- agentwt: begin -->";
/// The line after our part, the last of the file.
pub const END: &str = "<!-- agentwt: end -->";

/// Holds what a client is told.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    /// What the user wrote; empty when nothing.
    pub prompt: &'c [u8],
    /// The worktree's name.
    pub name: &'c WorktreeName,
    /// Its branch.
    pub branch: &'c BranchName,
    /// The commit it starts from.
    pub base: &'c CommitId,
    /// The revision that named that.
    pub revision: &'c str,
    /// The rules of its scope.
    pub rules: &'c [ScopeRule],
    /// The directory of the repository, which it must leave alone.
    pub root: &'c Utf8Path,
}

impl Context<'_> {
    /// The text of the file. `also` is a paragraph of the client's own, for our part.
    pub fn render(&self, also: Option<&str>) -> Vec<u8> {
        let mut out = self.prompt.to_vec();
        if !out.is_empty() {
            // apart by one empty line, whether the prompt ended its last line or not
            out.extend_from_slice(if out.ends_with(b"\n") { b"\n" } else { b"\n\n" });
        }
        out.extend_from_slice(self.part(also).as_bytes());
        out
    }

    fn part(&self, also: Option<&str>) -> String {
        let mut out = format!("{BEGIN}\n## This worktree\n\n");
        let _ = writeln!(
            out,
            "You work in the worktree {}, on the branch {}, which starts at {} ({}).\n",
            code(self.name.as_str()),
            code(self.branch.as_str()),
            code(self.base.short()),
            code(self.revision),
        );
        for line in [self.write(), self.read()]
            .into_iter()
            .chain(self.exclude())
        {
            let _ = writeln!(out, "- {line}");
        }
        out.push_str(
            "- Violations too: moving or deleting a branch that this task did not create, changing \
             another worktree, installing hooks, and git settings that run programs \
             (`core.hooksPath`, filters). `--no-verify` hides nothing.\n\
             - Run `git agentwt verify` before every commit, and fix the reported violations.\n",
        );
        let root = code(self.root.as_str());
        let _ = writeln!(
            out,
            "- Never touch the repository at {root} itself, nor its other worktrees."
        );
        if let Some(also) = also {
            let _ = writeln!(out, "\n{also}");
        }
        let _ = writeln!(out, "{END}");
        out
    }

    fn write(&self) -> String {
        match self.patterns(RuleList::Write) {
            None => "This task is read-only: edit nothing.".to_owned(),
            Some(patterns) => format!("Edit only what these gitignore patterns match: {patterns}."),
        }
    }

    fn read(&self) -> String {
        let mut read = self.rules.iter().filter(|rule| rule.list == RuleList::Read);
        if read.any(|rule| rule.pattern == "**") {
            return "All other files here are read-only.".to_owned();
        }
        match self.patterns(RuleList::Read) {
            None => "There are no other files here.".to_owned(),
            Some(patterns) => format!("The only other files here, read-only: {patterns}."),
        }
    }

    fn exclude(&self) -> Option<String> {
        let patterns = self.patterns(RuleList::Exclude)?;
        Some(format!("Absent on purpose, do not create: {patterns}."))
    }

    fn patterns(&self, list: RuleList) -> Option<String> {
        let rules = self.rules.iter().filter(|rule| rule.list == list);
        let spans: Vec<String> = rules.map(|rule| code(&rule.pattern)).collect();
        (!spans.is_empty()).then(|| spans.join(", "))
    }
}

/// A code span that its text cannot leave (`CommonMark` 0.31, 6.1): one line, without what could act
/// on a terminal, between more backticks than it has itself, and never the start of a comment.
fn code(text: &str) -> String {
    let text = escape_for_rule(text).replace("<!--", "\\074!--");
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let needs_space = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) || text.is_empty();
    let space = if needs_space { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}
