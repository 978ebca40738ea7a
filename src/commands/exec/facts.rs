//! Reads what a fence needs to know of a worktree, and the environment of the command.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::OsString;

use bstr::{BStr, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::client::programs;
use crate::commands::Session;
use crate::commands::exec::client_state::ClientState;
use crate::config::value::{Choice as _, Client, Fence};
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::fence::availability::{Probe, ProbeFailure};
use crate::fence::compile::{ExistingEntry, PolicyFacts, compile};
use crate::fence::error::FenceError;
use crate::fence::policy::{FenceRequest, Places, Policy};
use crate::fence::probe;
use crate::fence::probe::probe_for_start;
use crate::fence::shim::PRIVATE_GIT;
use crate::git::environment::LOCAL_VARIABLES;
use crate::git::objects::Objects;
use crate::inventory::manifest::Stat;
use crate::refusal::Refusal;
use crate::system::environment;
use crate::words::entry::{Mode, ObjectId};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::admin_dir::git_dirs_below;
use crate::worktree::ignore_rules::EXCLUDE;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::private_git::settings::users_hooks;
use crate::worktree::repository::Repository;
use crate::worktree::variables::variables as own_variables;

/// Directories of output that are known by name where a `.gitignore` does not say that they are
/// one.
const OUTPUT: &str = "target node_modules dist build out coverage .venv venv .next .nuxt .gradle \
     .tox __pycache__ .pytest_cache .mypy_cache .ruff_cache .cache .turbo .parcel-cache";
/// What of the git directory has the content of files, and may be a link to a directory elsewhere.
const CONTENT: &str = "annex lfs objects rr-cache";
/// Variables that lead to a program outside of the fence, or to another repository.
const NOT_HANDED_ON: &str = "SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO TMUX TMUX_PANE STY \
     DOCKER_HOST GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXEC_PATH GIT_SSH GIT_SSH_COMMAND \
     GIT_ASKPASS";
/// The beginnings of names of such variables.
const NOT_HANDED_ON_FROM: [&str; 4] = ["LD_", "DBUS_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// The command: as given, else the client, else the user's shell.
///
/// # Errors
/// Fails when there is none.
pub(super) fn command(given: &[OsString], client: Option<Client>) -> Result<Vec<OsString>, Error> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    if let Some(client) = client
        && let Some(program) = programs::named(client.as_str())
        && !program.command.is_empty()
    {
        return Ok(vec![program.command.into()]);
    }
    let shell = environment::variable("SHELL").ok_or(Refusal::NoCommand)?;
    Ok(vec![shell])
}

/// Computes what the command may read and write: the policy of its fence.
///
/// # Errors
/// Fails when the repository cannot be read.
pub(super) fn policy(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    private: &PrivateGit,
    others: Vec<Utf8PathBuf>,
    client_states: &[ClientState],
    request: FenceRequest,
) -> Result<Policy, Error> {
    let root = &worktree.record.path;
    let home = repository.home();
    let mut withheld = Vec::new();
    let mut shown_in_git = Vec::new();
    if request.withholds {
        withheld = withheld_directories(&home.common_dir)?;
        shown_in_git = shown_directories(repository, worktree)?;
    }
    let objects = repository.objects()?;
    let base_tree = objects.commit(&worktree.record.base.commit)?.tree;
    // it is asked only where a pattern needs it
    let failure = OnceCell::new();
    let tracked = || match tracked(repository, worktree) {
        Ok(paths) => paths,
        Err(error) => {
            let _ = failure.set(error);
            Vec::new()
        }
    };
    let facts = PolicyFacts {
        scope: &worktree.scope,
        tracked: &tracked,
        exists: &|path| existing_entry(root, path),
        ignored: ignored_output(&objects, &base_tree, root)?,
        places: Places {
            root: root.clone(),
            main: home.root.clone(),
            shown: readable_main_files(repository, worktree, &objects)?,
            others,
            common_dir: home.common_dir.clone(),
            withheld,
            shown_in_git,
            states: client_states
                .iter()
                .map(|state| state.place.clone())
                .collect(),
            private: private.dir.clone(),
            binary: session.binary.clone(),
        },
        request,
    };
    let policy = compile(&facts);
    match failure.into_inner() {
        // a policy without the tracked files would show those that the scope excludes
        Some(error) => Err(error),
        None => Ok(policy),
    }
}

/// What is at a path of the worktree; `None` if nothing is there, or the path is behind a link.
fn existing_entry(root: &Utf8Path, path: &RepoPath) -> Option<ExistingEntry> {
    for above in path.parents() {
        if stat_below(root, above).is_some_and(|stat| !stat.is_directory()) {
            return None;
        }
    }
    let stat = stat_below(root, path.as_bstr())?;
    Some(if stat.is_file() {
        ExistingEntry::File
    } else if stat.is_directory() {
        ExistingEntry::Directory
    } else {
        ExistingEntry::Other
    })
}

fn stat_below(root: &Utf8Path, path: &BStr) -> Option<Stat> {
    files::stat(&root.as_std_path().join(path.to_path().ok()?))
}

/// The other worktrees that are not in the main one, which is hidden unless it is a bare
/// repository.
pub(super) fn others(repository: &Repository, root: &Utf8Path) -> Result<Vec<Utf8PathBuf>, Error> {
    let is_main_hidden = repository.root != repository.home().common_dir;
    let mut others = Vec::new();
    for path in repository.git.worktree_roots()? {
        let Ok(place) = files::canonical(&path) else {
            continue;
        };
        let is_hidden = is_main_hidden && place.starts_with(&repository.root);
        if place != root && !is_hidden {
            others.push(place);
        }
    }
    Ok(others)
}

/// The directories that `--withhold` hides: the git directory, what of it is kept elsewhere, and
/// the object directories from which these borrow.
fn withheld_directories(common_dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>, Error> {
    let mut borrowers = Vec::new();
    for name in CONTENT.split_whitespace() {
        borrowers.extend(files::canonical(&common_dir.join(name)));
    }
    add_lenders(&mut borrowers)?;
    let mut withheld = vec![common_dir.to_owned()];
    borrowers.retain(|directory| !directory.starts_with(common_dir));
    withheld.extend(borrowers);
    Ok(withheld)
}

/// Adds the object directories from which these borrow (gitrepository-layout(5),
/// `objects/info/alternates`).
fn add_lenders(borrowers: &mut Vec<Utf8PathBuf>) -> Result<(), DiskError> {
    // the list grows while it is read: a lender may borrow in turn
    let mut next = 0;
    while let Some(borrower) = borrowers.get(next).cloned() {
        let alternates = files::read(&borrower.join("info/alternates"))?.unwrap_or_default();
        for line in alternates.lines() {
            if let Ok(path) = line.to_str()
                && let Ok(lender) = files::canonical(&borrower.join(path))
                && !borrowers.contains(&lender)
            {
                borrowers.push(lender);
            }
        }
        next += 1;
    }
    Ok(())
}

/// What of a hidden git directory work in a worktree needs: the user's hooks, the file that ignores
/// what was placed, the git directories of its own submodules, and the objects of the main
/// worktree's submodules from which these borrow.
fn shown_directories(
    repository: &Repository,
    worktree: &Worktree,
) -> Result<Vec<Utf8PathBuf>, Error> {
    let common_dir = &repository.home().common_dir;
    let modules = worktree.record.admin_dir.join("modules");
    let mut shown = Vec::new();
    let hooks = users_hooks(repository, worktree)?;
    // git stops at a file with ignore rules that it may not read
    let exclude = worktree.record.admin_dir.join(EXCLUDE);
    let mut places = vec![modules.clone(), exclude];
    if let Ok(path) = hooks.to_str() {
        places.push(worktree.record.path.join(path));
    }
    for place in places {
        if let Ok(directory) = files::canonical(&place)
            && directory.starts_with(common_dir)
            && directory != *common_dir
        {
            shown.push(directory);
        }
    }
    shown.extend(lenders_of(&modules, &common_dir.join("modules"))?);
    Ok(shown)
}

/// The directories of objects below `main_modules`, those of the main worktree's submodules, from
/// which the submodules below `modules` borrow, directly or not.
fn lenders_of(modules: &Utf8Path, main_modules: &Utf8Path) -> Result<Vec<Utf8PathBuf>, Error> {
    let mut objects = Vec::new();
    for git_dir in git_dirs_below(modules)? {
        objects.extend(files::canonical(&git_dir.join("objects")));
    }
    add_lenders(&mut objects)?;
    // a submodule that borrows from the repository itself would show what is withheld
    objects.retain(|directory| directory.starts_with(main_modules));
    Ok(objects)
}

/// The files of the commit that the worktree is on.
fn tracked(repository: &Repository, worktree: &Worktree) -> Result<Vec<RepoPath>, Error> {
    let git = worktree.hardened_git(repository);
    let head = git.rev_parse_commit("HEAD")?;
    let commit = head.unwrap_or_else(|| worktree.record.checked_out.clone());
    let objects = repository.objects()?;
    let tree = objects.commit(&commit)?.tree;
    let files = objects.list(&tree)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// The files of the main worktree that stay readable where it is around the worktree: programs
/// search for their configuration in every directory above. These are the files at its top that its
/// HEAD has and the scope does not exclude, and cargo's.
fn readable_main_files(
    repository: &Repository,
    worktree: &Worktree,
    objects: &Objects,
) -> Result<Vec<Utf8PathBuf>, Error> {
    let main = &repository.home().root;
    if !worktree.record.path.starts_with(main) {
        return Ok(Vec::new());
    }
    let Some(head) = repository.home().git.rev_parse_commit("HEAD")? else {
        return Ok(Vec::new());
    };
    let top = objects.level(Some(&objects.commit(&head)?.tree))?;
    let mut names: Vec<&BStr> = Vec::new();
    for entry in top.iter() {
        let mode = entry.leaf().map(|leaf| leaf.mode);
        if matches!(mode, Some(Mode::File | Mode::Executable)) {
            names.push(entry.name.as_bstr());
        }
    }
    names.push(".cargo/config.toml".into());
    let mut readable = Vec::new();
    for name in names {
        let Ok(path) = RepoPath::parse(name) else {
            continue;
        };
        let file = main.join(path.to_string());
        // by now a directory or a link may be in the place of the file
        let is_file = files::stat(&file).is_some_and(|stat| stat.is_file());
        if is_file && !worktree.scope.excludes_file(&path) {
            readable.push(file);
        }
    }
    Ok(readable)
}

/// The directories of ignored output: verification takes what is in them for no change, so a build
/// may write there. Only names that the base's own `.gitignore` has at the root count.
fn ignored_output(
    objects: &Objects,
    tree: &ObjectId,
    root: &Utf8Path,
) -> Result<Vec<RepoPath>, Error> {
    let file = RepoPath::parse(".gitignore").ok();
    let Some((_, entry)) = objects.at(tree, file.iter())?.into_iter().next() else {
        return Ok(Vec::new());
    };
    let text = objects.blob(&entry.id)?;
    let mut directories = BTreeSet::new();
    for line in text.lines() {
        if let Ok(pattern) = line.trim_ascii_end().to_str()
            && let Some(name) = output_directory(pattern, root)
        {
            directories.extend(RepoPath::parse(name));
        }
    }
    Ok(directories.into_iter().collect())
}

/// Returns the directory of output that a pattern of `.gitignore` names: one that is known by name,
/// or that is there. Only what is known to be created by a build is created before.
fn output_directory<'p>(pattern: &'p str, root: &Utf8Path) -> Option<&'p str> {
    let from_root = pattern.strip_prefix('/').unwrap_or(pattern);
    let name = from_root.trim_end_matches('/');
    if name.is_empty() || name.contains(['*', '?', '[', '\\', '!', '#', '/']) {
        return None;
    }
    let is_known = OUTPUT.split_whitespace().any(|output| output == name);
    let is_there = || from_root.ends_with('/') && files::is_directory(&root.join(name));
    (is_known || is_there()).then_some(name)
}

/// The whole environment of the command. Behind a fence with walls, variables that lead out of it
/// are left out.
pub(super) fn variables(
    repository: &Repository,
    worktree: &Worktree,
    private: &PrivateGit,
    fence: Fence,
) -> Vec<(OsString, OsString)> {
    let has_walls = fence > Fence::Perms;
    let mut added: Vec<(OsString, OsString)> = Vec::new();
    for (name, value) in own_variables(repository, worktree) {
        added.push((name.into(), value.into()));
    }
    added.push(("AGENTWT_EXEC".into(), "1".into()));
    if has_walls {
        added.push((PRIVATE_GIT.into(), private.git_dir().into()));
        added.push(("TMPDIR".into(), private.dir.join("tmp").into()));
    }
    if matches!(fence, Fence::Landlock | Fence::Seatbelt)
        && let Some(inherited_path) = environment::variable("PATH")
    {
        // our `git` comes first (`fence/shim.rs`); `mount` and `container` replace `.git` instead
        let mut path = OsString::from(private.dir.join("bin"));
        path.push(":");
        path.push(inherited_path);
        added.push(("PATH".into(), path));
    }
    let mut variables = environment::variables();
    if has_walls {
        variables.retain(|(name, _)| is_handed_on(&name.to_string_lossy()));
    }
    variables.retain(|(name, _)| !added.iter().any(|(other, _)| other == name));
    variables.extend(added);
    variables
}

/// True if a command in a fence gets a variable of ours.
fn is_handed_on(name: &str) -> bool {
    let is_listed = |names: &str| names.split_whitespace().any(|listed| listed == name);
    let begins_so = NOT_HANDED_ON_FROM
        .iter()
        .any(|start| name.starts_with(start));
    !is_listed(LOCAL_VARIABLES) && !is_listed(NOT_HANDED_ON) && !begins_so
}

/// Chooses the fence: the one that was asked for, or the strongest that works here and can do what
/// was asked.
///
/// # Errors
/// Fails when there is none.
pub(super) fn choose(
    repository: &Repository,
    policy: &Policy,
    asked: Fence,
) -> Result<Fence, FenceError> {
    let state = repository.home().common_dir.join("agentwt");
    let mut try_fence = |fence: Fence| match policy.unable(fence).into_iter().next() {
        None => {
            let binary = &policy.places.binary;
            probe_for_start(fence, binary, &state, &policy.request.container)
        }
        Some(said) => {
            let what = format!("{} cannot do what was asked", fence.as_str());
            let remedy = "ask for less, or take another fence".to_owned();
            let result = Err(ProbeFailure { what, said, remedy });
            Probe { fence, result }
        }
    };
    probe::choose(asked, &mut try_fence)
}
