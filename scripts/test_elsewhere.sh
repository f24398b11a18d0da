#!/usr/bin/env bash
# The steps of `make test-all` that need tools which a machine may lack: scripts/test_elsewhere.sh STEP
# What cannot run is skipped, and said in one line. SANITIZER_SECONDS, FUZZING_SECONDS and MIRI_SECONDS bound the steps that have no end
# of their own, with what they compile; the first two together take five minutes at most.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { # what, reason
    echo "skipped $1: $2"
    exit 0
}
has_target() { [ -d "$(rustc --print target-libdir --target "$1" 2> /dev/null)" ]; }
within() { # seconds, step, what
    local status=0
    timeout "$1" "$0" "$2" || status=$?
    [ "$status" != 124 ] || skip "what is left of $3" "$1 seconds are over"
    exit "$status"
}
make() { command make --no-print-directory "$@"; }

case ${1:-} in
    wasm)
        has_target wasm32-wasip1 || skip "the library as WebAssembly" "rustup target add wasm32-wasip1"
        node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2> /dev/null ||
            skip "the library as WebAssembly" "it needs Node 20 or later"
        make test-wasm
        ;;
    i686)
        has_target i686-unknown-linux-gnu || skip "the library with 32 bits" "rustup target add i686-unknown-linux-gnu"
        echo 'int main(void) { return 0; }' | "${CC:-cc}" -m32 -x c -o /dev/null - 2> /dev/null ||
            skip "the library with 32 bits" "it needs gcc-multilib"
        make test-i686
        ;;
    wheel)
        has_target wasm32-unknown-unknown || skip "the wheel" "its playground needs rustup target add wasm32-unknown-unknown"
        # In the profile of `make build`, whose compiled crates serve again.
        make wheel-test WHEEL_PROFILE=release OUT=target/tests
        ;;
    dependencies)
        .venv/bin/python scripts/licences.py --check
        cargo deny --version > /dev/null 2>&1 || skip "cargo-deny" "cargo install --locked cargo-deny"
        for manifest in Cargo.toml dataplane/linux/Cargo.toml dataplane/dpdk/Cargo.toml fuzz/Cargo.toml; do
            cargo deny --log-level error --config "$PWD/deny.toml" --manifest-path "$manifest" check bans licenses sources
        done
        ;;
    sanitizer)
        cargo +nightly --version > /dev/null 2>&1 || skip "the address sanitizer" "rustup toolchain install nightly"
        [ -n "$(find "$(rustc +nightly --print target-libdir)" -name 'librustc*_rt.asan*' -print -quit)" ] ||
            skip "the address sanitizer" "nightly Rust has none for this machine"
        within "${SANITIZER_SECONDS:-120}" sanitizer-run "the address sanitizer"
        ;;
    sanitizer-run)
        # Everything public of the scheduler library in any order of calls, and the vector code.
        # Wrong accesses are looked for, and no leaks: tests of panics may leave memory behind.
        export RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=0 PROPTEST_CASES="${PROPTEST_CASES:-32}"
        asan=(cargo +nightly test --locked --target "$(rustc -vV | sed -n 's/^host: //p')" --target-dir target/sanitize)
        "${asan[@]}" --package pifolab-sched --test any_order
        "${asan[@]}" --package pifolab-simd --lib
        ;;
    fuzzing)
        cargo +nightly fuzz --version > /dev/null 2>&1 ||
            skip "fuzzing" "rustup toolchain install nightly, and cargo install --locked cargo-fuzz"
        within "${FUZZING_SECONDS:-180}" fuzzing-run "fuzzing"
        ;;
    fuzzing-run)
        # Symbols and the last optimisations would take longer to compile than they save in a few seconds for each target.
        export CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
        cargo +nightly fuzz build --fuzz-dir fuzz
        # What is left is shared equally. A second for each goes to its start.
        runs=$(make --silent fuzz-runs)
        share=$(((${FUZZING_SECONDS:-180} - SECONDS) / runs - 1))
        make fuzz FUZZ_SECONDS=$((share > 1 ? share : 1))
        ;;
    miri)
        cargo +nightly miri --version > /dev/null 2>&1 || skip "Miri" "rustup toolchain install nightly --component miri"
        within "${MIRI_SECONDS:-300}" miri-run "Miri"
        ;;
    miri-run)
        make miri-quick
        ;;
    *)
        echo "usage: scripts/test_elsewhere.sh wasm|i686|wheel|dependencies|sanitizer|fuzzing|miri" >&2
        exit 2
        ;;
esac
