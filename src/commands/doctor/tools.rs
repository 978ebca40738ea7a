//! Knows the tools that may walk into the worktrees, and looks whether they are told not to.

use std::sync::LazyLock;

use bstr::ByteSlice as _;
use camino::Utf8Path;
use serde::Deserialize;

use crate::commands::doctor::answer::DoctorCheck;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::words::error::Error;

/// The tools, as `tools.toml` lists them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolTable {
    tool: Vec<Tool>,
}

/// A tool that may walk into the worktrees.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    name: String,
    /// Files at the root that show that it is used, and that may name `.agentwt`.
    files: Vec<String>,
    /// Files at the root that only may name it.
    #[serde(default)]
    ignore_files: Vec<String>,
    /// The line to add.
    advice: String,
}

impl Tool {
    /// Checks whether the tool leaves the worktrees below a root alone; `None` if the root has no
    /// configuration of the tool.
    fn check(&'static self, root: &Utf8Path) -> Result<Option<DoctorCheck>, DiskError> {
        let mut configuration = None;
        let mut names_agentwt = false;
        for file in &self.files {
            if let Some(bytes) = read_file(root, file)? {
                configuration.get_or_insert(file);
                names_agentwt |= bytes.contains_str(".agentwt");
            }
        }
        for file in &self.ignore_files {
            if let Some(bytes) = read_file(root, file)? {
                names_agentwt |= bytes.contains_str(".agentwt");
            }
        }
        let name = self.name.as_str();
        let Some(configuration) = configuration else {
            return Ok(None);
        };
        if names_agentwt {
            let found = format!("{name}: its configuration names .agentwt");
            return Ok(Some(DoctorCheck::ok(name, found)));
        }
        let found = format!("{name} ({configuration}) may walk into .agentwt/worktrees");
        let advice = self.advice.as_str();
        Ok(Some(DoctorCheck::note(name, found, advice)))
    }
}

/// Reads a file at a root; a directory of that name configures nothing.
fn read_file(root: &Utf8Path, file: &str) -> Result<Option<Vec<u8>>, DiskError> {
    let path = root.join(file);
    if files::is_directory(&path) {
        return Ok(None);
    }
    files::read(&path)
}

/// The tools that are known.
fn known_tools() -> &'static [Tool] {
    static TABLE: LazyLock<ToolTable> = LazyLock::new(|| {
        toml::from_str(include_str!("tools.toml")).expect("because a test reads it")
    });
    &TABLE.tool
}

/// Checks the tools that are used at a root.
///
/// # Errors
/// Fails when a file cannot be read.
pub(super) fn check_tools(root: &Utf8Path) -> Result<Vec<DoctorCheck>, Error> {
    let mut checks = Vec::new();
    for tool in known_tools() {
        checks.extend(tool.check(root)?);
    }
    if checks.is_empty() {
        let found = "no tool that walks into .agentwt/worktrees was recognised";
        checks.push(DoctorCheck::ok("tools", found));
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_file_that_shows_it() {
        let tools = known_tools();
        assert!(tools.len() > 10, "the table was read");
        for tool in tools {
            assert!(!tool.files.is_empty(), "{}", tool.name);
        }
    }
}
