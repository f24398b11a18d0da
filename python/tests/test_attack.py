"""The search for worst-case traces as a user sees it: answers, witnesses, drawings, messages."""

import csv
import json
import os
import random
import re
import signal
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import pifolab
from pifolab import _pifolab
from pifolab.adversary import metrics
from pifolab.cli import main
from pifolab_papers.worst_cases import (
    DESCRIBED,
    FIGURES,
    described,
    rank_1_dropped,
    rank_1_inversions,
    worst,
)
from written.worst_cases import SETTINGS, gap_to_pifo, worst_case

SMALL = {"queues": 2, "queue_capacity_packets": 2}
WINDOW = SMALL | {"window": 2, "k": 0}
COMMAND = ["attack", "sp-pifo", "packs", "--packets", "6", "--rank-range", "1..4", "--set", "queues=2",
           "--set", "queue_capacity_packets=2", "--set", "b.window=2"]  # fmt: skip


def small(metric="WI", packets=7, **keywords):
    return pifolab.attack(
        "sp-pifo", "packs", metric=metric, packets=packets, ranks=(1, 4), a_options=SMALL, b_options=WINDOW, **keywords
    )


def test_the_command_prints_the_answer_as_json(capsys):
    assert main([*COMMAND, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"gap", "bound", "proven", "trace", "start_window", "evaluations", "ended_by", "question"}
    assert found["proven"]
    assert found["ended_by"] is None
    assert found["gap"] == found["bound"] > 0
    assert len(found["trace"]) == 6
    assert set(found["trace"]) <= {1, 2, 3, 4}


def test_exact_guided_and_enumerated_answers_agree():
    exact = small(packets=6)
    assert exact.proven
    assert small(packets=6, method="enumerate").gap == exact.gap
    guided = small(packets=6, method="guided", evaluations=200_000, time_limit_s=None)
    assert guided.gap == exact.gap
    assert not guided.proven
    assert guided.bound is None


def test_a_free_window_is_never_worse_than_a_given_one():
    free = small(free_window=True)
    given = [small(start_window=[first, second]).gap for first in range(1, 5) for second in range(1, 5)]
    assert free.proven
    assert free.gap == max(given)
    assert small(start_window=free.start_window).gap == free.gap


def test_a_free_window_that_ends_early_is_never_worse_than_a_given_one(capsys):
    generator = random.Random(7)
    for _ in range(6):
        window = [generator.randint(1, 4) for _ in range(2)]
        effort = {"method": "guided", "evaluations": 30, "seed": generator.randint(1, 99), "time_limit_s": None}
        given = small(packets=12, start_window=window, **effort)
        free = small(packets=12, start_window=window, free_window=True, **effort)
        assert free.gap >= given.gap
    free = [*COMMAND, "--free-window", "--start-window"]
    for written in ("1,1,1", "1,9", "1"):
        assert main([*free, written]) == 2
        expected = f"--start-window {written}: expected 2 ranks from 1 to 4, as many as the window has"
        assert capsys.readouterr().err == f"pifolab: {expected}\n"


def test_windows_of_different_sizes_are_searched_together(tmp_path):
    generator = random.Random(3)
    for _ in range(6):
        a, b = ({"capacity_packets": 3, "window": generator.randint(1, 4), "k": 0} for _ in range(2))
        options = {"packets": 5, "ranks": (1, 3), "a_options": a, "b_options": b, "metric": "WD"}
        found = pifolab.attack("aifo", "aifo", free_window=True, **options)
        size = max(a["window"], b["window"])
        assert len(found.start_window) == size
        newest = [{**side, "start_window": list(found.start_window)[-side["window"] :]} for side in (a, b)]
        again = pifolab.attack("aifo", "aifo", **options | {"a_options": newest[0], "b_options": newest[1]})
        assert (again.gap, again.proven) == (found.gap, True)
        values = [cost(json.loads(file.read_text()), "WD", 3) for file in found.save(tmp_path / "witness")]
        assert values[0] - values[1] == found.gap


def drawn(generator):
    """Return a random problem as keywords of `pifolab.attack`."""
    metric = generator.choice(["WD", "WI", "delay", "excess-drops", "drops"])
    free, given = generator.choice([(False, True), (True, False), (True, True), (False, False)])
    options = {
        "metric": metric,
        "packets": generator.randint(2, 9),
        "ranks": (1, 4),
        "lowest": generator.randint(1, 2),
        "a_options": {"queues": 2, "queue_capacity_packets": 2, "window": 2, "k": generator.choice([0, 0.1, "1/7"])},
        "b_options": {"capacity_packets": 4, "window": 2, "k": Fraction(1, 3)},
        "free_window": free,
        "start_window": [generator.randint(1, 4) for _ in range(2)] if given else None,
        "benign": {1: 3} if generator.random() < 0.3 else None,
        "load": generator.choice([None, "1.5"]),
        "method": generator.choice(["auto", "guided"]),
        "evaluations": 300,
        "time_limit_s": None,
        "seed": generator.randint(1, 1000),
    }
    return "packs", generator.choice(["aifo", None]), options


@pytest.mark.parametrize("seed", range(40))
def test_an_answer_replays_from_its_own_json(seed):
    a, b, options = drawn(random.Random(seed))
    if b is None:
        del options["b_options"]
    answer = pifolab.attack(a, b, **options)
    facts = json.loads(json.dumps(answer.as_dict()))
    again = pifolab.adversary.Answer.from_dict(facts)
    assert again.gap == answer.gap
    assert again.story() == answer.story()
    assert json.loads(json.dumps(again.as_dict())) == facts
    if not options["benign"]:
        assert again.shrink().gap == answer.shrink().gap
    if options["start_window"] and not options["free_window"]:
        assert facts["start_window"] == options["start_window"]


def test_facts_that_are_no_answer_are_one_line():
    facts = small().as_dict()
    for changes, message in (
        ({"trace": None}, "trace: expected a list of ranks"),
        ({"departures": [-1]}, "departures: expected a list of integers"),
        ({"question": {}}, "question: expected that of an answer of pifolab attack --json: 'a'"),
        (
            {"question": facts["question"] | {"b": "lifo"}},
            "lifo is written in Python, and only schedulers of the library",
        ),
        ({"question": facts["question"] | {"metric": "WX"}}, 'unknown metric "WX"'),
    ):
        with pytest.raises(pifolab.InputError, match=re.escape(message)):
            pifolab.adversary.Answer.from_dict(facts | changes)


def test_an_answer_for_a_given_window_is_gone_on_from_with_the_same_window(tmp_path, capsys):
    given = [*COMMAND, "--json", "--start-window", "1,4"]
    file = tmp_path / "answer.json"
    assert main([*given, "--method", "guided", "--evaluations", "50"]) == 0
    file.write_text(capsys.readouterr().out)
    first = json.loads(file.read_text())
    assert first["start_window"] == [1, 4]
    assert main([*given, "--resume", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["gap"] >= first["gap"]
    assert main([*COMMAND, "--start-window", "1,1", "--resume", str(file)]) == 2
    message = "with a start window of its own: expected free_window or start_window 1,4"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(12))
def test_both_schedulers_have_one_buffer_unless_their_own_capacities_say_otherwise(seed, tmp_path):
    generator = random.Random(seed)
    names = ["fifo", "pifo", "aifo", "rifo", "sp-pifo", "packs", "strict-priority", "exp-pifo", "spring"]
    a, b = generator.sample(names, 2)
    several = {"sp-pifo", "packs", "strict-priority", "exp-pifo", "spring"}
    queues, each = generator.randint(2, 4), generator.randint(1, 3)

    def options(name, room):
        own = {"queues": queues} if name in several else {}
        if room is None:
            return own
        return own | ({"queue_capacity_packets": room // queues} if own else {"capacity_packets": room})

    def rooms(**keywords):
        effort = {"packets": 4, "ranks": (1, 3), "method": "guided", "evaluations": 20}
        answer = pifolab.attack(a, b, **effort, **keywords)
        made = [pifolab._pifolab.Scheduler(*answer.question[side]).capacity_packets for side in "ab"]
        return made, answer

    def each_is(room, **keywords):
        made, answer = rooms(**keywords)
        assert made == [room, room]
        assert answer.note is None
        assert "note" not in answer.as_dict()

    room = queues * each
    neither = {"a_options": options(a, None), "b_options": options(b, None)}
    each_is(room, **neither, buffer_packets=room)
    each_is(10 * queues if several & {a, b} else 80, **neither)
    each_is(room, a_options=options(a, room), b_options=options(b, None))
    each_is(room, a_options=options(a, None), b_options=options(b, room))
    own = {"a_options": options(a, room), "b_options": options(b, room + queues)}
    for keywords in (own, own | {"buffer_packets": 3 * room}):
        made, answer = rooms(**keywords)
        assert made == [room, room + queues]
        assert answer.note == (
            f"the buffers differ: {a} has {room} packets, {b} {room + queues} packets; the gap is also one of buffers"
        )
        assert answer.as_dict()["note"] == answer.note


def test_the_command_says_that_buffers_differ(capsys):
    against = ["attack", "sp-pifo", "pifo", "--packets", "8", "--rank-range", "1..3", "--set", "queues=2"]
    unequal = [*against, "--set", "queue_capacity_packets=3", "--set", "b.capacity_packets=80"]
    assert main(unequal) == 0
    note = "the buffers differ: sp-pifo has 6 packets, pifo 80 packets; the gap is also one of buffers"
    assert f"note          {note}" in capsys.readouterr().out
    assert main([*unequal, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["note"] == note
    assert main([*against, "--set", "a.queue_capacity_bytes=4500"]) == 0
    assert "sp-pifo has 9000 bytes, pifo 80 packets" in capsys.readouterr().out
    assert main([*against, "--buffer-packets", "6"]) == 0
    assert "note" not in capsys.readouterr().out


def test_a_buffer_that_a_scheduler_cannot_have_is_one_line(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(LIFO.replace("capacity_packets", "places"))
    lifo = ["attack", "lifo", "sp-pifo", "--python", str(file), "--packets", "3", "--rank-range", "1..3"]
    against = ["attack", "sp-pifo", "pifo", "--packets", "3", "--rank-range", "1..3", "--set", "queues=2"]
    for arguments, message in (
        ([*against, "--buffer-packets", "7"], "--buffer-packets 7: expected a multiple of the 2 queues"),
        ([*COMMAND, "--buffer-packets", "0"], "expected an integer >= 1"),
        (
            [*lifo, "--set", "places=3", "--buffer-packets", "8"],
            "--buffer-packets 8: Lifo has no parameter capacity_packets",
        ),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err.splitlines()[-1]


def test_the_command_of_a_scheduler_without_drops_has_an_answer_of_zero(capsys):
    command = (
        "attack fifo --against strict-priority --metric excess-drops --packets 5 --ranks 1..3 --no-drops "
        "--set a.capacity_packets=6 --set b.queues=2 --set b.queue_capacity_packets=3 --set b.bounds=[0,2] --json"
    )
    assert main(command.split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["gap"], found["proven"], len(found["trace"])) == (0, True, 5)


def test_a_witness_has_other_ranks_where_fewer_packets_then_suffice():
    shrunk = worst_case("exp-pifo", "pifo", "WI", 8).shrink()
    # Taking packets out one by one, and lowering ranks, ends at six: 1 1 1 4 2 1.
    assert (shrunk.trace, shrunk.gap) == ((3, 2, 1), 8)


@pytest.mark.parametrize("metric", ["WD", "WI"])
@pytest.mark.parametrize("scheduler", [name for name in SETTINGS if name != "pifo"])
def test_every_witness_replays_to_its_stated_gap(scheduler, metric, tmp_path):
    answer = worst_case(scheduler, "pifo", metric, 8).shrink()
    if not answer.trace:
        assert answer.gap == 0
        return
    files = answer.save(tmp_path / "witness")
    assert [file.name for file in files] == ["witness-a.json", "witness-b.json"]
    values = []
    for file in files:
        assert _pifolab.replay_vector(str(file), file.read_bytes())["mismatches"] == 0
        vector = json.loads(file.read_text())
        values.append(cost(vector, metric, highest=4))
    assert values[0] - values[1] == answer.gap
    assert main(["conformance", *map(str, files)]) == 0


@pytest.mark.parametrize("scheduler", [name for name in SETTINGS if name != "pifo"])
def test_a_witness_of_schedulers_without_settings_has_the_capacities_that_they_have_by_default(scheduler, tmp_path):
    answer = pifolab.attack(scheduler, "pifo", packets=5, ranks=(1, 3), method="guided", evaluations=50)
    files = answer.save(tmp_path / "witness")
    assert [_pifolab.replay_vector(str(file), file.read_bytes())["mismatches"] for file in files] == [0, 0]
    assert ["capacity" in file.read_text() for file in files] == [True, True]


STORED = Path(__file__).parents[2] / "conformance" / "worst-cases"
GAPS = list(csv.DictReader((STORED / "gaps.csv").read_text(encoding="utf-8").splitlines()))


def test_every_figure_and_every_scheduler_has_a_stored_witness():
    named = {row["witness"] for row in GAPS}
    assert named >= {f"packs-fig{figure.number}" for figure in FIGURES}
    assert {row["a"] for row in GAPS} >= set(SETTINGS) - {"pifo"}
    assert {file.stem for file in STORED.glob("*.json")} == {f"{name}-{side}" for name in named for side in "ab"}


@pytest.mark.parametrize("row", GAPS, ids=lambda row: row["witness"])
def test_a_stored_witness_replays_to_its_stated_gap(row):
    files = [STORED / f"{row['witness']}-{side}.json" for side in "ab"]
    assert main(["conformance", *map(str, files)]) == 0
    vectors = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    assert [vector["scheduler"] for vector in vectors] == [row["a"], row["b"]]
    costs = [cost(vector, row["metric"], int(row["highest_rank"])) for vector in vectors]
    assert costs == [int(row["cost_a"]), int(row["cost_b"])]
    assert costs[0] - costs[1] == int(row["gap"]) > 0


@pytest.mark.parametrize("row", [row for row in GAPS if row["b"] == "pifo"], ids=lambda row: row["witness"])
def test_a_stored_witness_costs_pifo_the_same_in_the_simulator(row, tmp_path):
    vector = json.loads((STORED / f"{row['witness']}-b.json").read_text(encoding="utf-8"))
    ranks = [operation[2] for operation in vector["ops"] if operation[0] == "enq"]
    # A packet on the wire, and the whole trace behind it before the wire is free.
    trace = tmp_path / "burst.csv"
    trace.write_text("time_ns,size_bytes,rank\n" + "".join(f"0,1500,{rank}\n" for rank in [ranks[0], *ranks]))
    run = pifolab.run_text(
        f'link = {{ rate_gbps = 10 }}\nworkload = {{ trace = {json.dumps(str(trace))}, trace_rank = "column" }}\n'
        f'[[scheduler]]\nname = "pifo"\ncapacity_packets = {vector["config"]["capacity_packets"]}\n'
    )
    table = run.tables["ranks"]
    dropped = sum((int(row["highest_rank"]) - line["rank"]) * line["dropped"] for line in table.iter_rows(named=True))
    # It sorts: nothing waits for a higher rank.
    assert table["pairwise_inversions"].sum() == 0
    assert int(row["cost_b"]) == (dropped if row["metric"] == "WD" else 0)


def cost(vector, metric, highest):
    """Compute WD or WI from the operations and answers of a vector alone."""
    ranks, waiting, dropped, inversions = {}, [], 0, 0
    for operation, answer in zip(vector["ops"], vector["expect"], strict=True):
        if operation[0] == "enq":
            ranks[operation[1]] = operation[2]
            lost = answer[3:] if answer[0] == "adm" else [operation[1]]
            waiting.append(operation[1])
            waiting = [packet for packet in waiting if packet not in lost]
            dropped += sum(highest - ranks[packet] for packet in lost)
        elif answer[1] is not None:
            waiting.remove(answer[1])
            inversions += sum(highest - ranks[other] for other in waiting if ranks[other] < ranks[answer[1]])
    assert not waiting
    return dropped if metric == "WD" else inversions


@pytest.mark.thorough
def test_a_shrunk_witness_is_minimal_and_explained(tmp_path):
    answer = small(packets=9)
    shrunk = answer.shrink()
    assert len(shrunk.trace) <= 9
    assert shrunk.gap >= answer.gap
    assert (shrunk.bound, shrunk.proven) == (answer.bound, shrunk.gap == answer.gap)
    half = answer.shrink(Fraction(1, 2))
    assert len(half.trace) < len(shrunk.trace)
    text = shrunk.explain()
    assert f"= {shrunk.gap}" in text
    assert "sp-pifo: WI" in text
    assert "packs: WI" in text
    assert "waits for" in text
    for ending in ("png", "svg", "pdf", "html"):
        (file,) = shrunk.draw(tmp_path / f"witness.{ending}")
        assert file.stat().st_size > 1000
    page = (tmp_path / "witness.html").read_text()
    assert "<svg" in page
    assert "waits for" in page
    assert 'src="http' not in page


def test_a_scheduler_of_ones_own_is_attacked():
    class Lifo(pifolab.PythonScheduler):
        def __init__(self):
            self.stack = []

        def enqueue(self, packet, now_ns):
            if len(self.stack) == 3:
                return packet
            self.stack.append(packet)
            return None

        def dequeue(self, now_ns):
            return self.stack.pop() if self.stack else None

    answer = pifolab.attack(Lifo, "fifo", metric="WI", packets=3, ranks=(1, 3), b_options={"capacity_packets": 3})
    # 1, 2, 3 leave as 3, 2, 1: rank 1 waits for two, rank 2 for one.
    assert (answer.gap, answer.proven, answer.trace) == (2 * 2 + 1, True, (1, 2, 3))
    drops = pifolab.attack(Lifo, "pifo", metric="WD", packets=4, ranks=(1, 3), b_options={"capacity_packets": 3})
    assert drops.gap == 2
    assert drops.proven
    assert drops.trace[-1] == 1


LIFO = """
import pifolab

class Lifo(pifolab.PythonScheduler):
    def __init__(self, capacity_packets, broken=False):
        self.capacity, self.broken, self.stack = capacity_packets, broken, []

    def enqueue(self, packet, now_ns):
        if self.broken and packet.rank == 2:
            raise RuntimeError("rank 2")
        if len(self.stack) == self.capacity:
            return packet
        self.stack.append(packet)

    def dequeue(self, now_ns):
        return self.stack.pop() if self.stack else None
"""


def test_the_command_attacks_a_scheduler_from_a_python_file(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(LIFO)
    lifo = ["attack", "lifo", "--python", str(file), "--metric", "WI", "--packets", "3", "--rank-range", "1..3"]
    assert main([*lifo, "--against", "fifo", "--set", "capacity_packets=3", "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (found["gap"], found["proven"], found["trace"]) == (2 * 2 + 1, True, [1, 2, 3])
    assert "lifo: written in Python, so slow: every snapshot is a replay" in printed.err
    against = ["attack", "fifo", "lifo", *lifo[2:], "--set", "capacity_packets=2", "--explain"]
    assert main(against) == 0
    assert "lifo: WI = " in capsys.readouterr().out
    for arguments, message in (
        ([], "lifo: it cannot be made: TypeError: "),
        (["--set", "capacity_packets=3", "--set", "capacity=3"], 'unknown parameter "capacity"'),
        (["--set", "a.size=3"], "lifo: it cannot be made: TypeError: "),
    ):
        assert main([*lifo, *arguments]) == 2
        error = capsys.readouterr().err.splitlines()
        assert message in error[-1]
        assert len(error) == 2
    assert main(["attack", "fifo", *lifo[2:]]) == 2
    assert "--python: neither A nor B is lifo, which the file defines" in capsys.readouterr().err
    assert main([*lifo, "--set", "capacity_packets=3", "--set", "broken=true"]) == 2
    error = capsys.readouterr().err
    assert "RuntimeError: rank 2" in error
    assert "the search was stopped by an exception in the Python classes" in error


def test_a_sum_of_metrics_bounds_one_of_them():
    plain = small("WI")
    one, other = (rank_1_inversions(plain.trace, plain.story()[side]) for side in "ab")
    weighed = small("WI-2*inversions")
    assert weighed.proven
    assert weighed.gap >= plain.gap - 2 * (one - other)
    assert small("WI+inversions").gap >= plain.gap + one - other
    both = small("3*WD + WI", method="enumerate")
    assert small("3*WD + WI").gap == both.gap


def test_rising_ranks_hurt_sp_pifo_and_a_benign_flow_breaks_the_effect():
    def gap(**constraint):
        found = pifolab.attack(
            "sp-pifo", "pifo", metric="WI", packets=12, ranks=(0, 5),
            a_options={"queues": 3, "queue_capacity_packets": 12},
            b_options={"capacity_packets": 36}, **constraint,
        )  # fmt: skip
        assert found.proven
        return found

    falling, rising = gap(flows=1, falling=True), gap(flows=1)
    # Ranks that only rise are sorted already; two flows that rise in turn are not.
    assert rising.gap == 0 < falling.gap
    two = gap(flows=2)
    assert all(one <= other for one, other in zip(two.trace[::2], two.trace[2::2], strict=False))
    benign = {place: (7 * place) % 6 for place in range(0, 12, 3)}
    broken = gap(flows=2, benign=benign)
    assert all(broken.trace[place] == rank for place, rank in benign.items())
    assert gap().gap >= two.gap > 0


def test_the_same_seed_gives_the_same_answer_on_any_number_of_workers():
    def answer(workers):
        found = small(packets=40, method="guided", evaluations=60_000, time_limit_s=None, workers=workers, load="1.2")
        return found.gap, found.trace, found.evaluations

    assert answer(1) == answer(2) == answer(5)


def test_memory_and_time_limits_give_the_best_answer_and_a_bound():
    found = pifolab.attack(
        "sp-pifo", "packs", metric="WI", packets=14, ranks=(1, 9),
        a_options={"queues": 3, "queue_capacity_packets": 14},
        b_options={"queues": 3, "queue_capacity_packets": 14, "window": 4},
        no_drops=True, memory_mib=64, time_limit_s=20,
    )  # fmt: skip
    assert found.gap <= found.bound
    assert found.gap > 0
    assert not found.proven
    assert found.ended_by == "memory"
    soon = small(packets=30, method="guided", time_limit_s=0.2)
    assert (soon.ended_by, soon.as_dict()["ended_by"]) == ("time", "time")
    assert small(packets=30, method="guided", evaluations=1000).ended_by is None


def test_a_search_goes_on_from_a_printed_answer(tmp_path, capsys):
    guided = [*COMMAND, "--free-window", "--method", "guided", "--evaluations", "3000", "--json"]
    found = []
    for file in ("first.json", "second.json"):
        assert main([*guided, *(["--resume", str(tmp_path / "first.json")] if found else [])]) == 0
        printed = capsys.readouterr().out
        (tmp_path / file).write_text(printed)
        found.append(json.loads(printed))
    assert found[1]["gap"] >= found[0]["gap"]
    assert found[1]["evaluations"] >= 2 * found[0]["evaluations"]
    # Its start window belongs to it.
    assert main([*COMMAND, "--resume", str(tmp_path / "second.json")]) == 2
    assert "with a start window of its own: expected free_window" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "expected an answer of pifolab attack --json, with trace, start_window and evaluations"),
        ("gap 3", "expected an answer of pifolab attack --json"),
        ('{"trace": [1, 1, 1, 1, 1, 1]}', "expected an answer of pifolab attack --json"),
        ('{"trace": [1, "x"], "start_window": null, "evaluations": 1}', "trace: expected a list of ranks"),
        (
            '{"trace": [1, 1, 1, 1, 1, 1], "start_window": 3, "evaluations": 1}',
            "start_window: expected a list of ranks",
        ),
        ('{"trace": [1, 1, 1, 1, 1, 1], "start_window": null, "evaluations": -1}', "evaluations: expected an integer"),
        ('{"trace": [1, 1], "start_window": null, "evaluations": 1}', "initial trace of 2 packets: expected 6"),
        (
            '{"trace": [1, 1, 1, 1, 1, 9], "start_window": null, "evaluations": 1}',
            "rank 9: expected a rank from 1 to 4",
        ),
    ],
)
def test_an_answer_that_cannot_be_gone_on_from_is_one_line(text, message, tmp_path, capsys):
    file = tmp_path / "answer.json"
    file.write_text(text)
    assert main([*COMMAND, "--resume", str(file)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_an_interrupted_command_says_so_with_its_exit_status(capsys):
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        assert main([*COMMAND, "--packets", "40", "--method", "guided", "--time-limit", "3600"]) == 130
    finally:
        timer.cancel()
    assert "interrupted" in capsys.readouterr().err


def test_an_interrupted_search_keeps_the_best_trace():
    calls = []

    def interrupt(gap, evaluations):
        calls.append(gap)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    found = small(packets=30, method="guided", time_limit_s=3600, progress=interrupt)
    assert found.interrupted
    assert found.ended_by == "interrupt"
    assert len(found.trace) == 30
    assert found.gap > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--packets", "0"], "--packets 0: expected an integer >= 1"),
        (["--metric", "WX"], 'unknown metric "WX"'),
        (["--metric", "WI+2*delay"], "--metric WI+2*delay: delay is not a sum of prices"),
        (["--metric", "99*WI+2*WD"], "--metric 99*WI+2*WD: the factors add up to 101: expected at most 100"),
        (["--method", "exakt"], 'unknown method "exakt"; did you mean exact?'),
        (["--rank-range", "5..1"], "'5..1': expected two ranks such as 1..11, the lower first"),
        (["--rank-range", "1..99999999999999999999"], ": expected an integer from 0 to 2^63 - 1"),
        (["--set", "b.windw=4"], "windw"),
        (["--set", "windw=4"], "unknown parameter"),
        (["--set", "c.window=4"], "expected sp-pifo.window or packs.window"),
        (["--set", "b.window=3"], "duplicate: packs has its window already"),
        (["--multiset", "1:3,4:2"], "--multiset has 5 packets: expected 6"),
        (["--multiset", "9:6"], "--multiset: rank 9: expected a rank from 1 to 4"),
        (["--benign", "6:1"], "--benign 6:1: expected a place from 0 to 5"),
        (["--benign", "2:9"], "and a rank from 1 to 4"),
        (["--flows", "1", "--benign", "0:1", "--multiset", "1:5", "--no-drops"], "no trace satisfies the constraints"),
        (["--falling"], "--falling has no effect without flows"),
        (["--flows", "0"], "--flows 0: expected an integer >= 1"),
        (["--load", "0"], "--load 0"),
        (["--load", "fast"], "--load fast: expected a positive number"),
        (["--burst", "3"], "--burst 3: has no effect without load"),
        (["--start-window", "1,1,1"], "expected at most 2 ranks"),
        (["--load", "1", "--method", "exact"], "the exact search does not apply: packets leave between arrivals"),
        (["--metric", "delay", "--method", "exact"], "the exact search does not apply: delay is not a sum of prices"),
        (["--out", "worst.gif"], "expected a file name that ends in .png, .svg, .pdf, .html"),
        (["--resume", "missing.json"], "missing.json"),
        (["--memory-mib", "1"], "--memory-mib 1: expected an integer >= 16"),
    ],
)
def test_what_cannot_be_searched_is_one_line(arguments, message, capsys):
    assert main([*COMMAND, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_ranks_outside_a_schedulers_range_are_refused():
    options = {"queues": 2, "queue_capacity_packets": 2, "ranks": 4}
    with pytest.raises(pifolab.InputError, match=r"ranks = 1\.\.4: rank 4 is outside the range of sp-pifo-greedy"):
        pifolab.attack("sp-pifo-greedy", metric="WD", packets=3, ranks=(1, 4), a_options=options)


def test_unknown_schedulers_are_named(capsys):
    assert main(["attack", "packss", "--packets", "3", "--rank-range", "1..2"]) == 2
    assert "did you mean packs?" in capsys.readouterr().err


def test_every_metric_has_a_sentence_and_its_place_in_the_docs():
    page = (Path(__file__).parents[2] / "docs" / "attack.md").read_text()
    for name in metrics():
        assert f"`{name}`" in page


def test_slack_sp_and_spring_have_worst_cases_and_slack_sps_gap_to_pifo_is_not_above_packs():
    for metric in ("WD", "WI"):
        assert 0 < gap_to_pifo("slack-sp", metric) <= gap_to_pifo("packs", metric)
    assert gap_to_pifo("spring", "WD") > gap_to_pifo("packs", "WD")
    assert gap_to_pifo("afq", "WD") is None


def test_the_papers_figure_18_is_found():
    answer = worst(18)
    assert [figure.number for figure in FIGURES] == list(range(16, 24))
    assert (answer.gap, answer.proven) == (80, True)
    story = answer.story()
    assert [rank_1_dropped(answer.trace, story[side]) for side in "ab"] == [11, 3]


@pytest.mark.thorough
def test_what_the_paper_says_of_its_traces_bounds_their_gaps():
    assert {about.number for about in DESCRIBED} <= {figure.number for figure in FIGURES}
    # Fifteen packets of rank 1 are a worst trace; no increasing sequence is one for PACKS against PIFO.
    assert described(18) == worst(18).gap == 80
    rising = worst(22, flows=1)
    assert list(rising.trace) == sorted(rising.trace)
    assert described(22) == rising.gap == 44
    assert worst(22).gap == 60
    # With 3 more drops of rank 1: at most what WD + 10 * drops can be, less 30; and there is such a trace.
    weighed = worst(19, metric="WD+10*drops")
    story = weighed.story()
    dropped = [rank_1_dropped(weighed.trace, story[side]) for side in "ab"]
    assert dropped[0] - dropped[1] == 3
    assert described(19) == weighed.gap - 30 == 30 < worst(19).gap


def test_a_witness_against_pifo_costs_the_same_in_the_simulator(tmp_path):
    answer = worst_case("fifo", "pifo", "WD", 8)
    assert answer.gap > 0
    # A packet on the wire, and the whole trace behind it before the wire is free.
    arrivals = "".join(f"1,1500,{rank}\n" for rank in answer.trace)
    trace = tmp_path / "burst.csv"
    trace.write_text(f"time_ns,size_bytes,rank\n0,1500,1\n{arrivals}")
    run = pifolab.run_text(
        f'link = {{ rate_gbps = 10 }}\nworkload = {{ trace = {json.dumps(str(trace))}, trace_rank = "column" }}\n'
        '[[scheduler]]\nname = "fifo"\ncapacity_packets = 6\n[[scheduler]]\nname = "pifo"\ncapacity_packets = 6\n'
    )
    cost = {"fifo": 0, "pifo": 0}
    for row in run.tables["ranks"].iter_rows(named=True):
        cost[row["scheduler"]] += (4 - row["rank"]) * row["dropped"]
    assert cost["fifo"] - cost["pifo"] == answer.gap
    story = answer.story()
    assert [cost["fifo"], cost["pifo"]] == [story[side]["value"][0] for side in "ab"]


def test_shrinking_that_a_limit_ends_keeps_the_gap_and_says_so():
    drawn = random.Random(40)
    for _ in range(30):
        scheduler = drawn.choice(["fifo", "sp-pifo", "aifo", "packs"])
        answer = pifolab.attack(scheduler, "pifo", packets=4, ranks=(1, 200), method="guided", evaluations=1)
        trace = tuple(drawn.randint(1, 200) for _ in range(drawn.randint(1500, 2500)))
        question = {**answer.question, "packets": len(trace)}
        long = replace(answer, trace=trace, question=question, proven=False, bound=None)
        story = long.story()
        long = replace(long, gap=Fraction(*story["a"]["value"]) - Fraction(*story["b"]["value"]))
        cut = long.shrink(time_limit_s=drawn.choice([1e-9, 1e-4, 1e-3]))
        assert cut.gap >= long.gap
        assert len(cut.trace) <= len(trace)
        assert cut.shrinking_ended_by == "time"
        assert type(cut).from_dict(cut.as_dict()).gap == cut.gap
