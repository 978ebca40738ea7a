#!/bin/sh
# Builds git-agentwt and installs it with its man pages and completions; see --help.
set -eu

usage() {
    cat <<'END'
usage: ./install.sh [--uninstall] [--debug] [--help]

Build git-agentwt and install the binary, the man pages and the completions of
bash, zsh and fish. A second run updates them.

  --uninstall  remove the installed files
  --debug      install the unoptimised build (quick; for tests)
  --help       print this text

  PREFIX       the directory to install into [default: ~/.local]
  DESTDIR      a directory to prepend to PREFIX, for packages; the build then
               takes a third longer, and the program starts sooner

For example:
  PREFIX=/opt/agentwt ./install.sh
END
}

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    shift
    for line in "$@"; do
        printf '  %s\n' "$line" >&2
    done
    exit 1
}

say() {
    printf '%s\n' "$1"
}

# Lists the installed files and the created directories below the prefix, which --uninstall removes.
manifest=share/git-agentwt/installed

# Creates a directory below the prefix, parents first, and records each new directory.
make_directory() {
    if [ -d "$root/$1" ]; then
        return 0
    fi
    case $1 in
        .) mkdir -p "$root" || fail "cannot make the directory $root" ;;
        *)
            case $1 in
                */*) make_directory "${1%/*}" ;;
                *) make_directory . ;;
            esac
            mkdir "$root/$1" || fail "cannot make the directory $root/$1"
            ;;
    esac
    say "directory $1" >>"$work/made"
}

# Installs a file by rename: a running program or a reader sees the old or the new file.
put() {
    make_directory "${2%/*}"
    temporary=$root/$2.new.$$
    if cp "$1" "$temporary" && chmod "$3" "$temporary" && mv -f "$temporary" "$root/$2"; then
        say "file $2" >>"$work/files"
    else
        rm -f "$temporary"
        fail "cannot write $root/$2"
    fi
}

require() {
    command -v "$1" >/dev/null 2>&1 || fail "$1 is not installed" "$2"
}

# Without shared libraries, each start takes a sixth less time; some systems have none of the C library to link.
link_static() {
    if [ -z "${CARGO_BUILD_TARGET:-}${RUSTFLAGS:-}" ] && [ "$(uname)" = Linux ] &&
        echo 'int main(void) { return 0; }' | cc -static-pie -x c -o /dev/null - 2>/dev/null; then
        CARGO_BUILD_TARGET=$(rustc -vV | sed -n 's/^host: //p')
        RUSTFLAGS="-C target-feature=+crt-static"
        export CARGO_BUILD_TARGET RUSTFLAGS
    fi
}

build() {
    require cargo "install Rust 1.89 or newer: https://rustup.rs"
    require git "install git 2.39 or newer, for example: sudo apt-get install git"
    require cc "install a C compiler, for example: sudo apt-get install gcc libc6-dev, or on macOS: xcode-select --install"
    if [ "$profile" = debug ]; then
        cargo build --locked || fail "cargo build failed; see its message above"
    else
        link_static
        cargo build --profile "$profile" --locked || fail "cargo build failed; see its message above"
    fi
    target=${CARGO_TARGET_DIR:-}
    if [ -z "$target" ]; then
        target=$(cargo metadata --format-version 1 --no-deps --locked |
            sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
    fi
    program=${target:-target}${CARGO_BUILD_TARGET:+/$CARGO_BUILD_TARGET}/$profile/git-agentwt
    [ -x "$program" ] || fail "cargo did not create $program"
}

install_all() {
    build
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    : >"$work/made"
    for shell in bash zsh fish; do
        "$program" completions "$shell" >"$work/$shell" ||
            fail "$program cannot print the completions of $shell"
    done
    put "$program" bin/git-agentwt 755
    for page in man/*.[15]; do
        put "$page" "share/man/man${page##*.}/${page##*/}" 644
    done
    put "$work/bash" share/bash-completion/completions/git-agentwt 644
    put "$work/zsh" share/zsh/site-functions/_git-agentwt 644
    put "$work/fish" share/fish/vendor_completions.d/git-agentwt.fish 644
    remember
    say "installed $("$root/bin/git-agentwt" --version) in $root"
    if [ -z "${DESTDIR:-}" ]; then
        advise
    fi
}

# Writes the manifest, keeps the directories of earlier calls, and removes files that only an earlier
# version installed.
remember() {
    make_directory "${manifest%/*}"
    if [ -f "$root/$manifest" ]; then
        sed -n '/^directory /p' "$root/$manifest" >>"$work/made"
        sed -n 's/^file //p' "$root/$manifest" | while IFS= read -r file; do
            grep -qxF "file $file" "$work/files" || rm -f "$root/$file"
        done
    fi
    sort -u "$work/files" "$work/made" >"$work/manifest"
    put "$work/manifest" "$manifest" 644
}

# Prints the remaining steps.
advise() {
    case ":$PATH:" in
        *":$root/bin:"*) ;;
        *)
            say "add the program to your PATH, for example in ~/.profile:"
            say "  export PATH=\"$root/bin:\$PATH\""
            ;;
    esac
    command -v man >/dev/null 2>&1 || return 0
    found=$(PATH="$root/bin:$PATH" man -w git-agentwt 2>/dev/null || :)
    if [ "$found" != "$root/share/man/man1/git-agentwt.1" ]; then
        say "add the man pages to your MANPATH, so that 'git agentwt --help' finds them:"
        say "  export MANPATH=\"$root/share/man:\${MANPATH:-}\""
    fi
}

uninstall() {
    if [ ! -f "$root/$manifest" ]; then
        say "nothing of git-agentwt is in $root"
        return 0
    fi
    list=$(cat "$root/$manifest")
    say "$list" | sed -n 's/^file //p' | while IFS= read -r file; do
        rm -f "$root/$file" || fail "cannot remove $root/$file"
    done
    rm -f "$root/$manifest" || fail "cannot remove $root/$manifest"
    # Deepest first; a directory that holds something else stays.
    say "$list" | sed -n 's/^directory //p' | sort -r | while IFS= read -r directory; do
        case $directory in
            .) rmdir "$root" 2>/dev/null || : ;;
            *) rmdir "$root/$directory" 2>/dev/null || : ;;
        esac
    done
    say "removed git-agentwt from $root"
}

action=install_all
if [ -n "${DESTDIR:-}" ]; then
    profile=dist
else
    profile=release
fi
for argument in "$@"; do
    case $argument in
        --uninstall) action=uninstall ;;
        --debug) profile=debug ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) fail "unknown option $argument" "see ./install.sh --help" ;;
    esac
done

if [ -z "${PREFIX:-}" ]; then
    [ -n "${HOME:-}" ] || fail "neither PREFIX nor HOME is set" "say where: PREFIX=/usr/local ./install.sh"
    PREFIX=$HOME/.local
fi
case $PREFIX in
    /*) ;;
    *) fail "PREFIX is not an absolute path: $PREFIX" "for example: PREFIX=\"\$PWD/$PREFIX\" ./install.sh" ;;
esac
prefix=${PREFIX%/}
root=${DESTDIR:-}$prefix

cd "$(dirname "$0")"
"$action"
