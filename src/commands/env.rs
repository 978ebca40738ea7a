//! `git agentwt env`: the variables of a worktree's programs.

use std::collections::BTreeMap;

use clap::Args;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::arguments::output::ListOutput;
use crate::commands::{Outcome, Session};
use crate::words::error::Error;
use crate::words::path::shell_word;
use crate::worktree::loaded::Worktree;
use crate::worktree::variables::variables;

/// Names a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ShellName {
    Bash,
    Zsh,
    Fish,
}

/// Print the environment of a worktree's programs, for a shell
///
/// `eval "$(git agentwt env task-5)"` sets `AGENTWT_NAME`, `AGENTWT_ROOT` (the worktree),
/// `AGENTWT_MAIN` (the main worktree), `AGENTWT_BASE` (the base commit), `AGENTWT_SCOPE_FILE` (the
/// patterns of the scope, as TOML), `AGENTWT_PORT` (the first of ten ports that no other worktree
/// of this repository has), and `GIT_CEILING_DIRECTORIES`, so that git never takes the main
/// worktree for this one. `git agentwt open` sets the same variables.
#[derive(Args, Debug)]
pub struct Env {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print the lines for this shell [default: any POSIX shell]
    #[arg(long, value_name = "shell")]
    pub shell: Option<ShellName>,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// The answer of `env`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnvAnswer {
    /// The variables, by name.
    pub variables: BTreeMap<&'static str, String>,
}

/// The answer of `env --shell fish`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FishEnv(pub EnvAnswer);

impl Answer for EnvAnswer {
    const DOCUMENT: &'static str = "env";

    fn print(&self, text: &mut Text) {
        for (name, value) in &self.variables {
            text.line(format!("export {name}={}", shell_word(value)));
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for (name, value) in &self.variables {
            rows.push(Row::record(&[name.as_bytes(), value.as_bytes()]));
        }
        rows
    }
}

impl Answer for FishEnv {
    const DOCUMENT: &'static str = EnvAnswer::DOCUMENT;

    fn print(&self, text: &mut Text) {
        for (name, value) in &self.0.variables {
            // in single quotes, fish has two escapes
            let value = value.replace('\\', r"\\").replace('\'', r"\'");
            text.line(format!("set -gx {name} '{value}'"));
        }
    }

    fn rows(&self) -> Vec<Row> {
        self.0.rows()
    }
}

/// Answers with the variables.
///
/// # Errors
/// Fails when there is no such worktree.
pub fn run(session: &Session, options: &Env) -> Result<Outcome<EnvAnswer>, Error> {
    let repository = session.repository()?;
    let worktree = Worktree::of(&repository, options.name.as_deref())?;
    Ok(Outcome::done(EnvAnswer {
        variables: variables(&repository, &worktree).into_iter().collect(),
    }))
}
