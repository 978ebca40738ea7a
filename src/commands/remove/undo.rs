//! `git agentwt remove --undo`: brings removed worktrees back as they were.

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::remove::decide::RemoveRefusal;
use crate::actions::remove::finish::finish;
use crate::actions::trash::enter::{in_trash, is_away, pending_removal};
use crate::actions::trash::entry::{Trashed, choose, id, shown};
use crate::actions::trash::hold::Held;
use crate::actions::trash::list::{list, load};
use crate::actions::trash::private_git_dir::PrivateGitDir;
use crate::actions::trash::undo::{move_record_back, restore_from_trash};
use crate::commands::remove::answer::{RemoveAnswer, RemovedWorktree, UndoneRemoval};
use crate::commands::remove::arguments::Remove;
use crate::commands::{Outcome, Session};
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::git::process::Git;
use crate::git::worktree::WorktreeEntry;
use crate::record::worktree::{Removal, TrashStamp};
use crate::refusal::Refusal;
use crate::truth::planted;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::{CommitId, WorktreeName, branch_of};
use crate::words::path::{self, shell_word};
use crate::worktree::loaded::{RecordState, Worktree};
use crate::worktree::repository::Repository;

/// A removed worktree that can come back.
struct ReturningWorktree {
    worktree: Worktree,
    removal: Removal,
    stamp: TrashStamp,
    state: UndoState,
}

/// How far the removal, or an undo of it, came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UndoState {
    /// The removal is complete: the record is in the trash.
    InTrash,
    /// The removal, or an undo of it, was killed: the record is in its place.
    Interrupted,
}

/// A branch as it was when the worktree was removed.
struct RemovedBranch {
    /// Its full name.
    name: String,
    /// Its commit; `None` if the branch was unborn.
    commit: Option<CommitId>,
}

/// A branch that is created again.
struct NewBranch {
    /// Its full name.
    name: String,
    commit: CommitId,
}

/// Brings the named worktrees back, one after the other.
///
/// # Errors
/// Fails when one is refused, or git or the disk fails. Those before it are back.
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
    let mut notes = Vec::new();
    for text in &options.names {
        session.check()?;
        let name = WorktreeName::parse(text).map_err(|error| Refusal::BadName {
            text: path::escape_for_terminal(text.as_bytes()),
            why: error.to_string(),
        })?;
        let _one_at_a_time = Lock::wait(&repository.name_lock(&name))?;
        worktrees.push(undo(session, &repository, &name, options)?);
        if !options.dry_run {
            notes.extend(note_of_missing_files(&repository.worktree_path(&name))?);
        }
    }
    let mut outcome = Outcome::done(RemoveAnswer { worktrees });
    outcome.notes = notes;
    Ok(outcome)
}

/// Says that nothing of the directory came back: it was gone before the removal, or was deleted in
/// the trash, as `git clean -fdx` does.
fn note_of_missing_files(path: &Utf8Path) -> Result<Option<String>, DiskError> {
    let names = files::names(path)?;
    if names.iter().any(|name| name.as_str() != ".git") {
        return Ok(None);
    }
    Ok(Some(format!(
        "none of its files came back: the directory was gone before the removal, or was deleted in \
         the trash; what git has comes by: git -C {} checkout -- .",
        shell_word(path.as_str())
    )))
}

/// Brings one worktree back, or says what would come back.
///
/// 1. Finds what an interrupted call left, or else the removal in the trash.
/// 2. Refuses if the place of the worktree or one of its branches is taken by now.
/// 3. Brings back the record, then the branches, the private git directory and the directory.
fn undo(
    session: &Session,
    repository: &Repository,
    name: &WorktreeName,
    options: &Remove,
) -> Result<RemovedWorktree, Error> {
    // 1
    let entries = list(repository)?;
    let returning = match find_interrupted(repository, name)? {
        Some(interrupted) => interrupted,
        None => find_in_trash(repository, name, options.from.as_deref(), &entries)?,
    };
    // 2
    let new_branches = plan(repository, &returning)?;
    session.check()?;
    // 3
    if !options.dry_run {
        if is_away(repository, &returning.worktree, Some(&returning.stamp)) {
            // `plan` lets an empty directory pass: the returning one takes its place
            files::remove_if_empty(&repository.worktree_path(name));
        }
        if returning.state == UndoState::InTrash {
            move_record_back(repository, name, &returning.stamp)?;
        }
        apply(repository, &returning, &new_branches)?;
    }
    let stamp = &returning.stamp;
    let undo = UndoneRemoval {
        head: stamp.head.clone(),
        undone: shown(&id(name, &stamp.time)),
        removals: entries
            .iter()
            .rev()
            .filter(|entry| entry.name == *name)
            .cloned()
            .collect(),
        head_ref: stamp.on.clone(),
    };
    Ok(RemovedWorktree {
        dry_run: options.dry_run,
        undo: Some(undo),
        ..RemovedWorktree::new(&returning.worktree.record)
    })
}

/// Finds a removal of this name, or an undo of one, that was killed.
fn find_interrupted(
    repository: &Repository,
    name: &WorktreeName,
) -> Result<Option<ReturningWorktree>, Error> {
    let RecordState::Complete(worktree) = RecordState::read(repository, name)? else {
        return Ok(None);
    };
    let Some(removal) = pending_removal(&worktree) else {
        return Ok(None);
    };
    let Some(stamp) = removal.trash.clone() else {
        return Ok(None);
    };
    Ok(Some(ReturningWorktree {
        worktree: *worktree,
        removal,
        stamp,
        state: UndoState::Interrupted,
    }))
}

/// Finds the removal of this name in the trash: the one that `--from` names, else the newest.
///
/// # Errors
/// Refuses if there is none, or if what is kept of it is not enough to bring the worktree back.
fn find_in_trash(
    repository: &Repository,
    name: &WorktreeName,
    from: Option<&str>,
    entries: &[Trashed],
) -> Result<ReturningWorktree, Error> {
    let mut removals = Vec::new();
    for entry in entries {
        if entry.name == *name {
            removals.push(entry);
        }
    }
    let chosen = choose(removals.iter().copied(), from);
    let keeps_directory = chosen.is_some_and(|entry| entry.removal.is_some());
    let is_there = files::exists(&repository.record_dir(name));
    // before all other refusals: if only commits are kept, a worktree that is in its place needs
    // no undo
    if is_there && !keeps_directory && from.is_none() {
        return Err(refuse_there(name, chosen).into());
    }
    let Some(entry) = chosen else {
        return Err(refuse_unknown(repository, name, from, &removals)?.into());
    };
    let Some(removal) = entry.removal.clone() else {
        return Err(refuse_only_commits(name, entry).into());
    };
    let Some(stamp) = removal.trash.clone() else {
        return Err(refuse_only_commits(name, entry).into());
    };
    let Some(worktree) = load(repository, entry)? else {
        let message =
            format!("cannot bring `{name}` back: its `add` was killed, so only its files are kept");
        let path = repository.root.join(entry.shown());
        let help = format!("take what you need from {path}");
        return Err(refusal("incomplete", message, help).into());
    };
    Ok(ReturningWorktree {
        worktree,
        removal,
        stamp,
        state: UndoState::InTrash,
    })
}

/// Refuses because the worktree is in its place, and no removal of it keeps a directory.
fn refuse_there(name: &WorktreeName, only_commits: Option<&Trashed>) -> RemoveRefusal {
    let message = format!("the worktree `{name}` is there already");
    let help = match only_commits {
        Some(entry) => format!(
            "commits of an earlier removal are kept: git log {}",
            entry.shown()
        ),
        None => "to see what can come back: git agentwt list --trash".to_owned(),
    };
    refusal("there", message, help)
}

fn refuse_only_commits(name: &WorktreeName, entry: &Trashed) -> RemoveRefusal {
    let message = format!("of the removed worktree `{name}` only commits are kept");
    let help = format!(
        "to have them on a branch again: git branch agentwt/{name} {}",
        entry.shown()
    );
    refusal("only_commits", message, help)
}

/// Refuses because the trash has no removal of this name, or none that `--from` names.
fn refuse_unknown(
    repository: &Repository,
    name: &WorktreeName,
    from: Option<&str>,
    removals: &[&Trashed],
) -> Result<RemoveRefusal, Error> {
    if let Some(text) = from
        && !removals.is_empty()
    {
        let message = format!("`{text}` names no removal of worktree `{name}`");
        let help = "to see what can come back: git agentwt list --trash";
        return Ok(refusal("unknown", message, help));
    }
    let message = format!("there is no removed worktree `{name}` to bring back");
    let help = help_for_kept_commits(repository, name)?;
    Ok(refusal("nothing", message, help))
}

/// How to get at commits that are kept under this name; a removed clone leaves some.
fn help_for_kept_commits(repository: &Repository, name: &WorktreeName) -> Result<String, Error> {
    let incoming = format!("refs/agentwt/incoming/{name}");
    let below = format!("refs/agentwt/kept/{name}/");
    let mut kept = Vec::new();
    for reference in repository.git.for_each_ref(&[&incoming, &below])? {
        kept.push(reference.name.to_string());
    }
    if kept.is_empty() {
        return Ok("to see what can come back: git agentwt list --trash".to_owned());
    }
    Ok(format!(
        "commits of this name were kept; to have them on a branch: git branch <new> <ref>, of {}",
        kept.join(", ")
    ))
}

/// Decides which branches are created again.
///
/// # Errors
/// Refuses if the place of the worktree or one of its branches is taken by now, or its private git
/// directory is gone.
fn plan(repository: &Repository, returning: &ReturningWorktree) -> Result<Vec<NewBranch>, Error> {
    let stamp = &returning.stamp;
    let worktree = &returning.worktree;
    if returning.state == UndoState::Interrupted && !is_away(repository, worktree, Some(stamp)) {
        // the worktree is in its place: only the end of the removal is missing
        return Ok(Vec::new());
    }
    require_free_place(repository, returning)?;
    let own_paths = [
        repository.worktree_path(&worktree.record.name),
        kept_path(repository, returning),
    ];
    let mut others = repository.worktree_list()?;
    others.retain(|other| !own_paths.contains(&other.path));
    let mut new_branches = Vec::new();
    for branch in removed_branches(returning) {
        returning.require_not_checked_out(&branch, &others)?;
        if let Some(tip) = repository.git.rev_parse_commit(&branch.name)? {
            returning.require_same_tip(&branch, &tip)?;
        } else if let Some(commit) = branch.commit {
            let name = branch.name;
            new_branches.push(NewBranch { name, commit });
        }
    }
    Ok(new_branches)
}

/// Refuses if the name or the path is taken by now, or the private git directory is gone. Called
/// only where the directory is away.
fn require_free_place(repository: &Repository, returning: &ReturningWorktree) -> Result<(), Error> {
    let worktree = &returning.worktree;
    let record = &worktree.record;
    let name = &record.name;
    // of an interrupted removal, the record that is there is its own
    let may_be_of_another = returning.state == UndoState::InTrash;
    if may_be_of_another && files::exists(&repository.record_dir(name)) {
        let why = "a worktree of this name is there";
        let time = &returning.stamp.time;
        let help = format!(
            "remove that one first: git agentwt remove {name} && git agentwt remove --undo {name} \
             --from {time}"
        );
        return Err(returning.refusal("exists", why, help).into());
    }
    if matches!(PrivateGitDir::find(worktree), PrivateGitDir::Gone) {
        let why = format!("its private git directory {} is gone", record.admin_dir);
        let kept = kept_path(repository, returning);
        let help = format!("take what you need of its files from {kept}");
        return Err(returning.refusal("no_git_directory", &why, help).into());
    }
    let path = repository.worktree_path(name);
    let is_empty = files::is_directory(&path) && files::is_empty(&path);
    if files::exists(&path) && !is_empty {
        let why = format!("{path} is there");
        let help = format!(
            "move it away: mv {} <elsewhere>",
            path::shell_word(path.as_str())
        );
        return Err(returning.refusal("path_taken", &why, help).into());
    }
    Ok(())
}

/// The branch that HEAD named, and that of the worktree. Empty for a clone: its branches are in its
/// own repository.
fn removed_branches(returning: &ReturningWorktree) -> Vec<RemovedBranch> {
    let record = &returning.worktree.record;
    let stamp = &returning.stamp;
    let mut branches: Vec<RemovedBranch> = Vec::new();
    if record.strategy == Strategy::Clone {
        return branches;
    }
    if let Some(on) = &stamp.on
        && on.starts_with("refs/heads/")
    {
        branches.push(RemovedBranch {
            name: on.clone(),
            commit: stamp.head.clone(),
        });
    }
    let own = record.branch.full_ref();
    if stamp.tip.is_some() && !branches.iter().any(|branch| branch.name == own) {
        branches.push(RemovedBranch {
            name: own,
            commit: stamp.tip.clone(),
        });
    }
    branches
}

/// The directory in the trash.
fn kept_path(repository: &Repository, returning: &ReturningWorktree) -> Utf8PathBuf {
    let name = &returning.worktree.record.name;
    repository
        .root
        .join(shown(&id(name, &returning.stamp.time)))
}

impl ReturningWorktree {
    fn refusal(&self, code: &str, why: &str, help: String) -> RemoveRefusal {
        let name = &self.worktree.record.name;
        refusal(code, format!("cannot bring `{name}` back: {why}"), help)
    }

    /// Refuses a branch that another worktree has checked out.
    fn require_not_checked_out(
        &self,
        branch: &RemovedBranch,
        others: &[WorktreeEntry],
    ) -> Result<(), RemoveRefusal> {
        for other in others {
            if other.branch.as_ref() == Some(&branch.name) {
                let short = branch_of(&branch.name);
                let path = &other.path;
                let why = format!("the branch `{short}` is checked out at {path}");
                let help = format!(
                    "switch that worktree away from it: git -C {} switch <branch>",
                    path::shell_word(path.as_str())
                );
                return Err(self.refusal("branch_held", &why, help));
            }
        }
        Ok(())
    }

    /// Refuses a branch that exists and is not where it was when the worktree was removed.
    fn require_same_tip(
        &self,
        branch: &RemovedBranch,
        tip: &CommitId,
    ) -> Result<(), RemoveRefusal> {
        if branch.commit.as_ref() == Some(tip) {
            return Ok(());
        }
        let short = branch_of(&branch.name);
        let now = tip.short();
        let was = branch.commit.as_ref().map_or("no commit", CommitId::short);
        let why = format!("the branch `{short}` is at {now}, and was at {was}");
        let help = format!("rename that branch first: git branch -m {short} <new>");
        Err(self.refusal("branch_moved", &why, help))
    }
}

fn refusal(code: &str, message: String, help: impl Into<String>) -> RemoveRefusal {
    RemoveRefusal {
        exit: ExitCode::Refused,
        code: format!("trash::{code}"),
        message,
        reason: String::new(),
        help: help.into(),
    }
}

/// Brings the worktree back; its record is in its place already. When a step fails, the worktree
/// goes into the trash again.
fn apply(
    repository: &Repository,
    returning: &ReturningWorktree,
    new_branches: &[NewBranch],
) -> Result<(), Error> {
    let name = &returning.worktree.record.name;
    let mut worktree = Worktree::load(repository, name)?;
    // the removal ended the work of the owner and released the claim
    worktree.record.owner = None;
    worktree.record.claim = None;
    worktree.write_record(&worktree.record)?;
    worktree.remove_verification()?;
    // planted hooks are searched for where the private git directory is: in the trash
    let trashed = in_trash(repository, &worktree, &returning.stamp.time);
    let git = planted::git_without_hooks(repository, &trashed);
    let brought_back = create_branches(&git, new_branches)
        .and_then(|()| restore_from_trash(repository, &worktree, &returning.stamp));
    let Err(error) = brought_back else {
        return Ok(());
    };
    let remains = remove_again(repository, &git, returning, new_branches);
    Err(error.leaving(remains))
}

/// Moves a worktree that came back in part into the trash again. Returns what could not be undone.
fn remove_again(
    repository: &Repository,
    git: &Git,
    returning: &ReturningWorktree,
    new_branches: &[NewBranch],
) -> Vec<String> {
    let name = &returning.worktree.record.name;
    // loaded again: its private git directory may have got another name
    let removed = Worktree::load(repository, name).and_then(|worktree| {
        let mut held = Held::default();
        finish(repository, &worktree, &returning.removal, &mut held)
    });
    for branch in new_branches {
        let _ = git.delete_ref(&branch.name, &branch.commit);
    }
    match removed {
        Ok(_) => Vec::new(),
        Err(error) => vec![error.to_string()],
    }
}

fn create_branches(git: &Git, new_branches: &[NewBranch]) -> Result<(), Error> {
    for branch in new_branches {
        let reason = "agentwt remove: undo";
        git.update_ref(&branch.name, &branch.commit, None, reason)?;
    }
    Ok(())
}
