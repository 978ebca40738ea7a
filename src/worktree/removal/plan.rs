//! Decides whether a worktree may be removed, and what is kept; pure.

use std::fmt;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::answer::count;
use crate::answer::shapes::{PathField, TrashField};
use crate::config::Strategy;
use crate::error::Fault;
use crate::exit::ExitCode;
use crate::name::CommitId;
use crate::path::{RepoPath, escape_for_terminal};
use crate::placed::Origin;
use crate::process::Inside;
use crate::worktree::repository::WORKTREES;
use crate::worktree::{Alive, MadeBy, Record};

/// Holds what `remove` looks at beside the record; by default nothing speaks against a removal.
#[derive(Clone, Debug, Default)]
pub struct RemoveFacts {
    /// The directory in which the command was started.
    pub start: Utf8PathBuf,
    /// The repository's root.
    pub root: Utf8PathBuf,
    /// Why nothing can be removed there: a directory on the way is a link.
    pub barred: Option<String>,
    /// Which directory a link in its place leads to.
    pub link: Option<Utf8PathBuf>,
    /// Where git has the worktree by now, if somebody moved it.
    pub moved_to: Option<Utf8PathBuf>,
    /// Whether git has the worktree locked.
    pub locked: bool,
    /// Paths with uncommitted work.
    pub uncommitted: Vec<(RepoPath, WorkKind)>,
    /// Directories with a repository of their own inside, submodules with work of their own among
    /// them.
    pub nested: Vec<RepoPath>,
    /// What could not be read, and may hold work.
    pub unreadable: Vec<String>,
    /// Of a clone: the worktrees that were added to its repository elsewhere.
    pub linked: Vec<String>,
    /// Where other file systems are mounted inside.
    pub mounted: Vec<String>,
    /// Processes that work inside; none where the system does not tell.
    pub running: Option<Vec<Inside>>,
    /// Whether its owner, if it has one, is alive.
    pub owner: Alive,
    /// Whether a submodule's repository in the private git directory has something of its own.
    pub modules: bool,
    /// Whether the directory, or the private git directory, is there.
    pub is_left: bool,
    /// Whether another worktree has the branch checked out by now.
    pub held: bool,
    /// Where the branch is; none when it is gone.
    pub branch_tip: Option<CommitId>,
    /// Commits that only HEAD, its reflog or the private git directory name, and no branch,
    /// remote-tracking branch or tag has.
    pub detached: Vec<CommitId>,
    /// The commits of these that nobody has merged by content either, with their subjects, the
    /// newest first.
    pub alone: Vec<(CommitId, String)>,
    /// The same of the branch.
    pub unmerged: Vec<(CommitId, String)>,
    /// How what the branch changes came into the base branch, where its commits are not in it.
    pub merged: Option<Merged>,
    /// Stashes that were made on the branch, which stay.
    pub stashes: Vec<String>,
}

/// Says what a path with uncommitted work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A tracked file that is not as in HEAD.
    Changed,
    /// A file that git does not know.
    Untracked,
    /// A placed file, which is edited.
    Placed(Origin),
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

/// Holds what the user allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoveOptions {
    /// `--force`: once, save what would be lost, then remove; twice, although it is in use.
    pub force: u8,
    /// `-D`: delete the branch even when it is not merged.
    pub delete_branch: bool,
    /// `--keep-branch`.
    pub keep_branch: bool,
    /// `--owner`: who asks.
    pub owner: Option<String>,
}

/// A removal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemovePlan {
    /// `deleted`, `stays`, `gone` (before), or `private` (to a clone).
    #[serde(rename = "branch_fate", serialize_with = "write_fate")]
    #[schemars(with = "String")]
    pub branch: BranchFate,
    /// How the branch was merged, if only its content was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
    /// The paths with uncommitted work; null if they were not read.
    pub saved: Option<Vec<PathField>>,
    /// What is kept; absent if everything was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash: Option<TrashField>,
    /// The number of ignored files, which are deleted; null if they were not counted.
    pub ignored: Option<usize>,
    /// The directories with ignored files, the largest first.
    pub ignored_places: Vec<IgnoredPlace>,
    /// Whether the worktree is kept in the trash.
    #[serde(skip)]
    pub is_kept: bool,
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

fn write_fate<S: Serializer>(fate: &BranchFate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(fate.as_str())
}

/// Says what becomes of the branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BranchFate {
    /// It stays.
    #[default]
    Stays,
    /// It is deleted, if it is still at this commit.
    Deleted(CommitId),
    /// There is none.
    Gone,
    /// It is the clone's own, and goes with it: what is new on it is fetched before.
    Private,
}

impl BranchFate {
    /// The fate as a word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Stays => "stays",
            Self::Deleted(_) => "deleted",
            Self::Gone => "gone",
            Self::Private => "private",
        }
    }

    /// The fate of a branch for people.
    pub fn words(&self, branch: &str, merged: Option<&Merged>) -> String {
        match self {
            Self::Stays => format!("branch {branch} stays"),
            Self::Deleted(tip) => {
                let merged = merged.map(|how| format!(", {how}")).unwrap_or_default();
                format!("branch {branch} (was {}{merged})", tip.short())
            }
            Self::Private => format!("branch {branch} went with its clone"),
            Self::Gone => "its branch was gone".to_owned(),
        }
    }
}

/// Decides.
///
/// # Errors
/// Refuses what is not ours to remove, and what would lose work that nobody allowed to save: all
/// reasons at once.
pub fn plan(
    record: &Record,
    facts: &RemoveFacts,
    options: &RemoveOptions,
) -> Result<RemovePlan, RemoveRefusal> {
    // asked for, in use, or the user's own
    let stays = options.keep_branch || facts.held || !(record.branch_made || options.delete_branch);
    let mut reasons = reasons(record, facts, options, stays);
    reasons.retain(|reason| reason.force.is_none_or(|force| force > options.force));
    if !reasons.is_empty() {
        let name = record.name.to_string();
        return Err(RemoveRefusal { name, reasons });
    }
    let is_merged = facts.unmerged.is_empty();
    let mut keep = facts.detached.clone();
    let branch = match &facts.branch_tip {
        _ if record.strategy == Strategy::Clone => BranchFate::Private,
        None => BranchFate::Gone,
        Some(tip) if !stays && (is_merged || options.delete_branch) => {
            if !is_merged || facts.merged.is_some() {
                keep.push(tip.clone());
            }
            BranchFate::Deleted(tip.clone())
        }
        Some(_) => BranchFate::Stays,
    };
    Ok(RemovePlan {
        branch,
        merged: facts.merged.clone(),
        is_kept: facts.is_left && (options.force > 0 || facts.modules),
        keep,
        notes: notes(record, facts, options),
        ..RemovePlan::default()
    })
}

fn notes(record: &Record, facts: &RemoveFacts, options: &RemoveOptions) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(owner), Alive::Unknown) = (&record.owner, facts.owner)
        && options.owner.as_ref() != Some(&owner.id)
    {
        notes.push(format!(
            "nobody can tell from here whether its owner `{}` on {} is alive",
            owner.id, owner.host
        ));
    }
    if facts.modules && options.force == 0 {
        notes.push(
            "a submodule's repository has something of its own, so the worktree is kept in the trash"
                .to_owned(),
        );
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

/// Says why a worktree is not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoveRefusal {
    /// Its name.
    pub name: String,
    /// Everything that speaks against it; never empty.
    pub reasons: Vec<Reason>,
}

/// Represents one thing that speaks against a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    code: &'static str,
    /// How often `--force` must be given for it not to count; none when it always does.
    force: Option<u8>,
    phrase: String,
    advice: String,
    /// What is listed below, a line each.
    items: Vec<String>,
}

impl fmt::Display for RemoveRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reasons } = self;
        write!(f, "cannot remove worktree `{name}`: {}", self.reason())?;
        let mut items = reasons.iter().flat_map(|reason| &reason.items);
        items.try_for_each(|item| write!(f, "\n  {item}"))
    }
}

impl std::error::Error for RemoveRefusal {}

impl miette::Diagnostic for RemoveRefusal {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let code = self.reasons.first()?.code;
        Some(Box::new(format!("agentwt::remove::{code}")))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.advice()))
    }
}

impl Fault for RemoveRefusal {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Refused
    }
}

impl RemoveRefusal {
    /// All reasons in one line.
    pub fn reason(&self) -> String {
        let all: Vec<&str> = self.reasons.iter().map(|one| &*one.phrase).collect();
        all.join(", ")
    }

    /// The next commands, one for each reason.
    pub fn advice(&self) -> String {
        let all: Vec<&str> = self.reasons.iter().map(|one| &*one.advice).collect();
        all.join("; ")
    }
}

fn reason(
    code: &'static str,
    force: Option<u8>,
    phrase: impl Into<String>,
    advice: impl Into<String>,
) -> Reason {
    Reason {
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
    stays: bool,
) -> Vec<Reason> {
    let (name, path) = (&record.name, &record.path);
    let place = facts.root.join(WORKTREES).join(name.as_str());
    if record.made_by == MadeBy::Git {
        let advice = format!("git agentwt hooks uninstall {name} && git worktree remove {path}");
        return vec![reason("not_ours", None, "plain git made it", advice)];
    }
    if *path != place {
        let phrase = format!("its record names another place than {place}");
        let advice = format!(
            "if the repository was moved, move it back to where {path} is in it; {place} is not touched: git worktree list"
        );
        return vec![reason("elsewhere", None, phrase, advice)];
    }
    if let (Some(target), None) = (&facts.link, &facts.barred) {
        // nothing more can be told of it
        let phrase = format!("a link to {target} stands in its place, which is not followed");
        let advice = format!("put the directory back: rm {path} && mv {target} {path}");
        return vec![reason("link", None, phrase, advice)];
    }
    let mut all = Vec::new();
    if let Some(why) = &facts.barred {
        let advice = format!(
            "put the directory back where the link is: ls -ld {path} {path}/.. {path}/../.."
        );
        all.push(reason("barred", None, why, advice));
    }
    if facts.start.starts_with(path) {
        let advice = format!("cd {} && git agentwt remove {name}", facts.root);
        all.push(reason("inside", None, "you are inside it", advice));
    }
    if let Some(to) = &facts.moved_to {
        let advice = format!("move it back first: git worktree move {to} {path}");
        all.push(reason(
            "moved",
            None,
            format!("it was moved to {to}"),
            advice,
        ));
    }
    if !facts.linked.is_empty() {
        let phrase = format!(
            "its repository has other worktrees: {}",
            facts.linked.join(", ")
        );
        let advice = format!(
            "remove these first: git -C {path} worktree list; git -C {path} worktree remove <path>"
        );
        all.push(reason("linked", None, phrase, advice));
    }
    if !facts.nested.is_empty() {
        let nested: Vec<String> = facts.nested.iter().map(ToString::to_string).collect();
        let phrase = format!("a repository is inside it: {}", nested.join(", "));
        let advice = format!("move it out of {path}, or {}", keep_all(record));
        all.push(reason("nested_repository", Some(1), phrase, advice));
    }
    if !facts.mounted.is_empty() {
        let phrase = format!(
            "a file system is mounted inside it: {}",
            facts.mounted.join(", ")
        );
        let below = facts.mounted.iter().map(|item| format!(" {path}/{item}"));
        let advice = format!("umount{}", below.collect::<String>());
        all.push(reason("mounted", None, phrase, advice));
    }
    if !facts.unreadable.is_empty() {
        let phrase = "it cannot be read whether work would be lost";
        let advice = format!("chmod -R u+rX {path}, or {}", keep_all(record));
        let items = facts.unreadable.iter();
        all.push(Reason {
            items: items
                .map(|item| format!("{item} (it cannot be read)"))
                .collect(),
            ..reason("unreadable", Some(1), phrase, advice)
        });
    }
    all.extend(lost_work(record, facts, !stays && !options.delete_branch));
    all.extend(in_use(record, facts, options));
    all
}

/// Who uses the worktree.
fn in_use(record: &Record, facts: &RemoveFacts, options: &RemoveOptions) -> Vec<Reason> {
    let (name, path) = (&record.name, &record.path);
    let mut all = Vec::new();
    if facts.locked {
        let advice = format!("git worktree unlock {path}");
        all.push(reason("locked", Some(2), "it is locked", advice));
    }
    let one = |one: &Inside| format!("{} ({})", one.pid, one.name);
    if let Some(running @ [first, others @ ..]) = facts.running.as_deref() {
        let all_of_them = || shortened(running.iter().map(one)).join(", ");
        let phrase = match others {
            [] => format!("process {} works in it", one(first)),
            [..] => format!("processes {} work in it", all_of_them()),
        };
        let pids: Vec<String> = running.iter().map(|one| one.pid.to_string()).collect();
        let advice = format!(
            "end it or wait for it (ps -f -p {}), or remove it all the same with `git agentwt remove -ff {name}`",
            pids.join(",")
        );
        all.push(reason("running", Some(2), phrase, advice));
    }
    if let (Some(owner), Alive::Yes) = (&record.owner, facts.owner)
        && options.owner.as_ref() != Some(&owner.id)
    {
        let id = &owner.id;
        let pid = owner.process.as_ref();
        let pid = pid.map(|process| format!(" (process {})", process.pid));
        let phrase = format!("its owner `{id}` is alive{}", pid.unwrap_or_default());
        let advice = format!(
            "if that is you: git agentwt remove --owner '{id}' {name}; to take it away from a live owner: git agentwt remove -ff {name}"
        );
        all.push(reason("owned", Some(2), phrase, advice));
    }
    all
}

/// What git would lose, if anything.
fn lost_work(record: &Record, facts: &RemoveFacts, with_branch: bool) -> Option<Reason> {
    // what is in a repository inside is listed as such
    let is_nested = |path: &RepoPath| {
        let mut nested = facts.nested.iter();
        nested.any(|above| path == above || path.is_below(above.as_bstr()))
    };
    let work = facts.uncommitted.iter();
    let mut work: Vec<_> = work.filter(|(path, _)| !is_nested(path)).collect();
    // what git shows nobody is named first
    work.sort_by_key(|(_, kind)| !matches!(kind, WorkKind::Placed(_)));
    let commits = facts.alone.iter();
    let branch = facts.unmerged.iter().filter(|_| with_branch);
    let commits = commits.chain(branch).map(|(id, subject)| {
        let subject = escape_for_terminal(subject.as_bytes());
        format!("{} {subject}", id.short())
    });
    let commits: Vec<String> = commits.collect();
    let number = |is_it: fn(WorkKind) -> bool| work.iter().filter(|(_, kind)| is_it(*kind)).count();
    let parts = [
        (
            number(|kind| kind == WorkKind::Changed),
            "file has uncommitted changes",
            "files have uncommitted changes",
        ),
        (
            number(|kind| kind == WorkKind::Untracked),
            "file is untracked",
            "files are untracked",
        ),
        (
            number(|kind| matches!(kind, WorkKind::Placed(_))),
            "placed file is edited",
            "placed files are edited",
        ),
        (
            commits.len(),
            "commit is on no other branch",
            "commits are on no other branch",
        ),
    ];
    let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
    let parts: Vec<String> = parts
        .map(|(number, one, many)| count(number, one, many))
        .collect();
    let synced = work
        .iter()
        .filter(|(_, kind)| *kind == WorkKind::Placed(Origin::Synced));
    let synced: Vec<String> = synced.map(|(path, _)| path.to_string()).collect();
    let pull = match synced.as_slice() {
        [] => String::new(),
        [..] => format!(
            "git agentwt sync {} --pull {}, to keep what was synced; ",
            record.name,
            synced.join(" ")
        ),
    };
    let advice = format!("{pull}commit and merge it, or {}", keep_all(record));
    let mut items = shortened(work.iter().map(|(path, _)| path.to_string()));
    items.extend(shortened(commits.into_iter()));
    (!parts.is_empty()).then(|| Reason {
        items,
        ..reason("would_lose", Some(1), parts.join(", "), advice)
    })
}

/// The command that keeps everything.
fn keep_all(record: &Record) -> String {
    let name = &record.name;
    format!("keep all of it in the trash: git agentwt remove --force {name}")
}

/// The first paths, commits or processes, which are listed.
fn shortened(items: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    const SHOWN: usize = 20;
    let more = items.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("… and {more} more"));
    items.take(SHOWN).chain(more).collect()
}

#[cfg(test)]
mod tests;
