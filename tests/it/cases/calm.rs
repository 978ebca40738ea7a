//! What an agent may well do, and nobody may be told: not a single finding.

use super::Case;

/// No finding after each of these, in a new worktree for each.
#[track_caller]
fn calm(scripts: &[&str]) {
    for script in scripts {
        let case = Case::new();
        case.does(script);
        assert_eq!(case.findings(), "", "{script}");
    }
}

#[test]
fn work_in_scope() {
    calm(&[
        "rm -rf src tests package.json",
        "echo x >>src/main.rs; git stash -q; git stash pop -q; git add -A; git reset -q",
        "for i in 1 2 3; do echo $i >>src/main.rs; git commit -q -a -m $i; done; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~3",
        "echo x >>src/main.rs; commit; git revert --no-edit HEAD >/dev/null; git reset -q --hard HEAD~",
        "for i in 1 2 3 4; do echo $i >>src/main.rs; git commit -q -a -m $i; done; git bisect start HEAD main >/dev/null; git bisect good >/dev/null; git bisect reset >/dev/null 2>&1",
        "printf 'x' >src/a; ln -s a src/b; chmod +x src/a; mkdir src/empty; commit; git mv src/a tests/a; commit",
    ]);
}

#[test]
fn housekeeping() {
    calm(&[
        "echo x >>src/main.rs; commit; git gc -q; git pack-refs --all",
        "git repack -a -d -q; git prune; git update-index -q --really-refresh",
        "git update-index --index-version 4; git update-index --split-index; git update-index --no-split-index",
        "git update-index --untracked-cache; git status >/dev/null",
        "touch -c README.md src/main.rs; git status >/dev/null; git fetch -q . 2>/dev/null",
        "mkdir -p target/debug; echo x >target/debug/o; echo x >build.log; echo x >src/a.log",
    ]);
}

#[test]
fn going_away_and_coming_back() {
    calm(&[
        "git switch -q --detach; git switch -q agentwt/task",
        "git -C \"$MAIN\" branch side; echo x >>src/main.rs; commit; git switch -q side; git switch -q agentwt/task; git -C \"$MAIN\" branch -q -D side",
        "git checkout -q -b side; echo x >>src/main.rs; commit; git switch -q agentwt/task; git merge -q side; git branch -q -d side",
    ]);
}

#[test]
fn taking_over_what_is_new() {
    calm(&[
        "echo x >>tests/t.rs; commit; upstream; git rebase -q main; (cd \"$MAIN\"; echo q >q; git add q; git commit -q -m q); git rebase -q --apply main",
        "echo x >>tests/t.rs; commit; upstream; git merge -q -m m main; (cd \"$MAIN\"; echo q >q; git add q; git commit -q -m q); git rebase -q main",
        "echo x >>tests/t.rs; git stash -q; upstream; git merge -q main; git stash pop -q",
        "echo w >>src/main.rs; commit; upstream; git rebase -q main >/dev/null 2>&1 || true; git checkout -q --theirs src/main.rs; git add src; git rebase --continue >/dev/null 2>&1",
        "echo w >>src/main.rs; commit; upstream; git merge -q main >/dev/null 2>&1 || true",
        "echo x >>tests/t.rs; commit; (cd \"$MAIN\"; git merge -q --squash agentwt/task; git commit -q -m squashed; echo q >q; git add q; git commit -q -m q); git rebase -q main",
        "echo x >>tests/t.rs; commit; git -C \"$MAIN\" merge -q --ff-only agentwt/task; echo y >>tests/t.rs; commit",
        "(cd \"$MAIN\"; echo z >>docs/api.md; git commit -q -a --amend -m again); echo x >>tests/t.rs; commit; git rebase -q --onto main HEAD~",
    ]);
}
