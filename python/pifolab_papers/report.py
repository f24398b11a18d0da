"""Writes what came out: claims.json, figures, and out of these a page of HTML that needs nothing but itself."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.export import write_text
from pifolab.figures.style import figure_style, save
from pifolab.folder import check_replaceable
from pifolab.quantities import count_text
from pifolab.report import html
from pifolab.statistics import Verdict
from pifolab_papers.claim_figure import draw_claim
from pifolab_papers.execute import Ran
from pifolab_papers.figures import write_figures
from pifolab_papers.registry import Claim, Registry, stated_text
from pifolab_papers.run import Reproduction
from pifolab_papers.verdict import ClaimVerdict, PartVerdict, as_json

#: What the figure of a claim shows.
CLAIM_CAPTION = "What the paper states, and what was measured"

#: Those of the simulator's claims, in the order of the summary.
VERDICTS = tuple(one for one in Verdict if one not in (Verdict.WITHHELD, Verdict.OTHER_SETTINGS))


def write_report(result: Reproduction, folder: Path, *, figures: bool = True) -> list[Path]:
    """Write claims.json, figures/ and report.html into `folder`, each whole or not at all."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[tuple[str, str], str] = {}
    if figures:
        (folder / "figures").mkdir(exist_ok=True)
        names = write_figures(result.measured, folder / "figures", [one.claim for one in result.verdicts])
    found = claims_json(result, names)
    drawn = _draw_claims(found["claims"], folder / "figures") if figures else set()
    written = {
        "claims.json": json.dumps(found, indent=2, ensure_ascii=False) + "\n",
        "report.html": page(found, result.registry, folder, setup_lines(result), drawn),
    }
    for name, text in written.items():
        write_text(text, folder / name)
    return [folder / name for name in written]


def _draw_claims(claims: Iterable[Mapping[str, Any]], folder: Path) -> set[str]:
    """Draw every claim that has numbers into `folder`, as PNG and PDF; return the identifiers of these claims."""
    drawn = set()
    for claim in claims:
        with figure_style():
            figure = draw_claim(claim)
        if figure is not None:
            save(figure, folder / f"claim-{claim['id']}", ("png", "pdf"))
            drawn.add(claim["id"])
    return drawn


def check_folder(folder: Path) -> None:
    """Refuse a folder to which no report can be written, before hours are spent on it."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is not a folder")
    for name in ("claims.json", "report.html"):
        check_replaceable(folder / name)
    figures = folder / "figures"
    if figures.is_symlink() or (figures.exists() and not figures.is_dir()):
        raise InputError(f"{figures}: is a link or no folder; remove it, or give another --out")


def command_for(result: Reproduction, claim: str) -> str:
    """Return the command that judges one claim again."""
    paper = f" {result.registry.home.folder}" if result.registry.home else ""
    return f"pifolab reproduce{paper}{result.depth.options} --only {claim} --out out/{claim}"


def claims_json(result: Reproduction, figures: dict[tuple[str, str], str]) -> dict[str, Any]:
    """Return everything about every claim, for programs."""
    return {
        "pifolab": _pifolab.__version__,
        "revision": result.revision,
        "revisions": result.revisions,
        "depth": result.depth.name,
        "summary": result.depth.summary,
        "counts": result.counts(),
        "claims": [_claim_json(result, one, figures) for one in result.verdicts],
    }


def _claim_json(result: Reproduction, one: ClaimVerdict, figures: dict[tuple[str, str], str]) -> dict[str, Any]:
    claim = one.claim
    ran = {}
    for (experiment, variant), measured in result.measured.items():
        if experiment in claim.experiments:
            ran[f"{experiment}, {variant}"] = {
                "figure": figures.get((experiment, variant)),
                "note": measured.variant.note or None,
                "runs": [{**_run_json(run), "failures": run.failures} for run in measured.ran],
            }
    return {
        "id": claim.id,
        "paper": claim.paper,
        "figure": claim.figure,
        "statement": claim.statement,
        **({"kind": claim.kind, "source": claim.source} if result.registry.home else {}),
        "verdict": one.verdict,
        "provisional": one.provisional,
        "verdict_artefact": one.artefact or None,
        "verdict_authors": one.authors or None,
        "second": one.second if one.artefact else None,
        "note": claim.note or None,
        "explanation": _explanation(one) or None,
        "certificate": certificate(claim) or None,
        "command": command_for(result, claim.id),
        "parts": [_part_json(result, part, "paper") for part in one.parts],
        "parts_artefact": [_part_json(result, part, one.second) for part in one.artefact_parts],
        "parts_authors": [as_json(part) for part in one.authors_parts if part.measured],
        "published": {
            name: {"source": found.source, "settings": found.settings or None}
            for name in claim.experiments
            if (found := result.registry.published.get(name)) is not None
        },
        "experiments": ran,
    }


def certificate(claim: Claim) -> str:
    """Return the file of the repository that shows by a witness that a claim does not hold; empty if there is none."""
    return f"lab/certificates/{claim.certificate}" if claim.certificate else ""


def _run_json(run: Ran) -> dict[str, Any]:
    """Return what repeats the runs of a scenario, and where they lie."""
    return {
        "scenario": run.scenario,
        "overrides": {key: str(value) for key, value in run.overrides.items()},
        "seeds": list(run.seeds),
        "manifests": [f"store/runs/{key}/manifest.json" for key in run.runs],
    }


def _part_json(result: Reproduction, part: PartVerdict, variant: str) -> dict[str, Any]:
    """Return a part with what made it, so that a later report can take it over."""
    if part.taken is not None:
        made = {"revision": part.taken.revision, "settings": part.taken.settings}
    else:
        key = part.part.experiment, variant
        made = {"revision": result.revision, "settings": result.settings.get(key, "")}
    return {**as_json(part), **made}


def _explanation(one: ClaimVerdict) -> str:
    """Return why a claim does not reproduce: what we know, or else which numbers miss and by how much."""
    if one.verdict is Verdict.REPRODUCED or not one.parts:
        return ""
    missed = [part for part in one.parts if part.verdict is not Verdict.REPRODUCED]
    numbers = "; ".join(f"{part.part.what}: {part.reason}" for part in missed)
    if one.claim.explanation:
        return f"{one.claim.explanation} What misses: {numbers}."
    against_text = one.second == "artefact" and not any(part.points for part in one.artefact_parts)
    if one.artefact is Verdict.REPRODUCED and against_text:
        return (
            f"What misses: {numbers}. Under the public artefact's settings it does reproduce, so that the difference "
            "lies in those."
        )
    return f"What misses: {numbers}. The cause has not been found."


def summary_rows(counts: Mapping[str, Mapping[str, int]], registry: Registry) -> list[list[Any]]:
    """Return for each paper how many claims got each verdict, and their sum."""
    rows: list[list[Any]] = [
        [registry.papers[paper], *(found.get(verdict, 0) for verdict in VERDICTS), sum(found.values())]
        for paper, found in counts.items()
    ]
    if len(rows) > 1:
        rows.append(["all", *(sum(int(row[place]) for row in rows) for place in range(1, len(VERDICTS) + 2))])
    return rows


def numbers(claim: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return headings and a row for each number of a claim of claims.json: what is stated, and what came out."""
    others: dict[str, Any] = {part["what"]: part for part in claim["parts_artefact"]}
    authors: dict[str, Any] = {part["what"]: part for part in claim["parts_authors"]}
    rows = [
        [
            part["what"] + (" (side statement)" if part["side"] else ""),
            _stated(part),
            _published(authors.get(part["what"])),
            _found(part),
            part["verdict"] + (" (by tolerance alone)" if part["by_tolerance"] else ""),
            _artefact(others.get(part["what"])),
        ]
        for part in claim["parts"]
    ]
    return ["", "paper", "authors' data", "measured", "verdict", _second_column(claim)], rows


def _stated(part: Mapping[str, Any]) -> str:
    stated, accepted = _ends(part, "paper"), _ends(part, "accepted")
    says = stated_text(*stated, part["unit"])
    if accepted == stated:
        return says
    low, high = (f"{end:.4g}" for end in accepted)
    ends = f"up to {high}" if low == "-inf" else f"from {low}" if high == "inf" else f"{low} to {high}"
    return f"{says} (accepted: {ends})"


def _ends(part: Mapping[str, Any], what: str) -> tuple[float, float]:
    """Return a range of a part; JSON has no end where it is open."""
    low, high = part[f"{what}_low"], part[f"{what}_high"]
    return -math.inf if low is None else low, math.inf if high is None else high


def _found(part: Mapping[str, Any]) -> str:
    value = part["value"]
    if value is None:
        return "-"
    if part["unit"] == "yes/no":
        return "yes" if value == 1 else ("no" if value == 0 else f"in {value:.0%} of the seeds")
    interval = "" if part["low"] == part["high"] else f" [{part['low']:.4g}, {part['high']:.4g}]"
    loads = "".join(f"; {one['at']:g}: {one['value']:.4g}" for one in part["loads"])
    return f"{value:.4g}{interval}{loads}{'; judged by the mean of the loads' if part['by_mean'] else ''}"


def of_authors(verdict: str | None) -> str:
    """Return what a verdict is called where it is one on the authors' own numbers; nothing if there is none."""
    return Verdict(verdict).of_numbers if verdict else ""


def _published(part: Mapping[str, Any] | None) -> str:
    """Return the authors' own number and whether it is what they state."""
    if part is None:
        return ""
    value = ("yes" if part["value"] else "no") if part["unit"] == "yes/no" else f"{part['value']:.4g}"
    values = [one["value"] for one in part["loads"]]
    spread = f" ({min(values):.4g} to {max(values):.4g})" if values else ""
    return f"{value}{spread}: {of_authors(part['verdict'])}"


def _artefact(part: Mapping[str, Any] | None) -> str:
    """Return what came out under the artefact's settings; beside the authors' numbers where there are some."""
    if part is None:
        return ""
    return f"{part['reason']}: {part['verdict']}" if part["points"] else _found(part)


def _second_column(claim: Mapping[str, Any]) -> str:
    """Return what the last column of a claim's table has: only a paper with public code has an artefact."""
    return "another reading" if claim["second"] == "reading" else "artefact"


def _sources(claim: Mapping[str, Any]) -> str:
    """Return where the authors' numbers stand, and in what their runs differ from the text."""
    if not claim["verdict_authors"] or not claim["published"]:
        return ""
    found = claim["published"].values()
    said = "; ".join(f"{one['source']}{f' ({text})' if (text := one['settings']) else ''}" for one in found)
    return f"Authors' data: {said}."


def _made(claim: Mapping[str, Any], revision: str) -> str:
    """Return which numbers of a claim are of an earlier revision; empty where all are of this run."""
    said = []
    for name, parts in (("text", claim["parts"]), (_second_column(claim), claim["parts_artefact"])):
        made = sorted({part["revision"] for part in parts if part["value"] is not None} - {revision})
        if made:
            said.append(f"{name} measured earlier, {', '.join(made)}")
    return f"Revision: {'; '.join(said)}." if said else ""


def _badge(verdict: str | None, shown: str | None = None) -> html.Html:
    if not verdict:
        return html.Html("")
    chip = f'<span class="chip" style="background:{Verdict(verdict).colour}"></span>'
    return html.Html(f"{chip}{html.escape(shown or verdict)}")


def _shown(claim: Mapping[str, Any]) -> html.Html:
    return _badge(claim["verdict"], claim["verdict"] + (" (provisional)" if claim["provisional"] else ""))


def _wrapping(text: str, least_rem: int = 18) -> html.Html:
    """Return a cell whose text may break into lines, but is no narrower than it must be."""
    width = f"min-width:{least_rem}rem;max-width:{least_rem + 8}rem"
    return html.Html(
        f'<span style="display:inline-block;{width};white-space:normal;text-align:left">{html.escape(text)}</span>'
    )


def page(
    found: Mapping[str, Any], registry: Registry, folder: Path, setup: Sequence[str], drawn: Collection[str] = ()
) -> str:
    """Return the report on what claims.json has as one page of HTML, images of `folder` included.

    The lines of `setup` say what was run; the claims in `drawn` have a figure.
    """
    sections = [html.Section("What was run", [html.listed(setup)]), _summary_section(found, registry)]
    shown: set[str] = set()
    for paper, title in registry.papers.items():
        of_paper = [claim for claim in found["claims"] if claim["paper"] == paper]
        if of_paper:
            parts = [
                part
                for claim in of_paper
                for part in _claim_parts(claim, found, registry, folder, shown, has_figure=claim["id"] in drawn)
            ]
            sections.append(html.Section(title, parts))
    sections.append(_words_section(registry))
    sections.append(html.Section("What follows from it", [html.listed(conclusion_lines(found["claims"]))]))
    lead = "The claims of the papers, each with its experiment, what came out, and a verdict."
    title = "Five papers on programmable packet scheduling, reproduced"
    if registry.home is not None:
        title = f"{', '.join(registry.papers.values())}, reproduced"
        citation = f"{registry.home.citation}. " if registry.home.citation else ""
        lead = f"{citation}{lead.replace('papers', 'paper')}"
    return html.page(title, lead, sections)


def setup_lines(result: Reproduction) -> list[str]:
    """Return what was run, in a few lines."""
    runs = sum(len(ran.runs) for measured in result.measured.values() for ran in measured.ran)
    failed = sum(len(ran.failures) for measured in result.measured.values() for ran in measured.ran)
    experiments = len({experiment for experiment, _ in result.measured})
    lines = [
        f"{len(result.verdicts)} claims of {len(result.counts())} papers, by {count_text(experiments, 'experiment')} "
        f"with {count_text(runs, 'run')}",
        f"depth {result.depth.name}: {result.depth.summary}. {result.depth.changes}",
        f"pifolab {_pifolab.__version__}, revision {result.revision}",
    ]
    if failed:
        lines.append(f"{count_text(failed, 'run')} failed: their claims are not measured")
    return lines


def conclusion_lines(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what follows: how many claims came out how, which did not, and what the reader should do about them."""
    of = {name: [one for one in claims if one["verdict"] == name] for name in VERDICTS}
    counts = ", ".join(f"{len(found)} {name}" for name, found in of.items() if found)
    lines = [f"Of {len(claims)} claims: {counts}."]
    missed = of[Verdict.NOT_REPRODUCED]
    if missed:
        lines.append(f"Not reproduced: {_ids(missed)}; each says which numbers miss, and why.")
    rescued = [one for one in missed if one["verdict_artefact"] == "reproduced" and one["second"] == "artefact"]
    if rescued:
        lines.append(f"Of these, reproduced with the settings of the paper's public code: {_ids(rescued)}.")
    theirs = [one for one in missed if one["verdict_authors"] == "not reproduced"]
    if theirs:
        lines.append(f"Of these, the authors' own published numbers do not satisfy: {_ids(theirs)}.")
    provisional = sum(one["provisional"] for one in claims)
    if provisional:
        lines.append(f"{provisional} verdicts are provisional: too few seeds. `--seeds 5` makes them final.")
    return lines


def _ids(claims: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(one["id"] for one in claims)


def _summary_section(found: Mapping[str, Any], registry: Registry) -> html.Section:
    claims = [
        [
            html.Html(f'<a href="#{one["id"]}">{one["id"]}</a>'),
            _wrapping(one["figure"], 5),
            _shown(one),
            _badge(one["verdict_artefact"], _second(one)),
            _badge(one["verdict_authors"], of_authors(one["verdict_authors"])),
            _wrapping(one["statement"]),
        ]
        for one in found["claims"]
    ]
    parts = [
        html.table(["paper", *VERDICTS, "all"], summary_rows(found["counts"], registry)),
        "<details open><summary>Every claim</summary>"
        + html.table(["claim", "figure", "verdict", "artefact", "authors' data", "what the paper says"], claims)
        + "</details>",
    ]
    return html.Section("Verdicts", parts)


def _second(claim: Mapping[str, Any]) -> str:
    verdict = claim["verdict_artefact"] or ""
    return f"another reading: {verdict}" if claim["second"] == "reading" else verdict


def _claim_parts(
    claim: Mapping[str, Any],
    found: Mapping[str, Any],
    registry: Registry,
    folder: Path,
    shown: set[str],
    *,
    has_figure: bool,
) -> list[str]:
    """Return a claim with its figures, those apart that are `shown` already."""
    name = claim["id"]
    parts = []
    images = []
    for place, ran in claim["experiments"].items():
        if ran["figure"] is not None and ran["figure"] not in shown:
            shown.add(ran["figure"])
            experiment, variant = place.split(", ")
            about = registry.experiments[experiment]
            note = f": {ran['note']}" if ran["note"] else ""
            caption = f"{about.figure}: {about.title} ({variant}{note})"
            images.append(html.figure(folder / "figures" / f"{ran['figure']}.png", caption))
    if images:
        parts.append('<div class="figures">' + "".join(images) + "</div>")
    parts.append(f'<h3 id="{name}">{name} ({html.escape(claim["figure"])}): {_shown(claim)}</h3>')
    parts.append(f"<p>{html.escape(claim['statement'])}</p>")
    if has_figure:
        parts.append(html.figure(folder / "figures" / f"claim-{name}.png", CLAIM_CAPTION))
    headings, rows = numbers(claim)
    if rows:
        cells = [
            [*map(_wrapping, row[:4], (18, 8, 7, 7)), _badge(part["verdict"], row[4]), _wrapping(row[5], 7)]
            for row, part in zip(rows, claim["parts"], strict=True)
        ]
        parts.append(html.table(headings, cells))
    witness = f"Witness: {claim['certificate']}." if claim["certificate"] else ""
    made = _made(claim, found["revision"])
    basis = " ".join(f"{key.capitalize()}: {claim[key]}." for key in ("kind", "source") if claim.get(key))
    for text in (basis, claim["note"], witness, _sources(claim), claim["explanation"], made):
        if text:
            parts.append(f"<p>{html.escape(text)}</p>")
    runs = [{"ran": place, **run} for place, ran in claim["experiments"].items() for run in ran["runs"]]
    repeat = claim["command"] + "\n\n" + json.dumps(runs, indent=1, ensure_ascii=False)
    parts.append(html.preformatted("How to repeat it", repeat))
    return parts


def _words_section(registry: Registry) -> html.Section:
    words = "".join(f"<li>{html.escape(text)}</li>" for text in registry.words.values())
    rows = [
        [one.name, f"{one.relative:.0%}", f"{one.absolute:g}", _wrapping(one.why)]
        for one in registry.tolerances.values()
    ]
    chosen = (
        "<p>What the papers' words are taken to mean; these and the tolerances were chosen before the results were "
        f"known, and are the same for all claims. {html.escape(registry.afterwards)}</p><ul>{words}</ul>"
    )
    return html.Section(
        "Words and tolerances",
        [
            # A folder does not say when its tolerances were chosen.
            "" if registry.home else chosen,
            html.table(["tolerance", "of the value", "added", "why"], rows),
            html.glossary(("verdict", "inconclusive", "artefact", "authors", "interval")),
        ],
    )
