//! Says what a file of a git directory is to git (gitrepository-layout(5)); pure.
//!
//! What is not known here is sealed: a new version of git may read it.

use std::collections::BTreeMap;

use crate::record::worktree::{GitDirOwner, Sealed};

/// Says what an entry of a git directory is to git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What git and other tools write in the course of their work.
    Data,
    /// Settings.
    Settings,
    /// Programs that git runs.
    Hooks,
    /// What git is told about files.
    Info,
    /// The git directories of submodules.
    Modules,
    /// The git directories of linked worktrees.
    Worktrees,
    /// How git resolves conflicts that it has seen (git-rerere(1)).
    Resolutions,
    /// The commits at which history ends.
    Shallow,
    /// Where remotes are, beside the settings (`remotes` and `branches`, git-fetch(1)).
    Remotes,
    /// What leads to another directory.
    Link,
    /// What git is not known to read or write.
    Unknown,
}

/// Names that git writes: objects, refs, the index, and what it takes down for itself.
const OF_GIT: &str = "\
objects refs logs packed-refs reftable index description locked \
rebase-merge rebase-apply sequencer lost-found gc.log gc.pid fsmonitor--daemon \
fsmonitor--daemon.ipc git-daemon-export-ok gitweb gitk.cache addp-hunk-edit.diff";

/// Names in which other tools keep what git does not read, and our own.
const OF_TOOLS: &str = "\
agentwt lfs annex svn branchless filter-repo filter-branch stgit patches machete jj sl spice \
gitbutler gk gitg cursor sourcetreeconfig sourcetreeconfig.json tortoisegit.data \
.graphite_repo_config .graphite_cache_persist .graphite_pr_info .DS_Store";

/// How the names of files of git begin or end that it has for a moment, and those of editors.
const BEGINS: [&str; 6] = [
    "index.",
    "sharedindex.",
    "next-index-",
    "tmp_",
    ".tmp-",
    ".graphite_",
];
const ENDS: [&str; 5] = [".lock", ".swp", ".swo", "~", ".new"];

/// Says what an entry is that stands directly in a git directory.
pub fn role_of(name: &str) -> Role {
    match name {
        "config" | "config.worktree" => Role::Settings,
        "hooks" => Role::Hooks,
        "info" => Role::Info,
        "modules" => Role::Modules,
        "worktrees" => Role::Worktrees,
        "rr-cache" => Role::Resolutions,
        "shallow" => Role::Shallow,
        "remotes" | "branches" => Role::Remotes,
        "commondir" | "gitdir" => Role::Link,
        _other if is_data(name) => Role::Data,
        _other => Role::Unknown,
    }
}

/// Whether a git holds a file of this name for moments, to write another one.
pub fn is_lock(name: &str) -> bool {
    name.strip_suffix(".lock").is_some()
}

fn is_data(name: &str) -> bool {
    is_root_ref(name.as_bytes())
        || OF_GIT.split(' ').any(|known| known == name)
        || OF_TOOLS.split(' ').any(|known| known == name)
        || BEGINS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether git looks for a ref of this name in each worktree's own git directory, as for `HEAD`
/// (gitglossary(7), "pseudoref"). Texts that are edited have such names as well.
pub fn is_root_ref(name: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.iter().copied().all(is_letter)
}

/// Whether git itself writes a ref of this name.
pub fn is_of_git(root_ref: &str) -> bool {
    root_ref == "HEAD"
        || root_ref.ends_with("_HEAD")
        || root_ref.starts_with("BISECT_")
        || root_ref.starts_with("NOTES_MERGE_")
        || ["AUTO_MERGE", "MERGE_AUTOSTASH"].contains(&root_ref)
}

/// Holds the git directories that were sealed, by place.
pub type Directories = BTreeMap<String, GitDirOwner>;

/// Splits the place of a file into that of its git directory and the path in there.
pub fn split<'n>(place: &'n str, directories: &Directories) -> Option<(&'n str, &'n str)> {
    let mut slashes = place.rmatch_indices('/').map(|(at, _)| at);
    let slash = slashes.find(|at| directories.contains_key(&place[..*at]))?;
    Some((&place[..slash], &place[slash + 1..]))
}

/// Lists the git directories that were sealed. An older version wrote no list of them.
pub fn directories(sealed: &Sealed) -> Directories {
    if !is_of_older_version(sealed) {
        return sealed.directories.clone();
    }
    let mut all = Directories::new();
    for file in sealed.files.keys() {
        if let Some(directory) = file.strip_suffix("/HEAD") {
            all.insert(directory.to_owned(), GitDirOwner::Worktree);
        }
    }
    for file in sealed.settings.keys() {
        let directory = file.strip_suffix("/config").unwrap_or_default();
        if directory.contains("/modules/") {
            all.insert(directory.to_owned(), GitDirOwner::Submodule);
        }
    }
    all.insert("@git".to_owned(), GitDirOwner::Repository);
    all
}

/// Whether the seal is of a version that looked for files by their names.
pub fn is_of_older_version(sealed: &Sealed) -> bool {
    sealed.directories.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_sealed() {
        for (name, role) in [
            ("config.worktree", Role::Settings),
            ("commondir", Role::Link),
            ("ORIG_HEAD", Role::Data),
            ("COMMIT_EDITMSG", Role::Data),
            ("HEAD.lock", Role::Data),
            ("sharedindex.0123", Role::Data),
            ("lfs", Role::Data),
            ("main", Role::Unknown),
            ("remotes", Role::Remotes),
            ("config.d", Role::Unknown),
        ] {
            assert_eq!(role_of(name), role, "{name}");
        }
    }

    #[test]
    fn a_file_is_in_the_innermost_git_directory() {
        let all = ["@git", "@git/modules/a/b", "@git/worktrees/x"];
        let all = all.map(|one| (one.to_owned(), GitDirOwner::Repository));
        let all = Directories::from(all);
        assert_eq!(split("@git/config", &all), Some(("@git", "config")));
        assert_eq!(
            split("@git/modules/a/b/hooks/x", &all),
            Some(("@git/modules/a/b", "hooks/x"))
        );
        assert_eq!(split("@main/.husky/x", &all), None);
    }
}
