//! Whatever somebody has done in a worktree comes back.

use super::world::World;
use crate::support::TestRepo;

#[track_caller]
fn comes_back(script: &str) {
    for strategy in ["worktree", "clone"] {
        let world = World::with(TestRepo::project(), strategy);
        world.sh(script);
        let _ = world.goes_and_comes_back(&[]);
    }
}

#[test]
fn a_worktree_in_which_nobody_has_worked() {
    comes_back("");
}

#[test]
fn what_is_staged_and_not_and_both() {
    comes_back(
        "echo s >>src/main.rs; git add src/main.rs; echo d >>src/main.rs; echo u >>src/mod/util.rs
        echo n >src/staged.rs; git add src/staged.rs; rm src/staged.rs; git rm -q --cached tests/t.rs
        echo '{1}' >package.json; git add package.json; git show HEAD:package.json >package.json",
    );
}

#[test]
fn new_files_deletions_and_renames() {
    comes_back(
        "echo n >src/new.rs; mkdir -p src/deep/er; echo n >src/deep/er/f; rm tests/t.rs
        git mv src/mod/util.rs src/moved.rs; chmod +x src/main.rs; echo later >src/later.rs; git add -N src/later.rs
        echo announced >src/gone.rs; git add -N src/gone.rs; rm src/gone.rs",
    );
}

#[test]
fn odd_names_links_and_empty_directories() {
    comes_back(
        "mkdir -p 'src/a b' src/empty/inner \"$(printf 'src/d\\351')\"; printf x >\"$(printf 'src/a b/caf\\351\\n\\t\"q\"')\"
        printf x >\"$(printf 'src/d\\351/f')\"; printf x >./-n; ln -s /nowhere src/out; ln -s main.rs src/near
        git add 'src/a b'; mkdir \"$(printf 'src/e\\351')\"; printf 'crlf\\r\\n\\0\\377' >src/bytes",
    );
}

#[test]
fn a_file_in_the_place_of_a_directory_and_the_other_way_round() {
    comes_back(
        "chmod -R u+w docs README.md; rm -r docs; ln -s /nowhere docs; rm README.md; mkdir README.md; echo f >README.md/f
        rm -r src/mod; echo file >src/mod; rm tests/t.rs; mkdir tests/t.rs; git add -A tests",
    );
}

#[test]
fn permissions_of_files_and_directories() {
    comes_back(
        "chmod u+w README.md; chmod 600 src/main.rs; echo key >src/key; chmod 400 src/key; chmod 750 src/mod
        mkdir src/closed; echo x >src/closed/f; chmod 444 src/closed/f; chmod 555 src/closed; chmod 700 docs; chmod 777 tests",
    );
}

#[test]
fn an_excluded_file_that_was_made_present() {
    comes_back(
        "mkdir -p secrets app/secrets; git show HEAD:secrets/key.pem >secrets/key.pem; echo mine >app/secrets/token; echo n >secrets/new",
    );
}

#[test]
fn placed_files_edited_deleted_and_as_they_were() {
    comes_back("chmod u+w .env; echo B=2 >>.env; rm -f cert; chmod 644 certs/a.log");
    comes_back("echo '{2}' >src/local.json; rm -r certs; ln -s src certs");
}

#[test]
fn flags_of_the_index() {
    comes_back(
        "git update-index --assume-unchanged src/main.rs; echo x >>src/main.rs
        git update-index --skip-worktree src/mod/util.rs; echo y >>src/mod/util.rs; git update-index --chmod=+x tests/t.rs",
    );
}

#[test]
fn a_merge_with_conflicts() {
    comes_back(
        "echo ours >src/main.rs; git commit -qam ours; git rm -q tests/t.rs; git commit -qm gone
        (cd $MAIN; echo theirs >src/main.rs; echo t >>tests/t.rs; echo m >src/theirs.rs; git add src/theirs.rs; git commit -qam theirs); upstream
        ! git merge -q main; echo half >src/main.rs",
    );
}

#[test]
fn a_rebase_that_has_stopped() {
    comes_back(
        "echo one >src/main.rs; git commit -qam one; echo two >src/two.rs; git add src/two.rs; git commit -qm two
        (cd $MAIN; echo theirs >src/main.rs; git commit -qam theirs); upstream; ! git rebase -q main; echo half >src/main.rs",
    );
}

#[test]
fn a_rebase_that_has_stopped_can_go_on() {
    let world = World::after(
        "echo one >src/main.rs; git commit -qam one; echo two >src/two.rs; git add src/two.rs; git commit -qm two
        (cd $MAIN; echo theirs >src/main.rs; git commit -qam theirs); ! git rebase -q main",
    );
    let _ = world.goes_and_comes_back(&[]);
    world.sh("echo both >src/main.rs; git add src/main.rs; git rebase --continue");
    assert_eq!(world.sh("git log --format=%s -3"), "two\none\ntheirs");
    assert_eq!(world.sh("git symbolic-ref HEAD"), "refs/heads/agentwt/task");
}

#[test]
fn a_cherry_pick_and_a_revert_with_conflicts_and_a_stash() {
    let script = "echo stashed >src/main.rs; git stash -q; echo a >src/main.rs; git commit -qam a
        echo b >src/main.rs; git commit -qam b; echo c >src/main.rs; git commit -qam c";
    comes_back(&format!("{script}; ! git revert --no-edit HEAD~"));
    comes_back(&format!(
        "{script}; git reset -q --hard HEAD~2; ! git cherry-pick HEAD@{{1}} 2>/dev/null"
    ));
    comes_back(&format!(
        "{script}; git bisect start; git bisect bad; git bisect good HEAD~2"
    ));
}

#[test]
fn a_detached_head_with_commits_of_its_own_and_others_that_were_left() {
    let world = World::after(
        "git commit -q --allow-empty -m branch; git checkout -q --detach; git commit -q --allow-empty -m left
        git checkout -q HEAD~; git commit -q --allow-empty -m detached; git update-ref refs/worktree/mine HEAD
        echo amended >src/main.rs; git commit -qam before; git commit -q --amend -m after; echo n >src/new.rs",
    );
    let _ = world.goes_and_comes_back(&["-D"]);
    // nothing that a reflog names may be collected while it is only in the trash
    world.remove(&["-D"]);
    world
        .repo
        .git(&["reflog", "expire", "--expire=all", "--all"]);
    world.repo.git(&["gc", "-q", "--prune=now"]);
    world.agentwt(&["remove", "--undo", "task"]).ok();
    let subjects = world.sh("git log -g --format=%s HEAD; git show HEAD@{1}:src/main.rs");
    for subject in ["left", "detached", "before", "after", "amended"] {
        assert!(subjects.contains(subject), "{subject}: {subjects}");
    }
}

#[test]
fn a_branch_that_was_deleted_is_made_again_with_its_reflog() {
    let world = World::after("echo x >>src/main.rs; git commit -qam x; echo y >>src/main.rs");
    let _ = world.goes_and_comes_back(&["-D"]);
    world.sh("git commit -qam y");
    assert_eq!(
        world
            .sh("git log -g --format=%gs agentwt/task")
            .lines()
            .count(),
        3
    );
}

#[test]
fn another_branch_that_was_checked_out() {
    comes_back("git switch -qc other; echo x >>src/main.rs; git commit -qam x; echo y >src/y");
}

#[test]
fn a_sha_256_repository() {
    let repo = TestRepo::empty_with(&["--object-format=sha256"]);
    repo.fill();
    let world = World::of(repo);
    world.sh(
        "echo n >src/new.rs; rm tests/t.rs; echo s >package.json; git add -A; echo d >package.json",
    );
    let _ = world.goes_and_comes_back(&[]);
}

#[test]
fn line_endings_and_filters_come_back_byte_by_byte() {
    let repo = TestRepo::project();
    repo.write(".gitattributes", "*.rs text eol=crlf\n");
    repo.commit_all("attributes");
    let world = World::of(repo);
    world.sh(
        "printf 'lf\\n' >src/lf.rs; git add src/lf.rs; git commit -qm lf; printf 'mixed\\r\\nlf\\n' >src/main.rs
        printf 'new\\n' >src/new.rs",
    );
    let _ = world.goes_and_comes_back(&[]);
}

#[test]
fn work_goes_on_after_it_came_back() {
    let world = World::after("echo n >src/new.rs");
    let _ = world.goes_and_comes_back(&[]);
    world.sh("git add src/new.rs; git commit -qm new; chmod u+w README.md; echo x >>README.md; git commit -qam out");
    assert!(world.repo.findings(&world.worktree).contains("README.md"));
    world.agentwt(&["sync", "task", "--status"]).ok();
    let _ = world.goes_and_comes_back(&[]);
    world.agentwt(&["hooks", "status", "task"]).ok();
    world.sh("git reset -q --hard main");
    world.agentwt(&["remove", "task"]).ok();
}
