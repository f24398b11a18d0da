"""`pifolab doctor`: shows the optional tools on this machine, their uses, and how to install the missing ones."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pifolab import _pifolab
from pifolab.cli.options import add_json
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser
from pifolab.dataplane import DPDK, PROGRAM, find_program, p4_tools, run_program
from pifolab.errors import InputError
from pifolab.pcap_filter import pcap_library

#: The fields of the Linux program: what, needed_for, ok, detail, packages; and `install`, a command.
Finding = dict[str, Any]


class _Program(NamedTuple):
    """An external program, its use, and the Debian packages, or a command, that install it."""

    what: str
    names: tuple[str, ...]
    needed_for: str
    packages: str = ""
    install: str = ""


_BUILDERS = (
    _Program("Rust", ("cargo",), "building from the sources", install="see https://rustup.rs"),
    _Program("C linker", ("cc",), "building from the sources", "gcc libc6-dev"),
    _Program("make", ("make",), "building from the sources", "make"),
    _Program("clang", ("clang",), "building the eBPF programs", "clang libbpf-dev libelf-dev zlib1g-dev pkg-config"),
    _Program("Node", ("node",), "testing the playground", "nodejs"),
    _Program("Chromium", ("chromium", "chromium-browser", "google-chrome"), "testing pages in a browser", "chromium"),
    _Program("Valgrind", ("valgrind",), "checking the C library", "valgrind"),
)
_WASM = "wasm32-unknown-unknown"
_BUILD_PROGRAM = "scripts/install_dataplane_deps.sh && make dataplane"


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab doctor`."""
    add_json(parser, "what was found")
    parser.add_argument(
        "--programs",
        action="store_true",
        help="load every eBPF program with every option that changes its code, and list those that the kernel refuses",
    )
    parser.add_argument(
        "--objects", metavar="FOLDER", help="with --programs: eBPF programs from this folder (NAME.filter.bpf.o, ...)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; the exit status is always 0."""
    if arguments.objects is not None and not arguments.programs:
        raise InputError("--objects: it needs --programs")
    if arguments.programs:
        objects = ["--objects", arguments.objects] if arguments.objects is not None else []
        return run_program(["doctor", "--programs", *(["--json"] if arguments.json else []), *objects])
    planes, findings = _examine()
    if arguments.json:
        print_json({**planes, "findings": findings})
        return 0
    for finding in findings:
        print(_line(finding))
    if planes:
        word = {True: "works here", False: "does not work here"}
        print(f"\nThe user-space switch {word[planes['switch']]}; the eBPF data plane {word[planes['ebpf']]}.")
    return 0


def _line(finding: Finding) -> str:
    if finding["ok"]:
        return f"yes {finding['what']} (for {finding['needed_for']}): {finding['detail']}"
    how = f"; {finding['install']}" if finding["install"] else ""
    return f"NO  {finding['what']} (for {finding['needed_for']}): {finding['detail']}{how}"


def _examine() -> tuple[dict[str, bool], list[Finding]]:
    """Return which data planes of Linux work, if known, and all findings."""
    findings = [_python(), _memory(), *map(_program, _BUILDERS), _wasm_target(), _pcap_library()]
    planes, of_linux = _linux()
    seen = {finding["what"] for finding in of_linux}
    findings = [finding for finding in findings if finding["what"] not in seen] + of_linux
    if sys.platform == "linux":
        findings += [_dpdk_library(), _dpdk_node(), _huge_pages()]
    # Without the source tree there is no P4 data plane to examine.
    with suppress(InputError):
        findings += p4_tools("doctor").examine()
    for finding in findings:
        finding.setdefault("install", _install(finding.get("packages", "")) if not finding["ok"] else "")
        finding.setdefault("packages", "")
    return planes, findings


def _install(packages: str) -> str:
    if not packages:
        return ""
    if shutil.which("apt-get"):
        return f"sudo apt-get install {packages}"
    return f"packages, as Debian calls them: {packages}"


def _finding(what: str, needed_for: str, detail: str, *, ok: bool, **more: str) -> Finding:
    return {"what": what, "needed_for": needed_for, "ok": ok, "detail": detail, **more}


def _python() -> Finding:
    detail = f"{platform.python_version()}, {sys.executable}, pifolab {_pifolab.__version__}"
    return _finding("Python", "pifolab", detail, ok=True)


def _memory() -> Finding:
    """Return the memory that is available; `pifolab run` refuses what needs more."""
    detail = f"{os.cpu_count()} processors"
    with suppress(OSError, ValueError, AttributeError):
        detail = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.1f} GB, {detail}"
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        detail = f"{int(free) * 1024 / 1e9:.1f} GB free of {detail}"
    return _finding("memory", "runs; a fat tree of 65,536 hosts takes gigabytes", detail, ok=True)


def _program(program: _Program) -> Finding:
    path = next(filter(None, map(shutil.which, program.names)), None)
    more = {"install": program.install} if path is None and program.install else {}
    detail = path or f"{program.names[0]} is not on PATH"
    return _finding(
        program.what, f"{program.needed_for}, optional", detail, ok=path is not None, packages=program.packages, **more
    )


def _wasm_target() -> Finding:
    """Return whether Rust compiles for browsers."""
    try:
        asked = ["rustc", "--print", "target-libdir", "--target", _WASM]
        folder = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
        ok = folder.is_dir()
        detail = str(folder) if ok else f"Rust has no {_WASM}"
    except (OSError, subprocess.CalledProcessError):
        ok, detail = False, "rustc does not run"
    install = "" if ok else f"rustup target add {_WASM}"
    return _finding("Rust for WebAssembly", "building the playground, optional", detail, ok=ok, install=install)


def _pcap_library() -> Finding:
    """Return whether filters of packets can be compiled."""
    name = pcap_library()
    detail = name or "there is no libpcap"
    return _finding("libpcap", "--filter of captures, optional", detail, ok=name is not None, packages="libpcap0.8")


def _dpdk_library() -> Finding:
    try:
        done = subprocess.run(["pkg-config", "--modversion", "libdpdk"], capture_output=True, text=True, check=False)
        detail, ok = done.stdout.strip() or "pkg-config finds no libdpdk", done.returncode == 0
    except OSError:
        detail, ok = "pkg-config is not on PATH", False
    packages = "libdpdk-dev dpdk pkg-config"
    return _finding("DPDK", "building pifolab dataplane dpdk, optional", detail, ok=ok, packages=packages)


def _dpdk_node() -> Finding:
    try:
        return _finding(DPDK, "pifolab dataplane dpdk, optional", str(find_program(DPDK)), ok=True)
    except InputError as missing:
        said, _, how = str(missing).partition("; in the source tree: ")
        return _finding(DPDK, "pifolab dataplane dpdk, optional", said, ok=False, install=f"in the source tree: {how}")


def _huge_pages() -> Finding:
    """Return the number of free huge pages: without one the node needs an option."""
    free = 0
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) for line in lines if line.startswith("HugePages_Free:"))
    install = "" if free else "sysctl vm.nr_hugepages=512; or --no-huge"
    detail = f"{free} are free"
    return _finding("huge pages", "pifolab dataplane dpdk, optional", detail, ok=free > 0, install=install)


def _linux() -> tuple[dict[str, bool], list[Finding]]:
    """Return the findings of the Linux data plane's program, or those that are possible without it."""
    if sys.platform != "linux":
        return {}, [_finding("Linux", "pifolab dataplane", f"this is {platform.system()}", ok=False)]
    kernel = _finding("Linux kernel", "eBPF, from 5.10; BPF qdiscs, from 6.16", platform.release(), ok=True)
    try:
        done = subprocess.run([find_program(), "doctor", "--json"], capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)
        return {name: found[name] for name in ("switch", "ebpf")}, [kernel, *found["findings"]]
    except InputError as missing:
        types = Path("/sys/kernel/btf/vmlinux")
        ok = types.exists()
        said = str(missing).partition("; in the source tree")[0]
        return {}, [
            kernel,
            _finding("kernel types (BTF)", "eBPF", str(types) if ok else f"there is no {types}", ok=ok),
            _program(_Program("tc", ("tc", "/usr/sbin/tc"), "eBPF, the testbed", "iproute2")),
            _finding(PROGRAM, "pifolab dataplane", said, ok=False, install=f"in the source tree: {_BUILD_PROGRAM}"),
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return {}, [kernel, _finding(PROGRAM, "pifolab dataplane", f"no answer to read ({error!r})", ok=False)]
