//! Finds the repository and what is fixed about it: [`Repository`].

use camino::{Utf8Path, Utf8PathBuf};

use super::error::FactsError;
use crate::disk::files;
use crate::git::objects::{ObjectFormat, Objects};
use crate::git::worktree::WorktreeEntry;
use crate::git::{Git, GitError, SharedRunner, Trace};
use crate::name::WorktreeName;
use crate::scope::Case;

/// Where worktrees are made, below the root.
pub const WORKTREES: &str = ".agentwt/worktrees";
/// The config, below the root.
pub const CONFIG: &str = ".agentwt/config.toml";

/// Says what the repository's own checkout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Main {
    /// There is a main worktree, at the root.
    Worktree,
    /// The repository is bare: it has linked worktrees only.
    Bare,
}

/// Represents the repository that a command works on, found once.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Git, in the main worktree, or for a bare repository in its directory.
    pub git: Git,
    /// The common git directory.
    pub common_dir: Utf8PathBuf,
    /// The directory that holds `.agentwt`: the main worktree; for a bare repository its
    /// directory, or the one above if it is hidden (`project/.bare`).
    pub root: Utf8PathBuf,
    /// Whether there is a main worktree.
    pub main: Main,
    /// The hash function.
    pub format: ObjectFormat,
    /// Where the command was started.
    pub start: Utf8PathBuf,
    /// The root of the worktree that it was started in, as git finds it.
    pub toplevel: Option<Utf8PathBuf>,
    /// The worktrees of ours that the path says we are in.
    pub inside: Option<WorktreeName>,
}

impl Repository {
    /// Finds the repository of a directory. Inside `.agentwt/worktrees/<name>` it is the one
    /// around that, whatever the worktree's `.git` says: the agent can redirect or remove it.
    /// A separate repository deeper inside is its own.
    ///
    /// # Errors
    /// Fails when there is none, git refuses it, or a path is not UTF-8.
    pub fn find(start: &Utf8Path, runner: SharedRunner, trace: Trace) -> Result<Self, FactsError> {
        let start = files::canonical(start)?;
        let git = Git::find_with(&start, runner)?.with_trace(trace);
        let mut layout = git.layout();
        let mut inside = None;
        if let Some((root, name)) = claimed(&start) {
            let worktree = root.join(WORKTREES).join(name.as_str());
            let nested = |top: &Utf8Path| top.starts_with(&worktree) && top != worktree;
            let toplevel = layout
                .as_ref()
                .ok()
                .and_then(|l| l.as_ref()?.toplevel.clone());
            if !toplevel.as_deref().is_some_and(nested) {
                layout = git.at(&root).layout();
                if let Ok(Some(layout)) = &mut layout {
                    layout.toplevel = Some(worktree);
                }
                inside = Some(name);
            }
        }
        let none = || GitError::NoRepository {
            dir: start.to_string(),
        };
        let layout = layout?.ok_or_else(none)?;
        let in_common = git.on(&layout.common_dir, None);
        let main = if in_common.is_bare_repository()? {
            Main::Bare
        } else {
            Main::Worktree
        };
        let root = match main {
            Main::Bare => root_of_bare(&layout.common_dir),
            Main::Worktree => {
                root_of_main(&in_common, &layout.common_dir, layout.toplevel.as_deref())?
            }
        };
        let git = match main {
            Main::Bare => in_common,
            Main::Worktree => git.on(&layout.common_dir, Some(&root)),
        };
        Ok(Self {
            git,
            common_dir: layout.common_dir,
            root,
            main,
            format: layout.format,
            start,
            toplevel: layout.toplevel,
            inside,
        })
    }

    /// How names compare here (`core.ignoreCase`, git-config(1)).
    ///
    /// # Errors
    /// Fails when git does.
    pub fn case(&self) -> Result<Case, FactsError> {
        let insensitive = self.git.config_get_bool("core.ignoreCase")? == Some(true);
        Ok(if insensitive {
            Case::Insensitive
        } else {
            Case::Sensitive
        })
    }

    /// The directory of a worktree of ours.
    #[must_use]
    pub fn worktree_path(&self, name: &WorktreeName) -> Utf8PathBuf {
        self.root.join(WORKTREES).join(name.as_str())
    }

    /// The directory of a worktree's record.
    #[must_use]
    pub fn record_dir(&self, name: &WorktreeName) -> Utf8PathBuf {
        self.records_dir().join(name.as_str())
    }

    /// The directory of all records.
    #[must_use]
    pub fn records_dir(&self) -> Utf8PathBuf {
        self.common_dir.join("agentwt/worktrees")
    }

    /// The lock for steps in which git writes shared files.
    #[must_use]
    pub fn shared_lock(&self) -> Utf8PathBuf {
        self.common_dir.join("agentwt/lock")
    }

    /// The lock of one name.
    #[must_use]
    pub fn name_lock(&self, name: &WorktreeName) -> Utf8PathBuf {
        self.common_dir
            .join("agentwt/locks")
            .join(name.as_str().to_ascii_lowercase())
    }

    /// Opens the object database.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn objects(&self) -> Result<Objects, FactsError> {
        Ok(Objects::open(&self.common_dir, self.format)?)
    }

    /// The worktree of git's that the command was started in, in git's own list.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn worktrees(&self) -> Result<Vec<WorktreeEntry>, FactsError> {
        Ok(self.git.worktree_list()?)
    }
}

/// Splits a path at the first `.agentwt/worktrees/<name>` in it.
fn claimed(path: &Utf8Path) -> Option<(Utf8PathBuf, WorktreeName)> {
    let mut above: Vec<&Utf8Path> = path.ancestors().collect();
    above.reverse();
    above.windows(4).find_map(|window| {
        let [root, agentwt, worktrees, worktree] = window else {
            return None;
        };
        let is_ours =
            agentwt.file_name() == Some(".agentwt") && worktrees.file_name() == Some("worktrees");
        let name = WorktreeName::parse(worktree.file_name()?).ok()?;
        is_ours.then(|| ((*root).to_owned(), name))
    })
}

/// A hidden git directory stands in the project's directory; any other is the project's.
fn root_of_bare(common_dir: &Utf8Path) -> Utf8PathBuf {
    match (common_dir.file_name(), common_dir.parent()) {
        (Some(name), Some(parent)) if name.starts_with('.') => parent.to_owned(),
        (Some(_) | None, _) => common_dir.to_owned(),
    }
}

/// The main worktree: `core.worktree` (a submodule has it), or where `.git` stands, or, with a
/// separate git directory, the worktree that we are in if it is the main one.
fn root_of_main(
    in_common: &Git,
    common_dir: &Utf8Path,
    toplevel: Option<&Utf8Path>,
) -> Result<Utf8PathBuf, FactsError> {
    if let Some(worktree) = in_common.config_get("core.worktree")? {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_worktree_in_a_path_is_the_one_we_are_in() {
        let of =
            |path: &str| claimed(Utf8Path::new(path)).map(|(root, name)| format!("{root} {name}"));
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
