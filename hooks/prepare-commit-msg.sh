#!/bin/sh
# prepare-commit-msg (githooks(5)), which --no-verify does not skip: leaves word of which git is
# about to make a commit, for the reference-transaction that follows.
[ -n "$GIT_DIR" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git # a clone: git does not say
[ -n "$GIT_DIR" ] && [ -d "$GIT_DIR/agentwt" ] && echo "$PPID" >"$GIT_DIR/agentwt/committing"
exit 0
