//! Decides whether a worktree may be removed, and what is kept; pure.

use std::fmt;

use crate::actions::remove::plan::{
    BranchAfter, BranchFate, IgnoredPlace, LostCommit, RemoveFacts, RemoveOptions, RemovePlan,
    UncommittedWork, WorkKind, largest,
};
use crate::config::value::Strategy;
use crate::inventory::placed::PlacedOrigin;
use crate::record::worktree::{Alive, MadeBy, Record, Term};
use crate::system::processes::InsideProcess;
use crate::words::error::Fault;
use crate::words::exit::ExitCode;
use crate::words::name::CommitId;
use crate::words::path::{RepoPath, escape_for_terminal, first_of, shell_word};
use crate::words::text::count;
use crate::worktree::absence::move_back;
use crate::worktree::operation::{AM, ways_to_end};
use crate::worktree::repository::WORKTREES;

/// Plans a removal.
///
/// # Errors
/// Refuses what is not ours to remove, and what would lose work that the user did not allow to
/// save: all reasons at once.
pub fn plan(
    record: &Record,
    facts: &RemoveFacts,
    options: &RemoveOptions,
) -> Result<RemovePlan, RemoveRefusal> {
    let branch_after = BranchAfter::of(record, facts, options);
    let mut reasons = all_reasons(record, facts, options, branch_after);
    reasons.retain(|reason| !reason.is_overruled(options.force));
    if !reasons.is_empty() {
        return Err(refusal(record, reasons));
    }
    let branch = branch_fate(record, facts, branch_after);
    let deleted_tip = match branch {
        BranchFate::Deleted => facts.branch_tip.clone(),
        BranchFate::Stays | BranchFate::Gone | BranchFate::Private => None,
    };
    Ok(RemovePlan {
        branch,
        merged: facts.merged.clone(),
        term: term(facts, options),
        hidden_places: hidden_places(facts),
        keep: commits_to_keep(record, facts, deleted_tip.as_ref()),
        tip: deleted_tip,
        dry_run: options.dry_run,
        notes: notes(record, facts, options),
        ..RemovePlan::default()
    })
}

/// What becomes of the branch.
fn branch_fate(record: &Record, facts: &RemoveFacts, branch_after: BranchAfter) -> BranchFate {
    if record.strategy == Strategy::Clone {
        return BranchFate::Private;
    }
    if facts.branch_tip.is_none() {
        return BranchFate::Gone;
    }
    match branch_after {
        BranchAfter::MustGo => BranchFate::Deleted,
        BranchAfter::MayGo if facts.unmerged.is_empty() => BranchFate::Deleted,
        BranchAfter::MayGo | BranchAfter::Stays => BranchFate::Stays,
    }
}

/// The commits that a ref must keep, as no branch has them when this is done: those that only the
/// worktree names, and the tip of a deleted branch, unless another branch has its very commits.
fn commits_to_keep(
    record: &Record,
    facts: &RemoveFacts,
    deleted_tip: Option<&CommitId>,
) -> Vec<CommitId> {
    let mut keep = facts.detached.clone();
    for commit in &facts.passing {
        if !keep.contains(commit) {
            keep.push(commit.clone());
        }
    }
    let has_other_branch = facts.unmerged.is_empty()
        // the content is merged, in other commits
        && facts.merged.is_none()
        // a pull request: the server has the commits, and maybe no branch here
        && record.request.is_none();
    if !has_other_branch {
        keep.extend(deleted_tip.cloned());
    }
    keep
}

/// For how long the worktree is kept in the trash; none where nothing of it is left.
fn term(facts: &RemoveFacts, options: &RemoveOptions) -> Option<Term> {
    let is_left = facts.is_left || !facts.runs.is_empty() || !facts.damaged.is_empty();
    let has_work = options.force > 0
        || facts.modules
        || !facts.hidden.is_empty()
        || !facts.converted.is_empty();
    if is_left && has_work {
        return Some(Term::Long);
    }
    // without a directory there is nothing that something could come into
    facts.is_there.then_some(Term::Short)
}

/// What the user should know although it stops nothing.
fn notes(record: &Record, facts: &RemoveFacts, options: &RemoveOptions) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(note_of_unknown_owner(record, facts, options));
    if facts.modules && options.force == 0 {
        notes.push(
            "a submodule's repository has something of its own, so the worktree is kept in the \
                trash"
                .to_owned(),
        );
    }
    if !facts.hidden.is_empty() {
        notes.push(note_of_hidden(facts));
    }
    if !facts.converted.is_empty() {
        notes.push(note_of_converted(&facts.converted));
    }
    if facts.running.is_none() {
        notes.push("this system does not tell whether a process works in it".to_owned());
    }
    if !facts.stashes.is_empty() {
        let verb = match facts.stashes.len() {
            1 => "a stash that was made on its branch stays",
            _ => "stashes that were made on its branch stay",
        };
        notes.push(format!("{verb}: {}", facts.stashes.join(", ")));
    }
    let name = &record.name;
    notes.iter().map(|note| format!("{name}: {note}")).collect()
}

/// Says that the owner may be alive, unless the owner itself removes the worktree.
fn note_of_unknown_owner(
    record: &Record,
    facts: &RemoveFacts,
    options: &RemoveOptions,
) -> Option<String> {
    let owner = record.owner.as_ref()?;
    if facts.owner != Alive::Unknown || options.owner.as_ref() == Some(&owner.id) {
        return None;
    }
    Some(format!(
        "whether its owner `{}` on {} is alive cannot be determined from here",
        owner.id, owner.host
    ))
}

/// Says that ignored files keep the worktree in the trash.
fn note_of_hidden(facts: &RemoveFacts) -> String {
    let files = facts.hidden.iter().map(|place| place.files).sum();
    format!(
        "the base's own ignore rules do not name {} ({}), so the worktree is kept in the trash",
        count(files, "ignored file", "ignored files"),
        largest(&hidden_places(facts))
    )
}

/// Says that committed files keep the worktree in the trash.
fn note_of_converted(files: &[RepoPath]) -> String {
    const NAMED: usize = 3;
    let named = first_of(files, NAMED);
    format!(
        "a checkout would write {} otherwise ({named}), so the worktree is kept in the trash",
        count(files.len(), "committed file", "committed files")
    )
}

/// Where ignored files are that the base's own rules do not name.
fn hidden_places(facts: &RemoveFacts) -> Vec<IgnoredPlace> {
    facts.hidden.iter().map(IgnoredPlace::new).collect()
}

/// Says why a worktree is not landed, not removed, or not brought back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RemoveRefusal {
    /// The status with which the program ends.
    pub exit: ExitCode,
    /// The second half of the code: `remove::locked`.
    pub code: String,
    /// What was attempted, all reasons, and below what they list, a line each.
    pub message: String,
    /// All reasons in one line.
    pub reason: String,
    /// The next commands, one for each reason.
    pub help: String,
}

impl miette::Diagnostic for RemoveRefusal {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("agentwt::{}", self.code)))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.help))
    }
}

impl Fault for RemoveRefusal {
    fn exit_code(&self) -> ExitCode {
        self.exit
    }
}

/// A reason not to remove a worktree.
struct RemovalReason {
    code: &'static str,
    /// How often `--force` must be given to overrule it; none where nothing overrules it.
    force: Option<u8>,
    phrase: String,
    advice: String,
    /// What is listed below, a line each.
    items: Vec<String>,
}

impl RemovalReason {
    /// True if `--force`, given so often, overrules it.
    fn is_overruled(&self, force: u8) -> bool {
        self.force.is_some_and(|needed| force >= needed)
    }
}

/// A reason without a list.
fn reason(
    code: &'static str,
    force: Option<u8>,
    phrase: impl Into<String>,
    advice: impl Into<String>,
) -> RemovalReason {
    RemovalReason {
        code,
        force,
        phrase: phrase.into(),
        advice: advice.into(),
        items: Vec::new(),
    }
}

/// Refuses a removal for these reasons.
fn refusal(record: &Record, mut reasons: Vec<RemovalReason>) -> RemoveRefusal {
    let name = &record.name;
    // one command keeps all that would be lost, so it stands once
    if let Some(last) = reasons.iter_mut().rfind(|reason| reason.force == Some(1)) {
        last.advice.push_str(&format!(
            ", or keep it in the trash, without what the base ignores: git agentwt remove --force \
             {name}"
        ));
    }
    let phrases: Vec<&str> = reasons.iter().map(|reason| &*reason.phrase).collect();
    let advice: Vec<&str> = reasons.iter().map(|reason| &*reason.advice).collect();
    let phrase = phrases.join(", ");
    let mut message = format!("cannot remove worktree `{name}`: {phrase}");
    for item in reasons.iter().flat_map(|reason| &reason.items) {
        message.push_str(&format!("\n  {item}"));
    }
    let code = reasons.first().map_or("", |first| first.code);
    RemoveRefusal {
        exit: ExitCode::Refused,
        code: format!("remove::{code}"),
        message,
        reason: phrase,
        help: advice.join("; "),
    }
}

/// Lists all reasons not to remove a worktree.
fn all_reasons(
    record: &Record,
    facts: &RemoveFacts,
    options: &RemoveOptions,
    branch_after: BranchAfter,
) -> Vec<RemovalReason> {
    if record.made_by == MadeBy::Git {
        return vec![made_by_git(record, facts)];
    }
    if let Some(reason) = recorded_elsewhere(record, facts) {
        return vec![reason];
    }
    let mut reasons = about_place(record, facts);
    reasons.extend(about_contents(record, facts));
    reasons.extend(lost_work(record, facts, branch_after));
    reasons.extend(in_use(record, facts, options));
    reasons
}

/// The reason not to remove a worktree of plain git's. The advice takes home what runs left in its
/// record, and then removes it without us.
fn made_by_git(record: &Record, facts: &RemoveFacts) -> RemovalReason {
    let name = &record.name;
    let branch = &record.branch;
    let mut commands = Vec::new();
    for run_dir in &facts.runs {
        let run = shell_word(run_dir.as_str());
        commands.push(format!(
            "git fetch {run} {branch}:{name}-run && rm -r {run}"
        ));
    }
    commands.push(format!(
        "git agentwt hooks uninstall {name} && git worktree remove {}",
        shell_word(record.path.as_str())
    ));
    let advice = commands.join("; ");
    reason("not_ours", None, "plain git made it", advice)
}

/// The reason not to remove a worktree whose record names a directory that is not its place: what
/// stands there may be another repository's.
fn recorded_elsewhere(record: &Record, facts: &RemoveFacts) -> Option<RemovalReason> {
    let path = &record.path;
    let place = facts.root.join(WORKTREES).join(record.name.as_str());
    if *path == place {
        return None;
    }
    Some(reason(
        "elsewhere",
        None,
        format!("its record names another place than {place}"),
        format!(
            "if the repository was moved, move it back to where {path} is in it; {place} is not \
                touched: git worktree list"
        ),
    ))
}

/// The reasons for which nothing that stands at its path can be taken for the worktree.
fn about_path(record: &Record, facts: &RemoveFacts) -> Vec<RemovalReason> {
    let word = shell_word(record.path.as_str());
    let mut reasons = Vec::new();
    if let Some(why) = &facts.barred {
        reasons.push(reason(
            "barred",
            None,
            why,
            format!(
                "put the directory back where the link is: ls -ld {word} {word}/.. {word}/../.."
            ),
        ));
    }
    if facts.is_replaced {
        reasons.push(reason(
            "replaced",
            None,
            "something else stands in its place, which is no directory",
            format!("move it away: mv {word} <elsewhere>"),
        ));
    }
    reasons
}

/// The reasons that lie in where the directories are; nothing overrules them.
fn about_place(record: &Record, facts: &RemoveFacts) -> Vec<RemovalReason> {
    let name = &record.name;
    let path = &record.path;
    let word = shell_word(path.as_str());
    let mut reasons = about_path(record, facts);
    if facts.start.starts_with(path) {
        let advice = format!(
            "cd {} && git agentwt remove {name}",
            shell_word(facts.root.as_str())
        );
        reasons.push(reason("inside", None, "you are inside it", advice));
    }
    if let Some(to) = &facts.moved_to {
        reasons.push(reason(
            "moved",
            None,
            format!("it was moved to {to}"),
            format!(
                "move it back first: {}, or where {path} is a link: rm {word} && mv {} {word}",
                move_back(record, to),
                shell_word(to.as_str())
            ),
        ));
    }
    if !facts.linked.is_empty() {
        reasons.push(reason(
            "linked",
            None,
            format!(
                "its repository has other worktrees: {}",
                facts.linked.join(", ")
            ),
            format!(
                "remove these first: git -C {word} worktree list; git -C {word} worktree remove \
                    <path>"
            ),
        ));
    }
    reasons
}

/// The reasons that lie in what is inside the worktree, beside uncommitted files and unmerged
/// commits ([`lost_work`]).
fn about_contents(record: &Record, facts: &RemoveFacts) -> Vec<RemovalReason> {
    let path = &record.path;
    let mut reasons = Vec::new();
    if !facts.submodules.is_empty() {
        let submodules = facts.submodules.join(", ");
        reasons.push(reason(
            "submodule",
            Some(1),
            format!("a submodule has uncommitted changes or unpushed commits: {submodules}"),
            "commit and push it there",
        ));
    }
    if facts.has_patches {
        reasons.push(reason(
            "patches",
            Some(1),
            "`git am` has patches there that are not applied",
            ways_to_end(AM, path),
        ));
    }
    reasons.extend(about_runs(record, facts));
    let mut nested: Vec<String> = facts.nested.iter().map(ToString::to_string).collect();
    nested.retain(|repository| !facts.submodules.contains(repository));
    if !nested.is_empty() {
        reasons.push(reason(
            "nested_repository",
            Some(1),
            format!("a repository is inside it: {}", nested.join(", ")),
            format!("move it out of {path}"),
        ));
    }
    if !facts.mounted.is_empty() {
        let mut umount = "umount".to_owned();
        // what is mounted below another mount has to go first
        for directory in facts.mounted.iter().rev() {
            let place = format!("{path}/{directory}");
            umount.push_str(&format!(" {}", shell_word(&place)));
        }
        let phrase = format!(
            "a file system is mounted inside it: {}",
            facts.mounted.join(", ")
        );
        reasons.push(reason("mounted", None, phrase, umount));
    }
    reasons.extend(unreadable_files(record, facts));
    reasons.extend(unreadable_index(record, facts));
    reasons
}

/// The reason that the index cannot be read: what was staged may be work.
fn unreadable_index(record: &Record, facts: &RemoveFacts) -> Option<RemovalReason> {
    if !facts.is_index_unreadable {
        return None;
    }
    let place = shell_word(record.path.as_str());
    Some(reason(
        "unreadable_index",
        Some(1),
        "its index cannot be read, so what was staged may be work",
        format!(
            "where git reads it (git -C {place} status), it may be a sparse one; to make it \
             whole: git -C {place} sparse-checkout reapply --no-sparse-index"
        ),
    ))
}

/// The reason that files cannot be read, which may be work.
fn unreadable_files(record: &Record, facts: &RemoveFacts) -> Option<RemovalReason> {
    if facts.unreadable.is_empty() {
        return None;
    }
    let mut items = Vec::new();
    for file in &facts.unreadable {
        items.push(format!("{file} (it cannot be read)"));
    }
    let phrase = "it cannot be read whether work would be lost";
    let advice = format!("chmod -R u+rX {}", shell_word(record.path.as_str()));
    Some(RemovalReason {
        items,
        ..reason("unreadable", Some(1), phrase, advice)
    })
}

/// The reasons that commands in a fence left: work that is not imported, damaged directories.
fn about_runs(record: &Record, facts: &RemoveFacts) -> Vec<RemovalReason> {
    let name = &record.name;
    let mut reasons = Vec::new();
    if !facts.runs.is_empty() {
        let runs = facts.runs.join(", ");
        reasons.push(reason(
            "run",
            Some(1),
            format!("a command in a fence left work that is not imported: {runs}"),
            format!(
                "see what is left, and import it: git agentwt exec {name} -- git status; a stash \
                    is left: git agentwt exec {name} -- git stash list; its directory is gone: \
                    git agentwt remove --force {name}, which fetches what was committed"
            ),
        ));
    }
    if !facts.damaged.is_empty() {
        let damaged = facts.damaged.join(", ");
        reasons.push(reason(
            "damaged_run",
            Some(1),
            format!("a command in a fence left a damaged git directory: {damaged}"),
            "take from it what you need: git fetch <directory>",
        ));
    }
    reasons
}

/// The reasons that the worktree is in use: a lock, processes, a live owner.
fn in_use(record: &Record, facts: &RemoveFacts, options: &RemoveOptions) -> Vec<RemovalReason> {
    let mut reasons = Vec::new();
    if facts.locked {
        let advice = format!("git worktree unlock {}", record.path);
        reasons.push(reason("locked", Some(2), "it is locked", advice));
    }
    reasons.extend(running_processes(record, facts));
    reasons.extend(live_owner(record, facts, options));
    reasons
}

/// The reason that processes work in the worktree.
fn running_processes(record: &Record, facts: &RemoveFacts) -> Option<RemovalReason> {
    let running = facts.running.as_ref()?;
    let described = |process: &InsideProcess| format!("{} ({})", process.pid, process.name);
    let phrase = match running.as_slice() {
        [] => return None,
        [only] => format!("process {} works in it", described(only)),
        [..] => {
            let processes = shortened(running.iter().map(described)).join(", ");
            format!("processes {processes} work in it")
        }
    };
    let pids: Vec<String> = running
        .iter()
        .map(|process| process.pid.to_string())
        .collect();
    let advice = format!(
        "end it or wait for it (ps -f -p {}), or remove it all the same with `git agentwt remove \
            -ff {}`",
        pids.join(","),
        record.name
    );
    Some(reason("running", Some(2), phrase, advice))
}

/// The reason that the owner is alive, unless the owner itself removes the worktree.
fn live_owner(
    record: &Record,
    facts: &RemoveFacts,
    options: &RemoveOptions,
) -> Option<RemovalReason> {
    let owner = record.owner.as_ref()?;
    let id = &owner.id;
    if facts.owner != Alive::Yes || options.owner.as_ref() == Some(id) {
        return None;
    }
    let mut phrase = format!("its owner `{id}` is alive");
    if let Some(process) = &owner.process {
        phrase.push_str(&format!(" (process {})", process.pid));
    }
    let name = &record.name;
    let advice = format!(
        "if that is you: git agentwt remove --owner '{id}' {name}; to take it away from a live \
            owner: git agentwt remove -ff {name}"
    );
    Some(reason("owned", Some(2), phrase, advice))
}

/// The reason that uncommitted files or unmerged commits would be lost.
fn lost_work(
    record: &Record,
    facts: &RemoveFacts,
    branch_after: BranchAfter,
) -> Option<RemovalReason> {
    let work = uncommitted_files(facts);
    let mut commits: Vec<&LostCommit> = facts.unmerged_detached.iter().collect();
    if branch_after == BranchAfter::MayGo {
        commits.extend(&facts.unmerged);
    }
    let phrases = phrases_of_lost_work(&work, commits.len());
    if phrases.is_empty() {
        return None;
    }
    let advice = format!("{}commit and merge it", advice_to_pull(record, &work));
    let mut items = shortened(work.iter().map(|file| file.path.to_string()));
    items.extend(shortened(commits.iter().map(|commit| {
        let subject = escape_for_terminal(commit.subject.as_bytes());
        format!("{} {subject}", commit.id.short())
    })));
    Some(RemovalReason {
        items,
        ..reason("would_lose", Some(1), phrases.join(", "), advice)
    })
}

/// The files with uncommitted work: placed files first, as git does not show them, and without
/// those of repositories inside, which are a reason of their own.
fn uncommitted_files(facts: &RemoveFacts) -> Vec<&UncommittedWork> {
    let mut files: Vec<&UncommittedWork> = facts.uncommitted.iter().collect();
    files.retain(|file| !is_nested(facts, &file.path));
    files.sort_by_key(|file| !matches!(file.kind, WorkKind::Placed(_)));
    files
}

/// True if a path is a repository inside of the worktree, or in one.
fn is_nested(facts: &RemoveFacts, path: &RepoPath) -> bool {
    facts
        .nested
        .iter()
        .any(|root| path == root || path.is_below(root.as_bstr()))
}

/// How many files and commits would be lost, a phrase for each kind.
fn phrases_of_lost_work(work: &[&UncommittedWork], commits: usize) -> Vec<String> {
    let mut changed = 0;
    let mut untracked = 0;
    let mut placed = 0;
    for file in work {
        match file.kind {
            WorkKind::Changed => changed += 1,
            WorkKind::Untracked => untracked += 1,
            WorkKind::Placed(_) => placed += 1,
        }
    }
    let mut phrases = Vec::new();
    if changed > 0 {
        let files = count(changed, "file has", "files have");
        phrases.push(format!("{files} uncommitted changes"));
    }
    if untracked > 0 {
        let files = count(untracked, "file is", "files are");
        phrases.push(format!("{files} untracked"));
    }
    if placed > 0 {
        let files = count(placed, "placed file is", "placed files are");
        phrases.push(format!("{files} edited"));
    }
    if commits > 0 {
        let lost = count(commits, "commit is", "commits are");
        phrases.push(format!("{lost} on no other branch"));
    }
    phrases
}

/// How the user keeps edits of files that were synced; empty where there are none.
fn advice_to_pull(record: &Record, work: &[&UncommittedWork]) -> String {
    const NAMED: usize = 8;
    let mut synced = Vec::new();
    for file in work {
        if file.kind == WorkKind::Placed(PlacedOrigin::Synced) && synced.len() < NAMED {
            synced.push(file.path.to_string());
        }
    }
    if synced.is_empty() {
        return String::new();
    }
    format!(
        "git agentwt sync {} --pull {}, to keep what was synced; ",
        record.name,
        synced.join(" ")
    )
}

/// The first paths, commits or processes, and how many more there are.
pub fn shortened(items: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    const SHOWN: usize = 20;
    let more = items.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = items.take(SHOWN).collect();
    if more > 0 {
        shown.push(format!("… and {more} more"));
    }
    shown
}

#[cfg(test)]
mod tests;
