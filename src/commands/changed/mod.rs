//! `git agentwt changed`: the ground truth.

pub mod answer;
pub mod arguments;
pub mod collect;
pub mod patch;

use crate::commands::changed::answer::ChangedAnswer;
use crate::commands::changed::arguments::Changed;
use crate::commands::changed::collect::{Asked, collect};
use crate::commands::{Outcome, Session};
use crate::git::patches::PatchColour;
use crate::words::error::Error;
use crate::words::exit::ExitCode;

/// Collects what changed, and holds it against write roots if there are any. `colour` is that of
/// patches.
///
/// # Errors
/// Fails when the facts cannot be read, unless the best effort is asked for; never says
/// "nothing" instead.
pub fn run(
    session: &Session,
    options: &Changed,
    colour: PatchColour,
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
    let has_outside = answer
        .outside
        .as_ref()
        .is_some_and(|outside| !outside.is_empty());
    let exit = if !answer.incomplete.is_empty() {
        ExitCode::Incomplete
    } else if has_outside {
        ExitCode::Violations
    } else {
        ExitCode::Success
    };
    let mut notes = Vec::new();
    for why in &answer.incomplete {
        notes.push(format!("incomplete: {why}"));
    }
    for what in &answer.not_in_patch {
        notes.push(format!("not in the patch: {what}"));
    }
    Ok(Outcome {
        answer,
        notes,
        exit,
    })
}
