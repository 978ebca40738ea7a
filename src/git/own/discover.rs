//! Finds the repository of a directory as git does (git(1), `GIT_CEILING_DIRECTORIES` aside: no
//! git that we start is given one).
//!
//! It is `setup_git_directory_gently_1` of git's `setup.c` for the cases that every day has: a
//! `.git` directory, and a `.git` file that leads to the private directory of a linked worktree or
//! to a git directory elsewhere. Git is asked where it might refuse, or where it takes a closer
//! look: a file of another owner, a file system that ends on the way up, `core.worktree`, a
//! directory that is a git directory itself, and where there is no repository at all.

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use super::format::Format;
use super::places::{self, Kind};
use super::{Reading, common_dir, files, surroundings};
use crate::git::run::Git;
use crate::git::worktree::Layout;

/// Holds where git finds a repository.
pub(in crate::git) struct Discovered {
    /// The private git directory, without links in it.
    pub git_dir: Utf8PathBuf,
    /// The common git directory, without links in it.
    common_dir: Utf8PathBuf,
    /// The directory that has the `.git`, none where the repository is bare.
    toplevel: Option<Utf8PathBuf>,
    format: Format,
}

impl Git {
    /// What git finds from its directory, if it looks for a repository and is sure to find this.
    pub(in crate::git) fn discovered(&self) -> Option<Discovered> {
        if self.named_git_dir().is_some() || self.reading() == Reading::Git {
            return None;
        }
        from(self.dir())
    }

    /// The layout of what it finds.
    pub(in crate::git) fn own_layout(&self) -> Option<Layout> {
        let found = self.discovered()?;
        let shallow = match places::kind(&found.common_dir.join("shallow")).ok()? {
            Kind::Missing => false,
            Kind::File => true,
            Kind::Directory | Kind::Link | Kind::Other => return None,
        };
        Some(Layout {
            common_dir: found.common_dir,
            format: found.format.objects,
            toplevel: found.toplevel,
            shallow,
        })
    }

    /// Whether the repository of exactly this git directory, which is the common one, is bare.
    pub(in crate::git) fn own_is_bare(&self) -> Option<bool> {
        let own = self.own()?;
        if own.git_dir != own.common_dir || self.dir() != own.git_dir {
            return None;
        }
        let format = own.format;
        format
            .work_tree
            .is_none()
            .then_some(format.bare == Some(true))
    }
}

/// Looks at a directory and at those above.
fn from(directory: &Utf8Path) -> Option<Discovered> {
    if surroundings::is_of_others() {
        return None;
    }
    let directory = places::canonical(directory)?;
    let device = places::device(&directory);
    for level in directory.ancestors() {
        // git stops where another file system begins
        if device.is_none() || places::device(level) != device {
            return None;
        }
        let entry = level.join(".git");
        match places::kind(&entry).ok()? {
            Kind::Missing => {}
            Kind::Directory => return in_directory(level, entry),
            Kind::File => return by_file(level, &entry),
            Kind::Link | Kind::Other => return None,
        }
        if places::kind(&level.join("HEAD")).ok()? != Kind::Missing {
            return None;
        }
    }
    None
}

/// A `.git` that is a directory.
fn in_directory(level: &Utf8Path, git_dir: Utf8PathBuf) -> Option<Discovered> {
    let ours = [level, &git_dir].into_iter().all(places::is_ours);
    if !ours || common_dir_of(&git_dir)? != git_dir {
        return None;
    }
    found(level, git_dir.clone(), git_dir)
}

/// A `.git` that is a file: `gitdir: <path>` (gitrepository-layout(5)).
fn by_file(level: &Utf8Path, entry: &Utf8Path) -> Option<Discovered> {
    let named = path_in(entry, b"gitdir: ")?;
    let git_dir = places::canonical(&level.join(&named))?;
    let ours = [level, entry, &git_dir].into_iter().all(places::is_ours);
    if !ours {
        return None;
    }
    let common_dir = common_dir_of(&git_dir)?;
    if git_dir != common_dir {
        // a worktree that was moved, or one of which only the `.git` was copied
        let back = git_dir.join(path_in(&git_dir.join("gitdir"), b"")?);
        if back.file_name() != Some(".git") || places::canonical(&back)? != entry {
            return None;
        }
    }
    found(level, git_dir, common_dir)
}

fn found(level: &Utf8Path, git_dir: Utf8PathBuf, common_dir: Utf8PathBuf) -> Option<Discovered> {
    let format = Format::read(&git_dir, &common_dir)?;
    if format.work_tree.is_some() && git_dir == common_dir {
        return None;
    }
    // what the common file says of it holds for the main worktree alone
    let is_bare = git_dir == common_dir && format.bare == Some(true);
    Some(Discovered {
        toplevel: (!is_bare).then(|| level.to_owned()),
        git_dir,
        common_dir,
        format,
    })
}

/// The path that a file of one line consists of, after this word.
fn path_in(file: &Utf8Path, word: &[u8]) -> Option<Utf8PathBuf> {
    let bytes = files::read(file).ok()??;
    let path = bytes.strip_prefix(word)?.trim_end_with(|end| end == '\n');
    let plain = !path.is_empty() && !path.contains_str("\n") && !path.ends_with(b"\r");
    let path = path.to_str().ok().filter(|_| plain)?;
    Some(path.into())
}

/// The common git directory of what git takes for a git directory (`is_git_directory`, setup.c);
/// none where it does not.
pub(super) fn common_dir_of(git_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let head = git_dir.join("HEAD");
    // what is a link may be a branch in an old form
    if !matches!(places::kind(&head), Ok(Kind::File)) {
        return None;
    }
    let common_dir = common_dir(git_dir)?;
    let names_commit = |head: &[u8]| {
        let id = head.strip_suffix(b"\n").unwrap_or(head);
        matches!(id.len(), 40 | 64) && id.iter().all(u8::is_ascii_hexdigit)
    };
    let head = files::read(&head).ok().flatten().unwrap_or_default();
    let is_one = (head.starts_with(b"ref: refs/") || names_commit(&head))
        && ["objects", "refs"]
            .iter()
            .all(|part| places::may_execute(&common_dir.join(part)));
    is_one.then_some(common_dir)
}
