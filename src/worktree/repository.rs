//! Finds the repository and what is fixed about it: [`Repository`].

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::disk::lock::{LockFile, Waiting};
use crate::disk::scan::walk::WalkMode;
use crate::disk::trash_bin::TRASH;
use crate::git::error::GitError;
use crate::git::layout::Layout;
use crate::git::object_format::ObjectFormat;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::runner::{SharedRunner, Trace};
use crate::git::worktree::WorktreeEntry;
use crate::record::worktree::Record;
use crate::scope::rule::Case;
use crate::words::error::Error;
use crate::words::name::{BranchName, WorktreeName};
use crate::worktree::gitdir::read_if_whole;
use crate::worktree::recorded_git_dirs::{RecordPlaces, RecordedGitDirs};

/// Where worktrees are made, below the root.
pub const WORKTREES: &str = ".agentwt/worktrees";
/// The bare repository that only keeps records and commits of clones (`add --parent`), below a
/// directory that is in no repository.
pub const PARENT_HOME: &str = ".agentwt/repository.git";
/// Where records are, below the common git directory.
const RECORDS: &str = "agentwt/worktrees";
/// The config, below the root.
pub const CONFIG: &str = ".agentwt/config.toml";

/// What the repository's own checkout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Main {
    /// There is a main worktree, at the root.
    Worktree,
    /// The repository is bare: it has linked worktrees only.
    Bare,
}

/// The repository that a command works on, found once.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Git, in the main worktree, or for a bare repository in its directory.
    pub git: Git,
    /// The common git directory.
    pub common_dir: Utf8PathBuf,
    /// The directory that holds `.agentwt`: the main worktree; for a bare repository its
    /// directory, or the one above if it is hidden (`project/.bare`).
    pub root: Utf8PathBuf,
    /// What its own checkout is.
    pub main: Main,
    /// The hash function.
    pub format: ObjectFormat,
    /// Where the command was started.
    pub start: Utf8PathBuf,
    /// The root of the worktree that it was started in, as git finds it.
    pub toplevel: Option<Utf8PathBuf>,
    /// The name of the worktree of ours that the path says we are in.
    pub inside: Option<WorktreeName>,
    /// How locks are waited for.
    pub waiting: Waiting,
    /// How far stat data are believed.
    pub walking: WalkMode,
    /// The repository that made the worktree and has its records, locks and main worktree, where
    /// this one is a clone of it; none where it is that repository itself.
    pub home: Option<Box<Self>>,
    /// Which private git directories a record names.
    pub recorded_git_dirs: RecordedGitDirs,
}

impl Repository {
    /// Finds the repository of a directory. Inside `.agentwt/worktrees/<name>` it is the one
    /// around that, whatever the worktree's `.git` says: the agent can redirect or remove it.
    /// A separate repository deeper inside is its own.
    ///
    /// # Errors
    /// Fails when there is none, git refuses it, or a path is not UTF-8.
    pub fn find(start: &Utf8Path, runner: SharedRunner, trace: Trace) -> Result<Self, Error> {
        let start = files::canonical(start)?;
        let git = Git::unchecked(&start, runner).with_trace(trace);
        let layout_by_git = git.layout();
        if let Err(error @ (GitError::TooOld { .. } | GitError::Missing(_))) = layout_by_git {
            return Err(error.into());
        }
        let ours = worktree_by_path(&start).filter(|ours| !is_nested(&layout_by_git, ours));
        let located = match &ours {
            // an error of git's may be the agent's work
            Some(ours) => locate_around(&git, layout_by_git.ok().flatten(), ours)?,
            None => locate_from(&git, layout_by_git?, &start)?,
        };
        let Some(located) = located else {
            let dir = start.to_string();
            return Err(GitError::NoRepository { dir }.into());
        };
        let layout = located.layout;
        let work_tree = match located.main {
            Main::Bare => None,
            Main::Worktree => Some(located.root.as_path()),
        };
        Ok(Self {
            git: git.on(&layout.common_dir, work_tree),
            common_dir: layout.common_dir,
            root: located.root,
            main: located.main,
            format: layout.format,
            start,
            toplevel: match &ours {
                Some(ours) => Some(ours.directory()),
                None => layout.toplevel,
            },
            inside: ours.map(|ours| ours.name),
            waiting: Waiting::default(),
            walking: WalkMode::default(),
            home: None,
            recorded_git_dirs: RecordedGitDirs::default(),
        })
    }

    /// The clone that stands at `path`, seen from here: git, objects, refs, settings and hooks are
    /// its own; records, locks, the main worktree and where we are stay those of this repository.
    pub fn clone_at(&self, path: &Utf8Path, format: ObjectFormat) -> Self {
        let home = self.home();
        let common_dir = path.join(".git");
        // nothing can be started in a directory that is gone
        let work_tree = Some(path).filter(|path| files::is_directory(path));
        Self {
            git: home.git.on(&common_dir, work_tree),
            common_dir,
            format,
            home: Some(Box::new(home.clone())),
            ..home.clone()
        }
    }

    /// The repository that has the records, the locks and the main worktree.
    pub fn home(&self) -> &Self {
        self.home.as_deref().unwrap_or(self)
    }

    /// True if this is a clone, seen from the repository that made it.
    pub const fn is_clone(&self) -> bool {
        self.home.is_some()
    }

    /// How names compare here (`core.ignoreCase`, git-config(1)).
    ///
    /// # Errors
    /// Fails when git does.
    pub fn case(&self) -> Result<Case, Error> {
        let ignore_case = self.git.config_get_bool("core.ignoreCase")?;
        Ok(Case::of(ignore_case == Some(true)))
    }

    /// The directory of a worktree of ours.
    pub fn worktree_path(&self, name: &WorktreeName) -> Utf8PathBuf {
        self.root.join(WORKTREES).join(name.as_str())
    }

    /// The directory of which a task must leave everything else alone: around clones without a
    /// repository stands whatever the user has there.
    pub fn closed_root(&self) -> Utf8PathBuf {
        if self.has_no_main_worktree() {
            return self.root.join(".agentwt");
        }
        self.root.clone()
    }

    /// True if it is a directory around clones (`add --parent`), which is no repository itself.
    pub fn has_no_main_worktree(&self) -> bool {
        self.home().common_dir == self.root.join(PARENT_HOME)
    }

    /// The directory of a worktree's record.
    pub fn record_dir(&self, name: &WorktreeName) -> Utf8PathBuf {
        self.records_dir().join(name.as_str())
    }

    /// The directory of all records.
    pub fn records_dir(&self) -> Utf8PathBuf {
        self.home().common_dir.join(RECORDS)
    }

    /// Where records and worktrees are.
    pub fn record_places(&self) -> RecordPlaces {
        RecordPlaces {
            records: [self.records_dir(), trash_records(self)],
            worktrees: self.root.join(WORKTREES),
            linked: self.common_dir.join("worktrees"),
        }
    }

    /// The lock for steps in which git writes shared files.
    pub fn shared_lock(&self) -> LockFile {
        self.lock("agentwt/lock".into(), None)
    }

    /// The lock of one name.
    pub fn name_lock(&self, name: &WorktreeName) -> LockFile {
        let file = format!("agentwt/locks/{}", name.as_str().to_ascii_lowercase());
        self.lock(file, Some(name.to_string()))
    }

    /// The lock of the set-up of a worktree, whose commands may use the worktree. No name of a
    /// worktree begins with `+`.
    pub fn setup_lock(&self, name: &WorktreeName) -> LockFile {
        let file = format!("agentwt/locks/+{}", name.as_str().to_ascii_lowercase());
        self.lock(file, Some(name.to_string()))
    }

    /// The lock of a command that runs in a fence. No name of a worktree begins with `=`.
    pub fn run_lock(&self, name: &WorktreeName) -> LockFile {
        let file = format!("agentwt/locks/={}", name.as_str().to_ascii_lowercase());
        self.lock(file, Some(name.to_string()))
    }

    /// The lock of all removals. No name of a worktree begins with `~`.
    pub fn removal_lock(&self) -> LockFile {
        self.lock("agentwt/locks/~removal".into(), None)
    }

    /// The lock of a branch that work is landed in. No name of a worktree begins with `@`.
    pub fn branch_lock(&self, branch: &BranchName) -> LockFile {
        let file = branch.as_str().to_ascii_lowercase().replace('/', "@");
        self.lock(format!("agentwt/locks/@{file}"), Some(branch.to_string()))
    }

    fn lock(&self, file: String, name: Option<String>) -> LockFile {
        LockFile {
            path: self.home().common_dir.join(file),
            name,
            waiting: self.waiting.clone(),
        }
    }

    /// Every worktree, the main one (or the bare repository) first. Git names the git directory in
    /// the place of a main worktree that stands elsewhere (`--separate-git-dir`, a submodule).
    ///
    /// # Errors
    /// Fails when an entry cannot be read.
    pub fn worktree_list(&self) -> Result<Vec<WorktreeEntry>, GitError> {
        let mut entries = self.git.worktree_list()?;
        // the root of a clone is that of its home
        if self.main == Main::Worktree
            && !self.is_clone()
            && let Some(main) = entries.first_mut()
        {
            main.path.clone_from(&self.root);
        }
        Ok(entries)
    }

    /// Opens the object database.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn objects(&self) -> Result<Objects, Error> {
        Ok(self.git.objects(&self.common_dir, self.format)?)
    }
}

/// The worktree of ours in which a path is, by its names alone.
struct WorktreeByPath {
    root: Utf8PathBuf,
    name: WorktreeName,
}

impl WorktreeByPath {
    fn directory(&self) -> Utf8PathBuf {
        self.root.join(WORKTREES).join(self.name.as_str())
    }
}

/// Finds the first `.agentwt/worktrees/<name>` in a path.
fn worktree_by_path(path: &Utf8Path) -> Option<WorktreeByPath> {
    let mut above: Vec<&Utf8Path> = path.ancestors().collect();
    above.reverse();
    for window in above.windows(4) {
        if let [root, agentwt, worktrees, worktree] = window
            && agentwt.file_name() == Some(".agentwt")
            && worktrees.file_name() == Some("worktrees")
            && let Some(Ok(name)) = worktree.file_name().map(WorktreeName::parse)
        {
            let root = (*root).to_owned();
            return Some(WorktreeByPath { root, name });
        }
    }
    None
}

/// True if the repository that git finds is a separate one deeper inside the worktree.
fn is_nested(layout_by_git: &Result<Option<Layout>, GitError>, ours: &WorktreeByPath) -> bool {
    let Ok(Some(layout)) = layout_by_git else {
        return false;
    };
    let worktree = ours.directory();
    match &layout.toplevel {
        Some(toplevel) => toplevel.starts_with(&worktree) && *toplevel != worktree,
        None => false,
    }
}

/// A repository that git finds, and where its `.agentwt` is.
struct LocatedWorktree {
    layout: Layout,
    main: Main,
    root: Utf8PathBuf,
}

/// Finds out where the `.agentwt` of a repository is.
fn locate(git: &Git, layout: Option<Layout>) -> Result<Option<LocatedWorktree>, Error> {
    let Some(layout) = layout else {
        return Ok(None);
    };
    let in_common = git.on(&layout.common_dir, None);
    if in_common.is_bare_repository()? {
        let root = root_of_bare(&layout.common_dir);
        let main = Main::Bare;
        return Ok(Some(LocatedWorktree { layout, main, root }));
    }
    let toplevel = layout.toplevel.as_deref();
    let work_tree = in_common.configured_work_tree()?;
    let root = root_of_main(&in_common, &layout.common_dir, work_tree, toplevel)?;
    let main = Main::Worktree;
    Ok(Some(LocatedWorktree { layout, main, root }))
}

/// The repository around a worktree of ours: the one in the directory around `.agentwt`. If there
/// is none (`project/.bare` without `project/.git`), the one to which the `.git` of the worktree
/// leads, but only if its `.agentwt` is there and it has a record of this worktree.
fn locate_around(
    git: &Git,
    layout_by_git: Option<Layout>,
    ours: &WorktreeByPath,
) -> Result<Option<LocatedWorktree>, Error> {
    let around = match locate(git, git.at(&ours.root).layout()?)? {
        Some(located) => Some(located),
        None => parent_home(git, std::iter::once(ours.root.as_path()))?,
    };
    if let Some(located) = &around
        && (located.root == ours.root || located.layout.toplevel.as_ref() == Some(&ours.root))
    {
        return Ok(around);
    }
    // an agent can redirect `.git` to anything: an error there is not ours to report
    if let Ok(Some(named)) = locate(git, layout_by_git)
        && named.root == ours.root
        && has_record(&named, ours)
    {
        return Ok(Some(named));
    }
    Ok(around)
}

/// The repository of a directory that is in no worktree of ours.
fn locate_from(
    git: &Git,
    layout_by_git: Option<Layout>,
    start: &Utf8Path,
) -> Result<Option<LocatedWorktree>, Error> {
    if let Some(located) = locate(git, layout_by_git)? {
        return Ok(Some(located));
    }
    // the `.git` of a removed worktree leads nowhere, and a shell may stand there; what an agent has
    // made in the worktree is not looked for
    if let Some(root) = root_around_trash(start) {
        return locate(git, git.at(root).layout()?);
    }
    parent_home(git, start.ancestors())
}

/// The root of the repository in whose trash a path is; none where it is in no trash.
fn root_around_trash(path: &Utf8Path) -> Option<&Utf8Path> {
    let trash = Utf8Path::new(WORKTREES).join(TRASH);
    let directory = path.ancestors().find(|above| above.ends_with(&trash))?;
    directory.ancestors().nth(trash.iter().count())
}

/// The repository that `add --parent` made in the nearest of these directories. It is only looked
/// for where there is no other: one that came as files of another repository is not believed.
fn parent_home<'a>(
    git: &Git,
    mut directories: impl Iterator<Item = &'a Utf8Path>,
) -> Result<Option<LocatedWorktree>, Error> {
    let home = directories.find(|root| files::exists(&root.join(PARENT_HOME).join("HEAD")));
    let Some(root) = home else {
        return Ok(None);
    };
    let layout = git.at(&root.join(PARENT_HOME)).layout()?;
    Ok(layout.map(|layout| LocatedWorktree {
        layout,
        main: Main::Bare,
        root: root.to_owned(),
    }))
}

/// True if a repository has recorded exactly this worktree.
fn has_record(located: &LocatedWorktree, ours: &WorktreeByPath) -> bool {
    let records = located.layout.common_dir.join(RECORDS);
    let file = records.join(ours.name.as_str()).join("record.toml");
    match read_if_whole::<Record>(&file) {
        Some(record) => record.name == ours.name && record.path == ours.directory(),
        None => false,
    }
}

/// The root of a bare repository: a hidden git directory stands in the project's directory, any
/// other is the project's.
fn root_of_bare(common_dir: &Utf8Path) -> Utf8PathBuf {
    let is_hidden = common_dir
        .file_name()
        .is_some_and(|name| name.starts_with('.'));
    match common_dir.parent() {
        Some(parent) if is_hidden => parent.to_owned(),
        Some(_) | None => common_dir.to_owned(),
    }
}

/// Waits for a thread, and returns what it returned; its panic goes on here.
pub(crate) fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The main worktree: `core.worktree` (a submodule has it), or where `.git` stands, or, with a
/// separate git directory, the worktree that we are in if it is the main one.
fn root_of_main(
    in_common: &Git,
    common_dir: &Utf8Path,
    worktree: Option<String>,
    toplevel: Option<&Utf8Path>,
) -> Result<Utf8PathBuf, Error> {
    if let Some(worktree) = worktree {
        return Ok(files::canonical(&common_dir.join(worktree))?);
    }
    if common_dir.file_name() == Some(".git")
        && let Some(parent) = common_dir.parent()
    {
        return Ok(parent.to_owned());
    }
    match toplevel {
        Some(top) if in_common.at(top).absolute_git_dir()? == common_dir => Ok(top.to_owned()),
        Some(_) | None => Ok(common_dir.to_owned()),
    }
}

/// The file of an intent: older than everything that its `add` created.
pub fn intent_file(repository: &Repository, name: &WorktreeName) -> Utf8PathBuf {
    repository.record_dir(name).join("intent.toml")
}

/// The directory of the records in the trash.
pub fn trash_records(repository: &Repository) -> Utf8PathBuf {
    repository.home().common_dir.join("agentwt/trash")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_worktree_in_a_path_is_the_one_we_are_in() {
        let of = |path: &str| {
            let ours = worktree_by_path(Utf8Path::new(path));
            ours.map(|ours| format!("{} {}", ours.root, ours.name))
        };
        assert_eq!(of("/r/.agentwt/worktrees/a/src").as_deref(), Some("/r a"));
        assert_eq!(of("/r/.agentwt/worktrees/a").as_deref(), Some("/r a"));
        assert_eq!(
            of("/r/.agentwt/worktrees/a/.agentwt/worktrees/b").as_deref(),
            Some("/r a")
        );
        assert_eq!(of("/r/.agentwt/worktrees"), None);
        assert_eq!(of("/r/src"), None);
    }
}
