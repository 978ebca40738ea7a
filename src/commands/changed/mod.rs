//! `git agentwt changed`: the ground truth.

pub mod answer;
pub mod arguments;
pub mod collect;
pub mod patch;

use crate::commands::changed::answer::ChangedAnswer;
use crate::commands::changed::arguments::Changed;
use crate::commands::changed::collect::{Asked, collect};
use crate::commands::{Outcome, Session};
use crate::words::error::Error;
use crate::words::exit::ExitCode;

/// Collects what changed, and holds it against write roots if there are any; with coloured patches
/// if `colour`.
///
/// # Errors
/// Fails when the facts cannot be read, unless the best effort is asked for; never says
/// "nothing" instead.
pub fn run(
    session: &Session,
    options: &Changed,
    colour: bool,
) -> Result<Outcome<ChangedAnswer>, Error> {
    let start = session.start.as_std_path();
    let asked = Asked {
        name: options.name.clone(),
        base: options.base.clone(),
        ignored: options.ignored,
        commits: options.commits,
        patch: options.patch,
        colour,
        best_effort: options.best_effort,
        roots: options.roots.iter().map(|root| start.join(root)).collect(),
        absolute: options.absolute,
    };
    let answer = collect(session.repository(), &asked)?;
    let exit = match &answer.outside {
        _ if !answer.incomplete.is_empty() => ExitCode::Incomplete,
        Some(outside) if !outside.is_empty() => ExitCode::Violations,
        Some(_) | None => ExitCode::Success,
    };
    let missing = answer.incomplete.iter();
    let mut notes: Vec<String> = missing.map(|why| format!("incomplete: {why}")).collect();
    let left_out = answer.not_in_patch.iter();
    notes.extend(left_out.map(|what| format!("not in the patch: {what}")));
    Ok(Outcome {
        answer,
        notes,
        exit,
    })
}
