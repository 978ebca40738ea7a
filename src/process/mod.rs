//! Looks at the processes of this host, and starts the programs that the user names.
//!
//! Git is started in `git/run.rs`, and nowhere here.

mod probe;
mod running;
mod working;

pub use probe::{CommandProber, Ownership, Prober, Question, SharedProber};
pub use running::{host, is_alive, started};
pub use working::working_in;
