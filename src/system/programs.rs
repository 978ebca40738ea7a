//! Starts programs that the user names, and our own in the background.
#![expect(clippy::disallowed_methods, reason = "starts the user's programs")]

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, ErrorKind, Result};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use camino::Utf8Path;

use crate::words::path::escape_for_terminal;

/// The name of our own program, without which nothing is started: a program that uses the library
/// knows nothing of our commands.
const OURS: &str = "git-agentwt";

/// Starts a program of the user's with our terminal and these variables, and waits for its end: its
/// status, or 128 and the signal that ended the program.
///
/// # Errors
/// Fails when the program cannot be started.
pub fn run_program(
    words: &[OsString],
    directory: &Utf8Path,
    variables: &[(&'static str, String)],
) -> Result<u8> {
    let (program, arguments) = words.split_first().ok_or(ErrorKind::NotFound)?;
    let mut command = duct::cmd(program, arguments).dir(directory).unchecked();
    for (name, value) in variables {
        command = command.env(name, value);
    }
    Ok(exit_code(command.run()?.status))
}

/// Starts a program without input, and gives each line that it prints to this function; its status.
///
/// # Errors
/// Fails when the program cannot be started.
pub fn run_with_lines(
    program: &Utf8Path,
    arguments: &[OsString],
    tell: &dyn Fn(&str),
) -> Result<u8> {
    let reader = duct::cmd(program.as_std_path(), arguments)
        .stdin_null()
        .stderr_to_stdout()
        .unchecked()
        .reader()?;
    for line in BufReader::new(&reader).split(b'\n') {
        tell(&escape_for_terminal(&line?));
    }
    let output = reader.try_wait()?;
    Ok(output.map_or(1, |output| exit_code(output.status)))
}

/// The status of a program, or 128 and the signal that ended it, as shells say it.
fn exit_code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Starts our own program with these arguments, in the root directory and with nothing of the
/// terminal; true if it was started. It is not waited for.
pub fn start_detached(program: &Utf8Path, arguments: &[&str]) -> bool {
    if program.file_stem() != Some(OURS) {
        return false;
    }
    let child = duct::cmd(program.as_std_path(), arguments)
        .dir("/")
        .stdin_null()
        .stdout_null()
        .stderr_null()
        .unchecked()
        .start();
    // to let go of it leaves it running, and it is waited for when the next is started
    child.is_ok()
}

/// True if man(1) is there and has this page.
pub fn shows_page(name: &str) -> bool {
    duct::cmd("man", ["-w", name])
        .stdin_null()
        .stdout_null()
        .stderr_null()
        .run()
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_is_never_started() {
        assert!(!start_detached(Utf8Path::new("/bin/true"), &[]));
        assert!(!start_detached(Utf8Path::new("/nowhere/git-agentwt"), &[]));
    }
}
