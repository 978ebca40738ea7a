//! Lists what is left over, as `prune -n` does, and what is kept on purpose.

use super::{Context, DoctorCheck, some};
use crate::disk::files;
use crate::disk::trash_bin::DELETED;
use crate::error::Error;
use crate::name::WorktreeName;
use crate::worktree::leftover::{self, Leftover, LeftoverKind};
use crate::worktree::repository::WORKTREES;
use crate::worktree::trash;

/// The refs of files that were saved before they were replaced.
const RESCUE: &str = "refs/agentwt/rescue/";

/// Lists everything; nothing is removed.
pub(super) fn leftovers(context: &Context<'_>) -> Result<Vec<DoctorCheck>, Error> {
    let (repository, now) = (context.repository, jiff::Timestamp::now().as_second());
    let mut checks = Vec::new();
    for name in leftover::all_names(repository)? {
        let found = leftover::of_name(repository, &name, now)?.all;
        if !found.is_empty() && repository.name_lock(&name).is_held() {
            let found = format!("a command works on {name}");
            checks.push(DoctorCheck::note("in-use", found, ""));
        } else {
            checks.extend(found.into_iter().map(judge));
        }
    }
    let shared = leftover::shared(repository, now)?.into_iter();
    checks.extend(shared.map(judge));
    let deleted = files::names(&repository.root.join(WORKTREES).join(DELETED))?.len();
    if deleted > 0 {
        let found = format!("{WORKTREES}/{DELETED} has {deleted} entries to delete");
        checks.push(DoctorCheck::note("deleted", found, "git agentwt prune"));
    }
    if checks.is_empty() {
        checks.push(DoctorCheck::ok("leftovers", "nothing is left over"));
    }
    checks.extend(free_branches(context)?);
    checks.extend(saved(context)?);
    Ok(checks)
}

fn judge(leftover: Leftover) -> DoctorCheck {
    use LeftoverKind::{Claim, Entry, Record, Temporary, Trash};
    let check = leftover.kind.as_str();
    let found = format!("{}: {}", leftover.what, leftover.why);
    let (stays, has_help) = (!leftover.goes, leftover.help.is_some());
    let fix = match leftover.help {
        _ if !stays => "git agentwt prune".to_owned(),
        help => help.unwrap_or_default(),
    };
    match leftover.kind {
        _ if stays && !has_help => DoctorCheck::note(check, found, fix),
        Claim | Temporary | Trash => DoctorCheck::note(check, found, fix),
        Record if stays => DoctorCheck::problem(check, found, fix),
        // another worktree of plain git
        Entry if stays && !files::is_directory(&leftover.path.join("agentwt")) => {
            DoctorCheck::note(check, found, fix)
        }
        _ => DoctorCheck::warning(check, found, fix),
    }
}

/// Branches that `add` would name so and that no worktree has; without a prefix every branch would
/// be one.
fn free_branches(context: &Context<'_>) -> Result<Option<DoctorCheck>, Error> {
    let prefix = context.prefix.as_deref().unwrap_or_default();
    if prefix.is_empty() {
        return Ok(None);
    }
    let heads = format!("refs/heads/{prefix}");
    let mut free = Vec::new();
    for found in context.repository.git.for_each_ref(&["refs/heads/"])? {
        let full = found.name.to_string();
        let name = full.strip_prefix(&heads);
        let Some(name) = name.and_then(|name| WorktreeName::parse(name).ok()) else {
            continue;
        };
        let mut known = context.known.iter();
        let is_taken = known.any(|known| known.record.branch.full_ref() == full);
        if !is_taken && !files::exists(&context.repository.record_dir(&name)) {
            free.push(name.to_string());
        }
    }
    let Some(name) = free.first().cloned() else {
        return Ok(None);
    };
    let fix = format!(
        "to continue there: git agentwt add {name} -b {prefix}{name}; or git branch -d {prefix}{name}"
    );
    let branches: Vec<String> = free.iter().map(|name| format!("{prefix}{name}")).collect();
    let found = format!("no worktree has the branches: {}", some(&branches));
    Ok(Some(DoctorCheck::note("branch", found, fix)))
}

/// What was saved before something was removed or replaced.
fn saved(context: &Context<'_>) -> Result<Vec<DoctorCheck>, Error> {
    let mut checks = Vec::new();
    let trash = trash::list(context.repository)?.len();
    if trash > 0 {
        let found = format!("removed worktrees that can come back: {trash}");
        checks.push(DoctorCheck::note(
            "saved",
            found,
            "git agentwt list --trash",
        ));
    }
    let rescued = context.repository.git.for_each_ref(&[RESCUE])?;
    if !rescued.is_empty() {
        let found = format!("saved files under {RESCUE}: {}", rescued.len());
        let fix = format!(
            "to see them: git for-each-ref {RESCUE}; one that is not needed: git update-ref -d <ref>"
        );
        checks.push(DoctorCheck::note("saved", found, fix));
    }
    Ok(checks)
}
