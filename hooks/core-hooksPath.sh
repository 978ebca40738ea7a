#!/bin/sh
# Stands for every hook while core.hooksPath is this directory (git before 2.54): runs the user's
# hook of this name with the same input, arguments and environment, then ours; the user's status is git's.
agentwt_hook=${0##*/} agentwt_state=${0%/hooks/*} agentwt_users='' agentwt_status=0
agentwt_common=$agentwt_state/.. # of a clone
[ ! -e "$agentwt_common/commondir" ] || agentwt_common=$agentwt_state/../../..
[ -n "$GIT_DIR" ] || [ ! -d .git/agentwt ] || GIT_DIR=.git # a clone: git does not say
agentwt_ours=$agentwt_state/hooks/agentwt.d/$agentwt_hook
[ -n "$GIT_DIR" ] && [ -x "$agentwt_ours" ] || agentwt_ours=
case $agentwt_hook:$GIT_DIR in post-checkout:) # `git worktree add`, in the new worktree
    [ ! -d "$agentwt_state" ] || echo "worktree $PWD" >>"$agentwt_state/journal" ;;
esac
# Where the user's hooks are, git-agentwt writes down each time it starts; git is asked where a
# configuration is newer than that.
while IFS= read -r agentwt_line; do
    agentwt_users=${agentwt_users:+$agentwt_users
}$agentwt_line
done 2>/dev/null <"$agentwt_state/users"
for agentwt_file in "$agentwt_common/config" "$agentwt_state/../config.worktree" \
    "$HOME/.gitconfig" "${XDG_CONFIG_HOME:-$HOME/.config}/git/config"; do
    # shellcheck disable=SC3013 # dash, bash, busybox and zsh have -nt
    [ ! "$agentwt_file" -nt "$agentwt_state/users" ] || agentwt_users=
done
if [ -z "$agentwt_users" ]; then
    agentwt_users=$agentwt_common/hooks
    while IFS= read -r agentwt_line; do # scope<TAB>path; the last that is not ours would have won
        case $agentwt_line in "" | command*) continue ;; esac
        agentwt_line=${agentwt_line#*[[:space:]]}
        [ -d "$agentwt_line/agentwt.d" ] || agentwt_users=$agentwt_line
    done <<EOF
$(unset -v GIT_CONFIG && git config --show-scope --type=path --get-all core.hooksPath)
EOF
fi
case $GIT_DIR:$agentwt_users in # `git worktree add` means it from where it was called
:[!/]*) IFS= read -r agentwt_line <"$agentwt_state/../gitdir" && agentwt_users=${agentwt_line%.git}$agentwt_users ;;
esac
agentwt_user=$agentwt_users/$agentwt_hook
if [ -f "$agentwt_user" ] && [ -x "$agentwt_user" ]; then
    [ -n "$agentwt_ours" ] || exec "$agentwt_user" "$@"
    case $agentwt_hook in
    reference-transaction) # both read what git says, which may be nothing
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
