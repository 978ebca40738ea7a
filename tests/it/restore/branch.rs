//! What is committed: undone by a new commit, or made anew.

use insta::assert_snapshot;

use super::world::{World, without_time};
use crate::support::{TestRepo, text};

#[test]
fn committed_changes_are_undone_by_a_new_commit() {
    let scripts = [
        "rm README.md; echo x >README.md; git commit -qm x README.md",
        "git rm -qr docs; git commit -qm x docs",
        "rm README.md; echo x >README.md; git commit -qm x README.md; rm README.md; echo y >README.md; git add README.md; rm README.md",
        "echo x >docs/new.md; git add docs/new.md; git commit -qm x docs/new.md",
        "chmod +x README.md; git commit -qm x README.md",
        "ln -sfn package.json link; git commit -qm x link",
        "rm README.md; echo x >README.md; git commit -qm x README.md; git show HEAD~:README.md >README.new; mv README.new README.md; git add README.md",
    ];
    for script in scripts {
        let world = World::after(script);
        let said = world.goes_and_comes_back(&[]);
        assert!(said.stderr.contains("committed as "), "{script}: {said}");
        world.restore(&[]).ok();
        let count = world.git(&["rev-list", "--count", "main..HEAD"]);
        assert_eq!(count, "3", "{script}: in scope, out of scope, undone");
        let changed = world.git(&["diff", "--name-only", "main", "HEAD"]);
        assert_eq!(changed, "src/done.rs", "{script}");
    }
}

#[test]
fn what_the_scope_excludes_and_was_committed_is_undone() {
    let world = World::after(
        "mkdir secrets; echo mine >secrets/key.pem; git add --sparse secrets/key.pem; git commit -qm x secrets/key.pem",
    );
    let _ = world.goes_and_comes_back(&[]);
    world.restore(&[]).ok();
    let changed = world.git(&["diff", "--name-only", "main", "HEAD"]);
    assert_eq!(changed, "src/done.rs");
    assert_eq!(
        world.git(&["ls-files", "-t", "secrets"]),
        "S secrets/key.pem"
    );
}

#[test]
fn the_new_commit_says_what_it_does_and_is_the_users() {
    let world = World::after(
        "rm README.md; echo x >README.md; git rm -q docs/api.md; git commit -qm x README.md docs",
    );
    let before = world.git(&["rev-parse", "HEAD"]);
    let said = world.restore(&[]);
    assert_snapshot!(without_time(&said), @"
    modified  README.md
    deleted   docs/api.md
    --- stderr
    task: put back 2 paths
    committed as 7ca9d530b7
    saved what was there as refs/agentwt/rescue/task/TIME; to bring it back: git agentwt restore task --undo
    --- status 0
    ");
    let log = world.git(&["log", "-1", "--format=%an <%ae>%n%B"]);
    assert_snapshot!(log, @"
    Ada <ada@example.invalid>
    Restore 2 paths to af82e40edf

      README.md
      docs/api.md
    ");
    assert_eq!(world.git(&["rev-parse", "HEAD~"]), before);
    assert_eq!(
        world.git(&["rev-parse", "HEAD@{1}"]),
        before,
        "the reflog has it"
    );
    let json = world.restore(&["--undo", "-n", "--json"]).ok();
    assert!(json.contains(&format!("\"to\": \"{before}\"")), "{json}");
}

#[test]
fn the_rescue_commit_shows_what_was_there() {
    let world =
        World::after("rm README.md; echo x >README.md; git add README.md; echo y >README.md");
    world.restore(&[]).ok();
    let rescue = world
        .repo
        .git(&["for-each-ref", "--format=%(refname)", "refs/agentwt"]);
    let show = |what: &str| world.git(&["show", &format!("{rescue}{what}")]);
    assert_eq!(show(":README.md"), "y");
    assert_eq!(show("^2:index/0/README.md"), "x");
    assert_eq!(
        world.git(&["diff", "--name-only", "HEAD", &rescue]),
        "README.md"
    );
}

#[test]
fn upstream_work_that_was_merged_stays() {
    let world = World::new();
    world.repo.write("docs/api.md", "api v2\n");
    world.repo.write("docs/more.md", "more\n");
    world.repo.commit_all("two");
    world.sh(
        "git reset -q src/later.rs; git stash -q; git merge -q main; git stash pop -q
         rm docs/api.md README.md; echo x >docs/api.md; echo x >README.md; git commit -qm x docs README.md; rm docs/more.md",
    );
    let _ = world.goes_and_comes_back(&[]);
    world.restore(&[]).ok();
    assert_eq!(text(&world.worktree.join("docs/api.md")), "api v2\n");
    assert_eq!(text(&world.worktree.join("docs/more.md")), "more\n");
    assert_eq!(
        world.git(&["diff", "--name-only", "main", "HEAD"]),
        "src/done.rs"
    );
}

#[test]
fn in_a_merge_what_upstream_brings_is_put_back() {
    let world = World::new();
    world.repo.write("docs/api.md", "api v2\n");
    world.repo.commit_all("two");
    world.sh(
        "git reset -q src/later.rs; git stash -q; git merge -q --no-ff --no-commit main
         rm docs/api.md README.md; echo mine >docs/api.md; git add docs/api.md",
    );
    let before = world.everything(".");
    world.restore(&[]).ok();
    assert_eq!(text(&world.worktree.join("docs/api.md")), "api v2\n");
    assert_eq!(text(&world.worktree.join("README.md")), "read me\n");
    assert!(
        !world.findings().contains(" violation"),
        "{}",
        world.findings()
    );
    world.restore(&["--undo"]).ok();
    assert_eq!(world.everything("."), before);
    world.restore(&[]).ok();
    world.sh("git commit -qm merge");
    assert!(
        !world.findings().contains(" violation"),
        "{}",
        world.findings()
    );
}

#[test]
fn a_conflict_out_of_scope_gets_what_is_in_order_and_comes_back_as_a_conflict() {
    let world = World::new();
    world.sh(
        "git reset -q src/later.rs; git stash -q; git switch -q -c side; rm README.md; echo side >README.md; echo s >src/main.rs
         git commit -qam side; git switch -q agentwt/task; echo t >src/main.rs; git commit -qam ours
         git merge -q side || :
         printf '100644 %s 1\\tREADME.md\\n100644 %s 2\\tREADME.md\\n100644 %s 3\\tREADME.md\\n' \\
            $(git rev-parse HEAD:README.md HEAD:README.md side:README.md) >../stages
         printf '0 0000000000000000000000000000000000000000\\tREADME.md\\n' | cat - ../stages | git update-index --index-info; rm ../stages",
    );
    let before = world.everything(".");
    assert_eq!(world.git(&["ls-files", "-u"]).lines().count(), 6);
    // the commit on `side`, which was made there, is left
    world.restore(&[]).fails(1);
    let unmerged = world.git(&["ls-files", "-u"]);
    assert_eq!(unmerged.lines().count(), 3, "{unmerged}");
    assert_eq!(text(&world.worktree.join("README.md")), "read me\n");
    world.restore(&["--undo"]).ok();
    assert_eq!(world.everything("."), before);
}

#[test]
fn commits_are_not_undone_in_the_middle_of_something() {
    let world = World::after(
        "git reset -q src/later.rs; git stash -q; rm README.md; echo x >README.md; git commit -qam x; rm docs/api.md
         git switch -q -c side HEAD~; echo s >src/main.rs; git commit -qm side src/main.rs
         git switch -q agentwt/task; echo t >src/main.rs; git commit -qm ours src/main.rs
         git merge -q side || :",
    );
    assert_snapshot!(world.refuses(4, &[]), @"
    --- stderr
    error: cannot undo commits of worktree `task`: a merge is in progress
    help: see it: git -C $TMP/repo/.agentwt/worktrees/task status; finish it: git -C $TMP/repo/.agentwt/worktrees/task merge --continue; or drop it, with what is resolved by now: git -C $TMP/repo/.agentwt/worktrees/task merge --abort; changes that are not committed can be named: git agentwt restore task <path>
    --- status 4
    ");
    let _ = world.restore(&["docs"]).fails(1);
    assert_eq!(text(&world.worktree.join("docs/api.md")), "api v1\n");
    assert_eq!(text(&world.worktree.join("README.md")), "x\n");
    world.sh("git merge --abort; git checkout -q --detach");
    let said = world.refuses(4, &[]);
    assert!(said.stderr.contains("switch agentwt/task"), "{said}");
}

#[test]
fn the_option_that_made_commits_anew_names_the_new_way() {
    let world = World::after("rm README.md; echo x >README.md; git commit -qm x README.md");
    assert_snapshot!(world.refuses(2, &["--rewrite"]), @"
    --- stderr
    error: `restore --rewrite` was removed
    help: to undo the commits by a new commit, leave out --rewrite; to land the work as one commit: git agentwt land --squash
    --- status 2
    ");
}

#[test]
fn a_pushed_commit_counts_until_a_push_replaces_it() {
    let world = World::after("rm README.md; echo x >README.md; git commit -qm x README.md");
    world.sh("git init -q --bare ../../../../remote.git; git remote add origin ../../../../remote.git; git push -q origin HEAD");
    let said = world.restore(&[]);
    assert_eq!(said.status, 1, "{said}");
    assert!(
        said.stderr.contains("to see which refs have such a commit"),
        "{said}"
    );
    world.sh("git push -q origin HEAD");
    let findings = world.findings();
    assert!(!findings.contains("violation"), "{findings}");
}

/// A commit on the worktree's branch cannot undo what another branch has.
#[test]
fn what_only_another_branch_has_is_left_and_the_report_names_the_branch() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let script =
        "git switch -q -c side; chmod u+w README.md; echo x >>README.md; git commit -q -a -m x
        mkdir .venv; echo '*' >.venv/.gitignore; git switch -q agentwt/task";
    repo.sh(&worktree, script).ok();
    let verified = repo.agentwt(&["verify", "task"]);
    assert!(verified.stderr.contains("git branch -D side"), "{verified}");
    assert!(!verified.stderr.contains("agentwt restore"), "{verified}");
    let restored = repo.agentwt(&["restore", "task"]);
    let _ = restored.fails(1);
    assert!(
        restored.stderr.contains("task: nothing to restore"),
        "{restored}"
    );
    assert!(worktree.join(".venv/.gitignore").exists(), "a notice stays");
    repo.git(&["branch", "-D", "side"]);
    repo.agentwt(&["verify", "task"]).ok();
}
