//! Finds programs on `PATH`.
#![expect(clippy::disallowed_methods, reason = "looks where the shell would")]

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use camino::Utf8PathBuf;

/// A program on `PATH`.
#[derive(Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// What the disk says of the file.
    pub metadata: Metadata,
}

impl Program {
    /// The program in a directory; none if no file of this name can be run there.
    fn in_directory(directory: &Path, name: &OsStr) -> Option<Self> {
        let path = directory.join(name);
        let metadata = std::fs::metadata(&path).ok()?;
        let can_run = metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
        can_run.then_some(Self { path, metadata })
    }
}

/// Finds the programs of a name, the one that would be started first.
pub fn programs_named(name: &str) -> impl Iterator<Item = Program> {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = std::env::split_paths(&search_path).collect();
    directories
        .into_iter()
        .filter_map(move |directory| Program::in_directory(&directory, name.as_ref()))
}

/// Returns the paths of every program of this name, the one that would be started first.
pub fn on_path(name: &str) -> Vec<Utf8PathBuf> {
    programs_named(name)
        .filter_map(|program| Utf8PathBuf::from_path_buf(program.path).ok())
        .collect()
}

/// True if there is a program of this name.
pub fn is_on_path(name: &str) -> bool {
    programs_named(name).next().is_some()
}
