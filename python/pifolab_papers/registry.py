"""Reads the registry: the claims of the papers, the experiments that test them, and the three depths.

The files are TOML, beside this module in `registry/`: one for each paper, `depths.toml`, and `words.toml` with the
tolerances. Everything is checked when it is read: an unknown key, an experiment that does not exist, a metric
that does not parse. Errors name the file and the claim.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.section import Section, below
from pifolab.statistics import Query, Verdict, range_text, widened
from pifolab.sweep.custom import Custom
from pifolab.toml import read_toml
from pifolab_papers import studies
from pifolab_papers.published import Published, load_published
from pifolab_papers.sides import foregone

HERE = Path(__file__).resolve().parent / "registry"

DEPTHS = ("quick", "default", "full")

#: What a claim can say instead of being measured.
STATUSES = (Verdict.NOT_APPLICABLE, Verdict.PENDING, Verdict.NOT_MEASURED)

#: What a second variant of an experiment can be: the settings of the paper's own public code, or another reading.
SECOND = ("artefact", "reading")

#: What a claim of a paper's folder can be: a theorem or a condition, a bound derived after the paper's statement, a
#: direction with a tolerance of ours, or something that no run of pifolab can show.
KINDS = ("exact", "bound", "direction", "out of reach")

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*$")


@dataclass(frozen=True)
class Tolerance:
    """By how much a stated range is widened before a result is held against it, and why."""

    name: str
    relative: float
    absolute: float
    why: str

    @property
    def is_exact(self) -> bool:
        """Whether nothing may be missed."""
        return self.relative == 0 and self.absolute == 0

    def widened(self, low: float, high: float) -> tuple[float, float]:
        """Return the range with the tolerance added on both sides."""
        return widened(low, high, self.relative, self.absolute)


@dataclass(frozen=True)
class Rules:
    """By how much numbers may be missed, for all claims."""

    tolerances: Mapping[str, Tolerance]
    #: Against a number that the authors published: by its unit, and `other` for other units.
    published: Mapping[str, Tolerance]
    #: Effects are of the same order if neither is this many times the other.
    same_order: float

    def tolerance(self, place: str, name: str) -> Tolerance:
        """Return the tolerance that is called `name`."""
        if name not in self.tolerances:
            raise InputError(f"{place}: tolerance = {name!r}: expected one of {', '.join(sorted(self.tolerances))}")
        return self.tolerances[name]


@dataclass(frozen=True)
class Axis:
    """What an experiment varies: a key of the scenario, and at each depth its values."""

    name: str
    keys: tuple[str, ...]
    values: Mapping[str, tuple[float, ...]]
    #: From the value that is shown to what is written into the scenario; empty: the value itself.
    settings: Mapping[float, Any] = field(default_factory=dict)

    def overrides(self, value: float) -> dict[str, Any]:
        """Return what the scenario is changed by at this point."""
        setting = self.settings.get(value, value)
        if isinstance(setting, Sequence) and not isinstance(setting, str):
            return dict(zip(self.keys, setting, strict=True))
        return dict.fromkeys(self.keys, setting)


@dataclass(frozen=True)
class Variant:
    """One reading of an experiment: the paper's text, what its own public code does, or another reading of the text."""

    name: str
    scenarios: tuple[str, ...]
    axes: tuple[Axis, ...]
    overrides: Mapping[str, Any]
    note: str
    #: The row of depths.toml that says how long and how often.
    length: str
    #: Its own number of seeds where the depth's makes no sense: one, if the flows are a published list.
    seeds: int | None = None
    #: What its schedulers are called in metrics, where their scenarios call them otherwise.
    rename: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """The runs behind a figure."""

    id: str
    paper: str
    figure: str
    title: str
    variants: tuple[Variant, ...]
    #: What runs instead of scenarios; empty where there are some.
    study: str
    tables: tuple[str, ...]
    plot: Mapping[str, Any]


@dataclass(frozen=True)
class Mark:
    """Where on the figure of its experiment a part's number stands: a range for one scheduler.

    Attributes
    ----------
    about : dict
        Which column, size, flow or interval of it.
    at : tuple of float, optional
        The points of the figure's axis; None: all of them.
    over : str, optional
        The scheduler that `low` and `high` are multiples of; None: they are values as the tables have them.
    """

    scheduler: str
    over: str | None
    about: Mapping[str, str | float]
    at: tuple[float, ...] | None
    low: float
    high: float


@dataclass(frozen=True)
class Part:
    """One number of a claim."""

    what: str
    experiment: str
    metric: Query
    low: float
    high: float
    #: The value at which there would be no effect at all; the sign against it is the direction of the claim.
    neutral: float | None
    unit: str
    tolerance: Tolerance
    #: A side statement: if it fails, the claim still holds in part.
    side: bool
    note: str
    #: The metric over what the authors published, where that has other columns than a run.
    published: Query
    rules: Rules
    #: None where the number has no place on the figure, such as the largest ratio over all loads.
    mark: Mark | None = None
    #: Why it may hold with another scheduler in the place of that under test (`pifolab_papers.mutate`).
    survives: str = ""
    #: Why its number says nothing: it holds with another scheduler as well.
    void: str = ""
    #: The number of each seed must lie in the range, not only their mean: a theorem, or a bound.
    every_seed: bool = False

    @property
    def published_tolerance(self) -> Tolerance:
        """How far a value may lie from one that the authors published."""
        return self.rules.published.get(self.unit, self.rules.published["other"])

    @property
    def paper_says(self) -> str:
        """The stated value or range in words."""
        return stated_text(self.low, self.high, self.unit)


def _above(end: float) -> float:
    """Return the least number that is above `end` by more than rounding."""
    return end + 1e-6 * max(1.0, abs(end))


def stated_text(low: float, high: float, unit: str) -> str:
    """Return a stated value or range in words."""
    if unit == "yes/no":
        return "yes"
    unit = unit if unit in ("x", "%") or not unit else f" {unit}"
    # An end of 0 is at_least or at_most: it is also what `above` and `below` a millionth would be stored as.
    if math.isinf(high) and low and low == _above(end := float(f"{-_above(-low):.4g}") + 0.0):
        return f"above {end:g}{unit}"
    if math.isinf(low) and high and high == -_above(-(end := float(f"{_above(high):.4g}") + 0.0)):
        return f"below {end:g}{unit}"
    return f"{range_text(low, high, digits=6)}{unit}"


@dataclass(frozen=True)
class Claim:
    """One quantitative claim of a paper."""

    id: str
    paper: str
    figure: str
    statement: str
    parts: tuple[Part, ...]
    #: Empty, or one of `STATUSES`, with the reason in `note`.
    status: str
    note: str
    #: Why it does not reproduce, where we know; shown only when it does not.
    explanation: str
    #: A short program that shows by a witness that it does not hold: a file in `certificates/` of the repository.
    certificate: str = ""
    #: One of `KINDS`, and where the statement was read; empty for the papers of the package.
    kind: str = ""
    source: str = ""

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments that it needs, each once."""
        return tuple(dict.fromkeys(part.experiment for part in self.parts))


@dataclass(frozen=True)
class Length:
    """How long an experiment of one kind runs at one depth, and with how many seeds."""

    duration_s: float | None
    seeds: int
    #: Seeds of the second reading, whose verdict is shown beside and does not count.
    artefact_seeds: int

    def seeds_of(self, variant: Variant) -> tuple[int, ...]:
        """Return the seeds that a variant runs with."""
        of_depth = self.artefact_seeds if variant.name in SECOND else self.seeds
        return tuple(range(1, (variant.seeds or of_depth) + 1))


@dataclass(frozen=True)
class Depth:
    """One of quick, default and full."""

    name: str
    reach: str
    changes: str
    lengths: Mapping[str, Length]
    seeds: int | None = None

    @property
    def summary(self) -> str:
        """How many seeds there are, and how long runs are."""
        counts = {length.seeds for length in self.lengths.values()}
        few, many = min(counts), max(counts)
        seeds = "1 seed" if many == 1 else f"{many} seeds" if few == many else f"{few} to {many} seeds"
        return f"{seeds}, {self.reach}"

    @property
    def options(self) -> str:
        """What the command line says to get it, each option after a blank."""
        depth = "" if self.name == "default" else f" --{self.name}"
        return depth if self.seeds is None else f"{depth} --seeds {self.seeds}"

    def with_seeds(self, seeds: int) -> Depth:
        """Return the same with another number of seeds for every experiment."""
        lengths = {kind: replace(length, seeds=seeds, artefact_seeds=seeds) for kind, length in self.lengths.items()}
        return replace(self, lengths=lengths, seeds=seeds)


@dataclass(frozen=True)
class Home:
    """The folder of a paper, and what its scenarios bring along."""

    folder: Path
    citation: str
    custom: Custom
    #: The file of the oracle, and the conformance vectors.
    oracle: Path | None
    vectors: tuple[Path, ...]


@dataclass(frozen=True)
class Registry:
    """Everything that `pifolab reproduce` knows."""

    papers: Mapping[str, str]
    claims: tuple[Claim, ...]
    experiments: Mapping[str, Experiment]
    depths: Mapping[str, Depth]
    words: Mapping[str, str]
    #: Which claims had their metric changed after a first look at the results.
    afterwards: str
    tolerances: Mapping[str, Tolerance]
    #: What the papers' authors published, by experiment.
    published: Mapping[str, Published] = field(default_factory=dict)
    #: The folder of a paper from outside; None for the papers of the package.
    home: Home | None = None

    def with_seeds(self, seeds: int) -> Registry:
        """Return the same with this number of seeds for every experiment at every depth."""
        return replace(self, depths={name: depth.with_seeds(seeds) for name, depth in self.depths.items()})

    @cached_property
    def by_id(self) -> dict[str, Claim]:
        """Claims by their id."""
        return {claim.id: claim for claim in self.claims}

    def select(self, only: Iterable[str] = (), papers: Iterable[str] = ()) -> list[Claim]:
        """Return the claims that are asked for, in the registry's order; all if nothing is asked."""
        only, papers = list(only), list(papers)
        for name in only:
            if name not in self.by_id:
                raise InputError(_pifolab.unknown_name("claim", name, list(self.by_id), "pifolab reproduce --claims"))
        for name in papers:
            if name not in self.papers:
                raise InputError(_pifolab.unknown_name("paper", name, list(self.papers)))
        if not only and not papers:
            return list(self.claims)
        return [claim for claim in self.claims if claim.id in only or claim.paper in papers]

    def about(self, figure: str) -> list[str]:
        """Return the ids of the claims about a figure of a paper, written as ``PACKS 12`` or ``packs fig. 12b``.

        A number without a letter means all of its parts; a claim about figures 16 to 23 is about each of them.
        """
        read = re.fullmatch(
            r"(?P<paper>\S+?)[\s,]+(?:fig(?:ure|\.)?\s*)?(?P<number>\d+)(?P<part>[a-z]?)", figure.strip(), re.I
        )
        if read is None:
            raise InputError(f"{figure}: expected a paper and a figure, such as PACKS 12")
        paper, number, part = read["paper"].lower(), int(read["number"]), read["part"].lower()
        if paper not in self.papers:
            raise InputError(_pifolab.unknown_name("paper", paper, list(self.papers)))
        own = [claim for claim in self.claims if claim.paper == paper and claim.figure.startswith("Fig.")]
        found = [claim.id for claim in own if _is_about(claim.figure, number, part)]
        if not found:
            figures = ", ".join(dict.fromkeys(claim.figure for claim in own))
            raise InputError(f"{figure}: no claim is about it; {paper} has claims about {figures}")
        return found


def _is_about(figures: str, number: int, part: str) -> bool:
    """Whether ``Fig. 13, 14a`` or ``Fig. 16 to 23`` names this figure."""
    if span := re.fullmatch(r"Fig\. (\d+) to (\d+)", figures):
        return int(span[1]) <= number <= int(span[2])
    named = re.findall(r"(\d+)([a-z]?)", figures)
    return any(int(one) == number and (not part or not letter or part == letter) for one, letter in named)


class Entry(Section):
    """A table of the registry: line breaks in its texts do not count."""

    def __init__(self, place: str, table: Any, known: Sequence[str]) -> None:
        super().__init__(below(place, ": "), table, known)

    def text(self, key: str, default: str | None = None, *, empty: bool = True) -> str:
        """Return a text in one line."""
        return " ".join(super().text(key, default, empty=empty).split())

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return a table, empty if the key is absent."""
        value = self.table.get(key, {})
        if not isinstance(value, Mapping):
            raise self.fault(key, "expected a table")
        return value


def paper_names() -> list[str]:
    """Return the papers of the registry, in the order in which they are shown."""
    return _papers(read_toml(HERE / "words.toml"))


def _papers(words: Mapping[str, Any]) -> list[str]:
    names = words.get("papers")
    if isinstance(names, list) and names and all(isinstance(name, str) and _NAME.match(name) for name in names):
        return names
    raise InputError(f"words.toml: papers = {names!r}: expected a list with the name of a file for each paper")


def load_registry(folder: Path = HERE) -> Registry:
    """Read and check the registry in `folder`.

    Raises
    ------
    InputError
        Something in it is wrong; the text names the file, the claim and what would be right.
    """
    words = read_toml(folder / "words.toml")
    rules = read_rules(words)
    shared = read_depths(folder / "depths.toml")
    papers: dict[str, str] = {}
    experiments: dict[str, Experiment] = {}
    claims: dict[str, Claim] = {}
    raw: list[tuple[str, str, Any]] = []
    for name in _papers(words):
        file = folder / f"{name}.toml"
        top = Entry(file.name, read_toml(file), ("paper", "maps", "experiment", "claim"))
        papers[name] = top.text("paper")
        own = replace(shared, maps={**shared.maps, **top.mapping("maps")})
        for table in top.table.get("experiment", []):
            one = read_experiment(file.name, name, table, own)
            if one.id in experiments:
                raise InputError(f"{file.name}: experiment {one.id}: duplicate id")
            experiments[one.id] = one
        raw += [(file.name, name, table) for table in top.table.get("claim", [])]
    for place, name, table in raw:
        claim = read_claim(place, name, table, experiments, rules)
        if claim.id in claims:
            raise InputError(f"{place}: claim {claim.id}: duplicate id")
        claims[claim.id] = claim
    glossary = {key: " ".join(value.split()) for key, value in words.get("words", {}).items()}
    top = Entry("words.toml", words, ("papers", "afterwards", "words", "published", "same-order", "tolerance"))
    afterwards = top.text("afterwards", "")
    published = load_published(folder, experiments)
    return Registry(
        papers,
        tuple(claims.values()),
        experiments,
        shared.depths,
        glossary,
        afterwards,
        rules.tolerances,
        published,
    )


def read_rules(words: Mapping[str, Any] | None = None, file: str = "words.toml") -> Rules:
    """Return the tolerances that ``words.toml`` has."""
    words = read_toml(HERE / file) if words is None else words
    found: dict[str, Tolerance] = {}
    for name, table in words.get("tolerance", {}).items():
        section = Entry(f"{file}: tolerance {name}", table, ("relative", "absolute", "why"))
        relative, absolute = section.number("relative", 0), section.number("absolute", 0)
        if relative < 0 or absolute < 0:
            raise InputError(f"{section.place}: expected numbers >= 0")
        found[name] = Tolerance(name, relative, absolute, section.text("why"))
    order = Entry(f"{file}: same-order", words.get("same-order"), ("factor", "why"))
    order.text("why")
    rules = Rules(found, {}, order.number("factor"))
    by_unit = words.get("published", {})
    place = f"{file}: published"
    Entry(place, by_unit, tuple(by_unit)).text("other")
    return replace(rules, published={unit: rules.tolerance(place, name) for unit, name in by_unit.items()})


def read_depths(file: Path = HERE / "depths.toml") -> Shared:
    """Return the depths, and the lists and maps that experiments name."""
    top = Entry(file.name, read_toml(file), (*DEPTHS, "lists", "maps"))
    found = {}
    for name in DEPTHS:
        section = Entry(f"{file.name}: {name}", top.table.get(name), ("reach", "changes", "lengths"))
        lengths = {}
        for kind, table in section.table.get("lengths", {}).items():
            row = Entry(f"{section.place}: {kind}", table, ("duration_s", "seeds", "artefact_seeds"))
            duration = row.number("duration_s") if "duration_s" in row.table else None
            seeds = row.count("seeds")
            lengths[kind] = Length(duration, seeds, row.count("artefact_seeds", seeds))
        found[name] = Depth(name, section.text("reach"), section.text("changes"), lengths)
    return Shared(found, top.table.get("lists", {}), top.table.get("maps", {}))


_EXPERIMENT_KEYS = (
    "id", "figure", "title", "scenarios", "axes", "overrides", "length", "study", "tables", "plot", *SECOND, "note",
)  # fmt: skip


@dataclass(frozen=True)
class Shared:
    """What experiments name and do not write out: depths with their lengths, lists of values, maps to settings."""

    depths: Mapping[str, Depth]
    lists: Mapping[str, Any]
    maps: Mapping[str, Any]


def read_experiment(file: str, paper: str, table: Any, shared: Shared, *, own_studies: bool = False) -> Experiment:
    """Read an experiment of `paper`; `own_studies`: its study may be ``"file.py:function"``."""
    name = table.get("id", "?") if isinstance(table, Mapping) else "?"
    section = Entry(f"{file}: experiment {name}", table, _EXPERIMENT_KEYS)
    if not _NAME.match(section.text("id")):
        raise InputError(f"{section.place}: id: expected small letters, digits and hyphens")
    study, scenarios = section.text("study", ""), section.texts("scenarios")
    if bool(study) == bool(scenarios):
        raise InputError(f"{section.place}: expected either scenarios or a study")
    if study and study not in studies.STUDIES and not (own_studies and ":" in study):
        raise InputError(f"{section.place}: study = {study!r}: expected one of {', '.join(sorted(studies.STUDIES))}")
    length = _length(section, shared, None)
    axes = _axes(section.place, section.mapping("axes"), shared)
    variants = [Variant("paper", scenarios, axes, dict(section.mapping("overrides")), section.text("note", ""), length)]
    others = [kind for kind in SECOND if kind in section.table]
    if len(others) > 1:
        raise InputError(f"{section.place}: {others[1]}: expected one of {' and '.join(SECOND)}, not both")
    for kind in others:
        variants.append(_second(section, kind, variants[0], shared))
    return Experiment(
        section.text("id"),
        paper,
        section.text("figure"),
        section.text("title"),
        tuple(variants),
        study,
        section.texts("tables") or ("schedulers",),
        dict(section.mapping("plot")),
    )


def _second(section: Entry, kind: str, text: Variant, shared: Shared) -> Variant:
    """Read the second variant of an experiment, whose first is `text`."""
    known = ("scenarios", "axes", "overrides", "note", "length", "seeds", "rename")
    other = Entry(f"{section.place}: {kind}", section.table[kind], known)
    rename = other.mapping("rename")
    if not all(isinstance(one, str) for one in rename.values()):
        raise InputError(f"{other.place}: rename = {rename!r}: expected a table of texts")
    own_scenarios = other.texts("scenarios")
    return Variant(
        kind,
        own_scenarios or text.scenarios,
        _axes(other.place, other.mapping("axes"), shared) if "axes" in other.table else text.axes,
        # Overrides are of the scenarios: those of others do not fit.
        {**({} if own_scenarios else text.overrides), **other.mapping("overrides")},
        other.text("note", ""),
        _length(other, shared, text.length),
        other.count("seeds") if "seeds" in other.table else None,
        dict(rename),
    )


def _length(section: Section, shared: Shared, default: str | None) -> str:
    length = section.text("length", default)
    for depth in shared.depths.values():
        if length not in depth.lengths:
            raise InputError(f"{section.place}: length = {length!r}: depth {depth.name} does not have this row")
    return length


def _axes(place: str, tables: Any, shared: Shared) -> tuple[Axis, ...]:
    found = []
    for name, table in tables.items():
        section = Entry(f"{place}: axis {name}", table, ("key", "keys", "values", "map"))
        keys = section.texts("keys") or (section.text("key"),)
        values = section.table.get("values")
        if isinstance(values, str):
            if values not in shared.lists:
                raise InputError(f"{section.place}: values = {values!r}: depths.toml does not have this list")
            values = shared.lists[values]
        if isinstance(values, list):
            values = dict.fromkeys(DEPTHS, values)
        if not isinstance(values, Mapping) or any(not values.get(depth) for depth in DEPTHS):
            raise InputError(f"{section.place}: values: expected a list, or one for each of {', '.join(DEPTHS)}")
        settings: dict[float, Any] = {}
        if "map" in section.table:
            given = section.table["map"]
            if isinstance(given, str):
                if given not in shared.maps:
                    raise InputError(f"{section.place}: map = {given!r}: unknown map")
                given = shared.maps[given]
            if not isinstance(given, Mapping):
                raise section.fault("map", "expected a table, or the name of one")
            settings = {float(key): value for key, value in given.items()}
            missing = {float(one) for depth in DEPTHS for one in values[depth]} - set(settings)
            if missing:
                raise InputError(f"{section.place}: map: is missing for {', '.join(f'{one:g}' for one in missing)}")
        points = {depth: tuple(float(one) for one in values[depth]) for depth in DEPTHS}
        found.append(Axis(name, keys, points, settings))
    return tuple(found)


def read_claim(
    file: str,
    paper: str,
    table: Any,
    experiments: Mapping[str, Experiment],
    rules: Rules,
    also: Sequence[str] = (),
) -> Claim:
    """Read a claim, which may have the keys `also`; errors begin with `file`."""
    name = table.get("id", "?") if isinstance(table, Mapping) else "?"
    keys = (
        "id", "figure", "statement", "part", "status", "note", "explanation", "experiment", "survives", "certificate",
        *also,
    )  # fmt: skip
    section = Entry(f"{file}: claim {name}", table, keys)
    status = section.text("status", "")
    if status and status not in STATUSES:
        raise InputError(f"{section.place}: status = {status!r}: expected one of {', '.join(STATUSES)}")
    raw = section.table.get("part", [])
    if not isinstance(raw, list):
        raise section.fault("part", "expected tables [[claim.part]]")
    if not raw and not status:
        raise InputError(f"{section.place}: expected at least one part, or a status")
    if status and not section.text("note", ""):
        raise InputError(f"{section.place}: status = {status!r}: expected a note with the reason")
    common = section.text("experiment", "")
    parts = tuple(
        read_part(f"{section.place}: part {place}", one, common, experiments, rules, section.text("survives", ""))
        for place, one in enumerate(raw, start=1)
    )
    for place, part in enumerate(parts):
        if any(before.what == part.what for before in parts[:place]):
            what = f"{section.place}: part {place + 1}: what = {part.what!r}"
            raise InputError(f"{what}: duplicate: expected a text of its own for each part of a claim")
    return Claim(
        section.text("id"),
        paper,
        section.text("figure"),
        section.text("statement"),
        parts,
        status,
        section.text("note", ""),
        section.text("explanation", ""),
        section.text("certificate", ""),
        section.text("kind", ""),
        section.text("source", ""),
    )


def read_part(
    place: str,
    table: Any,
    common: str,
    experiments: Mapping[str, Any],
    rules: Rules,
    survives: str = "",
) -> Part:
    """Read one number of a claim; errors begin with `place`, `common` is the experiment of a part that names none."""
    keys = (
        "what", "experiment", "metric", "take", "mark", "paper", "at_least", "at_most", "above", "below", "true",
        "neutral", "unit", "tolerance", "side", "note", "published", "survives", "void",
    )  # fmt: skip
    section = Entry(place, table, keys)
    experiment = section.text("experiment", common)
    if experiment not in experiments:
        raise InputError(f"{place}: experiment = {experiment!r}: unknown experiment")
    metric = _metric(section, "metric")
    published = _metric(section, "published") if "published" in section else metric
    low, high = _range(section)
    unit = section.text("unit", "")
    neutral = section.number("neutral") if "neutral" in section.table else None
    if section.flag("true"):
        unit = "yes/no"
    elif neutral is None and unit in ("x", "%"):
        neutral = 1.0 if unit == "x" else 0.0
    if neutral is not None and low < neutral < high:
        # A range on both sides of no effect states no direction.
        neutral = None
    return Part(
        section.text("what"),
        experiment,
        metric,
        low,
        high,
        neutral,
        unit,
        rules.tolerance(place, section.text("tolerance", "exact")),
        section.flag("side"),
        section.text("note", ""),
        published,
        rules,
        _mark(section, low, high, unit) if "mark" in section else None,
        section.text("survives", survives),
        section.text("void", ""),
    )


def _metric(section: Section, key: str) -> Query:
    query = Query.read(section, key)
    if problem := foregone(query.sql, query.take):
        raise InputError(f"{section.at(key)}: {problem}: this holds whatever is measured")
    return query


_ABOUT = ("column", "size", "flow", "from_ns", "to_ns")


def _mark(section: Section, low: float, high: float, unit: str) -> Mark:
    mark = Entry(section.at("mark"), section.table["mark"], ("scheduler", "over", "at", "below", "per", *_ABOUT))
    over = mark.text("over") if "over" in mark else None
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(f"{mark.place}: expected a range with two ends under paper")
    if over is None:
        # The tables count in a smaller unit than the paper does.
        per = mark.number("per", 1)
        ends = [low / (1 / per), high / (1 / per)]
    elif unit == "%":
        # So much above the other one, or below it.
        ends = [(end - 100) / -100 if mark.flag("below") else (end + 100) / 100 for end in (low, high)]
    else:
        ends = [low, high]
    about = {key: mark.table[key] for key in _ABOUT if key in mark}
    if "flow" not in mark:
        about.setdefault("column", "mean_ns")
    at = mark.table.get("at")
    if at is not None and not (isinstance(at, list) and all(isinstance(one, (int, float)) for one in at)):
        raise mark.fault("at", "expected a list of numbers")
    return Mark(
        mark.text("scheduler"), over, about, None if at is None else tuple(map(float, at)), min(ends), max(ends)
    )


def _range(section: Section) -> tuple[float, float]:
    given = [key for key in ("paper", "at_least", "at_most", "above", "below", "true") if key in section.table]
    if given == ["true"]:
        return 1.0, 1.0
    if given == ["at_least"]:
        return section.number("at_least"), math.inf
    if given == ["at_most"]:
        return -math.inf, section.number("at_most")
    if given == ["above"]:
        return _above(section.number("above")), math.inf
    if given == ["below"]:
        return -math.inf, -_above(-section.number("below"))
    if given != ["paper"]:
        raise InputError(f"{section.place}: expected one of paper, at_least, at_most, above, below and true")
    value = section.table["paper"]
    ends = value if isinstance(value, list) else [value, value]
    numbers = [end for end in ends if isinstance(end, (int, float)) and not isinstance(end, bool)]
    if len(numbers) != 2 or len(ends) != 2 or not numbers[0] <= numbers[1]:
        raise InputError(f"{section.place}: paper = {value!r}: expected a number, or two in order")
    return float(numbers[0]), float(numbers[1])
