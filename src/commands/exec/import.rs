//! Brings what a fenced command committed home: fetches, verifies, and moves the branch, all or nothing.
//!
//! 1. The commits are fetched with fsck into `refs/agentwt/incoming/<name>`, its stashes into
//!    `refs/agentwt/run/<name>/<commit>`, its branches and tags into `refs/agentwt/kept/<name>/<commit>`:
//!    from here on nothing can be lost.
//! 2. The worktree is verified as if its branch were there already.
//! 3. The index of the run becomes that of the worktree, and the branch moves by compare-and-swap.
//!
//! Killed at any point, the branch is where it was, and the next `exec` imports what is left.

use std::collections::BTreeMap;
use std::time::Duration;

use bstr::ByteSlice;

use crate::change::Place;
use crate::commands::Session;
use crate::disk::files;
use crate::disk::mode::Doing;
use crate::error::Error;
use crate::git::GitMode;
use crate::name::CommitId;
use crate::truth::{Terms, collect_with};
use crate::verify::{Finding, Reason, Report, VerifyOptions};
use crate::worktree::bring::{self, KEPT};
use crate::worktree::private_git::{PrivateGit, RunResult, incoming_ref, read_run_refs, run_refs};
use crate::worktree::scope_edit::set_bits;
use crate::worktree::{Repository, Worktree};

/// How long git may take to fetch the commits of a run: a pipe in the place of an object has no end.
const MOST: Duration = Duration::from_secs(600);

/// Holds what became of a run.
pub(super) struct Imported {
    /// The verdict over the worktree with the commits of the run.
    pub report: Report,
    /// Where the branch was and where it is now; none where it did not move.
    pub moved: Option<(CommitId, CommitId)>,
    /// The ref of the commits to which the branch did not move, if there are any.
    pub incoming: Option<String>,
    /// Whether the branch was moved by someone else meanwhile, so that it stays.
    pub is_late: bool,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Imported {
    /// The verdict over a worktree whose own git directory the command had.
    pub const fn unmoved(report: Report) -> Self {
        Self {
            report,
            moved: None,
            incoming: None,
            is_late: false,
            notes: Vec::new(),
        }
    }

    /// Whether the index of the run cannot be read.
    pub fn has_damaged_index(&self) -> bool {
        let index = Place::Admin("index".into());
        let mut findings = self.report.violations();
        findings.any(|one| one.reason == Reason::Integrity && one.change.place == index)
    }

    /// Whether a file was changed that no command in a fence can reach.
    pub fn breaks_seal(&self) -> bool {
        // the index and the HEAD that were verified are those of the run
        let own = [Place::Admin("index".into()), Place::Head];
        let is_own = |finding: &&Finding| own.contains(&finding.change.place);
        let mut findings = self.report.violations().filter(|one| !is_own(one));
        findings.any(|finding| matches!(finding.reason, Reason::Integrity | Reason::Shared))
    }
}

/// Imports what the last run left. The processes of that run have ended, and the lock of the name is held.
///
/// # Errors
/// Fails when git or the disk does: then the branch is where it was, and the run's git directory stays.
pub(super) fn import(
    repository: &Repository,
    known: &Worktree,
    private: &PrivateGit,
) -> Result<Imported, Error> {
    let (record, mut notes) = (&known.record, Vec::new());
    let name = record.name.as_str();
    let result = private.read_result(repository, known)?;
    let branch = record.branch.full_ref();
    let before = repository.git.rev_parse_commit(&branch)?;
    let tip = result
        .branch
        .clone()
        .filter(|tip| Some(tip) != before.as_ref());
    fetch(
        repository,
        known,
        private,
        &result,
        tip.as_ref(),
        &mut notes,
    )?;
    let head = result.head.clone().or_else(|| before.clone());
    let terms = Terms {
        index: Some(private.index())
            .filter(|index| files::exists(index) && !files::is_endless(index)),
        head: head.filter(|head| Some(head) != before.as_ref()),
        ..Terms::default()
    };
    let survey = collect_with(repository, known, &terms)?;
    notes.extend(survey.nested().iter().map(|path| {
        format!("{path} is a repository of its own: a git that you start there runs its settings")
    }));
    let (has_staged, is_on_disk) = (survey.has_staged(), survey.staged_only().is_empty());
    let report = known.judge(survey.changes, VerifyOptions::default());
    let mut moved = None;
    let mut incoming = tip.as_ref().map(|_| incoming_ref(known));
    let is_late = tip.is_some() && private.began()? != before;
    if is_late {
        notes.push(format!(
            "{} moved while the command ran, and stays; to merge the commits of the command: git -C {} merge {}",
            record.branch, record.path, incoming_ref(known)
        ));
    }
    if let Some(command) = result.operation {
        notes.push(format!(
            "the command ended in the middle of a {command}; to go on: git agentwt exec {name}"
        ));
    } else if !result.is_on_branch {
        notes.push(format!(
            "the command left {} for another branch: only the commits of {} count",
            record.branch, record.branch
        ));
    }
    if report.valid() && !is_late {
        let is_ended = result.is_on_branch && result.operation.is_none();
        let git = known.git(repository);
        if is_ended && !has_staged {
            // killed after this, the next run moves the branch
            take_index(known, private)?;
        }
        if let (Some(before), Some(tip)) = (before, tip) {
            let reason = "agentwt exec: the commits of a fenced command";
            git.update_ref(&branch, &tip, Some(&before), reason)?;
            (moved, incoming) = (Some((before, tip)), None);
        }
        if is_ended {
            if has_staged {
                // the objects that the index of the run names were not fetched; the files are on disk
                git.perform("write the index", "reset --quiet", &[])?;
            }
            // what git made anew there has the write bits of its umask
            let placed = known.placed()?;
            set_bits(
                &record.path,
                &known.scope,
                &[],
                placed.files(),
                Doing::Change,
            )?;
        }
        if is_ended && is_on_disk && result.stashes.is_empty() {
            // what an earlier run left came in with this one; killed here, the next run does it again
            let git = repository.git.with_mode(GitMode::Hardened);
            for one in read_run_refs(repository, known)? {
                git.delete_ref(&one.name.to_str_lossy(), &one.id)?;
            }
            private.remove()?;
        }
    }
    known.write_verification(&report, &Session::now())?;
    Ok(Imported {
        report,
        moved,
        incoming,
        is_late,
        notes,
    })
}

/// Begins anew after a run whose branch was moved by someone else: what it made stays under other refs.
pub(super) fn set_aside(
    repository: &Repository,
    known: &Worktree,
    private: &PrivateGit,
) -> Result<(), Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    for one in read_run_refs(repository, known)? {
        let kept = format!("{KEPT}{}/{}", known.record.name, one.id);
        if git.for_each_ref(&[&kept])?.is_empty() {
            git.update_ref(&kept, &one.id, None, "agentwt exec: set aside")?;
        }
        git.delete_ref(&one.name.to_str_lossy(), &one.id)?;
    }
    private.remove()
}

/// Fetches all that the run made. The tip of its branch comes into one ref, which keeps what it named
/// before.
fn fetch(
    repository: &Repository,
    known: &Worktree,
    private: &PrivateGit,
    result: &RunResult,
    tip: Option<&CommitId>,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let (below, name) = (run_refs(known), &known.record.name);
    let left = |id: &CommitId| format!("{below}{id}");
    let kept = |id: &CommitId| format!("{KEPT}{name}/{id}");
    let objects = repository.objects()?;
    let is_new = |id: &CommitId| !objects.is_commit(id);
    let work = tip.into_iter().chain(&result.head).chain(&result.stashes);
    let mut wanted: BTreeMap<&CommitId, String> = BTreeMap::new();
    for id in work.filter(|id| Some(*id) == tip || is_new(id)) {
        wanted.insert(id, left(id));
    }
    let others = result.others.iter().filter(|(_, id)| is_new(id));
    let others: Vec<_> = others.filter(|(_, id)| !wanted.contains_key(id)).collect();
    wanted.extend(others.iter().map(|(_, id)| (id, kept(id))));
    if wanted.is_empty() {
        return Ok(());
    }
    let specs = wanted.iter().map(|(id, name)| format!("{id}:{name}"));
    let specs: Vec<String> = specs.collect();
    let git = repository.git.with_mode(GitMode::Hardened);
    let limited = git.with_limit(MOST);
    limited.fetch_objects(private.git_dir().as_str(), true, &specs)?;
    if let Some(tip) = tip {
        bring::point(repository, &incoming_ref(known), tip, &left)?;
        git.delete_ref(&left(tip), tip)?;
    }
    for (what, id) in others {
        // what the branch has is not lost with its other name
        if tip.is_some_and(|tip| git.is_ancestor(id, tip).unwrap_or(false)) {
            git.delete_ref(&kept(id), id)?;
        } else {
            let kept = kept(id);
            notes.push(format!("{what} of the command is kept: git show {kept}"));
        }
    }
    Ok(())
}

/// Gives the worktree the index of the run, unless a git of the user holds its own.
fn take_index(known: &Worktree, private: &PrivateGit) -> Result<(), Error> {
    let (own, index) = (known.record.admin_dir.join("index"), private.index());
    let is_held = files::exists(&own.with_extension("lock"));
    if is_held || files::is_behind_link(&index) || files::is_endless(&index) {
        return Ok(());
    }
    if let Some(bytes) = files::read(&index)? {
        files::write(&own, &bytes)?;
    }
    Ok(())
}
