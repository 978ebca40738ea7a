//! Looks at the processes of this host, and starts the programs that the user names.
//!
//! Git is started in `git/`, and nowhere here.

mod clock;
mod probe;
mod signal;
mod table;

pub use clock::{nonce, reading};
pub use probe::{CommandProber, Ownership, Question, SharedProber, on_path, shows_page};
pub use signal::{Process, family, leave_session, send_to, start_detached};
pub use table::{
    Inside, ancestors, count_in, host, inside, is_alive, is_root, open_of, started, wait_for_gits,
};
