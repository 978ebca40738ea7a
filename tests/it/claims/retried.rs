//! The claim as a probe: it is held from one attempt to the next, and asked before each.

use std::path::Path;

use super::{Fleet, REF, SCOPE, line};
use crate::support::{Said, binary, chmod};

/// `add` whose first `git worktree add` fails, as something stands there, after `meanwhile`. It is
/// gone before the second attempt.
fn add_with(fleet: &Fleet, meanwhile: &str) -> Said {
    let dir = fleet.repo.root().join("shim");
    std::fs::create_dir(&dir).expect("a directory");
    let path = std::env::var("PATH").expect("a search path");
    let worktree = fleet.repo.worktree("task");
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \"$*\" in *'worktree add'*)\n\
         if mkdir '{dir}/first' 2>/dev/null; then {meanwhile}\n\
         mkdir -p '{worktree}'; echo theirs >'{worktree}/file'; exit 128; fi;; esac\n\
         exec git \"$@\"\n",
        dir = dir.display(),
        worktree = worktree.display()
    );
    std::fs::write(dir.join("git"), script).expect("a script");
    chmod(&dir.join("git"), 0o755);
    let probe = format!("rm -rf '{}'", worktree.display());
    let mut arguments = vec!["add", "task", "--claim", "origin", "--retry-delay=10ms"];
    arguments.extend(["--owner-probe", &probe]);
    arguments.extend(SCOPE);
    let mut command = fleet.repo.command(binary(), fleet.repo.main());
    command.args(arguments);
    command.env("PATH", format!("{}:{path}", dir.display()));
    fleet.repo.said(&command.output().expect("it starts"))
}

fn in_server(server: &Path, command: &str) -> String {
    format!("git --git-dir='{}' {command}", server.display())
}

#[test]
fn a_claim_that_is_held_goes_on_from_attempt_to_attempt() {
    let fleet = Fleet::new();
    let log = fleet.repo.root().join("log");
    let keep = format!(
        "{} > '{}'",
        in_server(&fleet.server, &format!("rev-parse {REF}")),
        log.display()
    );
    let said = add_with(&fleet, &keep);
    said.ok();
    line(&said, "note: attempt 1 of 3 failed");
    let during = std::fs::read_to_string(log).expect("it was claimed by then");
    assert_eq!(
        fleet.claimed(),
        during.trim_end(),
        "one claim for both attempts"
    );
}

#[test]
fn who_lost_the_claim_between_two_attempts_stops_and_leaves_nothing() {
    let fleet = Fleet::new();
    let before = fleet.repo.git(&["for-each-ref"]);
    let steal = in_server(&fleet.server, &format!("update-ref {REF} main"));
    let said = add_with(&fleet, &steal);
    line(said.fails(8), "error: ");
    assert_eq!(
        said.stderr.matches("attempt ").count(),
        1,
        "it stops at once: {said}"
    );
    assert!(!fleet.repo.worktree("task").exists());
    assert_eq!(fleet.repo.git(&["for-each-ref"]), before);
    let main = fleet.repo.git_in(&fleet.server, &["rev-parse", "main"]);
    assert_eq!(fleet.claimed(), main, "what another has there stays");
}
