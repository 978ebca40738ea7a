//! Renders a policy as rules of Landlock (landlock(7)): which rights exist at which path.
//!
//! Rights add up along a path, and nothing below a granted directory can be taken out: a mask has
//! no rule. To hide a worktree, reading is refused everywhere, and granted for all that stands
//! beside the way to it; what is made there later cannot be read.
//!
//! Not covered by any rule: chmod(2), chown(2), utime(2) and extended attributes of the user's own
//! files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::config::value::Fence;
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

impl LandlockRule {
    /// A rule for a path outside of the worktree.
    fn other(path: impl Into<PathBuf>, access: RuleAccess) -> Self {
        Self {
            place: RulePlace::Other(path.into()),
            access,
        }
    }
}

/// Says where a rule is: how its path is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulePlace {
    /// The worktree itself.
    Root,
    /// A path of the worktree, opened from the worktree without following a link, so that a
    /// directory which was replaced by a link grants nothing.
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

/// Says which file system the rules are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileView {
    /// That of the host: rules are all there is.
    Host,
    /// That of a mount namespace (`mount`, `container`), in which what is hidden is absent, `.git`
    /// is a mount of its own, and `/tmp` is the command's own.
    Mounts,
}

impl FileView {
    /// What the command of a fence sees.
    pub fn of(fence: Fence) -> Self {
        match fence {
            Fence::Mount | Fence::Container => Self::Mounts,
            Fence::None | Fence::Perms | Fence::Landlock | Fence::Seatbelt | Fence::Auto => {
                Self::Host
            }
        }
    }
}

/// The files in `/dev` that every program may write.
const DEVICES: [(&str, RuleAccess); 7] = [
    ("/dev/null", RuleAccess::File),
    ("/dev/zero", RuleAccess::File),
    ("/dev/full", RuleAccess::File),
    ("/dev/tty", RuleAccess::Terminal),
    ("/dev/ptmx", RuleAccess::Terminal),
    ("/dev/pts", RuleAccess::Terminal),
    // semaphores (sem_open(3)), as of the `multiprocessing` of Python
    ("/dev/shm", RuleAccess::Tree),
];

/// The rules for writing.
pub fn write_rules(policy: &Policy, view: FileView) -> Vec<LandlockRule> {
    let mut rules = worktree_rules(policy, view);
    let own = policy.own_directories();
    for path in own.iter().chain(&policy.request.rw) {
        rules.push(LandlockRule::other(path, RuleAccess::Tree));
    }
    if view == FileView::Mounts {
        rules.push(LandlockRule::other("/tmp", RuleAccess::Tree));
    }
    let places = [&policy.places.root, &policy.places.common_dir];
    for (path, access) in DEVICES {
        // a repository that stands there would be writable with it
        let is_around = places.iter().any(|place| place.starts_with(path));
        if view == FileView::Mounts || !is_around {
            rules.push(LandlockRule::other(path, access));
        }
    }
    rules
}

/// The rules for the worktree, which can be writable as a whole where `.git` is a mount.
fn worktree_rules(policy: &Policy, view: FileView) -> Vec<LandlockRule> {
    if policy.is_whole && view == FileView::Mounts {
        return vec![LandlockRule {
            place: RulePlace::Root,
            access: RuleAccess::Tree,
        }];
    }
    let mut rules = Vec::new();
    for grant in &policy.grants {
        rules.push(LandlockRule {
            place: RulePlace::Below(grant.path.clone()),
            access: match grant.kind {
                GrantKind::Tree => RuleAccess::Tree,
                GrantKind::File => RuleAccess::File,
            },
        });
    }
    rules
}

/// The rules for reading; none if nothing is hidden, and reading is then not to be restricted.
/// `list` reads the names of a directory.
pub fn read_rules(policy: &Policy, list: &dyn Fn(&Path) -> Vec<OsString>) -> Vec<LandlockRule> {
    let places = &policy.places;
    let mut hidden: Vec<PathBuf> = policy.hidden().iter().map(PathBuf::from).collect();
    hidden.extend(places.withheld.iter().map(PathBuf::from));
    if hidden.is_empty() {
        return Vec::new();
    }
    let mut starts = vec![
        Path::new("/"),
        places.root.as_std_path(),
        places.binary.as_std_path(),
    ];
    let in_git = policy.readable_in_git();
    starts.extend(in_git.iter().map(|path| path.as_std_path()));
    let shown = places.shown.iter().chain(&policy.request.rw);
    starts.extend(shown.map(|path| path.as_std_path()));
    let mut readable = Vec::new();
    for start in starts {
        add_readable(start, &hidden, list, &mut readable);
    }
    let rule = |path| LandlockRule::other(path, RuleAccess::Read);
    readable.into_iter().map(rule).collect()
}

/// Collects a path, or what stands in it beside the ways to what is hidden.
fn add_readable(
    path: &Path,
    hidden: &[PathBuf],
    list: &dyn Fn(&Path) -> Vec<OsString>,
    readable: &mut Vec<PathBuf>,
) {
    if hidden.iter().any(|place| place == path) {
        return;
    }
    if hidden.iter().any(|place| place.starts_with(path)) {
        for name in list(path) {
            add_readable(&path.join(name), hidden, list, readable);
        }
    } else if !readable.iter().any(|above| path.starts_with(above)) {
        readable.push(path.to_owned());
    }
}
