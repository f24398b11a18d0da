"""One link, identical packets for all schedulers, and what each makes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import exp, log
from typing import Any

from pifolab import _pifolab, info
from pifolab.custom import PythonScheduler
from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.runs import complete, run_text
from pifolab.scenario import inline_toml

__all__ = [
    "ARRIVALS",
    "DEPTHS",
    "DISTRIBUTIONS",
    "OTHER_DISTRIBUTIONS",
    "SCHEDULERS",
    "at_load",
    "judge",
    "measured",
]

LINK_GBPS = 10
SIZE_BYTES = 1500

#: Rank streams, as TOML values.
DISTRIBUTIONS: Mapping[str, str] = {
    "uniform": '{ distribution = "uniform" }',
    "exponential": '{ distribution = "exponential" }',
    "inverse exponential": '{ distribution = "inverse-exponential" }',
    "Poisson": '{ distribution = "poisson" }',
    "convex": '{ distribution = "convex" }',
    "shifting": '{ distribution = "uniform" }',
}


def _histogram(weights: Mapping[int, int]) -> str:
    shown = ", ".join(map(str, weights)), ", ".join(map(str, weights.values()))
    return f'{{ distribution = "histogram", values = [{shown[0]}], weights = [{shown[1]}] }}'


#: More of them, which no scheduler was tuned on: two humps, long tails, few ranks, and ranks that move.
OTHER_DISTRIBUTIONS: Mapping[str, str] = {
    "bimodal": _histogram(
        {
            rank: round(1000 * max(exp(-((rank - 20) ** 2) / 50), exp(-((rank - 75) ** 2) / 128) / 2)) + 1
            for rank in range(100)
        }
    ),
    "lognormal": _histogram(
        {rank: round(100_000 / (rank + 1) * exp(-((log(rank + 1) - 2.5) ** 2) / 2)) + 1 for rank in range(100)}
    ),
    "heavy ties": _histogram({5: 10, 10: 30, 20: 5, 50: 40, 51: 10, 90: 5}),
    "Pareto": _histogram({rank: round(1e6 * (1 + rank) ** -1.5) + 1 for rank in range(100)}),
    "Weibull": _histogram(
        {rank: round(1e6 * (exp(-((rank / 10) ** 0.5)) - exp(-(((rank + 1) / 10) ** 0.5)))) + 1 for rank in range(100)}
    ),
    "two ranks": _histogram({10: 9, 90: 1}),
    "Zipf": _histogram({rank: round(1e6 * (1 + rank) ** -1.2) + 1 for rank in range(100)}),
    "shifting": DISTRIBUTIONS["shifting"],
    "drifting": DISTRIBUTIONS["shifting"],
}
#: "drifting": all ranks move up by 5 in each twentieth of a run. "shifting": they move up by 100 when so many packets
#: have come, and back when as many more have.
SHIFT_PACKETS = 50_000

#: Arrival processes by name: the load, and the keys of ``[workload]``. Bursts are 64 packets at four times the link.
ARRIVALS: Mapping[str, tuple[float, str]] = {
    "constant 1.1": (1.1, 'arrivals = "constant"\nrate_gbps = 11'),
    "Poisson 0.8": (0.8, 'arrivals = "poisson"\nrate_gbps = 8'),
    "Poisson 0.95": (0.95, 'arrivals = "poisson"\nrate_gbps = 9.5'),
    "Poisson 1.1": (1.1, 'arrivals = "poisson"\nrate_gbps = 11'),
    # 64 packets take 19.2 us at 40 Gb/s; a load of 0.9 is one burst in 76.8 us / 0.9.
    "bursts 0.9": (0.9, 'arrivals = "on-off"\nrate_gbps = 40\non_ns = 19200\noff_ns = 66133\nperiods = "fixed"'),
}

#: Packets in each queue, by the number of queues.
DEPTHS: Mapping[int, int] = {4: 20, 8: 10, 16: 5, 32: 10}

#: What is compared, by label: the scheduler's name and its parameters but the queues.
SCHEDULERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "SP-PIFO": ("sp-pifo", {}),
    "PACKS, window 16": ("packs", {"window": 16}),
    "PACKS, window 1000": ("packs", {"window": 1000}),
    "Slack-SP": ("slack-sp", {}),
    "PACKS, geometric": ("packs", {"window": 1000, "map": "geometric"}),
    "Spring": ("spring", {}),
}


def judge(
    distribution: str,
    arrivals: str = "constant 1.1",
    *,
    schedulers: Mapping[str, tuple[str, Mapping[str, Any]]] = SCHEDULERS,
    queues: int = 8,
    depth: int | None = None,
    packets: int = 600_000,
    seeds: Sequence[int] = (1, 2, 3),
    workers: int | None = None,
    makers: Mapping[str, Callable[[], PythonScheduler]] | None = None,
) -> pl.DataFrame:
    """Run schedulers and PIFO on the same packets.

    Parameters
    ----------
    distribution : str
        One of `DISTRIBUTIONS`, which are the rank streams of the papers.
    arrivals : str
        One of `ARRIVALS`.
    schedulers : mapping
        Labels, each with a scheduler's name and its parameters; queues and capacities are added.
    queues, depth : int
        Queues and packets in each (default: by `DEPTHS`); one buffer holds as many in all.
    packets : int
        How many packets arrive, about.
    seeds : sequence of int
        Each is a run of its own.
    workers : int, optional
        As in `pifolab.run`.
    makers : mapping, optional
        By name, what makes a scheduler that is written in Python; it gets neither parameters nor room.

    Returns
    -------
    polars.DataFrame
        A row for each scheduler (``PIFO`` included) and seed: `scheduler`, `seed`, `arrived`, `drops`, `misdrops` (the
        sum over ranks of drops beyond PIFO's), `inversions`, `pairs` (of a packet sent and one of a lower rank that
        waited), `magnitude` (by how many ranks inverted packets lay above the lowest that waited), `unpifoness` (per
        packet, SP-PIFO eq. 7), `reordered` (packets overtaken in their flow).

    Raises
    ------
    InputError
        A name that does not exist, or a number out of range.

    Examples
    --------
    >>> from slack import judge
    >>> frame = judge("uniform", schedulers={"Slack-SP": ("slack-sp", {})}, packets=2000, seeds=[1])
    >>> frame["scheduler"].to_list()
    ['PIFO', 'Slack-SP']
    """
    for what, name, known in (
        ("distribution", distribution, {**DISTRIBUTIONS, **OTHER_DISTRIBUTIONS}),
        ("arrivals", arrivals, ARRIVALS),
    ):
        if name not in known:
            raise InputError(_pifolab.unknown_name(what, name, list(known)))
    load, keys = ARRIVALS[arrivals]
    return measured(distribution, load, keys, schedulers, queues, depth, packets, seeds, workers, makers)


def at_load(
    load: float,
    schedulers: Mapping[str, tuple[str, Mapping[str, Any]]] = SCHEDULERS,
    *,
    packets: int = 600_000,
    seeds: Sequence[int] = (1, 2, 3),
) -> pl.DataFrame:
    """As `judge`, with uniform ranks under Poisson arrivals of any load."""
    keys = f'arrivals = "poisson"\nrate_bps = {round(load * LINK_GBPS * 1e9)}'
    return measured("uniform", load, keys, schedulers, 8, None, packets, seeds, None)


def measured(
    distribution: str,
    load: float,
    arrivals: str,
    schedulers: Mapping[str, tuple[str, Mapping[str, Any]]],
    queues: int,
    depth: int | None,
    packets: int,
    seeds: Sequence[int],
    workers: int | None,
    makers: Mapping[str, Callable[[], PythonScheduler]] | None = None,
) -> pl.DataFrame:
    """As `judge`, at a `load` that the keys of ``[workload]`` in `arrivals` make."""
    if depth is None:
        if queues not in DEPTHS:
            raise InputError(f"queues = {queues}: expected one of {', '.join(map(str, DEPTHS))}, or a depth")
        depth = DEPTHS[queues]
    text = _scenario(distribution, load, arrivals, schedulers, queues, depth, packets, makers or {})
    name = f"{distribution} ranks at load {load}"
    run = complete(run_text(text, name, seeds=seeds, workers=workers, schedulers=makers))
    return run.tables["schedulers"].select(
        "scheduler",
        "seed",
        pl.col("arrived_packets").alias("arrived"),
        pl.col("dropped_packets").alias("drops"),
        "misdrops",
        "inversions",
        pl.col("pairwise_inversions").alias("pairs"),
        pl.col("inversion_magnitude").alias("magnitude"),
        (pl.col("unpifoness") / pl.col("sent_packets")).alias("unpifoness"),
        pl.col("reordered_packets").alias("reordered"),
    )


def _scenario(
    distribution: str,
    load: float,
    arrivals: str,
    schedulers: Mapping[str, tuple[str, Mapping[str, Any]]],
    queues: int,
    depth: int,
    packets: int,
    makers: Collection[str],
) -> str:
    per_second = load * LINK_GBPS * 1e9 / 8 / SIZE_BYTES
    lines = [
        f"duration_ns = {round(packets / per_second * 1e9)}",
        f"link = {{ rate_gbps = {LINK_GBPS} }}",
        "[metrics]",
        'delta_to = "PIFO"',
        "[workload]",
        arrivals,
        f"size_bytes = {SIZE_BYTES}",
        f"ranks = {({**DISTRIBUTIONS, **OTHER_DISTRIBUTIONS})[distribution]}",
        "flows = 20",
        'flow_order = "random"',
    ]
    moves = {
        "shifting": [(number * SHIFT_PACKETS, 100 * (number % 2)) for number in range(1, -(-packets // SHIFT_PACKETS))],
        "drifting": [(number * packets // 20, 5 * number) for number in range(1, 20)],
    }
    for packet, shift in moves.get(distribution, ()):
        start = round(packet / per_second * 1e9)
        lines += ["[[workload.phase]]", f"from_ns = {start}", f"shift_ranks = {shift}"]
    lines += ["[[scheduler]]", 'name = "pifo"', 'label = "PIFO"', f"capacity_packets = {queues * depth}"]
    for label, (name, parameters) in schedulers.items():
        lines += ["[[scheduler]]", f'name = "{name}"', f'label = "{label}"']
        if name in makers:
            continue
        # Whether its capacity is that of each of its queues.
        several = any(param.name == "queue_capacity_packets" for param in info.scheduler(name).params)
        room = {"queues": queues, "queue_capacity_packets": depth} if several else {"capacity_packets": queues * depth}
        lines += [f"{key} = {inline_toml(value)}" for key, value in {**room, **parameters}.items()]
    return "\n".join(lines) + "\n"
