#!/usr/bin/env bash
# Runs everything that has to pass, also when a part of it fails, and ends with the line
# `N passed, N failed`: tests are counted one by one, each other check as one.
set -u

usage() {
    cat <<'END'
usage: ./test.sh [--every-path] [--help]

Run the checks (tools, format, clippy, shellcheck, rustdoc), all tests and the
examples in the documentation. The man pages are shown by man in the tests.

  --every-path   run the tests once more on the slow paths: git checks out and
                 reads the repository, and every file is read
END
}

every_path=no
case ${1:-} in
    '') ;;
    --every-path) every_path=yes ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 2
        ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-auto}

passed=0
failed=0
summary=()
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Counts a part: its title, how many passed and failed, and since when it ran.
count() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    local verdict=ok
    [[ $3 -eq 0 ]] || verdict=FAILED
    summary+=("$(printf '%-7s %-12s %5d passed, %d failed, %d s' "$verdict" "$1" "$2" "$3" $((SECONDS - $4)))")
}

# Runs a command as one check.
check() {
    local title=$1 start=$SECONDS
    shift
    printf '\n== %s\n' "$title"
    if "$@"; then
        count "$title" 1 0 "$start"
    else
        count "$title" 0 1 "$start"
    fi
}

# Runs a command whose output says how many tests passed and failed. If it fails and names no
# failed test (it did not compile, it was killed), that is one failure.
tests() {
    local title=$1 start=$SECONDS status good bad
    shift
    printf '\n== %s\n' "$title"
    "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    read -r good bad < <(numbers <"$log")
    if [[ $status -ne 0 && $bad -eq 0 ]]; then
        bad=1
    elif [[ $status -eq 0 && $good -eq 0 ]]; then
        printf '%s: no test was run\n' "$title"
        bad=1
    fi
    count "$title" "$good" "$bad" "$start"
}

# Adds up `12 passed` and `3 failed` (nextest also: timed out) of the summary lines: one of
# nextest, or one of each binary of cargo test.
numbers() {
    awk '
        { gsub(/\033\[[0-9;]*m/, "") }
        /^ *Summary \[/ || /^test result: / {
            line = $0
            while (match(line, /[0-9]+ (passed|failed|exec failed|timed out)/)) {
                split(substr(line, RSTART, RLENGTH), word, " ")
                if (word[2] == "passed") good += word[1]; else bad += word[1]
                line = substr(line, RSTART + RLENGTH)
            }
        }
        END { print good + 0, bad + 0 }
    '
}

# A test whose tool is missing would be skipped, so a missing tool is a failure here.
tools() {
    local missing=0 tool
    while read -r tool help; do
        command -v "$tool" >/dev/null 2>&1 && continue
        printf '%s is not installed: %s\n' "$tool" "$help"
        missing=1
    done <<'END'
cargo install Rust 1.89 or newer from https://rustup.rs
cc sudo apt-get install gcc libc6-dev
git sudo apt-get install git
shellcheck sudo apt-get install shellcheck
man sudo apt-get install man-db
zsh sudo apt-get install zsh
fish sudo apt-get install fish
END
    # the points at which commands are killed (Linux only)
    if [[ $(uname) == Linux ]] && ! command -v strace >/dev/null 2>&1; then
        printf 'strace is not installed: sudo apt-get install strace\n'
        missing=1
    fi
    local part
    for part in fmt:rustfmt clippy:clippy; do
        cargo "${part%:*}" --version >/dev/null 2>&1 && continue
        printf 'cargo %s is not installed: rustup component add %s\n' "${part%:*}" "${part#*:}"
        missing=1
    done
    local place
    for place in /usr/share/bash-completion/completions/git \
        /usr/local/share/bash-completion/completions/git \
        /opt/homebrew/etc/bash_completion.d/git-completion.bash \
        /Library/Developer/CommandLineTools/usr/share/git-core/git-completion.bash; do
        [[ -e $place ]] && return "$missing"
    done
    printf '%s\n' "git's bash completion is not installed: sudo apt-get install git bash-completion"
    return 1
}

shell_scripts() {
    local file first scripts=()
    while IFS= read -r -d '' file; do
        case $file in
            *.sh | *.bash) scripts+=("$file") ;;
            *)
                IFS= read -r first <"$file" || continue
                [[ $first =~ ^#!.*[/\ ](ba)?sh ]] && scripts+=("$file")
                ;;
        esac
    done < <(git ls-files -z --cached --others --exclude-standard -- \
        '*.sh' '*.bash' 'hooks/*' '.ci/*' 'docs/examples/*' | sort -zu)
    if [[ ${#scripts[@]} -eq 0 ]]; then
        printf 'no script was found: is this a clone?\n'
        return 1
    fi
    printf '%s\n' "${scripts[@]}"
    shellcheck "${scripts[@]}"
}

documentation() {
    RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --no-deps --locked --quiet
}

# Tests make thousands of small repositories: in memory, where that has room and runs programs
# (containers mount it without), they are a fifth faster.
in_memory() {
    local dir=/dev/shm free probe
    [[ -z ${TMPDIR:-} && -d $dir && -w $dir ]] || return 1
    free=$(df -Pk "$dir" 2>/dev/null | awk 'NR == 2 { print $4 }')
    [[ ${free:-0} -ge 4194304 ]] || return 1
    probe=$(mktemp "$dir/agentwt-XXXXXX") || return 1
    printf '#!/bin/sh\n' >"$probe"
    chmod +x "$probe"
    "$probe" 2>/dev/null
    local runs=$?
    rm -f "$probe"
    return "$runs"
}

check tools tools
check format cargo fmt --check
check clippy cargo clippy --all-targets --locked --quiet -- -D warnings
check shellcheck shell_scripts
in_memory && export TMPDIR=/dev/shm
if command -v cargo-nextest >/dev/null 2>&1; then
    # a test waits for the git that it started half of its time
    threads=$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) * 2))
    run_tests=(cargo nextest run --locked --no-fail-fast --test-threads "$threads"
        --status-level fail --final-status-level fail)
else
    run_tests=(cargo test --locked --no-fail-fast --tests)
fi
tests tests "${run_tests[@]}"
if [[ $every_path == yes ]]; then
    tests 'slow paths' env GIT_AGENTWT_CHECKOUT=git GIT_AGENTWT_READ=git GIT_AGENTWT_WALK=full \
        "${run_tests[@]}"
fi
tests doctests cargo test --locked --doc
check rustdoc documentation

printf '\n'
printf '%s\n' "${summary[@]}"
printf '%d passed, %d failed\n' "$passed" "$failed"
[[ $failed -eq 0 ]]
