//! Lays the list of placed files over a manifest, so that one walk knows both.

use crate::inventory::manifest::{Item, Manifest, OnDisk};
use crate::inventory::placed::{NEVER, Placed, PlacedFile, PlacedKind};
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::path::RepoPath;

impl Placed {
    /// True if [`Self::laid_over`] leaves the manifest as it is, whatever is tracked.
    pub fn leaves(&self, manifest: &Manifest) -> bool {
        self.files.is_empty() && manifest.items().iter().all(|item| item.base.is_some())
    }

    /// Joins the manifest of the worktree and this list into one manifest, in which what was placed
    /// has no base and no id; returns that, and the list without what is left out.
    ///
    /// A path that is tracked by now, in any state that the worktree answers for, is a path like
    /// any other: it is left out of both, so that it is read, whatever was there untracked before.
    /// The joined manifest has the later of both settled times, so stat data that are racy for
    /// their own list are marked first.
    pub fn laid_over(
        mut self,
        manifest: Manifest,
        is_tracked: &dyn Fn(&RepoPath) -> bool,
    ) -> (Manifest, Self) {
        if self.leaves(&manifest) {
            return (manifest, self);
        }
        self.files
            .retain(|file| manifest.base(&file.path).is_none() && !is_tracked(&file.path));
        let manifest_settled = manifest.settled();
        let mut settled = manifest_settled;
        if !self.files.is_empty() {
            settled = settled.max(self.settled);
        }
        let mut items = Vec::with_capacity(manifest.items().len() + self.files.len());
        for mut item in manifest.into_items() {
            let was_untracked = item.base.is_none();
            // a placed file gets an item of its own below
            if was_untracked && (is_tracked(&item.path) || self.get(&item.path).is_some()) {
                continue;
            }
            distrust_if_racy(&mut item, manifest_settled);
            items.push(item);
        }
        for file in &self.files {
            if !self.is_filled(file) {
                let mut item = item_of(file);
                distrust_if_racy(&mut item, self.settled);
                items.push(item);
            }
        }
        (Manifest::new(items, settled), self)
    }

    /// True if something was placed in this directory: the walk only reports empty ones.
    pub fn is_filled(&self, directory: &PlacedFile) -> bool {
        let inside = RepoPath::child(Some(&directory.path), b"");
        let first = self.files.partition_point(|file| file.path < inside);
        match self.files.get(first) {
            Some(file) => file.path.is_below(directory.path.as_bstr()),
            None => false,
        }
    }
}

/// Marks stat data that are not older than the settled time of their list: they prove nothing, also
/// under a later settled time.
const fn distrust_if_racy(item: &mut Item, settled: i64) {
    if let Some(disk) = &mut item.disk
        && disk.stat.ctime >= settled
    {
        disk.stat.ctime = NEVER;
    }
}

/// Returns what the walk is to find at the path of a placed file.
const fn entry_of(file: &PlacedFile) -> Entry {
    let mode = match file.kind {
        PlacedKind::File => file.stat.file_mode(),
        PlacedKind::Link => Mode::Link,
        PlacedKind::Directory => Mode::EmptyDirectory,
    };
    Entry {
        mode,
        id: ObjectId::none(),
    }
}

/// The item of the manifest for a placed file.
fn item_of(file: &PlacedFile) -> Item {
    Item {
        path: file.path.clone(),
        base: None,
        disk: Some(OnDisk {
            entry: entry_of(file),
            stat: file.stat,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::manifest::Stat;
    use crate::inventory::placed::PlacedOrigin;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).expect("it is normal")
    }

    fn stat(ctime: i64) -> Stat {
        Stat {
            ctime,
            mode: 0o100_644,
            ..Stat::default()
        }
    }

    fn file(text: &str, kind: PlacedKind, ctime: i64) -> PlacedFile {
        PlacedFile {
            path: path(text),
            origin: PlacedOrigin::Synced,
            kind,
            digest: None,
            stat: stat(ctime),
            source: None,
        }
    }

    /// The base has `a`; something left `b` untracked when the worktree was made.
    fn manifest(ctime: i64, settled: i64) -> Manifest {
        let mode = Mode::File;
        let id = ObjectId::from_bytes(&[1; 20]).expect("20 bytes");
        let entry = Entry { mode, id };
        let item = |text, base| Item {
            path: path(text),
            base,
            disk: Some(OnDisk {
                entry,
                stat: stat(ctime),
            }),
        };
        Manifest::new(vec![item("a", Some(entry)), item("b", None)], settled)
    }

    /// The paths of which stat data prove something.
    fn proven(manifest: &Manifest, ctime: i64) -> Vec<String> {
        let there = manifest.items().iter();
        let there = there.filter_map(|item| Some((item, item.disk?.stat)));
        let same = there.filter(|(_, then)| manifest.proves(then, &stat(ctime)));
        same.map(|(item, _)| item.path.to_string()).collect()
    }

    #[test]
    fn a_later_settled_time_of_one_proves_nothing_of_the_other() {
        let placed = |settled| Placed::new(vec![file("c", PlacedKind::File, 5)], settled);
        let over = |manifest, placed: Placed| placed.laid_over(manifest, &|_| false).0;
        assert_eq!(proven(&over(manifest(5, 9), placed(9)), 5), ["a", "b", "c"]);
        assert_eq!(proven(&over(manifest(5, 5), placed(9)), 5), ["c"]);
        assert_eq!(proven(&over(manifest(5, 9), placed(5)), 5), ["a", "b"]);
        let nothing = over(manifest(5, i64::MIN), Placed::default());
        assert_eq!(proven(&nothing, 5), Vec::<String>::new());
    }

    #[test]
    fn what_is_tracked_by_now_is_in_neither() {
        let placed = ["b", "c"].map(|text| file(text, PlacedKind::File, 5));
        let placed = Placed::new(placed.to_vec(), 9);
        let (over, left) = placed.laid_over(manifest(5, 9), &|other| *other == path("b"));
        let paths: Vec<_> = over.items().iter().map(|i| i.path.to_string()).collect();
        assert_eq!(paths, ["a", "c"]);
        assert_eq!(left.files().len(), 1);
        let based = Placed::new(vec![file("a", PlacedKind::File, 5)], 9);
        let (over, left) = based.laid_over(manifest(5, 9), &|_| false);
        assert!(over.base(&path("a")).is_some() && left.files().is_empty());
    }

    #[test]
    fn a_directory_counts_where_nothing_placed_is_in_it() {
        let directory = PlacedKind::Directory;
        let files = vec![
            file("d", directory, 1),
            file("d-", PlacedKind::Link, 1),
            file("d/f", PlacedKind::File, 1),
            file("e", directory, 1),
        ];
        let (over, _) = Placed::new(files, 9).laid_over(Manifest::default(), &|_| false);
        let paths: Vec<_> = over.items().iter().map(|i| i.path.to_string()).collect();
        assert_eq!(paths, ["d-", "d/f", "e"]);
    }
}
