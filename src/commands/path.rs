//! `git agentwt path`: where a worktree is.

use camino::Utf8PathBuf;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::arguments::output::AnswerOutput;
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::words::error::Error;
use crate::worktree::absence::no_directory;
use crate::worktree::loaded::Worktree;

/// Print the absolute path of a worktree
///
/// Only the path is printed on stdout, so that a command can use it.
#[derive(Args, Debug)]
pub struct Path {
    /// The worktree's name [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// End the path with NUL instead of a newline
    #[arg(short = 'z', help_heading = "Output")]
    pub nul: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// The answer of `path`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathAnswer {
    /// The directory of the worktree.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
}

impl Answer for PathAnswer {
    const DOCUMENT: &'static str = "path";

    /// As it is, whatever is in it: for `cd "$(…)"`.
    fn print(&self, text: &mut Text) {
        text.put(self.path.as_str());
        text.put([text.end.byte()]);
    }

    fn rows(&self) -> Vec<Row> {
        vec![Row::new(vec![Cell::both(self.path.as_str())])]
    }
}

/// Answers with the directory of a worktree.
///
/// # Errors
/// Fails when there is no worktree of this name, or its directory does not exist.
pub fn run(session: &Session, name: Option<&str>) -> Result<Outcome<PathAnswer>, Error> {
    let repository = session.repository()?;
    let record = Worktree::of(&repository, name)?.record;
    if !files::is_directory(&record.path) {
        return Err(no_directory(&record).into());
    }
    let path = record.path;
    Ok(Outcome::done(PathAnswer { path }))
}
