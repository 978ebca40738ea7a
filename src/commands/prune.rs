//! `git agentwt prune`: removes what is left over, and with flags worktrees that are done; never
//! work.
//!
//! Names are taken one by one, each under its own lock: what is decided is read under it.

mod worktree;

use camino::Utf8Path;

use super::{Outcome, Session};
use crate::apply::{prune as apply, trash_bin};
use crate::disk::files::{self, Lock};
use crate::disk::trash_bin::TRASH;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::facts::doctor::left_behind;
use crate::facts::prune::{self as facts, Named};
use crate::facts::remove::Around;
use crate::facts::{Repository, trash};
use crate::name::{BranchName, WorktreeName};
use crate::plan::prune::{Asked, Candidate, Fate, Kind, Step, ago, of_entry, of_lock, of_name};
use crate::plan::remove::BranchFate;
use crate::plan::trash::expired;
use crate::worktree::repository::WORKTREES;
use crate::worktree::saved::Rescue;
use crate::worktree::{RecordState, Worktree, names};

/// Holds what was removed, and what stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Whether nothing was done (`-n`).
    pub dry_run: bool,
    /// Every candidate.
    pub lines: Vec<Line>,
}

/// Holds one candidate, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What kind of thing it is.
    pub kind: Kind,
    /// Its name, or its path.
    pub what: String,
    /// What became of it.
    pub done: Done,
    /// Why.
    pub why: String,
    /// How to go on, if there is more to do.
    pub help: Option<String>,
    /// Of a worktree that goes: what goes with it, and what was saved.
    pub worktree: Option<Went>,
}

/// Holds what went with a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Went {
    /// Its branch.
    pub branch: String,
    /// What became of the branch.
    pub fate: BranchFate,
    /// Where what would have been lost was saved.
    pub trash: Option<Rescue>,
}

/// Says what became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It is gone.
    Removed,
    /// It would go (`-n`).
    WouldRemove,
    /// It stays.
    Kept,
    /// It could not be removed.
    Failed,
}

/// Holds what one call works with.
struct Pruning<'a> {
    session: &'a Session,
    repository: &'a Repository,
    options: &'a crate::cli::Prune,
    asked: Asked,
    now: i64,
    /// What git has, read anew when something went.
    around: Option<Around>,
    /// The branches that would go (`-n`).
    leaving: Vec<BranchName>,
    lines: Vec<Line>,
    notes: Vec<String>,
    /// The status of the first failure.
    failed: Option<ExitCode>,
}

/// Removes what is left over.
///
/// # Errors
/// Fails when the candidates cannot be found. One that cannot be removed is a line, and gives the
/// status in the end.
pub fn run(session: &Session, options: &crate::cli::Prune) -> Result<Outcome<Pruned>, Error> {
    let repository = session.repository_to_change()?;
    let mut pruning = Pruning {
        session,
        repository: &repository,
        options,
        asked: Asked {
            merged: options.merged,
            dead_owners: options.dead_owners,
            older_than: options.older_than,
        },
        now: jiff::Timestamp::now().as_second(),
        around: None,
        leaving: Vec::new(),
        lines: Vec::new(),
        notes: Vec::new(),
        failed: None,
    };
    pruning.locks()?;
    for name in facts::all_names(&repository)? {
        session.check()?;
        pruning.name(&name);
    }
    session.check()?;
    pruning.strangers()?;
    pruning.gits()?;
    pruning.temporaries()?;
    pruning.expired()?;
    pruning.bin();
    Ok(Outcome {
        notes: pruning.notes,
        exit: pruning.failed.unwrap_or(ExitCode::Success),
        answer: Pruned {
            dry_run: options.dry_run,
            lines: pruning.lines,
        },
    })
}

impl Pruning<'_> {
    /// Whether worktrees that are there are candidates.
    const fn selects(&self) -> bool {
        self.asked.merged || self.asked.dead_owners || self.asked.older_than.is_some()
    }

    /// What git has.
    fn around(&mut self) -> Result<Around, Error> {
        match self.around.take() {
            Some(around) => Ok(around),
            None => Ok(Around::read(self.repository)?),
        }
    }

    fn kept(&mut self, kind: Kind, what: &str, why: String, help: Option<String>) {
        self.lines.push(Line {
            kind,
            what: what.to_owned(),
            done: Done::Kept,
            why,
            help,
            worktree: None,
        });
    }

    fn failed(&mut self, kind: Kind, what: &str, error: &Error) {
        self.failed = self.failed.or(Some(error.exit_code()));
        let help = miette::Diagnostic::help(error).map(|help| help.to_string());
        self.lines.push(Line {
            kind,
            what: what.to_owned(),
            done: Done::Failed,
            why: error.to_string(),
            help,
            worktree: None,
        });
    }

    /// Does what was decided, and says so; a step that finds something else than was seen says no,
    /// and leaves it.
    fn settle(&mut self, candidate: Candidate, step: impl FnOnce(Step) -> Result<bool, Error>) {
        let Candidate { kind, what, fate } = candidate;
        let (step, why) = match fate {
            Fate::Stays(why, help) => return self.kept(kind, &what, why, help),
            Fate::Goes(..) if self.options.dry_run => (None, fate),
            Fate::Goes(todo, _) => (Some(step(todo)), fate),
        };
        let (Fate::Goes(_, why) | Fate::Stays(why, _)) = why;
        let done = match step {
            None => Done::WouldRemove,
            Some(Ok(true)) => Done::Removed,
            Some(Ok(false)) => {
                let why = "it is another by now".to_owned();
                return self.kept(kind, &what, why, None);
            }
            Some(Err(error)) => return self.failed(kind, &what, &error),
        };
        self.lines.push(Line {
            kind,
            what,
            done,
            why,
            help: None,
            worktree: None,
        });
    }

    /// Removes lock files of ours that nobody holds.
    fn locks(&mut self) -> Result<(), Error> {
        for lock in facts::dead_locks(self.repository)? {
            let what = below(&lock.path, &self.repository.common_dir);
            let why = "nobody holds it".to_owned();
            let candidate = Candidate {
                kind: Kind::Lock,
                what,
                fate: Fate::Goes(Step::Unlink, why),
            };
            self.settle(candidate, |_| Ok(apply::let_go(&lock)?));
        }
        Ok(())
    }

    /// Everything of one name: looked at, and if anything is to be done, again under its lock.
    fn name(&mut self, name: &WorktreeName) {
        let found = facts::named(self.repository, name, self.now);
        let found = match found {
            Ok(found) => found,
            Err(error) => return self.failed(Kind::Record, name.as_str(), &error.into()),
        };
        let is_there =
            self.selects() && found.facts.recorded == crate::plan::prune::Recorded::There;
        if of_name(&found.facts).is_empty() && !is_there {
            return;
        }
        let lock = self.repository.name_lock(name);
        if self.options.dry_run {
            if lock.is_held() {
                return self.in_use(name, lock.holder(), &found);
            }
            return self.found(name, found);
        }
        match Lock::if_free(&lock) {
            Ok(Some(_held)) => match facts::named(self.repository, name, self.now) {
                Ok(found) => self.found(name, found),
                Err(error) => self.failed(Kind::Record, name.as_str(), &error.into()),
            },
            Ok(None) => self.in_use(name, lock.holder(), &found),
            Err(error) => self.failed(Kind::Lock, name.as_str(), &error.into()),
        }
    }

    fn in_use(&mut self, name: &WorktreeName, pid: Option<u32>, found: &Named) {
        let why = match pid {
            Some(pid) => format!("in use by process {pid}"),
            None => "in use".to_owned(),
        };
        let kind = if found.intent.is_some() {
            Kind::Incomplete
        } else {
            Kind::Worktree
        };
        self.kept(kind, name.as_str(), why, None);
    }

    fn found(&mut self, name: &WorktreeName, found: Named) {
        let repository = self.repository;
        let candidates = of_name(&found.facts);
        let is_there = found.facts.recorded == crate::plan::prune::Recorded::There;
        let Named { intent, known, .. } = found;
        let mut known = known;
        for candidate in candidates {
            match &candidate.fate {
                Fate::Goes(Step::Remove, why) => {
                    let why = why.clone();
                    if let Some(known) = known.take() {
                        self.worktree(known, Some(why));
                    }
                }
                Fate::Goes(..) | Fate::Stays(..) => {
                    let what = candidate.what.clone();
                    let kind = candidate.kind;
                    let intent = intent.as_ref();
                    self.settle(candidate, |step| {
                        do_step(repository, name, kind, &what, intent, step)
                    });
                }
            }
        }
        if let (true, true, Some(known)) = (self.selects(), is_there, known) {
            self.worktree(known, None);
        }
    }

    /// What stands among the worktrees and has no name that one could have.
    fn strangers(&mut self) -> Result<(), Error> {
        for name in facts::strangers(self.repository)? {
            let path = format!("{WORKTREES}/{name}");
            let why = "nothing is recorded of it, so nobody can say whose it is".to_owned();
            let help = format!("look at it (ls -A {path}), then move it away");
            self.kept(Kind::Directory, &path, why, Some(help));
        }
        Ok(())
    }

    /// What git has: private directories that lead nowhere, and locks.
    fn gits(&mut self) -> Result<(), Error> {
        let repository = self.repository;
        let left = left_behind(repository)?;
        let now = self.now;
        if !left.admin.is_empty() {
            let around = Around::read(repository)?;
            for entry in facts::entries(repository, &around, &left, now)? {
                self.settle(of_entry(&entry), |_| {
                    apply::delete_entry(repository, Utf8Path::new(&entry.path))
                });
            }
        }
        let known = known(repository)?;
        for lock in facts::locks(repository, &known, &left) {
            self.settle(of_lock(&lock), |_| {
                Ok(apply::unlock(Utf8Path::new(&lock.path), now)?)
            });
        }
        Ok(())
    }

    fn temporaries(&mut self) -> Result<(), Error> {
        for path in facts::temporaries(self.repository, self.now)? {
            let at = files::modified(&path).unwrap_or(self.now);
            let since = ago(facts::age(self.now, at));
            let candidate = Candidate {
                kind: Kind::Temporary,
                what: below(&path, &self.repository.common_dir),
                fate: Fate::Goes(
                    Step::Unlink,
                    format!("whoever wrote it was killed {since} ago"),
                ),
            };
            self.settle(candidate, |_| {
                files::remove_file(&path)?;
                Ok(true)
            });
        }
        Ok(())
    }

    /// What was saved longer ago than it is kept.
    fn expired(&mut self) -> Result<(), Error> {
        let repository = self.repository;
        let all = trash::all(repository)?;
        if all.is_empty() {
            return Ok(());
        }
        let moment = trash::expiry(repository)?;
        for one in expired(&all, moment) {
            let since = ago(facts::age(self.now, one.removed.unwrap_or(self.now)));
            let candidate = Candidate {
                kind: Kind::Trash,
                what: one.reference.clone(),
                fate: Fate::Goes(Step::Unlink, format!("it was removed {since} ago")),
            };
            self.settle(candidate, |_| {
                apply::expire(repository, one)?;
                Ok(true)
            });
        }
        Ok(())
    }

    /// What waits to be deleted, by now also what went in this call.
    fn bin(&mut self) {
        let root = &self.repository.root;
        let path = format!("{WORKTREES}/{TRASH}");
        if !files::exists(&root.join(&path)) {
            return;
        }
        if self.options.dry_run {
            let why = "it waits to be deleted".to_owned();
            let fate = Fate::Goes(Step::Delete, why);
            let kind = Kind::Deleted;
            let what = path;
            self.settle(Candidate { kind, what, fate }, |_| Ok(true));
            return;
        }
        let went = self
            .lines
            .iter()
            .any(|line| line.kind == Kind::Worktree && line.done == Done::Removed);
        match trash_bin::empty_soon(root, &self.session.binary) {
            Ok(left) if left.is_empty() && went => {}
            Ok(left) if left.is_empty() => {
                let why = "it waited to be deleted".to_owned();
                let fate = Fate::Goes(Step::Delete, why);
                let kind = Kind::Deleted;
                let what = path;
                self.settle(Candidate { kind, what, fate }, |_| Ok(true));
            }
            Ok(left) => {
                let error = std::io::Error::other(left.join("; "));
                let error = crate::disk::DiskError::new(format!("empty {path}"), error);
                self.failed(Kind::Deleted, &path, &error.into());
            }
            Err(error) => self.failed(Kind::Deleted, &path, &error.into()),
        }
    }
}

/// Does one step of a name whose lock is ours; whether there was anything to do.
fn do_step(
    repository: &Repository,
    name: &WorktreeName,
    kind: Kind,
    what: &str,
    intent: Option<&crate::worktree::Intent>,
    step: Step,
) -> Result<bool, Error> {
    match (step, intent) {
        (Step::Clear, Some(intent)) => apply::clear(repository, name, intent)?,
        (Step::Forget, _) => apply::forget(repository, name)?,
        (Step::Unmake, _) => return Ok(apply::unmake(&repository.root.join(what))),
        (Step::Delete, _) => apply::delete_copies(repository, what)?,
        (Step::Unlink, _) if kind == Kind::Claim => apply::unclaim(repository, name)?,
        (Step::Clear, None) | (Step::Remove | Step::Unlink, _) => return Ok(false),
    }
    Ok(true)
}

/// All worktrees with a whole record.
fn known(repository: &Repository) -> Result<Vec<Worktree>, Error> {
    let mut all = Vec::new();
    for name in names(repository)? {
        if let Ok(RecordState::Complete(known)) = RecordState::read(repository, &name) {
            all.push(*known);
        }
    }
    Ok(all)
}

/// A path as people see it: `.git/…` for what is in the git directory.
fn below(path: &Utf8Path, common_dir: &Utf8Path) -> String {
    let inside = path.strip_prefix(common_dir);
    inside.map_or_else(|_| path.to_string(), |inside| format!("@git/{inside}"))
}
