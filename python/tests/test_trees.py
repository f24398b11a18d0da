"""Trees of schedulers wherever a scheduler is: scenarios, ports of networks, Python, and errors with the path."""

import random
import subprocess
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

import pifolab
from pifolab import child
from pifolab.errors import InputError, ParameterError
from pifolab.figures.paths import by_path, leaves_of
from pifolab.figures.run import captions, draw_run

LINK = """
duration_s = 0.001
link = { rate_gbps = 10 }
workload = { arrivals = "constant", rate_gbps = 15, size_bytes = 1500, ranks = "uniform", flows = 10 }
"""

PORT = """
[[scheduler]]
name = "tree"
label = "port"
child = [
  { name = "fifo", label = "voice", takes = 0, capacity_packets = 80 },
  { name = "tree", label = "tenants", priority = 1, discipline = "stfq", child = [
    { name = "pifo", label = "a", takes = [1, "2-4"], weight = 2, capacity_packets = 80 },
    { name = "sp-pifo", label = "b", takes = "rest" },
  ] },
]
"""


def departures(scheduler: pifolab.Scheduler) -> list[int]:
    order = []
    while (packet := scheduler.dequeue()) is not None:
        assert isinstance(packet, pifolab.Packet)
        order.append(packet.flow)
    return order


def test_a_tree_of_tables_runs_on_one_link():
    run = pifolab.run_text(LINK + PORT + '[[scheduler]]\nname = "pifo"\n')
    table = run.tables["schedulers"].select("scheduler", "arrived_packets", "sent_packets", "dropped_packets")
    (tree, arrived, sent, dropped), (_, _, pifo_sent, _) = table.iter_rows()
    assert (tree, arrived) == ("port", 1250)
    assert sent == pifo_sent > 800, "a tree without shapers never leaves the link idle"
    assert dropped > 0


def test_a_tree_with_one_leaf_decides_as_its_leaf():
    leaf = "queues = 3\nqueue_capacity_packets = 4\nwindow = 20\n"
    alone = f'[[scheduler]]\nname = "packs"\n{leaf}'
    run = pifolab.run_text(f'{LINK}{alone}[[scheduler]]\nname = "tree"\n[[scheduler.child]]\nname = "packs"\n{leaf}')
    alone, in_tree = run.tables["schedulers"].drop("scheduler", "name").rows()
    assert alone == in_tree


def test_any_scheduler_orders_the_children_of_a_node_in_a_scenario():
    tree = '[[scheduler]]\nname = "tree"\nlabel = "{}"\ndiscipline = "stfq"\ncharge = "arrival"\n{}\n{}'
    children = """child = [
      { name = "pifo", takes = "0-4", capacity_packets = 20 },
      { name = "tree", weight = 2, order = { name = "scrr" }, child = [
        { name = "fifo", takes = "5-7", capacity_packets = 20 }, { name = "sp-pifo", takes = "rest" } ] },
    ]
    """
    orders = {
        "exact": "",
        "pifo": "order = { name = 'pifo', capacity_packets = 100_000 }",
        "fq-codel": "order = { name = 'fq-codel', capacity_packets = 30 }",
        "managed": "order = { name = 'managed', target_ns = 2000, interval_ns = 9000, scheduler = { name = 'pieo' } }",
        "tree": "order = { name = 'tree', child = [{ name = 'fifo', takes = 1 }, { name = 'aifo', takes = 'rest' }] }",
    }
    run = pifolab.run_text(LINK + "".join(tree.format(name, order, children) for name, order in orders.items()))
    table = run.tables["schedulers"]
    exact, pifo, *_ = table.drop("scheduler").rows()
    assert pifo == exact
    lost = table["arrived_packets"] - table["sent_packets"] - table["waiting_packets"]
    assert lost.to_list() == table["dropped_packets"].to_list()
    assert len(set(table["trace_hash"])) == 4
    assert min(table["sent_packets"]) > 500


def test_a_policy_is_the_tree_that_tables_say():
    policy = 'policy = "strict[(fifo[0-1], 1), (rr[fifo[2-4], fifo[5-9]], 2)]"'
    tables = """child = [
      { name = "fifo", takes = "0-1", capacity_packets = 100000 },
      { name = "tree", priority = 1, discipline = "rr", child = [
        { name = "fifo", takes = "2-4", capacity_packets = 100000 },
        { name = "fifo", takes = "5-9", capacity_packets = 100000 },
    ] } ]"""
    scheduler = '[[scheduler]]\nname = "tree"\nlabel = "{}"\n{}\n'
    run = pifolab.run_text(LINK + scheduler.format("policy", policy) + scheduler.format("tables", tables))
    first, second = run.tables["schedulers"].drop("scheduler", "name").rows()
    assert first == second


def test_trees_stand_at_ports_of_networks():
    run = pifolab.run_text(
        """
        topology = { kind = "single-switch", hosts = 3, rate_gbps = 1, delay_ns = 1000 }
        transport = { name = "newreno" }
        duration_s = 0.05
        rank = { name = "remaining-size" }
        [[workload.flows]]
        arrivals = "poisson"
        load = 0.6
        sizes = "fixed"
        size_bytes = 20000
        pairs = "uniform"
        """
        + PORT
        + """
        [[scheduler]]
        name = "tree"
        label = "hosts"
        classify = "source-host"
        policy = "strict[(fifo[2], 1), (fifo[0-1], 2)]"
        """
    )
    assert set(run.tables["fct"]["scheduler"]) == {"port", "hosts"}
    assert run.tables["flows"].height > 20


def test_python_builds_trees_of_schedulers():
    tenants = pifolab.Tree(
        discipline="stfq",
        child=[child(pifolab.Fifo(), takes=1, weight=2), child(pifolab.Fifo(), takes=2)],
    )
    tree = pifolab.Tree(child=[child(pifolab.Fifo(), takes=0), child(tenants, priority=1)])
    for flow in (1, 1, 1, 1, 2, 2, 0):
        assert isinstance(tree.enqueue(flow=flow), pifolab.Admitted)
    assert tree.queue_lengths == [1, 4, 2]
    assert departures(tree) == [0, 1, 2, 1, 1, 2, 1]
    # A rank function at a leaf, and a decider in the place of a PIFO.
    ranked = pifolab.Tree(child=[child(pifolab.ranked("las", pifolab.Pifo()))], order={"name": "fifo"})
    for flow in (3, 3, 4):
        assert isinstance(ranked.enqueue(flow=flow), pifolab.Admitted)
    assert departures(ranked) == [3, 4, 3]
    assert isinstance(tree.enqueue(flow=9), pifolab.Dropped)


def test_packets_come_back_from_below_a_node_with_one_child():
    for only in ("rr[fifo[1]]", "rr[rr[fifo[1]]]"):
        tree = pifolab.Tree(policy=f"strict[(fifo[0], 1), ({only}, 2)]")
        for flow in (1, 1, 0):
            assert isinstance(tree.enqueue(flow=flow), pifolab.Admitted)
        assert departures(tree) == [0, 1, 1]


def test_a_rate_and_a_weight_may_be_fractions():
    for rate in (1.6, "1.6", "8/5", Decimal("1.6"), Fraction(8, 5)):
        leaf = child(pifolab.Fifo(), takes="rest", weight=Fraction(2, 3), shape_gbps=rate, shape_burst_bytes=1)
        for charge in ["departure", "arrival"]:
            tree = pifolab.Tree(discipline="stfq", child=[leaf], charge=charge)
            tree.enqueue(size_bytes=1001, now_ns=0)
            if charge == "departure":
                tree.enqueue(size_bytes=1001, now_ns=0)
                assert isinstance(tree.dequeue(now_ns=0), pifolab.Packet), "the bucket is not in debt yet"
            assert tree.dequeue(now_ns=0) == pifolab.NotBefore(5000), "a byte was there, a thousand take 5 ns each"


def test_a_tree_that_is_told_no_label_says_so():
    tree = pifolab.Tree(classify="dscp", child=[child(pifolab.Fifo(), takes=46), child(pifolab.Fifo(), takes="rest")])
    with pytest.raises(InputError, match="labels such as dscp"):
        tree.enqueue(flow=0)


def test_an_error_in_python_has_the_path():
    inner = pifolab.Tree(child=[child(pifolab.Fifo(), label="web", takes=1)])
    broken = child(inner, label="tenants")
    broken["child"][0]["weight"] = 0
    with pytest.raises(ParameterError, match=r"tree\.tenants\.web: weight = 0: expected a number above 0"):
        pifolab.Tree(child=[broken])
    cycle: dict[str, Any] = {"name": "tree", "label": "loop", "child": []}
    cycle["child"].append(cycle)
    with pytest.raises(ParameterError, match=r"^tree\.loop\.loop: expected children that are not inside themselves"):
        pifolab.Tree(child=[cycle])
    deep: dict[str, Any] = {"name": "fifo", "takes": "rest"}
    for _ in range(300):
        deep = {"name": "tree", "child": [deep]}
    with pytest.raises(ParameterError, match="expected at most 256 nodes inside one another"):
        pifolab.Tree(child=[deep])
    with pytest.raises(TypeError, match="a child is a scheduler"):
        child("fifo")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "instead", "line", "message"),
    [
        ("weight = 2", "weight = 0", 12, "scheduler.tenants.a.weight = 0: expected a number above 0"),
        (
            "priority = 1",
            "shape_gbps = 0",
            11,
            "scheduler.tenants.shape_gbps = 0: expected a rate in whole bits per second",
        ),
        ('label = "b"', 'label = "a"', 12, 'scheduler.tenants.a.label = "a": expected each child of a node once'),
        ('takes = "rest"', 'takes = "9-1"', 13, 'scheduler.tenants.b.takes = "9-1": expected an integer from 0'),
        ('takes = "rest"', "takes = 3", 13, "scheduler.tenants.b.takes = 3: expected each flow in one leaf, but "),
        (
            ', takes = "rest"',
            "",
            13,
            "scheduler.tenants.b.takes: is missing: expected values of flow that this leaf takes",
        ),
        (
            '"sp-pifo"',
            '"sp-pfio"',
            13,
            'scheduler.tenants.b.name = "sp-pfio": unknown scheduler "sp-pfio"; did you mean sp-pifo?',
        ),
        (
            '"stfq"',
            '"sftq"',
            11,
            'scheduler.tenants.discipline = "sftq": expected one of strict, rr, stfq, drr, wfq, rank',
        ),
        ("weight = 2", "wieght = 2", 12, "scheduler.tenants.a.wieght = 2: unknown key; did you mean weight?"),
        ("capacity_packets = 80 },\n  {", "queues = 80 },\n  {", 10, "scheduler.voice.queues = 80: unknown key"),
        ('"stfq"', '"wfq"', 11, "scheduler.tenants.rate_gbps: is missing: expected the rate of weight 1"),
        ('label = "b"', 'label = "b.c"', 13, "label = \"b.c\": expected a text without '.' and '/'"),
    ],
)
def test_a_bad_tree_is_one_line_with_the_path_and_status_2(
    pifolab_command: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    written: str,
    instead: str,
    line: int,
    message: str,
):
    text = LINK + PORT
    assert text.count(written) == 1
    scenario = tmp_path / "tree.toml"
    scenario.write_text(text.replace(written, instead))
    done = pifolab_command("run", scenario)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"tree.toml:{line}: " in done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_class_that_no_leaf_takes_is_refused():
    with pytest.raises(InputError, match="no leaf takes class voice"):
        pifolab.run_text(LINK + '[[scheduler]]\nname = "tree"\nclasses = ["voice = 1"]\npolicy = "fifo[2]"\n')


def test_a_tree_sorts_the_packets_of_a_trace_by_their_class(tmp_path: Path):
    rows = [f"{at},1000,flow{at % 5},{7 if at % 2 else 3}" for at in range(40)]
    (tmp_path / "trace.csv").write_text("time_ns,size_bytes,flow,class\n" + "\n".join(rows) + "\n")
    text = """
    link = { rate_gbps = 1 }
    workload = { trace = "trace.csv" }
    rank = { name = "fcfs" }
    [[scheduler]]
    name = "tree"
    classify = "class"
    classes = ["gold = 7", "rest of them = 0-6"]
    policy = "strict[(fifo[gold], 1), (fifo[rest of them], 2)]"
    """
    (tmp_path / "classes.toml").write_text(text)
    run = pifolab.run(tmp_path / "classes.toml")
    assert run.tables["schedulers"]["sent_packets"].to_list() == [40]
    assert run.tables["schedulers"]["inversions"].item() > 10, "gold packets overtake others"


def test_what_a_source_does_not_know_cannot_sort_its_packets():
    tree = '[[scheduler]]\nname = "tree"\nclassify = "dscp"\npolicy = "fifo[46]"\n'
    with pytest.raises(InputError, match="scheduler: needs the DSCP of each packet: only captures"):
        pifolab.run_text(LINK + tree)


def test_a_function_in_python_sorts_packets():
    leaves = [child(pifolab.Fifo()), child(pifolab.Fifo(), priority=-1)]
    tree = pifolab.Tree(classify=lambda packet: packet.size_bytes // 1000, child=leaves)
    for size_bytes in (100, 1500, 200):
        assert isinstance(tree.enqueue(size_bytes=size_bytes), pifolab.Admitted)
    assert isinstance(tree.enqueue(size_bytes=9000), pifolab.Dropped), "there is no leaf 9"
    assert [tree.dequeue().size_bytes for _ in range(3)] == [1500, 100, 200]
    failing = pifolab.Tree(classify=lambda packet: packet.nothing, child=leaves)
    with pytest.raises(AttributeError, match="nothing"):
        failing.enqueue()
    assert len(failing) == 0


def test_labels_sort_packets_in_python():
    tree = pifolab.Tree(classify="dscp", policy="strict[(fifo[46], 1), (fifo[0-45], 2)]")
    for flow, dscp in ((1, 0), (2, 46)):
        assert isinstance(tree.enqueue(flow=flow, labels={"dscp": dscp}), pifolab.Admitted)
    assert departures(tree) == [2, 1]
    with pytest.raises(InputError, match='labels: unknown name "dcsp"'):
        tree.enqueue(labels={"dcsp": 1})
    with pytest.raises(InputError, match=r'labels: unknown name "d\ufffd+"'):
        tree.enqueue(labels={"d\udcff": 1})


@pytest.mark.parametrize("per", ["port", "flow"])
def test_pieo_holds_a_rate_in_a_scenario(per: str):
    scenario = f'''
    duration_s = 0.01
    link = {{ rate_gbps = 10 }}
    workload = {{ arrivals = "constant", rate_gbps = 8, size_bytes = 1500, ranks = "uniform", flows = 2 }}
    rank = {{ name = "token-bucket", rate_gbps = 2, burst_bytes = 3000, per = "{per}" }}
    scheduler = [{{ name = "pieo", capacity_packets = 100000 }}]
    '''
    sent = pifolab.run_text(scenario).tables["schedulers"]["sent_packets"].item()
    limit = (2e9 * 0.01 / 8 + 3000) / 1500 * (2 if per == "flow" else 1)
    assert 0.9 * limit < sent <= limit + 1


@pytest.mark.parametrize("scheduler", ['name = "pieo"', 'name = "tree"\nchild = [{ name = "pieo", takes = "rest" }]'])
def test_a_column_of_a_trace_says_when_packets_may_leave(scheduler: str, tmp_path: Path):
    rows = [f"{at},1000,{at % 7},{2_000 * at}" for at in range(40)]
    (tmp_path / "trace.csv").write_text("time_ns,size_bytes,rank,eligible_ns\n" + "\n".join(rows) + "\n")
    link = 'link = { rate_gbps = 8 }\nworkload = { trace = "trace.csv", trace_rank = "column" }\n'
    (tmp_path / "held.toml").write_text(f'{link}[[scheduler]]\n{scheduler}\n[[scheduler]]\nname = "fifo"\n')
    run = pifolab.run(tmp_path / "held.toml")
    # At 8 Gb/s the link could send two packets in the time from one to the next.
    assert run.tables["schedulers"]["end_ns"].to_list() == [79_000, 40_000]
    (note,) = run.notes
    assert "(39 of 40) are eligible only after they arrive: pieo, alone or in a tree," in note
    (tmp_path / "trace.csv").write_text("time_ns,size_bytes,rank,eligible_ns\n5,1000,1,7\n5,1000,1,never\n")
    with pytest.raises(InputError, match=r'trace\.csv:3: eligible_ns: "never": expected a time, 0 or above'):
        pifolab.run(tmp_path / "held.toml")


def test_the_command_hierarchy_names_the_forms_that_a_tree_has(pifolab_command, tmp_path: Path):
    done = pifolab_command("hierarchy", "port.txt", "--out", "port.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "pifolab: hierarchy: write the tree as [[scheduler.child]] tables, or in one line as policy\n"
    )


def test_a_policy_is_moved_to_trees_of_other_shapes(
    pifolab_command: Callable[..., subprocess.CompletedProcess[str]],
):
    flat = "rr[fifo[a], fifo[c], fifo[b]]"
    binary = "rr[rr[fifo[a], fifo[b]], rr[fifo[c], fifo[d]]]"
    done = pifolab_command("tree", "compile", flat, "--in", binary, "--degree", "2", "--operations", "5000")
    assert (done.returncode, done.stderr) == (0, "")
    first, embeds, height, *leaves, popped = done.stdout.splitlines()
    assert first == "rr[fifo[a], fifo[b], fifo[c]]: 3 leaves", "in its normal order"
    assert embeds == f"embeds in {binary}: yes"
    assert height == "on a complete tree of degree 2: height 2"
    assert sorted(leaves) == leaves == ["  a: 1.0", "  b: 1.1", "  c: 0.0"]
    assert popped.startswith("5000 operations: both trees popped the same ")
    assert int(popped.split()[-2]) > 1_000
    done = pifolab_command("tree", "check", binary, "--in", flat)
    assert (done.returncode, done.stdout.splitlines()[1]) == (1, "embeds in rr[fifo[a], fifo[b], fifo[c]]: no")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rr[]"], "policy: "),
        (["rr[fifo[a], fifo[a]]"], 'policy: fifo[a]: duplicate class "a"; expected each class in one leaf'),
        (["fifo[a]", "--degree", "1"], "degree = 1: expected an integer from 2 to 1024"),
        (["fifo[a]", "--in", "fifo"], "policy: "),
    ],
)
def test_what_is_not_a_policy_is_one_line_and_status_2(pifolab_command, arguments: list[str], message: str):
    done = pifolab_command("tree", "compile" if "--degree" in arguments else "check", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


MANAGED = """
duration_s = 5
link = { rate_gbps = 0.01 }
workload = { arrivals = "constant", rate_gbps = 0.0125, size_bytes = 1000, ranks = "uniform", flows = 10 }
[[scheduler]]
name = "fifo"
capacity_packets = 1000
"""


@pytest.mark.parametrize(
    ("keys", "most_ms"),
    [
        ('policy = "codel"\ntarget_ns = 1000000\ninterval_ns = 10000000', 10),
        ('policy = "pie"', 20),
        ('policy = "red"\nmin_bytes = 5000\nmax_bytes = 15000\nmax_probability = 0.5\nweight_log = 3', 10),
    ],
    ids=["codel", "pie", "red"],
)
def test_a_policy_of_a_queue_keeps_it_short_where_tail_drop_lets_it_grow(keys: str, most_ms: int):
    managed = f'[[scheduler]]\nname = "managed"\n{keys}\nscheduler = {{ name = "fifo", capacity_packets = 1000 }}\n'
    table = pifolab.run_text(MANAGED + managed).tables["schedulers"]
    (tail_ms, tail_admission), (managed_ms, admission) = [
        (row["sojourn_p50_ns"] / 1e6, row["dropped_aqm"]) for row in table.iter_rows(named=True)
    ]
    assert tail_ms > 400, "a quarter more comes than the link sends, and a thousand packets fit"
    assert managed_ms < most_ms
    assert admission > 0 == tail_admission


def test_a_leaf_of_a_tree_is_managed_alone():
    late = pifolab.Managed(policy="codel", target_ns=1_000, interval_ns=2_000, scheduler=pifolab.Fifo())
    tree = pifolab.Tree(child=[child(late, takes=0), child(pifolab.Fifo(), takes=1)])
    for flow in (0, 0, 0, 0, 1, 1):
        assert isinstance(tree.enqueue(flow=flow, now_ns=0), pifolab.Admitted)
    assert isinstance(tree.dequeue(now_ns=5_000), pifolab.Packet)
    dropped = tree.dequeue(now_ns=10_000)
    assert isinstance(dropped, pifolab.Dropped)
    assert (dropped.reason, dropped.packet.flow) == ("aqm", 0)
    assert len(tree) == 4
    assert [tree.dequeue(now_ns=10_000).flow for _ in range(4)] == [0, 0, 1, 1]


def test_what_cannot_be_managed_is_one_line_with_its_place(
    pifolab_command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
):
    scenario = tmp_path / "managed.toml"
    scenario.write_text(LINK + '[[scheduler]]\nname = "managed"\nscheduler = { name = "fiof" }\n')
    done = pifolab_command("run", scenario)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'managed.toml:7: scheduler.scheduler.name = "fiof": unknown scheduler "fiof"' in done.stderr


def test_marks_are_refused_where_codepoints_are_not_known(
    pifolab_command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
):
    scenario = tmp_path / "marks.toml"
    scenario.write_text(LINK + '[[scheduler]]\nname = "managed"\necn = true\nscheduler = { name = "fifo" }\n')
    done = pifolab_command("run", scenario)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = [line for line in done.stderr.splitlines() if "marks.toml" in line]
    assert line.endswith("needs the ECN codepoint of each packet: only networks have it")


EXPERIMENTS = Path(pifolab.__file__).parent / "experiments" / "tree"


def rates_by_path(name: str) -> dict[str, list[float]]:
    """What each leaf gets in each interval with the first seed, in Gb/s."""
    run = pifolab.run(EXPERIMENTS / name)
    spec = run.manifest["spec"]
    leaves = leaves_of(spec["scheduler"][0], spec["workload"])
    interval_ns = int(spec["metrics"]["throughput_interval_ns"])
    rates = {path: [0.0] * (int(spec["duration_ns"]) // interval_ns) for path in leaves}
    for row in by_path(run.tables["throughput"].filter(seed=run.seeds[0]), leaves).iter_rows(named=True):
        rates[list(leaves)[row["flow"]]][row["start_ns"] // interval_ns] = row["bytes"] * 8 / interval_ns
    return rates


def test_hierarchical_fair_queueing_gives_what_a_sibling_leaves_to_its_siblings_first():
    rates = rates_by_path("hpfq.toml")
    # A tenth of a second has 20 intervals; what waited when a source stopped is sent in the first of the next tenth.
    shares = {
        path: [mean(gbps[tenth * 20 + 2 : (tenth + 1) * 20]) for tenth in range(4)] for path, gbps in rates.items()
    }
    assert shares == {
        "a/a1": pytest.approx([0.5, 0, 0, 0.5], abs=0.005),
        "a/a2": pytest.approx([0.25, 0.75, 0, 0.25], abs=0.005),
        "b/b1": pytest.approx([0.125, 0.125, 0.5, 0.125], abs=0.005),
        "b/b2": pytest.approx([0.125, 0.125, 0.5, 0.125], abs=0.005),
    }


def test_a_port_has_voice_first_shares_below_and_a_limit():
    rates = rates_by_path("port.toml")
    halves = {path: [mean(gbps[2:20]), mean(gbps[22:])] for path, gbps in rates.items()}
    assert halves["voice"] == pytest.approx([0.05, 0.05], abs=0.005)
    assert halves["tenants/gold"] == pytest.approx([0.4, 0.4], abs=0.002), "its limit, below its share of 0.475"
    assert halves["tenants/silver"] == pytest.approx([0.33, 0], abs=0.01)
    assert halves["tenants/bronze"] == pytest.approx([0.22, 0.55], abs=0.01)


def large_first(number: int) -> int:
    return 100 if number < 40 else 1


def small_before_large(charge: str, rank: Any) -> Any:
    tree = pifolab.Tree(
        child=[child(pifolab.Pifo(capacity_packets=1000), takes=[0], shape_gbps=0.1, shape_burst_bytes=1500)],
        charge=charge,
    )
    for number in range(80):
        size = 64 if number < 40 else 1500
        tree.enqueue(rank(number), size_bytes=size, flow=0, now_ns=0)
    return tree


@pytest.mark.parametrize("seed", range(5))
def test_a_limit_holds_for_what_leaves_in_whatever_order_it_came(seed: int):
    draws = random.Random(seed)
    tree = small_before_large("departure", large_first if seed == 0 else lambda _: draws.randrange(100))
    now, sent = 0, []
    while len(tree):
        packet = tree.dequeue(now_ns=now)
        if isinstance(packet, pifolab.Packet):
            sent.append((now, packet.size_bytes))
        else:
            assert packet is not None
            now = packet.time_ns
    for start in range(len(sent)):
        size = 0
        for time, more in sent[start:]:
            size += more
            assert size <= 0.1 / 8 * (time - sent[start][0] + 1) + 1500 + 1500
    arrival = small_before_large("arrival", large_first)
    packets = [arrival.dequeue(now_ns=84_800) for _ in range(40)]
    assert all(packet.size_bytes == 1500 for packet in packets), "the model of the papers charges what arrives"


@pytest.mark.parametrize("discipline", ["wfq", "stfq", "drr"])
def test_weights_hold_for_the_whole_range_of_time(discipline: str):
    for hours, weights in [(0, (3, 1)), (1, (3, 1)), (500, (3, 7)), (1000, (3, 1)), (5000, (3, 7))]:
        now = hours * 3_600_000_000_000
        leaves = [child(pifolab.Fifo(), takes=flow, weight=weight) for flow, weight in enumerate(weights)]
        keys: dict[str, Any] = {"rate_gbps": 1} if discipline == "wfq" else {}
        for charge in ["departure", "arrival"]:
            tree: Any = pifolab.Tree(child=leaves, discipline=discipline, charge=charge, **keys)
            for number in range(2 * 70):
                tree.enqueue(0, size_bytes=1500, flow=number % 2, now_ns=now)
            sent = [tree.dequeue(now_ns=now).flow for _ in range(70)]
            assert sent.count(0) / 70 == pytest.approx(weights[0] / sum(weights), abs=0.03), (hours, charge)


def test_what_passed_a_limit_gathers_behind_a_higher_class_and_leaves_in_a_burst():
    low = rates_by_path("limit.toml")["low"]
    assert mean(low[1:20]) == 0, "the higher class has the link"
    assert mean(low[21:24]) == pytest.approx(1, abs=0.02), (
        "what gathered leaves at the rate of the link, above its limit of 0.2"
    )
    assert mean(low[28:]) == pytest.approx(0.2, abs=0.01)


def test_flows_are_found_by_the_leaves_that_take_them():
    leaf = {"name": "fifo"}
    children = [leaf | {"label": "a", "takes": ["1-2", "x"]}, {"name": "tree", "child": [leaf | {"takes": "rest"}]}]
    tree = {"child": children, "classes": ["x = 4"], "classify": "flow"}
    assert leaves_of(tree, [{"flows": 2}, {"flows": 4}]) == {"a": [1, 2, 4], "1/0": [0, 3, 5]}
    assert leaves_of(tree | {"classify": "class"}, [{"flows": 2}, {"flows": 3}]) == {"a": [2, 3, 4], "1/0": [0, 1]}
    assert leaves_of(tree | {"classify": "dscp"}, [{}]) == {}
    assert leaves_of({"policy": "fifo[0]"}, [{}]) == {}
    assert leaves_of({"child": [leaf]}, [{"flows": 3}]) == {"0": [0, 1, 2]}, "a single leaf takes all"
    with pytest.raises(pifolab.ParameterError, match="one of the classes: x"):
        leaves_of({"child": [leaf | {"takes": "y"}], "classes": ["x = 1"]}, [{}])


def test_a_run_draws_what_the_leaves_get():
    run = pifolab.run(EXPERIMENTS / "limit.toml")
    figures = draw_run(run)
    # No queue of a tree goes before all others, and the whole run is drawn, not the first thousandth packet alone.
    assert figures["packets-by-queue"].axes[0].get_xlabel() == "Queue (of a tree: leaf by leaf)"
    waiting = figures["occupancy-over-time"]
    [queues] = waiting.legends
    assert queues.get_title().get_text() == "Queue (of a tree: leaf by leaf)"
    assert waiting.axes[0].get_xlim()[1] > 19
    [legend] = figures["throughput-by-path"].legends
    assert [text.get_text() for text in legend.get_texts()] == ["high", "low"]
    assert "throughput-by-path" in captions(run)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(-1, InputError), (2**70, InputError), (2**32, InputError), ("voice", TypeError), (1.5, TypeError)],
)
def test_a_function_that_names_no_leaf_is_told_what_would_be_right(answer: Any, error: type[Exception]):
    tree = pifolab.Tree(classify=lambda _: answer, child=[child(pifolab.Fifo()), child(pifolab.Fifo())])
    with pytest.raises(error) as raised:
        tree.enqueue(1)
    expected = "expected the number of a leaf, 0 for the first one, or None for no leaf"
    assert str(raised.value) == f"tree: classify returned {answer!r}: {expected}"
    assert len(tree) == 0


@pytest.mark.parametrize(
    "call", [lambda tree: tree.enqueue(1), lambda tree: tree.dequeue(), len, lambda tree: tree.queue_lengths]
)
def test_a_function_that_calls_its_own_tree_is_told_so(call: Callable[[Any], Any]):
    trees: list[Any] = []
    trees.append(pifolab.Tree(classify=lambda _: call(trees[0]), child=[child(pifolab.Fifo())]))
    with pytest.raises(RuntimeError, match="in the middle of a call: expected its function classify to look at the"):
        trees[0].enqueue(1)
    assert len(trees[0]) == 0


@pytest.mark.parametrize("weight", [1e300, 2**40, 0.12345678901])
def test_a_weight_that_is_too_large_or_too_fine_is_told_its_range(weight: float):
    with pytest.raises(ParameterError, match=r"tree\.a: weight = .*a fraction of integers up to 4294967295"):
        pifolab.Tree(discipline="stfq", child=[child(pifolab.Fifo(), label="a", takes="rest", weight=weight)])


def test_packets_carry_codepoints_and_marks_in_python():
    # Nothing leaves for 100 ms; then a packet every millisecond, far above the target.
    codel = pifolab.Managed(policy="codel", ecn=True, scheduler=pifolab.Fifo(capacity_packets=400))
    for number in range(400):
        codel.enqueue(number, labels={"ecn": 2}, now_ns=0)
    seen = [(codel.dequeue(now_ns=now_ms * 1_000_000), codel.marked) for now_ms in range(100, 500)]
    assert all(isinstance(packet, pifolab.Packet) for packet, _ in seen)
    assert sum(mark for _, mark in seen) > 1
    with pytest.raises(InputError, match="ecn = 4: expected an integer from 0 to 3"):
        codel.enqueue(1, labels={"ecn": 4})


def test_the_largest_name_of_a_packet_comes_back_from_a_policy():
    managed = pifolab.Managed(policy="codel", scheduler=pifolab.Fifo())
    managed.enqueue(1, id=2**63 - 1)
    packet = managed.dequeue()
    assert isinstance(packet, pifolab.Packet)
    assert packet.id == 2**63 - 1
    with pytest.raises(InputError, match="id = 9223372036854775808: expected an integer from 0 to"):
        managed.enqueue(1, id=2**63)
