//! Holds [`Roots`], the directories below which writing was allowed to somebody; pure.
//!
//! Paths are compared by their components and as they are: whoever makes them has resolved the
//! links that count (`facts/roots.rs`).
//!
//! ```
//! use git_agentwt::roots::Roots;
//! let roots = Roots::new(vec!["/w/src".into()]);
//! assert!(roots.cover("/w/src/main.rs".as_ref()) && roots.cover("/w/src".as_ref()));
//! assert!(!roots.cover("/w/srcs/main.rs".as_ref()));
//! ```

use std::path::{Path, PathBuf};

/// Represents absolute write roots ("leases").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots(Vec<PathBuf>);

impl Roots {
    /// Takes absolute paths without `.` and `..`; one that stands twice is held once.
    #[must_use]
    pub fn new(mut roots: Vec<PathBuf>) -> Self {
        roots.sort_unstable();
        roots.dedup();
        Self(roots)
    }

    /// Whether a path is one of them, or below one.
    #[must_use]
    pub fn cover(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    /// The roots, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_covers_whole_components_only() {
        let roots = Roots::new(vec!["/a/b".into(), "/c".into(), "/a/b".into()]);
        for (path, covered) in [
            ("/a/b", true),
            ("/a/b/c", true),
            ("/a/bc", false),
            ("/a", false),
            ("/c/d/e", true),
            ("/", false),
        ] {
            assert_eq!(roots.cover(path.as_ref()), covered, "{path}");
        }
        assert_eq!(roots.iter().count(), 2);
        assert!(!Roots::default().cover("/".as_ref()));
        assert!(Roots::new(vec!["/".into()]).cover("/x".as_ref()));
    }
}
