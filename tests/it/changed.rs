//! Tests of `changed`, beyond what `verify.rs` shows of the plain list.

mod base;
mod commits;
mod decision;
mod effort;
mod left_out;
mod library;
mod patch;
mod roots;

use crate::support::{TestRepo, binary};

/// What `changed task` prints with these arguments, byte for byte, and its status.
#[must_use]
#[track_caller]
fn bytes(repo: &TestRepo, arguments: &[&str]) -> (Vec<u8>, i32) {
    let mut command = repo.command(binary(), repo.main());
    command.args(["changed", "task"]).args(arguments);
    let output = command.output().expect("it starts");
    (output.stdout, output.status.code().unwrap_or(-1))
}

/// The JSON of `changed task` with these arguments.
#[must_use]
#[track_caller]
fn json(repo: &TestRepo, arguments: &[&str]) -> serde_json::Value {
    let (stdout, _) = bytes(repo, &[&["--json"], arguments].concat());
    serde_json::from_slice(&stdout).expect("it is JSON")
}
