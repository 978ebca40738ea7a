//! Runs a short command to see whether it works here.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};

use crate::fence::availability::ProbeFailure;

/// What a probe says of a program that is not there.
pub const NOT_INSTALLED: &str = "not installed";

/// Runs a probe: what it printed. `remedy` says what helps against what the probe said.
///
/// # Errors
/// Fails when it cannot be started, or ends with another status than 0.
pub fn succeed(
    command: &mut Command,
    what: &str,
    remedy: impl Fn(&str) -> &'static str,
) -> Result<String, ProbeFailure> {
    output(command).map_err(|message| {
        let reason = message.trim().trim_start_matches(&format!("{what}: "));
        let plain = reason.trim_start_matches("Error: ");
        ProbeFailure::new(what, plain, remedy(&message))
    })
}

/// Runs a command: what it printed.
///
/// # Errors
/// Returns the last that it said.
pub fn output(command: &mut Command) -> Result<String, String> {
    command
        // the keys of the terminal are for us
        .process_group(0)
        // the monitor of podman lives on for a moment, and is not to be in a worktree
        .current_dir("/")
        .stdin(Stdio::null())
        .env("LC_ALL", "C");
    match command.output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(last_line(&output)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(NOT_INSTALLED.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The last line that a program said on its way down, or how it ended.
fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let mut lines = text.lines().rev();
    match lines.find(|line| !line.trim().is_empty()) {
        Some(line) => line.to_owned(),
        None => output.status.to_string(),
    }
}
