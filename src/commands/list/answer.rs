//! The answer of `list`.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::answer::Answer;
use crate::answer::paint::{Paint, Painter};
use crate::answer::position::{BaseDistance, MainPosition, Upstream};
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::answer::worktree::{RecordedFacts, RecordedWorktree};
use crate::inventory::placed::DriftCounts;
use crate::scope::overlap::Overlap;
use crate::truth::live::LiveVerdict;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::{escape_for_terminal, first_of};
use crate::words::path_text::{PathText, paths};
use crate::words::size::Size;
use crate::words::text::{age, count, one_line};

/// The columns. Of a table that is too wide, the column with the highest number is left out first,
/// and those with 0 never.
const COLUMNS: [(&str, u8); 11] = [
    ("NAME", 0),
    ("VERDICT", 0),
    ("CHANGES", 3),
    ("UNCOMMITTED", 1),
    ("AHEAD", 4),
    ("BEHIND", 4),
    ("LAST COMMIT", 5),
    ("SIZE", 2),
    ("BASE", 7),
    ("SCOPE", 8),
    ("BRANCH", 6),
];
/// The columns of the trash.
const TRASH_COLUMNS: [(&str, u8); 4] = [("NAME", 0), ("SIZE", 0), ("EXPIRES", 0), ("KEPT IN", 0)];
/// The number of names and files that people see of an overlap.
const SHOWN: usize = 8;

/// The answer of `list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListAnswer {
    /// The main worktree; absent if the repository is bare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main: Option<MainPosition>,
    /// The worktrees, sorted by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<ListedWorktree>>,
    /// With `--overlap`: each pair of worktrees that may write the same files.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "serialize_pairs"
    )]
    #[schemars(with = "Option<Vec<OverlappingPair>>")]
    pub overlaps: Option<Vec<Overlap>>,
    /// With `--trash`: removed worktrees that can come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash: Option<Vec<ListedTrash>>,
}

/// A list of which some worktrees are still to be verified, for a terminal.
#[derive(Serialize)]
pub struct IncompleteList {
    /// The list.
    #[serde(flatten)]
    pub answer: ListAnswer,
    /// The names of the worktrees that are still to be verified.
    pub pending: BTreeSet<String>,
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
        let bytes = self.bytes.map(|bytes| bytes.to_string());
        let expires = self.expires.as_deref();
        Row::new(vec![
            Cell::both(&self.name).paint(Paint::name),
            Cell::people(size.as_deref().unwrap_or("unknown")),
            Cell::people(expires.unwrap_or("never")),
            Cell::porcelain(bytes.unwrap_or_default()),
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
    #[schemars(with = "String")]
    pub state: ListedState,
    /// The branch; absent if the worktree is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// When an incomplete `add` began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// The number of the process of an incomplete `add`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// What is wrong with a damaged worktree; what became of a missing one, and the command that
    /// goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What is recorded; absent if the worktree is incomplete or damaged.
    #[serde(flatten)]
    pub details: Option<ListedDetails>,
}

impl ListedWorktree {
    /// A worktree without details.
    pub const fn new(name: String, path: Utf8PathBuf, state: ListedState) -> Self {
        Self {
            name,
            path,
            state,
            branch: None,
            began: None,
            process: None,
            detail: None,
            details: None,
        }
    }
}

/// How a worktree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListedState {
    /// The worktree is there.
    Ready,
    /// The directory is gone.
    Missing,
    /// The `add` of the worktree runs, or was killed.
    Incomplete,
    /// The record cannot be read.
    Damaged,
}

impl ListedState {
    /// The word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Missing => "missing",
            Self::Incomplete => "incomplete",
            Self::Damaged => "damaged",
        }
    }
}

/// What is recorded of a worktree, and what is unusual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedDetails {
    /// What is recorded.
    #[serde(flatten)]
    pub recorded: RecordedWorktree,
    /// The number of paths that are not committed; absent with `--stored`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<usize>,
    /// Why the worktree cannot be verified now; absent if it was, and with `--stored`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_verified: Option<String>,
    /// Whether commits were made that no hook has verified.
    pub hooks_silent: bool,
    /// Whether the branch has the name that `git agentwt add` gives by default.
    pub usual_branch: bool,
    /// The placed files; absent if the directory is gone.
    #[serde(flatten)]
    pub placed: Option<PlacedCounts>,
}

/// The placed files of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlacedCounts {
    /// The placed files by state; absent if the directory is gone, null if it is unknown.
    pub placed: Option<DriftCounts>,
}

/// Two worktrees that may write the same files.
#[derive(Serialize, JsonSchema)]
struct OverlappingPair {
    /// The names of the two worktrees.
    worktrees: [String; 2],
    /// The tracked files that both may write.
    files: Vec<PathText>,
    /// The patterns by which both may create the same new file.
    new_files: Vec<MeetingPatterns>,
}

/// Two patterns by which the same new file can be created.
#[derive(Serialize, JsonSchema)]
struct MeetingPatterns {
    /// The pattern of each worktree.
    patterns: [String; 2],
    /// A path that both patterns match.
    example: PathText,
}

/// Writes each pair of worktrees of the overlaps.
#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
fn serialize_pairs<S: Serializer>(
    overlaps: &Option<Vec<Overlap>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let overlaps = overlaps.iter().flatten();
    serializer.collect_seq(overlaps.flat_map(overlapping_pairs))
}

fn overlapping_pairs(overlap: &Overlap) -> Vec<OverlappingPair> {
    let mut pairs = Vec::new();
    for (first, second) in overlap.pairs() {
        let mut new_files = Vec::new();
        for shared in &overlap.patterns {
            new_files.push(MeetingPatterns {
                patterns: [shared.first.clone(), shared.second.clone()],
                example: PathText::from(&shared.example),
            });
        }
        pairs.push(OverlappingPair {
            worktrees: [first.to_owned(), second.to_owned()],
            files: paths(&overlap.files),
            new_files,
        });
    }
    pairs
}

impl ListAnswer {
    /// Completes the row of a worktree with its verdict.
    pub fn set_verdict(&mut self, name: &str, live: Result<LiveVerdict, Error>) {
        let rows = self.worktrees.as_deref_mut().unwrap_or_default();
        let Ok(index) = rows.binary_search_by(|row| row.name.as_str().cmp(name)) else {
            return;
        };
        let Some(details) = &mut rows[index].details else {
            return;
        };
        match live {
            Ok(live) => {
                details.recorded.live = true;
                details.uncommitted = Some(live.uncommitted);
                details.recorded.set_verification(Some(live.last));
            }
            Err(error) => {
                details.not_verified = Some(one_line(&error.to_string()));
                details.recorded.set_verification(None);
            }
        }
    }

    /// Sets how many files of the main worktree are not committed.
    pub fn set_main_changed(&mut self, changed: Option<usize>) {
        if let Some(main) = &mut self.main {
            main.uncommitted = changed;
        }
        for worktree in self.worktrees.iter_mut().flatten() {
            if let Some(details) = &mut worktree.details {
                details.recorded.main_changed = changed;
            }
        }
    }

    /// Prints for people; a pending worktree has no verdict yet.
    fn print_list(&self, pending: &BTreeSet<String>, text: &mut Text) {
        if let Some(trash) = &self.trash {
            return print_trash(trash, text);
        }
        let Some(worktrees) = &self.worktrees else {
            return self.print_overlaps(text);
        };
        if worktrees.is_empty() {
            return text.tell("no worktrees yet; to create one: git agentwt add task-1");
        }
        let mut rows = vec![headings(&COLUMNS)];
        rows.extend(self.main.as_ref().map(main_row));
        for worktree in worktrees {
            let verdict = if pending.contains(&worktree.name) {
                Cell::people("…").paint(Paint::faint)
            } else {
                worktree.verdict()
            };
            rows.push(worktree.row(verdict));
        }
        text.table(&rows, "");
    }

    fn print_overlaps(&self, text: &mut Text) {
        let overlaps = self.overlaps.as_deref().unwrap_or_default();
        if overlaps.is_empty() {
            text.tell("no two worktrees may write the same files");
        }
        for overlap in overlaps {
            print_overlap(overlap, text);
        }
    }
}

impl Answer for ListAnswer {
    const DOCUMENT: &'static str = "list";

    fn print(&self, text: &mut Text) {
        self.print_list(&BTreeSet::new(), text);
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for worktree in self.worktrees.iter().flatten() {
            rows.push(worktree.row(worktree.verdict()));
        }
        for overlap in self.overlaps.iter().flatten() {
            rows.extend(overlap_rows(overlap));
        }
        rows.extend(self.trash.iter().flatten().map(ListedTrash::row));
        rows
    }
}

impl Answer for IncompleteList {
    const DOCUMENT: &'static str = "list";

    fn print(&self, text: &mut Text) {
        self.answer.print_list(&self.pending, text);
    }
}

fn headings(columns: &[(&str, u8)]) -> Row {
    let mut cells = Vec::new();
    for (word, rank) in columns {
        cells.push(Cell::people(*word).rank(*rank).paint(Paint::heading));
    }
    Row::headings(cells)
}

fn print_trash(trash: &[ListedTrash], text: &mut Text) {
    if trash.is_empty() {
        return text.tell("nothing is in the trash");
    }
    let mut rows = vec![headings(&TRASH_COLUMNS)];
    rows.extend(trash.iter().map(ListedTrash::row));
    text.table(&rows, "");
}

/// The row of the main worktree.
fn main_row(main: &MainPosition) -> Row {
    let place = match &main.branch {
        Some(branch) => format!("on {}", escape_for_terminal(branch.as_bytes())),
        None => {
            let head = main.head.as_ref().map_or("no commit", CommitId::short);
            format!("detached at {head}")
        }
    };
    let mut cells = vec![
        Cell::people("(main)").paint(Paint::name),
        Cell::people(place),
    ];
    let work = Work {
        changed: None,
        uncommitted: main.uncommitted,
        distance: main.upstream.as_ref().map(|upstream| BaseDistance {
            ahead: upstream.ahead,
            behind: upstream.behind,
        }),
        committed: main.committed.as_deref(),
    };
    cells.extend(work.cells());
    Row::new(cells)
}

/// The columns from CHANGES to LAST COMMIT.
#[derive(Default)]
struct Work<'w> {
    changed: Option<u64>,
    uncommitted: Option<usize>,
    distance: Option<BaseDistance>,
    committed: Option<&'w str>,
}

impl Work<'_> {
    /// The cells for people; a dash stands for nothing.
    fn cells(&self) -> [Cell; 5] {
        let distance = self.distance;
        let texts = [
            self.changed.map(|number| number.to_string()),
            self.uncommitted.map(|number| number.to_string()),
            distance.and_then(|distance| distance_text(distance.ahead)),
            distance.and_then(|distance| distance_text(distance.behind)),
            self.committed.map(age),
        ];
        texts.map(|text| Cell::people(text.unwrap_or("-".to_owned())))
    }
}

/// A number of commits; `None` for 0, and `?` if it is unknown.
fn distance_text(commits: Option<u64>) -> Option<String> {
    match commits {
        Some(0) => None,
        Some(commits) => Some(commits.to_string()),
        None => Some("?".to_owned()),
    }
}

impl ListedWorktree {
    /// One worktree; a line below names what is unusual.
    fn row(&self, verdict: Cell) -> Row {
        let mut cells = vec![Cell::both(&self.name).paint(Paint::name), verdict];
        let mut shown_branch = self.branch.as_deref().unwrap_or_default();
        match &self.details {
            Some(details) => {
                cells.extend(details.cells());
                if details.usual_branch {
                    shown_branch = "";
                }
            }
            None => cells.extend((2..COLUMNS.len() - 1).map(|_| Cell::people(""))),
        }
        cells.push(Cell::people(escape_for_terminal(shown_branch.as_bytes())));
        for field in self.fields() {
            cells.push(Cell::porcelain(field));
        }
        let mut row = Row::new(cells);
        let remarks = self.remarks();
        row.below = (!remarks.is_empty()).then(|| remarks.join("; "));
        row
    }

    /// The fields after the name in a line of `--porcelain`, in the order that scripts know. An
    /// absent value is an empty field.
    fn fields(&self) -> Vec<String> {
        let mut facts = RecordedFacts::default();
        let mut uncommitted = None;
        let mut committed = None;
        if let Some(details) = &self.details {
            facts = details.recorded.facts();
            uncommitted = details.uncommitted.map(|number| number.to_string());
            committed.clone_from(&details.recorded.position.committed);
        }
        let fields = [
            Some(self.state.as_str().to_owned()),
            self.branch.clone(),
            facts.base,
            facts.head,
            facts.scope,
            facts.paths,
            facts.violations,
            facts.verified,
            Some(self.path.to_string()),
            facts.base_branch,
            facts.moved,
            facts.ahead,
            facts.behind,
            facts.strategy,
            facts.owner,
            facts.owner_alive,
            facts.claim,
            facts.locked.map(|_| "locked".to_owned()),
            facts.size,
            uncommitted,
            committed,
            facts.waiting,
        ];
        fields.map(Option::unwrap_or_default).to_vec()
    }

    /// The cell of the verdict, or of the reason why there is none.
    fn verdict(&self) -> Cell {
        let Some(details) = &self.details else {
            return Cell::people(self.state.as_str()).paint(Paint::bad);
        };
        if self.state == ListedState::Missing {
            return Cell::people(self.state.as_str()).paint(Paint::bad);
        }
        if details.not_verified.is_some() {
            return Cell::people("cannot verify").paint(Paint::bad);
        }
        let recorded = &details.recorded;
        let mut text = recorded.verdict();
        if details.hooks_silent && !recorded.live {
            text.push_str(", hooks silent");
        }
        let verification = recorded.verification.as_ref();
        let paint: Painter = if verification.is_some_and(|dated| dated.last.violations > 0) {
            Paint::bad
        } else if details.hooks_silent {
            Paint::warning
        } else if verification.is_some() {
            Paint::good
        } else {
            Paint::faint
        };
        Cell::people(text).paint(paint)
    }

    /// What is unusual about the worktree, each in a few words.
    fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.detail.clone().into_iter().collect();
        if let (Some(began), Some(process)) = (&self.began, self.process) {
            let began = age(began);
            remarks.push(format!(
                "its `add` runs, or was killed: process {process}, began {began}"
            ));
        }
        let Some(details) = &self.details else {
            return remarks;
        };
        let recorded = &details.recorded;
        // beside a verdict that is stored, the cell of the verdict says it
        if details.hooks_silent && recorded.live {
            remarks.push("hooks silent".to_owned());
        }
        remarks.extend(details.not_verified.clone());
        for remark in recorded.remarks() {
            let key = remark.key;
            let fact = remark.fact;
            // `status` prints all that there is to say; here it is only said how a run goes on
            if key == "waits" {
                remarks.push(format!("{key}: {fact}{}", remark.more));
            } else {
                remarks.push(format!("{key} {fact}"));
            }
        }
        let upstream = recorded.position.upstream.as_ref();
        remarks.extend(upstream.and_then(Upstream::difference));
        let counts = details.placed.and_then(|placed| placed.placed);
        remarks.extend(counts.as_ref().and_then(placed_text));
        remarks
    }
}

impl ListedDetails {
    /// The cells for people, from CHANGES to SCOPE.
    fn cells(&self) -> Vec<Cell> {
        let recorded = &self.recorded;
        let work = Work {
            changed: recorded.verification.as_ref().map(|one| one.last.changed),
            uncommitted: self.uncommitted,
            distance: recorded.position.distance,
            committed: recorded.position.committed.as_deref(),
        };
        let mut cells = work.cells().to_vec();
        let scope = recorded.scope.profile.as_deref().unwrap_or("-");
        cells.push(Cell::people(recorded.size_text().unwrap_or_default()));
        cells.push(Cell::people(self.base_text()));
        cells.push(Cell::people(scope));
        cells
    }

    /// The base as it was named, and how far its branch moved.
    fn base_text(&self) -> String {
        let base = &self.recorded.base;
        let mut revision = base.revision.as_deref().unwrap_or_default();
        if revision.len() >= 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            revision = &revision[..10];
        }
        let Some(branch) = &base.branch else {
            return revision.to_owned();
        };
        match branch.moved {
            None | Some(0) => revision.to_owned(),
            Some(moved) if branch.name == revision => format!("{revision} +{moved}"),
            Some(moved) => format!("{revision} ({} +{moved})", branch.name),
        }
    }
}

fn placed_text(counts: &DriftCounts) -> Option<String> {
    let mut states = Vec::new();
    for (number, state) in [
        (counts.edited, "edited"),
        (counts.missing, "missing"),
        (counts.source_newer, "newer at the source"),
        (counts.source_gone, "gone at the source"),
    ] {
        if number > 0 {
            states.push(format!("{number} {state}"));
        }
    }
    (!states.is_empty()).then(|| format!("placed files: {}", states.join(", ")))
}

fn print_overlap(overlap: &Overlap, text: &mut Text) {
    let mut worktrees = painted_names(&overlap.first, text.paint);
    if !overlap.second.is_empty() {
        let second = painted_names(&overlap.second, text.paint);
        worktrees.push_str(&format!(" and {second}"));
    }
    let files = count(overlap.files.len(), "file", "files");
    text.line(format!("{worktrees}: {files} that both may write"));
    for file in overlap.files.iter().take(SHOWN) {
        text.line(format!("  {file}"));
    }
    if let more @ 1.. = overlap.files.len().saturating_sub(SHOWN) {
        text.line(format!("  … and {more} more (all: --porcelain)"));
    }
    if !overlap.patterns.is_empty() {
        let patterns = first_of(&overlap.patterns, SHOWN);
        text.line(format!("  new files by {patterns}"));
    }
}

fn painted_names(names: &[String], paint: Paint) -> String {
    first_of(names.iter().map(|name| paint.name(name)), SHOWN)
}

/// The records of each pair of worktrees.
fn overlap_rows(overlap: &Overlap) -> Vec<Row> {
    let mut rows = Vec::new();
    for (first, second) in overlap.pairs() {
        let first = first.as_bytes();
        let second = second.as_bytes();
        for file in &overlap.files {
            rows.push(Row::record(&[first, second, b"file", file.as_ref()]));
        }
        for shared in &overlap.patterns {
            rows.push(Row::record(&[
                first,
                second,
                b"new",
                shared.first.as_bytes(),
                shared.second.as_bytes(),
                shared.example.as_ref(),
            ]));
        }
    }
    rows
}
