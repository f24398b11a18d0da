"""The command line as a user meets it: answers, and one clear line with exit status 2 for every mistake."""

import json
import os
import pickle
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import COMMAND

import pifolab
from pifolab.cli import main, renamed, show
from pifolab.cli.commands import complete_parser
from pifolab.cli.parser import Parser

Run = Callable[..., subprocess.CompletedProcess[str]]


def fails_with_one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_list_names_every_scheduler_rank_function_transport_and_topology(pifolab_command: Run):
    for what in ("schedulers", "ranks", "transports", "topologies"):
        infos = getattr(pifolab, what)()
        done = pifolab_command("show", what)
        assert done.returncode == 0
        names = re.findall(r"^(\S+)", done.stdout, re.MULTILINE)
        assert names == [info.name for info in infos]


EXPLAINED = [*pifolab.schedulers(), *pifolab.ranks(), *pifolab.transports(), *pifolab.topologies()]


@pytest.mark.parametrize("info", EXPLAINED, ids=lambda info: info.name)
def test_explain_shows_every_parameter_with_its_range(pifolab_command: Run, info: pifolab.Info):
    done = pifolab_command("show", info.name)
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    assert " ".join(info.paper.split()) in text
    assert " ".join(info.state.split()) in text
    for param in info.params:
        assert ", ".join(param.keys) in text
        assert " ".join(param.allowed.split()) in text
        assert param.default is None or f"default {param.default}" in text
        for word, meaning in param.choices:
            assert word in text
            assert " ".join(meaning.split()) in text


def test_explain_says_how_a_scenario_names_controllers_and_topologies_and_which_keys_go_with_them(pifolab_command: Run):
    for name, line, own, others in [
        ("dctcp", 'dctcp (transport; in a scenario: [transport] name = "dctcp")', "initial_alpha", "payload_bytes"),
        ("udp", 'udp (transport; in a scenario: [transport] name = "udp")', "payload_bytes", "mss_bytes"),
        ("fat-tree", 'fat-tree (topology; in a scenario: [topology] kind = "fat-tree")', "delay_us", "spines"),
    ]:
        said = pifolab_command("show", name).stdout
        assert said.startswith(line)
        assert own in said
        assert others not in said
    table = json.loads(pifolab_command("show", "leaf-spine", "--json").stdout)
    assert (table["what"], table["params"][0]["name"]) == ("topology", "leaves")


def test_explain_speaks_json_too(pifolab_command: Run):
    table = json.loads(pifolab_command("show", "sp-pifo", "--json").stdout)
    assert table["what"] == "scheduler"
    assert table["params"][0]["name"] == "queues"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("shw",), ("command", "did you mean show?")),
        (("show", "schedlers"), ("did you mean schedulers?",)),
        (("show", "sp-pfio"), ("did you mean sp-pifo?",)),
        (("show", "dtcp"), ("unknown name", "did you mean dctcp?")),
        (("show", "zzzzzzzzz"), ("; pifolab show prints all ",)),
        (("show", "optimal"), ("did you mean sp-pifo-optimal? pifolab show prints all ",)),
        (("show", "fifo", "--jsn"), ("did you mean --json?",)),
        (("show", "fifo", "extra"), ("extra",)),
        (("compare", "--arival-rate", "1"), ("unknown option", "did you mean --arrival-rate?")),
    ],
)
def test_wrong_usage_is_one_line_that_helps(pifolab_command: Run, arguments: tuple[str, ...], words: tuple[str, ...]):
    fails_with_one_line(pifolab_command(*arguments), *words)


VECTOR = {
    "scheduler": "fifo",
    "config": {"capacity": 1},
    "ops": [["enq", 0, 5], ["enq", 1, 3], ["deq"], ["deq"]],
    "expect": [["adm", 0], ["drop", "full"], ["deq", 0], ["deq", None]],
}


def test_conformance_counts_and_agrees(pifolab_command: Run, tmp_path: Path):
    file = tmp_path / "fifo.json"
    file.write_text(json.dumps(VECTOR))
    done = pifolab_command("conformance", file, file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "library: 2 vectors, 8 operations, 0 mismatches\n"


def test_conformance_agrees_with_the_plain_text(pifolab_command: Run):
    done = pifolab_command("conformance", "--plain")
    assert done.returncode == 0, done.stdout
    refused = pifolab_command("conformance", "--plain", "--through", "switch")
    assert refused.returncode == 2
    assert refused.stderr.endswith("--plain: only the library has twins: expected --through library\n")


def test_plain_runs_give_the_same_packets_and_say_so_in_their_manifest(pifolab_command: Run, tmp_path: Path):
    def compare(*flags: str) -> dict[str, Any]:
        out = tmp_path / f"out{len(flags)}"
        wanted = ("compare", "--ranks", "uniform", "--rate", "1G", "--load", "1.1", "--duration", "5ms")
        done = pifolab_command(
            *wanted, "--schedulers", "fifo,sp-pifo,aifo,packs,afq", "--no-figures", *flags, "--out", str(out)
        )
        assert done.returncode == 0, done.stderr
        return json.loads((out / "manifest.json").read_text(encoding="utf-8"))

    twins, plain = compare(), compare("--plain")
    assert [run["trace_hash"] for run in plain["runs"]] == [run["trace_hash"] for run in twins["runs"]]
    assert (plain["spec"]["plain"], "plain" in twins["spec"]) == (True, "PIFOLAB_PLAIN" in os.environ)
    both = pifolab_command("compare", "--ranks", "uniform", "--rate", "1G", "--plain", "--set", "plain=false")
    assert both.returncode == 2
    assert both.stderr.endswith("--set plain: conflicts with --plain: give one of the two\n")


def test_conformance_shows_the_first_mismatch_in_full(pifolab_command: Run, tmp_path: Path):
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(VECTOR | {"expect": [["adm", 0], ["adm", 0], ["deq", 0], ["deq", None]]}))
    done = pifolab_command("conformance", file)
    assert done.returncode == 1
    assert "1 vectors, 4 operations, 1 mismatches" in done.stdout
    for part in ("wrong.json", "ops[1]", '["enq",1,3]', '["adm",0]', '["drop","full"]'):
        assert part in done.stdout.replace(", ", ",")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("line 1",)),
        ("{", ("line 1",)),
        ("[]", ()),
        (json.dumps(VECTOR | {"scheduler": "fif"}), ("fif",)),
        (json.dumps(VECTOR | {"config": {"capacity": 0}}), ("capacity", "0")),
        (json.dumps(VECTOR | {"config": {"capacity": 1, "window": 3}}), ("window",)),
        (json.dumps(VECTOR | {"ops": [["enq", 0, -1], *VECTOR["ops"][1:]]}), ("ops[0]",)),
        (json.dumps(VECTOR | {"ops": VECTOR["ops"][1:]}), ("3", "4")),
    ],
)
def test_a_broken_vector_is_one_line_with_the_place(
    pifolab_command: Run, tmp_path: Path, text: str, words: tuple[str, ...]
):
    file = tmp_path / "broken.json"
    file.write_text(text)
    done = pifolab_command("conformance", file)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    for word in ("broken.json", *words):
        assert word in done.stderr


def test_a_missing_vector_is_one_line(pifolab_command: Run):
    done = pifolab_command("conformance", "nowhere.json")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "nowhere.json" in done.stderr


@pytest.mark.thorough
def test_the_demo_is_one_folder_with_one_report(tmp_path: Path, monkeypatch, capsys):
    from pifolab.demo import tour

    short = tmp_path / "short.toml"
    scheduler = '[[scheduler]]\nname = "pifo"\n\n[[scheduler]]\nname = "packs"\n'
    text = tour.RUNS["uniform-ranks"].read_text().partition("# The buffers")[0]
    short.write_text(text.replace("duration_s = 1", "duration_s = 0.001") + scheduler)
    monkeypatch.setattr(tour, "RUNS", {"uniform-ranks": short})
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^pifo +1 1 2 2 +0 +5 \(pushed-out\), 4 \(pushed-out\)$", shown, re.MULTILINE)
    # What the paper's figure calls SP-PIFO: fixed bounds 1 and 2.
    assert re.search(r"^strict-priority +1 1 4 5 +0 +2 \(full\), 2 \(full\)$", shown, re.MULTILINE)
    assert re.search(r"^packs +917 ", shown, re.MULTILINE)
    assert (out / "motivating-example.png").read_bytes().startswith(b"\x89PNG")
    assert "SP-PIFO" in (out / "motivating-example.svg").read_text()
    report = (out / "report.html").read_text()
    assert report.count("data:image/png;base64,") == len(list(out.rglob("*.png"))) > 5
    (out / "mine.txt").write_text("precious")
    assert main(["demo", "--out", str(out)]) == 2
    assert "mine.txt" in capsys.readouterr().err
    assert (out / "mine.txt").read_text() == "precious"


@pytest.mark.slow
def test_demo_draws_what_it_says_and_can_be_repeated(pifolab_command: Run, tmp_path: Path):
    out = tmp_path / "demo"
    done = pifolab_command("demo", "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^pifo +1 1 2 2 +0 +5 \(pushed-out\), 4 \(pushed-out\)$", done.stdout, re.MULTILINE)
    # What the paper's figure calls SP-PIFO: fixed bounds 1 and 2.
    assert re.search(r"^strict-priority +1 1 4 5 +0 +2 \(full\), 2 \(full\)$", done.stdout, re.MULTILINE)
    assert re.search(r"^packs +916667 ", done.stdout, re.MULTILINE)
    assert re.search(r"^packs +23378 ", done.stdout, re.MULTILINE)
    assert (out / "motivating-example.png").read_bytes().startswith(b"\x89PNG")
    assert "SP-PIFO" in (out / "motivating-example.svg").read_text()
    report = (out / "report.html").read_text()
    # The example, and seven figures of each of the two runs.
    assert report.count("data:image/png;base64,") == len(list(out.rglob("*.png"))) == 17
    assert not re.search(r"""(src|href)=["'](?!data:|capture/|uniform-ranks/)""", report)
    for name in ("capture", "uniform-ranks"):
        assert (out / name / "report.html").exists()
    (out / "mine.txt").write_text("precious")
    refused = pifolab_command("demo", "--out", out)
    fails_with_one_line(refused, "mine.txt")
    assert (out / "mine.txt").read_text() == "precious"


@pytest.mark.thorough
def test_bench_measures_every_scheduler(pifolab_command: Run):
    done = pifolab_command("bench", "sched", "--json")
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert result["machine"]["processors"] >= 1
    rows = result["measurements"]
    # Programs in files are measured by the benchmark of the crate bmv2.
    assert {info.name for info in pifolab.schedulers()} - {"p4"} <= {row["name"].partition(",")[0] for row in rows}
    assert all(0 < row["min_ns_per_packet"] <= row["ns_per_packet"] for row in rows)
    twins = {row["name"] for row in rows if row["plain_ns_per_packet"] is not None}
    assert twins == {"fifo", "sp-pifo", "aifo, window 20", "packs, window 20", "packs, window 1000", "rifo", "afq"}
    trees = [row for row in rows if row["name"].startswith("tree, ") and row["load"] == "steady"]
    assert len(trees) == 16
    assert sum("charge = arrival" in row["name"] for row in trees) == 4


@pytest.mark.thorough
def test_bench_events_measures_the_event_queue_beside_a_heap(pifolab_command: Run):
    done = pifolab_command("bench", "events", "--json")
    assert done.returncode == 0
    rows = json.loads(done.stdout)["measurements"]
    waiting = [10**digits for digits in range(2, 7)]
    assert [(row["delays"], row["waiting"]) for row in rows] == [
        (delays, held) for delays in ("uniform", "bursty", "bimodal") for held in waiting
    ]
    assert all(row["ns_per_event"] > 0 and row["plain_ns_per_event"] > 0 for row in rows)


def test_bench_sim_measures_the_network(pifolab_command: Run):
    done = pifolab_command("bench", "sim", "--ms", "2", "--case", "dctcp", "--json")
    assert done.returncode == 0
    (row,) = json.loads(done.stdout)["measurements"]
    assert (row["case"], row["simulated_ms"]) == ("dctcp", 2)
    assert row["hops"] > 1000
    assert row["wall_s"] > 0
    fails_with_one_line(pifolab_command("bench", "sim", "--case", "dctpc"), "did you mean dctcp?")


def test_output_that_nobody_reads_is_no_error(tmp_path: Path):
    command = "pifolab show ranks | head -c 1"
    import sys

    shell = f"set -o pipefail; {Path(sys.executable).parent}/{command}"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("seed", range(3))
def test_a_message_about_a_long_input_keeps_its_beginning_and_its_end(tmp_path: Path, capsys, seed: int):
    """Whatever the long thing is: an expression, a condition, a label, a path, a list, a key."""
    draw = random.Random(seed)
    (tmp_path / "base.toml").write_text(
        "duration_s = 0.001\nlink = { rate_gbps = 10 }\nscheduler = [{ name = 'fifo' }]\n"
        "workload = { arrivals = 'constant', rate_gbps = 9, size_bytes = 1500, ranks = 'uniform' }\n"
    )
    for _ in range(8):
        letters = draw.choice(["x", "1", "(", "\u00e9", "a b"]) * draw.randint(5_000, 40_000)
        line = draw.choice([
            f"seeds = '{letters}'", f"title = ['{letters}']", f"'{letters}' = 1", f"metrics = ['{letters}']",
            f"[derived]\nduration_s = '{letters}'", f"[set]\nduration_s = '{letters}'", f"tables = ['{letters}']",
            f"scheduler = '{letters}'", f"[axis.x]\nkey = 'link.rate_gbps'\nvalues = ['{letters}']",
            f"metrics = [{{ name = 'a', value = '{letters}' }}]", f"seeds = [{', '.join(letters[:3000])}, 'x']",
        ])  # fmt: skip
        (tmp_path / "s.toml").write_text(f'scenario = "base.toml"\n{line}\n')
        assert main(["study", "plan", str(tmp_path / "s.toml")]) == 2, line[:80]
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert error.startswith(f"pifolab: {tmp_path / 's.toml'}:"), error
        assert len(error) < 5000, error
    (tmp_path / "t.pcap").write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    long, digits = "x" * 30_000, "9" * 30_000
    for words in (
        *(["run", str(tmp_path / "base.toml"), *option] for option in (
            ["--set", long], ["--set", f"link.rate_gbps={digits}"], ["x" * 3_000], ["--seed", digits],
        )),
        ["run", long],
        ["compare", "--rate", "10G", "--queues", digits],
        ["attack", "pifo", "--packets", digits, "--rank-range", "1..3"],
        ["attack", "pifo", "--packets", "4", "--rank-range", f"1..{digits}"],
        ["attack", "pifo", "--packets", "4", "--rank-range", "1..3", "--multiset", f"1:{digits}"],
        ["advise", str(tmp_path / "base.toml"), "--set", f"workload.x={digits}"],
        ["advise", str(tmp_path / "t.pcap"), "--rate", "1G", "--filter", f"tcp port {digits}"],
    ):  # fmt: skip
        assert main(words) == 2, words[0]
        error = capsys.readouterr().err
        assert (error.count("\n"), len(error) < 1400) == (1, True), error[:2000]


def test_an_error_that_crosses_a_process_stays_as_short():
    for error in (pifolab.InputError("x" * 10_000), pifolab.ParameterError("y" * 10_000, "a", "b", None, "c")):
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)
        assert "... (8900 more) ..." in str(again)


def leaves(parser: Parser) -> list[Parser]:
    return [leaf for inner in parser.commands.values() for leaf in leaves(inner)] or [parser]


def test_ten_commands_are_listed_and_all_of_them_on_demand(capsys):
    listings = []
    for words in ([], ["help"], ["--help"]):
        assert main(words) == 0
        listings.append(capsys.readouterr().out)
    assert listings[0] == listings[1] == listings[2]
    shown = re.findall(r"^  ([a-z]+) ", listings[0], re.MULTILINE)
    assert shown == [
        *("run", "compare", "advise", "attack", "study", "reproduce", "show", "trace", "tree", "dataplane"),
    ]
    assert main(["help", "--all"]) == 0
    assert set(re.findall(r"^  ([a-z]+)\b", capsys.readouterr().out, re.MULTILINE)) == set(complete_parser().commands)


@pytest.mark.parametrize("parser", [complete_parser(), *leaves(complete_parser())], ids=lambda parser: parser.prog)
def test_help_has_at_most_100_columns_and_names_no_file_of_the_source_tree(parser: Parser, monkeypatch):
    for width in ("80", "300"):
        monkeypatch.setenv("COLUMNS", width)
        text = parser.format_help()
        assert max(map(len, text.splitlines())) <= min(int(width), 100), text
    assert not re.search(r"\b(docs|scripts|crates|conformance)/", text)


#: For every old command one or more command lines, and what each of them is today.
OLD = [
    ("sweep s.toml --workers 2", "study run s.toml --workers 2"),
    ("sweep s.toml --dry-run", "study plan s.toml"),
    ("results store", "study show store --runs"),
    ("results store --sweep x --statistics --schedulers a,b", "study show store --study x --draw a,b"),
    ("results store --export t.csv", "study export store --out t.csv --table schedulers"),
    ("results store --export=t.csv --table ranks", "study export store --out=t.csv --table ranks"),
    ("results store --statistics --export t.md", "study export store --out t.md"),
    ("results store --figures f --x load", "study export store --out f --x load --figures"),
    ("results store --report r --force", "study report store --out r --force"),
    ("results store --verify", "study check store"),
    ("results store --prune --sweep x --yes", "study prune store --study x --yes"),
    ("list schedulers", "show schedulers"),
    ("explain packs --json", "show packs --json"),
    ("flows net.toml --out f.csv", "flows export net.toml --out f.csv"),
    ("agree run ref.csv", "flows compare run ref.csv"),
    ("policy fifo[a] --embeds-in fifo[b]", "tree check fifo[a] --in fifo[b]"),
    ("policy fifo[a] --embeds-in fifo[b] --degree 2", "tree compile fifo[a] --in fifo[b] --degree 2"),
    ("testbed udp-four-flows", "dataplane testbed udp-four-flows"),
    ("scorecard --out=c --workers 2", "study run scorecard --store=c --workers 2"),
]

#: What takes the place of the value of an old option.
_GIVEN = "3"


def test_every_old_command_is_the_new_one_after_a_line_that_names_it(capsys):
    assert {line.split()[0] for line, _ in OLD} == renamed.COMMANDS.keys()
    for old, new in OLD:
        assert renamed.current(old.split(), pytest.fail) == new.split()
        first, *others = capsys.readouterr().err.splitlines()
        assert first.startswith(f"pifolab: pifolab {old.split()[0]} is called pifolab {new.split()[0]}"), first
        assert all(re.fullmatch(r"pifolab: --\S+ is called --\S+; the old name works .*", line) for line in others)
        known = complete_parser().parse_known_args(new.split())
        assert known[1] == [], new


@pytest.mark.parametrize("command", renamed.OPTIONS)
def test_every_old_option_is_the_new_one_after_a_line_that_names_it(command: str, capsys):
    parser = complete_parser()
    # The options of a data plane are those of another program, whose tests they are.
    passing = command.startswith("dataplane ")
    for word in command.split():
        parser = parser.commands[word] if not passing else parser
    for old, (new, unit) in renamed.OPTIONS[command].items():
        for written in ([old, _GIVEN], [f"{old}={_GIVEN}"]):
            made = renamed.current([*command.split(), *written], pytest.fail)
            assert (
                capsys.readouterr().err == f"pifolab: {old} is called {new}; the old name works for one more release\n"
            )
            option = new if new.startswith("--") else old
            assert "=".join(made[len(command.split()) :]) == f"{option}={_GIVEN}{unit}"
            assert passing or option in parser.options()
            assert f"{old} " not in parser.format_help() or new == old


def test_two_old_options_that_are_one_today_are_refused(capsys):
    assert main(["compare", "--ranks", "uniform", "--rate-gbps", "1", "--rate-mbps", "1"]) == 2
    assert "argument --rate-mbps: not allowed with argument --rate-gbps" in capsys.readouterr().err


LONG_ANSWERS = ("show schedulers", "show schedulers --json", "show tree", "--help", "run x.toml --out out")


@pytest.mark.parametrize("answer", LONG_ANSWERS)
@pytest.mark.parametrize("reader", ["| head -1", "| true", ">&-", ">&- 2>&- <&-"])
def test_a_reader_that_has_seen_enough_and_a_closed_output_end_a_command_quietly(
    tmp_path: Path, answer: str, reader: str
):
    (tmp_path / "x.toml").write_text(
        'duration_ms = 1\nlink = { rate_gbps = 10 }\nscheduler = [{ name = "fifo" }]\n'
        'workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }\n'
    )
    line = f"set -o pipefail; {COMMAND} {answer} {reader}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == ("head" in reader)
    # No file of the command has taken the place of the closed output.
    assert answer.startswith(("show", "--help")) or "fifo" in (tmp_path / "out" / "summary.json").read_text()


def test_show_lists_every_kind_and_explains_every_metric_key_and_distribution(capsys):
    for kind, listed in show.KINDS.items():
        assert main(["show", kind, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == listed()
    for kind in ("metric", "key", "distribution"):
        for about in pifolab.info.kinds()[kind]:
            assert not about.summary[:1].islower()
            assert about.summary.endswith("."), about.name
            assert str(pifolab.explain(about.name)).splitlines()[2:], about.name
    assert main(["show", "PACKS"]) == 0
    assert capsys.readouterr().out.startswith("packs (scheduler; ")
    assert main(["show", "scheduler", "--quiet"]) == 0
    assert capsys.readouterr().out.split() == [about.name for about in pifolab.schedulers()]


@pytest.mark.parametrize("scenario", ["packs/fig3", "packs/fig12"])
def test_every_column_of_a_run_is_explained(scenario: str):
    from pifolab.catalogue import columns

    run = pifolab.run(scenario, overrides={"duration_s": 0.0005})
    for name, table in run.tables.items():
        assert set(table.columns) <= columns().keys(), name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare", "--rat", "1"), "did you mean --rate?"),
        (("compare", "--ranks", "uniform", "--rate", "1G", "-o", "x"), 'unknown option "-o"; there are --'),
        (("compare", "-v"), "the following arguments are required"),
        (("run", "one.toml", "--output", "x"), "did you mean --out?"),
        (("show", "tcp"), "did you mean newreno?"),
        (("show", "pack"), "did you mean packs?"),
        (("sho",), "did you mean show?"),
    ],
)
def test_suggestions_are_by_prefix_and_alias_before_edit_distance(words: tuple[str, ...], said: str, capsys):
    assert main(list(words)) == 2
    assert said in capsys.readouterr().err
