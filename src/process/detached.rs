//! Starts our own program for work that outlives the command that asked for it.

use camino::Utf8Path;

/// The name of our own program, without which nothing is started: a program that uses the library
/// knows nothing of our commands.
const OURS: &str = "git-agentwt";

/// Starts our own program with these arguments, in the root directory and with nothing of the
/// terminal; whether it was started. Nobody waits for it.
#[must_use]
pub fn start_detached(program: &Utf8Path, arguments: &[&str]) -> bool {
    if program.file_stem() != Some(OURS) {
        return false;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "our own program, which goes on after us"
    )]
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

/// Leaves the session that we were started in, so that nothing that is sent to the terminal's
/// processes reaches us (setsid(2)).
pub fn leave_session() {
    // refused only to the leader of a group, which nobody has made us
    let _ = rustix::process::setsid();
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
