"""Writes what came out: claims.json, figures, and a page of HTML that needs nothing but itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.export import write_text
from pifolab.figures.style import save
from pifolab.folder import check_replaceable
from pifolab.quantities import count_text
from pifolab.report import html
from pifolab.statistics import Verdict
from pifolab_papers.execute import READINGS, Ran
from pifolab_papers.figures import draw_claim, write_figures
from pifolab_papers.registry import Claim
from pifolab_papers.run import Reproduction
from pifolab_papers.verdict import ClaimVerdict, PartVerdict, as_json

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
        for one in result.verdicts:
            drawn = draw_claim(one)
            if drawn is not None:
                save(drawn, folder / "figures" / f"claim-{one.claim.id}")
    written = {
        "claims.json": json.dumps(claims_json(result, names), indent=2, ensure_ascii=False) + "\n",
        "report.html": page(result, folder, names),
    }
    for name, text in written.items():
        write_text(text, folder / name)
    return [folder / name for name in written]


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
    return f"pifolab reproduce{result.depth.options} --only {claim} --out out/{claim}"


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


def summary_rows(result: Reproduction) -> list[list[Any]]:
    """Return for each paper how many claims got each verdict, and their sum."""
    counts = result.counts()
    rows: list[list[Any]] = [
        [result.registry.papers[paper], *(found.get(verdict, 0) for verdict in VERDICTS), sum(found.values())]
        for paper, found in counts.items()
    ]
    if len(rows) > 1:
        rows.append(["all", *(sum(int(row[place]) for row in rows) for place in range(1, len(VERDICTS) + 2))])
    return rows


def _stated(part: PartVerdict) -> str:
    low, high = part.accepted
    if (low, high) == (part.part.low, part.part.high):
        return part.part.paper_says
    ends = f"{low:.4g} to {high:.4g}"
    if low == float("-inf"):
        ends = f"up to {high:.4g}"
    elif high == float("inf"):
        ends = f"from {low:.4g}"
    return f"{part.part.paper_says} (accepted: {ends})"


def _found(part: PartVerdict) -> str:
    if not part.measured:
        return "-"
    if part.part.unit == "yes/no":
        return "yes" if part.value == 1 else ("no" if part.value == 0 else f"in {part.value:.0%} of the seeds")
    interval = "" if part.low == part.high else f" [{part.low:.4g}, {part.high:.4g}]"
    loads = "".join(f"; {one.at:g}: {one.ours.value:.4g}" for one in part.loads)
    return f"{part.value:.4g}{interval}{loads}{'; judged by the mean of the loads' if part.by_mean else ''}"


def _rows(one: ClaimVerdict) -> list[tuple[PartVerdict, PartVerdict | None, PartVerdict | None]]:
    """Return each part under the text's reading, under the artefact's, and in the authors' data."""
    others: Sequence[PartVerdict | None] = one.artefact_parts or [None] * len(one.parts)
    authors: Sequence[PartVerdict | None] = one.authors_parts or [None] * len(one.parts)
    return list(zip(one.parts, others, authors, strict=True))


def of_authors(verdict: Verdict | None) -> str:
    """Return what a verdict is called where it is one on the authors' own numbers; nothing if there is none."""
    return verdict.of_numbers if verdict else ""


def _published(part: PartVerdict | None) -> str:
    """Return the authors' own number and whether it is what they state."""
    if part is None or not part.measured:
        return ""
    value = ("yes" if part.value else "no") if part.part.unit == "yes/no" else f"{part.value:.4g}"
    values = [one.ours.value for one in part.loads]
    spread = f" ({min(values):.4g} to {max(values):.4g})" if values else ""
    return f"{value}{spread}: {of_authors(part.verdict)}"


def _artefact(part: PartVerdict | None) -> str:
    """Return what came out under the artefact's settings; beside the authors' numbers where there are some."""
    if part is None:
        return ""
    if not part.points:
        return _found(part)
    return f"{part.reason}: {part.verdict}"


def second_column(one: ClaimVerdict) -> str:
    """Return what the last column of a claim's table has: only a paper with public code has an artefact."""
    return "another reading" if one.artefact and one.second == "reading" else "artefact"


def _second(one: ClaimVerdict) -> str:
    return f"another reading: {one.artefact}" if one.artefact and one.second == "reading" else one.artefact or ""


def _sources(result: Reproduction, one: ClaimVerdict) -> str:
    """Return where the authors' numbers stand, and in what their runs differ from the text."""
    found = [result.registry.published[name] for name in one.claim.experiments if name in result.registry.published]
    if not one.authors or not found:
        return ""
    said = "; ".join(f"{each.source}{f' ({each.settings})' if each.settings else ''}" for each in found)
    return f"Authors' data: {said}."


def _made(result: Reproduction, one: ClaimVerdict) -> str:
    """Return which numbers of a claim are of an earlier revision; empty where all are of this run."""
    said = []
    for name, parts in (("text", one.parts), (second_column(one), one.artefact_parts)):
        made = sorted({part.taken.revision for part in parts if part.taken is not None})
        if made:
            said.append(f"{name} measured earlier, {', '.join(made)}")
    return f"Revision: {'; '.join(said)}." if said else ""


def _badge(verdict: Verdict | None, shown: str | None = None) -> html.Html:
    if not verdict:
        return html.Html("")
    chip = f'<span class="chip" style="background:{verdict.colour}"></span>'
    return html.Html(f"{chip}{html.escape(shown or verdict)}")


def _wrapping(text: str, least_rem: int = 18) -> html.Html:
    """Return a cell whose text may break into lines, but is no narrower than it must be."""
    width = f"min-width:{least_rem}rem;max-width:{least_rem + 8}rem"
    return html.Html(
        f'<span style="display:inline-block;{width};white-space:normal;text-align:left">{html.escape(text)}</span>'
    )


def page(result: Reproduction, folder: Path, figures: dict[tuple[str, str], str]) -> str:
    """Return the report as one page of HTML, images included."""
    sections = [html.Section("What was run", [html.listed(setup_lines(result))]), _summary_section(result)]
    for paper, title in result.registry.papers.items():
        of_paper = [one for one in result.verdicts if one.claim.paper == paper]
        if of_paper:
            sections.append(html.Section(title, _paper_parts(result, of_paper, folder, figures)))
    sections.append(_words_section(result))
    sections.append(html.Section("What follows from it", [html.listed(conclusion_lines(result))]))
    lead = "The claims of the papers, each with its experiment, what came out, and a verdict."
    return html.page("Five papers on programmable packet scheduling, reproduced", lead, sections)


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


def conclusion_lines(result: Reproduction) -> list[str]:
    """Return what follows: how many claims came out how, which did not, and what the reader should do about them."""
    of = {name: [one for one in result.verdicts if one.verdict == name] for name in VERDICTS}
    counts = ", ".join(f"{len(found)} {name}" for name, found in of.items() if found)
    lines = [f"Of {len(result.verdicts)} claims: {counts}."]
    missed = of[Verdict.NOT_REPRODUCED]
    if missed:
        lines.append(
            f"Not reproduced: {', '.join(one.claim.id for one in missed)}; each says which numbers miss, and why."
        )
    rescued = [one.claim.id for one in missed if one.artefact is Verdict.REPRODUCED and one.second == "artefact"]
    if rescued:
        lines.append(f"Of these, reproduced with the settings of the paper's public code: {', '.join(rescued)}.")
    theirs = [one.claim.id for one in missed if one.authors is Verdict.NOT_REPRODUCED]
    if theirs:
        lines.append(f"Of these, the authors' own published numbers do not satisfy: {', '.join(theirs)}.")
    provisional = [one.claim.id for one in result.verdicts if one.provisional]
    if provisional:
        lines.append(f"{len(provisional)} verdicts are provisional: too few seeds. `--seeds 5` makes them final.")
    return lines


def _summary_section(result: Reproduction) -> html.Section:
    rows = summary_rows(result)
    parts = [html.table(["paper", *VERDICTS, "all"], rows)]
    claims = [
        [
            html.Html(f'<a href="#{one.claim.id}">{one.claim.id}</a>'),
            _wrapping(one.claim.figure, 5),
            _badge(one.verdict, one.shown),
            _badge(one.artefact, _second(one)),
            _badge(one.authors, of_authors(one.authors)),
            _wrapping(one.claim.statement),
        ]
        for one in result.verdicts
    ]
    parts.append(
        "<details open><summary>Every claim</summary>"
        + html.table(["claim", "figure", "verdict", "artefact", "authors' data", "what the paper says"], claims)
        + "</details>"
    )
    return html.Section("Verdicts", parts)


def _paper_parts(
    result: Reproduction, verdicts: Sequence[ClaimVerdict], folder: Path, figures: dict[tuple[str, str], str]
) -> list[str]:
    """Return each figure of a paper with its claims beneath."""
    parts: list[str] = []
    shown: set[str] = set()
    for one in verdicts:
        images = []
        for experiment in one.claim.experiments:
            for variant in READINGS:
                name = figures.get((experiment, variant))
                if name is not None and name not in shown:
                    shown.add(name)
                    about = result.registry.experiments[experiment]
                    note = result.measured[experiment, variant].variant.note
                    caption = f"{about.figure}: {about.title} ({variant}{': ' + note if note else ''})"
                    images.append(html.figure(folder / "figures" / f"{name}.png", caption))
        if images:
            parts.append('<div class="figures">' + "".join(images) + "</div>")
        parts += _claim_parts(result, one, folder)
    return parts


def _claim_parts(result: Reproduction, one: ClaimVerdict, folder: Path) -> list[str]:
    claim = one.claim
    parts = [f'<h3 id="{claim.id}">{claim.id} ({html.escape(claim.figure)}): {_badge(one.verdict, one.shown)}</h3>']
    parts.append(f"<p>{html.escape(claim.statement)}</p>")
    if one.parts:
        rows = [
            [
                _wrapping(part.part.what + (" (side statement)" if part.part.side else "")),
                _wrapping(_stated(part), 8),
                _wrapping(_published(theirs), 7),
                _wrapping(_found(part), 7),
                _badge(part.verdict, f"{part.verdict} (by tolerance alone)" if part.by_tolerance else None),
                _wrapping(_artefact(other), 7) if other else "",
            ]
            for part, other, theirs in _rows(one)
        ]
        parts.append(html.table(["", "paper", "authors' data", "measured", "verdict", second_column(one)], rows))
        image = folder / "figures" / f"claim-{claim.id}.png"
        if image.exists():
            caption = "Measured (black, with its interval) beside what the paper states (red, with the tolerance)."
            parts.append(
                "<details><summary>As a picture</summary>" + html.figure(image, caption, wide=True) + "</details>"
            )
    witness = f"Witness: {certificate(claim)}." if claim.certificate else ""
    for text in (claim.note, witness, _sources(result, one), _explanation(one), _made(result, one)):
        if text:
            parts.append(f"<p>{html.escape(text)}</p>")
    runs = [
        {"experiment": experiment, "variant": variant, **_run_json(run), "scenario": f"experiments/{run.scenario}"}
        for (experiment, variant), measured in result.measured.items()
        if experiment in claim.experiments
        for run in measured.ran
    ]
    repeat = command_for(result, claim.id) + "\n\n" + json.dumps(runs, indent=1, ensure_ascii=False)
    parts.append(html.preformatted("How to repeat it", repeat))
    return parts


def _words_section(result: Reproduction) -> html.Section:
    words = "".join(f"<li>{html.escape(text)}</li>" for text in result.registry.words.values())
    rows = [
        [one.name, f"{one.relative:.0%}", f"{one.absolute:g}", _wrapping(one.why)]
        for one in result.registry.tolerances.values()
    ]
    return html.Section(
        "Words and tolerances",
        [
            "<p>What the papers' words are taken to mean; these and the tolerances were chosen before the results were "
            f"known, and are the same for all claims. {html.escape(result.registry.afterwards)}</p><ul>{words}</ul>",
            html.table(["tolerance", "of the value", "added", "why"], rows),
            html.glossary(("verdict", "inconclusive", "artefact", "authors", "interval")),
        ],
    )
