//! Knows the terminal that we were started from.
#![expect(clippy::disallowed_methods, reason = "opens the terminal")]

/// True if there is a terminal whose keys send signals.
pub fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// Leaves the session that we were started in, so that nothing that is sent to the terminal's
/// processes reaches us (setsid(2)).
pub fn leave_session() {
    // refused only to the leader of a group, which we are not
    let _ = rustix::process::setsid();
}
