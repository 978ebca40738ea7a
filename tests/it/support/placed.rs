//! Places files in a worktree as `sync` does, and writes the list of them.

use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use git_agentwt::disk::digest::digest_below;
use git_agentwt::disk::files::settled_time;
use git_agentwt::disk::stat::stat_of;
use git_agentwt::inventory::manifest::Stat;
use git_agentwt::inventory::placed::Digest;
use git_agentwt::inventory::placed::Placed;
use git_agentwt::inventory::placed::PlacedFile;
use git_agentwt::inventory::placed::PlacedKind;
use git_agentwt::inventory::placed::PlacedOrigin;
use git_agentwt::words::path::RepoPath;

use super::{TestRepo, chmod, write};

/// Says which digest of a file stands in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digests {
    /// That of its content.
    Known,
    /// None, as of a large file that was cloned.
    Unknown,
    /// A wrong one: whoever reads the file finds it edited.
    Wrong,
}

impl TestRepo {
    /// The file with the list of what was placed in a worktree.
    #[must_use]
    pub fn placed_list(&self, name: &str) -> PathBuf {
        let records = self.main().join(".git/agentwt/worktrees");
        records.join(name).join("placed")
    }

    /// Copies files, links and directories of the main worktree into the worktree, each with its
    /// mode but read-only where [`TestRepo::add`] lets nothing be written, and lists them.
    #[track_caller]
    pub fn place(&self, name: &str, paths: &[&str]) {
        self.place_with(name, paths, Digests::Known);
    }

    /// The same with this digest in the list.
    #[track_caller]
    pub fn place_with(&self, name: &str, paths: &[&str], digests: Digests) {
        let worktree = self.worktree(name);
        for path in paths {
            copy(&self.main().join(path), &worktree.join(path));
            restrict(&worktree, path);
        }
        let list = paths.iter().map(|path| {
            let source = Some(stat(&self.main().join(path)));
            listed(&worktree, path, PlacedOrigin::Synced, source, digests)
        });
        self.list(name, list.collect());
    }

    /// Writes context for the client into the worktree, and lists it.
    #[track_caller]
    pub fn place_context(&self, name: &str, path: &str, text: &str) {
        let worktree = self.worktree(name);
        write(&worktree, path.as_bytes(), text.as_bytes());
        restrict(&worktree, path);
        let file = listed(&worktree, path, PlacedOrigin::Context, None, Digests::Known);
        self.list(name, vec![file]);
    }

    #[track_caller]
    fn list(&self, name: &str, new: Vec<PlacedFile>) {
        let list = self.placed_list(name);
        let before = match std::fs::read(&list) {
            Ok(bytes) => Placed::from_bytes(&bytes).expect("the list can be read"),
            Err(_) => Placed::default(),
        };
        let newest = new.iter().map(|file| file.stat.ctime).max();
        let worktree = Utf8PathBuf::from_path_buf(self.worktree(name)).expect("it is UTF-8");
        let settled = settled_time(&worktree, newest.unwrap_or(0)).expect("a time");
        let placed = before.with_files(before.files().to_vec(), new, settled);
        std::fs::write(&list, placed.to_bytes()).expect("a record");
    }
}

#[track_caller]
fn copy(from: &Path, to: &Path) {
    let metadata = std::fs::symlink_metadata(from).expect("the source is there");
    std::fs::create_dir_all(to.parent().expect("a parent")).expect("a directory");
    if metadata.is_dir() {
        std::fs::create_dir_all(to).expect("a directory");
    } else if metadata.is_symlink() {
        let text = std::fs::read_link(from).expect("a link");
        std::os::unix::fs::symlink(text, to).expect("a link");
    } else {
        std::fs::copy(from, to).expect("a copy");
        let mode = metadata.permissions();
        chmod(to, 0o644);
        let file = std::fs::File::options().write(true).open(to);
        let time = metadata.modified().expect("a time");
        file.and_then(|file| file.set_modified(time))
            .expect("a time");
        std::fs::set_permissions(to, mode).expect("a mode");
    }
}

fn restrict(worktree: &Path, path: &str) {
    use std::os::unix::fs::PermissionsExt;
    let file = worktree.join(path);
    let metadata = std::fs::symlink_metadata(&file).expect("it is there");
    let may_write = ["src/", "tests/", "package.json"];
    if metadata.is_file() && !may_write.iter().any(|start| path.starts_with(start)) {
        chmod(&file, metadata.permissions().mode() & !0o222);
    }
}

#[track_caller]
fn stat(path: &Path) -> Stat {
    stat_of(&std::fs::symlink_metadata(path).expect("it is there"))
}

#[track_caller]
fn listed(
    worktree: &Path,
    path: &str,
    origin: PlacedOrigin,
    source: Option<Stat>,
    digests: Digests,
) -> PlacedFile {
    let root = Utf8Path::from_path(worktree).expect("it is UTF-8");
    let stat = stat(&worktree.join(path));
    let path = RepoPath::parse(path).expect("it is normal");
    let found = digest_below(root, &path).expect("it can be read");
    let kind = found.map_or(PlacedKind::Directory, |(kind, _)| kind);
    let digest = found.map(|(_, digest)| digest);
    let digest = match digests {
        Digests::Unknown if kind == PlacedKind::File => None,
        Digests::Known | Digests::Unknown => digest,
        Digests::Wrong => digest.map(|_| Digest([7; 32])),
    };
    PlacedFile {
        path,
        origin,
        kind,
        digest,
        stat,
        source,
    }
}
