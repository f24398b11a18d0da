"""Print the requirements of a pyproject.toml, developers' tools included, one a line.

pip can install them only together with the package, which would compile it; Python 3.10 has no TOML reader, so the
two tables are read as what they also are: lists of strings in Python's syntax.
"""

import ast
import re
import sys
from pathlib import Path


def listed(text: str, key: str) -> list[str]:
    """Return the requirements in the list of this name."""
    table = re.search(rf"^{key} = (\[.*?^\])", text, re.MULTILINE | re.DOTALL)
    if table is None:
        raise SystemExit(f"pyproject.toml: no list named {key}")
    found: list[str] = ast.literal_eval(table.group(1))
    return found


def requirements(text: str) -> list[str]:
    """Return the entries of `project.dependencies` and of the `dev` extra."""
    return [entry for key in ("dependencies", "dev") for entry in listed(text, key)]


if __name__ == "__main__":
    print("\n".join(requirements(Path(sys.argv[1]).read_text(encoding="utf-8"))))
