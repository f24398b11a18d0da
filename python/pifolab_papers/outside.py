"""Reads and checks the folder of a paper, and writes a new one.

Experiments and claims have the keys of the package's own registry, and are judged by the same code. A folder adds
schedulers of its own, an oracle, conformance vectors, and for each claim its kind and source.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError, PifolabError
from pifolab.export import write_text
from pifolab.section import below
from pifolab.statistics import FEW_SEEDS, Verdict
from pifolab.sweep.custom import Custom
from pifolab.sweep.job import described
from pifolab.text import read_bytes
from pifolab.toml import read_toml
from pifolab_papers import registry as own
from pifolab_papers.studies import study_of

#: The file that makes a folder a paper.
FILE = "paper.toml"

#: The row of ``depths.toml`` for experiments that name none: as long as the scenario says, 3, 5 or 20 seeds.
_LENGTH = "short"

_KEYS = (
    "name", "title", "citation", "oracle", "schedulers", "ranks", "scorecard", "tolerance", "maps", "experiment",
    "claim",
)  # fmt: skip

#: What a paper can be called.
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAMES = "small letters, digits and hyphens, a letter first"

_SKELETON = Path(__file__).resolve().parent / "skeleton"


def is_paper(text: str) -> bool:
    """Return whether an argument means a folder, and not a paper of the package."""
    return "/" in text or text in (".", "..") or (Path(text) / FILE).is_file()


def load_paper(folder: Path) -> own.Registry:
    """Read and check the paper in `folder`.

    Raises
    ------
    InputError
        Something in it is wrong; the text names the file, the key, the value and what would be right.
    """
    file = folder / FILE
    place = str(file)
    written = read_toml(file)
    top = own.Entry(place, written, _KEYS)
    name = _name(top, folder)
    title, citation = top.text("title", empty=False), top.text("citation", "")
    custom = _custom(folder, place, written)
    shared = own.read_depths()
    words = read_toml(own.HERE / "words.toml")
    rules = own.read_rules({**words, "tolerance": {**words["tolerance"], **top.mapping("tolerance")}}, place)
    shared = replace(shared, maps={**shared.maps, **top.mapping("maps")})
    _tables(top, "scorecard")
    experiments: dict[str, own.Experiment] = {}
    for table in _tables(top, "experiment"):
        one = own.read_experiment(place, name, {"length": _LENGTH, **table}, shared, own_studies=True)
        if one.id in experiments:
            raise InputError(f"{place}: experiment {one.id}: duplicate id")
        _check_files(place, folder, one)
        experiments[one.id] = one
    claims: dict[str, own.Claim] = {}
    for table in _tables(top, "claim"):
        claim = _claim(place, name, table, experiments, rules)
        if claim.id in claims:
            raise InputError(f"{place}: claim {claim.id}: duplicate id")
        claims[claim.id] = claim
    oracle = top.text("oracle", "")
    inside = (folder / oracle).resolve().is_relative_to(folder.resolve())
    if oracle and not (inside and (folder / oracle).is_file()):
        raise top.fault("oracle", "expected a file of the folder")
    home = own.Home(
        folder,
        citation,
        custom,
        folder / oracle if oracle else None,
        tuple(sorted((folder / "vectors").glob("*.json"))),
    )
    lengths = {variant.length for one in experiments.values() for variant in one.variants} or {_LENGTH}
    depths = {depth: _depth(one, lengths) for depth, one in shared.depths.items()}
    return own.Registry({name: title}, tuple(claims.values()), experiments, depths, {}, "", rules.tolerances, {}, home)


def _depth(depth: own.Depth, used: Set[str]) -> own.Depth:
    """Return a depth with the lengths that a paper uses, and with what it changes in that paper's runs."""
    lengths = {name: depth.lengths[name] for name in sorted(used)}
    if any(one.duration_s is not None for one in lengths.values()):
        return replace(depth, lengths=lengths)
    whole = "as long as the scenarios say"
    return replace(depth, lengths=lengths, reach=whole, changes="Depths differ in the number of seeds alone.")


def _name(top: own.Entry, folder: Path) -> str:
    name = top.text("name", folder.absolute().name)
    if not _NAME.fullmatch(name):
        raise InputError(f"{top.at('name')} = {name!r}: expected {_NAMES}")
    return name


def _custom(folder: Path, place: str, written: Mapping[str, Any]) -> Custom:
    brought = {kind: written.get(kind) for kind in ("schedulers", "ranks")}
    custom = Custom.read(brought, folder, below(place, ": "))
    for name in custom.named["schedulers"]:
        if name in _built_in():
            raise InputError(f"{place}: schedulers: {name}: is a scheduler of the package: expected another name")
    return custom


def _built_in() -> set[str]:
    return {one["name"] for one in _pifolab.schedulers()}


def _tables(top: own.Entry, key: str) -> list[Mapping[str, Any]]:
    tables = top.table.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(one, Mapping) for one in tables):
        raise top.fault(key, f"expected tables [[{key}]]")
    return tables


def _check_files(place: str, folder: Path, one: own.Experiment) -> None:
    """Refuse an experiment that names what is not in the folder."""
    where = f"{place}: experiment {one.id}"
    for variant in one.variants:
        for scenario in variant.scenarios:
            if not (folder / scenario).is_file():
                raise InputError(f"{where}: scenarios = {scenario!r}: expected a file of the folder")
    if ":" in one.study:
        try:
            study_of(one.study, folder)
        except InputError as error:
            raise InputError(f"{where}: study = {one.study!r}: {error}") from None


def _claim(
    place: str, paper: str, table: Mapping[str, Any], experiments: Mapping[str, own.Experiment], rules: own.Rules
) -> own.Claim:
    where = f"{place}: claim {table.get('id', '?')}"
    kind = table.get("kind", "")
    if kind and kind not in own.KINDS:
        raise InputError(f"{where}: kind = {kind!r}: expected one of {', '.join(own.KINDS)}")
    if kind == "out of reach":
        if "part" in table or "status" in table:
            raise InputError(f"{where}: kind = {kind!r}: expected a note and no part or status: nothing is measured")
        if not table.get("note"):
            raise InputError(f"{where}: note: is missing: expected why no run can show it")
        table = {**table, "status": Verdict.NOT_APPLICABLE.value}
    claim = own.read_claim(place, paper, table, experiments, rules, also=("kind", "source"))
    for number, part in enumerate(claim.parts, start=1):
        at, tolerance = f"{where}: part {number}", part.tolerance.name
        open_end = math.isinf(part.low) or math.isinf(part.high)
        if kind == "exact" and not part.tolerance.is_exact:
            raise InputError(f"{at}: tolerance = {tolerance!r}: expected none: the claim is exact")
        if kind == "bound" and not (part.tolerance.is_exact and (open_end or part.unit == "yes/no")):
            raise InputError(f"{at}: expected at_least, at_most, above, below or true, and no tolerance: it is a bound")
        if kind == "direction" and part.tolerance.is_exact and not open_end and part.unit != "yes/no":
            raise InputError(
                f"{at}: tolerance = {tolerance!r}: expected one that allows something: a direction is no size"
            )
    return replace(claim, parts=tuple(replace(part, every_seed=kind in ("exact", "bound")) for part in claim.parts))


@dataclass(frozen=True)
class Replayed:
    """The vectors of a folder: how many, and those with answers that differ."""

    vectors: int
    operations: int
    differ: tuple[str, ...]


def replay_vectors(home: own.Home) -> Replayed:
    """Replay the vectors of a folder through its schedulers, or through those of the package."""
    makers = home.custom.makers()["schedulers"]
    operations, differ = 0, []
    for file in home.vectors:
        try:
            outcome = _pifolab.replay_vector(str(file), read_bytes(file), False, makers)
        except PifolabError:
            raise
        except Exception as error:
            # Of a scheduler of the folder.
            raise InputError(f"{file}: the scheduler failed: {described(error)}") from error
        operations += outcome["operations"]
        if outcome["mismatches"]:
            differ.append(
                f"{file}: {outcome['mismatches']} of {outcome['operations']} operations differ: {outcome['first']}"
            )
    return Replayed(len(home.vectors), operations, tuple(differ))


def missing(registry: own.Registry) -> list[str]:
    """Return what the paper of a folder lacks, a line each: an oracle, vectors, seeds, kinds, sources, parts."""
    home = registry.home
    assert home is not None, "only a folder lacks something"
    found = []
    if not home.citation:
        found.append("citation: the paper has none")
    for name in registry.papers:
        if name not in home.custom.named["schedulers"] and name not in _built_in():
            found.append(f"name: {name}: is no scheduler: expected that under test, of [schedulers] or of the package")
    studies = {
        (home.folder / one.study.rpartition(":")[0]).resolve()
        for one in registry.experiments.values()
        if ":" in one.study
    }
    if home.oracle is None:
        found.append('oracle: there is none: expected oracle = "oracle.py", a slow and obvious second opinion')
    elif home.oracle.resolve() not in studies:
        file = home.oracle.relative_to(home.folder)
        found.append(f'oracle: no experiment uses it: expected one with study = "{file}:FUNCTION"')
    with_vectors = {_scheduler_of(file) for file in home.vectors}
    for scheduler in home.custom.named["schedulers"] or dict.fromkeys(registry.papers):
        if scheduler not in with_vectors:
            found.append(f"vectors: none is of {scheduler}: expected vectors/*.json, written by the oracle")
    if not registry.claims:
        found.append("claims: there is none")
    for claim in registry.claims:
        if not claim.kind:
            found.append(f"claim {claim.id}: kind: is missing: expected one of {', '.join(own.KINDS)}")
        if not claim.source:
            found.append(f"claim {claim.id}: source: is missing: expected where the statement was read")
    length = registry.depths["default"].lengths
    for one in registry.experiments.values():
        seeds = len(length[one.variants[0].length].seeds_of(one.variants[0]))
        if seeds < FEW_SEEDS:
            found.append(
                f"experiment {one.id}: seeds: {seeds}: expected {FEW_SEEDS} or more, so that there is an interval"
            )
    used = {name for claim in registry.claims for name in claim.experiments}
    found += [f"experiment {name}: no claim uses it" for name in registry.experiments if name not in used]
    return found


def _scheduler_of(file: Path) -> str:
    try:
        name = json.loads(read_bytes(file)).get("scheduler", "")
    except (ValueError, AttributeError):
        raise InputError(f"{file}: expected a conformance vector: conformance/README.md describes them") from None
    return str(name)


def mismatches(
    folder: Path,
    scheduler: str,
    parameters: Mapping[str, Any],
    operations: Sequence[Sequence[Any]],
    answers: Sequence[Sequence[Any]],
) -> int:
    """Return how many of an oracle's answers a scheduler does not give; written as in conformance vectors.

    Parameters
    ----------
    folder : Path
        The folder of the paper, whose schedulers count beside those of the package.
    scheduler : str
        The name of one of them.
    parameters : mapping
        Its parameters.
    operations, answers : sequence
        ``["enq", id, rank, flow, bytes, eligible_ns, now_ns]`` and the like, and one answer for each.
    """
    makers = _custom(folder, str(folder / FILE), read_toml(folder / FILE)).makers()["schedulers"]
    vector = {"scheduler": scheduler, "config": dict(parameters), "ops": operations, "expect": answers}
    content = json.dumps(vector).encode()
    return _pifolab.replay_vector(f"{folder}: oracle", content, False, makers)["mismatches"]


def disagreements(
    folder: Path,
    oracle: Callable[..., Sequence[Sequence[Any]]],
    cases: Iterable[tuple[Mapping[str, Mapping[str, Any]], Sequence[Sequence[Any]]]],
) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of a study: how many of an oracle's answers each scheduler does not give, over all cases.

    Parameters
    ----------
    folder : Path
        The folder of the paper.
    oracle : callable
        Gets operations and, as keywords, the parameters of the first scheduler of a case; returns the answers.
    cases : iterable
        Pairs: the parameters of each scheduler by its name, and operations as `mismatches` has them.
    """
    found: dict[str, int] = {}
    for schedulers, operations in cases:
        answers = oracle(operations, **next(iter(schedulers.values())))
        for name, parameters in schedulers.items():
            found[name] = found.get(name, 0) + mismatches(folder, name, parameters, operations, answers)
    return {"schedulers": [{"scheduler": name, "mismatches": count} for name, count in found.items()]}


def write_vectors(
    folder: Path,
    oracle: Callable[..., Sequence[Sequence[Any]]],
    scheduler: str,
    cases: Mapping[str, tuple[Mapping[str, Any], Sequence[Sequence[Any]]]],
) -> list[Path]:
    """Write ``vectors/NAME.json`` for each case: its parameters, its operations and the answers of the oracle.

    Parameters
    ----------
    folder : Path
        The folder of the paper.
    oracle : callable
        Gets operations and, as keywords, parameters; returns the answers.
    scheduler : str
        The scheduler whose vectors they are.
    cases : mapping
        Pairs by name: parameters, and operations as `mismatches` has them.
    """
    written = []
    (folder / "vectors").mkdir(exist_ok=True)
    for name, (parameters, operations) in cases.items():
        vector = {"scheduler": scheduler, "config": dict(parameters), "ops": operations}
        vector["expect"] = oracle(operations, **parameters)
        written.append(write_text(json.dumps(vector) + "\n", folder / "vectors" / f"{name}.json"))
    return written


def scorecard_of(folder: Path) -> tuple[Custom, list[dict[str, Any]]]:
    """Return what a folder brings to a study: its classes, and the schedulers of ``[[scorecard]]``."""
    file = folder / FILE
    written = read_toml(file)
    top = own.Entry(str(file), written, _KEYS)
    schedulers = _tables(top, "scorecard")
    if not schedulers:
        raise InputError(
            f"{file}: scorecard: is missing: expected [[scorecard]] tables, each a scheduler with its parameters"
        )
    return _custom(folder, str(file), written), [dict(one) for one in schedulers]


def write_skeleton(folder: Path, *, in_c: bool) -> list[Path]:
    """Write a paper that runs into a new or empty `folder`: a scheduler, an oracle, a vector, three claims."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: expected a folder that is new or empty")
    name = folder.absolute().name
    if not _NAME.fullmatch(name):
        raise InputError(f"{folder}: expected a name of {_NAMES}, such as my-paper")
    module = name.replace("-", "_")
    # Beside the oracle, a file of such a name would be imported in the other's place.
    if module in ("oracle", "pifolab", "pifolab_papers", *sys.stdlib_module_names):
        raise InputError(f"{folder}: expected another name: there is a module {module}")
    if name in _built_in():
        raise InputError(f"{folder}: expected another name: {name} is a scheduler of the package")
    scheduler = f"{module}.so" if in_c else f"{module}.py:Scheduler"
    ending = "c" if in_c else "py"
    files = {
        FILE: "paper.toml",
        "traffic.toml": "traffic.toml",
        "oracle.py": "oracle.py",
        "vectors/first.json": "first.json",
        f"{module}.{ending}": f"scheduler.{ending}",
    }
    (folder / "vectors").mkdir(parents=True, exist_ok=True)
    written = []
    for target, template in files.items():
        text = (_SKELETON / f"{template}.txt").read_text("utf-8")
        changed = text.replace("@NAME@", name).replace("@MODULE@", module).replace("@SCHEDULER@", scheduler)
        written.append(write_text(changed, folder / target))
    if in_c:
        written.append(Path(shutil.copyfile(_HEADER, folder / _HEADER.name)))
    return written


_HEADER = Path(_pifolab.__file__).resolve().parent / "data" / "pifolab_loadable.h"
