//! Shows what `doctor` found.

use serde_json::{Value, json};

use super::Printed;
use super::porcelain::Records;
use crate::answer::Paint;
use crate::commands::doctor::{Doctored, Done};
use crate::plan::doctor::{Diagnosis, Level, Topic, Unknown};

/// How wide the words of a level are.
const WIDTH: usize = 9;

/// The lines below their topics, and a sum.
pub fn human(answer: &Doctored, paint: Paint) -> Printed {
    let mut text = String::new();
    let mut topic = None;
    for (line, done) in &answer.lines {
        if topic != Some(line.topic) {
            topic = Some(line.topic);
            text.push_str(&format!("{}\n", paint.heading(heading(line.topic))));
        }
        text.push_str(&human_line(line, done, paint));
    }
    for unknown in &answer.unknown {
        let topic = heading(unknown.topic);
        text.push_str(&format!("{}\n", paint.heading(topic)));
        text.push_str(&row("unknown", &unknown.why, |text| paint.bad(text)));
        if let Some(help) = &unknown.help {
            text.push_str(&below("fix", help, paint));
        }
    }
    text.push_str(&format!("\n{}\n", sum(answer, paint)));
    Printed {
        stdout: text.into_bytes(),
        stderr: String::new(),
    }
}

fn human_line(line: &Diagnosis, done: &Done, paint: Paint) -> String {
    let mut text = match (done, line.level) {
        (Done::Repaired, _) => row("fixed", &line.found, |text| paint.good(text)),
        (_, Level::Ok) => row("ok", &line.found, |text| paint.good(text)),
        (_, Level::Note) => row("note", &line.found, |text| paint.faint(text)),
        (_, Level::Warning) => row("warning", &line.found, |text| paint.warning(text)),
        (_, Level::Problem) => row("problem", &line.found, |text| paint.bad(text)),
    };
    match (done, &line.fix) {
        (Done::Repaired, _) | (Done::Nothing, None) => {}
        (Done::Planned, _) => text.push_str(&below("would be fixed by", "--fix", paint)),
        (Done::Failed(why), Some(fix)) => {
            text.push_str(&below("not fixed", why, paint));
            text.push_str(&below("fix", fix, paint));
        }
        (Done::Failed(why), None) => text.push_str(&below("not fixed", why, paint)),
        (Done::Nothing, Some(fix)) => text.push_str(&below("fix", fix, paint)),
    }
    text
}

fn row(word: &str, found: &str, colour: impl Fn(&str) -> String) -> String {
    let space = " ".repeat(WIDTH.saturating_sub(word.len()));
    format!("  {}{space}{}\n", colour(word), shown(found))
}

fn below(word: &str, text: &str, paint: Paint) -> String {
    let indent = " ".repeat(2 + WIDTH);
    format!(
        "{indent}{} {}\n",
        paint.faint(&format!("{word}:")),
        shown(text)
    )
}

/// A line stays a line, whatever a name or an error has in it.
fn shown(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| crate::path::escape_for_terminal(line.trim().as_bytes()))
        .collect();
    lines.join("; ")
}

const fn heading(topic: Topic) -> &'static str {
    match topic {
        Topic::Versions => "versions",
        Topic::Settings => "settings",
        Topic::Hooks => "hooks",
        Topic::Ignored => "ignore rules",
        Topic::Tools => "tools",
        Topic::Leftovers => "leftovers",
        Topic::FileSystem => "file system",
    }
}

fn sum(answer: &Doctored, paint: Paint) -> String {
    let standing = |level: Level| {
        let lines = answer.lines.iter();
        lines
            .filter(|(line, done)| line.level == level && *done != Done::Repaired)
            .count()
    };
    let count = super::human::count;
    let mut parts = Vec::new();
    for (number, one, many) in [
        (standing(Level::Problem), "problem", "problems"),
        (standing(Level::Warning), "warning", "warnings"),
        (
            answer.unknown.len(),
            "topic not looked at",
            "topics not looked at",
        ),
    ] {
        if number > 0 {
            parts.push(count(number, one, many));
        }
    }
    if parts.is_empty() {
        paint.good("nothing is wrong")
    } else {
        paint.bad(&parts.join(", "))
    }
}

/// Level, topic, check, what was found, the fix, and what was done, a line each.
pub fn porcelain(records: &mut Records, answer: &Doctored) {
    for (line, done) in &answer.lines {
        let done = match done {
            Done::Nothing => "",
            Done::Planned => "planned",
            Done::Repaired => "repaired",
            Done::Failed(_) => "failed",
        };
        let fix = line.fix.as_deref().unwrap_or_default();
        let fields = [
            line.level.as_str(),
            line.topic.as_str(),
            line.check,
            &line.found,
            fix,
            done,
        ];
        records.push(&fields.map(str::as_bytes));
    }
    for unknown in &answer.unknown {
        let help = unknown.help.as_deref().unwrap_or_default();
        let fields = [
            "unknown",
            unknown.topic.as_str(),
            "",
            &unknown.why,
            help,
            "",
        ];
        records.push(&fields.map(str::as_bytes));
    }
}

/// The whole answer.
pub fn json(answer: &Doctored) -> Value {
    let unknown = |unknown: &Unknown| {
        json!({
            "topic": unknown.topic.as_str(),
            "why": unknown.why,
            "help": unknown.help,
        })
    };
    json!({
        "healthy": answer.is_healthy(),
        "root": answer.root,
        "checks": answer.lines.iter().map(check).collect::<Vec<_>>(),
        "unknown": answer.unknown.iter().map(unknown).collect::<Vec<_>>(),
    })
}

fn check((line, done): &(Diagnosis, Done)) -> Value {
    let mut object = json!({
        "topic": line.topic.as_str(),
        "check": line.check,
        "level": line.level.as_str(),
        "found": line.found,
        "fixable": line.repair.is_some(),
    });
    let Some(map) = object.as_object_mut() else {
        return object;
    };
    if let Some(fix) = &line.fix {
        map.insert("fix".to_owned(), json!(fix));
    }
    match done {
        Done::Nothing => {}
        Done::Planned => drop(map.insert("done".to_owned(), json!("planned"))),
        Done::Repaired => drop(map.insert("done".to_owned(), json!("repaired"))),
        Done::Failed(why) => {
            map.insert("done".to_owned(), json!("failed"));
            map.insert("failure".to_owned(), json!(why));
        }
    }
    object
}
