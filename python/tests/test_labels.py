"""Labels are text: they appear as typed in figures, pages and on the terminal, and no two of them share a file."""

from __future__ import annotations

import csv
import random
import re
import struct
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import pifolab
from pifolab.cli import main
from pifolab.export import write_table
from pifolab.figures.palette import look
from pifolab.text import drawn, file_name, shown

#: What a formula, a page, a terminal and a legend would each take for something else.
AWKWARD = [
    "$k$ = 1",
    r"\alpha",
    r"\$5",
    "<b>&amp;</b>",
    "red \x1b[31m",
    "bell\x07",
    "_hidden",
    "a/b",
    "a_b",
    "100 %",
    "two\nlines",
]


def awkward_run() -> pifolab.Run:
    labels = "".join(f'[[scheduler]]\nname = "fifo"\nlabel = {_toml(label)}\n' for label in AWKWARD)
    return pifolab.run_text(
        "duration_ms = 1\nlink = { rate_gbps = 10 }\n"
        'workload = { arrivals = "constant", rate_gbps = 20, size_bytes = 1500, ranks = "uniform" }\n' + labels
    )


def _toml(text: str) -> str:
    escaped = "".join(f"\\u{ord(one):04x}" if one < " " or one in '"\\' else one for one in text)
    return f'"{escaped}"'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return awkward_run().save(tmp_path_factory.mktemp("labels") / "run")


@pytest.mark.thorough
@pytest.mark.parametrize("label", AWKWARD)
def test_every_label_is_in_the_figure_as_it_was_typed(folder: Path, label: str):
    # A file that is not well-formed does not parse; a formula would not be text, and a hidden name would be missing.
    tree = ElementTree.parse(folder / "figures" / "comparison.svg")
    texts = ["".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert shown(label) in [text.replace("\u200b", "") for text in texts], texts
    legend = ElementTree.parse(folder / "figures" / "inversions-per-rank.svg")
    texts = ["".join(text.itertext()) for text in legend.iter("{http://www.w3.org/2000/svg}text")]
    assert shown(label) in [text.replace("\u200b", "") for text in texts], texts


def test_every_label_is_in_the_page_as_it_was_typed(folder: Path):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", page)
    assert "<b>&amp;</b>" not in page
    for label in AWKWARD:
        escaped = shown(label).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert f"</span>{escaped}</td>" in page, label


def test_the_terminal_shows_what_it_would_obey(capsys: pytest.CaptureFixture[str]):
    from pifolab.cli.table import print_table

    print_table(awkward_run())
    lines = capsys.readouterr().out.splitlines()
    for label in AWKWARD:
        assert any(line.startswith(shown(label)) for line in lines), label
    assert not any(re.search(r"[\x00-\x1f]", line) for line in lines)


@pytest.mark.thorough
def test_no_warning_of_a_library_reaches_the_user(pifolab_command, tmp_path: Path):
    # A letter that no font of ours has, and a run without a single departure, of which there is no mean.
    (tmp_path / "x.toml").write_text(
        "duration_us = 2\nlink = { rate_bps = 1 }\n"
        'workload = { arrivals = "constant", rate_gbps = 20, size_bytes = 1500, ranks = "uniform" }\n'
        '[[scheduler]]\nname = "pifo"\nlabel = "😀 日本"\n'
        '[[scheduler]]\nname = "aifo"\n'
    )
    ran = pifolab_command("run", "x.toml")
    assert ran.returncode == 0
    # What is said is our own: that no packet was sent in so short a time.
    for line, label in zip(ran.stderr.splitlines(), ("😀 日本", "aifo"), strict=True):
        assert line.startswith(f"pifolab: warning: {label}: none of 4 packets was sent completely in 2 us: ")


def test_sweeps_and_results_show_what_the_terminal_would_obey(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    label = "$x$ <b>&amp;|\x1b[31m\nforged"
    (tmp_path / "x.toml").write_text(
        "duration_us = 200\nlink = { rate_gbps = 10 }\n"
        'workload = { arrivals = "constant", rate_gbps = 20, size_bytes = 1500, ranks = "uniform" }\n'
        f'[[scheduler]]\nname = "fifo"\nlabel = {_toml(label)}\n[[scheduler]]\nname = "sp-pifo"\n'
    )
    (tmp_path / "s.toml").write_text(
        'scenario = "x.toml"\nseeds = [1, 2]\nmetrics = ["arrived_packets", "inversions"]\n'
        'compare = [{ metric = "inversions", to = { scheduler = "sp-pifo" }, '
        f"of = {{ scheduler = {_toml(label)} }} }}]\n"
        f'[axis.load]\nkey = "workload.rate_gbps"\nvalues = [20]\nlabels = [{_toml(label)}]\n'
    )
    store, written = str(tmp_path / "store"), [str(tmp_path / name) for name in ("m.tex", "m.md")]
    for arguments in (
        ["study", "plan", str(tmp_path / "s.toml"), "--store", store],
        ["study", "run", str(tmp_path / "s.toml"), "--store", store, "--workers", "1"],
        ["study", "show", store, "--runs"],
        ["study", "show", store],
        *(["study", "export", store, "--out", file] for file in written),
    ):
        assert main(arguments) == 0
        said = capsys.readouterr()
        assert not re.search(r"[\x00-\x09\x0b-\x1f]|^forged", said.out + said.err, re.MULTILINE), arguments
        assert shown(label) in said.out or "export" in arguments, arguments
    latex, page = (Path(file).read_text(encoding="utf-8") for file in written)
    assert r"\$x\$ \textless{}b\textgreater{}\&amp;|\textbackslash{}x1b[31m\textbackslash{}nforged & " in latex
    assert r"| \$x\$ \<b\>\&amp;\|\\x1b[31m\\nforged | " in page


def test_messages_show_what_the_terminal_would_obey(pifolab_command, tmp_path: Path):
    file = tmp_path / "x.toml"
    file.write_text('[link]\nrate_gbps = "\\u001b[31m"\n')
    ran = pifolab_command("run", str(file))
    assert ran.returncode == 2
    assert "\x1b" not in ran.stderr
    # As TOML and Rust write it, or as Python does.
    assert re.search(r"\\(x1b|u\{1b\})\[31m", ran.stderr)


def test_no_two_labels_share_a_file():
    labels = {*AWKWARD, *map(file_name, AWKWARD), "", "_", ".", "..", "a_2fb"}
    names = [file_name(label) for label in labels]
    assert len(set(names)) == len(labels)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) and not name.startswith(".") for name in names)
    long = ["x" * 300 + end for end in "ab"]
    assert len({file_name(label) for label in long}) == 2
    assert all(len(file_name(label)) < 200 for label in long)


def test_two_labels_have_two_captures(tmp_path: Path):
    text = """
        duration_us = 50
        topology = { kind = "two-hosts", rate_gbps = 1, delay_us = 1 }
        transport = { name = "newreno" }
        record = { packet_log = ["all"] }
        [workload.flows]
        arrivals = "periodic"
        period_us = 10
        max_flows = 1
        sizes = "fixed"
        size_bytes = 1460
        pairs = "incast"
        senders = 1
        receiver = 0
    """
    for label in ("a/b", "a_b"):
        text += f'\n[[scheduler]]\nname = "fifo"\nlabel = "{label}"\n'
    folder = pifolab.run_text(text).save(tmp_path / "run", figures=False)
    # Two labels, two ports.
    assert len(list((folder / "packets").iterdir())) == 4


def test_packets_of_a_udp_host_are_udp_in_captures_and_those_of_the_others_tcp(tmp_path: Path):
    text = """
        duration_us = 200
        topology = { kind = "single-switch", hosts = 3, rate_gbps = 1, delay_us = 1 }
        record = { packet_log = ["all"] }
        [transport]
        name = "newreno"
        [[transport.udp]]
        host = 1
        interval_us = 20
        [workload.flows]
        arrivals = "periodic"
        period_us = 10
        max_flows = 2
        sizes = "fixed"
        size_bytes = 1460
        pairs = "incast"
        senders = 2
        receiver = 0
        [[scheduler]]
        name = "fifo"
    """
    folder = pifolab.run_text(text).save(tmp_path / "run", figures=False)
    protocols: dict[int, set[int]] = {1: set(), 2: set()}
    for file in (folder / "packets").iterdir():
        data, at = file.read_bytes(), 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            if kind == 6:
                header = data[at + 28 :]
                # Host 0 is 10.0.0.1; its acknowledgements go to the flow's source.
                source, target = header[15] - 1, header[19] - 1
                protocols[source or target].add(header[9])
            at += length
    assert protocols == {1: {17}, 2: {6}}


def test_a_dollar_is_no_formula():
    assert look("$k$", ["$k$"]).label == r"\$k\$"
    assert drawn("_x").endswith("_x")
    # Drawing all of it would take minutes.
    assert len(drawn("x" * 50_000)) < 200
    assert not drawn("_x").startswith("_")


#: What a spreadsheet obeys, what turns a line around or cannot be seen, and what people write.
PIECES = [
    "=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\u202e",
    "\u200b", "\u2066", "\ufeff", "\x00", "\x1b[31m", "'", '"', ",", ";", " ", "cmd|'/c calc'!A1",
    "HYPERLINK(\"http://x\",\"y\")", "1", "-3", "+5e-3", "packs", "\u00e9",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_no_text_of_an_exported_csv_is_a_formula_or_unseen_and_numbers_come_back(tmp_path: Path, seed: int):
    draw = random.Random(seed)
    for _ in range(30):
        labels = ["".join(draw.choices(PIECES, k=draw.randint(0, 4))) for _ in range(20)]
        numbers = [draw.choice([None, draw.uniform(-1e9, 1e9), -1.0]) for _ in labels]
        heading = "label" + draw.choice(PIECES)
        frame = pl.DataFrame({heading: labels, "number": numbers}, schema_overrides={"number": pl.Float64})
        write_table(frame, tmp_path / "t.csv")
        write_table(frame, tmp_path / "t.parquet")
        with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        assert [row[1] for row in rows[1:]] == ["" if one is None else str(one) for one in numbers]
        for label, cell in zip([heading, *labels], [row[0] for row in rows], strict=True):
            is_number = re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", cell)
            assert is_number or unicodedata.normalize("NFKC", cell)[:1] not in set("=+-@\t\r"), (label, cell)
            assert all(unicodedata.category(one) not in ("Cc", "Cf", "Zl", "Zp") for one in cell), (label, cell)
            # What is neither comes back as it was.
            assert cell.removeprefix("'") == shown(label).removeprefix("'") or cell == shown(label), (label, cell)
            if shown(label) == label and unicodedata.normalize("NFKC", label)[:1] not in set("=+-@"):
                assert cell == label
        # For a round trip there is Parquet.
        assert pl.read_parquet(tmp_path / "t.parquet").equals(frame)
