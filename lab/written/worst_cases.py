"""The worst case of every scheduler against every other one, on small exact problems: docs/worst-cases.md.

``PYTHONPATH=lab python -m written.worst_cases docs/worst-cases.md conformance/worst-cases`` writes the page, and the
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

from pifolab import info
from pifolab.adversary.question import Answer, attack
from pifolab.errors import InputError
from pifolab.export import table_lines, write_text
from pifolab.info import ideal
from pifolab.quantities import number
from pifolab_papers.worst_cases import DESCRIBED, FIGURES, described, rank_1_dropped, rank_1_inversions, worst

__all__ = ["METRICS", "PACKETS", "SETTINGS", "gap_to_pifo", "markdown", "readings", "worst_case"]

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
    >>> from written.worst_cases import gap_to_pifo
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
    return "\n".join([*lines, "", *_beyond(), "", *of_figures()]) + "\n"


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
    for figure in FIGURES:
        yield f"packs-fig{figure.number}", worst(figure.number).shrink()
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


def readings(number: int) -> list[tuple[str, dict[str, Any]]]:
    """Return the readings that may differ, as names and keywords of `worst`; the default is the first."""
    (figure,) = (figure for figure in FIGURES if figure.number == number)
    # Without drops there is no full queue; a window that reads the same from both ends has no reverse.
    choosable = any(param.name == "on_full" for side in (figure.a, figure.b) for param in info.scheduler(side).params)
    fulls = ("keep", "update") if choosable and not figure.no_drops else ("keep",)
    turns = (False,) if figure.start_window == figure.start_window[::-1] else (False, True)
    found = []
    for update in ("before", "after"):
        for on_full in fulls:
            for reverse in turns:
                words = [f"update = {update}"]
                words += [f"on_full = {on_full}"] if len(fulls) > 1 else []
                words += ["window reversed"] if reverse else []
                found.append((", ".join(words), {"update": update, "on_full": on_full, "reverse": reverse}))
    return found


def of_figures() -> list[str]:
    """Return the lines of the section on the figures: the optimal traces, and the gaps under every reading."""
    rows = []
    for figure in FIGURES:
        answer = worst(figure.number)
        story = answer.story()
        cells = [f"{figure.number}: {figure.metric} {figure.a} - {figure.b}", _gap(answer)]
        cells.append(", ".join(str(number(Fraction(*story[side]["value"]))) for side in "ab"))
        for count in (rank_1_dropped, rank_1_inversions):
            cells.append(", ".join(str(count(answer.trace, story[side])) for side in "ab"))
        rows.append([*cells, " ".join(map(str, answer.trace))])
    head = [
        "figure",
        "gap",
        "cost of A, B",
        "rank 1 dropped by A, B",
        "inversions of rank 1 by A, B",
        "an optimal trace",
    ]
    others = (
        (str(figure.number), name, _gap(worst(figure.number, **reading)))
        for figure in FIGURES
        for name, reading in readings(figure.number)[1:]
    )
    lines = ["## The figures of PACKS, appendix B", "", *textwrap.wrap(_ABOUT, 120), "", *table_lines(head, rows)]
    lines += ["", *_described_lines(), "", *textwrap.wrap(_OTHERS, 120), ""]
    return [*lines, *table_lines(["figure", "reading", "gap"], others)]


def _described_lines() -> list[str]:
    rows = []
    for about in DESCRIBED:
        most, optimum = described(about.number), worst(about.number).gap
        # A sum of metrics bounds more traces than those that are described.
        verdict = f"at most {number(most)}: below the optimum" if most < optimum else f"up to {number(most)}"
        rows.append([str(about.number), about.words, verdict, str(number(optimum))])
    head = ["figure", "what the paper says of its trace", "gap of such a trace", "optimum"]
    return [*textwrap.wrap(_DESCRIBED, 120), "", *table_lines(head, rows)]


def _gap(answer: Answer) -> str:
    gap = str(number(answer.gap))
    if answer.proven:
        return gap
    return f"{gap}* (at most {number(answer.bound)})" if answer.bound is not None else f"{gap}*"


_OTHERS = (
    "Other readings that could make a difference. With `update = after` the oldest rank of a full window still "
    "counts, so that there are eleven times as many windows. Each search has 8 GiB and ten minutes on two "
    "processors: where that is not enough for a proof, the table shows the best gap found and the bound that was "
    "reached. `pifolab_papers.worst_cases.worst` searches any of the readings."
)

_DESCRIBED = (
    "Are the paper's own traces worst ones? The paper draws them, and states the properties in the next table for "
    "six of them. It is proven that no trace with such a property has a larger gap than the table shows. If this "
    "gap is below the optimum, the paper's trace is not a worst one under this reading. For Fig. 16, the optimal "
    "trace above has all the properties that the paper states; for Fig. 17 the stated property (approximately "
    "sorted) excludes nothing. Where the paper states a count, the bound comes from a search for the sum of two "
    "metrics, such as `WI-3*inversions`."
)

_ABOUT = (
    "Fifteen packets of ranks 1 to 11 arrive, then all leave. The buffer holds 12 packets (three queues of four, "
    "or one of twelve), the window has 4 ranks, and k = 0; Fig. 20 and 21 have queues of 15 and no drops. In the "
    "first table start windows are listed oldest first, a rank enters the window before its quantile is taken "
    "(`update = before`), and SP-PIFO pushes all bounds down first and keeps them when it drops (`on_full = "
    "keep`). Gaps are proven unless marked with `*`. Several traces may have the same gap; the table shows the "
    "one that the search returns."
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
