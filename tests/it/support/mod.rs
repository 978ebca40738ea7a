//! Gives every test its own world: a home, a configuration, fixed dates, repositories below a
//! temporary directory, and the program as a user starts it.

mod choices;
mod fenced;
mod files;
mod kill;
mod needs;
mod ordinary_user;
mod placed;
mod repo;
mod said;
mod schema;
mod shim;
mod template;

pub use choices::Choices;
pub use fenced::{allow_root, allow_root_words, fenced_task};
pub use files::{bytes_of_id, number, text, wait_for_a_later_time, wait_for_end, wait_until};
pub use kill::{Act, Hit, strace_works};
pub use needs::{installed, needs_root, skipped};
pub use ordinary_user::as_ordinary_user;
pub use placed::Digests;
pub use repo::{TestRepo, chmod, write};
pub use said::Said;
pub use schema::faults_of;
pub use shim::{Shim, calls};

use std::path::{Path, PathBuf};
use std::process::Command;

use git_agentwt::git::version::GitVersion;

/// The program under test: the one that was built with the tests, or what `AGENTWT_TEST_BINARY`
/// names, so that a long run takes one that is optimised.
#[must_use]
pub fn binary() -> PathBuf {
    let named = std::env::var_os("AGENTWT_TEST_BINARY");
    named.map_or_else(|| env!("CARGO_BIN_EXE_git-agentwt").into(), PathBuf::from)
}

/// Whether the tests run as root, whom permissions do not stop.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The bin directories of the oldest and the newest git that is there: between them every way to
/// install hooks is tried, and one in the middle, if it is the one on `PATH`, has all the other
/// tests. `AGENTWT_TEST_GITS` (directories apart by `:`) adds others, and then each is taken.
#[must_use]
pub fn gits() -> Vec<(String, PathBuf)> {
    let named = std::env::var("AGENTWT_TEST_GITS").unwrap_or_default();
    let mut places: Vec<PathBuf> = named
        .split(':')
        .filter(|place| !place.is_empty())
        .map(PathBuf::from)
        .collect();
    // `.ci/newer-git` puts a git with configured hooks into the last
    let newer = concat!(env!("CARGO_MANIFEST_DIR"), "/target/newer-git/bin");
    let usual = ["/usr/local/bin", "/usr/bin", "/opt/homebrew/bin", newer];
    places.extend(usual.into_iter().map(PathBuf::from));
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for place in places {
        let Ok(output) = Command::new(place.join("git")).arg("version").output() else {
            continue;
        };
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && !found.iter().any(|(other, _)| *other == version) {
            found.push((version, place));
        }
    }
    assert!(!found.is_empty(), "there is no git to test with");
    if named.is_empty() {
        found.sort_by_key(|(version, _)| GitVersion::parse(version));
        let between = 1..found.len().max(2) - 1;
        found.drain(between);
    }
    found
}

/// A command with nothing of the tester's own configuration or of a surrounding hook in it.
#[must_use]
pub fn hermetic(program: impl AsRef<std::ffi::OsStr>, home: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).env_clear();
    let path = std::env::var("PATH").unwrap_or_default();
    let ours = binary().parent().map(Path::to_owned).unwrap_or_default();
    command
        .env("PATH", format!("{}:{path}", ours.display()))
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("GIT_SEQUENCE_EDITOR", "true")
        .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100");
    // the second says how podman starts containers
    for way in ["GIT_AGENTWT_WALK", "CONTAINERS_CONF"] {
        command.envs(std::env::var_os(way).map(|value| (way, value)));
    }
    // most places in memory are as good as a disk for what is tested (`in_memory.rs` for the rest);
    // and directories of tests are too young for what a user's `verify` believes of old ones
    if std::env::var_os("GIT_AGENTWT_WALK").is_none() {
        command.env("GIT_AGENTWT_WALK", "names");
    }
    command
}
