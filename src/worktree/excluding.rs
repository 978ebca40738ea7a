//! Keeps placed files out of `git status` and `git add` of one worktree: by an exclude file of
//! its own, which its `config.worktree` names as `core.excludesFile` (gitignore(5)).
//!
//! The file begins with the rules of the user's own `core.excludesFile`, which it stands for. A
//! `.gitignore` of the branch counts more than both. Verification uses none of it.

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::DiskError;
use crate::disk::files;
use crate::error::Error;
use crate::git::{Git, GitError};
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedKind};

/// The file, below the worktree's private git directory.
pub const EXCLUDE: &str = "agentwt/exclude";
/// More lines than these would make git slow: then whole directories of ours are excluded.
const MOST_LINES: usize = 1_000;
/// As many placed files are asked of git: one `!` rule rarely shows a single file.
const ASKED: usize = 1_000;

/// Represents the exclude file that was written, so that it can be taken back.
#[must_use]
pub struct ExcludeFile {
    file: Utf8PathBuf,
    before: Option<Vec<u8>>,
    /// Whether the configuration names the file since.
    configured: Option<(Git, Utf8PathBuf)>,
}

/// Excludes all that was placed, and no more what was placed before. `git` is the one of the main
/// worktree.
///
/// # Errors
/// Fails when git or the disk does; then everything is as it was.
pub fn write_exclude(
    git: &Git,
    admin_dir: &Utf8Path,
    placed: &Placed,
) -> Result<ExcludeFile, Error> {
    let file = admin_dir.join(EXCLUDE);
    let before = files::read(&file)?;
    let mut written = ExcludeFile {
        file: file.clone(),
        before,
        configured: None,
    };
    let lines = lines(placed);
    if lines.is_empty() && written.before.is_none() {
        return Ok(written);
    }
    let users: Result<_, Error> = read_users_rules(git);
    let mut text = users?.unwrap_or_default();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(b"# placed by git-agentwt\n");
    text.extend(lines);
    if written.before.as_deref() == Some(text.as_slice()) {
        return Ok(written);
    }
    // the file comes last: where it is, the configuration names it, whatever was killed
    if written.before.is_none() {
        let config = admin_dir.join("config.worktree");
        git.config_file_set(&config, "core.excludesFile", file.as_str())?;
        written.configured = Some((git.clone(), config));
    }
    if let Err(error) = files::write(&file, &text) {
        written.take_back();
        return Err(error.into());
    }
    Ok(written)
}

impl ExcludeFile {
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
    pub const fn changed_config(&self) -> bool {
        self.configured.is_some()
    }
}

/// Reads the user's own rules (`core.excludesFile`, by default `$XDG_CONFIG_HOME/git/ignore`,
/// gitignore(5)); none where there are none. `git` is that of the main worktree: in a clone the
/// setting may name our file.
///
/// # Errors
/// Fails when git does, or the file cannot be read.
pub fn read_users_rules<E>(git: &Git) -> Result<Option<Vec<u8>>, E>
where
    E: From<GitError> + From<DiskError>,
{
    let file = git.config_get_path("core.excludesFile")?;
    let file = file.or_else(Git::default_excludes_file);
    let text = file.map(|file| files::read(&file)).transpose()?;
    Ok(text.flatten())
}

/// Asks git which of the placed files it shows all the same: a `!` rule of a `.gitignore` in the
/// branch counts more than the exclude file (gitignore(5)). The note for the user, if there is
/// one; `git` is that of the worktree.
///
/// # Errors
/// Fails when git does.
pub fn read_shown_note(
    git: &Git,
    worktree: &Utf8Path,
    placed: &[&RepoPath],
) -> Result<Option<String>, GitError> {
    let asked = &placed[..placed.len().min(ASKED)];
    let ignored = git.check_ignore(asked)?;
    let mut shown = asked.iter().filter(|path| !ignored.contains(**path));
    let Some(first) = shown.next() else {
        return Ok(None);
    };
    let others = match shown.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Ok(Some(format!(
        "git shows {first}{others} in {worktree} all the same: a `!` rule of a .gitignore counts more than any exclude file, so `git add -A` would take it"
    )))
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
