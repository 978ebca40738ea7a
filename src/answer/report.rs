//! Prints a verdict for people: findings in groups, a limited number of lines, and the commands
//! that apply to them. Programs read each finding by itself ([`VerdictReport::rows`]).

use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::answer::groups::{FindingGroup, Grouping, groups};
use crate::answer::table::Row;
use crate::answer::text::{Detail, Text};
use crate::answer::verdict::VerdictReport;
use crate::config::installers::INSTALLERS;
use crate::disk::files;
use crate::judge::change::{Content, Kind, Place, Seen};
use crate::judge::finding::{Finding, Level, Reason};
use crate::scope::rule::{RuleList, RuleOrigin};
use crate::truth::planted::unset_command;
use crate::words::entry::{Mode, ObjectId};
use crate::words::name::CommitId;
use crate::words::path::{RepoPath, escape_for_terminal, shell_word};

/// The number of lines of findings on a terminal.
const LINES: usize = 20;
/// The number of paths that a command names.
const NAMED: usize = 3;

impl VerdictReport {
    /// Prints the result, the findings, and the commands that apply to them. Notices of what
    /// worktrees share are one line, unless all are wanted.
    pub fn print(&self, text: &mut Text, detail: Detail) {
        text.put(self.line(text.paint));
        self.print_findings(text, detail);
        if let Some(waiting) = &self.waiting {
            let next = waiting.next_text();
            text.line(format!("  waits: {}{next}", waiting.what()));
        }
        for remedy in self.remedies() {
            text.hints += &format!("{remedy}\n");
        }
    }

    fn print_findings(&self, text: &mut Text, detail: Detail) {
        let mut findings: Vec<&Finding> = self.findings().collect();
        let folded_notices = match detail {
            Detail::Groups => fold_shared_notices(&mut findings),
            Detail::Everything => 0,
        };
        let groups = match detail {
            Detail::Groups => groups(&findings, Grouping::ByDirectory),
            Detail::Everything => groups(&findings, Grouping::Single),
        };
        let is_cut = detail == Detail::Groups && text.width.is_some() && groups.len() > LINES + 1;
        let (shown, cut) = groups.split_at(if is_cut { LINES } else { groups.len() });
        let rows: Vec<Row> = shown.iter().map(FindingGroup::row).collect();
        text.table(&rows, "  ");
        let name = self.name.as_deref().unwrap_or_default();
        let more: usize = cut.iter().map(|group| group.number).sum();
        if more > 0 {
            text.line(format!("  and {more} more: git agentwt verify -v {name}"));
        }
        if folded_notices > 0 {
            text.line(format!(
                "  - {folded_notices} notices of what worktrees share: git agentwt verify -v {name}"
            ));
        }
    }

    /// Returns the commands that apply to the violations of a worktree, each after its purpose;
    /// nothing for a range, which has no name.
    pub fn remedies(&self) -> Vec<String> {
        let Some(name) = &self.name else {
            return Vec::new();
        };
        let unread = unread_places(&self.violations);
        let mut repositories = BTreeSet::new();
        let mut out_of_scope = Vec::new();
        for violation in &self.violations {
            let is_of_scope = matches!(violation.reason, Reason::ReadOnly | Reason::Excluded);
            if let Some(repository) = violation.repository_inside() {
                repositories.insert(repository);
            } else if is_of_scope && !violation.is_at_or_below(&unread) {
                out_of_scope.push(violation);
            }
        }
        // while a setting or hook is planted, `restore` and `scope` refuse, and a git that the user
        // types would run it
        let is_planted = self.violations.iter().any(Finding::is_planted);
        let mut remedies = Remedies::default();
        if let Some(worktree) = &self.path {
            remedies.move_repositories(worktree, &repositories);
        }
        if !is_planted {
            // `restore` also refuses while a repository is inside, or something cannot be read
            if repositories.is_empty() && unread.is_empty() {
                remedies.restore(name, &out_of_scope);
            }
            remedies.delete_or_find_branches(&self.notices, &out_of_scope);
        }
        remedies.install(&out_of_scope);
        remedies.accept_paths(name, &out_of_scope);
        if !is_planted {
            remedies.widen_scope(name, &out_of_scope);
        }
        remedies.accept_damage(name, &self.violations);
        remedies.unset_or_accept_shared(name, self.path.as_deref(), &self.violations);
        remedies.lines
    }
}

/// The paths at which something cannot be read, so that no command can record or restore it.
fn unread_places(violations: &[Finding]) -> Vec<&RepoPath> {
    let mut places = Vec::new();
    for violation in violations {
        if violation.reason == Reason::Integrity {
            places.extend(violation.change.place.path());
        }
    }
    places
}

/// True for a submodule whose files are those of no commit: no record can name its content.
fn is_dirty_submodule(finding: &Finding) -> bool {
    let mut contents = finding.change.now.iter();
    contents.any(|content| match content {
        Content::Entry(Some(entry)) => entry.mode == Mode::Gitlink && entry.id == ObjectId::none(),
        Content::Entry(None) | Content::Value { .. } => false,
    })
}

/// Removes the notices of what worktrees share, where there are several, and returns their number.
fn fold_shared_notices(findings: &mut Vec<&Finding>) -> usize {
    let shared = findings
        .iter()
        .filter(|finding| is_shared_notice(finding))
        .count();
    if shared <= 1 {
        return 0;
    }
    findings.retain(|finding| !is_shared_notice(finding));
    shared
}

/// True for a notice of what worktrees share.
fn is_shared_notice(finding: &Finding) -> bool {
    finding.level == Level::Notice && finding.reason == Reason::Shared
}

/// The commands that apply to violations, each after its purpose.
#[derive(Default)]
struct Remedies {
    lines: Vec<String>,
}

impl Remedies {
    fn add(&mut self, purpose: &str, command: &str) {
        self.lines.push(format!("to {purpose}: {command}"));
    }

    fn restore(&mut self, name: &str, paths: &[&Finding]) {
        let can_be_restored =
            |finding: &&Finding| !finding.is_elsewhere() && finding.change.kind != Kind::Leak;
        if paths.iter().any(can_be_restored) {
            self.add(
                "restore these paths",
                &format!("git agentwt restore {name}"),
            );
        }
    }

    /// For repositories inside, with a history that no commit of the worktree can save.
    fn move_repositories(&mut self, worktree: &Utf8Path, repositories: &BTreeSet<RepoPath>) {
        for repository in repositories.iter().take(NAMED) {
            let directory = worktree.join(repository.to_string());
            let git_dir = directory.join(".git");
            let command = if files::is_directory(&git_dir) {
                format!("mv {} <elsewhere>", shell_word(git_dir.as_str()))
            } else {
                // the file `.git` of a linked worktree names a git directory that has to know of it
                format!(
                    "git worktree move {} <elsewhere>",
                    shell_word(directory.as_str())
                )
            };
            self.add("move a repository out of the worktree", &command);
        }
    }

    /// For paths that are only in commits of other branches that were made here.
    fn delete_or_find_branches(&mut self, notices: &[Finding], paths: &[&Finding]) {
        let mut commits: BTreeSet<&CommitId> = BTreeSet::new();
        let mut is_elsewhere = false;
        for finding in paths {
            if finding.is_elsewhere() {
                is_elsewhere = true;
                commits.extend(finding.change.seen.iter().filter_map(Seen::commit));
            }
        }
        if !is_elsewhere {
            return;
        }
        let branches: Vec<String> = notices.iter().filter_map(branch_of).take(NAMED).collect();
        for branch in &branches {
            let command = format!("git branch -D {}", shell_word(branch));
            self.add("delete a branch that was made here", &command);
        }
        if branches.is_empty() {
            for commit in commits.into_iter().take(NAMED) {
                let command = format!("git for-each-ref --contains {}", commit.short());
                self.add("see which refs have such a commit", &command);
            }
        }
    }

    /// For lock files that an installer changed.
    fn install(&mut self, paths: &[&Finding]) {
        for (file, installer) in INSTALLERS {
            let is_changed = |finding: &&&Finding| {
                finding.change.kind == Kind::Modified && finding.is_named(file)
            };
            if let Some(finding) = paths.iter().find(is_changed) {
                let place = &finding.change.place;
                let purpose = format!("install without a change of {place}");
                self.add(&purpose, &format!("use `{installer}`"));
            }
        }
    }

    fn accept_paths(&mut self, name: &str, paths: &[&Finding]) {
        let mut acceptable = paths.to_vec();
        acceptable.retain(|finding| !is_dirty_submodule(finding));
        if acceptable
            .iter()
            .any(|finding| finding.change.kind != Kind::Perm)
        {
            let groups = groups(&acceptable, Grouping::ByDirectory);
            let words = command_words(&groups, shell_word, "<path>...");
            let command = format!("git agentwt accept {name} {words}");
            self.add("accept these paths as they are", &command);
        }
    }

    /// For files of git that are not as they were, where a state can be recorded that they have now.
    fn accept_damage(&mut self, name: &str, violations: &[Finding]) {
        let can_be_accepted = |violation: &Finding| {
            violation.reason == Reason::Integrity && !violation.change.now.is_empty()
        };
        if violations.iter().any(can_be_accepted) {
            let command = format!("git agentwt accept {name} --all");
            self.add("accept everything as it is now", &command);
        }
    }

    /// Adds the commands for what worktrees share: for each setting that was added one that removes
    /// it, one that accepts the refs, and one that accepts all settings and hooks. `worktree` is
    /// the directory of the worktree; without it, a setting is removed in the current directory.
    fn unset_or_accept_shared(
        &mut self,
        name: &str,
        worktree: Option<&Utf8Path>,
        violations: &[Finding],
    ) {
        let mut shared = Vec::new();
        for violation in violations {
            if violation.reason == Reason::Shared {
                shared.push(&violation.change);
            }
        }
        let added_keys = shared.iter().filter_map(|change| change.added_key());
        for key in added_keys.take(NAMED) {
            let command = match worktree {
                Some(worktree) => unset_command(worktree, key),
                None => format!("git config --unset-all {}", shell_word(key)),
            };
            self.add("remove a setting that was added", &command);
        }
        if shared.iter().any(|change| change.kind == Kind::Ref) {
            let command = format!("git agentwt accept {name} --refs");
            self.add("accept these refs as they are", &command);
        }
        if shared.iter().any(|change| change.kind != Kind::Ref) {
            let purpose = "accept the shared settings and hooks for all worktrees";
            self.add(purpose, &format!("git agentwt accept {name} --shared"));
        }
    }

    fn widen_scope(&mut self, name: &str, paths: &[&Finding]) {
        let mut wider = Vec::new();
        for finding in paths {
            if finding.may_be_widened() {
                wider.push(*finding);
            }
        }
        if !wider.is_empty() {
            // not by directory, which would open its other files too
            let groups = groups(&wider, Grouping::Single);
            let words = command_words(&groups, add_write, "--add-write '<pattern>'");
            let command = format!("git agentwt scope {name} {words}");
            self.add("let the agent edit these paths", &command);
        }
    }
}

/// The branch that a notice is about, escaped for a terminal.
fn branch_of(notice: &Finding) -> Option<String> {
    let Place::Git(file) = &notice.change.place else {
        return None;
    };
    let branch = file.strip_prefix(b"refs/heads/")?;
    Some(escape_for_terminal(branch))
}

impl Finding {
    /// True if the change is in commits only: they are on another branch that was made here.
    fn is_elsewhere(&self) -> bool {
        let mut seen = self.change.seen.iter();
        seen.all(|seen| matches!(seen, Seen::Commit(_) | Seen::Committed))
    }

    /// The directory of a repository inside of the worktree whose `.git` is the finding, or has it.
    fn repository_inside(&self) -> Option<RepoPath> {
        self.change.place.path()?.repository_inside()
    }

    /// True if the path is one of these, or below one.
    fn is_at_or_below(&self, places: &[&RepoPath]) -> bool {
        let Some(path) = self.change.place.path() else {
            return false;
        };
        let mut places = places.iter();
        places.any(|place| path == *place || path.is_below(place.as_bstr()))
    }

    /// True if the path ends with this name.
    fn is_named(&self, name: &str) -> bool {
        let path = self.change.place.path();
        path.is_some_and(|path| path.file_name() == name)
    }

    /// True for a shared setting or hook: git can run a program by it.
    fn is_planted(&self) -> bool {
        self.reason == Reason::Shared && matches!(self.change.kind, Kind::Config | Kind::Hook)
    }

    /// True if the scope would let the path be edited with another pattern in its list `write`.
    fn may_be_widened(&self) -> bool {
        let is_content = !matches!(self.change.kind, Kind::Leak | Kind::Perm);
        is_content
            && self.rule.as_ref().is_none_or(|rule| {
                rule.list == RuleList::Read && rule.origin != RuleOrigin::BuiltIn
            })
    }
}

/// The option that adds a path, and no other, to what may be edited.
fn add_write(path: &str) -> String {
    let mut pattern = format!("/{path}");
    for special in ["*", "?", "["] {
        pattern = pattern.replace(special, &format!("\\{special}"));
    }
    format!("--add-write {}", shell_word(&pattern))
}

/// The paths of some groups as words of a command; a placeholder if there are many, or if a path
/// cannot be typed as it is.
fn command_words(groups: &[FindingGroup], word: fn(&str) -> String, placeholder: &str) -> String {
    let mut words = Vec::new();
    for group in groups {
        let path = &group.shown;
        let is_odd = path.starts_with('-') || path.ends_with(' ') || path.contains('\\');
        if is_odd || words.len() == NAMED {
            return placeholder.to_owned();
        }
        words.push(word(path));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice;

    use super::*;
    use crate::answer::text::TextStyle;
    use crate::arguments::output::RecordEnd;

    use crate::judge::change::{Cause, Change, ChangeSet, SharedChange};
    use crate::judge::finding::{VerifyOptions, verify};
    use crate::scope::compiled::Scope;
    use crate::scope::rule::Case;

    fn printed(paths: &[(&str, Kind)], shared: usize, detail: Detail) -> Text {
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
        let verdict = VerdictReport::worktree("task", "/w".into(), &report);
        let mut text = Text::new(TextStyle::PLAIN, RecordEnd::Newline);
        text.width = Some(80);
        verdict.print(&mut text, detail);
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
            Detail::Groups,
        );
        assert_eq!(places(&text), ["d/", "f/a", "f/g/", "r"]);
        assert!(
            text.hints.contains("git agentwt accept task <path>...\n"),
            "{}",
            text.hints
        );
        let text = printed(
            &[("d/a", new), ("d/e/b", new), ("r", edit)],
            0,
            Detail::Groups,
        );
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
        let text = printed(&paths, 3, Detail::Groups);
        let lines = text.stdout.to_str_lossy();
        assert_eq!(lines.lines().count(), 23, "{lines}");
        assert!(
            lines.contains("  and 10 more: git agentwt verify -v task\n"),
            "{lines}"
        );
        assert!(
            lines.ends_with("  - 3 notices of what worktrees share: git agentwt verify -v task\n")
        );
        assert_eq!(places(&printed(&paths, 3, Detail::Everything)).len(), 33);
    }
}
