//! Says why a merge that was planned is not made.

use camino::Utf8PathBuf;

use crate::actions::merge::refusal::{cannot_land, listed, quoted};
use crate::actions::merge::work::WorkToMerge;
use crate::git::error::GitError;
use crate::words::entry::ObjectId;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::BranchName;
use crate::words::path::shell_word;

/// Why a merge that was planned is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeFailure {
    /// Git reads another content of this object than the one that has the id.
    Forged(ObjectId),
    /// This branch moved since it was read.
    Moved(BranchName),
    /// A hook of the user's refuses the message.
    Hook {
        /// The hook.
        hook: &'static str,
        /// What it said.
        words: String,
    },
    /// Files of the user's stand where the commit has files.
    InTheWay {
        /// The worktree of the base branch.
        checkout: Utf8PathBuf,
        /// The files.
        paths: Vec<String>,
    },
    /// Git does not bring the base branch forward.
    NotForward {
        /// The base branch.
        into: BranchName,
        /// What git said.
        words: String,
    },
    /// There is no room for the files of the commit.
    NoRoom {
        /// The worktree of the base branch.
        checkout: Utf8PathBuf,
        /// How much is missing, or what failed.
        why: String,
    },
    /// The files of the commit cannot be written, or what they replace cannot be kept.
    NotWritten {
        /// The worktree of the base branch.
        checkout: Utf8PathBuf,
        /// What failed.
        why: String,
    },
    /// The remote does not take the commit.
    NotPushed {
        /// The remote.
        remote: String,
        /// The base branch.
        into: BranchName,
        /// What git said.
        words: String,
        /// The command that brings the base branch to what the remote has; none where the remote
        /// has nothing else.
        pull: Option<String>,
    },
    /// An earlier merge was stopped while git wrote the files of this branch.
    Stopped(BranchName),
    /// An earlier merge was stopped while git wrote the files, and these files changed since.
    StoppedAndChanged {
        /// The worktree of the base branch.
        checkout: Utf8PathBuf,
        /// The files.
        paths: Vec<String>,
    },
    /// An earlier merge was stopped while git wrote the files, and the index changed since.
    StoppedAndStaged {
        /// The worktree of the base branch.
        checkout: Utf8PathBuf,
    },
}

impl MergeFailure {
    const fn code(&self) -> &'static str {
        match self {
            Self::Forged(_) => "forged",
            Self::Moved(_) => "moved",
            Self::Hook { .. } => "hook",
            Self::InTheWay { .. } | Self::NotForward { .. } => "base_in_use",
            Self::NoRoom { .. } => "no_room",
            Self::NotWritten { .. } => "not_written",
            Self::NotPushed { .. } => "push",
            Self::Stopped(_) | Self::StoppedAndChanged { .. } | Self::StoppedAndStaged { .. } => {
                "stopped"
            }
        }
    }

    fn reason(&self) -> String {
        match self {
            Self::Forged(object) => {
                format!("git reads another content of the object {object} than was verified")
            }
            Self::Moved(branch) => format!("{branch} moved meanwhile"),
            Self::Hook { hook, words } => format!("your hook {hook} refuses: {words}"),
            Self::InTheWay { checkout, paths } => format!(
                "untracked files would be overwritten in {checkout}:{}",
                listed(paths)
            ),
            Self::NotForward { into, words } => {
                format!("git cannot bring {into} forward: {words}")
            }
            Self::NoRoom { checkout, why } => {
                format!("its files have no room in {checkout}: {why}")
            }
            Self::NotWritten { checkout, why } => {
                format!("its files cannot be written in {checkout}: {why}")
            }
            Self::NotPushed {
                remote,
                into,
                words,
                ..
            } => format!("{remote} does not take {into}: {words}"),
            Self::Stopped(into) => {
                format!("a landing was stopped while git wrote the files of {into}")
            }
            Self::StoppedAndChanged { checkout, paths } => format!(
                "git was stopped while it wrote {checkout}, and these files changed since:{}",
                listed(paths)
            ),
            Self::StoppedAndStaged { checkout } => {
                format!("git was stopped while it wrote {checkout}, and its index changed since")
            }
        }
    }

    /// What to do before the command is typed again; the command follows right after this text.
    fn advice(&self, work: &WorkToMerge<'_>) -> String {
        match self {
            Self::Forged(_) => {
                let root = shell_word(work.repository.root.as_str());
                format!(
                    "nothing was merged; to see where: git -C {root} fsck --full; delete the file \
                     that lies, then: "
                )
            }
            Self::Moved(_) => "nothing was merged; verify and land it again: ".to_owned(),
            Self::Hook { .. } => {
                "do what the hook asks, or give a message that it takes (-m <message>): ".to_owned()
            }
            Self::InTheWay { .. } | Self::NotForward { .. } => {
                "make room for it, then: ".to_owned()
            }
            Self::NoRoom { checkout, .. } => {
                let path = shell_word(checkout.as_str());
                format!("nothing was changed; to see the room: df -h {path}; then: ")
            }
            Self::NotWritten { .. } => "nothing was changed; mend that, then: ".to_owned(),
            Self::NotPushed {
                into,
                pull: Some(pull),
                ..
            } => format!("nothing was changed; bring {into} up to date first: {pull} && "),
            Self::NotPushed { pull: None, .. } => "nothing was changed; then: ".to_owned(),
            Self::Stopped(_) => "to put them back and land: ".to_owned(),
            Self::StoppedAndChanged { .. } => "move them elsewhere, then: ".to_owned(),
            Self::StoppedAndStaged { checkout } => {
                let path = shell_word(checkout.as_str());
                format!("to unstage it, which changes no file: git -C {path} reset -q; then: ")
            }
        }
    }
}

impl WorkToMerge<'_> {
    /// Makes the error of a failure.
    pub fn fail(&self, failure: &MergeFailure) -> Error {
        let name = &self.worktree.record.name;
        let exit = match failure {
            MergeFailure::NotPushed { .. } => ExitCode::Git,
            _others => ExitCode::Refused,
        };
        let reason = failure.reason();
        let help = failure.advice(self) + &self.request.command;
        cannot_land(name, exit, failure.code(), reason, help).into()
    }

    /// Says that git cannot bring the base branch forward.
    pub fn fail_to_forward(&self, into: &BranchName, error: GitError) -> Error {
        let GitError::Failed { words, .. } = error else {
            return error.into();
        };
        self.fail(&MergeFailure::NotForward {
            into: into.clone(),
            words: quoted(&words),
        })
    }
}
