#!/bin/sh
# Starts `git-agentwt hook <name of this file> <arguments>`. A fault of ours is never git's: only status
# 1 ("violations found") of the two hooks that ask first counts.
[ -n "$GIT_DIR" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git # git does not say it in a clone
event=${0##*/} state=$GIT_DIR/agentwt bin='' last='' status=127
[ -n "$GIT_DIR" ] && [ -d "$state" ] && [ -z "$GIT_AGENTWT_IN_HOOK" ] || exit 0
case $event:$1 in post-index-change:1) ;; post-index-change:*) exit 0 ;; esac
[ ! -r "$state/bin" ] || IFS= read -r bin <"$state/bin"
why="no $bin, and no git-agentwt on PATH"
[ -f "$bin" ] && [ -x "$bin" ] || bin=$(command -v git-agentwt)
export GIT_AGENTWT_IN_HOOK=1
case $event in ref-update) exec 4<&0 ;; *) exec 4</dev/null ;; esac
exec 3>&2 2>/dev/null # where sh itself says "Killed", late
if [ -n "$bin" ]; then
    (exec "$bin" hook "$event" "$@" <&4 4<&- 2>&3 3>&-)
    status=$? why="$bin ended with status $status"
fi
case $event:$status in pre-commit:1 | ref-update:1) exit 1 ;; esac
case $event in post-checkout | post-index-change) exit 0 ;; esac
[ "$status" -ge 126 ] || exit 0 # else the binary has said what is wrong
[ ! -r "$state/hooks/warned" ] || read -r last <"$state/hooks/warned"
[ "$last" != "$PPID" ] || exit 0 # one line for each run of git
echo "$PPID" >"$state/hooks/warned"
echo "git-agentwt: $event did not verify: $why" >&3
exit 0
