//! Decides whether a worktree may be removed, and what is kept; pure.

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::trash;
use crate::actions::trash::Trashed;
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
    /// How often `--force` was given: once, work goes into the trash; twice, a worktree in use goes too.
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
    pub uncommitted: Vec<(RepoPath, WorkKind)>,
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
        let below = format!("{}{name}/", trash::REFS);
        let name = text.paint.name(name);
        let branch = self.fate(branch);
        let ignored = ignored_words(self);
        let verb = would(self.dry_run, "removed", "would remove");
        text.tell(format!("{verb} {name}: {path}, {branch}{ignored}"));
        if let Some(trash) = &self.trash {
            if let Some(shown) = trash.lasting() {
                text.tell(if shown.starts_with(trash::REFS) {
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

/// Decides.
///
/// # Errors
/// Refuses what is not ours to remove, and what would lose work that the user did not allow to save:
/// all reasons at once.
pub fn plan(
    record: &Record,
    facts: &RemoveFacts,
    options: &RemoveOptions,
) -> Result<RemovePlan, RemoveRefusal> {
    // asked for, in use, or the user's own
    let stays = options.keep_branch || facts.held || !(record.branch_made || options.delete_branch);
    let mut reasons = reasons(record, facts, options, stays);
    reasons.retain(|reason| reason.force.is_none_or(|force| force > options.force));
    // what keeps everything is the same command for all that would be lost
    if let Some(last) = reasons.iter_mut().rfind(|one| one.force == Some(1)) {
        let keeps = ", or keep all of it in the trash: git agentwt remove --force ";
        last.advice.extend([keeps, record.name.as_str()]);
    }
    if let Some(first) = reasons.first() {
        let join = |part: fn(&RemovalReason) -> &str, by: &str| {
            let all: Vec<&str> = reasons.iter().map(part).collect();
            all.join(by)
        };
        let items = reasons.iter().flat_map(|one| &one.items);
        let items: String = items.map(|item| format!("\n  {item}")).collect();
        let name = &record.name;
        let reason = join(|one| &one.phrase, ", ");
        return Err(RemoveRefusal {
            exit: ExitCode::Refused,
            code: format!("remove::{}", first.code),
            message: format!("cannot remove worktree `{name}`: {reason}{items}"),
            reason,
            help: join(|one| &one.advice, "; "),
        });
    }
    let is_merged = facts.unmerged.is_empty();
    let mut keep = facts.detached.clone();
    let passing = facts.passing.iter();
    keep.extend(passing.filter(|id| !facts.detached.contains(id)).cloned());
    let may_go = !stays && (is_merged || options.delete_branch);
    let tip = facts.branch_tip.clone();
    let (branch, tip) = match tip {
        _ if record.strategy == Strategy::Clone => (BranchFate::Private, None),
        None => (BranchFate::Gone, None),
        Some(_) if may_go => (BranchFate::Deleted, tip),
        Some(_) => (BranchFate::Stays, None),
    };
    // no branch has it then
    let is_alone = !is_merged || facts.merged.is_some() || record.request.is_some();
    keep.extend(tip.clone().filter(|_| is_alone));
    let is_left = facts.is_left || !facts.damaged.is_empty();
    let has_work = options.force > 0 || facts.modules || !facts.hidden.is_empty();
    let term = if is_left && has_work {
        Some(Term::Long)
    } else {
        // without a directory there is nothing that something could come into
        facts.is_there.then_some(Term::Short)
    };
    Ok(RemovePlan {
        branch,
        tip,
        merged: facts.merged.clone(),
        term,
        hidden_places: facts.hidden.iter().map(IgnoredPlace::new).collect(),
        keep,
        dry_run: options.dry_run,
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
    stays: bool,
) -> Vec<RemovalReason> {
    let name = &record.name;
    let path = &record.path;
    let branch = &record.branch;
    let place = facts.root.join(WORKTREES).join(name.as_str());
    if record.made_by == MadeBy::Git {
        let mut advice =
            format!("git agentwt hooks uninstall {name} && git worktree remove {path}");
        for run in &facts.runs {
            advice = format!("git fetch {run} {branch}:{name}-run && rm -r {run}; {advice}");
        }
        return vec![reason("not_ours", None, "plain git made it", advice)];
    }
    if *path != place {
        let phrase = format!("its record names another place than {place}");
        let advice = format!(
            "if the repository was moved, move it back to where {path} is in it; {place} is not \
                touched: git worktree list"
        );
        return vec![reason("elsewhere", None, phrase, advice)];
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
    let mut listed = |code, force, what: &str, items: &[String], advice: String| {
        let phrase = format!("{what}{}", items.join(", "));
        all.extend((!items.is_empty()).then(|| reason(code, force, phrase, advice)));
    };
    let to = facts.moved_to.as_deref().map_or("", Utf8Path::as_str);
    let advice = format!(
        "move it back first: git worktree move {to} {path}, or where {path} is a link: rm {path} \
            && mv {to} {path}"
    );
    let moved: Vec<String> = facts.moved_to.iter().map(ToString::to_string).collect();
    listed("moved", None, "it was moved to ", &moved, advice);
    let advice = format!(
        "remove these first: git -C {path} worktree list; git -C {path} worktree remove <path>"
    );
    let what = "its repository has other worktrees: ";
    listed("linked", None, what, &facts.linked, advice);
    let advice = "commit and push it there".to_owned();
    let what = "a submodule has uncommitted changes or unpushed commits: ";
    listed("submodule", Some(1), what, &facts.submodules, advice);
    let what = "a command in a fence left work that is not imported: ";
    let advice = format!(
        "see what is left, and import it: git agentwt exec {name} -- git status; a stash is left: \
            git agentwt exec {name} -- git stash list; its directory is gone: git agentwt remove \
            --force {name}, which fetches what was committed"
    );
    listed("run", Some(1), what, &facts.runs, advice);
    let what = "a command in a fence left a damaged git directory: ";
    let advice = "take from it what you need: git fetch <directory>".to_owned();
    listed("damaged_run", Some(1), what, &facts.damaged, advice);
    let mut nested: Vec<String> = facts.nested.iter().map(ToString::to_string).collect();
    nested.retain(|path| !facts.submodules.contains(path));
    let advice = format!("move it out of {path}");
    let what = "a repository is inside it: ";
    listed("nested_repository", Some(1), what, &nested, advice);
    let below = facts.mounted.iter().map(|item| format!(" {path}/{item}"));
    let advice = format!("umount{}", below.collect::<String>());
    let what = "a file system is mounted inside it: ";
    listed("mounted", None, what, &facts.mounted, advice);
    if !facts.unreadable.is_empty() {
        let phrase = "it cannot be read whether work would be lost";
        let advice = format!("chmod -R u+rX {path}");
        let item = |item: &String| format!("{item} (it cannot be read)");
        all.push(RemovalReason {
            items: facts.unreadable.iter().map(item).collect(),
            ..reason("unreadable", Some(1), phrase, advice)
        });
    }
    all.extend(lost_work(record, facts, !stays && !options.delete_branch));
    all.extend(in_use(record, facts, options));
    all
}

/// Who uses the worktree.
fn in_use(record: &Record, facts: &RemoveFacts, options: &RemoveOptions) -> Vec<RemovalReason> {
    let name = &record.name;
    let path = &record.path;
    let mut all = Vec::new();
    if facts.locked {
        let advice = format!("git worktree unlock {path}");
        all.push(reason("locked", Some(2), "it is locked", advice));
    }
    let one = |one: &InsideProcess| format!("{} ({})", one.pid, one.name);
    if let Some(running @ [first, others @ ..]) = facts.running.as_deref() {
        let all_of_them = || shortened(running.iter().map(one)).join(", ");
        let phrase = match others {
            [] => format!("process {} works in it", one(first)),
            [..] => format!("processes {} work in it", all_of_them()),
        };
        let pids: Vec<String> = running.iter().map(|one| one.pid.to_string()).collect();
        let advice = format!(
            "end it or wait for it (ps -f -p {}), or remove it all the same with `git agentwt \
                remove -ff {name}`",
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
            "if that is you: git agentwt remove --owner '{id}' {name}; to take it away from a \
                live owner: git agentwt remove -ff {name}"
        );
        all.push(reason("owned", Some(2), phrase, advice));
    }
    all
}

/// What git would lose, if anything.
fn lost_work(record: &Record, facts: &RemoveFacts, with_branch: bool) -> Option<RemovalReason> {
    // what is in a repository inside is listed as such
    let is_nested = |path: &RepoPath| {
        let mut nested = facts.nested.iter();
        nested.any(|above| path == above || path.is_below(above.as_bstr()))
    };
    let work = facts.uncommitted.iter();
    let mut work: Vec<_> = work.filter(|(path, _)| !is_nested(path)).collect();
    // what git does not show is named first
    work.sort_by_key(|(_, kind)| !matches!(kind, WorkKind::Placed(_)));
    let commits = facts.alone.iter();
    let branch = facts.unmerged.iter().filter(|_| with_branch);
    let commits = commits.chain(branch).map(|(id, subject)| {
        let subject = escape_for_terminal(subject.as_bytes());
        format!("{} {subject}", id.short())
    });
    let commits: Vec<String> = commits.collect();
    let number = |is_it: fn(WorkKind) -> bool| work.iter().filter(|(_, kind)| is_it(*kind)).count();
    let changed = number(|kind| kind == WorkKind::Changed);
    let untracked = number(|kind| kind == WorkKind::Untracked);
    let placed = number(|kind| matches!(kind, WorkKind::Placed(_)));
    let alone = commits.len();
    let parts = [
        (changed, "file has", "files have", "uncommitted changes"),
        (untracked, "file is", "files are", "untracked"),
        (placed, "placed file is", "placed files are", "edited"),
        (alone, "commit is", "commits are", "on no other branch"),
    ];
    let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
    let parts = parts.map(|(number, one, many, how)| format!("{} {how}", count(number, one, many)));
    let parts: Vec<String> = parts.collect();
    let is_synced = |kind| kind == WorkKind::Placed(PlacedOrigin::Synced);
    let synced = work.iter().filter(|(_, kind)| is_synced(*kind));
    let synced: Vec<String> = synced.take(8).map(|(path, _)| path.to_string()).collect();
    let pull = match synced.as_slice() {
        [] => String::new(),
        [..] => format!(
            "git agentwt sync {} --pull {}, to keep what was synced; ",
            record.name,
            synced.join(" ")
        ),
    };
    let advice = format!("{pull}commit and merge it");
    let mut items = shortened(work.iter().map(|(path, _)| path.to_string()));
    items.extend(shortened(commits.into_iter()));
    (!parts.is_empty()).then(|| RemovalReason {
        items,
        ..reason("would_lose", Some(1), parts.join(", "), advice)
    })
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
