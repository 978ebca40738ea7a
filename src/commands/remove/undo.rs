//! `git agentwt remove --undo`: brings removed worktrees back as they were.

use std::fmt;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use super::{RemoveAnswer, RemovedWorktree};
use crate::answer::Text;
use crate::answer::shapes::TrashField;
use crate::commands::{Outcome, Session};
use crate::config::Strategy;
use crate::disk::files::{self, Lock};
use crate::error::{Error, Fault};
use crate::exit::ExitCode;
use crate::name::{CommitId, WorktreeName};
use crate::refusal::Refusal;
use crate::worktree::removal;
use crate::worktree::trash::{self, Trashed, begun, chosen};
use crate::worktree::{RecordState, Removal, Repository, TrashStamp, Worktree};

/// What was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UndoField {
    /// The commit of HEAD; null if the branch has none.
    pub head: Option<CommitId>,
    /// The directory in the trash that was moved back.
    pub undone: String,
    /// The removals of this name that were in the trash, the newest first.
    pub removals: Vec<TrashField>,
    /// Where HEAD is, in words.
    #[serde(skip)]
    pub place: String,
}

/// Says why a removed worktree is not brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoRefusal {
    exit: ExitCode,
    code: &'static str,
    message: String,
    help: String,
}

impl UndoRefusal {
    fn new(code: &'static str, message: String, help: impl Into<String>) -> Self {
        Self {
            exit: ExitCode::Refused,
            code,
            message,
            help: help.into(),
        }
    }
}

impl fmt::Display for UndoRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UndoRefusal {}

impl miette::Diagnostic for UndoRefusal {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("agentwt::trash::{}", self.code)))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.help))
    }
}

impl Fault for UndoRefusal {
    fn exit_code(&self) -> ExitCode {
        self.exit
    }
}

/// Holds what decides.
#[derive(Clone, Debug)]
struct UndoFacts {
    name: WorktreeName,
    path: Utf8PathBuf,
    /// Whether a worktree of this name is recorded.
    recorded: bool,
    /// Whether something stands at the path.
    taken: bool,
    branches: Vec<BranchNow>,
}

/// Holds where a branch was and is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BranchNow {
    /// The full name of its ref.
    name: String,
    /// Where it was; none when it had no commit yet.
    was: Option<CommitId>,
    /// Where it is; none when there is none.
    now: Option<CommitId>,
    /// The worktree that has it checked out.
    held: Option<Utf8PathBuf>,
}

/// Holds one that can come back.
struct Returning {
    one: Trashed,
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
pub fn run(
    session: &Session,
    options: &crate::cli::Remove,
) -> Result<Outcome<RemoveAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let count = options.names.len();
    if options.from.is_some() && count > 1 {
        let message = format!("--from names one removal, and there are {count} worktrees");
        let help = "name one: git agentwt remove --undo <name> --from <removal>";
        return Err(Error::from(UndoRefusal {
            exit: ExitCode::Usage,
            ..UndoRefusal::new("several_from", message, help)
        }));
    }
    let mut worktrees = Vec::new();
    for text in &options.names {
        session.check()?;
        let name = WorktreeName::parse(text).map_err(|error| Refusal::BadName {
            text: crate::path::escape_for_terminal(text.as_bytes()),
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
    options: &crate::cli::Remove,
) -> Result<RemovedWorktree, Error> {
    let all = trash::list(repository)?;
    let returning = match interrupted(repository, name)? {
        Some(returning) => returning,
        None => find(repository, name, options.from.as_deref(), &all)?,
    };
    let make = plan(&read_facts(repository, &returning)?)?;
    session.check()?;
    let Returning { one, known, .. } = &returning;
    if !options.dry_run {
        if !returning.is_interrupted {
            files::remove_if_empty(&known.record.path);
            trash::move_record_back(repository, one)?;
        }
        apply(repository, &returning, &make)?;
    }
    let removals = all.iter().rev().filter(|one| one.name == *name);
    let undo = UndoField {
        head: returning.stamp.head.clone(),
        undone: one.shown(),
        removals: removals.map(TrashField::from).collect(),
        place: place(&returning.stamp),
    };
    let (record, dry_run) = (&known.record, options.dry_run);
    Ok(RemovedWorktree::new(record, dry_run, None, Some(undo)))
}

/// Where HEAD is, in words.
fn place(stamp: &TrashStamp) -> String {
    let short = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    match (stamp.on.as_deref().map(short), &stamp.head) {
        (Some(branch), None) => format!("on branch {branch}, which has no commit yet"),
        (Some(branch), Some(head)) => format!("at {}, branch {branch}", head.short()),
        (None, Some(head)) => format!("at {}, on no branch", head.short()),
        (None, None) => "with a HEAD that cannot be read".to_owned(),
    }
}

impl UndoField {
    pub(super) fn print(&self, one: &RemovedWorktree, text: &mut Text) {
        let name = text.paint.name(&one.name);
        let Self { undone, place, .. } = self;
        if !one.dry_run {
            text.tell(format!("brought back {name} {place}, from {undone}"));
            return text.line(one.path.as_str());
        }
        text.tell(format!("would bring back {name} {place}, from {undone}"));
        for other in self.removals.iter().map(TrashField::shown) {
            if other != undone {
                text.tell(format!("  another removal of this name: {other}"));
            }
        }
    }
}

/// A removal or an undo of this name that was killed.
fn interrupted(repository: &Repository, name: &WorktreeName) -> Result<Option<Returning>, Error> {
    let RecordState::Complete(known) = RecordState::read(repository, name)? else {
        return Ok(None);
    };
    let removal = begun(&known);
    let stamp = removal.as_ref().and_then(|removal| removal.trash.clone());
    let (Some(removal), Some(stamp)) = (removal, stamp) else {
        return Ok(None);
    };
    Ok(Some(Returning {
        one: Trashed {
            name: name.clone(),
            time: stamp.time.clone(),
            removal: Some(removal.clone()),
            path: None,
            commits: None,
        },
        known: *known,
        removal,
        stamp,
        is_interrupted: true,
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
            return Err(UndoRefusal::new("unknown", message, help).into());
        }
        let message = format!("there is no removed worktree `{name}` to bring back");
        let help = instead(repository, name, all)?;
        return Err(UndoRefusal::new("nothing", message, help).into());
    };
    let stamp = one.removal.as_ref().and_then(|one| one.trash.clone());
    let (Some(removal), Some(stamp)) = (one.removal.clone(), stamp) else {
        let message = format!("of the removed worktree `{name}` only commits are kept");
        let help = format!(
            "to have them on a branch again: git branch agentwt/{name} {}",
            one.shown()
        );
        return Err(UndoRefusal::new("only_commits", message, help).into());
    };
    let Some(known) = trash::load(repository, one)? else {
        let message =
            format!("cannot bring `{name}` back: its `add` was killed, so only its files are kept");
        let path = one.path.clone().unwrap_or_else(|| one.shown().into());
        let help = format!("take what you need from {path}");
        return Err(UndoRefusal::new("incomplete", message, help).into());
    };
    Ok(Returning {
        one: one.clone(),
        known,
        removal,
        stamp,
        is_interrupted: false,
    })
}

/// What there is instead of a removed worktree: commits of a removed clone, or others.
fn instead(repository: &Repository, name: &WorktreeName, all: &[Trashed]) -> Result<String, Error> {
    let incoming = format!("refs/agentwt/incoming/{name}");
    let kept = format!("refs/agentwt/kept/{name}/");
    let kept = repository.git.for_each_ref(&[&incoming, &kept])?;
    let kept: Vec<String> = kept.into_iter().map(|one| one.name.to_string()).collect();
    let mut others: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    others.dedup();
    Ok(if !kept.is_empty() {
        format!(
            "commits of this name were kept; to have them on a branch: git branch <new> <ref>, of {}",
            kept.join(", ")
        )
    } else if others.is_empty() {
        "nothing was removed with `git agentwt remove --force`, or it has expired".to_owned()
    } else {
        format!("there are: {}", others.join(", "))
    })
}

fn read_facts(repository: &Repository, returning: &Returning) -> Result<UndoFacts, Error> {
    let (record, stamp) = (&returning.known.record, &returning.stamp);
    let path = repository.worktree_path(&record.name);
    let mut wanted: Vec<(String, Option<CommitId>)> = Vec::new();
    if record.strategy == Strategy::Worktree {
        let on = stamp.on.clone().filter(|on| on.starts_with("refs/heads/"));
        wanted.extend(on.map(|on| (on, stamp.head.clone())));
        let own = record.branch.full_ref();
        if stamp.tip.is_some() && !wanted.iter().any(|(name, _)| *name == own) {
            wanted.push((own, stamp.tip.clone()));
        }
    }
    let worktrees = repository.worktrees()?;
    let mut branches = Vec::new();
    for (name, was) in wanted {
        let held = worktrees.iter().find(|other| {
            let is_own = other.path == path || Some(&other.path) == returning.one.path.as_ref();
            other.branch.as_ref() == Some(&name) && !is_own
        });
        branches.push(BranchNow {
            now: repository.git.rev_parse_commit(&name)?,
            held: held.map(|other| other.path.clone()),
            name,
            was,
        });
    }
    let is_new = !returning.is_interrupted;
    let stands = files::exists(&path) && !(files::is_directory(&path) && files::is_empty(&path));
    Ok(UndoFacts {
        name: record.name.clone(),
        recorded: is_new && files::exists(&repository.record_dir(&record.name)),
        taken: is_new && stands,
        path,
        branches,
    })
}

/// Decides: the branches that are created, by their full names.
fn plan(facts: &UndoFacts) -> Result<Vec<(String, CommitId)>, UndoRefusal> {
    let (name, path) = (&facts.name, &facts.path);
    let refused = |code, why: String, help: String| {
        let message = format!("cannot bring `{name}` back: {why}");
        Err(UndoRefusal::new(code, message, help))
    };
    if facts.recorded {
        let help = format!("remove that one first: git agentwt remove {name}");
        return refused("exists", "a worktree of this name is there".into(), help);
    }
    if facts.taken {
        let help = format!("move it away: mv {path} <elsewhere>");
        return refused("path_taken", format!("{path} is there"), help);
    }
    let mut make = Vec::new();
    for branch in &facts.branches {
        let short = branch.name.strip_prefix("refs/heads/");
        let short = short.unwrap_or(&branch.name);
        if let Some(path) = &branch.held {
            let why = format!("the branch `{short}` is checked out at {path}");
            let help = format!("switch that worktree away from it: git -C {path} switch <branch>");
            return refused("branch_held", why, help);
        }
        match (&branch.now, &branch.was) {
            (None, None) => {}
            (None, Some(was)) => make.push((branch.name.clone(), was.clone())),
            (Some(now), Some(was)) if now == was => {}
            (Some(now), was) => {
                let was = was.as_ref().map_or("no commit", CommitId::short);
                let now = now.short();
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
    let back = make.iter().try_for_each(|(branch, at)| {
        let reason = "agentwt remove: undo";
        Ok(repository.git.update_ref(branch, at, None, reason)?)
    });
    let back = back.and_then(|()| trash::leave(repository, &known, &returning.stamp));
    back.map_err(|error: Error| {
        let again = removal::finish(repository, &known, &returning.removal);
        for (branch, at) in make {
            let _ = repository.git.delete_ref(branch, at);
        }
        error.leaving(again.err().iter().map(ToString::to_string).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: &str) -> CommitId {
        CommitId::parse(&digit.repeat(40)).expect("40 digits")
    }

    fn facts() -> UndoFacts {
        UndoFacts {
            name: WorktreeName::parse("task").expect("a name"),
            path: "/r/.agentwt/worktrees/task".into(),
            recorded: false,
            taken: false,
            branches: vec![BranchNow {
                name: "refs/heads/agentwt/task".into(),
                was: Some(commit("a")),
                now: None,
                held: None,
            }],
        }
    }

    #[test]
    fn a_branch_is_created_where_it_is_gone_and_used_where_it_is_as_it_was() {
        let mut facts = facts();
        let made = plan(&facts).expect("it can be brought back");
        assert_eq!(made, [("refs/heads/agentwt/task".to_owned(), commit("a"))]);
        facts.branches[0].now = Some(commit("a"));
        assert_eq!(plan(&facts).expect("it can be brought back"), []);
    }

    #[test]
    fn nothing_that_is_there_is_replaced() {
        let refused = |change: fn(&mut UndoFacts)| {
            let mut facts = facts();
            change(&mut facts);
            let refusal = plan(&facts).expect_err("it is refused");
            miette::Diagnostic::code(&refusal)
                .map(|code| code.to_string())
                .expect("a code")
        };
        assert_eq!(refused(|f| f.recorded = true), "agentwt::trash::exists");
        assert_eq!(refused(|f| f.taken = true), "agentwt::trash::path_taken");
        let moved = |f: &mut UndoFacts| f.branches[0].now = Some(commit("b"));
        assert_eq!(refused(moved), "agentwt::trash::branch_moved");
        let held = |f: &mut UndoFacts| f.branches[0].held = Some("/elsewhere".into());
        assert_eq!(refused(held), "agentwt::trash::branch_held");
    }
}
