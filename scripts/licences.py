"""List the licences of everything that pifolab depends on, as Cargo and the installed Python packages state them.

python scripts/licences.py                 write docs/licences.md
python scripts/licences.py --check         exit with 1 if that page is not up to date
python scripts/licences.py --texts FILE    write the licence texts of what is compiled into the Python package
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib
from python_dependencies import listed

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
MANIFESTS = ("Cargo.toml", "dataplane/linux/Cargo.toml", "dataplane/dpdk/Cargo.toml", "fuzz/Cargo.toml")
#: What users get, by the crate that it is compiled from.
PRODUCTS = {
    "pifolab-py": "Python module",
    "pifolab-c-library": "C library",
    "pifolab-wasm": "playground",
    "pifolab-dataplane": "data plane",
    "pifolab-dpdk": "DPDK node",
}
IN_WHEEL = ("pifolab-py", "pifolab-wasm")
#: Licences under which a dependency may be part of what users get, and where crates may come from.
DENY = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
ACCEPTED = set(DENY["licenses"]["allow"])
REGISTRIES = {f"registry+{registry}" for registry in DENY["sources"]["allow-registry"]}
#: Besides, of Python packages: pip brings them as they are, and the licence asks nothing of programs that use them so.
BESIDE = {"MPL-2.0"}
#: What older Python packages state instead of an SPDX expression.
SPDX = {
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
_TEXTS = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)

HEAD = """# Licences of the dependencies

pifolab is under the [Apache License 2.0](../LICENSE). It depends on the packages below, each under the licence that it
states. `scripts/licences.py` writes this page; `make check` compares it with what Cargo and pip would take, and refuses
a licence that does not allow a package to be part of what pifolab gives to its users. A wheel holds the licence texts
of the crates that are compiled into it: `pifolab/data/licences.txt`.
"""


def metadata(manifest: str) -> dict[str, Any]:
    """Return what Cargo knows of a workspace and everything in its lock file."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", str(ROOT / manifest)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{manifest}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compiled_into(workspace: dict[str, Any], product: str) -> set[str]:
    """Return the ids of the packages that are compiled into a crate, without those of its tests and build scripts."""
    nodes = {node["id"]: node for node in workspace["resolve"]["nodes"]}
    waiting = [package["id"] for package in workspace["packages"] if package["name"] == product]
    found: set[str] = set()
    while waiting:
        package = waiting.pop()
        if package not in found:
            found.add(package)
            waiting += [d["pkg"] for d in nodes[package]["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
    return found


def crates() -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Return licence and products of every crate from a registry, by name and version."""
    found: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for manifest in MANIFESTS:
        workspace = metadata(manifest)
        within = {product: compiled_into(workspace, product) for product in PRODUCTS}
        for package in workspace["packages"]:
            if package["source"] is None:
                continue
            refuse_source(package)
            # Some crates still write "/" for OR, which Cargo allows.
            licence = (package["license"] or "not stated").replace("/", " OR ")
            key = (package["name"], package["version"])
            _, products = found.setdefault(key, (licence, []))
            products += [p for p, ids in within.items() if package["id"] in ids and p not in products]
    return found


def refuse_source(package: dict[str, Any]) -> None:
    """Stop where a crate does not come from a registry that deny.toml allows."""
    if package["source"] not in REGISTRIES:
        name = f"crate {package['name']} {package['version']}"
        raise SystemExit(f"{name}: source {package['source']}: expected one of allow-registry in deny.toml")


def accepted(expression: str, besides: Collection[str] = ()) -> bool:
    """Whether an SPDX expression leaves a choice that is accepted, or one of `besides`."""
    tokens = [token.strip() for token in re.split(r"(\(|\)|\bOR\b|\bAND\b)", expression) if token.strip()]
    words = {"OR": "or", "AND": "and", "(": "(", ")": ")"}
    return bool(eval(" ".join(words.get(token, str(token in ACCEPTED or token in besides)) for token in tokens)))


def python_packages() -> dict[str, tuple[str, str]]:
    """Return licence and use of the Python packages: all that pifolab needs here, and the developers' tools."""
    table = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, tuple[str, str]] = {}
    waiting = [(Requirement(line), "pifolab") for line in listed(table, "dependencies")]
    waiting += [(Requirement(line), "developers") for line in listed(table, "dev")]
    while waiting:
        requirement, use = waiting.pop(0)
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise SystemExit(f"{name} is not installed: run make build first") from None
        found[name] = (python_licence(package), use)
        if use == "pifolab":
            waiting += [(Requirement(line), use) for line in package.requires or ()]
    return found


def python_licence(package: importlib.metadata.Distribution) -> str:
    """Return what a Python package states: an SPDX expression, else a classifier, else the first line of its text."""
    # A message of e-mail as far as types go: `None` where a header is missing.
    fields: Any = package.metadata
    classifiers = [c.rsplit(" :: ", 1)[-1] for c in fields.get_all("Classifier", []) if c.startswith("License :: ")]
    text = (fields["License"] or "").strip().split("\n")[0]
    stated = (
        fields["License-Expression"] or " AND ".join(SPDX.get(c, c) for c in classifiers if c != "OSI Approved") or text
    )
    return SPDX.get(stated, stated) or "not stated"


def page(rust: dict[tuple[str, str], tuple[str, list[str]]], python: dict[str, tuple[str, str]]) -> str:
    lines = [HEAD, "## Rust\n", "| Crate | Version | Licence | Part of |", "|---|---|---|---|"]
    for (name, version), (licence, products) in sorted(rust.items()):
        part = ", ".join(PRODUCTS[p] for p in PRODUCTS if p in products) or "tests and tools"
        lines.append(f"| {name} | {version} | {licence} | {part} |")
    lines += [
        "\n## Python\n",
        "Not part of pifolab: pip installs them beside it, in versions that `pyproject.toml` bounds.\n",
    ]
    lines += ["| Package | Licence | Needed by |", "|---|---|---|"]
    lines += [f"| {name} | {licence} | {use} |" for name, (licence, use) in sorted(python.items())]
    return "\n".join(lines) + "\n"


def rows(text: str) -> tuple[list[str], dict[str, str]]:
    """Return the rows of the Rust table, and those of the Python table by name."""
    rust, _, python = text.partition("## Python")
    return re.findall(r"^\| .*", rust, re.MULTILINE), dict(re.findall(r"^\| (\S+) \| (.*)", python, re.MULTILINE))


def check(made: str) -> None:
    """Compare with the page: all of Rust, which lock files pin; of Python, whether each package has its row."""
    kept = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    (rust, python), (rust_kept, python_kept) = rows(made), rows(kept)
    old = [f"{row} should not be there" for row in rust_kept if row not in rust]
    old += [f"{row} is missing" for row in rust if row not in rust_kept]
    old += [f"Python package {name} is missing" for name in python if name not in python_kept]
    if old:
        raise SystemExit("\n".join(["docs/licences.md is not up to date; run python scripts/licences.py:", *old]))


def refuse(rust: dict[tuple[str, str], tuple[str, list[str]]], python: dict[str, tuple[str, str]]) -> None:
    """Stop where something that users get, or need, is under a licence that is not accepted."""
    stated = {f"crate {name} {version}": licence for (name, version), (licence, products) in rust.items() if products}
    stated |= {f"Python package {name}": licence for name, (licence, use) in python.items() if use == "pifolab"}
    for what, licence in sorted(stated.items()):
        if not accepted(licence, BESIDE if what.startswith("Python package ") else ()):
            raise SystemExit(f"{what}: licence {licence}: expected one that deny.toml allows")


def texts() -> str:
    """Return the licence texts of the crates that the Python package holds; of crates with the same text, once."""
    workspace = metadata(MANIFESTS[0])
    held = set().union(*(compiled_into(workspace, product) for product in IN_WHEEL))
    by_text: dict[str, list[str]] = {}
    for package in workspace["packages"]:
        if package["id"] not in held or package["source"] is None:
            continue
        named = f"{package['name']} {package['version']} ({package['license']})"
        files = [
            f for f in sorted(Path(package["manifest_path"]).parent.iterdir()) if f.is_file() and _TEXTS.match(f.name)
        ]
        for file in files:
            by_text.setdefault(file.read_text(encoding="utf-8").strip(), []).append(named)
        if not files:
            by_text.setdefault("The package has no text of its licence.", []).append(named)
    sections = sorted((sorted(set(names)), text) for text, names in by_text.items())
    rule = "=" * 80
    return f"\n\n{rule}\n\n".join("\n".join(names) + f"\n\n{text}" for names, text in sections) + "\n"


def main() -> None:
    match sys.argv[1:]:
        case ["--texts", file]:
            Path(file).write_text(texts(), encoding="utf-8")
            return
        case [] | ["--check"]:
            rust, python = crates(), python_packages()
        case _:
            raise SystemExit(__doc__)
    refuse(rust, python)
    if sys.argv[1:]:
        check(page(rust, python))
    else:
        PAGE.write_text(page(rust, python), encoding="utf-8")


if __name__ == "__main__":
    main()
