//! Gives a command in a fence a git directory of its own: [`PrivateGit`].
//!
//! The git directory of a worktree has files beside its index that run code at the next `git status` of
//! the user (`config.worktree`, `commondir`), so a fenced command must not write there. It works on a
//! *private git directory* in the record: a whole repository with its own HEAD, index, refs and
//! settings, whose objects are those of the common repository, read only, and its own. After the
//! command, its commits are fetched from there; no git is ever run on its settings
//! (`docs/decisions/0039-private-git-directory.md`).
//!
//! ```text
//! <record>/private/git       the git directory; removed after a run that left nothing in it
//! <record>/private/dotgit    the `.git` file of the worktree inside of the fence
//! <record>/private/snapshot  the refs that the run began with, as packed-refs
//! <record>/private/began     the commit of the branch at the beginning of the run, or since its import
//! <record>/private/index     the index of the worktree at the beginning of the run, or since its import
//! <record>/private/index.*   copies of an index: one that is being moved to other commits, one to be put back
//! <record>/private/withheld  there if the git directory was made without the excluded objects
//! <record>/damaged<n>        a git directory that a run left and that cannot be read
//! ```
//!
//! The command can replace each entry of the git directory by a link or a pipe, but not the directory itself.
//! So pipes, and links that lead out of the git directory, are removed after the command.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::FileType;
use std::path::Path;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::disk::writable::make_writable;
use crate::git::environment::GitMode;
use crate::git::object_format::ObjectFormat;
use crate::git::reflog::parse_reflog_file;
use crate::git::refs::{Ref, is_ref_name};
use crate::git::settings_file::{in_quotes, quoted_setting};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::find_operation;
use crate::worktree::repository::Repository;

/// The directory in the record.
const PRIVATE: &str = "private";
/// A git directory that is not whole: it is being written or removed.
const NEW: &str = "git.new";
/// How long git may take to list the refs of a run.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many of the newest entries of a log are looked at.
const MOST: usize = 1000;
/// The file that says what was there at the beginning of the run.
const BEGAN: &str = "began";
/// The file that says that the excluded objects were left out.
const WITHHELD_MARK: &str = "withheld";
/// The files and directories without which git reads no ref or no object.
const NAMES: &str =
    "HEAD index packed-refs objects objects/info objects/pack refs refs/heads refs/tags";
/// What a damaged git directory is called, before its number.
const DAMAGED: &str = "damaged";
/// The sections of settings that git needs for work in a worktree, without those that name files of
/// another git directory or start a program in the background.
const SECTIONS: &str = "core remote branch user author committer filter diff merge pull push rebase \
     lfs i18n alias commit fetch rerere url";
const NOT_TAKEN: &str = "core.bare core.worktree core.repositoryformatversion core.hookspath \
     core.fsmonitor core.splitindex core.untrackedcache";
/// The remote of a repository without the objects of excluded files: git takes what is missing for what this
/// remote has (partial clones, git-rev-list(1) `--missing`), and finds no repository there.
const WITHHELD_REMOTE: &str = "withheld";
const WITHHELD: &str = "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = withheld\n\
    [remote \"withheld\"]\n\turl = /nonexistent\n\tpromisor = true\n";
/// Represents the private git directory of the runs of one worktree.
#[derive(Clone, Debug)]
pub struct PrivateGit {
    /// Its directory in the record, which also has what else a run needs.
    pub dir: Utf8PathBuf,
}

/// Holds what a run left.
#[derive(Clone, Debug, Default)]
pub struct RunResult {
    /// The commit of HEAD; none where HEAD cannot be read.
    pub head: Option<CommitId>,
    /// The commit of the worktree's branch.
    pub branch: Option<CommitId>,
    /// Whether HEAD names the worktree's branch.
    pub is_on_branch: bool,
    /// What the refs of the repository named when the run began, without those that runs leave for a time.
    pub began: BTreeSet<CommitId>,
    /// The branches and tags that the run made or moved.
    pub others: Vec<(BString, CommitId)>,
    /// What it stashed.
    pub stashes: Vec<CommitId>,
    /// Where HEAD was, as its reflog tells.
    pub been_on: Vec<CommitId>,
    /// The command of git that is in progress.
    pub operation: Option<&'static str>,
}

impl PrivateGit {
    /// The one of a worktree, whether there or not.
    pub fn new(known: &Worktree) -> Self {
        let dir = known.dir.join(PRIVATE);
        Self { dir }
    }

    /// The git directory.
    pub fn git_dir(&self) -> Utf8PathBuf {
        self.dir.join("git")
    }

    /// The index.
    pub fn index(&self) -> Utf8PathBuf {
        self.git_dir().join("index")
    }

    /// The index of the worktree when the run began, or since its import.
    pub fn begun_index(&self) -> Utf8PathBuf {
        self.dir.join("index")
    }

    /// Whether a run left something: it was killed, or git is in the middle of something.
    pub fn is_there(&self) -> bool {
        files::exists(&self.git_dir())
    }

    /// Writes it for a new run. One that an earlier run left is gone on with, after its import: HEAD, the
    /// index, objects, its own refs and an operation in progress stay; the refs of the repository are written
    /// anew, as the settings were by [`Self::write_mended`].
    /// `imported` holds what that import saw: the commit of the branch (what the user commits since then counts as
    /// done during the run), and whether the user staged something while the run has no commits of its own, so that
    /// the index of the user fits where HEAD is on the branch.
    /// With `withholds`, a new one has neither the objects of excluded files nor any history. A new one takes
    /// its place at the end, so that a kill leaves none or a whole one.
    ///
    /// # Errors
    /// Fails when the repository cannot be read, or the disk not be written.
    pub fn write(
        &self,
        repository: &Repository,
        known: &Worktree,
        binary: &Utf8Path,
        withholds: bool,
        imported: Option<(Option<CommitId>, bool)>,
    ) -> Result<(), Error> {
        for directory in ["tmp", "bin", "rootfs"] {
            files::create_directories(&self.dir.join(directory))?;
        }
        // first in PATH where nothing can be mounted over `.git`
        files::write_link(&self.dir.join("bin/git"), binary)?;
        let branch = known.record.branch.full_ref();
        let whole = self.git_dir();
        let new = self.dir.join(NEW);
        let goes_on = self.is_there();
        let (now, fits) = match imported.filter(|_| goes_on) {
            Some(imported) => imported,
            None => (repository.git.rev_parse_commit(&branch)?, false),
        };
        let mut own = self.read_own_refs()?;
        let git = if goes_on { &whole } else { &new };
        if !goes_on {
            files::remove_directory(&new)?;
            self.write_beginning(git, repository, known, withholds)?;
        }
        let is_withheld = self.is_withheld();
        let below = if is_withheld { &*branch } else { "refs/" };
        let mut refs = repository.git.for_each_ref(&[below])?;
        // a stash has no log there, and the user may have committed by now
        refs.retain(|one| one.name != "refs/stash" && one.name != branch);
        refs.extend(now.iter().map(|now| Ref::new(&*branch, now.clone())));
        let began = self.read_began()?.0;
        let last = if goes_on { &began } else { &now };
        // by the user, and the run has nothing that is not imported
        let is_moved = now != *last;
        let is_busy = goes_on && find_operation(git).is_some();
        let is_taken = is_moved && !is_busy && now.is_some();
        own.retain(|one| !is_taken || one.name != branch);
        if is_withheld && (!goes_on || is_taken) {
            fetch_present(git, repository, known, &refs)?;
        }
        put(&self.dir, "snapshot", &merged(&refs))?;
        // what is in progress is on top of the commit where it began
        let stays = last.as_ref().filter(|_| is_moved && !is_taken);
        let stays = stays.map(|id| Ref::new(&*branch, id.clone()));
        let refs = refs.iter().chain(&stays).chain(&own);
        put(git, "packed-refs", &merged(refs))?;
        let above = git.join(&branch);
        let above = above.parent().unwrap_or(git);
        if let Some(now) = now.as_ref().filter(|_| is_taken)
            // else a branch of the run is in the way (`agentwt`), and the packed one counts
            && files::create_directories(above).is_ok()
        {
            put(git, &branch, format!("{now}\n").as_bytes())?;
            // the log has where a ref was that is lost
            let last = last.as_ref().unwrap_or(now);
            let time = jiff::Timestamp::now().as_second();
            let line = format!("{last} {now} git-agentwt <> {time} +0000\tby the user\n");
            let _ = files::append(&git.join("logs").join(&branch), line.as_bytes());
        }
        let head = || files::read(&git.join("HEAD"));
        let home = format!("ref: {branch}");
        let is_home = |head: Vec<u8>| head.trim_ascii_end() == home.as_bytes();
        let is_due = !is_busy && (is_taken || fits);
        if !goes_on || is_due && head()?.is_some_and(is_home) {
            self.copy_index(git, known)?;
        }
        self.write_began(if is_busy { last } else { &now }.as_ref())?;
        put(&self.dir, "dotgit", format!("gitdir: {whole}\n").as_bytes())?;
        if !goes_on {
            files::rename(&new, &whole)?;
        }
        Ok(())
    }

    /// Makes the git directory after a run one that can be read, without pipes, locks and links that lead out of
    /// it, and writes what is known anew, so that nothing hides what the command made (`transfer.hideRefs`, `commondir`).
    ///
    /// # Errors
    /// Fails when the repository cannot be read, or the disk not be written.
    pub fn write_mended(&self, repository: &Repository, known: &Worktree) -> Result<(), Error> {
        let git = self.git_dir();
        let is_withheld = self.is_withheld();
        // no git of the run is left that would hold a lock
        let is_kept = |path: &Path, kind: FileType| {
            let is_lock = path.extension().is_some_and(|end| end == "lock");
            let leads_inside = || {
                let to = Utf8Path::from_path(path).and_then(|path| files::canonical(path).ok());
                to.is_some_and(|to| to.starts_with(&git))
            };
            !is_lock && (kind.is_file() || kind.is_dir() || kind.is_symlink() && leads_inside())
        };
        make_writable(&git, &is_kept)?;
        self.write_mended_refs(known)?;
        for name in ["commondir", "config.worktree"] {
            clear(&git.join(name))?;
        }
        if !is_withheld {
            clear(&git.join("shallow"))?;
            copy(&repository.common_dir.join("shallow"), &git, "shallow")?;
        }
        write_given(&git, repository, known, is_withheld)
    }

    /// Writes HEAD and the refs anew where they are none, as after a loss of power: the logs of the branch and of the
    /// stash have where these were.
    fn write_mended_refs(&self, known: &Worktree) -> Result<(), Error> {
        let git = self.git_dir();
        let own = known.record.branch.full_ref();
        for name in NAMES.split_whitespace() {
            let is_wanted = name.starts_with("objects") || name.starts_with("refs");
            if files::is_directory(&git.join(name)) != is_wanted {
                clear(&git.join(name))?;
            }
        }
        let is_broken = |name: &str| -> Result<bool, Error> {
            let text = files::read(&git.join(name))?.unwrap_or_default();
            let text = text.to_str_lossy();
            Ok(!text.starts_with("ref: refs/") && CommitId::parse(text.trim_end()).is_err())
        };
        if is_broken("HEAD")? {
            put(&git, "HEAD", format!("ref: {own}\n").as_bytes())?;
        }
        let mut refs = read_packed(&self.dir.join("snapshot"))?;
        let packed = self.read_own_refs()?;
        for name in [&own, "refs/stash"] {
            let file = git.join(name);
            files::remove_if_empty(&file);
            let is_whole = if files::exists(&file) {
                files::is_directory(&file) || !is_broken(name)?
            } else {
                packed.iter().any(|one| one.name == name)
            };
            if is_whole {
                continue;
            }
            let _ = files::remove_file(&file);
            // git removes the log of a ref that was removed or dropped
            let log = read_log(&git.join("logs").join(name));
            refs.extend(log.into_iter().take(1).map(|id| Ref::new(name, id)));
        }
        put(&git, "packed-refs", &merged(refs.iter().chain(&packed)))
    }

    /// Writes what the command alone changes later, and what each run is given.
    fn write_beginning(
        &self,
        git: &Utf8Path,
        repository: &Repository,
        known: &Worktree,
        withholds: bool,
    ) -> Result<(), Error> {
        let record = &known.record;
        let common = &repository.common_dir;
        files::create_directories(&git.join("logs"))?;
        let mark = self.dir.join(WITHHELD_MARK);
        if withholds {
            files::write_beside(&mark, b"")?;
        } else {
            files::remove_file(&mark)?;
        }
        let head = format!("ref: {}\n", record.branch.full_ref());
        put(git, "HEAD", head.as_bytes())?;
        copy(&common.join("shallow"), git, "shallow")?;
        write_given(git, repository, known, withholds)
    }

    /// Keeps the index of the worktree: git writes a new file in the place of the old one, which stays here.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn link_index(&self, known: &Worktree) -> Result<(), Error> {
        let index = known.record.admin_dir.join("index");
        Ok(files::link_or_copy(&index, &self.begun_index())?)
    }

    /// Copies the index of the worktree into the git directory, with the parts of a split one, and keeps it as
    /// [`Self::begun_index`]: last, so that a kill before leaves the one that the next import compares with.
    fn copy_index(&self, git: &Utf8Path, known: &Worktree) -> Result<(), Error> {
        let new = self.dir.join("index.new");
        let admin = &known.record.admin_dir;
        files::link_or_copy(&admin.join("index"), &new)?;
        let parts = files::names(admin)?.into_iter();
        for part in parts.filter(|name| name.starts_with("sharedindex.")) {
            copy(&admin.join(&part), git, &part)?;
        }
        if files::exists(&new) {
            copy(&new, git, "index")?;
            files::copy_time(&new, &git.join("index"))?;
            files::rename(&new, &self.begun_index())?;
        }
        Ok(())
    }

    /// Whether the git directory was made without the excluded objects.
    pub fn is_withheld(&self) -> bool {
        files::exists(&self.dir.join(WITHHELD_MARK))
    }

    /// The refs that an earlier run made or moved itself and packed. (Others than packed ones stay as files.)
    fn read_own_refs(&self) -> Result<Vec<Ref>, Error> {
        let packed = self.git_dir().join("packed-refs");
        let began = read_packed(&self.dir.join("snapshot"))?;
        let began: BTreeSet<_> = began.iter().map(|one| (&one.name, &one.id)).collect();
        let mut own = read_packed(&packed)?;
        own.retain(|one| !began.contains(&(&one.name, &one.id)));
        Ok(own)
    }

    /// The commit of the branch when the run began, or since its import; and when that was, in nanoseconds since the
    /// epoch.
    ///
    /// # Errors
    /// Fails when that cannot be read.
    pub fn read_began(&self) -> Result<(Option<CommitId>, i64), Error> {
        let file = self.dir.join(BEGAN);
        let text = files::read(&file)?.unwrap_or_default();
        let time = files::stat(&file).map_or(0, |stat| stat.mtime);
        Ok((CommitId::parse(&text.to_str_lossy()).ok(), time))
    }

    /// Writes the commit that the branch of the repository and that of the run have.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn write_began(&self, commit: Option<&CommitId>) -> Result<(), Error> {
        let text = commit.map(ToString::to_string).unwrap_or_default();
        put(&self.dir, BEGAN, text.as_bytes())
    }

    /// Reads what a run left, through the server side of a fetch: that is what git documents as safe on a
    /// repository that is not trusted (git-upload-pack(1), "SECURITY").
    ///
    /// # Errors
    /// Fails when git cannot read it.
    pub fn read_result(
        &self,
        repository: &Repository,
        known: &Worktree,
    ) -> Result<RunResult, Error> {
        let git = self.git_dir();
        // git is never waited for without an end
        let limited = repository.git.with_limit(PATIENCE);
        let listed = limited.list_refs_of(git.as_str())?;
        let began = read_packed(&self.dir.join("snapshot"))?;
        let began = began.iter().map(|one| (&one.name, &one.id));
        let began: BTreeSet<(&BString, &CommitId)> = began.collect();
        let own = known.record.branch.full_ref();
        let passing = [incoming_ref(known), run_refs(known)];
        let is_passing = |name: &BString| passing.iter().any(|one| name.starts_with_str(one));
        let lasting = began.iter().filter(|(name, _)| !is_passing(name));
        let mut result = RunResult {
            is_on_branch: listed.head.as_deref() == Some(own.as_str()),
            operation: find_operation(&git),
            began: lasting.map(|(_, id)| (*id).clone()).collect(),
            ..RunResult::default()
        };
        // git lists a ref that it cannot read so
        for (name, id) in listed.refs.iter().filter(|(_, id)| id.is_known()) {
            match name.as_slice() {
                b"HEAD" => result.head = Some(id.clone()),
                own_name if own_name == own.as_bytes() => result.branch = Some(id.clone()),
                other if other.starts_with(b"refs/remotes/") => {}
                _ if began.contains(&(name, id)) => {}
                b"refs/stash" => result.stashes.push(id.clone()),
                _ => result.others.push((name.clone(), id.clone())),
            }
        }
        result.been_on = read_log(&git.join("logs/HEAD"));
        result.been_on.truncate(MOST);
        if !result.stashes.is_empty() {
            // refs/stash is the newest entry only
            let log = read_log(&git.join("logs/refs/stash"));
            result.stashes.extend(log.into_iter().take(MOST).skip(1));
        }
        Ok(result)
    }

    /// Moves a git directory that cannot be read out of the way, and returns where it is now.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn set_apart(&self, known: &Worktree) -> Result<Utf8PathBuf, Error> {
        let mut names = (0..).map(|number| known.dir.join(format!("{DAMAGED}{number}")));
        let kept = names.find(|name| !files::exists(name)).unwrap_or_default();
        files::rename(&self.git_dir(), &kept)?;
        Ok(kept)
    }

    /// Finds the git directories of runs that were moved out of the way.
    ///
    /// # Errors
    /// Fails when the record cannot be listed.
    pub fn find_damaged(known: &Worktree) -> Result<Vec<Utf8PathBuf>, Error> {
        let names = files::names(&known.dir)?.into_iter();
        let damaged = names.filter(|name| name.starts_with(DAMAGED));
        Ok(damaged.map(|name| known.dir.join(name)).collect())
    }

    /// Whether a command made worktrees or submodules of its own.
    pub fn has_repositories(&self) -> bool {
        let names = |name: &str| files::names(&self.git_dir().join(name)).unwrap_or_default();
        !names("worktrees").is_empty() || !names("modules").is_empty()
    }

    /// Removes it, after a run that left nothing in it.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn remove(&self) -> Result<(), Error> {
        // killed in between, there is none
        files::remove_directory(&self.dir.join(NEW))?;
        files::rename(&self.git_dir(), &self.dir.join(NEW))?;
        Ok(files::remove_directory(&self.dir)?)
    }
}

/// Where a ref was, by a reflog that a command could replace by anything; the newest place first.
fn read_log(log: &Utf8Path) -> Vec<CommitId> {
    let bytes = files::read(log).ok().flatten().unwrap_or_default();
    let entries = parse_reflog_file(&bytes).into_iter();
    entries.map(|entry| entry.id).collect()
}

/// The ref of the commits of a run, until the branch is there.
pub fn incoming_ref(known: &Worktree) -> String {
    format!("refs/agentwt/incoming/{}", known.record.name)
}

/// The refs of what else runs made or left, below which each names its object.
pub fn run_refs(known: &Worktree) -> String {
    format!("refs/agentwt/run/{}/", known.record.name)
}

/// Reads the refs of what the runs of a worktree made and its branch does not have.
///
/// # Errors
/// Fails when git does.
pub fn read_run_refs(repository: &Repository, known: &Worktree) -> Result<Vec<Ref>, Error> {
    let incoming = incoming_ref(known);
    let below = run_refs(known);
    let git = repository.git.with_mode(GitMode::Hardened);
    Ok(git.for_each_ref(&[&incoming, &below])?)
}

/// Writes what each run is given anew: the settings, where objects are, and what `info` has.
fn write_given(
    git: &Utf8Path,
    repository: &Repository,
    known: &Worktree,
    is_withheld: bool,
) -> Result<(), Error> {
    let mut settings = settings_of_run(repository, known, is_withheld)?;
    if is_withheld {
        settings.extend_from_slice(WITHHELD.as_bytes());
    }
    put(git, "config", &settings)?;
    for directory in ["objects/info", "refs/heads"] {
        files::create_directories(&git.join(directory))?;
    }
    clear(&git.join("objects/info/alternates"))?;
    if !is_withheld {
        let objects = repository.common_dir.join("objects");
        let objects = objects.as_str().as_bytes();
        // only git itself reads quotes there
        let quoted = objects.contains(&b'\n').then(|| in_quotes(objects));
        let line = quoted.unwrap_or_else(|| objects.into());
        put(git, "objects/info/alternates", &line)?;
    }
    let info = git.join("info");
    clear(&info)?;
    files::create_directories(&info)?;
    let admin = &known.record.admin_dir;
    let common = &repository.common_dir;
    for (from, name) in [
        (admin, "sparse-checkout"),
        (common, "exclude"),
        (common, "attributes"),
    ] {
        copy(&from.join("info").join(name), &info, name)?;
    }
    Ok(())
}

/// Fetches what the scope shows of the commits of these refs.
fn fetch_present(
    git: &Utf8Path,
    repository: &Repository,
    known: &Worktree,
    refs: &[Ref],
) -> Result<(), Error> {
    let patterns = known.record.admin_dir.join("info/sparse-checkout");
    let patterns = files::read(&patterns)?.unwrap_or_default();
    let size = u64::try_from(patterns.len()).unwrap_or(u64::MAX);
    let filter = repository.objects()?.write_blob(size, &mut &patterns[..])?;
    let private = repository.git.on(git, None);
    let common = &repository.common_dir;
    for tip in refs {
        private.fetch_filtered(common, WITHHELD_REMOTE, &filter, &tip.id)?;
    }
    Ok(())
}

/// Writes an entry of a directory in the place of whatever stands there.
fn put(directory: &Utf8Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    Ok(files::write_beside(&place(directory, name)?, bytes)?)
}

/// Copies a file, if it is there.
fn copy(from: &Utf8Path, directory: &Utf8Path, name: &str) -> Result<(), Error> {
    Ok(files::copy_beside(from, &place(directory, name)?)?)
}

/// Where an entry of a directory is written: no directory stands there.
fn place(directory: &Utf8Path, name: &str) -> Result<Utf8PathBuf, Error> {
    let file = directory.join(name);
    if files::is_directory(&file) {
        clear(&file)?;
    }
    Ok(file)
}

/// Removes a directory, or the link that stands in its place.
fn clear(directory: &Utf8Path) -> Result<(), Error> {
    if files::is_link(directory) || !files::is_directory(directory) {
        return Ok(files::remove_file(directory)?);
    }
    Ok(files::remove_directory(directory)?)
}

/// The lines of a packed-refs file (gitrepository-layout(5)) that name a ref.
fn read_packed(file: &Utf8PathBuf) -> Result<Vec<Ref>, Error> {
    let bytes = files::read(file)?.unwrap_or_default();
    let parse = |line: &[u8]| {
        let (id, name) = line.split_once_str(" ")?;
        let id = CommitId::parse(id.to_str().ok()?).ok()?;
        // git reads none beside one that it calls dangerous
        is_ref_name(name).then(|| Ref::new(name, id))
    };
    Ok(bytes.lines().filter_map(parse).collect())
}

/// A packed-refs file; of two refs of one name, the last counts.
fn merged<'a>(refs: impl IntoIterator<Item = &'a Ref>) -> Vec<u8> {
    let all = refs.into_iter().map(|one| (&one.name, &one.id));
    let mut bytes = Vec::new();
    for (name, id) in all.collect::<BTreeMap<_, _>>() {
        bytes.extend_from_slice(id.as_str().as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(b'\n');
    }
    bytes
}

/// The settings: those of the repository that work in a worktree needs, and those of the worktree.
fn settings_of_run(
    repository: &Repository,
    known: &Worktree,
    is_withheld: bool,
) -> Result<Vec<u8>, Error> {
    let record = &known.record;
    let is_sha256 = ObjectFormat::of(&record.base.commit) != ObjectFormat::default();
    let mut extensions = Vec::new();
    extensions.extend(is_sha256.then(|| ("extensions.objectFormat".to_owned(), "sha256".into())));
    let mut all: Vec<(String, BString)> = Vec::new();
    let is_there = files::is_directory(&record.admin_dir);
    let git = is_there.then(|| known.git(repository));
    let git = git.unwrap_or_else(|| repository.git.clone());
    for (scope, key, value) in git.config_list()? {
        let lower = key.to_ascii_lowercase();
        let section = lower.split('.').next().unwrap_or_default();
        // an image does not have the home directory that says who commits
        let is_who = matches!(section, "user" | "author" | "committer");
        if !is_who && !matches!(scope.as_str(), "local" | "worktree") {
            continue;
        }
        // from there git would fetch what is withheld
        let is_promise = lower == "extensions.partialclone" || lower.ends_with(".promisor");
        if is_promise && is_withheld {
            continue;
        }
        if lower == "extensions.partialclone" {
            extensions.push((key, value));
        } else if SECTIONS.split_whitespace().any(|one| one == section)
            && !NOT_TAKEN.split_whitespace().any(|one| one == lower)
        {
            all.push((key, value));
        }
    }
    let version = i32::from(!extensions.is_empty());
    let hooks = files::read(&record.admin_dir.join("agentwt/users"))?;
    let hooks = hooks.filter(|path| !path.trim_ascii().is_empty());
    let hooks = hooks.map(|path| path.trim_ascii_end().into());
    let hooks = hooks.unwrap_or_else(|| repository.common_dir.join("hooks").as_str().into());
    let fixed = [
        ("core.repositoryFormatVersion", version.to_string().into()),
        ("core.bare", "false".into()),
        ("core.worktree", record.path.as_str().into()),
        ("core.hooksPath", hooks),
        // whatever the user hides from others
        ("uploadpack.hideRefs", "!refs/".into()),
        ("gc.auto", "0".into()),
        ("core.ignoreStat", "false".into()),
        ("commit.gpgSign", "false".into()),
        ("tag.gpgSign", "false".into()),
    ];
    let fixed = fixed.map(|(key, value): (&str, BString)| (key.to_owned(), value));
    let lines = all.into_iter().chain(extensions).chain(fixed);
    let lines = lines.flat_map(|(key, value)| quoted_setting(&key, &value).to_vec());
    Ok(lines.collect())
}
