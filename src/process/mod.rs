//! Looks at the processes of this host, and starts the programs that the user names.
//!
//! Git is started in `git/run.rs`, and nowhere here.

mod clock;
mod detached;
mod inside;
mod open;
mod orphans;
mod probe;
mod running;
mod search;
mod signal;

pub use clock::{nonce, reading};
pub use detached::{leave_session, start_detached};
pub use inside::{Inside, What, ancestors, inside};
pub use open::open_of;
pub use orphans::wait_for_gits;
pub use probe::{CommandProber, Ownership, Prober, Question, SharedProber};
pub use running::{host, is_alive, is_root, started};
pub use search::{count_in, on_path, shows_page};
pub use signal::{Process, family, is_any_alive, send_to};
