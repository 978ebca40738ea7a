//! Recognises the tools of the main worktree by files at its root.

use bstr::ByteSlice;

use super::Here;
use crate::disk::files;
use crate::plan::doctor::tools::{TOOLS, UsedTool};
use crate::worktree::WorktreeError;

/// Finds the tools that are used, and whether their files name `.agentwt`.
pub fn look(here: &Here<'_>) -> Result<Vec<UsedTool>, WorktreeError> {
    let root = &here.repository.root;
    let mut used = Vec::new();
    for (place, tool) in TOOLS.iter().enumerate() {
        let (mut file, mut is_named) = (None, false);
        for name in tool.files.iter().chain(&tool.ignore_file) {
            let path = root.join(name);
            // a directory of that name configures nothing
            if files::is_directory(&path) {
                continue;
            }
            if let Some(bytes) = files::read(&path)? {
                file = file.or((Some(*name) != tool.ignore_file).then_some(*name));
                is_named |= bytes.contains_str(".agentwt");
            }
        }
        used.extend(file.map(|file| UsedTool {
            place,
            file,
            is_named,
        }));
    }
    Ok(used)
}
