"""What the authors of PACKS and RIFO published of their simulations, repeated to the last digit."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import pifolab
from pifolab.errors import InputError
from pifolab_papers import load_registry

NETBENCH = Path(__file__).resolve().parents[2] / "experiments" / "netbench"

#: How the result tables call the published sizes.
SIZES = {"small": "< 100 KB", "large": ">= 1 MB"}


#: The shortest of these runs is the only one that is not left to `make test-slow`.
ROWS = [
    pytest.param(*row, marks=() if row[0] == "rifo-pareto-dctcp" else pytest.mark.slow)
    for row in (
        ("packs-fair-afq-32", 19_000, "pk-fig13", "afq", 0.8),
        ("fig13-aifowfq", 3_600, "ri-fig11", "aifo", 0.2),
        ("rifo-pareto-rifo", 36_000, "ri-fig13", "rifo", 0.2),
        ("rifo-pareto-rifo", 190_000, "ri-fig13", "rifo", 0.8),
        ("rifo-pareto-aifo", 36_000, "ri-fig13", "aifo", 0.2),
        ("rifo-pareto-sppifo", 36_000, "ri-fig13", "sp-pifo", 0.2),
        ("rifo-pareto-pifo", 36_000, "ri-fig13", "pifo", 0.2),
        ("rifo-pareto-dctcp", 36_000, "ri-fig13", "dctcp", 0.2),
        ("rifo-pareto-tcp", 36_000, "ri-fig13", "tcp", 0.2),
    )
]


@pytest.mark.thorough
@pytest.mark.parametrize(("scenario", "rate", "experiment", "scheduler", "load"), ROWS)
def test_a_published_row_comes_out_to_the_last_digit(scenario, rate, experiment, scheduler, load):
    overrides = {"workload.flows.starts_per_s": rate, "metrics.watch_ports": False}
    ours = pifolab.run(NETBENCH / f"{scenario}.toml", overrides=overrides).tables["fct"]
    theirs = load_registry().published[experiment].results().frames["fct"].filter(scheduler=scheduler, load=load)
    assert theirs.height > 0
    for size, mean, p99 in theirs.select("size", "mean_ns", "p99_ns").iter_rows():
        found = ours.row(by_predicate=pl.col("class") == SIZES[size], named=True)
        # The files of the registry have four decimals of a nanosecond.
        assert found["mean_ns"] == pytest.approx(mean, rel=0, abs=1e-4), size
        assert p99 is None or found["p99_ns"] == pytest.approx(p99, rel=0, abs=0.01), size


def test_the_network_of_rifos_pareto_runs_has_racks_that_send_to_others_only():
    flows = pifolab.run(NETBENCH / "rifo-pareto-pifo.toml", overrides={"duration_s": 0.002}).tables["flows"]
    assert flows.height > 50
    assert flows["src"].max() > 144
    assert (flows["src"] // 5 != flows["dst"] // 5).all()
    # One of the 144 racks sends more than a quarter of all flows.
    assert (flows["src"] // 5).value_counts()["count"].max() > flows.height / 8


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"arrivals": "poisson"}, "pairs = pareto-skewed: expected netbench arrivals"),
        ({"hosts_per_rack": 7}, "hosts_per_rack = 7: expected a number of hosts that makes two racks or more"),
        ({"pairs": "all-to-all"}, 'pairs: expected "uniform" or "pareto-skewed" with these arrivals'),
    ],
)
def test_pairs_that_cannot_be_drawn_are_refused(overrides, problem):
    keys = {f"workload.flows.{key}": value for key, value in overrides.items()}
    with pytest.raises(InputError) as refused:
        pifolab.run(NETBENCH / "rifo-pareto-pifo.toml", overrides=keys)
    assert problem in str(refused.value)


#: One packet every 140 ns onto a wire that takes 154 ns for each, one second, and 80 packets of buffer.
DROPPED = 649_271


def constant_rate(*schedulers, seeds):
    names = ", ".join(schedulers)
    run = pifolab.run(NETBENCH / "packs-udp-uniform.toml", seeds=seeds, overrides={"scheduler": f"[{names}]"})
    return run.tables["schedulers"]


@pytest.mark.thorough
def test_fifo_and_pifo_drop_what_was_published_at_a_constant_rate():
    rows = constant_rate(
        '{ name = "fifo", capacity_packets = 80 }', '{ name = "pifo", capacity_packets = 80 }', seeds=[1]
    )
    assert rows["arrived_packets"].to_list() == [7_142_858] * 2
    assert rows["dropped_packets"].to_list() == [DROPPED] * 2


@pytest.mark.slow
def test_packs_at_a_constant_rate_is_within_two_percent_of_what_was_published():
    packs = (
        '{ name = "packs", queues = 8, queue_capacity_packets = 10, window = 20, sample = 100, k = 0, '
        'occupancy = "global", compare = "lt", arithmetic = "netbench" }'
    )
    rows = constant_rate(packs, seeds=[1, 2, 3, 4, 5])
    # The authors' ranks are drawn from the clock: their published run, and one more of their code.
    for inversions, dropped in ((824_656, 684_729), (815_626, 686_268)):
        assert rows["inversions"].mean() == pytest.approx(inversions, rel=0.02)
        assert rows["dropped_packets"].mean() == pytest.approx(dropped, rel=0.02)
