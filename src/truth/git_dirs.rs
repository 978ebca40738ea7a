//! Says what a file of a git directory is to git (gitrepository-layout(5)); pure.
//!
//! What is not known here is sealed: a new version of git may read it.

use std::collections::BTreeMap;

use crate::git::git_dir::ALTERNATES;
use crate::record::worktree::{GitDirOwner, Sealed};

/// Says what an entry of a git directory is to git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What git and other tools write in the course of their work.
    Data,
    /// A directory of data, which a link would take elsewhere.
    DataDirectory,
    /// The object store.
    Objects,
    /// The state of a rebase, or of several picks.
    Operation,
    /// Settings.
    Settings,
    /// Programs that git runs.
    Hooks,
    /// What git reads about files: ignore rules, attributes, sparse patterns.
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

/// Names that git writes: the index, and what it takes down for itself.
const OF_GIT: [&str; 12] = [
    "packed-refs",
    "index",
    "description",
    "locked",
    "lost-found",
    "gc.log",
    "gc.pid",
    "fsmonitor--daemon",
    "fsmonitor--daemon.ipc",
    "git-daemon-export-ok",
    "gitk.cache",
    "addp-hunk-edit.diff",
];

/// Names in which other tools keep what git does not read, and our own.
const OF_TOOLS: [&str; 22] = [
    "agentwt",
    "lfs",
    "annex",
    "svn",
    "branchless",
    "filter-repo",
    "filter-branch",
    "stgit",
    "patches",
    "machete",
    "jj",
    "sl",
    "spice",
    "gitbutler",
    "gk",
    "gitg",
    "cursor",
    "sourcetreeconfig",
    "sourcetreeconfig.json",
    "tortoisegit.data",
    ".graphite_repo_config",
    ".DS_Store",
];

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
        "objects" => Role::Objects,
        "refs" | "logs" | "reftable" => Role::DataDirectory,
        "rebase-merge" | "rebase-apply" | "sequencer" => Role::Operation,
        _other if is_data(name) => Role::Data,
        _other => Role::Unknown,
    }
}

/// True if a git holds a file of this name for moments, to write another one.
pub fn is_lock(name: &str) -> bool {
    name.strip_suffix(".lock").is_some()
}

fn is_data(name: &str) -> bool {
    is_root_ref(name.as_bytes())
        || OF_GIT.contains(&name)
        || OF_TOOLS.contains(&name)
        || is_temporary(name)
}

fn is_temporary(name: &str) -> bool {
    BEGINS.iter().any(|start| name.starts_with(start)) || ENDS.iter().any(|end| name.ends_with(end))
}

/// Says what a directory of data is to git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataDirectory {
    /// `objects`.
    Objects,
    /// `objects/info`.
    ObjectsInfo,
    /// `objects/pack`.
    Packs,
    /// `rebase-merge`, `rebase-apply` and `sequencer`.
    Operation,
    /// A directory of `rr-cache`.
    Resolution,
}

impl DataDirectory {
    /// True if git writes an entry of this name in the course of its work, and what it says is read
    /// elsewhere, or is nothing that a person would be deceived by.
    pub fn has_as_data(self, name: &str) -> bool {
        let is_known = match self {
            Self::Objects => is_known_in_objects(name),
            // what it borrows is sealed by itself
            Self::ObjectsInfo => {
                ["packs", "commit-graph", "commit-graphs", "alternates"].contains(&name)
            }
            Self::Packs => is_known_in_packs(name),
            Self::Operation => is_progress(name),
            Self::Resolution => name.starts_with("preimage") || name.starts_with("thisimage"),
        };
        is_known || is_temporary(name)
    }
}

fn is_known_in_objects(name: &str) -> bool {
    let is_fan_out = name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_fan_out
        || ["info", "pack"].contains(&name)
        || ["incoming-", "bulk-fsync-"]
            .iter()
            .any(|start| name.starts_with(start))
}

fn is_known_in_packs(name: &str) -> bool {
    const KINDS: [&str; 7] = ["pack", "idx", "rev", "bitmap", "keep", "promisor", "mtimes"];
    let kind = name.rsplit('.').next().unwrap_or(name);
    name.starts_with("multi-pack-index") || KINDS.contains(&kind)
}

/// What git writes at each step of a rebase, and what names the commits and branches of one; the
/// commands that remain are sealed by themselves. The rest is how git goes on: the strategy and its
/// options, with which it starts programs.
const PROGRESS: [&str; 45] = [
    "abort-safety",
    "abort_safety",
    "amend",
    "apply-opt",
    "author-script",
    "autostash",
    "cur",
    "current-fixups",
    "dirtyindex",
    "done",
    "drop_redundant_commits",
    "end",
    "final-commit",
    "git-rebase-todo",
    "git-rebase-todo.backup",
    "head",
    "head-name",
    "info",
    "interactive",
    "keep",
    "keep_redundant_commits",
    "last",
    "message",
    "message-fixup",
    "message-squash",
    "messageid",
    "msg",
    "msgnum",
    "next",
    "onto",
    "orig-head",
    "original-commit",
    "patch",
    "quiet",
    "rebasing",
    "refs-to-delete",
    "rewritten",
    "rewritten-list",
    "rewritten-pending",
    "sign",
    "squash-onto",
    "stopped-sha",
    "todo",
    "update-refs",
    "utf8",
];

/// True if `git am` or a rebase has a patch under this name, in `rebase-apply`.
pub fn is_patch(name: &str) -> bool {
    name.len() == 4 && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_progress(name: &str) -> bool {
    is_patch(name) || PROGRESS.contains(&name) || is_root_ref(name.as_bytes())
}

/// True if git looks for a ref of this name in each worktree's own git directory, as for `HEAD`
/// (gitglossary(7), "pseudoref"). Texts that are edited have such names as well.
pub fn is_root_ref(name: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.iter().copied().all(is_letter)
}

/// True if git itself writes a ref of this name.
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
    let mut slashes = place.rmatch_indices('/').map(|(position, _)| position);
    let slash = slashes.find(|position| directories.contains_key(&place[..*position]))?;
    Some((&place[..slash], &place[slash + 1..]))
}

/// Lists the git directories that were sealed. An older version wrote no list of them.
pub fn directories(sealed: &Sealed) -> Directories {
    if !is_of_older_version(sealed) {
        return sealed.directories.clone();
    }
    let mut directories = Directories::new();
    for file in sealed.files.keys() {
        if let Some(directory) = file.strip_suffix("/HEAD") {
            directories.insert(directory.to_owned(), GitDirOwner::Worktree);
        }
    }
    for file in sealed.settings.keys() {
        let directory = file.strip_suffix("/config").unwrap_or_default();
        if directory.contains("/modules/") {
            directories.insert(directory.to_owned(), GitDirOwner::Submodule);
        }
    }
    directories.insert("@git".to_owned(), GitDirOwner::Repository);
    directories
}

/// True if a seal of entries alone (`SealExtent::Entries`) has a file at a path in a git
/// directory.
pub fn is_sealed_by_entry(state: &str) -> bool {
    let (first, below) = state.split_once('/').unwrap_or((state, ""));
    let is_direct = !below.contains('/');
    match role_of(first) {
        Role::Objects => state == ALTERNATES,
        Role::Operation => is_of_operation(state),
        Role::Resolutions => below.ends_with("/postimage"),
        Role::Info | Role::Remotes => is_direct,
        Role::Modules | Role::Worktrees | Role::DataDirectory => false,
        Role::Data | Role::Settings | Role::Hooks | Role::Shallow | Role::Link | Role::Unknown => {
            true
        }
    }
}

/// What says that an operation is in progress, and at which commits: the next commit has some of
/// them as parents, and the end of the operation takes others up.
pub const OPERATION: [&str; 8] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_START",
    "sequencer/todo",
    "rebase-apply",
    "rebase-apply/autostash",
    "rebase-merge/autostash",
];
/// The stash that git applies to the files after the next commit (git-merge(1), `--autostash`).
pub const AUTOSTASH: &str = "MERGE_AUTOSTASH";
/// What names the commits that the next commit takes up, as parents or with their content.
pub const TAKEN_UP: [&str; 4] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", AUTOSTASH];
/// The file of `rebase -i` with the commands that remain.
pub const TODO: &str = "rebase-merge/git-rebase-todo";

/// True if a file says which operation is in progress in a git directory, or how it ends.
pub fn is_of_operation(state: &str) -> bool {
    OPERATION.contains(&state) || [AUTOSTASH, TODO].contains(&state)
}

/// True if the seal is of a version that looked for files by their names.
pub fn is_of_older_version(sealed: &Sealed) -> bool {
    sealed.directories.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file and directory of gitrepository-layout(5) and of the manuals that it names, and
    /// what is in none of them.
    #[test]
    fn what_is_not_known_is_sealed() {
        for (name, role) in [
            // gitrepository-layout(5)
            ("objects", Role::Objects),
            ("refs", Role::DataDirectory),
            ("packed-refs", Role::Data),
            ("HEAD", Role::Data),
            ("config", Role::Settings),
            ("config.worktree", Role::Settings),
            ("branches", Role::Remotes),
            ("hooks", Role::Hooks),
            ("common", Role::Unknown),
            ("index", Role::Data),
            ("sharedindex.0123", Role::Data),
            ("info", Role::Info),
            ("remotes", Role::Remotes),
            ("logs", Role::DataDirectory),
            ("shallow", Role::Shallow),
            ("commondir", Role::Link),
            ("modules", Role::Modules),
            ("worktrees", Role::Worktrees),
            ("gitdir", Role::Link),
            ("locked", Role::Data),
            ("description", Role::Data),
            // git-rerere(1), git-rebase(1), git-fsck(1), git-gc(1), git-fsmonitor--daemon(1),
            // reftable
            ("rr-cache", Role::Resolutions),
            ("MERGE_RR", Role::Data),
            ("rebase-merge", Role::Operation),
            ("rebase-apply", Role::Operation),
            ("sequencer", Role::Operation),
            ("lost-found", Role::Data),
            ("gc.pid", Role::Data),
            ("fsmonitor--daemon.ipc", Role::Data),
            ("reftable", Role::DataDirectory),
            // names in capitals, locks, and what tools have
            ("ORIG_HEAD", Role::Data),
            ("COMMIT_EDITMSG", Role::Data),
            ("BISECT_LOG", Role::Data),
            ("HEAD.lock", Role::Data),
            ("lfs", Role::Data),
            // what nobody knows
            ("main", Role::Unknown),
            ("config.d", Role::Unknown),
            ("gitweb", Role::Unknown),
            ("object", Role::Unknown),
            ("hooks.d", Role::Unknown),
        ] {
            assert_eq!(role_of(name), role, "{name}");
        }
    }

    #[test]
    fn what_is_not_known_in_a_directory_of_data_is_sealed() {
        use DataDirectory::{Objects, ObjectsInfo, Operation, Packs, Resolution};
        for (directory, name, is_data) in [
            (Objects, "0a", true),
            (Objects, "pack", true),
            (Objects, "info", true),
            (Objects, "tmp_objdir-incoming-xyz", true),
            (Objects, "0a0", false),
            (Objects, "unknown", false),
            (ObjectsInfo, "packs", true),
            (ObjectsInfo, "commit-graphs", true),
            (ObjectsInfo, "http-alternates", false),
            (Packs, "pack-0123.pack", true),
            (Packs, "pack-0123.idx", true),
            (Packs, "pack-0123.mtimes", true),
            (Packs, "multi-pack-index-0123.bitmap", true),
            (Packs, "tmp_pack_x", true),
            (Packs, "unknown", false),
            (Operation, "git-rebase-todo", true),
            (Operation, "0001", true),
            (Operation, "strategy", false),
            (Operation, "strategy_opts", false),
            (Operation, "gpg_sign_opt", false),
            (Operation, "opts", false),
            (Resolution, "preimage", true),
            (Resolution, "thisimage.1", true),
            (Resolution, "postimage", false),
            (Resolution, "postimage.1", false),
        ] {
            assert_eq!(directory.has_as_data(name), is_data, "{directory:?} {name}");
        }
    }

    #[test]
    fn a_seal_of_entries_has_no_more_than_these() {
        for (state, is_sealed) in [
            ("unknown", true),
            ("config", true),
            ("info/exclude", true),
            ("info/a/b", false),
            ("remotes/origin", true),
            ("remotes/a/b", false),
            ("objects/info/alternates", true),
            ("objects/info/http-alternates", false),
            ("rr-cache/0123/postimage", true),
            ("rr-cache/0123/postimage.1", false),
            ("rebase-merge/git-rebase-todo", true),
            ("rebase-merge/strategy", false),
            ("sequencer/todo", true),
            ("sequencer/opts", false),
            ("MERGE_HEAD", true),
            ("modules/x", false),
            ("refs", false),
        ] {
            assert_eq!(is_sealed_by_entry(state), is_sealed, "{state}");
        }
    }

    #[test]
    fn a_file_is_in_the_innermost_git_directory() {
        let places = ["@git", "@git/modules/a/b", "@git/worktrees/x"];
        let directories =
            Directories::from(places.map(|place| (place.to_owned(), GitDirOwner::Repository)));
        assert_eq!(split("@git/config", &directories), Some(("@git", "config")));
        assert_eq!(
            split("@git/modules/a/b/hooks/x", &directories),
            Some(("@git/modules/a/b", "hooks/x"))
        );
        assert_eq!(split("@main/.husky/x", &directories), None);
    }
}
