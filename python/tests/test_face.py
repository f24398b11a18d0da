"""The Python face: three programs of a user, arrays, and what notebooks and other tools ask of objects."""

import copy
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pifolab
from pifolab import Fifo, Packs, Pifo, PythonScheduler, SpPifo, compare, ranked
from pifolab.statistics import mean_interval

NETWORK = {
    "title": "Two racks",
    "duration_ms": 2,
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 2,
        "access_rate_gbps": 1,
        "fabric_rate_gbps": 4,
        "delay_us": 1,
    },
    "transport": {"name": "pfabric"},
    "workload": {
        "flows": {
            "arrivals": "poisson",
            "load": 0.7,
            "sizes": "fixed",
            "size_bytes": 20_000,
            "pairs": "uniform",
        }
    },
}


class Lifo(PythonScheduler):
    """The newest packet first."""

    def __init__(self, capacity_packets: int = 80):
        self.stack: list[Any] = []
        self.capacity = capacity_packets

    def enqueue(self, packet, now_ns):
        if len(self.stack) == self.capacity:
            return packet
        self.stack.append(packet)
        return None

    def dequeue(self, now_ns):
        return self.stack.pop() if self.stack else None


def test_own_ranks_from_numpy_go_through_four_schedulers():
    ranks = np.random.default_rng(1).integers(0, 100, 20_000)
    run = compare([Pifo(), Packs(window=20), SpPifo, Fifo()], ranks=ranks, rate="10G", load=1.1)
    assert run.schedulers == ["pifo", "packs", "sp-pifo", "fifo"]
    table = run["schedulers"]
    assert table["arrived_packets"].to_list() == [20_000] * 4
    inversions = dict(table.select("scheduler", "inversions").iter_rows())
    assert inversions["pifo"] == 0 < inversions["packs"] < inversions["fifo"]
    # The ranks are those of the array, one by one.
    offered = run["ranks"].filter(scheduler="pifo").select("rank", pl.col("departures") + pl.col("dropped"))
    assert dict(offered.iter_rows()) == {rank: count for rank, count in enumerate(np.bincount(ranks)) if count}


def test_an_own_scheduler_over_a_load_axis_has_intervals_and_a_figure():
    rows = []
    for load in (0.9, 1.1):
        run = compare([Pifo(), Lifo], ranks="uniform", rate="1G", load=load, duration="5ms", seeds=[1, 2, 3])
        rows.append(run["schedulers"].with_columns(load=pl.lit(load)))
    found = pl.concat(rows)
    lifo = found.filter(scheduler="lifo", load=1.1)["inversions"].to_list()
    interval = mean_interval(lifo)
    assert interval.low <= sum(lifo) / 3 <= interval.high
    from pifolab.figures import against

    figure = against(found, "load", "inversions", x_label="Load", label="Inversions (packets)")
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["PIFO", "lifo"]


def test_a_network_run_is_loaded_from_its_folder_and_drawn_beside_a_second_one(tmp_path: Path):
    from matplotlib.figure import Figure

    first = pifolab.run({**NETWORK, "scheduler": ["pifo"]})
    first.save(tmp_path / "first", figures=False)
    loaded = pifolab.Run.load(tmp_path / "first")
    assert loaded.tables.keys() == first.tables.keys()
    assert all(loaded[name].equals(first[name]) for name in first.tables)
    assert (loaded.manifest, loaded.summary) == (first.manifest, first.summary)
    assert loaded.trace_hashes() == first.trace_hashes()
    second = pifolab.run({**NETWORK, "scheduler": [Fifo()]})
    figure = Figure()
    axes = figure.subplots()
    assert loaded.plot("fct-cdf", ax=axes) is figure
    assert second.plot("fct-cdf", ax=axes, labels={"fifo": "the second"}) is figure
    assert [line.get_label() for line in axes.get_lines()] == ["PIFO", "the second"]
    assert axes.get_xlabel() == "Completion time (ms)"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "manifest.json").write_text("[]"), "manifest.json: expected an object"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json: invalid JSON"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "expected the folder of a run"),
        (lambda folder: (folder / "summary.json").unlink(), "summary.json: cannot be read"),
        (lambda folder: (folder / "schedulers.parquet").unlink(), "schedulers.parquet: is missing"),
        (lambda folder: (folder / "ranks.parquet").write_bytes(b"PAR1"), "ranks.parquet is not a table"),
    ],
)
def test_a_damaged_run_folder_is_one_line(change, said: str, tmp_path: Path):
    compare(["pifo"], ranks="uniform", rate="1G", load=1.1, duration="1ms").save(tmp_path / "run", figures=False)
    change(tmp_path / "run")
    with pytest.raises(pifolab.InputError) as error:
        pifolab.Run.load(tmp_path / "run")
    assert said in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def _drawn_settings(draw: random.Random) -> pifolab.Scheduler:
    room = draw.randint(1, 12)
    made = draw.choice(
        [
            lambda: Pifo(capacity_packets=room),
            lambda: Fifo(capacity_packets=room),
            lambda: Fifo(capacity_bytes=1500 * room),
            lambda: SpPifo(queues=draw.randint(2, 4), queue_capacity_packets=room),
            lambda: Packs(queues=draw.randint(2, 4), queue_capacity_packets=room, window=draw.randint(1, 30)),
            lambda: pifolab.Pieo(capacity_packets=room),
            lambda: pifolab.FqCodel(),
            lambda: ranked("stfq", Pifo(capacity_packets=room)),
        ]
    )
    return made()


@pytest.mark.parametrize("seed", range(20))
def test_packets_by_arrays_fare_as_packets_one_by_one(seed: int):
    draw = random.Random(seed)
    by_arrays = _drawn_settings(draw)
    one_by_one = copy.copy(by_arrays)
    now = 0
    for _ in range(30):
        count = draw.randint(0, 20)
        ranks = [draw.randint(0, 99) for _ in range(count)]
        flows = [draw.randint(0, 5) for _ in range(count)]
        sizes = draw.choice([1500, [draw.randint(64, 1500) for _ in range(count)]])
        times = sorted(now + draw.randint(0, 50_000_000) for _ in range(count))
        many = by_arrays.enqueue_many(np.array(ranks, dtype=int), flows=flows, size_bytes=sizes, now_ns=times)
        queues, stored, evicted = [], [], []
        for place in range(count):
            size = sizes if isinstance(sizes, int) else sizes[place]
            outcome = one_by_one.enqueue(ranks[place], flow=flows[place], size_bytes=size, now_ns=times[place])
            refused = isinstance(outcome, pifolab.Dropped)
            queues.append(-1 if refused else outcome.queue)
            stored.append(-1 if refused else outcome.rank)
            evicted += [victim.id for victim in getattr(outcome, "victims", [])]
        assert many.queues.tolist() == queues
        assert many.ranks.tolist() == stored
        assert many.evicted.tolist() == evicted
        now = times[-1] if times else now
        most = draw.choice([None, 0, draw.randint(1, 9)])
        taken = by_arrays.dequeue_many(most)
        left, given_up = [], []
        while most is None or len(left) < most:
            packet = one_by_one.dequeue()
            if packet is None or isinstance(packet, pifolab.NotBefore):
                break
            (given_up if isinstance(packet, pifolab.Dropped) else left).append(packet)
        assert taken.ids.tolist() == [packet.id for packet in left]
        assert taken.ranks.tolist() == [packet.rank for packet in left]
        assert taken.flows.tolist() == [packet.flow for packet in left]
        assert taken.size_bytes.tolist() == [packet.size_bytes for packet in left]
        assert taken.dropped.tolist() == [drop.packet.id for drop in given_up]
        assert len(taken) == len(left)
        assert len(by_arrays) == len(one_by_one)


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"ranks": [1.5]}, "ranks: expected a one-dimensional array of integers from 0 to 9223372036854775807, got a "
         "1-dimensional array of float64"),
        ({"ranks": [[1]]}, "got a 2-dimensional array of int64"),
        ({"ranks": [True]}, "got a 1-dimensional array of bool"),
        ({"ranks": [3, -1]}, "ranks[1] = -1: expected an integer from 0 to 9223372036854775807"),
        ({"ranks": np.array([2**63], dtype="u8")}, "ranks[0] = 9223372036854775808: expected"),
        ({"ranks": [1, 2], "flows": [1]}, "flows: expected an integer, or one for each of the 2 packets, got 1"),
        ({"ranks": [1], "flows": [1 << 24]}, "flows[0] = 16777216: expected an integer from 0 to 16777215"),
        ({"ranks": [1], "size_bytes": -1}, "size_bytes = -1: expected an integer from 0 to 4294967295"),
        ({"ranks": [1, 2], "now_ns": [9, 8]}, "now_ns[1] = 8: expected at least 9, the time before"),
        ({"ranks": [1], "now_ns": 3}, "now_ns = 3: expected at least 5, the time before"),
    ],
)  # fmt: skip
def test_a_wrong_array_is_named_with_its_place_and_nothing_is_offered(keywords: dict[str, Any], said: str):
    pifo = Pifo(capacity_packets=4)
    pifo.enqueue(1, now_ns=5)
    with pytest.raises((pifolab.InputError, TypeError)) as error:
        pifo.enqueue_many(**keywords)
    assert said in str(error.value)
    assert len(pifo) == 1


def test_arrays_need_no_facts_and_classifiers_may_fail():
    with pytest.raises(pifolab.InputError, match="needs facts about each packet: offer them one by one"):
        ranked("edf", Pifo()).enqueue_many([1, 2])
    tree = pifolab.Tree(classify=lambda packet: 1 // 0, child=[pifolab.child(Fifo()), pifolab.child(Fifo())])
    with pytest.raises(ZeroDivisionError):
        tree.enqueue_many([1, 2])


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"rate": "10", "load": 1}, 'rate = "10": expected a rate with its unit, such as "10G"'),
        ({"rate": "10G", "rate_gbps": 1}, "rate_gbps conflicts with rate: give one of the two"),
        ({"rate": "10G", "load": 1, "arrival_mbps": 1}, "arrival_mbps conflicts with load: give one of the two"),
        ({"rate": "10G", "load": -1}, "load = -1: expected a number above 0"),
        ({"rate": "10G", "load": 1, "duration": "1"}, 'duration = "1": expected a time with its unit'),
        ({"rate": "10G"}, "ranks needs load or arrival_rate"),
        (
            {"rate": "9000G", "load": 1},
            'rate = "9000G": expected a rate in whole bits',
        ),
        ({"rate": "10G", "load": 1, "ranks": [0.5]}, "ranks: expected a distribution such as uniform, or integers"),
        ({"rate": "10G", "load": 1, "ranks": [1, -3]}, "ranks[1] = -3: expected"),
        ({"rate": "10G", "load": 1, "ranks": []}, "ranks: expected"),
        ({"rate": "10G", "load": 1, "schedulers": "packs"}, "schedulers = packs: expected a list of names"),
        ({"rate": "10G", "load": 1, "schedulers": [3]}, "schedulers: int: expected names, schedulers such as Pifo()"),
        ({"rate": "10G", "load": 1, "schedulers": [Lifo()]}, "an object of Lifo: expected the class Lifo"),
        ({"rate": "10G", "load": 1, "schedulers": ["packs:window"]}, "packs:window: expected parameters as NAME:key="),
        ({"rate": "10G", "load": 1, "schedulers": [ranked("stfq", Pifo())]}, "expected the scheduler alone"),
    ],
)
def test_wrong_parameters_of_compare_are_named_as_they_were_written(keywords: dict[str, Any], said: str):
    with pytest.raises(pifolab.InputError) as error:
        compare(**{"schedulers": ["pifo"], "ranks": [1, 2, 3], **keywords})
    assert said in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_load_is_a_share_of_the_link_whatever_its_unit():
    shares = {"rate": "100 Mb/s"}, {"rate_mbps": 100}, {"rate_gbps": 0.1}
    runs = [compare(["fifo"], ranks="uniform", load=1.1, duration="20ms", **one) for one in shares]
    spelled = compare(["fifo"], ranks="uniform", rate_mbps=100, arrival_mbps=110, duration_s=0.02)
    assert {
        run.manifest["trace_hash"] if "trace_hash" in run.manifest else str(run.manifest["runs"]) for run in runs
    } == {str(spelled.manifest["runs"])}


def test_two_settings_of_one_scheduler_stand_side_by_side():
    given = [Packs(), "packs:window=5:k=0.1", {"name": "packs", "window": 7, "label": "seven"}]
    run = compare(given, ranks="uniform", rate="1G", load=1.1, duration="1ms")
    assert run.schedulers == ["packs", "packs:window=5:k=0.1", "seven"]
    windows = [one["window"] for one in run.manifest["spec"]["scheduler"]]
    assert windows[1:] == [5, 7]


def test_a_frame_is_replayed_as_its_csv_file_is(tmp_path: Path):
    frame = pl.DataFrame({"time_ns": [0, 10, 20, 30], "size_bytes": [1500, 64, 64, 1500], "rank": [3, 2, 1, 0]})
    frame.write_csv(tmp_path / "trace.csv")
    settings: dict[str, Any] = {"rank": "column", "rate": "1G"}
    replayed, read = (compare(["pifo"], trace=one, **settings) for one in (frame, tmp_path / "trace.csv"))
    assert replayed.manifest["runs"] == read.manifest["runs"]
    assert replayed.manifest["spec"]["workload"]["trace"] == "frame"
    with pytest.raises(pifolab.InputError, match="trace:1: the time column is missing"):
        compare(["pifo"], trace=frame.drop("time_ns"), **settings)
    with pytest.raises(pifolab.InputError, match="trace: int: expected a file, or a frame"):
        compare(["pifo"], trace=3, **settings)


def test_packaged_experiments_run_by_name():
    assert pifolab.run("packs/fig3", seeds=[1], overrides={"duration_s": 0.001}).title.startswith("PACKS Fig. 3")
    with pytest.raises(pifolab.InputError, match="did you mean packs/fig3"):
        pifolab.run("packs/fig")


def test_the_package_offers_what_users_need_and_no_modules():
    names: dict[str, Any] = {}
    exec("from pifolab import *", names)
    assert {"Packs", "Pifo", "compare"} <= names.keys()
    assert sorted(pifolab.__all__) == dir(pifolab)
    assert not {"text", "lazy", "runs"} & set(dir(pifolab))


def test_schedulers_copy_and_pickle_until_they_have_a_past():
    for made in (
        Packs(window=7),
        ranked("stfq", Pifo(capacity_packets=3)),
        pifolab.Tree(child=[pifolab.child(Fifo())]),
    ):
        for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert repr(again) == repr(made)
            assert again is not made
        made.enqueue(1)
        with pytest.raises(TypeError, match="has seen packets, and its state cannot be copied"):
            copy.copy(made)


def test_what_a_notebook_shows_is_short_and_what_is_printed_is_whole():
    about = pifolab.explain("packs")
    assert len(repr(about)) < 400
    assert "window" in about._repr_html_()
    assert str(about).startswith("packs (scheduler; in Python: pifolab.Packs(...))")
    assert max(map(len, str(about).splitlines())) <= 100
    assert repr(Pifo(capacity_packets=4).enqueue_many([1, 2])) == "EnqueuedMany(2 offered, 2 stored, 0 pushed out)"


def test_tables_and_figures_that_are_not_there_are_named():
    run = compare(["pifo", "fifo"], ranks="uniform", rate="1G", load=1.1, duration="1ms")
    with pytest.raises(pifolab.InputError, match='unknown table "rank"; did you mean ranks'):
        run["rank"]
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    with pytest.raises(pifolab.InputError, match="ax: this figure has several panels"):
        run.plot("comparison", ax=axes)
    with pytest.raises(pifolab.InputError, match="size has no effect with ax"):
        run.plot("inversions-per-rank", ax=axes, size=(1, 1))
