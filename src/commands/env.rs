//! `git agentwt env`: the variables of a worktree's programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Outcome, Session};
use crate::answer::{Answer, Row, Text};
use crate::cli::{Env, ShellName};
use crate::error::Error;
use crate::path::shell_word;
use crate::worktree::Worktree;
use crate::worktree::variables::variables;

/// The answer of `env`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnvAnswer {
    /// The variables, by name.
    pub variables: BTreeMap<&'static str, String>,
    /// Whether the lines are for fish.
    #[serde(skip)]
    pub is_fish: bool,
}

impl Answer for EnvAnswer {
    const DOCUMENT: &'static str = "env";

    fn print(&self, text: &mut Text) {
        for (name, value) in &self.variables {
            text.line(if self.is_fish {
                // in single quotes, fish has two escapes
                let value = value.replace('\\', r"\\").replace('\'', r"\'");
                format!("set -gx {name} '{value}'")
            } else {
                format!("export {name}={}", shell_word(value))
            });
        }
    }

    fn rows(&self) -> Vec<Row> {
        let all = self.variables.iter();
        let row =
            |(name, value): (&&str, &String)| Row::record(&[name.as_bytes(), value.as_bytes()]);
        all.map(row).collect()
    }
}

/// Answers with the variables.
///
/// # Errors
/// Fails when there is no such worktree.
pub fn run(session: &Session, options: &Env) -> Result<Outcome<EnvAnswer>, Error> {
    let repository = session.repository()?;
    let known = Worktree::of(&repository, options.name.as_deref())?;
    Ok(Outcome::done(EnvAnswer {
        variables: variables(&repository, &known).into_iter().collect(),
        is_fish: options.shell == Some(ShellName::Fish),
    }))
}
