//! `git agentwt prune`: removes what is left over, and with flags worktrees that are done; never
//! work.
//!
//! Names are taken one by one, each under its own lock: what is decided is read under it.

pub mod arguments;
pub mod select;

use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::leftover;
use crate::actions::leftover::find::NameLeftovers;
use crate::actions::leftover::{Leftover, LeftoverKind, find};
use crate::actions::remove::decide::RemoveRefusal;
use crate::actions::remove::facts::SharedFacts;
use crate::actions::remove::plan::{BranchFate, RemoveOptions, RemovePlan};
use crate::actions::remove::{Look, RemovalCandidate};
use crate::actions::trash::empty::{TrashChange, empty_soon};
use crate::actions::trash::entry::Trashed;
use crate::actions::trash::list::list;
use crate::answer::Answer;
use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::commands::prune::arguments::Prune;
use crate::commands::prune::select::{
    PruneChoice, PruneCriteria, read_idle, select, select_by_commits, select_by_owner, selects,
};
use crate::commands::{Outcome, Session};
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::lock::Lock;
use crate::disk::trash_bin::{TRASH, TrashBin};
use crate::record::worktree::{Intent, Record};
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::{BranchName, WorktreeName};
use crate::words::path::escape_for_terminal;
use crate::words::text::{one_line, would};
use crate::worktree::loaded::{Worktree, whole_records};
use crate::worktree::repository::{Repository, WORKTREES};

/// The answer of `prune`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PruneAnswer {
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// The candidates.
    pub candidates: Vec<PrunedCandidate>,
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PrunedCandidate {
    /// `removed`, `would-remove`, `kept` or `failed`.
    #[schemars(with = "String")]
    pub done: PruneOutcome,
    /// `worktree`, `trash`, `lock`, …
    #[schemars(with = "String")]
    pub kind: LeftoverKind,
    /// The name or the path.
    pub what: String,
    /// Why.
    pub why: String,
    /// How to go on; absent if there is nothing more to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The branch of a removed worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether the branch was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_deleted: Option<bool>,
    /// What is kept of a removed worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash: Option<Trashed>,
    /// The branch and its fate in words.
    #[serde(skip)]
    pub branch_words: String,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PruneOutcome {
    Removed,
    /// It would be removed (`-n`).
    WouldRemove,
    Kept,
    /// It could not be removed.
    Failed,
}

impl PruneOutcome {
    /// The word in every output format.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::WouldRemove => "would-remove",
            Self::Kept => "kept",
            Self::Failed => "failed",
        }
    }
}

/// Holds what one call works with.
struct Pruning<'a> {
    session: &'a Session,
    repository: &'a Repository,
    options: &'a Prune,
    now: i64,
    /// What git has, read anew when something went.
    shared: Option<SharedFacts>,
    /// The branches that would go (`-n`).
    leaving_branches: Vec<BranchName>,
    /// The branches of worktrees, which are work in progress; read where `--merged` asks for them.
    task_branches: Vec<BranchName>,
    lines: Vec<PrunedCandidate>,
    notes: Vec<String>,
    /// The status of the first failure.
    failed: Option<ExitCode>,
}

/// Removes what is left over, in this order:
///
/// 1. lock files that no process holds;
/// 2. name by name, what is left over of the name, and its worktree if the options select it;
/// 3. what is left over and belongs to no name;
/// 4. what has expired in the trash, with what went there in this call.
///
/// # Errors
/// Fails when the candidates cannot be found. A candidate that cannot be removed is a line of the
/// answer; the first one sets the exit status.
pub fn run(session: &Session, options: &Prune) -> Result<Outcome<PruneAnswer>, Error> {
    let repository = session.repository_to_change()?;
    if !options.dry_run {
        session.require_no_agent(&repository, &session.command_line)?;
    }
    let mut pruning = Pruning {
        session,
        repository: &repository,
        options,
        now: jiff::Timestamp::now().as_second(),
        shared: None,
        leaving_branches: Vec::new(),
        task_branches: if options.merged {
            task_branches(&repository)?
        } else {
            Vec::new()
        },
        lines: Vec::new(),
        notes: Vec::new(),
        failed: None,
    };
    // 1
    pruning.own_locks()?;
    // 2
    for name in find::all_names(&repository)? {
        session.check()?;
        if let Err(error) = pruning.name(&name) {
            pruning.failed(LeftoverKind::Worktree, name.as_str(), &error);
        }
    }
    session.check()?;
    // 3
    let worktrees: Vec<Worktree> = whole_records(&repository)?.collect();
    let in_trash = list(&repository)?;
    for leftover in find::shared(&repository, &worktrees, &in_trash, pruning.now)? {
        pruning.clear(leftover, None);
    }
    // 4
    pruning.empty_trash();
    Ok(Outcome {
        notes: pruning.notes,
        exit: pruning.failed.unwrap_or(ExitCode::Success),
        answer: PruneAnswer {
            dry_run: options.dry_run,
            candidates: pruning.lines,
        },
    })
}

/// The branches of linked worktrees, in this repository; that of a clone is in the clone.
fn task_branches(repository: &Repository) -> Result<Vec<BranchName>, Error> {
    let mut branches = Vec::new();
    for worktree in whole_records(repository)? {
        if worktree.record.strategy == Strategy::Worktree {
            branches.push(worktree.record.branch);
        }
    }
    Ok(branches)
}

impl Pruning<'_> {
    fn failed(&mut self, kind: LeftoverKind, what: &str, error: &Error) {
        self.failed = self.failed.or(Some(error.exit_code()));
        let help = miette::Diagnostic::help(error).map(|help| help.to_string());
        let line = PrunedCandidate::new(kind, what, PruneOutcome::Failed, error.to_string());
        self.lines.push(PrunedCandidate { help, ..line });
    }

    /// The line of something that is gone, or would be.
    fn gone(&self, kind: LeftoverKind, what: &str, why: impl Into<String>) -> PrunedCandidate {
        let done = if self.options.dry_run {
            PruneOutcome::WouldRemove
        } else {
            PruneOutcome::Removed
        };
        PrunedCandidate::new(kind, what, done, why)
    }

    /// Clears a leftover, and adds its line; no line if something else is there by now.
    fn clear(&mut self, leftover: Leftover, intent: Option<&Intent>) {
        let kind = leftover.kind;
        let what = &leftover.what;
        let mut line = self.gone(kind, what, &leftover.why);
        if !leftover.goes {
            line.done = PruneOutcome::Kept;
            line.help = leftover.help;
        } else if !self.options.dry_run {
            match leftover::clear(self.repository, &leftover, intent) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.failed(kind, what, &error),
            }
        }
        self.lines.push(line);
    }

    /// Removes our lock files that no process holds: to take a lock and let go of it removes it.
    fn own_locks(&mut self) -> Result<(), Error> {
        for lock in find::dead_locks(self.repository)? {
            let what = match lock.path.strip_prefix(&self.repository.common_dir) {
                Ok(path) => format!("@git/{path}"),
                Err(_) => lock.path.to_string(),
            };
            if !self.options.dry_run {
                match Lock::if_free(&lock) {
                    Ok(Some(_)) => {}
                    Ok(None) => continue,
                    Err(error) => {
                        self.failed(LeftoverKind::Lock, &what, &error.into());
                        continue;
                    }
                }
            }
            let line = self.gone(LeftoverKind::Lock, &what, "no process holds it");
            self.lines.push(line);
        }
        Ok(())
    }

    /// Prunes everything of one name. It is read twice: without the lock, to see whether there is
    /// anything to do, and again under the lock.
    fn name(&mut self, name: &WorktreeName) -> Result<(), Error> {
        let leftovers = find::of_name(self.repository, name, self.now)?;
        let is_candidate = selects(self.options) && leftovers.is_there;
        if leftovers.all.is_empty() && !is_candidate {
            return Ok(());
        }
        let lock = self.repository.name_lock(name);
        if self.options.dry_run {
            if lock.is_held() {
                self.lines.push(in_use(name, &leftovers, lock.holder()));
                return Ok(());
            }
            return self.leftovers_of_name(leftovers);
        }
        let Some(_held) = Lock::if_free(&lock)? else {
            self.lines.push(in_use(name, &leftovers, lock.holder()));
            return Ok(());
        };
        self.leftovers_of_name(find::of_name(self.repository, name, self.now)?)
    }

    /// Prunes what is left over of a name, whose lock is ours, and the worktree if it is selected.
    fn leftovers_of_name(&mut self, leftovers: NameLeftovers) -> Result<(), Error> {
        let mut remaining = leftovers.worktree;
        for leftover in leftovers.all {
            if leftover.kind != LeftoverKind::Worktree {
                self.clear(leftover, leftovers.intent.as_ref());
            } else if let Some(worktree) = remaining.take() {
                let name = worktree.record.name.to_string();
                if let Err(error) = self.worktree(worktree, Some(leftover.why)) {
                    self.failed(LeftoverKind::Worktree, &name, &error);
                }
            }
        }
        if selects(self.options)
            && leftovers.is_there
            && let Some(worktree) = remaining
        {
            self.worktree(worktree, None)?;
        }
        Ok(())
    }

    /// Prunes a worktree whose lock is ours: for this reason, or if the options select it.
    fn worktree(&mut self, worktree: Worktree, why: Option<String>) -> Result<(), Error> {
        // taken, not borrowed: after a removal, or one that failed halfway, they are read anew
        let shared = match self.shared.take() {
            Some(shared) => shared,
            None => SharedFacts::read(self.repository)?,
        };
        let line = self.judge(worktree, why, &shared)?;
        if line.done != PruneOutcome::Removed {
            self.shared = Some(shared);
        }
        self.lines.push(line);
        Ok(())
    }

    /// Removes a worktree that is left over, for this reason, or that the options select; else says
    /// why it stays. Commits are read last, and only where they decide: that takes long.
    fn judge(
        &mut self,
        worktree: Worktree,
        why_leftover: Option<String>,
        shared: &SharedFacts,
    ) -> Result<PrunedCandidate, Error> {
        let repository = self.repository;
        let options = self.options;
        let name = worktree.record.name.to_string();
        let mut criteria = self.read_criteria(&worktree);
        let mut choice = match why_leftover {
            Some(reason) => Some(PruneChoice::Remove(reason)),
            None => select(options, &criteria),
        };
        if let Some(PruneChoice::Keep(reason)) = choice {
            return Ok(kept(&name, reason));
        }
        // `--force` removes it whatever its files hold; where its commits decide, a look reads them
        let look = if options.force > 0 && !options.dry_run && choice.is_some() {
            Look::WithoutFiles
        } else {
            Look::Everything
        };
        let branches = match choice {
            Some(_) => &self.leaving_branches,
            None => &self.task_branches,
        };
        let candidate = RemovalCandidate::read(repository, worktree, shared, branches, look)?;
        if choice.is_none()
            && let Some(survey) = &candidate.survey
        {
            let by_commits = select_by_commits(repository, shared, &candidate, survey, branches)?;
            criteria.commits = Some(by_commits);
            choice = select(options, &criteria);
        }
        match choice {
            Some(PruneChoice::Remove(reason)) => self.remove(&candidate, &reason),
            Some(PruneChoice::Keep(reason)) => Ok(kept(&name, reason)),
            // a removal that has begun has no survey
            None => Ok(kept(&name, "its removal has begun meanwhile".to_owned())),
        }
    }

    /// Reads what decides about a worktree, without its commits, which take long.
    fn read_criteria(&self, worktree: &Worktree) -> PruneCriteria {
        let owner = worktree.record.owner.as_ref();
        let idle = match self.options.older_than {
            Some(_) => read_idle(self.repository, worktree, self.now),
            None => None,
        };
        PruneCriteria {
            owner: select_by_owner(owner.map(|owner| (&*owner.id, owner.alive()))),
            idle,
            commits: None,
        }
    }

    /// Removes a worktree as `git agentwt remove` would; if that refuses, the worktree stays.
    fn remove(
        &mut self,
        candidate: &RemovalCandidate,
        why: &str,
    ) -> Result<PrunedCandidate, Error> {
        let allowed = RemoveOptions {
            force: self.options.force,
            ..RemoveOptions::default()
        };
        let record = &candidate.worktree.record;
        let line = self.gone(LeftoverKind::Worktree, record.name.as_str(), why);
        let mut plan = match candidate.plan(&allowed) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(line.refused(refusal)),
        };
        if self.options.dry_run {
            if plan.branch == BranchFate::Deleted {
                self.leaving_branches.push(record.branch.clone());
            }
        } else {
            let environment = &self.session.environment;
            let now = &Session::now();
            let applied = candidate.apply(&mut plan, self.repository, environment, &allowed, now);
            if let Err(error) = applied {
                // it may refuse too: it looks again when the worktree is in the trash
                return match error.find::<RemoveRefusal>().cloned() {
                    Some(refusal) => Ok(line.refused(refusal)),
                    None => Err(error),
                };
            }
        }
        self.notes.append(&mut plan.notes);
        Ok(line.with_branch(record, plan))
    }

    /// Deletes what has expired in the trash, with what went there in this call.
    fn empty_trash(&mut self) {
        let trash = format!("{WORKTREES}/{TRASH}");
        let expired = match self.place_of_expired() {
            Ok(place) => place,
            Err(error) => return self.failed(LeftoverKind::Deleted, &trash, &error),
        };
        let entered = self.lines.iter().filter_map(|line| line.trash.as_ref());
        let change = TrashChange::of(entered.map(Trashed::term));
        if expired.is_none() && change == TrashChange::Unchanged {
            return;
        }
        let path = expired.map_or(trash, |place| format!("{WORKTREES}/{place}"));
        if self.options.dry_run {
            let line = self.gone(LeftoverKind::Deleted, &path, "it waits to be deleted");
            return self.lines.push(line);
        }
        let remaining = match empty_soon(self.repository, &self.session.binary, change) {
            Ok(remaining) => remaining,
            Err(error) => return self.failed(LeftoverKind::Deleted, &path, &error),
        };
        if !remaining.is_empty() {
            let why = std::io::Error::other(remaining.join("; "));
            let error = DiskError::new(format!("empty {path}"), why);
            return self.failed(LeftoverKind::Deleted, &path, &error.into());
        }
        // a worktree that went in this call has a line of its own
        if !self.lines.iter().any(PrunedCandidate::is_removed_worktree) {
            let line = self.gone(LeftoverKind::Deleted, &path, "it waited to be deleted");
            self.lines.push(line);
        }
    }

    /// The directory in which something has expired; `None` if nothing has.
    fn place_of_expired(&self) -> Result<Option<&'static str>, Error> {
        match TrashBin::open(&self.repository.root)? {
            Some(bin) => Ok(bin.place_of_expired()?),
            None => Ok(None),
        }
    }
}

/// The line of a worktree that stays.
fn kept(name: &str, why: String) -> PrunedCandidate {
    PrunedCandidate::new(LeftoverKind::Worktree, name, PruneOutcome::Kept, why)
}

/// The line of a name whose lock another process has.
fn in_use(name: &WorktreeName, leftovers: &NameLeftovers, holder: Option<u32>) -> PrunedCandidate {
    let kind = match leftovers.intent {
        Some(_) => LeftoverKind::Incomplete,
        None => LeftoverKind::Worktree,
    };
    let why = match holder {
        Some(pid) => format!("in use by process {pid}"),
        None => "in use".to_owned(),
    };
    PrunedCandidate::new(kind, name.as_str(), PruneOutcome::Kept, why)
}

impl PrunedCandidate {
    fn new(kind: LeftoverKind, what: &str, done: PruneOutcome, why: impl Into<String>) -> Self {
        Self {
            done,
            kind,
            what: what.to_owned(),
            why: why.into(),
            help: None,
            branch: None,
            branch_deleted: None,
            trash: None,
            branch_words: String::new(),
        }
    }

    /// True for what is there in the end.
    fn stays(&self) -> bool {
        matches!(self.done, PruneOutcome::Kept | PruneOutcome::Failed)
    }

    /// True for what was a worktree until now, in its place or in the trash.
    fn is_removed_worktree(&self) -> bool {
        let was_worktree = matches!(self.kind, LeftoverKind::Worktree | LeftoverKind::Trash);
        was_worktree && self.done == PruneOutcome::Removed
    }

    /// The line of a worktree that `remove` refuses.
    fn refused(self, refusal: RemoveRefusal) -> Self {
        Self {
            done: PruneOutcome::Kept,
            why: format!("{}; {}", refusal.reason, self.why),
            help: Some(refusal.help),
            ..self
        }
    }

    fn with_branch(self, record: &Record, plan: RemovePlan) -> Self {
        let branch = record.branch.to_string();
        let mut words = match plan.branch {
            BranchFate::Gone => String::new(),
            _ => plan.fate(&branch),
        };
        words.push_str(&plan.ignored_words());
        let is_deleted = matches!(plan.branch, BranchFate::Deleted | BranchFate::Private);
        Self {
            branch_words: words,
            branch: Some(branch),
            branch_deleted: Some(is_deleted),
            trash: plan.trash,
            ..self
        }
    }

    fn print(&self, text: &mut Text) {
        let paint = text.paint;
        let what = paint.name(&escape_for_terminal(self.what.as_bytes()));
        let mut why = one_line(&self.why);
        if self.done == PruneOutcome::Failed {
            why = paint.bad(&format!("could not be removed: {why}"));
        }
        if !self.branch_words.is_empty() {
            why.push_str(&format!("; {}", self.branch_words));
        }
        if let Some(kept) = self.trash.as_ref().and_then(Trashed::lasting) {
            why.push_str(&format!("; kept in {kept}"));
        }
        text.line(format!("  {} {what}: {why}", self.kind.as_str()));
        if let Some(help) = &self.help {
            let label = paint.faint("to go on:");
            text.line(format!("    {label} {}", one_line(help)));
        }
    }
}

impl Answer for PruneAnswer {
    const DOCUMENT: &'static str = "prune";

    fn print(&self, text: &mut Text) {
        let mut gone = Vec::new();
        let mut kept = Vec::new();
        for candidate in &self.candidates {
            if candidate.stays() {
                kept.push(candidate);
            } else {
                gone.push(candidate);
            }
        }
        print_part(would(self.dry_run, "removed", "would remove"), &gone, text);
        print_part("kept", &kept, text);
        if self.candidates.is_empty() {
            text.tell("nothing to prune");
        }
    }

    /// The records: what became of it, kind, what, why, how to go on, and where it is kept.
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for candidate in &self.candidates {
            let trash = candidate.trash.as_ref().and_then(Trashed::lasting);
            let fields = [
                candidate.done.as_str(),
                candidate.kind.as_str(),
                &candidate.what,
                &candidate.why,
                candidate.help.as_deref().unwrap_or_default(),
                trash.unwrap_or_default(),
            ];
            rows.push(Row::record(&fields.map(str::as_bytes)));
        }
        rows
    }
}

/// Prints candidates under a heading; nothing where there are none.
fn print_part(heading: &str, candidates: &[&PrunedCandidate], text: &mut Text) {
    if !candidates.is_empty() {
        text.line(text.paint.heading(heading));
    }
    for candidate in candidates {
        candidate.print(text);
    }
}
