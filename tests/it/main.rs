//! The tests that need git, a disk or a shell: one binary, one file for each subject.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests start programs, read the environment and print"
)]
#![allow(
    clippy::shadow_unrelated,
    clippy::too_many_lines,
    reason = "a test is a story: each `said` is the answer to the last command"
)]

mod accept;
mod add;
mod attribution;
mod bad_input;
mod bare_layout;
mod baseline;
mod candidates;
mod cases;
mod changed;
mod checkout;
mod ci_examples;
mod claims;
mod claude_hooks;
mod clients;
mod clone;
mod clone_removed;
mod completions;
mod containers;
mod copied;
mod could_not_tell;
mod doctor;
mod elsewhere;
#[cfg(target_os = "linux")]
mod escapes;
mod exec;
mod exec_json;
mod fence_policy;
mod fences;
mod fleet;
mod floors;
mod full_disk;
mod fuzz;
mod guard;
mod hints;
mod hooks;
mod hooks_install;
mod hooks_large;
mod huge_files;
mod in_memory;
mod init;
mod inside;
mod install;
mod kill_points;
mod known_names;
mod land;
mod life;
mod list;
mod list_fleet;
mod man;
mod oracle;
mod overlap;
mod path;
mod pipes;
mod placed;
mod planted;
mod presets;
mod programs;
mod provision;
mod prune;
mod range;
mod reading_many;
mod reapply;
mod remove;
mod repo_reading;
mod requests;
mod restore;
mod retries;
mod reworded_git;
mod rollback;
mod run_state;
mod runner;
mod sarif;
mod schemas;
mod scope;
mod scope_change;
mod scope_interrupted;
mod setup;
mod shared_cases;
mod signals;
mod status;
mod support;
mod sync;
mod template;
mod trash;
mod users_settings;
mod vanishing;
mod verify;
mod waiting;
mod walk;
