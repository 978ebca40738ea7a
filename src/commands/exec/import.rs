//! Brings what a fenced command committed home: fetches, verifies, and moves the branch, all or nothing.
//!
//! 1. The commits are fetched with fsck into `refs/agentwt/incoming/<name>`, its stashes into
//!    `refs/agentwt/run/<name>/<commit>`, its branches and tags into `refs/agentwt/kept/<name>/<commit>`:
//!    from here on nothing can be lost. What it amended or reset away ends in the reflog of HEAD.
//! 2. The worktree is verified as if its branch were there already.
//! 3. The index of the run becomes that of the worktree, and the branch moves by compare-and-swap.
//!
//! Killed at any point, the branch is where it was, and the next `exec` imports what is left.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;

use crate::actions::bring;
use crate::actions::bring::{kept_ref, kept_refs};
use crate::actions::scope_edit::set_bits;
use crate::commands::Session;
use crate::disk::files;
use crate::disk::mode::BitsChange;
use crate::disk::open::{Opened, open_entry};
use crate::git::environment::GitMode;
use crate::git::index::{IndexEntry, IndexLock, OUR_LOCK, OpenIndex, Stage, take_lock};
use crate::git::landing::FetchCheck;
use crate::git::lfs::has_sha256;
use crate::git::process::Git;
use crate::git::refs::Ref;
use crate::judge::change::Place;
use crate::judge::finding::{Reason, Report, VerifyOptions};
use crate::truth::collect_with;
use crate::truth::options::SurveyOptions;
use crate::words::entry::{Entry, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::{RepoPath, escape_for_terminal};
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::read_operation;
use crate::worktree::private_git::{PrivateGit, RunResult, incoming_ref, read_run_refs, run_refs};
use crate::worktree::repository::Repository;

/// How long git may take to fetch the commits of a run, whose objects can be of any size.
const MOST: Duration = Duration::from_secs(600);
/// Why neither index nor branch can be written.
pub(super) const LOCKED: &str = "a git holds the lock of its index, or left it";
/// Why the branch does not move: it can be checked out elsewhere by now, or be in the middle of a rebase.
const AWAY: &str = "the worktree was switched away from it";
/// Why the index cannot be moved to the commits.
const BUSY: &str = "you began a merge, a rebase or the like";
/// How many objects are asked for at once.
const BATCH: usize = 1000;
/// How many branches and tags are named.
const MOST_NAMED: usize = 20;

/// Says what the user did while a run went on, with which its commits do not fit.
type ImportConflict = Option<&'static str>;

/// Holds what became of a run.
#[derive(Default)]
pub(super) struct Imported {
    /// Where the branch was and where it is now; none where it did not move.
    pub moved: Option<(CommitId, CommitId)>,
    /// The commit to which the branch did not move, if there is one.
    pub stays_away: Option<CommitId>,
    /// Where the branch is.
    pub at: Option<CommitId>,
    /// What the user changed meanwhile, so that no commit of the run fits.
    pub meanwhile: ImportConflict,
    /// Whether the user staged something of which the index of the run has nothing.
    pub is_restaged: bool,
    /// Whether a file was changed that no command in a fence can reach.
    pub breaks_seal: bool,
    /// Whether the git directory of the run has what is nowhere else.
    pub is_kept: bool,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Imported {
    /// What the user changed, for which commits of the run stay away.
    pub fn late(&self) -> ImportConflict {
        self.meanwhile.filter(|_| self.stays_away.is_some())
    }

    /// Says why the branch stays though all is in scope, and how the commits come from the ref where they are.
    pub fn late_note(&self, known: &Worktree, at: &str) -> Option<String> {
        let what = self.late()?;
        let record = &known.record;
        let name = &record.name;
        let branch = &record.branch;
        let path = &record.path;
        let way = match what {
            LOCKED | BUSY => format!("when that is over: git agentwt exec {name} -- true"),
            AWAY => format!("git -C {path} switch {branch} && git agentwt exec {name} -- true"),
            _other => format!("git -C {path} stash -u && git -C {path} merge {at}"),
        };
        Some(format!(
            "{branch} stays, as {what} while the command ran; to merge the commits of the \
                command, whose files are there uncommitted: {way}"
        ))
    }
}

/// Whether a file was changed since the run began that no command in a fence can reach.
fn breaks_seal(known: &Worktree, repository: &Repository, report: &Report, began: i64) -> bool {
    // the index and the HEAD that were verified are those of the run
    let own = [Place::Admin("index".into()), Place::Head];
    let is_innocent = |place: &Place| {
        let (above, name) = match place {
            Place::Git(name) => (&*repository.common_dir, name),
            Place::Admin(name) => (&*known.record.admin_dir, name),
            Place::Outside(path) => (Utf8Path::new("/"), path),
            // the command itself can make it unreadable
            Place::Path(_) => return true,
            _elsewhere => return false,
        };
        let file = above.join(name.to_str_lossy().as_ref());
        let stat = files::stat(&file).or_else(|| files::stat(file.parent()?));
        stat.is_some_and(|stat| stat.ctime < began)
    };
    let mut findings = report.violations();
    findings.any(|finding| {
        let place = &finding.change.place;
        matches!(finding.reason, Reason::Integrity | Reason::Shared)
            && !own.contains(place)
            && !is_innocent(place)
    })
}

/// Imports what the last run left; with it the verdict over the worktree with the commits of the run. The
/// processes of that run have ended, and the lock of the name is held.
///
/// # Errors
/// Fails when git or the disk does: then the branch is where it was, and the run's git directory stays.
#[expect(
    clippy::too_many_lines,
    reason = "the steps of one import, in their order"
)]
pub(super) fn import(
    repository: &Repository,
    known: &Worktree,
    private: &PrivateGit,
) -> Result<(Report, Imported), Error> {
    let record = &known.record;
    let mut notes = Vec::new();
    let name = &record.name;
    let branch = &record.branch;
    private.write_mended(repository, known)?;
    let result = private.read_result(repository, known)?;
    let before = repository.git.rev_parse_commit(&branch.full_ref())?;
    let (began, began_at) = private.read_began()?;
    let tip = result.branch.clone();
    let mut tip = tip.filter(|tip| before.as_ref() != Some(tip) && began.as_ref() != Some(tip));
    if let (Some(now), Some(came)) = (before.as_ref().filter(|_| began != before), &tip)
        && repository.objects()?.has(came)
        && repository.git.is_ancestor(came, now)?
    {
        // the user has merged the commits of the run
        tip = None;
    }
    let run = Run {
        repository,
        known,
        private,
        result,
        before,
        tip,
    };
    let is_fetched = run.fetch(&mut notes)?;
    run.bring_lfs()?;
    let result = &run.result;
    let before = &run.before;
    let tip = &run.tip;
    let file = private.index();
    let read = || OpenIndex::read(&file, repository.format).ok();
    let index = files::exists(&file).then(read).flatten();
    // not HEAD, which may be elsewhere: the branch moves to the tip
    let terms = SurveyOptions {
        index: index.as_ref().map(|_| file),
        head: tip.clone(),
        ..SurveyOptions::default()
    };
    let survey = collect_with(repository, known, &terms)?;
    let index = index.and_then(|index| index.plain_bytes(&survey.unstaged()).ok());
    let nested = survey.nested().into_iter();
    notes.extend(nested.chain(survey.bare(&record.path)).map(|path| {
        format!("{path} is a repository of its own: a git that you start there runs its settings")
    }));
    let is_read = index.is_some();
    let directory = private.git_dir();
    let is_staged = !is_read || run.fetch_staged(&survey.staged())?;
    let unfetched = || format!("what is staged cannot be fetched from {directory}, which stays");
    notes.extend((!is_staged).then(unfetched));
    let unread = "the index of the command cannot be read: nothing is staged";
    notes.extend((!is_read).then(|| unread.to_owned()));
    let staged = survey.staged_only();
    let report = known.judge(survey.changes, VerifyOptions::default());
    // nothing is staged between here and the end
    let lock = take_own_lock(&record.admin_dir.join("index"))?;
    let is_restaged = run.is_restaged();
    if !is_restaged && lock.is_some() {
        private.link_index(known)?;
    }
    let is_home = known.git(repository).symbolic_ref_head()? == Some(branch.full_ref());
    // what the user commits waits for the lock by now
    let now = repository.git.rev_parse_commit(&branch.full_ref())?;
    let meanwhile = match &lock {
        _any if began != now => Some("it moved"),
        _any if !is_home => Some(AWAY),
        _any if read_operation(record).is_some() => Some(BUSY),
        None => Some(LOCKED),
        Some(_held) => None,
    };
    let index = index.filter(|_| is_staged);
    let is_lost = index.is_some() && (is_restaged || meanwhile.is_some());
    let kept = is_lost.then(|| run.keep_staged(&staged)).transpose()?;
    notes.extend(kept.flatten());
    if let Some(command) = result.operation {
        notes.push(format!(
            "the command ended in the middle of a {command}; to go on: git agentwt exec {name}"
        ));
    } else if !result.is_on_branch {
        notes.push(format!(
            "the command left {branch} for another branch: only the commits of {branch} count"
        ));
    }
    let mut imported = Imported {
        stays_away: tip.clone(),
        at: now,
        meanwhile,
        is_restaged,
        breaks_seal: breaks_seal(known, repository, &report, began_at),
        is_kept: !is_fetched || !is_staged || lock.is_none() || private.has_repositories(),
        notes,
        ..Imported::default()
    };
    if report.valid() && is_home && imported.late().is_none() {
        let is_ended = result.is_on_branch && result.operation.is_none();
        let is_kept = imported.is_kept || !is_ended || !result.stashes.is_empty();
        let index = index.filter(|_| is_ended && !is_lost);
        if let Some(why) = run.import_index_and_branch(index, is_kept, is_restaged)? {
            imported.meanwhile = Some(why);
        } else if let (Some(before), Some(tip)) = (&before, imported.stays_away.take()) {
            imported.at = Some(tip.clone());
            imported.moved = Some((before.clone(), tip));
        }
        if !is_read && private.is_there() {
            files::copy_beside(&record.admin_dir.join("index"), &private.index())?;
        }
    }
    known.write_verification(&report, &Session::now())?;
    Ok((report, imported))
}

/// Takes the lock of a file of git's, also the one that an import left which was killed; none while a
/// git has the lock.
fn take_own_lock(file: &Utf8Path) -> Result<Option<IndexLock>, Error> {
    let lock = Utf8PathBuf::from(format!("{file}.lock"));
    if files::read(&lock)?.as_deref() == Some(OUR_LOCK) {
        files::remove_file(&lock)?;
    }
    Ok(take_lock(file)?)
}

/// Holds what is imported.
struct Run<'a> {
    repository: &'a Repository,
    known: &'a Worktree,
    private: &'a PrivateGit,
    /// What the run left.
    result: RunResult,
    /// The commit of the branch.
    before: Option<CommitId>,
    /// The commit that the run made of it, if that is another.
    tip: Option<CommitId>,
}

impl Run<'_> {
    /// Reads what an index says of each path, and whether git takes it as absent on purpose; nothing of a damaged
    /// index.
    fn read_entries(&self, file: &Utf8Path) -> BTreeSet<(BString, Entry, Stage, bool)> {
        let entry = |one: IndexEntry<&BStr>| {
            let path = one.path.to_owned();
            (path, one.entry, one.stage, one.skip_worktree)
        };
        let index = OpenIndex::read(file, self.repository.format).ok();
        let entries = index.iter().flat_map(OpenIndex::entries);
        let entries = entries.map(|one| one.map(entry));
        entries.collect::<Result<_, _>>().unwrap_or_default()
    }

    /// Whether the user staged files or switched in the worktree; git can also have read the files anew only.
    fn is_restaged(&self) -> bool {
        let number = |file: &Utf8Path| files::stat(file).map(|stat| stat.inode);
        let now = self.known.record.admin_dir.join("index");
        // an import that was stopped has written that of the run
        let files = [self.private.begun_index(), self.private.index()];
        if files.iter().any(|file| number(file) == number(&now)) {
            return false;
        }
        let now = self.read_entries(&now);
        // of one that cannot be read, nobody knows
        now.is_empty() || files.iter().all(|file| self.read_entries(file) != now)
    }

    /// Writes the index and moves the branch, and removes the git directory of the run, unless that has
    /// something which is nowhere else (`is_kept`). The index becomes these bytes; without them, what is there
    /// is moved to the commits, as where the user staged something (`restaged`). Returns what the user did that
    /// does not fit them; then all is as it was.
    fn import_index_and_branch(
        &self,
        index: Option<Vec<u8>>,
        is_kept: bool,
        restaged: bool,
    ) -> Result<ImportConflict, Error> {
        let known = self.known;
        let repository = self.repository;
        let record = &known.record;
        let branch = known.record.branch.full_ref();
        let git = known.git(repository);
        let is_taken = index.is_some();
        let bytes = match (index, self.before.as_ref().zip(self.tip.as_ref())) {
            // an index of the old commit would be there to undo the new ones
            (None, Some(trees)) => match self.read_moved_index(trees)? {
                None => return Ok(Some("you staged what the command committed otherwise")),
                moved => moved,
            },
            (index, _) => index,
        };
        let file = record.admin_dir.join("index");
        let old = self.private.dir.join("index.old");
        if let Some(bytes) = &bytes {
            // killed after this, the next run moves the branch
            files::link_or_copy(&file, &old)?;
            files::write(&file, bytes)?;
            if is_taken {
                files::copy_time(&self.private.index(), &file)?;
            }
        }
        if let (Some(before), Some(tip)) = (&self.before, &self.tip) {
            let reason = "agentwt exec: the commits of a fenced command";
            if let Err(error) = git.update_ref(&branch, tip, Some(before), reason) {
                files::rename(&old, &file)?;
                // by the user, who had the lock before
                let is_moved = git.rev_parse_commit(&branch)? != self.before;
                return is_moved.then_some(Some("it moved")).ok_or(error.into());
            }
            self.private.write_began(Some(tip))?;
        }
        if bytes.is_some() && !restaged {
            self.private.link_index(known)?;
        }
        // what git made anew there has the write bits of its umask
        let placed = known.placed()?;
        let root = &record.path;
        let files = placed.files();
        set_bits(root, &known.scope, &[], files, BitsChange::Apply)?;
        if is_kept {
            return Ok(None);
        }
        // what an earlier run left came in with this one; killed here, the next run does it again
        let left = read_run_refs(repository, known)?;
        log_abandoned(repository, known, &left)?;
        let git = repository.git.with_mode(GitMode::Hardened);
        for one in left {
            git.delete_ref(&one.name.to_str_lossy(), &one.id)?;
        }
        self.private.remove()?;
        Ok(None)
    }

    /// The bytes of the index of the worktree, moved from one commit to another (git-read-tree(1), "Two Tree
    /// Merge"): what the user staged stays. None where that does not fit.
    fn read_moved_index(&self, trees: (&CommitId, &CommitId)) -> Result<Option<Vec<u8>>, Error> {
        let copy = self.private.dir.join("index.moved");
        files::remove_file(&copy.with_extension("moved.lock"))?;
        files::link_or_copy(&self.known.record.admin_dir.join("index"), &copy)?;
        let begun = self.read_entries(&self.private.begun_index());
        let now = self.read_entries(&copy);
        let made = self.read_entries(&self.private.index());
        let changed = now.difference(&begun).chain(made.difference(&begun));
        let paths = changed.map(|(path, ..)| [path.as_slice(), b"/"].concat());
        let paths: BTreeSet<_> = paths.collect();
        // of a file and a directory of one name, git takes one without an error
        let mut pairs = paths.iter().zip(paths.iter().skip(1));
        if pairs.any(|(above, path)| path.starts_with(above)) {
            return Ok(None);
        }
        let git = self.known.git(self.repository).with_index(&copy);
        let trees = [trees.0.as_str(), trees.1.as_str()];
        let moved = git.perform("move the index", "read-tree -m -i", &trees);
        // git leaves out the sparse patterns there, which the index of the run has
        let absent = made.difference(&begun).filter(|(.., is_absent)| *is_absent);
        let absent = bstr::join(b"\0", absent.map(|(path, ..)| path));
        let command = "update-index --skip-worktree -z --stdin";
        // git marks none where one of them is only staged, which no commit has
        let _ = git.perform_with("mark what is absent", command, &[], &absent);
        Ok(moved.ok().and(files::read(&copy)?))
    }

    /// Fetches all that the run made, and returns whether that is here now. The tip of its branch, without which
    /// there is no import, comes into one ref, which keeps what it named before.
    fn fetch(&self, notes: &mut Vec<String>) -> Result<bool, Error> {
        let repository = self.repository;
        let known = self.known;
        let private = self.private;
        let result = &self.result;
        let tip = self.tip.as_ref();
        let below = run_refs(known);
        let left = |id: &CommitId| format!("{below}{id}");
        let git = repository.git.with_mode(GitMode::Hardened);
        let fetch_all = |wanted: &[(&CommitId, String)]| {
            let specs = wanted.iter().map(|(id, name)| format!("{id}:{name}"));
            let specs: Vec<String> = specs.collect();
            let limited = git.with_limit(MOST);
            limited.fetch_objects(private.git_dir().as_str(), FetchCheck::Fsck, &specs)
        };
        let fetched = tip.map(|tip| fetch_all(&[(tip, left(tip))]));
        // what git has can be there for an import that was stopped, or for a reflog: only a ref keeps it
        let near: Vec<&CommitId> = self.before.iter().chain(tip).collect();
        let named = |below: &str| -> Result<BTreeSet<CommitId>, Error> {
            let refs = git.for_each_ref(&[below])?.into_iter();
            Ok(refs.map(|one| one.id).collect())
        };
        let mut lasting = named(&kept_refs(known))?;
        let passing = named(&below)?;
        lasting.extend(near.iter().copied().chain(&result.began).cloned());
        let is_left = |id: &&CommitId| !lasting.contains(*id) && !passing.contains(*id);
        let work = result.head.iter().chain(&result.stashes).filter(is_left);
        let mut wanted: BTreeMap<_, _> = work.map(|id| (id, left(id))).collect();
        let others = result.others.iter().filter(|(_, id)| !lasting.contains(id));
        let others: Vec<_> = others.collect();
        wanted.extend(others.iter().map(|(_, id)| (id, kept_ref(known, id))));
        let objects = repository.objects()?;
        let been_on = result.been_on.iter().filter(is_left);
        // a reflog can name what is gone
        let (mut here, gone): (Vec<_>, Vec<_>) = been_on.partition(|id| objects.has(id));
        for known in [near, result.began.iter().collect()] {
            let fresh: BTreeSet<_> = git.rev_list(&here, &known)?.into_iter().collect();
            here.retain(|id| fresh.contains(id));
        }
        let abandoned = gone.into_iter().chain(here);
        let abandoned = abandoned.filter(|id| !wanted.contains_key(id));
        let abandoned: BTreeMap<_, _> = abandoned.map(|id| (id, left(id))).collect();
        let mut lost = Vec::new();
        for (all, is_work) in [(wanted, true), (abandoned, false)] {
            let all: Vec<_> = all.into_iter().collect();
            // a command line has an end; what is broken keeps nothing else away
            for batch in all.chunks(BATCH) {
                if fetch_all(batch).is_err() {
                    let broken = batch.chunks(1).filter(|one| fetch_all(one).is_err());
                    lost.extend(broken.flatten().filter(|_| is_work).map(|(id, _)| *id));
                }
            }
        }
        if let [first, more @ ..] = &lost[..] {
            let directory = private.git_dir();
            let more = more.len();
            notes.push(format!(
                "{first} and {more} more cannot be fetched from {directory}, which stays"
            ));
        }
        // without the tip there is no import, but all else is here now
        fetched.transpose()?;
        if let Some(tip) = tip {
            bring::point(repository, &incoming_ref(known), tip, &left)?;
            git.delete_ref(&left(tip), tip)?;
        }
        let here = others.into_iter().filter(|(_, id)| !lost.contains(&id));
        let mut here: Vec<_> = here.map(|(what, _)| escape_for_terminal(what)).collect();
        let count = here.len();
        here.truncate(MOST_NAMED);
        if !here.is_empty() {
            let here = here.join(", ");
            let name = &known.record.name;
            notes.push(format!(
                "refs of the command are kept ({count}): {here}; to see them: git \
                log --glob=refs/agentwt/kept/{name}"
            ));
        }
        Ok(lost.is_empty())
    }

    /// Copies the contents of large files that the command stored (git-lfs, docs/spec.md), each named by its SHA-256.
    fn bring_lfs(&self) -> Result<(), Error> {
        let from = self.private.git_dir();
        let to = &self.repository.common_dir;
        let mut directories = vec![Utf8PathBuf::from("lfs/objects")];
        while let Some(directory) = directories.pop() {
            for name in files::names(&from.join(&directory))? {
                let path = from.join(&directory).join(&name);
                let below = directory.join(&name);
                let is_new = name.len() == 64 && !files::exists(&to.join(&below));
                if files::is_directory(&path) && directory.iter().count() < 4 {
                    directories.push(below);
                } else if is_new
                    && let Ok(Opened::File {
                        size, mut content, ..
                    }) = open_entry(path.as_std_path())
                    && has_sha256(&mut content, size, name.as_bytes())
                {
                    files::create_directories(&to.join(&directory))?;
                    files::copy_beside(&path, &to.join(&below))?;
                }
            }
        }
        Ok(())
    }

    /// Has a ref keep which of these paths the command staged: its index does not become that of the worktree.
    fn keep_staged(&self, staged: &[RepoPath]) -> Result<Option<String>, Error> {
        let repository = self.repository;
        let begun = self.read_entries(&self.private.begun_index());
        let now = self.read_entries(&self.private.index());
        let own = now.difference(&begun).filter(|(path, ..)| {
            let order = |one: &RepoPath| one.as_bstr().cmp(path.as_bstr());
            staged.binary_search_by(order).is_ok()
        });
        let own: Vec<_> = own.collect();
        let parent = self.tip.as_ref().or(self.before.as_ref());
        let Some(parent) = parent.filter(|_| !own.is_empty()) else {
            return Ok(None);
        };
        let objects = repository.objects()?;
        let tree = objects.commit(parent)?.tree;
        let own = own.iter().map(|(path, entry, ..)| (path, Some(*entry)));
        let tree = objects.write_tree(Some(&tree), own)?;
        let commit = objects.write_commit_on(parent, &tree)?;
        let git = repository.git.with_mode(GitMode::Hardened);
        let kept = keep(&git, self.known, &commit)?;
        Ok(kept.map(|kept| format!("what the command staged is kept: git show {kept}")))
    }

    /// Fetches what is staged, of which no commit may know, and returns whether it is here now.
    fn fetch_staged(&self, staged: &BTreeSet<ObjectId>) -> Result<bool, Error> {
        let objects = self.repository.objects()?;
        let new = staged.iter().filter(|id| !objects.is_blob(id));
        let new: Vec<String> = new.map(ToString::to_string).collect();
        let git = self.repository.git.with_mode(GitMode::Hardened);
        let git = git.with_limit(MOST);
        let from = self.private.git_dir();
        let mut some = new.chunks(BATCH);
        let is_fetched = some.all(|some| {
            git.fetch_objects(from.as_str(), FetchCheck::Fsck, some)
                .is_ok()
        });
        Ok(is_fetched && staged.iter().all(|id| objects.is_blob(id)))
    }
}

/// Has refs of their own keep what a run made, before the next one begins anew.
pub(super) fn keep_all(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    for one in read_run_refs(repository, known)? {
        keep(&git, known, &one.id)?;
        git.delete_ref(&one.name.to_str_lossy(), &one.id)?;
    }
    Ok(())
}

/// Has a ref of its own keep a commit, and returns the ref if it is new.
fn keep(git: &Git, known: &Worktree, id: &CommitId) -> Result<Option<String>, Error> {
    let kept = kept_ref(known, id);
    if !git.for_each_ref(&[&kept])?.is_empty() {
        return Ok(None);
    }
    git.update_ref(&kept, id, None, "agentwt exec: kept")?;
    Ok(Some(kept))
}

/// Has the reflog of HEAD name what the command made and the branch does not have, as after a reset without
/// a fence: there and back. Where there is no such log, or a git writes it, a ref keeps it.
fn log_abandoned(repository: &Repository, known: &Worktree, left: &[Ref]) -> Result<(), Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    let Some(head) = git.rev_parse_commit(&known.record.branch.full_ref())? else {
        return Ok(());
    };
    let ids: Vec<&CommitId> = left.iter().map(|one| &one.id).collect();
    let reachable_only_here: BTreeSet<CommitId> =
        git.rev_list(&ids, &[&head])?.into_iter().collect();
    let mut lines = String::new();
    let mut abandoned = Vec::new();
    let who = format!("git-agentwt <> {} +0000", Timestamp::now().as_second());
    for id in ids {
        if reachable_only_here.contains(id) {
            abandoned.push(id);
            lines.push_str(&format!(
                "{head} {id} {who}\tbranch: abandoned in git agentwt exec\n\
                 {id} {head} {who}\tbranch: kept as {head}\n"
            ));
        }
    }
    if abandoned.is_empty() || append_to_head_log(known, &lines)? {
        return Ok(());
    }
    for id in abandoned {
        keep(&git, known, id)?;
    }
    Ok(())
}

/// Appends lines to the reflog of HEAD under the lock of HEAD, which git has while it writes that log, and
/// while it writes it anew (git-reflog(1), `expire`). Returns true if they were written: not where there is no
/// log, nor where a git keeps the lock.
fn append_to_head_log(known: &Worktree, lines: &str) -> Result<bool, Error> {
    let admin_dir = &known.record.admin_dir;
    let log = admin_dir.join("logs/HEAD");
    let Some(_lock) = take_own_lock(&admin_dir.join("HEAD"))? else {
        return Ok(false);
    };
    if !files::exists(&log) {
        return Ok(false);
    }
    files::append(&log, lines.as_bytes())?;
    Ok(true)
}
