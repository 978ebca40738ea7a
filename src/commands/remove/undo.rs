//! `git agentwt remove --undo`: brings removed worktrees back as they were.

use camino::Utf8PathBuf;

use super::answer::{RemoveAnswer, RemovedWorktree, UndoField};
use super::refusal::UndoRefusal;
use crate::answer::shapes::TrashField;
use crate::commands::{Outcome, Session};
use crate::disk::files::{self, Lock};
use crate::error::Error;
use crate::name::{CommitId, WorktreeName};
use crate::refusal::Refusal;
use crate::worktree::RecordState;
use crate::worktree::removal;
use crate::worktree::trash::{self, Trashed, begun, chosen};
use crate::worktree::{Removal, TrashStamp, to_text};
use crate::worktree::{Repository, Worktree, WorktreeError};

/// Holds what decides.
#[derive(Clone, Debug)]
struct UndoFacts {
    name: String,
    /// Whether a worktree of this name is recorded.
    recorded: bool,
    path: Utf8PathBuf,
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
        return Err(UndoRefusal::SeveralFrom { count }.into());
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
    let everything = trash::list(repository)?;
    let mut all: Vec<Trashed> = everything
        .iter()
        .filter(|one| one.name == *name)
        .cloned()
        .collect();
    all.reverse();
    let interrupted = interrupted(repository, name)?;
    let is_interrupted = interrupted.is_some();
    let returning = match interrupted {
        Some(returning) => returning,
        None => find(repository, name, options.from.as_deref(), &all, &everything)?,
    };
    let facts = read_facts(repository, &returning, is_interrupted)?;
    let make = plan(&facts)?;
    session.check()?;
    if !options.dry_run {
        if !is_interrupted {
            files::remove_if_empty(&returning.known.record.path);
            trash::move_record_back(repository, &returning.one)?;
        }
        apply(repository, &returning, &make)?;
    }
    Ok(RemovedWorktree {
        name: name.to_string(),
        path: facts.path,
        branch: returning.known.record.branch.to_string(),
        dry_run: options.dry_run,
        removal: None,
        undo: Some(UndoField {
            undone: returning.one.shown(),
            place: place(&returning.stamp),
            head: returning.stamp.head,
            removals: all.iter().map(TrashField::from).collect(),
        }),
    })
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

/// A removal or an undo of this name that was killed.
fn interrupted(repository: &Repository, name: &WorktreeName) -> Result<Option<Returning>, Error> {
    let RecordState::Complete(known) = RecordState::read(repository, name)? else {
        return Ok(None);
    };
    let Some(removal) = begun(&known) else {
        return Ok(None);
    };
    let Some(stamp) = removal.trash.clone() else {
        return Ok(None);
    };
    Ok(Some(Returning {
        one: Trashed {
            name: name.clone(),
            time: stamp.time.clone(),
            removed: None,
            removal: Some(removal.clone()),
            path: None,
            commits: None,
        },
        known: *known,
        removal,
        stamp,
    }))
}

/// What the user means, if it can come back.
fn find(
    repository: &Repository,
    name: &WorktreeName,
    from: Option<&str>,
    all: &[Trashed],
    everything: &[Trashed],
) -> Result<Returning, Error> {
    let text = name.to_string();
    let Some(one) = chosen(all, from) else {
        return Err(match from {
            Some(from) if !all.is_empty() => UndoRefusal::Unknown {
                name: text,
                text: from.to_owned(),
            },
            Some(_) | None => {
                let mut others: Vec<String> =
                    everything.iter().map(|one| one.name.to_string()).collect();
                others.dedup();
                let kept = commits_of_clone(repository, name)?;
                UndoRefusal::Nothing {
                    name: text,
                    others,
                    kept,
                }
            }
        }
        .into());
    };
    let stamp = one
        .removal
        .as_ref()
        .and_then(|removal| removal.trash.clone());
    let (Some(removal), Some(stamp)) = (one.removal.clone(), stamp) else {
        let Some(commits) = &one.commits else {
            return Err(UndoRefusal::Nothing {
                name: text,
                others: Vec::new(),
                kept: Vec::new(),
            }
            .into());
        };
        let objects = repository.objects()?;
        let (reference, commit) = commits.clone();
        return Err(if trash::is_of_version_0_1(&objects, &commit)? {
            UndoRefusal::OldVersion {
                name: text,
                reference,
            }
        } else {
            let branch = format!("agentwt/{name}");
            UndoRefusal::OnlyCommits {
                name: text,
                branch,
                reference,
            }
        }
        .into());
    };
    let Some(known) = trash::load(repository, one)? else {
        let path = one.path.clone().unwrap_or_else(|| one.shown().into());
        return Err(UndoRefusal::Incomplete { name: text, path }.into());
    };
    Ok(Returning {
        one: one.clone(),
        known,
        removal,
        stamp,
    })
}

/// The refs in which commits of a removed clone were kept.
fn commits_of_clone(
    repository: &Repository,
    name: &WorktreeName,
) -> Result<Vec<String>, WorktreeError> {
    let incoming = format!("refs/agentwt/incoming/{name}");
    let kept = format!("refs/agentwt/kept/{name}/");
    let found = repository.git.for_each_ref(&[&incoming, &kept])?;
    Ok(found.into_iter().map(|one| one.name.to_string()).collect())
}

fn read_facts(
    repository: &Repository,
    returning: &Returning,
    is_interrupted: bool,
) -> Result<UndoFacts, Error> {
    let (record, stamp) = (&returning.known.record, &returning.stamp);
    let path = repository.worktree_path(&record.name);
    let mut wanted: Vec<(String, Option<CommitId>)> = Vec::new();
    if record.strategy == crate::config::Strategy::Worktree {
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
    let stands = files::exists(&path) && !(files::is_directory(&path) && files::is_empty(&path));
    Ok(UndoFacts {
        name: record.name.to_string(),
        recorded: !is_interrupted && files::exists(&repository.record_dir(&record.name)),
        taken: !is_interrupted && stands,
        path,
        branches,
    })
}

/// Decides: the branches that are created, by their full names.
fn plan(facts: &UndoFacts) -> Result<Vec<(String, CommitId)>, UndoRefusal> {
    let name = facts.name.clone();
    if facts.recorded {
        return Err(UndoRefusal::Exists { name });
    }
    if facts.taken {
        let path = facts.path.clone();
        return Err(UndoRefusal::PathTaken { name, path });
    }
    let mut make = Vec::new();
    for branch in &facts.branches {
        let short = branch.name.strip_prefix("refs/heads/");
        let short = short.unwrap_or(&branch.name).to_owned();
        if let Some(path) = &branch.held {
            let (branch, path) = (short, path.clone());
            return Err(UndoRefusal::BranchHeld { name, branch, path });
        }
        match (&branch.now, &branch.was) {
            (None, None) => {}
            (None, Some(was)) => make.push((branch.name.clone(), was.clone())),
            (Some(now), Some(was)) if now == was => {}
            (Some(now), was) => {
                let was = was.as_ref().map_or("no commit", CommitId::short);
                return Err(UndoRefusal::BranchMoved {
                    name,
                    branch: short,
                    now: now.short().to_owned(),
                    was: was.to_owned(),
                });
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
    let file = known.dir.join("record.toml");
    files::write(&file, to_text(&known.record).as_bytes())?;
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
            name: "task".into(),
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
