//! The answer of `list`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::shapes::Held;
use crate::answer::shapes::{
    BaseField, OwnerField, PathField, ScopeField, VerificationField, paths,
};
use crate::answer::{Answer, Cell, Paint, Row, Text, age, count};
use crate::path::escape_for_terminal;
use crate::placed::DriftCounts;
use crate::scope::overlap::{Overlap, some};
use crate::size::Size;
use crate::truth::position::{BaseBranch, Position, Upstream};

/// The number of names and files that people see of an overlap.
const SHOWN: usize = 8;

/// The answer of `list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListAnswer {
    /// The worktrees, sorted by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<ListedWorktree>>,
    /// With `--overlap`: each pair of worktrees that may write the same files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlaps: Option<Vec<ListedOverlap>>,
    /// With `--trash`: removed worktrees that can come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash: Option<Vec<ListedTrash>>,
    /// The overlaps, by groups of worktrees.
    #[serde(skip)]
    pub groups: Vec<Overlap>,
}

/// A removed worktree, or commits of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedTrash {
    /// The name.
    pub name: String,
    /// The directory below the root, or the ref that keeps commits.
    pub kept: String,
    /// The time of the removal, as `--from` takes it.
    pub time: String,
    /// The bytes on disk; null if they cannot be read.
    pub bytes: Option<u64>,
    /// When `prune` may delete it; null for never.
    pub expires: Option<String>,
}

impl ListedTrash {
    fn row(&self) -> Row {
        let size = self.bytes.map(|bytes| Size(bytes).to_string());
        let expires = self.expires.as_deref();
        Row::new(vec![
            Cell::both(&self.name).paint(Paint::name),
            Cell::people(size.as_deref().unwrap_or("unknown")),
            Cell::people(expires.unwrap_or("never")),
            Cell::porcelain(
                self.bytes
                    .map(|bytes| bytes.to_string())
                    .unwrap_or_default(),
            ),
            Cell::porcelain(expires.unwrap_or_default()),
            Cell::both(&self.kept),
        ])
    }
}

/// A worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedWorktree {
    /// The name.
    pub name: String,
    /// The directory.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// `ready`, `missing` (the directory is gone), `incomplete` (its `add` runs, or was killed) or
    /// `damaged`.
    pub state: &'static str,
    /// The branch; absent if the worktree is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// When an incomplete `add` began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// The number of the process of an incomplete `add`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// What is wrong with a damaged worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What is recorded; absent if the worktree is incomplete or damaged.
    #[serde(flatten)]
    pub details: Option<ListedDetails>,
}

/// What is recorded of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedDetails {
    /// Where the worktree started.
    pub base: BaseField,
    /// Where the branch stands.
    #[serde(flatten)]
    pub position: Position,
    /// The scope profile; `git agentwt status` shows the lists.
    pub scope: ScopeField,
    /// When the worktree was created.
    pub created: String,
    /// Who has the worktree.
    #[serde(flatten)]
    pub held: Held,
    /// Whether commits were made that no hook has verified.
    pub hooks_silent: bool,
    /// The number of files of the main worktree that are not committed; null if it is unknown.
    pub main_changed: Option<usize>,
    /// The placed files by state; absent if the directory is gone, null if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed: Option<Option<DriftCounts>>,
    /// With `--size`, the bytes on disk; null if something cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Option<u64>>,
    /// The last verification; null if there was none.
    pub verification: Option<VerificationField>,
}

/// Two worktrees that may write the same files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedOverlap {
    /// The names of the two worktrees.
    pub worktrees: [String; 2],
    /// The tracked files that both may write.
    pub files: Vec<PathField>,
    /// The patterns by which both may create the same new file.
    pub new_files: Vec<ListedPatterns>,
}

/// Two patterns by which the same new file can be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedPatterns {
    /// The pattern of each worktree.
    pub patterns: [String; 2],
    /// A path that both patterns match.
    pub example: PathField,
}

impl ListAnswer {
    /// Creates the answer to `--overlap`.
    pub fn overlaps(groups: Vec<Overlap>) -> Self {
        Self {
            worktrees: None,
            trash: None,
            overlaps: Some(groups.iter().flat_map(listed_overlaps).collect()),
            groups,
        }
    }
}

fn listed_overlaps(group: &Overlap) -> Vec<ListedOverlap> {
    let patterns = group.patterns.iter().map(|shared| ListedPatterns {
        patterns: [shared.first.clone(), shared.second.clone()],
        example: PathField::from(&shared.example),
    });
    let patterns: Vec<ListedPatterns> = patterns.collect();
    let pairs = group.pairs().into_iter();
    let pair = |(first, second): (&str, &str)| ListedOverlap {
        worktrees: [first.to_owned(), second.to_owned()],
        files: paths(&group.files),
        new_files: patterns.clone(),
    };
    pairs.map(pair).collect()
}

impl Answer for ListAnswer {
    const DOCUMENT: &'static str = "list";

    fn print(&self, text: &mut Text) {
        if let Some(all) = &self.trash {
            if all.is_empty() {
                return text.tell("nothing is in the trash");
            }
            let head = ["NAME", "SIZE", "EXPIRES", "KEPT IN"].map(Cell::people);
            let head = head.map(|cell| cell.paint(Paint::heading));
            let mut rows = vec![Row::new(head.into())];
            rows.extend(all.iter().map(ListedTrash::row));
            return text.table(&rows, "");
        }
        match &self.worktrees {
            None if self.groups.is_empty() => {
                text.tell("no two worktrees may write the same files");
            }
            None => self
                .groups
                .iter()
                .for_each(|group| print_overlap(group, text)),
            Some(all) if all.is_empty() => {
                text.tell("no worktrees yet; to create one: git agentwt add task-1");
            }
            Some(all) => {
                let mut rows = vec![head(all.iter().any(|one| one.size().is_some()))];
                rows.extend(all.iter().map(row));
                text.table(&rows, "");
            }
        }
    }

    fn rows(&self) -> Vec<Row> {
        let overlaps = self.overlaps.iter().flatten().flat_map(overlap_rows);
        let worktrees = self.worktrees.iter().flatten().map(row);
        let trash = self.trash.iter().flatten().map(ListedTrash::row);
        worktrees.chain(overlaps).chain(trash).collect()
    }
}

fn head(with_size: bool) -> Row {
    let mut head = vec![
        "NAME", "BRANCH", "BASE", "AHEAD", "BEHIND", "SCOPE", "CHANGES", "VERIFIED",
    ];
    head.extend(with_size.then_some("SIZE"));
    let cells = head
        .into_iter()
        .map(|word| Cell::people(word).paint(Paint::heading));
    Row::new(cells.collect())
}

/// One worktree; a line below names what is unusual.
fn row(one: &ListedWorktree) -> Row {
    let branch = one.branch.as_deref().unwrap_or_default();
    let mut cells = vec![
        Cell::both(&one.name).paint(Paint::name),
        Cell::people(branch),
    ];
    match &one.details {
        Some(details) => cells.extend(details.table_cells(one.state == "missing")),
        None => {
            cells.extend((0..5).map(|_| Cell::people("")));
            cells.push(Cell::people(one.state).paint(Paint::bad));
        }
    }
    cells.extend([one.state, branch].map(Cell::porcelain));
    let fields = one.details.as_ref().map(ListedDetails::fields);
    let none = |fields| vec![String::new(); fields];
    let [before, after] = fields.unwrap_or_else(|| [none(6), none(10)]);
    cells.extend(before.iter().map(Cell::porcelain));
    cells.push(Cell::porcelain(one.path.as_str()));
    cells.extend(after.iter().map(Cell::porcelain));
    let mut row = Row::new(cells);
    let remarks = one.remarks();
    row.below = (!remarks.is_empty()).then(|| remarks.join("; "));
    row
}

impl ListedWorktree {
    fn size(&self) -> Option<Option<u64>> {
        self.details.as_ref()?.size
    }

    /// What is unusual.
    fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.detail.clone().into_iter().collect();
        if let (Some(began), Some(process)) = (&self.began, self.process) {
            let began = age(began);
            remarks.push(format!(
                "its `add` runs, or was killed: process {process}, began {began}"
            ));
        }
        if let Some(details) = &self.details {
            remarks.extend(details.held.remarks());
            let upstream = details.position.upstream.as_ref();
            remarks.extend(upstream.and_then(Upstream::difference));
            remarks.extend(details.placed.flatten().as_ref().and_then(placed));
        }
        remarks
    }
}

impl ListedDetails {
    /// The cells for people, from BASE on.
    fn table_cells(&self, is_missing: bool) -> Vec<Cell> {
        let branch = self.position.base_branch.as_ref();
        let last = self.verification.as_ref();
        let changed = last.map_or("-".to_owned(), |last| last.changed.to_string());
        let mut cells = vec![
            Cell::people(self.base_text()),
            Cell::people(number(branch, |branch| branch.ahead)),
            Cell::people(number(branch, |branch| branch.behind)),
            Cell::people(self.scope.profile.as_deref().unwrap_or("-")),
            Cell::people(changed),
            if is_missing {
                Cell::people("directory is gone").paint(Paint::bad)
            } else {
                self.verified_cell()
            },
        ];
        cells.extend(self.size.map(|size| Cell::people(size_text(size))));
        cells
    }

    /// The base as it was named, and how far its branch moved.
    fn base_text(&self) -> String {
        let revision = self.base.revision.as_deref().unwrap_or_default();
        let is_id = revision.len() >= 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
        let revision = if is_id { &revision[..10] } else { revision };
        let moved = self.base.moved.flatten().filter(|moved| *moved > 0);
        match (&self.base.branch, moved) {
            (Some(branch), Some(moved)) if branch == revision => format!("{revision} +{moved}"),
            (Some(branch), Some(moved)) => format!("{revision} ({branch} +{moved})"),
            (_, _) => revision.to_owned(),
        }
    }

    fn verified_cell(&self) -> Cell {
        let silent = if self.hooks_silent {
            ", hooks silent"
        } else {
            ""
        };
        let last = self.verification.as_ref();
        let said = last.map_or("never".to_owned(), VerificationField::summary);
        let cell = Cell::people(format!("{said}{silent}"));
        cell.paint(match last.map(|last| last.violations) {
            None if !self.hooks_silent => Paint::faint,
            Some(0) if !self.hooks_silent => Paint::good,
            None | Some(0) => Paint::warning,
            Some(_) => Paint::bad,
        })
    }

    /// The fields of porcelain before the path, and after it.
    fn fields(&self) -> [Vec<String>; 2] {
        fn text(value: Option<impl ToString>) -> String {
            value.map(|value| value.to_string()).unwrap_or_default()
        }
        let last = self.verification.as_ref();
        let branch = self.position.base_branch.as_ref();
        let (owner, claim) = (self.held.owner.as_ref(), self.held.claim.as_ref());
        let before = vec![
            text(self.base.commit.as_ref()),
            text(self.position.head.as_ref()),
            text(self.scope.profile.as_ref()),
            text(last.map(|last| last.changed)),
            text(last.map(|last| last.violations)),
            text(last.map(|last| &last.at)),
        ];
        let after = vec![
            text(self.base.branch.as_ref()),
            text(self.base.moved.flatten()),
            text(branch.and_then(|branch| branch.ahead)),
            text(branch.and_then(|branch| branch.behind)),
            self.held.strategy.to_owned(),
            text(owner.map(|owner| &owner.id)),
            text(owner.map(OwnerField::alive_word)),
            text(claim.map(|claim| &claim.remote)),
            text(self.held.locked.filter(|locked| *locked).map(|_| "locked")),
            text(self.size.flatten()),
        ];
        [before, after]
    }
}

/// A number, or `-` for none.
fn number(branch: Option<&BaseBranch>, number: fn(&BaseBranch) -> Option<u64>) -> String {
    match branch.map(number) {
        None | Some(Some(0)) => "-".to_owned(),
        Some(None) => "?".to_owned(),
        Some(Some(number)) => number.to_string(),
    }
}

fn size_text(size: Option<u64>) -> String {
    size.map_or("unknown".to_owned(), |bytes| Size(bytes).to_string())
}

fn placed(counts: &DriftCounts) -> Option<String> {
    let states = [
        (counts.edited, "edited"),
        (counts.missing, "missing"),
        (counts.source_newer, "newer at the source"),
        (counts.source_gone, "gone at the source"),
    ];
    let states = states.iter().filter(|(number, _)| *number > 0);
    let states: Vec<String> = states
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    (!states.is_empty()).then(|| format!("placed files: {}", states.join(", ")))
}

fn print_overlap(group: &Overlap, text: &mut Text) {
    let paint = text.paint;
    let names = |names: &[String]| some(names.iter().map(|name| paint.name(name)), SHOWN);
    let mut who = names(&group.first);
    if !group.second.is_empty() {
        who.push_str(&format!(" and {}", names(&group.second)));
    }
    let files = count(group.files.len(), "file", "files");
    text.line(format!("{who}: {files} that both may write"));
    for file in group.files.iter().take(SHOWN) {
        text.line(format!("  {file}"));
    }
    if let more @ 1.. = group.files.len().saturating_sub(SHOWN) {
        text.line(format!("  … and {more} more (all: --porcelain)"));
    }
    if !group.patterns.is_empty() {
        let patterns = group.patterns.iter().map(ToString::to_string);
        text.line(format!("  new files by {}", some(patterns, SHOWN)));
    }
}

fn overlap_rows(overlap: &ListedOverlap) -> Vec<Row> {
    let [first, second] = overlap.worktrees.each_ref().map(String::as_bytes);
    let files = overlap.files.iter();
    let files = files.map(|file| Row::record(&[first, second, b"file", file.bytes()]));
    let patterns = overlap.new_files.iter().map(|shared| {
        let [ours, theirs] = shared.patterns.each_ref().map(String::as_bytes);
        Row::record(&[first, second, b"new", ours, theirs, shared.example.bytes()])
    });
    files.chain(patterns).collect()
}

impl Held {
    /// Who has the worktree, and what keeps it.
    fn remarks(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.strategy == "clone" {
            said.push("a repository of its own".to_owned());
        }
        if let Some(owner) = &self.owner {
            let id = escape_for_terminal(owner.id.as_bytes());
            said.push(match owner.alive {
                Some(true) => format!("owner {id}, alive"),
                Some(false) => format!("owner {id}, has ended"),
                None => format!("owner {id} on {}", owner.host),
            });
        }
        said.extend(
            self.claim
                .as_ref()
                .map(|claim| format!("claimed on {}", claim.remote)),
        );
        match &self.lock_reason {
            Some(why) => said.push(format!("locked: {}", escape_for_terminal(why.as_bytes()))),
            None if self.locked == Some(true) => said.push("locked".to_owned()),
            None => {}
        }
        said
    }
}
