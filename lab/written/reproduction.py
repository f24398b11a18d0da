"""docs/reproduction.md: one line with one verdict for each claim, out of what `pifolab reproduce` wrote as claims.json.

``PYTHONPATH=lab python -m written.reproduction docs/reproduction.json docs/reproduction.md`` writes the page, with
what ``pifolab reproduce --mutate`` wrote as mutants.json beside the claims.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.export import table_lines, write_text
from pifolab.statistics import Verdict
from pifolab_papers import Registry, load_registry
from pifolab_papers.mutate import Tried, read_tried
from pifolab_papers.report import VERDICTS

__all__ = ["markdown"]

#: How to read the words of a claim.
_READING = (
    "*Reproduced*: our mean lies in the paper's range, widened by the stated tolerance, at each load of a statement "
    "about several. *By tolerance alone*: a number lies outside of the range itself. *By the mean*: the number was "
    "stored without its loads and is judged by their mean.",
    "*Inconclusive*: our 95 % interval overlaps that range and is wider than it. With fewer than three seeds the range "
    "of the seeds takes the place of the interval, and the verdict is provisional.",
    "*Partly*: the direction is right and the size is within a factor of four, or a side statement fails.",
    "*Not reproduced*: none of these.",
    "A claim is as good as the weakest of its main statements.",
    "*Artefact*: the verdict with the settings of the paper's own public code. It is compared with the authors' "
    "published numbers at each load, if there are any and the runs are as long as theirs, and with the text otherwise. "
    "For a paper without public code, and where a text has two readings, this is called *another reading*.",
    "*Authors' data*: whether the authors' published numbers agree with their text, by the same rules; *other "
    "settings* where they belong to another submission of the paper.",
)


def markdown(found: Mapping[str, Any], tried: Sequence[Tried] = ()) -> str:
    """Return the page for what a claims.json and a mutants.json have."""
    registry = load_registry()
    depth = registry.depths[found["depth"]]
    claims = found["claims"]
    made = f"Written by `pifolab reproduce{depth.options}` with pifolab {found['pifolab']}, at depth"
    lines = ["# Five papers reproduced", ""]
    lines += textwrap.wrap(f"{made} *{depth.name}*: {found['summary']}. {depth.changes}", 120)
    lines += ["", "Nothing is tuned: a claim that does not reproduce is a result, too."]
    few = sum(one["provisional"] for one in claims)
    if few:
        lines += ["", f"{few} of {len(claims)} verdicts {'is' if few == 1 else 'are'} provisional."]
    if tried:
        lines += ["", *textwrap.wrap(_mutants(claims, tried), 120)]
    columns = [verdict for verdict in VERDICTS if any(verdict in of for of in found["counts"].values())]
    counts = [
        [registry.papers[paper], *(of.get(verdict, 0) for verdict in columns), sum(of.values())]
        for paper, of in found["counts"].items()
    ]
    if len(counts) > 1:
        counts.append(["all", *(sum(int(row[place]) for row in counts) for place in range(1, len(columns) + 2))])
    lines += ["", *table_lines(["paper", *columns, "all"], (map(str, row) for row in counts))]
    lines += [
        "",
        *table_lines(["claim", "figure", "what the paper says", "verdict"], (_row(one, registry) for one in claims)),
    ]
    lines += _folded("What the words mean", [f"- {text}" for text in _READING])
    changed = [registry.afterwards] if registry.afterwards else []
    revisions: Mapping[str, list[str]] = found["revisions"]
    if any(name != found["revision"] for name in revisions):
        changed += ["", "Which revision measured which claim, under the reading of the text:", ""]
        for name, measured in revisions.items():
            by = f"this run ({name})" if name == found["revision"] else f"earlier, {name}"
            # The revision of most claims is that of all that are not named.
            most = len(measured) > len(claims) / 2
            changed.append(f"- {by}: {'all other claims' if most else ', '.join(measured)}.")
    lines += _folded("What was changed after a first look, and which revision measured what", changed)
    head = ["claim", "artefact", "authors' data", "why it is not reproduced"]
    lines += _folded(
        "The papers' public code, their authors' data, and causes", table_lines(head, _details(claims, registry))
    )
    return "\n".join(lines).rstrip("\n") + "\n"


def _folded(title: str, lines: Iterable[str]) -> list[str]:
    """Return lines below a title that opens them."""
    texts = [one for line in lines for one in _wrapped(line)]
    return ["", f"<details><summary>{title}</summary>", "", *texts, "", "</details>"]


def _wrapped(line: str) -> list[str]:
    if line.startswith("|") or not line:
        return [line]
    return textwrap.wrap(line, 120, subsequent_indent="  " if line.startswith("- ") else "")


def _details(claims: Sequence[Mapping[str, Any]], registry: Registry) -> Iterator[list[str]]:
    for claim in claims:
        authors, second = claim["verdict_authors"], claim["verdict_artefact"] or ""
        why = registry.by_id[claim["id"]].explanation if claim["verdict"] != "reproduced" else ""
        cells = [
            f"another reading: {second}" if second and claim["second"] == "reading" else second,
            Verdict(authors).of_numbers if authors else "",
            " ".join(re.split(r"(?<=[.:]) (?=[A-Z])", why)[:3]).replace("|", "\\|"),
        ]
        if any(cells):
            yield [claim["id"], *cells]


def _mutants(claims: Sequence[Mapping[str, Any]], tried: Sequence[Tried]) -> str:
    """Return how many of the reproduced parts were tried against their mutants, and what came out."""
    known = {(one.claim, one.experiment, one.metric): one for one in tried if one.mutants}
    held = [
        (claim["id"], part) for claim in claims for part in claim["parts"] if part["verdict"] in ("reproduced", "void")
    ]
    against = [known[place] for name, part in held if (place := (name, part["experiment"], part["metric"])) in known]
    survived = [one for one in against if one.survivors]
    void = [one for one in survived if one.verdict == "void"]
    return (
        f"Every reproduced part should fail with another scheduler in the place of that under test. {len(against)} of "
        f"{len(held)} parts were tried against their mutants, FIFO and the next scheduler of the figure, at depth "
        f"*quick* or *default* (`pifolab reproduce --mutate`): {len(against) - len(survived)} fall with each, "
        f"{len(survived) - len(void)} hold with one for a reason that the registry has, {len(void)} are *void*."
    )


def _row(claim: Mapping[str, Any], registry: Registry) -> list[str]:
    paper = registry.papers[claim["paper"]].split(" (")[0]
    figure = claim["figure"] if claim["paper"] == "hardware" else f"{paper} {claim['figure']}"
    return [claim["id"], figure, claim["statement"].replace("|", "\\|"), _verdict(claim)]


def _verdict(claim: Mapping[str, Any]) -> str:
    parts = [part for part in claim["parts"] if not part["side"]]
    marks = [
        *(["provisional"] if claim["provisional"] else []),
        *(["by tolerance alone"] if claim["verdict"] == "reproduced" and any(p["by_tolerance"] for p in parts) else []),
        *(["by the mean"] if any(part["by_mean"] for part in parts) else []),
    ]
    if claim["certificate"]:
        marks.append(f"[witness](../{claim['certificate']})")
    return f"{claim['verdict']} ({', '.join(marks)})" if marks else str(claim["verdict"])


def main(argv: Sequence[str]) -> int:
    """Write the page to the second argument, out of the claims.json that the first one names."""
    if len(argv) != 2:
        raise InputError("expected two arguments, claims.json and the page")
    claims = Path(argv[0])
    tried = read_tried(claims.with_name("mutants.json"))
    write_text(markdown(json.loads(claims.read_text(encoding="utf-8")), tried), Path(argv[1]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
