#!/usr/bin/env bash
# Runs every check, also after a failure, and ends with the line `N passed, N failed`: each test
# counts, and each other check counts as one test.
set -u

usage() {
    cat <<'END'
usage: ./test.sh [--root] [--help]

Run the format check, clippy, shellcheck, all tests, the examples in the
documentation and rustdoc. A check whose tool is not installed is skipped and
named in the summary; with CI=true a skipped check fails, but shellcheck.

  --root  run only the tests that need root (they mount file systems, change the
          owner of files or write read-only files)
END
}

only_root=no
case ${1:-} in
    '') ;;
    --root) only_root=yes ;;
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
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
log=$work/log
# Tests append a line here for each missing tool (tests/it/support/needs.rs).
export AGENTWT_TEST_SKIPPED=$work/skipped
: >"$AGENTWT_TEST_SKIPPED"

# Adds a part to the summary: title, passed, failed, start time.
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

# Names a skipped check in the summary, and counts it neither as passed nor as failed.
name_skipped() {
    summary+=("$(printf '%-7s %s' skipped "$1")")
}

# Names a skipped check in the summary; with CI=true it is a failure.
skip() {
    name_skipped "$1"
    [[ ${CI:-} != true ]] || failed=$((failed + 1))
}

# Succeeds if a tool is installed, else skips the check: `needs 'clippy: rustup component add clippy' cargo clippy --version`
needs() {
    local text=$1
    shift
    "$@" >/dev/null 2>&1 && return 0
    skip "$text"
    return 1
}

# Runs a command that prints how many tests passed and failed. A failure without a failed test
# (a compile error, a kill) counts as one failed test.
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
        printf '%s: no test ran\n' "$title"
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

# Tests create thousands of small repositories, and are a fifth faster in memory. /dev/shm must have
# space and allow executables (containers often mount it with noexec).
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

in_memory && export TMPDIR=/dev/shm
if command -v cargo-nextest >/dev/null 2>&1; then
    # tests wait half of their time for git
    threads=$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) * 2))
    run_tests=(cargo nextest run --locked --no-fail-fast --test-threads "$threads"
        --status-level fail --final-status-level fail)
    only=(-E 'test(as_root) | test(shared_cases)')
else
    run_tests=(cargo test --locked --no-fail-fast --tests)
    only=(-- as_root shared_cases)
fi
if [[ $only_root == yes ]]; then
    tests 'as root' "${run_tests[@]}" "${only[@]}"
else
    needs 'format: rustup component add rustfmt' cargo fmt --version &&
        check format cargo fmt --check
    needs 'clippy: rustup component add clippy' cargo clippy --version &&
        check clippy cargo clippy --all-targets --locked --quiet -- -D warnings
    # a machine without the packages of its distribution cannot install it
    if shellcheck --version >/dev/null 2>&1; then
        check shellcheck shell_scripts
    else
        name_skipped 'shellcheck: sudo apt-get install shellcheck'
    fi
    tests tests "${run_tests[@]}"
    tests doctests cargo test --locked --doc
    check rustdoc documentation
fi
while IFS= read -r line; do
    skip "$line"
done < <(sort "$AGENTWT_TEST_SKIPPED" | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\2 (tests: \1)/')

printf '\n'
printf '%s\n' "${summary[@]}"
printf '%d passed, %d failed\n' "$passed" "$failed"
[[ $failed -eq 0 ]]
