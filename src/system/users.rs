//! Names the user that we run as, and this host.
#![expect(clippy::disallowed_methods, reason = "reads the names of users")]

/// Returns the name of the user that we run as (passwd(5)), or the number where there is no name.
pub fn user() -> String {
    let number = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    for line in users.lines() {
        let mut fields = line.split(':');
        let name = fields.next().unwrap_or_default();
        if fields.nth(1) == Some(&number) {
            return name.to_owned();
        }
    }
    number
}

/// True if we run as root, for whom read-only bits have no effect.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the name of this host.
pub fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_and_its_user_have_names() {
        assert!(!host().is_empty());
        assert!(!user().is_empty());
    }
}
