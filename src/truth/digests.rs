//! Digests files beside a worktree, and names the places where they are.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::open::Opened;
use crate::disk::{files, open};
use crate::truth::git_dirs::{AUTOSTASH, is_patch};
use crate::words::error::Error;
use crate::worktree::repository::{Main, Repository};

/// What a digest ends with of a script that is not executable, and of a list of commands that
/// starts a program.
pub const PLAIN: &str = " plain";
pub const STARTS: &str = " exec";
/// What the digest of an automatic stash ends with where no merge is in progress.
pub const ALONE: &str = " alone";
/// What the digest of an unknown directory begins with; older records have this word alone.
pub const DIRECTORY: &str = "directory";

/// What the private git directory of the worktree is called in a seal.
pub const OWN_GIT_DIR: &str = "@wt";

/// How many files of an unknown directory are read, with those below.
const MOST: usize = 500;
/// The size in bytes from which a file that git is not known to read is sealed by its size.
const LARGE: u64 = 1 << 20;
/// How many directories deep an unknown directory is read.
const DEEP: usize = 6;

/// Digests files of a repository.
pub struct Digester<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The private git directory of the worktree; none if it is the repository's own.
    pub own: Option<&'a Utf8Path>,
}

impl Digester<'_> {
    /// Returns the digest of a content.
    pub fn digest(&self, bytes: &[u8]) -> String {
        self.repository.format.blob_id(bytes).to_string()
    }

    /// Returns how a path is shown, as [`crate::judge::change::Place::of_shared`] reads it.
    pub fn place(&self, path: &Utf8Path) -> String {
        let main = match self.repository.main {
            Main::Worktree => Some(&*self.repository.root),
            Main::Bare => None,
        };
        let roots = [
            (OWN_GIT_DIR, self.own),
            ("@git", Some(&*self.repository.common_dir)),
            ("@main", main),
        ];
        for (name, root) in roots {
            if let Some(inside) = root.and_then(|root| path.strip_prefix(root).ok()) {
                return format!("{name}/{inside}").trim_end_matches('/').to_owned();
            }
        }
        path.to_string()
    }

    /// Returns the digest of a file that can be run; none for what has no content.
    pub fn script(&self, file: &Utf8Path) -> Option<String> {
        let mut text = Vec::new();
        let mut end = "";
        match open::open_entry(file.as_std_path()) {
            Ok(Opened::File { executable, .. }) => {
                if !executable {
                    end = PLAIN;
                }
            }
            Ok(Opened::Link(target)) => {
                // the file that a link leads to can change as well
                text.extend_from_slice(&target);
                text.push(0);
            }
            Ok(Opened::Other) => {
                return files::is_endless(file).then(|| "a pipe or a device".to_owned());
            }
            Err(_) => return Some("unreadable".to_owned()),
        }
        text.extend(files::read(file).ok().flatten().unwrap_or_default());
        Some(format!("{}{end}", self.digest(&text)))
    }

    /// Returns the digest of what git is not known to read: of a large file its size, of a
    /// directory one digest of what is in it.
    ///
    /// # Errors
    /// Fails when a directory cannot be read.
    pub fn unknown(&self, path: &Utf8Path) -> Result<Option<String>, Error> {
        match files::stat(path) {
            Some(stat) if stat.is_directory() => Ok(Some(self.directory(path)?)),
            // it may be a tool's as well, and reading it takes long
            Some(stat) if stat.size > LARGE => Ok(Some(format!("{} bytes", stat.size))),
            _other => Ok(self.script(path)),
        }
    }

    /// Returns one digest of what is in a directory, as far as [`Self::add_directory`] adds it.
    fn directory(&self, directory: &Utf8Path) -> Result<String, Error> {
        let mut contents = DirectoryContents::default();
        self.add_directory(directory, DEEP, &mut contents)?;
        if contents.entries > MOST {
            return Ok(format!("{DIRECTORY} of more than {MOST} files"));
        }
        Ok(format!(
            "{DIRECTORY} {}",
            self.digest(contents.text.as_bytes())
        ))
    }

    /// Adds the entries of a directory and of `levels` of directories below it, until there are more
    /// than [`MOST`]. A name that is not UTF-8 is passed over.
    fn add_directory(
        &self,
        directory: &Utf8Path,
        levels: usize,
        contents: &mut DirectoryContents,
    ) -> Result<(), Error> {
        for name in files::names(directory)? {
            let path = directory.join(&name);
            let stat = files::stat(&path).unwrap_or_default();
            let is_directory = stat.is_directory();
            let digest = if is_directory {
                DIRECTORY.to_owned()
            } else if stat.size > LARGE {
                format!("{} bytes", stat.size)
            } else {
                self.script(&path).unwrap_or_default()
            };
            contents.entries += 1;
            if contents.entries > MOST {
                return Ok(());
            }
            let place = self.place(&path);
            contents.text.push_str(&format!("{place}\0{digest}\n"));
            if is_directory && levels > 0 {
                self.add_directory(&path, levels - 1, contents)?;
            }
        }
        Ok(())
    }

    /// Returns the digest of the stash that the next commit applies, and whether no merge made it;
    /// none if there is no such stash. With `--squash`, a merge leaves no `MERGE_HEAD`.
    pub fn autostash(&self, git_dir: &Utf8Path) -> Option<String> {
        let digest = self.script(&git_dir.join(AUTOSTASH))?;
        let is_of_merge = ["MERGE_HEAD", "SQUASH_MSG"]
            .iter()
            .any(|name| files::exists(&git_dir.join(name)));
        let end = if is_of_merge { "" } else { ALONE };
        Some(format!("{digest}{end}"))
    }

    /// Returns one digest of the patches that `git am` or a rebase applies; none if neither is
    /// in progress.
    ///
    /// # Errors
    /// Fails when the directory cannot be read.
    pub fn patches(&self, rebase_apply: &Utf8Path) -> Result<Option<String>, Error> {
        if !files::is_directory(rebase_apply) {
            return Ok(None);
        }
        let mut text = String::new();
        for name in files::names(rebase_apply)? {
            if is_patch(&name) {
                let digest = self.script(&rebase_apply.join(&name)).unwrap_or_default();
                text.push_str(&format!("{name}\0{digest}\n"));
            }
        }
        Ok(Some(self.digest(text.as_bytes())))
    }

    /// Returns the digest of the commands that remain of a rebase, and whether one starts a
    /// program; none if there is no list. A command that ran is in the file `done`.
    pub fn commands(&self, todo: &Utf8Path) -> Option<String> {
        let remaining = files::read(todo).ok().flatten()?;
        let done_file = todo.with_file_name("done");
        let done = files::read(&done_file).ok().flatten().unwrap_or_default();
        let mut commands = BTreeSet::new();
        for line in remaining.lines().chain(done.lines()) {
            let command = line.trim();
            if !command.starts_with(b"#") {
                commands.insert(command);
            }
        }
        let starts_program = remaining.lines().any(|line| {
            let mut words = line.trim_start().split(u8::is_ascii_whitespace);
            let word = words.next();
            matches!(word, Some(b"exec" | b"x"))
        });
        let end = if starts_program { STARTS } else { "" };
        let listed: Vec<&[u8]> = commands.into_iter().collect();
        Some(format!("{}{end}", self.digest(&listed.join(&b'\n'))))
    }
}

/// Holds what was read of a directory.
#[derive(Default)]
struct DirectoryContents {
    entries: usize,
    text: String,
}
