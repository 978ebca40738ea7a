//! Looks into a submodule that has been filled, as the worktree itself is looked at: by an own
//! walk, held against the trees of commits. Its git directory is the agent's to write, so no
//! index, no ignore rule and no setting from there hides what is on disk. What is only staged is
//! a change as well.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::disk::scan::scan;
use crate::disk::scan::walk::{FilesToRead, FoundEntry, Unreadable, Walk};
use crate::git::error::GitError;
use crate::git::index::OpenIndex;
use crate::git::layout::Layout;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::settings_file::meaning;
use crate::inventory::manifest::{Item, Manifest, OnDisk, Stat};
use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::{Delta, State, compare, entry_in};
use crate::truth::layers::content::{LARGE, gitlinks, is_size_of_blob, read_content};
use crate::truth::layers::converted::{
    Blob, UnreadFiles, is_what_the_pointer_names, undo_checkout,
};
use crate::truth::layers::ignore_rules::{EXCLUDES_FILE, is_ignored, rules};
use crate::truth::layers::index::IndexState;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::{RepoPath, shell_word};
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Says why a repository at the entry of a submodule is a violation, and what to do.
fn foreign_repository(path: &RepoPath, directory: &Path) -> GitError {
    let shown_directory = directory.to_string_lossy();
    GitError::Read {
        what: format!("the submodule {path}"),
        detail: format!(
            "its `.git` is for no submodule here, and a git in the worktree would run its \
                settings; move it out of the worktree: mv {} <elsewhere>",
            shell_word(&shown_directory)
        ),
    }
}

/// The settings by which a checkout converts files; git would fetch what a partial clone lacks.
const CONVERSION_KEYS: [&str; 8] = [
    "filter.",
    "include.path=",
    "includeif.",
    "core.autocrlf=",
    "core.eol=",
    "core.attributesfile=",
    "extensions.partialclone=",
    ".promisor=",
];

/// Holds what a submodule is.
#[derive(Debug, Default)]
pub struct Submodule {
    /// Its HEAD, if its files and its index are those of its HEAD.
    pub clean_head: Option<ObjectId>,
    /// Files that are those of none of the commits that it may be on.
    pub changes: Vec<Change>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
    /// The sizes in bytes of files whose content was not read, by path in the submodule.
    unread: BTreeMap<RepoPath, u64>,
}

/// A submodule whose git directory is one of this repository.
struct OpenSubmodule<'a> {
    repository: &'a Repository,
    worktree: &'a Worktree,
    path: &'a RepoPath,
    directory: Utf8PathBuf,
    git: Git,
    git_dir: Utf8PathBuf,
    layout: Layout,
    objects: Objects,
}

/// Reads the submodule at a path of the repository, which may be on the `allowed` commits.
/// Damage in it is part of the answer.
pub fn read(
    repository: &Repository,
    worktree: &Worktree,
    path: &RepoPath,
    allowed: &BTreeSet<ObjectId>,
) -> Submodule {
    let compared = match OpenSubmodule::open(repository, worktree, path) {
        Ok(None) => return Submodule::default(),
        Ok(Some(submodule)) => submodule.compare(allowed),
        Err(error) => Err(error),
    };
    compared.unwrap_or_else(|error| Submodule {
        unreadable: vec![Unreadable {
            path: Some(path.clone()),
            detail: error.to_string(),
        }],
        ..Submodule::default()
    })
}

impl<'a> OpenSubmodule<'a> {
    /// Opens the submodule at a path; none if there is no `.git`, so that it was not filled.
    ///
    /// # Errors
    /// Fails if git did not make that `.git` for a submodule: nothing of another repository is
    /// read, since git runs what its settings say.
    fn open(
        repository: &'a Repository,
        worktree: &'a Worktree,
        path: &'a RepoPath,
    ) -> Result<Option<Self>, Error> {
        let below = path.to_os_path().unwrap_or_default();
        let os_directory = worktree.record.path.as_std_path().join(below);
        // without a `.git`, git would find the repository around the directory
        if files::stat(&os_directory.join(".git")).is_none() {
            return Ok(None);
        }
        let directory = Utf8PathBuf::from_path_buf(os_directory)
            .map_err(|not_utf8| foreign_repository(path, &not_utf8))?;
        let foreign = foreign_repository(path, directory.as_std_path());
        let git = worktree.submodule_git(repository, &directory);
        let Ok(git_dir) = git.absolute_git_dir() else {
            return Err(foreign.into());
        };
        if !is_among_modules(repository, worktree, &git_dir) {
            return Err(foreign.into());
        }
        let layout = git.layout()?.ok_or(foreign)?;
        Ok(Some(Self {
            objects: Objects::open(&layout.common_dir, layout.format)?,
            repository,
            worktree,
            path,
            directory,
            git,
            git_dir,
            layout,
        }))
    }

    /// Compares its files and its index with its HEAD, and with the commits that it may be on.
    fn compare(&self, allowed: &BTreeSet<ObjectId>) -> Result<Submodule, Error> {
        let mut submodule = Submodule::default();
        let Some(head) = self.git.rev_parse_commit("HEAD")? else {
            return Ok(submodule);
        };
        let tree = self.objects.commit(&head)?.tree;
        let manifest = self.manifest_of(&tree)?;
        let mut references = self.references(allowed, &tree)?;
        let is_new = allowed.is_empty();
        if is_new {
            // compared with an empty tree: every file is a change, and so is the git directory
            let paths = manifest.items().iter().map(|item| item.path.clone());
            references.push(paths.map(|path| (path, None)).collect());
            let git_dir = Place::Path(self.outer(b".git"));
            submodule.changes.push(Change {
                is_directory: true,
                ..Change::new(git_dir, Kind::Created, Seen::Disk)
            });
        }
        // the manifest is HEAD's, from which HEAD does not differ
        let head_delta = [Delta::new()];
        let mut with_head = references.clone();
        with_head.extend_from_slice(&head_delta);
        let mut delta = self.read_disk(&manifest, &with_head, &mut submodule)?;
        self.undo_conversions(&manifest, &with_head, &mut delta, &submodule.unread)?;
        self.leave_out_ignored(&manifest, &with_head, &mut delta)?;
        let is_head = changes_against(&manifest, &delta, &head_delta).is_empty();
        if is_head && self.stages_nothing(&manifest) && submodule.unreadable.is_empty() {
            submodule.clean_head = ObjectId::from_hex(head.as_str().as_bytes());
        }
        for mut change in changes_against(&manifest, &delta, &references) {
            if let Place::Path(path) = &mut change.place {
                *path = self.outer(path.as_bstr());
            }
            submodule.changes.push(change);
        }
        Ok(submodule)
    }

    /// Returns the files of a tree, as though they had been on disk.
    fn manifest_of(&self, tree: &ObjectId) -> Result<Manifest, Error> {
        let mut items = Vec::new();
        for (path, entry) in self.objects.list(tree)? {
            let stat = Stat::default();
            items.push(Item {
                path,
                base: Some(entry),
                disk: Some(OnDisk { entry, stat }),
            });
        }
        Ok(Manifest::new(items, 0))
    }

    /// Returns the trees of the commits that it may be on, as differences from HEAD's. A commit
    /// that was never fetched says nothing.
    fn references(
        &self,
        allowed: &BTreeSet<ObjectId>,
        tree: &ObjectId,
    ) -> Result<Vec<Delta>, Error> {
        let mut references = Vec::new();
        for id in allowed {
            if let Ok(id) = CommitId::parse(&id.to_string())
                && let Ok(commit) = self.objects.commit(&id)
            {
                references.push(self.objects.difference(Some(tree), Some(&commit.tree))?);
            }
        }
        Ok(references)
    }

    /// True if its index has what HEAD's tree has. Without an index, git takes every file for
    /// deleted.
    fn stages_nothing(&self, manifest: &Manifest) -> bool {
        let file = self.git_dir.join("index");
        let index = OpenIndex::read(&file, self.layout.format).ok();
        let state = index.and_then(|index| IndexState::compare(self.worktree, manifest, &index));
        let is_head = state.is_some_and(|state| state.deltas.iter().all(Delta::is_empty));
        let is_empty = manifest.items().is_empty() && !files::exists(&file);
        is_head || is_empty
    }

    /// Reads every file but the large ones, which [`Self::entry_of`] reads where it has to, and looks
    /// into the submodules of this one. Returns how they differ from HEAD's tree, and adds to `seen`
    /// what else is found.
    fn read_disk(
        &self,
        manifest: &Manifest,
        references: &[Delta],
        seen: &mut Submodule,
    ) -> Result<Delta, Error> {
        let inner = gitlinks(manifest, references);
        let format = self.layout.format;
        let scan = scan(&Walk {
            root: &self.directory,
            manifest,
            placed: None,
            submodules: Some(&inner.keys().cloned().collect()),
            files_to_read: FilesToRead::AllButPlaced,
            known_directories: None,
            unread_above: Some(LARGE),
            hash: &|size, content| format.hash_blob(size, content),
        })?;
        for unreadable in scan.unreadable {
            let path = match unreadable.path {
                Some(path) => self.outer(path.as_bstr()),
                None => self.path.clone(),
            };
            seen.unreadable.push(Unreadable {
                path: Some(path),
                detail: unreadable.detail,
            });
        }
        let mut delta = Delta::new();
        for path in scan.missing {
            delta.insert(path, None);
        }
        for found in scan.found {
            let entry = self.entry_of(manifest, references, &found, seen)?;
            delta.insert(found.path, Some(entry));
        }
        for path in scan.submodules {
            let entry = self.entry_of_submodule(&path, &inner[&path], seen);
            delta.insert(path, Some(entry));
        }
        delta.retain(|path, entry| manifest.base(path) != *entry);
        Ok(delta)
    }

    /// Returns what a file is; a large one is only read where it may be the blob of a reference.
    fn entry_of(
        &self,
        manifest: &Manifest,
        references: &[Delta],
        found: &FoundEntry,
        seen: &mut Submodule,
    ) -> Result<Entry, Error> {
        let mut entry = found.entry;
        if found.is_unread() {
            let size = found.stat.size;
            if is_size_of_blob(&self.objects, manifest, references, &found.path, size)? {
                entry.id = read_content(&self.directory, self.layout.format, &found.path)?;
            } else {
                seen.unread.insert(found.path.clone(), size);
            }
        }
        if !self.worktree.record.file_mode
            && entry.mode.is_regular()
            && let Some(base) = manifest.base(&found.path)
            && base.mode.is_regular()
        {
            entry.mode = base.mode;
        }
        Ok(entry)
    }

    /// Looks into a submodule of the submodule.
    fn entry_of_submodule(
        &self,
        path: &RepoPath,
        allowed: &BTreeSet<ObjectId>,
        seen: &mut Submodule,
    ) -> Entry {
        let outer = self.outer(path.as_bstr());
        let below = read(self.repository, self.worktree, &outer, allowed);
        seen.changes.extend(below.changes);
        seen.unreadable.extend(below.unreadable);
        Entry {
            mode: Mode::Gitlink,
            id: below.clean_head.unwrap_or(ObjectId::none()),
        }
    }

    /// A path in the submodule as one of the repository around it.
    fn outer(&self, path: &[u8]) -> RepoPath {
        RepoPath::child(Some(self.path), path)
    }

    /// Gives each file that a checkout of a reference would write the blob of that reference. Does
    /// nothing if the submodule's own git directory names another worktree, or says how a checkout
    /// writes files: an agent can edit it.
    fn undo_conversions(
        &self,
        manifest: &Manifest,
        references: &[Delta],
        delta: &mut Delta,
        unread: &BTreeMap<RepoPath, u64>,
    ) -> Result<(), Error> {
        if self.layout.toplevel.as_ref() != Some(&self.directory) || self.sets_conversions()? {
            return Ok(());
        }
        let mut blobs = BTreeSet::new();
        for (path, content) in &*delta {
            let Some(on_disk) = content.filter(|entry| entry.mode.is_regular()) else {
                continue;
            };
            for reference in references {
                if let Some(stored) = entry_in(manifest, reference, path)
                    && stored.mode.is_regular()
                    && stored.id != on_disk.id
                {
                    blobs.insert(Blob {
                        path: path.clone(),
                        id: stored.id,
                        mode: on_disk.mode,
                    });
                }
            }
        }
        let unread_files = UnreadFiles {
            root: &self.directory,
            sizes: unread,
        };
        let format = self.layout.format;
        undo_checkout(
            &self.git,
            format,
            blobs,
            delta,
            &unread_files,
            &|_path, id, content| is_what_the_pointer_names(&self.objects, id, content),
        )?;
        delta.retain(|path, entry| manifest.base(path) != *entry);
        Ok(())
    }

    /// True if the submodule's own git directory says how a checkout writes files.
    fn sets_conversions(&self) -> Result<bool, Error> {
        let common_dir = &self.layout.common_dir;
        for name in ["config", "config.worktree"] {
            let text = files::read(&common_dir.join(name))?.unwrap_or_default();
            let settings = meaning(&text);
            if CONVERSION_KEYS.iter().any(|key| settings.contains_str(key)) {
                return Ok(true);
            }
        }
        Ok(files::exists(&common_dir.join("info/attributes")))
    }

    /// Leaves out what its own commits ignore, and the user everywhere: that is build output.
    fn leave_out_ignored(
        &self,
        manifest: &Manifest,
        references: &[Delta],
        delta: &mut Delta,
    ) -> Result<(), Error> {
        let nearest = &references[0];
        let recorded = [EXCLUDES_FILE];
        let mut rules = rules(self.worktree, manifest, &self.objects, nearest, &recorded)?;
        delta.retain(|path, content| {
            let Some(entry) = content else {
                return true;
            };
            let has_path = |reference| entry_in(manifest, reference, path).is_some();
            references.iter().any(has_path) || !is_ignored(&mut rules, path, entry.mode)
        });
        Ok(())
    }
}

/// True if a git directory is one that git made for a submodule here.
fn is_among_modules(repository: &Repository, worktree: &Worktree, git_dir: &Utf8Path) -> bool {
    [&repository.common_dir, &worktree.record.admin_dir]
        .iter()
        .filter_map(|directory| files::canonical(&directory.join("modules")).ok())
        .any(|modules| git_dir.starts_with(modules))
}

/// Compares what is on disk with references.
fn changes_against(manifest: &Manifest, delta: &Delta, references: &[Delta]) -> Vec<Change> {
    let seen = |_: &RepoPath| Seen::Disk;
    compare(manifest, &[State::new(delta, references, &seen)])
}
