# shellcheck shell=bash
# Changes to a worktree of git-agentwt: `awt task-5`; `awt -` goes back, `awt` to the main worktree.
awt() {
    case ${1-} in
    -) cd - || return ;;
    '')
        set -- "$(git rev-parse --path-format=absolute --git-common-dir)" || return
        [ -n "$1" ] && { cd "${1%/.git}" || return; }
        ;;
    *)
        set -- "$(git agentwt path "$1")" || return
        [ -n "$1" ] && { cd "$1" || return; }
        ;;
    esac
}
_awt_names() {
    local common
    common=$(git rev-parse --git-common-dir 2>/dev/null) || return
    ls "$common/agentwt/worktrees" 2>/dev/null
}
