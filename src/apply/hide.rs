//! Keeps placed files out of `git status` and `git add` of one worktree: by an exclude file of
//! its own, which its `config.worktree` names as `core.excludesFile` (gitignore(5)).
//!
//! The file begins with what the user's own `core.excludesFile` says, as it stands for that. A
//! `.gitignore` of the branch counts more than both. Verification uses none of it.

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::error::Error;
use crate::facts::Repository;
use crate::git::Git;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedKind};
use crate::truth::integrity;
use crate::worktree::{Record, WatchedFile};

/// The file, below the worktree's private git directory.
pub(super) const EXCLUDE: &str = "agentwt/exclude";
/// More lines than these would make git slow: then whole directories of ours are excluded.
const MOST_LINES: usize = 1_000;

/// Holds what was written, so that it can be taken back.
#[must_use]
pub struct Hidden {
    file: Utf8PathBuf,
    before: Option<Vec<u8>>,
    /// Whether the configuration names the file since.
    configured: Option<(Git, Utf8PathBuf)>,
}

/// Excludes all that was placed, and no more what was placed before.
///
/// # Errors
/// Fails when git or the disk does; then everything is as it was.
pub fn hide(
    repository: &Repository,
    admin_dir: &Utf8Path,
    placed: &Placed,
) -> Result<Hidden, Error> {
    hide_with(repository, admin_dir, placed, || users_own(repository))
}

/// As [`hide`], where what [`users_own`] returns is known already.
///
/// # Errors
/// As [`hide`].
pub fn hide_with(
    repository: &Repository,
    admin_dir: &Utf8Path,
    placed: &Placed,
    own: impl FnOnce() -> Result<Option<Vec<u8>>, Error>,
) -> Result<Hidden, Error> {
    let file = admin_dir.join(EXCLUDE);
    let before = files::read(&file)?;
    let mut hidden = Hidden {
        file: file.clone(),
        before,
        configured: None,
    };
    let lines = lines(placed);
    if lines.is_empty() && hidden.before.is_none() {
        return Ok(hidden);
    }
    let mut text = own()?.unwrap_or_default();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(b"# placed by git-agentwt\n");
    text.extend(lines);
    if hidden.before.as_deref() == Some(text.as_slice()) {
        return Ok(hidden);
    }
    // the file comes last: where it is, the configuration names it, whatever was killed
    if hidden.before.is_none() {
        let config = admin_dir.join("config.worktree");
        let git = repository.git.clone();
        git.config_file_set(&config, "core.excludesFile", file.as_str())?;
        hidden.configured = Some((git, config));
    }
    if let Err(error) = files::write(&file, &text) {
        hidden.take_back();
        return Err(error.into());
    }
    Ok(hidden)
}

impl Hidden {
    /// Puts back what was there.
    pub fn take_back(self) {
        if let Some((git, config)) = self.configured {
            let _ = git.config_file_unset(&config, "core.excludesFile");
        }
        let _ = match self.before {
            Some(before) => files::write(&self.file, &before),
            None => files::remove_file(&self.file),
        };
    }

    /// Whether the worktree's configuration is another now.
    #[must_use]
    pub const fn changed_config(&self) -> bool {
        self.configured.is_some()
    }
}

/// Whether `config.worktree` is as it was recorded: only then may its digest be taken anew.
///
/// # Errors
/// Fails when it cannot be read.
pub fn config_is_as_recorded(repository: &Repository, record: &Record) -> Result<bool, Error> {
    let file = WatchedFile::ConfigWorktree;
    let (common_dir, admin_dir) = (&repository.common_dir, &record.admin_dir);
    let now = integrity::fingerprint(file, common_dir, admin_dir, repository.format)?;
    Ok(record.integrity.contains(&now))
}

/// What the user's own file says (`core.excludesFile`, gitignore(5)); none where there is none.
///
/// # Errors
/// Fails when git does, or it cannot be read.
pub fn users_own(repository: &Repository) -> Result<Option<Vec<u8>>, Error> {
    // the default place is `$XDG_CONFIG_HOME/git/ignore` (gitignore(5))
    // a clone's own setting names our file by then
    let file = match repository.home().git.config_get_path("core.excludesFile")? {
        Some(path) => Some(path),
        None => Git::default_excludes_file(),
    };
    let text = file.map(|file| files::read(&file)).transpose()?;
    Ok(text.flatten())
}

/// A line for each placed file, or, where these would be too many, for each directory of ours.
fn lines(placed: &Placed) -> Vec<u8> {
    let files = placed.files();
    let shown = |kind: PlacedKind| kind != PlacedKind::Directory;
    let few = files.iter().filter(|file| shown(file.kind)).count() <= MOST_LINES;
    let mut text = Vec::new();
    let mut inside: Option<&RepoPath> = None;
    for file in files {
        if inside.is_some_and(|directory| file.path.is_below(directory.as_bstr())) {
            continue;
        }
        match file.kind {
            PlacedKind::Directory if few => {}
            PlacedKind::Directory => {
                inside = Some(&file.path);
                line(&mut text, &file.path);
                text.extend_from_slice(b"/\n");
            }
            PlacedKind::File | PlacedKind::Link => {
                line(&mut text, &file.path);
                text.push(b'\n');
            }
        }
    }
    text
}

/// An anchored pattern that matches one path. No pattern can hold a newline: there, and for what
/// git strips at the end of a line, it matches any character.
fn line(text: &mut Vec<u8>, path: &RepoPath) {
    text.push(b'/');
    for byte in path.as_bstr().bytes() {
        match byte {
            b'\n' | b'\r' => text.push(b'?'),
            b'\\' | b'*' | b'?' | b'[' | b']' | b' ' | b'\t' => {
                text.extend_from_slice(&[b'\\', byte]);
            }
            _ => text.push(byte),
        }
    }
    debug_assert!(!text.is_empty() && !text.ends_with_str("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Stat;
    use crate::placed::{Origin, PlacedFile};

    fn placed(files: &[(&str, PlacedKind)]) -> Placed {
        let file = |(path, kind): &(&str, PlacedKind)| PlacedFile {
            path: RepoPath::parse(*path).expect("it is normal"),
            origin: Origin::Synced,
            kind: *kind,
            digest: None,
            stat: Stat::default(),
            source: None,
        };
        Placed::new(files.iter().map(file).collect(), 0)
    }

    #[test]
    fn every_file_has_a_line_that_matches_it_alone() {
        let placed = placed(&[
            (".env", PlacedKind::File),
            ("d", PlacedKind::Directory),
            ("d/#a*b [c]\\ ", PlacedKind::Link),
            ("d/x\ny", PlacedKind::File),
        ]);
        let text = lines(&placed);
        assert_eq!(
            text.to_str_lossy(),
            "/.env\n/d/#a\\*b\\ \\[c\\]\\\\\\ \n/d/x?y\n"
        );
    }

    #[test]
    fn too_many_files_are_excluded_by_their_directories() {
        let names: Vec<String> = (0..MOST_LINES).map(|n| format!("deep/{n}")).collect();
        let mut files = vec![("a", PlacedKind::File), ("deep", PlacedKind::Directory)];
        files.extend(names.iter().map(|name| (name.as_str(), PlacedKind::File)));
        assert_eq!(lines(&placed(&files)).to_str_lossy(), "/a\n/deep/\n");
    }
}
