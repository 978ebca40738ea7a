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
use crate::actions::remove::facts::SharedFacts;
use crate::actions::remove::plan::{BranchFate, RemoveOptions, RemovePlan, RemoveRefusal};
use crate::actions::remove::{Look, RemovalCandidate};
use crate::actions::trash::empty::{TrashChange, empty_soon};
use crate::actions::trash::entry::Trashed;
use crate::actions::trash::list::list;
use crate::answer::Answer;
use crate::answer::table::Row;
use crate::answer::text::Text;
use crate::commands::prune::arguments::Prune;
use crate::commands::prune::select::{
    Idleness, dead_owner, read_commits, read_idle, select, selects,
};
use crate::commands::{Outcome, Session};
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
    pub done: &'static str,
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
        lines: Vec::new(),
        notes: Vec::new(),
        failed: None,
    };
    pruning.own_locks()?;
    for name in find::all_names(&repository)? {
        session.check()?;
        if let Err(error) = pruning.name(&name) {
            pruning.failed(LeftoverKind::Worktree, name.as_str(), &error);
        }
    }
    session.check()?;
    let worktrees: Vec<Worktree> = whole_records(&repository)?.collect();
    let in_trash = list(&repository)?;
    for leftover in find::shared(&repository, &worktrees, &in_trash, pruning.now)? {
        pruning.clear(leftover, None);
    }
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

impl Pruning<'_> {
    fn failed(&mut self, kind: LeftoverKind, what: &str, error: &Error) {
        self.failed = self.failed.or(Some(error.exit_code()));
        let help = miette::Diagnostic::help(error).map(|help| help.to_string());
        let line = PrunedCandidate::new(kind, what, "failed", error.to_string());
        self.lines.push(PrunedCandidate { help, ..line });
    }

    /// The line of something that is gone, or would be.
    fn gone(&self, kind: LeftoverKind, what: &str, why: impl Into<String>) -> PrunedCandidate {
        let done = would(self.options.dry_run, "removed", "would-remove");
        PrunedCandidate::new(kind, what, done, why)
    }

    /// Clears one, and says so; what is something else by now is no line.
    fn clear(&mut self, leftover: Leftover, intent: Option<&Intent>) {
        let kind = leftover.kind;
        let what = &leftover.what;
        let mut line = self.gone(kind, what, &leftover.why);
        if !leftover.goes {
            line.done = "kept";
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

    /// The lock files of ours that no process holds: to take one and to let go of it removes it.
    fn own_locks(&mut self) -> Result<(), Error> {
        for lock in find::dead_locks(self.repository)? {
            let what = lock.path.strip_prefix(&self.repository.common_dir);
            let what = what.map_or_else(|_| lock.path.to_string(), |path| format!("@git/{path}"));
            let line = self.gone(LeftoverKind::Lock, &what, "no process holds it");
            match (!self.options.dry_run).then(|| Lock::if_free(&lock)) {
                None | Some(Ok(Some(_))) => self.lines.push(line),
                Some(Ok(None)) => {}
                Some(Err(error)) => self.failed(LeftoverKind::Lock, &what, &error.into()),
            }
        }
        Ok(())
    }

    /// Everything of one name: looked at, and if anything is to be done, again under its lock.
    fn name(&mut self, name: &WorktreeName) -> Result<(), Error> {
        let mut found = find::of_name(self.repository, name, self.now)?;
        if found.all.is_empty() && !(selects(self.options) && found.is_there) {
            return Ok(());
        }
        let lock = self.repository.name_lock(name);
        let mut held = None;
        let is_free = if self.options.dry_run {
            !lock.is_held()
        } else {
            held = Lock::if_free(&lock)?;
            held.is_some()
        };
        if !is_free {
            let kind = match found.intent {
                Some(_) => LeftoverKind::Incomplete,
                None => LeftoverKind::Worktree,
            };
            let by = lock.holder().map(|pid| format!(" by process {pid}"));
            let why = format!("in use{}", by.unwrap_or_default());
            let line = PrunedCandidate::new(kind, name.as_str(), "kept", why);
            self.lines.push(line);
            return Ok(());
        }
        if held.is_some() {
            found = find::of_name(self.repository, name, self.now)?;
        }
        self.leftovers_of_name(found)
    }

    /// What is left over of a name, whose lock is ours.
    fn leftovers_of_name(&mut self, found: NameLeftovers) -> Result<(), Error> {
        let mut worktree = found.worktree;
        for leftover in found.all {
            if leftover.kind != LeftoverKind::Worktree {
                self.clear(leftover, found.intent.as_ref());
            } else if let Some(worktree) = worktree.take() {
                let name = worktree.record.name.to_string();
                if let Err(error) = self.worktree(worktree, Some(leftover.why)) {
                    self.failed(LeftoverKind::Worktree, &name, &error);
                }
            }
        }
        if selects(self.options)
            && found.is_there
            && let Some(worktree) = worktree
        {
            self.worktree(worktree, None)?;
        }
        Ok(())
    }

    /// Takes a worktree whose lock is ours: for `why`, or because it is selected.
    fn worktree(&mut self, worktree: Worktree, why: Option<String>) -> Result<(), Error> {
        // what is half done when it fails is not as it was
        let shared = match self.shared.take() {
            Some(shared) => shared,
            None => SharedFacts::read(self.repository)?,
        };
        let line = self.judge(worktree, why, &shared)?;
        if line.done != "removed" {
            self.shared = Some(shared);
        }
        self.lines.push(line);
        Ok(())
    }

    /// Removes a worktree, or says why it stays.
    fn judge(
        &mut self,
        worktree: Worktree,
        why: Option<String>,
        shared: &SharedFacts,
    ) -> Result<PrunedCandidate, Error> {
        let repository = self.repository;
        let options = self.options;
        let name = worktree.record.name.to_string();
        let mut idleness = self.read_idleness(&worktree);
        let mut selected = match why {
            Some(why) => Some(Ok(why)),
            None => select(options, &idleness),
        };
        let kept = |why| PrunedCandidate::new(LeftoverKind::Worktree, &name, "kept", why);
        if let Some(Err(why)) = selected {
            return Ok(kept(why));
        }
        let look = if options.force > 0 && !options.dry_run && selected.is_some() {
            Look::WithoutFiles
        } else {
            Look::Everything
        };
        let branches = &self.leaving_branches;
        let candidate = RemovalCandidate::read(repository, worktree, shared, branches, look)?;
        if let (None, Some(survey)) = (&selected, &candidate.survey) {
            idleness.commits = Some(read_commits(repository, shared, &candidate, survey)?);
            selected = select(options, &idleness);
        }
        match selected {
            Some(Ok(why)) => self.remove(&candidate, &why),
            Some(Err(why)) => Ok(kept(why)),
            None => Ok(kept("its removal has begun meanwhile".to_owned())),
        }
    }

    fn read_idleness(&self, worktree: &Worktree) -> Idleness {
        let owner = worktree.record.owner.as_ref();
        let idle = match self.options.older_than {
            Some(_) => read_idle(self.repository, worktree, self.now),
            None => None,
        };
        Idleness {
            owner: dead_owner(owner.map(|owner| (&*owner.id, owner.alive()))),
            idle,
            commits: None,
        }
    }

    /// `remove` has the last word.
    fn remove(
        &mut self,
        candidate: &RemovalCandidate,
        why: &str,
    ) -> Result<PrunedCandidate, Error> {
        let options = RemoveOptions {
            force: self.options.force,
            ..RemoveOptions::default()
        };
        let record = &candidate.worktree.record;
        let line = self.gone(LeftoverKind::Worktree, record.name.as_str(), why);
        let mut plan = match candidate.plan(&options) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(line.refused(refusal)),
        };
        if self.options.dry_run {
            if record.branch_made {
                self.leaving_branches.push(record.branch.clone());
            }
        } else {
            let environment = &self.session.environment;
            let now = &Session::now();
            let applied = candidate.apply(&mut plan, self.repository, environment, &options, now);
            if let Err(error) = applied {
                let refusal = error.find::<RemoveRefusal>().cloned();
                return refusal.map(|refusal| line.refused(refusal)).ok_or(error);
            }
        }
        self.notes.append(&mut plan.notes);
        Ok(line.with_branch(record, plan))
    }

    /// Deletes what has expired in the trash, by now also what went in this call.
    fn empty_trash(&mut self) {
        let entered = self.lines.iter().filter_map(|line| line.trash.as_ref());
        let change = TrashChange::of(entered.map(Trashed::term));
        let path_of = |place: &str| format!("{WORKTREES}/{place}");
        let place = match self.place_of_expired() {
            Ok(place) => place,
            Err(error) => return self.failed(LeftoverKind::Deleted, &path_of(TRASH), &error),
        };
        if place.is_none() && change == TrashChange::Unchanged {
            return;
        }
        let path = path_of(place.unwrap_or(TRASH));
        if self.options.dry_run {
            let line = self.gone(LeftoverKind::Deleted, &path, "it waits to be deleted");
            return self.lines.push(line);
        }
        match empty_soon(self.repository, &self.session.binary, change) {
            Ok(left) if left.is_empty() => {
                if !self.lines.iter().any(PrunedCandidate::is_removed_worktree) {
                    let line = self.gone(LeftoverKind::Deleted, &path, "it waited to be deleted");
                    self.lines.push(line);
                }
            }
            Ok(left) => {
                let error = std::io::Error::other(left.join("; "));
                let error = DiskError::new(format!("empty {path}"), error);
                self.failed(LeftoverKind::Deleted, &path, &error.into());
            }
            Err(error) => self.failed(LeftoverKind::Deleted, &path, &error),
        }
    }

    fn place_of_expired(&self) -> Result<Option<&'static str>, Error> {
        match TrashBin::open(&self.repository.root)? {
            Some(bin) => Ok(bin.place_of_expired()?),
            None => Ok(None),
        }
    }
}

impl PrunedCandidate {
    fn new(kind: LeftoverKind, what: &str, done: &'static str, why: impl Into<String>) -> Self {
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

    /// True for what was a worktree until now, in its place or in the trash.
    fn is_removed_worktree(&self) -> bool {
        let was_worktree = matches!(self.kind, LeftoverKind::Worktree | LeftoverKind::Trash);
        was_worktree && self.done == "removed"
    }

    /// The line of a worktree that stays.
    fn refused(self, refusal: RemoveRefusal) -> Self {
        Self {
            done: "kept",
            why: format!("{}; {}", refusal.reason, self.why),
            help: Some(refusal.help),
            ..self
        }
    }

    fn with_branch(self, record: &Record, plan: RemovePlan) -> Self {
        let branch = record.branch.to_string();
        let words = match plan.branch {
            BranchFate::Gone => String::new(),
            _ => plan.fate(&branch),
        };
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
        if self.done == "failed" {
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
        let heading = would(self.dry_run, "removed", "would remove");
        let stays = |one: &PrunedCandidate| matches!(one.done, "kept" | "failed");
        for (heading, is_kept) in [(heading, false), ("kept", true)] {
            let all = self.candidates.iter();
            let mut all = all.filter(|one| stays(one) == is_kept).peekable();
            if all.peek().is_some() {
                text.line(text.paint.heading(heading));
            }
            all.for_each(|one| one.print(text));
        }
        if self.candidates.is_empty() {
            text.tell("nothing to prune");
        }
    }

    /// The records: what became of it, kind, what, why, how to go on, and where it is kept.
    fn rows(&self) -> Vec<Row> {
        let row = |one: &PrunedCandidate| {
            let help = one.help.as_deref().unwrap_or_default();
            let kept = one.trash.as_ref().and_then(Trashed::lasting);
            let kept = kept.unwrap_or_default();
            let fields = [one.done, one.kind.as_str(), &one.what, &one.why, help, kept];
            Row::record(&fields.map(str::as_bytes))
        };
        self.candidates.iter().map(row).collect()
    }
}
