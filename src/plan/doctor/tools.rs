//! Judges the tools of the main worktree: which of them walk into `.agentwt/worktrees`.
//!
//! Every worktree there is a copy of the project, so a tool that does not stay out sees each file
//! as often as there are worktrees. [`TOOLS`] has a row for each tool, with a small function that
//! decides by the text of the tool's own files. Scripts are not run: where text alone does not
//! tell, the answer is [`Verdict::Unclear`], which is a note. None of these tools reads the
//! `info/exclude` with which git itself stays out.

mod javascript;
mod others;
mod text;

use std::collections::BTreeMap;

use super::{Diagnosis, Level, Topic, some};

/// Holds the files of the main worktree's root that say how tools are configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    /// The text of each of [`files`] that is there.
    pub files: Files,
    /// The worktrees that have no `Cargo.toml` at their root, although the main worktree has.
    pub without_cargo_root: Vec<String>,
}

/// Texts by path.
pub type Files = BTreeMap<&'static str, String>;

/// Says what a tool does about `.agentwt/worktrees`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The tool is not used here.
    Unused,
    /// It stays out, because of this.
    StaysOut(String),
    /// It walks in, and this is what comes of it.
    WalksIn(String),
    /// It walks in, which only costs time: this is what comes of it.
    Costs(String),
    /// It cannot be told from the text, for this reason.
    Unclear(String),
}

/// Describes one tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The files that are looked at.
    pub files: &'static [&'static str],
    /// Decides by their texts.
    pub judge: fn(&Tools) -> Verdict,
    /// What keeps it out.
    pub fix: &'static str,
}

/// Every tool that is known.
pub const TOOLS: [&Tool; 12] = [
    &javascript::ESLINT,
    &javascript::PRETTIER,
    &javascript::JEST,
    &javascript::VITEST,
    &javascript::VITE,
    &javascript::TSC,
    &others::CARGO,
    &others::DOCKER,
    &others::PYTEST,
    &others::BAZEL,
    &others::WATCHMAN,
    &others::VS_CODE,
];

/// The files that any tool is judged by, each once.
#[must_use]
pub fn files() -> Vec<&'static str> {
    let mut all: Vec<_> = TOOLS.iter().flat_map(|tool| tool.files).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Judges every tool that is used.
#[must_use]
pub fn diagnose(tools: &Tools) -> Vec<Diagnosis> {
    let mut lines: Vec<Diagnosis> = TOOLS.iter().filter_map(|tool| judge(tool, tools)).collect();
    if lines.is_empty() {
        let found = "no tool that walks into .agentwt/worktrees was recognised";
        lines.push(Diagnosis::new(Topic::Tools, "tools", Level::Ok, found));
    }
    lines
}

fn judge(tool: &Tool, tools: &Tools) -> Option<Diagnosis> {
    let name = tool.name;
    let line = |level, found: String| Diagnosis::new(Topic::Tools, name, level, found);
    Some(match (tool.judge)(tools) {
        Verdict::Unused => return None,
        Verdict::StaysOut(why) => line(Level::Ok, format!("{name} stays out: {why}")),
        Verdict::WalksIn(what) => {
            line(Level::Warning, format!("{name}: {what}")).fixed_by(tool.fix)
        }
        Verdict::Costs(what) => line(Level::Note, format!("{name}: {what}")).fixed_by(tool.fix),
        Verdict::Unclear(why) => {
            line(Level::Note, format!("{name}: cannot tell: {why}")).fixed_by(tool.fix)
        }
    })
}

impl Tools {
    /// The first of these files that is there, with its text.
    fn first(&self, names: &[&'static str]) -> Option<(&'static str, &str)> {
        let there = |name: &&'static str| Some((*name, self.text(name)?));
        names.iter().find_map(there)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }

    /// Whether `package.json` names this package as something it depends on or configures.
    fn has_package(&self, name: &str) -> bool {
        self.text("package.json")
            .is_some_and(|text| text::has_key(text, name))
    }

    /// The worktrees that have no `Cargo.toml`, for a sentence.
    fn names_without_cargo_root(&self) -> Option<String> {
        (!self.without_cargo_root.is_empty()).then(|| some(&self.without_cargo_root))
    }
}

#[cfg(test)]
mod tests;
