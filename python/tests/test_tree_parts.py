"""Every scheduler of the library in a tree: as its only leaf, and as what keeps the children of a node in order."""

import random
from typing import Any

import pytest

import pifolab
from pifolab.errors import InputError, ParameterError

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
    "managed": {"target_ns": 2000, "interval_ns": 4000, "scheduler": {"name": "pifo", "capacity_packets": 20}},
    "tree": {
        "discipline": "rr",
        "child": [{"name": "pifo", "capacity_packets": 5, "takes": "0-1"}, {"name": "drr", "takes": "rest"}],
    },
}
# What is more than the question into which first-in first-out queue a packet goes.
NOT_DECIDING = ["pifo", "pieo", "drr", "scrr", "fq-codel", "tree", "managed"]
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
    children = [
        {"name": "fifo", "capacity_packets": 3, "takes": 0},
        {"name": "pifo", "capacity_packets": 4, "takes": 1},
        {"name": "managed", "target_ns": 800, "interval_ns": 2000, "scheduler": {"name": "fifo"}, "takes": "2-3"},
    ]
    keys: dict[str, Any] = {"discipline": "stfq", "child": children, "order": small(name)}
    if name in NOT_DECIDING:
        with pytest.raises(
            ParameterError, match=f'^tree.order: name = "{name}": expected a scheduler that decides about'
        ):
            pifolab.Tree(**keys)
        return
    scheduler = pifolab.Tree(**keys)
    told = answers(scheduler)
    assert sum(isinstance(answer, (pifolab.Dropped, pifolab.Evicted)) for answer, *_ in told) > 30
    assert all(packets == 0 for answer, packets, *_ in told if answer is None)
    left = sum(not isinstance(scheduler.dequeue(), pifolab.Dropped) for _ in range(told[-1][1]))
    assert left > 0
    assert scheduler.dequeue() is None
    assert len(scheduler) == 0


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
