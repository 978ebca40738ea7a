//! Looks into a submodule that has been filled, as the worktree itself is looked at: by an own
//! walk, held against the trees of commits. Its git directory is the agent's to write, so no
//! index, no ignore rule and no setting from there hides what is on disk.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;

use crate::change::{Change, Kind, Place, Seen};
use crate::compare::{Delta, State, compare, entry_in};
use crate::disk::files;
use crate::disk::scan::{Believe, Scan, Unreadable, Walk, scan};
use crate::entry::{Entry, Mode, ObjectId};
use crate::git::config::meaning;
use crate::git::discover::Layout;
use crate::git::objects::Objects;
use crate::git::{Git, GitMode};
use crate::manifest::{Item, Manifest, OnDisk, Stat};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::truth::ignored;
use crate::worktree::repository::Repository;
use crate::worktree::{Worktree, WorktreeError};

/// Holds what a submodule is.
#[derive(Debug, Default)]
pub struct Submodule {
    /// Its HEAD, if its files are those of its HEAD.
    pub clean_head: Option<ObjectId>,
    /// Files that are those of none of the commits that it may be on.
    pub changes: Vec<Change>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

struct OpenSubmodule<'a> {
    repository: &'a Repository,
    known: &'a Worktree,
    path: &'a RepoPath,
    directory: Utf8PathBuf,
    git: Git,
    layout: Layout,
    objects: Objects,
}

/// Reads the submodule at a path of the repository, which may be on the `allowed` commits.
/// Damage in it is part of the answer.
pub fn read(
    repository: &Repository,
    known: &Worktree,
    path: &RepoPath,
    allowed: &BTreeSet<ObjectId>,
) -> Submodule {
    let seen = OpenSubmodule::open(repository, known, path).and_then(|found| {
        found.map_or_else(|| Ok(Submodule::default()), |found| found.compare(allowed))
    });
    seen.unwrap_or_else(|error| Submodule {
        unreadable: vec![Unreadable {
            path: Some(path.clone()),
            detail: error.to_string(),
        }],
        ..Submodule::default()
    })
}

impl<'a> OpenSubmodule<'a> {
    /// None when there is no repository of its own.
    fn open(
        repository: &'a Repository,
        known: &'a Worktree,
        path: &'a RepoPath,
    ) -> Result<Option<Self>, WorktreeError> {
        let relative = path.to_os_path().ok();
        let relative = relative.and_then(|path| Utf8PathBuf::from_path_buf(path).ok());
        let Some(relative) = relative else {
            return Ok(None);
        };
        let directory = known.record.path.join(relative);
        let git = repository.git.at(&directory).with_mode(GitMode::Hardened);
        let layout = git.layout()?;
        // where its `.git` is none, git finds the repository around it
        let own = layout.filter(|layout| layout.common_dir != repository.common_dir);
        let Some(layout) = own else {
            return Ok(None);
        };
        let objects = Objects::open(&layout.common_dir, layout.format)?;
        Ok(Some(Self {
            repository,
            known,
            path,
            directory,
            git,
            layout,
            objects,
        }))
    }

    fn compare(&self, allowed: &BTreeSet<ObjectId>) -> Result<Submodule, WorktreeError> {
        let Some(head) = self.git.rev_parse_commit("HEAD")? else {
            return Ok(Submodule::default());
        };
        let tree = self.objects.commit(&head)?.tree;
        let manifest = self.manifest(&tree)?;
        let mut seen = Submodule::default();
        let mut references = Vec::new();
        for id in allowed {
            // one that was never fetched says nothing
            let commit = CommitId::parse(&id.to_string()).ok();
            let commit = commit.and_then(|commit| self.objects.commit(&commit).ok());
            if let Some(commit) = commit {
                let delta = self.objects.difference(Some(&tree), Some(&commit.tree))?;
                references.push(delta);
            }
        }
        if allowed.is_empty() {
            // a new one: every file of it is, and its git directory
            references.push(
                manifest
                    .items()
                    .iter()
                    .map(|i| (i.path.clone(), None))
                    .collect(),
            );
            seen.changes.push(self.own_git());
        }
        let own = [Delta::new()];
        let known: Vec<&Delta> = references.iter().chain(&own).collect();
        let mut delta = self.disk(&manifest, &known, &mut seen)?;
        self.undo_filters(&manifest, &known, &mut delta)?;
        self.leave_out_ignored(&manifest, &known, &mut delta)?;
        let against = |references: &[Delta]| {
            let state = State {
                delta: &delta,
                references,
                seen: &|_| Seen::Disk,
                silent: &|_| false,
            };
            compare(&manifest, &[state])
        };
        if against(&own).is_empty() && seen.unreadable.is_empty() {
            seen.clean_head = object_id(&head);
        }
        let changes = against(&references).into_iter();
        seen.changes.extend(changes.map(|change| Change {
            place: match change.place {
                Place::Path(path) => Place::Path(self.outer(&path)),
                other => other,
            },
            ..change
        }));
        Ok(seen)
    }

    /// The files of a tree, as though they had been on disk.
    fn manifest(&self, tree: &ObjectId) -> Result<Manifest, WorktreeError> {
        let stat = Stat {
            size: 0,
            mtime: 0,
            ctime: 0,
            inode: 0,
            mode: 0,
        };
        let item = |(path, entry)| Item {
            path,
            base: Some(entry),
            disk: Some(OnDisk { entry, stat }),
        };
        let items = self.objects.list(tree)?.into_iter().map(item).collect();
        Ok(Manifest::new(items, 0))
    }

    /// Reads every file; how it differs from HEAD's tree.
    fn disk(
        &self,
        manifest: &Manifest,
        references: &[&Delta],
        seen: &mut Submodule,
    ) -> Result<Delta, WorktreeError> {
        let mut inner: BTreeMap<RepoPath, BTreeSet<ObjectId>> = BTreeMap::new();
        let of_head = manifest.items().iter().map(|item| (&item.path, item.base));
        let later = references.iter().copied().flatten();
        for (path, entry) in of_head.chain(later.map(|(path, entry)| (path, *entry))) {
            if let Some(entry) = entry.filter(|entry| entry.mode == Mode::Gitlink) {
                inner.entry(path.clone()).or_default().insert(entry.id);
            }
        }
        let format = self.layout.format;
        let submodules = inner.keys().cloned().collect();
        let Scan {
            found,
            missing,
            submodules,
            unreadable,
            walked: _,
        } = scan(&Walk {
            root: &self.directory,
            manifest,
            placed: None,
            submodules: Some(&submodules),
            believe: Believe::Nothing,
            names: None,
            unread_above: None,
            hash: &|size, content| format.hash_blob(size, content),
        })?;
        seen.unreadable
            .extend(unreadable.into_iter().map(|unreadable| {
                Unreadable {
                    path: Some(
                        unreadable
                            .path
                            .map_or_else(|| self.path.clone(), |p| self.outer(&p)),
                    ),
                    ..unreadable
                }
            }));
        let mut delta: Delta = missing.into_iter().map(|path| (path, None)).collect();
        for found in found {
            let mut entry = found.entry;
            let base = manifest
                .base(&found.path)
                .filter(|base| base.mode.is_regular());
            if let Some(base) =
                base.filter(|_| !self.known.record.file_mode && entry.mode.is_regular())
            {
                entry.mode = base.mode;
            }
            delta.insert(found.path, Some(entry));
        }
        for path in submodules {
            let below = read(
                self.repository,
                self.known,
                &self.outer(&path),
                &inner[&path],
            );
            let id = below.clean_head.unwrap_or(ObjectId::none());
            delta.insert(
                path,
                Some(Entry {
                    mode: Mode::Gitlink,
                    id,
                }),
            );
            seen.changes.extend(below.changes);
            seen.unreadable.extend(below.unreadable);
        }
        delta.retain(|path, entry| manifest.base(path) != *entry);
        Ok(delta)
    }

    fn own_git(&self) -> Change {
        Change {
            place: Place::Path(RepoPath::child(Some(self.path), b".git")),
            kind: Kind::Created,
            seen: BTreeSet::from([Seen::Disk]),
            is_directory: true,
            detail: None,
        }
    }

    /// A path in the submodule as one of the repository around it.
    fn outer(&self, path: &RepoPath) -> RepoPath {
        RepoPath::child(Some(self.path), path.as_bstr())
    }
}

fn object_id(commit: &CommitId) -> Option<ObjectId> {
    let digits = commit.as_str().as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> = digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    ObjectId::from_bytes(&bytes?)
}

impl OpenSubmodule<'_> {
    /// A file that is what a checkout would write is what the commit has, if nothing in the
    /// submodule's own git directory says how checkouts write.
    fn undo_filters(
        &self,
        manifest: &Manifest,
        references: &[&Delta],
        delta: &mut Delta,
    ) -> Result<(), WorktreeError> {
        if self.layout.toplevel.as_ref() != Some(&self.directory) || self.sets_conversions()? {
            return Ok(());
        }
        let mut asked = Vec::new();
        let regular = |entry: &Option<Entry>| entry.filter(|entry| entry.mode.is_regular());
        for (path, now) in delta.iter().filter_map(|(p, e)| Some((p, regular(e)?))) {
            for reference in references {
                let then = regular(&entry_in(manifest, reference, path));
                if let Some(then) = then.filter(|then| then.id != now.id) {
                    asked.push((path.clone(), then.id, now));
                }
            }
        }
        asked.dedup();
        if asked.is_empty() {
            return Ok(());
        }
        let blobs: Vec<(String, Vec<u8>)> = asked
            .iter()
            .map(|(path, id, _)| (id.to_string(), path.as_bstr().to_vec()))
            .collect();
        let answers = self.git.cat_file_filters(&blobs)?;
        for ((path, id, now), content) in asked.into_iter().zip(answers) {
            let hash = |content: Vec<u8>| {
                let size = content.len() as u64;
                self.layout
                    .format
                    .hash_blob(size, &mut content.as_slice())
                    .ok()
            };
            if content.and_then(hash) == Some(now.id) {
                delta.insert(path, Some(Entry { id, ..now }));
            }
        }
        delta.retain(|path, entry| manifest.base(path) != *entry);
        Ok(())
    }

    fn sets_conversions(&self) -> Result<bool, WorktreeError> {
        let at = |name: &str| self.layout.common_dir.join(name);
        if files::exists(&at("info/attributes")) || files::exists(&at("config.worktree")) {
            return Ok(true);
        }
        let says = meaning(&files::read(&at("config"))?.unwrap_or_default());
        let keys = [
            "filter.",
            "include",
            "core.autocrlf=",
            "core.eol=",
            "core.attributesfile=",
        ];
        let mut lines = says.split(|byte| *byte == b'\n');
        Ok(lines.any(|line| keys.iter().any(|key| line.starts_with(key.as_bytes()))))
    }

    /// What its own commits ignore, and the user everywhere, is build output.
    fn leave_out_ignored(
        &self,
        manifest: &Manifest,
        references: &[&Delta],
        delta: &mut Delta,
    ) -> Result<(), WorktreeError> {
        let Some(reference) = references.first() else {
            return Ok(());
        };
        let recorded = [ignored::EXCLUDES_FILE];
        let mut rules = ignored::rules(self.known, manifest, &self.objects, reference, &recorded)?;
        delta.retain(|path, entry| {
            let tracked = |reference: &&Delta| entry_in(manifest, reference, path).is_some();
            let unknown = !references.iter().any(tracked);
            !entry.is_some_and(|entry| unknown && ignored::is_ignored(&mut rules, path, entry.mode))
        });
        Ok(())
    }
}
