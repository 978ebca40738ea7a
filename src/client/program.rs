//! Holds [`AgentProgram`]: which files an agent program reads by itself, and what is written there.

use schemars::JsonSchema;
use serde::Serialize;

use crate::client::context::Context;
use crate::client::guards::{Guard, GuardFacts};
use crate::client::layout::{ClientRefusal, ContextFile, ContextLayout, PathState, repo_path};
use crate::words::path::RepoPath;

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
    pub(super) state: &'static [&'static str],
    /// The lines with which the second file has to begin.
    #[serde(skip)]
    pub(super) second_file_start: &'static str,
    /// Whether the second file is read instead of the first.
    #[serde(skip)]
    pub(super) local_wins: bool,
    /// The text of its configuration, if that is written along with the context at this path.
    #[serde(skip)]
    pub(super) config: fn(&str, IsRead<'_>) -> Option<&'static str>,
    /// A paragraph of its own for the context at this path.
    #[serde(skip)]
    pub(super) paragraph: fn(&str, IsRead<'_>) -> Option<&'static str>,
    /// What the user should know of the context at this path, with so many bytes.
    #[serde(skip)]
    pub(super) note: fn(&str, usize) -> Option<String>,
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
        let usual = self.files[0].path;
        let local = self.files[1].path;
        // where the local file is there, the program never reads the usual one
        let is_usual_hidden = self.local_wins && state(&repo_path(local)).is_read();
        if is_usual_hidden {
            return Err(self.refusal(context, state));
        }
        for path in [usual, local] {
            if let Some(layout) = self.layout_at(path, context, state) {
                return Ok(layout);
            }
        }
        Err(self.refusal(context, state))
    }

    /// Returns what is written if the context goes to `path`; none if that path, or the path of the
    /// configuration that belongs to it, is not free.
    fn layout_at(
        &self,
        path: &str,
        context: &Context<'_>,
        state: &dyn Fn(&RepoPath) -> PathState,
    ) -> Option<ContextLayout> {
        let is_read = |other: &str| state(&repo_path(other)).is_read();
        let is_free = |other: &str| state(&repo_path(other)) == PathState::Free;
        let config = self.config_of(path, &is_read);
        if !is_free(path) || config.is_some_and(|(config_path, _)| !is_free(config_path)) {
            return None;
        }
        let body = context.render((self.paragraph)(path, &is_read));
        let notes = (self.note)(path, body.len()).into_iter().collect();
        let local = self.files[1].path;
        let start = if path == local {
            self.second_file_start
        } else {
            ""
        };
        let mut files = vec![ContextFile {
            path: repo_path(path),
            content: [start.as_bytes(), &body].concat(),
        }];
        if let Some((config_path, text)) = config {
            files.push(ContextFile {
                path: repo_path(config_path),
                content: text.as_bytes().to_vec(),
            });
        }
        Some(ContextLayout { files, notes })
    }

    /// Returns the path and the text of the configuration that belongs to the context at `path`.
    fn config_of(&self, path: &str, is_read: IsRead<'_>) -> Option<(&'static str, &'static str)> {
        let config = self.files.get(2)?;
        let text = (self.config)(path, is_read)?;
        Some((config.path, text))
    }

    /// Says which of its files stand in the way.
    fn refusal(
        &self,
        context: &Context<'_>,
        state: &dyn Fn(&RepoPath) -> PathState,
    ) -> ClientRefusal {
        let mut places = Vec::new();
        for file in self.files {
            let state = state(&repo_path(file.path));
            if state != PathState::Free {
                places.push((file.path, state));
            }
        }
        ClientRefusal {
            client: self.name,
            worktree: context.name.to_string(),
            by_hand: self.by_hand,
            places,
        }
    }
}

impl AgentProgram {
    /// Generates the guards of a worktree whose context stands at `context`.
    pub fn guard_files(&self, facts: &GuardFacts<'_>, context: &str) -> Vec<ContextFile> {
        let context_file = self.files.iter().find(|file| file.path == context);
        let config = context_file.and_then(|file| self.config_of(file.path, &|_| false));
        let mut files = Vec::new();
        for guard in self.guards {
            let same_file = config.filter(|(path, _)| *path == guard.path);
            let text = (guard.text)(facts, same_file.map(|(_, text)| text));
            files.push(ContextFile {
                path: repo_path(guard.path),
                content: text.into_bytes(),
            });
        }
        files
    }

    /// Adds the guards to what is written for the program; one note for each that cannot be.
    pub fn add_guards(
        &self,
        facts: &GuardFacts<'_>,
        layout: &mut ContextLayout,
        state: &dyn Fn(&RepoPath) -> PathState,
    ) {
        let context = layout.files[0].path.to_string();
        for guard in self.guard_files(facts, &context) {
            let state = state(&guard.path);
            let written = layout.files.iter_mut().find(|file| file.path == guard.path);
            if let Some(file) = written {
                *file = guard;
            } else if state == PathState::Free {
                layout.files.push(guard);
            } else {
                layout.notes.push(format!(
                    "{} is told the scope but does not enforce it: {} {}; to ask before each edit, \
                     name `git agentwt guard` there (git-agentwt-guard(1))",
                    self.name,
                    guard.path,
                    state.reason()
                ));
            }
        }
    }
}
