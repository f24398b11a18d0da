"""The report of `pifolab advise`: the ranking, its basis, and its limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pifolab import _pifolab, info
from pifolab.figures.advice import draw_losses, draw_scores
from pifolab.figures.style import save
from pifolab.folder import whole_folder, write_json
from pifolab.quantities import count_text, rate_text, share_text, size_text, time_text
from pifolab.report import html

if TYPE_CHECKING:
    from pifolab.advise import Advice, Ranked

_WORDS = (
    "score", "tuned", "inversions", "misdrops", "pairs", "magnitude", "registers", "operations", "interval_pieces",
)  # fmt: skip

_AXIS = {
    "inversions": "Score: wrong or lost, per packet",
    "small-fct": "Score (us)",
    "fairness": "Score: share lost, late or sent to others",
}


def setup(advice: Advice) -> list[str]:
    """Return the schedulers and the traffic of the comparison, in a few lines."""
    each = advice.buffer_packets // advice.queues
    emptied = time_text(8e9 * advice.buffer_packets * advice.bytes / advice.packets / advice.rate_bps)
    return [
        f"{advice.trace}: {count_text(advice.packets, 'packet')} of {count_text(advice.flows, 'flow')}, "
        f"{size_text(advice.bytes)} in {time_text(advice.span_ns)}",
        f"ranks by {advice.rank}, a link of {rate_text(advice.rate_bps)}, "
        f"which the trace loads by {share_text(advice.load)}",
        f"a buffer of {advice.buffer_packets} packets ({emptied} at this rate), in one queue or in {advice.queues} of "
        f"{each}",
        f"score: {advice.objective_text}; less is better",
    ]


def settings_text(one: Ranked) -> str:
    """Return the settings of a scheduler in one line."""
    return ", ".join(f"{key} = {value}" for key, value in one.settings.items())


def verdict(advice: Advice) -> str:
    """Return the last line: the best scheduler, and those that do not differ significantly from it."""
    if advice.winner.unfit is not None:
        return f"no scheduler fits {advice.target}; {advice.winner.scheduler} would serve this traffic best"
    also = f"; {', '.join(advice.close)} cannot be told apart from it on this trace" if advice.close else ""
    return f"{advice.winner.scheduler} serves this traffic best{also}"


def _unfit_lines(advice: Advice) -> list[str]:
    """Return a line for each scheduler that does not fit the target, and why."""
    return [f"{one.scheduler} does not fit: {one.unfit}" for one in advice.ranking if one.unfit is not None]


def tried(advice: Advice) -> str:
    """Return how the ranking was made, in a line."""
    return f"{advice.tried} settings tuned on the first half, the best of each scheduler ranked on the second"


def conclusion_lines(advice: Advice) -> list[str]:
    """Return the conclusion: the best scheduler, its settings, and its share of PIFO's gain."""
    winner = advice.winner
    lines = [f"{verdict(advice)}."]
    if winner.settings:
        lines.append(f"Its settings: {settings_text(winner)}.")
    if advice.rank == "dscp:phb" and "bounds" in winner.settings:
        lines.append(f"Its queues, the first served first: {'; '.join(_behaviours(winner.settings['bounds']))}.")
    level = [one for one in advice.ranking if one is winner or one.scheduler in advice.close]
    counted = [one for one in level if one.state_bits is not None]
    if len(level) > 1 and counted:
        least = min(counted, key=lambda one: one.state_bits or 0)
        lines.append(
            f"Of the {len(level)} that cannot be told apart {least.scheduler} needs the least state "
            f"({least.state_bits:,} bits); a longer trace may tell them apart."
        )
    last = max(advice.ranking, key=lambda one: one.score.value)
    gap = last.score.value - advice.ideal.value
    if last is not winner and gap > 0:
        share = (last.score.value - winner.score.value) / gap
        lines.append(
            f"It scores {winner.score.value:.4g}, PIFO {advice.ideal.value:.4g}, and {last.scheduler}, the worst, "
            f"{last.score.value:.4g}: of what PIFO gains over {last.scheduler}, it gains {share_text(share)}."
        )
    lost = winner.dropped_share - advice.ideal_dropped_share
    if lost > 0:
        lines.append(
            f"It loses {share_text(winner.dropped_share, 2)} of the packets, "
            f"PIFO {share_text(advice.ideal_dropped_share, 2)}."
        )
    if winner.stages is not None:
        lines.append(
            f"Its program takes {winner.stages} stages and {winner.stateful_alus} stateful ALUs of {advice.target}."
        )
    worse = [one.scheduler for one in advice.ranking if one.loses_more]
    if worse:
        are = "is" if len(worse) == 1 else "are"
        lines.append(f"{', '.join(worse)} {are} ranked last: clearly more packets and bytes are lost than with PIFO.")
    lines += [f"{line}." for line in _unfit_lines(advice)]
    lines += [f"What would change it: {line}." for line in advice.changes]
    return lines


def _behaviours(bounds: list[int]) -> list[str]:
    """Return the per-hop behaviours of each queue."""
    ends = [*bounds[1:], None]
    return [
        ", ".join(name for name, _, rank in _pifolab.behaviours() if first <= rank and (end is None or rank < end))
        for first, end in zip(bounds, ends, strict=True)
    ]


def write_report(advice: Advice, folder: Path, *, force: bool = False) -> Path:
    """Write advice.json, figures/ and report.html to `folder`, completely or not at all."""
    figures = {
        "scores": (
            draw_scores(advice, _AXIS[advice.objective]),
            "Scores on the second half of the trace, less is better: the mean with its 95 % interval, and each of the "
            "five pieces. Hollow: loses clearly more than PIFO.",
        ),
        "losses": (draw_losses(advice), "Packets lost, and packets sent while a lower rank waited."),
    }
    with whole_folder(folder, force=force) as unfinished:
        (unfinished / "figures").mkdir()
        shown = []
        for name, (figure, caption) in figures.items():
            save(figure, unfinished / "figures" / name)
            shown.append(html.figure(unfinished / "figures" / f"{name}.png", caption))
        write_json(unfinished / "advice.json", advice.as_dict())
        sections = [
            html.Section("What was run", [html.listed([*setup(advice), tried(advice)])]),
            *([html.Section("Notes", [html.listed(advice.notes)])] if advice.notes else []),
            html.Section("Ranking", [_table(advice)]),
            html.Section("Figures", ['<div class="figures">', *shown, "</div>"]),
            html.Section("Limits of this comparison", [f"<p>{html.escape(_LIMITS)}</p>"]),
            html.Section("Words", [html.glossary(_WORDS)]),
            html.Section("What follows from it", [html.listed(conclusion_lines(advice))]),
        ]
        title = f"Which scheduler for {advice.trace}?"
        html.write_page(unfinished / "report.html", title, verdict(advice) + ".", sections)
    return folder


_LIMITS = (
    "Replay is open-loop: senders do not slow down when packets are lost, and nothing is sent again. Nothing is "
    "random: intervals show how much the five pieces of the second half differ."
)


def rows(advice: Advice) -> tuple[list[str], list[list[str]]]:
    """Return headings and a row for each scheduler of the ranking, and one for PIFO, the ideal."""
    headings = [
        "scheduler", "score", "tuned", "inverted", "lost", "lost bytes", "misdropped", "pairs", "magnitude",
        "registers", "table bytes", "bits", "operations",
    ]  # fmt: skip
    # Of the target, where a compiler counted them.
    counted_stages = any(one.stages is not None for one in advice.ranking)
    headings += [*(["stages", "stateful ALUs"] if counted_stages else []), "settings"]
    found = []
    for one in advice.ranking:
        counted = (one.inversions_share, one.dropped_share, one.dropped_bytes_share, one.misdropped_share)
        measured = [f"{one.tuned:.4g}", *(share_text(share, 2) for share in counted)]
        order = [f"{one.pairs:.4g}", f"{one.magnitude:.4g}"]
        state = ["-" if one.registers is None else str(one.registers), f"{one.table_bytes or 0:g}"]
        counts = (one.state_bits, one.operations, *((one.stages, one.stateful_alus) if counted_stages else ()))
        state += ["-" if count is None else str(count) for count in counts]
        found.append([one.scheduler, str(one.score), *measured, *order, *state, settings_text(one)])
    lost = [share_text(share, 2) for share in (advice.ideal_dropped_share, advice.ideal_dropped_bytes_share)]
    found.append(
        ["PIFO, the ideal", str(advice.ideal), "", "0.00%", *lost, "0.00%", "0", "0", *[""] * (len(headings) - 9)]
    )
    return headings, found


def _table(advice: Advice) -> str:
    headings, found = rows(advice)
    names = [info.ideal(), *(one.scheduler for one in advice.ranking)]
    # The last row is that of the ideal, under a longer name.
    cells = [[html.scheduler_name(row[0], names), *row[1:-1], html.words(row[-1])] for row in found[:-1]]
    return html.table(headings, [*cells, [html.scheduler_name(info.ideal(), names), *found[-1][1:]]])
