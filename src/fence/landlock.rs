//! Renders a policy as rules of Landlock (landlock(7)): which rights exist at which path.
//!
//! Rights add up along a path, and nothing below a granted directory can be taken out: a mask has no
//! rule. To hide a worktree, reading is refused everywhere, and granted for all that stands beside the
//! way to it; what is made there later cannot be read.
//!
//! Not covered by any rule: chmod(2), chown(2), utime(2) and extended attributes of the user's own files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::fence::policy::{GrantKind, Policy};
use crate::words::path::RepoPath;

/// Grants rights at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandlockRule {
    /// The path.
    pub place: RulePlace,
    /// The rights. Where a file stands, those for directories are dropped.
    pub access: RuleAccess,
}

/// Says where a rule is: how its path is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulePlace {
    /// The worktree itself.
    Root,
    /// A path of the worktree, opened from the worktree without following a link, so that a directory
    /// which was replaced by a link grants nothing.
    Below(RepoPath),
    /// Another path; it need not exist.
    Other(PathBuf),
}

/// Says which rights a rule grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAccess {
    /// Write, make, remove and move anything but device files.
    Tree,
    /// Write and truncate.
    File,
    /// Write, and control the terminal (`ioctl(2)`).
    Terminal,
    /// Read and execute.
    Read,
}

/// The files in `/dev` that every program may write.
const DEVICES: [(&str, RuleAccess); 3] = [
    ("/dev/null /dev/zero /dev/full", RuleAccess::File),
    ("/dev/tty /dev/ptmx /dev/pts", RuleAccess::Terminal),
    // semaphores (sem_open(3)), as of the `multiprocessing` of Python
    ("/dev/shm", RuleAccess::Tree),
];

/// The rules for writing. Inside of namespaces (`mount`, `container`), the worktree can be writable as a
/// whole, because `.git` is a mount there, and `/tmp` is the command's own.
pub fn write_rules(policy: &Policy, is_inside_mounts: bool) -> Vec<LandlockRule> {
    let mut rules = Vec::new();
    let mut add = |place, access| rules.push(LandlockRule { place, access });
    if policy.is_whole && is_inside_mounts {
        add(RulePlace::Root, RuleAccess::Tree);
    } else {
        for grant in &policy.grants {
            let access = match grant.kind {
                GrantKind::Tree => RuleAccess::Tree,
                GrantKind::File => RuleAccess::File,
            };
            add(RulePlace::Below(grant.path.clone()), access);
        }
    }
    let own = policy.own_directories();
    for path in own.iter().chain(&policy.wishes.rw) {
        add(RulePlace::Other(path.into()), RuleAccess::Tree);
    }
    if is_inside_mounts {
        add(RulePlace::Other("/tmp".into()), RuleAccess::Tree);
    }
    let places = [&policy.places.root, &policy.places.common_dir];
    let paths =
        |(paths, access): (&'static str, _)| paths.split(' ').map(move |path| (path, access));
    for (path, access) in DEVICES.into_iter().flat_map(paths) {
        // a repository that stands there would be writable with it
        let is_around = places.iter().any(|place| place.starts_with(path));
        if is_inside_mounts || !is_around {
            add(RulePlace::Other(path.into()), access);
        }
    }
    rules
}

/// The rules for reading; none where nothing is hidden, and reading is then not to be restricted. `list`
/// reads the names of a directory.
pub fn read_rules(policy: &Policy, list: &dyn Fn(&Path) -> Vec<OsString>) -> Vec<LandlockRule> {
    let mut hidden: Vec<PathBuf> = policy.hidden().iter().map(PathBuf::from).collect();
    let places = &policy.places;
    hidden.extend(places.withheld.iter().map(PathBuf::from));
    if hidden.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let record = policy.record().to_owned();
    let seen = [&places.root, &places.common_dir, &record, &places.binary];
    let starts = std::iter::once(Path::new("/"));
    let seen = seen.into_iter().chain(&places.shown);
    let seen = seen.chain(&policy.wishes.rw);
    for start in starts.chain(seen.map(|path| path.as_std_path())) {
        add_readable(start, &hidden, list, &mut found);
    }
    let rule = |path| LandlockRule {
        place: RulePlace::Other(path),
        access: RuleAccess::Read,
    };
    found.into_iter().map(rule).collect()
}

/// Collects a path, or what stands in it beside the ways to what is hidden.
fn add_readable(
    path: &Path,
    hidden: &[PathBuf],
    list: &dyn Fn(&Path) -> Vec<OsString>,
    found: &mut Vec<PathBuf>,
) {
    if hidden.iter().any(|one| one == path) {
        return;
    }
    if hidden.iter().any(|one| one.starts_with(path)) {
        for name in list(path) {
            add_readable(&path.join(name), hidden, list, found);
        }
    } else if !found.iter().any(|above| path.starts_with(above)) {
        found.push(path.to_owned());
    }
}
