//! Brings the worktree that has the base branch checked out forward, all of it or nothing.
//!
//! Git writes the files. Before that they are written once beside the repository, so that there is
//! room for all of them, and what they replace is kept: a second name for each file, and the index.
//! Where git fails or is killed, that is put back, here or by the next `land`
//! (`docs/decisions/0042-land-half.md`).

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::disk::backup::{Backup, EntryState};
use crate::disk::file_system::free_space;
use crate::disk::files;
use crate::disk::lock::{Holders, Lock};
use crate::disk::remains::remove_dead_locks;
use crate::git::error::GitError;
use crate::git::object_format::ObjectFormat;
use crate::judge::compare::Delta;
use crate::system::processes;
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId};
use crate::words::path::RepoPath;
use crate::words::toml_file::{from_text, to_text};
use crate::worktree::repository::Repository;

/// What file systems and git need beside the files: blocks that are not full, a reflog, a lock.
const SLACK: u64 = 64 * 1024;
/// How many bytes a block has on most file systems.
const BLOCK: u64 = 4096;
/// How many files git is asked for at once, as each is held whole.
const READ_AT_ONCE: usize = 64;
/// The file that says that everything is kept.
const BEGUN: &str = "begun.toml";
/// The file that says that only the branch is to move.
const MOVING: &str = "moving";

/// Holds what is brought forward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// The branch.
    pub into: BranchName,
    /// The worktree that has it checked out.
    pub checkout: Utf8PathBuf,
    /// The commit of both.
    pub before: CommitId,
    /// The commit that they get.
    pub commit: CommitId,
}

/// Represents a worktree that is brought forward, and the directory with what is kept.
pub struct Forward<'a> {
    repository: &'a Repository,
    place: Utf8PathBuf,
    pub begun: Begun,
}

/// Holds a path that both commits do not have alike.
struct Touched {
    path: RepoPath,
    file: std::path::PathBuf,
    old: Option<Entry>,
    new: Option<Entry>,
}

/// Says what became of a worktree that git had begun to write.
#[derive(Debug, PartialEq, Eq)]
pub enum PutBack {
    /// It is as it was, or is at the commit, or its branch went on.
    Done,
    /// It has changes that git did not write: these files.
    Changed(Vec<String>),
    /// Its index has changes that git did not write.
    Staged,
}

impl<'a> Forward<'a> {
    pub fn new(repository: &'a Repository, begun: Begun) -> Self {
        Self {
            place: place(repository, &begun.into),
            repository,
            begun,
        }
    }

    /// Whether git may have begun to write the files of a branch.
    pub fn has_begun(repository: &Repository, into: &BranchName) -> bool {
        files::exists(&place(repository, into).join(BEGUN))
    }

    /// Reads the one that has begun in a branch. The caller holds the lock of the branch.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn read(repository: &'a Repository, into: &BranchName) -> Result<Option<Self>, Error> {
        let place = place(repository, into);
        if !files::exists(&place) {
            return Ok(None);
        }
        let bytes = files::read(&place.join(BEGUN))?.unwrap_or_default();
        let Ok(begun) = from_text(&String::from_utf8_lossy(&bytes)) else {
            // it is written whole before git starts: only the branch was to move, or nothing yet
            end_move(repository, into)?;
            return Ok(None);
        };
        Ok(Some(Self {
            repository,
            place,
            begun,
        }))
    }

    /// Writes all files once, and keeps what they replace.
    ///
    /// # Errors
    /// Fails when git does or the disk is full: then nothing is kept, and nothing has changed.
    pub fn begin(&self) -> Result<(), Error> {
        self.keep_all().inspect_err(|_| drop(self.end()))
    }

    /// Keeps what git will replace, and says at last that everything is kept.
    fn keep_all(&self) -> Result<(), Error> {
        files::create_directories(&self.place.join("kept"))?;
        let touched = self.touched()?;
        self.keep(&touched)?;
        files::write(&self.place.join(BEGUN), to_text(&self.begun).as_bytes())?;
        Ok(())
    }

    /// Looks for room for all files, by writing them; how many bytes are missing.
    ///
    /// # Errors
    /// Fails when git does, or the disk is full.
    pub fn missing_room(&self) -> Result<u64, Error> {
        let needed = self.write_once();
        end(&self.place)?;
        let there = free_space(&self.begun.checkout).unwrap_or(u64::MAX);
        Ok(needed?.saturating_sub(there))
    }

    /// Writes all files beside the repository; returns how many bytes git needs for them.
    fn write_once(&self) -> Result<u64, Error> {
        let new = self.place.join("new");
        let index = self.place.join("new-index");
        files::create_directories(&new)?;
        files::link_or_copy(&self.git_dir()?.join("index"), &index)?;
        let touched = self.touched()?;
        let mut paths = Vec::new();
        for touched in &touched {
            if touched.new.is_some_and(is_file) {
                paths.push(&touched.path);
            }
        }
        let begun = &self.begun;
        let git = self.repository.git.at(&begun.checkout);
        git.write_out(&index, [&begun.before, &begun.commit], &paths, &new)?;
        let mut needed = size(index.as_std_path()) + SLACK;
        for touched in &touched {
            needed += size(&new.as_std_path().join(&touched.file));
        }
        Ok(needed)
    }

    /// Lets git write the files, and move the branch; what git says. If we are killed, git goes on,
    /// and holds the lock of the branch until it ends.
    ///
    /// # Errors
    /// Fails when the lock cannot be handed on.
    pub fn go(&self, lock: &Lock) -> Result<Result<(), GitError>, Error> {
        let git = self.repository.git.at(&self.begun.checkout);
        lock.hold(Holders::WithPrograms)?;
        let merged = git.merge_ff_only(&self.begun.commit);
        lock.hold(Holders::OnlyUs)?;
        Ok(merged)
    }

    /// Puts back what git had begun to write, if the branch did not move.
    ///
    /// # Errors
    /// Fails when git or the disk does: then the next call goes on.
    pub fn put_back(&self) -> Result<PutBack, Error> {
        let begun = &self.begun;
        if !files::is_directory(&begun.checkout) {
            self.end()?;
            return Ok(PutBack::Done);
        }
        let index = self.git_dir()?.join("index");
        remove_dead_locks(&self.locks()?, &self.place.join(BEGUN));
        let git = self.repository.git.at(&begun.checkout);
        let full = begun.into.full_ref();
        let is_here = git.symbolic_ref_head()?.as_ref() == Some(&full);
        if !is_here || git.rev_parse_commit(&full)?.as_ref() != Some(&begun.before) {
            self.end()?;
            return Ok(PutBack::Done);
        }
        let touched = self.touched()?;
        let changed = self.changed(&touched)?;
        if !changed.is_empty() {
            return Ok(PutBack::Changed(changed));
        }
        if !git.index_has(&begun.before)? {
            if !git.index_has(&begun.commit)? {
                return Ok(PutBack::Staged);
            }
            let lock = index.with_extension("lock");
            files::link_or_copy(&self.place.join("index"), &lock)?;
            files::rename(&lock, &index)?;
        }
        let blocked = self.restore(&touched)?;
        if !blocked.is_empty() {
            return Ok(PutBack::Changed(blocked));
        }
        self.end()?;
        Ok(PutBack::Done)
    }

    /// Forgets what is kept.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn end(&self) -> Result<(), Error> {
        files::remove_file(&self.place.join(BEGUN))?;
        end(&self.place)
    }

    fn kept(&self) -> Backup {
        Backup::new(&self.begun.checkout, &self.place.join("kept"))
    }

    fn git_dir(&self) -> Result<Utf8PathBuf, GitError> {
        let git = self.repository.git.at(&self.begun.checkout);
        git.absolute_git_dir()
    }

    /// The paths that the commits do not have alike.
    fn touched(&self) -> Result<Vec<Touched>, Error> {
        let home = self.repository.home();
        let objects = home.git.objects(&home.common_dir, home.format)?;
        let before = objects.commit(&self.begun.before)?.tree;
        let after = objects.commit(&self.begun.commit)?.tree;
        let new_entries: Delta = objects.difference(Some(&before), Some(&after))?;
        let mut old_entries: Delta = objects.difference(Some(&after), Some(&before))?;
        let mut touched = Vec::new();
        for (path, new) in new_entries {
            let old = old_entries.remove(&path).flatten();
            let Ok(file) = path.to_os_path() else {
                continue;
            };
            touched.push(Touched {
                path,
                file,
                old,
                new,
            });
        }
        Ok(touched)
    }

    fn keep(&self, touched: &[Touched]) -> Result<(), Error> {
        files::link_or_copy(&self.git_dir()?.join("index"), &self.place.join("index"))?;
        let kept = self.kept();
        for (number, touched) in touched.iter().enumerate() {
            if touched.old.is_some_and(is_file) {
                kept.keep(number, &touched.file)?;
            }
        }
        Ok(())
    }

    /// Puts back what is kept; the paths at which a directory stands with more in it than git
    /// wrote.
    fn restore(&self, touched: &[Touched]) -> Result<Vec<String>, Error> {
        let kept = self.kept();
        let mut blocked = Vec::new();
        // a file may stand where a directory was
        for path in touched {
            if path.new.is_some_and(is_file) && path.old.is_none() {
                kept.remove(&path.file)?;
            }
        }
        for (number, path) in touched.iter().enumerate() {
            let is_directory = kept.state(number, &path.file)? == EntryState::Directory;
            if is_directory && path.old.is_some_and(is_file) {
                blocked.push(path.path.to_string());
            } else {
                kept.put_back(number, &path.file)?;
            }
        }
        Ok(blocked)
    }

    /// Lists what stands there and is neither what was there before nor what git writes, whole or
    /// cut.
    fn changed(&self, touched: &[Touched]) -> Result<Vec<String>, Error> {
        let kept = self.kept();
        let mut changed = Vec::new();
        let mut files = Vec::new();
        for (number, touched) in touched.iter().enumerate() {
            match kept.state(number, &touched.file)? {
                // what is in a directory is looked at last
                EntryState::Nothing | EntryState::Directory | EntryState::Kept => {}
                EntryState::File => files.push(touched),
                EntryState::Link(text) if touched.has(&text, self.repository.home().format) => {}
                EntryState::Link(_) | EntryState::Other => changed.push(touched.path.to_string()),
            }
        }
        let git = self.repository.git.at(&self.begun.checkout);
        // what git could not ask for by a line has to be compared
        let (askable, mut others): (Vec<&Touched>, Vec<&Touched>) = files
            .into_iter()
            .partition(|touched| !touched.path.as_bstr().contains(&b'\n'));
        let paths: Vec<&RepoPath> = askable.iter().map(|touched| &touched.path).collect();
        let ids = git.hash_files(&paths)?;
        for (touched, id) in askable.into_iter().zip(ids) {
            let sides = [touched.old, touched.new];
            if !sides.iter().flatten().any(|side| side.id == id) {
                others.push(touched);
            }
        }
        for chunk in others.chunks(READ_AT_ONCE) {
            changed.extend(self.not_cut(chunk)?);
        }
        changed.sort();
        Ok(changed)
    }

    /// Lists those where more stands than the beginning of what git writes there.
    fn not_cut(&self, files: &[&Touched]) -> Result<Vec<String>, Error> {
        let mut asked = Vec::new();
        let mut written_by_git = Vec::new();
        let mut changed = Vec::new();
        for file in files {
            match file.new.filter(|new| is_file(*new)) {
                Some(new) => {
                    asked.push((new.id.to_string(), file.path.as_bstr().to_vec()));
                    written_by_git.push(file);
                }
                None => changed.push(file.path.to_string()),
            }
        }
        let git = self.repository.git.at(&self.begun.checkout);
        let contents = git.cat_file_filters(&asked)?;
        let kept = self.kept();
        for (file, content) in written_by_git.into_iter().zip(contents) {
            let there = kept.read(&file.file)?;
            if !content.is_some_and(|content| content.starts_with(&there)) {
                changed.push(file.path.to_string());
            }
        }
        Ok(changed)
    }

    /// The lock files of a git that wrote the worktree and moved the branch, as far as no living
    /// git may hold them: one that waits for the user's editor has written its index.
    fn locks(&self) -> Result<Vec<Utf8PathBuf>, Error> {
        let own = self.git_dir()?;
        let mut locks = locks_of_branch(self.repository, &self.begun.into);
        let names = files::names(&own)?.into_iter().map(|file| own.join(file));
        let is_lock = |file: &Utf8PathBuf| file.extension() == Some("lock");
        let is_of_settings = |file: &Utf8PathBuf| {
            let name = file.file_name().unwrap_or_default();
            name.starts_with("config")
        };
        locks.extend(names.filter(|file| is_lock(file) && !is_of_settings(file)));
        let is_written = |lock: &Utf8PathBuf| files::stat(lock).is_some_and(|stat| stat.size > 0);
        let git_works = || processes::count_named("git", &self.begun.checkout).unwrap_or(0) > 0;
        locks.retain(|lock| !lock.ends_with("index.lock") || !is_written(lock) || !git_works());
        Ok(locks)
    }
}

impl Touched {
    /// Whether one side is a link with this text.
    fn has(&self, text: &[u8], format: ObjectFormat) -> bool {
        let id = format.blob_id(text);
        let mut sides = [self.old, self.new].into_iter().flatten();
        sides.any(|side| side.mode == Mode::Link && side.id == id)
    }
}

/// Says that a branch moves that no worktree has checked out.
///
/// # Errors
/// Fails when the disk refuses.
pub fn begin_move(repository: &Repository, into: &BranchName) -> Result<(), Error> {
    files::write(&place(repository, into).join(MOVING), b"")?;
    Ok(())
}

/// Says that it does not move any more, and removes the locks of a git that was killed meanwhile.
///
/// # Errors
/// Fails when the disk refuses.
pub fn end_move(repository: &Repository, into: &BranchName) -> Result<(), Error> {
    let place = place(repository, into);
    let locks = locks_of_branch(repository, into);
    remove_dead_locks(&locks, &place.join(MOVING));
    end(&place)
}

/// The lock files of a git that moves a branch, among those that all worktrees share.
fn locks_of_branch(repository: &Repository, into: &BranchName) -> Vec<Utf8PathBuf> {
    let common = &repository.home().common_dir;
    let branch = format!("{}.lock", into.full_ref());
    let files = [
        branch.as_str(),
        "packed-refs.lock",
        "reftable/tables.list.lock",
    ];
    files.map(|file| common.join(file)).to_vec()
}

/// The directory for what is kept of the worktree of a branch.
fn place(repository: &Repository, into: &BranchName) -> Utf8PathBuf {
    let lock = repository.branch_lock(into).path;
    let file = lock.file_name().unwrap_or_default();
    let common = &repository.home().common_dir;
    common.join("agentwt/landing").join(file)
}

fn end(place: &Utf8Path) -> Result<(), Error> {
    files::remove_directory(place)?;
    for above in place.ancestors().skip(1).take(2) {
        files::remove_if_empty(above);
    }
    Ok(())
}

/// Whether git writes a file or a link for an entry; for a submodule it does not.
fn is_file(entry: Entry) -> bool {
    entry.mode != Mode::Gitlink
}

/// How many bytes a file takes, in whole blocks; with another one for its directory.
fn size(file: &std::path::Path) -> u64 {
    let size = files::stat(file).map_or(0, |stat| stat.size);
    size.next_multiple_of(BLOCK) + BLOCK
}
