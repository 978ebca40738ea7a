//! Finds what is wrong, each file one kind of it; no check calls another.

pub mod git_files;
pub mod harmless;
pub mod head;
pub mod history;
pub mod integrity;
pub mod leaks;
pub mod links;
pub mod net;
pub mod refs;
pub mod self_ignored;
pub mod settings;
pub mod shadows;
