"""A limited address space (`ulimit -v`) ends any command with one line, wherever memory runs out."""

from __future__ import annotations

import errno
import random
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from waiting import COMMAND, HANGS_S

import pifolab_command
from pifolab import cli

LINK = """
duration_ms = 1
link = { rate_gbps = 10 }
workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
scheduler = [{ name = "sp-pifo" }]
"""

NETWORK = """
duration_ms = 1
topology = { kind = "fat-tree", k = 16, access_rate_gbps = 10, delay_us = 1 }
transport = { name = "newreno", rank = "remaining-size" }
workload.flows = { arrivals = "poisson", starts_per_s = 1e5, sizes = "fixed", size_bytes = 20000, pairs = "uniform" }
scheduler = [{ name = "sp-pifo" }]
"""

STUDY = """
scenario = "link.toml"
seeds = [1, 2]
[axis]
scheduler.values = ["fifo", "pifo"]
"""

COMMANDS = (
    "run link.toml",
    "run network.toml",
    "trace trace.csv",
    "advise trace.csv",
    "compare --rate 10G --load 1.1 --duration 1ms",
    "attack sp-pifo pifo --packets 5 --rank-range 1..3",
    "flows export network.toml --out flows.csv",
    "study plan study.toml",
    "study run study.toml --store store",
    "reproduce --claims",
    "show schedulers",
    "show pifo --json",
    "tree check rr[fifo[0],fifo[1]]",
    "conformance",
)


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(10, 130))]
)
def test_a_limit_of_the_address_space_ends_a_command_with_one_line_or_not_at_all(seed: int, tmp_path: Path):
    draws = random.Random(seed)
    command = COMMANDS[seed % len(COMMANDS)]
    # Half of them where polars is loaded or refused.
    most_mb = int(draws.choice((10 ** draws.uniform(1.4, 3.3), draws.uniform(1_000, 1_600))))
    for name, text in (("link", LINK), ("network", NETWORK), ("study", STUDY)):
        (tmp_path / f"{name}.toml").write_text(text)
    rows = "".join(f"{at * 1000},{64 + at % 1400},{at % 97},f{at % 50}\n" for at in range(5_000))
    (tmp_path / "trace.csv").write_text(f"time_ns,size_bytes,rank,flow\n{rows}")
    given = sorted(tmp_path.iterdir())

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most_mb << 20, most_mb << 20))

    ran = subprocess.run(
        [COMMAND, *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=HANGS_S, preexec_fn=limit
    )
    case = f"{command} in {most_mb} MiB: {ran.stderr}"
    if ran.returncode == 0:
        return
    if command.startswith("study run") and ran.returncode == 1:
        # A run that fails leaves the others; the end names it.
        assert re.search(r"^pifolab study: \d+ of 4 runs failed:$", ran.stderr, re.MULTILINE), case
        return
    if ran.returncode == -signal.SIGABRT and most_mb < 100:
        # Too little for Python itself: the C library ends the process.
        assert re.fullmatch("Fatal glibc error: .*out of memory\n", ran.stderr), case
        assert sorted(tmp_path.iterdir()) == given, case
        return
    assert ran.returncode == 2, case
    (line,) = ran.stderr.splitlines()
    # The second is the estimate of a run.
    assert re.match("pifolab: (out of memory|.*would need about .* of memory).*: expected ", line), case
    assert sorted(tmp_path.iterdir()) == given, case


@pytest.mark.parametrize(
    "error",
    [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory"), *map(RuntimeError, cli._NO_MEMORY)],
    ids=str,
)
def test_each_way_to_say_that_memory_is_refused_ends_in_one_line(error: BaseException, monkeypatch, capsys):
    def refuse() -> None:
        raise error

    monkeypatch.setattr("pifolab.cli.commands.complete_parser", refuse)
    assert cli.main([]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match("pifolab: out of memory: .*expected ", line)


def test_a_broken_installation_is_not_taken_for_a_lack_of_memory_under_a_limit():
    for error in (MemoryError(), OSError(errno.ENOMEM, "x"), *map(ImportError, pifolab_command._NO_MEMORY)):
        assert pifolab_command._lacks_memory(error), error
    for other in (ImportError("No module named 'polars'"), OSError(errno.EACCES, "Permission denied")):
        assert not pifolab_command._lacks_memory(other), other
