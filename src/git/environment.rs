//! Lists the environment and the settings under which git is started, and reads what git itself
//! takes from the environment.
//!
//! Source: `git rev-parse --local-env-vars` (git 2.55), git(1) "Environment Variables", and
//! git-config(1) for what changes the answers of git's own reading commands.
#![expect(clippy::disallowed_methods, reason = "says where the user's files are")]

use std::path::Path;

use camino::Utf8PathBuf;

/// Says which of the user's settings a call of git obeys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GitMode {
    /// As the user's own git: for what creates or changes something.
    #[default]
    User,
    /// Under the hardened settings of `environment.rs`: for what verification believes.
    Hardened,
}

impl GitMode {
    /// The settings that count whatever is configured.
    pub(super) const fn settings(self) -> &'static str {
        match self {
            Self::User => ALWAYS,
            Self::Hardened => HARDENED,
        }
    }
}

/// Variables that point git at another repository, worktree, index, object store or refs, or change
/// how a pathspec reads: never inherited, so that a call from inside a hook means what it says. What gix
/// takes from them does not count either (`Source::EnvOverride`).
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

/// Variables of every call that reads on behalf of verification. A replace ref or a graft is a
/// lie about history, and only a shallow clone needs its shallow file.
pub(super) const HARDENED_VARIABLES: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
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

/// Where git looks for the user's ignore rules when `core.excludesFile` is not set
/// (gitignore(5)).
pub fn default_excludes_file() -> Option<Utf8PathBuf> {
    let file = gix::path::env::xdg_config("ignore", &mut |name| {
        std::env::var_os(name).filter(|value| !value.is_empty())
    });
    Utf8PathBuf::from_path_buf(file?).ok()
}
/// What gix may read of the settings and attributes of the machine (`sysconfdir` in git's Makefile).
/// A git with the prefix `/usr` reads those in `/etc`, as gix does, and so may one with the prefix
/// `/usr/local` that has none below it. gix has to ask any other git, once a run.
pub(super) fn permissions() -> gix::open::Permissions {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|directory| directory.join("git"));
    let program = programs.find(|program| program.is_file());
    let program = program.and_then(|program| program.canonicalize().ok());
    let is_known = match program.as_deref().and_then(Path::to_str) {
        Some("/usr/bin/git" | "/usr/lib/git-core/git" | "/usr/libexec/git-core/git") => true,
        Some("/usr/local/bin/git" | "/usr/local/libexec/git-core/git") => {
            let has = |name: &&str| Path::new("/usr/local/etc").join(name).exists();
            !["gitconfig", "gitattributes"].iter().any(has)
        }
        Some(_) | None => false,
    };
    let mut permissions = gix::open::Permissions::all();
    permissions.config.git_binary = !(cfg!(target_os = "linux") && is_known);
    permissions.attributes.git_binary = permissions.config.git_binary;
    permissions
}

/// The settings that `git -c` has handed on (`GIT_CONFIG_PARAMETERS`), each as `key=value`.
///
/// # Errors
/// Says that the variable is not as git writes it.
pub(super) fn parameters(mode: GitMode) -> Result<Vec<String>, &'static str> {
    let odd = "GIT_CONFIG_PARAMETERS is not as git writes it";
    match std::env::var("GIT_CONFIG_PARAMETERS") {
        Ok(text) if mode == GitMode::User => parse_parameters(&text).ok_or(odd),
        Err(std::env::VarError::NotUnicode(_)) if mode == GitMode::User => Err(odd),
        Ok(_) | Err(_) => Ok(Vec::new()),
    }
}

/// Splits words that git has quoted for a shell: `'key'='value'`, or `'key=value'` from an old git.
fn parse_parameters(text: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let mut rest = text.trim();
    while let Some(next) = rest.chars().next() {
        let last = all.last_mut()?;
        match next {
            '\'' => {
                let (inner, after) = rest[1..].split_once('\'')?;
                last.push_str(inner);
                rest = after;
                continue;
            }
            '\\' => last.push(rest.chars().nth(1).filter(|c| "'!".contains(*c))?),
            '=' => last.push('='),
            ' ' => all.push(String::new()),
            _ => return None,
        }
        rest = &rest[if next == '\\' { 2 } else { 1 }..];
    }
    all.retain(|one| !one.is_empty());
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_command_line_are_read_as_git_quotes_them() {
        let parsed = |text: &str| parse_parameters(text).map(|all| all.join("|"));
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
