#!/bin/sh
# --no-verify does not skip this hook: tells reference-transaction which git is about to commit.
[ -n "$GIT_DIR" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git # git does not say it in a clone
[ -z "$GIT_DIR" ] || [ ! -d "$GIT_DIR/agentwt" ] || echo "$PPID" >"$GIT_DIR/agentwt/committing"
exit 0
