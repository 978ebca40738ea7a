_awt() {
    local -a names
    names=(${(f)"$(_awt_names)"})
    _describe -t worktrees 'worktree' names
}
(( $+functions[compdef] )) && compdef _awt awt
