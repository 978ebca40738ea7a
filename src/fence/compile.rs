//! Computes the policy of a scope, without a look at the system.
//!
//! | pattern | grants | class |
//! |---|---|---|
//! | `src/**`, `/src/` | the directory, made if it is missing | exact |
//! | `/Makefile`, and it is there | the file, to be edited in place | under |
//! | `docs/a.md`, missing | cover: `docs`; strict: none | over; under |
//! | `tests/**/*.rs` | cover: `tests`; strict: the files that match | over; under |
//! | `*.md`, `src/`, `/*.c` | the files and directories that match | under |
//! | `**` | the worktree; Landlock: what stands at its top | exact; under |
//!
//! A pattern never widens to the worktree itself, nor to a directory in which an excluded path
//! stands. What is excluded and stands in a granted directory is a mask, which Landlock cannot
//! render.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use bstr::{BStr, ByteSlice as _};

use crate::config::value::Fence;
use crate::fence::policy::{Class, FenceRequest, Grant, GrantKind, PatternClass, Places, Policy};
use crate::scope::classifier::Verdict;
use crate::scope::compiled::Scope;
use crate::scope::reach::Reach;
use crate::scope::rule::{Access, EntryKind, RuleList, RuleOrigin, ScopeRule};
use crate::words::path::RepoPath;

/// The fences that name directories and files.
const BY_PATH: [Fence; 3] = [Fence::Landlock, Fence::Mount, Fence::Container];
/// The fences that make the worktree as a whole writable.
const BY_MOUNT: [Fence; 2] = [Fence::Mount, Fence::Container];

/// Holds what a policy is computed from.
pub struct PolicyFacts<'a> {
    /// The scope.
    pub scope: &'a Scope,
    /// The files of the worktree's HEAD that are present, sorted; asked only where a pattern needs
    /// it.
    pub tracked: &'a dyn Fn() -> Vec<RepoPath>,
    /// What stands at a path; none behind a link.
    pub exists: &'a dyn Fn(&RepoPath) -> Option<ExistingEntry>,
    /// Directories of ignored output (`target`), which are writable as a whole.
    pub ignored: Vec<RepoPath>,
    /// Where everything is.
    pub places: Places,
    /// What the user asks of the fence.
    pub request: FenceRequest,
}

/// Says what stands at a path of the worktree, without following a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingEntry {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link or a special file: no fence can grant it.
    Other,
}

/// Computes the policy of a scope.
pub fn compile(facts: &PolicyFacts<'_>) -> Policy {
    let mut compiler = Compiler {
        facts,
        tracked: OnceCell::new(),
        excluded: OnceCell::new(),
        is_whole: false,
        needs_matches: false,
        grants: BTreeMap::new(),
        missing: Vec::new(),
        patterns: Vec::new(),
    };
    for (rule, reach) in facts.scope.reaches(RuleList::Write) {
        compiler.add_pattern(rule, &reach);
    }
    // `outermost_grants` takes all grants, so it comes after every step that adds one
    let ignored = compiler.add_ignored();
    compiler.add_matches();
    let grants = compiler.outermost_grants();
    let masks = compiler.masks(&grants);
    compiler.add_mask_classes(&masks);
    Policy {
        places: facts.places.clone(),
        is_whole: compiler.is_whole,
        directories_to_make: compiler.directories_to_make(&grants),
        grants,
        masks,
        ignored,
        patterns: compiler.patterns,
        write_regexes: facts.scope.regexes(RuleList::Write).collect(),
        exclude_regexes: facts.scope.regexes(RuleList::Exclude).collect(),
        request: facts.request.clone(),
    }
}

/// Collects the grants of one pattern after the other.
struct Compiler<'f, 'a> {
    facts: &'f PolicyFacts<'a>,
    tracked: OnceCell<Vec<RepoPath>>,
    excluded: OnceCell<Vec<RepoPath>>,
    is_whole: bool,
    needs_matches: bool,
    grants: BTreeMap<RepoPath, GrantKind>,
    missing: Vec<RepoPath>,
    patterns: Vec<PatternClass>,
}

/// How well a pattern is enforced, and what that means in a sentence.
struct Outcome {
    class: Class,
    says: String,
}

impl Outcome {
    const fn exact() -> Self {
        Self {
            class: Class::Exact,
            says: String::new(),
        }
    }

    fn under(says: impl Into<String>) -> Self {
        Self {
            class: Class::Under,
            says: says.into(),
        }
    }

    fn over(says: String) -> Self {
        Self {
            class: Class::Over,
            says,
        }
    }
}

impl Compiler<'_, '_> {
    /// Grants what a write pattern reaches, and notes how well each fence enforces it.
    fn add_pattern(&mut self, rule: &ScopeRule, reach: &Reach) {
        let pattern = &rule.pattern;
        self.add_class(pattern, &[Fence::Seatbelt], Outcome::exact());
        let outcome = match reach {
            Reach::Everything => {
                self.add_everything();
                self.add_class(pattern, &BY_MOUNT, Outcome::exact());
                let says = "what stands at the top of the worktree can be written; \
                     nothing new can be made there";
                self.add_class(pattern, &[Fence::Landlock], Outcome::under(says));
                return;
            }
            Reach::Below(path) | Reach::Directory(path) => self.add_tree(path),
            Reach::Path(path) => self.add_path(path),
            Reach::SomeBelow(directory) => self.add_some_below(directory),
            Reach::Anywhere => self.only_matches(),
        };
        self.add_class(pattern, &BY_PATH, outcome);
    }

    /// Notes how well some fences enforce a pattern.
    fn add_class(&mut self, pattern: &str, fences: &[Fence], outcome: Outcome) {
        self.patterns.push(PatternClass {
            pattern: pattern.to_owned(),
            class: outcome.class,
            says: outcome.says,
            fences: fences.to_vec(),
        });
    }

    /// Grants what stands at the top of the worktree.
    fn add_everything(&mut self) {
        self.is_whole = true;
        for path in self.tracked().to_vec() {
            let Ok(top) = RepoPath::parse(first_component(path.as_bstr())) else {
                continue;
            };
            let verdict = self.facts.scope.verdict(&top, EntryKind::File);
            if !self.grants.contains_key(&top) && !is_above_write(verdict) {
                self.add_existing(&top);
            }
        }
    }

    /// Grants what stands at a path, if something does that can be granted.
    fn add_existing(&mut self, path: &RepoPath) {
        let kind = match self.entry_at(path) {
            Some(ExistingEntry::Directory) if !self.is_closed(path) => GrantKind::Tree,
            Some(ExistingEntry::File) if !is_dot_git(path) => GrantKind::File,
            Some(_) | None => return,
        };
        self.grants.insert(path.clone(), kind);
    }

    /// Grants a directory.
    fn add_tree(&mut self, path: &RepoPath) -> Outcome {
        if is_dot_git(path) {
            return Outcome::under("`.git` is never writable");
        }
        if self.is_closed(path) {
            return Outcome::exact();
        }
        if let Some(obstacle) = self.obstacle_at_or_above(path) {
            return Outcome::under(format!(
                "`{obstacle}` is not a directory, so nothing is writable there"
            ));
        }
        if self.entry_at(path).is_none() {
            self.missing.push(path.clone());
        }
        self.grants.insert(path.clone(), GrantKind::Tree);
        Outcome::exact()
    }

    /// What stands in the way of a directory: the innermost that exists, of the path and those
    /// above it, if that is no directory.
    fn obstacle_at_or_above(&self, path: &RepoPath) -> Option<RepoPath> {
        for place in std::iter::successors(Some(path.clone()), RepoPath::parent) {
            match self.entry_at(&place) {
                None => {}
                Some(ExistingEntry::Directory) => return None,
                Some(ExistingEntry::File | ExistingEntry::Other) => return Some(place),
            }
        }
        None
    }

    /// Grants a path that a pattern names.
    fn add_path(&mut self, path: &RepoPath) -> Outcome {
        if is_dot_git(path) {
            return Outcome::under("`.git` is never writable");
        }
        let verdict = self.facts.scope.verdict(path, EntryKind::File);
        match self.entry_at(path) {
            Some(ExistingEntry::Directory) => self.add_tree(path),
            Some(ExistingEntry::File) if is_above_write(verdict) => Outcome::exact(),
            Some(ExistingEntry::File) => {
                self.grants.insert(path.clone(), GrantKind::File);
                Outcome::under("it can be edited in place, and neither be removed nor replaced")
            }
            Some(ExistingEntry::Other) => Outcome::under(format!(
                "`{path}` is a link or a special file, which no rule can grant"
            )),
            None => {
                let widened = path.parent().and_then(|parent| self.widen(&parent));
                widened.unwrap_or_else(|| {
                    Outcome::under(format!("`{path}` does not exist, and cannot be made"))
                })
            }
        }
    }

    fn add_some_below(&mut self, directory: &RepoPath) -> Outcome {
        self.widen(directory).unwrap_or_else(|| self.only_matches())
    }

    /// Grants all of a directory for a pattern of which it is more than what the pattern says, if
    /// that is asked for and touches nothing that is excluded.
    fn widen(&mut self, directory: &RepoPath) -> Option<Outcome> {
        let is_inside = |path: &RepoPath| path.is_below(directory.as_bstr());
        let is_closed = self.facts.request.strict || self.is_closed(directory);
        if is_closed || self.excluded().iter().any(is_inside) {
            return None;
        }
        let outcome = self.add_tree(directory);
        Some(match outcome.class {
            Class::Exact => Outcome::over(format!("everything below `{directory}` can be written")),
            Class::Over | Class::Under => outcome,
        })
    }

    fn only_matches(&mut self) -> Outcome {
        self.needs_matches = true;
        Outcome::under("the files that match now can be edited in place; new ones cannot be made")
    }

    /// Grants the directories of ignored output, and returns those.
    fn add_ignored(&mut self) -> Vec<RepoPath> {
        let mut granted = Vec::new();
        for path in &self.facts.ignored {
            let entry = self.entry_at(path);
            let can_be_directory = matches!(entry, None | Some(ExistingEntry::Directory));
            if is_dot_git(path) || self.is_closed(path) || !can_be_directory {
                continue;
            }
            if entry.is_none() {
                self.missing.push(path.clone());
            }
            self.grants.insert(path.clone(), GrantKind::Tree);
            granted.push(path.clone());
        }
        granted
    }

    /// Grants the tracked files and directories that the scope lets be written.
    fn add_matches(&mut self) {
        if !self.needs_matches {
            return;
        }
        for path in self.outermost(|verdict| verdict.access == Access::Write) {
            self.add_existing(&path);
        }
    }

    /// The tracked files of which something is true; where it is true of a directory, the
    /// directory instead of its files.
    fn outermost(&self, is_wanted: impl Fn(Verdict<'_>) -> bool) -> Vec<RepoPath> {
        let mut classifier = self.facts.scope.classifier();
        let mut outermost: Vec<RepoPath> = Vec::new();
        let mut path_before: &[u8] = &[];
        for path in self.tracked() {
            if let Some(last) = outermost.last()
                && path.is_below(last.as_bstr())
            {
                continue;
            }
            let mut directories = new_directories(path.as_bstr(), path_before).into_iter();
            let wanted_directory = directories
                .find(|directory| is_wanted(classifier.verdict(directory, EntryKind::Directory)));
            if let Some(directory) = wanted_directory {
                outermost.push(directory);
            } else if is_wanted(classifier.verdict(path, EntryKind::File)) {
                outermost.push(path.clone());
            }
            path_before = path.as_bstr();
        }
        outermost
    }

    fn tracked(&self) -> &[RepoPath] {
        self.tracked.get_or_init(|| (self.facts.tracked)())
    }

    fn entry_at(&self, path: &RepoPath) -> Option<ExistingEntry> {
        (self.facts.exists)(path)
    }

    /// The files and directories of the worktree that are excluded, as far as a pattern names the
    /// path or git tracks it; no links. Computed at the first call.
    fn excluded(&self) -> &[RepoPath] {
        self.excluded.get_or_init(|| {
            let mut excluded: Vec<RepoPath> = Vec::new();
            let mut needs_tracked = false;
            for (_, reach) in self.facts.scope.reaches(RuleList::Exclude) {
                match reach {
                    Reach::Below(path) | Reach::Path(path) | Reach::Directory(path) => {
                        excluded.push(path);
                    }
                    Reach::Everything | Reach::SomeBelow(_) | Reach::Anywhere => {
                        needs_tracked = true;
                    }
                }
            }
            // the other patterns name no single path: what they match is looked for
            if needs_tracked {
                excluded.extend(self.outermost(is_excluded));
            }
            // ours, which no pattern needs to name
            excluded.extend(RepoPath::parse(".agentwt"));
            excluded.retain(|path| {
                let entry = self.entry_at(path);
                matches!(entry, Some(ExistingEntry::File | ExistingEntry::Directory))
            });
            excluded.sort_unstable();
            excluded.dedup();
            excluded
        })
    }

    /// True if nothing at a path and below may be written, whatever a write pattern says.
    fn is_closed(&self, path: &RepoPath) -> bool {
        if is_dot_git(path) || self.is_closed_at(path, EntryKind::Directory) {
            return true;
        }
        let new = RepoPath::child(Some(path), b"new-file");
        self.is_closed_at(&new, EntryKind::File) && self.is_closed_at(&new, EntryKind::Directory)
    }

    fn is_closed_at(&self, path: &RepoPath, kind: EntryKind) -> bool {
        is_above_write(self.facts.scope.verdict(path, kind))
    }

    /// The grants, without those that stand below another.
    fn outermost_grants(&mut self) -> Vec<Grant> {
        let mut grants: Vec<Grant> = Vec::new();
        for (path, kind) in std::mem::take(&mut self.grants) {
            if !is_in_granted_tree(&grants, &path) {
                grants.push(Grant { path, kind });
            }
        }
        grants
    }

    /// The granted directories that are missing, and the missing ones above them.
    fn directories_to_make(&self, grants: &[Grant]) -> Vec<RepoPath> {
        let mut directories = Vec::new();
        for path in &self.missing {
            if !grants.iter().any(|grant| grant.path == *path) {
                continue;
            }
            directories.push(path.clone());
            for above in path.parents().flat_map(RepoPath::parse) {
                if self.entry_at(&above).is_none() {
                    directories.push(above);
                }
            }
        }
        directories.sort_unstable();
        directories.dedup();
        directories
    }

    /// What is excluded in something that is granted; none stands below another.
    fn masks(&self, grants: &[Grant]) -> Vec<RepoPath> {
        if grants.iter().all(|grant| grant.kind == GrantKind::File) && !self.is_whole {
            return Vec::new();
        }
        let is_below_grant = |path: &RepoPath| {
            grants
                .iter()
                .any(|grant| path.is_below(grant.path.as_bstr()))
        };
        let mut masks: Vec<RepoPath> = Vec::new();
        for path in self.excluded() {
            let is_masked = masks.iter().any(|mask| path.is_below(mask.as_bstr()));
            if !is_masked && (self.is_whole || is_below_grant(path)) {
                masks.push(path.clone());
            }
        }
        masks
    }

    /// Notes of each mask that Landlock has none.
    fn add_mask_classes(&mut self, masks: &[RepoPath]) {
        for mask in masks {
            let pattern = self.excluding_pattern(mask);
            let says = format!("`{mask}` can be written with the directory around it");
            self.add_class(&pattern, &[Fence::Landlock], Outcome::over(says));
        }
    }

    /// The pattern that excludes a path or what is below it; the path itself where no rule does.
    fn excluding_pattern(&self, path: &RepoPath) -> String {
        let scope = self.facts.scope;
        let below = RepoPath::child(Some(path), b"new-file");
        let verdicts = [
            scope.verdict(path, EntryKind::Directory),
            scope.verdict(&below, EntryKind::File),
        ];
        for verdict in verdicts {
            if let Some(rule) = verdict.rule
                && is_excluded(verdict)
            {
                return rule.pattern.clone();
            }
        }
        path.to_string()
    }
}

/// True if a path is below a granted directory; the grants are sorted.
fn is_in_granted_tree(grants: &[Grant], path: &RepoPath) -> bool {
    path.parents().any(|parent| {
        let position = grants.binary_search_by(|grant| grant.path.as_bstr().cmp(parent));
        position.is_ok_and(|at| grants[at].kind == GrantKind::Tree)
    })
}

/// The directories of a path that are not directories of the path before, the outermost first.
fn new_directories(path: &BStr, path_before: &[u8]) -> Vec<RepoPath> {
    let pairs = path_before.iter().zip(path.iter());
    let common = pairs.take_while(|(a, b)| a == b).count();
    let mut directories = Vec::new();
    for end in common..path.len() {
        if path[end] == b'/'
            && let Ok(directory) = RepoPath::parse(&path[..end])
        {
            directories.push(directory);
        }
    }
    directories
}

/// True if an exclude rule decided.
fn is_excluded(verdict: Verdict<'_>) -> bool {
    let rule = verdict.rule;
    rule.is_some_and(|rule| rule.list == RuleList::Exclude)
}

/// True if a rule that is stronger than every write rule decided.
fn is_above_write(verdict: Verdict<'_>) -> bool {
    let is_built_in = |rule: &ScopeRule| rule.origin == RuleOrigin::BuiltIn;
    is_excluded(verdict) || verdict.rule.is_some_and(is_built_in)
}

fn is_dot_git(path: &RepoPath) -> bool {
    first_component(path.as_bstr()).eq_ignore_ascii_case(b".git")
}

fn first_component(path: &BStr) -> &[u8] {
    path.split_str("/").next().unwrap_or_default()
}
