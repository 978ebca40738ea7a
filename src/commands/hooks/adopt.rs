//! Plans the record of a worktree that plain git created.

use camino::Utf8Path;

use crate::cli::ScopeLists;
use crate::commands::Session;
use crate::error::Error;
use crate::name::{BranchName, CommitId, WorktreeName};
use crate::refusal::Refusal;
use crate::scope::{Case, Scope};
use crate::truth::tips;
use crate::worktree::register::read_dot_git;
use crate::worktree::{Base, MadeBy, Record, RecordState, Repository, load_config, rules_of};

/// Plans the record: the base is where the branch of the worktree left the base branch, the scope is
/// the profile that the settings name.
///
/// # Errors
/// Refuses a worktree without a branch, a commit or a usable name, and a config without a scope.
pub(super) fn plan_record(
    session: &Session,
    repository: &Repository,
    path: &Utf8Path,
    admin_dir: &Utf8Path,
) -> Result<Record, Error> {
    let name = free_name(repository, path)?;
    let loaded = load_config(repository, &[], &session.environment)?;
    let settings = &loaded.settings;
    let profile = settings.profile(&loaded.config)?;
    let scope = rules_of(name.as_str(), profile, &ScopeLists::default(), loaded.found)?;
    let git = repository.git.on(admin_dir, Some(path));
    let detached = || Refusal::Detached {
        path: path.to_owned(),
    };
    let branch = git.symbolic_ref_head()?.ok_or_else(detached)?;
    let head = git.rev_parse_commit("HEAD")?.ok_or_else(detached)?;
    let base = settings.base.as_ref().map(|base| base.value.as_str());
    let base = base_of(repository, base, &head, &name)?;
    let case = repository.case()?;
    Scope::compile(scope.clone(), case).map_err(Error::from)?;
    Ok(Record {
        made_by: MadeBy::Git,
        admin_dir: admin_dir.to_owned(),
        dot_git: read_dot_git(path)?,
        branch: BranchName::from_git(branch.strip_prefix("refs/heads/").unwrap_or(&branch)),
        base,
        checked_out: head,
        ignore_case: case == Case::Insensitive,
        file_mode: git.config_get_bool("core.fileMode")? != Some(false),
        profile: profile.map(|_| settings.scope.value.clone()),
        on_violation: settings.on_violation.value,
        scope,
        ..Record::new(name, path.to_owned(), Session::now())
    })
}

/// The name of the directory, if nothing else has it.
fn free_name(repository: &Repository, path: &Utf8Path) -> Result<WorktreeName, Error> {
    let text = path.file_name().unwrap_or_default();
    let name = WorktreeName::parse(text).map_err(|error| Refusal::BadName {
        text: text.to_owned(),
        why: error.to_string(),
    })?;
    let taken_by = match RecordState::read(repository, &name)? {
        RecordState::Missing => return Ok(name),
        RecordState::Incomplete(intent) => intent.record.path,
        RecordState::Complete(known) => known.record.path,
    };
    Err(Refusal::NameTaken {
        path: path.to_owned(),
        name: name.to_string(),
        taken_by,
    }
    .into())
}

fn base_of(
    repository: &Repository,
    setting: Option<&str>,
    head: &CommitId,
    name: &WorktreeName,
) -> Result<Base, Error> {
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
    let commit = common.into_iter().next().unwrap_or_else(|| head.clone());
    let tips = tips::followed_by(git, &revision, &commit)?;
    Ok(Base {
        commit,
        revision,
        tips,
    })
}
