//! The answer of `doctor`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::answer::Answer;
use crate::answer::paint::{Paint, Painter};
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorCheck {
    /// `versions`, `fences`, `settings`, `hooks`, `ignore-rules`, `tools`, `setup`, `leftovers` or
    /// `file-system`.
    pub topic: &'static str,
    /// The name of the check.
    pub check: &'static str,
    /// `ok`, `note`, `warning` or `problem`.
    #[schemars(with = "String")]
    pub level: CheckLevel,
    /// What was found.
    pub found: String,
    /// Whether `--fix` fixes it.
    #[serde(rename = "fixable", serialize_with = "serialize_fixable")]
    #[schemars(with = "bool")]
    pub repair: Option<Repair>,
    /// The remedy: a command, or an edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// `planned`, `repaired` or `failed`: what `--fix` did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub done: Option<RepairState>,
    /// Why it could not be fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// How bad it is what a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckLevel {
    /// Everything is as it should be.
    Ok,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Something will go wrong, or is left over.
    Warning,
    /// Something does not work.
    Problem,
}

impl CheckLevel {
    /// The word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }

    const fn painter(self) -> Painter {
        match self {
            Self::Ok => Paint::good,
            Self::Note => Paint::faint,
            Self::Warning => Paint::warning,
            Self::Problem => Paint::bad,
        }
    }
}

/// What `--fix` did about a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RepairState {
    /// Nothing yet (`-n`).
    Planned,
    /// The problem is fixed.
    Repaired,
    /// The problem could not be fixed.
    Failed,
}

impl RepairState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Repaired => "repaired",
            Self::Failed => "failed",
        }
    }
}

#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
fn serialize_fixable<S: Serializer>(
    repair: &Option<Repair>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(repair.is_some())
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
    /// A check of a topic that is set later.
    fn new(level: CheckLevel, check: &'static str, found: String, fix: String) -> Self {
        Self {
            topic: "",
            check,
            level,
            found,
            repair: None,
            fix: Some(fix).filter(|fix| !fix.is_empty()),
            done: None,
            failure: None,
        }
    }

    /// Everything is as it should be.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self::new(CheckLevel::Ok, check, found.into(), String::new())
    }

    /// Worth knowing; nothing has to be done.
    pub fn note(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(CheckLevel::Note, check, found.into(), fix.into())
    }

    /// Something will go wrong, or is left over.
    pub fn warning(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(CheckLevel::Warning, check, found.into(), fix.into())
    }

    /// Something does not work.
    pub fn problem(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(CheckLevel::Problem, check, found.into(), fix.into())
    }

    /// The same check with what `--fix` does.
    pub(super) fn fixed_by(self, repair: Repair) -> Self {
        Self {
            repair: Some(repair),
            ..self
        }
    }

    /// True if something is still wrong.
    pub(super) fn is_wrong(&self) -> bool {
        matches!(self.level, CheckLevel::Warning | CheckLevel::Problem) && !self.is_repaired()
    }

    fn is_repaired(&self) -> bool {
        self.done == Some(RepairState::Repaired)
    }

    fn print(&self, text: &mut Text) {
        if self.is_repaired() {
            print_found(text, "fixed", Paint::good, &self.found);
        } else {
            print_found(text, self.level.as_str(), self.level.painter(), &self.found);
        }
        if let Some(failure) = &self.failure {
            print_below(text, "not fixed", failure);
        }
        if self.done == Some(RepairState::Planned) {
            print_below(text, "would be fixed by", "--fix");
        } else if let Some(fix) = &self.fix {
            print_below(text, "fix", fix);
        }
    }

    fn row(&self) -> Row {
        Row::record(&[
            self.level.as_str().as_bytes(),
            self.topic.as_bytes(),
            self.check.as_bytes(),
            self.found.as_bytes(),
            self.fix.as_deref().unwrap_or_default().as_bytes(),
            self.done.map_or("", RepairState::as_str).as_bytes(),
        ])
    }
}

impl UnknownTopic {
    fn print(&self, text: &mut Text) {
        print_topic(text, self.topic);
        print_found(text, "unknown", Paint::bad, &self.why);
        if let Some(help) = &self.help {
            print_below(text, "fix", help);
        }
    }

    fn row(&self) -> Row {
        Row::record(&[
            b"unknown",
            self.topic.as_bytes(),
            b"",
            self.why.as_bytes(),
            self.help.as_deref().unwrap_or_default().as_bytes(),
            b"",
        ])
    }
}

impl DoctorAnswer {
    /// The number of checks of a level at which something is still wrong.
    fn wrong(&self, level: CheckLevel) -> usize {
        let checks = self.checks.iter();
        let wrong = checks.filter(|check| check.level == level && check.is_wrong());
        wrong.count()
    }

    /// The number of problems, warnings and unknown topics; `None` if nothing is wrong.
    fn sum(&self) -> Option<String> {
        let mut parts = Vec::new();
        for (number, one, many) in [
            (self.wrong(CheckLevel::Problem), "problem", "problems"),
            (self.wrong(CheckLevel::Warning), "warning", "warnings"),
            (
                self.unknown.len(),
                "topic not checked",
                "topics not checked",
            ),
        ] {
            if number > 0 {
                parts.push(count(number, one, many));
            }
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl Answer for DoctorAnswer {
    const DOCUMENT: &'static str = "doctor";

    fn print(&self, text: &mut Text) {
        let mut topic = "";
        for check in &self.checks {
            if topic != check.topic {
                topic = check.topic;
                print_topic(text, topic);
            }
            check.print(text);
        }
        for unknown in &self.unknown {
            unknown.print(text);
        }
        let sum = match self.sum() {
            Some(sum) => text.paint.bad(&sum),
            None => text.paint.good("nothing is wrong"),
        };
        text.line(format!("\n{sum}"));
    }

    fn rows(&self) -> Vec<Row> {
        let checks = self.checks.iter().map(DoctorCheck::row);
        checks
            .chain(self.unknown.iter().map(UnknownTopic::row))
            .collect()
    }
}

fn print_topic(text: &mut Text, topic: &str) {
    text.line(text.paint.heading(&topic.replace('-', " ")));
}

fn print_found(text: &mut Text, word: &str, colour: Painter, found: &str) {
    let spaces = " ".repeat(9_usize.saturating_sub(word.len()));
    let painted = colour(text.paint, word);
    text.line(format!("  {painted}{spaces}{}", one_line(found)));
}

fn print_below(text: &mut Text, word: &str, found: &str) {
    let word = text.paint.faint(&format!("{word}:"));
    text.line(format!("           {word} {}", one_line(found)));
}
