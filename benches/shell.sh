#!/bin/sh
# Makes a scoped worktree with three steps of shell, as one would without git-agentwt; everything
# but src/** is read-only. run.py measures it beside `git agentwt add`.
#   shell.sh <directory> <new branch> [<excluded directory pattern>...]
set -e
directory=$1 branch=$2
shift 2
git worktree add -q --no-checkout -b "$branch" "$directory"
cd "$directory"
for pattern; do # `/packages/` becomes `!/packages/`
    shift
    set -- "$@" "!$pattern"
done
git sparse-checkout set --no-cone '/*' "$@"
git checkout -q
find . -type f ! -path ./.git ! -path './src/*' -print0 | xargs -0 -n 2000 chmod a-w
