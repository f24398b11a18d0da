"""From a choice of claims to verdicts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.provenance import code_version
from pifolab.statistics import Tables
from pifolab.store import Store
from pifolab_papers.earlier import Earlier, settings_digest
from pifolab_papers.execute import READINGS, Measured, Progress, experiments_folder, run_experiments
from pifolab_papers.published import DURATION_S
from pifolab_papers.registry import DEPTHS, Claim, Depth, Registry, load_registry
from pifolab_papers.verdict import ClaimVerdict, judge_claim


@dataclass(frozen=True)
class Reproduction:
    """Verdicts, and what they rest on.

    Attributes
    ----------
    verdicts : list of ClaimVerdict
        One for each claim that was asked for.
    measured : dict
        The tables by experiment and variant.
    """

    registry: Registry
    depth: Depth
    verdicts: list[ClaimVerdict]
    measured: dict[tuple[str, str], Measured]
    #: What the numbers of this run say made them.
    revision: str = ""
    #: Digests of what each variant runs with, by experiment and variant.
    settings: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def revisions(self) -> dict[str, list[str]]:
        """The claims by the revision that measured them under the paper's text, the newest of them named first."""
        found: dict[str, list[str]] = {}
        for one in self.verdicts:
            made = {part.taken.revision if part.taken else self.revision for part in one.parts if part.measured}
            for name in sorted(made):
                found.setdefault(name, []).append(one.claim.id)
        return found

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many claims of each paper got each verdict."""
        found: dict[str, dict[str, int]] = {}
        for one in self.verdicts:
            paper = found.setdefault(one.claim.paper, {})
            paper[one.verdict] = paper.get(one.verdict, 0) + 1
        return found


def reproduce(
    store: str | os.PathLike[str],
    *,
    depth: str = "default",
    only: Iterable[str] = (),
    papers: Iterable[str] = (),
    registry: Registry | None = None,
    workers: int | None = None,
    experiments: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    readings: Iterable[str] = READINGS,
    earlier: str | os.PathLike[str] | None = None,
    revision: str | None = None,
) -> Reproduction:
    """Run what the claims need and judge them.

    Parameters
    ----------
    store : path
        Where runs are kept; what is there already is not run again.
    depth : str
        ``"quick"``, ``"default"`` or ``"full"``.
    only, papers : iterable of str
        Ids of claims, names of papers; all claims if neither is given.
    registry : Registry, optional
        Another registry than that of the package.
    workers : int, optional
        Worker processes; one for each processor unless given. Verdicts do not depend on it.
    experiments : path, optional
        The folder with the scenarios; that of the package unless given.
    progress : callable, optional
        Called with an event whenever something happens.
    readings : iterable of str
        What is run: ``"paper"``, the settings of the text, and ``"artefact"``, those of the public code.
    earlier : path, optional
        An earlier `claims.json`. Claims and readings that are not run are taken from it, each with the revision that
        measured it, and judged anew; where settings or metrics have changed since, they are not.
    revision : str, optional
        What to call the program that measures now; its version and a digest of the compiled module unless given.

    Raises
    ------
    InputError
        There is no such claim, paper or depth, or a scenario is wrong.
    """
    if depth not in DEPTHS:
        raise InputError(_pifolab.unknown_name("depth", depth, list(DEPTHS)))
    readings = list(readings)
    for one in readings:
        if one not in READINGS:
            raise InputError(_pifolab.unknown_name("reading", one, list(READINGS)))
    registry = registry or load_registry()
    claims = registry.select(only, papers)
    home = registry.home.folder if registry.home else None
    folder = home if experiments is None else Path(experiments)
    settings = {
        (each.id, variant.name): settings_digest(each, variant, registry, depth, folder or experiments_folder())
        for each in registry.experiments.values()
        if earlier is not None or any(each.id in claim.experiments for claim in claims)
        for variant in each.variants
    }
    before = None if earlier is None else Earlier.read(Path(earlier), settings)
    measured = run_experiments(
        registry,
        claims,
        depth,
        Store(store),
        workers=workers,
        folder=folder,
        progress=progress,
        readings=readings,
    )
    results = {key: one.by_seed() for key, one in measured.items()}
    published = {name: one.results() for name, one in registry.published.items()}
    shown = claims if before is None else registry.claims
    lengths = registry.depths[depth].lengths
    comparable = {
        each.id
        for each in registry.experiments.values()
        for variant in each.variants
        if variant.name == "artefact" and lengths[variant.length].duration_s == DURATION_S
    }
    other = {name for name, one in registry.published.items() if one.other_settings}
    verdicts = [
        judge_claim(claim, *_of_paper(registry, claim, results, published), before, comparable, other)
        for claim in shown
    ]
    made_by = revision or code_version()
    return Reproduction(registry, registry.depths[depth], verdicts, measured, made_by, settings)


def _of_paper(
    registry: Registry,
    claim: Claim,
    results: Mapping[tuple[str, str], Mapping[int, Tables]],
    published: Mapping[str, Tables],
) -> tuple[dict[tuple[str, str], Mapping[int, Tables]], dict[str, Tables]]:
    """Leave out the artefacts and the data of other papers, whose experiments a claim may use."""
    own = {name for name, one in registry.experiments.items() if one.paper == claim.paper}
    return (
        {key: found for key, found in results.items() if key[1] == "paper" or key[0] in own},
        {name: found for name, found in published.items() if name in own},
    )
