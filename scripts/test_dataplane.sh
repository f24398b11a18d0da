#!/usr/bin/env bash
# Tests the Linux data plane as far as this machine can; what it cannot is skipped, and said in a line. With
# DATAPLANE_REQUIRE in the environment a skip is a failure: U (the user-space switch), K (eBPF in the kernel), D (the DPDK node),
# or several of them. With the argument `check`: its formatting and lints instead. With `quick`: without the tests on real packets,
# which wait. With other arguments only the tests of the Linux data plane by these names run, and each is listed with its result.
set -euo pipefail
cd "$(dirname "$0")/.."
required=${DATAPLANE_REQUIRE:-}

# Tells why something is skipped; ends the script where it is required.
skip() { # tiers, what, reason
    if [[ $required =~ [$1] ]]; then
        echo "data plane: cannot test $2, and DATAPLANE_REQUIRE=$required asks for it: $3" >&2
        exit 1
    fi
    echo "data plane: skipped $2: $3"
}

if [ "$(uname -s)" != Linux ]; then
    skip UKD "the Linux data plane" "this is $(uname -s)"
    exit 0
fi

features=()
if ! missing=$(scripts/install_dataplane_deps.sh --check); then
    skip K "the eBPF programs" "not installed: $missing (scripts/install_dataplane_deps.sh)"
    features=(--no-default-features)
fi

dpdk=yes
if ! missing=$(scripts/install_dataplane_deps.sh --dpdk --check); then
    skip D "the DPDK node" "not installed: $missing (scripts/install_dataplane_deps.sh --dpdk)"
    dpdk=
fi

how=(--no-fail-fast)
if [ "${1:-}" = quick ]; then
    how+=(--lib --bins)
    shift
elif [ $# -gt 0 ]; then
    how=(--no-fail-fast --tests)
fi

if [ "${1:-}" = check ]; then
    cargo fmt --manifest-path dataplane/linux/Cargo.toml --check
    # What the build script finds, cargo fmt does not see.
    rustfmt --edition 2024 --check dataplane/linux/src/ebpf/programs/*.rs
    cargo clippy --locked --quiet --manifest-path dataplane/linux/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" \
        --all-targets "${features[@]}" -- -D warnings
    cargo fmt --manifest-path dataplane/dpdk/Cargo.toml --check
    if [ -n "$dpdk" ]; then
        cargo clippy --locked --quiet --manifest-path dataplane/dpdk/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" \
            --all-targets -- -D warnings
    fi
    exit 0
fi

# One folder for both workspaces, and one set of compiled dependencies.
cargo test "${how[@]}" --manifest-path dataplane/linux/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" \
    "${features[@]}" -- "$@"

# Between virtual devices, which need no rights. Whoever names tests names those of the Linux data plane.
python=.venv/bin/python
if [ -n "$dpdk" ] && [ $# = 0 ]; then
    if [ -x $python ]; then
        $python -m pytest -m dpdk python/tests/test_dpdk.py
    else
        skip D "the DPDK node" "there is no $python (make build)"
    fi
fi
