#!/bin/sh
# A user's hook under any name: writes down all that it was given, edits the message if it is
# commit-msg, and ends as FAIL=<name>:<status> says. Builtins only, because it runs often.
name=${0##*/} log=$LOGS/user
# Whether git refreshes an index depends on the clock: not compared.
[ "$name:$1" = post-index-change:0 ] && log=$LOGS/refreshed
{
    echo "hook $name, called as $0, in $(pwd)"
    for argument; do echo "argument <$argument>"; done
    while IFS= read -r line; do echo "stdin $line"; done
    export -p
} >>"$log"
[ "$log" = "$LOGS/user" ] && echo "said by $name"
[ "$name" = commit-msg ] && echo "edited by the hook" >>"$1"
[ "${FAIL%:*}" = "$name" ] && exit "${FAIL#*:}"
exit 0
