//! Reads what is needed to record a worktree that plain git made.

use camino::Utf8Path;

use super::add::base_tips;
use super::config::{Environment, load_config};
use crate::cli::ScopeLists;
use crate::config::{SettingFlags, Strategy};
use crate::disk::files;
use crate::error::Error;
use crate::name::{BranchName, CommitId, WorktreeName};
use crate::plan::refusal::Refusal;
use crate::plan::rules::rules_of;
use crate::scope::{Case, Scope};
use crate::worktree::RecordState;
use crate::worktree::repository::Repository;
use crate::worktree::{Base, MadeBy, Record, VERSION};

/// Makes the record: the base is where the worktree's branch left the base branch, the scope is
/// the profile that the settings name. Also gives the commit that is checked out.
///
/// # Errors
/// Refuses a worktree without a branch, a commit or a usable name, and a config without a scope.
pub fn record(
    repository: &Repository,
    path: &Utf8Path,
    admin_dir: &Utf8Path,
    environment: &Environment,
    created: String,
) -> Result<(Record, CommitId), Error> {
    let name = name(repository, path)?;
    let loaded = load_config(repository, &SettingFlags::default(), environment)?;
    let settings = &loaded.settings;
    let profile = settings.profile(&loaded.config)?;
    let lists = ScopeLists::default();
    let scope = rules_of(name.as_str(), profile, &lists, loaded.found)?;
    let git = repository.git.on(admin_dir, Some(path));
    let detached = || Refusal::Detached {
        path: path.to_owned(),
    };
    let branch = git.symbolic_ref_head()?.ok_or_else(detached)?;
    let head = git.rev_parse_commit("HEAD")?.ok_or_else(detached)?;
    let (base, revision) = base(
        repository,
        settings.base.as_ref().map(|b| b.value.as_str()),
        &head,
        &name,
    )?;
    let case = repository.case()?;
    Scope::compile(scope.clone(), case).map_err(Error::from)?;
    let dot_git = files::read(&path.join(".git"))?.unwrap_or_default();
    let tips = base_tips(repository, &revision, &base)?;
    let record = Record {
        version: VERSION,
        name,
        created,
        made_by: MadeBy::Git,
        strategy: Strategy::Worktree,
        owner: None,
        claim: None,
        path: path.to_owned(),
        admin_dir: admin_dir.to_owned(),
        dot_git: String::from_utf8_lossy(&dot_git).into_owned(),
        branch: BranchName::from_git(branch.strip_prefix("refs/heads/").unwrap_or(&branch)),
        branch_made: false,
        checked_out: head.clone(),
        base: Base {
            commit: base,
            revision,
            tips,
        },
        ignore_case: case == Case::Insensitive,
        file_mode: git.config_get_bool("core.fileMode")? != Some(false),
        conversions: false,
        profile: profile.map(|_| settings.scope.value.clone()),
        on_violation: settings.on_violation.value,
        integrity: Vec::new(),
        scope,
    };
    Ok((record, head))
}

/// The directory's name, if nothing else has it.
fn name(repository: &Repository, path: &Utf8Path) -> Result<WorktreeName, Error> {
    let text = path.file_name().unwrap_or_default();
    let name = WorktreeName::parse(text).map_err(|error| Refusal::BadName {
        text: text.to_owned(),
        why: error.to_string(),
    })?;
    let taken_by = match RecordState::read(repository, &name)? {
        RecordState::Missing => return Ok(name),
        RecordState::Incomplete(intent) => intent.path,
        RecordState::Complete(known) => known.record.path,
    };
    let (path, name) = (path.to_owned(), name.to_string());
    Err(Refusal::NameTaken {
        path,
        name,
        taken_by,
    }
    .into())
}

fn base(
    repository: &Repository,
    setting: Option<&str>,
    head: &CommitId,
    name: &WorktreeName,
) -> Result<(CommitId, String), Error> {
    let git = &repository.git;
    let own = git.symbolic_ref_head()?;
    let own = own
        .as_deref()
        .map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    let name = name.to_string();
    let Some(revision) = setting.or(own).map(ToOwned::to_owned) else {
        return Err(Refusal::NoDefaultBase { name }.into());
    };
    let Some(tip) = git.rev_parse_commit(&revision)? else {
        let set_by = "the base".to_owned();
        return Err(Refusal::UnknownBase {
            name,
            revision,
            set_by,
        }
        .into());
    };
    let common = git.merge_base_all(head, &[tip])?;
    let base = common.into_iter().next().unwrap_or_else(|| head.clone());
    Ok((base, revision))
}
