//! Computes what a fence is to enforce: [`compile`] makes a [`Policy`] of a scope, without a look at the
//! system. Each fence renders the policy in its own language.
//!
//! A fence of Linux names directories and files, a scope names patterns. So each write pattern becomes
//! grants, and gets a [`Class`]: what the fence lets through beside the pattern, or refuses although the
//! pattern allows it, is said once, and the verification after the run judges by the pattern itself.
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
//! A pattern never widens to the worktree itself, nor to a directory in which an excluded path stands.
//! What is excluded and stands in a granted directory is a mask, which Landlock cannot render.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::OsString;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::config::value::{Fence, Net};
use crate::scope::classifier::Verdict;
use crate::scope::compiled::Scope;
use crate::scope::reach::Reach;
use crate::scope::rule::{Access, EntryKind, RuleList, RuleOrigin, ScopeRule};
use crate::words::path::{RepoPath, escape_for_rule};

/// Holds what a policy is computed from.
pub struct PolicyFacts<'a> {
    /// The scope.
    pub scope: &'a Scope,
    /// The files of the worktree's HEAD that are present, sorted; asked only where a pattern needs it.
    pub tracked: &'a dyn Fn() -> Vec<RepoPath>,
    /// What stands at a path; none behind a link.
    pub exists: &'a dyn Fn(&RepoPath) -> Option<Standing>,
    /// Directories of ignored output (`target`), which are writable as a whole.
    pub ignored: Vec<RepoPath>,
    /// Where everything is.
    pub places: Places,
    /// What the user asks of the fence.
    pub wishes: Wishes,
}

/// Says what stands at a path of the worktree, without following a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link or a special file: no fence can grant it.
    Other,
}

/// Holds the directories that a fence has to know, all canonical.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// The worktree.
    pub root: Utf8PathBuf,
    /// The main worktree; hidden.
    pub main: Utf8PathBuf,
    /// The files of the main worktree that can be read where it cannot be made absent.
    pub shown: Vec<Utf8PathBuf>,
    /// The other worktrees that exist; hidden.
    pub others: Vec<Utf8PathBuf>,
    /// The git directory that all worktrees share; never writable.
    pub common_dir: Utf8PathBuf,
    /// What is hidden with `--withhold`: where objects are, and what other worktrees have in the git
    /// directory. The directory above `private` stands in it, and is shown.
    pub withheld: Vec<Utf8PathBuf>,
    /// The directories of the record that clients get in the place of their own; writable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<Utf8PathBuf>,
    /// The directory of the run: `git` and `tmp` are writable, `bin`, `dotgit` and `start.json`
    /// are not.
    pub private: Utf8PathBuf,
    /// This program.
    pub binary: Utf8PathBuf,
}

/// Holds what the user asks of the fence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wishes {
    /// The network.
    pub net: Net,
    /// Unix sockets that the command may connect to.
    pub sockets: Vec<Utf8PathBuf>,
    /// Other directories and files that the command may write.
    pub rw: Vec<Utf8PathBuf>,
    /// What is not writable although it stands in one of those.
    pub read_only: Vec<Utf8PathBuf>,
    /// Whether the command brings a sandbox of its own.
    pub nested: bool,
    /// Whether the objects that all worktrees share are hidden.
    pub withholds: bool,
    /// Whether a pattern that no rule says exactly makes only the files writable that match it, and not the
    /// directory that it is about.
    pub strict: bool,
    /// What is asked of a container.
    pub container: ContainerWishes,
}

/// Holds what is asked of a container, in the words of podman-run(1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContainerWishes {
    /// The image; the host's root without one.
    pub image: Option<String>,
    /// The most memory.
    pub memory: Option<String>,
    /// The most processors.
    pub cpus: Option<f64>,
    /// The user inside; the one outside without one.
    pub user: Option<String>,
    /// The program.
    pub program: ContainerProgram,
}

/// Names a program that runs containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerProgram {
    /// podman(1).
    #[default]
    Podman,
    /// docker(1).
    Docker,
}

impl ContainerProgram {
    /// The name of the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }
}

/// Says what a fence is to enforce.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Where everything is.
    pub places: Places,
    /// Whether the worktree is writable as a whole, but for the masks and `.git`. The grants are then
    /// for Landlock.
    pub is_whole: bool,
    /// What is writable in the worktree, sorted; none stands below another.
    pub grants: Vec<Grant>,
    /// The granted directories that are missing, and those above them: made before the command starts, an
    /// inner one after the one around it.
    pub directories_to_make: Vec<RepoPath>,
    /// What is excluded and stands in something writable.
    pub masks: Vec<RepoPath>,
    /// The directories of ignored output among the grants.
    pub ignored: Vec<RepoPath>,
    /// How well each pattern is enforced.
    pub patterns: Vec<PatternClass>,
    /// The write patterns as regular expressions.
    pub write_regexes: Vec<String>,
    /// The exclude patterns as regular expressions.
    pub exclude_regexes: Vec<String>,
    /// What the user asks of the fence.
    pub wishes: Wishes,
}

/// Makes one path of the worktree writable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Grant {
    /// The path.
    pub path: RepoPath,
    /// What is granted there.
    pub kind: GrantKind,
}

/// Says what is granted at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantKind {
    /// Everything below a directory.
    Tree,
    /// The content of a file: it cannot be removed or replaced.
    File,
}

/// Says how well a fence enforces a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// As the pattern says.
    Exact,
    /// More can be written than the pattern says; the verification finds it.
    Over,
    /// Less can be written than the pattern says.
    Under,
}

/// Says how well some fences enforce one pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternClass {
    /// The pattern as it was written.
    pub pattern: String,
    /// How well.
    pub class: Class,
    /// What that means, in a sentence; empty for [`Class::Exact`].
    pub says: String,
    /// The fences.
    pub fences: Vec<Fence>,
}

/// The fences that name directories and files.
const BY_PATH: [Fence; 3] = [Fence::Landlock, Fence::Mount, Fence::Container];
/// The fences that make the worktree as a whole writable.
const BY_MOUNT: [Fence; 2] = [Fence::Mount, Fence::Container];

impl Policy {
    /// The policy as JSON, for people and programs that read it.
    pub fn to_json(&self) -> Vec<u8> {
        let text = serde_json::to_string_pretty(self);
        (text.unwrap_or_default() + "\n").into_bytes()
    }

    /// How well a fence enforces each pattern.
    pub fn classes(&self, fence: Fence) -> impl Iterator<Item = &PatternClass> {
        let all = self.patterns.iter();
        all.filter(move |class| class.fences.contains(&fence))
    }

    /// A path of the worktree, as the system takes it.
    pub fn at(&self, path: &RepoPath) -> OsString {
        let below = path.to_os_path().unwrap_or_default();
        self.places.root.as_std_path().join(below).into()
    }

    /// The directories of the run and of its client that are writable.
    pub fn own_directories(&self) -> Vec<Utf8PathBuf> {
        let of_run = ["git", "tmp"].map(|name| self.places.private.join(name));
        let states = self.places.states.iter().cloned();
        of_run.into_iter().chain(states).collect()
    }

    /// The directory of the run, or the record around it where those of other worktrees are hidden.
    pub fn record(&self) -> &Utf8Path {
        let private = &self.places.private;
        let around = private.parent().filter(|_| self.wishes.withholds);
        around.unwrap_or(private)
    }

    /// The worktrees that are hidden and stand in a bare repository, and the others.
    pub fn hidden_inside(&self) -> (Vec<&Utf8Path>, Vec<&Utf8Path>) {
        let is_inside = |path: &&Utf8Path| path.starts_with(&self.places.common_dir);
        self.hidden().into_iter().partition(is_inside)
    }

    /// The worktrees that are hidden; none of them stands in another.
    pub fn hidden(&self) -> Vec<&Utf8Path> {
        let places = &self.places;
        let mut all: Vec<&Utf8Path> = vec![&places.main];
        all.extend(places.others.iter().map(Utf8PathBuf::as_path));
        // a bare repository is where the worktree has its git directory
        all.retain(|one| ![&*places.root, &*places.common_dir].contains(one));
        all.sort_unstable();
        let mut hidden: Vec<&Utf8Path> = Vec::new();
        for one in all {
            if !hidden.iter().any(|above| one.starts_with(above)) {
                hidden.push(one);
            }
        }
        hidden
    }
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
    let ignored = compiler.add_ignored();
    compiler.add_matches();
    let grants = compiler.outermost_grants();
    let masks = compiler.masks(&grants);
    compiler.say_masks(&masks);
    let is_granted = |path: &RepoPath| grants.iter().any(|grant| grant.path == *path);
    let mut directories_to_make = compiler.missing;
    directories_to_make.retain(is_granted);
    for path in directories_to_make.clone() {
        let above = path.parents().filter_map(|path| RepoPath::parse(path).ok());
        directories_to_make.extend(above.filter(|path| (facts.exists)(path).is_none()));
    }
    directories_to_make.sort_unstable();
    directories_to_make.dedup();
    Policy {
        places: facts.places.clone(),
        is_whole: compiler.is_whole,
        grants,
        directories_to_make,
        masks,
        ignored,
        patterns: compiler.patterns,
        write_regexes: facts.scope.regexes(RuleList::Write).collect(),
        exclude_regexes: facts.scope.regexes(RuleList::Exclude).collect(),
        wishes: facts.wishes.clone(),
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

/// What a pattern has come to: its class, and why.
type Outcome = (Class, String);

const fn exact() -> Outcome {
    (Class::Exact, String::new())
}

fn under(says: impl Into<String>) -> Outcome {
    (Class::Under, says.into())
}

impl Compiler<'_, '_> {
    fn add_pattern(&mut self, rule: &ScopeRule, reach: &Reach) {
        self.say(&rule.pattern, &[Fence::Seatbelt], exact());
        let outcome = match reach {
            Reach::Everything => {
                self.add_everything();
                self.say(&rule.pattern, &BY_MOUNT, exact());
                let says = "what stands at the top of the worktree can be written; \
                     nothing new can be made there";
                return self.say(&rule.pattern, &[Fence::Landlock], under(says));
            }
            Reach::Below(path) | Reach::Directory(path) => self.add_tree(path),
            Reach::Path(path) => self.add_path(path),
            Reach::SomeBelow(directory) => self.add_some_below(directory),
            Reach::Anywhere => self.only_matches(),
        };
        self.say(&rule.pattern, &BY_PATH, outcome);
    }

    fn say(&mut self, pattern: &str, fences: &[Fence], (class, says): Outcome) {
        self.patterns.push(PatternClass {
            pattern: pattern.to_owned(),
            class,
            says,
            fences: fences.to_vec(),
        });
    }

    /// Grants what stands at the top of the worktree.
    fn add_everything(&mut self) {
        self.is_whole = true;
        for path in self.tracked().to_vec() {
            let top = path.as_bstr().split(|byte| *byte == b'/').next();
            let Some(Ok(top)) = top.map(RepoPath::parse) else {
                continue;
            };
            let verdict = self.facts.scope.verdict(&top, EntryKind::File);
            if !self.grants.contains_key(&top) && !is_above_write(verdict) {
                self.add_standing(&top);
            }
        }
    }

    /// Grants what stands at a path, if something does that can be granted.
    fn add_standing(&mut self, path: &RepoPath) {
        let kind = match (self.facts.exists)(path) {
            Some(Standing::Directory) if !self.is_closed(path) => GrantKind::Tree,
            Some(Standing::File) if !is_dot_git(path) => GrantKind::File,
            Some(_) | None => return,
        };
        self.grants.insert(path.clone(), kind);
    }

    /// Grants a directory.
    fn add_tree(&mut self, path: &RepoPath) -> Outcome {
        if is_dot_git(path) {
            return under("`.git` is never writable");
        }
        if self.is_closed(path) {
            return exact();
        }
        let exists = self.facts.exists;
        let mut all = std::iter::successors(Some(path.clone()), RepoPath::parent);
        let in_the_way = all.find_map(|one| {
            let standing = exists(&one)?;
            Some((standing != Standing::Directory).then_some(one))
        });
        if let Some(Some(other)) = in_the_way {
            return under(format!(
                "`{other}` is not a directory, so nothing is writable there"
            ));
        }
        if exists(path).is_none() {
            self.missing.push(path.clone());
        }
        self.grants.insert(path.clone(), GrantKind::Tree);
        exact()
    }

    fn add_path(&mut self, path: &RepoPath) -> Outcome {
        if is_dot_git(path) {
            return under("`.git` is never writable");
        }
        let verdict = self.facts.scope.verdict(path, EntryKind::File);
        match (self.facts.exists)(path) {
            Some(Standing::Directory) => self.add_tree(path),
            Some(Standing::File) if is_above_write(verdict) => exact(),
            Some(Standing::File) => {
                self.grants.insert(path.clone(), GrantKind::File);
                under("it can be edited in place, and neither be removed nor replaced")
            }
            Some(Standing::Other) => under(format!(
                "`{path}` is a link or a special file, which no rule can grant"
            )),
            None => match path.parent().and_then(|parent| self.widen(&parent)) {
                Some(outcome) => outcome,
                None => under(format!("`{path}` does not exist, and cannot be made")),
            },
        }
    }

    fn add_some_below(&mut self, directory: &RepoPath) -> Outcome {
        self.widen(directory).unwrap_or_else(|| self.only_matches())
    }

    /// Grants all of a directory for a pattern of which it is more than what the pattern says, if that is
    /// asked for and touches nothing that is excluded.
    fn widen(&mut self, directory: &RepoPath) -> Option<Outcome> {
        let is_inside = |path: &RepoPath| path.is_below(directory.as_bstr());
        let is_closed = self.facts.wishes.strict || self.is_closed(directory);
        if is_closed || self.excluded().iter().any(is_inside) {
            return None;
        }
        let outcome = self.add_tree(directory);
        let says = format!("everything below `{directory}` can be written");
        Some(match outcome.0 {
            Class::Exact => (Class::Over, says),
            Class::Over | Class::Under => outcome,
        })
    }

    fn only_matches(&mut self) -> Outcome {
        self.needs_matches = true;
        under("the files that match now can be edited in place; new ones cannot be made")
    }

    fn add_ignored(&mut self) -> Vec<RepoPath> {
        let mut ignored = self.facts.ignored.clone();
        ignored.retain(|path| !is_dot_git(path) && !self.is_closed(path));
        let stands = |path: &RepoPath| (self.facts.exists)(path);
        ignored.retain(|path| matches!(stands(path), None | Some(Standing::Directory)));
        let missing = ignored.iter().filter(|path| stands(path).is_none());
        let missing: Vec<RepoPath> = missing.cloned().collect();
        self.missing.extend(missing);
        let grants = ignored.iter().map(|path| (path.clone(), GrantKind::Tree));
        self.grants.extend(grants);
        ignored
    }

    /// Grants the tracked files and directories that the scope lets be written.
    fn add_matches(&mut self) {
        if !self.needs_matches {
            return;
        }
        for path in self.outermost(|verdict| verdict.access == Access::Write) {
            self.add_standing(&path);
        }
    }

    /// The tracked files, and instead of all files of a directory that directory, of which something is
    /// true.
    fn outermost(&self, is_wanted: impl Fn(Verdict<'_>) -> bool) -> Vec<RepoPath> {
        let mut classifier = self.facts.scope.classifier();
        let mut found: Vec<RepoPath> = Vec::new();
        let mut before: Vec<u8> = Vec::new();
        for path in self.tracked() {
            let bytes = path.as_bstr().as_bytes();
            let last = found.last();
            if last.is_some_and(|last| path.is_below(last.as_bstr())) {
                continue;
            }
            let same = before.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            let ends = (0..bytes.len()).filter(|at| bytes[*at] == b'/' && *at >= same);
            let directories = ends.filter_map(|end| RepoPath::parse(&bytes[..end]).ok());
            let directories = directories.map(|directory| (directory, EntryKind::Directory));
            let mut levels = directories.chain([(path.clone(), EntryKind::File)]);
            let wanted = levels.find(|(path, kind)| is_wanted(classifier.verdict(path, *kind)));
            found.extend(wanted.map(|(path, _)| path));
            before.clear();
            before.extend_from_slice(bytes);
        }
        found
    }

    fn tracked(&self) -> &[RepoPath] {
        self.tracked.get_or_init(|| (self.facts.tracked)())
    }

    /// What is excluded and stands in the worktree, as far as a pattern names it or git tracks it.
    fn excluded(&self) -> &[RepoPath] {
        self.excluded.get_or_init(|| {
            let mut all: Vec<RepoPath> = Vec::new();
            let mut is_open = false;
            for (_, reach) in self.facts.scope.reaches(RuleList::Exclude) {
                match reach {
                    Reach::Below(path) | Reach::Path(path) | Reach::Directory(path) => {
                        all.push(path);
                    }
                    Reach::Everything | Reach::SomeBelow(_) | Reach::Anywhere => is_open = true,
                }
            }
            if is_open {
                all.extend(self.outermost(is_excluded));
            }
            all.extend(RepoPath::parse(".agentwt"));
            let stands = |path: &RepoPath| (self.facts.exists)(path);
            all.retain(|path| stands(path).is_some_and(|it| it != Standing::Other));
            all.sort_unstable();
            all.dedup();
            all
        })
    }

    /// Whether nothing at a path and below may be written, whatever a write pattern says.
    fn is_closed(&self, path: &RepoPath) -> bool {
        let verdict = |path: &RepoPath, kind| self.facts.scope.verdict(path, kind);
        let new = RepoPath::child(Some(path), b"new-file");
        let closed = |path: &RepoPath, kind| is_above_write(verdict(path, kind));
        let takes_nothing = closed(&new, EntryKind::File) && closed(&new, EntryKind::Directory);
        is_dot_git(path) || closed(path, EntryKind::Directory) || takes_nothing
    }

    /// The grants, without those that stand below another.
    fn outermost_grants(&mut self) -> Vec<Grant> {
        let mut grants: Vec<Grant> = Vec::new();
        for (path, kind) in std::mem::take(&mut self.grants) {
            let above = |grant: &Grant| grant.kind == GrantKind::Tree;
            let is_inside = path.parents().any(|parent| {
                let found = grants.binary_search_by(|grant| grant.path.as_bstr().cmp(parent));
                found.is_ok_and(|at| above(&grants[at]))
            });
            if !is_inside {
                grants.push(Grant { path, kind });
            }
        }
        grants
    }

    fn masks(&self, grants: &[Grant]) -> Vec<RepoPath> {
        if grants.iter().all(|grant| grant.kind == GrantKind::File) && !self.is_whole {
            return Vec::new();
        }
        let is_inside = |path: &RepoPath| {
            let mut grants = grants.iter();
            self.is_whole || grants.any(|grant| path.is_below(grant.path.as_bstr()))
        };
        let mut masks: Vec<RepoPath> = Vec::new();
        for path in self.excluded().iter().filter(|path| is_inside(path)) {
            if !masks.iter().any(|mask| path.is_below(mask.as_bstr())) {
                masks.push(path.clone());
            }
        }
        masks
    }

    /// Says of each mask that Landlock has none.
    fn say_masks(&mut self, masks: &[RepoPath]) {
        for mask in masks {
            let below = RepoPath::child(Some(mask), b"new-file");
            let places = [(mask, EntryKind::Directory), (&below, EntryKind::File)];
            let verdicts = places.map(|(path, kind)| self.facts.scope.verdict(path, kind));
            let mut verdicts = verdicts.into_iter().filter(|verdict| is_excluded(*verdict));
            let rule = verdicts.find_map(|verdict| verdict.rule);
            let pattern = rule.map_or_else(|| mask.to_string(), |rule| rule.pattern.clone());
            let says = format!("`{mask}` can be written with the directory around it");
            self.say(&pattern, &[Fence::Landlock], (Class::Over, says));
        }
    }
}

fn is_excluded(verdict: Verdict<'_>) -> bool {
    let rule = verdict.rule;
    rule.is_some_and(|rule| rule.list == RuleList::Exclude)
}

/// Whether a rule that is stronger than every write rule decided.
fn is_above_write(verdict: Verdict<'_>) -> bool {
    let is_built_in = |rule: &ScopeRule| rule.origin == RuleOrigin::BuiltIn;
    is_excluded(verdict) || verdict.rule.is_some_and(is_built_in)
}

fn is_dot_git(path: &RepoPath) -> bool {
    let top = path.as_bstr().split(|byte| *byte == b'/').next();
    top.is_some_and(|top| top.eq_ignore_ascii_case(b".git"))
}

impl std::fmt::Display for PatternClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {}", escape_for_rule(&self.pattern), self.says)
    }
}
