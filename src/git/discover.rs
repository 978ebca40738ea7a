//! Finds the repository of a directory as git does (`setup_git_directory_gently_1`, git's setup.c).
//!
//! What is usual is found here: a `.git` directory, or a `.git` file that leads to one. Git itself
//! is asked where it may refuse or look closer: a file of another owner, another file system on the
//! way up, `core.worktree`, a directory that is a git directory, and no repository at all.
//! `GIT_CEILING_DIRECTORIES` does not count, as no git that we start inherits it.
#![expect(clippy::disallowed_methods, reason = "looks at .git before all else")]

use std::fs::symlink_metadata;
use std::os::unix::fs::MetadataExt as _;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};
use gix::config::Source;
use gix::config::file::Metadata;

use crate::git::error::GitError;
use crate::git::objects::ObjectFormat;
use crate::git::process::{Git, odd_output, words};
use crate::git::repo::{Repo, read_file, require_file, require_files};

/// Holds where a repository's parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The common git directory, absolute.
    pub common_dir: Utf8PathBuf,
    /// The hash function.
    pub format: ObjectFormat,
    /// The root of the worktree that the directory is in, none in a bare repository or inside a
    /// git directory.
    pub toplevel: Option<Utf8PathBuf>,
}

impl Git {
    /// Finds the repository of this git's directory, none when there is none.
    ///
    /// # Errors
    /// Fails when git refuses the repository (its owner, its format), or a path is not UTF-8.
    pub fn layout(&self) -> Result<Option<Layout>, GitError> {
        if self.named.is_none()
            && let Some((toplevel, git_dir)) = discover(&self.dir)?
        {
            let repo = self.on(&git_dir, None).repo()?;
            if repo.has_usual_work_tree() {
                return Ok(Some(Layout {
                    common_dir: repo.common_dir.clone(),
                    format: repo.format,
                    toplevel: (!repo.is_bare()).then_some(toplevel),
                }));
            }
        }
        self.layout_by_git()
    }

    fn layout_by_git(&self) -> Result<Option<Layout>, GitError> {
        let what = "find the repository";
        let command = "rev-parse --path-format=absolute --show-object-format \
             --is-inside-work-tree --git-common-dir";
        let args = words(command, &[]);
        let text = match self.line(what, &args) {
            Ok(text) => text,
            Err(GitError::Failed { words, .. }) if words.contains("not a git repository") => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        // a path may have several lines
        let lines: Vec<&str> = text.splitn(3, '\n').collect();
        let [format, inside, common_dir] = lines[..] else {
            return Err(odd_output(command, "it has not three lines"));
        };
        let format = format.parse().map(ObjectFormat);
        let format = format.map_err(|_| odd_output(command, "an unknown object format"))?;
        let toplevel = match inside {
            "true" => {
                let args = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
                Some(self.line(what, &args)?)
            }
            _ => None,
        };
        Ok(Some(Layout {
            common_dir: common_dir.into(),
            format,
            toplevel: toplevel.map(Into::into),
        }))
    }

    /// Returns this worktree's private git directory, absolute.
    ///
    /// # Errors
    /// Fails when there is no repository, or git refuses it.
    pub fn absolute_git_dir(&self) -> Result<Utf8PathBuf, GitError> {
        if self.named.is_none()
            && let Some((_, git_dir)) = discover(&self.dir)?
        {
            return Ok(git_dir);
        }
        let what = "find the git directory";
        let found = self.line(what, &["rev-parse", "--absolute-git-dir"]);
        found.map(Into::into)
    }

    /// Returns whether the repository of exactly this common git directory is bare.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn is_bare_repository(&self) -> Result<bool, GitError> {
        Ok(self.repo()?.is_bare())
    }
}

impl Repo {
    /// Whether it has no main worktree (`core.bare`); a linked worktree is never bare.
    pub fn is_bare(&self) -> bool {
        self.git_dir == self.common_dir && self.says_bare()
    }

    fn says_bare(&self) -> bool {
        let local = self.local();
        let config = local.config_snapshot();
        let is_own = |meta: &Metadata| !matches!(meta.source, Source::Git | Source::User);
        let bare = config.plumbing().boolean_filter("core.bare", is_own);
        matches!(bare, Ok(Some(true)))
    }

    /// Whether its work tree is where its `.git` is: it sets no `core.worktree`, and no linked
    /// worktree takes `core.bare` from the common file (git-worktree(1), "CONFIGURATION FILE").
    fn has_usual_work_tree(&self) -> bool {
        let sets = |key: &str| self.settings().iter().any(|one| one.key == key);
        let is_linked = self.git_dir != self.common_dir;
        let odd_bare = is_linked && sets("extensions.worktreeconfig") && self.says_bare();
        !sets("core.worktree") && !odd_bare
    }
}

/// Looks at a directory and at those above; none where git has to be asked.
fn discover(directory: &Utf8Path) -> Result<Option<(Utf8PathBuf, Utf8PathBuf)>, GitError> {
    // a variable of git's own tests
    if std::env::var_os("GIT_TEST_ASSUME_DIFFERENT_OWNER").is_some() {
        return Ok(None);
    }
    let Ok(directory) = directory.canonicalize_utf8() else {
        return Ok(None);
    };
    let us = rustix::process::geteuid().as_raw();
    let look = |path: &Utf8Path| symlink_metadata(path).ok();
    let device = look(&directory).map(|meta| meta.dev());
    for level in directory.ancestors() {
        let entry = level.join(".git");
        require_file(&entry)?;
        // git stops where another file system begins, and takes a bare repository as well
        if look(level).map(|meta| meta.dev()) != device {
            return Ok(None);
        }
        let named = match look(&entry) {
            None if look(&level.join("HEAD")).is_some() => return Ok(None),
            None => continue,
            Some(meta) if meta.is_dir() => Some(entry.clone()),
            Some(_) => read_line(&entry, b"gitdir: "),
        };
        let git_dir = named.and_then(|named| level.join(named).canonicalize_utf8().ok());
        let Some(git_dir) = git_dir else {
            return Ok(None);
        };
        let is_ours = |path: &Utf8Path| look(path).is_some_and(|meta| meta.uid() == us);
        require_files(&git_dir)?;
        // git takes no directory for a repository whose HEAD it cannot read
        let head = std::fs::read(git_dir.join("HEAD")).unwrap_or_default();
        let is_id = head.trim().len() >= 40 && head.trim().iter().all(u8::is_ascii_hexdigit);
        let is_whole = common_dir(&git_dir).is_some_and(|common_dir| {
            common_dir.join("objects").is_dir() && common_dir.join("refs").is_dir()
        });
        let is_usual = [level, &entry, &git_dir].into_iter().all(is_ours)
            && (head.starts_with(b"ref: refs/") || is_id)
            && is_whole;
        return Ok(is_usual.then(|| (level.to_owned(), git_dir)));
    }
    Ok(None)
}

/// The common git directory of a private one: what its `commondir` says (gitrepository-layout(5)).
pub(super) fn common_dir(git_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let file = git_dir.join("commondir");
    if symlink_metadata(&file).is_err() {
        return Some(git_dir.to_owned());
    }
    let named = git_dir.join(read_line(&file, b"")?);
    named.canonicalize_utf8().ok()
}

/// The path that a file of one line consists of, after this word; none where git may read another in it (`\r` and
/// blanks at the end).
pub(super) fn read_line(file: &Utf8Path, word: &[u8]) -> Option<Utf8PathBuf> {
    let bytes = read_file(file).ok()??;
    let path = bytes.strip_prefix(word)?.trim_end_with(|end| end == '\n');
    let path = path.to_str().ok()?;
    let is_odd = |end: char| end.is_whitespace() || end.is_control();
    let is_plain = !path.is_empty() && !path.contains('\0') && !path.ends_with(is_odd);
    is_plain.then(|| path.into())
}
