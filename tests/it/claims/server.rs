//! Servers that are not there, refuse, die in the middle, or hold what nobody can read.

use super::{Fleet, REF, line};
use crate::support::chmod;

/// Lets the first clone push through this script, which is given the server's path.
fn push_through(fleet: &Fleet, script: &str) {
    let file = fleet.repo.root().join("receive");
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a script");
    chmod(&file, 0o755);
    let file = file.display().to_string();
    fleet
        .repo
        .git(&["config", "remote.origin.receivepack", &file]);
}

#[test]
fn a_remote_that_there_is_not_is_a_wrong_command_line() {
    let fleet = Fleet::new();
    let before = fleet.repo.fingerprint();
    let said = fleet
        .repo
        .agentwt(&["add", "task", "--claim", "nowhere", "--write", "src/**"]);
    insta::assert_snapshot!(said, @"
    --- stderr
    error: cannot use `nowhere` for claims: there is no such remote
    help: there are: origin; see git remote -v
    --- status 2
    ");
    fleet
        .repo
        .agentwt(&["add", "task", "--lease", "1h"])
        .fails(2);
    fleet.add(&["--lease", "0"]).fails(2);
    assert_eq!(fleet.repo.fingerprint(), before);
}

#[test]
fn a_server_that_is_not_there_is_an_error_of_git_and_nothing_is_left() {
    let fleet = Fleet::new();
    std::fs::rename(&fleet.server, fleet.repo.root().join("moved")).expect("it moves");
    let before = fleet.repo.fingerprint();
    let said = fleet.add(&[]);
    line(
        said.fails(5),
        "error: cannot claim `task` at origin: the server cannot be reached, or refuses: cannot ask the server: fatal: ",
    );
    assert_eq!(fleet.repo.fingerprint(), before);
}

#[test]
fn a_server_that_vanishes_loses_no_worktree_and_no_claim() {
    let fleet = Fleet::new();
    fleet.add(&[]).ok();
    let (claim, moved) = (fleet.claimed(), fleet.repo.root().join("moved"));
    std::fs::rename(&fleet.server, &moved).expect("it moves");
    fleet.repo.agentwt(&["renew", "task"]).fails(5);
    std::fs::rename(&moved, &fleet.server).expect("it moves back");
    assert_eq!(fleet.claimed(), claim);
    fleet.repo.agentwt(&["renew", "task"]).ok();
    std::fs::rename(&fleet.server, &moved).expect("it moves");
    let said = fleet.repo.agentwt(&["remove", "task"]);
    said.ok();
    let note = line(
        &said,
        "note: cannot give back `task` at origin: the server cannot be reached",
    );
    assert!(
        note.ends_with("others may take the claim over once it has stood for 10m"),
        "{note}"
    );
    std::fs::rename(&moved, &fleet.server).expect("it moves back");
    // the same owner need not wait
    fleet.add(&[]).ok();
}

#[test]
fn a_connection_that_dies_before_the_server_accepts_is_no_claim() {
    let fleet = Fleet::new();
    push_through(&fleet, "exit 1");
    let before = fleet.repo.fingerprint();
    let said = fleet.add(&[]);
    line(
        said.fails(5),
        "error: cannot claim `task` at origin: the server cannot be reached",
    );
    assert_eq!(fleet.repo.fingerprint(), before);
    assert_eq!(fleet.claimed(), "");
}

#[test]
fn a_connection_that_dies_after_the_server_has_accepted_is_a_claim() {
    let fleet = Fleet::new();
    push_through(&fleet, CUT);
    fleet.add(&[]).ok();
    assert_ne!(fleet.claimed(), "");
    let before = fleet.claimed();
    fleet.repo.agentwt(&["renew", "task"]).ok();
    assert_ne!(fleet.claimed(), before);
    fleet.repo.agentwt(&["remove", "task"]).ok();
    assert_eq!(fleet.claimed(), "");
}

/// Hands on what the server says until it has offered its refs (a flush, git-protocol-pack(5)),
/// and nothing after that.
const CUT: &str = "git-receive-pack \"$1\" | perl -e 'binmode STDIN; binmode STDOUT; $| = 1; \
    my $open = 1; while (read(STDIN, my $n, 4) == 4) { my $l = hex $n; my $d = \"\"; \
    read(STDIN, $d, $l - 4) if $l > 4; print $n . $d if $open; $open = 0 if $l == 0; }'";

#[test]
fn a_server_that_hangs_is_not_waited_for_for_ever() {
    let fleet = Fleet::new();
    push_through(&fleet, "exec sleep 600");
    let mut command = fleet
        .repo
        .command(crate::support::binary(), fleet.repo.main());
    command.args(["add", "task", "--claim", "origin", "--write", "src/**"]);
    command.env("AGENTWT_CLAIM_TIMEOUT", "1s");
    let began = std::time::Instant::now();
    let said = fleet.repo.said(&command.output().expect("it starts"));
    let error = line(
        said.fails(5),
        "error: cannot claim `task` at origin: the server cannot be reached",
    );
    assert!(error.ends_with("git gave no answer within 1 s"), "{error}");
    assert!(began.elapsed().as_secs() < 300, "{:?}", began.elapsed());
    command.env("AGENTWT_CLAIM_TIMEOUT", "soon");
    fleet
        .repo
        .said(&command.output().expect("it starts"))
        .fails(2);
}

#[test]
fn a_server_that_refuses_is_quoted() {
    let fleet = Fleet::new();
    let hook = fleet.server.join("hooks/pre-receive");
    std::fs::create_dir_all(fleet.server.join("hooks")).expect("a directory");
    std::fs::write(&hook, "#!/bin/sh\necho 'no claims \x1b[31m here'\nexit 1\n").expect("a hook");
    chmod(&hook, 0o755);
    let before = fleet.repo.fingerprint();
    let said = fleet.add(&[]);
    let error = line(
        said.fails(5),
        "error: cannot claim `task` at origin: the server cannot be reached, or refuses: ",
    );
    assert!(error.contains("[remote rejected]"), "{error}");
    assert!(error.contains("(pre-receive hook declined)"), "{error}");
    assert!(error.contains("no claims \\033[31m here"), "{error}");
    assert_eq!(fleet.repo.fingerprint(), before);
}

#[test]
fn what_is_no_claim_is_left_alone_and_shown_escaped() {
    let fleet = Fleet::new();
    fleet.add(&[]).ok();
    let message = fleet.message();
    let put = |said: &str, script: &str| {
        fleet.repo.sh(&fleet.server, script).ok();
        let answer = fleet.add_other(&["--lease", "1s"]);
        let error = line(
            answer.fails(8),
            "error: cannot claim `task` at origin: the claim ",
        );
        assert!(error.contains(said), "{answer}");
        line(
            &answer,
            "help: once you know that no agent works there: git push --force-with-lease=",
        );
    };
    let commit = |message: &str| {
        format!(
            "git update-ref {REF} $(printf '%s' '{message}' | git -c user.name=x -c user.email=x commit-tree $(git mktree </dev/null))"
        )
    };
    put("it is damaged: no message", &commit("mine"));
    put(
        "it has version 9,",
        &commit(&message.replace("version = 4", "version = 9")),
    );
    put(
        "unknown field `\\033[2J`",
        &commit(&message.replace("since", "\"\\u001b[2J\"")),
    );
    put(
        "it is on `another`",
        &commit(&message.replace("name = \"task\"", "name = \"another\"")),
    );
    put(
        "or is not a short commit",
        &format!("git update-ref {REF} $(echo x | git hash-object -w --stdin)"),
    );
    put("or is not a short commit", &commit(&"x".repeat(50_000)));
    // and the repository that had it has lost it
    fleet.repo.agentwt(&["renew", "task"]).fails(8);
}
