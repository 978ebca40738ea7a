//! Taking, renewing and giving back.

use std::process::Stdio;

use super::{Fleet, REF, line};
use crate::support::binary;

#[test]
fn a_second_claimer_is_told_who_has_it_and_makes_nothing() {
    let fleet = Fleet::new();
    let said = fleet.add(&[]);
    said.ok();
    let note = line(&said, "note: claimed");
    assert_eq!(
        note,
        "note: claimed at origin for 10m; renew it in time: git agentwt renew task"
    );
    let said = fleet.add_other(&[]);
    let error = line(said.fails(8), "error: cannot claim `task` at origin: `");
    assert!(
        error.contains(&format!(":{}` (process ", "$TMP/repo")),
        "{said}"
    );
    assert!(error.contains(", for 10m) holds it"), "{said}");
    line(&said, "help: if it stays unchanged for 10m from now");
    assert!(!fleet.other.join(".agentwt/worktrees/task").exists());
    let other = &fleet.other;
    let left = fleet.repo.sh(other, "git for-each-ref refs/agentwt refs/heads/agentwt; git worktree list | wc -l; ls .git/agentwt/*");
    assert_eq!(
        left.ok().replace(' ', ""),
        "1\ntask.toml",
        "only what was seen is kept"
    );
}

#[test]
fn neither_refs_nor_objects_of_claims_are_in_the_repository() {
    let fleet = Fleet::new();
    // as a mirror has it: everything of the remote has a place here
    fleet
        .repo
        .git(&["config", "remote.origin.fetch", "+refs/*:refs/*"]);
    fleet.repo.git(&["config", "remote.origin.mirror", "true"]);
    fleet.add(&[]).ok();
    fleet.repo.agentwt(&["renew", "task"]).ok();
    assert_eq!(fleet.repo.git(&["for-each-ref", "refs/agentwt/"]), "");
    let claim = fleet.claimed();
    assert_eq!(
        fleet
            .repo
            .try_git(fleet.repo.main(), &["cat-file", "-e", &claim])
            .status,
        1
    );
    assert_eq!(
        fleet.repo.git_in(&fleet.server, &["fsck", "--no-dangling"]),
        ""
    );
    fleet.repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn the_claim_goes_with_the_worktree_and_is_free_for_others() {
    let fleet = Fleet::new();
    fleet.add(&[]).ok();
    fleet.repo.agentwt(&["remove", "task"]).ok();
    assert_eq!(fleet.claimed(), "");
    assert!(!fleet.repo.main().join(".git/agentwt/claims").exists());
    fleet.add_other(&[]).ok();
}

#[test]
fn an_add_that_fails_gives_the_claim_back() {
    let fleet = Fleet::new();
    let before = fleet.repo.fingerprint();
    let hook = fleet.repo.main().join(".git/hooks/post-checkout");
    std::fs::write(&hook, "#!/bin/sh\nexit 3\n").expect("a hook");
    crate::support::chmod(&hook, 0o755);
    fleet.add(&[]).fails(5);
    assert_eq!(fleet.claimed(), "");
    std::fs::remove_file(hook).expect("it is there");
    assert_eq!(fleet.repo.fingerprint(), before);
}

#[test]
fn a_dry_run_only_looks() {
    let fleet = Fleet::new();
    let before = fleet.repo.fingerprint();
    fleet.add(&["-n"]).ok();
    assert_eq!(fleet.claimed(), "");
    assert_eq!(fleet.repo.fingerprint(), before);
    fleet.add_other(&[]).ok();
    fleet.add(&["-n"]).fails(8);
    assert_eq!(fleet.repo.fingerprint(), before);
}

#[test]
fn renew_makes_another_commit_for_the_same_holder() {
    let fleet = Fleet::new();
    fleet.add(&[]).ok();
    let (first, said_first) = (fleet.claimed(), fleet.message());
    let said = fleet.repo.agentwt(&["renew", "task", "--lease", "1h"]);
    said.ok();
    assert!(said.stderr.starts_with("renewed the claim of `"), "{said}");
    assert!(
        said.stderr.ends_with("` on task at origin for 1h\n"),
        "{said}"
    );
    let second = fleet.message();
    assert_ne!(fleet.claimed(), first);
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        line.expect("it stands there").to_owned()
    };
    assert_eq!(value(&second, "lease"), "lease = 3600");
    for same in ["holding", "since", "owner", "pid"] {
        assert_eq!(value(&second, same), value(&said_first, same));
    }
    let record = fleet
        .repo
        .main()
        .join(".git/agentwt/worktrees/task/record.toml");
    let record = std::fs::read_to_string(record).expect("a record");
    assert!(record.contains(&fleet.claimed()), "{record}");
    assert!(record.contains("lease = 3600"), "{record}");
    // a look changes nothing
    let before = fleet.claimed();
    fleet.repo.agentwt(&["renew", "task", "-n"]).ok();
    assert_eq!(fleet.claimed(), before);
    let json = fleet.repo.agentwt(&["renew", "task", "--json"]).ok();
    assert!(json.contains("\"schema\": \"agentwt.renew/1\""), "{json}");
    assert!(json.contains("\"lease\": 3600"), "{json}");
}

#[test]
fn renew_ends_with_8_when_the_claim_is_gone_or_anothers() {
    let fleet = Fleet::new();
    fleet.add(&[]).ok();
    let repo = &fleet.repo;
    repo.agentwt(&["renew", "task", "--owner", "somebody"])
        .fails(8);
    repo.git_in(&fleet.server, &["update-ref", "-d", REF]);
    let said = repo.agentwt(&["renew", "task"]);
    line(
        said.fails(8),
        "error: cannot renew the claim on `task` at origin: it is no longer there",
    );
    fleet.add_other(&[]).ok();
    let theirs = fleet.claimed();
    for arguments in [&["renew", "task"][..], &["renew", "task", "-n"]] {
        let said = repo.agentwt(arguments);
        let error = line(
            said.fails(8),
            "error: cannot renew the claim on `task` at origin: `",
        );
        assert!(error.contains("$TMP/other` (process "), "{said}");
    }
    // nor is it given back by whoever has lost it
    repo.agentwt(&["remove", "task"]).ok();
    assert_eq!(fleet.claimed(), theirs);
}

#[test]
fn a_worktree_with_neither_claim_nor_owner_has_nothing_to_renew() {
    let fleet = Fleet::new();
    fleet.repo.add("task");
    let renew = |more: &[&str]| fleet.repo.agentwt(&[&["renew", "task"], more].concat());
    line(
        renew(&[]).fails(4),
        "error: cannot renew `task`: it has neither a claim nor an owner",
    );
    let said = renew(&[
        "--owner",
        "me",
        "--owner-pid",
        &std::process::id().to_string(),
    ]);
    said.ok();
    assert_eq!(said.stderr, "renewed `me` as the owner of task\n");
    renew(&[]).ok();
    // we are alive
    renew(&["--owner", "you"]).fails(8);
    renew(&["--owner-pid", "4194304"]).fails(2);
}

#[test]
fn a_claim_that_is_there_is_renewed_by_another_add() {
    let fleet = Fleet::new();
    fleet.add(&[]).ok();
    let first = fleet.claimed();
    fleet.add(&[]).ok();
    assert_ne!(fleet.claimed(), first);
    fleet.repo.agentwt(&["renew", "task"]).ok();
    fleet.repo.agentwt(&["remove", "task"]).ok();
    // and a worktree that had none gets one
    fleet
        .repo
        .agentwt(&["add", "task", "--write", "src/**"])
        .ok();
    assert_eq!(fleet.claimed(), "");
    fleet.add(&[]).ok();
    assert_ne!(fleet.claimed(), "");
    fleet.repo.agentwt(&["renew", "task"]).ok();
}

#[test]
fn of_several_that_claim_at_once_one_has_it() {
    let fleet = Fleet::new();
    let start = |dir: &std::path::Path| {
        let mut command = fleet.repo.command(binary(), dir);
        command.args(["add", "task", "--claim", "origin", "--write", "src/**"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    for round in 0..3 {
        let both = [start(fleet.repo.main()), start(&fleet.other)];
        let both = both.map(|one| fleet.repo.said(&one.wait_with_output().expect("it ends")));
        let mut statuses = [both[0].status, both[1].status];
        statuses.sort_unstable();
        assert_eq!(statuses, [0, 8], "{round}: {} {}", both[0], both[1]);
        let has_it = if both[0].status == 0 {
            fleet.repo.main()
        } else {
            &fleet.other
        };
        fleet.repo.agentwt_in(has_it, &["remove", "task"]).ok();
        assert_eq!(fleet.claimed(), "");
    }
}

#[test]
fn an_add_that_fails_leaves_the_claim_that_the_worktree_had_before() {
    let fleet = Fleet::new();
    fleet.add(&[]).ok();
    // the record cannot be written when the claim has been renewed
    let record = fleet
        .repo
        .main()
        .join(".git/agentwt/worktrees/task/record.toml");
    let receive = fleet.repo.root().join("receive");
    let script = format!(
        "#!/bin/sh\ngit-receive-pack \"$@\"; rm '{0}'; mkdir -p '{0}/x'\n",
        record.display()
    );
    std::fs::write(&receive, script).expect("a script");
    crate::support::chmod(&receive, 0o755);
    let receive = receive.display().to_string();
    fleet
        .repo
        .git(&["config", "remote.origin.receivepack", &receive]);
    let said = fleet.add(&[]);
    assert_ne!(said.status, 0, "{said}");
    assert_ne!(fleet.claimed(), "", "{said}");
}
