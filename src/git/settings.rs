//! Lists the environment and the settings under which git is started.
//!
//! Source: `git rev-parse --local-env-vars` (git 2.55), git(1) "Environment Variables", and
//! git-config(1) for what changes the answers of git's own reading commands.

/// Variables that point git at another repository, index or object store, or change how a
/// pathspec reads: never inherited, so that a call from inside a hook means what it says.
pub const LOCAL_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DEFAULT_HASH",
    "GIT_DIR",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Variables with which `git -c` hands settings on: the user's own in the calls that make
/// something, and not believed in those that verify. (`GIT_CONFIG_KEY_<n>` means nothing alone.)
pub const CONFIG_VARIABLES: &[&str] = &["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"];

/// Settings for every call that makes something: what a worktree could have planted in the shared
/// configuration to be run does not run, and submodules are left alone.
pub const ALWAYS: &[&str] = &["core.fsmonitor=false", "submodule.recurse=false"];

/// Settings for every call that reads on behalf of verification: no code that a worktree could
/// have planted runs, and nothing hides a change or rewrites history.
pub const HARDENED: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.ignoreStat=false",
    "core.fileMode=true",
    "core.commitGraph=false",
    "core.quotePath=false",
    "diff.ignoreSubmodules=none",
    "submodule.recurse=false",
];

/// Variables of every call that reads on behalf of verification. A replace ref or a graft is a
/// lie about history, and only a shallow clone needs its shallow file.
pub const HARDENED_VARIABLES: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/nonexistent"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Who saves work where the user has no identity configured.
pub const OWN_IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "git-agentwt"),
    ("GIT_AUTHOR_EMAIL", "git-agentwt@localhost"),
    ("GIT_COMMITTER_NAME", "git-agentwt"),
    ("GIT_COMMITTER_EMAIL", "git-agentwt@localhost"),
];
