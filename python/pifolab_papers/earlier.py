"""Measurements of an earlier report, for what is not run again: each with the revision that made it, judged anew.

An earlier number stands for today's only if nothing of its run has changed but the program: the same scenarios without
their titles, overrides, points, seeds and length, and the same metric. `settings_digest` is a digest of all these.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.provenance import file_digest, own_files
from pifolab.statistics import Estimate
from pifolab.text import read_bytes
from pifolab.toml import read_toml
from pifolab_papers.registry import Experiment, Part, Registry, Variant


@dataclass(frozen=True)
class Taken:
    """One number of an earlier report.

    Attributes
    ----------
    revision : str
        What made it, as that report calls it.
    same_settings : bool
        Whether it was measured with the settings that the registry has now.
    """

    ours: Estimate
    values: tuple[float, ...]
    revision: str
    settings: str
    same_settings: bool
    #: Where it was held against the authors' numbers: the load, ours, theirs.
    points: tuple[tuple[float | None, Estimate, float], ...] = ()
    #: Each load, where the number is a mean over the loads.
    loads: tuple[tuple[float, Estimate], ...] = ()


def settings_digest(experiment: Experiment, variant: Variant, registry: Registry, depth: str, folder: Path) -> str:
    """Return a digest of everything that a variant runs with at a depth, the program apart: 16 hexadecimal digits."""
    length = registry.depths[depth].lengths[variant.length]
    scenarios = []
    for name in variant.scenarios:
        written = read_toml(folder / name)
        for key in ("title", "description", "seeds"):
            written.pop(key, None)
        if length.duration_s is not None:
            written.pop("duration_s", None)
        scenarios.append(written)
    axes = [
        [axis.name, [[value, sorted(axis.overrides(value).items())] for value in axis.values[depth]]]
        for axis in variant.axes
    ]
    text = json.dumps(
        [
            experiment.study, scenarios, sorted(variant.overrides.items()), axes, list(length.seeds_of(variant)),
            length.duration_s, sorted(variant.rename.items()), *_brought(experiment, registry),
        ],
        sort_keys=True,
        default=str,
    )  # fmt: skip
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _brought(experiment: Experiment, registry: Registry) -> list[Any]:
    """Return what the folder of a paper brings along: schedulers, and the study's file with all that it imports."""
    if registry.home is None:
        return []
    file = registry.home.folder / experiment.study.rpartition(":")[0]
    files = own_files(file) if ":" in experiment.study else {}
    return [registry.home.custom.contents(), {module: file_digest(path) for module, path in files.items()}]


class Earlier:
    """An earlier `claims.json`.

    Parameters
    ----------
    claims : list
        Its claims.
    settings : mapping
        What `settings_digest` says today, by experiment and variant.
    revision : str
        What the report calls what made it, where a part does not say so itself.
    """

    def __init__(self, claims: list[dict[str, Any]], settings: Mapping[tuple[str, str], str], revision: str) -> None:
        self.settings = dict(settings)
        self.revision = revision
        self._parts: dict[tuple[str, str, str, str], dict[str, Any]] = {}
        for claim in claims:
            second = claim.get("second") or "artefact"
            for variant, key in (("paper", "parts"), (second, "parts_artefact")):
                for part in claim.get(key) or []:
                    self._parts[claim["id"], variant, part["experiment"], part["metric"]] = part

    @classmethod
    def read(cls, path: Path, settings: Mapping[tuple[str, str], str]) -> Earlier:
        """Read a `claims.json`."""
        try:
            written = json.loads(read_bytes(path))
            return cls(written["claims"], settings, str(written.get("revision") or written["pifolab"]))
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(f"{path}: expected a claims.json of pifolab reproduce") from None

    def find(self, claim: str, part: Part, variant: str) -> Taken | None:
        """Return the earlier measurement of a part, None if there is none."""
        found = self._parts.get((claim, variant, part.experiment, part.metric.text))
        if found is None or found.get("value") is None:
            return None
        now = self.settings.get((part.experiment, variant))
        if now is None:
            return None
        seeds = int(found.get("seeds", 0))
        ours = _estimate(found, seeds)
        if not math.isfinite(ours.value):
            return None
        return Taken(
            ours,
            tuple(found.get("values") or ()),
            str(found.get("revision") or self.revision),
            str(found.get("settings", "")),
            found.get("settings") == now,
            tuple((one["at"], _estimate(one, seeds), one["published"]) for one in found.get("points") or ()),
            tuple((one["at"], _estimate(one, seeds)) for one in found.get("loads") or ()),
        )


def _estimate(written: Mapping[str, Any], seeds: int) -> Estimate:
    """Return a number with its interval, which JSON does not have where nothing was random."""
    value = float(written["value"])
    low, high = (value if written.get(end) is None else float(written[end]) for end in ("low", "high"))
    return Estimate(value, low, high, seeds)
