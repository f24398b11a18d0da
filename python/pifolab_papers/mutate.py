"""`pifolab reproduce --mutate`: with another scheduler in the place of that under test no number must hold.

The scheduler under test is the paper's own among those that the metric names (else the first that it names). Its rows
are replaced in the tables of the run by those of FIFO, and by those of its neighbour: the next scheduler of the figure,
or the next setting if the figure compares settings. PIFO is no neighbour, since it is what the others approximate. A
number that holds all the same says nothing about the scheduler: the registry gives a reason (`survives`), or makes the
part void.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from pifolab.cli.rows import print_rows
from pifolab.errors import InputError
from pifolab.export import write_text
from pifolab.lazy import pl
from pifolab.section import Section, below
from pifolab.statistics import Tables, Verdict
from pifolab.text import read_bytes
from pifolab_papers.earlier import settings_digest
from pifolab_papers.execute import experiments_folder
from pifolab_papers.registry import Part, Registry
from pifolab_papers.run import Reproduction
from pifolab_papers.verdict import at_loads, judge_part, measure


@dataclass(frozen=True)
class Mutant:
    """One replacement: the rows of these schedulers by those of others, and what the number comes to with them."""

    rows_of: Mapping[str, str]
    verdict: str
    value: float | None

    @property
    def survives(self) -> bool:
        """Whether the part holds all the same."""
        return self.verdict == Verdict.REPRODUCED


@dataclass(frozen=True)
class Tried:
    """One part of a claim against its mutants.

    Attributes
    ----------
    key : str
        A digest of everything that the outcome depends on but the program: settings, metric, range and tolerance.
    verdict : str
        That of the part itself at this depth; only a reproduced one has mutants.
    survives : str
        Why it may hold with another scheduler; empty if nothing says so.
    """

    claim: str
    what: str
    experiment: str
    metric: str
    depth: str
    key: str
    verdict: str
    mutants: tuple[Mutant, ...]
    survives: str

    @property
    def survivors(self) -> list[Mutant]:
        """The mutants with which it holds."""
        return [one for one in self.mutants if one.survives]

    @property
    def unexplained(self) -> bool:
        """Whether it holds with another scheduler, without a reason, and is not void."""
        return bool(self.survivors) and not self.survives and self.verdict != Verdict.VOID


#: What takes the place of the scheduler under test wherever a figure has it.
_MUTANT = "fifo"


def mutants_of(part: Part, paper: str, labels: Sequence[str]) -> list[dict[str, str]]:
    """Return what replaces what: FIFO, then the neighbour, where the figure has them.

    Examples
    --------
    >>> from pifolab_papers import load_registry
    >>> part = load_registry().by_id["pk1"].parts[0]
    >>> mutants_of(part, "packs", ["pifo", "packs", "sp-pifo", "aifo", "fifo"])
    [{'packs': 'fifo'}, {'packs': 'sp-pifo'}]
    """
    named = [name for name in part.metric.schedulers if name in labels] or list(labels)
    own = [name for name in named if re.fullmatch(rf"{re.escape(paper)}(-\d+)?", name)] or named[:1]
    if not own:
        return []
    after = list(labels[labels.index(own[0]) + 1 :]) + list(labels[: labels.index(own[0])])
    others = [name for name in after if name not in own and name not in (_MUTANT, "pifo")]
    if not others and len(own) > 1:
        # The figure compares settings of one scheduler.
        return [{own[0]: own[1]}]
    found = [dict.fromkeys(own, _MUTANT)] if _MUTANT in labels and _MUTANT not in own else []
    if others:
        found.append({name: _alike(name, others) for name in own})
    return found


def _alike(name: str, others: Sequence[str]) -> str:
    """Return the first of the others with the same setting: ``afq-8`` for ``sp-pifo-8``."""
    setting = re.search(r"-\d+$", name)
    return next((one for one in others if setting and one.endswith(setting[0])), others[0])


def _with(results: Tables, rows_of: Mapping[str, str]) -> Tables:
    frames = {}
    for name, frame in results.frames.items():
        if "scheduler" in frame.columns:
            kept = frame.filter(~pl.col("scheduler").is_in(list(rows_of)))
            changed = [
                frame.filter(pl.col("scheduler") == other).with_columns(pl.lit(own).alias("scheduler"))
                for own, other in rows_of.items()
            ]
            frame = pl.concat([kept, *changed], how="vertical_relaxed")
        frames[name] = frame
    return Tables(frames)


def try_mutants(result: Reproduction) -> list[Tried]:
    """Try every part of the claims that were run, under the paper's text."""
    found = []
    for one in result.verdicts:
        for part in one.parts:
            measured = result.measured.get((part.part.experiment, "paper"))
            if measured is None or not part.measured:
                continue
            by_seed = measured.by_seed()
            labels = list(
                dict.fromkeys(
                    label
                    for results in by_seed.values()
                    for frame in results.frames.values()
                    if "scheduler" in frame.columns
                    for label in frame["scheduler"].to_list()
                )
            )
            tried = part.verdict in (Verdict.REPRODUCED, Verdict.VOID)
            replaced = mutants_of(part.part, one.claim.paper, labels) if tried else []
            found.append(
                Tried(
                    one.claim.id,
                    part.part.what,
                    part.part.experiment,
                    part.part.metric.text,
                    result.depth.name,
                    key_of(part.part, result.settings.get((part.part.experiment, "paper"), "")),
                    part.verdict,
                    tuple(_tried(part.part, rows_of, by_seed) for rows_of in replaced),
                    part.part.survives,
                )
            )
    return found


def _tried(part: Part, rows_of: Mapping[str, str], by_seed: Mapping[int, Tables]) -> Mutant:
    part = replace(part, void="")
    mutated = {seed: _with(results, rows_of) for seed, results in by_seed.items()}
    judged = judge_part(part, *measure(part, mutated), at_loads(part, mutated))
    return Mutant(dict(rows_of), judged.verdict, judged.value if judged.measured else None)


def key_of(part: Part, settings: str) -> str:
    """Return a digest of what the outcome depends on."""
    tolerance = part.tolerance
    judged = [part.metric.text, part.low, part.high, tolerance.relative, tolerance.absolute]
    if part.every_seed:
        judged.append("every seed")
    return hashlib.sha256(json.dumps([settings, part.experiment, *judged]).encode()).hexdigest()[:16]


def try_claims(
    registry: Registry, only: list[str], out: Path, folder: Path | None, measured: Callable[[list[str]], Reproduction]
) -> None:
    """Try the claims `only`, or all that have changed since ``out/mutants.json``, print what came out, and keep it.

    Parameters
    ----------
    folder : path, optional
        The folder with the scenarios; that of the package unless given.
    measured : callable
        Runs these claims under the paper's text.
    """
    kept = out / "mutants.json"
    before = current(read_tried(kept), registry, folder)
    only = only or untried(before, registry)
    tried = try_mutants(measured(only)) if only else []
    known = joined(before, tried, registry)
    if only:
        write_tried(known, kept)
        _print(tried)
    print(counts_text(known))


def _print(tried: Sequence[Tried]) -> None:
    rows = []
    for one in tried:
        for mutant in one.mutants:
            why = "void" if one.verdict == "void" else one.survives or "explain it"
            others = ", ".join(dict.fromkeys(mutant.rows_of.values()))
            said = f"holds: {why}" if mutant.survives else "falls"
            rows.append([one.claim, ", ".join(mutant.rows_of), others, mutant.value, said, one.what])
        if not one.mutants:
            said = "no other scheduler" if one.verdict in ("reproduced", "void") else f"not tried: {one.verdict}"
            rows.append([one.claim, "", "", "", said, one.what])
    print_rows(["claim", "in the place of", "is", "value", "", "part"], rows)


def write_tried(tried: Iterable[Tried], path: Path) -> None:
    """Write what was tried as JSON, a part in a line."""
    rows = ",\n".join(json.dumps(asdict(one), ensure_ascii=False) for one in tried)
    write_text(f'{{"parts": [\n{rows}\n]}}\n', path)


def read_tried(path: Path) -> list[Tried]:
    """Read what was tried before; nothing if there is no such file."""
    if not path.exists():
        return []
    try:
        rows = json.loads(read_bytes(path))["parts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        rows = None
    if not isinstance(rows, list):
        raise InputError(f"{path}: expected a mutants.json of pifolab reproduce --mutate")
    return [_read_tried(row, path, number) for number, row in enumerate(rows)]


def _read_tried(row: Any, path: Path, number: int) -> Tried:
    named = [row.get(key) for key in ("claim", "what")] if isinstance(row, dict) else []
    which = ", ".join(map(repr, named)) if named and all(isinstance(name, str) for name in named) else f"[{number}]"
    place = f"{path}: part {which}"
    texts = [field.name for field in fields(Tried) if field.name != "mutants"]
    section = _section(place, row, [*texts, "mutants"])
    if not isinstance(section.table["mutants"], list):
        raise section.fault("mutants", "expected a list of tables")
    mutants = [_read_mutant(f"{place}: mutants[{at}]", one) for at, one in enumerate(section.table["mutants"])]
    return Tried(**{key: section.text(key) for key in texts}, mutants=tuple(mutants))


def _read_mutant(place: str, table: Any) -> Mutant:
    section = _section(place, table, [field.name for field in fields(Mutant)])
    rows_of = section.table["rows_of"]
    if not isinstance(rows_of, dict) or not all(isinstance(label, str) for label in rows_of.values()):
        raise section.fault("rows_of", "expected a table of labels")
    value = None if section.table["value"] is None else section.number("value")
    return Mutant(rows_of, section.text("verdict"), value)


def _section(place: str, table: Any, keys: Sequence[str]) -> Section:
    section = Section(below(place, ": "), table, keys, "a table")
    section.required(*keys)
    return section


def current(tried: Iterable[Tried], registry: Registry, folder: Path | None = None) -> list[Tried]:
    """Return what was tried with today's settings, metrics, ranges and tolerances."""
    parts = {(claim.id, part.experiment, part.metric.text): part for claim in registry.claims for part in claim.parts}
    digests: dict[tuple[str, str], str] = {}
    found = []
    for one in tried:
        part = parts.get((one.claim, one.experiment, one.metric))
        if part is None or one.depth not in registry.depths:
            continue
        place = one.experiment, one.depth
        if place not in digests:
            experiment = registry.experiments[one.experiment]
            digests[place] = settings_digest(
                experiment, experiment.variants[0], registry, one.depth, folder or experiments_folder()
            )
        if key_of(part, digests[place]) == one.key:
            found.append(replace(one, what=part.what, survives=part.survives))
    return found


def untried(tried: Iterable[Tried], registry: Registry) -> list[str]:
    """Return the claims with a part that was not tried."""
    known = {(one.claim, one.experiment, one.metric) for one in tried}
    return [
        claim.id
        for claim in registry.claims
        if not claim.status and any((claim.id, part.experiment, part.metric.text) not in known for part in claim.parts)
    ]


def joined(before: Iterable[Tried], now: Iterable[Tried], registry: Registry) -> list[Tried]:
    """Return what is known of each part, in the registry's order.

    A part that does not hold at one depth keeps the trial at another one.
    """
    known = {(one.claim, one.experiment, one.metric): one for one in before}
    for one in now:
        place = one.claim, one.experiment, one.metric
        if one.mutants or place not in known or known[place].depth == one.depth:
            known[place] = one
    order = {claim.id: place for place, claim in enumerate(registry.claims)}
    return sorted(known.values(), key=lambda one: order[one.claim])


def counts_text(tried: Sequence[Tried]) -> str:
    """Return in one line how many parts were tried, and how many hold with another scheduler."""
    against = [one for one in tried if one.mutants]
    held = [one for one in against if one.survivors]
    void = sum(one.verdict == Verdict.VOID for one in held)
    lacking = [f"{one.claim} ({one.what})" for one in held if one.unexplained]
    return (
        f"{len(against)} of {len(tried)} parts were tried against their mutants: {len(against) - len(held)} fall with "
        f"each, {len(held)} hold with one: {len(held) - void - len(lacking)} of them for a written reason, {void} are "
        f"void, {len(lacking)} have to be explained or made void" + (f": {', '.join(lacking)}" if lacking else "")
    )
