//! Reads what `add` decides on.

use super::plan::{AddFacts, BaseFacts, BranchState, OwnerFacts, PathState};
use crate::cli::{Add, ProgramOptions};
use crate::commands::Session;
use crate::config::{Choice, Client, SetBy, SettingFlags, Strategy};
use crate::disk::files;
use crate::error::Error;
use crate::git::refs::Ref;
use crate::git::worktree::WorktreeEntry;
use crate::name::{BranchName, WorktreeName};
use crate::process;
use crate::refusal::Refusal;
use crate::worktree::{
    Loaded, Owner, Record, Repository, Worktree, WorktreeError, load_config, names, rules_of,
};

/// Loads the config with the settings; another repository has only the scope profiles that are
/// named, and its own default base.
pub(super) fn load_settings(
    session: &Session,
    repository: &Repository,
    options: &Add,
) -> Result<Loaded, Error> {
    let strategy = match &options.repo {
        Some(_) => Some(Strategy::Clone),
        None => options.strategy.as_deref().and_then(Strategy::parse),
    };
    let flags = SettingFlags {
        base: options.base.clone(),
        scope: options.scope.profile.clone(),
        client: options.context.client.as_deref().and_then(Client::parse),
        strategy,
        ..SettingFlags::default()
    };
    let mut loaded = load_config(repository.home(), &flags, &session.environment)?;
    if options.repo.is_some() && options.base.is_none() {
        loaded.settings.base = None;
    }
    Ok(loaded)
}

/// Reads everything.
pub(super) fn read(
    repository: &Repository,
    loaded: &Loaded,
    options: &Add,
    name: &WorktreeName,
    known: Option<&Worktree>,
    has_prompt: bool,
) -> Result<AddFacts, Error> {
    let settings = &loaded.settings;
    let is_without_profile = options.repo.is_some() && options.scope.profile.is_none();
    let profile = if is_without_profile {
        None
    } else {
        settings.profile(&loaded.config)?
    };
    let config_found = loaded.found && options.repo.is_none();
    let path = repository.worktree_path(name);
    let prefix = &settings.branch_prefix.value;
    let branch = match &options.branch {
        Some(text) => text.strip_prefix("refs/heads/").unwrap_or(text).to_owned(),
        None => format!("{prefix}{name}"),
    };
    let wanted = Record {
        branch: BranchName::from_git(branch),
        strategy: settings.strategy.value,
        on_violation: settings.on_violation.value,
        profile: profile.map(|_| settings.scope.value.clone()),
        scope: rules_of(name.as_str(), profile, &options.scope, config_found)?,
        ..Record::new(name.clone(), path.clone(), Session::now())
    };
    let worktrees = repository.worktrees()?;
    let path_state = if worktrees.iter().any(|entry| entry.path == path) {
        PathState::Worktree
    } else if files::exists(&path) {
        PathState::Taken
    } else {
        PathState::Free
    };
    let same =
        |other: &WorktreeName| other != name && other.as_str().eq_ignore_ascii_case(name.as_str());
    let similar_name = names(repository)?.into_iter().find(same);
    let is_branch_named = options.branch.is_some();
    let branch = branch_state(repository, &wanted, is_branch_named, &worktrees)?;
    Ok(AddFacts {
        base: base(repository, loaded, &branch)?,
        wanted,
        path_state,
        similar_name: similar_name.map(|name| name.to_string()),
        is_branch_named,
        branch,
        strategy_set_by: settings.strategy.set_by,
        client: settings.client.clone(),
        has_prompt,
        owner: owner(&options.programs, known)?,
    })
}

fn branch_state(
    repository: &Repository,
    wanted: &Record,
    is_named: bool,
    worktrees: &[WorktreeEntry],
) -> Result<BranchState, WorktreeError> {
    let (git, branch) = (&repository.git, &wanted.branch);
    let full = branch.full_ref();
    if let Some(tip) = git.rev_parse_commit(&full)? {
        let holds = |entry: &&WorktreeEntry| entry.branch.as_deref() == Some(full.as_str());
        return Ok(match worktrees.iter().find(holds) {
            _ if !is_named => BranchState::Exists,
            // a clone has a branch of its own under that name
            Some(holder) if wanted.strategy == Strategy::Worktree => {
                BranchState::Held(holder.path.clone())
            }
            _ => BranchState::Named(tip),
        });
    }
    if !git.check_branch_name(branch.as_str()) {
        return Ok(BranchState::Invalid);
    }
    // a branch `a` and a branch `a/b` cannot both be: one is a file where the other is a directory
    let slashes = branch.as_str().match_indices('/');
    let mut asked: Vec<String> = slashes
        .map(|(at, _)| format!("refs/heads/{}", &branch.as_str()[..at]))
        .collect();
    let below = format!("{full}/");
    asked.push(below.clone());
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let blocks = |found: &&Ref| {
        found.name.starts_with(below.as_bytes()) || asked.iter().any(|name| found.name == *name)
    };
    let found = git.for_each_ref(&asked)?;
    Ok(match found.iter().find(blocks) {
        Some(found) => {
            let name = found.name.to_string();
            BranchState::Blocked(name.trim_start_matches("refs/heads/").to_owned())
        }
        None => BranchState::Free,
    })
}

fn base(
    repository: &Repository,
    loaded: &Loaded,
    branch: &BranchState,
) -> Result<BaseFacts, WorktreeError> {
    let git = &repository.git;
    let setting = loaded.settings.base.as_ref();
    let head = git.symbolic_ref_head()?;
    let own = head
        .as_deref()
        .map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    let revision = setting.map(|setting| setting.value.as_str()).or(own);
    // the main worktree's own branch in full: a tag may have the same name
    let full = setting.map(|setting| &setting.value).or(head.as_ref());
    let commit = full
        .map(|revision| git.rev_parse_commit(revision))
        .transpose()?
        .flatten();
    let is_own = own.is_some() && revision == own;
    Ok(BaseFacts {
        revision: revision.map(ToOwned::to_owned),
        set_by: setting.map_or(SetBy::Default, |setting| setting.set_by),
        unborn: commit.is_none() && is_own && git.rev_parse_commit("HEAD")?.is_none(),
        is_ancestor: match (branch, &commit) {
            (BranchState::Named(tip), Some(commit)) => git.is_ancestor(commit, tip)?,
            (_, _) => true,
        },
        commit,
    })
}

/// Reads who owns the worktree, if it exists, and who asks for it.
fn owner(options: &ProgramOptions, known: Option<&Worktree>) -> Result<OwnerFacts, Refusal> {
    let mut facts = OwnerFacts {
        gives_way: options.take_over,
        ..OwnerFacts::default()
    };
    if let Some(known) = known {
        let recorded = known.record.owner.clone();
        facts.recorded = recorded.map(|owner| (owner.clone(), owner.alive()));
    }
    let Some(id) = &options.owner else {
        return Ok(facts);
    };
    facts.asked = Owner::new(id, options.owner_pid, Session::now());
    if let (None, Some(pid)) = (&facts.asked, options.owner_pid) {
        return Err(Refusal::NoSuchProcess { pid });
    }
    if let Some(known) = known {
        let found = process::inside(&known.record.path).unwrap_or_default();
        let ours = process::ancestors();
        let is_other = |pid: &u32| options.owner_pid != Some(*pid) && !ours.contains(pid);
        facts.inside = found
            .into_iter()
            .map(|one| one.pid)
            .filter(is_other)
            .collect();
    }
    Ok(facts)
}

/// Says by how many commits a base is behind its upstream; nothing when it has none or is not.
pub(super) fn behind_upstream(
    repository: &Repository,
    record: &Record,
) -> Result<Option<String>, WorktreeError> {
    let (git, revision) = (&repository.git, &record.base.revision);
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
    let mut prefixes = ["refs/remotes/", "refs/heads/"].iter();
    let short = prefixes.find_map(|prefix| upstream.strip_prefix(prefix));
    let upstream = short.unwrap_or(&upstream);
    Ok(Some(format!(
        "`{revision}` is {commits} behind `{upstream}`; to start from there: --base {upstream}"
    )))
}
