
# Completes the names of the worktrees of this repository: their records are directories.
(( $+functions[_git_agentwt_names] )) ||
_git_agentwt_names() {
    local common
    common=$(git rev-parse --git-common-dir 2>/dev/null) || return 1
    local -a names
    names=("$common"/agentwt/worktrees/*(N/:t))
    _describe -t worktrees 'worktree' names
}
