//! `git agentwt hooks`: installs, removes and shows the hooks of one worktree.

pub mod arguments;
pub mod claude;

use std::ffi::OsStr;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::register::{Registration, install_hooks, read_dot_git};
use crate::actions::scope_edit::Listing;
use crate::answer::Answer;
use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::answer::worktree::{HooksReport, method_word};
use crate::arguments::scope::ScopeLists;
use crate::commands::hooks::arguments::{HooksInstall, HooksStatus};
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::git::error::GitError;
use crate::git::hooks::scripts::Method;
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::inventory::placed::Placed;
use crate::record::worktree::{Base, MadeBy, Record};
use crate::refusal::Refusal;
use crate::scope::compiled::Scope;
use crate::scope::rule::Case;
use crate::truth::upstream::followed_by;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::{BranchName, CommitId, WorktreeName, branch_of};
use crate::words::path::shell_word;
use crate::words::text::would;
use crate::worktree::caller;
use crate::worktree::decisions::require_outside;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{RecordState, Worktree, by_path, hooks_of};
use crate::worktree::repository::Repository;
use crate::worktree::settings::{load_config, rules_of};

/// The answer of `hooks`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HooksAnswer {
    /// The name of the worktree; null if there is no record.
    pub name: Option<String>,
    /// The directory of the worktree.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// `installed` or `uninstalled`; absent for `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub done: Option<HooksDone>,
    /// Whether nothing was done (`-n`).
    pub dry_run: bool,
    /// `configured` or `hooks-path`: how the hooks are installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<&'static str>,
    /// Whether a worktree of plain git got its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<bool>,
    /// With `status`, how the hooks are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksReport>,
}

/// What was done with the hooks of a worktree, or would be (`-n`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HooksDone {
    Installed,
    Uninstalled,
}

impl Answer for HooksAnswer {
    const DOCUMENT: &'static str = "hooks";

    fn print(&self, text: &mut Text) {
        let path = text.paint.name(self.path.as_str());
        let by = match self.method {
            Some("configured") => ", as configured hooks",
            Some(_) => ", by core.hooksPath, chained to the user's own",
            None => "",
        };
        match self.done {
            Some(HooksDone::Installed) => {
                let installed = would(self.dry_run, "installed", "would install");
                text.tell(format!("{installed} hooks in {path}{by}"));
            }
            Some(HooksDone::Uninstalled) => {
                let removed = would(self.dry_run, "removed", "would remove");
                text.tell(format!("{removed} our hooks from {path}"));
            }
            None => text.line(path),
        }
        if let (Some(true), Some(name)) = (self.recorded, &self.name) {
            let shown = text.paint.name(name);
            text.tell(format!(
                "recorded it as {shown}: see its scope with `git agentwt scope {name}`"
            ));
        }
        if let Some(hooks) = &self.hooks {
            hooks.print(text);
        }
    }

    fn rows(&self) -> Vec<Row> {
        let hooks = self.hooks.as_ref();
        let state = match self.done {
            Some(HooksDone::Installed) => would(self.dry_run, "installed", "would-install"),
            Some(HooksDone::Uninstalled) => would(self.dry_run, "uninstalled", "would-uninstall"),
            None => hooks.map_or("", |hooks| hooks.state.as_str()),
        };
        let method = self.method.or(hooks.and_then(|hooks| hooks.method));
        vec![Row::record(&[
            self.name.as_deref().unwrap_or_default().as_bytes(),
            state.as_bytes(),
            method.unwrap_or_default().as_bytes(),
            self.path.as_str().as_bytes(),
        ])]
    }
}

/// The worktree whose hooks are meant.
struct HookTarget {
    path: Utf8PathBuf,
    admin_dir: Utf8PathBuf,
    /// None for a worktree of plain git's.
    recorded: Option<Worktree>,
}

/// Installs the hooks in a worktree, or brings them up to date.
///
/// # Errors
/// Fails when the directory is no linked worktree, or git or the disk fails.
pub fn install(session: &Session, options: &HooksInstall) -> Result<Outcome<HooksAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let target = HookTarget::find(session, &repository, options.worktree.as_deref())?;
    let hooks = target.hooks(&repository)?;
    let mut answer = target.answer();
    answer.done = Some(HooksDone::Installed);
    answer.dry_run = options.dry_run;
    if options.dry_run {
        let method = Method::of(repository.git.version()?);
        answer.method = Some(method_word(&method));
        return Ok(Outcome::done(answer));
    }
    require_own(session, &repository, &target)?;
    let installed = install_in(session, &repository, &target, &hooks)?;
    answer.method = Some(method_word(&installed.method));
    answer.name = Some(installed.name);
    answer.recorded = Some(installed.recorded);
    Ok(Outcome::done(answer))
}

/// Removes the hooks from a worktree.
///
/// # Errors
/// Refuses inside a worktree; fails as [`install`] does.
pub fn uninstall(session: &Session, options: &HooksInstall) -> Result<Outcome<HooksAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let target = HookTarget::find(session, &repository, options.worktree.as_deref())?;
    let hooks = target.hooks(&repository)?;
    // without hooks, what an agent does to refs leaves no trace
    require_outside(&repository, &session.command_line)?;
    if !options.dry_run {
        uninstall_in(&repository, &target, &hooks)?;
    }
    let mut answer = target.answer();
    answer.done = Some(HooksDone::Uninstalled);
    answer.dry_run = options.dry_run;
    Ok(Outcome::done(answer))
}

/// Shows the hooks of a worktree; ends with 1 if they do not work.
///
/// # Errors
/// Fails as [`install`] does.
pub fn status(session: &Session, options: &HooksStatus) -> Result<Outcome<HooksAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let target = HookTarget::find(session, &repository, options.worktree.as_deref())?;
    let recorded = target.recorded.as_ref();
    let on_violation = recorded.map(|worktree| worktree.record.on_violation);
    let status = target.hooks(&repository)?.status(on_violation)?;
    let mut answer = target.answer();
    answer.hooks = Some(HooksReport::from(&status));
    let mut outcome = Outcome::done(answer);
    let has_program = status.binary.as_ref().is_some_and(|(_, exists)| *exists);
    if !status.is_complete() || !has_program {
        outcome.exit = ExitCode::Violations;
    }
    Ok(outcome)
}

/// Checks that an agent installs hooks nowhere but in its own worktree.
fn require_own(
    session: &Session,
    repository: &Repository,
    target: &HookTarget,
) -> Result<(), Error> {
    let path = shell_word(target.path.as_str());
    let command = format!("git agentwt hooks install {path}");
    match &target.recorded {
        Some(worktree) => caller::require_own(repository, &worktree.record.name, &command),
        None => session.require_no_agent(repository, &command),
    }
}

impl HookTarget {
    /// Finds the worktree by one of our names, or else by a path; if none is given, the one in
    /// which the command started.
    fn find(
        session: &Session,
        repository: &Repository,
        given: Option<&OsStr>,
    ) -> Result<Self, Error> {
        let name_or_path = given.map(OsStr::to_string_lossy);
        let directory = match &name_or_path {
            Some(text) => session.resolve(Utf8Path::new(&**text)),
            None => {
                let toplevel = repository.toplevel.as_ref();
                toplevel.unwrap_or(&repository.start).clone()
            }
        };
        let path = files::canonical(&directory).unwrap_or(directory);
        if let Some(worktree) = find_recorded(repository, name_or_path.as_deref(), &path)? {
            return Ok(Self {
                path: worktree.record.path.clone(),
                admin_dir: worktree.record.admin_dir.clone(),
                recorded: Some(worktree),
            });
        }
        if let Some(admin_dir) = private_git_dir(repository, &path)? {
            return Ok(Self {
                path,
                admin_dir,
                recorded: None,
            });
        }
        let shown = match name_or_path {
            Some(text) => text.into_owned(),
            None => path.to_string(),
        };
        Err(Refusal::NotLinked { path: shown }.into())
    }

    fn hooks(&self, repository: &Repository) -> Result<WorktreeHooks, GitError> {
        match &self.recorded {
            Some(worktree) => hooks_of(&repository.git, &worktree.record),
            None => WorktreeHooks::of(&repository.git, &self.admin_dir, &self.path),
        }
    }

    /// The answer before anything is done.
    fn answer(&self) -> HooksAnswer {
        let recorded = self.recorded.as_ref();
        HooksAnswer {
            name: recorded.map(|worktree| worktree.record.name.to_string()),
            path: self.path.clone(),
            ..HooksAnswer::default()
        }
    }
}

/// The worktree with a record: by its name, or else the one that a path is in. Whatever is wrong
/// with the name, the path is tried; only a copy of the repository ends it.
fn find_recorded(
    repository: &Repository,
    name: Option<&str>,
    path: &Utf8Path,
) -> Result<Option<Worktree>, Error> {
    match Worktree::of(repository, name) {
        Ok(worktree) => Ok(Some(worktree)),
        Err(error) if matches!(error.find(), Some(WorktreeFault::Elsewhere { .. })) => Err(error),
        Err(_no_such_name) => by_path(repository, path),
    }
}

/// The private git directory of a linked worktree; `None` for any other directory: the hooks of the
/// main worktree are the user's, and a copy of a repository lists the worktrees of the original.
fn private_git_dir(repository: &Repository, path: &Utf8Path) -> Result<Option<Utf8PathBuf>, Error> {
    let worktrees = repository.worktree_list()?;
    if !worktrees.iter().any(|entry| entry.path == path) {
        return Ok(None);
    }
    let git_dir = repository.git.at(path).absolute_git_dir()?;
    let is_own = files::is_same_directory(&git_dir.join("../.."), &repository.common_dir);
    Ok(is_own.then_some(git_dir))
}

/// What was installed.
struct InstalledHooks {
    method: Method,
    /// The name of the worktree.
    name: String,
    /// Whether the worktree got its record.
    recorded: bool,
}

/// Installs the hooks. A worktree of plain git's gets a record too, so that there is a base and a
/// scope to verify against.
fn install_in(
    session: &Session,
    repository: &Repository,
    target: &HookTarget,
    hooks: &WorktreeHooks,
) -> Result<InstalledHooks, Error> {
    let Some(recorded) = &target.recorded else {
        return install_and_record(session, repository, target, hooks);
    };
    let (_one_at_a_time, worktree) = Worktree::lock(repository, &recorded.record.name)?;
    let method = worktree.change_hooks(repository, || {
        install_hooks(repository, &worktree.record, &session.binary)
    })?;
    Ok(InstalledHooks {
        method,
        name: worktree.record.name.to_string(),
        recorded: false,
    })
}

/// Installs the hooks in a worktree of plain git's, and writes its record; both or nothing.
fn install_and_record(
    session: &Session,
    repository: &Repository,
    target: &HookTarget,
    hooks: &WorktreeHooks,
) -> Result<InstalledHooks, Error> {
    let record = plan_record(session, repository, &target.path, &target.admin_dir)?;
    let listing = Listing::read(repository, &record.checked_out)?;
    let _one_at_a_time = Lock::wait(&repository.name_lock(&record.name))?;
    // asked again: the name may have been taken while we waited
    let name = free_name(repository, &target.path)?;
    // before the record, which says what our hooks and settings are
    let method = install_hooks(repository, &record, &session.binary)?;
    let written = Registration {
        repository,
        head: &listing,
        record,
        placed: Placed::default(),
        disk: None,
    }
    .write();
    if let Err(error) = written {
        let _ = remove_hooks(repository, hooks);
        let _ = files::remove_directory(&repository.record_dir(&name));
        return Err(error);
    }
    Ok(InstalledHooks {
        method,
        name: name.to_string(),
        recorded: true,
    })
}

/// Removes the hooks; of a worktree of plain git's also the record, which only they needed.
fn uninstall_in(
    repository: &Repository,
    target: &HookTarget,
    hooks: &WorktreeHooks,
) -> Result<(), Error> {
    let Some(recorded) = &target.recorded else {
        return remove_hooks(repository, hooks);
    };
    let (_one_at_a_time, worktree) = Worktree::lock(repository, &recorded.record.name)?;
    if worktree.record.made_by == MadeBy::Git {
        remove_hooks(repository, hooks)?;
        return Ok(files::remove_directory(&worktree.dir)?);
    }
    worktree.change_hooks(repository, || remove_hooks(repository, hooks))
}

/// Removes the hooks, alone: other worktrees may share a setting with this one.
fn remove_hooks(repository: &Repository, hooks: &WorktreeHooks) -> Result<(), Error> {
    let _shared = Lock::wait(&repository.shared_lock())?;
    Ok(hooks.uninstall()?)
}

/// Plans the record: the base is where the branch of the worktree left the base branch, the scope
/// is the profile that the settings name.
///
/// # Errors
/// Refuses a worktree without a branch, a commit or a usable name, and a config without a scope.
fn plan_record(
    session: &Session,
    repository: &Repository,
    path: &Utf8Path,
    admin_dir: &Utf8Path,
) -> Result<Record, Error> {
    let name = free_name(repository, path)?;
    let loaded = load_config(repository, &[], &session.environment)?;
    for note in loaded.notes() {
        session.log.tell(&note);
    }
    let settings = &loaded.settings;
    let profile = settings.profile(&loaded.config)?;
    let scope = rules_of(name.as_str(), profile, &ScopeLists::default(), loaded.found)?;
    let git = repository.git.on(admin_dir, Some(path));
    let symbolic = git.symbolic_ref_head()?;
    let commit = git.rev_parse_commit("HEAD")?;
    let (Some(branch_ref), Some(head)) = (symbolic, commit) else {
        let path = path.to_owned();
        return Err(Refusal::Detached { path }.into());
    };
    let branch = BranchName::from_git(branch_of(&branch_ref));
    let base_setting = settings.base.as_ref().map(|base| base.value.as_str());
    let base = base_of(repository, base_setting, &branch, &head, &name)?;
    let case = repository.case()?;
    // refuses a scope that cannot be compiled
    Scope::compile(scope.clone(), case)?;
    Ok(Record {
        made_by: MadeBy::Git,
        admin_dir: admin_dir.to_owned(),
        dot_git: read_dot_git(path)?,
        branch,
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
        RecordState::Complete(worktree) => worktree.record.path,
    };
    Err(Refusal::NameTaken {
        path: path.to_owned(),
        name: name.to_string(),
        taken_by,
    }
    .into())
}

/// The base of a worktree that plain git made: the commit where its HEAD left the base branch, or
/// HEAD itself if the two have no commit in common.
fn base_of(
    repository: &Repository,
    setting: Option<&str>,
    own: &BranchName,
    head: &CommitId,
    name: &WorktreeName,
) -> Result<Base, Error> {
    let git = &repository.git;
    let Some((revision, full)) = repository.base_name(setting)? else {
        return Err(Refusal::NoDefaultBase {
            name: name.to_string(),
        }
        .into());
    };
    let Some(tip) = git.rev_parse_commit(&full)? else {
        return Err(Refusal::UnknownBase {
            name: name.to_string(),
            revision,
            set_by: "the base".to_owned(),
        }
        .into());
    };
    let common = git.merge_base_all(head, &[tip])?;
    let commit = common.into_iter().next().unwrap_or_else(|| head.clone());
    Ok(Base {
        tips: followed_by(git, own, &revision, &commit)?,
        commit,
        revision,
    })
}
