"""The Python face of the schedulers: classes made from tables, values in and out, and errors that say what is wrong."""

import decimal
import doctest
import fractions
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pifolab

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("info", pifolab.schedulers(), ids=lambda info: info.name)
def test_every_scheduler_has_a_class_whose_signature_is_its_table(info: pifolab.Info):
    made = getattr(pifolab, info.class_name)
    assert issubclass(made, pifolab.Scheduler)
    assert list(inspect.signature(made).parameters) == [param.name for param in info.params]
    assert info.summary in made.__doc__
    for param in info.params:
        assert f"\n{param.name} : " in made.__doc__


def test_stubs_are_what_the_tables_say():
    script = ROOT / "scripts/generate_stubs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_docstrings_of_compiled_classes_run():
    runner = doctest.DocTestRunner()
    tests = doctest.DocTestFinder(exclude_empty=True).find(pifolab.Scheduler, "Scheduler", module=False)
    assert sum(len(test.examples) for test in tests) > 5
    for test in tests:
        assert runner.run(test).failed == 0


def test_packets_are_values():
    packet = pifolab.Packet(3, id=7, flow=2, size_bytes=64, arrival_ns=5)
    assert packet == pifolab.Packet(rank=3, id=7, flow=2, size_bytes=64, arrival_ns=5)
    assert packet != pifolab.Packet(3)
    assert len({packet, pifolab.Packet(3)}) == 2
    assert eval(repr(packet), {"Packet": pifolab.Packet}) == packet
    with pytest.raises(AttributeError):
        packet.rank = 4  # type: ignore[misc]


def test_outcomes_can_be_matched():
    pifo = pifolab.Pifo(capacity_packets=1)
    match pifo.enqueue(5):
        case pifolab.Admitted(queue, rank):
            assert (queue, rank) == (0, 5)
        case other:
            pytest.fail(str(other))
    match pifo.enqueue(4):
        case pifolab.Evicted(queue, rank, (victim,)):
            assert (queue, rank, victim.rank, victim.id) == (0, 4, 5, 0)
        case other:
            pytest.fail(str(other))
    match pifo.enqueue(9):
        case pifolab.Dropped(reason, packet):
            assert (reason, packet.rank) == ("full", 9)
        case other:
            pytest.fail(str(other))


def test_packets_keep_what_they_carry_and_get_their_arrival_time():
    fifo = pifolab.Fifo(capacity_bytes=1000)
    assert (fifo.capacity_packets, fifo.capacity_bytes) == (None, 1000)
    fifo.enqueue(1, flow=4, size_bytes=600, id=99, now_ns=7)
    assert isinstance(fifo.enqueue(1, size_bytes=401), pifolab.Dropped)
    assert (len(fifo), fifo.backlog_bytes, fifo.now_ns) == (1, 600, 7)
    assert fifo.dequeue() == pifolab.Packet(1, flow=4, size_bytes=600, id=99, arrival_ns=7)
    assert fifo.dequeue() is None


def test_packets_without_an_id_are_numbered_past_the_largest_id():
    fifo = pifolab.Fifo(capacity_packets=9)
    fifo.enqueue(0)
    fifo.enqueue(0, id=41)
    fifo.enqueue(0)
    assert [fifo.dequeue().id for _ in range(3)] == [0, 41, 42]


def test_an_empty_scheduler_is_not_false():
    assert pifolab.Fifo()


def test_bounds_window_and_queue_lengths_can_be_inspected():
    scheduler = pifolab.SpPifo(queues=3, queue_capacity_packets=2)
    for rank in (9, 5, 1):
        scheduler.enqueue(rank)
    assert scheduler.queue_lengths == [1, 1, 1]
    assert scheduler.bounds == [1, 5, 9]
    assert scheduler.window == []


@pytest.mark.parametrize("rank", [np.int64(3), np.uint8(3), True + 2])
def test_integers_of_other_libraries_are_ranks(rank: Any):
    assert pifolab.Fifo().enqueue(rank) == pifolab.Fifo().enqueue(3)


def offer(**keywords: Any) -> Any:
    return pifolab.Fifo().enqueue(**keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"packet": -1}, "rank = -1: expected an integer from 0 to 2^63 - 1"),
        ({"packet": 2**63}, "rank = 9223372036854775808: expected an integer from 0 to 2^63 - 1"),
        ({"flow": 2**24}, "flow = 16777216: expected an integer from 0 to 16777215"),
        ({"size_bytes": 2**32}, "size_bytes = 4294967296: expected"),
        ({"id": -1}, "id = -1: expected an integer from 0 to 9223372036854775807"),
        ({"now_ns": 10**20}, "now_ns = 100000000000000000000: expected"),
        ({"packet": pifolab.Packet(1), "flow": 3}, "flow, size_bytes and id are part of the packet"),
        ({"packet": 1, "deadline_ns": 3}, "no rank function reads them"),
    ],
)
def test_wrong_input_is_said_in_one_line(keywords: dict[str, Any], message: str):
    with pytest.raises(pifolab.InputError) as caught:
        offer(**keywords)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("packet", ["3", 3.0, [3]])
def test_what_is_no_integer_is_a_type_error(packet: Any):
    with pytest.raises(TypeError, match="expected an integer"):
        offer(packet=packet)


def test_time_never_runs_backwards():
    fifo = pifolab.Fifo()
    fifo.enqueue(1, now_ns=10)
    with pytest.raises(pifolab.InputError, match="expected at least 10, the time of the call before"):
        fifo.dequeue(now_ns=9)
    assert len(fifo) == 1


def test_a_wrong_parameter_is_named_with_its_value_and_range():
    with pytest.raises(pifolab.ParameterError) as caught:
        pifolab.SpPifo(queues=0)
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.owner, error.key, error.value) == ("sp-pifo", "queues", "0")
    assert "from 1 to 1024" in error.expected
    assert str(error) == "sp-pifo: queues = 0: expected an integer from 1 to 1024 (queues)"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.key, copy.expected) == (str(error), error.key, error.expected)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"quues": 8}, "did you mean queues?"),
        ({"push_down": "costs"}, "did you mean cost?"),
        ({"queues": 3, "queue_capacity_packets": [1, 2]}, "expected 3 capacities"),
        ({"queue_capacity_packets": 1, "queue_capacity_bytes": 1}, "no effect"),
        ({"queues": 2.5}, "expected an integer"),
        ({"queues": "8"}, "expected an integer"),
        ({"queues": True}, "expected an integer"),
        ({"queues": 10**60}, "expected an integer"),
        ({"queue_capacity_packets": []}, "from 1 to 1024 queues"),
    ],
)
def test_parameter_errors_help(parameters: dict[str, Any], words: str):
    with pytest.raises(pifolab.ParameterError, match=words.replace("?", r"\?")):
        pifolab.SpPifo(**parameters)


def test_none_stands_for_not_given():
    assert pifolab.Fifo(capacity_packets=None).capacity_packets == 80


def test_a_value_of_no_known_type_is_a_type_error():
    with pytest.raises(TypeError, match="a parameter cannot be"):
        pifolab.Fifo(capacity_packets=object())


@pytest.mark.parametrize("k", [0.1, "1/10", "0.1", fractions.Fraction(1, 10), decimal.Decimal("0.1"), [1, 10]])
def test_fractions_are_read_as_they_are_written(k: Any):
    # With 10 slots and k = 1/10, the packet of the highest rank still passes when one slot is used: 1 <= (10/9)(9/10).
    aifo = pifolab.Aifo(capacity_packets=10, window=4, k=k)
    assert isinstance(aifo.enqueue(1), pifolab.Admitted)
    assert isinstance(aifo.enqueue(9), pifolab.Admitted)


def test_a_rank_function_joins_any_scheduler_and_leaves_it_as_it_is():
    pifo = pifolab.Pifo(capacity_packets=3)
    joined = pifolab.ranked("las", pifo)
    assert repr(joined) == "ranked('las', Pifo(capacity_packets=3))"
    assert joined.enqueue(flow=1, size_bytes=100).rank == 0
    assert joined.enqueue(flow=1, size_bytes=100).rank == 100
    assert (len(pifo), len(joined)) == (0, 2)


def test_facts_are_asked_for_where_a_rank_function_reads_them():
    joined = pifolab.ranked("remaining-size", pifolab.Fifo())
    with pytest.raises(pifolab.InputError, match="needs facts"):
        joined.enqueue()
    assert joined.enqueue(remaining_bytes=1460).rank == 1460


def test_unknown_names_come_with_a_suggestion():
    with pytest.raises(pifolab.InputError, match=r"did you mean sp-pifo\?"):
        pifolab.scheduler("sp_pifo")
    with pytest.raises(pifolab.InputError, match=r"did you mean stfq\?"):
        pifolab.ranked("sftq", pifolab.Fifo())
    with pytest.raises(TypeError, match="has none yet"):
        pifolab.ranked("stfq", pifolab.ranked("las", pifolab.Fifo()))
