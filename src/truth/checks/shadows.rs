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
use crate::truth::digests::OWN_GIT_DIR;
use crate::truth::facts::CommitFacts;
use crate::truth::git_dirs;
use crate::truth::git_dirs::{Role, is_of_git, is_root_ref, role_of};
use crate::truth::inputs::SurveyInputs;
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
pub fn find_shadows(
    inputs: &SurveyInputs<'_>,
    _facts: &CommitFacts,
) -> Result<Vec<SharedChange>, Error> {
    let Some(refs) = &inputs.refs else {
        return Ok(Vec::new());
    };
    let mut shadows = shadowing_refs(refs);
    let names = ShortNames::find(refs)?;
    let search = FileSearch {
        refs,
        before: &inputs.seals.before.sealed,
        now: &inputs.seals.now.sealed,
    };
    let common_dir = &refs.repository.common_dir;
    for name in &names.in_repository {
        shadows.extend(search.judge(common_dir, "@git", name));
    }
    shadows.extend(search.in_worktrees(&names.in_worktrees));
    shadows.extend(search.in_submodules());
    Ok(shadows)
}

/// Finds the refs that came since `add` and that git takes for one that was there.
fn shadowing_refs(refs: &RefHistory<'_>) -> Vec<SharedChange> {
    let mut shadows = Vec::new();
    let records = &refs.records;
    for (name, new) in &records.now {
        if records.before.contains_key(name) || name.starts_with(b"refs/agentwt/") {
            continue;
        }
        let Some(hidden) = HiddenRef::behind(refs, name.as_bstr()) else {
            continue;
        };
        let HiddenRef { short, full_name } = hidden;
        let is_direct = *name == format!("refs/{short}") && !short.contains('/');
        let cause = if records.is_made_here(&new.id) {
            Cause::MadeHere
        } else if is_direct && short != "stash" {
            Cause::Hides
        } else {
            Cause::Unknown
        };
        let detail = format!("git takes it for `{short}`, which was {full_name}");
        let place = Place::Git(name.clone());
        shadows.push(SharedChange::new(place, Kind::Ref, detail, cause));
    }
    shadows
}

/// Holds a ref of `add` that git does not find any more by its short name.
struct HiddenRef {
    short: String,
    full_name: String,
}

impl HiddenRef {
    /// Finds the ref that is hidden by one of this name.
    fn behind(refs: &RefHistory<'_>, name: &BStr) -> Option<Self> {
        for (position, prefix) in PREFIXES.iter().enumerate() {
            let Some(short) = name.strip_prefix(prefix.as_bytes()) else {
                continue;
            };
            for later in &PREFIXES[position + 1..] {
                let full_name = BString::from([later.as_bytes(), short].concat());
                if refs.records.before.contains_key(&full_name) {
                    return Some(Self {
                        short: short.to_str_lossy().into_owned(),
                        full_name: full_name.to_string(),
                    });
                }
            }
        }
        None
    }
}

/// Lists the names by which git finds a ref, beside the full one.
fn short_names(name: &BStr) -> impl Iterator<Item = &BStr> {
    let remote_of_head = name
        .strip_prefix(b"refs/remotes/")
        .and_then(|name| name.strip_suffix(b"/HEAD"));
    PREFIXES
        .iter()
        .filter_map(|prefix| name.strip_prefix(prefix.as_bytes()))
        .chain(remote_of_head)
        .map(BStr::new)
}

/// Holds the short names of refs at which a file may stand.
struct ShortNames<'a> {
    /// Those whose first part is in the git directory of the repository.
    in_repository: BTreeSet<&'a BStr>,
    /// Those in capitals, which git looks for in the git directory of each worktree.
    in_worktrees: BTreeSet<&'a BStr>,
}

impl<'a> ShortNames<'a> {
    /// Finds the short names of all refs of now at which a file can stand. The git directory is
    /// listed once: there may be many thousand refs, and few files.
    fn find(refs: &'a RefHistory<'_>) -> Result<Self, Error> {
        let directory = refs.repository.common_dir.as_std_path();
        let entries = files::entries(directory)?;
        let mut names_in_directory: HashSet<&[u8]> = HashSet::new();
        for (name, _is_directory) in &entries {
            names_in_directory.insert(name.as_bytes());
        }
        // what stands below `refs` is a ref itself
        names_in_directory.remove(&b"refs"[..]);
        let mut names = Self {
            in_repository: BTreeSet::new(),
            in_worktrees: BTreeSet::new(),
        };
        for full_name in refs.records.now.keys() {
            for short in short_names(full_name.as_bstr()) {
                let end = short.find_byte(b'/').unwrap_or(short.len());
                let first_part: &[u8] = &short[..end];
                if names_in_directory.contains(first_part) {
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
    now: &'a Sealed,
}

impl FileSearch<'_> {
    /// Looks in the git directories of worktrees.
    fn in_worktrees(&self, names: &BTreeSet<&BStr>) -> Vec<SharedChange> {
        let mut shadows = Vec::new();
        if names.is_empty() {
            return shadows;
        }
        for (place, owner) in &self.now.directories {
            if *owner == GitDirOwner::Worktree && place.starts_with("@git/worktrees/") {
                let directory = self.path_of(place);
                for name in names {
                    shadows.extend(self.judge(&directory, place, name));
                }
            }
        }
        if !self.refs.repository.is_clone() {
            let own = &self.refs.worktree.record.admin_dir;
            for name in names {
                shadows.extend(self.judge(own, OWN_GIT_DIR, name));
            }
        }
        shadows
    }

    /// Looks in the git directories of submodules for the files that were sealed, that git is not
    /// known to write, and that have the name of a ref.
    fn in_submodules(&self) -> Vec<SharedChange> {
        let mut shadows = Vec::new();
        for place in self.now.files.keys() {
            let Some((directory, name)) = git_dirs::split(place, &self.now.directories) else {
                continue;
            };
            let is_submodule = self.now.directories[directory] == GitDirOwner::Submodule;
            if !is_submodule || name.contains('/') || role_of(name) != Role::Unknown {
                continue;
            }
            let path = self.path_of(directory);
            if let Some(shadow) = self.judge(&path, directory, name.into())
                && self.is_name_of_ref(&path, name)
            {
                shadows.push(shadow);
            }
        }
        shadows
    }

    /// True if a ref of the repository at a path has this short name. Where git cannot read the
    /// refs, it takes nothing for one.
    fn is_name_of_ref(&self, git_dir: &Utf8Path, name: &str) -> bool {
        let git = self.refs.git.on(git_dir, None);
        let refs = git.for_each_ref(&["refs/"]).unwrap_or_default();
        refs.iter().any(|reference| {
            let mut names = short_names(reference.name.as_bstr());
            names.any(|short| *short == *name)
        })
    }

    /// Returns the path of a git directory by its place.
    fn path_of(&self, place: &str) -> Utf8PathBuf {
        let (root, inside) = match place.strip_prefix(OWN_GIT_DIR) {
            Some(inside) => (&self.refs.worktree.record.admin_dir, inside),
            None => (
                &self.refs.repository.common_dir,
                place.trim_start_matches("@git"),
            ),
        };
        root.join(inside.trim_start_matches('/'))
    }

    /// Returns the finding of a file that git takes for a ref; none if it was there at `add` with
    /// this content.
    fn judge(&self, directory: &Utf8Path, place: &str, name: &BStr) -> Option<SharedChange> {
        if is_of_git(&name.to_str_lossy()) {
            return None;
        }
        let content = content_of_ref(directory, name)?;
        let file = format!("{place}/{}", name.to_str_lossy());
        let digest = self.refs.repository.format.blob_id(&content).to_string();
        let sealed = self.before.files.get(&file);
        if sealed.is_some_and(|sealed| sealed.starts_with(&digest)) {
            return None;
        }
        let detail = format!("git takes this file for the ref `{name}`");
        let file_place = Place::of_shared(&file);
        let change = SharedChange::new(file_place, Kind::Integrity, detail, Cause::Hides);
        Some(change.with([Content::value("", Some(digest))]))
    }
}

/// Returns the content of a file that git takes for a ref: an object id, the name of a ref, or a
/// link.
fn content_of_ref(directory: &Utf8Path, name: &BStr) -> Option<BString> {
    let path = directory.as_std_path().join(name.to_path().ok()?);
    let file = match open::open_entry(&path).ok()? {
        Opened::Link(target) => return Some(target),
        Opened::File { content, .. } => content,
        Opened::Other => return None,
    };
    let mut content = Vec::new();
    file.take(LONGEST).read_to_end(&mut content).ok()?;
    let digits = content.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let is_ref = digits.count() >= 40 || content.starts_with(b"ref:");
    is_ref.then(|| content.into())
}
