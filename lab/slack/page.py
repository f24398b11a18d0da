"""lab/pages/slack.md and lab/pages/low-load.md: what is derived, what is measured, and what does not hold."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pifolab import hardware
from pifolab.adversary import attack
from pifolab.errors import InputError
from pifolab.export import write_text
from pifolab.figures.palette import look
from pifolab.figures.style import COLUMN_INCHES, figure_style, save, subplots
from pifolab.lazy import pl
from pifolab.quantities import number
from slack.measure import ARRIVALS, DEPTHS, DISTRIBUTIONS, SCHEDULERS, at_load, judge

__all__ = ["is_met", "low_load_page", "means", "ratio", "shown_pair", "slack_page"]

#: The five distributions of the bar; the shifting one is a table of its own.
FIVE = tuple(name for name in DISTRIBUTIONS if name != "shifting")
BAR = {label: SCHEDULERS[label] for label in ("PACKS, window 1000", "Slack-SP", "PACKS, geometric")}
BAR_PACKETS, BAR_SEEDS = 100_000, tuple(range(1, 11))
LOW_LOAD: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "AIFO, k = 0": ("aifo", {"window": 1000, "k": 0}),
    "PACKS, k = 0": ("packs", {"window": 1000, "k": 0}),
    "PACKS, k = 0.5": ("packs", {"window": 1000, "k": 0.5}),
    "PACKS, geometric, k = 0": ("packs", {"window": 1000, "k": 0, "map": "geometric"}),
    "PACKS, geometric, k = 0.5": ("packs", {"window": 1000, "k": 0.5, "map": "geometric"}),
    "SP-PIFO": ("sp-pifo", {}),
    "Slack-SP": ("slack-sp", {}),
}
LOADS = ("Poisson 0.8", "Poisson 0.95", "Poisson 1.1")


def write_page(argv: Sequence[str], name: str, text: Callable[[Path], str]) -> int:
    """Write the page `name` into the folder that the only argument names; `text` is called with the folder."""
    if len(argv) != 1:
        raise InputError("expected one argument, the folder to write to")
    folder = Path(argv[0])
    write_text(text(folder), folder / name)
    return 0


#: The mean of every column over the seeds of a run, by scheduler.
Means = dict[str, dict[str, float]]


def means(frame: pl.DataFrame) -> Means:
    """Return the mean over seeds of every column, by scheduler."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in frame.iter_rows(named=True):
        own = found.setdefault(row["scheduler"], {})
        for key, value in row.items():
            if key not in ("scheduler", "seed"):
                own.setdefault(key, []).append(float(value))
    return {name: {key: sum(values) / len(values) for key, values in own.items()} for name, own in found.items()}


def _table(head: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    lines = [f"| {head} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    return [*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows), ""]


def _thousands_table(
    runs: Mapping[str, Means], column: str, labels: Iterable[str] = SCHEDULERS, head: str = ""
) -> list[str]:
    """Return a table of a count: a row for each scheduler, a column for each run."""
    rows = [(label, [f"{run[label][column] / 1000:.1f} k" for run in runs.values()]) for label in labels]
    return _table(head, list(runs), rows)


def _paragraph(text: str) -> list[str]:
    return [*textwrap.wrap(" ".join(text.split()), 120), ""]


def inversions_table() -> list[str]:
    """Inversions and misdrops on every distribution, eight queues of ten, constant arrivals at 1.1 times the link."""
    runs = {name: means(judge(name)) for name in DISTRIBUTIONS}
    lines = ["Inversions:", "", *_thousands_table(runs, "inversions")]
    lines += ["Misdrops:", "", *_thousands_table(runs, "misdrops")]
    lines += ["Unpifoness per packet (SP-PIFO eq. 7: how far the ranks lie apart that share a queue):", ""]
    lines += _table(
        "", list(runs), [(label, [f"{runs[name][label]['unpifoness']:.2f}" for name in runs]) for label in SCHEDULERS]
    )
    drops = [runs[name][label]["drops"] for name in FIVE for label in SCHEDULERS]
    ideal = runs["uniform"]["PIFO"]["drops"]
    lines += _paragraph(f"All drop {min(drops):,.0f} to {max(drops):,.0f} packets in all, PIFO {ideal:,.0f} (uniform).")
    return lines


def queues_table() -> list[str]:
    """Inversions with other numbers of queues, uniform ranks."""
    runs = {f"{count} x {depth}": means(judge("uniform", queues=count)) for count, depth in DEPTHS.items()}
    return _thousands_table(runs, "inversions", head="queues")


def arrivals_table() -> list[str]:
    """Uniform ranks under every arrival process."""
    runs = {name: means(judge("uniform", name)) for name in ARRIVALS}
    lines = []
    for what, column in (
        ("Inversions", "inversions"),
        ("Drops", "drops"),
        ("Misdrops", "misdrops"),
        ("Packets overtaken in their flow", "reordered"),
    ):
        labels = [*(["PIFO"] if column in ("drops", "reordered") else []), *SCHEDULERS]
        lines += [f"{what}:", "", *_thousands_table(runs, column, labels)]
    return lines


#: Comparisons and changes of registers for each packet, of n queues and a window of w.
_OPERATIONS = {
    "SP-PIFO": "n comparisons, 1 change (after an inversion n)",
    "PACKS, window 16": "w + n comparisons, 1 change",
    "PACKS, window 1000": "w + n comparisons, 1 change",
    "Slack-SP": "n - 1 comparisons, each with 1 change",
    "PACKS, geometric": "w + n comparisons, 1 change",
    "Spring": "n comparisons, 2 n changes",
}


def state_table() -> list[str]:
    """Return registers of 32 bits and operations for each packet, with eight queues."""
    rows = []
    for label, (name, parameters) in SCHEDULERS.items():
        found = hardware.cost(name, {"queues": 8, **parameters})
        if found is not None:
            counts = [found.registers, found.state_bits, found.operations]
            rows.append((label, [*map(str, counts), _OPERATIONS[label]]))
    return _table("", ["registers", "bits", "operations per packet", "of n queues and a window of w"], rows)


#: What is attacked: a buffer of six packets, in two queues, and bounds for ranks 1 to 4.
_ATTACKED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "SP-PIFO": ("sp-pifo", {}),
    "PACKS, window 4": ("packs", {"window": 4, "k": 0}),
    "Slack-SP": ("slack-sp", {"ranks": 5}),
    "PACKS, geometric, window 4": ("packs", {"window": 4, "k": 0, "map": "geometric"}),
    "Spring": ("spring", {}),
}


def worst_table() -> list[str]:
    """Return the largest gaps to PIFO over all traces of eight packets with ranks 1 to 4."""
    rows = []
    for label, (name, parameters) in _ATTACKED.items():
        options = {"queues": 2, "queue_capacity_packets": 3, **parameters}
        cells = []
        for metric in ("WD", "WI"):
            ideal = {"capacity_packets": 6}
            answer = attack(name, "pifo", metric=metric, packets=8, ranks=(1, 4), a_options=options, b_options=ideal)
            cells.append(f"{number(answer.gap)}{'' if answer.proven else '*'}")
        rows.append((label, cells))
    return _table("", ["WD", "WI"], rows)


def bar_table() -> list[str]:
    """Every cell of distribution, arrivals and queues: fewer inversions than PACKS at no more misdrops."""
    lines: list[str] = []
    summary: dict[str, list[tuple[str, float, float]]] = {"Slack-SP": [], "PACKS, geometric": []}
    for queues in DEPTHS:
        rows: dict[str, list[tuple[str, list[str]]]] = {label: [] for label in summary}
        for distribution in FIVE:
            cells: dict[str, list[str]] = {label: [] for label in summary}
            for arrivals in ARRIVALS:
                run = means(
                    judge(
                        distribution,
                        arrivals,
                        schedulers=BAR,
                        queues=queues,
                        packets=BAR_PACKETS,
                        seeds=BAR_SEEDS,
                    )
                )
                base = run["PACKS, window 1000"]
                for label in summary:
                    inversions = ratio(run[label]["inversions"], base["inversions"])
                    misdrops = ratio(run[label]["misdrops"], base["misdrops"])
                    summary[label].append((f"{distribution}, {arrivals}, {queues} queues", inversions, misdrops))
                    cells[label].append(shown_pair((inversions, misdrops)))
            for label in summary:
                rows[label].append((distribution, cells[label]))
        for label in summary:
            lines += [f"{label}, {queues} queues of {DEPTHS[queues]}:", ""]
            lines += _table("", list(ARRIVALS), rows[label])
    verdicts = []
    for label, cells_of in summary.items():
        met = sum(is_met(inversions, misdrops) for _, inversions, misdrops in cells_of)
        fewer = sum(inversions < 1 for _, inversions, _ in cells_of)
        worst = max(cells_of, key=lambda cell: cell[1])
        verdicts.append(
            f"{label} meets {met} of {len(cells_of)} cells; it has fewer inversions in {fewer}, and at worst "
            f"{worst[1]:.2f} times as many ({worst[0]})."
        )
    return [*_paragraph(" ".join(verdicts)), *lines]


def ratio(count: float, base: float) -> float:
    """Return how many times as many, 1 if both are none."""
    return 1.0 if count == base else count / base if base else float("inf")


def is_met(inversions: float, misdrops: float) -> bool:
    """Whether these ratios to PACKS meet the bar."""
    return inversions < 1 and misdrops <= 1.05


def shown_pair(pair: tuple[float, float]) -> str:
    """Return the ratios of inversions and of misdrops, bold if they meet the bar."""
    bold = "**" if is_met(*pair) else ""
    return f"{bold}{pair[0]:.2f}, {pair[1]:.2f}{bold}"


def slack_page() -> str:
    """Return lab/pages/slack.md."""
    lines = [_SLACK_HEAD, *inversions_table(), "Inversions with other numbers of queues, uniform ranks:", ""]
    lines += queues_table()
    lines += ["## Other arrivals", "", *_paragraph(_ARRIVALS), *arrivals_table()]
    lines += ["## State and operations", "", *state_table()]
    lines += ["## Worst cases", "", *_paragraph(_WORST), *worst_table()]
    lines += [
        "## The bar",
        "",
        *_paragraph(_BAR.format(seeds=len(BAR_SEEDS), packets=BAR_PACKETS)),
        *bar_table(),
    ]
    lines += [_SLACK_TAIL]
    return "\n".join(lines)


def low_load_page(folder: Path) -> str:
    """Return lab/pages/low-load.md; its figure is written to `folder`."""
    runs = {name: means(judge("uniform", name, schedulers=LOW_LOAD)) for name in LOADS}
    lines = [_LOW_HEAD, "Drops, as a share of the arrivals:", ""]

    def share(row: Mapping[str, float]) -> str:
        return f"{100 * row['drops'] / row['arrived']:.2g} %"

    lines += _table(
        "", list(runs), [(label, [share(runs[name][label]) for name in runs]) for label in ("PIFO", *LOW_LOAD)]
    )
    lines += ["Inversions:", "", *_thousands_table(runs, "inversions", LOW_LOAD)]
    lines += ["Misdrops:", "", *_thousands_table(runs, "misdrops", LOW_LOAD)]
    _draw_low_load(folder)
    return "\n".join([*lines, _LOW_TAIL])


#: Loads of the figure, in hundredths.
_DRAWN_LOADS = (50, 60, 70, 75, 80, 85, 90, 95, 100, 105, 110)


def _draw_low_load(folder: Path) -> None:
    shown = {"AIFO, k = 0": "--", "PACKS, k = 0": "-", "PACKS, k = 0.5": ":", "SP-PIFO": "-", "Slack-SP": "-"}
    schedulers = {label: LOW_LOAD[label] for label in shown}
    runs = {load: means(at_load(load / 100, schedulers, packets=200_000, seeds=(1, 2))) for load in _DRAWN_LOADS}
    folder.mkdir(parents=True, exist_ok=True)
    with figure_style():
        figure, axes = subplots(1, 2, figsize=(2 * COLUMN_INCHES, 2.4))
        for label, dash in shown.items():
            colour = look(LOW_LOAD[label][0]).colour
            loads = [load / 100 for load in runs]
            drops = [100 * run[label]["drops"] / run[label]["arrived"] for run in runs.values()]
            inversions = [100 * run[label]["inversions"] / run[label]["arrived"] for run in runs.values()]
            axes[0].plot(loads, drops, dash, color=colour, label=label)
            axes[1].plot(loads, inversions, dash, color=colour, label=label)
        ideal = [100 * run["PIFO"]["drops"] / run["PIFO"]["arrived"] for run in runs.values()]
        axes[0].plot([load / 100 for load in runs], ideal, color=look("pifo").colour, label="PIFO")
        for axis, what in zip(axes, ("dropped packets (%)", "inversions (% of packets)"), strict=True):
            axis.set_xlabel("offered load, Poisson arrivals")
            axis.set_ylabel(what)
        axes[0].legend()
        save(figure, folder / "low-load", ["svg"])


_SLACK_HEAD = """# Slack that shrinks geometrically

Where should the bounds of strict-priority queues be? This page derives an answer. A scheduler
([slack-sp](../../docs/schedulers/slack-sp.md)) and a map for PACKS
([packs](../../docs/schedulers/packs.md), `map = geometric`) use it. Both are compared with SP-PIFO, PACKS and
[Spring](../../docs/schedulers/spring.md) on identical packets.
The page also shows where they lose.

`make lab-pages` writes everything below, and contains the seeds.

## The derivation

n strict-priority queues share a link. Let sigma_k be the load of the ranks in queues 1 to k, as a share of the link,
and x_k = 1 - sigma_k the slack that remains for the queues behind them. In a non-preemptive priority system the mean
wait in queue k is R / (x_{k-1} x_k), where R is the remaining time of the packet in service. A pair is inverted
inside queue k if both packets wait there at the same time and the one with the higher rank came first. The number of
such pairs is proportional to the arrivals to the queue times the packets that wait there,

    (x_{k-1} - x_k)^2 / (x_{k-1} x_k),

which depends only on the ratio x_k / x_{k-1}. For a given product of all ratios, the sum over the queues is smallest
if the ratios are equal: **the slack shrinks geometrically, x_k = g^k**. Queues for low ranks are wide, since they are
nearly always empty. Queues for ranks near the one at which the link saturates are narrow. Below saturation g = (1 -
rho)^(1/n). Under overload the last queue takes what the link cannot send, and g = eps^(1/(n-1)) with an eps of 0.02
to 0.1.

## The algorithm

    q_k = 1 - eps^(k/(n-1)) for k = 1..n-1
    for a packet of rank r:
        i = 0
        for each k:
            if r >= b_k:  i += 1;  b_k += q_k D
            else:                  b_k -= (1 - q_k) D
        the first queue from i on that has room takes the packet; if none has, it is dropped

Each bound is a register. Each packet compares it once and changes it once, by one of two constants. These n - 1
registers are the whole state. PACKS needs as many registers as its window has ranks, and counts over all of them to
get a quantile.

## Constant arrivals at 1.1 times the link

600,000 packets of 1500 bytes, eight queues of ten packets (PIFO: 80), means of seeds 1 to 3. The streams of ranks are
those of the papers; shifting ranks are uniform, and move up by 100, or back, after every 50,000 packets. eps is 0.1
(geometric map: 0.02), and D is half a rank. An inversion is a packet that is sent while a lower rank waits. Misdrops
are the drops beyond PIFO's, summed over the ranks.
"""

_ARRIVALS = """
Uniform ranks, 600,000 packets, eight queues of ten, means of seeds 1 to 3. Bursts are 64 packets at four times the
rate of the link, with a mean load of 0.9. A scheduler that drops less has more packets to sort: compare inversions
only together with drops.
"""

_WORST = """
The largest gap to a PIFO of the same buffer over all batches of eight packets with ranks 1 to 4, proven
([attack.md](../../docs/attack.md) defines WD and WI): two queues of three packets.
"""

_BAR = """
We call a scheduler better than PACKS with a window of 1000 if it has fewer inversions with at most 5 % more misdrops
in at least 90 % of the cells, and nowhere more than 1.25 times as many inversions. The cells are all combinations of
five distributions, five arrival processes and four numbers of queues. Each cell below has the ratios to PACKS of
inversions and of misdrops, means of {seeds} seeds of {packets:,} packets; it is bold where both conditions hold.
"""

_SLACK_TAIL = """## What does not hold

- Without admission Slack-SP drops a packet, whatever its rank, if its queue and those behind it are full. Under
  constant arrivals it has 1.0 to 1.5 times PACKS's misdrops for uniform, exponential and Poisson ranks, and 2.7 times
  for inverse exponential and convex ones.
- Under Poisson arrivals and bursts PACKS with k = 0 has fewer inversions than Slack-SP. It also drops packets that
  PIFO keeps ([low-load.md](low-load.md)): at a load of 0.95 four times as many as Slack-SP, and under bursts more
  than a fifth of all packets, where PIFO drops none. A buffer that holds less has less to sort, so neither number
  alone is a verdict.
- The geometric map is designed for overload: its shares are divided by a load of 1.1 and leave 2 % for the last
  queue. Below saturation it has more inversions than PACKS's own map. Values of eps and load that follow the measured
  utilisation were not tried.
- The geometric variant changes the map and not the admission: it drops exactly what PACKS drops, including the drops
  of k = 0.
- On most distributions the ranks that share a queue are further apart (unpifoness) than in PACKS, since the queues
  for low ranks are wide.
- With 32 queues of ten, PACKS's inversions depend on the seed (16.5 k to 24.4 k for window 1000): it has more than
  one state in which it stays for long.
- [slack-variants.md](slack-variants.md) has variants of Slack-SP with 16 registers, tuned on one half of the traffic
  and judged on the other. One of them is a prototype that estimates quantiles and divides the room geometrically.
  Their quantiles have a bias, which [slack-dithered.md](slack-dithered.md) removes;
  [slack-limits.md](slack-limits.md) shows what exact quantiles would achieve.
- [slack-shares.md](slack-shares.md) has the option `map = shares` of slack-sp, with 16 registers for any number of
  queues, and every cell of the bar for it.
- With four flows of four ranks, each at the rate of the link, Slack-SP keeps a part of the link from the newest flow,
  while SP-PIFO and PACKS give it nearly all: [slack-few-ranks.md](slack-few-ranks.md) has the numbers and the cause.
- [slack-flows.md](slack-flows.md) compares completion times with the five schedulers. Against PIFO the worst case of
  Slack-SP is never above that of PACKS; Spring's is above it in WD ([worst-cases.md](../../docs/worst-cases.md)).
- [slack-reordering.md](slack-reordering.md) counts reordered packets of TCP flows in two networks.
- Not measured: bytes for packets, shared buffers.
"""

_LOW_HEAD = """# What constant arrivals at 110 % hide: drops at low load

AIFO and PACKS were published with constant open-loop arrivals above the link's rate. With Poisson arrivals below this
rate two effects appear. `make lab-pages` writes everything on this page.

**With k = 0 they drop packets although the link is not full.** A packet of quantile q is refused as soon as q > free
/ B. With a buffer of 80 packets a single waiting packet is enough to refuse the highest 1/80 of the ranks, although
79 places are free. **k scales admission and mapping together.** k = 0.5 ends these drops, but the same factor widens
the share of every queue: more ranks go to the first queues, and inversions multiply. A map that does not depend on k,
such as `map = geometric`, separates the two.

Uniform ranks, 600,000 packets, eight queues of ten (or a buffer of 80), window 1000, means of seeds 1 to 3.
"""

_LOW_TAIL = """![Drops and inversions over the offered load](figures/low-load.svg)
"""
