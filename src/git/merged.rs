//! Compares what commits change: equal patches, and merges that change nothing.
//!
//! All of it is for a [`Git`] of its own, with a git directory in which no attribute and no merge
//! driver of the repository's counts (`facts/merged.rs`).

use std::collections::BTreeMap;

use bstr::ByteSlice;

use super::error::GitError;
use super::process::Git;
use super::refs::one_id;
use crate::name::CommitId;

/// What a patch is made from that is compared with others: nothing that is configured, and no
/// more context than usual.
const PATCHES: &[&str] = &[
    "-c",
    "core.quotePath=true",
    "-c",
    "diff.suppressBlankEmpty=false",
    "diff-tree",
    "--stdin",
    "--root",
    "-r",
    "-p",
    "-U3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--full-index",
    "--no-renames",
    "--no-relative",
    "--submodule=short",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// What keeps attributes and settings of the user's from deciding how files are merged.
const PLAIN_MERGE: &[&str] = &[
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "merge.default=text",
    "merge-tree",
    "--write-tree",
    "--no-messages",
];

impl Git {
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
        let ranges: Vec<String> = rights
            .iter()
            .map(|right| format!("{left}...{right}"))
            .collect();
        let mut args = vec!["rev-list", "--cherry-mark", "--no-merges", "--topo-order"];
        args.extend(ranges.iter().map(String::as_str));
        let output = self.output(what, &args)?;
        let alike = output.lines().filter_map(|line| line.strip_prefix(b"="));
        alike.map(|id| one_id(what, &args, id)).collect()
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
        let output = self.output_with_input(what, PATCHES, Some(input.as_bytes()))?;
        Ok(split_patches(&output))
    }

    /// Returns the tree that a merge of two commits makes (`git merge-tree --write-tree`); none
    /// where they conflict.
    ///
    /// # Errors
    /// Fails when git does, also where the histories have nothing in common.
    pub fn merge_tree(&self, one: &CommitId, other: &CommitId) -> Result<Option<String>, GitError> {
        let mut args = PLAIN_MERGE.to_vec();
        args.extend([one.as_str(), other.as_str()]);
        let output = self.maybe("try a merge", &args)?;
        let line = |output: Vec<u8>| output.lines().next().map(|l| l.to_str_lossy().into_owned());
        Ok(output.and_then(line))
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
