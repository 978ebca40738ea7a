//! Holds the version of a git.

use std::fmt;

/// A version of git: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion(pub u32, pub u32, pub u32);

impl GitVersion {
    /// The oldest supported version: the oldest that the tests run with.
    pub const OLDEST: Self = Self(2, 39, 0);
    /// The first with configured hooks (`hook.<name>.command`, git-hook(1)).
    pub const CONFIGURED_HOOKS: Self = Self(2, 54, 0);

    /// Parses what `git version` prints (`git version 2.39.5 (Apple Git-154)`).
    pub fn parse(text: &str) -> Option<Self> {
        let number = text
            .strip_prefix("git version ")?
            .split_whitespace()
            .next()?;
        let mut parts = number.split(['.', '-']).map(str::parse::<u32>);
        let major = parts.next()?.ok()?;
        let minor = parts.next()?.ok()?;
        let patch = parts.next().and_then(Result::ok).unwrap_or(0);
        Some(Self(major, minor, patch))
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_vendors_are_read() {
        for (text, version) in [
            ("git version 2.39.5", GitVersion(2, 39, 5)),
            ("git version 2.39.5 (Apple Git-154)", GitVersion(2, 39, 5)),
            ("git version 2.55.GIT", GitVersion(2, 55, 0)),
            ("git version 2.47.1.windows.2", GitVersion(2, 47, 1)),
            ("git version 2.54.0-rc1", GitVersion(2, 54, 0)),
        ] {
            assert_eq!(GitVersion::parse(text), Some(version), "{text}");
        }
        assert_eq!(GitVersion::parse("not git"), None);
    }
}
