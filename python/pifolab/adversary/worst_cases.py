"""The worst case of every scheduler against every other one, on small exact problems: docs/worst-cases.md.

``python -m pifolab.adversary.worst_cases docs/worst-cases.md conformance/worst-cases`` writes the page, and the
witnesses as conformance vectors.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from pifolab.adversary import figures
from pifolab.adversary.question import Answer, attack
from pifolab.errors import InputError
from pifolab.export import table_lines, write_text
from pifolab.info import ideal
from pifolab.quantities import number

__all__ = ["METRICS", "PACKETS", "SETTINGS", "gap_to_pifo", "markdown", "worst_case"]

#: Six packets of buffer, two queues where there are queues, windows of four ranks, no headroom.
SETTINGS: dict[str, dict[str, Any]] = {
    "fifo": {"capacity_packets": 6},
    "pifo": {"capacity_packets": 6},
    "strict-priority": {"queues": 2, "queue_capacity_packets": 3, "ranks": 5},
    "sp-pifo": {"queues": 2, "queue_capacity_packets": 3},
    "aifo": {"capacity_packets": 6, "window": 4, "k": 0},
    "packs": {"queues": 2, "queue_capacity_packets": 3, "window": 4, "k": 0},
    "rifo": {"capacity_packets": 6, "tracking_range_packets": 4, "k": 0},
    "exp-pifo": {"queues": 2, "queue_capacity_packets": 3, "window_packets": 4},
}
#: Those that are not from a paper, and have a table of their own.
BEYOND: dict[str, dict[str, Any]] = {
    "slack-sp": {"queues": 2, "queue_capacity_packets": 3, "ranks": 5},
    "spring": {"queues": 2, "queue_capacity_packets": 3},
}
METRICS = ("WD", "WI")
PACKETS = (8, 9, 10)
RANKS = (1, 4)


def _options(scheduler: str) -> dict[str, Any]:
    return (SETTINGS | BEYOND)[scheduler]


@cache
def worst_case(a: str, b: str, metric: str, packets: int) -> Answer:
    """Return the worst trace for `a` against `b`."""
    return attack(
        a,
        b,
        metric=metric,
        packets=packets,
        ranks=RANKS,
        a_options=_options(a),
        b_options=_options(b),
        method="exact",
        time_limit_s=None,
    )


def gap_to_pifo(scheduler: str, metric: str) -> int | float | None:
    """Return the largest gap to PIFO over traces of eight packets; None if the scheduler is not in the table.

    Examples
    --------
    >>> from pifolab.adversary.worst_cases import gap_to_pifo
    >>> gap_to_pifo("pifo", "WD"), gap_to_pifo("afq", "WD")
    (0, None)
    """
    if scheduler not in SETTINGS | BEYOND:
        return None
    return number(worst_case(scheduler, "pifo", metric, PACKETS[0]).gap)


def markdown() -> str:
    """Return the page."""
    lines = [
        "# Worst cases",
        "",
        *textwrap.wrap(_about(), 120),
        "",
        "Written by `make worst-cases`.",
    ]
    for metric in METRICS:
        rows = ([a, *("-" if a == b else _cell(a, b, metric) for b in SETTINGS)] for a in SETTINGS)
        lines += ["", f"## {metric}", "", *table_lines(["", *SETTINGS], rows)]
        lines += ["", f"Traces of {PACKETS[0]} packets against PIFO:", ""]
        for a in SETTINGS:
            if a != ideal():
                answer = worst_case(a, ideal(), metric, PACKETS[0])
                lines.append(f"- {a}: {' '.join(map(str, answer.trace))} ({number(answer.gap)})")
    return "\n".join([*lines, "", *_beyond(), "", *figures.markdown()]) + "\n"


def _beyond() -> list[str]:
    """Return the section about the schedulers that are not from a paper."""
    ideals = ideal()
    lines = ["## Beyond the papers", "", *textwrap.wrap(_ABOUT_BEYOND, 120)]
    for metric in METRICS:
        rows = []
        for a in BEYOND:
            rows.append([a, *(_cell(a, b, metric) for b in SETTINGS)])
            rows.append([f"against {a}", *("-" if b == ideals else _cell(b, a, metric) for b in SETTINGS)])
        lines += ["", f"{metric}:", "", *table_lines(["", *SETTINGS], rows)]
    lines.append("")
    for a in BEYOND:
        for metric in METRICS:
            mine, theirs = ([worst_case(one, ideals, metric, packets) for packets in PACKETS] for one in (a, "packs"))
            within = all(one.gap <= other.gap for one, other in zip(mine, theirs, strict=True))
            trace = " ".join(map(str, mine[0].trace))
            verdict = "never above" if within else "above"
            lines.append(
                f"- {a}'s {metric} gap to PIFO is {verdict} PACKS's ({_cell(a, ideals, metric)} beside "
                f"{_cell('packs', ideals, metric)}); a trace of {PACKETS[0]} packets: {trace}."
            )
    return lines


def witnesses() -> Iterator[tuple[str, Answer]]:
    """Yield the name and the shrunk witness of each of the papers' figures, and of each scheduler against PIFO."""
    for figure in figures.FIGURES:
        yield f"packs-fig{figure.number}", figures.worst(figure.number).shrink()
    for metric in METRICS:
        for a in SETTINGS:
            answer = worst_case(a, ideal(), metric, PACKETS[0])
            if answer.gap > 0:
                yield f"{a}-{metric.lower()}", answer.shrink()


def write_witnesses(folder: Path) -> None:
    """Write the witnesses as conformance vectors, and ``gaps.csv``: what each costs both schedulers."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [["witness", "metric", "highest_rank", "a", "b", "cost_a", "cost_b", "gap"]]
    for name, answer in witnesses():
        answer.save(folder / name)
        story = answer.story()
        costs = [Fraction(*story[side]["value"]) for side in "ab"]
        question = answer.question
        facts = (question["metric"], question["highest"], question["a"][0], question["b"][0], *costs, answer.gap)
        rows.append([name, *map(str, facts)])
    text = "".join(",".join(row) + "\n" for row in rows)
    write_text(text, folder / "gaps.csv")


def _about() -> str:
    lengths = f"{', '.join(map(str, PACKETS[:-1]))} and {PACKETS[-1]}"
    return (
        "How much worse than another scheduler can a scheduler be? Each cell is the largest gap metric(row) - "
        f"metric(column) over all traces of {lengths} packets with ranks {RANKS[0]} to {RANKS[1]} in which all packets "
        "arrive before the first one leaves. A cell marked with `*` is the largest gap found; all others are proven. "
        "Buffers hold 6 packets: two queues of 3, or one of 6. Windows have 4 ranks and start empty; k = 0; RIFO "
        "tracks 4 packets; Exp-PIFO adapts every 4 packets; the strict-priority bounds are 0 and 3. "
        "[attack.md](attack.md) defines the metrics. AFQ and PIEO are not included: they need flows or times."
    )


def _cell(a: str, b: str, metric: str) -> str:
    answers = [worst_case(a, b, metric, packets) for packets in PACKETS]
    return ", ".join(f"{number(answer.gap)}{'' if answer.proven else '*'}" for answer in answers)


_ABOUT_BEYOND = (
    "Slack-SP and Spring under the same conditions. In the rows `against` the roles are exchanged: the gap is "
    "metric(column) - metric(row). The initial bound of Slack-SP is 2."
)


def main(argv: Sequence[str]) -> int:
    """Write the page to the first argument, and the witnesses into the folder that the second one names."""
    if len(argv) != 2:
        raise InputError("expected two arguments, the page and the folder of the witnesses to write")
    write_text(markdown(), Path(argv[0]))
    write_witnesses(Path(argv[1]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
