//! Holds [`SyncRefusal`]: why nothing is synced, with the status and the next command.
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: fields that only messages show"
)]

use camino::Utf8PathBuf;

use super::PatternOrigin;
use crate::config::{BYTES_PER_MB, CONFIG_PATH};
use crate::exit::ExitCode;
use crate::path::RepoPath;
use crate::size::Size;

/// How many names a message shows.
const SHOWN: usize = 5;

/// Says why nothing is synced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum SyncRefusal {
    /// A pattern selects nothing at all.
    #[error("the sync pattern `{pattern}` ({origin}) matches nothing")]
    #[diagnostic(
        code(agentwt::sync::no_match),
        help("correct it, or {}{}", optional(pattern, origin), closed(not_entered))
    )]
    NoMatch {
        pattern: String,
        origin: PatternOrigin,
        not_entered: Vec<RepoPath>,
    },
    /// A pattern selects what every worktree has anyway.
    #[error(
        "the sync pattern `{pattern}` ({origin}) matches only tracked files ({tracked}), which are never copied"
    )]
    #[diagnostic(
        code(agentwt::sync::only_tracked),
        help(
            "a worktree has them from its branch: take the pattern out, or {}",
            optional(pattern, origin)
        )
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
    #[diagnostic(
        code(agentwt::sync::all_excluded),
        help("take one of the two out, or {}", optional(pattern, origin))
    )]
    AllExcluded {
        pattern: String,
        origin: PatternOrigin,
        path: RepoPath,
        rule: String,
    },
    /// A pattern names a directory that is a link.
    #[error(
        "cannot sync `{pattern}` ({origin}): {link} is a symbolic link, and links are not followed"
    )]
    #[diagnostic(
        code(agentwt::sync::through_link),
        help(
            "write `{link}` to sync the link itself, or the path of the directory it leads to, if that is in the repository: `readlink {link}` shows it"
        )
    )]
    ThroughLink {
        pattern: String,
        origin: PatternOrigin,
        link: RepoPath,
    },
    /// A FIFO, a socket or a device is selected.
    #[error("cannot sync {path}: it is {kind}")]
    #[diagnostic(
        code(agentwt::sync::special),
        help("a FIFO, socket or device has no content: take a pattern that leaves it out")
    )]
    Special { path: RepoPath, kind: &'static str },
    /// A file is larger than one may be.
    #[error(
        "cannot sync {path}: it has {} ({size} bytes), and a file may have {limit} MB",
        Size(*size)
    )]
    #[diagnostic(
        code(agentwt::sync::too_large),
        help("take a pattern that leaves it out, or set `max_file_size_mb = {}` in [worktree.file_sync] of {CONFIG_PATH}", size.div_ceil(BYTES_PER_MB))
    )]
    TooLarge {
        path: RepoPath,
        size: u64,
        limit: u64,
    },
    /// All files together are larger than they may be.
    #[error(
        "cannot sync: the files have {} ({total} bytes) together, and may have {limit} MB; the largest is {largest} with {}",
        Size(*total),
        Size(*size)
    )]
    #[diagnostic(
        code(agentwt::sync::total_too_large),
        help("take patterns that select less, or set `max_total_size_mb = {}` in [worktree.file_sync] of {CONFIG_PATH}", total.div_ceil(BYTES_PER_MB))
    )]
    TotalTooLarge {
        total: u64,
        limit: u64,
        largest: RepoPath,
        size: u64,
    },
    /// Something stands in the worktree that is never replaced: a link or file on the way, a
    /// directory where a file is to be, or the other way round.
    #[error("cannot sync into `{name}`: {path} is {found} there, and has to be {wanted}")]
    #[diagnostic(
        code(agentwt::sync::in_the_way),
        help(
            "look at it: ls -ld \"$(git agentwt path {name})/{path}\"; move it away, then: git agentwt sync {name}"
        )
    )]
    InTheWay {
        name: String,
        path: RepoPath,
        found: &'static str,
        wanted: &'static str,
    },
    /// A hook of the user's created a file while the worktree was created.
    #[error(
        "cannot place {} in `{name}`: a post-checkout hook made it first, with another content",
        list(paths)
    )]
    #[diagnostic(
        code(agentwt::sync::made_by_hook),
        help(
            "leave it to the hook (git agentwt add {name} --no-sync, or --client none for context), or take it out of the hook"
        )
    )]
    MadeByHook { name: String, paths: Vec<RepoPath> },
    /// Files were edited in the worktree.
    #[error(
        "cannot sync into `{name}`: {} not as in the main worktree:{}",
        edited(paths.len()),
        both(paths, here, there)
    )]
    #[diagnostic(
        code(agentwt::sync::edited),
        help("to keep what is in the worktree: git agentwt sync {name} --pull {0}; to replace it, saved first: git agentwt sync {name} --force", paths[0])
    )]
    Edited {
        name: String,
        paths: Vec<RepoPath>,
        here: Utf8PathBuf,
        there: Utf8PathBuf,
    },
    /// There is no main worktree to copy from.
    #[error("the repository is bare: there is no main worktree to sync `{name}` with")]
    #[diagnostic(code(agentwt::sync::no_main), help("copy the files by hand"))]
    NoMain { name: String },
    /// The directory of the worktree is gone.
    #[error("cannot sync worktree `{name}`: {path} is gone")]
    #[diagnostic(
        code(agentwt::sync::directory_gone),
        help("to forget it (its branch stays unless merged): git agentwt remove {name}")
    )]
    DirectoryGone { name: String, path: Utf8PathBuf },
    /// Several worktrees cannot be pulled from at once.
    #[error("cannot pull from several worktrees at once")]
    #[diagnostic(
        code(agentwt::sync::several_to_pull),
        help("name one: git agentwt sync {name} --pull <path>")
    )]
    SeveralToPull { name: String },
    /// A path was named that was not synced, or is gone.
    #[error("cannot pull {path} from worktree `{name}`: {reason}")]
    #[diagnostic(
        code(agentwt::sync::not_synced),
        help(
            "see what was synced: git agentwt sync {name} --status; to copy it in again: git agentwt sync {name}"
        )
    )]
    NothingToPull {
        name: String,
        path: RepoPath,
        reason: &'static str,
    },
    /// What was placed as one kind is another by now.
    #[error(
        "cannot pull {path} from worktree `{name}`: it is {found} there, and was placed as {placed}"
    )]
    #[diagnostic(
        code(agentwt::sync::kind_changed),
        help(
            "look at it: ls -ld \"$(git agentwt path {name})/{path}\"; to pull it all the same: git agentwt sync {name} --force --pull {path}"
        )
    )]
    KindChanged {
        name: String,
        path: RepoPath,
        found: &'static str,
        placed: &'static str,
    },
    /// The main worktree tracks it by now.
    #[error("cannot pull {path} from worktree `{name}`: the main worktree tracks it by now")]
    #[diagnostic(
        code(agentwt::sync::tracked_there),
        help("compare them: git diff --no-index {path} \"$(git agentwt path {name})/{path}\"")
    )]
    TrackedThere { name: String, path: RepoPath },
    /// The main worktree's file is not the one that was synced.
    #[error(
        "cannot pull {} from worktree `{name}`: the main worktree has changed it as well",
        list(paths)
    )]
    #[diagnostic(
        code(agentwt::sync::newer_there),
        help("compare {0} with \"$(git agentwt path {name})/{0}\"; to replace the main worktree's, saved first: git agentwt sync {name} --force --pull {0}", paths[0])
    )]
    NewerThere { name: String, paths: Vec<RepoPath> },
}

impl SyncRefusal {
    /// The status to end with.
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoMatch { .. }
            | Self::OnlyTracked { .. }
            | Self::AllExcluded { .. }
            | Self::ThroughLink { .. }
            | Self::TooLarge { .. }
            | Self::TotalTooLarge { .. } => ExitCode::Config,
            Self::SeveralToPull { .. } => ExitCode::Usage,
            Self::Special { .. }
            | Self::InTheWay { .. }
            | Self::MadeByHook { .. }
            | Self::Edited { .. }
            | Self::NoMain { .. }
            | Self::DirectoryGone { .. }
            | Self::NothingToPull { .. }
            | Self::KindChanged { .. }
            | Self::TrackedThere { .. }
            | Self::NewerThere { .. } => ExitCode::Refused,
        }
    }
}

/// What to do with a pattern that is right and need not match.
fn optional(pattern: &str, origin: &PatternOrigin) -> String {
    let verb = match origin {
        PatternOrigin::File(_) => "move it to",
        PatternOrigin::Flag(_) | PatternOrigin::Record | PatternOrigin::BuiltIn => "have it in",
    };
    format!(
        "{verb} `optional_patterns = [\"{pattern}\"]` in {CONFIG_PATH}, where it may match nothing"
    )
}

fn closed(not_entered: &[RepoPath]) -> String {
    if not_entered.is_empty() {
        return String::new();
    }
    let list = list(not_entered);
    format!(
        "; not entered, as another repository or worktree is there, or git has something else: {list}"
    )
}

fn edited(count: usize) -> String {
    if count == 1 {
        "a file was edited there and is".to_owned()
    } else {
        format!("{count} files were edited there and are")
    }
}

/// Both sides of the first few files, a line each.
fn both(paths: &[RepoPath], here: &Utf8PathBuf, there: &Utf8PathBuf) -> String {
    let line = |path: &RepoPath| format!("\n  {here}/{path} and {there}/{path}");
    let mut text: String = paths.iter().take(SHOWN).map(line).collect();
    if paths.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", paths.len() - SHOWN));
    }
    text
}

/// The first few names.
fn list(names: &[RepoPath]) -> String {
    let shown: Vec<String> = names.iter().take(SHOWN).map(ToString::to_string).collect();
    let mut text = shown.join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
