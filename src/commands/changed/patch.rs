//! Makes patches of what a worktree changed, without writing into its repository.
//!
//! What is on disk becomes a tree in a temporary git directory, and git prints the patch
//! between two trees. The agent's index and its attributes take no part: attributes are those of
//! the reference that the files are compared with.

use std::io::Read as _;

use bstr::ByteSlice;

use crate::actions::quarantine::QuarantineRepository;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::open::{Opened, open_below};
use crate::git::environment::GitMode;
use crate::git::patches::PatchColour;
use crate::git::process::Git;
use crate::git::settings_file::quoted;
use crate::judge::change::Change;
use crate::judge::compare::{Delta, entry_in};
use crate::truth::history::touched;
use crate::truth::survey::Survey;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Above this many bytes no patch has a file: git takes it for binary and reads it whole into
/// memory (the default of `core.bigFileThreshold`, git-config(1)).
const NO_PATCH_ABOVE: u64 = 512 << 20;

/// Makes patches of one worktree.
pub struct Patches<'a> {
    worktree: &'a Worktree,
    survey: &'a Survey,
    git: Git,
    reference: CommitId,
    apart: QuarantineRepository,
    /// Whether the patches are coloured, as the user's own settings say.
    pub colour: bool,
}

impl<'a> Patches<'a> {
    /// Prepares a temporary git directory with the objects of the repository's as alternates.
    /// The attributes that count are those of `reference`: what an agent puts into the shared
    /// `info/attributes` or the shared configuration runs no program.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn new(
        repository: &Repository,
        worktree: &'a Worktree,
        survey: &'a Survey,
        reference: &CommitId,
    ) -> Result<Self, Error> {
        let apart = QuarantineRepository::new(repository, &settings(repository, worktree)?)?;
        let work = apart.directory().join("work");
        files::create_directories(&work)?;
        let git = repository.git.on(&apart.git_dir, Some(&work));
        let git = git.with_mode(GitMode::Hardened);
        let git = git.with_index(&apart.directory().join("attributes"));
        git.read_tree(reference.as_str())?;
        Ok(Self {
            worktree,
            survey,
            git,
            reference: reference.clone(),
            apart,
            colour: false,
        })
    }

    /// The patch from a commit to what is on disk now, of these changed paths only, as git prints
    /// it; and the paths that are not in it: those that no patch can hold (FIFOs, what is below a
    /// `.git`, edited submodules), those that we placed, and those that are on disk as in the
    /// commit, whatever is staged or committed.
    ///
    /// # Errors
    /// Fails when a file cannot be read, or git fails.
    pub fn to_disk(
        &self,
        onto: &CommitId,
        changes: &[Change],
    ) -> Result<(Vec<u8>, Vec<RepoPath>), Error> {
        let mut left_out = Vec::new();
        let mut now = Delta::new();
        let mut aside = Vec::new();
        for path in changes.iter().filter_map(|change| change.place.path()) {
            match self.now(path, &mut aside)? {
                Some(entry) => drop(now.insert(path.clone(), entry)),
                None => left_out.push(path.clone()),
            }
        }
        if !aside.is_empty() {
            let git = self.git.with_index(&self.apart.directory().join("index"));
            let stored = git.add_files(self.reference.as_str(), &aside)?;
            for path in aside {
                if let (Some(Some(entry)), Some(id)) = (now.get_mut(&path), stored.get(&path)) {
                    entry.id = *id;
                }
            }
        }
        let states = &self.survey.states;
        let before = if *onto == self.reference {
            states.references.reference()
        } else {
            &states.references.head
        };
        let is_same = |path: &RepoPath, entry| entry_in(&states.manifest, before, path) == entry;
        let unchanged = now.iter().filter(|(path, entry)| is_same(path, **entry));
        left_out.extend(unchanged.map(|(path, _)| path.clone()));
        left_out.sort_unstable();
        Ok((self.between(onto, &now)?, left_out))
    }

    /// The patch of a commit against its first parent; of a merge, only of what it has otherwise
    /// than every parent.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn of_commit(&self, id: &CommitId) -> Result<Vec<u8>, Error> {
        let objects = &self.apart.objects;
        let parents = objects.commit(id)?.parents;
        match objects.without_cut_off(parents)?.as_slice() {
            [] => {
                let nothing = objects.write_tree(None, [("", None::<Entry>); 0])?;
                let nothing = nothing.to_string();
                self.print(&nothing, id.as_str())
            }
            [parent] => self.print(parent.as_str(), id.as_str()),
            [first, ..] => self.between(first, &touched(objects, id)?),
        }
    }

    /// The patch from a commit to its tree with these entries in it.
    fn between(&self, onto: &CommitId, entries: &Delta) -> Result<Vec<u8>, Error> {
        let objects = &self.apart.objects;
        let entries = entries.iter();
        let entries = entries.map(|(path, entry)| (&**path.as_bstr(), *entry));
        let tree = objects.write_tree(Some(&objects.commit(onto)?.tree), entries)?;
        self.print(onto.as_str(), &tree.to_string())
    }

    fn print(&self, from: &str, to: &str) -> Result<Vec<u8>, Error> {
        let colour = if self.colour {
            PatchColour::On
        } else {
            PatchColour::Off
        };
        Ok(self.git.diff_tree_patch(from, to, colour)?)
    }

    /// What stands at a path now, as a tree would have it; none for what no tree can have. What git
    /// has to convert first is put `aside`.
    fn now(
        &self,
        path: &RepoPath,
        aside: &mut Vec<RepoPath>,
    ) -> Result<Option<Option<Entry>>, Error> {
        let states = &self.survey.states;
        // it is nothing that a commit is to have
        if states.placed.get(path).is_some() {
            return Ok(None);
        }
        let manifest = &states.manifest;
        let head = entry_in(manifest, &states.references.head, path);
        let staged = states.index.deltas.first();
        let staged = staged.map_or(head, |delta| entry_in(manifest, delta, path));
        if states.disk.leaves_out(path, &self.worktree.scope) {
            // what is staged or committed of it is all there is
            return Ok(in_tree(staged));
        }
        let Some(entry) = entry_in(manifest, &states.disk.delta, path) else {
            return Ok(Some(None));
        };
        // git takes no path with `.git` in it, in any case of letters
        let mut parts = path.as_bstr().split(|byte| *byte == b'/');
        if parts.any(|part| part.eq_ignore_ascii_case(b".git")) {
            return Ok(None);
        }
        let base = manifest.base(path);
        let mut worktree = [base, head, staged].into_iter().flatten();
        let is_file = entry.mode.is_regular() || entry.mode == Mode::Link;
        if !is_file || worktree.any(|worktree| worktree.id == entry.id) {
            return Ok(in_tree(Some(entry)));
        }
        if states
            .disk
            .sizes
            .get(path)
            .is_some_and(|size| *size > NO_PATCH_ABOVE)
        {
            return Ok(None);
        }
        let id = self.store(path, entry.mode)?;
        if id.is_none() {
            aside.push(path.clone());
        }
        let id = id.unwrap_or(entry.id);
        Ok(Some(Some(Entry { id, ..entry })))
    }

    /// Stores what stands at a path on disk; none when git has to convert it, for which it is
    /// put aside. Only where there are filters can more than line endings be converted.
    fn store(&self, path: &RepoPath, mode: Mode) -> Result<Option<ObjectId>, Error> {
        let failed = |error: std::io::Error| DiskError::new(format!("read {path}"), error);
        let bytes = match open_below(&self.worktree.record.path, path).map_err(failed)? {
            Opened::File { mut content, .. } if mode.is_regular() => {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes).map_err(failed)?;
                let convertible = self.worktree.record.conversions || bytes.contains(&b'\r');
                // what an agent says of attributes counts for nothing here
                if convertible && path.file_name() != ".gitattributes" {
                    let relative = path.to_os_path().map_err(std::io::Error::other);
                    let work = self.apart.directory().join("work").into_std_path_buf();
                    let put = relative.and_then(|path| files::put(&work.join(path), &bytes));
                    put.map_err(failed)?;
                    return Ok(None);
                }
                bytes
            }
            Opened::Link(text) if mode == Mode::Link => text.as_bytes().to_vec(),
            Opened::File { .. } | Opened::Link(_) | Opened::Other => {
                let changing = std::io::Error::other("it changed while it was read");
                return Err(failed(changing).into());
            }
        };
        let objects = &self.apart.objects;
        Ok(Some(objects.write_blob(bytes.len() as u64, &mut &*bytes)?))
    }
}

/// What a tree has for an entry: nothing for an empty directory, and no way to say that a
/// submodule's files are edited.
fn in_tree(entry: Option<Entry>) -> Option<Option<Entry>> {
    match entry {
        Some(Entry { mode, id }) if mode != Mode::EmptyDirectory => {
            let is_known = mode.is_regular() || id != ObjectId::none();
            (mode.git_octal().is_some() && is_known).then_some(entry)
        }
        Some(_) | None => Some(None),
    }
}

/// The settings of the temporary git directory. The repository's own are taken over only where
/// `add` found filters at work, which they may define.
fn settings(repository: &Repository, worktree: &Worktree) -> Result<String, Error> {
    if worktree.record.conversions {
        let path = quoted(repository.common_dir.join("config").as_str());
        return Ok(format!("[include]\n\tpath = {path}\n"));
    }
    let autocrlf = repository.git.config_get("core.autocrlf")?;
    Ok(match autocrlf.as_deref() {
        Some("input") => "[core]\n\tautocrlf = input\n".to_owned(),
        Some(_) | None => String::new(),
    })
}
