#!/bin/sh
# Starts `git-agentwt hook <name of this file> <arguments>`. No fault of ours becomes git's: only
# status 1 ("violations found") of the two that ask first counts. Its state is found from GIT_DIR
# alone, which git sets in a linked worktree; a clone has it in `.git`.
[ -n "$GIT_DIR" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git # a clone: git does not say
event=${0##*/} state=$GIT_DIR/agentwt bin='' last=''
[ -n "$GIT_DIR" ] && [ -d "$state" ] && [ -z "$GIT_AGENTWT_IN_HOOK" ] || exit 0
case $event:$1 in post-index-change:1) ;; post-index-change:*) exit 0 ;; esac
[ -r "$state/bin" ] && IFS= read -r bin <"$state/bin"
recorded=$bin
[ -f "$bin" ] && [ -x "$bin" ] || bin=$(command -v git-agentwt)
export GIT_AGENTWT_IN_HOOK=1
case $event in ref-update) exec 4<&0 ;; *) exec 4</dev/null ;; esac
exec 3>&2 2>/dev/null # where sh itself would say "Killed", also later: it flushes late
status=127
if [ -n "$bin" ]; then
    (exec "$bin" hook "$event" "$@" <&4 4<&- 2>&3 3>&-)
    status=$?
fi
case $event:$status in pre-commit:1 | ref-update:1) exit 1 ;; esac
[ "$status" -lt 126 ] && exit 0 # below that the binary has said itself what is wrong
case $event in post-checkout | post-index-change) exit 0 ;; esac
[ -r "$state/hooks/warned" ] && read -r last <"$state/hooks/warned"
[ "$last" = "$PPID" ] && exit 0 # one line for each run of git, however many hooks it starts
echo "$PPID" >"$state/hooks/warned"
[ -n "$bin" ] && why="$bin ended with status $status" || why="no $recorded, and no git-agentwt on PATH"
echo "git-agentwt: $event did not verify: $why" >&3
exit 0
