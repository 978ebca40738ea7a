#!/bin/sh
# What a user does in the worktree $ROOT/wt; `short` leaves the rare half out. Each command is
# written into both logs ahead of what its hooks write.
exec 2>&1
run() {
    echo "== $*" | tee -a "$LOGS/user" "$LOGS/ours"
    "$@" </dev/null
    echo "status $?"
}
put() { printf '%s\n' "$2" >"$1"; }
# Plumbing in the main worktree, where no hook runs.
bare() { GIT_DIR=$ROOT/main/.git GIT_INDEX_FILE=$ROOT/scratch git -c core.hooksPath=/dev/null "$@"; }
# branch NAME FILE TEXT: a branch one commit ahead of HEAD.
branch() {
    head=$(git rev-parse HEAD)
    blob=$(printf '%s\n' "$3" | bare hash-object -w --stdin)
    bare read-tree "$head"
    bare update-index --add --cacheinfo "100644,$blob,$2"
    bare update-ref "refs/heads/$1" "$(bare commit-tree "$(bare write-tree)" -p "$head" -m "$1")"
}
cd "$ROOT/wt" || exit 9

put a 1
run git add a
run git commit -qm one
put a 2
run git commit -qm path -- a
run git commit -q --amend -m amended
put a 3
run env FAIL=pre-commit:1 git commit -qam refused
run env FAIL=commit-msg:7 git commit -qam refused
run env FAIL=pre-commit:1 git commit -q --no-verify -am forced
run env FAIL=post-commit:4 git commit -q --allow-empty -m status-of-post-commit
run git log -1 --format=%B
branch ff b 1
run git merge -q ff
branch up c 1
put a 4
run git commit -qam four
run git rebase -q up
run git checkout -q -b other
run env FAIL=post-checkout:3 git checkout -q topic
run git push -q origin topic
run env FAIL=pre-push:1 git push -q origin topic:refused
run git worktree add -q ../wt2
run git -C ../wt2 commit -q --allow-empty -m inherited
[ "$1" = short ] && exit 0

branch side d 1
put a 5
run git commit -qam five
run git merge -q side -m merged
branch squash e 1
run git merge -q --squash squash
run git commit -qm squashed
branch conflict a other
put a 6
run git commit -qam six
run git merge -q conflict
put a 7
run git commit -qam resolved
branch up2 f 1
put a 8
run git commit -qam eight
run git rebase -q --apply up2
branch mail g 1
bare format-patch -q -1 --stdout mail >"$ROOT/patch"
run git am -q "$ROOT/patch"
branch pick h 1
run git cherry-pick pick
run git revert --no-edit HEAD
put a 9
run git stash -q
run git stash pop -q
run git reset -q --hard
run git checkout -q other
run env FAIL=post-checkout:3 git restore a
run git rebase -q topic
mkdir sub
put sub/x 1
run git add .
cd sub || exit 9
run git commit -qm below
