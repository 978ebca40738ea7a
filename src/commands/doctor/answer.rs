//! The answer of `doctor`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::words::name::WorktreeName;
use crate::words::text::{count, one_line};

/// The answer of `doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorAnswer {
    /// Whether nothing is wrong, and every topic could be checked.
    pub healthy: bool,
    /// The directory that has `.agentwt`; null without a usable repository.
    #[schemars(with = "Option<String>")]
    pub root: Option<Utf8PathBuf>,
    /// The checks, in the order of their topics.
    pub checks: Vec<DoctorCheck>,
    /// The topics that could not be checked.
    pub unknown: Vec<UnknownTopic>,
}

/// What one check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorCheck {
    /// `versions`, `fences`, `settings`, `hooks`, `ignore-rules`, `tools`, `setup`, `leftovers` or `file-system`.
    pub topic: &'static str,
    /// The name of the check.
    pub check: &'static str,
    /// `ok`, `note`, `warning` or `problem`.
    pub level: &'static str,
    /// What was found.
    pub found: String,
    /// Whether `--fix` fixes it.
    pub fixable: bool,
    /// The remedy: a command, or an edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// `planned`, `repaired` or `failed`: what `--fix` did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<&'static str>,
    /// Why it could not be fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What `--fix` does.
    #[serde(skip)]
    pub repair: Option<Repair>,
}

/// A topic that could not be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnknownTopic {
    /// The topic.
    pub topic: &'static str,
    /// Why.
    pub why: String,
    /// What to do about that.
    pub help: Option<String>,
}

/// Names what the program can fix by itself: only what is its own, and can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The ignore rules are written.
    IgnoreRules,
    /// The hooks of this worktree are installed again.
    Hooks(WorktreeName),
}

impl DoctorCheck {
    fn new(
        (level, check): (&'static str, &'static str),
        found: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            level,
            check,
            found: found.into(),
            fix: Some(fix.into()).filter(|fix| !fix.is_empty()),
            ..Self::default()
        }
    }

    /// Everything is as it should be.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self::new(("ok", check), found, "")
    }

    /// Worth knowing; nothing has to be done.
    pub fn note(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(("note", check), found, fix)
    }

    /// Something will go wrong, or is left over.
    pub fn warning(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(("warning", check), found, fix)
    }

    /// Something does not work.
    pub fn problem(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(("problem", check), found, fix)
    }

    /// The same check with what `--fix` does.
    pub(super) fn fixed_by(self, repair: Repair) -> Self {
        Self {
            fixable: true,
            repair: Some(repair),
            ..self
        }
    }

    /// Whether something is still wrong.
    pub(super) fn is_wrong(&self) -> bool {
        matches!(self.level, "warning" | "problem") && self.done != Some("repaired")
    }

    fn print(&self, text: &mut Text) {
        match (self.done, self.level) {
            (Some("repaired"), _) => return row(text, "fixed", &self.found),
            (_, level) => row(text, level, &self.found),
        }
        if let Some(failure) = &self.failure {
            below(text, "not fixed", failure);
        }
        match (self.done, &self.fix) {
            (Some("planned"), _) => below(text, "would be fixed by", "--fix"),
            (_, Some(fix)) => below(text, "fix", fix),
            (_, None) => {}
        }
    }
}

impl Answer for DoctorAnswer {
    const DOCUMENT: &'static str = "doctor";

    fn print(&self, text: &mut Text) {
        let mut topic = "";
        for check in &self.checks {
            if topic != check.topic {
                topic = check.topic;
                text.line(text.paint.heading(&topic.replace('-', " ")));
            }
            check.print(text);
        }
        for unknown in &self.unknown {
            text.line(text.paint.heading(&unknown.topic.replace('-', " ")));
            row(text, "unknown", &unknown.why);
            if let Some(help) = &unknown.help {
                below(text, "fix", help);
            }
        }
        let wrong = |level| {
            let is_wrong = |check: &&DoctorCheck| check.is_wrong() && check.level == level;
            self.checks.iter().filter(is_wrong).count()
        };
        let unknown = self.unknown.len();
        let parts = [
            (wrong("problem"), "problem", "problems"),
            (wrong("warning"), "warning", "warnings"),
            (unknown, "topic not checked", "topics not checked"),
        ];
        let parts = parts.iter().filter(|(number, ..)| *number > 0);
        let parts: Vec<String> = parts.map(|(n, one, many)| count(*n, one, many)).collect();
        let sum = if parts.is_empty() {
            text.paint.good("nothing is wrong")
        } else {
            text.paint.bad(&parts.join(", "))
        };
        text.line(format!("\n{sum}"));
    }

    fn rows(&self) -> Vec<Row> {
        let checks = self.checks.iter().map(|check| {
            let level = check.level;
            let found = check.found.as_str();
            let fix = check.fix.as_deref();
            let done = check.done.unwrap_or_default();
            let fix = fix.unwrap_or_default();
            [level, check.topic, check.check, found, fix, done]
        });
        let unknown = self.unknown.iter().map(|unknown| {
            let help = unknown.help.as_deref().unwrap_or_default();
            ["unknown", unknown.topic, "", &unknown.why, help, ""]
        });
        let row = |fields: [&str; 6]| Row::record(&fields.map(str::as_bytes));
        checks.chain(unknown).map(row).collect()
    }
}

fn row(text: &mut Text, word: &str, found: &str) {
    let paint = text.paint;
    let shown = match word {
        "ok" | "fixed" => paint.good(word),
        "note" => paint.faint(word),
        "warning" => paint.warning(word),
        _ => paint.bad(word),
    };
    let space = " ".repeat(9_usize.saturating_sub(word.len()));
    text.line(format!("  {shown}{space}{}", one_line(found)));
}

fn below(text: &mut Text, word: &str, found: &str) {
    let word = text.paint.faint(&format!("{word}:"));
    text.line(format!("           {word} {}", one_line(found)));
}
