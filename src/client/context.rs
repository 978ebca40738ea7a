//! Renders what a client is told: the prompt as it is, then our part between two markers.
//!
//! The prompt is the first bytes of the file, whatever they are. Our part is the last that stands
//! between a line [`BEGIN`] and a line [`END`]: a prompt may hold such lines itself, and what comes
//! from patterns and paths cannot, as it has no line breaks. It is Markdown; patterns stand in code
//! spans, where no client looks for imports (`@path`).

use std::fmt::Write as _;

use camino::Utf8Path;

use crate::name::{BranchName, CommitId, WorktreeName};
use crate::scope::{RuleList, ScopeRule, escape_for_rule};

/// The line before our part.
pub const BEGIN: &str = "<!-- agentwt: begin -->";
/// The line after our part, the last of the file.
pub const END: &str = "<!-- agentwt: end -->";

/// Holds what a client is told.
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
    /// What it must leave alone.
    pub root: Root<'c>,
}

/// Says what is around the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root<'c> {
    /// The main worktree.
    MainWorktree(&'c Utf8Path),
    /// The directory of a bare repository, which has no main worktree.
    Bare(&'c Utf8Path),
}

impl Context<'_> {
    /// The text of the file. `also` is a paragraph of the client's own, for our part.
    pub fn render(&self, also: Option<&str>) -> Vec<u8> {
        let mut out = self.prompt.to_vec();
        if !out.is_empty() {
            // apart by one empty line, whether the prompt ended its last line or not
            out.extend_from_slice(if out.ends_with(b"\n") { b"\n" } else { b"\n\n" });
        }
        out.extend_from_slice(self.part(also).as_bytes());
        out
    }

    fn part(&self, also: Option<&str>) -> String {
        let mut out = format!("{BEGIN}\n## This worktree\n\n");
        let _ = writeln!(
            out,
            "You work in the worktree {}, on the branch {}, which starts at {} ({}).\n",
            code(self.name.as_str()),
            code(self.branch.as_str()),
            code(self.base.short()),
            code(self.revision),
        );
        for line in [self.write(), self.read()]
            .into_iter()
            .chain(self.exclude())
        {
            let _ = writeln!(out, "- {line}");
        }
        out.push_str(
            "- Run `git agentwt verify` before every commit, and fix the reported violations.\n",
        );
        let _ = match self.root {
            Root::MainWorktree(root) => writeln!(
                out,
                "- Never touch the main worktree at {}.",
                code(root.as_str())
            ),
            Root::Bare(root) => writeln!(
                out,
                "- Never touch another worktree of the repository at {}.",
                code(root.as_str())
            ),
        };
        if let Some(also) = also {
            let _ = writeln!(out, "\n{also}");
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
        let mut read = self.rules.iter().filter(|rule| rule.list == RuleList::Read);
        if read.any(|rule| rule.pattern == "**") {
            return "All other files here are read-only.".to_owned();
        }
        match self.patterns(RuleList::Read) {
            None => "There are no other files here.".to_owned(),
            Some(patterns) => format!("The only other files here, read-only: {patterns}."),
        }
    }

    fn exclude(&self) -> Option<String> {
        let patterns = self.patterns(RuleList::Exclude)?;
        Some(format!("Absent on purpose, do not create: {patterns}."))
    }

    fn patterns(&self, list: RuleList) -> Option<String> {
        let rules = self.rules.iter().filter(|rule| rule.list == list);
        let spans: Vec<String> = rules.map(|rule| code(&rule.pattern)).collect();
        (!spans.is_empty()).then(|| spans.join(", "))
    }
}

/// A code span that its text cannot leave (`CommonMark` 0.31, 6.1): one line, without what could act
/// on a terminal, between more backticks than it has itself, and never the start of a comment.
fn code(text: &str) -> String {
    let text = escape_for_rule(text).replace("<!--", "\\074!--");
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let needs_space = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) || text.is_empty();
    let space = if needs_space { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_cannot_leave_its_code_span() {
        for (text, span) in [
            ("src/**", "`src/**`"),
            ("a`b", "``a`b``"),
            ("`", "`` ` ``"),
            ("a``b`", "``` a``b` ```"),
            (" a", "`  a `"),
            (
                "a\n<!-- agentwt: end -->\n",
                "`a\\012\\074!-- agentwt: end -->\\012`",
            ),
            ("\u{1b}[2J", "`\\033[2J`"),
            ("a\\*", "`a\\*`"),
        ] {
            assert_eq!(code(text), span, "{text:?}");
        }
    }
}
