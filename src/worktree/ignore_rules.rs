//! Makes git ignore what is ours: `.agentwt/worktrees/` in the main worktree, and placed files in
//! each worktree.
//!
//! The first by a line in the common `info/exclude`, and by a `.gitignore` in it that ignores
//! itself. One alone is not enough: a branch can hide the first, and `git clean -ffd` passes over
//! what the second covers. The second by an exclude file of the worktree's own, which its
//! `config.worktree` names as `core.excludesFile` (gitignore(5)): it begins with the rules of the
//! user's own `core.excludesFile`, which it stands for. A `.gitignore` of the branch counts more
//! than both. Verification uses none of it.

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::disk::remains::sweep;
use crate::disk::trash_bin::TRASH;
use crate::git::environment::default_excludes_file;
use crate::git::error::GitError;
use crate::git::process::Git;
use crate::inventory::placed::{Placed, PlacedFile, PlacedKind};
use crate::words::error::Error;
use crate::words::path::{RepoPath, first_of};
use crate::worktree::repository::{Repository, WORKTREES};

/// The rule in `info/exclude` of the common git directory (gitignore(5)).
pub const EXCLUDE_RULE: &str = "/.agentwt/worktrees/";

/// Where the `.gitignore` is, relative to the root of the main worktree. It ignores everything
/// beside and below it, itself too: it works where `info/exclude` is not read or was lost, and is
/// never committed.
pub const WORKTREES_GITIGNORE_PATH: &str = ".agentwt/worktrees/.gitignore";

/// The file, below the worktree's private git directory.
pub const EXCLUDE: &str = "agentwt/exclude";
/// More lines than these would make git slow: then whole directories of ours are excluded.
const MOST_LINES: usize = 1_000;
/// As many placed files are asked of git: one `!` rule rarely shows a single file.
const ASKED: usize = 1_000;

/// Says which of the two rules exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoreRules {
    /// Our line in `info/exclude`.
    pub exclude_rule: bool,
    /// The `.gitignore`.
    pub gitignore: bool,
}

/// A file before and after a change of ours.
#[derive(Debug)]
struct ChangedFile {
    file: Utf8PathBuf,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl ChangedFile {
    /// Reads the file before it changes.
    fn read(file: Utf8PathBuf) -> Result<Self, DiskError> {
        let before = files::read(&file)?;
        Ok(Self {
            file,
            after: before.clone(),
            before,
        })
    }

    /// Restores the file, unless another process has written it since.
    fn undo(self) -> Result<(), DiskError> {
        if self.before == self.after || files::read(&self.file)? != self.after {
            return Ok(());
        }
        match &self.before {
            Some(before) => files::write(&self.file, before),
            None => {
                files::remove_file(&self.file)?;
                remove_empty_above(&self.file);
                Ok(())
            }
        }
    }
}

/// Text whose last line is ended.
fn ended(mut text: Vec<u8>) -> Vec<u8> {
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text
}

/// `info/exclude` in the common git directory.
fn exclude_file(repository: &Repository) -> Utf8PathBuf {
    repository.common_dir.join("info/exclude")
}

/// The `.gitignore` beside the worktrees.
fn gitignore_file(repository: &Repository) -> Utf8PathBuf {
    repository.root.join(WORKTREES_GITIGNORE_PATH)
}

/// Reads which rules exist.
///
/// # Errors
/// Fails when `info/exclude` cannot be read.
pub fn read(repository: &Repository) -> Result<IgnoreRules, DiskError> {
    let bytes = files::read(&exclude_file(repository))?.unwrap_or_default();
    let mut lines = bytes.lines();
    Ok(IgnoreRules {
        exclude_rule: lines.any(|line| line.trim_ascii_end() == EXCLUDE_RULE.as_bytes()),
        gitignore: files::exists(&gitignore_file(repository)),
    })
}

/// A rule that is about to be written.
#[derive(Debug)]
pub struct NewRule {
    /// The file that gets it.
    pub file: Utf8PathBuf,
    /// What the file holds then.
    pub after: Vec<u8>,
}

/// Writes the rules that are missing, one process at a time: no other line is lost, and a temporary
/// file that stands there then is that of a dead process. `announce` is called before each is
/// written.
///
/// # Errors
/// Fails when `announce` does, or the disk refuses.
pub fn ensure(
    repository: &Repository,
    mut announce: impl FnMut(&NewRule) -> Result<(), Error>,
) -> Result<(), Error> {
    let before = read(repository)?;
    if before.exclude_rule && before.gitignore {
        return Ok(());
    }
    let _shared = Lock::wait(&repository.shared_lock())?;
    let exclude = exclude_file(repository);
    let gitignore = gitignore_file(repository);
    for directory in [exclude.parent(), gitignore.parent()].into_iter().flatten() {
        sweep(directory, &[""]);
    }
    // another process may have written them before we had the lock
    let rules = read(repository)?;
    if !rules.exclude_rule {
        append_rule(exclude, EXCLUDE_RULE, &mut announce)?;
    }
    if !rules.gitignore {
        append_rule(gitignore, "*", &mut announce)?;
    }
    Ok(())
}

/// Announces a rule, and writes it as the last line of its file.
fn append_rule(
    file: Utf8PathBuf,
    line: &str,
    mut announce: impl FnMut(&NewRule) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut after = ended(files::read(&file)?.unwrap_or_default());
    after.extend_from_slice(line.as_bytes());
    after.push(b'\n');
    let rule = NewRule { file, after };
    announce(&rule)?;
    files::write(&rule.file, &rule.after).inspect_err(|_| remove_empty_above(&rule.file))?;
    Ok(())
}

/// True if there is a worktree, or something in the trash, which needs the rules.
pub fn is_needed(repository: &Repository) -> bool {
    let names = files::names(&repository.root.join(WORKTREES)).unwrap_or_default();
    names
        .iter()
        .any(|name| name == TRASH || !name.starts_with('.'))
}

/// Removes the two directories above a file that are empty.
fn remove_empty_above(file: &Utf8Path) {
    for directory in file.ancestors().skip(1).take(2) {
        files::remove_if_empty(directory);
    }
}

/// The exclude file that was written, so that it can be taken back.
#[must_use]
pub struct ExcludeFile {
    file: ChangedFile,
    /// Whether the configuration names the file since.
    configured: Option<(Git, Utf8PathBuf)>,
}

/// Writes the exclude file of a worktree anew, with the lines for these placed files, and returns
/// what was changed, so that it can be taken back. `git` is that of the main worktree.
///
/// # Errors
/// Fails when git or the disk does; then everything is as it was.
pub fn write_exclude(
    git: &Git,
    admin_dir: &Utf8Path,
    placed: &Placed,
) -> Result<ExcludeFile, Error> {
    let mut exclude = ExcludeFile {
        file: ChangedFile::read(admin_dir.join(EXCLUDE))?,
        configured: None,
    };
    let is_new = exclude.file.before.is_none();
    let lines = lines_of(placed);
    if lines.is_empty() && is_new {
        return Ok(exclude);
    }
    let mut text = ended(read_users_rules(git)?.unwrap_or_default());
    text.extend_from_slice(b"# placed by git-agentwt\n");
    text.extend(lines);
    if exclude.file.before.as_ref() == Some(&text) {
        return Ok(exclude);
    }
    let file = exclude.file.file.clone();
    if is_new {
        // before the file, so that after a kill no file stands there that git is not told of
        let config = admin_dir.join("config.worktree");
        git.config_file_set(&config, "core.excludesFile", file.as_str())?;
        exclude.configured = Some((git.clone(), config));
    }
    if let Err(error) = files::write(&file, &text) {
        exclude.take_back();
        return Err(error.into());
    }
    exclude.file.after = Some(text);
    Ok(exclude)
}

impl ExcludeFile {
    /// Puts back what was there.
    pub fn take_back(self) {
        if let Some((git, config)) = self.configured {
            let _ = git.config_file_unset(&config, &["--unset-all", "core.excludesFile"]);
        }
        let _ = self.file.undo();
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
pub fn read_users_rules(git: &Git) -> Result<Option<Vec<u8>>, Error> {
    let configured = git.config_get_path("core.excludesFile")?;
    match configured.or_else(default_excludes_file) {
        Some(file) => Ok(files::read(&file)?),
        None => Ok(None),
    }
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
    let shown = asked.iter().filter(|path| !ignored.contains(**path));
    let first = first_of(shown, 1);
    if first.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!(
        "git shows {first} in {worktree} all the same: a `!` rule of a .gitignore counts more \
            than any exclude file, so `git add -A` would take it"
    )))
}

/// A line for each placed file. Where these would be too many, a line for each directory of ours,
/// and for each placed file that is in none.
fn lines_of(placed: &Placed) -> Vec<u8> {
    let mut text = Vec::new();
    let number_of_lines = placed
        .files()
        .iter()
        .filter(|file| !is_directory(file))
        .count();
    if number_of_lines <= MOST_LINES {
        for file in placed.files() {
            if !is_directory(file) {
                push_pattern(&mut text, &file.path);
                text.push(b'\n');
            }
        }
        return text;
    }
    // the last directory that has a line
    let mut directory: Option<&RepoPath> = None;
    for file in placed.files() {
        if directory.is_some_and(|above| file.path.is_below(above.as_bstr())) {
            continue;
        }
        push_pattern(&mut text, &file.path);
        if is_directory(file) {
            directory = Some(&file.path);
            text.push(b'/');
        }
        text.push(b'\n');
    }
    text
}

fn is_directory(file: &PlacedFile) -> bool {
    file.kind == PlacedKind::Directory
}

/// Adds an anchored pattern that matches one path. No pattern can have a newline: there, and for
/// what git strips at the end of a line, it matches any character.
fn push_pattern(text: &mut Vec<u8>, path: &RepoPath) {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::manifest::Stat;
    use crate::inventory::placed::PlacedOrigin;

    fn placed(files: &[(&str, PlacedKind)]) -> Placed {
        let file = |(path, kind): &(&str, PlacedKind)| PlacedFile {
            path: RepoPath::parse(*path).expect("it is normal"),
            origin: PlacedOrigin::Synced,
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
        let text = lines_of(&placed);
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
        assert_eq!(lines_of(&placed(&files)).to_str_lossy(), "/a\n/deep/\n");
    }
}
