"""From a choice of claims to verdicts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.reproduce.execute import Measured, Progress, run_experiments
from pifolab.reproduce.registry import DEPTHS, Depth, Registry, load_registry
from pifolab.reproduce.verdict import ClaimVerdict, judge_claim
from pifolab.store import Store

__all__ = ["Reproduction", "reproduce"]


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
        Called with runs done, of all, and which was the last.

    Raises
    ------
    InputError
        There is no such claim, paper or depth, or a scenario is wrong.
    """
    if depth not in DEPTHS:
        raise InputError(_pifolab.unknown_name("depth", depth, list(DEPTHS)))
    registry = registry or load_registry()
    claims = registry.select(only, papers)
    measured = run_experiments(
        registry,
        claims,
        depth,
        Store(store),
        workers=workers,
        folder=None if experiments is None else Path(experiments),
        progress=progress,
    )
    results = {key: one.by_seed() for key, one in measured.items()}
    return Reproduction(registry, registry.depths[depth], [judge_claim(claim, results) for claim in claims], measured)
