"""What a notebook shows of runs and sweeps; and the summary of a trace."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sweeping import SCENARIO
from waiting import HANGS_S

import pifolab
from pifolab.store import Store
from pifolab.sweep import Sweep, run_sweep

Command = Callable[..., subprocess.CompletedProcess[str]]

DRAWN = {"ranks": "uniform", "rate_gbps": 10, "arrival_gbps": 11, "duration_s": 0.002}
CAPTURE = Path(pifolab.__file__).parent / "data" / "tcp-mix.pcap.gz"


NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples" / "notebooks").glob("*.ipynb"))

#: What the code cells of each notebook show, in order.
SHOWN = {
    "compare": ["text/html", "image/png", "image/png", "text/html"],
    "own-scheduler": ["text/html", "image/png", "stream"],
    "sweep": ["text/html", "image/png", "text/html", "stream"],
}


@pytest.mark.thorough
@pytest.mark.filterwarnings("default")
def test_the_example_notebooks_run_and_show_tables_and_figures(tmp_path: Path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    assert [file.stem for file in NOTEBOOKS] == sorted(SHOWN)
    for file in NOTEBOOKS:
        book = nbformat.read(file, as_version=4)
        cells = [cell for cell in book.cells if cell.cell_type == "code"]
        assert not any(cell.outputs for cell in cells), f"{file}: clear the outputs"
        nbclient.NotebookClient(book, timeout=HANGS_S, resources={"metadata": {"path": str(tmp_path)}}).execute()
        shown = []
        for output in (output for cell in cells for output in cell.outputs):
            kinds = output.get("data", {})
            rich = [kind for kind in ("text/html", "image/png") if kind in kinds]
            shown += rich or ["stream" if output.output_type == "stream" else f"{file.stem}: {list(kinds)}"]
        assert shown == SHOWN[file.stem]


def test_a_run_shows_its_numbers_and_its_figures():
    run = pifolab.compare(["pifo", "fifo"], **DRAWN)
    page = run._repr_html_()
    assert "<table>" in page
    for name in ("pifo", "fifo", "inversions"):
        assert name in page
    assert repr(run).startswith(f"Run({run.title!r}: pifo, fifo; seeds 1; tables schedulers, ranks, ")
    assert "\n" not in repr(run)
    assert run.plot().axes
    figure = run.plot("inversions-per-rank", size=(5, 2))
    assert tuple(figure.get_size_inches()) == (5, 2)
    with pytest.raises(pifolab.InputError, match=r'^unknown figure "inversions-per-rnk"; did you mean'):
        run.plot("inversions-per-rnk")


def test_a_sweep_shows_its_means(tmp_path: Path):
    (tmp_path / "base.toml").write_text(SCENARIO)
    plan = {"scenario": "base.toml", "seeds": [1, 2], "axis": {"scheduler": ["fifo", "pifo"]}}
    sweep = Sweep.from_dict({**plan, "metrics": ["inversions"]}, file=str(tmp_path / "s.toml"))
    result = run_sweep(sweep, Store(tmp_path / "store"), workers=1)
    place = str(result.store.path)
    assert (
        repr(result) == f"SweepResult({result.sweep.name!r}: {len(result.runs)} runs, 0 failed, 0 reused; in {place!r})"
    )
    assert repr(result.store) == f"Store({place!r}: {len(result.runs)} runs)"
    page = result._repr_html_()
    assert "<th>inversions</th>" in page
    assert page.count("<tr>") == 3
    assert result.plot(size=(5, 2))._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(pifolab.InputError, match=r'^unknown metric "inversion"; did you mean inversions'):
        result.plot("inversion")
    result.export_statistics(tmp_path / "means.md", {"fifo": "First"})
    assert "| First |" in (tmp_path / "means.md").read_text()


@pytest.mark.thorough
def test_a_trace_is_summarised(pifolab_command: Command, tmp_path: Path):
    rows = [f"{at * 1000},1000,{at % 7},{'a' if at % 4 else 'b'}" for at in range(4001)]
    rows = [row.replace("a", "1").replace("b", "2") for row in rows]
    (tmp_path / "t.csv").write_text("\n".join(["time_ns,size_bytes,rank,flow", *rows]) + "\n")
    found = pifolab.summarise_trace(tmp_path / "t.csv")
    assert (found.packets, found.bytes, found.flows, found.span_s) == (4001, 4_001_000, 2, 0.004)
    assert found.format == "CSV (time_ns,size_bytes,rank,flow)"
    assert found.mean_bps == pytest.approx(8e9)
    assert found.peak_bps == pytest.approx(8e9, rel=0.01)
    assert found.largest[0][1:] == (3_000_000, pytest.approx(0.75, abs=0.01))
    done = pifolab_command("trace", "t.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert "packets    4,001 (4 MB)" in done.stdout
    assert "mean rate  8 Gb/s" in done.stdout
    assert "all packets were understood" in done.stdout


@pytest.mark.thorough
def test_a_capture_is_summarised_and_what_is_wrong_names_the_file(pifolab_command: Command, tmp_path: Path):
    done = pifolab_command("trace", CAPTURE, "--json")
    found = json.loads(done.stdout)
    assert found["format"].startswith("pcap")
    assert found["format"].endswith(", gzip")
    assert sum(share for _, _, share in found["largest"]) <= 1.0001
    (tmp_path / "noise.pcap").write_bytes(b"no capture at all\n")
    for file in ("noise.pcap", "absent.pcap"):
        failed = pifolab_command("trace", file)
        assert (failed.returncode, failed.stdout) == (2, "")
        assert failed.stderr.startswith(f"pifolab: {file}")


def test_explain_finds_schedulers_rank_functions_transports_and_topologies():
    assert pifolab.explain("packs").paper.startswith("PACKS")
    assert pifolab.explain("stfq").name == "stfq"
    assert [param.keys for param in pifolab.explain("two-hosts").params][1][3] == "delay_ns"
    assert "cut" in [param.name for param in pifolab.explain("dctcp").params]
    with pytest.raises(pifolab.InputError, match="did you mean packs"):
        pifolab.explain("pakcs")
