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
use crate::commands::hooks::arguments::HooksCommand;
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::disk::lock::Lock;
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
use crate::words::name::{BranchName, CommitId, WorktreeName};
use crate::words::path::shell_word;
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

impl HooksDone {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Uninstalled => "uninstalled",
        }
    }
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
        match (self.done, self.dry_run) {
            (Some(HooksDone::Installed), true) => {
                text.tell(format!("would install hooks in {path}{by}"));
            }
            (Some(HooksDone::Installed), false) => {
                text.tell(format!("installed hooks in {path}{by}"));
            }
            (Some(HooksDone::Uninstalled), true) => {
                text.tell(format!("would remove our hooks from {path}"));
            }
            (Some(HooksDone::Uninstalled), false) => {
                text.tell(format!("removed our hooks from {path}"));
            }
            (None, _) => text.line(path),
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
        let state = match (self.done, self.dry_run) {
            (Some(HooksDone::Installed), true) => "would-install",
            (Some(HooksDone::Uninstalled), true) => "would-uninstall",
            (Some(done), false) => done.as_str(),
            (None, _) => hooks.map_or("", |hooks| hooks.state.as_str()),
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

/// The worktree that is meant.
struct HookTarget {
    path: Utf8PathBuf,
    admin_dir: Utf8PathBuf,
    known: Option<Worktree>,
}

/// Does what the subcommand says.
///
/// # Errors
/// Fails when the directory is no linked worktree, or git or the disk fails.
pub fn run(session: &Session, command: &HooksCommand) -> Result<Outcome<HooksAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let (word, dry_run) = match command {
        HooksCommand::Install(options) | HooksCommand::Uninstall(options) => {
            (options.worktree.as_deref(), options.dry_run)
        }
        HooksCommand::Status(options) => (options.worktree.as_deref(), false),
        // has an answer of its own: [`claude::run`]
        HooksCommand::Claude(options) => (None, options.dry_run),
    };
    let target = target(session, &repository, word)?;
    let hooks = match &target.known {
        Some(known) => hooks_of(&repository.git, &known.record)?,
        None => WorktreeHooks::of(&repository.git, &target.admin_dir, &target.path)?,
    };
    let mut exit = ExitCode::Success;
    let known = target.known.as_ref();
    let mut answer = HooksAnswer {
        name: known.map(|known| known.record.name.to_string()),
        path: target.path.clone(),
        dry_run,
        ..HooksAnswer::default()
    };
    match command {
        HooksCommand::Install(_) => {
            answer.done = Some(HooksDone::Installed);
            let mut method = Method::of(repository.git.version()?);
            if !dry_run {
                require_own(session, &repository, &target)?;
                let installed = install(session, &repository, &target, &hooks)?;
                method = installed.method;
                answer.name = Some(installed.name);
                answer.recorded = Some(installed.recorded);
            }
            answer.method = Some(method_word(&method));
        }
        HooksCommand::Uninstall(_) => {
            // without hooks, what an agent does to refs leaves no trace
            require_outside(&repository, &session.command_line)?;
            if !dry_run {
                uninstall(&repository, &target, &hooks)?;
            }
            answer.done = Some(HooksDone::Uninstalled);
        }
        HooksCommand::Status(_) | HooksCommand::Claude(_) => {
            let status = hooks.status()?;
            let is_found = status.binary.as_ref().is_some_and(|(_, found)| *found);
            if !status.is_complete() || !is_found {
                exit = ExitCode::Violations;
            }
            answer.hooks = Some(HooksReport::from(&status));
        }
    }
    Ok(Outcome {
        answer,
        notes: Vec::new(),
        exit,
    })
}

/// Checks that an agent installs hooks nowhere but in its own worktree.
fn require_own(
    session: &Session,
    repository: &Repository,
    target: &HookTarget,
) -> Result<(), Error> {
    let path = shell_word(target.path.as_str());
    let command = format!("git agentwt hooks install {path}");
    match &target.known {
        Some(known) => caller::require_own(repository, &known.record.name, &command),
        None => session.require_no_agent(repository, &command),
    }
}

/// Finds the worktree of a name of ours, or else of a path; without a word, the worktree around us.
fn target(
    session: &Session,
    repository: &Repository,
    word: Option<&OsStr>,
) -> Result<HookTarget, Error> {
    let shown = word.map(OsStr::to_string_lossy).unwrap_or_default();
    let here = repository.toplevel.as_ref().unwrap_or(&repository.start);
    let named = match word {
        Some(_) => session.resolve(Utf8Path::new(&*shown)),
        None => here.clone(),
    };
    let path = files::canonical(&named).unwrap_or(named);
    let known = match Worktree::of(repository, word.map(|_| &*shown)) {
        Ok(known) => Some(known),
        Err(error) if matches!(error.find(), Some(WorktreeFault::Elsewhere { .. })) => {
            return Err(error);
        }
        Err(_) => by_path(repository, &path)?,
    };
    if let Some(known) = known {
        return Ok(HookTarget {
            path: known.record.path.clone(),
            admin_dir: known.record.admin_dir.clone(),
            known: Some(known),
        });
    }
    let listed = repository.git.worktree_list()?;
    let is_listed = listed.iter().any(|entry| entry.path == path);
    let admin_dir = is_listed.then(|| repository.git.at(&path).absolute_git_dir());
    // the hooks of the main worktree are the user's; a copy of a repository lists the original's
    let common = &repository.common_dir;
    let is_own = |dir: &Utf8PathBuf| files::is_same_directory(&dir.join("../.."), common);
    let admin_dir = admin_dir.transpose()?.filter(is_own);
    let Some(admin_dir) = admin_dir else {
        let path = word.map_or(path.into_string(), |_| shown.into_owned());
        return Err(Refusal::NotLinked { path }.into());
    };
    Ok(HookTarget {
        admin_dir,
        path,
        known: None,
    })
}

/// What was installed.
struct InstalledHooks {
    method: Method,
    /// The name of the worktree.
    name: String,
    /// Whether the worktree got its record.
    recorded: bool,
}

/// Installs; a worktree of plain git's gets a record first, so that there is a base and a scope
/// to verify against.
fn install(
    session: &Session,
    repository: &Repository,
    target: &HookTarget,
    hooks: &WorktreeHooks,
) -> Result<InstalledHooks, Error> {
    if let Some(known) = &target.known {
        let (_one_at_a_time, known) = Worktree::lock(repository, &known.record.name)?;
        let install = || install_hooks(repository, &known.record, &session.binary);
        let method = known.change_hooks(repository, install)?;
        return Ok(InstalledHooks {
            method,
            name: known.record.name.to_string(),
            recorded: false,
        });
    }
    let record = plan_record(session, repository, &target.path, &target.admin_dir)?;
    let listing = Listing::read(repository, &record.checked_out)?;
    let _one_at_a_time = Lock::wait(&repository.name_lock(&record.name))?;
    // it may have been taken while we waited
    let name = free_name(repository, &target.path)?;
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
        let _ = hooks.uninstall();
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
fn uninstall(
    repository: &Repository,
    target: &HookTarget,
    hooks: &WorktreeHooks,
) -> Result<(), Error> {
    let uninstall = || {
        let _shared = Lock::wait(&repository.shared_lock())?;
        Ok(hooks.uninstall()?)
    };
    let Some(known) = &target.known else {
        return uninstall();
    };
    let (_one_at_a_time, known) = Worktree::lock(repository, &known.record.name)?;
    if known.record.made_by == MadeBy::Git {
        uninstall()?;
        return Ok(files::remove_directory(&known.dir)?);
    }
    known.change_hooks(repository, uninstall)
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
    let detached = || Refusal::Detached {
        path: path.to_owned(),
    };
    let branch = git.symbolic_ref_head()?.ok_or_else(detached)?;
    let head = git.rev_parse_commit("HEAD")?.ok_or_else(detached)?;
    let base = settings.base.as_ref().map(|base| base.value.as_str());
    let base = base_of(repository, base, &head, &name)?;
    let case = repository.case()?;
    Scope::compile(scope.clone(), case)?;
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
    let name = name.to_string();
    let Some((revision, full)) = repository.base_name(setting)? else {
        return Err(Refusal::NoDefaultBase { name }.into());
    };
    let Some(tip) = git.rev_parse_commit(&full)? else {
        return Err(Refusal::UnknownBase {
            name,
            revision,
            set_by: "the base".to_owned(),
        }
        .into());
    };
    let common = git.merge_base_all(head, &[tip])?;
    let commit = common.into_iter().next().unwrap_or_else(|| head.clone());
    Ok(Base {
        tips: followed_by(git, &revision, &commit)?,
        commit,
        revision,
    })
}
