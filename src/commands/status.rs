//! `git agentwt status`: one worktree in full.

use std::collections::{BTreeMap, HashMap};

use camino::Utf8PathBuf;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::groups::kind_paint;
use crate::answer::paint::Paint;
use crate::answer::position::{Position, position};
use crate::answer::shapes::{ChangeField, FindingField, PlacedField, ScopeField};
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::answer::waiting::WaitingField;
use crate::answer::worktree::{HooksField, RecordedField};
use crate::arguments::output::ListOutput;
use crate::commands::{Outcome, Session};
use crate::disk::drift::drift;
use crate::disk::file_system::usage;
use crate::disk::files;
use crate::inventory::placed::{Placed, PlacedKind};
use crate::judge::change::{Change, by_kind, by_seen};
use crate::record::accepted::Decision;
use crate::record::worktree::MadeBy;
use crate::truth::live::{LiveVerdict, verify_beside_main};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::{escape_for_rule, escape_for_terminal, first_of};
use crate::words::text::{age, and_count, count, when};
use crate::worktree::loaded::{Worktree, hooks_of};
use crate::worktree::operation::read_operation;
use crate::worktree::repository::Repository;

/// Show one worktree in full
///
/// Verifies the worktree, and prints the verdict, where HEAD is, the branch and the distance to the
/// main branch, base, scope, owner, hooks, placed files that changed, and the changes since the base.
/// A violation is marked with `!`, a notice with `-`.
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
    pub recorded: RecordedField,
    /// The ref that HEAD names; null if HEAD is detached.
    pub head_ref: Option<String>,
    /// The command of git that is in progress: `merge`, `rebase`, …; null if there is none.
    pub operation: Option<&'static str>,
    /// What breaks the scope or the integrity of the worktree.
    pub violations: Vec<FindingField>,
    /// What does not affect the verdict.
    pub notices: Vec<FindingField>,
    /// What changed since the base.
    pub changed: Vec<ChangeField>,
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
    pub hooks: Option<HooksField>,
    /// The placed files; null if the directory is gone.
    pub placed: Option<Vec<PlacedField>>,
    /// Whether plain git created the worktree.
    #[serde(skip)]
    pub is_foreign: bool,
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
    fn print(&self, text: &mut Text) {
        let foreign = when(self.is_foreign, " (made by plain git)");
        text.line(text.paint.heading(&self.name) + foreign);
        let RecordedField {
            base,
            position,
            scope,
            created,
            ..
        } = &self.recorded;
        let commits = position.commits;
        let commits = commits.map_or(0, |commits| usize::try_from(commits).unwrap_or(usize::MAX));
        let commits = count(commits, "commit", "commits");
        let id = base.commit.as_ref().map_or("", |base| base.short());
        let revision = base.revision.as_deref().unwrap_or_default();
        self.print_verdict(text);
        text.fact("path", &self.path);
        text.fact(
            "branch",
            format!("{}, {commits} since the base", self.branch),
        );
        text.fact("head", self.head());
        text.fact("base", format!("{id} ({revision}), {}", age(created)));
        self.print_position(text);
        for (key, fact, more) in self.recorded.remarks() {
            text.fact(key, fact + &more);
        }
        let profile = scope.profile.as_deref();
        text.fact("scope", profile.unwrap_or("given on the command line"));
        let lists = [
            ("write", &scope.write),
            ("read", &scope.read),
            ("exclude", &scope.exclude),
        ];
        for (key, list) in lists {
            let patterns = list.iter().flatten();
            let patterns: Vec<String> = patterns.map(|pattern| escape_for_rule(pattern)).collect();
            if !patterns.is_empty() {
                text.fact(key, patterns.join("  "));
            }
        }
        if let Some(hooks) = &self.hooks {
            hooks.print(text);
        }
        for decision in &self.decisions {
            let Decision { user, host, at, .. } = decision;
            let user = escape_for_terminal(user.as_bytes());
            let host = escape_for_terminal(host.as_bytes());
            let (what, decided) = decision.summary();
            text.fact(what, format!("{decided}, by {user} on {host}, {}", age(at)));
        }
        self.print_placed(text);
        if let Some(size) = self.recorded.size_text() {
            text.fact("size", size);
        }
        self.print_changes(text);
    }

    fn print_verdict(&self, text: &mut Text) {
        let verdict = self.recorded.verdict();
        let verdict = match self.violations.len() {
            0 => text.paint.good(&verdict),
            _ => text.paint.bad(&format!("NO, {verdict}")),
        };
        let notices = and_count(self.notices.len(), "notice", "notices");
        text.fact("verdict", verdict + &notices);
    }

    /// Where HEAD is.
    fn head(&self) -> String {
        let position = &self.recorded.position;
        let at = position.head.as_ref().map_or("no commit", CommitId::short);
        let committed = position.committed.as_deref().map(age);
        let committed = committed.map_or_else(String::new, |age| format!(", committed {age}"));
        let operation = self.operation;
        let operation = operation.map(|one| format!(", a {one} is in progress"));
        let committed = committed + &operation.unwrap_or_default();
        match &self.head_ref {
            Some(name) => {
                let name = name.strip_prefix("refs/heads/").unwrap_or(name);
                let elsewhere = when(name != self.branch, " (not the branch of this worktree)");
                let name = escape_for_terminal(name.as_bytes());
                format!("on {name}{elsewhere} at {at}{committed}")
            }
            None => format!("detached at {at}{committed}"),
        }
    }

    /// Where the branch stands, if that is more than its commits.
    fn print_position(&self, text: &mut Text) {
        let position = &self.recorded.position;
        let moved = self.recorded.base.moved.flatten().unwrap_or(0);
        if let Some(branch) = &position.base_branch
            && (moved > 0 || branch.ahead != position.commits)
        {
            let number = |number: Option<u64>| number.map_or("?".to_owned(), |n| n.to_string());
            let ahead = number(branch.ahead);
            let behind = number(branch.behind);
            text.fact(
                "beside",
                format!("{}: {ahead} ahead, {behind} behind", branch.name),
            );
        }
        if let Some(upstream) = &position.upstream {
            let same = || format!("as {}", upstream.name);
            text.fact("upstream", upstream.difference().unwrap_or_else(same));
        }
    }

    /// The number of placed files, and for each state but `same` a line with names.
    fn print_placed(&self, text: &mut Text) {
        let all = self.placed.as_deref().unwrap_or_default();
        if all.is_empty() {
            return;
        }
        let files: Vec<&PlacedField> = all.iter().filter(|file| file.kind != "directory").collect();
        let same = match files.iter().filter(|file| file.state == ["same"]).count() {
            same if same == files.len() => "same".to_owned(),
            same => format!("{same} same"),
        };
        text.fact(
            "placed",
            format!("{}, {same}", count(files.len(), "file", "files")),
        );
        let mut moved: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in all.iter().filter(|file| file.state != ["same"]) {
            let paths = moved.entry(file.state()).or_default();
            paths.push(file.path.shown());
        }
        for (state, paths) in moved {
            let number = paths.len();
            let paths = first_of(paths, SHOWN);
            text.line(format!("    {number} {state}: {paths}"));
        }
    }

    fn print_changes(&self, text: &mut Text) {
        let ignored = and_count(self.ignored, "ignored file", "ignored files");
        let kinds = self.kinds.iter();
        let kinds = kinds.map(|(kind, number)| format!("{number} {kind}"));
        let kinds: Vec<String> = kinds.collect();
        let kinds = match kinds.as_slice() {
            [] => String::new(),
            kinds => format!(" ({})", kinds.join(", ")),
        };
        let total = count(self.changed.len(), "path", "paths");
        let uncommitted = self.uncommitted;
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
        let key = |change: &ChangeField| (change.bytes().to_vec(), change.kind);
        let findings = || self.violations.iter().chain(&self.notices);
        let pairs = findings().map(|finding| (key(&finding.change), finding));
        let mut marked: HashMap<_, &FindingField> = pairs.collect();
        let row = |change: &ChangeField, finding: Option<&FindingField>| {
            let (sign, paint): (&str, fn(Paint, &str) -> String) = match finding {
                Some(one) if one.level == "violation" => ("!", Paint::bad),
                Some(_) => ("-", Paint::warning),
                None => ("", Paint::faint),
            };
            let why = finding.map(FindingField::why).unwrap_or_default();
            Row::new(vec![
                Cell::people(sign).paint(paint),
                Cell::people(change.kind).paint(kind_paint(change.kind)),
                Cell::people(change.shown()),
                Cell::people(why).paint(Paint::faint).rank(1),
            ])
        };
        let changes = self.changed.iter();
        let mut rows: Vec<Row> = changes
            .map(|change| row(change, marked.remove(&key(change))))
            .collect();
        let others = findings().filter(|one| marked.contains_key(&key(&one.change)));
        rows.extend(others.map(|one| row(&one.change, Some(one))));
        text.table(&rows, "    ");
    }

    /// A record for each fact: name, key, value.
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut put =
            |fields: &[&[u8]]| rows.push(Row::record(&[&[self.name.as_bytes()], fields].concat()));
        for (key, value) in self.facts() {
            if let Some(value) = value {
                put(&[key.as_bytes(), value.as_bytes()]);
            }
        }
        for (kind, number) in &self.kinds {
            put(&[b"kind", kind.as_bytes(), number.to_string().as_bytes()]);
        }
        for file in self.placed.iter().flatten() {
            put(&[
                b"placed",
                file.state.join(",").as_bytes(),
                file.path.bytes(),
            ]);
        }
        for decision in &self.decisions {
            let (what, decided) = decision.summary();
            put(&[
                what.as_bytes(),
                decided.as_bytes(),
                decision.user.as_bytes(),
                decision.at.as_bytes(),
            ]);
        }
        for change in &self.changed {
            put(&[b"change", change.kind.as_bytes(), change.bytes()]);
        }
        for finding in self.violations.iter().chain(&self.notices) {
            let level = finding.level.as_bytes();
            let change = &finding.change;
            put(&[level, change.kind.as_bytes(), change.bytes()]);
        }
        rows
    }

    fn facts(&self) -> Vec<(&'static str, Option<String>)> {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let position = &self.recorded.position;
        let upstream = position.upstream.as_ref();
        let last = self.recorded.verification.as_ref();
        let mut facts = vec![
            ("path", Some(self.path.to_string())),
            ("branch", Some(self.branch.clone())),
        ];
        facts.extend(self.recorded.facts());
        facts.extend([
            ("notices", number(last.map(|one| one.last.notices))),
            ("commits", number(position.commits)),
            ("committed", position.committed.clone()),
            ("uncommitted", Some(self.uncommitted.to_string())),
            ("ignored", Some(self.ignored.to_string())),
            ("upstream", upstream.map(|upstream| upstream.name.clone())),
            ("upstream-ahead", number(upstream.and_then(|one| one.ahead))),
            (
                "upstream-behind",
                number(upstream.and_then(|one| one.behind)),
            ),
            (
                "waiting",
                self.recorded.waiting_word().map(ToOwned::to_owned),
            ),
        ]);
        facts
    }
}

/// Shows the named worktrees, or the one that we are in.
///
/// # Errors
/// Fails when the facts of one cannot be read.
pub fn run(session: &Session, options: &Status) -> Result<Outcome<StatusAnswer>, Error> {
    let repository = session.repository()?;
    let chosen = Worktree::named(&repository, &options.names);
    let chosen = chosen.collect::<Result<Vec<_>, _>>()?;
    let show = |known: &Worktree, live: Result<LiveVerdict, Error>| {
        let status = live.and_then(|live| of(&repository, known, live, options));
        known.unless_gone(&repository, status)
    };
    let (answers, main) = verify_beside_main(&repository, &chosen, show);
    let mut worktrees = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    for one in &mut worktrees {
        one.recorded.main_changed = main;
    }
    Ok(Outcome::done(StatusAnswer { worktrees }))
}

fn of(
    repository: &Repository,
    known: &Worktree,
    live: LiveVerdict,
    options: &Status,
) -> Result<WorktreeStatus, Error> {
    let record = &known.record;
    let home = repository;
    let repository = &known.readable_repository(repository);
    let hooks = hooks_of(&repository.git, &known.record);
    let hooks = hooks.and_then(|hooks| hooks.status()).ok();
    let placed = placed(repository, known, &live.states.placed)?;
    let report = &live.report;
    let git = &repository.git;
    let set = &report.changes;
    let commits = git.rev_list_count(&record.base.commit, &set.head)?;
    let changes = set.changes.iter().chain(&set.integrity);
    let changes = changes.filter(|change| !change.is_ignored()).cloned();
    let changes: Vec<Change> = changes.collect();
    let position = Position {
        head: Some(set.head.clone()),
        commits: Some(commits),
        ..position(home, known)?
    };
    let scope = ScopeField::whole(record.profile.as_deref(), &record.scope);
    let mut recorded = RecordedField::new(known, position, scope);
    recorded.set_verification(Some(live.last));
    recorded.live = true;
    recorded.waiting = WaitingField::find(home, known)?;
    let is_there = files::is_directory(&record.path);
    let size = || is_there.then(|| usage(&[&record.path]).pop().flatten());
    recorded.size = options.size.then(|| size().flatten());
    Ok(WorktreeStatus {
        name: record.name.to_string(),
        path: record.path.clone(),
        branch: record.branch.to_string(),
        recorded,
        head_ref: live.head.symbolic,
        operation: read_operation(record),
        violations: report.violations().map(FindingField::from).collect(),
        notices: report.notices().map(FindingField::from).collect(),
        changed: ChangeField::all(&changes),
        kinds: by_kind(&changes),
        seen: by_seen(&changes),
        uncommitted: live.uncommitted,
        ignored: live.ignored,
        decisions: record.decisions.clone(),
        hooks: hooks.as_ref().map(HooksField::from),
        placed,
        is_foreign: record.made_by == MadeBy::Git,
    })
}

/// What was placed and is not tracked by now; none where the directory is gone.
fn placed(
    repository: &Repository,
    known: &Worktree,
    placed: &Placed,
) -> Result<Option<Vec<PlacedField>>, Error> {
    let root = &known.record.path;
    if !files::is_directory(root) {
        return Ok(None);
    }
    let drifts = drift(root, Some(&repository.root), placed)?;
    let all = placed.files().iter().zip(drifts);
    let all = all.filter(|(file, drift)| file.kind != PlacedKind::Directory || !drift.is_same());
    let all = all.map(|(file, drift)| PlacedField::new(file, drift));
    Ok(Some(all.collect()))
}
