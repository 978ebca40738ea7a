//! Shows answers to people: aligned, coloured on a terminal, and free to change.

pub(super) mod changed;
mod clients;
pub(super) mod findings;
mod listing;
mod making;
mod restoring;
mod worktrees;

use super::{Answer, End, Paint, Printed, doctor, renewed, sync};

/// Renders an answer.
pub fn render(answer: &Answer, end: End, paint: Paint) -> Printed {
    match answer {
        Answer::Init(done) => making::init(done, paint),
        Answer::Add(added) => making::add(added, paint),
        Answer::Reapply(done) => making::reapply(done, paint),
        Answer::Restore(answer) => restoring::restore(answer, paint),
        Answer::Renew(done) => renewed::human(done, paint),
        Answer::Remove(all) => making::remove(all, paint),
        Answer::Prune(answer) => super::prune::human(answer, paint),
        Answer::Revive(all) => super::trash::human(all, paint),
        Answer::Sync(all) => sync::human(all, paint),
        Answer::Hooks(answer) => making::hooks(answer, paint),
        Answer::List(listed) => listing::list(listed, paint),
        Answer::Status(all) => worktrees::status(all, paint),
        Answer::Scope(answer) => worktrees::scope(answer, paint),
        Answer::Changed { answer, shown } => changed::changed(answer, *shown, paint),
        Answer::Verify(all) => findings::verify(all, paint),
        Answer::Range(one) => findings::range(one, paint),
        Answer::Doctor(answer) => doctor::human(answer, paint),
        Answer::Hook(answer) => findings::hook(answer, paint),
        Answer::Clients(all) => clients::clients(all, paint),
        // for `cd "$(…)"`: as it is, whatever is in it
        Answer::Path(path) => out(match end {
            End::Newline => format!("{path}\n"),
            End::Nul => format!("{path}\0"),
        }),
        Answer::Text(text) => out(text.clone()),
    }
}

fn out(text: String) -> Printed {
    Printed {
        stdout: text.into_bytes(),
        stderr: String::new(),
    }
}

/// `1 file`, `2 files`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}

/// How long ago a time was, for people.
fn age(at: &str) -> String {
    let Some(seconds) = seconds_since(at) else {
        return at.to_owned();
    };
    match seconds {
        0..=59 => "just now".to_owned(),
        60..=3599 => format!("{} min ago", seconds / 60),
        3600..=86_399 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// How many seconds ago a time was; none when it is none.
pub(super) fn seconds_since(at: &str) -> Option<i64> {
    let then = at.parse::<jiff::Timestamp>().ok()?;
    let now = jiff::Timestamp::now().as_second();
    Some(now.saturating_sub(then.as_second()).max(0))
}
