//! Reads and writes the state of the fenced run of a worktree: [`RunFile`]. Each transition is one
//! function; each replaces the file by a rename.

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::Fence;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::record::run::{ImportConflict, KeptReason, Leftover, Run, RunEnd, RunObjects, RunState};
use crate::system::processes;
use crate::words::name::CommitId;
use crate::words::toml_file::{from_text, to_text};

/// The file, in the directory around the private git directory.
const RUN_FILE: &str = "run.toml";
/// The file of older versions with the commit of the branch.
const OLD_BRANCH_COMMIT: &str = "began";
/// The file of older versions that says that the excluded objects were left out.
const OLD_WITHHELD_MARK: &str = "withheld";

/// The state of the run whose private git directory stands in this directory.
#[derive(Clone, Debug)]
pub struct RunFile {
    directory: Utf8PathBuf,
}

impl RunFile {
    /// Names the file in the directory around a private git directory.
    pub fn new(directory: &Utf8Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// Reads the state. A directory without the file is of an older version; of a file that cannot
    /// be read, no commit of the branch is known, so that nothing moves the branch.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn read(&self) -> Result<Run, DiskError> {
        let Some(bytes) = files::read(&self.path())? else {
            return self.read_old_files();
        };
        let run = from_text(&bytes.to_str_lossy());
        Ok(run.unwrap_or(Run {
            branch_commit: None,
            since: 0,
            objects: RunObjects::Shared,
            state: RunState::Unrecorded,
        }))
    }

    /// Reads what an older version wrote in several files.
    fn read_old_files(&self) -> Result<Run, DiskError> {
        let file = self.directory.join(OLD_BRANCH_COMMIT);
        let text = files::read(&file)?.unwrap_or_default();
        let is_withheld = files::exists(&self.directory.join(OLD_WITHHELD_MARK));
        Ok(Run {
            branch_commit: CommitId::parse(&text.to_str_lossy()).ok(),
            since: files::stat(&file).map_or(0, |stat| stat.mtime),
            objects: if is_withheld {
                RunObjects::Withheld
            } else {
                RunObjects::Shared
            },
            state: RunState::Unrecorded,
        })
    }

    /// Writes that the git directory of a run is there, and its command is not started.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn record_prepared(
        &self,
        branch_commit: Option<&CommitId>,
        since: i64,
        objects: RunObjects,
    ) -> Result<(), DiskError> {
        self.write(&Run {
            branch_commit: branch_commit.cloned(),
            since,
            objects,
            state: RunState::Prepared,
        })
    }

    /// Writes that this process runs the command in a fence.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn record_running(&self, fence: Fence) -> Result<(), DiskError> {
        let pid = std::process::id();
        self.record(RunState::Running {
            pid,
            started: processes::start_time(pid).unwrap_or_default(),
            fence,
        })
    }

    /// Writes that the command has ended.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn record_ended(&self, end: RunEnd) -> Result<(), DiskError> {
        self.record(RunState::Ended { end })
    }

    /// Writes that the branch has moved to this commit of the run: the rest of the import follows.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn record_branch_commit(&self, commit: &CommitId) -> Result<(), DiskError> {
        let run = self.read()?;
        self.write(&Run {
            branch_commit: Some(commit.clone()),
            ..run
        })
    }

    /// Writes that the branch has the commits of the run, and what else is left in its git
    /// directory.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn record_imported(&self, left: Vec<Leftover>) -> Result<(), DiskError> {
        self.record(RunState::Imported { left })
    }

    /// Writes that the branch does not get the commits of the run.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn record_kept(&self, why: KeptReason) -> Result<(), DiskError> {
        self.record(RunState::Kept { why })
    }

    /// Writes that something that the user did keeps the commits of the run away from the branch.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn record_conflict(&self, conflict: ImportConflict) -> Result<(), DiskError> {
        self.record_kept(KeptReason::Conflict(conflict))
    }

    fn record(&self, state: RunState) -> Result<(), DiskError> {
        let run = self.read()?;
        self.write(&Run { state, ..run })
    }

    fn write(&self, run: &Run) -> Result<(), DiskError> {
        files::write_beside(&self.path(), to_text(run).as_bytes())
    }

    fn path(&self) -> Utf8PathBuf {
        self.directory.join(RUN_FILE)
    }
}
