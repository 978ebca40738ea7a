//! The hooks that are put into a worktree, against every git of the machine: the user's hooks run
//! as before, ours run when they should, and no fault of ours becomes the user's.
#![expect(clippy::disallowed_methods, reason = "the tests are git's user")]

mod gits;
mod ours;
mod placing;
mod users;
mod world;
