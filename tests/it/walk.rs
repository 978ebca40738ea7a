//! Holds the walk of the disk against a slow one that knows no short cut, over generated trees.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use camino::Utf8Path;
use git_agentwt::disk::scan::scan;
use git_agentwt::disk::scan::walk::FilesToRead;
use git_agentwt::disk::scan::walk::KnownDirectories;
use git_agentwt::disk::scan::walk::Scan;
use git_agentwt::disk::scan::walk::Walk;
use git_agentwt::disk::stat::stat_of;
use git_agentwt::git::object_format::ObjectFormat;
use git_agentwt::inventory::clean_directories::CleanDirectories;
use git_agentwt::inventory::manifest::Item;
use git_agentwt::inventory::manifest::Manifest;
use git_agentwt::inventory::manifest::OnDisk;
use git_agentwt::inventory::manifest::Stat;
use git_agentwt::words::entry::Entry;
use git_agentwt::words::entry::Mode;
use git_agentwt::words::entry::ObjectId;
use git_agentwt::words::path::RepoPath;

/// Names that sort in odd ways beside and below each other.
const NAMES: &[&[u8]] = &[
    b"a", b"a.b", b"a0", b"a-", b"b", b"a\nb", b"\xff", b"\x01", b".git", b"a b", b"aa", b"-",
];

/// A small generator: the same numbers each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    /// A path in a tree of a few levels.
    fn path(&mut self) -> Vec<u8> {
        let parts: Vec<&[u8]> = (0..=self.below(3))
            .map(|_| NAMES[self.below(NAMES.len())])
            .collect();
        parts.join(&b'/')
    }
}

/// Puts something somewhere, if the place lets it.
fn put(root: &Path, numbers: &mut Numbers) {
    let path = root.join(std::ffi::OsStr::from_bytes(&numbers.path()));
    let parent = path.parent().expect("it is below the root");
    match numbers.below(9) {
        0 => drop(std::fs::remove_dir_all(&path)),
        1 => drop(std::fs::remove_file(&path)),
        2 => drop(std::fs::create_dir_all(&path)),
        3 => {
            let _ = std::fs::create_dir_all(parent);
            let _ = std::os::unix::fs::symlink("a", &path);
        }
        4 => {
            for name in ["objects", "refs"] {
                let _ = std::fs::create_dir_all(path.join(".git").join(name));
            }
            let _ = std::fs::write(path.join(".git/HEAD"), "ref: x");
        }
        5 => {
            let other = root.join(std::ffi::OsStr::from_bytes(&numbers.path()));
            let _ = std::fs::rename(&other, &path);
        }
        _ => {
            let _ = std::fs::create_dir_all(parent);
            let _ = std::fs::write(&path, numbers.below(3).to_string());
        }
    }
}

fn hash(bytes: &[u8]) -> ObjectId {
    let id = ObjectFormat::default().hash_blob(bytes.len() as u64, &mut &*bytes);
    id.expect("nothing is read")
}

fn path_of(root: &Path, path: &Path) -> RepoPath {
    let rest = path.strip_prefix(root).expect("it is below the root");
    RepoPath::parse(rest.as_os_str().as_bytes()).expect("it is a path")
}

/// Holds what the slow walk finds.
#[derive(Default)]
struct Slow {
    found: BTreeMap<RepoPath, (Entry, Stat)>,
    seen: BTreeSet<RepoPath>,
}

impl Slow {
    fn directory(&mut self, root: &Path, directory: &Path, manifest: &Manifest, trusts: bool) {
        let entries = std::fs::read_dir(directory).expect("it can be read");
        let mut paths: Vec<_> = entries.map(|e| e.expect("it can be read").path()).collect();
        paths.sort();
        if directory != root {
            let path = path_of(root, directory);
            let item = manifest.get(&path);
            let was_empty = item
                .filter(|item| item.base.is_none())
                .and_then(|item| item.disk);
            let was_empty = was_empty.is_some_and(|d| d.entry.mode == Mode::EmptyDirectory);
            if paths.is_empty() {
                let (mode, id) = (Mode::EmptyDirectory, ObjectId::none());
                let entry = Entry { mode, id };
                let known = item
                    .and_then(|item| item.disk)
                    .is_some_and(|d| d.entry == entry);
                if !known && !manifest.has_directory(&path) {
                    let stat = stat_of(&directory.metadata().expect("it is there"));
                    self.found.insert(path.clone(), (entry, stat));
                }
                self.seen.insert(path);
            } else if was_empty {
                self.seen.insert(path);
            }
        }
        for path in paths {
            if path == root.join(".git") {
                continue;
            }
            let metadata = path.symlink_metadata().expect("it is there");
            let (ours, stat) = (path_of(root, &path), stat_of(&metadata));
            let has = |name| path.join(name).symlink_metadata().is_ok();
            let is_git = ours.file_name() == ".git";
            let entry = if metadata.is_dir() {
                if !(is_git && ["HEAD", "objects", "refs"].iter().all(has)) {
                    self.directory(root, &path, manifest, trusts);
                    continue;
                }
                let (mode, id) = (Mode::NestedGit, ObjectId::none());
                self.found.insert(ours, (Entry { mode, id }, stat));
                continue;
            } else if metadata.is_symlink() {
                let text = std::fs::read_link(&path).expect("it is a link");
                let (mode, id) = (Mode::Link, hash(text.as_os_str().as_bytes()));
                Entry { mode, id }
            } else {
                let id = hash(&std::fs::read(&path).expect("it can be read"));
                let mode = if stat.mode & 0o100 == 0 {
                    Mode::File
                } else {
                    Mode::Executable
                };
                Entry { mode, id }
            };
            let recorded = manifest.get(&ours).and_then(|item| item.disk);
            let is_proven =
                recorded.is_some_and(|disk| disk.stat == stat && stat.ctime < manifest.settled());
            self.seen.insert(ours.clone());
            if !(trusts && is_proven) {
                self.found.insert(ours, (entry, stat));
            }
        }
    }
}

fn fast(root: &Path, manifest: &Manifest, files_to_read: FilesToRead) -> Scan {
    with_names(root, manifest, files_to_read, None)
}

fn with_names(
    root: &Path,
    manifest: &Manifest,
    files_to_read: FilesToRead,
    known_directories: Option<KnownDirectories<'_>>,
) -> Scan {
    let walk = Walk {
        root: Utf8Path::from_path(root).expect("it is UTF-8"),
        manifest,
        placed: None,
        submodules: Some(&BTreeSet::new()),
        files_to_read,
        known_directories,
        unread_above: None,
        hash: &|size, content| ObjectFormat::default().hash_blob(size, content),
    };
    scan(&walk).expect("the root is there")
}

/// A manifest of what is on disk: which of the files and links the base has, and which of them are
/// recorded as there, is said by their number.
fn manifest(
    root: &Path,
    settled: i64,
    has_base: fn(usize) -> bool,
    is_there: fn(usize) -> bool,
) -> Manifest {
    let found = fast(root, &Manifest::default(), FilesToRead::AllButPlaced).found;
    let item = |(at, found): (usize, git_agentwt::disk::scan::walk::FoundEntry)| {
        let (entry, stat) = (found.entry, found.stat);
        let tracked = entry.mode.is_regular() || entry.mode == Mode::Link;
        Item {
            path: found.path,
            base: (tracked && has_base(at)).then_some(entry),
            disk: (!tracked || is_there(at)).then_some(OnDisk { entry, stat }),
        }
    };
    let items = found.into_iter().enumerate().map(item).collect();
    Manifest::new(items, settled)
}

#[test]
fn the_walk_finds_what_a_slow_one_finds() {
    for seed in 0..60 {
        let tmp = tempfile::tempdir().expect("a directory");
        let root = tmp.path();
        let mut numbers = Numbers(seed);
        (0..60).for_each(|_| put(root, &mut numbers));
        let settled = if seed % 4 == 0 { i64::MIN } else { i64::MAX };
        let manifest = manifest(root, settled, |at| at % 3 > 0, |at| at % 7 > 0);
        let steps = numbers.below(12);
        (0..steps).for_each(|_| put(root, &mut numbers));
        for (files_to_read, trusts) in [(FilesToRead::Unproven, true), (FilesToRead::All, false)] {
            let mut slow = Slow::default();
            slow.directory(root, root, &manifest, trusts);
            let scan = fast(root, &manifest, files_to_read);
            let found = scan.found.into_iter().map(|f| (f.path, (f.entry, f.stat)));
            assert_eq!(
                found.collect::<BTreeMap<_, _>>(),
                slow.found,
                "seed {seed} {files_to_read:?}"
            );
            let there = manifest.items().iter().filter(|item| item.disk.is_some());
            let missing = there.map(|item| item.path.clone());
            let missing: Vec<_> = missing.filter(|path| !slow.seen.contains(path)).collect();
            assert_eq!(scan.missing, missing, "seed {seed} {files_to_read:?}");
            assert_eq!(scan.unreadable, [], "seed {seed}");
        }
    }
}

#[test]
fn a_walk_that_knows_names_finds_what_one_finds_that_reads_them() {
    let mut known = 0;
    for seed in 0..60 {
        let tmp = tempfile::tempdir().expect("a directory");
        let root = tmp.path();
        let mut numbers = Numbers(seed);
        (0..60).for_each(|_| put(root, &mut numbers));
        let manifest = manifest(root, i64::MAX, |at| at % 13 > 0, |_| true);
        let mut walked = CleanDirectories::none(&manifest);
        let device = std::fs::metadata(root).expect("it is there").dev();
        for _ in 0..3 {
            let names = KnownDirectories {
                clean: &walked,
                before: i64::MAX,
                device,
            };
            let learned =
                with_names(root, &manifest, FilesToRead::Unproven, Some(names)).clean_directories;
            known += learned.len();
            walked = walked.with(learned);
            // the clock of the file system moves on before anything changes
            crate::support::wait_for_a_later_time(root);
            let steps = numbers.below(4);
            (0..steps).for_each(|_| put(root, &mut numbers));
            let names = KnownDirectories {
                clean: &walked,
                before: i64::MIN,
                device,
            };
            let by_names = with_names(root, &manifest, FilesToRead::Unproven, Some(names));
            let by_reading = fast(root, &manifest, FilesToRead::Unproven);
            assert_eq!(by_names, by_reading, "seed {seed}");
        }
    }
    assert!(known > 200, "{known}");
}
