"""The report of `pifolab advise`: the ranking, what it rests on, and what it cannot tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import info
from pifolab.quantities import count_text, rate_text, size_text, time_text
from pifolab.report import html

if TYPE_CHECKING:
    from pifolab.advise import Advice, Ranked

__all__ = ["settings_text", "setup", "verdict", "write_report"]

_AXIS = {
    "inversions": "Score: wrong or lost, per packet",
    "small-fct": "Score (us)",
    "fairness": "Score: share lost, late or sent to others",
}


def setup(advice: Advice) -> list[str]:
    """Return what was compared on what, in a few lines."""
    each = advice.buffer_packets // advice.queues
    emptied = time_text(8e9 * advice.buffer_packets * advice.bytes / advice.packets / advice.rate_bps)
    return [
        f"{advice.trace}: {count_text(advice.packets, 'packet')} of {count_text(advice.flows, 'flow')}, "
        f"{size_text(advice.bytes)} in {time_text(advice.span_ns)}",
        f"ranks by {advice.rank}, a link of {rate_text(advice.rate_bps)}, which the trace loads by {advice.load:.0%}",
        f"a buffer of {advice.buffer_packets} packets ({emptied} at this rate), in one queue or in {advice.queues} of "
        f"{each}",
        f"score: {advice.objective_text}; less is better",
    ]


def settings_text(one: Ranked) -> str:
    """Return the settings of a scheduler in one line."""
    return ", ".join(f"{key} = {value}" for key, value in one.settings.items())


def verdict(advice: Advice) -> str:
    """Return the last line: who serves the traffic best, and who cannot be told apart from it."""
    also = f"; {', '.join(advice.close)} cannot be told apart from it on this trace" if advice.close else ""
    return f"{advice.winner.scheduler} serves this traffic best{also}"


def write_report(advice: Advice, folder: Path, *, force: bool = False) -> Path:
    """Write advice.json, figures/ and report.html to `folder`, completely or not at all."""
    from pifolab.figures.advice import draw_losses, draw_scores
    from pifolab.figures.style import save
    from pifolab.folder import whole_folder, writing

    figures = {
        "scores": (
            draw_scores(advice, _AXIS[advice.objective]),
            "Scores on the second half of the trace, less is better: the mean with its 95 % interval, and each of the "
            "five pieces. Hollow: loses clearly more than FIFO.",
        ),
        "losses": (draw_losses(advice), "Packets lost, and packets sent while a lower rank waited."),
    }
    with whole_folder(folder, force=force) as unfinished:
        (unfinished / "figures").mkdir()
        shown = []
        for name, (figure, caption) in figures.items():
            save(figure, unfinished / "figures" / name)
            shown.append(html.figure(unfinished / "figures" / f"{name}.png", caption))
        with writing(unfinished / "advice.json") as file:
            file.write_text(json.dumps(advice.as_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in advice.notes)
        compared = "".join(f"<li>{html.escape(line)}</li>" for line in setup(advice))
        sections = [
            html.Section("What was compared", [f"<ul>{compared}</ul>"]),
            *([html.Section("Notes", [f"<ul>{notes}</ul>"])] if notes else []),
            html.Section("Ranking", [_table(advice)]),
            html.Section("Figures", ['<div class="figures">', *shown, "</div>"]),
            html.Section("What it cannot tell", [f"<p>{html.escape(_LIMITS)}</p>"]),
        ]
        page = html.page(f"Which scheduler for {advice.trace}?", verdict(advice) + ".", sections)
        with writing(unfinished / "report.html") as file:
            file.write_text(page, encoding="utf-8")
    return folder


_LIMITS = (
    "Replay is open-loop: senders do not slow down when packets are lost, and nothing is sent again. Nothing here is "
    "drawn at random: intervals say how much the five pieces of the second half differ."
)


def _table(advice: Advice) -> str:
    names = [info.ideal(), *(one.scheduler for one in advice.ranking)]
    headings = [
        "scheduler",
        "score",
        "when tuned",
        "inverted",
        "lost",
        "misdropped",
        "inverted pairs per packet",
        "magnitude (ranks per packet)",
        "registers",
        "table bytes",
        "state (bits)",
        "operations",
        "settings",
    ]
    rows: list[list[Any]] = []
    for one in advice.ranking:
        shares = [f"{share:.2%}" for share in (one.inversions_share, one.dropped_share, one.misdropped_share)]
        name = html.scheduler_name(one.scheduler, names)
        state = [one.registers, one.table_bytes, one.state_bits, one.operations]
        rows.append(
            [name, str(one.score), one.tuned, *shares, one.pairs, one.magnitude, *state, html.words(settings_text(one))]
        )
    ideal = html.scheduler_name(info.ideal(), names)
    rows.append(
        [
            ideal,
            str(advice.ideal),
            None,
            "0.00%",
            f"{advice.ideal_dropped_share:.2%}",
            "0.00%",
            0,
            0,
            None,
            None,
            None,
            None,
            html.words("the ideal"),
        ]
    )
    return html.table(headings, rows)
