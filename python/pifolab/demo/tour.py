"""The demo as a folder: the motivating example, uniform ranks, a real capture, and one report about all three."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from pifolab.demo.motivating import Course
from pifolab.errors import InputError
from pifolab.figures.motivating import draw_motivating_example
from pifolab.figures.style import save
from pifolab.folder import check_absent, whole_folder, why_kept
from pifolab.report import html
from pifolab.report.run import pictures, results
from pifolab.report.setup import what_was_run
from pifolab.runs import Run, Watch, complete, run
from pifolab.text import shown

_DATA = Path(__file__).resolve().parents[1] / "data"

#: The scenarios that the demo runs: the folder that each gets, and its file.
RUNS = {"uniform-ranks": _DATA / "uniform-ranks.toml", "capture": _DATA / "tcp-mix.toml"}

_EXAMPLE = "motivating-example"


def clear_earlier_demo(folder: Path) -> None:
    """Remove what an earlier demo wrote to `folder`."""
    written = {"report.html", *(f"{_EXAMPLE}.{ending}" for ending in ("png", "svg", "pdf"))}
    if not folder.is_symlink() and (folder / f"{_EXAMPLE}.png").exists() and (folder / "report.html").exists():
        for entry in sorted(folder.iterdir()):
            plain = entry.name in written and entry.is_file() and not entry.is_symlink()
            keep = why_kept(entry) if entry.name in RUNS else None if plain else "was not written by pifolab"
            if keep is not None:
                raise InputError(f"{shown(str(entry))}: {keep}; give another --out, or remove it")
        shutil.rmtree(folder)
    check_absent(folder)


def run_scenario(name: str, progress: Watch) -> Run:
    """Run one of `RUNS` completely; an interrupt is raised to the caller."""
    return complete(run(RUNS[name], progress=progress))


def write_tour(folder: Path, courses: Sequence[Course], runs: dict[str, Run], told: Callable[[str], None]) -> Path:
    """Write the folder; `told` is called with each part that is drawn. Return the report."""
    with whole_folder(folder) as unfinished:
        image, *_ = save(draw_motivating_example(courses), unfinished / _EXAMPLE)
        caption = (
            "PACKS (NSDI 2025) Fig. 2: six packets arrive at a buffer for four; what each scheduler sends and drops."
        )
        sections = [html.Section("The motivating example", [html.figure(image, caption, wide=True)])]
        for name, result in runs.items():
            told(result.title)
            result.save(unfinished / name)
            parts = [f"<p>{html.escape(result.description)}</p>", *what_was_run(result), *results(result)]
            parts.append(pictures(result, unfinished / name))
            parts.append(f'<p><a href="{name}/report.html">Its own report</a>, with the manifest.</p>')
            sections.append(html.Section(result.title, parts))
        lead = "How schedulers that switches can build order and drop packets, beside PIFO, which they imitate."
        html.write_page(unfinished / "report.html", "pifolab: the demo", lead, sections)
    return folder / "report.html"
