#!/bin/sh
# Keeps the moves of refs from this worktree, "<old> <new> <ref>" a line, for `verify`; asks about the commit of
# prepare-commit-msg's git first. Not in a rebase or a pick: a "no" would leave git half-way.
[ -n "$GIT_DIR" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git # git does not say it in a clone
state=$GIT_DIR/agentwt said=
[ -n "$GIT_DIR" ] && [ -d "$state" ] || exit 0
case $1 in
committed) # a line or two, mostly; a cat takes longer to start
    while IFS= read -r line; do
        said="$said$line
"
        [ "${#said}" -lt 4000 ] || { printf %s "$said" && said='' && exec cat; } >>"$state/journal"
    done
    printf %s "$said" >>"$state/journal"
    exit ;;
prepared) [ -r "$state/committing" ] && IFS= read -r git <"$state/committing" && [ "$git" = "$PPID" ] || exit 0 ;;
*) exit 0 ;;
esac
for busy in rebase-merge rebase-apply sequencer CHERRY_PICK_HEAD REVERT_HEAD; do
    [ ! -e "$GIT_DIR/$busy" ] || exit 0
done
exec "$state/hooks/agentwt.d/ref-update"
