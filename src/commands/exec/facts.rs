//! Reads what a fence needs to know of a worktree, and the environment of the command.

use std::collections::BTreeSet;
use std::ffi::OsString;

use bstr::{BStr, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::client::programs;
use crate::commands::Session;
use crate::config::value::{Choice as _, Client, Fence};
use crate::disk::files;
use crate::fence::availability::{Probe, ProbeFailure};
use crate::fence::error::FenceError;
use crate::fence::policy::{Places, Policy, PolicyFacts, Standing, Wishes, compile};
use crate::fence::probe;
use crate::fence::probe::probe_for_start;
use crate::fence::shim::PRIVATE_GIT;
use crate::git::environment::LOCAL_VARIABLES;
use crate::git::objects::Objects;
use crate::git::tree_level::TreeEntry;
use crate::refusal::Refusal;
use crate::system::environment;
use crate::words::entry::{Mode, ObjectId};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::Repository;
use crate::worktree::variables::variables as own_variables;

/// Directories of output that are known by name where a `.gitignore` does not say that they are one.
const OUTPUT: &str = "target node_modules dist build out coverage .venv venv .next .nuxt .gradle .tox \
     __pycache__ .pytest_cache .mypy_cache .ruff_cache .cache .turbo .parcel-cache";
/// What of the git directory can have the content of excluded files, and what other worktrees have there.
const WITHHELD: &str = "agentwt/trash agentwt/worktrees annex lfs lost-found objects rebase-apply \
    rebase-merge rr-cache";
/// Variables that lead to a program outside of the fence, or to another repository.
const NOT_HANDED_ON: &str = "SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO TMUX TMUX_PANE STY DOCKER_HOST \
     GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXEC_PATH GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS";
const NOT_HANDED_ON_FROM: [&str; 4] = ["LD_", "DBUS_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// The command: as given, else the client, else the user's shell.
///
/// # Errors
/// Fails when there is none.
pub(super) fn command(given: &[OsString], client: Option<Client>) -> Result<Vec<OsString>, Error> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let client = client.and_then(|client| programs::named(client.as_str()));
    let client = client.filter(|client| !client.command.is_empty());
    let program = client.map(|client| client.command.into());
    let program = program.or_else(|| environment::variable("SHELL"));
    Ok(vec![program.ok_or(Refusal::NoCommand)?])
}

/// Computes the policy.
///
/// # Errors
/// Fails when the repository cannot be read.
pub(super) fn policy(
    session: &Session,
    repository: &Repository,
    known: &Worktree,
    private: &PrivateGit,
    others: Vec<Utf8PathBuf>,
    states: Vec<Utf8PathBuf>,
    wishes: Wishes,
) -> Result<Policy, Error> {
    let root = &known.record.path;
    let tracked = || tracked(repository, known).unwrap_or_default();
    let stat = |path: &BStr| files::stat(&root.as_std_path().join(path.to_path().ok()?));
    let exists = |path: &RepoPath| {
        // nothing of the worktree is behind a link
        let mut above = path.parents().filter_map(stat);
        let is_behind = above.any(|above| !above.is_directory());
        let there = stat(path.as_bstr()).filter(|_| !is_behind)?;
        Some(match there {
            file if file.is_file() => Standing::File,
            directory if directory.is_directory() => Standing::Directory,
            _other => Standing::Other,
        })
    };
    let home = repository.home();
    let own = &known.record.admin_dir;
    let withheld = wishes.withholds.then(|| withheld(&home.common_dir, own));
    let withheld = withheld.transpose()?.unwrap_or_default();
    let objects = repository.objects()?;
    let tree = objects.commit(&known.record.base.commit)?.tree;
    let facts = PolicyFacts {
        scope: &known.scope,
        tracked: &tracked,
        exists: &exists,
        ignored: ignored_output(&objects, &tree, root)?,
        places: Places {
            root: root.clone(),
            main: home.root.clone(),
            shown: shown(repository, known, &objects)?,
            others,
            common_dir: home.common_dir.clone(),
            withheld,
            states,
            private: private.dir.clone(),
            binary: session.binary.clone(),
        },
        wishes,
    };
    Ok(compile(&facts))
}

/// The other worktrees that are not in the main one, which is hidden unless it is a bare repository.
pub(super) fn others(repository: &Repository, root: &Utf8Path) -> Result<Vec<Utf8PathBuf>, Error> {
    let is_hidden = repository.root != repository.home().common_dir;
    let all = repository.git.worktree_roots()?.into_iter();
    let mut all: Vec<_> = all.flat_map(|path| files::canonical(&path)).collect();
    all.retain(|path| path != root && !(is_hidden && path.starts_with(&repository.root)));
    Ok(all)
}

/// Where the content of files is, also that of borrowed objects (gitrepository-layout(5), `objects/info/alternates`).
fn withheld(common_dir: &Utf8Path, own: &Utf8Path) -> Result<Vec<Utf8PathBuf>, Error> {
    let others = files::names(&common_dir.join("worktrees"))?.into_iter();
    let others = others.map(|name| common_dir.join("worktrees").join(name));
    let names = WITHHELD.split_whitespace();
    let names = names.map(|name| common_dir.join(name));
    let all = names.chain(others.filter(|other| other != own));
    let mut all: Vec<_> = all.flat_map(|path| files::canonical(&path)).collect();
    let mut at = 0;
    while let Some(place) = all.get(at).cloned() {
        let borrowed = files::read(&place.join("info/alternates"))?.unwrap_or_default();
        let path = |line: &[u8]| files::canonical(&place.join(line.to_str().ok()?)).ok();
        let borrowed = borrowed.lines().filter_map(path);
        let new: BTreeSet<_> = borrowed.filter(|path| !all.contains(path)).collect();
        all.extend(new);
        at += 1;
    }
    Ok(all)
}

/// The files of the commit that the worktree is on.
fn tracked(repository: &Repository, known: &Worktree) -> Result<Vec<RepoPath>, Error> {
    let git = known.hardened_git(repository);
    let head = git.rev_parse_commit("HEAD")?;
    let head = head.unwrap_or_else(|| known.record.checked_out.clone());
    let objects = repository.objects()?;
    let tree = objects.commit(&head)?.tree;
    let files = objects.list(&tree)?.into_iter();
    Ok(files.map(|(path, _)| path).collect())
}

/// The files of a main worktree around the worktree that stay readable, for programs that look for their files in all
/// directories above: those at its top that its HEAD has and the scope shows, and cargo's.
fn shown(
    repository: &Repository,
    known: &Worktree,
    objects: &Objects,
) -> Result<Vec<Utf8PathBuf>, Error> {
    let main = &repository.home().root;
    let git = &repository.home().git;
    let is_inside = known.record.path.starts_with(main);
    let head = is_inside.then(|| git.rev_parse_commit("HEAD"));
    let Some(head) = head.transpose()?.flatten() else {
        return Ok(Vec::new());
    };
    let top = objects.level(Some(&objects.commit(&head)?.tree))?;
    let is_file = |entry: &&TreeEntry| {
        let mode = entry.leaf().map(|leaf| leaf.mode);
        matches!(mode, Some(Mode::File | Mode::Executable))
    };
    let names = top.iter().filter(is_file);
    let names = names.map(|entry| entry.name.as_bstr());
    let all = names.chain([".cargo/config.toml".into()]);
    let all = all.flat_map(RepoPath::parse);
    let all = all.filter(|path| !known.scope.excludes_file(path));
    let all = all.map(|path| main.join(path.to_string()));
    // a directory or a link in the place of a file is not shown
    let stands = |path: &Utf8PathBuf| files::stat(path).is_some_and(|stat| stat.is_file());
    Ok(all.filter(stands).collect())
}

/// The directories of ignored output: verification takes what is in them for no change, so a build may
/// write there. Only names that the base's own `.gitignore` has at the root count.
fn ignored_output(
    objects: &Objects,
    tree: &ObjectId,
    root: &Utf8Path,
) -> Result<Vec<RepoPath>, Error> {
    let file = RepoPath::parse(".gitignore").ok();
    let found = objects.at(tree, file.iter())?.into_iter().next();
    let Some((_, entry)) = found else {
        return Ok(Vec::new());
    };
    let text = objects.blob(&entry.id)?;
    let output: Vec<&str> = OUTPUT.split_whitespace().collect();
    let mut all = Vec::new();
    let lines = text.lines().map(<[u8]>::trim_ascii_end);
    for line in lines.filter_map(|line| line.to_str().ok()) {
        let name = line.strip_prefix('/').unwrap_or(line);
        let is_closed = name.ends_with('/');
        let name = name.trim_end_matches('/');
        let is_plain = !name.is_empty() && !name.contains(['*', '?', '[', '\\', '!', '#', '/']);
        let stands = || files::is_directory(&root.join(name));
        // only what is known to be made by a build is made before
        let is_output = output.contains(&name) || is_closed && stands();
        all.extend(RepoPath::parse(name).ok().filter(|_| is_plain && is_output));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// The whole environment of the command.
pub(super) fn variables(
    repository: &Repository,
    known: &Worktree,
    private: &PrivateGit,
    fence: Fence,
) -> Vec<(OsString, OsString)> {
    let names = [LOCAL_VARIABLES, NOT_HANDED_ON].into_iter();
    let dropped: Vec<&str> = names.flat_map(str::split_whitespace).collect();
    let is_dropped = |name: &OsString| {
        let name = name.to_string_lossy();
        let mut starts = NOT_HANDED_ON_FROM.iter();
        dropped.contains(&&*name) || starts.any(|start| name.starts_with(start))
    };
    let mut all = environment::variables();
    if fence > Fence::Perms {
        all.retain(|(name, _)| !is_dropped(name));
    }
    let own = own_variables(repository, known).into_iter();
    let own = own.map(|(name, value)| (name.into(), value.into()));
    let mut own: Vec<(OsString, OsString)> = own.collect();
    own.push(("AGENTWT_EXEC".into(), "1".into()));
    if fence > Fence::Perms {
        own.push((PRIVATE_GIT.into(), private.git_dir().into()));
        own.push(("TMPDIR".into(), private.dir.join("tmp").into()));
    }
    let has_shim = matches!(fence, Fence::Landlock | Fence::Seatbelt);
    if let Some(programs) = environment::variable("PATH").filter(|_| has_shim) {
        let mut path = OsString::from(private.dir.join("bin"));
        path.extend([":".as_ref(), programs.as_os_str()]);
        own.push(("PATH".into(), path));
    }
    all.retain(|(name, _)| !own.iter().any(|(other, _)| other == name));
    all.extend(own);
    all
}

/// Chooses the fence: the one that was asked for, or the strongest that works here and can do what was asked.
///
/// # Errors
/// Fails when there is none.
pub(super) fn choose(
    repository: &Repository,
    policy: &Policy,
    asked: Fence,
) -> Result<Fence, FenceError> {
    let state = repository.home().common_dir.join("agentwt");
    let mut try_fence = |fence: Fence| {
        let Some(said) = policy.unable(fence).into_iter().next() else {
            let binary = &policy.places.binary;
            let asks = &policy.wishes.container;
            return probe_for_start(fence, binary, &state, asks);
        };
        let what = format!("{} cannot do what was asked", fence.as_str());
        let remedy = "ask for less, or take another fence".to_owned();
        let result = Err(ProbeFailure { what, said, remedy });
        Probe { fence, result }
    };
    probe::choose(asked, &mut try_fence)
}
