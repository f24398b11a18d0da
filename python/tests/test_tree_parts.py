"""Every scheduler of the library in a tree: as its only leaf, and as what keeps the children of a node in order."""

import random
from pathlib import Path
from typing import Any

import pytest

import pifolab
from pifolab import child
from pifolab.errors import InputError, ParameterError

COMPILED = Path(__file__).resolve().parents[2] / "dataplane" / "p4" / "compiled"
QUEUES = {"queues": 4, "queue_capacity_packets": 5}
SMALL: dict[str, dict[str, Any]] = {
    "pifo": {"capacity_packets": 20},
    "fifo": {"capacity_packets": 20},
    "pieo": {"capacity_packets": 20},
    "aifo": {"capacity_packets": 20, "window": 10},
    "rifo": {"capacity_packets": 20, "tracking_range_packets": 10},
    "packs": {**QUEUES, "window": 15},
    "afq": {**QUEUES, "bytes_per_round": 1000},
    "drr": {"capacity_packets": 20, "flow_packets": 6, "quantum_bytes": 300},
    "scrr": {"capacity_packets": 20, "flow_packets": 4},
    "fq-codel": {"capacity_packets": 20, "target_ns": 2000, "interval_ns": 5000, "quantum_bytes": 500},
    "p4": {"program": str(COMPILED / "packs_20.json.gz"), "queue_capacity_packets": 2},
    "managed": {"target_ns": 2000, "interval_ns": 4000, "scheduler": {"name": "pifo", "capacity_packets": 20}},
    "tree": {
        "discipline": "rr",
        "child": [{"name": "pifo", "capacity_packets": 5, "takes": "0-1"}, {"name": "drr", "takes": "rest"}],
    },
}
NAMES = [info.name for info in pifolab.schedulers()]


def small(name: str) -> dict[str, Any]:
    return {"name": name, **SMALL.get(name, QUEUES)}


def answers(scheduler: pifolab.Scheduler) -> list[tuple[Any, ...]]:
    draws, now, told = random.Random(5), 0, []
    for id in range(1200):
        now += draws.choice([0, draws.randint(0, 400)])
        answer: Any
        if draws.random() < 0.55:
            size = draws.randint(40, 1500)
            answer = scheduler.enqueue(
                draws.randint(0, 60), flow=draws.randint(0, 3), size_bytes=size, id=id, now_ns=now
            )
        else:
            answer = scheduler.dequeue(now_ns=now)
        told.append((answer, len(scheduler), scheduler.backlog_bytes, tuple(scheduler.queue_lengths)))
    return told


@pytest.mark.parametrize("name", NAMES)
def test_a_tree_with_one_leaf_decides_as_its_leaf_whichever_it_is(name: str):
    leaf = small(name)
    alone = answers(pifolab.scheduler(name, **{key: value for key, value in leaf.items() if key != "name"}))
    assert sum(isinstance(told[0], (pifolab.Dropped, pifolab.Evicted)) for told in alone) > 30
    inside = {"name": "tree", "discipline": "strict", "capacity_packets": 100_000, "child": [leaf]}
    assert answers(pifolab.Tree(child=[leaf])) == alone
    assert answers(pifolab.Tree(discipline="drr", child=[{**inside, "weight": 3}])) == alone


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_lost_below_a_node_whatever_orders_its_children(name: str):
    children: list[Any] = [
        {"name": "fifo", "capacity_packets": 3, "takes": 0},
        {"name": "pifo", "capacity_packets": 4, "takes": 1},
        {"name": "managed", "target_ns": 800, "interval_ns": 2000, "scheduler": {"name": "fifo"}, "takes": "2-3"},
    ]
    scheduler = pifolab.Tree(discipline="stfq", child=children, order=small(name))
    told = answers(scheduler)
    assert sum(isinstance(answer, (pifolab.Dropped, pifolab.Evicted)) for answer, *_ in told) > 30
    assert all(packets == 0 for answer, packets, *_ in told if answer is None)
    left = sum(not isinstance(scheduler.dequeue(), pifolab.Dropped) for _ in range(told[-1][1]))
    assert left > 0
    assert scheduler.dequeue() is None
    assert len(scheduler) == 0


def test_pieo_orders_indices_by_the_time_at_which_packets_may_leave():
    leaves = [child(pifolab.Fifo(), takes=0), child(pifolab.Fifo(), takes=1, priority=1)]
    tree = pifolab.Tree(child=leaves, order=pifolab.Pieo())
    tree.enqueue(flow=0, eligible_ns=70)
    tree.enqueue(flow=1, eligible_ns=40)
    assert tree.dequeue(now_ns=10) == pifolab.NotBefore(40)
    sent = [tree.dequeue(now_ns=now) for now in (40, 41, 70)]
    assert [packet.flow if isinstance(packet, pifolab.Packet) else packet for packet in sent] == [
        1,
        pifolab.NotBefore(70),
        0,
    ]


def test_an_order_that_cannot_be_had_is_one_line_with_the_path():
    fifo = {"name": "fifo", "takes": "rest"}
    marks = {"name": "managed", "ecn": True, "scheduler": {"name": "fifo"}}
    with pytest.raises(
        ParameterError, match=r"^tree\.web: order = { \.\.\. }: expected a scheduler that needs to know"
    ):
        pifolab.Tree(child=[{"name": "tree", "label": "web", "child": [fifo], "order": marks}])
    with pytest.raises(ParameterError, match=r"^tree: order = { \.\.\. }: expected an exact order above a shaped node"):
        pifolab.Tree(child=[{**fifo, "shape_gbps": 1}], order=pifolab.Pieo(), charge="arrival")
    pifolab.Tree(child=[{**fifo, "shape_gbps": 1}], order=pifolab.Pieo())
    with pytest.raises(ParameterError, match=r"^tree\.order: flow_packets = 0: expected an integer from 1 to "):
        pifolab.Tree(child=[fifo], order={"name": "scrr", "flow_packets": 0})


def test_only_a_whole_tree_is_written_as_a_text():
    inside = {"name": "tree", "label": "web", "policy": "fifo[1]"}
    with pytest.raises(
        ParameterError, match=r'^tree\.web: policy = "fifo\[1\]": only a whole tree is written as a text: '
    ):
        pifolab.Tree(child=[inside])


def test_an_attack_on_a_tree_is_refused_by_name():
    with pytest.raises(
        InputError, match=r'^scheduler = "tree": no traces are searched for it; expected one of pifo, fifo, '
    ):
        pifolab.attack("tree", packets=3, ranks=(1, 3))
