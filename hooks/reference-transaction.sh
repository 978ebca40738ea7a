#!/bin/sh
# reference-transaction (githooks(5)): keeps what was done to refs from this worktree, a line each,
# "<old> <new> <ref>", for `verify` to tell whose a move was. It only appends: a rebase runs it a
# hundred times. A commit on its way (prepare-commit-msg has just been here, in the same git) is
# asked about first where a violation blocks; inside a rebase or a pick a "no" would leave git
# half-way.
[ -n "$GIT_DIR" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git # a clone: git does not say
state=$GIT_DIR/agentwt
[ -n "$GIT_DIR" ] && [ -d "$state" ] || exit 0
case $1 in
committed) # read here: it is a line or two, and a cat takes longer to start
    said=
    while IFS= read -r line; do
        said="$said$line
"
        [ "${#said}" -lt 4000 ] || { printf %s "$said" && said='' && exec cat; } >>"$state/journal"
    done
    printf %s "$said" >>"$state/journal"
    exit
    ;;
prepared) [ -r "$state/committing" ] && IFS= read -r git <"$state/committing" ;;
esac
[ -n "$git" ] && [ "$git" = "$PPID" ] || exit 0
for busy in rebase-merge rebase-apply sequencer CHERRY_PICK_HEAD REVERT_HEAD; do
    [ ! -e "$GIT_DIR/$busy" ] || exit 0
done
exec "$state/hooks/agentwt.d/ref-update"
