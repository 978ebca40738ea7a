//! Finds what git takes for a branch, a tag or a remote-tracking branch when it is asked for one by
//! its short name: a file in a git directory, or a ref that counts more (gitrevisions(7)).

use std::collections::{BTreeSet, HashSet};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;

use bstr::{BStr, BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::open::Opened;
use crate::disk::{files, open};
use crate::judge::change::{Cause, Content, Kind, Place, SharedChange};
use crate::record::worktree::{GitDirOwner, Sealed};
use crate::truth::git_dirs;
use crate::truth::git_dirs::{Role, is_of_git, is_root_ref, role_of};
use crate::truth::ref_history::RefHistory;
use crate::words::error::Error;

/// What git puts before a short name, in this order, after the name itself.
const PREFIXES: [&str; 4] = ["refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];

/// The longest content of a ref that is read: `ref: ` and a name.
const LONGEST: u64 = 4096;

/// Finds the files that git takes for a ref, and the refs that it takes for older ones.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn find(
    refs: &RefHistory<'_>,
    before: &Sealed,
    now: &Sealed,
) -> Result<Vec<SharedChange>, Error> {
    let mut found = shadowing_refs(refs);
    let names = Names::of(refs)?;
    let search = FileSearch { refs, before };
    let common_dir = &refs.repository.common_dir;
    let in_repository = names.in_repository.iter();
    found.extend(in_repository.filter_map(|name| search.judge(common_dir, "@git", name)));
    found.extend(search.in_worktrees(now, &names.in_worktrees));
    found.extend(search.in_submodules(now));
    Ok(found)
}

/// Finds the refs that came since `add` and that git takes for one that was there.
fn shadowing_refs(refs: &RefHistory<'_>) -> Vec<SharedChange> {
    let mut found = Vec::new();
    for (name, made) in &refs.records.now {
        if refs.records.before.contains_key(name) || name.starts_with(b"refs/agentwt/") {
            continue;
        }
        let Some((short, hidden)) = hidden_by(refs, name.as_bstr()) else {
            continue;
        };
        let is_direct = *name == format!("refs/{short}") && !short.contains('/');
        let cause = if refs.records.is_made_here(&made.id) {
            Cause::MadeHere
        } else if is_direct && short != "stash" {
            Cause::Hides
        } else {
            Cause::Unknown
        };
        let said = format!("git takes it for `{short}`, which was {hidden}");
        let place = Place::Git(name.clone());
        found.push(SharedChange::new(place, Kind::Ref, said, cause));
    }
    found
}

/// The short name by which git finds a ref instead of one that was there at `add`, and that one.
fn hidden_by(refs: &RefHistory<'_>, name: &BStr) -> Option<(String, String)> {
    let mut full = BString::default();
    for (at, prefix) in PREFIXES.iter().enumerate() {
        let Some(short) = name.strip_prefix(prefix.as_bytes()) else {
            continue;
        };
        for later in &PREFIXES[at + 1..] {
            full.clear();
            full.extend_from_slice(later.as_bytes());
            full.extend_from_slice(short);
            if refs.records.before.contains_key(&full) {
                let short = short.to_str_lossy().into_owned();
                return Some((short, full.to_str_lossy().into_owned()));
            }
        }
    }
    None
}

/// The names by which git finds a ref, beside the full one.
fn short_names(name: &BStr) -> impl Iterator<Item = &BStr> {
    let short = |prefix: &&str| name.strip_prefix(prefix.as_bytes());
    let names = PREFIXES.iter().filter_map(short);
    let remote = name.strip_prefix(b"refs/remotes/");
    let head = remote.and_then(|name| name.strip_suffix(b"/HEAD"));
    names.chain(head).map(BStr::new)
}

/// Holds the short names of refs at which a file may stand.
struct Names<'a> {
    /// Those whose first part is in the git directory of the repository.
    in_repository: BTreeSet<&'a BStr>,
    /// Those in capitals, which git looks for in the git directory of each worktree.
    in_worktrees: BTreeSet<&'a BStr>,
}

impl<'a> Names<'a> {
    fn of(refs: &'a RefHistory<'_>) -> Result<Self, Error> {
        let directory = refs.repository.common_dir.as_std_path();
        let entries = files::entries(directory)?;
        let mut firsts: HashSet<&[u8]> = HashSet::new();
        for (name, _is_directory) in &entries {
            firsts.insert(name.as_bytes());
        }
        // a ref of this name is found as one
        firsts.remove(&b"refs"[..]);
        let mut names = Self {
            in_repository: BTreeSet::new(),
            in_worktrees: BTreeSet::new(),
        };
        for full in refs.records.now.keys() {
            for short in short_names(full.as_bstr()) {
                let end = short.find_byte(b'/').unwrap_or(short.len());
                let first: &[u8] = &short[..end];
                if firsts.contains(first) {
                    names.in_repository.insert(short);
                }
                if is_root_ref(short) {
                    names.in_worktrees.insert(short);
                }
            }
        }
        Ok(names)
    }
}

/// Looks for files that git takes for a ref.
struct FileSearch<'a> {
    refs: &'a RefHistory<'a>,
    before: &'a Sealed,
}

impl FileSearch<'_> {
    /// Looks in the git directories of worktrees.
    fn in_worktrees(&self, now: &Sealed, names: &BTreeSet<&BStr>) -> Vec<SharedChange> {
        let mut found = Vec::new();
        if names.is_empty() {
            return found;
        }
        for (place, owner) in &now.directories {
            let directory = self.path_of(place);
            if *owner == GitDirOwner::Worktree && place.starts_with("@git/worktrees/") {
                let shadows = names.iter();
                found.extend(shadows.filter_map(|name| self.judge(&directory, place, name)));
            }
        }
        let own = &self.refs.worktree.record.admin_dir;
        if !self.refs.repository.is_clone() {
            let shadows = names.iter();
            found.extend(shadows.filter_map(|name| self.judge(own, "@wt", name)));
        }
        found
    }

    /// Looks in the git directories of submodules, where a file was sealed that git is not known to
    /// write: whether a ref has its name.
    fn in_submodules(&self, now: &Sealed) -> Vec<SharedChange> {
        let mut found = Vec::new();
        for place in now.files.keys() {
            let Some((directory, name)) = git_dirs::split(place, &now.directories) else {
                continue;
            };
            let is_submodule = now.directories[directory] == GitDirOwner::Submodule;
            if !is_submodule || name.contains('/') || role_of(name) != Role::Unknown {
                continue;
            }
            let path = self.path_of(directory);
            let Some(shadow) = self.judge(&path, directory, name.into()) else {
                continue;
            };
            // where git cannot read the refs, it takes nothing for one
            let git = self.refs.git.on(&path, None);
            let refs = git.for_each_ref(&["refs/"]).unwrap_or_default();
            let mut names = refs.iter().flat_map(|one| short_names(one.name.as_bstr()));
            if names.any(|short| *short == *name) {
                found.push(shadow);
            }
        }
        found
    }

    /// The path of a git directory by its place.
    fn path_of(&self, place: &str) -> Utf8PathBuf {
        let repository = self.refs.repository;
        match place.strip_prefix("@wt") {
            Some(inside) => self
                .refs
                .worktree
                .record
                .admin_dir
                .join(inside.trim_start_matches('/')),
            None => {
                let inside = place.trim_start_matches("@git").trim_start_matches('/');
                repository.common_dir.join(inside)
            }
        }
    }

    /// The finding of a file that git takes for a ref, unless it was there at `add` with this content.
    fn judge(&self, directory: &Utf8Path, place: &str, name: &BStr) -> Option<SharedChange> {
        if is_of_git(&name.to_str_lossy()) {
            return None;
        }
        let content = content_of_ref(directory, name)?;
        let shown = format!("{place}/{}", name.to_str_lossy());
        let digest = self.refs.repository.format.blob_id(&content).to_string();
        let was = self.before.files.get(&shown);
        if was.is_some_and(|was| was.starts_with(&digest)) {
            return None;
        }
        let said = format!("git takes this file for the ref `{name}`");
        let digest = Content::value("", Some(digest));
        let change = SharedChange::new(
            Place::of_shared(&shown),
            Kind::Integrity,
            said,
            Cause::Hides,
        );
        Some(change.with([digest]))
    }
}

/// The content of a file that git takes for a ref: an object id, the name of a ref, or a link.
fn content_of_ref(directory: &Utf8Path, name: &BStr) -> Option<BString> {
    let path = directory.as_std_path().join(name.to_path().ok()?);
    let open = match open::open_entry(&path).ok()? {
        Opened::Link(target) => return Some(target),
        Opened::File { content, .. } => content,
        Opened::Other => return None,
    };
    let mut bytes = Vec::new();
    open.take(LONGEST).read_to_end(&mut bytes).ok()?;
    let content = BString::from(bytes);
    let digits = content.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let is_ref = digits.count() >= 40 || content.starts_with(b"ref:");
    is_ref.then_some(content)
}
