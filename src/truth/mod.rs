//! Reads the ground truth of a worktree: walk, index, commits and the shared side in, changes out.
