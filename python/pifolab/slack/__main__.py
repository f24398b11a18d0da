"""``python -m pifolab.slack docs`` writes slack.md, low-load.md and the figure into the folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pifolab.errors import InputError
from pifolab.slack.page import low_load_page, slack_page


def main(argv: Sequence[str]) -> int:
    """Write the pages into the folder that the only argument names."""
    if len(argv) != 1:
        raise InputError("expected one argument, the folder to write to")
    folder = Path(argv[0])
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name in ("low-load.md", "slack.md"):
        text = low_load_page(folder / "figures") if name == "low-load.md" else slack_page()
        temporary = folder / f".{name}.part"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(folder / name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
