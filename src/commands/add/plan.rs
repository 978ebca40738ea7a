//! Decides what `add` records, or why it refuses.

use camino::Utf8Path;

use crate::commands::Session;
use crate::commands::add::arguments::Add;
use crate::commands::add::request::AskedRequest;
use crate::config::settings::SetBy;
use crate::config::value::{Choice as _, Client, Strategy};
use crate::disk::files;
use crate::git::error::GitError;
use crate::git::process::Git;
use crate::git::refs::Ref;
use crate::git::worktree::WorktreeEntry;
use crate::record::worktree::{Alive, Owner, Record};
use crate::refusal::Refusal;
use crate::scope::rule::ScopeRule;
use crate::system::processes;
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId, WorktreeName};
use crate::words::path::escape_for_rule;
use crate::worktree::loaded::names;
use crate::worktree::repository::Repository;
use crate::worktree::settings::{Loaded, load_config, rules_of};

/// Loads the config with the settings; another repository has only the scope profiles that are
/// named, and its own default base.
pub(super) fn load_settings(
    session: &Session,
    repository: &Repository,
    options: &Add,
) -> Result<Loaded, Error> {
    let strategy = match &options.repo {
        Some(_) => Some("clone"),
        None => options.strategy.as_deref(),
    };
    let flags = [
        ("--base", options.base.as_deref()),
        ("--scope", options.scope.profile.as_deref()),
        ("--client", options.context.client.as_deref()),
        ("--strategy", strategy),
    ];
    let mut loaded = load_config(repository.home(), &flags, &session.environment)?;
    if options.repo.is_some() && options.base.is_none() {
        loaded.settings.base = None;
    }
    Ok(loaded)
}

/// Plans the record that was asked for, as far as the repository does not matter.
///
/// # Errors
/// Fails when the config or the options have no write list.
pub(super) fn wanted(
    repository: &Repository,
    loaded: &Loaded,
    options: &Add,
    name: &WorktreeName,
) -> Result<Record, Error> {
    let settings = &loaded.settings;
    let mut profile = None;
    if options.repo.is_none() || options.scope.profile.is_some() {
        profile = settings.profile(&loaded.config)?;
    }
    let config_found = loaded.found && options.repo.is_none();
    let branch = match &options.branch {
        Some(text) => text.strip_prefix("refs/heads/").unwrap_or(text).to_owned(),
        None => format!("{}{name}", settings.branch_prefix.value),
    };
    let path = repository.worktree_path(name);
    let id = &options.programs.owner;
    let pid = options.programs.owner_pid;
    let owner = id.as_ref().map(|id| Owner::new(id, pid, Session::now()));
    if let (Some(None), Some(pid)) = (&owner, pid) {
        return Err(Refusal::NoSuchProcess { pid }.into());
    }
    Ok(Record {
        branch: BranchName::from_git(branch),
        strategy: settings.strategy.value,
        on_violation: settings.on_violation.value,
        profile: profile.map(|_| settings.scope.value.clone()),
        scope: rules_of(name.as_str(), profile, &options.scope, config_found)?,
        owner: owner.flatten(),
        ..Record::new(name.clone(), path, Session::now())
    })
}

/// The agent program: a prompt that no program reads would be lost without a word.
pub(super) fn client(
    name: &WorktreeName,
    loaded: &Loaded,
    prompt: Option<&[u8]>,
) -> Result<Client, Refusal> {
    let setting = loaded.settings.client.as_ref();
    let client = setting.map_or(Client::None, |set| set.value);
    if client == Client::None && prompt.is_some() {
        let set_by = setting.map(|set| set.set_by.to_string());
        let name = name.to_string();
        return Err(Refusal::NoClient { name, set_by });
    }
    Ok(client)
}

/// Plans a new worktree: its branch and base.
///
/// # Errors
/// Refuses what would touch something that is not ours, or what was not named.
pub(super) fn plan_new(
    repository: &Repository,
    loaded: &Loaded,
    options: &Add,
    mut record: Record,
) -> Result<Record, Error> {
    let name = record.name.to_string();
    // some file systems cannot tell names apart that differ only in case
    let is_similar =
        |other: &WorktreeName| other.as_str() != name && other.as_str().eq_ignore_ascii_case(&name);
    if let Some(other) = names(repository)?.into_iter().find(is_similar) {
        let other = other.to_string();
        return Err(Refusal::SimilarName { name, other }.into());
    }
    let mut tip = require_free(repository, options, &record)?;
    record.branch_made = tip.is_none();
    if options.branch.is_some()
        && tip.is_none()
        && let Some(upstream) = find_remote_branch(&repository.git, &record.branch)?
    {
        record.upstream = Some(upstream.name.to_string());
        tip = Some(upstream.id);
    }
    if let Some(asked) = AskedRequest::of(options) {
        return plan_request(repository, loaded, &asked, options, record);
    }
    (record.base.commit, record.base.revision) = base(repository, loaded, &record, tip.as_ref())?;
    record.checked_out = tip.unwrap_or_else(|| record.base.commit.clone());
    Ok(record)
}

/// Refuses a path that is taken, and a branch that another worktree has; returns the tip of a
/// branch that exists and was named.
fn require_free(
    repository: &Repository,
    options: &Add,
    record: &Record,
) -> Result<Option<CommitId>, Error> {
    let name = record.name.to_string();
    let path = record.path.clone();
    let worktrees = repository.git.worktree_list()?;
    if worktrees.iter().any(|entry| entry.path == path) {
        return Err(Refusal::ForeignWorktree { name, path }.into());
    }
    if files::exists(&path) {
        return Err(Refusal::PathTaken { name, path }.into());
    }
    branch_tip(repository, record, options, &worktrees)
}

/// Returns why a worktree could not be created: what has come in its way since it was planned,
/// where something has, else the error. Git's own words say nothing of it that can be relied on.
pub(super) fn explain(
    repository: &Repository,
    options: &Add,
    record: &Record,
    error: Error,
) -> Error {
    let is_of_git = matches!(error.find(), Some(GitError::Failed { .. }));
    if !is_of_git || error.has_remains() {
        return error;
    }
    match require_free(repository, options, record) {
        Err(refused) if refused.find::<Refusal>().is_some() => refused,
        Ok(Some(_)) if record.branch_made => {
            let name = record.name.to_string();
            let branch = record.branch.to_string();
            Refusal::BranchExists { name, branch }.into()
        }
        Ok(_) | Err(_) => error,
    }
}

/// Plans the worktree of a pull request: it starts at the request's head, and its base is where the
/// request left the base branch. With `-n` nothing is fetched, and what is not here is planned as
/// the base.
fn plan_request(
    repository: &Repository,
    loaded: &Loaded,
    asked: &AskedRequest,
    options: &Add,
    mut record: Record,
) -> Result<Record, Error> {
    let git = &repository.git;
    (record.base.commit, record.base.revision) = base(repository, loaded, &record, None)?;
    let fetched = asked.fetch(git, &record.base.revision, options)?;
    record.request = Some(fetched.request);
    record.checked_out = fetched.head;
    let is_here = |id: &CommitId| git.rev_parse_commit(id.as_str());
    if options.dry_run && is_here(&record.checked_out)?.is_none() {
        return Ok(record);
    }
    let mut tips = vec![record.base.commit.clone()];
    tips.extend(fetched.base.filter(|id| matches!(is_here(id), Ok(Some(_)))));
    let common = git.merge_base_all(&record.checked_out, &tips)?;
    let Some(common) = common.into_iter().next() else {
        let name = record.name.to_string();
        let base = record.base.revision;
        return Err(Refusal::UnrelatedRequest { name, base }.into());
    };
    record.base.commit = common;
    Ok(record)
}

/// The tip of a branch that exists and was named; none for a branch that is to be created.
fn branch_tip(
    repository: &Repository,
    wanted: &Record,
    options: &Add,
    worktrees: &[WorktreeEntry],
) -> Result<Option<CommitId>, Error> {
    let git = &repository.git;
    let branch = wanted.branch.to_string();
    let full = wanted.branch.full_ref();
    if let Some(tip) = git.rev_parse_commit(&full)? {
        let holds = |entry: &&WorktreeEntry| entry.branch.as_deref() == Some(full.as_str());
        if options.branch.is_none() {
            let name = wanted.name.to_string();
            return Err(Refusal::BranchExists { name, branch }.into());
        }
        return match worktrees.iter().find(holds) {
            // a clone has a branch of its own under that name
            Some(holder) if wanted.strategy == Strategy::Worktree => {
                let path = holder.path.clone();
                Err(Refusal::BranchHeld { branch, path }.into())
            }
            Some(_) | None => Ok(Some(tip)),
        };
    }
    if !git.check_branch_name(&branch) {
        return Err(Refusal::InvalidBranch { branch }.into());
    }
    // a branch `a` and a branch `a/b` cannot both be: one is a file where the other is a directory
    let below = format!("{full}/");
    let mut in_the_way = vec![below.clone()];
    for (at, _) in branch.match_indices('/') {
        in_the_way.push(format!("refs/heads/{}", &branch[..at]));
    }
    let prefixes: Vec<&str> = in_the_way.iter().map(String::as_str).collect();
    for found in git.for_each_ref(&prefixes)? {
        let is_above = prefixes.iter().any(|name| found.name == *name);
        if is_above || found.name.starts_with(below.as_bytes()) {
            let name = found.name.to_string();
            let other = name.trim_start_matches("refs/heads/").to_owned();
            return Err(Refusal::BranchBlocked { branch, other }.into());
        }
    }
    Ok(None)
}

/// Finds the remote-tracking branch of this name, as `git switch` does (git-switch(1), `--guess`).
///
/// # Errors
/// Refuses a name that several remotes have, unless `checkout.defaultRemote` names one of them.
fn find_remote_branch(git: &Git, branch: &BranchName) -> Result<Option<Ref>, Error> {
    let wanted = |remote: String| format!("refs/remotes/{remote}/{branch}");
    let names: Vec<String> = git.remotes()?.into_iter().map(wanted).collect();
    let prefixes: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut branches = git.for_each_ref(&prefixes)?;
    branches.retain(|branch| names.iter().any(|name| branch.name == *name));
    if branches.len() > 1
        && let Some(remote) = git.config_get("checkout.defaultRemote")?
        && let Some(at) = branches
            .iter()
            .position(|branch| branch.name == wanted(remote.clone()))
    {
        return Ok(Some(branches.swap_remove(at)));
    }
    if branches.len() > 1 {
        let mut short_names = Vec::new();
        for remote_branch in &branches {
            let name = remote_branch.name.to_string();
            short_names.push(name["refs/remotes/".len()..].to_owned());
        }
        return Err(Refusal::SeveralRemotes {
            branch: branch.to_string(),
            first: short_names[0].clone(),
            names: short_names.join(", "),
        }
        .into());
    }
    Ok(branches.pop())
}

/// The base, and the revision that named it. An existing branch starts at its tip, unless a base
/// was asked for.
fn base(
    repository: &Repository,
    loaded: &Loaded,
    record: &Record,
    tip: Option<&CommitId>,
) -> Result<(CommitId, String), Error> {
    let git = &repository.git;
    let name = record.name.to_string();
    let setting = loaded.settings.base.as_ref();
    let named = repository.base_name(setting.map(|setting| setting.value.as_str()))?;
    if let (Some(tip), false) = (tip, is_base_asked(loaded)) {
        let revision = named.map_or_else(|| tip.to_string(), |(revision, _)| revision);
        return Ok((tip.clone(), revision));
    }
    let Some((revision, full)) = named else {
        return Err(Refusal::NoDefaultBase { name }.into());
    };
    let Some(commit) = git.rev_parse_commit(&full)? else {
        let own = repository.base_name(None)?.map(|(own, _)| own);
        if own.as_ref() == Some(&revision) && git.rev_parse_commit("HEAD")?.is_none() {
            return Err(Refusal::Unborn { name }.into());
        }
        let set_by = setting.map_or(SetBy::Default, |setting| setting.set_by);
        return Err(Error::from(Refusal::UnknownBase {
            name,
            revision,
            set_by: set_by.to_string(),
        }));
    };
    if let Some(tip) = tip
        && !git.is_ancestor(&commit, tip)?
    {
        let branch = record.branch.to_string();
        let base = commit.short().to_owned();
        return Err(Refusal::BaseNotAncestor { branch, base }.into());
    }
    Ok((commit, revision))
}

fn is_base_asked(loaded: &Loaded) -> bool {
    let setting = loaded.settings.base.as_ref();
    setting.is_some_and(|setting| matches!(setting.set_by, SetBy::Flag(_)))
}

/// Decides whether a worktree of this name is kept, and its new owner. The same name and scope
/// again is not an error; anything else under the name is.
///
/// # Errors
/// Refuses a worktree that is not as asked for, or that another owner has.
pub(super) fn keep(
    repository: &Repository,
    loaded: &Loaded,
    options: &Add,
    wanted: &Record,
    existing: &Record,
) -> Result<Option<Owner>, Error> {
    let name = existing.name.to_string();
    let programs = &options.programs;
    let inside = || running_inside(&existing.path, programs.owner_pid);
    let asked = wanted.owner.as_ref();
    let take_over = programs.take_over;
    let owner = new_owner(existing, asked, take_over, Owner::alive, inside)?;
    if let Some(what) = find_difference(repository, loaded, options, wanted, existing)? {
        return Err(Refusal::Differs { name, what }.into());
    }
    let difference = difference(&existing.scope_at_add(), &wanted.scope);
    if !difference.is_empty() {
        return Err(Refusal::AnotherScope { name, difference }.into());
    }
    Ok(owner)
}

/// The processes that work in a worktree, without our own and the one that asks.
pub(super) fn running_inside(path: &Utf8Path, asking: Option<u32>) -> Vec<u32> {
    let ours = processes::ancestor_pids();
    let is_other = |pid: &u32| asking != Some(*pid) && !ours.contains(pid);
    let inside = processes::working_in(path).unwrap_or_default().into_iter();
    inside.map(|one| one.pid).filter(is_other).collect()
}

/// What an existing worktree has otherwise than was asked for, beside its scope; none if nothing.
fn find_difference(
    repository: &Repository,
    loaded: &Loaded,
    options: &Add,
    wanted: &Record,
    existing: &Record,
) -> Result<Option<String>, Error> {
    let settings = &loaded.settings;
    if let Some(base) = &settings.base
        && is_base_asked(loaded)
        && existing.request.is_none()
    {
        let asked = repository.git.rev_parse_commit(&base.value)?;
        if asked.as_ref() != Some(&existing.base.commit) {
            let is = existing.base.commit.short();
            return Ok(Some(format!("base is {is}")));
        }
    }
    if options.branch.is_some() && wanted.branch != existing.branch {
        return Ok(Some(format!("branch is `{}`", existing.branch)));
    }
    let is_strategy_asked = matches!(settings.strategy.set_by, SetBy::Flag(_));
    if is_strategy_asked && wanted.strategy != existing.strategy {
        let is = existing.strategy.as_str();
        return Ok(Some(format!("strategy is `{is}`")));
    }
    if let Some(asked) = AskedRequest::of(options) {
        let request = existing.request.as_ref();
        let ref_name = request.map(|request| request.ref_name.as_str());
        if ref_name != Some(asked.ref_name.as_str()) {
            let is = ref_name.unwrap_or("no request");
            return Ok(Some(format!("branch is from {is}")));
        }
    }
    Ok(None)
}

/// Decides which owner is recorded from now on; none when the record is right as it is. `inside`
/// are the processes that work in the worktree, without our own and the one that asks.
fn new_owner(
    existing: &Record,
    asked: Option<&Owner>,
    take_over: bool,
    alive: impl Fn(&Owner) -> Alive,
    inside: impl FnOnce() -> Vec<u32>,
) -> Result<Option<Owner>, Refusal> {
    let Some(asked) = asked.cloned() else {
        return Ok(None);
    };
    let name = existing.name.to_string();
    let path = existing.path.clone();
    let recorded = existing.owner.as_ref().map(|owner| (owner, alive(owner)));
    match recorded {
        Some((recorded, alive)) if recorded.id == asked.id => {
            // its process counts from now on; without a new process, one that runs stays
            let is_known = asked.process.is_some() || alive == Alive::No;
            let since = recorded.since.clone();
            let now = Owner { since, ..asked };
            Ok((is_known && now != *recorded).then_some(now))
        }
        _ if take_over => Ok(Some(asked)),
        Some((owner, alive @ (Alive::Yes | Alive::Unknown))) => Err(Refusal::OwnedByAnother {
            name,
            owner: Box::new(owner.clone()),
            alive,
            asked: asked.id,
        }),
        _ended => match inside() {
            pids if pids.is_empty() => Ok(Some(asked)),
            pids => Err(Refusal::StillRunning { name, path, pids }),
        },
    }
}

/// The patterns that only one of two scopes has: `- write src/**`, `+ write docs/**`.
fn difference(recorded: &[ScopeRule], asked: &[ScopeRule]) -> Vec<String> {
    let mut lines = only_in(recorded, asked, '-');
    lines.extend(only_in(asked, recorded, '+'));
    lines
}

/// The patterns of a scope that another one does not have, each after a sign.
fn only_in(scope: &[ScopeRule], other: &[ScopeRule], sign: char) -> Vec<String> {
    let mut lines = Vec::new();
    for rule in scope {
        let is_same =
            |theirs: &ScopeRule| theirs.list == rule.list && theirs.pattern == rule.pattern;
        if !other.iter().any(is_same) {
            let pattern = escape_for_rule(&rule.pattern);
            lines.push(format!("{sign} {} {pattern}", rule.list));
        }
    }
    lines
}

/// The commit whose files are planned: with `-n`, the head of a pull request may not be here yet.
pub(super) fn readable_start<'r>(
    repository: &Repository,
    record: &'r Record,
) -> Result<&'r CommitId, Error> {
    let start = &record.checked_out;
    let is_missing =
        record.request.is_some() && repository.git.rev_parse_commit(start.as_str())?.is_none();
    Ok(if is_missing {
        &record.base.commit
    } else {
        start
    })
}

/// Says by how many commits a base is behind its upstream; nothing when it has none or is not.
pub(super) fn behind_upstream(
    repository: &Repository,
    record: &Record,
) -> Result<Option<String>, Error> {
    let git = &repository.git;
    let revision = &record.base.revision;
    let branch = format!("refs/heads/{revision}");
    let Some(upstream) = git.upstream(&branch)? else {
        return Ok(None);
    };
    // the tip of an existing branch is a base of its own
    let is_tip = git.rev_parse_commit(&branch)?.as_ref() == Some(&record.base.commit);
    let Some(tip) = git.rev_parse_commit(&upstream)?.filter(|_| is_tip) else {
        return Ok(None);
    };
    let commits = match git.rev_list_count(&record.base.commit, &tip)? {
        0 => return Ok(None),
        1 => "1 commit".to_owned(),
        count => format!("{count} commits"),
    };
    let short = upstream
        .strip_prefix("refs/remotes/")
        .or_else(|| upstream.strip_prefix("refs/heads/"))
        .unwrap_or(&upstream);
    Ok(Some(format!(
        "`{revision}` is {commits} behind `{short}`; to start from there: --base {short}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::worktree::OwnerProcess;

    fn owner(id: &str, pid: Option<u32>, since: &str) -> Owner {
        Owner {
            id: id.to_owned(),
            host: "host-1".to_owned(),
            process: pid.map(|pid| OwnerProcess {
                pid,
                started: "boot 1".to_owned(),
            }),
            since: since.to_owned(),
        }
    }

    /// What is decided of a worktree that has this owner, by a program that may take it over.
    struct Facts {
        asked: Option<Owner>,
        recorded: Option<(Owner, Alive)>,
        inside: Vec<u32>,
        take_over: bool,
    }

    fn decided(facts: &Facts) -> Result<Option<Owner>, Refusal> {
        let name = WorktreeName::parse("task-5").expect("a name");
        let mut existing = Record::new(name, "/r/x".into(), "then".to_owned());
        let alive = facts.recorded.as_ref().map(|(_, alive)| *alive);
        existing.owner = facts.recorded.clone().map(|(owner, _)| owner);
        let asked = facts.asked.as_ref();
        let inside = || facts.inside.clone();
        let alive = |_: &Owner| alive.expect("because there is an owner");
        new_owner(&existing, asked, facts.take_over, alive, inside)
    }

    #[test]
    fn nobody_who_does_not_say_who_it_is_changes_the_owner() {
        let facts = Facts {
            asked: None,
            recorded: Some((owner("one", Some(1), "then"), Alive::Yes)),
            inside: vec![3],
            take_over: false,
        };
        assert_eq!(decided(&facts), Ok(None));
    }

    #[test]
    fn another_owner_stays_unless_it_has_ended() {
        let mut facts = Facts {
            asked: Some(owner("two", Some(2), "now")),
            recorded: None,
            inside: Vec::new(),
            take_over: false,
        };
        for alive in [Alive::Yes, Alive::Unknown] {
            facts.recorded = Some((owner("one", Some(1), "then"), alive));
            let refused = decided(&facts);
            assert!(matches!(refused, Err(Refusal::OwnedByAnother { .. })));
            facts.take_over = true;
            assert_eq!(decided(&facts), Ok(facts.asked.clone()));
            facts.take_over = false;
        }
        facts.recorded = Some((owner("one", Some(1), "then"), Alive::No));
        assert_eq!(decided(&facts), Ok(facts.asked.clone()));
        facts.recorded = None;
        assert_eq!(decided(&facts), Ok(facts.asked.clone()));
        facts.inside = vec![17];
        let refused = decided(&facts);
        assert!(matches!(refused, Err(Refusal::StillRunning { .. })));
        facts.take_over = true;
        assert_eq!(decided(&facts), Ok(facts.asked.clone()));
    }

    #[test]
    fn the_same_owner_is_written_down_with_its_new_process() {
        let mut facts = Facts {
            asked: Some(owner("one", Some(2), "now")),
            recorded: Some((owner("one", Some(1), "then"), Alive::No)),
            inside: vec![17],
            take_over: false,
        };
        assert_eq!(decided(&facts), Ok(Some(owner("one", Some(2), "then"))));
        facts.asked = Some(owner("one", None, "now"));
        assert_eq!(decided(&facts), Ok(Some(owner("one", None, "then"))));
        // what is alive and was named stays
        facts.recorded = Some((owner("one", Some(1), "then"), Alive::Yes));
        assert_eq!(decided(&facts), Ok(None));
    }
}
