"""What `pifolab reproduce` does: runs experiments, prints verdicts, writes the report."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pifolab.cli.output import print_json
from pifolab.cli.rows import print_rows
from pifolab.cli.signals import INTERRUPTED
from pifolab.errors import InputError
from pifolab.statistics import Verdict
from pifolab.sweep.watch import Watcher
from pifolab.text import wrapped
from pifolab_papers.execute import READINGS, check_scenarios
from pifolab_papers.mutate import try_claims
from pifolab_papers.outside import is_paper, load_paper, missing, replay_vectors
from pifolab_papers.registry import Registry, load_registry
from pifolab_papers.report import VERDICTS, check_folder, of_authors, summary_rows, write_report
from pifolab_papers.run import Reproduction, reproduce

#: The options that do nothing beside another one, as attributes of the arguments.
_SHORTER = ("quick", "full", "seeds", "out", "readings", "earlier", "revision", "workers", "no_figures")
_WITHOUT_EFFECT = {
    "check": ("only", "mutate", "claims", *_SHORTER),
    "claims": ("mutate", *_SHORTER),
    "mutate": ("readings", "no_figures", "json"),
}


def run(arguments: argparse.Namespace) -> int:
    """Run what was asked for."""
    for mode, others in _WITHOUT_EFFECT.items():
        for other in others:
            if getattr(arguments, mode) and getattr(arguments, other):
                raise InputError(f"--{other.replace('_', '-')} has no effect with --{mode}: remove it")
    own = Path(arguments.papers) if arguments.papers and is_paper(arguments.papers) else None
    if own is not None:
        arguments.papers = None
        if arguments.registry or arguments.experiments or arguments.figure:
            raise InputError(
                f"{own}: a folder has its own claims and scenarios: expected no --registry, --experiments, FIGURE"
            )
    registry = load_paper(own) if own else load_registry(arguments.registry) if arguments.registry else load_registry()
    if arguments.check:
        return _check(registry, as_json=arguments.json)
    differ = replay_vectors(registry.home).differ if registry.home else ()
    for line in differ:
        print(f"failed: {line}", file=sys.stderr)
    if arguments.seeds:
        registry = registry.with_seeds(arguments.seeds)
    only, papers = _names(arguments.only), _names(arguments.papers) + _names(arguments.old_papers)
    figures = _names(arguments.old_figures)
    if arguments.figure is not None:
        figures += [f"{paper} {arguments.figure}" for paper in papers]
        papers = []
    for figure in figures:
        only += registry.about(figure)
    if arguments.claims:
        rows = [[one.id, one.paper, one.figure, one.statement] for one in registry.select(only, papers)]
        headings = ["claim", "paper", "figure", "what the paper says"]
        if arguments.json:
            print_json([dict(zip(headings, row, strict=True)) for row in rows])
        else:
            # Some claims are about as many figures as would take most of a line.
            _print_wrapped(
                ["claim", "paper", "what the paper says"],
                [[claim, paper, f"{figure}: {statement}"] for claim, paper, figure, statement in rows],
            )
        return 1 if differ else 0
    # Nothing said is everything.
    only = [one.id for one in registry.select(only, papers)] if only or papers else []
    out: Path = arguments.out or Path("out", own.absolute().name if own else "reproduce")
    check_folder(out)
    depth = "quick" if arguments.quick else "full" if arguments.full else "default"
    started = time.monotonic()

    def measured(only: list[str], readings: Sequence[str] = ("paper",)) -> Reproduction:
        with Watcher("reproduce") as watcher:

            def tell(event: Mapping[str, Any]) -> None:
                if event["event"] == "start":
                    about = registry.depths[depth]
                    print(f"depth {depth}: {about.summary}. {about.changes}", file=sys.stderr)
                watcher(event)

            return reproduce(
                out / "store",
                depth=depth,
                only=only,
                registry=registry,
                workers=arguments.workers,
                experiments=arguments.experiments,
                progress=tell,
                readings=readings,
                earlier=arguments.earlier,
                revision=arguments.revision,
            )

    try:
        if arguments.mutate:
            try_claims(registry, only, out, own or arguments.experiments, measured)
            return 1 if differ else 0
        result = measured(only, _names(arguments.readings) or READINGS)
    except KeyboardInterrupt:
        print(f"\ninterrupted; the same command continues from what is in {out / 'store'}", file=sys.stderr)
        return INTERRUPTED
    written = write_report(result, out, figures=not arguments.no_figures)
    if arguments.json:
        print_json(json.loads((out / "claims.json").read_text(encoding="utf-8")))
    _print(result)
    print(f"{time.monotonic() - started:.0f} s; {', '.join(str(path) for path in written)}")
    failures = [
        f"{experiment} ({variant}): {failure}"
        for (experiment, variant), one in result.measured.items()
        for run in one.ran
        for failure in run.failures
    ]
    if registry.home is not None:
        for lacks in missing(registry):
            print(f"missing: {lacks}", file=sys.stderr)
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures or differ else 0


def _check(registry: Registry, *, as_json: bool) -> int:
    """Read the scenarios of a folder, print what it lacks and which of its vectors differ, and run nothing else."""
    if registry.home is None:
        raise InputError("--check: expected the folder of a paper, such as pifolab reproduce ./my-paper --check")
    check_scenarios(registry, registry.home.folder)
    lacks, replayed = missing(registry), replay_vectors(registry.home)
    if as_json:
        print_json({"missing": lacks, "vectors": replayed.vectors, "differ": list(replayed.differ)})
    else:
        for line in lacks:
            print(f"missing: {line}")
        for line in replayed.differ:
            print(f"differs: {line}")
        print(
            f"{len(registry.claims)} claims, {len(registry.experiments)} experiments, {replayed.vectors} vectors with "
            f"{replayed.operations} operations; missing: {len(lacks)}, differing vectors: {len(replayed.differ)}"
        )
    return 1 if lacks or replayed.differ else 0


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _print(result: Reproduction) -> None:
    rows = []
    for one in result.verdicts:
        missed = (part for part in one.parts if part.verdict is not Verdict.REPRODUCED)
        worst = next(missed, one.parts[0] if one.parts else None)
        number = f"{worst.part.what}: {worst.reason}" if worst else one.claim.note
        rows.append([one.claim.id, one.shown, one.artefact or "", of_authors(one.authors), number])
    _print_wrapped(["claim", "verdict", "artefact", "authors' data", "the number that decides"], rows)
    print()
    print_rows(["paper", *VERDICTS, "all"], summary_rows(result.counts(), result.registry))


def _print_wrapped(headings: list[str], rows: list[list[str]]) -> None:
    """Print columns side by side; the last is broken into lines where it is wider than the terminal."""
    widths = [max(len(row[place]) for row in [headings, *rows]) for place in range(len(headings) - 1)]
    for row in [headings, *rows]:
        start = "".join(f"{cell:{width}}  " for cell, width in zip(row, widths, strict=False))
        print(wrapped(f"{start}{row[-1]}", indent=len(start)))
