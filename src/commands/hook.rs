//! `git-agentwt hook <event>`: what the installed hooks call. It warns early and puts write bits
//! back; the truth is `verify`.

use std::ffi::OsString;
use std::sync::atomic::Ordering;

use camino::Utf8Path;
use clap::Args;
use serde::Serialize;

use crate::actions::scope_edit::{set_bits, write_bits};
use crate::answer::Answer;
use crate::answer::text::Text;
use crate::answer::verdict::VerdictReport;
use crate::commands::{Outcome, Session};
use crate::disk::files;
use crate::disk::locked_file::LockedFile;
use crate::disk::mode::{BitsChange, ChangedBits, SeenBits, WriteBits, set_write_bits};
use crate::disk::scan::walk::WalkMode;
use crate::git::hooks::journal::Journal;
use crate::git::index::OpenIndex;
use crate::inventory::manifest::{IndexStat, Stat};
use crate::judge::change::Seen;
use crate::judge::finding::{Reason, Report, VerifyOptions};
use crate::scope::rule::EntryKind;
use crate::truth::options::SurveyOptions;
use crate::truth::{SurveyExtent, collect_changes, collect_with, head};
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::path::RepoPath;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{RecordState, Worktree, by_path, hooks_of};
use crate::worktree::repository::Repository;

/// Handle a hook event; called by the installed hooks, not by users
#[derive(Args, Debug)]
pub struct Hook {
    /// The event, as githooks(5) names it
    #[arg(value_name = "event")]
    pub event: String,
    /// The event's own arguments, after `--` so that none is taken for an option
    #[arg(
        value_name = "arg",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub args: Vec<OsString>,
}

/// What a hook reports: nothing, or violations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HookAnswer {
    /// The verdict, if there are violations that the last verification did not find.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictReport>,
    /// Whether a commit is refused.
    pub refused: bool,
}

impl Answer for HookAnswer {
    const DOCUMENT: &'static str = "hook";
    const IGNORES_QUIET: bool = true;

    fn print(&self, text: &mut Text) {
        let Some(verdict) = &self.verdict else {
            return;
        };
        let name = verdict.verified();
        let (one, many) = if self.refused {
            ("violation", "violations")
        } else {
            ("new violation", "new violations")
        };
        let mut violations = verdict.violations.iter();
        let has_path = violations.any(|finding| finding.change.place.path().is_some());
        let command = if has_path { "restore" } else { "verify" };
        let line = verdict.in_a_line(text.paint, one, many);
        if !self.refused {
            text.tell(format!("{line}; git agentwt {command} {name}"));
            return;
        }
        text.tell(line);
        if has_path {
            text.tell("agentwt: the commit is refused; to save and restore these paths:");
            text.tell(format!("  git agentwt restore {name}"));
        } else {
            text.tell("agentwt: the commit is refused");
        }
    }
}

/// Acts on an event of githooks(5).
///
/// 1. Finds the worktree; in any other directory nothing is done.
/// 2. Before a commit or the move of the branch, decides whether that is refused.
/// 3. After anything else, gives back the write bits that git may have taken.
/// 4. Verifies what may have been committed, and reports what the last verification did not find.
///
/// # Errors
/// Fails when the facts cannot be read; the script that calls ignores that.
pub fn run(session: &Session, hook: &Hook) -> Result<Outcome<HookAnswer>, Error> {
    // 1
    let home = session.repository()?;
    let Some(worktree) = find_worktree(&home)? else {
        return Ok(Outcome::done(HookAnswer::default()));
    };
    // writes down for the scripts where the user's hooks are; where this fails, they ask git
    let _ = hooks_of(&home.git, &worktree.record).and_then(|hooks| hooks.refresh());
    let repository = worktree.repository(&home);
    // 2
    match hook.event.as_str() {
        "pre-commit" => return before_commit(session, &repository, &worktree),
        "ref-update" => return before_ref_update(session, &repository, &worktree),
        _after => {}
    }
    // 3
    let due = due_work(hook, &repository, &worktree)?;
    let is_ended = hook.event == "post-rewrite";
    if due.write_bits && (is_ended || !head::has_steps_to_come(&worktree.record)?) {
        put_bits_back(session, &repository, &worktree)?;
    }
    // 4
    if !due.verification {
        return Ok(Outcome::done(HookAnswer::default()));
    }
    let changes = collect_changes(&repository, &worktree, extent(session, &worktree))?;
    let mut report = worktree.judge(changes, VerifyOptions::default());
    let last = worktree.last_verification();
    worktree.write_verification(&report, &Session::now())?;
    // only new findings are reported; after a reset or a rebase, all count as new
    if let Some(last) = last
        && repository
            .git
            .is_ancestor(&last.head, &report.changes.head)?
    {
        report.findings.retain(|finding| !last.has(finding));
    }
    Ok(Outcome::done(HookAnswer {
        verdict: violated(&worktree, &report),
        refused: false,
    }))
}

/// Finds the worktree that a hook runs in; none in another directory, in a copy of the repository,
/// and while the worktree is being created or removed.
fn find_worktree(home: &Repository) -> Result<Option<Worktree>, Error> {
    let Some(name) = &home.inside else {
        return by_path(home, &home.start);
    };
    match RecordState::read(home, name) {
        Ok(RecordState::Complete(worktree)) => Ok(Some(*worktree)),
        Ok(RecordState::Incomplete(_) | RecordState::Missing) => Ok(None),
        Err(error) => match error.find() {
            Some(WorktreeFault::Elsewhere { .. }) => Ok(None),
            _ => Err(error),
        },
    }
}

/// What is due after an event.
struct DueWork {
    /// Whether write bits may have been lost.
    write_bits: bool,
    /// Whether commits may have come that are not verified.
    verification: bool,
}

/// What is due after an event of githooks(5); nothing after one that is unknown.
fn due_work(hook: &Hook, repository: &Repository, worktree: &Worktree) -> Result<DueWork, Error> {
    let record = &worktree.record;
    // the commits of a rebase are verified at its end, by `post-rewrite`
    let is_rebasing = head::in_rebase(record);
    Ok(match hook.event.as_str() {
        "post-index-change" => {
            let files_were_updated = hook.flag(0);
            DueWork {
                write_bits: files_were_updated,
                verification: false,
            }
        }
        "post-checkout" => {
            let is_of_branch = hook.flag(2);
            let may_bring_commits = is_of_branch && !is_rebasing;
            DueWork {
                write_bits: true,
                verification: may_bring_commits && !head::starts_rebase(repository, worktree)?,
            }
        }
        "post-applypatch" => DueWork {
            write_bits: true,
            verification: !is_rebasing,
        },
        "post-merge" | "post-rewrite" => DueWork {
            write_bits: true,
            verification: true,
        },
        "post-commit" => {
            // of several commits that are picked or reverted (git-cherry-pick(1), "SEQUENCER"), the
            // last has no event after this one
            let is_picking = files::exists(&record.admin_dir.join("sequencer"));
            DueWork {
                write_bits: is_picking,
                verification: !is_rebasing,
            }
        }
        _ => DueWork {
            write_bits: false,
            verification: false,
        },
    })
}

impl Hook {
    /// True if git gave the event this argument as `1` (githooks(5)).
    fn flag(&self, index: usize) -> bool {
        self.args.get(index).is_some_and(|argument| argument == "1")
    }
}

/// The verdict of a report with violations; `None` if there are none.
fn violated(worktree: &Worktree, report: &Report) -> Option<VerdictReport> {
    if report.valid() {
        return None;
    }
    let record = &worktree.record;
    let name = record.name.as_str();
    Some(VerdictReport::worktree(name, record.path.clone(), report))
}

/// How large an index may be, in bytes, whose files are all looked at by a hook: some 2,000 files.
const SMALL_INDEX: u64 = 256 << 10;

/// How much a hook looks at: git waits for it, so in a large worktree only at commits.
fn extent(session: &Session, worktree: &Worktree) -> SurveyExtent<'static> {
    let index = files::stat(&worktree.record.admin_dir.join("index"));
    let is_small = index.is_none_or(|index| index.size <= SMALL_INDEX);
    if is_small || session.walking == WalkMode::Full {
        SurveyExtent::Everything
    } else {
        SurveyExtent::Commits
    }
}

/// Gives the write bits back that git took, of tracked and of placed files.
fn put_bits_back(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
) -> Result<(), Error> {
    // a lock that is left behind would stop every later git
    session.idle.store(false, Ordering::SeqCst);
    let restored = restore_tracked_bits(repository, worktree);
    session.idle.store(true, Ordering::SeqCst);
    restored?;
    let placed = worktree.placed()?;
    let root = &worktree.record.path;
    let scope = &worktree.scope;
    set_bits(root, scope, &[], placed.files(), BitsChange::Apply)?;
    Ok(())
}

/// Decides on the commit that git is about to make, by the index that git names to the hook. A
/// violation that is only on disk or only announced, or that this commit reverts, is no reason to
/// refuse it.
fn before_commit(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
) -> Result<Outcome<HookAnswer>, Error> {
    let index = session.hook_index.as_ref();
    let terms = SurveyOptions {
        index: index.map(|path| session.resolve(path)),
        ..SurveyOptions::default()
    };
    let survey = collect_with(repository, worktree, &terms)?;
    let announced = &survey.states.index.announced;
    let mut report = worktree.judge(survey.changes, VerifyOptions::default());
    report.findings.retain(|finding| match finding.reason {
        // other worktrees can change these too: no reason to refuse this commit
        Reason::Shared | Reason::History => false,
        Reason::Integrity => true,
        Reason::ReadOnly | Reason::Excluded | Reason::Outside => {
            let path = finding.change.place.path();
            let is_announced = path.is_some_and(|path| announced.contains(path));
            finding.change.seen.contains(&Seen::Index) && !is_announced
        }
    });
    Ok(decision(worktree, &report))
}

/// Refuses a commit that has violations.
fn decision(worktree: &Worktree, report: &Report) -> Outcome<HookAnswer> {
    let refused = !report.valid();
    let verdict = violated(worktree, report);
    let mut outcome = Outcome::done(HookAnswer { verdict, refused });
    if refused {
        outcome.exit = ExitCode::Violations;
    }
    outcome
}

/// Decides on a commit that pre-commit did not see (`--no-verify`, a merge), before git moves the
/// worktree's branch onto it. Standard input is that of the hook reference-transaction; the script
/// calls only where a refusal does no harm.
fn before_ref_update(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
) -> Result<Outcome<HookAnswer>, Error> {
    let own = worktree.record.branch.full_ref();
    let moved = Journal::parse(&session.input);
    let Some(commit) = moved.places(own.as_bytes()).last() else {
        return Ok(Outcome::done(HookAnswer::default()));
    };
    let changes = collect_changes(repository, worktree, SurveyExtent::Proposed(commit))?;
    let options = VerifyOptions {
        net: true,
        ..VerifyOptions::default()
    };
    Ok(decision(worktree, &worktree.judge(changes, options)))
}

// Git creates a file anew where its content changes, with the write bits of the umask, and writes
// the change time of each such file into the index. Files that were there when the index was last
// read here are older than that index. As a write bit changes the change time in turn, git would
// read the file again: so the new change time goes into the index.

/// The file in the record with the time and the inode number of the index that was last read here.
const READ_BEFORE: &str = "bits";
/// How much older than that index a file may be and is looked at all the same: clocks of file
/// systems tick in hundredths of a second.
const MARGIN: i64 = 1_000_000_000;

/// Gives the write bits of tracked files back.
///
/// 1. Nothing is done where the index is the one that was last read here.
/// 2. The files that git wrote since then are found in the index, with the bits of the scope.
/// 3. The bits are set, and the new change times are written into the index.
/// 4. The index is noted as read.
///
/// # Errors
/// Fails when the index cannot be read, or the worktree cannot be opened.
fn restore_tracked_bits(repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
    let record = &worktree.record;
    let index_file = record.admin_dir.join("index");
    let note_file = worktree.dir.join(READ_BEFORE);
    // 1
    let Some(index_stat) = files::stat(&index_file) else {
        return Ok(());
    };
    let last_note = files::read(&note_file).ok().flatten().unwrap_or_default();
    if last_note == note_on_index(index_stat).as_bytes() {
        return Ok(());
    }
    // 2; two file systems may have two clocks: their times cannot be compared
    let mut since = None;
    if files::on_one_file_system(&record.path, &record.admin_dir) {
        since = time_in_note(&last_note).map(|time| time - MARGIN);
    }
    let index = OpenIndex::read(&index_file, repository.format)?;
    let written = WrittenFiles::find(&index, worktree, since)?;
    // 3
    let applied = set_write_bits(&record.path, &written.bits, BitsChange::Apply)?;
    let ctimes = written.new_ctimes(&applied);
    if !ctimes.is_empty() {
        match index.with_ctimes(&ctimes) {
            Some(bytes) => replace(&index_file, index_stat, &bytes),
            // git refreshes it, without the user's hooks; if it is locked, git is still at work
            None => drop(worktree.hardened_git(repository).update_index_refresh()),
        }
    }
    // 4; not if git has written another index since: `replace` keeps the time, git does not
    if let Some(stat_now) = files::stat(&index_file)
        && stat_now.mtime == index_stat.mtime
    {
        files::write_beside(&note_file, note_on_index(stat_now).as_bytes())?;
    }
    Ok(())
}

/// The text of [`READ_BEFORE`].
fn note_on_index(index: Stat) -> String {
    format!("{} {}\n", index.mtime, index.inode)
}

/// The time in the text of [`READ_BEFORE`].
fn time_in_note(note: &[u8]) -> Option<i64> {
    let (time, _) = std::str::from_utf8(note).ok()?.split_once(' ')?;
    time.parse().ok()
}

/// Files that git may have written since the index was last read, sorted by path.
#[derive(Default)]
struct WrittenFiles {
    /// Each path, with the write bits that the scope gives it.
    bits: Vec<(RepoPath, WriteBits)>,
    /// Of each path in the same order, the number of its entry in the index, and the stat data that
    /// the entry has.
    entries: Vec<(usize, IndexStat)>,
}

impl WrittenFiles {
    /// Finds the files that are not older than `since`; all of them if there is no such time.
    fn find(index: &OpenIndex, worktree: &Worktree, since: Option<i64>) -> Result<Self, Error> {
        let mut classifier = worktree.scope.classifier();
        let mut written = Self::default();
        for (number, entry) in index.entries().enumerate() {
            let entry = entry?;
            // a merge leaves entries without stat data
            let ctime = entry.stat.ctime;
            let is_older = ctime != 0 && since.is_some_and(|since| ctime < since);
            if is_older || !entry.entry.mode.is_regular() || entry.skip_worktree {
                continue;
            }
            let path = index.repo_path(entry.path)?;
            // a conflict has up to three entries of a path
            if written.bits.last().is_some_and(|(last, _)| *last == path) {
                continue;
            }
            let access = classifier.verdict(&path, EntryKind::File).access;
            if let Some(bits) = write_bits(access) {
                written.bits.push((path, bits));
                written.entries.push((number, entry.stat));
            }
        }
        Ok(written)
    }

    /// The new change times, by number of the entry, of files that are as git created them, as far
    /// as the index knows.
    fn new_ctimes(&self, applied: &ChangedBits) -> Vec<(usize, i64)> {
        let mut ctimes = Vec::new();
        // both are sorted, and each that was changed is one of the files
        let mut files = self.bits.iter().zip(&self.entries);
        for (changed, SeenBits { before, after }) in applied.changed.iter().zip(&applied.seen) {
            let Some((_, (number, stat))) = files.find(|((path, _), _)| path == changed) else {
                break;
            };
            let unchanged = Stat {
                ctime: before.ctime,
                mode: before.mode,
                ..*after
            };
            if stat.is_of(before) && unchanged == *before {
                ctimes.push((*number, after.ctime));
            }
        }
        ctimes
    }
}

/// Replaces the index, unless git has it locked, or has written it meanwhile: then the index stays,
/// and git reads the files again, once.
fn replace(file: &Utf8Path, written: Stat, bytes: &[u8]) {
    if let Ok(locked) = LockedFile::take(file)
        && files::stat(file) == Some(written)
    {
        let _ = locked.commit_as_of_before(bytes);
    }
}
