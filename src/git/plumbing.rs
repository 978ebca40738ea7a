//! Lists and changes an index, and makes blobs, trees and commits with git.
//!
//! What makes trees is for a [`Git`] of its own: with another index, another directory for new
//! objects and an empty work tree.

use std::collections::BTreeMap;

use bstr::ByteSlice;

use crate::git::environment::OWN_IDENTITY;
use crate::git::error::GitError;
use crate::git::process::{Git, odd_output};
use crate::git::refs::one_id;
use crate::system::random;
use crate::words::entry::{Entry, ObjectId};
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// The command that reads blobs as a checkout would write them. What stands in an object's place is
/// not what the commit has.
const READ_FILTERED: &str = "--no-replace-objects cat-file --batch --filters";

/// Writes a line for `git update-index -z --index-info`: this entry at this path and stage, or
/// nothing there any more. `digits` is the length of an id.
pub fn index_info(info: &mut Vec<u8>, path: &[u8], entry: Option<Entry>, stage: u8, digits: usize) {
    let octal = entry.and_then(|entry| entry.mode.git_octal());
    let words = match (octal, entry) {
        (Some(mode), Some(entry)) => format!("{mode} {} {stage}\t", entry.id),
        (_, _) => format!("0 {} {stage}\t", "0".repeat(digits)),
    };
    info.extend_from_slice(words.as_bytes());
    info.extend_from_slice(path);
    info.push(0);
}

/// Joins paths as the `-z --stdin` of git's commands takes them.
pub fn nul_ended<'p>(paths: impl IntoIterator<Item = &'p RepoPath>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_bstr());
        bytes.push(0);
    }
    bytes
}

impl Git {
    /// Lists the submodules that `.gitmodules` of a commit names (gitmodules(5)), with their paths.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn submodules(&self, commit: &CommitId) -> Result<Vec<(String, String)>, GitError> {
        let blob = format!("--blob={commit}:.gitmodules");
        let keys = r"^submodule\..*\.path$";
        let args = ["config", "-z", &blob, "--get-regexp", keys];
        let listed = self
            .maybe("list the submodules", &args, None)?
            .unwrap_or_default();
        let mut submodules = Vec::new();
        for entry in String::from_utf8_lossy(&listed).split('\0') {
            if let Some((key, path)) = entry.split_once('\n')
                && let Some(rest) = key.strip_prefix("submodule.")
                && let Some(name) = rest.strip_suffix(".path")
            {
                submodules.push((name.to_owned(), path.to_owned()));
            }
        }
        Ok(submodules)
    }

    /// Checks a submodule out from this URL, with the objects of another repository of it. No
    /// configuration that worktrees share is written.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn submodule_update(
        &self,
        name: &str,
        path: &str,
        url: &str,
        reference: &str,
    ) -> Result<(), GitError> {
        let url_setting = format!("submodule.{name}.url={url}");
        let active_setting = format!("submodule.{name}.active=true");
        let args = [
            url_setting.as_str(),
            "-c",
            active_setting.as_str(),
            "submodule",
            "--quiet",
            "update",
            "--checkout",
            "--reference",
            reference,
            "--",
            path,
        ];
        self.perform("check a submodule out", "-c", &args)?;
        Ok(())
    }

    /// Returns the paths of the index, sorted.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn ls_files(&self) -> Result<Vec<RepoPath>, GitError> {
        let output = self.perform("list what is tracked", "ls-files -z", &[])?;
        let mut paths = Vec::new();
        for name in output.split(|byte| *byte == 0) {
            paths.extend(RepoPath::parse(name).ok());
        }
        Ok(paths)
    }

    /// Fills the index with a tree; the disk is left alone.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn read_tree(&self, tree: &str) -> Result<(), GitError> {
        self.perform("read a tree into an index", "read-tree", &[tree])?;
        Ok(())
    }

    /// Replaces single entries of the index, with all their stages and flags, by those of lines
    /// of [`index_info`].
    ///
    /// # Errors
    /// Fails when git does, also when another git has the index locked.
    pub fn update_index_info(&self, info: &[u8]) -> Result<(), GitError> {
        let command = "update-index -z --index-info";
        self.perform_with("change the index", command, &[], info)?;
        Ok(())
    }

    /// Writes the stat data of unchanged files into the index again (`update-index --refresh`).
    ///
    /// # Errors
    /// Fails when git fails; files that need an update are none.
    pub fn update_index_refresh(&self) -> Result<(), GitError> {
        // git would wait for ever for a pipe in a submodule's repository
        let args = ["update-index", "-q", "--ignore-submodules", "--refresh"];
        self.maybe("refresh the index", &args, None)?;
        Ok(())
    }

    /// Returns what a checkout of these blobs to these paths would write (`git cat-file
    /// --batch --filters`), in order; none for one that git cannot give. A blob is given by its id
    /// and its path.
    ///
    /// # Errors
    /// Fails when git fails or its answer ends early.
    pub fn cat_file_filters(
        &self,
        blobs: &[(String, Vec<u8>)],
    ) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        // Git names the size from before the filters, and not how much it then prints. So every
        // request is followed by one for an object that there is none of: "<name> missing" ends
        // the answer, and no file can have the name, which is new each time.
        let missing = format!("end-{:016x}", random::number());
        let mut input = Vec::new();
        for (id, path) in blobs {
            if can_be_asked_for(path) {
                input.extend_from_slice(id.as_bytes());
                input.push(b' ');
                input.extend_from_slice(path);
                input.extend_from_slice(format!("\n{missing} {missing}\n").as_bytes());
            }
        }
        let what = "read files as a checkout would write them";
        let output = self.perform_with(what, READ_FILTERED, &[], &input)?;
        let end = format!("\n{missing} missing\n");
        let mut rest: &[u8] = &output;
        let mut answers = Vec::with_capacity(blobs.len());
        for (_, path) in blobs {
            if !can_be_asked_for(path) {
                answers.push(None);
                continue;
            }
            let (answer, after) = rest
                .split_once_str(&end)
                .ok_or_else(|| odd_output(READ_FILTERED, "it ends early"))?;
            rest = after;
            // an object that git does not have is answered by the one line
            let header_and_content = answer.split_once_str("\n");
            answers.push(header_and_content.map(|(_header, content)| content.to_vec()));
        }
        Ok(answers)
    }

    /// Computes the ids of the blobs that `git add` would write of these files of the worktree
    /// (`git hash-object --stdin-paths`), in order. No path may have a newline.
    ///
    /// # Errors
    /// Fails when git fails or answers out of order.
    pub fn hash_files(&self, paths: &[&RepoPath]) -> Result<Vec<ObjectId>, GitError> {
        let command = "hash-object --stdin-paths";
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_bstr());
            input.push(b'\n');
        }
        let output = self.perform_with("convert files", command, &[], &input)?;
        let ids: Option<Vec<ObjectId>> = output.lines().map(ObjectId::from_hex).collect();
        ids.ok_or_else(|| odd_output(command, "a line is no id"))
    }

    /// Makes a commit of a tree, that no ref names yet; as the user, or in our own name where
    /// no user is configured.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn commit_tree(
        &self,
        tree: &str,
        message: &str,
        parents: &[&CommitId],
    ) -> Result<CommitId, GitError> {
        let identity = self.run(&["var", "GIT_COMMITTER_IDENT"], None)?;
        let mut variables = Vec::new();
        if identity.status != Some(0) {
            for (name, value) in OWN_IDENTITY {
                variables.push((*name, (*value).to_owned()));
            }
        }
        let git = self.with(variables);
        let command = ["commit-tree", "--no-gpg-sign"];
        git.commit_by("save the work", &command, tree, parents, message.as_bytes())
    }

    /// Runs a `git commit-tree` that begins with these words.
    pub(super) fn commit_by(
        &self,
        what: &str,
        command: &[&str],
        tree: &str,
        parents: &[&CommitId],
        message: &[u8],
    ) -> Result<CommitId, GitError> {
        let mut args = command.to_vec();
        for parent in parents {
            args.extend(["-p", parent.as_str()]);
        }
        args.push(tree);
        let output = self.perform_with(what, "", &args, message)?;
        one_id("commit-tree", &output)
    }

    /// Stores files of the work tree as `git add` would, filters and line endings applied by the
    /// attributes of a tree; what each is then stored as.
    ///
    /// # Errors
    /// Fails when git or a filter does.
    pub fn add_files(
        &self,
        attributes: &str,
        paths: &[RepoPath],
    ) -> Result<BTreeMap<RepoPath, ObjectId>, GitError> {
        let what = "store files as git would";
        self.read_tree(attributes)?;
        let command = "-c core.safecrlf=false update-index --add --replace -z --stdin";
        self.perform_with(what, command, &[], &nul_ended(paths))?;
        let mut stored = BTreeMap::new();
        let output = self.perform(what, "ls-files --stage -z", &[])?;
        for line in output.split_str("\0") {
            // `<mode> <id> <stage>\t<path>`
            if let Some((numbers, name)) = line.split_once_str("\t")
                && let Some(digits) = numbers.split_str(" ").nth(1)
                && let Some(id) = ObjectId::from_hex(digits)
                && let Ok(path) = RepoPath::parse(name)
            {
                stored.insert(path, id);
            }
        }
        Ok(stored)
    }
}

/// True if `git cat-file` can be asked for a path: a line ends the request.
fn can_be_asked_for(path: &[u8]) -> bool {
    !path.contains(&b'\n')
}
