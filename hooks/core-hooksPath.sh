#!/bin/sh
# Stands for every hook where core.hooksPath is this directory (git before 2.54): runs the user's
# hook of this name with the same input, arguments and environment, then ours. The user's status is git's.
agentwt_hook=${0##*/} agentwt_state=${0%/hooks/*} agentwt_users='' agentwt_status=0
[ -n "$GIT_DIR" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git # git does not say it in a clone
agentwt_ours=$agentwt_state/hooks/agentwt.d/$agentwt_hook agentwt_common=$agentwt_state/..
[ -n "$GIT_DIR" ] && [ -x "$agentwt_ours" ] || agentwt_ours=
[ ! -e "$agentwt_common/commondir" ] || agentwt_common=$agentwt_state/../../..
case $agentwt_hook:$GIT_DIR in post-checkout:) # `git worktree add`, in the new worktree
    [ ! -d "$agentwt_state" ] || echo "worktree $PWD" >>"$agentwt_state/journal" ;;
esac
# git-agentwt writes the directory of the user's hooks at each start; git knows it where a configuration is newer.
[ ! -r "$agentwt_state/users" ] || IFS= read -r agentwt_users <"$agentwt_state/users"
for agentwt_file in "$agentwt_common/config" "$agentwt_state/../config.worktree" "$HOME/.gitconfig" "${XDG_CONFIG_HOME:-$HOME/.config}/git/config"; do
    # shellcheck disable=SC3013 # dash, bash, busybox and zsh have -nt
    [ ! "$agentwt_file" -nt "$agentwt_state/users" ] || agentwt_users=
done
if [ -z "$agentwt_users" ]; then
    agentwt_users=$agentwt_common/hooks
    while IFS= read -r agentwt_line; do # scope<TAB>path; the last that is not ours counts
        case $agentwt_line in "" | command*) continue ;; esac
        agentwt_line=${agentwt_line#*[[:space:]]}
        [ -d "$agentwt_line/agentwt.d" ] || agentwt_users=$agentwt_line
    done <<EOF
$(unset -v GIT_CONFIG && git config --show-scope --type=path --get-all core.hooksPath)
EOF
fi
case $GIT_DIR:$agentwt_users in :[!/]*) # relative to where `git worktree add` was called
    IFS= read -r agentwt_line <"$agentwt_state/../gitdir" && agentwt_users=${agentwt_line%.git}$agentwt_users ;;
esac
agentwt_user=$agentwt_users/$agentwt_hook
[ -f "$agentwt_user" ] && [ -x "$agentwt_user" ] || agentwt_user=
case $agentwt_hook:$agentwt_user in reference-transaction:* | *:) ;;
*) # the variables of the worktree, where it is ours
    # shellcheck disable=SC3013 # as above
    if [ "$GIT_DIR/agentwt" -ef "$agentwt_state" ] && IFS= read -r agentwt_line <"$agentwt_state/bin"; then
        eval "$("$agentwt_line" env 2>/dev/null)"
    fi ;;
esac
case $agentwt_hook:$agentwt_user:$agentwt_ours in
*::) exit 0 ;;
*:) exec "$agentwt_user" "$@" ;;
reference-transaction:[!:]*) # both read the same input
    agentwt_said=$agentwt_state/said.$$
    cat >"$agentwt_said"
    # what is committed is written down before the user's hook, which may take its time; git ignores its "no"
    [ "$1" != committed ] || "$agentwt_ours" "$@" <"$agentwt_said"
    "$agentwt_user" "$@" <"$agentwt_said" || agentwt_status=$?
    case $1:$agentwt_status in
    committed:*) ;;
    *:0) "$agentwt_ours" "$@" <"$agentwt_said" || agentwt_status=$? ;;
    esac
    rm -f "$agentwt_said"
    exit "$agentwt_status" ;;
esac
[ -z "$agentwt_user" ] || "$agentwt_user" "$@" || agentwt_status=$?
# shellcheck source=/dev/null
case $agentwt_hook:$agentwt_status in
pre-commit:[!0]*) exit "$agentwt_status" ;;
*:0) . "$agentwt_ours" ;; # in this shell, which starts one process fewer, and ends it
esac
"$agentwt_ours" "$@"
exit "$agentwt_status"
