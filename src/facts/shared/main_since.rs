//! Tells by stat data which files of the main worktree are not as committed, or that git has to be
//! asked: what is staged, converted, ignored by rules that were changed, or of another kind than
//! what is tracked, is told by git alone.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use super::main_worktree::stamp;
use crate::disk::DiskError;
use crate::disk::below::open_below;
use crate::disk::files::{self as disk, Opened};
use crate::disk::untouched::{Enters, Expected, Knows, Touched, is_stirred, touched};
use crate::entry::{Entry, Mode, ObjectId};
use crate::git::Git;
use crate::git::index::{RawEntry, RawIndex, Stage};
use crate::path::{RepoPath, escape_for_tsv, unescape_tsv};
use crate::worktree::MainFile;
use crate::worktree::WorktreeError;
use crate::worktree::repository::{CONFIG, Repository, WORKTREES};

/// Holds what a look at the main worktree goes by.
pub struct Looked<'a> {
    /// The earliest moment from which on changes count.
    pub since: i64,
    /// What was not as committed at one of the moments, and is compared by itself.
    pub recorded: Vec<&'a [MainFile]>,
    /// Directories that had nothing tracked in them, and were not ignored.
    pub directories: Vec<&'a [String]>,
    /// Whether a file may have other bytes than git stores.
    pub conversions: Conversions,
    /// Whether the executable bit counts.
    pub modes: Modes,
}

/// Says whether files may be converted on their way to the disk (gitattributes(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversions {
    /// They may.
    Possible,
    /// None is.
    None,
}

/// Says whether the executable bit counts (`core.fileMode`, git-config(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// It does.
    Count,
    /// It does not.
    Ignored,
}

/// Lists the files that are not as committed and were not recorded, as
/// [`files`](super::main_worktree::files) does; none where stat data do not tell, and git has to be
/// asked.
///
/// # Errors
/// Fails when something cannot be read.
pub fn files_since(
    repository: &Repository,
    looked: &Looked<'_>,
) -> Result<Option<Vec<MainFile>>, WorktreeError> {
    let file = repository.common_dir.join("index");
    let written = disk::stat(&file).map_or(i64::MIN, |stat| stat.mtime);
    let Some(bytes) = disk::read(&file)? else {
        return Ok(None);
    };
    let Ok(index) = RawIndex::new(bytes, repository.format.length()) else {
        return Ok(None);
    };
    let Some(listed) = Listed::of(&index, written) else {
        return Ok(None);
    };
    // what is staged is told by git alone
    let Some(head) = repository.git.rev_parse_commit("HEAD")? else {
        return Ok(None);
    };
    if repository.objects()?.commit(&head)?.tree != listed.tree {
        return Ok(None);
    }
    let root = &repository.root;
    let mut directories = Vec::new();
    if !listed.sparse.is_empty() {
        // git takes what is there all the same for what it is (git-sparse-checkout(1))
        let found = touched(root, &listed.sparse, looked.since)?;
        if found.files.iter().any(|(_, there)| there.is_some()) {
            return Ok(None);
        }
        directories = found.directories;
    }
    let found = touched(root, &listed.tracked, looked.since)?;
    let recorded = recorded(looked);
    if others_changed(repository, looked)
        || rules_changed(repository, looked, &listed.tracked, &found)?
    {
        return Ok(None);
    }
    let mut odd: BTreeSet<&BStr> = BTreeSet::new();
    for (at, stat) in &found.files {
        let path = listed.tracked[*at].path;
        let is_old = stat.is_some_and(|stat| stat.ctime < looked.since);
        if !(is_old && recorded.contains(path)) {
            odd.insert(path);
        }
    }
    let Some(now) = dirty(repository, looked, &index, &odd)? else {
        return Ok(None);
    };
    directories.extend(found.directories);
    directories.sort_unstable();
    directories.dedup();
    let ours = CONFIG.split('/').next().unwrap_or(CONFIG);
    let known = |path: &BStr| {
        if path == ".git"
            || path == ours
            // what is in there is verified by itself, and may be large
            || path == WORKTREES
            || recorded.contains(path)
        {
            return Knows::Whatever;
        }
        listed.knows(path)
    };
    for directory in &directories {
        let directory = directory.as_ref();
        if is_stirred(root, directory, looked.since, &known, Enters::None)? {
            return Ok(None);
        }
    }
    for directory in looked.directories.iter().flat_map(|all| all.iter()) {
        let directory = unescape_tsv(directory);
        let directory = BStr::new(&directory);
        if is_stirred(root, directory, looked.since, &known, Enters::All)? {
            return Ok(None);
        }
    }
    Ok(Some(now))
}

/// Holds what an index has, as far as a look at the disk goes by it.
struct Listed<'a> {
    /// The tree that it has noted for itself.
    tree: ObjectId,
    /// What git looks at.
    tracked: Vec<Expected<'a>>,
    /// What git takes for absent.
    sparse: Vec<Expected<'a>>,
    /// What git does not look at: submodules, and what it was told to take for unchanged.
    passed_over: BTreeSet<&'a BStr>,
}

impl<'a> Listed<'a> {
    /// Takes an index that was written at a moment; none where it does not tell enough.
    fn of(index: &'a RawIndex, written: i64) -> Option<Self> {
        let mut tracked = Vec::with_capacity(index.len());
        let (mut sparse, mut passed_over) = (Vec::new(), BTreeSet::new());
        let mut is_ordinary = true;
        let extensions = index.each(|entry| {
            is_ordinary &= entry.stage == Stage::Normal;
            if entry.entry.mode == Mode::Gitlink || entry.assume_unchanged {
                passed_over.insert(entry.path);
            } else if entry.skip_worktree {
                sparse.push(expected(&entry));
            } else {
                tracked.push(Expected {
                    // written after the file was looked at, in the same moment (racy-git)
                    tells: entry.stat.mtime < written,
                    ..expected(&entry)
                });
            }
        });
        let tree = index.noted_tree(extensions.ok()?)?;
        is_ordinary.then_some(Self {
            tree,
            tracked,
            sparse,
            passed_over,
        })
    }

    /// What is known of what stands at a path.
    fn knows(&self, path: &BStr) -> Knows {
        if self.passed_over.contains(path) || stands_in(&self.tracked, path) {
            return Knows::Whatever;
        }
        let inside = [path.as_bytes(), b"/"].concat();
        let has = |files: &[Expected<'_>]| {
            let at = files.partition_point(|file| *file.path < *inside.as_slice());
            let next = files.get(at);
            next.is_some_and(|file| file.path.starts_with(&inside))
        };
        let passed_over = || {
            let from = BStr::new(&inside);
            let next = self.passed_over.range(from..).next();
            next.is_some_and(|next| next.starts_with(&inside))
        };
        if has(&self.tracked) || has(&self.sparse) || passed_over() {
            return Knows::Directory;
        }
        Knows::Nothing
    }
}

fn stands_in(files: &[Expected<'_>], path: &BStr) -> bool {
    let at = files.partition_point(|file| file.path < path);
    files.get(at).is_some_and(|file| file.path == path)
}

fn expected<'a>(entry: &RawEntry<'a>) -> Expected<'a> {
    Expected {
        path: entry.path,
        stat: entry.stat,
        tells: true,
    }
}

/// The paths that were recorded.
fn recorded(looked: &Looked<'_>) -> BTreeSet<BString> {
    let files = looked.recorded.iter().flat_map(|files| files.iter());
    files.map(|file| unescape_tsv(&file.path).into()).collect()
}

fn is_rules(path: &BStr) -> bool {
    path == ".gitignore" || path.ends_with(b"/.gitignore")
}

/// Whether what was recorded is such that it alone does not tell how many files changed with it: rules
/// that say what is ignored, and directories, which are repositories, or were files.
fn others_changed(repository: &Repository, looked: &Looked<'_>) -> bool {
    let is_directory = |stamp: &str| stamp.starts_with('4'); // its mode, inode(7)
    let tells = |file: &MainFile| {
        let Ok(path) = RepoPath::parse(unescape_tsv(&file.path)) else {
            return false;
        };
        let now = stamp(repository, &path);
        now == file.stamp
            || !(is_rules(path.as_bstr()) || is_directory(&now) || is_directory(&file.stamp))
    };
    let mut files = looked.recorded.iter().flat_map(|files| files.iter());
    !files.all(tells)
}

/// Whether the rules that say what is ignored (gitignore(5)) may be others than at that moment.
fn rules_changed(
    repository: &Repository,
    looked: &Looked<'_>,
    tracked: &[Expected<'_>],
    found: &Touched,
) -> Result<bool, WorktreeError> {
    if found
        .files
        .iter()
        .any(|(at, _)| is_rules(tracked[*at].path))
    {
        return Ok(true);
    }
    let own = match repository.git.config_get_path("core.excludesFile")? {
        Some(file) => Some(file),
        None => Git::default_excludes_file(),
    };
    let exclude = repository.common_dir.join("info/exclude");
    let is_new = |path: &Utf8Path| disk::stat(path).map(|stat| stat.ctime >= looked.since);
    // it may be a link, to a link
    let leads_to_new =
        |file: &Utf8Path| disk::canonical(file).is_ok_and(|file| is_new(&file) == Some(true));
    let was_changed = |file: &Utf8PathBuf| match is_new(file) {
        Some(is_new_itself) => is_new_itself || leads_to_new(file),
        // it may have been there
        None => file.parent().and_then(is_new) == Some(true),
    };
    // by these it may be another file
    let settings = Git::default_settings_files();
    let mut is_set = settings.iter();
    let is_set_anew = is_set.any(|file| is_new(file) == Some(true) || leads_to_new(file));
    Ok(is_set_anew || own.iter().chain([&exclude]).any(was_changed))
}

/// Which of these files are not what the index says; none where their bytes do not tell, as git
/// may have converted them.
fn dirty(
    repository: &Repository,
    looked: &Looked<'_>,
    index: &RawIndex,
    odd: &BTreeSet<&BStr>,
) -> Result<Option<Vec<MainFile>>, WorktreeError> {
    let mut entries: Vec<RawEntry<'_>> = Vec::new();
    if !odd.is_empty() {
        let taken = index.each(|entry| {
            if odd.contains(entry.path) {
                entries.push(entry);
            }
        });
        if taken.is_err() {
            return Ok(None);
        }
    }
    let mut now = Vec::new();
    for entry in entries {
        let Some(path) = entry.repo_path() else {
            return Ok(None);
        };
        let stamp = stamp(repository, &path);
        if !stamp.is_empty() {
            // also what has the stored bytes is changed where git would convert them
            if looked.conversions == Conversions::Possible {
                return Ok(None);
            }
            match is_as_stored(repository, looked, &path, entry.entry)? {
                Some(true) => continue,
                Some(false) => {}
                None => return Ok(None),
            }
        }
        let path = escape_for_tsv(path.as_bstr());
        now.push(MainFile { path, stamp });
    }
    now.sort();
    Ok(Some(now))
}

/// None where another kind of thing stands there, which git may take for the same
/// (`core.symlinks`) or for more than one change.
fn is_as_stored(
    repository: &Repository,
    looked: &Looked<'_>,
    path: &RepoPath,
    stored: Entry,
) -> Result<Option<bool>, WorktreeError> {
    let failed = |error| DiskError::new(format!("read {path} in the main worktree"), error);
    let format = repository.format;
    let opened = open_below(&repository.root, path).map_err(failed)?;
    let now = match opened {
        Opened::File {
            size,
            executable,
            mut content,
        } => {
            let id = format.hash_blob(size, &mut content).map_err(failed)?;
            let mode = match (looked.modes, executable) {
                (Modes::Count, true) => Mode::Executable,
                (Modes::Ignored, _) if stored.mode.is_regular() => stored.mode,
                (Modes::Count, false) | (Modes::Ignored, _) => Mode::File,
            };
            Entry { mode, id }
        }
        Opened::Link(text) => {
            let id = format.hash_blob(text.len() as u64, &mut text.as_slice());
            let (mode, id) = (Mode::Link, id.map_err(failed)?);
            Entry { mode, id }
        }
        Opened::Other => return Ok(None),
    };
    let is_one_kind = now.mode.is_regular() == stored.mode.is_regular();
    Ok(is_one_kind.then_some(now == stored))
}
