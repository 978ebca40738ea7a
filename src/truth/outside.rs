//! Reads what surrounds a worktree: its links, git's files beside it, the refs and settings that it
//! shares with others.

use std::time::{Duration, Instant, SystemTime};

use bstr::ByteSlice;

use crate::disk::files;
use crate::git::hooks::journal;
use crate::git::hooks::journal::Journal;
use crate::judge::change::{Cause, Change, Content, Kind, Place, SharedChange};
use crate::record::accepted::Acceptances;
use crate::record::worktree::{Record, Shared};
use crate::system::processes::count_named;
use crate::truth::checks::git_files::changed_git_files;
use crate::truth::checks::integrity::{broken_links, changed_files, past_the_hooks};
use crate::truth::checks::{integrity, refs as ref_checks, settings, shadows};
use crate::truth::git_dirs::SHALLOW;
use crate::truth::head::WorktreeHead;
use crate::truth::inputs::SurveyInputs;
use crate::truth::ref_history::{OwnRef, RefHistory};
use crate::truth::seal;
use crate::truth::upstream::{Tips, find_tips, recorded_tips};
use crate::words::error::Error;
use crate::words::name::CommitId;

/// Holds what surrounds a worktree.
#[derive(Default)]
pub struct OutsideFacts {
    /// What is wrong with it and its private git directory.
    pub problems: Vec<Change>,
    /// Where HEAD is, if that is elsewhere and no harm.
    pub notice: Option<Change>,
    /// What is not as it was of what it shares.
    pub shared: Vec<SharedChange>,
    /// Which commits count as work of others.
    pub tips: Tips,
    /// Where HEAD and the branch have been, as the journal says.
    pub journaled_heads: Vec<CommitId>,
    /// The branches, tags and stashes that were made here.
    pub own_refs: Vec<OwnRef>,
    /// What others brought beside the tips, sorted; only read where HEAD is elsewhere, or there are
    /// own refs.
    pub fetched_commits: Vec<CommitId>,
}

impl OutsideFacts {
    /// True if a commit is one of the trusted ones, or others brought it beside those.
    pub fn is_of_others(&self, trusted: &[CommitId], commit: &CommitId) -> bool {
        trusted.contains(commit) || self.fetched_commits.binary_search(commit).is_ok()
    }

    /// Returns where the own branch was made that HEAD is on; none where HEAD is on no such branch.
    pub fn start_of_branch_at(&self, head: &WorktreeHead) -> Option<&CommitId> {
        let name = head.symbolic.as_deref()?;
        let own = self.own_refs.iter().find(|own| own.name == name)?;
        own.start.as_ref()
    }
}

/// Reads what surrounds a worktree.
///
/// # Errors
/// Fails when the record is damaged, or git or the disk fails.
pub fn read_outside(inputs: &SurveyInputs<'_>, head: &WorktreeHead) -> Result<OutsideFacts, Error> {
    let repository = inputs.repository;
    let worktree = inputs.worktree;
    let record = &worktree.record;
    let read_policy = &inputs.options.read_policy;
    let mut outside = OutsideFacts {
        problems: broken_links(repository, record).into_iter().collect(),
        tips: recorded_tips(record),
        ..OutsideFacts::default()
    };
    if worktree.is_without(repository) {
        // nothing of it can be held against what was recorded
        return Ok(outside);
    }
    let changed_files = changed_files(repository, record);
    let changed_files = read_policy.or(changed_files, Vec::new)?;
    outside.problems.extend(changed_files);
    let journal = read_journal(inputs, head, &mut outside.problems)?;
    for name in ["HEAD", &record.branch.full_ref()] {
        let places = journal.places(name.as_bytes());
        outside.journaled_heads.extend(places.cloned());
    }
    let refs = RefHistory::read(repository, worktree, &journal, head);
    let Some(refs) = read_policy.or(refs.map(Some), || None)? else {
        return Ok(outside);
    };
    outside.own_refs = refs.own_refs();
    if head.moved || !outside.own_refs.is_empty() {
        outside.fetched_commits = refs.fetched_commits();
    }
    let seals = read_policy.or(Seals::read(inputs), Seals::default)?;
    let settings_before = worktree.settings_as_accepted(&seals.before.settings);
    let rewired = settings::rewired_remotes(&settings_before, &seals.now.settings);
    let tips = find_tips(&inputs.objects, &refs, &rewired);
    outside.tips = read_policy.or(tips, || recorded_tips(record))?;
    let changes = shared_changes(inputs, &refs, &seals, &outside.own_refs);
    let changes = read_policy.or(changes, Vec::new)?;
    outside.shared = unexplained_tips(&outside.tips, &changes);
    outside.shared.extend(changes);
    let accepted = Acceptances::new(&record.decisions);
    let reverted = accepted.find_reverted(&outside.shared);
    outside.shared.extend(reverted);
    name_refs(&refs, &mut outside.shared);
    Ok(outside)
}

/// Lists the tips that moved without a trace, and of which nothing else is said.
fn unexplained_tips(tips: &Tips, changes: &[SharedChange]) -> Vec<SharedChange> {
    let mut unexplained = Vec::new();
    for name in &tips.untrusted {
        let place = Place::Git(name.as_str().into());
        if !changes.iter().any(|one| one.change.place == place) {
            let detail = ref_checks::UNEXPLAINED;
            unexplained.push(SharedChange::new(place, Kind::Ref, detail, Cause::Unknown));
        }
    }
    unexplained
}

/// Reads the journal of the worktree, and what is wrong with the files beside it.
fn read_journal(
    inputs: &SurveyInputs<'_>,
    head: &WorktreeHead,
    problems: &mut Vec<Change>,
) -> Result<Journal, Error> {
    let mut journal = None;
    if !head.pipes.contains(&journal::FILE) {
        let read_policy = &inputs.options.read_policy;
        journal = read_policy.or(inputs.worktree.journal(), || None)?;
    }
    for name in &head.pipes {
        let detail = "a pipe or a device stands in its place: it has no end";
        problems.push(integrity::integrity(Place::Admin((*name).into()), detail));
    }
    problems.extend(integrity::links(&inputs.worktree.record));
    problems.extend(silent_commits(inputs, head, &mut journal)?);
    Ok(journal.unwrap_or_default())
}

/// Holds what a worktree shares with others, as `add` sealed it and as it is.
#[derive(Default)]
struct Seals {
    before: Shared,
    now: Shared,
}

impl Seals {
    fn read(inputs: &SurveyInputs<'_>) -> Result<Self, Error> {
        let admin_dir = &inputs.worktree.record.admin_dir;
        Ok(Self {
            before: inputs.worktree.shared()?,
            now: seal::read(inputs.repository, Some(admin_dir))?,
        })
    }
}

/// Finds what is not as it was recorded, and by whom, as far as that can be told.
fn shared_changes(
    inputs: &SurveyInputs<'_>,
    refs: &RefHistory<'_>,
    seals: &Seals,
    own_refs: &[OwnRef],
) -> Result<Vec<SharedChange>, Error> {
    let mut changes = changed_git_files(inputs.repository, &seals.before, &seals.now)?;
    let settings = settings::changed_settings(inputs.repository, &seals.before, &seals.now);
    changes.extend(settings);
    let shallow = Place::Git(SHALLOW.into());
    let was_shallow = seals
        .before
        .sealed
        .files
        .contains_key(&format!("@git/{SHALLOW}"));
    for change in &mut changes {
        // in a shallow clone each fetch may move the ends of history
        if was_shallow
            && change.change.place == shallow
            && change.cause == Cause::Hides
            && refs.ends_where_others_fetched()?
        {
            change.cause = Cause::Unknown;
        }
    }
    changes.extend(ref_checks::changes(refs, &inputs.objects, own_refs)?);
    let shadows = shadows::find(refs, &seals.before.sealed, &seals.now.sealed)?;
    // that git takes it for something else says more than that it came
    changes.retain(|change| {
        !shadows.iter().any(|shadow| {
            shadow.cause <= change.cause && shadow.change.place == change.change.place
        })
    });
    changes.extend(shadows);
    Ok(changes)
}

/// Finds commits that no hook of ours reported; where they may still be about to, after some waiting.
/// Git writes HEAD's log first, and hooks of the user may run before ours.
fn silent_commits(
    inputs: &SurveyInputs<'_>,
    heads: &WorktreeHead,
    journal: &mut Option<Journal>,
) -> Result<Option<Change>, Error> {
    let record = &inputs.worktree.record;
    let began = Instant::now();
    loop {
        let mut silent = past_the_hooks(record, journal.as_ref(), heads);
        let log_age = log_age(record).filter(|_| silent.is_some() && journal.is_some());
        let Some(log_age) = log_age else {
            return Ok(silent);
        };
        let waited = began.elapsed();
        let is_fresh = waited < HOOK && log_age < FRESH;
        if !is_fresh {
            let is_at_work = may_run_hooks(record, log_age.saturating_sub(waited));
            if is_at_work && waited >= PATIENCE {
                let detail = silent.as_mut().and_then(|change| change.detail.as_mut());
                detail
                    .into_iter()
                    .for_each(|said| said.push_str(STILL_AT_WORK));
            }
            if !is_at_work || waited >= PATIENCE {
                return Ok(silent);
            }
        }
        std::thread::sleep(HOOK);
        *journal = inputs
            .options
            .read_policy
            .or(inputs.worktree.journal(), || None)?;
    }
}

/// What is said where a git was waited for in vain.
const STILL_AT_WORK: &str =
    ", or a hook still runs: git is working here, verify again when it is done";

/// The time that a hook has to write to the journal.
const HOOK: Duration = Duration::from_millis(100);

/// The age of HEAD's log, at most, at which a hook may still have to write.
const FRESH: Duration = Duration::from_secs(2);

/// The same where a git works in the worktree.
const AT_WORK: Duration = Duration::from_secs(60);

/// How long that git is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether a git works in the worktree that may have made the newest commit and still runs its hooks.
fn may_run_hooks(record: &Record, log_age: Duration) -> bool {
    log_age < AT_WORK && count_named("git", &record.path).is_some_and(|number| number > 0)
}

/// How old the log of the worktree's HEAD is; none where there is no log.
fn log_age(record: &Record) -> Option<Duration> {
    let log = files::stat(&record.admin_dir.join("logs/HEAD"))?;
    Some(age_of(log.mtime))
}

/// How long ago a time was, in nanoseconds since the epoch; nothing for one in the future.
fn age_of(time: i64) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = Duration::from_nanos(u64::try_from(time).unwrap_or_default());
    now.unwrap_or_default().saturating_sub(time)
}

/// Names the commits at which the refs among these changes are; of the stash, every entry.
fn name_refs(refs: &RefHistory<'_>, changes: &mut [SharedChange]) {
    for SharedChange { change, .. } in changes {
        let (Place::Git(name), Kind::Ref) = (&change.place, change.kind) else {
            continue;
        };
        let below = [name.as_slice(), b"/"].concat();
        let from = refs.records.now.range(name.clone()..);
        let all = from.take_while(|(found, _)| found.starts_with(name));
        for (found, at) in all.filter(|(found, _)| *found == name || found.starts_with(&below)) {
            let key = if found == name {
                "".into()
            } else {
                found.to_str_lossy()
            };
            change
                .now
                .push(Content::value(&key, Some(at.id.to_string())));
        }
        if *name == "refs/stash" {
            let log = refs.records.log(name.as_bstr());
            let entries: Vec<String> = log.iter().map(|entry| entry.id.to_string()).collect();
            change.now = vec![Content::value("", Some(entries.join(" ")))];
        } else if change.now.is_empty() {
            change.now.push(Content::value("", None));
        }
    }
}
