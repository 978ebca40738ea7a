//! A restore that was killed is undone by the next command on the worktree, whichever it is.

use super::world::{World, without_time};
use crate::support::{Said, Shim, text};

const SCRIPT: &str = "
    rm README.md; echo staged >README.md; git add README.md; echo edited >README.md
    echo new >docs/new.md; git rm -q docs/guide.md; git commit -qm x docs/guide.md
";

/// Kills this command at the call of git that has these words.
#[track_caller]
fn kill(world: &World, arguments: &[&str], words: &str) {
    let shim = Shim::new(world.repo.root(), "kill -9 $PPID; exit 77");
    let said = shim.run_at_words(&world.repo, arguments, words);
    assert_eq!(said.status, 137, "{said}");
}

/// A command that takes the lock of the worktree and changes nothing in it.
fn next_command(world: &World) -> Said {
    world.repo.agentwt(&["sync", "task", "--status"])
}

/// That a command after the one that has undone what was killed says nothing of it.
#[track_caller]
fn is_said_once(world: &World) {
    let again = next_command(world);
    assert!(!again.stderr.contains("was killed"), "{again}");
}

/// The journal of the worktree.
fn journal(world: &World) -> std::path::PathBuf {
    world
        .repo
        .main()
        .join(".git/agentwt/worktrees/task/journal")
}

#[test]
fn the_next_command_brings_all_back_and_says_so() {
    for words in ["update-ref", "checkout-index", "--index-info", "--refresh"] {
        let world = World::after(SCRIPT);
        let before = world.everything(".");
        kill(&world, &["restore", "task"], words);
        let said = next_command(&world);
        assert_eq!(said.status, 0, "{words}: {said}");
        let note = "note: the last `restore` of worktree `task` was killed: all is as it was before \
            the restore";
        let is_said = said.stderr.contains(note);
        // the first `update-ref` is that of the ref under which all is saved: nothing was begun
        assert_eq!(is_said, words != "update-ref", "{words}: {said}");
        assert_eq!(world.everything("."), before, "{words}: {said}");
        assert!(!journal(&world).exists(), "{words}");
        assert!(!world.worktree.with_file_name(".placing-task").exists());
        is_said_once(&world);
        world.restore(&[]).ok();
        let findings = world.findings();
        assert!(!findings.contains(" violation"), "{words}: {findings}");
        world.restore(&["--undo"]).ok();
        assert_eq!(world.everything("."), before, "{words}");
    }
}

#[test]
fn what_was_worked_on_since_stays_and_the_command_to_see_the_rest_is_named() {
    let world = World::after(SCRIPT);
    kill(&world, &["restore", "task"], "--refresh");
    world.sh("rm -f README.md; echo newer >README.md");
    let half = world.everything(".");
    let said = next_command(&world);
    assert_eq!(said.status, 0, "{said}");
    let reason = "note: the last `restore` of worktree `task` was killed, and what it changed stays: \
        cannot undo the restore of worktree `task`: changed since:\n  README.md";
    assert!(said.stderr.contains(reason), "{said}");
    assert!(
        said.stderr.contains("; see what was saved: git -C "),
        "{said}"
    );
    assert_eq!(text(&world.worktree.join("README.md")), "newer\n");
    assert_eq!(world.everything("."), half, "nothing else is touched");
    is_said_once(&world);
}

#[test]
fn a_branch_that_moved_since_stays_with_all_else() {
    let world = World::after(SCRIPT);
    kill(&world, &["restore", "task"], "--refresh");
    world.sh("git commit -qm more package.json");
    let half = world.everything(".");
    let said = next_command(&world);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains(" rebase --onto "), "{said}");
    assert_eq!(world.everything("."), half);
}

#[test]
fn an_undo_that_was_killed_is_brought_to_its_end() {
    let world = World::after(SCRIPT);
    let before = world.everything(".");
    world.restore(&[]).ok();
    kill(&world, &["restore", "task", "--undo"], "--refresh");
    let said = next_command(&world);
    let note = "note: the last `restore --undo` of worktree `task` was killed: all is as it was before \
        the restore";
    assert!(said.stderr.contains(note), "{said}");
    assert_eq!(world.everything("."), before, "{said}");
    let again = world.refuses(0, &["--undo"]);
    assert!(without_time(&again).contains("all is as it was"), "{again}");
}

#[test]
fn without_what_was_saved_all_stays_and_that_is_said() {
    let world = World::after(SCRIPT);
    kill(&world, &["restore", "task"], "--refresh");
    let half = world.everything(".");
    world.sh("git for-each-ref --format='delete %(refname)' refs/agentwt/rescue | git update-ref --stdin");
    let said = next_command(&world);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains("it was deleted"), "{said}");
    assert_eq!(world.everything("."), half);
    is_said_once(&world);
}

/// What it says may be unknown to this version, and is all that names what was saved.
#[test]
fn a_journal_of_another_version_stays() {
    let world = World::after(SCRIPT);
    let before = world.everything(".");
    kill(&world, &["restore", "task"], "--refresh");
    let half = world.everything(".");
    let steps = journal(&world).join("steps");
    let ours = text(&steps);
    let newer = ours.replace("version = 4", "version = 5");
    std::fs::write(&steps, &newer).expect("a file");
    let said = next_command(&world);
    assert_eq!(said.status, 6, "{said}");
    assert!(said.stderr.contains("it has version 5"), "{said}");
    assert_eq!(text(&steps), newer, "{said}");
    assert_eq!(world.everything("."), half, "{said}");
    std::fs::write(&steps, &ours).expect("a file");
    next_command(&world).ok();
    assert_eq!(world.everything("."), before);
}

#[test]
fn what_was_planted_since_is_removed_first() {
    let world = World::after(SCRIPT);
    let before = world.everything(".");
    kill(&world, &["restore", "task"], "--refresh");
    let half = world.everything(".");
    world.repo.git(&["config", "core.fsmonitor", "/tmp/x"]);
    let said = next_command(&world);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains("core.fsmonitor"), "{said}");
    assert_eq!(world.everything("."), half, "{said}");
    world.repo.git(&["config", "--unset", "core.fsmonitor"]);
    let said = next_command(&world);
    assert_eq!(said.status, 0, "{said}");
    assert_eq!(world.everything("."), before, "{said}");
}

#[test]
fn an_add_of_the_name_undoes_it_as_well() {
    let world = World::after(SCRIPT);
    let before = world.everything(".");
    kill(&world, &["restore", "task"], "--refresh");
    let scope = ["src/**", "tests/**", "/package.json"].map(|pattern| ["--write", pattern]);
    let add = ["add", "task", "--exclude", "**/secrets/**"];
    let said = world
        .repo
        .agentwt(&[&add[..], scope.as_flattened()].concat());
    assert_eq!(said.status, 0, "{said}");
    assert!(
        said.stderr.contains("was killed: all is as it was"),
        "{said}"
    );
    assert_eq!(world.everything("."), before, "{said}");
}
