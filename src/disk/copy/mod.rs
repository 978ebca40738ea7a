//! Copies files into a staging directory, from where they are moved to their place.
//!
//! [`stage`](content::stage) creates each file in one flat directory of ours on the file system of
//! the destination, whole and with its final mode and time; [`move_in`](move_in::move_in) then
//! creates directories and moves the files in. So whatever is killed leaves no half file: at most
//! a staging directory, which is ours to remove.

pub mod content;
pub mod error;
pub mod move_in;
pub mod removal;
pub mod staging;
#[cfg(test)]
mod tests;
