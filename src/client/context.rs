//! Holds [`Context`]: the text that tells an agent its task and its scope.

use std::fmt::Write as _;

use camino::Utf8Path;

use crate::scope::rule::{RuleList, ScopeRule};
use crate::words::name::{BranchName, CommitId, WorktreeName};
use crate::words::path::escape_for_rule;

/// The line before our part.
pub const BEGIN: &str = "<!-- agentwt: begin -->";
/// The line after our part, the last of the file.
pub const END: &str = "<!-- agentwt: end -->";

/// What a client is told.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    /// What the user wrote; empty when nothing.
    pub prompt: &'c [u8],
    /// The worktree's name.
    pub name: &'c WorktreeName,
    /// Its branch.
    pub branch: &'c BranchName,
    /// The commit it starts from.
    pub base: &'c CommitId,
    /// The revision that named that.
    pub revision: &'c str,
    /// The rules of its scope.
    pub rules: &'c [ScopeRule],
    /// The directory of the repository, which it must leave alone.
    pub root: &'c Utf8Path,
}

impl Context<'_> {
    /// The text of the file. `paragraph` is one of the client's own, for our part.
    pub fn render(&self, paragraph: Option<&str>) -> Vec<u8> {
        let mut out = self.prompt.to_vec();
        if !out.is_empty() {
            // apart by one empty line, whether the prompt ended its last line or not
            out.extend_from_slice(if out.ends_with(b"\n") { b"\n" } else { b"\n\n" });
        }
        out.extend_from_slice(self.part(paragraph).as_bytes());
        out
    }

    /// Our part: what the agent may edit and read, and what it is to leave alone.
    fn part(&self, paragraph: Option<&str>) -> String {
        let mut out = format!("{BEGIN}\n## This worktree\n\n");
        let _ = writeln!(
            out,
            "You work in the worktree {}, on the branch {}, which starts at {} ({}).\n",
            code(self.name.as_str()),
            code(self.branch.as_str()),
            code(self.base.short()),
            code(self.revision),
        );
        let _ = writeln!(out, "- {}\n- {}", self.write(), self.read());
        if let Some(excluded) = self.patterns(RuleList::Exclude) {
            let _ = writeln!(out, "- Absent on purpose, do not create: {excluded}.");
        }
        out.push_str(
            "- Violations too: moving or deleting a branch that this task did not create, changing \
             another worktree, installing hooks, and git settings that run programs \
             (`core.hooksPath`, filters). `--no-verify` hides nothing.\n\
             - Run `git agentwt verify` before every commit, and fix the reported violations.\n",
        );
        let root = code(self.root.as_str());
        let _ = writeln!(
            out,
            "- Never touch the repository at {root} itself, nor its other worktrees."
        );
        if let Some(paragraph) = paragraph {
            let _ = writeln!(out, "\n{paragraph}");
        }
        let _ = writeln!(out, "{END}");
        out
    }

    fn write(&self) -> String {
        match self.patterns(RuleList::Write) {
            None => "This task is read-only: edit nothing.".to_owned(),
            Some(patterns) => format!("Edit only what these gitignore patterns match: {patterns}."),
        }
    }

    fn read(&self) -> String {
        let mut rules = self.rules.iter();
        if rules.any(|rule| rule.list == RuleList::Read && rule.pattern == "**") {
            return "All other files here are read-only.".to_owned();
        }
        match self.patterns(RuleList::Read) {
            None => "There are no other files here.".to_owned(),
            Some(patterns) => format!("The only other files here, read-only: {patterns}."),
        }
    }

    /// Returns the patterns of a list as code spans; none where it has none.
    fn patterns(&self, list: RuleList) -> Option<String> {
        let mut spans = Vec::new();
        for rule in self.rules {
            if rule.list == list {
                spans.push(code(&rule.pattern));
            }
        }
        if spans.is_empty() {
            return None;
        }
        Some(spans.join(", "))
    }
}

/// A code span that its text cannot leave (`CommonMark` 0.31, 6.1): one line, without what could
/// act on a terminal, between more backticks than it has itself, and never the start of a comment.
pub(super) fn code(text: &str) -> String {
    let escaped = escape_for_rule(text).replace("<!--", "\\074!--");
    let runs_of_backticks = escaped.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs_of_backticks.max().unwrap_or_default() + 1);
    let needs_space =
        escaped.is_empty() || escaped.starts_with(['`', ' ']) || escaped.ends_with(['`', ' ']);
    let space = if needs_space { " " } else { "" };
    format!("{fence}{space}{escaped}{space}{fence}")
}
