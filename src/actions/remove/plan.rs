//! Decides whether a worktree may be removed, and what is kept; pure.

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::trash::entry::{REFS, Trashed};
use crate::answer::text::Text;
use crate::config::value::Strategy;
use crate::inventory::placed::PlacedOrigin;
use crate::record::worktree::{Alive, MadeBy, Record, Term};
use crate::system::processes::InsideProcess;
use crate::truth;
use crate::words::error::Fault;
use crate::words::exit::ExitCode;
use crate::words::name::CommitId;
use crate::words::path::{RepoPath, escape_for_terminal};
use crate::words::path_text::PathText;
use crate::words::size::Size;
use crate::words::text::{count, would};
use crate::worktree::repository::WORKTREES;

/// What a removal may give up, and what becomes of the branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoveOptions {
    /// How often `--force` was given: once, work goes into the trash; twice, a worktree in use goes
    /// too.
    pub force: u8,
    /// The owner that asks: its own live process does not stop the removal.
    pub owner: Option<String>,
    /// Delete the branch even if it is not merged.
    pub delete_branch: bool,
    /// Keep the branch even if it is merged.
    pub keep_branch: bool,
    /// Plan only.
    pub dry_run: bool,
}

/// Holds what `remove` looks at beside the record; by default nothing speaks against a removal.
#[derive(Clone, Debug, Default)]
pub struct RemoveFacts {
    /// The directory in which the command was started.
    pub start: Utf8PathBuf,
    /// The repository's root.
    pub root: Utf8PathBuf,
    /// Why nothing can be removed there: a directory on the way is a link.
    pub barred: Option<String>,
    /// Where the worktree is by now: moved, or behind a link that stands in its place.
    pub moved_to: Option<Utf8PathBuf>,
    /// Whether git has the worktree locked.
    pub locked: bool,
    /// Paths with uncommitted work.
    pub uncommitted: Vec<UncommittedWork>,
    /// Directories with a repository of their own inside, submodules with work of their own among
    /// them.
    pub nested: Vec<RepoPath>,
    /// Those of them that are submodules.
    pub submodules: Vec<String>,
    /// Where ignored files are that the base's own rules do not name.
    pub hidden: Vec<truth::survey::IgnoredPlace>,
    /// What could not be read, and may hold work.
    pub unreadable: Vec<String>,
    /// The git directory of commands in a fence, while something of theirs is not imported.
    pub runs: Vec<String>,
    /// Those that cannot be read.
    pub damaged: Vec<String>,
    /// Of a clone: the worktrees that were added to its repository elsewhere.
    pub linked: Vec<String>,
    /// Where other file systems are mounted inside.
    pub mounted: Vec<String>,
    /// Processes that work inside; none where the system does not tell.
    pub running: Option<Vec<InsideProcess>>,
    /// Whether its owner, if it has one, is alive.
    pub owner: Alive,
    /// Whether a submodule's repository in the private git directory has something of its own.
    pub modules: bool,
    /// Whether the directory is there.
    pub is_there: bool,
    /// Whether the directory, or the private git directory, is there.
    pub is_left: bool,
    /// Whether another worktree has the branch checked out by now.
    pub held: bool,
    /// Where the branch is; none when it is gone.
    pub branch_tip: Option<CommitId>,
    /// Commits that only HEAD, its reflog or the private git directory name, and no branch,
    /// remote-tracking branch or tag has.
    pub detached: Vec<CommitId>,
    /// Commits that only what git overwrites unasked names (`FETCH_HEAD`, `ORIG_HEAD`): they stop
    /// nothing.
    pub passing: Vec<CommitId>,
    /// The commits of these that were not merged by content either, with their subjects, the
    /// newest first.
    pub unmerged_detached: Vec<LostCommit>,
    /// The same of the branch.
    pub unmerged: Vec<LostCommit>,
    /// How what the branch changes came into the base branch, where its commits are not in it.
    pub merged: Option<Merged>,
    /// Stashes that were made on the branch, which stay.
    pub stashes: Vec<String>,
}

/// A path with uncommitted work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncommittedWork {
    /// The path.
    pub path: RepoPath,
    /// What it is.
    pub kind: WorkKind,
}

/// A commit that would be on no branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCommit {
    /// Its id.
    pub id: CommitId,
    /// Its subject, of the newest ones.
    pub subject: String,
}

/// Says what a path with uncommitted work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A tracked file that is not as in HEAD.
    Changed,
    /// A file that git does not know.
    Untracked,
    /// A placed file, which is edited.
    Placed(PlacedOrigin),
}

/// How the content of a branch was merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Merged {
    /// `picked` (each commit), `squashed` (in one commit) or `contained` (in a ref).
    pub how: &'static str,
    /// The commit that has the content, or the last of these commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The ref that has the content.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl fmt::Display for Merged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.reference {
            let short = ["refs/heads/", "refs/remotes/"];
            let short = short.iter().find_map(|start| name.strip_prefix(start));
            return write!(f, "merged: {} has its content", short.unwrap_or(name));
        }
        let way = match self.how {
            "squashed" => "squash",
            _ => "rebase or cherry-pick",
        };
        let commit = self.commit.as_ref().map_or("", CommitId::short);
        write!(f, "merged by {way} in {commit}")
    }
}

/// A removal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemovePlan {
    /// `deleted`, `stays`, `gone` (before), or `private` (to a clone).
    #[serde(rename = "branch_fate")]
    #[schemars(with = "String")]
    pub branch: BranchFate,
    /// How the branch was merged, if only its content was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
    /// The paths with uncommitted work; null if they were not read.
    pub saved: Option<Vec<PathText>>,
    /// What is kept, of a clean worktree for a short term; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash: Option<Trashed>,
    /// The number of files that the base's own rules ignore, which are deleted; null if they were
    /// not counted.
    pub ignored: Option<usize>,
    /// The directories with these files, the largest first.
    pub ignored_places: Vec<IgnoredPlace>,
    /// Where ignored files are that the base's own rules do not name: they are kept in the trash.
    pub hidden_places: Vec<IgnoredPlace>,
    /// Whether nothing is changed.
    #[serde(skip)]
    pub dry_run: bool,
    /// For how long the worktree is kept in the trash; none where nothing of it is left.
    #[serde(skip)]
    pub term: Option<Term>,
    /// Where a branch is that is deleted.
    #[serde(skip)]
    pub tip: Option<CommitId>,
    /// Commits that a ref must keep: they are on no branch when this is done.
    #[serde(skip)]
    pub keep: Vec<CommitId>,
    /// What the user should know although it stops nothing.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// A directory with ignored files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IgnoredPlace {
    /// The directory.
    pub path: String,
    /// The bytes of the ignored files.
    pub bytes: u64,
}

impl IgnoredPlace {
    /// The place that was found.
    pub fn new(place: &truth::survey::IgnoredPlace) -> Self {
        Self {
            path: place.to_string(),
            bytes: place.bytes,
        }
    }
}

/// Says what becomes of the branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BranchFate {
    /// It stays.
    #[default]
    Stays,
    /// It is deleted, if it is still where it was.
    Deleted,
    /// There is none.
    Gone,
    /// It is the clone's own, and goes with it: what is new on it is fetched before.
    Private,
}

impl RemovePlan {
    /// The fate of the branch for people.
    pub fn fate(&self, branch: &str) -> String {
        match self.branch {
            BranchFate::Stays => format!("branch {branch} stays"),
            BranchFate::Deleted => {
                let was = self.tip.as_ref().map_or("", CommitId::short);
                let merged = self.merged.as_ref().map(|how| format!(", {how}"));
                format!("branch {branch} (was {was}{})", merged.unwrap_or_default())
            }
            BranchFate::Private => format!("branch {branch} went with its clone"),
            BranchFate::Gone => "its branch was gone".to_owned(),
        }
    }

    /// Prints what was done on stderr.
    pub fn print(&self, name: &str, path: &Utf8Path, branch: &str, text: &mut Text) {
        let below = format!("{REFS}{name}/");
        let name = text.paint.name(name);
        let branch = self.fate(branch);
        let ignored = ignored_words(self);
        let verb = would(self.dry_run, "removed", "would remove");
        text.tell(format!("{verb} {name}: {path}, {branch}{ignored}"));
        if let Some(trash) = &self.trash {
            if let Some(shown) = trash.lasting() {
                text.tell(if shown.starts_with(REFS) {
                    format!("kept its commits; to see them: git log {shown}")
                } else {
                    format!("kept in {shown}; to bring it back: git agentwt remove --undo {name}")
                });
            }
        } else if self.dry_run && self.term == Some(Term::Long) {
            let files = self.saved.as_ref().map_or(0, Vec::len);
            let files = count(files, "uncommitted file", "uncommitted files");
            text.tell(format!("  would keep it in the trash, with {files}"));
        } else if self.dry_run && !self.keep.is_empty() {
            text.tell(format!("  would keep its commits under {below}"));
        }
    }
}

/// The number of ignored files, and where most of them were.
fn ignored_words(removal: &RemovePlan) -> String {
    let number = removal.ignored.unwrap_or(0);
    if number == 0 {
        return String::new();
    }
    let files = count(number, "ignored file", "ignored files");
    format!(", {files} ({})", largest(&removal.ignored_places))
}

/// The first places, each with its size.
fn largest(places: &[IgnoredPlace]) -> String {
    const SHOWN: usize = 3;
    let shown = places.iter().take(SHOWN);
    let mut words: Vec<String> = shown
        .map(|place| format!("{} {}", place.path, Size(place.bytes)))
        .collect();
    if places.len() > SHOWN {
        words.push("…".to_owned());
    }
    words.join(", ")
}

/// Says what a removal wants of the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BranchAfter {
    /// It stays: that was asked for, another worktree has it checked out, or it is the user's own.
    Stays,
    /// It is deleted if it is merged.
    MayGo,
    /// It is deleted, merged or not.
    MustGo,
}

impl BranchAfter {
    fn of(record: &Record, facts: &RemoveFacts, options: &RemoveOptions) -> Self {
        if options.keep_branch || facts.held {
            Self::Stays
        } else if options.delete_branch {
            Self::MustGo
        } else if record.branch_made {
            Self::MayGo
        } else {
            Self::Stays
        }
    }
}

/// Decides.
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
    let mut reasons = reasons(record, facts, options, branch_after);
    reasons.retain(|reason| reason.force.is_none_or(|force| force > options.force));
    if !reasons.is_empty() {
        return Err(refusal(record, reasons));
    }
    let is_merged = facts.unmerged.is_empty();
    let is_deleted = match branch_after {
        BranchAfter::Stays => false,
        BranchAfter::MayGo => is_merged,
        BranchAfter::MustGo => true,
    };
    let branch = match &facts.branch_tip {
        _ if record.strategy == Strategy::Clone => BranchFate::Private,
        None => BranchFate::Gone,
        Some(_) if is_deleted => BranchFate::Deleted,
        Some(_) => BranchFate::Stays,
    };
    let tip = match branch {
        BranchFate::Deleted => facts.branch_tip.clone(),
        BranchFate::Stays | BranchFate::Gone | BranchFate::Private => None,
    };
    let mut keep = facts.detached.clone();
    for commit in &facts.passing {
        if !facts.detached.contains(commit) {
            keep.push(commit.clone());
        }
    }
    if !is_merged || facts.merged.is_some() || record.request.is_some() {
        // no branch has it then
        keep.extend(tip.clone());
    }
    Ok(RemovePlan {
        branch,
        tip,
        merged: facts.merged.clone(),
        term: term(facts, options),
        hidden_places: facts.hidden.iter().map(IgnoredPlace::new).collect(),
        keep,
        dry_run: options.dry_run,
        notes: notes(record, facts, options),
        ..RemovePlan::default()
    })
}

/// For how long the worktree is kept in the trash; none where nothing of it is left.
fn term(facts: &RemoveFacts, options: &RemoveOptions) -> Option<Term> {
    let is_left = facts.is_left || !facts.damaged.is_empty();
    let has_work = options.force > 0 || facts.modules || !facts.hidden.is_empty();
    if is_left && has_work {
        return Some(Term::Long);
    }
    // without a directory there is nothing that something could come into
    facts.is_there.then_some(Term::Short)
}

/// Says everything that speaks against a removal, of which there is something.
fn refusal(record: &Record, mut reasons: Vec<RemovalReason>) -> RemoveRefusal {
    let name = &record.name;
    // what keeps everything is the same command for all that would be lost
    if let Some(last) = reasons.iter_mut().rfind(|reason| reason.force == Some(1)) {
        last.advice.push_str(&format!(
            ", or keep all of it in the trash: git agentwt remove --force {name}"
        ));
    }
    let phrases: Vec<&str> = reasons.iter().map(|reason| &*reason.phrase).collect();
    let advice: Vec<&str> = reasons.iter().map(|reason| &*reason.advice).collect();
    let reason = phrases.join(", ");
    let mut message = format!("cannot remove worktree `{name}`: {reason}");
    for item in reasons.iter().flat_map(|reason| &reason.items) {
        message.push_str(&format!("\n  {item}"));
    }
    let code = reasons.first().map_or("", |first| first.code);
    RemoveRefusal {
        exit: ExitCode::Refused,
        code: format!("remove::{code}"),
        message,
        reason,
        help: advice.join("; "),
    }
}

fn notes(record: &Record, facts: &RemoveFacts, options: &RemoveOptions) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(owner), Alive::Unknown) = (&record.owner, facts.owner)
        && options.owner.as_ref() != Some(&owner.id)
    {
        notes.push(format!(
            "whether its owner `{}` on {} is alive cannot be determined from here",
            owner.id, owner.host
        ));
    }
    if facts.modules && options.force == 0 {
        notes.push(
            "a submodule's repository has something of its own, so the worktree is kept in the \
                trash"
                .to_owned(),
        );
    }
    if !facts.hidden.is_empty() {
        let places: Vec<IgnoredPlace> = facts.hidden.iter().map(IgnoredPlace::new).collect();
        let files = facts.hidden.iter().map(|place| place.files).sum();
        notes.push(format!(
            "the base's own ignore rules do not name {} ({}), so the worktree is kept in the trash",
            count(files, "ignored file", "ignored files"),
            largest(&places)
        ));
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
    let named = notes.iter().map(|note| format!("{name}: {note}"));
    named.collect()
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

/// Represents one thing that speaks against a removal.
struct RemovalReason {
    code: &'static str,
    /// How often `--force` must be given for it not to count; none when it always does.
    force: Option<u8>,
    phrase: String,
    advice: String,
    /// What is listed below, a line each.
    items: Vec<String>,
}

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

/// Everything that speaks against it.
fn reasons(
    record: &Record,
    facts: &RemoveFacts,
    options: &RemoveOptions,
    branch_after: BranchAfter,
) -> Vec<RemovalReason> {
    if let Some(reason) = not_ours(record, facts) {
        return vec![reason];
    }
    let mut reasons = about_place(record, facts);
    reasons.extend(about_inside(record, facts));
    reasons.extend(lost_work(record, facts, branch_after));
    reasons.extend(in_use(record, facts, options));
    reasons
}

/// Why it is not ours to remove.
fn not_ours(record: &Record, facts: &RemoveFacts) -> Option<RemovalReason> {
    let name = &record.name;
    let path = &record.path;
    let branch = &record.branch;
    if record.made_by == MadeBy::Git {
        let mut advice =
            format!("git agentwt hooks uninstall {name} && git worktree remove {path}");
        for run in &facts.runs {
            advice = format!("git fetch {run} {branch}:{name}-run && rm -r {run}; {advice}");
        }
        return Some(reason("not_ours", None, "plain git made it", advice));
    }
    let place = facts.root.join(WORKTREES).join(name.as_str());
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

/// What is wrong with where it is.
fn about_place(record: &Record, facts: &RemoveFacts) -> Vec<RemovalReason> {
    let name = &record.name;
    let path = &record.path;
    let mut reasons = Vec::new();
    if let Some(why) = &facts.barred {
        reasons.push(reason(
            "barred",
            None,
            why,
            format!(
                "put the directory back where the link is: ls -ld {path} {path}/.. {path}/../.."
            ),
        ));
    }
    if facts.start.starts_with(path) {
        let advice = format!("cd {} && git agentwt remove {name}", facts.root);
        reasons.push(reason("inside", None, "you are inside it", advice));
    }
    if let Some(to) = &facts.moved_to {
        reasons.push(reason(
            "moved",
            None,
            format!("it was moved to {to}"),
            format!(
                "move it back first: git worktree move {to} {path}, or where {path} is a link: \
                    rm {path} && mv {to} {path}"
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
                "remove these first: git -C {path} worktree list; git -C {path} worktree remove \
                    <path>"
            ),
        ));
    }
    reasons
}

/// What is inside of it, beside files.
fn about_inside(record: &Record, facts: &RemoveFacts) -> Vec<RemovalReason> {
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
    reasons.extend(about_runs(record, facts));
    let mut nested: Vec<String> = facts.nested.iter().map(ToString::to_string).collect();
    nested.retain(|path| !facts.submodules.contains(path));
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
        for item in &facts.mounted {
            umount.push_str(&format!(" {path}/{item}"));
        }
        let mounted = facts.mounted.join(", ");
        let phrase = format!("a file system is mounted inside it: {mounted}");
        reasons.push(reason("mounted", None, phrase, umount));
    }
    if !facts.unreadable.is_empty() {
        let mut items = Vec::new();
        for item in &facts.unreadable {
            items.push(format!("{item} (it cannot be read)"));
        }
        reasons.push(RemovalReason {
            items,
            ..reason(
                "unreadable",
                Some(1),
                "it cannot be read whether work would be lost",
                format!("chmod -R u+rX {path}"),
            )
        });
    }
    reasons
}

/// What commands in a fence left.
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

/// Who uses the worktree.
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

/// The processes that work in it.
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

/// Its owner, if that is alive and not who asks.
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

/// What git would lose, if anything.
fn lost_work(
    record: &Record,
    facts: &RemoveFacts,
    branch_after: BranchAfter,
) -> Option<RemovalReason> {
    let mut work: Vec<&UncommittedWork> = facts
        .uncommitted
        .iter()
        // what is in a repository inside is listed as such
        .filter(|work| !is_nested(facts, &work.path))
        .collect();
    // what git does not show is named first
    work.sort_by_key(|work| !matches!(work.kind, WorkKind::Placed(_)));
    let mut commits: Vec<&LostCommit> = facts.unmerged_detached.iter().collect();
    if branch_after == BranchAfter::MayGo {
        commits.extend(&facts.unmerged);
    }
    let phrases = phrases_of_lost_work(&work, commits.len());
    if phrases.is_empty() {
        return None;
    }
    let advice = format!("{}commit and merge it", advice_to_pull(record, &work));
    let mut items = shortened(work.iter().map(|work| work.path.to_string()));
    items.extend(shortened(commits.iter().map(|commit| {
        let subject = escape_for_terminal(commit.subject.as_bytes());
        format!("{} {subject}", commit.id.short())
    })));
    Some(RemovalReason {
        items,
        ..reason("would_lose", Some(1), phrases.join(", "), advice)
    })
}

/// True if a path is a repository inside of the worktree, or in one.
fn is_nested(facts: &RemoveFacts, path: &RepoPath) -> bool {
    facts
        .nested
        .iter()
        .any(|root| path == root || path.is_below(root.as_bstr()))
}

/// How many files and commits would be lost, by kind.
fn phrases_of_lost_work(work: &[&UncommittedWork], commits: usize) -> Vec<String> {
    let mut changed = 0;
    let mut untracked = 0;
    let mut placed = 0;
    for work in work {
        match work.kind {
            WorkKind::Changed => changed += 1,
            WorkKind::Untracked => untracked += 1,
            WorkKind::Placed(_) => placed += 1,
        }
    }
    let mut phrases = Vec::new();
    let mut add = |number, words: String| {
        if number > 0 {
            phrases.push(words);
        }
    };
    add(
        changed,
        format!(
            "{} uncommitted changes",
            count(changed, "file has", "files have")
        ),
    );
    add(
        untracked,
        format!("{} untracked", count(untracked, "file is", "files are")),
    );
    add(
        placed,
        format!(
            "{} edited",
            count(placed, "placed file is", "placed files are")
        ),
    );
    add(
        commits,
        format!(
            "{} on no other branch",
            count(commits, "commit is", "commits are")
        ),
    );
    phrases
}

/// How the user keeps files that were synced and are edited.
fn advice_to_pull(record: &Record, work: &[&UncommittedWork]) -> String {
    const NAMED: usize = 8;
    let mut synced = Vec::new();
    for work in work {
        if work.kind == WorkKind::Placed(PlacedOrigin::Synced) && synced.len() < NAMED {
            synced.push(work.path.to_string());
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

/// The first paths, commits or processes, which are listed.
pub fn shortened(items: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    const SHOWN: usize = 20;
    let more = items.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("… and {more} more"));
    items.take(SHOWN).chain(more).collect()
}

#[cfg(test)]
mod tests;
