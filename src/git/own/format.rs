//! Reads what a repository says of its own format (gitrepository-layout(5), git's `setup.c`).

use camino::{Utf8Path, Utf8PathBuf};

use super::config::{boolean, file_entries, text};
use super::places;
use super::syntax::Entry;
use crate::git::objects::ObjectFormat;

/// Holds what git finds out of a repository before it does anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// The hash function.
    pub objects: ObjectFormat,
    /// Whether it says to be bare or not (`core.bare`).
    pub bare: Option<bool>,
    /// Its work tree where it is not the usual one (`core.worktree`).
    pub work_tree: Option<Utf8PathBuf>,
    /// Whether worktrees have settings of their own (`extensions.worktreeConfig`).
    pub worktree_config: bool,
}

impl Format {
    /// Reads the format; none where it is not one that is read here: files for refs, no extension
    /// that nobody here knows, nothing that git would stop at.
    pub fn read(git_dir: &Utf8Path, common_dir: &Utf8Path) -> Option<Self> {
        let mut found = common(&file_entries(&common_dir.join("config"))?)?;
        if !found.worktree_config {
            return Some(found);
        }
        // git lets what the common file says of these hold for a linked worktree then, which
        // nobody means (git-worktree(1), "CONFIGURATION FILE")
        let is_linked = git_dir != common_dir;
        if is_linked && (found.bare == Some(true) || found.work_tree.is_some()) {
            return None;
        }
        for Entry { key, value } in file_entries(&git_dir.join("config.worktree"))? {
            match key.as_str() {
                "core.bare" | "core.worktree" if is_linked => return None,
                "core.bare" => found.bare = Some(boolean(value.as_ref())?),
                "core.worktree" => found.work_tree = Some(text(Some(&value?))?.into()),
                _ => {}
            }
        }
        Some(found)
    }

    /// Whether the work tree that it names can be gone to, or it names none.
    pub fn work_tree_is_there(&self, git_dir: &Utf8Path) -> bool {
        let there = |tree: &Utf8PathBuf| places::may_execute(&git_dir.join(tree));
        self.work_tree.as_ref().is_none_or(there)
    }
}

/// What the common file says. Git looks at each line of it, not only at the last of a key.
fn common(settings: &[Entry]) -> Option<Format> {
    let mut version = "0".to_owned();
    let mut needs_version_1 = false;
    let mut found = Format {
        objects: ObjectFormat::Sha1,
        bare: None,
        work_tree: None,
        worktree_config: false,
    };
    for Entry { key, value } in settings {
        let value = value.as_ref();
        match key.as_str() {
            "core.repositoryformatversion" => version = text(Some(value?))?,
            "core.bare" => found.bare = Some(boolean(value)?),
            "core.worktree" => found.work_tree = Some(text(Some(value?))?.into()),
            "extensions.worktreeconfig" => found.worktree_config = boolean(value)?,
            "extensions.preciousobjects" => drop(boolean(value)?),
            "extensions.partialclone" => drop(text(Some(value?))?),
            "extensions.noop" => {}
            "extensions.objectformat" => {
                needs_version_1 = true;
                found.objects = ObjectFormat::parse(&text(Some(value?))?)?;
            }
            "extensions.relativeworktrees" => {
                needs_version_1 = true;
                boolean(value)?;
            }
            key if key.starts_with("extensions.") => return None,
            _ => {}
        }
    }
    match (version.as_str(), needs_version_1) {
        ("0", false) | ("1", _) => Some(found),
        _ => None,
    }
}
