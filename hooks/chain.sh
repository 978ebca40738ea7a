#!/bin/sh
# Stands for every hook while core.hooksPath is this directory (git before 2.54): runs the user's
# hook of this name where git would have found it, then ours; the user's status is git's.
[ -n "$GIT_DIR" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git # a clone: git does not say
agentwt_hook=${0##*/}
agentwt_admin=${GIT_DIR:-${0%/agentwt/hooks/*}}
agentwt_ours=$GIT_DIR/agentwt/hooks/agentwt.d/$agentwt_hook agentwt_acted=
[ -n "$GIT_DIR" ] && [ -x "$agentwt_ours" ] || agentwt_ours=
case $agentwt_hook:${1-} in post-index-change:[!1]*) agentwt_ours= ;; esac # it would not act
# Git has to be asked: once for all the hooks of one command, as it reads its settings once itself.
# What was found stays in a file with the number of that git's process; a later process of the same
# number is newer than the file.
agentwt_found=$agentwt_admin/agentwt/chained
agentwt_recall() {
    unset -v agentwt_dir agentwt_known agentwt_alone
    { IFS= read -r agentwt_known && IFS= read -r agentwt_dir && read -r agentwt_alone; } 2>/dev/null <"$agentwt_found"
    case ${agentwt_known-} in
    "$PPID set") ;;
    "$PPID unset") unset -v agentwt_dir ;;
    *)
        unset -v agentwt_dir agentwt_known
        return 1
        ;;
    esac
}
unset -v agentwt_dir agentwt_known
# shellcheck disable=SC3013 # a sh without -nt asks git every time
if [ -d "/proc/$PPID" ] && [ "$agentwt_found" -nt "/proc/$PPID" ] 2>/dev/null; then
    agentwt_recall
fi
case $agentwt_hook:$agentwt_ours:${agentwt_known-} in
post-index-change:?*:)
    # ours finds out by itself, and acts where the user has no such hook: this is the first one when git
    # has changed files, and a start of git takes as long as all the rest
    # (a `:` that cannot be redirected would end the shell)
    if true 2>/dev/null >"$agentwt_found"; then
        # shellcheck source=/dev/null
        (export GIT_AGENTWT_CHAIN="$PPID" && . "$agentwt_ours")
        agentwt_recall && agentwt_acted=${agentwt_alone-}
    fi
    ;;
esac
if [ -z "${agentwt_known+set}" ]; then
    agentwt_known="$PPID unset"
    while IFS= read -r agentwt_line; do # scope<TAB>path; the last that is not ours would have won
        case $agentwt_line in "" | command*) continue ;; esac
        agentwt_line=${agentwt_line#*[[:space:]]}
        [ -d "$agentwt_line/agentwt.d" ] || agentwt_dir=$agentwt_line agentwt_known="$PPID set"
    done <<EOF
$(unset -v GIT_CONFIG && git config --show-scope --type=path --get-all core.hooksPath)
EOF
    [ ! -w "$agentwt_admin/agentwt" ] ||
        printf '%s\n' "$agentwt_known" "${agentwt_dir-}" 2>/dev/null >"$agentwt_found"
fi
# `git worktree add` starts post-checkout in the new worktree, without GIT_DIR, and means a relative
# path from the root of the worktree in which it was called: the one that this script is for.
if [ -z "${agentwt_dir+set}" ]; then
    agentwt_dir=. # of a clone; else ../.. unless somebody moved it
    [ ! -e "$agentwt_admin/commondir" ] || IFS= read -r agentwt_dir <"$agentwt_admin/commondir"
    case $agentwt_dir:$agentwt_admin in
    ../..:/*[!/]) agentwt_dir=${agentwt_admin%/*/*}/hooks ;;
    /*) agentwt_dir=$agentwt_dir/hooks ;;
    *) agentwt_dir=$agentwt_admin/$agentwt_dir/hooks ;;
    esac
elif [ -z "$GIT_DIR" ] && [ "${agentwt_dir#/}" = "$agentwt_dir" ]; then
    [ -e "$agentwt_admin/gitdir" ] && IFS= read -r agentwt_line <"$agentwt_admin/gitdir" &&
        agentwt_dir=${agentwt_line%.git}$agentwt_dir
fi
if [ -z "$GIT_DIR" ] && [ "$agentwt_hook" = post-checkout ] && [ -d "$agentwt_admin/agentwt" ]; then
    echo "worktree $PWD" >>"$agentwt_admin/agentwt/journal" # made from this worktree
fi
agentwt_user=$agentwt_dir/$agentwt_hook agentwt_status=0
if [ -f "$agentwt_user" ] && [ -x "$agentwt_user" ]; then
    [ -n "$agentwt_ours" ] || exec "$agentwt_user" "$@"
    case $agentwt_hook in
    reference-transaction) # both are to read what git says, which may be nothing
        agentwt_said=$(cat)
        agentwt_tell() {
            [ -n "$agentwt_said" ] || exec "$@" </dev/null
            exec "$@" <<EOF
$agentwt_said
EOF
        }
        (agentwt_tell "$agentwt_user" "$@") || exit
        agentwt_tell "$agentwt_ours" "$@"
        ;;
    esac
    "$agentwt_user" "$@" || agentwt_status=$?
elif [ -n "$agentwt_acted" ]; then
    exit 0
fi
case $agentwt_ours:$agentwt_status in
:* | */pre-commit:*[!0]*) exit "$agentwt_status" ;;
*:0)
    # in this very shell, which starts one process fewer; it ends it
    # shellcheck source=/dev/null
    . "$agentwt_ours"
    ;;
esac
"$agentwt_ours" "$@"
exit "$agentwt_status"
