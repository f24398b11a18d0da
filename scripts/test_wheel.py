"""Try the wheel as on a machine without Rust, and build the source archive as its receiver would.

python scripts/test_wheel.py wheel out/dist     `make wheel-test`
python scripts/test_wheel.py sources out/dist   `make sdist-test`
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("pifolab/", "pifolab_command/", "pifolab_papers/")
#: What the packages hold beside the files of the repository.
MADE = ("pifolab/_classes.pyi", "pifolab/data/licences.txt")
#: What a source archive needs to be compiled.
SOURCES = ("Cargo.lock", "Cargo.toml", "crates/py/Cargo.toml", "crates/sched/src/lib.rs", "pyproject.toml", "LICENSE")

IMPORT_ALL = """
import importlib, pkgutil, pifolab, pifolab_papers
for package in pifolab, pifolab_papers:
  for module in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
    if not module.name.endswith('__main__'):
      importlib.import_module(module.name)
"""
DOCTESTS = """
import doctest, pifolab
done = doctest.testmod(pifolab)
assert done.attempted > 5 and not done.failed, done
"""
TRIED = (
    ("python", "-m", "pip", "check"),
    ("python", "-c", IMPORT_ALL),
    ("python", "-c", DOCTESTS),
    ("pifolab", "--version"),
    ("pifolab", "list", "schedulers"),
    ("pifolab", "explain", "packs"),
    ("pifolab", "run", "packs/fig3", "--set", "duration_s=0.001", "--out", "fig3"),
    ("pifolab", "conformance"),
    ("pifolab", "playground", "--out", "playground"),
    ("pifolab", "demo", "--out", "demo"),
)
#: What these commands leave.
LEFT = ("fig3/report.html", "playground/index.html", "playground/wasm.js", "demo/report.html")


def main() -> None:
    what, dist = sys.argv[1], Path(sys.argv[2])
    (wheel,) = dist.glob("*.whl")
    (sources,) = dist.glob("*.tar.gz")
    if what == "wheel":
        assert "-abi3-" in wheel.name, f"{wheel.name}: expected a wheel of the stable ABI"
        check_names(wheel.name, packaged(), names_in_wheel(wheel))
        with tarfile.open(sources) as archive:
            names = {name.split("/", 1)[-1] for name in archive.getnames()}
        missing = [name for name in SOURCES if name not in names]
        assert not missing, f"{sources.name} lacks {', '.join(missing)}"
        in_sources = {
            name.removeprefix("python/")
            for name in names
            if name.startswith(tuple(f"python/{package}" for package in PACKAGES))
        }
        check_names(sources.name, packaged(), in_sources)
        with tempfile.TemporaryDirectory() as scratch:
            try_wheel(wheel, Path(scratch))
        print(
            f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; {sources.name}: {sources.stat().st_size / 1e6:.1f} MB"
        )
    else:
        with tempfile.TemporaryDirectory() as scratch:
            built = build(sources, Path(scratch))
            check_names(built.name, names_in_wheel(wheel), names_in_wheel(built))
            try_wheel(built, Path(scratch))


def packaged() -> set[str]:
    """Return the names of all files that the package must hold: the repository's, and what `make` writes."""
    listed = subprocess.run(
        ["git", "ls-files", *(f"python/{name}" for name in PACKAGES), "conformance/*.json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    names = {name.removeprefix("python/") for name in listed if name.startswith("python/")}
    names |= {f"pifolab/data/{name}" for name in listed if name.startswith("conformance/") and name.count("/") == 1}
    page = ROOT / "python/pifolab/data/playground"
    names |= {
        f"pifolab/data/playground/{path.relative_to(page).as_posix()}" for path in page.rglob("*") if path.is_file()
    }
    return names | set(MADE)


def names_in_wheel(wheel: Path) -> set[str]:
    """Return the names of the files in a wheel but for the compiled module and what pip writes."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    return {name for name in names if name.startswith(PACKAGES) and not name.endswith(".so")}


def check_names(archive: str, wanted: set[str], held: set[str]) -> None:
    assert "pifolab/data/playground/index.html" in wanted, "run make playground first"
    for names, text in ((wanted - held, "lacks"), (held - wanted, "holds what is not in the repository:")):
        assert not names, f"{archive} {text} {', '.join(sorted(names))}"


def without_sources() -> dict[str, str]:
    """Return this environment without what points to Python packages, virtual environments and Rust."""
    hidden = ("PYTHON", "VIRTUAL_ENV", "CARGO", "RUST", "MAKE", "MFLAGS", "PATH")
    return {key: value for key, value in os.environ.items() if not key.startswith(hidden)}


def run(command: list[str], cwd: Path, environment: dict[str, str], named: str) -> None:
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    print(f"{'ok' if done.returncode == 0 else 'FAILED'}: {named}", flush=True)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment and run what a user would, with that environment alone on PATH."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    environment = without_sources() | {"PATH": str(programs)}
    for tool in ("cargo", "rustc", "cc"):
        assert shutil.which(tool, path=environment["PATH"]) is None, tool
    pip = ("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
    for command in ((*pip, str(wheel.resolve())), *TRIED):
        named = " ".join("..." if "\n" in word else word for word in command)
        run([str(programs / command[0]), *command[1:]], folder, environment, named)
    for name in LEFT:
        assert (folder / name).exists(), f"{name} was not written"


def build(sources: Path, folder: Path) -> Path:
    """Build a wheel from the source archive in an empty folder, with nothing of this tree but compiled dependencies."""
    environment = without_sources() | {"PATH": os.environ["PATH"], "CARGO_TARGET_DIR": str(ROOT / "target" / "sources")}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    run(
        [*pip, "--wheel-dir", str(folder / "built"), str(sources.resolve())],
        folder,
        environment,
        f"pip wheel {sources.name}",
    )
    (built,) = (folder / "built").glob("*.whl")
    return built


if __name__ == "__main__":
    main()
