//! Finds git, this program and the manual.

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::git::{Git, GitError, GitVersion, SharedRunner};
use crate::plan::doctor::versions::{GitFound, Manual, Versions};
use crate::process;

/// Looks for them; `start` is any directory.
#[must_use]
pub fn versions(start: &Utf8Path, binary: &Utf8Path, runner: SharedRunner) -> Versions {
    let (git, manual) = std::thread::scope(|scope| {
        let manual = scope.spawn(manual);
        let git = Git::unchecked(start, runner).version();
        (git, super::joined(manual))
    });
    let git = match git {
        Ok(version) => fine(version),
        Err(GitError::TooOld { found }) => too_old(found),
        Err(error) => GitFound::Missing(match error {
            GitError::Missing(error) => error.to_string(),
            other => other.to_string(),
        }),
    };
    let real = |path: &Utf8Path| files::canonical(path).unwrap_or_else(|_| path.to_owned());
    let on_path = process::on_path("git-agentwt").into_iter();
    Versions {
        gits: gits(&git),
        git,
        version: env!("CARGO_PKG_VERSION"),
        binary: real(binary),
        on_path: on_path.map(|path| (path.clone(), real(&path))).collect(),
        manual,
    }
}

fn fine(version: GitVersion) -> GitFound {
    GitFound::Fine {
        version: version.to_string(),
        configured_hooks: version >= GitVersion::CONFIGURED_HOOKS,
        tells_symbolic_refs: version >= GitVersion::TELLS_SYMBOLIC_REFS,
    }
}

fn too_old(version: GitVersion) -> GitFound {
    GitFound::TooOld(version.to_string(), GitVersion::OLDEST.to_string())
}

/// Every git on the search path, each once; only where the first has configured hooks, which
/// another may not know. What is not first is asked for its version.
fn gits(first: &GitFound) -> Vec<(Utf8PathBuf, GitFound)> {
    match first {
        GitFound::Fine {
            configured_hooks: true,
            ..
        } => {}
        GitFound::Fine { .. } | GitFound::TooOld(..) | GitFound::Missing(_) => return Vec::new(),
    }
    let mut seen = Vec::new();
    let mut gits = Vec::new();
    for path in process::on_path("git") {
        let Ok(real) = files::canonical(&path) else {
            continue;
        };
        if seen.contains(&real) {
            continue;
        }
        seen.push(real);
        let found = if gits.is_empty() {
            first.clone()
        } else {
            match Git::version_of(&path) {
                Some(version) if version < GitVersion::OLDEST => too_old(version),
                Some(version) => fine(version),
                None => continue,
            }
        };
        gits.push((path, found));
    }
    gits
}

fn manual() -> Manual {
    match process::shows_page("git-agentwt") {
        Some(true) => Manual::Found,
        Some(false) => Manual::NoPage,
        None => Manual::NoMan,
    }
}
