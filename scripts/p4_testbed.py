"""Keeps what `pifolab dataplane testbed ... --data-plane p4,ebpf,switch` measured, for lab/pages/p4-testbed.md.

    PYTHONPATH=dataplane/linux python scripts/p4_testbed.py [FOLDER...]

Stores the results of the folders, one for each experiment, with their figures; without a folder it writes the page
anew from what is stored. The verdicts of the page are those of the registry over the stored shares: a test compares
them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from pifolab.export import table_lines, write_text
from pifolab.statistics import interval_or_range
from pifolab_testbed import newest, twin
from pifolab_testbed import results as testbed
from pifolab_testbed.newest import NewestShares

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "lab" / "pages"
PAGE, STORED = PAGES / "p4-testbed.md", PAGES / "p4-testbed.json"
BEGIN, END = "<!-- testbed: written by scripts/p4_testbed.py -->\n", "<!-- end of testbed -->\n"

_OF_SUMMARY = ("format", "version", "experiment", "rate_bps", "delay_us", "length_s", "bin_s", "rank", "machine")
_OF_RUN = ("scheduler", "data_plane", "repeat", "parameters", "starved", "lost_outside", "completion_s")


def condensed(folder: Path) -> dict[str, Any]:
    """Return what of a result folder is stored: every run's shares, and those of the simulated twin's newest flow."""
    results = testbed.read(folder)
    summary = results.summary
    simulated = twin.simulate(summary)
    phases = range(len(summary["phases_s"]))
    runs = [
        {
            **{key: run[key] for key in _OF_RUN},
            "losses": {"share": run["losses"]["share"]},
            "phases": [{"share": [round(share, 5) for share in phase["share"]]} for phase in run["phases"]],
        }
        for run in summary["runs"]
    ]
    return {
        **{key: summary[key] for key in _OF_SUMMARY},
        "flows": [{"rank": flow["rank"], "offered_bps": flow["offered_bps"]} for flow in summary["flows"]],
        "phases_s": summary["phases_s"],
        "runs": runs,
        "simulated_newest": {
            scheduler: [[round(share, 5) for share in simulated.shares_by_seed(scheduler, n, n)] for n in phases]
            for scheduler in results.schedulers
        },
    }


def read_stored() -> list[testbed.Results]:
    """Return the stored results."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    return [testbed.Results(STORED, summary) for summary in stored]


def lines(results: testbed.Results) -> list[NewestShares]:
    """Return the newest flow's shares, each scheduler's with the simulator's."""
    measured = testbed.newest_shares(results)
    found = []
    for scheduler in results.schedulers:
        found += [line for line in measured if line.scheduler == scheduler]
        by_phase = results.summary["simulated_newest"][scheduler]
        found.append(NewestShares(scheduler, newest.SIMULATOR, tuple(map(interval_or_range, by_phase))))
    return found


def _verdicts(stored: list[testbed.Results]) -> list[str]:
    """Return the table of verdicts: a column for each data plane."""
    planes = list(dict.fromkeys(plane for results in stored for _, plane in results.measured))
    head = ["claim", "experiment", *map(newest.plane_label, planes), "measured on BMv2"]
    rows = []
    for results in stored:
        judged: dict[str, dict[str, testbed.Judged]] = {}
        for verdict in testbed.verdicts(results):
            judged.setdefault(verdict.claim, {})[verdict.data_plane] = verdict
        for claim, by_plane in judged.items():
            words = [
                f"{found.verdict}{' (provisional)' if found.provisional else ''}"
                for found in (by_plane[plane] for plane in planes)
            ]
            rows.append([claim, results.experiment, *words, by_plane["p4"].measured])
    return table_lines(head, rows)


def block(stored: list[testbed.Results]) -> str:
    """Return the part of the page about what was measured."""
    text = [*_verdicts(stored), ""]
    for results in stored:
        summary = results.summary
        repeats = 1 + max(run["repeat"] for run in summary["runs"])
        figure = f"figures/p4-{results.experiment}.svg"
        text += [
            f"### {results.experiment}",
            "",
            f"{repeats} runs of each on a link of {summary['rate_bps'] / 1e6:g} Mb/s, {summary['length_s']:g} s long; "
            "the newest flow's share while so many flows send, with 95 % intervals.",
            "",
            f"![The newest flow's share on each data plane and in the simulator]({figure})",
            "",
            *newest.table(lines(results)).splitlines(),
            "",
        ]
    return "\n".join(text)


def with_block(page: str, text: str) -> str:
    """Return the page with `text` in its place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{text}{END}{after}"


def main(folders: list[str]) -> None:
    """Store the results of `folders`, if there are any, and write the page."""
    if folders:
        stored = [condensed(Path(folder)) for folder in folders]
        write_text(json.dumps(stored, separators=(",", ":")).replace('{"scheduler"', '\n{"scheduler"') + "\n", STORED)
        for folder, summary in zip(folders, stored, strict=True):
            figure = PAGES / "figures" / f"p4-{summary['experiment']}.svg"
            shutil.copyfile(Path(folder) / "newest-flow.svg", figure)
    write_text(with_block(PAGE.read_text(encoding="utf-8"), block(read_stored())), PAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
