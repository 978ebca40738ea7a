//! What `verify` and `changed` say of placed files.

use insta::assert_snapshot;

use super::World;
use crate::support::{Digests, TestRepo, as_ordinary_user};

#[test]
fn an_unchanged_one_is_no_change_whether_git_ignores_it_or_not() {
    let world = World::new();
    assert_eq!(world.findings(), "");
    assert_eq!(world.changed(), "");
    let ignored = world.agentwt(&["changed", "task", "--ignored"]).ok();
    assert_eq!(ignored, "");
    // whatever its stat data are, and whatever stands in an ignore rule
    world.sh("cp -p .env x; mv -f x .env; touch certs/a.log; chmod 755 run.sh; chmod 555 run.sh");
    assert_eq!(world.findings(), "");
    assert_eq!(world.changed(), "");
}

#[test]
fn it_is_not_read_while_its_stat_data_prove_it() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.write("big.bin", "0123456789");
    repo.place_with("task", &["big.bin"], Digests::Wrong);
    let edited = "big.bin modified read-only violation\n";
    let reads_all = std::env::var_os("GIT_AGENTWT_WALK").is_some_and(|walk| walk == "full");
    let expected = if reads_all { edited } else { "" };
    assert_eq!(repo.findings(&worktree), expected);
    repo.sh(&worktree, "touch big.bin").ok();
    assert_eq!(repo.findings(&worktree), edited, "now it was read");
}

#[test]
fn an_edited_one_is_a_violation_outside_the_write_scope_also_when_ignored() {
    let world = World::after(
        "for f in .env certs/a.log run.sh; do chmod u+w $f; done
        echo 'A=2' >.env; echo edited >certs/a.log; chmod 644 run.sh; echo '{1}' >src/local.json",
    );
    assert_snapshot!(world.findings(), @r"
    .env modified read-only violation
    certs/a.log modified read-only violation
    run.sh mode read-only violation
    ");
    assert_snapshot!(world.changed(), @r"
    .env modified
    certs/a.log modified
    run.sh mode
    src/local.json modified
    ");
    assert_eq!(world.seen("certs/a.log"), "modified [synced]");
    assert_eq!(world.seen("src/local.json"), "modified [synced]");
}

#[test]
fn an_edit_that_keeps_size_and_time_is_seen() {
    let world =
        World::after("chmod u+w .env; touch -r .env x; echo A=2 >.env; touch -r x .env; rm x");
    assert_eq!(world.findings(), ".env modified read-only violation\n");
}

#[test]
fn a_deleted_one_is_a_violation_outside_the_write_scope() {
    let world = World::after("rm .env certs/link src/local.json; rmdir certs/empty");
    assert_snapshot!(world.findings(), @r"
    .env deleted read-only violation
    certs/link deleted read-only violation
    ");
    assert_eq!(world.seen(".env"), "deleted [synced]");
    assert_eq!(world.seen("src/local.json"), "deleted [synced]");
}

#[test]
fn another_kind_in_its_place_is_seen() {
    let world = World::after(
        "rm -f .env run.sh certs/link src/local.json; mkdir .env; ln -s /etc run.sh
        ln -s elsewhere certs/link; mkdir src/local.json; echo new >src/local.json/f",
    );
    assert_snapshot!(world.findings(), @r"
    .env typechange read-only violation
    certs/link modified read-only violation
    run.sh typechange read-only violation
    ");
    assert_snapshot!(world.changed(), @r"
    .env typechange
    certs/link modified
    run.sh typechange
    src/local.json deleted
    src/local.json/f created
    ");
}

#[test]
fn a_link_in_the_place_of_its_directory_is_seen_even_with_the_same_files_behind_it() {
    let world = World::after("mv certs ../moved; ln -s ../moved certs");
    assert_snapshot!(world.findings(), @r"
    certs typechange read-only violation
    certs/a.log deleted read-only violation
    certs/link deleted read-only violation
    ");
}

#[test]
fn directories_of_placed_files_are_no_change_of_their_own() {
    // an empty one may be filled, by what git ignores, or go; and a filled one be emptied
    let world =
        World::after("echo built >certs/empty/x.log; chmod u+w certs; rm certs/a.log certs/link");
    assert_snapshot!(world.findings(), @r"
    certs/a.log deleted read-only violation
    certs/link deleted read-only violation
    ");
    world.sh("rm certs/empty/x.log; rmdir certs/empty");
    assert_snapshot!(world.findings(), @r"
    certs/a.log deleted read-only violation
    certs/link deleted read-only violation
    ");
}

#[test]
fn one_that_was_only_made_writable_is_a_notice() {
    let world = World::after("chmod u+w .env; chmod u+w certs/a.log");
    assert_snapshot!(world.findings(), @r"
    .env perm read-only notice
    certs/a.log perm read-only notice
    ");
    world.sh("echo more >>.env");
    assert_snapshot!(world.findings(), @r"
    .env modified read-only violation
    certs/a.log perm read-only notice
    ");
}

#[test]
fn what_an_ignore_rule_of_the_agent_says_hides_nothing() {
    let world = World::after(
        "echo .env >>\"$(git rev-parse --git-path info/exclude)\"
        chmod u+w .env; echo A=2 >.env",
    );
    let findings = world.findings();
    assert!(
        findings.contains(".env modified read-only violation"),
        "{findings}"
    );
}

#[test]
fn a_large_clone_without_a_digest_is_unchanged_while_its_source_shows_it() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.write("big.bin", "0123456789");
    repo.place_with("task", &["big.bin"], Digests::Unknown);
    assert_eq!(repo.findings(&worktree), "");
    repo.sh(&worktree, "touch big.bin").ok();
    assert_eq!(repo.findings(&worktree), "", "it equals its source");
    repo.sh(&worktree, "chmod u+w big.bin; echo 012345678 >big.bin")
        .ok();
    let edited = "big.bin modified read-only violation\n";
    assert_eq!(repo.findings(&worktree), edited);
    repo.sh(&worktree, "printf 0123456789 >big.bin").ok();
    assert_eq!(repo.findings(&worktree), "");
    // nobody can say any more what was placed
    repo.write("big.bin", "0123456789");
    assert_eq!(repo.findings(&worktree), edited);
}

#[test]
fn context_that_the_scope_lets_nobody_see_is_no_change_either() {
    let repo = TestRepo::project();
    let scope = ["--read", "docs/**", "--write", "src/**"];
    repo.agentwt(&[&["add", "task"][..], &scope].concat()).ok();
    let worktree = repo.worktree("task");
    repo.place_context("task", "AGENTS.md", "do this\n");
    assert_eq!(repo.findings(&worktree), "");
    repo.sh(&worktree, "chmod u+w AGENTS.md").ok();
    assert_eq!(repo.findings(&worktree), "AGENTS.md perm excluded notice\n");
    repo.sh(&worktree, "echo more >>AGENTS.md").ok();
    assert_eq!(
        repo.findings(&worktree),
        "AGENTS.md modified excluded violation\n"
    );
}

#[test]
fn the_content_of_an_excluded_file_is_a_leak_only_once_it_was_put_there() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.write("src/copied.pem", "PEM\n");
    repo.write("src/other.pem", "other\n");
    repo.place("task", &["src/copied.pem", "src/other.pem"]);
    assert_eq!(repo.findings(&worktree), "");
    repo.sh(&worktree, "printf 'PEM\\n' >src/other.pem").ok();
    assert_eq!(
        repo.findings(&worktree),
        "src/other.pem leak excluded violation\n"
    );
}

#[test]
fn a_damaged_list_is_no_verdict_and_a_missing_one_lists_nothing() {
    let world = World::new();
    let list = world.repo.placed_list("task");
    let bytes = std::fs::read(&list).expect("a list");
    std::fs::write(&list, &bytes[..bytes.len() - 5]).expect("a list");
    assert_snapshot!(world.agentwt(&["verify", "task"]), @"
    --- stderr
    error: cannot read the list of placed files of worktree `task`: it is damaged
    help: see what is there with `git worktree list`; to save its work: git -C .agentwt/worktrees/task stash -u
    --- status 6
    ");
    let arguments = ["changed", "task", "--best-effort", "--format", "tsv"];
    let mut said = world.agentwt(&arguments);
    said.stdout = said.stdout.replace('\t', " ");
    assert_snapshot!(said, @"
    .env created
    certs/link created
    run.sh created
    src/local.json created
    --- stderr
    note: incomplete: cannot read the list of placed files of worktree `task`: it is damaged
    --- status 10
    ");
    std::fs::remove_file(&list).expect("a list");
    assert_snapshot!(world.changed(), @"
    .env created
    certs/link created
    run.sh created
    src/local.json created
    ");
}

#[test]
fn the_patch_does_not_hold_it_and_says_so() {
    let world = World::after(
        "echo '{1}' >src/local.json; echo more >>src/main.rs; chmod u+w .env; rm .env",
    );
    assert_snapshot!(world.agentwt(&["changed", "task", "--patch"]), @"
    diff --git a/src/main.rs b/src/main.rs
    index f328e4d9d04c31d0d70d16d21a07d1613be9d577..d16e21d11277ed8716e8d546b704ca38e7fec7fe 100644
    --- a/src/main.rs
    +++ b/src/main.rs
    @@ -1 +1,2 @@
     fn main() {}
    +more
    --- stderr
    note: not in the patch: .env
    note: not in the patch: src/local.json
    --- status 0
    ");
    assert_snapshot!(world.agentwt(&["changed", "task", "--commits", "--porcelain"]).ok().replace('\t', "|"), @"
    uncommitted|deleted|synced|.env
    uncommitted|modified|synced|src/local.json
    uncommitted|modified|disk|src/main.rs
    net|deleted|synced|.env
    net|modified|synced|src/local.json
    net|modified|disk|src/main.rs
    ");
}

#[test]
fn one_that_cannot_be_read_is_named() {
    let world = World::after("chmod 000 .env");
    let arguments = ["verify", "--format", "tsv"];
    let Some(said) = as_ordinary_user(&world.repo, &world.worktree, &arguments) else {
        eprintln!("skipped: nobody else can be become");
        return;
    };
    assert_eq!(
        said.fails(1).stdout,
        ".env\tintegrity\tintegrity\tviolation\n"
    );
}
