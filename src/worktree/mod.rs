//! Holds what one worktree of ours is, for every verb: its record, intent, manifest, placed files,
//! owner and lock; what is saved when something of it is replaced or removed, and what remains of it.
