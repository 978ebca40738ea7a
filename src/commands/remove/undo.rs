//! `git agentwt remove --undo`: brings removed worktrees back as they were.

use crate::actions::remove::plan::RemoveRefusal;
use crate::actions::trash::{Trashed, begun, chosen};
use crate::actions::{remove, trash};
use crate::commands::remove::answer::{RemoveAnswer, RemovedWorktree, UndoneRemoval};
use crate::commands::remove::arguments::Remove;
use crate::commands::{Outcome, Session};
use crate::config::value::Strategy;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::record::worktree::{Removal, TrashStamp};
use crate::refusal::Refusal;
use crate::truth::planted;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path;
use crate::worktree::loaded::{RecordState, Worktree};
use crate::worktree::repository::Repository;

fn refusal(code: &str, message: String, help: impl Into<String>) -> RemoveRefusal {
    RemoveRefusal {
        exit: ExitCode::Refused,
        code: format!("trash::{code}"),
        message,
        reason: String::new(),
        help: help.into(),
    }
}

/// Holds one that can come back.
struct Returning {
    known: Worktree,
    removal: Removal,
    stamp: TrashStamp,
    /// Whether its removal, or an undo of it, was killed: the record is at its place then.
    is_interrupted: bool,
}

/// Brings the named worktrees back, one after the other.
///
/// # Errors
/// Fails when one is refused, or git or the disk fails: that one is then not there, those before it
/// are.
pub fn run(session: &Session, options: &Remove) -> Result<Outcome<RemoveAnswer>, Error> {
    let repository = session.repository_to_change()?;
    if !options.dry_run {
        session.require_no_agent(&repository, &session.command_line)?;
    }
    let count = options.names.len();
    if options.from.is_some() && count > 1 {
        let message = format!("--from names one removal, and there are {count} worktrees");
        let help = "name one: git agentwt remove --undo <name> --from <removal>";
        return Err(Error::from(RemoveRefusal {
            exit: ExitCode::Usage,
            ..refusal("several_from", message, help)
        }));
    }
    let mut worktrees = Vec::new();
    for text in &options.names {
        session.check()?;
        let name = WorktreeName::parse(text).map_err(|error| Refusal::BadName {
            text: path::escape_for_terminal(text.as_bytes()),
            why: error.to_string(),
        })?;
        let _one_at_a_time = Lock::wait(&repository.name_lock(&name))?;
        worktrees.push(undo(session, &repository, &name, options)?);
    }
    Ok(Outcome::done(RemoveAnswer { worktrees }))
}

fn undo(
    session: &Session,
    repository: &Repository,
    name: &WorktreeName,
    options: &Remove,
) -> Result<RemovedWorktree, Error> {
    let all = trash::list(repository)?;
    let returning = match interrupted(repository, name)? {
        Some(returning) => returning,
        None => find(repository, name, options.from.as_deref(), &all)?,
    };
    let make = plan(repository, &returning)?;
    session.check()?;
    let Returning { known, stamp, .. } = &returning;
    if !options.dry_run {
        if !returning.is_interrupted {
            files::remove_if_empty(&repository.worktree_path(name));
            trash::move_record_back(repository, name, stamp)?;
        }
        apply(repository, &returning, &make)?;
    }
    let removals = all.iter().rev().filter(|one| one.name == *name);
    let undo = UndoneRemoval {
        head: stamp.head.clone(),
        undone: trash::shown(&trash::id(name, &stamp.time)),
        removals: removals.cloned().collect(),
        head_ref: stamp.on.clone(),
    };
    let record = &known.record;
    let dry_run = options.dry_run;
    Ok(RemovedWorktree::new(record, dry_run, None, Some(undo)))
}

/// A removal or an undo of this name that was killed.
fn interrupted(repository: &Repository, name: &WorktreeName) -> Result<Option<Returning>, Error> {
    let RecordState::Complete(known) = RecordState::read(repository, name)? else {
        return Ok(None);
    };
    Ok(begun(&known).and_then(|removal| {
        Some(Returning {
            stamp: removal.trash.clone()?,
            known: *known,
            removal,
            is_interrupted: true,
        })
    }))
}

/// What the user means, if it can come back.
fn find(
    repository: &Repository,
    name: &WorktreeName,
    from: Option<&str>,
    all: &[Trashed],
) -> Result<Returning, Error> {
    let of_name = || all.iter().filter(|one| one.name == *name);
    let Some(one) = chosen(of_name(), from) else {
        if let (Some(text), Some(_)) = (from, of_name().next()) {
            let message = format!("`{text}` names no removal of worktree `{name}`");
            let help = "to see what can come back: git agentwt list --trash";
            return Err(refusal("unknown", message, help).into());
        }
        let message = format!("there is no removed worktree `{name}` to bring back");
        let help = instead(repository, name)?;
        return Err(refusal("nothing", message, help).into());
    };
    let stamp = one.removal.as_ref().and_then(|one| one.trash.clone());
    let (Some(removal), Some(stamp)) = (one.removal.clone(), stamp) else {
        let message = format!("of the removed worktree `{name}` only commits are kept");
        let help = format!(
            "to have them on a branch again: git branch agentwt/{name} {}",
            one.shown()
        );
        return Err(refusal("only_commits", message, help).into());
    };
    let Some(known) = trash::load(repository, one)? else {
        let message =
            format!("cannot bring `{name}` back: its `add` was killed, so only its files are kept");
        let path = repository.root.join(one.shown());
        let help = format!("take what you need from {path}");
        return Err(refusal("incomplete", message, help).into());
    };
    Ok(Returning {
        known,
        removal,
        stamp,
        is_interrupted: false,
    })
}

/// What there is instead of a removed worktree: commits of a removed clone.
fn instead(repository: &Repository, name: &WorktreeName) -> Result<String, Error> {
    let incoming = format!("refs/agentwt/incoming/{name}");
    let kept = format!("refs/agentwt/kept/{name}/");
    let kept = repository.git.for_each_ref(&[&incoming, &kept])?;
    let kept: Vec<String> = kept.into_iter().map(|one| one.name.to_string()).collect();
    Ok(if kept.is_empty() {
        "to see what can come back: git agentwt list --trash".to_owned()
    } else {
        format!(
            "commits of this name were kept; to have them on a branch: git branch <new> <ref>, of \
                {}",
            kept.join(", ")
        )
    })
}

/// The branches that are created, by their full names; refuses where something is there by now.
fn plan(repository: &Repository, returning: &Returning) -> Result<Vec<(String, CommitId)>, Error> {
    let record = &returning.known.record;
    let stamp = &returning.stamp;
    let name = &record.name;
    let path = repository.worktree_path(&record.name);
    let refused = |code, why: String, help: String| {
        let what = format!("cannot bring `{name}` back: {why}");
        Err(refusal(code, what, help).into())
    };
    let is_new = !returning.is_interrupted;
    let kept = trash::shown(&trash::id(name, &stamp.time));
    let kept = repository.root.join(kept);
    if !is_new && !trash::is_away(repository, &returning.known, Some(stamp)) {
        // all is back: the removal has to be ended, no more
        return Ok(Vec::new());
    }
    if is_new && files::exists(&repository.record_dir(name)) {
        let help = format!("remove that one first: git agentwt remove {name}");
        return refused("exists", "a worktree of this name is there".into(), help);
    }
    let admin = &record.admin_dir;
    if record.strategy == Strategy::Worktree && !files::is_directory(admin) {
        let why = format!("its private git directory {admin} is gone");
        let help = format!("take what you need of its files from {kept}");
        return refused("no_git_directory", why, help);
    }
    if is_new && files::exists(&path) && !(files::is_directory(&path) && files::is_empty(&path)) {
        let help = format!("move it away: mv {path} <elsewhere>");
        return refused("path_taken", format!("{path} is there"), help);
    }
    let mut wanted: Vec<(String, Option<CommitId>)> = Vec::new();
    if record.strategy == Strategy::Worktree {
        let on = stamp.on.clone().filter(|on| on.starts_with("refs/heads/"));
        wanted.extend(on.map(|on| (on, stamp.head.clone())));
        let own = record.branch.full_ref();
        if stamp.tip.is_some() && !wanted.iter().any(|(name, _)| *name == own) {
            wanted.push((own, stamp.tip.clone()));
        }
    }
    let own = [path, kept];
    let mut worktrees = repository.git.worktree_list()?;
    worktrees.retain(|other| !own.contains(&other.path));
    let mut make = Vec::new();
    for (branch, was) in wanted {
        let short = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
        let mut others = worktrees.iter();
        if let Some(other) = others.find(|other| other.branch.as_ref() == Some(&branch)) {
            let path = &other.path;
            let why = format!("the branch `{short}` is checked out at {path}");
            let help = format!("switch that worktree away from it: git -C {path} switch <branch>");
            return refused("branch_held", why, help);
        }
        match (repository.git.rev_parse_commit(&branch)?, was) {
            (None, Some(was)) => make.push((branch, was)),
            (now, was) if now == was => {}
            (now, was) => {
                let now = now.as_ref().map_or("no commit", CommitId::short);
                let was = was.as_ref().map_or("no commit", CommitId::short);
                let why = format!("the branch `{short}` is at {now}, and was at {was}");
                let help = format!("rename that branch first: git branch -m {short} <new>");
                return refused("branch_moved", why, help);
            }
        }
    }
    Ok(make)
}

/// Brings it back, or moves it into the trash again.
fn apply(
    repository: &Repository,
    returning: &Returning,
    make: &[(String, CommitId)],
) -> Result<(), Error> {
    let name = &returning.known.record.name;
    let mut known = Worktree::load(repository, name)?;
    // the removal ended the work of the owner and released the claim
    known.record.owner = None;
    known.record.claim = None;
    known.write_record(&known.record)?;
    known.remove_verification()?;
    let git = planted::git_without_hooks(repository, &known);
    let back = make.iter().try_for_each(|(branch, at)| {
        let reason = "agentwt remove: undo";
        Ok(git.update_ref(branch, at, None, reason)?)
    });
    let back = back.and_then(|()| trash::leave(repository, &known, &returning.stamp));
    back.map_err(|error: Error| {
        let again = remove::finish(repository, &known, &returning.removal);
        for (branch, at) in make {
            let _ = git.delete_ref(branch, at);
        }
        error.leaving(again.err().iter().map(ToString::to_string).collect())
    })
}
