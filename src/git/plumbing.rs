//! Lists and changes an index, and prints, compares and merges commits with git.
//!
//! What compares and merges is for a [`Git`] of its own, with a git directory in which no attribute
//! and no merge driver of the repository's counts (`worktree/removal/merged.rs`); so is what makes trees and
//! patches: with another index, another directory for new objects and an empty work tree.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use bstr::ByteSlice;

use crate::git::environment::OWN_IDENTITY;
use crate::git::error::GitError;
use crate::git::process::{Git, odd_output};
use crate::git::refs::one_id;
use crate::words::entry::{Entry, ObjectId};
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// What makes a patch one that `git apply` takes, whatever is configured.
const PATCH: &str = "-c core.quotePath=true -c core.safecrlf=false -c diff.suppressBlankEmpty=false \
     diff-tree -r -p --no-ext-diff --no-textconv --binary --full-index --no-renames --no-relative --submodule=short --ignore-submodules=none --src-prefix=a/ --dst-prefix=b/";

/// What a patch is made from that is compared with others: nothing that is configured, and no
/// more context than usual.
const PATCHES: &str = "-c core.quotePath=true -c diff.suppressBlankEmpty=false \
     diff-tree --stdin --root -r -p -U3 --inter-hunk-context=0 --diff-algorithm=myers \
     --no-ext-diff --no-textconv --no-color --full-index --no-renames --no-relative \
     --submodule=short --ignore-submodules=none --src-prefix=a/ --dst-prefix=b/";

/// Writes a line for `git update-index -z --index-info`: this entry at this path and stage, or
/// nothing there any more. `digits` is the length of an id.
pub fn index_info(info: &mut Vec<u8>, path: &[u8], entry: Option<Entry>, stage: u8, digits: usize) {
    let found = entry.and_then(|entry| Some((entry.mode.git_octal()?, entry.id.to_string())));
    let (mode, id) = found.unwrap_or_else(|| ("0", "0".repeat(digits)));
    info.extend_from_slice(format!("{mode} {id} {stage}\t").as_bytes());
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
        let args = [
            "config",
            "-z",
            &blob,
            "--get-regexp",
            r"^submodule\..*\.path$",
        ];
        let listed = self.maybe("list the submodules", &args, None)?;
        let listed = String::from_utf8_lossy(&listed.unwrap_or_default()).into_owned();
        let one = |entry: &str| {
            let (key, path) = entry.split_once('\n')?;
            let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
            Some((name.to_owned(), path.to_owned()))
        };
        Ok(listed.split('\0').filter_map(one).collect())
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
        let url = format!("submodule.{name}.url={url}");
        let active = format!("submodule.{name}.active=true");
        let update = [
            "submodule",
            "--quiet",
            "update",
            "--checkout",
            "--reference",
            reference,
        ];
        let args = [&[&*url, "-c", &active], &update[..], &["--", path]].concat();
        self.perform("check a submodule out", "-c", &args).map(drop)
    }

    /// Returns the paths of the index, sorted.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn ls_files(&self) -> Result<Vec<RepoPath>, GitError> {
        let output = self.perform("list what is tracked", "ls-files -z", &[])?;
        let names = output.split(|byte| *byte == 0);
        let paths = names.filter_map(|name| RepoPath::parse(name).ok());
        Ok(paths.collect())
    }

    /// Fills the index with a tree; the disk is left alone.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn read_tree(&self, tree: &str) -> Result<(), GitError> {
        let what = "read a tree into an index";
        self.perform(what, "read-tree", &[tree]).map(drop)
    }

    /// Replaces single entries of the index, with all their stages and flags, by those of lines
    /// of [`index_info`].
    ///
    /// # Errors
    /// Fails when git does, also when another git has the index locked.
    pub fn update_index_info(&self, info: &[u8]) -> Result<(), GitError> {
        let command = "update-index -z --index-info";
        let what = "change the index";
        self.perform_with(what, command, &[], info).map(drop)
    }

    /// Writes the stat data of unchanged files into the index again (`update-index --refresh`).
    ///
    /// # Errors
    /// Fails when git fails; files that need an update are none.
    pub fn update_index_refresh(&self) -> Result<(), GitError> {
        // git would wait for ever for a pipe in a submodule's repository
        let args = ["update-index", "-q", "--ignore-submodules", "--refresh"];
        self.maybe("refresh the index", &args, None).map(drop)
    }

    /// Returns what a checkout of these blobs to these paths would write (`git cat-file
    /// --batch --filters`), in order; none for one that git cannot give.
    ///
    /// # Errors
    /// Fails when git fails or answers out of order.
    pub fn cat_file_filters(
        &self,
        blobs: &[(String, Vec<u8>)],
    ) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let what = "read files as a checkout would write them";
        // what stands in an object's place is not what the commit has
        let command = "--no-replace-objects cat-file --batch --filters";
        // Git names the size from before the filters, and not how much it then prints. So every
        // request is followed by one for an object that there is none of: "<name> missing" ends
        // the answer, and no file can have the name, which is new each time.
        let end = format!("end-{:016x}", RandomState::new().build_hasher().finish());
        let mut input = Vec::new();
        // a line ends the request: a path with a newline in it cannot be asked for
        let askable = |path: &[u8]| !path.contains(&b'\n');
        for (id, path) in blobs.iter().filter(|(_, path)| askable(path)) {
            input.extend_from_slice(id.as_bytes());
            input.push(b' ');
            input.extend_from_slice(path);
            input.extend_from_slice(format!("\n{end} {end}\n").as_bytes());
        }
        let output = self.perform_with(what, command, &[], &input)?;
        let end = format!("\n{end} missing\n");
        let mut rest: &[u8] = &output;
        let mut answers = Vec::with_capacity(blobs.len());
        for (_, path) in blobs {
            if !askable(path) {
                answers.push(None);
                continue;
            }
            let next = rest.split_once_str(&end);
            let (answer, after) = next.ok_or_else(|| odd_output(command, "it ends early"))?;
            rest = after;
            // an object that git does not have is answered by the one line
            let content = answer.split_once_str("\n");
            answers.push(content.map(|(_, content)| content.to_vec()));
        }
        Ok(answers)
    }

    /// Computes the ids of the blobs that `git add` would write of these files of the worktree (`git
    /// hash-object --stdin-paths`), in order. No path may have a newline.
    ///
    /// # Errors
    /// Fails when git fails or answers out of order.
    pub fn hash_files(&self, paths: &[&RepoPath]) -> Result<Vec<ObjectId>, GitError> {
        let command = "hash-object --stdin-paths";
        let paths = paths.iter().map(|path| path.as_bstr());
        let input = paths.flat_map(|path| [path.as_bytes(), b"\n"].concat());
        let output =
            self.perform_with("convert files", command, &[], &input.collect::<Vec<_>>())?;
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
        let has_identity = self.run(&["var", "GIT_COMMITTER_IDENT"], None)?.status == Some(0);
        let own = OWN_IDENTITY.iter().filter(|_| !has_identity);
        let git = self.with(own.map(|(name, value)| (*name, (*value).to_owned())));
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
        let parents = parents.iter().flat_map(|parent| ["-p", parent.as_str()]);
        let args = command.iter().copied().chain(parents).chain([tree]);
        let output = self.perform_with(what, "", &args.collect::<Vec<_>>(), message)?;
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
        // `<mode> <id> <stage>\t<path>`
        let output = self.perform(what, "ls-files --stage -z", &[])?;
        for line in output.split_str("\0") {
            let Some((about, path)) = line.split_once_str("\t") else {
                continue;
            };
            let id = about.split_str(" ").nth(1).and_then(ObjectId::from_hex);
            if let (Some(id), Ok(path)) = (id, RepoPath::parse(path)) {
                stored.insert(path, id);
            }
        }
        Ok(stored)
    }

    /// Prints the patch from one tree or commit to another, in colour if that is asked for.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn diff_tree_patch(&self, from: &str, to: &str, colour: bool) -> Result<Vec<u8>, GitError> {
        let colour = if colour { "--color" } else { "--no-color" };
        let more = [colour, "--end-of-options", from, to];
        self.perform("print a patch", PATCH, &more)
    }

    /// Lists the commits of `left...right`, for each of these right ones, for which git finds one on
    /// the other side with a patch that looks the same (`--cherry-mark`, git-rev-list(1)), the
    /// newest first. Git leaves out of its patch ids what it takes for unimportant: blanks and modes.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn rev_list_alike(
        &self,
        left: &CommitId,
        rights: &[&CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        let what = "compare what commits change";
        let ranges = rights.iter().map(|right| format!("{left}...{right}"));
        let ranges: Vec<String> = ranges.collect();
        let ranges: Vec<&str> = ranges.iter().map(String::as_str).collect();
        let command = "rev-list --cherry-mark --no-merges --topo-order";
        let output = self.perform(what, command, &ranges)?;
        let alike = output.lines().filter_map(|line| line.strip_prefix(b"="));
        alike.map(|id| one_id(command, id)).collect()
    }

    /// Returns what each of these commits changes, in a form that is equal for equal changes only:
    /// the patch without the places in the files; none for a merge. Modes and the contents of
    /// binary files are part of it.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn comparable_patches(
        &self,
        commits: &[CommitId],
    ) -> Result<BTreeMap<CommitId, Vec<u8>>, GitError> {
        let what = "compare what commits change";
        let input: String = commits.iter().map(|id| format!("{id}\n")).collect();
        let output = self.perform_with(what, PATCHES, &[], input.as_bytes())?;
        Ok(split_patches(&output))
    }
}

/// Splits the output of `git diff-tree --stdin -p`, and takes out of each patch what is not
/// the change itself.
fn split_patches(output: &[u8]) -> BTreeMap<CommitId, Vec<u8>> {
    let mut patches = BTreeMap::new();
    let mut current: Option<(CommitId, Vec<u8>)> = None;
    let mut in_hunk = false;
    let mut index: &[u8] = b"";
    for line in output.lines_with_terminator() {
        in_hunk = in_hunk && matches!(line.first(), Some(b' ' | b'+' | b'-' | b'\\' | b'@'));
        let text = line.trim_end_with(|c| c == '\n');
        // no line of a patch is nothing but an id
        let id = std::str::from_utf8(text).ok();
        if let Some(id) = id.and_then(|text| CommitId::parse(text).ok()) {
            patches.extend(current.replace((id, Vec::new())));
            continue;
        }
        let Some((_, patch)) = &mut current else {
            continue;
        };
        if line.starts_with(b"@@ ") {
            in_hunk = true;
            patch.extend_from_slice(b"@@\n");
        } else if !in_hunk && line.starts_with(b"index ") {
            index = line;
        } else {
            if !in_hunk && line.starts_with(b"Binary files ") {
                patch.extend_from_slice(index);
            }
            patch.extend_from_slice(line);
        }
    }
    patches.extend(current);
    patches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patches(text: &str) -> Vec<String> {
        let all = split_patches(text.as_bytes());
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        all.into_values().map(text).collect()
    }

    #[test]
    fn places_do_not_count_and_everything_else_does() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let patch = |id: &str, index: &str, place: &str, middle: &str| {
            format!(
                "{id}\ndiff --git a/f b/f\n{middle}index {index} 100644\n--- a/f\n+++ b/f\n@@ {place} @@ fn x()\n a\n-- b\n+@@ 1\n"
            )
        };
        let one = patch(&a, "1..2", "-1,2 +1,2", "");
        let moved = patch(&b, "3..4", "-9,2 +8,2", "");
        let all = patches(&format!("{one}{moved}"));
        assert_eq!(all[0], all[1]);
        assert!(all[0].contains("@@\n a\n-- b\n+@@ 1\n"), "{}", all[0]);
        let mode = patch(
            &b,
            "1..2",
            "-1,2 +1,2",
            "old mode 100644\nnew mode 100755\n",
        );
        let all = patches(&format!("{one}{mode}"));
        assert_ne!(all[0], all[1]);
    }

    #[test]
    fn contents_of_binary_files_count() {
        let binary = |id: &str, index: &str| {
            format!(
                "{}\ndiff --git a/f b/f\nindex {index} 100644\nBinary files a/f and b/f differ\n",
                id.repeat(40)
            )
        };
        let all = patches(&(binary("a", "1..2") + &binary("b", "1..3") + &binary("c", "1..2")));
        assert_ne!(all[0], all[1]);
        assert_eq!(all[0], all[2]);
    }
}
