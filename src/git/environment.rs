//! Lists the environment and the settings under which git is started, and reads what git itself
//! takes from the environment.
//!
//! Source: `git rev-parse --local-env-vars` (git 2.55), git(1) "Environment Variables", and
//! git-config(1) for what changes the answers of git's own reading commands.
#![expect(clippy::disallowed_methods, reason = "says where the user's files are")]

use std::path::{Path, PathBuf};

use camino::Utf8PathBuf;

/// Which of the user's settings a call of git obeys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GitMode {
    /// As the user's own git: for what creates or changes something.
    #[default]
    User,
    /// Under the hardened settings below: for what verification believes.
    Hardened,
}

impl GitMode {
    /// Returns the settings that count whatever is configured, as `key=value`, split by blanks.
    pub(super) const fn settings(self) -> &'static str {
        match self {
            Self::User => ALWAYS,
            Self::Hardened => HARDENED,
        }
    }
}

/// Variables that point git at another repository, worktree, index, object store or refs, or change
/// how a pathspec reads: never inherited, so that a call from inside a hook means what it says.
/// What gix takes from them does not count either (`Source::EnvOverride`).
pub const LOCAL_VARIABLES: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_ATTR_SOURCE \
     GIT_CEILING_DIRECTORIES GIT_COMMON_DIR GIT_CONFIG \
     GIT_DEFAULT_HASH GIT_DIR GIT_DISCOVERY_ACROSS_FILESYSTEM GIT_EXTERNAL_DIFF \
     GIT_GLOB_PATHSPECS GIT_GRAFT_FILE GIT_ICASE_PATHSPECS GIT_IMPLICIT_WORK_TREE \
     GIT_INDEX_FILE GIT_INDEX_VERSION GIT_INTERNAL_SUPER_PREFIX GIT_LITERAL_PATHSPECS \
     GIT_NAMESPACE GIT_NOGLOB_PATHSPECS GIT_NO_REPLACE_OBJECTS GIT_OBJECT_DIRECTORY GIT_PREFIX \
     GIT_QUARANTINE_PATH GIT_REFERENCE_BACKEND GIT_REFLOG_ACTION GIT_REPLACE_REF_BASE \
     GIT_SHALLOW_FILE GIT_WORK_TREE";

/// Variables with which `git -c` hands settings on: the user's own in the calls that make
/// something, and not believed in those that verify. (`GIT_CONFIG_KEY_<n>` means nothing alone.)
pub(super) const CONFIG_VARIABLES: &str = "GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS";

/// Settings for every call that makes something: what a worktree could have planted in the shared
/// configuration to be run does not run, and submodules are left alone.
pub(super) const ALWAYS: &str = "core.fsmonitor=false submodule.recurse=false";

/// Settings for every call that reads on behalf of verification: no code that a worktree could
/// have planted runs, and nothing hides a change or rewrites history.
pub(super) const HARDENED: &str = "core.hooksPath=/dev/null core.fsmonitor=false \
     core.untrackedCache=false \
     core.trustctime=true core.checkStat=default core.ignoreStat=false core.fileMode=true \
     core.commitGraph=false core.quotePath=false diff.ignoreSubmodules=none \
     submodule.recurse=false";

/// Variables of every call: messages are in English, and who only reads refreshes no index.
pub(super) const ALWAYS_SET: &[(&str, &str)] = &[("LC_MESSAGES", "C"), ("GIT_OPTIONAL_LOCKS", "0")];

/// Variables of every call that reads on behalf of verification. A replace ref or a graft is a
/// lie about history, and only a shallow clone needs its shallow file.
pub(super) const HARDENED_VARIABLES: &[(&str, &str)] = &[
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/nonexistent"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Who saves work where the user has no identity configured.
pub(super) const OWN_IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "git-agentwt"),
    ("GIT_AUTHOR_EMAIL", "git-agentwt@localhost"),
    ("GIT_COMMITTER_NAME", "git-agentwt"),
    ("GIT_COMMITTER_EMAIL", "git-agentwt@localhost"),
];

/// Where programs of a git with the prefix `/usr` are.
const SYSTEM_GITS: [&str; 3] = [
    "/usr/bin/git",
    "/usr/lib/git-core/git",
    "/usr/libexec/git-core/git",
];

/// Where programs of a git with the prefix `/usr/local` are.
const LOCAL_GITS: [&str; 2] = ["/usr/local/bin/git", "/usr/local/libexec/git-core/git"];

/// Returns where git looks for the user's ignore rules when `core.excludesFile` is not set
/// (gitignore(5)).
pub fn default_excludes_file() -> Option<Utf8PathBuf> {
    let file = gix::path::env::xdg_config("ignore", &mut |name| {
        std::env::var_os(name).filter(|value| !value.is_empty())
    });
    Utf8PathBuf::from_path_buf(file?).ok()
}

/// Returns what gix may read of the settings and attributes of the machine (`sysconfdir` in git's
/// Makefile). Only a git that is not known to read those in `/etc`, as gix does, has to be asked
/// for its own, once a run.
pub(super) fn permissions() -> gix::open::Permissions {
    let must_ask_git = !(cfg!(target_os = "linux") && reads_etc());
    let mut permissions = gix::open::Permissions::all();
    permissions.config.git_binary = must_ask_git;
    permissions.attributes.git_binary = must_ask_git;
    permissions
}

/// True if the git on `PATH` is known to read the settings in `/etc`: one with the prefix `/usr`,
/// and one with the prefix `/usr/local` that has none below it.
fn reads_etc() -> bool {
    let Some(program) = git_program() else {
        return false;
    };
    if SYSTEM_GITS.iter().any(|path| program == Path::new(path)) {
        return true;
    }
    if !LOCAL_GITS.iter().any(|path| program == Path::new(path)) {
        return false;
    }
    let etc = Path::new("/usr/local/etc");
    !etc.join("gitconfig").exists() && !etc.join("gitattributes").exists()
}

/// Returns the git on `PATH`, links followed.
fn git_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    for directory in std::env::split_paths(&path) {
        let program = directory.join("git");
        if program.is_file() {
            return program.canonicalize().ok();
        }
    }
    None
}

/// Returns the settings that `git -c` has handed on (`GIT_CONFIG_PARAMETERS`), each as `key=value`.
///
/// # Errors
/// Says that the variable is not as git writes it.
pub(super) fn parameters(mode: GitMode) -> Result<Vec<String>, &'static str> {
    if mode == GitMode::Hardened {
        return Ok(Vec::new());
    }
    let odd = "GIT_CONFIG_PARAMETERS is not as git writes it";
    match std::env::var("GIT_CONFIG_PARAMETERS") {
        Ok(text) => parse_parameters(&text).ok_or(odd),
        Err(std::env::VarError::NotUnicode(_)) => Err(odd),
        Err(std::env::VarError::NotPresent) => Ok(Vec::new()),
    }
}

/// Splits words that git has quoted for a shell: `'key'='value'`, or `'key=value'` from an old git.
/// Of a quote and an exclamation mark in a value, git ends the quotation and writes `\'` and `\!`.
fn parse_parameters(text: &str) -> Option<Vec<String>> {
    let mut settings = Vec::new();
    let mut setting = String::new();
    let mut rest = text.trim().chars();
    while let Some(next) = rest.next() {
        match next {
            '\'' => {
                let (quoted, after) = rest.as_str().split_once('\'')?;
                setting.push_str(quoted);
                rest = after.chars();
            }
            '\\' => match rest.next()? {
                escaped @ ('\'' | '!') => setting.push(escaped),
                _ => return None,
            },
            '=' => setting.push('='),
            ' ' => settings.push(std::mem::take(&mut setting)),
            _ => return None,
        }
    }
    settings.push(setting);
    settings.retain(|pair| !pair.is_empty());
    Some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_command_line_are_read_as_git_quotes_them() {
        let parsed = |text: &str| parse_parameters(text).map(|settings| settings.join("|"));
        for (text, all) in [
            (
                "'core.bare'='true' 'a.b'='c d'",
                Some("core.bare=true|a.b=c d"),
            ),
            ("'user.name=it'\\''s' 'x.y'", Some("user.name=it's|x.y")),
            ("'x.y'='a'\\!'b'", Some("x.y=a!b")),
            ("", Some("")),
            ("core.bare=true", None),
            ("'core.bare", None),
        ] {
            assert_eq!(parsed(text).as_deref(), all, "{text}");
        }
    }
}
