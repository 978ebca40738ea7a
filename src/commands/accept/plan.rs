//! Decides which findings are accepted; pure.

use crate::accepted::AcceptedFinding;
use crate::change::Kind;
use crate::error::Fault;
use crate::exit::ExitCode;
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::verify::{Finding, Reason, Report};

/// How many findings a message names.
const SHOWN: usize = 10;

/// Holds what the command line selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Paths, each for itself and all paths below.
    pub paths: Vec<RepoPath>,
    /// Whether every ref is selected.
    pub refs: bool,
    /// Whether shared settings and hooks are selected.
    pub shared: bool,
    /// Whether everything is selected, history too.
    pub all: bool,
}

/// Says why nothing is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[expect(missing_docs, reason = "the message of each documents it")]
pub enum AcceptRefusal {
    #[error("nothing says what to accept of worktree `{name}`")]
    #[diagnostic(code(agentwt::accept::nothing_selected), help("{help}"))]
    NothingSelected { name: String, help: String },
    #[error("cannot accept {path}: it is not a finding of worktree `{name}`")]
    #[diagnostic(code(agentwt::accept::no_finding))]
    #[diagnostic(help("see the findings: git agentwt verify {name}"))]
    NoFinding { name: String, path: RepoPath },
    #[error("cannot accept {path}: {why}")]
    #[diagnostic(code(agentwt::accept::no_content), help("{help}"))]
    NoContent {
        path: RepoPath,
        why: &'static str,
        help: String,
    },
    #[error("there is no acceptance of worktree `{name}` to take back")]
    #[diagnostic(code(agentwt::accept::undo))]
    #[diagnostic(help("see what was decided: git agentwt status {name}"))]
    NothingToUndo { name: String },
}

impl Fault for AcceptRefusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::NothingSelected { .. } => ExitCode::Usage,
            Self::NoFinding { .. } | Self::NoContent { .. } | Self::NothingToUndo { .. } => {
                ExitCode::Refused
            }
        }
    }
}

impl Selection {
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.refs && !self.shared && !self.all
    }

    fn has(&self, finding: &Finding) -> bool {
        let is_ref = finding.change.kind == Kind::Ref && finding.reason == Reason::Shared;
        let is_asked = |asked: &RepoPath| is_at(asked, finding);
        let is_net = finding.reason != Reason::History;
        self.all
            || self.refs && is_ref
            || self.shared && finding.is_shared()
            || is_net && self.paths.iter().any(is_asked)
    }
}

/// Whether a finding is at a path, or below.
fn is_at(asked: &RepoPath, finding: &Finding) -> bool {
    let path = finding.change.place.path();
    path.is_some_and(|path| path == asked || path.is_below(asked.as_bstr()))
}

/// What is accepted of a report, and the part of it that concerns all worktrees.
pub fn plan(
    name: &WorktreeName,
    report: &Report,
    selection: &Selection,
) -> Result<(Vec<AcceptedFinding>, Vec<AcceptedFinding>), AcceptRefusal> {
    if selection.is_empty() {
        let (name, help) = (name.to_string(), what_there_is(name, report));
        return Err(AcceptRefusal::NothingSelected { name, help });
    }
    for path in &selection.paths {
        check(name, report, path)?;
    }
    let accepted = acceptable(report, |one| selection.has(one));
    let shared = acceptable(report, |one| selection.has(one) && one.is_shared());
    Ok((accepted, shared))
}

/// What acceptances of these findings record, without those whose content is not known.
pub fn acceptable(report: &Report, which: impl Fn(&Finding) -> bool) -> Vec<AcceptedFinding> {
    let findings = report.findings.iter().filter(|one| which(one));
    findings.filter_map(Finding::accepted).flatten().collect()
}

/// Checks that a path has a finding that can be accepted, or that was accepted as it is.
fn check(name: &WorktreeName, report: &Report, path: &RepoPath) -> Result<(), AcceptRefusal> {
    let all = report.findings.iter().chain(&report.accepted);
    let found: Vec<&Finding> = all.filter(|one| is_at(path, one)).collect();
    let mut net = found.iter().filter(|one| one.reason != Reason::History);
    let path = path.clone();
    let (why, help) = if net.any(|one| one.accepted().is_some()) {
        return Ok(());
    } else if found.is_empty() {
        let name = name.to_string();
        return Err(AcceptRefusal::NoFinding { name, path });
    } else if found.iter().all(|one| one.reason == Reason::History) {
        let help = format!("to accept everything, history too: git agentwt accept {name} --all");
        ("only the history has a finding there", help)
    } else if found.iter().any(|one| one.change.kind == Kind::Perm) {
        let help = format!("put the write bits back: git agentwt reapply {name}");
        ("only its write bit was set", help)
    } else {
        let help = format!("see the findings: git agentwt verify {name}");
        ("its content cannot be recorded", help)
    };
    Err(AcceptRefusal::NoContent { path, why, help })
}

/// The commands that would accept something, for who said nothing.
fn what_there_is(name: &WorktreeName, report: &Report) -> String {
    let has = |what: &dyn Fn(&Finding) -> bool| report.findings.iter().any(what);
    let net = report
        .findings
        .iter()
        .filter(|one| one.reason != Reason::History);
    let able = net.filter(|one| one.accepted().is_some());
    let paths: Vec<String> = able
        .filter_map(|one| one.change.place.path())
        .map(ToString::to_string)
        .collect();
    let mut help = Vec::new();
    if let Some(first) = paths.first() {
        let shown = paths.iter().take(SHOWN).cloned().collect::<Vec<_>>();
        let more = match paths.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = shown.join(", ");
        help.push(format!(
            "paths ({shown}{more}): git agentwt accept {name} {first}"
        ));
    }
    if has(&|one| one.change.kind == Kind::Ref && one.reason == Reason::Shared) {
        help.push(format!("refs: git agentwt accept {name} --refs"));
    }
    if has(&Finding::is_shared) {
        help.push(format!(
            "shared settings and hooks: git agentwt accept {name} --shared"
        ));
    }
    if help.is_empty() {
        return format!("there is nothing to accept now: git agentwt verify {name}");
    }
    help.push(format!("everything: git agentwt accept {name} --all"));
    help.join("\n")
}
