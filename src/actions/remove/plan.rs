//! What a removal looks at, may give up and decides, as values.

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::trash::entry::{REFS, Trashed};
use crate::answer::text::Text;
use crate::inventory::placed::PlacedOrigin;
use crate::record::worktree::{Alive, Record, Term};
use crate::system::processes::InsideProcess;
use crate::truth;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::words::path_text::PathText;
use crate::words::size::Size;
use crate::words::text::{count, would};

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

/// What `remove` looks at beside the record; by default nothing speaks against a removal.
#[derive(Clone, Debug, Default)]
pub struct RemoveFacts {
    /// The directory in which the command was started.
    pub start: Utf8PathBuf,
    /// The repository's root.
    pub root: Utf8PathBuf,
    /// Whether something stands in its place that is no directory.
    pub is_replaced: bool,
    /// Why nothing can be removed there: a directory on the way is a link.
    pub barred: Option<String>,
    /// Where the worktree is by now: moved, or behind a link that stands in its place.
    pub moved_to: Option<Utf8PathBuf>,
    /// Whether git has the worktree locked.
    pub locked: bool,
    /// Paths with uncommitted work.
    pub uncommitted: Vec<UncommittedWork>,
    /// Committed files with other bytes than git stores, which a checkout is not known to write.
    pub converted: Vec<RepoPath>,
    /// Directories with a repository of their own inside, submodules with work of their own among
    /// them.
    pub nested: Vec<RepoPath>,
    /// Those of them that are submodules.
    pub submodules: Vec<String>,
    /// Where ignored files are that the base's own rules do not name.
    pub hidden: Vec<truth::survey::IgnoredPlace>,
    /// What could not be read, and may hold work.
    pub unreadable: Vec<String>,
    /// True if the index is there and cannot be read here: what was staged may be work.
    pub is_index_unreadable: bool,
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
    /// Whether `git am` has patches there that are not applied.
    pub has_patches: bool,
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
    /// The commits of `detached`, and those of their ancestors that no ref keeps either; empty if
    /// their content is merged. With their subjects, the newest first.
    pub unmerged_detached: Vec<LostCommit>,
    /// The commits of the branch that no ref which stays has; empty if their content is merged.
    /// With their subjects, the newest first.
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
    #[schemars(with = "String")]
    pub how: MergedHow,
    /// The commit that has the content, or the last of these commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The ref that has the content.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// Says where the content of a merged branch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MergedHow {
    /// In one commit for each of its own.
    Picked,
    /// In one commit.
    Squashed,
    /// In a ref: a merge would change nothing.
    Contained,
}

impl fmt::Display for Merged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.reference {
            let prefixes = ["refs/heads/", "refs/remotes/"];
            let short = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
            return write!(f, "merged: {} has its content", short.unwrap_or(name));
        }
        let way = match self.how {
            MergedHow::Squashed => "squash",
            MergedHow::Picked | MergedHow::Contained => "rebase or cherry-pick",
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

    /// The number of the ignored files that go, and where most of them are, after a comma; nothing
    /// where there are none.
    pub fn ignored_words(&self) -> String {
        let number = self.ignored.unwrap_or(0);
        if number == 0 {
            return String::new();
        }
        let files = count(number, "ignored file", "ignored files");
        format!(", {files} ({})", largest(&self.ignored_places))
    }

    /// Prints what was done on stderr.
    pub fn print(&self, name: &str, path: &Utf8Path, branch: &str, text: &mut Text) {
        let below = format!("{REFS}{name}/");
        let name = text.paint.name(name);
        let branch = self.fate(branch);
        let ignored = self.ignored_words();
        let verb = would(self.dry_run, "removed", "would remove");
        text.tell(format!("{verb} {name}: {path}, {branch}{ignored}"));
        if let Some(trash) = &self.trash {
            if let Some(shown) = trash.lasting() {
                text.tell(if shown.starts_with(REFS) {
                    format!("kept its commits; to see them: git log {shown}")
                } else {
                    format!(
                        "kept in {shown}, without what the base ignores; to bring it back: git \
                         agentwt remove --undo {name}"
                    )
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

/// The first places, each with its size.
pub(super) fn largest(places: &[IgnoredPlace]) -> String {
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
pub(super) enum BranchAfter {
    /// It stays: that was asked for, another worktree has it checked out, or it is the user's own.
    Stays,
    /// It is deleted if it is merged.
    MayGo,
    /// It is deleted, merged or not.
    MustGo,
}

impl BranchAfter {
    /// What is wanted by these options, and possible.
    pub(super) fn of(record: &Record, facts: &RemoveFacts, options: &RemoveOptions) -> Self {
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
