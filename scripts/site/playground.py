"""Put the playground into one folder: its page, the compiled library and the vectors.

    python scripts/site/playground.py LIBRARY.wasm FOLDER

Everything is a plain script beside the page, since a page that is opened from a folder may fetch nothing.
"""

from __future__ import annotations

import base64
import json
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "crates" / "wasm" / "page"
CONFORMANCE = ROOT / "conformance"


def vectors() -> dict[str, str]:
    """Return the text of every vector of a scheduler by the name that the page knows it by."""
    found = {f"vectors/{path.name}": path for path in sorted(CONFORMANCE.glob("*.json"))}
    found |= {f"worst-cases/{path.name}": path for path in sorted((CONFORMANCE / "worst-cases").glob("*.json"))}
    return {name: path.read_text(encoding="utf-8") for name, path in found.items()}


def assemble(library: Path, folder: Path) -> None:
    """Write the playground with this compiled library to `folder`, in place of what is there."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PAGE, folder)
    encoded = base64.b64encode(library.read_bytes()).decode("ascii")
    (folder / "wasm.js").write_text(f'const PIFOLAB_WASM = "{encoded}";\n', encoding="ascii")
    text = f"const PIFOLAB_VECTORS = {json.dumps(vectors())};\n"
    (folder / "vectors.js").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    assemble(Path(sys.argv[1]), Path(sys.argv[2]))
