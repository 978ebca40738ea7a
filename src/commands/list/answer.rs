//! The answer of `list`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::position::{MainPosition, Upstream};
use crate::answer::shapes::{PathField, paths};
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::answer::worktree::RecordedField;
use crate::inventory::placed::DriftCounts;
use crate::scope::overlap::Overlap;
use crate::truth::live::LiveVerdict;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::{escape_for_terminal, first_of};
use crate::words::size::Size;
use crate::words::text::{age, count, one_line, when};

/// The columns with the order in which they are left out of a table that is too wide: the highest
/// number first, 0 never.
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
/// The same of the trash.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// Whether the branch has the name that `add` gives by default.
    #[serde(skip)]
    pub has_usual_branch: bool,
    /// Whether the worktree is still to be verified.
    #[serde(skip)]
    pub is_pending: bool,
}

/// What is recorded of a worktree, and what is unusual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedDetails {
    /// What is recorded.
    #[serde(flatten)]
    pub recorded: RecordedField,
    /// The number of paths that are not committed; absent with `--stored`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<usize>,
    /// Why the worktree cannot be verified now; absent if it was, and with `--stored`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_verified: Option<String>,
    /// Whether commits were made that no hook has verified.
    pub hooks_silent: bool,
    /// The placed files by state; absent if the directory is gone, null if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed: Option<Option<DriftCounts>>,
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
            overlaps: Some(groups.iter().flat_map(listed_overlaps).collect()),
            groups,
            ..Self::default()
        }
    }

    /// Completes the row of a worktree with its verdict.
    pub fn set_verdict(&mut self, name: &str, live: Result<LiveVerdict, Error>) {
        let rows = self.worktrees.as_deref_mut().unwrap_or_default();
        let at = rows.binary_search_by(|row| row.name.as_str().cmp(name));
        let Some(row) = at.ok().and_then(|at| rows.get_mut(at)) else {
            return;
        };
        row.is_pending = false;
        let Some(details) = &mut row.details else {
            return;
        };
        let last = match live {
            Ok(live) => {
                details.recorded.live = true;
                details.uncommitted = Some(live.uncommitted);
                Some(live.last)
            }
            Err(error) => {
                details.not_verified = Some(one_line(&error.to_string()));
                None
            }
        };
        details.recorded.set_verification(last);
    }

    /// Sets how many files of the main worktree are not committed.
    pub fn set_main_changed(&mut self, changed: Option<usize>) {
        if let Some(main) = &mut self.main {
            main.uncommitted = changed;
        }
        for details in self.worktrees.iter_mut().flatten() {
            if let Some(details) = &mut details.details {
                details.recorded.main_changed = changed;
            }
        }
    }
}

/// The row of the main worktree.
fn main_row(main: &MainPosition) -> Row {
    let at = main.head.as_ref().map_or("no commit", CommitId::short);
    let on = match &main.branch {
        Some(branch) => format!("on {}", escape_for_terminal(branch.as_bytes())),
        None => format!("detached at {at}"),
    };
    let sides = main.upstream.as_ref().map(|one| (one.ahead, one.behind));
    let mut cells = vec![Cell::people("(main)").paint(Paint::name), Cell::people(on)];
    cells.extend(work_cells(
        None,
        main.uncommitted,
        sides,
        main.committed.as_deref(),
    ));
    Row::new(cells)
}

/// The cells for people from CHANGES to LAST COMMIT; a dash stands for nothing.
fn work_cells(
    changed: Option<u64>,
    uncommitted: Option<usize>,
    sides: Option<(Option<u64>, Option<u64>)>,
    committed: Option<&str>,
) -> [Cell; 5] {
    let side = |number: Option<u64>| match number {
        Some(0) => None,
        known => Some(known.map_or("?".to_owned(), |number| number.to_string())),
    };
    let cells = [
        changed.map(|number| number.to_string()),
        uncommitted.map(|number| number.to_string()),
        sides.and_then(|(ahead, _)| side(ahead)),
        sides.and_then(|(_, behind)| side(behind)),
        committed.map(age),
    ];
    cells.map(|cell| Cell::people(cell.unwrap_or("-".to_owned())))
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
        let (columns, nothing) = match (&self.trash, &self.worktrees) {
            (Some(_), _) => (&TRASH_COLUMNS[..], "nothing is in the trash"),
            (None, Some(_)) => {
                let nothing = "no worktrees yet; to create one: git agentwt add task-1";
                (&COLUMNS[..], nothing)
            }
            (None, None) => (&[][..], "no two worktrees may write the same files"),
        };
        let rows = self.rows();
        if rows.is_empty() {
            return text.tell(nothing);
        }
        if !self.groups.is_empty() {
            let groups = self.groups.iter();
            return groups.for_each(|group| print_overlap(group, text));
        }
        let heading =
            |(word, rank): &(&str, u8)| Cell::people(*word).rank(*rank).paint(Paint::heading);
        let mut all = vec![Row::headings(columns.iter().map(heading).collect())];
        all.extend(self.main.as_ref().map(main_row));
        all.extend(rows);
        text.table(&all, "");
    }

    fn rows(&self) -> Vec<Row> {
        let overlaps = self.overlaps.iter().flatten().flat_map(overlap_rows);
        let worktrees = self.worktrees.iter().flatten().map(ListedWorktree::row);
        let trash = self.trash.iter().flatten().map(ListedTrash::row);
        worktrees.chain(overlaps).chain(trash).collect()
    }
}

impl ListedWorktree {
    /// One worktree; a line below names what is unusual.
    fn row(&self) -> Row {
        let branch = self.branch.as_deref().unwrap_or_default();
        let mut cells = vec![Cell::both(&self.name).paint(Paint::name), self.verdict()];
        let details = self.details.as_ref();
        match details {
            Some(details) => cells.extend(details.cells()),
            None => cells.extend((2..COLUMNS.len() - 1).map(|_| Cell::people(""))),
        }
        let shown = when(!self.has_usual_branch, branch);
        cells.push(Cell::people(escape_for_terminal(shown.as_bytes())));
        cells.extend([self.state, branch].map(Cell::porcelain));
        let facts = details.map_or_else(Default::default, |details| details.recorded.facts());
        for (at, (key, value)) in facts.into_iter().enumerate() {
            if at == 6 {
                cells.push(Cell::porcelain(self.path.as_str()));
            }
            let value = match key {
                "locked" => value.map(|_| key.to_owned()),
                _ => value,
            };
            cells.push(Cell::porcelain(value.unwrap_or_default()));
        }
        let waiting = details.and_then(|one| one.recorded.waiting_word());
        let waiting = waiting.map(ToOwned::to_owned);
        let uncommitted = details.and_then(|one| one.uncommitted);
        let committed = details.and_then(|one| one.recorded.position.committed.clone());
        let uncommitted = uncommitted.map(|number| number.to_string());
        cells.extend(
            [uncommitted, committed, waiting].map(|one| Cell::porcelain(one.unwrap_or_default())),
        );
        let mut row = Row::new(cells);
        let remarks = self.remarks();
        row.below = (!remarks.is_empty()).then(|| remarks.join("; "));
        row
    }

    /// The verdict, or the reason why there is none.
    fn verdict(&self) -> Cell {
        let details = match &self.details {
            _ if self.is_pending => return Cell::people("…").paint(Paint::faint),
            None => return Cell::people(self.state).paint(Paint::bad),
            Some(_) if self.state == "missing" => {
                return Cell::people("directory is gone").paint(Paint::bad);
            }
            Some(details) if details.not_verified.is_some() => {
                return Cell::people("cannot verify").paint(Paint::bad);
            }
            Some(details) => details,
        };
        let recorded = &details.recorded;
        let silent = details.hooks_silent;
        let silent_before = silent && !recorded.live;
        let text = recorded.verdict() + when(silent_before, ", hooks silent");
        let last = recorded.verification.as_ref();
        Cell::people(text).paint(match last.map(|one| one.last.violations) {
            None if !silent => Paint::faint,
            Some(0) if !silent => Paint::good,
            None | Some(0) => Paint::warning,
            Some(_) => Paint::bad,
        })
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
        if let Some(ListedDetails {
            recorded,
            placed,
            not_verified,
            hooks_silent,
            ..
        }) = &self.details
        {
            let silent = *hooks_silent && recorded.live;
            remarks.extend(silent.then(|| "hooks silent".to_owned()));
            remarks.extend(not_verified.clone());
            let gone = "to remove the record: git agentwt prune";
            remarks.extend((self.state == "missing").then(|| gone.to_owned()));
            let held = recorded.remarks().into_iter();
            remarks.extend(held.map(|(key, fact, more)| match key {
                "waits" => format!("{key}: {fact}{more}"),
                _ => format!("{key} {fact}"),
            }));
            let upstream = recorded.position.upstream.as_ref();
            remarks.extend(upstream.and_then(Upstream::difference));
            remarks.extend(placed.flatten().as_ref().and_then(placed_text));
        }
        remarks
    }
}

impl ListedDetails {
    /// The cells for people, from CHANGES to SCOPE.
    fn cells(&self) -> Vec<Cell> {
        let one = &self.recorded;
        let branch = one.position.base_branch.as_ref();
        let sides = branch.map(|branch| (branch.ahead, branch.behind));
        let changed = one.verification.as_ref().map(|one| one.last.changed);
        let committed = one.position.committed.as_deref();
        let mut cells = work_cells(changed, self.uncommitted, sides, committed).to_vec();
        let more = [
            one.size_text().unwrap_or_default(),
            self.base_text(),
            one.scope.profile.clone().unwrap_or("-".to_owned()),
        ];
        cells.extend(more.map(Cell::people));
        cells
    }

    /// The base as it was named, and how far its branch moved.
    fn base_text(&self) -> String {
        let base = &self.recorded.base;
        let revision = base.revision.as_deref().unwrap_or_default();
        let is_id = revision.len() >= 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
        let revision = if is_id { &revision[..10] } else { revision };
        let moved = base.moved.flatten().filter(|moved| *moved > 0);
        match (&base.branch, moved) {
            (Some(branch), Some(moved)) if branch == revision => format!("{revision} +{moved}"),
            (Some(branch), Some(moved)) => format!("{revision} ({branch} +{moved})"),
            (_, _) => revision.to_owned(),
        }
    }
}

fn placed_text(counts: &DriftCounts) -> Option<String> {
    let states = [
        (counts.edited, "edited"),
        (counts.missing, "missing"),
        (counts.source_newer, "newer at the source"),
        (counts.source_gone, "gone at the source"),
    ];
    let states = states.iter().filter(|(number, _)| *number > 0);
    let states = states.map(|(number, what)| format!("{number} {what}"));
    let states: Vec<String> = states.collect();
    (!states.is_empty()).then(|| format!("placed files: {}", states.join(", ")))
}

fn print_overlap(group: &Overlap, text: &mut Text) {
    let paint = text.paint;
    let names = |names: &[String]| first_of(names.iter().map(|name| paint.name(name)), SHOWN);
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
        let patterns = first_of(&group.patterns, SHOWN);
        text.line(format!("  new files by {patterns}"));
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
