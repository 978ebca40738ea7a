//! Knows the system that we run on: processes, users, the terminal, the environment, programs on
//! `PATH`, the boot. Starts the programs that the user names, and sends signals.
//!
//! What the kernel says is asked in one place, `kernel`: `linux.rs` reads `/proc`, `macos.rs` is
//! its twin, and answers with nothing what it cannot know. Git is started in `git`, and the command
//! of `exec` in `fence`.

pub mod boot;
pub mod descendants;
pub mod environment;
pub mod families;
#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "macos.rs")]
pub mod kernel;
pub mod path;
pub mod ports;
pub mod probe;
pub mod processes;
pub mod programs;
pub mod random;
pub mod shell;
pub mod terminal;
pub mod users;
