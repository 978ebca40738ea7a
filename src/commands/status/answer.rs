//! The answer of `status`.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::hooks::HooksField;
use crate::answer::shapes::Held;
use crate::answer::shapes::{BaseField, ChangeField, PlacedField, ScopeField, VerificationField};
use crate::answer::{Answer, Cell, Row, Text, age, count};
use crate::path::escape_for_terminal;
use crate::scope::escape_for_rule;
use crate::size::Size;
use crate::truth::position::Position;

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
    /// Where the worktree started.
    pub base: BaseField,
    /// Where the branch stands.
    #[serde(flatten)]
    pub position: Position,
    /// The scope.
    pub scope: ScopeField,
    /// When the worktree was created.
    pub created: String,
    /// Who has the worktree.
    #[serde(flatten)]
    pub held: Held,
    /// With `--size`, the bytes on disk; null if something cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Option<u64>>,
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
    /// The number of files of the main worktree that are not committed; null if it is unknown.
    pub main_changed: Option<usize>,
    /// The hooks; null if they cannot be read.
    pub hooks: Option<HooksField>,
    /// The placed files; null if the directory is gone.
    pub placed: Option<Vec<PlacedField>>,
    /// The last verification; null if there was none.
    pub verification: Option<VerificationField>,
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
        self.worktrees
            .iter()
            .flat_map(WorktreeStatus::rows)
            .collect()
    }
}

impl WorktreeStatus {
    fn print(&self, text: &mut Text) {
        let heading = text.paint.heading(&self.name);
        let foreign = if self.is_foreign {
            " (made by plain git)"
        } else {
            ""
        };
        text.line(format!("{heading}{foreign}"));
        let commits = commits(self.position.commits);
        let base = self.base.commit.as_ref().map_or("", |base| base.short());
        let revision = self.base.revision.as_deref().unwrap_or_default();
        field(text, "path", &self.path);
        field(
            text,
            "branch",
            format!("{}, {commits} since the base", self.branch),
        );
        field(
            text,
            "base",
            format!("{base} ({revision}), {}", age(&self.created)),
        );
        self.print_position(text);
        self.print_held(text);
        let profile = self.scope.profile.as_deref();
        field(
            text,
            "scope",
            profile.unwrap_or("given on the command line"),
        );
        for (key, list) in [
            ("write", &self.scope.write),
            ("read", &self.scope.read),
            ("exclude", &self.scope.exclude),
        ] {
            let patterns = list.iter().flatten();
            let patterns: Vec<String> = patterns.map(|pattern| escape_for_rule(pattern)).collect();
            if !patterns.is_empty() {
                field(text, key, patterns.join("  "));
            }
        }
        if let Some(hooks) = &self.hooks {
            hooks.print(text);
        }
        let last = self.verification.as_ref();
        let last = last.map_or("never".to_owned(), VerificationField::summary);
        field(text, "verified", last);
        self.print_placed(text);
        if let Some(size) = self.size {
            let size = size.map_or("unknown".to_owned(), |bytes| Size(bytes).to_string());
            field(text, "size", size);
        }
        self.print_changes(text);
    }

    /// Where the branch stands, if that is more than its commits.
    fn print_position(&self, text: &mut Text) {
        let moved = self.base.moved.flatten().unwrap_or(0);
        if let Some(branch) = &self.position.base_branch
            && (moved > 0 || branch.ahead != self.position.commits)
        {
            let number = |number: Option<u64>| number.map_or("?".to_owned(), |n| n.to_string());
            let (ahead, behind) = (number(branch.ahead), number(branch.behind));
            let name = &branch.name;
            field(
                text,
                "beside",
                format!("{name}: {ahead} ahead, {behind} behind"),
            );
        }
        if let Some(upstream) = &self.position.upstream {
            let same = || format!("as {}", upstream.name);
            field(text, "upstream", upstream.difference().unwrap_or_else(same));
        }
    }

    /// Who has the worktree, and what keeps it.
    fn print_held(&self, text: &mut Text) {
        if self.held.strategy == "clone" {
            field(text, "strategy", "clone: a repository of its own");
        }
        if let Some(owner) = &self.held.owner {
            let alive = match owner.alive {
                Some(true) => text.paint.good("alive"),
                Some(false) => text.paint.bad("has ended"),
                None => "unknown whether alive".to_owned(),
            };
            let process = owner.pid.map(|pid| format!("process {pid} "));
            let (process, host) = (process.unwrap_or_default(), &owner.host);
            let (id, since) = (escape_for_terminal(owner.id.as_bytes()), age(&owner.since));
            field(
                text,
                "owner",
                format!("{id}, {alive} ({process}on {host}, {since})"),
            );
        }
        if let Some(claim) = &self.held.claim {
            let (remote, lease) = (&claim.remote, claim.lease);
            field(
                text,
                "claim",
                format!("on {remote}, for {lease} s at a time"),
            );
        }
        match &self.held.lock_reason {
            Some(why) => field(text, "locked", escape_for_terminal(why.as_bytes())),
            None if self.held.locked == Some(true) => field(text, "locked", "no reason given"),
            None => {}
        }
    }

    /// The number of placed files, and for each state but `same` a line with names.
    fn print_placed(&self, text: &mut Text) {
        let all = self.placed.as_deref().unwrap_or_default();
        if all.is_empty() {
            return;
        }
        let files: Vec<&PlacedField> = all.iter().filter(|file| file.kind != "directory").collect();
        let same = files.iter().filter(|file| file.state == ["same"]).count();
        let same = match same {
            same if same == files.len() => "same".to_owned(),
            same => format!("{same} same"),
        };
        field(
            text,
            "placed",
            format!("{}, {same}", count(files.len(), "file", "files")),
        );
        let mut moved: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in all.iter().filter(|file| file.state != ["same"]) {
            let state = file.state.join(", ").replace('-', " ");
            moved.entry(state).or_default().push(file.path.shown());
        }
        for (state, paths) in moved {
            let names = paths[..paths.len().min(SHOWN)].join(", ");
            let more = match paths.len().saturating_sub(SHOWN) {
                0 => String::new(),
                n => format!(", … and {n} more"),
            };
            text.line(format!("    {} {state}: {names}{more}", paths.len()));
        }
    }

    fn print_changes(&self, text: &mut Text) {
        let ignored = match self.ignored {
            0 => String::new(),
            n => format!(", {}", count(n, "ignored file", "ignored files")),
        };
        let kinds = self.kinds.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, number)| format!("{number} {kind}"))
            .collect();
        let kinds = if kinds.is_empty() {
            String::new()
        } else {
            format!(" ({})", kinds.join(", "))
        };
        let total = count(self.changed.len(), "path", "paths");
        let uncommitted = self.uncommitted;
        let total = format!("{total}{kinds}, {uncommitted} not committed{ignored}");
        field(text, "changed", total);
        if let Some(changed @ 1..) = self.main_changed {
            let files = count(changed, "file", "files");
            field(
                text,
                "main",
                format!("{files} of the main worktree not committed"),
            );
        }
        let changes = self.changed.iter();
        let changes = changes.map(|change| [change.kind.to_owned(), change.shown()]);
        text.columns(&changes.collect::<Vec<_>>(), "    ");
    }

    /// A record for each fact: name, key, value.
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut put = |fields: &[&[u8]]| {
            let fields = fields.iter().map(Cell::porcelain);
            let name = std::iter::once(Cell::porcelain(&self.name));
            rows.push(Row::new(name.chain(fields).collect()));
        };
        for (key, value) in self.facts() {
            if let Some(value) = value {
                put(&[key.as_bytes(), value.as_bytes()]);
            }
        }
        for (kind, number) in &self.kinds {
            put(&[b"kind", kind.as_bytes(), number.to_string().as_bytes()]);
        }
        if let Some(last) = &self.verification {
            put(&[b"verified", last.at.as_bytes()]);
            put(&[b"violations", last.violations.to_string().as_bytes()]);
            put(&[b"notices", last.notices.to_string().as_bytes()]);
        }
        for file in self.placed.iter().flatten() {
            put(&[
                b"placed",
                file.state.join(",").as_bytes(),
                file.path.bytes(),
            ]);
        }
        for change in &self.changed {
            put(&[b"change", change.kind.as_bytes(), change.bytes()]);
        }
        rows
    }

    fn facts(&self) -> Vec<(&'static str, Option<String>)> {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let branch = self.position.base_branch.as_ref();
        let upstream = self.position.upstream.as_ref();
        let (owner, claim) = (self.held.owner.as_ref(), self.held.claim.as_ref());
        let locked = self.held.locked.unwrap_or(false);
        let reason = || self.held.lock_reason.clone().unwrap_or_default();
        vec![
            ("path", Some(self.path.to_string())),
            ("branch", Some(self.branch.clone())),
            ("base", self.base.commit.as_ref().map(ToString::to_string)),
            ("head", self.position.head.as_ref().map(ToString::to_string)),
            ("commits", number(self.position.commits)),
            ("uncommitted", Some(self.uncommitted.to_string())),
            ("ignored", Some(self.ignored.to_string())),
            ("strategy", Some(self.held.strategy.to_owned())),
            ("base-branch", self.base.branch.clone()),
            ("moved", number(self.base.moved.flatten())),
            ("ahead", number(branch.and_then(|branch| branch.ahead))),
            ("behind", number(branch.and_then(|branch| branch.behind))),
            ("upstream", upstream.map(|upstream| upstream.name.clone())),
            (
                "upstream-ahead",
                number(upstream.and_then(|upstream| upstream.ahead)),
            ),
            (
                "upstream-behind",
                number(upstream.and_then(|upstream| upstream.behind)),
            ),
            ("owner", owner.map(|owner| owner.id.clone())),
            (
                "owner-alive",
                owner.map(|owner| owner.alive_word().to_owned()),
            ),
            ("claim", claim.map(|claim| claim.remote.clone())),
            ("locked", locked.then(reason)),
            ("size", number(self.size.flatten())),
        ]
    }
}

/// Prints a key and a value.
fn field(text: &mut Text, key: &str, value: impl std::fmt::Display) {
    text.line(format!("  {key:<8} {value}"));
}

fn commits(number: Option<u64>) -> String {
    let number = number.map_or(0, |number| usize::try_from(number).unwrap_or(usize::MAX));
    count(number, "commit", "commits")
}
