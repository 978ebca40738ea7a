//! Reads the files of the main worktree's root that configure tools.

use bstr::ByteSlice;

use super::Here;
use crate::disk::files;
use crate::facts::WorktreeError;
use crate::plan::doctor::tools::{self, Tools};

/// Reads them.
pub fn look(here: &Here<'_>) -> Result<Tools, WorktreeError> {
    let root = &here.repository.root;
    let mut found = Tools::default();
    for name in tools::files() {
        let file = root.join(name);
        // a directory of that name configures nothing
        if files::is_directory(&file) {
            continue;
        }
        if let Some(bytes) = files::read(&file)? {
            found.files.insert(name, bytes.to_str_lossy().into_owned());
        }
    }
    if found.files.contains_key("Cargo.toml") {
        let paths = here
            .known()
            .map(|known| (&known.record.name, &known.record.path));
        let without = paths.filter(|(_, path)| {
            files::is_directory(path) && !files::exists(&path.join("Cargo.toml"))
        });
        found.without_cargo_root = without.map(|(name, _)| name.to_string()).collect();
    }
    Ok(found)
}
