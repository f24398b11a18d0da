"""``python -m slack lab/pages`` writes slack.md, low-load.md and the figure into the folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from slack.page import low_load_page, slack_page, write_page


def main(argv: Sequence[str]) -> int:
    """Write the pages into the folder that the only argument names."""
    write_page(argv, "low-load.md", lambda folder: low_load_page(folder / "figures"))
    return write_page(argv, "slack.md", lambda _: slack_page())


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
