"""Every command that prints a table prints it as JSON with --json, and with --quiet only what it was asked for."""

import json
import random
from pathlib import Path

import pytest

import pifolab
from pifolab import packaged
from pifolab.cli import main
from pifolab.cli.commands import COMMANDS, complete_parser

ONE_LINK = """
duration = "2ms"
link.rate = "10G"
workload = { arrivals = "constant", load = 1.1, size_bytes = "1500B", ranks = "uniform" }
scheduler = [{ name = "pifo" }, { name = "packs" }]
"""
NETWORK = """
duration = "2ms"
topology = { kind = "single-switch", hosts = 3, rate = "1G", delay = "1us" }
transport = { name = "newreno" }
workload = { flows = { load = 0.5, sizes = "fixed", size_bytes = 20000 } }
scheduler = [{ name = "fifo" }]
"""
STUDY = """
scenario = "one.toml"
seeds = [1, 2]
metrics = ["inversions"]
axis.load = { key = "workload.load", values = [1.1, 1.2] }
"""

#: For every command with --json, arguments; OUT is a new folder.
CASES: dict[str, list[list[str]]] = {
    "run": [["one.toml", "--no-figures", "--out", "OUT"], ["network.toml", "--no-figures", "--out", "OUT"]],
    "compare": [
        ["--ranks", "uniform", "--rate", "1G", "--load", "1.2", "--duration", "1ms", "--no-figures", "--out", "OUT"],
        ["--trace", "trace.csv", "--rank", "column", "--rate", "10M", "--all", "--no-figures", "--out", "OUT"],
    ],
    "attack": [["sp-pifo:queues=2:queue_capacity_packets=3", "pifo", "--packets", "4", "--rank-range", "1..3"]],
    "study run": [["study.toml", "--store", "store", "--workers", "1"]],
    "study plan": [["study.toml", "--store", "store"]],
    "study show": [["store"], ["store", "--runs"], ["store", "--metric", "sent_packets"]],
    "study check": [["store"]],
    "study prune": [["store"], ["store", "--where", "seed = 2"]],
    "reproduce": [["packs", "--claims"], ["aifo", "9", "--claims"]],
    "show": [[], ["schedulers"], ["metrics"], ["inversions"], ["workload.arrivals"], ["exponential"], ["las"]],
    "trace": [["trace.csv"]],
    "flows compare": [["ran", "reference.csv"]],
    "tree check": [["rr[fifo[a], fifo[b]]", "--in", "rr[fifo[a], fifo[b], fifo[c]]"]],
    "tree compile": [["rr[fifo[a], fifo[b]]", "--operations", "100"]],
    "doctor": [[]],
    "dataplane doctor": [[]],
    "conformance": [["VECTOR"], ["VECTOR", "--plain"], ["VECTOR", "--through", "library,p4"]],
}
#: These take too long, and are seen by tests of their own.
LONG = {"advise", "bench events", "bench sched", "bench sim"}
#: What these are asked for are lines of text, which --quiet keeps.
ANSWERS = {"show"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("output")
    for name, text in {"one.toml": ONE_LINK, "network.toml": NETWORK, "study.toml": STUDY}.items():
        (folder / name).write_text(text)
    packets = "".join(f"{at * 1000},1500,{at % 7}\n" for at in range(300))
    (folder / "trace.csv").write_text(f"time_ns,size_bytes,rank\n{packets}")
    (folder / "reference.csv").write_text("flow,src,dst,size_bytes,start_ns,fct_ns\n0,0,1,3000,0,1000\n")
    pifolab.run(folder / "network.toml").save(folder / "ran", figures=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        assert main(["study", "run", "study.toml", "--store", "store", "--workers", "1", "--quiet"]) == 0
    return folder


def test_every_command_with_json_is_drawn():
    whole = complete_parser()
    found = set()
    for row in COMMANDS:
        parser = whole
        for word in row.words.split():
            parser = parser.commands[word]
        if row.declare is not None and "--json" in parser.options():
            assert "--quiet" in parser.options()
            found.add(row.words)
    assert found == CASES.keys() | LONG


@pytest.mark.parametrize("seed", range(4))
def test_json_is_json_and_quiet_is_quiet(files: Path, tmp_path: Path, monkeypatch, capsys, seed: int):
    monkeypatch.chdir(files)
    draw = random.Random(seed)
    for number, (words, choices) in enumerate(draw.sample(list(CASES.items()), 8)):
        vector = str(draw.choice(packaged.vectors()))
        arguments = [
            part.replace("OUT", str(tmp_path / f"{number}")).replace("VECTOR", vector) for part in draw.choice(choices)
        ]
        assert main([*words.split(), *arguments, "--json"]) in (0, 1), (words, arguments)
        json.loads(capsys.readouterr().out)
        force = ["--force"] if str(tmp_path / f"{number}") in arguments else []
        assert main([*words.split(), *arguments, *force, "--quiet"]) in (0, 1)
        said = capsys.readouterr().out
        assert (said != "") == (words in ANSWERS), (words, said)


def test_the_commands_of_p4_print_their_tables_as_json_and_are_quiet(capsys):
    vector = str(next(file for file in packaged.vectors() if file.name.startswith("rifo")))
    for words in (["list"], ["resources", "--stored"]):
        assert main(["dataplane", "p4", *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)
        assert main(["dataplane", "p4", *words, "--quiet"]) == 0
        assert capsys.readouterr().out == ""
    assert main(["conformance", "--through", "library,p4", vector, "--json"]) == 0
    library, p4 = json.loads(capsys.readouterr().out)
    assert (library["through"], p4["through"]) == ("library", "p4")
    assert library["operations"] == p4["operations"] > 0 == library["mismatches"] == p4["mismatches"]


def test_old_options_of_the_data_plane_say_their_new_name(capsys):
    old = ["dataplane", "p4", "parameters", "--scheduler", "aifo", "--param", "window=4"]
    assert main(old) == 0
    said = capsys.readouterr()
    assert said.err == "pifolab: --param is called --set; the old name works for one more release\n"
    assert main([word.replace("--param", "--set") for word in old]) == 0
    assert capsys.readouterr().out == said.out
    testbed = ["dataplane", "testbed", "udp-four-flows", "--data-plane", "p4", "--out", "x"]
    assert main([*testbed, "--scheduler", "no"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "pifolab: --scheduler is called --schedulers; the old name works for one more release"
    assert '"no"' in second


def test_a_first_comparison_is_one_table_of_eight_columns_with_a_word_on_each(files: Path, tmp_path: Path, capsys):
    flags = ["--ranks", "uniform", "--rate", "10G", "--load", "1.1", "--duration", "1ms", "--no-figures"]
    listed = ["--schedulers", "pifo,packs,packs:window=20,fifo"]
    assert main(["compare", *flags, *listed, "--out", str(tmp_path / "a")]) == 0
    first = capsys.readouterr().out
    table, words, *_ = first.split("\n\n")
    labels = [line.split("  ")[0] for line in table.splitlines() if not line.startswith(" ")]
    assert labels[-3:] == ["packs", "packs:window=20", "fifo"]
    assert len(table.splitlines()[-1].split()) == 8
    for name in ("sent", "dropped", "lowest dropped rank", "inversions", "delta", "mean wait"):
        assert f"\n{name} " in f"\n{words}", name
    assert main(["compare", *flags, *listed, "--out", str(tmp_path / "b"), "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > len(table.splitlines()) + 5
