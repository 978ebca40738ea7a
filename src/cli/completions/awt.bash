# shellcheck shell=bash disable=SC2207
_awt() {
    local name
    COMPREPLY=()
    while IFS= read -r name; do
        [[ $name == "${COMP_WORDS[COMP_CWORD]}"* ]] && COMPREPLY+=("$name")
    done < <(_awt_names)
}
complete -F _awt awt
