//! `git agentwt status`: one worktree in full.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::groups::{kind_cell, level_cell};
use crate::answer::paint::Paint;
use crate::answer::position::position_of_head;
use crate::answer::shapes::{PlacedState, ScopePatterns};
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::answer::waiting::WaitingRun;
use crate::answer::worktree::{DiskUsage, HooksReport, RecordedWorktree};
use crate::arguments::output::ListOutput;
use crate::commands::{Outcome, Session};
use crate::disk::drift::drift;
use crate::disk::file_system::usage;
use crate::disk::files;
use crate::inventory::placed::{Placed, PlacedKind};
use crate::judge::change::{Change, Place, by_kind, by_seen};
use crate::judge::finding::Finding;
use crate::record::accepted::Decision;
use crate::record::worktree::MadeBy;
use crate::truth::live::{LiveVerdict, verify_beside_main};
use crate::words::error::Error;
use crate::words::name::{CommitId, branch_of};
use crate::words::path::{escape_for_rule, escape_for_terminal, first_of};
use crate::words::text::{age, and_count, count, when};
use crate::worktree::loaded::{Worktree, hooks_of};
use crate::worktree::operation::read_operation;
use crate::worktree::repository::Repository;

/// Show one worktree in full
///
/// Verifies the worktree, and prints the verdict, where HEAD is, the branch and the distance to the
/// main branch, base, scope, owner, hooks, placed files that changed, and the changes since the
/// base. A violation is marked with `!`, a notice with `-`.
#[derive(Args, Debug)]
pub struct Status {
    /// The worktrees [default: the current worktree]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Show the disk usage
    ///
    /// Counted as by `git agentwt list --size`.
    #[arg(long)]
    pub size: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// The number of placed files that people see for each state.
const SHOWN: usize = 8;

/// The answer of `status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusAnswer {
    /// The worktrees, in the order in which they were named.
    pub worktrees: Vec<WorktreeStatus>,
}

/// A worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorktreeStatus {
    /// The name.
    pub name: String,
    /// The directory.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// The branch.
    pub branch: String,
    /// What is recorded.
    #[serde(flatten)]
    pub recorded: RecordedWorktree,
    /// The ref that HEAD names; null if HEAD is detached.
    pub head_ref: Option<String>,
    /// The command of git that is in progress: `merge`, `rebase`, …; null if there is none.
    pub operation: Option<&'static str>,
    /// What breaks the scope or the integrity of the worktree.
    pub violations: Vec<Finding>,
    /// What does not affect the verdict.
    pub notices: Vec<Finding>,
    /// What changed since the base.
    pub changed: Vec<Change>,
    /// The number of changes by what happened.
    pub kinds: BTreeMap<String, u64>,
    /// The number of changes by where they were seen; one change may count in several.
    pub seen: BTreeMap<String, u64>,
    /// The number of changes that are not committed.
    pub uncommitted: usize,
    /// The number of ignored files.
    pub ignored: usize,
    /// What a person decided about the worktree: accepted findings, and rules added to the scope.
    pub decisions: Vec<Decision>,
    /// The hooks; null if they cannot be read.
    pub hooks: Option<HooksReport>,
    /// The placed files; null if the directory is gone.
    pub placed: Option<Vec<PlacedState>>,
    /// `add`, or `git` if plain git created the worktree.
    #[schemars(with = "String")]
    pub made_by: MadeBy,
}

impl Answer for StatusAnswer {
    const DOCUMENT: &'static str = "status";

    fn print(&self, text: &mut Text) {
        for (at, one) in self.worktrees.iter().enumerate() {
            if at > 0 {
                text.line("");
            }
            one.print(text);
        }
    }

    fn rows(&self) -> Vec<Row> {
        let all = self.worktrees.iter();
        all.flat_map(WorktreeStatus::rows).collect()
    }
}

impl WorktreeStatus {
    /// Says what became of a directory that is not in its place, as the violation has it.
    fn print_absence(&self, text: &mut Text) {
        for violation in &self.violations {
            if violation.change.place == Place::Worktree
                && let Some(detail) = &violation.change.detail
            {
                text.fact("absent", detail);
            }
        }
    }

    fn print(&self, text: &mut Text) {
        let foreign = when(self.made_by == MadeBy::Git, " (made by plain git)");
        text.line(text.paint.heading(&self.name) + foreign);
        self.print_verdict(text);
        text.fact("path", &self.path);
        if self.placed.is_none() {
            self.print_absence(text);
        }
        self.print_branch(text);
        for remark in self.recorded.remarks() {
            text.fact(remark.key, remark.fact + &remark.more);
        }
        self.print_scope(text);
        if let Some(hooks) = &self.hooks {
            hooks.print(text);
        }
        for decision in &self.decisions {
            print_decision(decision, text);
        }
        self.print_placed(text);
        if let Some(size) = self.recorded.size_text() {
            text.fact("size", size);
        }
        self.print_changes(text);
    }

    fn print_verdict(&self, text: &mut Text) {
        let verdict = self.recorded.verdict();
        let painted = match self.violations.len() {
            0 => text.paint.good(&verdict),
            _ => text.paint.bad(&format!("NO, {verdict}")),
        };
        let notices = and_count(self.notices.len(), "notice", "notices");
        text.fact("verdict", painted + &notices);
    }

    /// Where the branch, HEAD and the base are.
    fn print_branch(&self, text: &mut Text) {
        let base = &self.recorded.base;
        let number_of_commits = self.recorded.position.commits.unwrap_or(0);
        let number = usize::try_from(number_of_commits).unwrap_or(usize::MAX);
        let commits = count(number, "commit", "commits");
        let branch = &self.branch;
        text.fact("branch", format!("{branch}, {commits} since the base"));
        text.fact("head", self.head());
        let id = base.commit.as_ref().map_or("", CommitId::short);
        let revision = base.revision.as_deref().unwrap_or_default();
        let created = age(&self.recorded.created);
        text.fact("base", format!("{id} ({revision}), {created}"));
        self.print_position(text);
    }

    fn print_scope(&self, text: &mut Text) {
        let scope = &self.recorded.scope;
        let profile = scope.profile.as_deref();
        text.fact("scope", profile.unwrap_or("given on the command line"));
        for (key, list) in [
            ("write", &scope.write),
            ("read", &scope.read),
            ("exclude", &scope.exclude),
        ] {
            let patterns = list.as_deref().unwrap_or_default();
            if !patterns.is_empty() {
                let shown: Vec<String> = patterns.iter().map(|one| escape_for_rule(one)).collect();
                text.fact(key, shown.join("  "));
            }
        }
    }

    /// Where HEAD is.
    fn head(&self) -> String {
        let position = &self.recorded.position;
        let mut place = match &self.head_ref {
            Some(name) => {
                let branch = branch_of(name);
                let elsewhere = when(branch != self.branch, " (not the branch of this worktree)");
                let shown = escape_for_terminal(branch.as_bytes());
                format!("on {shown}{elsewhere}")
            }
            None => "detached".to_owned(),
        };
        let commit = position.head.as_ref().map_or("no commit", CommitId::short);
        place += &format!(" at {commit}");
        if let Some(committed) = &position.committed {
            place += &format!(", committed {}", age(committed));
        }
        if let Some(operation) = self.operation {
            place += &format!(", a {operation} is in progress");
        }
        place
    }

    /// Prints how the branch differs from the base branch and the upstream.
    fn print_position(&self, text: &mut Text) {
        let position = &self.recorded.position;
        if let Some(branch) = &self.recorded.base.branch
            && let Some(distance) = position.distance
            && (branch.moved.is_some_and(|moved| moved > 0) || distance.ahead != position.commits)
        {
            let name = &branch.name;
            let ahead = number_or_unknown(distance.ahead);
            let behind = number_or_unknown(distance.behind);
            text.fact("beside", format!("{name}: {ahead} ahead, {behind} behind"));
        }
        if let Some(upstream) = &position.upstream {
            let difference = upstream.difference();
            let same = || format!("as {}", upstream.name);
            text.fact("upstream", difference.unwrap_or_else(same));
        }
    }

    /// Prints the number of placed files, and for each state but `same` a line with names. A
    /// directory is in these lines, and not in the number.
    fn print_placed(&self, text: &mut Text) {
        let placed = self.placed.as_deref().unwrap_or_default();
        if placed.is_empty() {
            return;
        }
        let mut files = 0;
        let mut same = 0;
        let mut changed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in placed {
            if file.kind != PlacedKind::Directory {
                files += 1;
                same += usize::from(file.drift.is_same());
            }
            if !file.drift.is_same() {
                let paths = changed.entry(file.state()).or_default();
                paths.push(file.path.shown());
            }
        }
        let total = count(files, "file", "files");
        if same == files {
            text.fact("placed", format!("{total}, same"));
        } else {
            text.fact("placed", format!("{total}, {same} same"));
        }
        for (state, paths) in changed {
            let number = paths.len();
            let names = first_of(paths, SHOWN);
            text.line(format!("    {number} {state}: {names}"));
        }
    }

    fn print_changes(&self, text: &mut Text) {
        let mut numbers = Vec::new();
        for (kind, number) in &self.kinds {
            numbers.push(format!("{number} {kind}"));
        }
        let mut kinds = String::new();
        if !numbers.is_empty() {
            kinds = format!(" ({})", numbers.join(", "));
        }
        let total = count(self.changed.len(), "path", "paths");
        let uncommitted = self.uncommitted;
        let ignored = and_count(self.ignored, "ignored file", "ignored files");
        text.fact(
            "changed",
            format!("{total}{kinds}, {uncommitted} not committed{ignored}"),
        );
        if let Some(changed @ 1..) = self.recorded.main_changed {
            let files = count(changed, "file", "files");
            text.fact(
                "main",
                format!("{files} of the main worktree not committed"),
            );
        }
        text.table(&self.change_rows(), "    ");
    }

    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.violations.iter().chain(&self.notices)
    }

    /// The changes with their findings, then the findings of what is not among the changes.
    fn change_rows(&self) -> Vec<Row> {
        let mut findings = BTreeMap::new();
        for finding in self.findings() {
            findings.insert((&finding.change.place, finding.change.kind), finding);
        }
        let mut rows = Vec::new();
        for change in &self.changed {
            let finding = findings.remove(&(&change.place, change.kind));
            rows.push(change_row(change, finding));
        }
        for finding in self.findings() {
            if findings.contains_key(&(&finding.change.place, finding.change.kind)) {
                rows.push(change_row(&finding.change, Some(finding)));
            }
        }
        rows
    }

    /// The records for scripts, each with the name of the worktree, a key and one or more values:
    /// the facts, the kinds, placed files, decisions, changes and findings.
    fn rows(&self) -> Vec<Row> {
        let mut records = Records {
            name: &self.name,
            rows: Vec::new(),
        };
        for (key, value) in self.facts() {
            if let Some(value) = value {
                records.push(&[key.as_bytes(), value.as_bytes()]);
            }
        }
        for (kind, number) in &self.kinds {
            let number = number.to_string();
            records.push(&[b"kind", kind.as_bytes(), number.as_bytes()]);
        }
        for file in self.placed.iter().flatten() {
            let state = file.drift.words().join(",").replace(' ', "-");
            records.push(&[b"placed", state.as_bytes(), file.path.bytes()]);
        }
        for decision in &self.decisions {
            let (what, decided) = decision.summary();
            records.push(&[
                what.as_bytes(),
                decided.as_bytes(),
                decision.user.as_bytes(),
                decision.at.as_bytes(),
            ]);
        }
        for change in &self.changed {
            records.push_change("change", change);
        }
        for finding in self.findings() {
            records.push_change(finding.level.as_str(), &finding.change);
        }
        records.rows
    }

    /// The keys and values of the facts for scripts, in their order. A value that is `None` gets no
    /// record. Scripts know the keys: one may be added, and none may be renamed.
    fn facts(&self) -> Vec<(&'static str, Option<String>)> {
        let recorded = self.recorded.facts();
        let position = &self.recorded.position;
        let verification = self.recorded.verification.as_ref();
        let notices = verification.map(|verification| verification.last.notices);
        let upstream = position.upstream.as_ref();
        vec![
            ("path", Some(self.path.to_string())),
            ("branch", Some(self.branch.clone())),
            ("base", recorded.base),
            ("head", recorded.head),
            ("scope", recorded.scope),
            ("paths", recorded.paths),
            ("violations", recorded.violations),
            ("verified", recorded.verified),
            ("base-branch", recorded.base_branch),
            ("moved", recorded.moved),
            ("ahead", recorded.ahead),
            ("behind", recorded.behind),
            ("strategy", recorded.strategy),
            ("owner", recorded.owner),
            ("owner-alive", recorded.owner_alive),
            ("claim", recorded.claim),
            ("locked", recorded.locked),
            ("size", recorded.size),
            ("notices", decimal(notices)),
            ("commits", decimal(position.commits)),
            ("committed", position.committed.clone()),
            ("uncommitted", Some(self.uncommitted.to_string())),
            ("ignored", Some(self.ignored.to_string())),
            ("upstream", upstream.map(|upstream| upstream.name.clone())),
            (
                "upstream-ahead",
                decimal(upstream.and_then(|one| one.ahead)),
            ),
            (
                "upstream-behind",
                decimal(upstream.and_then(|one| one.behind)),
            ),
            ("waiting", recorded.waiting),
        ]
    }
}

fn decimal(number: Option<u64>) -> Option<String> {
    number.map(|number| number.to_string())
}

fn number_or_unknown(number: Option<u64>) -> String {
    decimal(number).unwrap_or("?".to_owned())
}

fn print_decision(decision: &Decision, text: &mut Text) {
    let user = escape_for_terminal(decision.user.as_bytes());
    let host = escape_for_terminal(decision.host.as_bytes());
    let at = age(&decision.at);
    let (what, decided) = decision.summary();
    text.fact(what, format!("{decided}, by {user} on {host}, {at}"));
}

/// A change for people, with the finding of it.
fn change_row(change: &Change, finding: Option<&Finding>) -> Row {
    let why = finding.map(Finding::why).unwrap_or_default();
    Row::new(vec![
        level_cell(finding.map(|finding| finding.level)),
        kind_cell(change.kind),
        Cell::people(change.place.to_string()),
        Cell::people(why).paint(Paint::faint).rank(1),
    ])
}

/// The records of one worktree.
struct Records<'n> {
    name: &'n str,
    rows: Vec<Row>,
}

impl Records<'_> {
    /// Adds a record that begins with the name of the worktree.
    fn push(&mut self, fields: &[&[u8]]) {
        let name = self.name.as_bytes();
        self.rows.push(Row::record(&[&[name], fields].concat()));
    }

    fn push_change(&mut self, key: &str, change: &Change) {
        let kind = change.kind.as_str();
        self.push(&[key.as_bytes(), kind.as_bytes(), &change.place.to_bytes()]);
    }
}

/// Shows the named worktrees, or the one that we are in.
///
/// # Errors
/// Fails when the facts of one cannot be read.
pub fn run(session: &Session, options: &Status) -> Result<Outcome<StatusAnswer>, Error> {
    let repository = session.repository()?;
    let mut chosen = Vec::new();
    for worktree in Worktree::named(&repository, &options.names) {
        chosen.push(worktree?);
    }
    let show = |worktree: &Worktree, live: Result<LiveVerdict, Error>| {
        let status = live.and_then(|live| status(&repository, worktree, live, options));
        worktree.unless_gone(&repository, status)
    };
    let (answers, main_changed) = verify_beside_main(&repository, &chosen, show);
    let mut worktrees = Vec::new();
    for answer in answers {
        let mut status = answer?;
        status.recorded.main_changed = main_changed;
        worktrees.push(status);
    }
    Ok(Outcome::done(StatusAnswer { worktrees }))
}

/// Reads what is shown of a worktree, and adds the verdict of this moment.
fn status(
    home: &Repository,
    worktree: &Worktree,
    live: LiveVerdict,
    options: &Status,
) -> Result<WorktreeStatus, Error> {
    let record = &worktree.record;
    let repository = &worktree.readable_repository(home);
    let on_violation = Some(record.on_violation);
    let hooks = hooks_of(&repository.git, record).and_then(|hooks| hooks.status(on_violation));
    let report = &live.report;
    let head = &report.changes.head;
    let mut changed = report.changes.changes.clone();
    changed.extend_from_slice(&report.changes.integrity);
    changed.retain(|change| !change.is_ignored());
    let position = position_of_head(home, worktree, head)?;
    let scope = ScopePatterns::whole(record.profile.as_deref(), &record.scope);
    let mut recorded = RecordedWorktree::new(worktree, position, scope);
    recorded.set_verification(Some(live.last));
    recorded.live = true;
    recorded.waiting = WaitingRun::find(home, worktree)?;
    if options.size {
        let mut size = None;
        if files::is_directory(&record.path) {
            size = usage(&[&record.path]).pop().flatten();
        }
        recorded.usage = Some(DiskUsage { size });
    }
    Ok(WorktreeStatus {
        name: record.name.to_string(),
        path: record.path.clone(),
        branch: record.branch.to_string(),
        recorded,
        head_ref: live.head.symbolic,
        operation: read_operation(record),
        violations: report.violations().cloned().collect(),
        notices: report.notices().cloned().collect(),
        kinds: by_kind(&changed),
        seen: by_seen(&changed),
        changed,
        uncommitted: live.uncommitted,
        ignored: live.ignored,
        decisions: record.decisions.clone(),
        hooks: hooks.ok().as_ref().map(HooksReport::from),
        placed: placed_states(repository, worktree, &live.states.placed)?,
        made_by: record.made_by,
    })
}

/// The placed files that are not tracked by now; `None` if the directory is gone.
fn placed_states(
    repository: &Repository,
    worktree: &Worktree,
    placed: &Placed,
) -> Result<Option<Vec<PlacedState>>, Error> {
    let root = &worktree.record.path;
    if !files::is_directory(root) {
        return Ok(None);
    }
    let drifts = drift(root, Some(&repository.root), placed)?;
    let mut states = Vec::new();
    for (file, drift) in placed.files().iter().zip(drifts) {
        if file.kind != PlacedKind::Directory || !drift.is_same() {
            states.push(PlacedState::new(file, drift));
        }
    }
    Ok(Some(states))
}
