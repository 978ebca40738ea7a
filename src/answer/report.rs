//! Prints a verdict for people: findings in groups, a limited number of lines, and the commands that
//! apply to them. Programs read each finding by itself ([`VerdictField::rows`]).

use std::collections::BTreeSet;

use crate::answer::groups::{FindingGroup, groups};
use crate::answer::shapes::{FindingField, RuleField};
use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::answer::verdict::VerdictField;
use crate::config::installers::INSTALLERS;
use crate::truth::planted::unset_command;
use crate::words::name::CommitId;
use crate::words::path::{escape_for_terminal, shell_word};

/// The number of lines of findings on a terminal.
const LINES: usize = 20;
/// The number of paths that a command names.
const NAMED: usize = 3;

impl VerdictField {
    /// Prints the result, the findings, and the commands that apply to them. Notices of what
    /// worktrees share are one line, unless all are wanted.
    pub fn print(&self, text: &mut Text, shows_all: bool) {
        text.put(self.line(text.paint));
        let is_beside = |one: &&FindingField| one.level == "notice" && one.reason == "shared";
        let joins = !shows_all && self.notices.iter().filter(is_beside).count() > 1;
        let (beside, listed): (Vec<_>, Vec<_>) =
            self.findings().partition(|one| joins && is_beside(one));
        let groups = groups(&listed, !shows_all);
        let most = match text.width {
            Some(_) if !shows_all && groups.len() > LINES + 1 => LINES,
            _ => groups.len(),
        };
        let rows: Vec<Row> = groups[..most].iter().map(FindingGroup::row).collect();
        text.table(&rows, "  ");
        let left: usize = groups[most..].iter().map(|group| group.number).sum();
        let name = self.name.as_deref().unwrap_or_default();
        if left > 0 {
            text.line(format!("  and {left} more: git agentwt verify -v {name}"));
        }
        if !beside.is_empty() {
            let number = beside.len();
            text.line(format!(
                "  - {number} notices of what worktrees share: git agentwt verify -v {name}"
            ));
        }
        if let Some(waiting) = &self.waiting {
            text.line(format!(
                "  waits: {}{}",
                waiting.what(),
                waiting.next_text()
            ));
        }
        for remedy in self.remedies() {
            text.hints += &format!("{remedy}\n");
        }
    }

    /// Computes the commands that apply to the violations of a worktree, each after its purpose.
    pub fn remedies(&self) -> Vec<String> {
        let Some(name) = &self.name else {
            return Vec::new();
        };
        let mut remedies = Vec::new();
        let mut add =
            |purpose: &str, command: String| remedies.push(format!("to {purpose}: {command}"));
        // these commands would run what came since `add`: they refuse until it is decided about
        let is_planted = self.violations.iter().any(FindingField::is_planted);
        let is_net = |one: &&FindingField| matches!(one.reason, "read-only" | "excluded");
        let paths: Vec<&FindingField> = self.violations.iter().filter(is_net).collect();
        // what is in a commit only is on another branch that was made here
        let is_elsewhere = |one: &&FindingField| {
            let mut seen = one.change.seen.iter();
            seen.all(|seen| seen.starts_with("commit"))
        };
        let mut here = paths.iter().filter(|one| !is_elsewhere(one));
        if !is_planted && here.any(|one| one.change.kind != "leak") {
            add("restore these paths", format!("git agentwt restore {name}"));
        }
        let places = self.notices.iter().map(|one| one.change.bytes());
        let branches = places.filter_map(|place| place.strip_prefix(b"@git/refs/heads/"));
        let has_branches = !is_planted && paths.iter().any(is_elsewhere);
        let branches: Vec<&[u8]> = branches.filter(|_| has_branches).take(NAMED).collect();
        if has_branches && branches.is_empty() {
            let elsewhere = paths.iter().filter(|one| is_elsewhere(one));
            let commits: BTreeSet<&CommitId> =
                elsewhere.flat_map(|one| &one.change.commits).collect();
            for commit in commits.into_iter().take(NAMED) {
                let command = format!("git branch --all --contains {}", commit.short());
                add("see which branches have such a commit", command);
            }
        }
        for branch in branches {
            let branch = shell_word(&escape_for_terminal(branch));
            let command = format!("git branch -D {branch}");
            add("delete a branch that was made here", command);
        }
        for (file, installer) in INSTALLERS {
            let is_it = |one: &&&FindingField| one.change.kind == "modified" && one.is_named(file);
            if let Some(found) = paths.iter().find(is_it) {
                let purpose = format!("install without a change of {}", found.change.shown());
                add(&purpose, format!("use `{installer}`"));
            }
        }
        if paths.iter().any(|one| one.change.kind != "perm") {
            let which = words_of(&groups(&paths, true), shell_word, "<path>...");
            let command = format!("git agentwt accept {name} {which}");
            add("accept these paths as they are", command);
        }
        let wider = paths.iter().copied().filter(|one| one.may_be_widened());
        let wider: Vec<&FindingField> = wider.collect();
        if !is_planted && !wider.is_empty() {
            // one by one: a directory has other files
            let which = words_of(&groups(&wider, false), add_write, "--add-write '<pattern>'");
            let command = format!("git agentwt scope {name} {which}");
            add("let the agent edit these paths", command);
        }
        let is_integrity = |one: &&FindingField| one.reason == "integrity";
        let mut integrity = self.violations.iter().filter(is_integrity);
        if integrity.any(|one| one.change.has_content) {
            let command = format!("git agentwt accept {name} --all");
            add("accept everything as it is now", command);
        }
        let shared = || self.violations.iter().filter(|one| one.reason == "shared");
        let added = shared().filter_map(|one| one.change.added_key.as_deref());
        for key in added.take(NAMED) {
            let command = match &self.path {
                Some(worktree) => unset_command(worktree, key),
                None => format!("git config --unset-all {}", shell_word(key)),
            };
            add("remove a setting that was added", command);
        }
        if shared().any(|one| one.change.kind == "ref") {
            let command = format!("git agentwt accept {name} --refs");
            add("accept these refs as they are", command);
        }
        if shared().any(|one| one.change.kind != "ref") {
            let purpose = "accept the shared settings and hooks for all worktrees";
            add(purpose, format!("git agentwt accept {name} --shared"));
        }
        remedies
    }
}

impl FindingField {
    /// Whether the path ends with this name.
    fn is_named(&self, name: &str) -> bool {
        self.change.bytes().rsplit(|byte| *byte == b'/').next() == Some(name.as_bytes())
    }

    /// Whether it is a shared setting or hook: git can run a program by it.
    fn is_planted(&self) -> bool {
        self.reason == "shared" && matches!(self.change.kind, "config" | "hook")
    }

    /// Whether the scope would let the path be edited with another pattern in its list `write`.
    fn may_be_widened(&self) -> bool {
        let is_user_rule = |rule: &RuleField| rule.list == "read" && rule.origin != "built-in";
        let is_content = !matches!(self.change.kind, "leak" | "perm");
        is_content && self.rule.as_ref().is_none_or(is_user_rule)
    }
}

/// The option that adds a path, and no other, to what may be edited.
fn add_write(path: &str) -> String {
    let escape = |text: String, special| text.replace(special, &format!("\\{special}"));
    let pattern = ["*", "?", "["].into_iter().fold(format!("/{path}"), escape);
    format!("--add-write {}", shell_word(&pattern))
}

/// The paths of some groups as words of a command; a placeholder where they are many, or one cannot be
/// typed as it is.
fn words_of(groups: &[FindingGroup], word: fn(&str) -> String, placeholder: &str) -> String {
    let shown = groups.iter().map(|group| &*group.shown);
    let is_odd = |path: &str| path.starts_with('-') || path.ends_with(' ') || path.contains('\\');
    if groups.len() > NAMED || shown.clone().any(is_odd) {
        return placeholder.to_owned();
    }
    shown.map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice;

    use super::*;
    use crate::answer::text::TextStyle;
    use crate::arguments::output::RecordEnd;

    use crate::judge::change::Cause;
    use crate::judge::change::Change;
    use crate::judge::change::ChangeSet;
    use crate::judge::change::Kind;
    use crate::judge::change::Place;
    use crate::judge::change::Seen;
    use crate::judge::change::SharedChange;
    use crate::judge::finding::VerifyOptions;
    use crate::judge::finding::verify;
    use crate::scope::compiled::Scope;
    use crate::scope::rule::Case;
    use crate::words::name::CommitId;
    use crate::words::path::RepoPath;

    fn printed(paths: &[(&str, Kind)], shared: usize, shows_all: bool) -> Text {
        let change = |(path, kind): &(&str, Kind)| {
            let path = RepoPath::parse(*path).expect("it is normal");
            Change::new(Place::Path(path), *kind, Seen::Disk)
        };
        let mut changes: Vec<Change> = paths.iter().map(change).collect();
        changes.sort();
        let mut set = ChangeSet::new(CommitId::unknown(), CommitId::unknown(), changes);
        let beside = |at| {
            let place = Place::Git(format!("config{at}").into());
            SharedChange::new(place, Kind::Config, "it differs", Cause::Unknown)
        };
        set.shared = (0..shared).map(beside).collect();
        let scope = Scope::compile(Vec::new(), Case::Sensitive).expect("no rule is wrong");
        let report = verify(&scope, set, VerifyOptions::default());
        let verdict = VerdictField::worktree("task", "/w".into(), &report);
        let mut text = Text::new(TextStyle::PLAIN, RecordEnd::Newline);
        text.width = Some(80);
        verdict.print(&mut text, shows_all);
        text
    }

    fn places(text: &Text) -> Vec<String> {
        let lines = text.stdout.lines().skip(1);
        lines
            .map(|line| {
                line.to_str_lossy()
                    .split_whitespace()
                    .skip(2)
                    .take(1)
                    .collect()
            })
            .collect()
    }

    #[test]
    fn a_directory_in_which_all_findings_are_alike_is_one_line() {
        let new = Kind::Created;
        let edit = Kind::Modified;
        let text = printed(
            &[
                ("d/a", new),
                ("d/e/b", new),
                ("f/a", new),
                ("f/g/x", edit),
                ("f/g/y", edit),
                ("r", edit),
            ],
            0,
            false,
        );
        assert_eq!(places(&text), ["d/", "f/a", "f/g/", "r"]);
        assert!(
            text.hints.contains("git agentwt accept task <path>...\n"),
            "{}",
            text.hints
        );
        let text = printed(&[("d/a", new), ("d/e/b", new), ("r", edit)], 0, false);
        assert!(
            text.hints.contains("git agentwt accept task d/ r\n"),
            "{}",
            text.hints
        );
    }

    #[test]
    fn a_terminal_shows_some_lines_and_the_number_of_the_others() {
        let names: Vec<String> = (10..40).map(|at| format!("d{at}/x")).collect();
        let paths: Vec<_> = names.iter().map(|name| (&**name, Kind::Created)).collect();
        let text = printed(&paths, 3, false);
        let lines = text.stdout.to_str_lossy();
        assert_eq!(lines.lines().count(), 23, "{lines}");
        assert!(
            lines.contains("  and 10 more: git agentwt verify -v task\n"),
            "{lines}"
        );
        assert!(
            lines.ends_with("  - 3 notices of what worktrees share: git agentwt verify -v task\n")
        );
        assert_eq!(places(&printed(&paths, 3, true)).len(), 33);
    }
}
