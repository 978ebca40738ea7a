//! Tells one process from another that has its number later.
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::disallowed_methods,
        reason = "/proc (proc(5)) is the system's word on processes, not a disk"
    )
)]

/// Returns the name of this host.
#[must_use]
pub fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// Whether we run as root, whom permissions do not stop.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What the system says of a process after its name: the state, the parent, … (`proc_pid_stat(5)`);
/// none when there is no such process.
#[cfg(target_os = "linux")]
pub(super) fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    // the second field is the program's name in brackets, which may hold anything
    let (_, after) = stat.rsplit_once(") ")?;
    Some(after.split(' ').map(ToOwned::to_owned).collect())
}

/// The number of the process that started this one.
#[cfg(target_os = "linux")]
pub(super) fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// Returns what only this very process has, as long as its number means it: when it started, and
/// in which run of the system; none when there is no such process.
#[cfg(target_os = "linux")]
#[must_use]
pub fn started(pid: u32) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let fields = stat(pid)?;
    let mut fields = fields.iter().map(String::as_str);
    // a zombie has ended: nobody has asked yet how
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let ticks = fields.nth(18)?;
    Some(format!("{} {ticks}", boot.trim()))
}

/// Returns what only this very process has, as long as its number means it: when it started, by
/// ps(1); none when there is no such process.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn started(pid: u32) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the system's own word on processes where there is no /proc"
    )]
    let asked = duct::cmd("ps", ["-o", "lstart=", "-p", &pid.to_string()])
        .stderr_null()
        .unchecked()
        .read()
        .ok()?;
    let text = asked.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Whether a process that was seen once still runs.
#[must_use]
pub fn is_alive(pid: u32, was_started: &str) -> bool {
    started(pid).is_some_and(|now| now == was_started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_alive_and_whoever_had_our_number_before_is_not() {
        let own = std::process::id();
        let mark = started(own).expect("we run");
        assert!(is_alive(own, &mark));
        assert!(!is_alive(own, "another boot 1"));
        assert_eq!(started(u32::MAX - 1), None);
    }

    #[test]
    fn this_host_has_a_name() {
        assert!(!host().is_empty());
    }
}
