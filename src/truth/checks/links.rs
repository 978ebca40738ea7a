//! Finds links that the scope allows and that lead out of what may be written.

use crate::disk::open::{Opened, open_below};
use crate::disk::resolve::resolve;
use crate::judge::change::Change;
use crate::judge::compare::Delta;
use crate::scope::rule::{Access, EntryKind};
use crate::words::entry::Mode;
use crate::words::path::{RepoPath, escape_for_terminal};
use crate::worktree::loaded::Worktree;

/// Finds the changed links on disk that the scope allows to be written, but that lead to a file
/// which it does not.
pub fn links_out(worktree: &Worktree, net: &[Change], disk: &Delta) -> Vec<Change> {
    let mut links = Vec::new();
    for change in net {
        let Some(path) = change.place.path() else {
            continue;
        };
        let Some(Some(entry)) = disk.get(path) else {
            continue;
        };
        if entry.mode != Mode::Link || access_of(worktree, path) != Access::Write {
            continue;
        }
        let Ok(Opened::Link(text)) = open_below(&worktree.record.path, path) else {
            continue;
        };
        if !leads_inside(worktree, path) {
            let shown = escape_for_terminal(&text);
            let detail = format!("it leads to {shown}, which the scope does not let be written");
            links.push(Change {
                detail: Some(detail),
                ..change.clone()
            });
        }
    }
    links
}

fn access_of(worktree: &Worktree, path: &RepoPath) -> Access {
    worktree.scope.verdict(path, EntryKind::File).access
}

/// True if the file that a link leads to, through all links on the way, may be written.
fn leads_inside(worktree: &Worktree, link: &RepoPath) -> bool {
    let Some(target) = target_in(worktree, link) else {
        return false;
    };
    // what is in a directory may be written where the directory itself is no match: `tests/**`
    let inside = RepoPath::child(Some(&target), b"_");
    access_of(worktree, &target) == Access::Write || access_of(worktree, &inside) == Access::Write
}

/// Returns the path in the worktree to which a link leads; none if it leads out of it.
fn target_in(worktree: &Worktree, link: &RepoPath) -> Option<RepoPath> {
    let root = worktree.record.path.as_std_path();
    let target = resolve(&root.join(link.to_os_path().ok()?), &|_| false).ok()?;
    let below = target.strip_prefix(root).ok()?.as_os_str();
    RepoPath::parse(below.as_encoded_bytes()).ok()
}
