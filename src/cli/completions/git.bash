
# shellcheck shell=bash

# What clap does not know: worktrees, profiles, branches and refs, and `git agentwt <TAB>`.

# Prints the names of the worktrees of this repository: their records are directories.
__git_agentwt_names() {
    local common path
    common=$(git rev-parse --git-common-dir 2>/dev/null) || return 0
    for path in "$common"/agentwt/worktrees/*/; do
        [[ -d $path ]] || continue
        path=${path%/}
        printf '%s\n' "${path##*/}"
    done
}

# Prints the profiles of the config in the main worktree.
__git_agentwt_profiles() {
    local common
    common=$(git rev-parse --git-common-dir 2>/dev/null) || return 0
    sed -n 's/^ *\[ *scope\.["]*\([^]." ]*\)["]* *].*/\1/p' "$common/../.agentwt/config.toml" 2>/dev/null
}

# Prints the branches, those of remotes without the name of the remote.
__git_agentwt_branches() {
    git for-each-ref --format='%(refname:lstrip=2)' refs/heads 2>/dev/null
    git for-each-ref --format='%(refname:lstrip=3)' refs/remotes 2>/dev/null
}

# Prints the branches and tags.
__git_agentwt_refs() {
    git for-each-ref --format='%(refname:lstrip=2)' refs/heads refs/remotes refs/tags 2>/dev/null
}

# Says whether the line up to the cursor is a command that takes a worktree's name here.
__git_agentwt_wants_name() {
    local word
    case $2 in
        -C | --format) return 1 ;;
    esac
    [[ $1 != -* ]] || return 1
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
            path | cd | status | changed | diff | log | verify | accept) return 0 ;;
            land | merge | reapply | renew | remove | rm) return 0 ;;
            scope | restore | install | uninstall) return 0 ;;
            init | add | create | new | list | ls | completions) return 1 ;;
        esac
    done
    return 1
}

# Completes `git-agentwt`: called as `complete -F` calls it (command, current word, word before).
__git_agentwt_complete() {
    local name names=''
    case $3 in
        --scope) names=__git_agentwt_profiles ;;
        -b | --branch) names=__git_agentwt_branches ;;
        --base) names=__git_agentwt_refs ;;
        *) ! __git_agentwt_wants_name "$2" "$3" || names=__git_agentwt_names ;;
    esac
    if [[ -n $names ]]; then
        COMPREPLY=()
        # not with `compgen -W`, which runs the commands that are in a word
        while IFS= read -r name; do
            [[ $name != "$2"* ]] || COMPREPLY+=("$name")
        done < <("$names")
    else
        local -a line=(_git_agentwt_clap "${COMP_WORDS[@]:1}")
        local -a COMP_WORDS
        COMP_WORDS=("${line[@]}")
        __git_agentwt_clap _git_agentwt_clap "$2" "$3"
    fi
}

# Completes `git agentwt`: git's own completion calls this, with the whole line in COMP_WORDS.
_git_agentwt() {
    local at=0
    while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at]} != agentwt ]]; do
        ((at += 1))
    done
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local -a line=(git-agentwt "${COMP_WORDS[@]:at+1}")
    local COMP_CWORD=$((COMP_CWORD - at))
    local -a COMP_WORDS
    COMP_WORDS=("${line[@]}")
    # git completes with `nospace` and writes the space itself; clap's words have none.
    compopt +o nospace 2>/dev/null
    __git_agentwt_complete git-agentwt "$current" "$previous"
}

complete -F __git_agentwt_complete -o bashdefault -o default git-agentwt
