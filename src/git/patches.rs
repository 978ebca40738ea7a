//! Prints and compares what commits change.
//!
//! All this is for a [`Git`] of its own, with a git directory in which no attribute and no merge
//! driver of the repository's counts (`actions/remove/merged.rs`).

use std::collections::BTreeMap;

use bstr::ByteSlice;

use crate::git::error::GitError;
use crate::git::process::Git;
use crate::git::refs::one_id;
use crate::words::name::CommitId;

/// Prints patches, whatever is configured.
const PATCHES: &str = "-c core.quotePath=true -c core.safecrlf=false \
     -c diff.suppressBlankEmpty=false diff-tree -r -p --no-ext-diff --no-textconv --full-index \
     --no-renames --no-relative --submodule=short --ignore-submodules=none --src-prefix=a/ \
     --dst-prefix=b/";

/// For patches that are compared with others: no more context than usual, and no colour.
const COMPARABLE: &[&str] = &[
    "--stdin",
    "--root",
    "-U3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--no-color",
];

/// Whether a patch is printed in colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchColour {
    /// As the user's own settings say.
    On,
    /// None.
    #[default]
    Off,
}

impl Git {
    /// Prints the patch from one tree or commit to another, as `git apply` takes it.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn diff_tree_patch(
        &self,
        from: &str,
        to: &str,
        colour: PatchColour,
    ) -> Result<Vec<u8>, GitError> {
        let colour = match colour {
            PatchColour::On => "--color",
            PatchColour::Off => "--no-color",
        };
        let args = ["--binary", colour, "--end-of-options", from, to];
        self.perform("print a patch", PATCHES, &args)
    }

    /// Lists the commits of `left...right`, for each of these right ones, for which git finds one
    /// on the other side with a patch that looks the same (`--cherry-mark`, git-rev-list(1)), the
    /// newest first. Git leaves out of its patch ids what it takes for unimportant: blanks and
    /// modes.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn rev_list_alike(
        &self,
        left: &CommitId,
        rights: &[&CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        let mut ranges = Vec::new();
        for right in rights {
            ranges.push(format!("{left}...{right}"));
        }
        let args: Vec<&str> = ranges.iter().map(String::as_str).collect();
        let command = "rev-list --cherry-mark --no-merges --topo-order";
        let output = self.perform("compare what commits change", command, &args)?;
        let mut commits = Vec::new();
        for line in output.lines() {
            if let Some(id) = line.strip_prefix(b"=") {
                commits.push(one_id(command, id)?);
            }
        }
        Ok(commits)
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
        let output = self.perform_with(what, PATCHES, COMPARABLE, input.as_bytes())?;
        Ok(split_patches(&output))
    }
}

/// Splits the output of `git diff-tree --stdin -p` by commits, and takes out of each patch what is
/// not the change itself: the places of hunks, and the ids of blobs. A binary file keeps its ids:
/// its patch says nothing else of the content.
fn split_patches(output: &[u8]) -> BTreeMap<CommitId, Vec<u8>> {
    let mut patches: Vec<(CommitId, Vec<u8>)> = Vec::new();
    let mut index_line: &[u8] = b"";
    for line in output.lines_with_terminator() {
        if let Some(commit) = commit_line(line) {
            patches.push((commit, Vec::new()));
            continue;
        }
        let Some((_commit, patch)) = patches.last_mut() else {
            continue;
        };
        // these are in headers: each line of content has a blank, `+`, `-` or `\` before it
        if line.starts_with(b"@@ ") {
            patch.extend_from_slice(b"@@\n");
        } else if line.starts_with(b"index ") {
            index_line = line;
        } else {
            if line.starts_with(b"Binary files ") {
                patch.extend_from_slice(index_line);
            }
            patch.extend_from_slice(line);
        }
    }
    patches.into_iter().collect()
}

/// Returns the commit at which a patch begins: no line of a patch is nothing but an id.
fn commit_line(line: &[u8]) -> Option<CommitId> {
    let text = line.trim_end_with(|last| last == '\n').to_str().ok()?;
    CommitId::parse(text).ok()
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
