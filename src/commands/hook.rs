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
use crate::disk::mode::{BitsChange, ChangedBits, SeenBits, set_write_bits};
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
use crate::worktree::loaded::{Worktree, by_path, hooks_of};
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
/// # Errors
/// Fails when the facts cannot be read; the script that calls makes nothing of it.
pub fn run(session: &Session, hook: &Hook) -> Result<Outcome<HookAnswer>, Error> {
    let nothing = || Outcome::done(HookAnswer::default());
    let home = session.repository()?;
    let worktree = match &home.inside {
        Some(name) => Worktree::load(&home, name).ok(),
        None => by_path(&home, &home.start)?,
    };
    let Some(worktree) = worktree else {
        return Ok(nothing());
    };
    // where this fails, the scripts ask git
    let _ = hooks_of(&home.git, &worktree.record).and_then(|hooks| hooks.refresh());
    let repository = worktree.repository(&home);
    match hook.event.as_str() {
        "pre-commit" => return before_commit(session, &repository, &worktree),
        "ref-update" => return before_ref_update(session, &repository, &worktree),
        _ => {}
    }
    let due = due_work(hook, &repository, &worktree)?;
    let is_ended = hook.event == "post-rewrite";
    if due.write_bits && (is_ended || !head::has_steps_to_come(&worktree.record)?) {
        put_bits_back(session, &repository, &worktree)?;
    }
    if !due.verification {
        return Ok(nothing());
    }
    let changes = collect_changes(&repository, &worktree, extent(session, &worktree))?;
    let mut report = worktree.judge(changes, VerifyOptions::default());
    let before = worktree.last_verification();
    worktree.write_verification(&report, &Session::now())?;
    // after a reset or a rebase every finding is new
    if let Some(before) = before
        && repository
            .git
            .is_ancestor(&before.head, &report.changes.head)?
    {
        report.findings.retain(|finding| !before.has(finding));
    }
    Ok(Outcome::done(HookAnswer {
        verdict: violated(&worktree, &report),
        refused: false,
    }))
}

/// What is due after an event.
struct DueWork {
    /// Whether write bits may have been lost.
    write_bits: bool,
    /// Whether commits may have come that are not verified.
    verification: bool,
}

fn due_work(hook: &Hook, repository: &Repository, worktree: &Worktree) -> Result<DueWork, Error> {
    let record = &worktree.record;
    let is_rebasing = head::in_rebase(record);
    Ok(match hook.event.as_str() {
        "post-index-change" => DueWork {
            write_bits: hook.flag(0),
            verification: false,
        },
        "post-checkout" => DueWork {
            write_bits: true,
            verification: hook.flag(2)
                && !is_rebasing
                && !head::starts_rebase(repository, worktree)?,
        },
        "post-applypatch" => DueWork {
            write_bits: true,
            verification: !is_rebasing,
        },
        "post-merge" | "post-rewrite" => DueWork {
            write_bits: true,
            verification: true,
        },
        // several commits are being picked or reverted (git-cherry-pick(1), "SEQUENCER"): of these
        // the last, as nothing comes after it
        "post-commit" => DueWork {
            write_bits: files::exists(&record.admin_dir.join("sequencer")),
            verification: !is_rebasing,
        },
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

/// How much a hook looks at. To look at every file takes as long as there are files, and git waits
/// for it; what was committed is seen at any size.
fn extent(session: &Session, worktree: &Worktree) -> SurveyExtent<'static> {
    let index = files::stat(&worktree.record.admin_dir.join("index"));
    let is_small = index.is_none_or(|index| index.size <= SMALL_INDEX);
    match session.walking {
        WalkMode::Full => SurveyExtent::Everything,
        WalkMode::Auto | WalkMode::Fast | WalkMode::Names if is_small => SurveyExtent::Everything,
        WalkMode::Auto | WalkMode::Fast | WalkMode::Names => SurveyExtent::Commits,
    }
}

fn put_bits_back(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
) -> Result<(), Error> {
    // a lock that is left behind would stop every later git
    session.idle.store(false, Ordering::SeqCst);
    let put_back = put_back(repository, worktree);
    session.idle.store(true, Ordering::SeqCst);
    put_back?;
    let placed = worktree.placed()?;
    let root = &worktree.record.path;
    let scope = &worktree.scope;
    set_bits(root, scope, &[], placed.files(), BitsChange::Apply)?;
    Ok(())
}

/// What git will commit is in the index that it names to the hook: a violation that is only on
/// disk, or that this commit takes back, is no reason to refuse it.
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
    let mut report = worktree.judge(survey.changes, VerifyOptions::default());
    report.findings.retain(|finding| match finding.reason {
        // what others can change as well is no reason to keep an agent from its work
        Reason::Shared | Reason::History => false,
        Reason::Integrity => true,
        Reason::ReadOnly | Reason::Excluded | Reason::Outside => {
            finding.change.seen.contains(&Seen::Index)
        }
    });
    Ok(asked(worktree, &report))
}

/// What a commit is refused for, and its status.
fn asked(worktree: &Worktree, report: &Report) -> Outcome<HookAnswer> {
    let refused = !report.valid();
    let verdict = violated(worktree, report);
    let mut outcome = Outcome::done(HookAnswer { verdict, refused });
    if refused {
        outcome.exit = ExitCode::Violations;
    }
    outcome
}

/// A commit that pre-commit was not asked about (`--no-verify`, a merge) is asked about when git
/// is about to move the worktree's branch onto it. The script calls only where git is left whole
/// by a "no". On standard input is what reference-transaction is told.
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
    Ok(asked(worktree, &worktree.judge(changes, options)))
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

/// Gives the write bits back.
///
/// # Errors
/// Fails when the index cannot be read, or the worktree cannot be opened.
fn put_back(repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
    let record = &worktree.record;
    let file = record.admin_dir.join("index");
    let noted = worktree.dir.join(READ_BEFORE);
    let Some(written) = files::stat(&file) else {
        return Ok(());
    };
    let note = |index: Stat| format!("{} {}\n", index.mtime, index.inode);
    let before = files::read(&noted).ok().flatten().unwrap_or_default();
    if before == note(written).as_bytes() {
        return Ok(());
    }
    let before = std::str::from_utf8(&before).ok();
    let before = before.and_then(|text| text.split_once(' ')?.0.parse::<i64>().ok());
    let comparable = files::on_one_file_system(&record.path, &record.admin_dir);
    let since = before.filter(|_| comparable).map(|time| time - MARGIN);
    let index = OpenIndex::read(&file, repository.format)?;
    let mut classifier = worktree.scope.classifier();
    let mut bits = Vec::new();
    let mut seen = Vec::new();
    for (number, entry) in index.entries().enumerate() {
        let entry = entry?;
        // a merge leaves entries without stat data
        let is_older = entry.stat.ctime != 0 && since.is_some_and(|since| entry.stat.ctime < since);
        if is_older || !entry.entry.mode.is_regular() || entry.skip_worktree {
            continue;
        }
        let path = index.repo_path(entry.path)?;
        let access = classifier.verdict(&path, EntryKind::File).access;
        let is_new = bits.last().is_none_or(|(last, _)| *last != path);
        // a conflict has up to three entries of a path
        if let Some(wanted) = write_bits(access).filter(|_| is_new) {
            bits.push((path, wanted));
            seen.push((number, entry.stat));
        }
    }
    let applied = set_write_bits(&record.path, &bits, BitsChange::Apply)?;
    let paths = bits.iter().map(|(path, _)| path);
    let ctimes = ctimes(paths.zip(seen), &applied);
    if !ctimes.is_empty() {
        match index.with_ctimes(&ctimes) {
            Some(bytes) => replace(&file, written, &bytes),
            // if the index is locked, git is not done with it; it is no event for the user's hooks
            None => drop(worktree.hardened_git(repository).update_index_refresh()),
        }
    }
    // that of the file as we leave it, unless git has written another since
    let now = files::stat(&file).filter(|now| now.mtime == written.mtime);
    if let Some(now) = now {
        files::write_beside(&noted, note(now).as_bytes())?;
    }
    Ok(())
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

/// The new change times, by number, of files of which the index knows that they are as git created
/// them.
fn ctimes<'p>(
    files: impl Iterator<Item = (&'p RepoPath, (usize, IndexStat))>,
    applied: &ChangedBits,
) -> Vec<(usize, i64)> {
    // both are sorted, and each that was changed is one of the files
    let mut files = files;
    let changed = applied.changed.iter().zip(&applied.seen);
    let ctime = |(path, SeenBits { before, after }): (&RepoPath, &SeenBits)| {
        let (_, (number, stat)) = files.find(|(one, _)| *one == path)?;
        let alone = Stat {
            ctime: before.ctime,
            mode: before.mode,
            ..*after
        };
        (stat.is_of(before) && alone == *before).then_some((number, after.ctime))
    };
    changed.filter_map(ctime).collect()
}
