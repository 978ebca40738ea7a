//! Lists what `sync` refuses: [`SyncRefusal`], each with its status and the next command.

use camino::{Utf8Path, Utf8PathBuf};

use crate::config::{BYTES_PER_MB, CONFIG_PATH};
use crate::exit::ExitCode;
use crate::path::RepoPath;
use crate::size::Size;
use crate::sync::PatternOrigin;

/// Says why nothing is copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum SyncRefusal {
    /// A pattern selects nothing at all.
    #[error("the sync pattern `{pattern}` ({origin}) matches nothing")]
    NoMatch {
        pattern: String,
        origin: PatternOrigin,
        not_entered: Vec<String>,
    },
    /// A pattern selects what every worktree has anyway.
    #[error(
        "the sync pattern `{pattern}` ({origin}) matches only tracked files ({tracked}), which are never copied"
    )]
    OnlyTracked {
        pattern: String,
        origin: PatternOrigin,
        tracked: usize,
    },
    /// The scope excludes all that a pattern selects.
    #[error(
        "the scope excludes everything that the sync pattern `{pattern}` ({origin}) matches, as {path}: {rule}"
    )]
    AllExcluded {
        pattern: String,
        origin: PatternOrigin,
        path: String,
        rule: String,
    },
    /// Something has no content to copy.
    #[error("cannot sync {}", items.iter().map(|(path, what)| format!("{path}: it is {what}")).collect::<Vec<_>>().join(", "))]
    Special { items: Vec<(String, &'static str)> },
    /// A file is larger than one may be.
    #[error(
        "cannot sync {path}: it has {} ({size} bytes), and a file may have {limit} MB",
        Size(*size)
    )]
    TooLarge {
        path: String,
        size: u64,
        limit: u64,
        needed: u64,
    },
    /// All files together are larger than they may be.
    #[error(
        "cannot sync: the files have {} ({total} bytes) together, and may have {limit} MB; the largest is {largest} with {}",
        Size(*total),
        Size(*size)
    )]
    TotalTooLarge {
        total: u64,
        limit: u64,
        largest: String,
        size: u64,
    },
    /// Something that is no directory stands where one must be.
    #[error(
        "cannot sync into `{name}`: {path} is no directory there, and nothing is written through it"
    )]
    InTheWay { name: String, path: String },
    /// A directory stands where a file is to be, or the other way round.
    #[error(
        "cannot sync {path} into `{name}`: {found} stands there, and in the main worktree it is {wanted}"
    )]
    AnotherKind {
        name: String,
        path: String,
        found: &'static str,
        wanted: &'static str,
    },
    /// A hook of the user's made a file while the worktree was made.
    #[error(
        "cannot place {} in `{name}`: a post-checkout hook made it first, with another content",
        list(paths)
    )]
    MadeByHook { name: String, paths: Vec<String> },
    /// Several worktrees cannot be pulled from at once.
    #[error("cannot pull from several worktrees at once")]
    SeveralToPull { name: String },
    /// What was placed as one kind is another by now.
    #[error(
        "cannot pull {path} from worktree `{name}`: it is {found} there, and was placed as {placed}"
    )]
    KindChanged {
        name: String,
        path: String,
        found: &'static str,
        placed: &'static str,
    },
    /// The main worktree tracks it by now.
    #[error("cannot pull {path} from worktree `{name}`: the main worktree tracks it by now")]
    TrackedThere { name: String, path: String },
    /// Files were edited in the worktree.
    #[error(
        "cannot sync into `{name}`: {} not as in the main worktree:{}",
        edited(paths.len()),
        both(paths, here, there)
    )]
    Edited {
        name: String,
        paths: Vec<RepoPath>,
        here: Utf8PathBuf,
        there: Utf8PathBuf,
    },
    /// There is no main worktree to copy from.
    #[error("the repository is bare: there is no main worktree to sync `{name}` with")]
    NoMain { name: String },
    /// The worktree's directory is gone.
    #[error("cannot sync worktree `{name}`: {path} is gone")]
    DirectoryGone { name: String, path: Utf8PathBuf },
    /// A path was named that was not synced.
    #[error("{path} was not synced into worktree `{name}`")]
    NotSynced { name: String, path: String },
    /// A file that is to be pulled is not there.
    #[error("cannot pull {path}: it is not in worktree `{name}` any more")]
    NothingToPull { name: String, path: String },
    /// The main worktree's file is not the one that was synced.
    #[error(
        "cannot pull {} from worktree `{name}`: the main worktree has changed it as well",
        list(paths)
    )]
    NewerThere { name: String, paths: Vec<String> },
}

/// The error of one file that is too large, with the limit that would do.
pub(super) fn too_large(path: &RepoPath, size: u64, limit: u64) -> SyncRefusal {
    SyncRefusal::TooLarge {
        path: path.to_string(),
        size,
        limit,
        needed: size.div_ceil(BYTES_PER_MB),
    }
}

/// What to do with a pattern that is right and need not match.
fn may_match_nothing(pattern: &str, origin: &PatternOrigin) -> String {
    let where_it_may = format!("`optional_patterns = [\"{pattern}\"]` in {CONFIG_PATH}");
    match origin {
        PatternOrigin::File(_) => format!("move it to {where_it_may}, where it may match nothing"),
        PatternOrigin::Flag(_) | PatternOrigin::Record | PatternOrigin::BuiltIn => {
            format!("have it in {where_it_may}, where it may match nothing")
        }
    }
}

fn edited(count: usize) -> String {
    if count == 1 {
        "a file was edited there and is".to_owned()
    } else {
        format!("{count} files were edited there and are")
    }
}

/// Both sides of the first few files, a line each.
fn both(paths: &[RepoPath], here: &Utf8Path, there: &Utf8Path) -> String {
    let one = |path: &RepoPath| format!("\n  {here}/{path} and {there}/{path}");
    let mut text: String = paths.iter().take(SHOWN).map(one).collect();
    if paths.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", paths.len() - SHOWN));
    }
    text
}

/// How many names a message shows.
const SHOWN: usize = 5;

/// The first few names.
fn list(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

impl SyncRefusal {
    /// The status to end with.
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoMatch { .. }
            | Self::OnlyTracked { .. }
            | Self::AllExcluded { .. }
            | Self::TooLarge { .. }
            | Self::TotalTooLarge { .. } => ExitCode::Config,
            Self::SeveralToPull { .. } => ExitCode::Usage,
            Self::Special { .. }
            | Self::AnotherKind { .. }
            | Self::MadeByHook { .. }
            | Self::KindChanged { .. }
            | Self::TrackedThere { .. }
            | Self::InTheWay { .. }
            | Self::Edited { .. }
            | Self::NoMain { .. }
            | Self::DirectoryGone { .. }
            | Self::NotSynced { .. }
            | Self::NothingToPull { .. }
            | Self::NewerThere { .. } => ExitCode::Refused,
        }
    }

    /// The code, for `agentwt::refused::…`.
    #[must_use]
    pub const fn code_name(&self) -> &'static str {
        match self {
            Self::NoMatch { .. } => "agentwt::sync::no_match",
            Self::OnlyTracked { .. } => "agentwt::sync::only_tracked",
            Self::AllExcluded { .. } => "agentwt::sync::all_excluded",
            Self::Special { .. } => "agentwt::sync::special",
            Self::TooLarge { .. } => "agentwt::sync::too_large",
            Self::TotalTooLarge { .. } => "agentwt::sync::total_too_large",
            Self::InTheWay { .. } => "agentwt::sync::in_the_way",
            Self::AnotherKind { .. } => "agentwt::sync::another_kind",
            Self::MadeByHook { .. } => "agentwt::sync::made_by_hook",
            Self::SeveralToPull { .. } => "agentwt::sync::several_to_pull",
            Self::KindChanged { .. } => "agentwt::sync::kind_changed",
            Self::TrackedThere { .. } => "agentwt::sync::tracked_there",
            Self::Edited { .. } => "agentwt::sync::edited",
            Self::NoMain { .. } => "agentwt::sync::no_main",
            Self::DirectoryGone { .. } => "agentwt::sync::directory_gone",
            Self::NotSynced { .. } => "agentwt::sync::not_synced",
            Self::NothingToPull { .. } => "agentwt::sync::nothing_to_pull",
            Self::NewerThere { .. } => "agentwt::sync::newer_there",
        }
    }

    /// The next command.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::NoMatch {
                pattern,
                origin,
                not_entered,
            } => {
                let mut text = format!("correct it, or {}", may_match_nothing(pattern, origin));
                if !not_entered.is_empty() {
                    text.push_str(&format!(
                        "; not entered, as another repository or worktree is there, or git has something else: {}",
                        list(not_entered)
                    ));
                }
                text
            }
            Self::OnlyTracked {
                pattern, origin, ..
            } => format!(
                "a worktree has them from its branch: take the pattern out, or {}",
                may_match_nothing(pattern, origin)
            ),
            Self::AllExcluded {
                pattern, origin, ..
            } => format!(
                "take one of the two out, or {}",
                may_match_nothing(pattern, origin)
            ),
            Self::Special { .. } => {
                "a FIFO, socket or device has no content: take a pattern that leaves it out"
                    .to_owned()
            }
            Self::TooLarge { needed, .. } => format!(
                "take a pattern that leaves it out, or set `max_file_size_mb = {needed}` in [worktree.file_sync] of {CONFIG_PATH}"
            ),
            Self::TotalTooLarge { total, .. } => format!(
                "take patterns that select less, or set `max_total_size_mb = {}` in [worktree.file_sync] of {CONFIG_PATH}",
                total.div_ceil(BYTES_PER_MB)
            ),
            Self::InTheWay { name, path } => {
                format!("look at it: ls -ld \"$(git agentwt path {name})/{path}\"")
            }
            Self::AnotherKind { name, path, .. } => format!(
                "move it away: mv \"$(git agentwt path {name})/{path}\" <elsewhere>; then: git agentwt sync {name}"
            ),
            Self::MadeByHook { name, .. } => format!(
                "leave it to the hook (git agentwt add {name} --no-sync, or --client none for context), or take it out of the hook"
            ),
            Self::SeveralToPull { name } => {
                format!("name one: git agentwt sync {name} --pull <path>")
            }
            Self::KindChanged { name, path, .. } => format!(
                "look at it: ls -ld \"$(git agentwt path {name})/{path}\"; to pull it all the same: git agentwt sync {name} --force --pull {path}"
            ),
            Self::TrackedThere { name, path } => format!(
                "compare them: git diff --no-index {path} \"$(git agentwt path {name})/{path}\""
            ),
            Self::Edited { name, paths, .. } => {
                let first = paths.first().map(ToString::to_string).unwrap_or_default();
                format!(
                    "to keep what is in the worktree: git agentwt sync {name} --pull {first}; to replace it, saved first: git agentwt sync {name} --force"
                )
            }
            Self::NoMain { .. } => "copy the files by hand".to_owned(),
            Self::DirectoryGone { name, .. } => {
                format!("to forget it (its branch stays unless merged): git agentwt remove {name}")
            }
            Self::NotSynced { name, .. } => {
                format!("see what was: git agentwt sync {name} --status")
            }
            Self::NothingToPull { name, .. } => {
                format!("to copy it in again: git agentwt sync {name}")
            }
            Self::NewerThere { name, paths } => {
                let first = paths.first().map(String::as_str).unwrap_or_default();
                format!(
                    "compare {first} with \"$(git agentwt path {name})/{first}\"; to replace the main worktree's, saved first: git agentwt sync {name} --force --pull {first}"
                )
            }
        }
    }
}
