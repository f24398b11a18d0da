#!/usr/bin/env bash
# Says at once what is missing to build pifolab: scripts/check_tools.sh [PYTHON]
# Without PYTHON: Rust and the linker alone.
set -uo pipefail
cd "$(dirname "$0")/.."
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
missing=()

if ! rust=$(rustc --version 2> /dev/null) || ! cargo --version > /dev/null 2>&1; then
    missing+=("pifolab needs Rust $oldest or later: https://rustup.rs")
else
    read -r _ version _ <<< "$rust"
    if [ "$(printf '%s\n' "$oldest" "$version" | sort -V | head -n 1)" != "$oldest" ]; then
        missing+=("pifolab needs Rust $oldest or later, this is $version: rustup update stable")
    fi
fi
if ! command -v "${CC:-cc}" > /dev/null; then
    missing+=("pifolab needs a C linker, and ${CC:-cc} is not there; on Debian and Ubuntu: apt-get install gcc libc6-dev")
fi
if [ $# -gt 0 ]; then
    if ! version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null); then
        missing+=("pifolab needs Python 3.10 or later, and $1 does not run; say which to use: make PYTHON=python3.12")
    elif [ "$(printf '%s\n' 3.10 "$version" | sort -V | head -n 1)" != 3.10 ]; then
        missing+=("pifolab needs Python 3.10 or later, $1 is $version; say which to use: make PYTHON=python3.12")
    elif ! "$1" -c 'import ensurepip, venv' 2> /dev/null; then
        missing+=("pifolab needs Python's virtual environments; on Debian and Ubuntu: apt-get install python3-venv")
    fi
fi
[ ${#missing[@]} = 0 ] || { printf '%s\n' "${missing[@]}" >&2; exit 1; }
