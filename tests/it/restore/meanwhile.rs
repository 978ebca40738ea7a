//! An agent writes while `restore` works: what was written since all was saved is never replaced.

use super::world::World;
use crate::support::{Said, Shim, text};

/// Runs `restore task` with these arguments; before a call of git that has these words, an agent
/// writes README.md.
#[track_caller]
fn restore_while_an_agent_writes(world: &World, arguments: &[&str], words: &str) -> Said {
    let readme = world.worktree.join("README.md");
    let act = format!(
        "rm -f '{0}'; echo newer >'{0}'; PATH=${{PATH#*:}} exec git \"$@\"",
        readme.display()
    );
    let shim = Shim::new(world.repo.root(), &act);
    let arguments = [&["restore", "task"], arguments].concat();
    shim.run_at_words(&world.repo, &arguments, words)
}

/// That what the agent wrote stays, and the command says so.
#[track_caller]
fn newer_work_stays(world: &World, said: &Said) {
    assert_eq!(text(&world.worktree.join("README.md")), "newer\n", "{said}");
    assert_ne!(said.status, 0, "{said}");
    assert!(said.stderr.contains("README.md"), "{said}");
}

#[test]
fn a_file_that_is_written_where_a_deleted_one_comes_back_stays() {
    let world = World::after("rm README.md");
    let said = restore_while_an_agent_writes(&world, &[], "checkout-index");
    newer_work_stays(&world, &said);
}

#[test]
fn a_file_that_was_gone_when_all_was_saved_and_is_written_again_stays() {
    let world = World::after(
        "chmod u+w README.md; echo more >>README.md; git rm -q docs/guide.md; git commit -qm x",
    );
    let readme = world.worktree.join("README.md").display().to_string();
    let act = format!(
        "case \"$*\" in
            *commit-tree*) rm -f '{readme}' ;;
            *checkout-index*) echo newer >'{readme}' ;;
        esac
        PATH=${{PATH#*:}} exec git \"$@\""
    );
    let shim = Shim::new(world.repo.root(), &act);
    let said = shim.run_at_words(&world.repo, &["restore", "task"], "");
    newer_work_stays(&world, &said);
}

#[test]
fn a_file_that_is_written_while_a_restore_is_undone_stays() {
    let world = World::after(
        "chmod u+w README.md; echo more >>README.md; git rm -q docs/guide.md; git commit -qm x",
    );
    world.restore(&[]).ok();
    let said = restore_while_an_agent_writes(&world, &["--undo"], "update-ref");
    newer_work_stays(&world, &said);
    let next = world.repo.agentwt(&["sync", "task", "--status"]);
    assert_eq!(text(&world.worktree.join("README.md")), "newer\n", "{next}");
    assert!(
        next.stderr.contains("changed since:\n  README.md"),
        "{next}"
    );
}
