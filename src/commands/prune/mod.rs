//! `git agentwt prune`: removes what is left over, and with flags worktrees that are done; never
//! work.
//!
//! Names are taken one by one, each under its own lock: what is decided is read under it.

mod answer;
mod select;

use super::{Outcome, Session};
use crate::answer::shapes::TrashField;
use crate::disk::files::{self, Lock};
use crate::disk::trash_bin::DELETED;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::name::{BranchName, WorktreeName};
use crate::worktree::Record;
use crate::worktree::emptying;
use crate::worktree::leftover::{self, Leftover, LeftoverKind, NameLeftovers, Remedy};
use crate::worktree::removal::Leaving;
use crate::worktree::removal::facts::Around;
use crate::worktree::removal::plan::{BranchFate, RemoveOptions, notes};
use crate::worktree::repository::WORKTREES;
use crate::worktree::{Repository, Worktree};
pub use answer::PruneAnswer;
use answer::PrunedCandidate;
use select::{Idleness, Selected, Selection, read_commits, read_idle, read_owner, select};

/// Holds what one call works with.
struct Pruning<'a> {
    session: &'a Session,
    repository: &'a Repository,
    options: &'a crate::cli::Prune,
    selection: Selection,
    now: i64,
    /// What git has, read anew when something went.
    around: Option<Around>,
    /// The branches that would go (`-n`).
    leaving: Vec<BranchName>,
    lines: Vec<PrunedCandidate>,
    notes: Vec<String>,
    /// The status of the first failure.
    failed: Option<ExitCode>,
}

/// Removes what is left over.
///
/// # Errors
/// Fails when the candidates cannot be found. One that cannot be removed is a line, and gives the
/// status in the end.
pub fn run(session: &Session, options: &crate::cli::Prune) -> Result<Outcome<PruneAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let mut pruning = Pruning {
        session,
        repository: &repository,
        options,
        selection: Selection {
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
    pruning.own_locks()?;
    for name in leftover::all_names(&repository)? {
        session.check()?;
        pruning.name(&name);
    }
    session.check()?;
    for leftover in leftover::shared(&repository, pruning.now)? {
        pruning.clear(leftover, None, None);
    }
    pruning.bin();
    Ok(Outcome {
        notes: pruning.notes,
        exit: pruning.failed.unwrap_or(ExitCode::Success),
        answer: PruneAnswer {
            dry_run: options.dry_run,
            candidates: pruning.lines,
        },
    })
}

fn set_branch(line: &mut PrunedCandidate, record: &Record, fate: &BranchFate) {
    line.branch = Some(record.branch.to_string());
    line.branch_deleted = Some(matches!(fate, BranchFate::Deleted(_) | BranchFate::Private));
    if *fate != BranchFate::Gone {
        line.branch_words = fate.words(&record.branch, None);
    }
}

impl Pruning<'_> {
    fn failed(&mut self, kind: LeftoverKind, what: &str, error: &Error) {
        self.failed = self.failed.or(Some(error.exit_code()));
        let help = miette::Diagnostic::help(error).map(|help| help.to_string());
        let line = PrunedCandidate::new(kind, what, "failed", error.to_string());
        self.lines.push(PrunedCandidate { help, ..line });
    }

    /// What a removal says when it is done: it is gone, or would be.
    const fn done(&self) -> &'static str {
        if self.options.dry_run {
            "would-remove"
        } else {
            "removed"
        }
    }

    /// Clears one, and says so; what is something else by now is no line.
    fn clear(
        &mut self,
        leftover: Leftover,
        name: Option<&WorktreeName>,
        found: Option<&NameLeftovers>,
    ) {
        let (kind, what) = (leftover.kind, leftover.what.clone());
        let mut line = PrunedCandidate::new(kind, &what, self.done(), leftover.why.clone());
        if leftover.remedy.is_none() {
            line.done = "kept";
            line.help = leftover.help;
        } else if !self.options.dry_run {
            let intent = found.and_then(|found| found.intent.as_ref());
            match leftover::clear(self.repository, &leftover, name, intent) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.failed(kind, &what, &error),
            }
        }
        self.lines.push(line);
    }

    /// The lock files of ours that nobody holds: to take one and to let go of it removes it.
    fn own_locks(&mut self) -> Result<(), Error> {
        for lock in leftover::dead_locks(self.repository)? {
            let what = lock.path.strip_prefix(&self.repository.common_dir);
            let what = what.map_or_else(|_| lock.path.to_string(), |path| format!("@git/{path}"));
            let why = "no process holds it".to_owned();
            let line = PrunedCandidate::new(LeftoverKind::Lock, &what, self.done(), why);
            if self.options.dry_run {
                self.lines.push(line);
                continue;
            }
            match Lock::if_free(&lock) {
                Ok(Some(_free)) => self.lines.push(line),
                Ok(None) => {}
                Err(error) => self.failed(LeftoverKind::Lock, &what, &error.into()),
            }
        }
        Ok(())
    }

    /// Everything of one name: looked at, and if anything is to be done, again under its lock.
    fn name(&mut self, name: &WorktreeName) {
        let record = LeftoverKind::Record;
        let found = match leftover::of_name(self.repository, name, self.now) {
            Ok(found) => found,
            Err(error) => return self.failed(record, name.as_str(), &error),
        };
        if found.all.is_empty() && !(self.selection.selects() && found.is_there) {
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
            Ok(Some(_held)) => match leftover::of_name(self.repository, name, self.now) {
                Ok(found) => self.found(name, found),
                Err(error) => self.failed(record, name.as_str(), &error),
            },
            Ok(None) => self.in_use(name, lock.holder(), &found),
            Err(error) => self.failed(LeftoverKind::Lock, name.as_str(), &error.into()),
        }
    }

    fn in_use(&mut self, name: &WorktreeName, pid: Option<u32>, found: &NameLeftovers) {
        let why = match pid {
            Some(pid) => format!("in use by process {pid}"),
            None => "in use".to_owned(),
        };
        let kind = match found.intent {
            Some(_) => LeftoverKind::Incomplete,
            None => LeftoverKind::Worktree,
        };
        let line = PrunedCandidate::new(kind, name.as_str(), "kept", why);
        self.lines.push(line);
    }

    fn found(&mut self, name: &WorktreeName, mut found: NameLeftovers) {
        for leftover in std::mem::take(&mut found.all) {
            if leftover.remedy == Some(Remedy::RemoveWorktree) {
                if let Some(known) = found.known.take() {
                    self.worktree(known, Some(leftover.why));
                }
            } else {
                self.clear(leftover, Some(name), Some(&found));
            }
        }
        if let (true, true, Some(known)) = (self.selection.selects(), found.is_there, found.known) {
            self.worktree(known, None);
        }
    }

    /// Takes a worktree whose lock is ours: for `why`, or because it is selected.
    fn worktree(&mut self, known: Worktree, why: Option<String>) {
        let name = known.record.name.to_string();
        match self.try_worktree(known, why) {
            Ok(line) => self.lines.push(line),
            Err(error) => {
                // whatever was half done is not as it was
                self.around = None;
                self.failed(LeftoverKind::Worktree, &name, &error);
            }
        }
    }

    fn try_worktree(
        &mut self,
        known: Worktree,
        why: Option<String>,
    ) -> Result<PrunedCandidate, Error> {
        let repository = self.repository;
        let name = known.record.name.to_string();
        let asked = self.selection.older_than;
        let mut idleness = Idleness {
            owner: read_owner(&known),
            idle: asked.and_then(|_| read_idle(repository, &known, self.now)),
            commits: None,
        };
        let mut selected = match why {
            Some(why) => Selected::Yes(why),
            None => select(self.selection, &idleness),
        };
        let kept = |why| PrunedCandidate::new(LeftoverKind::Worktree, &name, "kept", why);
        if let Selected::No(why) = selected {
            return Ok(kept(why));
        }
        let is_forced = self.options.force > 0 && !self.options.dry_run;
        let whole = is_forced && selected != Selected::LookAtCommits;
        let mut leaving = Leaving::read(repository, known, whole)?;
        let around = match self.around.take() {
            Some(around) => around,
            None => Around::read(repository)?,
        };
        leaving.read_facts(repository, &around, &self.leaving)?;
        if let (Selected::LookAtCommits, Some(survey), Some(facts)) =
            (&selected, &leaving.survey, &leaving.facts)
        {
            let commits = read_commits(repository, &around, &leaving.known, survey, facts)?;
            idleness.commits = Some(commits);
            selected = select(self.selection, &idleness);
        }
        match selected {
            Selected::Yes(why) => self.remove(&leaving, around, why),
            Selected::No(why) => {
                self.around = Some(around);
                Ok(kept(why))
            }
            Selected::LookAtCommits => {
                self.around = Some(around);
                Ok(kept("its removal has begun meanwhile".to_owned()))
            }
        }
    }

    /// `remove` has the last word.
    fn remove(
        &mut self,
        leaving: &Leaving,
        around: Around,
        why: String,
    ) -> Result<PrunedCandidate, Error> {
        let allowed = RemoveOptions {
            force: self.options.force,
            ..RemoveOptions::default()
        };
        let told = leaving
            .facts
            .iter()
            .flat_map(|facts| notes(facts, &allowed));
        let record = &leaving.known.record;
        let mut line = PrunedCandidate::new(
            LeftoverKind::Worktree,
            record.name.as_str(),
            self.done(),
            why,
        );
        let plan = match leaving.plan(&allowed) {
            Ok(plan) => plan,
            Err(refusal) => {
                self.around = Some(around);
                line.why = format!("{}; {}", refusal.reason(), line.why);
                line.help = Some(refusal.advice());
                line.done = "kept";
                return Ok(line);
            }
        };
        self.notes.extend(told);
        if self.options.dry_run {
            self.around = Some(around);
            if record.branch_made {
                self.leaving.push(record.branch.clone());
            }
            set_branch(&mut line, record, &plan.branch);
            return Ok(line);
        }
        let environment = &self.session.environment;
        let left = leaving.apply(&plan, self.repository, environment, &Session::now())?;
        self.notes.extend(left.notes);
        set_branch(&mut line, record, &left.branch);
        line.trash = left.trash.as_ref().map(TrashField::from);
        Ok(line)
    }

    /// What waits to be deleted, by now also what went in this call.
    fn bin(&mut self) {
        let kind = LeftoverKind::Deleted;
        let path = format!("{WORKTREES}/{DELETED}");
        let went = |line: &PrunedCandidate| {
            let goes = matches!(line.kind, LeftoverKind::Worktree | LeftoverKind::Trash);
            goes && line.done == "removed"
        };
        let has_trash = self.lines.iter().any(|line| line.trash.is_some());
        if !files::exists(&self.repository.root.join(&path)) && !has_trash {
            return;
        }
        let why = if self.options.dry_run {
            "it waits to be deleted"
        } else {
            "it waited to be deleted"
        };
        let line = PrunedCandidate::new(kind, &path, self.done(), why.to_owned());
        if self.options.dry_run {
            self.lines.push(line);
            return;
        }
        match emptying::empty_soon(self.repository, &self.session.binary, has_trash) {
            Ok(left) if left.is_empty() => {
                if !self.lines.iter().any(went) {
                    self.lines.push(line);
                }
            }
            Ok(left) => {
                let error = std::io::Error::other(left.join("; "));
                let error = crate::disk::DiskError::new(format!("empty {path}"), error);
                self.failed(kind, &path, &error.into());
            }
            Err(error) => self.failed(kind, &path, &error),
        }
    }
}
