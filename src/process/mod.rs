//! Looks at the processes of this host, and starts the programs that the user names.
//!
//! Git is started in `git/run.rs`, and nowhere here.

mod running;

pub use running::{host, is_alive, started};
