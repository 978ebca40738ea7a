//! Decides what `add` records, or why it refuses.

use camino::Utf8Path;

use crate::commands::Session;
use crate::commands::add::arguments::{Add, ProgramOptions};
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
use crate::words::name::{BranchName, CommitId, WorktreeName, branch_of};
use crate::words::path::escape_for_rule;
use crate::worktree::loaded::names;
use crate::worktree::operation::find_worktree_at_work_on;
use crate::worktree::repository::Repository;
use crate::worktree::settings::{Loaded, load_config, rules_of};

/// Loads the config with the settings. For the clone of a URL, of the config only a scope profile
/// that is named counts, and the base is that repository's own default.
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

/// The record that was asked for, without what depends on the commits and branches that exist.
///
/// # Errors
/// Fails when neither the config nor the options have a write list, the profile is unknown, or the
/// process of `--owner-pid` does not exist.
pub(super) fn wanted(
    repository: &Repository,
    loaded: &Loaded,
    options: &Add,
    name: &WorktreeName,
) -> Result<Record, Error> {
    let settings = &loaded.settings;
    // for the clone of a URL, only a profile that is named counts
    let mut profile = None;
    if options.repo.is_none() || options.scope.profile.is_some() {
        profile = settings.profile(&loaded.config)?;
    }
    // only for the message that there is no write list
    let config_found = loaded.found && options.repo.is_none();
    let branch = match &options.branch {
        Some(text) => branch_of(text).to_owned(),
        None => format!("{}{name}", settings.branch_prefix.value),
    };
    Ok(Record {
        branch: BranchName::from_git(branch),
        strategy: settings.strategy.value,
        on_violation: settings.on_violation.value,
        profile: profile.map(|_| settings.scope.value.clone()),
        scope: rules_of(name.as_str(), profile, &options.scope, config_found)?,
        owner: asked_owner(options)?,
        ..Record::new(name.clone(), repository.worktree_path(name), Session::now())
    })
}

/// The owner that the options name.
fn asked_owner(options: &Add) -> Result<Option<Owner>, Refusal> {
    let Some(id) = &options.programs.owner else {
        return Ok(None);
    };
    let pid = options.programs.owner_pid;
    let owner = Owner::new(id, pid, Session::now());
    if owner.is_none()
        && let Some(pid) = pid
    {
        return Err(Refusal::NoSuchProcess { pid });
    }
    Ok(owner)
}

/// The agent program of the settings. Refuses a prompt that no program would read.
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
    require_distinct_name(repository, &record.name)?;
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

/// Refuses a name that differs from another only in case: some file systems cannot tell them apart.
fn require_distinct_name(repository: &Repository, name: &WorktreeName) -> Result<(), Error> {
    for other in names(repository)? {
        if other != *name && other.as_str().eq_ignore_ascii_case(name.as_str()) {
            return Err(Error::from(Refusal::SimilarName {
                name: name.to_string(),
                other: other.to_string(),
            }));
        }
    }
    Ok(())
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
    let worktrees = repository.worktree_list()?;
    if worktrees.iter().any(|entry| entry.path == path) {
        return Err(Refusal::ForeignWorktree { name, path }.into());
    }
    if files::exists(&path) {
        return Err(Refusal::PathTaken { name, path }.into());
    }
    branch_tip(repository, record, options, &worktrees)
}

/// Returns why a worktree could not be created. If git failed, that may be because something took
/// the path or the branch since it was planned: then that refusal, as it says more than git does.
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
/// request left the base branch. With `-n` nothing is fetched: if the head is not here, the base
/// stays the tip of the base branch.
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
    let is_head_here = git.rev_parse_commit(record.checked_out.as_str())?.is_some();
    if options.dry_run && !is_head_here {
        return Ok(record);
    }
    // the base branch may be behind the server's: then what is merged there is not the request's
    let mut base_tips = vec![record.base.commit.clone()];
    if let Some(server_base) = fetched.base
        && let Ok(Some(_)) = git.rev_parse_commit(server_base.as_str())
    {
        base_tips.push(server_base);
    }
    let merge_bases = git.merge_base_all(&record.checked_out, &base_tips)?;
    let Some(merge_base) = merge_bases.into_iter().next() else {
        let name = record.name.to_string();
        let base = record.base.revision;
        return Err(Refusal::UnrelatedRequest { name, base }.into());
    };
    record.base.commit = merge_base;
    Ok(record)
}

/// The tip of the branch, if it exists; `None` if it is to be created.
///
/// # Errors
/// Refuses a branch that exists and was not named, or that another worktree has checked out or works
/// on, and a name that cannot become a branch.
fn branch_tip(
    repository: &Repository,
    wanted: &Record,
    options: &Add,
    worktrees: &[WorktreeEntry],
) -> Result<Option<CommitId>, Error> {
    let full = wanted.branch.full_ref();
    let Some(tip) = repository.git.rev_parse_commit(&full)? else {
        require_possible_branch(&repository.git, &wanted.branch)?;
        return Ok(None);
    };
    let branch = wanted.branch.to_string();
    if options.branch.is_none() {
        let name = wanted.name.to_string();
        return Err(Refusal::BranchExists { name, branch }.into());
    }
    if wanted.strategy != Strategy::Worktree {
        // a clone has a branch of its own under that name
        return Ok(Some(tip));
    }
    let holder = worktrees
        .iter()
        .find(|entry| entry.branch.as_deref() == Some(full.as_str()));
    if let Some(holder) = holder {
        let path = holder.path.clone();
        return Err(Refusal::BranchHeld { branch, path }.into());
    }
    let common_dir = &repository.home().common_dir;
    if let Some(path) = find_worktree_at_work_on(&wanted.branch, common_dir)? {
        return Err(Refusal::BranchAtWork { branch, path }.into());
    }
    Ok(Some(tip))
}

/// Refuses a name that git does not take for a branch, or that another branch stands in the way of:
/// `a` and `a/b` cannot both be, as one is a file where the other is a directory.
fn require_possible_branch(git: &Git, branch: &BranchName) -> Result<(), Error> {
    let name = branch.to_string();
    if !git.check_branch_name(&name) {
        return Err(Refusal::InvalidBranch { branch: name }.into());
    }
    let below = format!("{}/", branch.full_ref());
    let mut in_the_way = vec![below.clone()];
    for (at, _) in name.match_indices('/') {
        in_the_way.push(format!("refs/heads/{}", &name[..at]));
    }
    let prefixes: Vec<&str> = in_the_way.iter().map(String::as_str).collect();
    for existing in git.for_each_ref(&prefixes)? {
        let is_above = prefixes.iter().any(|above| existing.name == *above);
        if is_above || existing.name.starts_with(below.as_bytes()) {
            let full = existing.name.to_string();
            return Err(Error::from(Refusal::BranchBlocked {
                branch: name,
                other: full.trim_start_matches("refs/heads/").to_owned(),
            }));
        }
    }
    Ok(())
}

/// Finds the remote-tracking branch of this name, as `git switch` does (git-switch(1), `--guess`).
///
/// # Errors
/// Refuses a name that several remotes have, unless `checkout.defaultRemote` names one of them.
fn find_remote_branch(git: &Git, branch: &BranchName) -> Result<Option<Ref>, Error> {
    let mut names = Vec::new();
    for remote in git.remotes()? {
        names.push(format!("refs/remotes/{remote}/{branch}"));
    }
    let prefixes: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut remote_branches = git.for_each_ref(&prefixes)?;
    // git lists what is below these names, too
    remote_branches.retain(|listed| names.iter().any(|name| listed.name == *name));
    if remote_branches.len() < 2 {
        return Ok(remote_branches.pop());
    }
    if let Some(remote) = git.config_get("checkout.defaultRemote")? {
        let preferred = format!("refs/remotes/{remote}/{branch}");
        let mut candidates = remote_branches.iter();
        if let Some(at) = candidates.position(|candidate| candidate.name == preferred) {
            return Ok(Some(remote_branches.swap_remove(at)));
        }
    }
    let mut short_names = Vec::new();
    for remote_branch in &remote_branches {
        let name = remote_branch.name.to_string();
        short_names.push(name["refs/remotes/".len()..].to_owned());
    }
    Err(Error::from(Refusal::SeveralRemotes {
        branch: branch.to_string(),
        first: short_names[0].clone(),
        names: short_names.join(", "),
    }))
}

/// The base of the new worktree: its commit, and the name of the base.
///
/// `tip` is the commit of a branch that exists, here or at a remote. Unless `--base` is given, the
/// base has this commit, and still the name of the settings or of the main worktree's branch.
fn base(
    repository: &Repository,
    loaded: &Loaded,
    record: &Record,
    tip: Option<&CommitId>,
) -> Result<(CommitId, String), Error> {
    let git = &repository.git;
    let name = record.name.to_string();
    let setting = loaded.settings.base.as_ref();
    let base_name = repository.base_name(setting.map(|setting| setting.value.as_str()))?;
    if let Some(tip) = tip
        && !is_base_asked(loaded)
    {
        let revision = base_name.map_or_else(|| tip.to_string(), |(revision, _)| revision);
        return Ok((tip.clone(), revision));
    }
    let Some((revision, full)) = base_name else {
        return Err(Refusal::NoDefaultBase { name }.into());
    };
    let Some(commit) = git.rev_parse_commit(&full)? else {
        return Err(refuse_base(repository, loaded, name, revision)?.into());
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

/// Refuses a base that names no commit: the repository may have none yet.
fn refuse_base(
    repository: &Repository,
    loaded: &Loaded,
    name: String,
    revision: String,
) -> Result<Refusal, Error> {
    let default = repository.base_name(None)?.map(|(default, _)| default);
    let is_default = default.as_ref() == Some(&revision);
    if is_default && repository.git.rev_parse_commit("HEAD")?.is_none() {
        return Ok(Refusal::Unborn { name });
    }
    let setting = loaded.settings.base.as_ref();
    let set_by = setting.map_or(SetBy::Default, |setting| setting.set_by);
    Ok(Refusal::UnknownBase {
        name,
        revision,
        set_by: set_by.to_string(),
    })
}

/// True if the base is that of `--base`.
fn is_base_asked(loaded: &Loaded) -> bool {
    let setting = loaded.settings.base.as_ref();
    setting.is_some_and(|setting| matches!(setting.set_by, SetBy::Flag(_)))
}

/// The new owner of an existing worktree, which is kept if it is as asked for; `None` if the
/// recorded owner stays. The same name and scope again is not an error; anything else is.
///
/// # Errors
/// Refuses a worktree that is not as asked for, or that another owner has.
pub(super) fn owner_of_kept(
    repository: &Repository,
    loaded: &Loaded,
    options: &Add,
    wanted: &Record,
    existing: &Record,
) -> Result<Option<Owner>, Error> {
    let name = existing.name.to_string();
    let programs = &options.programs;
    let running = || running_inside(&existing.path, programs.owner_pid);
    let asked = wanted.owner.as_ref();
    let owner = new_owner(existing, asked, programs, Owner::alive, running)?;
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
    let mut pids = Vec::new();
    for process in processes::working_in(path).unwrap_or_default() {
        if asking != Some(process.pid) && !ours.contains(&process.pid) {
            pids.push(process.pid);
        }
    }
    pids
}

/// How an existing worktree differs from what was asked for, beside its scope; `None` if it does
/// not. What was not asked for may differ.
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
        && let Some(recorded) = find_other_base(repository, loaded, existing, &base.value)?
    {
        return Ok(Some(format!("base is {recorded}")));
    }
    if options.branch.is_some() && wanted.branch != existing.branch {
        return Ok(Some(format!("branch is `{}`", existing.branch)));
    }
    let is_strategy_asked = matches!(settings.strategy.set_by, SetBy::Flag(_));
    if is_strategy_asked && wanted.strategy != existing.strategy {
        let recorded = existing.strategy.as_str();
        return Ok(Some(format!("strategy is `{recorded}`")));
    }
    if let Some(asked) = AskedRequest::of(options) {
        let request = existing.request.as_ref();
        let ref_name = request.map(|request| request.ref_name.as_str());
        if ref_name != Some(asked.ref_name.as_str()) {
            let recorded = ref_name.unwrap_or("no request");
            return Ok(Some(format!("branch is from {recorded}")));
        }
    }
    Ok(None)
}

/// The base of an existing worktree if it is not the `asked` one. That of a pull request's worktree
/// is where the request left `--base`, so the name counts there.
///
/// # Errors
/// Refuses a base that names no commit.
fn find_other_base(
    repository: &Repository,
    loaded: &Loaded,
    existing: &Record,
    asked: &str,
) -> Result<Option<String>, Error> {
    let Some(commit) = repository.git.rev_parse_commit(asked)? else {
        let name = existing.name.to_string();
        return Err(refuse_base(repository, loaded, name, asked.to_owned())?.into());
    };
    let base = &existing.base;
    if existing.request.is_none() {
        let is_other = commit != base.commit;
        return Ok(is_other.then(|| base.commit.short().to_owned()));
    }
    let recorded = repository.git.rev_parse_commit(&base.revision)?;
    let is_other = base.revision != asked && recorded != Some(commit);
    Ok(is_other.then(|| format!("`{}`", base.revision)))
}

/// The owner that is recorded from now on; `None` if the record stays as it is. The same owner is
/// never refused. `running` lists the processes that work in the worktree, without our own and the
/// one that asks.
///
/// # Errors
/// Unless it is taken over, refuses a worktree whose other owner may be alive. Where it has no
/// owner, or its owner has ended, refuses while a process works in it.
fn new_owner(
    existing: &Record,
    asked: Option<&Owner>,
    programs: &ProgramOptions,
    is_alive: impl Fn(&Owner) -> Alive,
    running: impl FnOnce() -> Vec<u32>,
) -> Result<Option<Owner>, Refusal> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let name = existing.name.to_string();
    if let Some(recorded) = &existing.owner {
        let alive = is_alive(recorded);
        if recorded.id == asked.id {
            return Ok(renewed_owner(recorded, asked, alive));
        }
        if !programs.take_over && alive != Alive::No {
            return Err(Refusal::OwnedByAnother {
                name,
                owner: Box::new(recorded.clone()),
                alive,
                asked: asked.id.clone(),
            });
        }
    }
    if !programs.take_over {
        let pids = running();
        if !pids.is_empty() {
            let path = existing.path.clone();
            return Err(Refusal::StillRunning { name, path, pids });
        }
    }
    Ok(Some(asked.clone()))
}

/// The same owner with the process that asks now; `None` if nothing is new. Without such a process,
/// a recorded one that may be alive stays.
fn renewed_owner(recorded: &Owner, asked: &Owner, alive: Alive) -> Option<Owner> {
    if asked.process.is_none() && alive != Alive::No {
        return None;
    }
    let renewed = Owner {
        since: recorded.since.clone(),
        ..asked.clone()
    };
    (renewed != *recorded).then_some(renewed)
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
        let has_rule = other
            .iter()
            .any(|theirs| theirs.list == rule.list && theirs.pattern == rule.pattern);
        if !has_rule {
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
    if record.request.is_some() && repository.git.rev_parse_commit(start.as_str())?.is_none() {
        return Ok(&record.base.commit);
    }
    Ok(start)
}

/// Says by how many commits the base branch is behind its upstream; `None` if it is not behind, or
/// has no upstream.
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
    // the base of a worktree on an existing branch is that branch's tip, whatever the revision
    if git.rev_parse_commit(&branch)?.as_ref() != Some(&record.base.commit) {
        return Ok(None);
    }
    let Some(tip) = git.rev_parse_commit(&upstream)? else {
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
        let programs = ProgramOptions {
            take_over: facts.take_over,
            ..ProgramOptions::default()
        };
        new_owner(
            &existing,
            facts.asked.as_ref(),
            &programs,
            |_| alive.expect("because there is an owner"),
            || facts.inside.clone(),
        )
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
