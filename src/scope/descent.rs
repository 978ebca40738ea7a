//! Holds [`Descent`]: a walk over paths that remembers a value for each directory above the current
//! one.

use bstr::ByteSlice as _;

use crate::scope::rule::Case;

/// Remembers one value for each directory on the way to the current path. Paths come sorted from
/// git and from a walk, so that neighbours share most of their directories.
#[derive(Clone, Debug)]
pub(super) struct Descent<T> {
    case: Case,
    path: Vec<u8>,
    /// The directories of `path`: the length of the directory's path, and its value.
    levels: Vec<(usize, T)>,
    root: T,
}

/// The path of an entry that is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryPath<'p> {
    /// The path, in lower case where case does not matter.
    pub(super) path: &'p [u8],
    /// Where the last component of the path begins.
    pub(super) name_start: usize,
}

impl<T> Descent<T> {
    /// Starts at the root, which has this value.
    pub(super) fn new(case: Case, root: T) -> Self {
        Self {
            case,
            path: Vec::new(),
            levels: Vec::new(),
            root,
        }
    }

    /// Goes to a path. Each directory that was not on the way before gets its value from its
    /// parent's and `judge`. Returns the entry at the path, and the value of its directory.
    pub(super) fn enter(
        &mut self,
        path: &[u8],
        judge: impl Fn(&T, EntryPath<'_>) -> T,
    ) -> (EntryPath<'_>, &T) {
        let common = self.common_prefix(path);
        // `a/b` is a directory of `a/b/c`, but not of `a/bc`: of that the slash is not in common
        self.levels.retain(|(end, _)| *end < common);
        self.path.truncate(common);
        self.path.extend_from_slice(&path[common..]);
        if self.case == Case::Insensitive {
            self.path[common..].make_ascii_lowercase();
        }
        let mut name_start = self.levels.last().map_or(0, |(end, _)| end + 1);
        while let Some(slash) = self.path[name_start..].find_byte(b'/') {
            let end = name_start + slash;
            let directory = EntryPath {
                path: &self.path[..end],
                name_start,
            };
            let value = judge(self.value(), directory);
            self.levels.push((end, value));
            name_start = end + 1;
        }
        let entry = EntryPath {
            path: &self.path,
            name_start,
        };
        (entry, self.value())
    }

    /// Returns the value of the deepest directory.
    fn value(&self) -> &T {
        self.levels.last().map_or(&self.root, |(_, value)| value)
    }

    /// Returns how many bytes the path before and this one begin with alike.
    fn common_prefix(&self, path: &[u8]) -> usize {
        let pairs = self.path.iter().zip(path);
        pairs
            .take_while(|(old, new)| self.is_same(**old, **new))
            .count()
    }

    /// True if a byte of the path before, which is folded, is the same as one of a new path.
    const fn is_same(&self, old: u8, new: u8) -> bool {
        match self.case {
            Case::Sensitive => old == new,
            Case::Insensitive => old == new.to_ascii_lowercase(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_is_judged_once_while_paths_are_sorted() {
        let judged = std::cell::RefCell::new(Vec::new());
        let mut descent = Descent::new(Case::Sensitive, 0);
        for (path, depth) in [
            ("a/b/c", 2),
            ("a/b/d", 2),
            ("a/bc/d", 2),
            ("a/b", 1),
            ("a", 0),
            ("a/b/c/d", 3),
            ("x", 0),
        ] {
            let (level, parent) = descent.enter(path.as_bytes(), |parent, level| {
                let text = String::from_utf8_lossy(level.path).into_owned();
                judged.borrow_mut().push(text);
                parent + 1
            });
            assert_eq!((level.path, *parent), (path.as_bytes(), depth), "{path}");
            assert!(!level.path[level.name_start..].contains(&b'/'));
        }
        let expected = ["a", "a/b", "a/bc", "a", "a/b", "a/b/c"];
        assert_eq!(*judged.borrow(), expected);
    }
}
