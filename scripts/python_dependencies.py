"""Print requirements of a pyproject.toml, one a line.

    python scripts/python_dependencies.py pyproject.toml LIST...        prints those of lists such as dependencies, dev
    python scripts/python_dependencies.py pyproject.toml --lock FILE    writes the newest versions that all allow

pip can install them only together with the package, which would compile it; Python 3.10 has no TOML reader, so the
lists are read as what they also are: lists of strings in Python's syntax.
"""

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path


def listed(text: str, key: str) -> list[str]:
    """Return the requirements in the list of this name."""
    table = re.search(rf"^{key} = (\[.*?\])$", text, re.MULTILINE | re.DOTALL)
    if table is None:
        raise SystemExit(f"pyproject.toml: no list named {key}")
    found: list[str] = ast.literal_eval(table.group(1))
    return found


def requirements(project: str, lists: Sequence[str]) -> list[str]:
    """Return the entries of these lists."""
    text = Path(project).read_text(encoding="utf-8")
    return [entry for key in lists for entry in listed(text, key)]


HEAD = """# The versions of the packages that `make build` installs: one set for everybody, and for CI.
# `make lock` writes it anew. Python 3.10 gets what pip finds: several of these need 3.11.
"""


def lock(wanted: list[str], file: Path) -> None:
    """Install what is wanted into an environment of its own, and write the versions of all that pip brings."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", *wanted], check=True)
        frozen = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout.splitlines()
    lines = [f'{line} ; python_version >= "3.11"\n' for line in sorted(frozen, key=str.lower)]
    file.write_text(HEAD + "".join(lines), encoding="utf-8")


def main(arguments: list[str]) -> None:
    match arguments:
        case [project, "--lock", file]:
            lock(requirements(project, ("dependencies", "dev")), Path(file))
        case [project, *lists] if lists:
            print("\n".join(requirements(project, lists)))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
