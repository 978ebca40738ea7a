//! Holds [`Change`] and [`ChangeSet`]: what happened to which path, and where it was seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bstr::BString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::name::CommitId;
use crate::words::path::{RepoPath, escape_for_terminal, escape_for_tsv};
use crate::words::path_text::PathText;

/// Says where a change is: at a path of the repository, or at something of git's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A path of the repository.
    Path(RepoPath),
    /// A path of the repository from the root of the file system, for `changed --absolute`.
    Absolute(BString),
    /// A file or ref of the common git directory, `@git/…`.
    Git(BString),
    /// A file of the worktree's private git directory, `@wt/…`.
    Admin(BString),
    /// Which commit or branch the worktree is on, `@head`.
    Head,
    /// The worktree itself: its `.git` file, its admin directory, `@worktree`.
    Worktree,
    /// A file of the main worktree, `@main/…`.
    Main(BString),
    /// A file that is in none of these, by its whole path, `@outside/…`.
    Outside(BString),
}

/// The lock of a worktree's index, in its private git directory: git itself holds it for moments.
pub const INDEX_LOCK: &str = "index.lock";
/// The lock of its sparse patterns.
pub const SPARSE_LOCK: &str = "info/sparse-checkout.lock";

/// The words between the key and the value of a setting that had no value before.
pub const ADDED: &str = " was added: ";

/// Says what happened. A rename is a deletion and a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It is there and was not.
    Created,
    /// Its content is another.
    Modified,
    /// It was there and is not.
    Deleted,
    /// A file became a link, a directory a file, …
    Typechange,
    /// Only the executable bit is another.
    Mode,
    /// It is on disk though the scope excludes it, with the content that the base has, or as it
    /// was copied into the worktree.
    Present,
    /// A ref, or what HEAD names, moved.
    Ref,
    /// A configuration file of git's is another.
    Config,
    /// A hook is another: a program that git runs.
    Hook,
    /// A worktree was made or removed.
    Worktree,
    /// It has the content of a file that the scope excludes.
    Leak,
    /// A read-only file was made writable, and nothing else.
    Perm,
    /// Something that should be readable or in its place is not.
    Integrity,
}

/// Says where a change was seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seen {
    /// In a commit of this worktree: the newest that touched the path.
    Commit(CommitId),
    /// In what the branch has committed, where no single commit can be named.
    Committed,
    /// In the index.
    Index,
    /// On disk, at a path that the base or the index knows.
    Disk,
    /// On disk, at a path that git does not know.
    Untracked,
    /// On disk, untracked and ignored by the ignore rules of the base.
    Ignored,
    /// On disk, where we placed it: not as it was placed.
    Synced,
    /// On disk, hidden from git by this flag of the index (git-update-index(1)).
    AssumeUnchanged,
    /// On disk, hidden from git by this flag, on a path that the scope does not exclude.
    SkipWorktree,
}

/// A changed path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Change {
    /// Where it is.
    #[serde(flatten)]
    #[schemars(with = "PlaceText")]
    pub place: Place,
    /// The kind of change: `created`, `modified`, `deleted`, …
    #[schemars(with = "String")]
    pub kind: Kind,
    /// Where it was seen, at least one.
    #[serde(flatten, serialize_with = "serialize_seen")]
    #[schemars(with = "SeenText")]
    pub seen: BTreeSet<Seen>,
    /// Whether a directory stands or stood there, as git matches a submodule.
    #[serde(skip)]
    pub is_directory: bool,
    /// More about the change, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The content in each state that is changed, by which an acceptance names the change; empty
    /// if there is nothing to name.
    #[serde(skip)]
    pub now: Vec<Content>,
}

/// The keys of a place in an answer.
#[derive(Serialize, JsonSchema)]
struct PlaceText {
    /// The path.
    #[serde(flatten)]
    path: Option<PathText>,
    /// The changed entry, if it is not a path: `@head`, `@git/<ref>`, `@wt/<file>`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match self.path_bytes() {
            Some(bytes) => PlaceText {
                path: Some(PathText::from(bytes)),
                place: None,
            },
            None => PlaceText {
                path: None,
                place: Some(self.to_string()),
            },
        };
        text.serialize(serializer)
    }
}

/// The keys in an answer of where a change was seen.
#[derive(Serialize, JsonSchema)]
struct SeenText {
    /// Where the change was seen: `commit`, `index`, `disk`, …
    seen: Vec<&'static str>,
    /// The commits in which the change was seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commits: Vec<CommitId>,
}

fn serialize_seen<S: Serializer>(seen: &BTreeSet<Seen>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut text = SeenText {
        seen: seen.iter().map(Seen::as_str).collect(),
        commits: seen.iter().filter_map(Seen::commit).cloned().collect(),
    };
    text.seen.dedup();
    text.serialize(serializer)
}

/// Holds what stands at a place in one state: a person accepts a change by its content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    /// An entry of a tree, the index or the disk; none if nothing is.
    Entry(Option<Entry>),
    /// The commit of a ref, or the digest of a file or a setting; none if there is none.
    Value {
        /// The key of a setting, else nothing.
        key: String,
        /// The commit or digest.
        value: Option<String>,
    },
}

/// Says what is known of a change beside the worktree, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The worktree's own journal shows that it was made from there.
    MadeHere,
    /// Git can run a program by it.
    RunsCode,
    /// It changes what git reports.
    Hides,
    /// It would take something of a fence away, if it counted.
    Loosens,
    /// Nothing attributes it to the worktree.
    Unknown,
}

/// Holds a change of what several worktrees share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedChange {
    /// The change.
    pub change: Change,
    /// What is known of it.
    pub cause: Cause,
}

/// Says how much of a worktree was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// All of it: commits, refs, what git keeps of it, the index, and every file on disk.
    #[default]
    Everything,
    /// Commits, refs, and what git keeps of it; neither the index nor the files on disk.
    Commits,
}

impl Extent {
    /// The word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Commits => "commits",
        }
    }
}

/// Holds every change of a worktree since its base: sorted, each path once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSet {
    /// The base that was recorded; unknown where the record is gone.
    pub base: CommitId,
    /// The commit the worktree is on.
    pub head: CommitId,
    /// How much was looked at.
    pub looked: Extent,
    /// Net changes of paths, ignored artefacts among them.
    pub changes: Vec<Change>,
    /// Paths that commits of this worktree touched and put back.
    pub history: Vec<Change>,
    /// Files that the scope does not exclude, with the content of one that it does.
    pub leaks: Vec<Change>,
    /// Links that the scope allows and that lead to what it does not.
    pub links_out: Vec<Change>,
    /// Changes of paths that do no harm: directories that ignore themselves, files in a conflict,
    /// files that git converted anew.
    pub apart: Vec<Change>,
    /// What is wrong with the worktree or its private git directory.
    pub integrity: Vec<Change>,
    /// What is worth knowing of the worktree, and no harm.
    pub noted: Vec<Change>,
    /// What is not as it was of what several worktrees share.
    pub shared: Vec<SharedChange>,
}

impl Place {
    /// The place for `--format tsv`: special places begin with `@`, a path that does so is
    /// written `\100…`.
    pub fn to_tsv(&self) -> String {
        let text = self.text(escape_for_tsv);
        match text.strip_prefix('@') {
            Some(rest) if self.path().is_some() => format!("\\100{rest}"),
            _ => text,
        }
    }

    /// The place of something shared, from the text of [`Place::to_tsv`] or from its name in the
    /// seal.
    pub fn of_shared(text: &str) -> Self {
        let root_and_name = text
            .strip_prefix('@')
            .and_then(|place| place.split_once('/'));
        match root_and_name {
            Some(("git", name)) => Self::Git(name.into()),
            Some(("main", name)) => Self::Main(name.into()),
            Some(("wt", name)) => Self::Admin(name.into()),
            _ => Self::Outside(text.strip_prefix("@outside").unwrap_or(text).into()),
        }
    }

    /// The bytes of a path, absolute or not; none for what is not a path of the repository.
    pub fn path_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Path(path) => Some(path.as_bstr()),
            Self::Absolute(path) => Some(path),
            Self::Git(_)
            | Self::Admin(_)
            | Self::Head
            | Self::Worktree
            | Self::Main(_)
            | Self::Outside(_) => None,
        }
    }

    /// The field of a record: the bytes of a path, or the text of another place.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self.path_bytes() {
            Some(bytes) => bytes.to_vec(),
            None => self.to_string().into_bytes(),
        }
    }

    /// The path, for a change of one.
    pub const fn path(&self) -> Option<&RepoPath> {
        match self {
            Self::Path(path) => Some(path),
            _ => None,
        }
    }

    fn text(&self, escape: fn(&[u8]) -> String) -> String {
        match self {
            Self::Path(path) => escape(path.as_bstr()),
            Self::Absolute(path) => escape(path),
            Self::Git(name) => format!("@git/{}", escape(name)),
            Self::Admin(name) => format!("@wt/{}", escape(name)),
            Self::Head => "@head".to_owned(),
            Self::Worktree => "@worktree".to_owned(),
            Self::Main(name) => format!("@main/{}", escape(name)),
            Self::Outside(name) => format!("@outside{}", escape(name)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(escape_for_terminal))
    }
}

impl Kind {
    /// The word in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Typechange => "typechange",
            Self::Mode => "mode",
            Self::Present => "present",
            Self::Ref => "ref",
            Self::Config => "config",
            Self::Hook => "hook",
            Self::Worktree => "worktree",
            Self::Leak => "leak",
            Self::Perm => "perm",
            Self::Integrity => "integrity",
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(id) => write!(f, "commit {}", id.short()),
            Self::AssumeUnchanged | Self::SkipWorktree => write!(f, "hidden by {}", self.as_str()),
            _ => f.write_str(self.as_str()),
        }
    }
}

impl Seen {
    /// The word for programs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Commit(_) => "commit",
            Self::Committed => "committed",
            Self::Index => "index",
            Self::Disk => "disk",
            Self::Untracked => "untracked",
            Self::Ignored => "ignored",
            Self::Synced => "synced",
            Self::AssumeUnchanged => "assume-unchanged",
            Self::SkipWorktree => "skip-worktree",
        }
    }

    /// The commit, if it was seen in one.
    pub const fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::Commit(id) => Some(id),
            _ => None,
        }
    }
}

/// Counts changes by what happened, by the words of [`Kind::as_str`].
pub fn by_kind<'c>(changes: impl IntoIterator<Item = &'c Change>) -> BTreeMap<String, u64> {
    count(changes.into_iter().map(|change| change.kind.as_str()))
}

/// Counts changes by where they were seen, by the words of [`Seen::as_str`]: one that was seen in
/// several places counts in each.
pub fn by_seen<'c>(changes: impl IntoIterator<Item = &'c Change>) -> BTreeMap<String, u64> {
    let words = |change: &Change| -> BTreeSet<&'static str> {
        change.seen.iter().map(Seen::as_str).collect()
    };
    count(changes.into_iter().flat_map(words))
}

fn count<'w>(words: impl Iterator<Item = &'w str>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}

impl ChangeSet {
    /// A set of net changes of everything, with nothing else known.
    pub const fn new(base: CommitId, head: CommitId, changes: Vec<Change>) -> Self {
        Self {
            base,
            head,
            looked: Extent::Everything,
            changes,
            history: Vec::new(),
            leaks: Vec::new(),
            links_out: Vec::new(),
            apart: Vec::new(),
            integrity: Vec::new(),
            noted: Vec::new(),
            shared: Vec::new(),
        }
    }

    /// The net changes without the artefacts that the base's own ignore rules allow for.
    pub fn counted(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| !change.is_ignored())
    }
}

impl Change {
    /// Creates the change of something that is not a directory.
    pub fn new(place: Place, kind: Kind, seen: Seen) -> Self {
        Self {
            place,
            kind,
            seen: BTreeSet::from([seen]),
            is_directory: false,
            detail: None,
            now: Vec::new(),
        }
    }

    /// Creates a change with what there is to say of it.
    pub fn detailed(place: Place, kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..Self::new(place, kind, Seen::Disk)
        }
    }

    /// Sets the content that an acceptance names.
    #[must_use]
    pub fn with(mut self, content: Option<String>) -> Self {
        self.now = vec![Content::value("", content)];
        self
    }

    /// The key of a setting of the repository that had no value before.
    pub fn added_key(&self) -> Option<&str> {
        if !matches!(&self.place, Place::Git(file) if file == "config") {
            return None;
        }
        let [Content::Value { key, .. }] = self.now.as_slice() else {
            return None;
        };
        let change = self.detail.as_ref()?.strip_prefix(key.as_str())?;
        change.starts_with(ADDED).then_some(key)
    }

    /// Whether it is only an artefact that the base's own ignore rules allow for.
    pub fn is_ignored(&self) -> bool {
        self.seen.iter().all(|seen| *seen == Seen::Ignored)
    }
}

/// The text of a content where nothing is.
pub const ABSENT: &str = "absent";

impl Content {
    /// The commit of a ref, or the digest of a file or, with its key, of a setting.
    pub fn value(key: &str, value: Option<String>) -> Self {
        let key = key.to_owned();
        Self::Value { key, value }
    }

    /// The key and the text by which a record names the content; none if the content is not
    /// known: of a file that was not read, a dirty submodule, a nested repository or a device.
    pub fn named(&self) -> Option<(String, String)> {
        match self {
            Self::Value { key, value } => {
                let text = value.as_deref().unwrap_or(ABSENT);
                Some((key.clone(), text.to_owned()))
            }
            Self::Entry(None) => Some((String::new(), ABSENT.to_owned())),
            Self::Entry(Some(entry)) => {
                let is_known = entry.id != ObjectId::none() || entry.mode == Mode::EmptyDirectory;
                let mode = entry.mode.git_octal().unwrap_or("directory");
                is_known.then(|| (String::new(), format!("{mode} {}", entry.id)))
            }
        }
    }
}

impl SharedChange {
    /// Creates a change of something that worktrees share.
    pub fn new(place: Place, kind: Kind, detail: impl Into<String>, cause: Cause) -> Self {
        let change = Change::detailed(place, kind, detail);
        Self { change, cause }
    }

    /// Names what stands there now, so that it can be accepted.
    #[must_use]
    pub fn with(mut self, now: impl IntoIterator<Item = Content>) -> Self {
        self.change.now.extend(now);
        self
    }
}
