//! Reads the part of the environment that says where git's settings are (git-config(1),
//! "ENVIRONMENT").
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment for what git would read from it"
)]

use camino::{Utf8Path, Utf8PathBuf};

use super::places::{self, Kind};
use crate::git::run::Mode;
use crate::git::settings::CONFIG_VARIABLES;

/// Where a git that stands here was built to look for the settings of the machine: `/etc` for the
/// prefix `/usr`, else below the prefix (`sysconfdir`, git's Makefile).
const BUILT: &[(&str, &str)] = &[
    ("/usr/bin/git", "/etc/gitconfig"),
    ("/usr/lib/git-core/git", "/etc/gitconfig"),
    ("/usr/libexec/git-core/git", "/etc/gitconfig"),
    ("/usr/local/bin/git", "/usr/local/etc/gitconfig"),
    (
        "/usr/local/libexec/git-core/git",
        "/usr/local/etc/gitconfig",
    ),
];

/// Lists the files that hold for every repository, in git's order.
pub(super) struct Files {
    /// That of the machine, none where the user wants none.
    pub system: Option<Utf8PathBuf>,
    /// Those of the user.
    pub global: Vec<Utf8PathBuf>,
}

/// Finds the files; none where it is not certain which they are, or where settings come in the
/// environment itself.
pub(super) fn files(mode: Mode) -> Option<Files> {
    let injected = |name: &&str| std::env::var_os(name).is_some();
    if mode == Mode::User && CONFIG_VARIABLES.iter().any(injected) {
        return None;
    }
    let system = match variable("GIT_CONFIG_NOSYSTEM")?.as_deref() {
        Some("1" | "true" | "yes" | "on") => None,
        None | Some("0" | "false" | "no" | "off") => Some(system()?),
        Some(_) => return None,
    };
    let global = match variable("GIT_CONFIG_GLOBAL")? {
        Some(file) => vec![absolute(file)?],
        None => of_the_user()?,
    };
    Some(Files { system, global })
}

/// The attributes that hold for every repository (gitattributes(5)): a file of that name beside the
/// machine's settings. Some of nothing where the user wants none, none where it is not certain.
pub(in crate::git) fn attributes() -> Option<Vec<Utf8PathBuf>> {
    match variable("GIT_ATTR_NOSYSTEM")?.as_deref() {
        Some("1" | "true" | "yes" | "on") => Some(Vec::new()),
        None | Some("0" | "false" | "no" | "off") => {
            let settings = built_into(&git_on_path()?)?;
            Some(vec![settings.with_file_name("gitattributes")])
        }
        Some(_) => None,
    }
}

/// The user's home, as `~` in a setting means it; none where it is not certain.
pub(super) fn home() -> Option<Utf8PathBuf> {
    absolute(variable("HOME")??)
}

/// Whether git is told to take every file for somebody else's (a variable of git's own tests).
pub(super) fn is_of_others() -> bool {
    std::env::var_os("GIT_TEST_ASSUME_DIFFERENT_OWNER").is_some()
}

#[expect(
    clippy::option_option,
    reason = "not set is an answer, and what is not UTF-8 is none"
)]
fn variable(name: &str) -> Option<Option<String>> {
    let value = std::env::var_os(name);
    value
        .map(|value| value.into_string().ok())
        .map_or(Some(None), |value| value.map(Some))
}

/// A path that means the same whatever directory git is in.
fn absolute(path: String) -> Option<Utf8PathBuf> {
    Some(Utf8PathBuf::from(path)).filter(|path| path.is_absolute())
}

fn of_the_user() -> Option<Vec<Utf8PathBuf>> {
    let home = home()?;
    let config = match variable("XDG_CONFIG_HOME")? {
        Some(directory) if !directory.is_empty() => absolute(directory)?,
        Some(_) | None => home.join(".config"),
    };
    Some(vec![config.join("git/config"), home.join(".gitconfig")])
}

fn system() -> Option<Utf8PathBuf> {
    match variable("GIT_CONFIG_SYSTEM")? {
        Some(file) => absolute(file),
        None => built_into(&git_on_path()?),
    }
}

/// What a git was built with, where its place says so.
fn built_into(git: &Utf8Path) -> Option<Utf8PathBuf> {
    // elsewhere `/usr/bin/git` may start another git
    if !cfg!(target_os = "linux") {
        return None;
    }
    let (_, file) = BUILT.iter().find(|(place, _)| git == *place)?;
    // a script could set anything
    places::is_elf(git).then(|| file.into())
}

/// The git that a start of `git` finds, links followed (execvp(3)).
fn git_on_path() -> Option<Utf8PathBuf> {
    for directory in variable("PATH")??.split(':') {
        let git = absolute(directory.to_owned())?.join("git");
        match places::kind(&git).ok()? {
            Kind::Missing => {}
            Kind::File | Kind::Link if places::may_execute(&git) => {
                return places::canonical(&git);
            }
            Kind::File | Kind::Link | Kind::Directory | Kind::Other => return None,
        }
    }
    None
}
