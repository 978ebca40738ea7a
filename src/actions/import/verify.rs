//! Verifies the worktree as if its branch had the commits of a run already: [`Verified`].

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::import::not_given::find_not_given;
use crate::actions::import::outcome::Seal;
use crate::actions::import::plan::ImportVerdict;
use crate::actions::import::run::RunToImport;
use crate::disk::files;
use crate::git::index::OpenIndex;
use crate::judge::change::{Cause, Content, Kind, Place, SharedChange};
use crate::judge::finding::{Reason, Report, VerifyOptions};
use crate::truth::collect_with;
use crate::truth::options::{LargeFiles, SurveyOptions};
use crate::words::entry::ObjectId;
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// The worktree with the commits and the index of a run.
pub struct Verified {
    /// The verdict.
    pub report: Report,
    /// The bytes of the index of the run without what git would believe of it; none where it cannot
    /// be read.
    pub index: Option<Vec<u8>>,
    /// Whose commit the tip of the run is.
    pub tip_owner: TipOwner,
    /// The staged files.
    pub staged: BTreeSet<ObjectId>,
    /// The paths that are staged and neither in a commit nor on disk.
    pub staged_only: Vec<RepoPath>,
    /// The sizes of the files that were looked at.
    pub sizes: BTreeMap<RepoPath, u64>,
    /// The directories of the worktree that are repositories.
    pub nested: Vec<RepoPath>,
}

/// Says whose commit it is to which an import moves the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TipOwner {
    /// It is one of the commits of the worktree.
    Worktree,
    /// It is of others: upstream has it, or the branch stood on it.
    Others,
}

impl Verified {
    /// Returns the verdict in a word.
    pub fn verdict(&self) -> ImportVerdict {
        if self.report.valid() {
            ImportVerdict::InScope
        } else {
            ImportVerdict::Violations
        }
    }
}

/// Verifies the worktree as if its branch had the commits of the run, and its index were that of
/// the run. Where the run has no index that can be read, the one of the worktree is looked at.
///
/// # Errors
/// Fails when git or the disk does.
pub fn verify(run: &RunToImport<'_>, large_files: LargeFiles) -> Result<Verified, Error> {
    let repository = run.repository;
    let worktree = run.worktree;
    let file = run.private.index();
    let run_index = if files::exists(&file) {
        OpenIndex::read(&file, repository.format).ok()
    } else {
        None
    };
    let options = SurveyOptions {
        index: run_index.as_ref().map(|_| file),
        // not HEAD, which may be elsewhere: the branch moves to the tip
        head: run.tip.clone(),
        large_files,
        ..SurveyOptions::default()
    };
    let mut survey = collect_with(repository, worktree, &options)?;
    let not_given = find_not_given(run, &survey, run_index.as_ref())?;
    survey.changes.leaks.extend(not_given);
    survey.changes.shared.extend(find_pushed(run)?);
    let mut nested = survey.nested();
    nested.extend(survey.bare(&worktree.record.path));
    let tip_owner = match &run.tip {
        Some(tip) if !survey.commits.contains(tip) => TipOwner::Others,
        Some(_) | None => TipOwner::Worktree,
    };
    Ok(Verified {
        tip_owner,
        index: run_index.and_then(|index| index.plain_bytes(&survey.unstaged()).ok()),
        staged: survey.staged(),
        staged_only: survey.staged_only(),
        nested,
        sizes: survey.states.disk.sizes,
        report: worktree.judge(survey.changes, VerifyOptions::default()),
    })
}

/// Finds what the run pushed to branches of others. Their remote-tracking refs moved in the git
/// directory of the run alone, so no survey of the worktree finds them.
fn find_pushed(run: &RunToImport<'_>) -> Result<Vec<SharedChange>, Error> {
    let mut changes = Vec::new();
    if run.result.pushed.is_empty() {
        return Ok(changes);
    }
    let at_add = run.worktree.refs_at_add()?.commits;
    for pushed in &run.result.pushed {
        // a branch that was not there at `add` is nobody else's
        let cause = if at_add.contains_key(&pushed.name) {
            Cause::MadeHere
        } else {
            Cause::Unknown
        };
        let place = Place::Git(pushed.name.clone());
        let commit = pushed.id.short();
        let detail = format!("commit {commit} was pushed there by the command");
        let mut shared = SharedChange::new(place, Kind::Ref, detail, cause);
        shared.change.now = vec![Content::value("", Some(pushed.id.to_string()))];
        changes.push(shared);
    }
    Ok(changes)
}

/// Says whether a file was changed since the run began that no command in a fence can reach.
pub fn seal_of(run: &RunToImport<'_>, report: &Report) -> Seal {
    let is_broken = report.violations().any(|finding| {
        matches!(finding.reason, Reason::Integrity | Reason::Shared)
            && is_changed_outside(run, &finding.change.place)
    });
    if is_broken { Seal::Broken } else { Seal::Whole }
}

/// True if a place is out of reach of the command, and not known to be as it was when the run
/// began.
fn is_changed_outside(run: &RunToImport<'_>, place: &Place) -> bool {
    // the index and the HEAD that were verified are those of the run
    if *place == Place::Admin("index".into()) || *place == Place::Head {
        return false;
    }
    let file: Utf8PathBuf = match place {
        Place::Git(name) => join(&run.repository.common_dir, name),
        Place::Admin(name) => join(&run.worktree.record.admin_dir, name),
        Place::Outside(path) => join(Utf8Path::new("/"), path),
        // the command itself can make it unreadable
        Place::Path(_) => return false,
        _elsewhere => return true,
    };
    let stat = files::stat(&file).or_else(|| files::stat(file.parent()?));
    stat.is_none_or(|stat| stat.ctime >= run.since)
}

fn join(directory: &Utf8Path, name: &BString) -> Utf8PathBuf {
    directory.join(name.to_str_lossy().as_ref())
}
