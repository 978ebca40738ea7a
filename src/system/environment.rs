//! Reads the environment and the command line of our own process.
#![expect(clippy::disallowed_methods, reason = "reads the environment")]

use std::ffi::OsString;

use camino::Utf8Path;

/// Reads the words of our command line after the program's name.
pub fn arguments() -> Vec<OsString> {
    std::env::args_os().skip(1).collect()
}

/// Reads a variable.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Reads all variables.
pub fn variables() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Goes to a directory, where the one that we stand in may be gone.
pub fn enter(directory: &Utf8Path) {
    let _ = std::env::set_current_dir(directory);
}
