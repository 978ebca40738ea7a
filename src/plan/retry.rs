//! Decides which refusals pass by themselves, so that a retry may do better; pure.

use super::refusal::Refusal;

/// What git says of what stands in the way of a worktree and may be gone later.
const WORDS: [&str; 3] = [
    "already checked out",
    "already used by worktree",
    "already exists",
];

/// Whether a refusal may pass: somebody has the branch, something is where the worktree goes, or
/// an agent still runs there. A worktree of ours with another scope or base is none: nobody is
/// about to take it away, and the difference is worth knowing at once.
#[must_use]
pub const fn passes(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::BranchHeld { .. }
            | Refusal::BranchExists { .. }
            | Refusal::PathTaken { .. }
            | Refusal::ForeignWorktree { .. }
            | Refusal::OwnedByAnother { .. }
            | Refusal::StillRunning { .. }
    )
}

/// Whether git failed for such a reason, by its own words.
#[must_use]
pub fn words_pass(words: &str) -> bool {
    WORDS.iter().any(|text| words.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_may_pass_and_what_is_wrong_does_not() {
        let (name, path) = ("task-5".to_owned(), camino::Utf8PathBuf::from("/r/x"));
        let branch = "fix".to_owned();
        for refusal in [
            Refusal::BranchHeld {
                branch: branch.clone(),
                path: path.clone(),
            },
            Refusal::BranchExists {
                name: name.clone(),
                branch: branch.clone(),
            },
            Refusal::PathTaken {
                name: name.clone(),
                path: path.clone(),
            },
            Refusal::ForeignWorktree {
                name: name.clone(),
                path: path.clone(),
            },
            Refusal::StillRunning {
                name: name.clone(),
                path,
                pids: vec![17],
            },
        ] {
            assert!(passes(&refusal), "{refusal}");
        }
        for refusal in [
            Refusal::InvalidBranch { branch },
            Refusal::Bare,
            Refusal::AnotherScope {
                name: name.clone(),
                difference: Vec::new(),
            },
            Refusal::NoSuchProcess { pid: 17 },
            Refusal::Unborn { name },
        ] {
            assert!(!passes(&refusal), "{refusal}");
        }
    }

    #[test]
    fn gits_own_words_pass_too() {
        for words in [
            "fatal: 'fix' is already checked out at '/r/x'",
            "fatal: 'fix' is already used by worktree at '/r/x'",
            "fatal: a branch named 'fix' already exists",
            "fatal: '/r/x' already exists",
        ] {
            assert!(words_pass(words), "{words}");
        }
        assert!(!words_pass("fatal: invalid reference: fix"));
    }
}
