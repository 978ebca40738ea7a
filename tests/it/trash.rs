//! `remove --force` saves a whole worktree, and `remove --undo` brings it back as it was.

mod inner;
mod refused;
mod states;
mod stopped;
mod unborn;
mod unlisted;
mod world;
