"""Draw the pictures of scheduler pages, tutorials and explanations from runs of the library, into docs/figures.

    python scripts/site/pictures.py [NAME ...]

The same library writes the same bytes. A picture has only what its page says about it, so that it stays small.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from drawing import Bars, Line, Panel, svg

import pifolab
from pifolab.figures.palette import GREY, INK, flow_colours, look
from pifolab_papers.outside import write_skeleton

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lab"))
from slack.shares import PACKETS  # noqa: E402

__all__ = ["FOLDER", "PICTURES", "picture"]

FOLDER = ROOT / "docs" / "figures"

UNIFORM = """
duration_ms = 50
link = { rate_gbps = 10 }
workload = { arrivals = "poisson", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
"""

#: What a scheduler is drawn with where its defaults have no sense for this traffic.
SETTINGS = {
    "strict-priority": "ranks = 100",
    "sp-pifo-optimal": f"weights = [{', '.join(['1'] * 100)}]",
    "sp-pifo-greedy": "ranks = 100",
}


def by_rank(names: Sequence[str], scenario: str = UNIFORM) -> str:
    """Return inversions and drops of each rank, under each of the schedulers, on the same packets."""
    tables = "\n".join(f'[[scheduler]]\nname = "{name}"\n{SETTINGS.get(name, "")}' for name in names)
    ranks = pifolab.run_text(f"{scenario}\n{tables}")["ranks"]
    panels = []
    for title, column in (("Inversions (packets)", "inversions"), ("Drops (packets)", "dropped")):
        held = []
        for name in names:
            rows = ranks.filter(pl.col("scheduler") == name).select("rank", column).rows()
            held.append(_curve(name, dict(rows)))
        panels.append(Panel(title, "rank", held))
    return svg(panels)


def _curve(name: str, counts: Mapping[int, int]) -> Line:
    return Line(look(name).label, _colour(name), [(rank, counts.get(rank, 0)) for rank in range(100)], _dash(name))


def _colour(name: str) -> str:
    return {"pifo": INK, "fifo": GREY}.get(name) or look(name).colour


def _dash(name: str) -> str:
    return {"pifo": "5 3", "fifo": "2 3"}.get(name, "")


#: What four flows offer to a link of 10 Gb/s, in Gb/s.
OFFERED = (8, 4, 2, 1)


def rates(title: str, offered: Sequence[float], schedulers: Mapping[str, str], more: str = "") -> str:
    """Return what each flow gets of a link under schedulers with their settings, beside what it offers."""
    sources = [
        f'[[workload]]\narrivals = "poisson"\nrate_gbps = {rate}\nsize_bytes = 1500\nranks = "uniform"'
        for rate in offered
    ]
    tables = [f'[[scheduler]]\nname = "{name}"\n{setting}' for name, setting in schedulers.items()]
    text = "\n".join(["duration_ms = 50", "link = { rate_gbps = 10 }", *sources, more, *tables])
    flows = pifolab.run_text(text)["flows"]
    held = [Bars("offered", "#ccc", offered)]
    for name in schedulers:
        sent = dict(flows.filter(pl.col("scheduler") == name).select("flow", "sent_packets").rows())
        gbps = [sent.get(flow, 0) * 1500 * 8 / 50e6 for flow in range(len(offered))]
        held.append(Bars(look(name).label, _colour(name), gbps))
    return svg([Panel(title, "flow", held, [str(flow + 1) for flow in range(len(offered))])])


def by_flow(name: str, setting: str = "") -> str:
    """Return what each of four flows gets under a scheduler of flows, and what FIFO gives it."""
    return rates("Rate (Gb/s) on a link of 10 Gb/s", OFFERED, {"fifo": "", name: setting})


def managed() -> str:
    """Return how many packets wait over time, with and without CoDel in front of a large buffer."""
    scenario = """
duration_ms = 100
link = { rate_mbps = 100 }
workload = { arrivals = "poisson", rate_mbps = 120, size_bytes = 1500, ranks = "uniform" }
metrics = { sample_every_ms = 1 }
[[scheduler]]
name = "fifo"
capacity_packets = 1000
[[scheduler]]
name = "managed"
policy = "codel"
target_ns = 1_000_000
interval_ns = 5_000_000
scheduler = { name = "fifo", capacity_packets = 1000 }
"""
    samples = pifolab.run_text(scenario)["samples"]
    held = []
    for name, label in (("fifo", "FIFO of 1000 packets"), ("managed", "with CoDel, target 1 ms")):
        rows = samples.filter(pl.col("scheduler") == name).select("time_ns", "packets").rows()
        held.append(Line(label, _colour(name), [(time / 1e6, packets) for time, packets in rows]))
    return svg([Panel("Waiting (packets)", "time (ms)", held)])


def tree() -> str:
    """Return the rates of four leaves over time: a tenant's unused share goes to its sibling first."""
    scenario = """
duration_ms = 30
link = { rate_gbps = 10 }
metrics = { throughput_interval_ms = 1 }
[[workload]]
arrivals = "constant"
rate_gbps = 10
size_bytes = 1500
ranks = "uniform"
stop_ms = 10
[[workload]]
arrivals = "constant"
rate_gbps = 10
size_bytes = 1500
ranks = "uniform"
stop_ms = 20
[[workload]]
arrivals = "constant"
rate_gbps = 10
size_bytes = 1500
ranks = "uniform"
[[workload]]
arrivals = "constant"
rate_gbps = 10
size_bytes = 1500
ranks = "uniform"
[[scheduler]]
name = "tree"
discipline = "stfq"
classify = "flow"
[[scheduler.child]]
name = "tree"
discipline = "stfq"
weight = 3
child = [{ name = "fifo", takes = 0, weight = 2 }, { name = "fifo", takes = 1 }]
[[scheduler.child]]
name = "tree"
discipline = "stfq"
child = [{ name = "fifo", takes = 2 }, { name = "fifo", takes = 3 }]
"""
    sent = pifolab.run_text(scenario)["throughput"]
    labels = ("a1 (3/4 x 2/3)", "a2 (3/4 x 1/3)", "b1 (1/4 x 1/2)", "b2 (1/4 x 1/2)")
    held = []
    for flow, (label, colour) in enumerate(zip(labels, flow_colours(4), strict=True)):
        bytes_of = dict(sent.filter(pl.col("flow") == flow).select("start_ns", "bytes").rows())
        points = [(at, bytes_of.get(at * 1_000_000, 0) * 8 / 1e6) for at in range(30)]
        held.append(Line(label, colour, points, "4 3" if flow == 3 else ""))
    return svg([Panel("Rate (Gb/s)", "time (ms); a1 stops at 10, a2 at 20", held)])


def pieo() -> str:
    """Return the rates of four flows that a token bucket limits to 2 Gb/s each: the link is not kept busy."""
    limit = '[rank]\nname = "token-bucket"\nrate_gbps = 2\nburst_bytes = 3000\nper = "flow"'
    room = "capacity_packets = 4000"
    return rates("Rate (Gb/s), limit 2 Gb/s a flow", (3, 2.5, 2, 1), {"pifo": room, "pieo": room}, limit)


BATCH = (1, 4, 5, 2, 1, 2)


def inversion() -> str:
    """Return in which order three schedulers send a batch; a packet that a lower rank waits behind is marked."""
    rows = [("arrive", BATCH)]
    for label, scheduler in (
        ("PIFO", pifolab.Pifo()),
        ("SP-PIFO, 2 queues", pifolab.SpPifo(queues=2)),
        ("FIFO", pifolab.Fifo()),
    ):
        for rank in BATCH:
            scheduler.enqueue(rank)
        rows.append((label, tuple(packet.rank for packet in iter(scheduler.dequeue, None))))
    width, height, side, left = 560, 40 * len(rows) + 10, 32, 150
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for row, (label, ranks) in enumerate(rows):
        y = 10 + 40 * row
        inverted = [bool(row) and any(later < rank for later in ranks[at + 1 :]) for at, rank in enumerate(ranks)]
        parts.append(f'<text x="8" y="{y + 21}" fill="{INK}">{label}</text>')
        for at, rank in enumerate(ranks):
            x = left + at * (side + 6)
            fill = "#e69f00" if inverted[at] else "#ddeefb"
            parts.append(f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="4" fill="{fill}" stroke="{INK}"/>')
            parts.append(f'<text x="{x + side // 2}" y="{y + 21}" fill="{INK}" text-anchor="middle">{rank}</text>')
        if row:
            said = f"{sum(inverted)} inversion{'' if sum(inverted) == 1 else 's'}"
            parts.append(f'<text x="{left + len(ranks) * (side + 6) + 12}" y="{y + 21}" fill="{INK}">{said}</text>')
    return "\n".join([*parts, "</svg>", ""])


def below_saturation() -> str:
    """Return the share of packets that are lost over the load, under PIFO and under PACKS with three values of k."""
    schedulers = {
        "PIFO": ("pifo", ""),
        "PACKS, k = 0": ("packs", ""),
        "k = 0.1": ("packs", "k = 0.1"),
        "k = 0.5": ("packs", "k = 0.5"),
    }
    colours = {"PIFO": INK, "PACKS, k = 0": "#d55e00", "k = 0.1": "#0072b2", "k = 0.5": "#009e73"}
    points: dict[str, list[tuple[float, float]]] = {label: [] for label in schedulers}
    tables = "\n".join(
        f'[[scheduler]]\nlabel = "{label}"\nname = "{name}"\n{setting}' for label, (name, setting) in schedulers.items()
    )
    for tenths in range(8, 24):
        load = tenths / 20
        text = UNIFORM.replace("rate_gbps = 11", f"rate_gbps = {10 * load}")
        rows = pifolab.run_text(f"{text}\n{tables}")["schedulers"].select(
            "scheduler", "dropped_packets", "arrived_packets"
        )
        for label, dropped, arrived in rows.iter_rows():
            points[label].append((load, 100 * dropped / arrived))
    held = [Line(label, colours[label], found, "5 3" if label == "PIFO" else "") for label, found in points.items()]
    return svg([Panel("Packets lost (%)", "offered load", held)])


def compared() -> str:
    """Return what the first five minutes compare."""
    return by_rank(("pifo", "fifo", "sp-pifo", "packs"), UNIFORM.replace("poisson", "constant"))


def published() -> str:
    """Return PACKS's Fig. 3 over a twentieth of its second."""
    text = (ROOT / "experiments/packs/fig3.toml").read_text(encoding="utf-8")
    run = pifolab.run_text(text, seeds=[1], overrides={"duration_s": 0.05})
    ranks = run["ranks"]
    names = run["schedulers"].select("scheduler", "name").rows()
    panels = []
    for title, column in (("Inversions (packets)", "inversions"), ("Drops (packets)", "dropped")):
        held = [
            _curve(name, dict(ranks.filter(pl.col("scheduler") == label).select("rank", column).rows()))
            for label, name in names
        ]
        panels.append(Panel(title, "rank", held))
    return svg(panels)


def capture() -> str:
    """Return inversions and drops of the packaged capture, in thousands of packets."""
    names = ("pifo", "fifo", "sp-pifo", "packs")
    run = pifolab.compare(list(names), trace=ROOT / "python/pifolab/data/tcp-mix.pcap.gz", rank="las", rate="80M")
    rows = {row["scheduler"]: row for row in run["schedulers"].iter_rows(named=True)}
    panels = []
    for title, column in (("Inversions (packets)", "inversions"), ("Delta to PIFO", "delta")):
        held = [Bars(look(name).label, _colour(name), [rows[name][column]]) for name in names]
        panels.append(Panel(title, "", held, [""]))
    return svg(panels)


def _by_seed(text: str, schedulers: dict[str, Any], by: str, places: list[str]) -> Panel:
    """Return the inversions of each scheduler of a scenario: the mean of five seeds and their range."""
    found: dict[str, list[int]] = {}
    for seed in range(1, 6):
        run = pifolab.run_text(text, seeds=[seed], schedulers=schedulers)
        for label, inversions in run["schedulers"].select("scheduler", "inversions").iter_rows():
            found.setdefault(label, []).append(inversions)
    values = [sum(each) / len(each) for each in found.values()]
    ranges = [(min(each), max(each)) for each in found.values()]
    bars = Bars("mean of 5 seeds; the line is their range", "#0072b2", values, ranges)
    return Panel("Inversions (packets)", by, [bars], places)


def toy() -> str:
    """Return mean inversions of the toy of `study new --paper` by its border, beside FIFO, with their range."""
    with TemporaryDirectory() as folder:
        paper = Path(folder) / "my-paper"
        write_skeleton(paper, in_c=False)
        traffic = (paper / "traffic.toml").read_text(encoding="utf-8").split("[[scheduler]]")[0]
        names: dict[str, Any] = {}
        exec((paper / "my_paper.py").read_text(encoding="utf-8"), names)
    borders = (10, 30, 50, 70, 90)
    tables = [
        f'[[scheduler]]\nname = "my-paper"\nlabel = "{border}"\nborder = {border}\ncapacity_packets = 40'
        for border in borders
    ]
    text = traffic + "\n".join([*tables, '[[scheduler]]\nname = "fifo"\ncapacity_packets = 80'])
    return svg(
        [_by_seed(text, {"my-paper": names["Scheduler"]}, "by the border of the toy", [*map(str, borders), "FIFO"])]
    )


def own() -> str:
    """Return mean inversions of the tutorial's scheduler by its step, beside SP-PIFO and FIFO, with their range."""
    page = (ROOT / "docs" / "tutorials" / "own-scheduler.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    steps = (1, 2, 4, 8)
    tables = [
        f'[[scheduler]]\nname = "median-border"\nlabel = "{step}"\ncapacity_packets = 40\nstep = {step}'
        for step in steps
    ]
    tables += [
        '[[scheduler]]\nname = "sp-pifo"\nqueues = 2\nqueue_capacity_packets = 40',
        '[[scheduler]]\nname = "fifo"',
    ]
    text = UNIFORM.replace("duration_ms = 50", "duration_ms = 10") + "\n".join(tables)
    places = [*map(str, steps), "SP-PIFO", "FIFO"]
    return svg([_by_seed(text, {"median-border": names["MedianBorder"]}, "by the step of the border", places)])


def completion() -> str:
    """Return mean completion times of short flows over the load, of one seed in a small fabric."""
    names = ("pifo", "sp-pifo", "packs", "aifo", "fifo")
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    text = (ROOT / "experiments/leaf-spine/web-search.toml").read_text(encoding="utf-8")
    for load in (0.2, 0.5, 0.8):
        run = pifolab.run_text(
            text,
            seeds=[1],
            overrides={
                "topology.leaves": 3,
                "topology.spines": 2,
                "topology.hosts_per_leaf": 6,
                "duration_s": 0.1,
                "workload.flows.load": load,
                "scheduler": str([{"name": name} for name in names]).replace("':", "' =").replace("'name'", "name"),
            },
        )
        short = run.common_flows().filter(pl.col("size_bytes") < 100_000)
        for name, mean in short.group_by("scheduler").agg(pl.col("fct_ns").mean() / 1e6).iter_rows():
            points[name].append((load, mean))
    held = [Line(look(name).label, _colour(name), points[name], _dash(name)) for name in names]
    return svg([Panel("Mean completion time (ms)", "offered load; flows below 100 KB", held)])


def interface() -> str:
    """Return what four classes get of a link of 10 Mb/s under SP-PIFO with four queues, in the simulator."""
    classes = (0, 16, 32, 48)
    source = '[[workload]]\narrivals = "poisson"\nrate_mbps = 8.3\nsize_bytes = 1042\nrepeat_sequence = true\n'
    sources = "".join(f"{source}rank_sequence = [{dscp}]\n" for dscp in classes)
    scheduler = '[[scheduler]]\nname = "sp-pifo"\nqueues = 4\non_full = "update"'
    text = f"duration_s = 3\nlink = {{ rate_mbps = 10 }}\n{sources}{scheduler}"
    sent = dict(pifolab.run_text(text)["flows"].select("flow", "sent_packets").rows())
    rate = [sent.get(flow, 0) * 1042 * 8 / 3e6 for flow in range(4)]
    held = [Bars("offered", "#ccc", [8.3] * 4), Bars("SP-PIFO", _colour("sp-pifo"), rate)]
    return svg([Panel("Rate (Mb/s) on a link of 10 Mb/s", "DSCP", held, [str(dscp) for dscp in classes])])


_COMPILED = f'program = "{ROOT}/dataplane/p4/compiled'
#: PACKS of the library, in P4, and in P4 with a ghost register: their colours and their keys.
_PACKS = {
    "PACKS": (look("packs").colour, 'name = "packs"\nqueue_capacity_packets = 8\nwindow = 20\nk = 0.1'),
    "in P4": (look("p4").colour, f'name = "p4"\n{_COMPILED}/packs_20.json.gz"'),
    "with a ghost": ("#cc6677", f'name = "p4"\n{_COMPILED}/packs_20_ghost.json.gz"'),
    "FIFO": (GREY, 'name = "fifo"\ncapacity_packets = 64'),
}


def _forms_of_packs(scenario: str) -> pifolab.Run:
    tables = (f'[[scheduler]]\nlabel = "{label}"\n{keys}\n' for label, (_, keys) in _PACKS.items())
    return pifolab.run_text(scenario + "\n" + "".join(tables), seeds=[1])


def program() -> str:
    """Return what PACKS inverts and drops in each of its forms."""
    rows = {row["scheduler"]: row for row in _forms_of_packs(UNIFORM)["schedulers"].iter_rows(named=True)}
    panels = []
    for title, column in (("Inversions (packets)", "inversions"), ("Lowest dropped rank", "lowest_dropped_rank")):
        held = [Bars(label, colour, [rows[label][column]]) for label, (colour, _) in _PACKS.items()]
        panels.append(Panel(title, "", held, [""]))
    return svg(panels)


def p4_network() -> str:
    """Return completion times of short flows, lost packets and queues of the tutorial's three networks."""
    page = (ROOT / "docs" / "tutorials" / "p4-program.md").read_text(encoding="utf-8")
    fabric, marking, inspected = (part.split("```")[0] for part in page.split("```toml\n")[1:])
    short = _forms_of_packs(fabric.partition("[[scheduler]]")[0]).common_flows().filter(pl.col("size_bytes") < 100_000)
    means = dict(short.group_by("scheduler").agg(pl.col("fct_ns").mean() / 1e6).iter_rows())
    held = [Bars(label, colour, [means[label]]) for label, (colour, _) in _PACKS.items()]
    retransmitted = dict(
        pifolab.run_text(marking.replace('program = "', f'program = "{ROOT}/'))["schedulers"]
        .select("scheduler", "retransmissions")
        .iter_rows()
    )
    marks = [
        Bars(label, colour, [retransmitted[label]])
        for label, colour in (("marked", look("p4").colour), ("not marked", GREY))
    ]
    with TemporaryDirectory() as folder:
        (Path(folder) / "routes.txt").write_text(page.split("```text\n")[1].split("```")[0], encoding="utf-8")
        scenario = Path(folder) / "hops.toml"
        scenario.write_text(inspected.replace('program = "', f'program = "{ROOT}/'), encoding="utf-8")
        frames = [bytes.fromhex(frame) for frame in pifolab.run(scenario)["frames"]["frame"]]
    found: dict[int, list[int]] = {101: [], 200: [], 100: []}
    for frame in frames:
        for at in range(17, 17 + 8 * frame[16], 8):
            found[int.from_bytes(frame[at : at + 2], "big")].append(int.from_bytes(frame[at + 2 : at + 4], "big"))
    lengths = Bars("mean", look("p4").colour, [sum(all_of) / len(all_of) for all_of in found.values()])
    return svg([Panel("Mean completion time (ms)", "flows below 100 KB", held, [""]),
                Panel("Retransmissions", "DCTCP", marks, [""]),
                Panel("Queue found (packets)", "on the path", [lengths], ["leaf", "spine", "last leaf"])])  # fmt: skip


#: The labels of slack-sp's bar that its picture has, and the schedulers whose colours they take.
_BAR = {"SP-PIFO": "sp-pifo", "PACKS, window 1000": "packs", "Exp-PIFO": "exp-pifo", "slack-sp": "slack-sp"}


def slack_bar() -> str:
    """Return inversions and packets not sent over the load, in the mean over the cells of slack-sp's bar."""
    stored = json.loads((ROOT / "lab/pages/slack-bar/loads.json").read_text(encoding="utf-8"))
    found: dict[tuple[str, str], dict[float, list[tuple[float, float]]]] = {}
    for arrivals, load, _, _, by_label in stored:
        for label in _BAR:
            inversions, _, drops, *_ = by_label[label]
            of = found.setdefault((arrivals, label), {}).setdefault(load, [])
            of.append((100 * inversions / (PACKETS - drops), 100 * drops / PACKETS))
    panels = []
    for title, place in (("Inversions", 0), ("Drops", 1)):
        for arrivals in ("Poisson", "on-off"):
            held = []
            for label, name in _BAR.items():
                loads = found[arrivals, label]
                means = [(load, sum(one[place] for one in of) / len(of)) for load, of in loads.items()]
                held.append(Line(label, _colour(name), means, _dash(name)))
            per = ("per 100 sent", "per 100 arrivals")[place]
            panels.append(Panel(f"{title} {per}: {arrivals}", "load", held))
    return svg(panels)


_RANKED = (
    "aifo", "exp-pifo", "packs", "rifo", "slack-sp", "sp-pifo", "sp-pifo-greedy", "sp-pifo-optimal", "spring",
    "strict-priority",
)  # fmt: skip

#: Each picture by its path below docs/figures.
PICTURES: dict[str, Callable[[], str]] = {
    "schedulers/pifo": lambda: by_rank(("pifo", "fifo")),
    "schedulers/fifo": lambda: by_rank(("pifo", "fifo")),
    **{f"schedulers/{name}": (lambda name=name: by_rank(("pifo", "fifo", name))) for name in _RANKED},
    **{f"schedulers/{name}": (lambda name=name: by_flow(name)) for name in ("afq", "fq-codel")},
    **{f"schedulers/{name}": (lambda name=name: by_flow(name, "flow_packets = 40")) for name in ("drr", "scrr")},
    "schedulers/slack-sp-bar": slack_bar,
    "schedulers/managed": managed,
    "schedulers/tree": tree,
    "schedulers/pieo": pieo,
    "schedulers/p4": program,
    "explanation/inversion": inversion,
    "explanation/below-saturation": below_saturation,
    "tutorials/first-five-minutes": compared,
    "tutorials/your-capture": capture,
    "tutorials/published-figure": published,
    "tutorials/own-scheduler": own,
    "tutorials/reproduce-a-paper": toy,
    "tutorials/completion-times": completion,
    "tutorials/linux-interface": interface,
    "tutorials/p4-program": p4_network,
}


def picture(name: str) -> str:
    """Return one of the pictures."""
    return PICTURES[name]()


def main() -> None:
    for name in sys.argv[1:] or PICTURES:
        path = FOLDER / f"{name}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(picture(name), encoding="utf-8")


if __name__ == "__main__":
    main()
