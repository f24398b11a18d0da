"""What the testbed must measure for a claim to hold: the ranges and thresholds of `claims.toml`, and their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pifolab.errors import InputError
from pifolab.toml import read_toml
from pifolab_papers import load_registry
from pifolab_papers.registry import Entry, Part, read_part, read_rules

__all__ = ["FILE", "Claims", "TestbedClaim", "load_claims"]

FILE = Path(__file__).resolve().parent / "claims.toml"


@dataclass(frozen=True)
class TestbedClaim:
    """What the testbed must measure for a claim to hold.

    Attributes
    ----------
    id, statement : str
        The claim's; those of a statement of the project if no paper makes it.
    experiment : str
        In which experiment of the testbed.
    parts : tuple of Part
        Metrics over its tables, each with its own range.
    why : str
        Why the ranges are what they are.
    powers_of_two : bool
        The claim is about ranks that differ in their powers of two.
    """

    id: str
    experiment: str
    statement: str
    parts: tuple[Part, ...]
    why: str
    powers_of_two: bool = False

    def of(self, scheduler: str) -> TestbedClaim:
        """Return the claim about one scheduler, where it is one about each."""
        parts = tuple(
            replace(part, what=part.what.format(scheduler=scheduler), metric=part.metric.about(scheduler))
            for part in self.parts
        )
        return replace(self, id=f"{self.id}/{scheduler}", parts=parts)


@dataclass(frozen=True)
class Claims:
    """All of them, and by name what verdicts depend on besides."""

    claims: tuple[TestbedClaim, ...]
    thresholds: Mapping[str, float]


@cache
def load_claims(file: Path = FILE) -> Claims:
    """Read and check the claims of the testbed.

    Raises
    ------
    InputError
        Something in the file is wrong; the text names the claim and what would be right.
    """
    known, rules = load_registry().by_id, read_rules()
    top = Entry(file.name, read_toml(file), ("claim", "threshold"))
    thresholds = {}
    for name, table in top.table.get("threshold", {}).items():
        section = Entry(f"{file.name}: threshold {name}", table, ("most", "why"))
        section.text("why")
        thresholds[name] = section.number("most")
    claims = []
    for table in top.table.get("claim", []):
        keys = ("id", "experiment", "statement", "why", "powers_of_two", "part")
        section = Entry(f"{file.name}: claim {table.get('id', '?')}", table, keys)
        name, experiment = section.text("id"), section.text("experiment")
        statement = section.text("statement", known[name].statement if name in known else None)
        parts = tuple(
            read_part(f"{section.place}: part {place}", one, experiment, {experiment: None}, rules)
            for place, one in enumerate(section.table.get("part", []), start=1)
        )
        if not parts:
            raise InputError(f"{section.place}: expected at least one part")
        powers = section.flag("powers_of_two")
        claims.append(TestbedClaim(name, experiment, statement, parts, section.text("why"), powers))
    return Claims(tuple(claims), thresholds)
