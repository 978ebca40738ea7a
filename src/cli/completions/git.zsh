
# Completes the names of the worktrees of this repository: their records are directories.
(( $+functions[_git_agentwt_names] )) ||
_git_agentwt_names() {
    local common
    common=$(git rev-parse --git-common-dir 2>/dev/null) || return 1
    local -a names
    names=("$common"/agentwt/worktrees/*(N/:t))
    _describe -t worktrees 'worktree' names
}

# Completes the profiles of the config in the main worktree.
(( $+functions[_git_agentwt_profiles] )) ||
_git_agentwt_profiles() {
    local common
    common=$(git rev-parse --git-common-dir 2>/dev/null) || return 1
    local -a profiles
    profiles=(${(f)"$(sed -n 's/^ *\[ *scope\.["]*\([^]." ]*\)["]* *].*/\1/p' $common/../.agentwt/config.toml 2>/dev/null)"})
    _describe -t profiles 'profile' profiles
}

# Completes the branches, those of remotes without the name of the remote.
(( $+functions[_git_agentwt_branches] )) ||
_git_agentwt_branches() {
    local -a branches
    branches=(
        ${(f)"$(git for-each-ref --format='%(refname:lstrip=2)' refs/heads 2>/dev/null)"}
        ${(f)"$(git for-each-ref --format='%(refname:lstrip=3)' refs/remotes 2>/dev/null)"}
    )
    _describe -t branches 'branch' branches
}

# Completes the branches and tags.
(( $+functions[_git_agentwt_refs] )) ||
_git_agentwt_refs() {
    local -a refs
    refs=(${(f)"$(git for-each-ref --format='%(refname:lstrip=2)' refs/heads refs/remotes refs/tags 2>/dev/null)"})
    _describe -t refs 'commit' refs
}
