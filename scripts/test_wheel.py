"""Install the wheel into an empty environment without Rust and try what a user would: `make wheel-test`.

python scripts/test_wheel.py out/dist
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

#: What every wheel holds beside code.
HELD = (
    "pifolab/experiments/packs/fig3.toml",
    "pifolab/data/conformance/packs_bytes.json",
    "pifolab/data/playground/index.html",
    "pifolab/data/playground/wasm.js",
    "pifolab/_classes.pyi",
    "pifolab/py.typed",
)
#: What a source archive needs to be compiled.
SOURCES = ("Cargo.lock", "crates/py/Cargo.toml", "crates/sched/src/lib.rs", "pyproject.toml", "LICENSE")

TRIED = (
    ("pifolab", "--version"),
    ("pifolab", "list", "schedulers"),
    ("pifolab", "explain", "packs"),
    ("pifolab", "run", "packs/fig3", "--set", "duration_s=0.001", "--out", "fig3"),
    ("pifolab", "conformance"),
    ("pifolab", "playground", "--out", "playground"),
    ("python", "-c", "import pifolab; p = pifolab.Packs(queues=4); assert 'Packs' in repr(p), p"),
)


def main() -> None:
    dist = Path(sys.argv[1])
    (wheel,) = dist.glob("*.whl")
    (sources,) = dist.glob("*.tar.gz")
    assert "-abi3-" in wheel.name, f"{wheel.name}: expected a wheel of the stable ABI"
    expected(wheel.name, HELD, set(zipfile.ZipFile(wheel).namelist()))
    with tarfile.open(sources) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    expected(sources.name, SOURCES + tuple(f"python/{name}" for name in HELD), names)

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        venv.create(folder / "venv", with_pip=True)
        # Nothing but the environment and what a shell needs: no Rust, no source tree.
        environment = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ}
        environment["PATH"] = f"{folder / 'venv' / 'bin'}:/usr/bin:/bin"
        for tool in ("cargo", "rustc"):
            found = shutil.which(tool, path=environment["PATH"])
            assert found is None, f"{found}: this test means a machine without Rust"
        install = ("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel.resolve()))
        for command in (install, *TRIED):
            program = folder / "venv" / "bin" / command[0]
            done = subprocess.run(
                [program, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            print(f"{'ok' if done.returncode == 0 else 'FAILED'}: {' '.join(command)}")
            if done.returncode != 0:
                raise SystemExit(done.stdout + done.stderr)
        for made in ("fig3/report.html", "playground/index.html"):
            assert (folder / made).exists(), made
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; {sources.name}: {sources.stat().st_size / 1e6:.1f} MB")


def expected(archive: str, wanted: tuple[str, ...], names: set[str]) -> None:
    missing = [name for name in wanted if name not in names]
    assert not missing, f"{archive} has not {', '.join(missing)}"


if __name__ == "__main__":
    main()
