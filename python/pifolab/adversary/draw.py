"""Draws witnesses step by step: the packets in each scheduler after every arrival and departure."""

from __future__ import annotations

import io
import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab.adversary.explain import explain, names
from pifolab.errors import InputError
from pifolab.export import write_text
from pifolab.figures.style import figure_style, save, subplots
from pifolab.folder import check_replaceable
from pifolab.lazy import mpl
from pifolab.quantities import number
from pifolab.report.html import Section, escape, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pifolab.adversary.question import Answer

FORMATS = ("png", "svg", "pdf", "html")
#: The most steps whose columns can be read.
MOST_STEPS = 400


def check_drawing(path: Path) -> None:
    """Refuse a name under which no drawing can be written; its ending is the format."""
    if path.suffix.removeprefix(".") not in FORMATS:
        raise InputError(f"{path}: expected a file name that ends in {', '.join('.' + known for known in FORMATS)}")
    check_replaceable(path)


def draw(answer: Answer, path: str | os.PathLike[str]) -> list[Path]:
    """Write the drawing; the ending of `path` is the format."""
    path = Path(path)
    check_drawing(path)
    ending = path.suffix.removeprefix(".")
    story = answer.story()
    steps = max(len(story[side]["moments"]) for side in names(answer))
    if steps > MOST_STEPS:
        raise InputError(
            f"{path}: {steps} steps cannot be drawn: expected at most {MOST_STEPS}; shrink the trace first"
        )
    drawing = figure(answer, story)
    if ending != "html":
        return save(drawing, path.with_suffix(""), [ending])
    return [_page(answer, drawing, path)]


def figure(answer: Answer, story: dict[str, Any]) -> Figure:
    """Return the figure: a panel for each scheduler, a column for each step."""
    sides = names(answer)
    low, high = answer.question["lowest"], answer.question["highest"]
    scale = mpl.colormaps["viridis"]
    shade = {rank: scale(0.15 + 0.85 * (rank - low) / max(high - low, 1)) for rank in set(answer.trace)}
    steps = max(len(story[side]["moments"]) for side in sides)
    depths = {side: _depths(story[side]["moments"]) for side in sides}
    heights = [sum(depths[side]) + 0.6 * len(depths[side]) + 2.6 + _below(story[side]["moments"]) for side in sides]
    size = (max(0.27 * steps + 1.2, 4.5), 0.16 * sum(heights) + 1.0)
    with figure_style():
        drawing, axes = subplots(
            len(sides), 1, figsize=size, layout="constrained", squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for axis, side in zip(axes[:, 0], sides, strict=True):
            _panel(axis, answer, story[side], depths[side], shade)
            value = number(Fraction(*story[side]["value"]))
            axis.set_title(f"{sides[side]}: {answer.question['metric']} = {value}", loc="left", fontweight="bold")
            axis.set_xlim(-0.6, steps - 0.4)
        axes[-1, 0].set_xlabel("step: +r a packet of rank r arrives, -r it leaves, x it is dropped")
    return drawing


def _depths(moments: list[dict[str, Any]]) -> list[int]:
    """Return the most packets that each queue holds, at least one."""
    queues = range(len(moments[0]["queues"]))
    return [max(1, *(len(moment["queues"][queue]) for moment in moments)) for queue in queues]


def _below(moments: list[dict[str, Any]]) -> float:
    """Return the room that bounds and window take below the queues, in packets."""
    bounds = any(bound is not None for bound in moments[0]["bounds"]) * len(moments[0]["bounds"])
    window = max(min(len(moment["window"]), 8) for moment in moments)
    lines = bounds + window + (1 if bounds and window else 0)
    return 0.4 + 0.62 * lines


def _panel(axis: Any, answer: Answer, told: dict[str, Any], depths: list[int], shade: dict[int, Any]) -> None:
    trace = answer.trace
    tops = []
    top = 0.0
    for depth in depths:
        tops.append(top)
        top += depth + 0.6
    small = {"ha": "center", "va": "center", "fontsize": 5}
    for step, moment in enumerate(told["moments"]):
        for queue, held in enumerate(moment["queues"]):
            for place, packet in enumerate(held):
                rank = trace[packet]
                red, green, blue, _ = shade[rank]
                ink = "black" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white"
                y = tops[queue] + place
                axis.add_patch(_cell(step, y, shade[rank]))
                axis.text(step, y, str(rank), color=ink, **small)
        event = moment["event"]
        if "packet" in moment:
            rank = trace[moment["packet"]]
            mark, ink = {
                "stored": (f"+{rank}", "black"),
                "dropped": (f"+{rank}\nx", "#cc3311"),
                "given-up": (f"{rank}\nx", "#cc3311"),
                "sent": (f"-{rank}", "#0077bb"),
            }[event]
            lost = "".join(f"\nx{trace[victim]}" for victim in moment.get("victims", ()))
            axis.text(step, -1.4, mark + lost, color="#cc3311" if lost else ink, **small)
        notes = []
        if any(bound is not None for bound in moment["bounds"]):
            notes.append("\n".join("-" if bound is None else str(bound) for bound in moment["bounds"]))
        if moment["window"]:
            notes.append("\n".join(map(str, moment["window"][-8:])))
        if notes:
            axis.text(step, top + 0.2, "\n·\n".join(notes), ha="center", va="top", fontsize=4, color="#555555")
    axis.set_ylim(top + _below(told["moments"]), -2.6)
    axis.set_xticks([])
    labels = [f"queue {queue}" for queue in range(len(depths))] if len(depths) > 1 else ["queue"]
    has_bounds = any(bound is not None for bound in told["moments"][0]["bounds"])
    has_window = any(moment["window"] for moment in told["moments"])
    below = " · ".join(word for word, there in (("bounds", has_bounds), ("window", has_window)) if there)
    ticks = tops + ([top + 0.6] if below else [])
    axis.set_yticks(ticks, labels + ([below] if below else []))
    axis.grid(visible=False)


def _cell(x: float, y: float, colour: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, facecolor=colour, edgecolor="none")


def _page(answer: Answer, drawing: Figure, path: Path) -> Path:
    """Write one self-contained page with the drawing and the explanation."""
    buffer = io.BytesIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue().decode()
    svg = svg[svg.index("<svg") :]
    named = names(answer)
    title = f"The worst trace for {named['a']}" + (f" against {named['b']}" if "b" in named else "")
    lead = explain(answer).splitlines()[0]
    sections = [
        Section("Step by step", [f'<div class="wide">{svg}</div>']),
        Section("What happened", [f'<pre style="white-space: pre-wrap">{escape(explain(answer))}</pre>']),
    ]
    write_text(page(title, lead, sections), path)
    return path
