# The project's targets. A fresh machine needs Rust (>= 1.89), Python (>= 3.10) with venv, a C linker, and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= out
# The Python tests side by side: most of them wait for a command that uses one processor.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal
HOST   := $(shell rustc -vV 2> /dev/null | sed -n "s/^host: //p")

# Everything that the compiled module is made of: `make build` does nothing when none of it changed.
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -path '*/src/*' -o -name Cargo.toml)

STEP   := @scripts/step.sh

.DEFAULT_GOAL := build
# Two targets would build the module at once, one in the make of side-by-side, which alone runs two steps at a time.
ifndef STEP_WHOLE
.NOTPARALLEL:
endif
.PHONY: build tools rust help test test-all test-slow test-guarantees test-faults miri miri-quick sanitize format check bench demo docs \
	worst-cases fuzz dataplane test-dataplane bench-switch guest-test clean

.PHONY: site gallery playground wheel wheel-test sdist-test dist dist-test release-check c-library c-header bench-c

# What editors see of the scheduler classes, written from the tables in the compiled module.
STUBS := python/pifolab/_classes.pyi

## The Python package and its command, at .venv/bin/pifolab
build: side-by-side $(STUBS)

# Developers' packages are installed while Rust compiles: each step prints its line when it ends.
.PHONY: side-by-side
side-by-side: $(VENV)/.runtime
	@STEP_WHOLE=1 $(MAKE) --silent --no-print-directory --jobs=2 $(VENV)/.built $(VENV)/.packages

## What each target does
help:
	@awk '/^## / { text = text (text ? " " : "") substr($$0, 4) } \
		/^[a-z0-9-]+:/ && text { split($$1, name, ":"); line = sprintf("make %-16s", name[1]); words = split(text, word, " "); \
			for (at = 1; at <= words; at++) { \
				if (length(line) + length(word[at]) >= 100) { print line; line = sprintf("%21s", "") } \
				line = line " " word[at] } \
			print line; text = "" }' Makefile

# What is missing is said before anything is downloaded or compiled.
tools:
	@scripts/check_tools.sh $(PYTHON)
rust:
	@scripts/check_tools.sh

# One virtual environment with what the package, its compilation, and its developers need; made anew only when pyproject.toml
# changes. The versions are those of requirements.lock. Python compiles what it imports: most of the packages is never imported.
pip_install = $(BIN)/python scripts/python_dependencies.py pyproject.toml $(1) > $@.txt && \
	scripts/step.sh $(2) $(BIN)/python -m pip install --disable-pip-version-check --no-compile -r $@.txt -c requirements.lock
$(VENV)/.runtime: pyproject.toml requirements.lock scripts/python_dependencies.py | tools
	@$(PYTHON) -m venv $(VENV)
	@rm -f $(BIN)/pifolab
	@$(call pip_install,requires dependencies,"Python packages")
	@touch $@
$(VENV)/.packages: $(VENV)/.runtime
	@$(call pip_install,dev,"Developers' packages")
	@touch $@

## requirements.lock, from the newest versions of the Python packages that pyproject.toml allows
.PHONY: lock
lock: | tools
	$(PYTHON) scripts/python_dependencies.py pyproject.toml --lock requirements.lock

# Once the command is installed, only the compiled module changes.
$(VENV)/.built: $(VENV)/.runtime $(RUST_SOURCES) | tools
	$(STEP) "Compiled module" env VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --profile release --locked \
		$(if $(wildcard $(BIN)/pifolab),--skip-install)
	@touch $@

$(STUBS): $(VENV)/.built scripts/generate_stubs.py
	@$(BIN)/python scripts/generate_stubs.py

## What a change can break, in minutes: tests in Rust, the quick ones in Python, the data plane's without packets. What did not change
## since its tests passed is not run again
test: build
	@$(BIN)/python scripts/run_tests.py

## All tests: besides, the slower ones in Python, the playground and the site, the laboratory, real packets, WebAssembly, 32 bits, the wheel,
## licences, and as far as tools are there the address sanitizer, fuzzing and Miri. What is skipped is said. STEPS="rust python" runs these alone
test-all: build
	@$(if $(STEPS),$(if $(filter python wheel,$(STEPS)),,exit 0;)) \
		if $(call has_target,$(WASM_TARGET)); then $(MAKE) --no-print-directory playground; \
		else echo "skipped the playground: rustup target add $(WASM_TARGET)"; fi
	@$(BIN)/python scripts/run_tests.py --all $(STEPS)

## Every published simulation run, flow by flow, the traces of debug builds from release builds, the commands of the pages
## that take long, and Miri (an hour)
test-slow: build
	cargo test --locked --release --package pifolab-sim --test netbench --test network -- --include-ignored
	$(BIN)/python -m pytest -m slow
	$(MAKE) miri sanitize

## The scheduler library and what it needs where a pointer has 32 bits: as WebAssembly in Node, and as a program of a 32-bit x86
PORTABLE := --package pifolab-units --package pifolab-params --package pifolab-simd --package pifolab-queues --package pifolab-sched --package pifolab-aqm --package pifolab-tree --package pifolab-fast
has_target = test -d "$$(rustc --print target-libdir --target $(1))"
# The parallel garbage collector of Node 20 crashes after some programs have ended well.
WASI_NODE_OPTIONS := --no-warnings --single-threaded-gc
.PHONY: test-wasm test-i686 msrv .has-miri
test-wasm:
	@$(call has_target,wasm32-wasip1) && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2> /dev/null || \
		{ echo "make test-wasm tests nothing: it needs Node 20 or later and rustup target add wasm32-wasip1"; exit 1; }
	CARGO_TARGET_WASM32_WASIP1_RUNNER="node $(WASI_NODE_OPTIONS) $(CURDIR)/scripts/wasi.mjs" \
		cargo test --locked --quiet --target wasm32-wasip1 $(PORTABLE) --lib --tests
test-i686:
	@$(call has_target,i686-unknown-linux-gnu) && echo "int main(void) { return 0; }" | $(CC) -m32 -x c -o /dev/null - 2> /dev/null || \
		{ echo "make test-i686 tests nothing: it needs gcc-multilib and rustup target add i686-unknown-linux-gnu"; exit 1; }
	cargo test --locked --quiet --target i686-unknown-linux-gnu $(PORTABLE) --lib --tests

## That everything compiles with the oldest Rust that Cargo.toml states
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	@rustup run $(MSRV) cargo --version > /dev/null 2>&1 || \
		{ echo "make msrv checks nothing: it needs rustup toolchain install $(MSRV) --profile minimal"; exit 1; }
	rustup run $(MSRV) cargo check --locked --quiet --workspace --target-dir target/msrv

## All unit tests of the scheduler library and of its vector code (that of every x86-64, then AVX2; Miri does not know the
## instructions of AVX-512) under Miri, which sees every undefined behaviour, but those of means over many packets. Needs
## nightly Rust with its component miri
MIRI      = PROPTEST_MAX_SHRINK_ITERS=0 MIRIFLAGS=-Zmiri-disable-isolation $(1) cargo +nightly miri test --locked
MIRI_AVX2 = $(call MIRI,RUSTFLAGS=-Ctarget-feature=+avx2$(comma)+popcnt) --target-dir target/miri-avx2
comma     = ,
.has-miri:
	@cargo +nightly miri --version > /dev/null 2>&1 || \
		{ echo "this checks nothing: it needs rustup toolchain install nightly --component miri"; exit 1; }
miri: .has-miri
	$(MIRI) --package pifolab-simd --package pifolab-queues --package pifolab-sched --package pifolab-aqm --package pifolab-tree --lib
	$(MIRI_AVX2) --package pifolab-simd --lib
miri-quick: .has-miri
	$(MIRI) --package pifolab-simd --lib
	$(MIRI) --package pifolab-queues --lib
	$(MIRI) --package pifolab-sched --lib store::

## Everything public of the scheduler library in any order of calls, and its vector code, under the address sanitizer and (plain
## and with AVX2) under Miri. Needs nightly Rust with its component miri
sanitize: .has-miri
	RUSTFLAGS=-Zsanitizer=address cargo +nightly test --locked --target $(HOST) --target-dir target/sanitize \
		--package pifolab-simd --package pifolab-queues --package pifolab-sched --lib --test any_order
	$(MIRI) --package pifolab-sched --test any_order
	$(MIRI_AVX2) --package pifolab-sched --test any_order

## Every test that lab/guarantees.md names, and that each of them exists and ran
test-guarantees: build
	$(BIN)/python scripts/test_guarantees.py

## Kills, full disks, flipped bits, jumping clocks, all drawn from FAULTS_SEED, for FAULTS_MINUTES
FAULTS_SEED ?= 1
FAULTS_MINUTES ?= 3
test-faults: build
	$(BIN)/python scripts/test_faults.py --seed $(FAULTS_SEED) --minutes $(FAULTS_MINUTES)

## Formatting, also of the files that a build script finds, which cargo fmt does not see
ORACLES := $(wildcard crates/testkit/src/oracles/*.rs)
EBPF := $(wildcard dataplane/linux/src/ebpf/programs/*.rs)
format: $(VENV)/.packages
	cargo fmt --all
	cargo fmt --manifest-path dataplane/linux/Cargo.toml
	cargo fmt --manifest-path dataplane/dpdk/Cargo.toml
	rustfmt --edition 2024 $(ORACLES) $(EBPF)
	$(BIN)/ruff format python scripts lab dataplane

## Style: formatting, lints as errors, types, and the form of the repository: who may import whom, licences, one version
check: build
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(ORACLES)
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check python scripts lab dataplane
	$(BIN)/ruff check python scripts lab dataplane
	$(BIN)/mypy
	$(BIN)/python -m pytest -m form
	scripts/test_elsewhere.sh dependencies
	$(MAKE) docs release-check
	scripts/test_dataplane.sh check

## What crates.io would get: the crates are packed and each package compiles alone, with the oldest Rust, too, and for a
## microcontroller; and their users' code still compiles after an update from the last release
EMBEDDED := thumbv7em-none-eabi
SEMVER_BASELINE ?= $(shell git describe --tags --abbrev=0 --match 'v[0-9]*' 2> /dev/null)
release-check:
	cargo publish --workspace --dry-run --allow-dirty --quiet
	@if $(call has_target,$(EMBEDDED)); then \
		cargo build --locked --quiet --target $(EMBEDDED) --package pifolab-sched --package pifolab-aqm --package pifolab-tree; \
	else echo "not built for $(EMBEDDED): rustup target add $(EMBEDDED)"; fi
	@if rustup run $(MSRV) cargo --version > /dev/null 2>&1; then $(MAKE) --no-print-directory msrv; \
	else echo "not compiled with Rust $(MSRV): rustup toolchain install $(MSRV) --profile minimal"; fi
	@if [ -z "$(SEMVER_BASELINE)" ]; then \
		echo "the Rust API is not compared: there is no release yet (to compare with a commit: make release-check SEMVER_BASELINE=COMMIT)"; \
	elif cargo semver-checks --version > /dev/null 2>&1; then cargo semver-checks --baseline-rev $(SEMVER_BASELINE) $(PORTABLE); \
	else echo "the Rust API is not compared with $(SEMVER_BASELINE): cargo install --locked cargo-semver-checks"; fi

## Criterion benchmarks of the library and the measured loop of the command
bench: build
	cargo bench --locked --workspace
	$(STEP) "Compiled module as in the wheel" env VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --profile shipped --locked --skip-install
	$(BIN)/pifolab bench sched

## Every scheduler at work: tables, figures and a report in out/demo
demo: $(VENV)/.built
	$(BIN)/pifolab demo --out $(OUT)/demo

## The documentation site in out/site, which works from a folder and under any base path: pages, Python API, Rust API, the
## playground, and the gallery; its figures are made the first time, which takes minutes
site: build playground docs $(OUT)/reproduce/claims.json
	@mkdir -p $(OUT)
	$(BIN)/python scripts/site/stage.py $(OUT)/site-source
	rm -rf $(OUT)/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html -c scripts/site $(OUT)/site-source $(OUT)/site
	cp -r $(PLAYGROUND) $(OUT)/site/playground
	cp -r target/doc $(OUT)/site/rust
	@echo '<meta http-equiv="refresh" content="0;url=../rust-api.html">' > $(OUT)/site/rust/index.html
	@echo "$(OUT)/site/index.html"

## The figures of the gallery anew: all experiments of the papers at their smallest depth (five minutes on two idle processors)
GALLERY = $(BIN)/pifolab reproduce --quick --out $(OUT)/reproduce
gallery: build
	$(GALLERY)
$(OUT)/reproduce/claims.json: | build
	$(GALLERY)

## The playground: a page with the library as WebAssembly, part of the site and of the Python package
PLAYGROUND := python/pifolab/data/playground
WASM_TARGET := wasm32-unknown-unknown
playground: $(PLAYGROUND)/index.html
$(PLAYGROUND)/index.html: $(RUST_SOURCES) $(wildcard crates/wasm/page/* conformance/*.json) scripts/site/playground.py | rust
	@$(call has_target,$(WASM_TARGET)) || \
		{ echo "the playground needs WebAssembly: rustup target add $(WASM_TARGET)"; exit 1; }
	$(STEP) "Playground" cargo build --locked --profile playground --target $(WASM_TARGET) --package pifolab-wasm
	@$(PYTHON) scripts/site/playground.py target/$(WASM_TARGET)/playground/pifolab_wasm.wasm $(PLAYGROUND)

## The wheel and the source archive of the Python package in out/dist, with experiments, vectors and the playground
WHEEL_PROFILE ?= shipped
wheel: wheel-data
	rm -rf $(OUT)/dist
	$(BIN)/maturin sdist --out $(OUT)/dist
	$(BIN)/maturin build --quiet --profile $(WHEEL_PROFILE) --locked --out $(OUT)/dist
	@ls $(OUT)/dist

## What a wheel holds beside its compiled module: stubs, the playground, conformance vectors, licences
.PHONY: wheel-data
wheel-data: $(STUBS) playground
	rm -rf python/pifolab/data/conformance
	mkdir -p python/pifolab/data/conformance
	cp conformance/*.json python/pifolab/data/conformance/
	$(BIN)/python scripts/licences.py --texts python/pifolab/data/licences.txt

## The wheel as on a machine without Rust: in an empty environment that alone is on PATH
wheel-test: wheel
	$(BIN)/python scripts/test_wheel.py wheel $(OUT)/dist

## The source archive, built in an empty folder, and what it makes tried as the wheel is (minutes)
sdist-test: wheel
	$(BIN)/python scripts/test_wheel.py sources $(OUT)/dist

## The archives of a release in out/release, made from a commit alone (minutes: it is compiled in a tree of its own)
COMMIT ?= HEAD
dist:
	scripts/dist.sh $(OUT)/release $(COMMIT)

## That the same commit gives archives with the same bytes, also where the tree lies elsewhere (minutes)
dist-test: COMMIT := $(shell git rev-parse $(COMMIT) 2> /dev/null)
dist-test: dist
	scripts/dist.sh $(OUT)/release-again $(COMMIT) target/dist-elsewhere
	@diff --recursive --brief $(OUT)/release $(OUT)/release-again
	@echo "the same bytes twice"; rm -rf $(OUT)/release-again target/dist-elsewhere

## API documentation of the Rust crates in target/doc
docs: | rust
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --exclude pifolab-py

## docs/worst-cases.md: the worst case of every scheduler against every other one and the worst cases of PACKS's appendix B, under
## other readings, too; and their witnesses as conformance vectors (more than half an hour)
worst-cases: build
	PYTHONPATH=lab $(BIN)/python -m written.worst_cases docs/worst-cases.md conformance/worst-cases

## The tests of the laboratory (lab/): studies of our own, which no package holds
.PHONY: lab lab-pages
lab: build
	$(PYTEST) lab

## The pages of the laboratory's studies, measured anew (half an hour)
lab-pages: build
	@for study in slack slack.variants slack.bar slack.limits slack.tuning slack.flows slack.times slack.shares slack.optimum slack.few slack.reordering; do \
		PYTHONPATH=lab $(BIN)/python -m $$study lab/pages || exit 1; \
	done
	PYTHONPATH=lab $(BIN)/python -m written.scorecard docs/scorecard.md $(OUT)/scorecard
	PYTHONPATH=lab $(BIN)/python -m written.reproduction docs/reproduction.json docs/reproduction.md

## The scheduler library for C in PREFIX, below DESTDIR: static, shared, header, pkg-config file and CMake config
PREFIX ?= /usr/local
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
LIBDIR = $(DESTDIR)$(abspath $(PREFIX))/lib
INCLUDEDIR = $(DESTDIR)$(abspath $(PREFIX))/include
c-library: | rust
	cargo build --locked --profile c-library --package pifolab-c-library
	@mkdir -p $(LIBDIR)/pkgconfig $(LIBDIR)/cmake/pifolab_sched $(INCLUDEDIR)
	install -m 644 target/c-library/libpifolab_sched.a $(LIBDIR)/
	install -m 755 target/c-library/libpifolab_sched.so $(LIBDIR)/libpifolab_sched.so.$(VERSION)
	strip --strip-unneeded $(LIBDIR)/libpifolab_sched.so.$(VERSION)
	soname=$$(readelf --dynamic $(LIBDIR)/libpifolab_sched.so.$(VERSION) | sed -n 's/.*soname: \[\(.*\)\]/\1/p') && \
		ln -sf libpifolab_sched.so.$(VERSION) $(LIBDIR)/$$soname && ln -sf $$soname $(LIBDIR)/libpifolab_sched.so
	install -m 644 crates/c/include/pifolab_sched.h $(INCLUDEDIR)/
	sed 's|@version@|$(VERSION)|' crates/c/pifolab_sched.pc.in > $(LIBDIR)/pkgconfig/pifolab_sched.pc
	for file in config config-version; do \
		sed 's|@version@|$(VERSION)|' crates/c/pifolab_sched-$$file.cmake.in \
			> $(LIBDIR)/cmake/pifolab_sched/pifolab_sched-$$file.cmake; \
	done

## The header of the library for C, from its sources
c-header:
	PIFOLAB_WRITE_HEADER=1 cargo test --locked --quiet --package pifolab-c --test header

## Packets per second through the example node in C, for every scheduler that it is asked for
BENCH_C ?= sp-pifo packs aifo rifo exp-pifo fifo pifo
bench-c: | rust
	cargo build --locked --profile c-library --package pifolab-c-library
	cc -O2 -std=c11 -Icrates/c/include crates/c/examples/node.c target/c-library/libpifolab_sched.a -lpthread -ldl -lm \
		-o target/c-library/node
	@for scheduler in $(BENCH_C); do target/c-library/node $$scheduler; done

## Every fuzz target, that of schedulers for each of them that has an oracle, for FUZZ_SECONDS (needs a nightly toolchain and cargo-fuzz)
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(filter-out sched_ops,$(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))))
FUZZ_SCHEDULERS := $(subst _,-,$(basename $(notdir $(ORACLES))))
.PHONY: fuzz-runs
fuzz-runs:
	@echo $(words $(FUZZ_TARGETS) $(FUZZ_SCHEDULERS))
fuzz:
	@cargo +nightly fuzz --version > /dev/null 2>&1 || \
		{ echo "fuzzing needs: rustup toolchain install nightly && cargo install cargo-fuzz"; exit 1; }
	for target in $(FUZZ_TARGETS); do \
		cargo +nightly fuzz run --fuzz-dir fuzz $$target -- -max_total_time=$(FUZZ_SECONDS) -timeout=10 || exit 1; \
	done
	for scheduler in $(FUZZ_SCHEDULERS); do \
		mkdir -p fuzz/corpus/$$scheduler; \
		SCHEDULER=$$scheduler cargo +nightly fuzz run --fuzz-dir fuzz sched_ops fuzz/corpus/$$scheduler -- \
			-max_total_time=$(FUZZ_SECONDS) -timeout=10 || exit 1; \
	done

## The Linux data plane: eBPF schedulers, the user-space switch, the testbed (a workspace of its own: it needs clang and libbpf)
dataplane:
	scripts/install_dataplane_deps.sh
	cd dataplane/linux && cargo build --release

## The DPDK node (a workspace of its own: it needs libdpdk-dev)
.PHONY: dpdk
dpdk:
	scripts/install_dataplane_deps.sh --dpdk
	cd dataplane/dpdk && cargo build --release

## What a packet costs in the node, beside what DPDK has: on net_null, and over memif between two processors (a minute, once it is built)
.PHONY: bench-dpdk
bench-dpdk:
	scripts/install_dataplane_deps.sh --dpdk
	cargo bench --locked --manifest-path dataplane/dpdk/Cargo.toml --target-dir target --bench dpdk

## Its tests on real packets, as far as this machine can, and the DPDK node's; DATAPLANE_REQUIRE=UKD makes what it cannot do a failure
test-dataplane:
	scripts/test_dataplane.sh

## The P4 programs with the compilers and the switch that this machine has; DATAPLANE_REQUIRE=P makes what it has not a failure
.PHONY: test-p4
test-p4: build
	scripts/test_p4.sh

## Whether the user-space switch keeps a link of 500 Mb/s full, and what it carries at most (a minute)
bench-switch:
	cargo bench --manifest-path dataplane/linux/Cargo.toml --target-dir target --no-default-features --bench switch

## In a virtual machine: the BPF qdiscs, on a kernel that has them, and the instructions that each eBPF program executes (minutes; needs QEMU)
guest-test:
	cargo build --manifest-path dataplane/linux/Cargo.toml --target-dir target
	PIFOLAB_KERNEL_TESTS=$$(cargo test --manifest-path dataplane/linux/Cargo.toml --target-dir target --test kernel --no-run \
		--message-format=json | sed -n 's/.*"executable":"\([^"]*kernel-[^"]*\)".*/\1/p') scripts/test_in_guest.sh

## The eBPF programs of every clang of Debian's on every supported kernel, in virtual machines (half an hour)
.PHONY: guest-programs
guest-programs:
	cargo build --release --manifest-path dataplane/linux/Cargo.toml --target-dir target
	PIFOLAB_DATAPLANE=$${CARGO_TARGET_DIR:-target}/release/pifolab-dataplane scripts/test_programs_in_guests.sh

## What was compiled and installed goes; results (out/) stay
clean:
	cargo clean
	rm -rf $(VENV) python/pifolab/*.so
