"""Figures of claims: an axis with its unit, a legend without doubles, and every number within the picture."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure

from pifolab_papers.claim_figure import draw_claim, numbers_of

STORED = Path(__file__).parents[2] / "docs" / "reproduction.json"
CLAIMS = {one["id"]: one for one in json.loads(STORED.read_text(encoding="utf-8"))["claims"]}
KEYS = ("value", "low", "high", "paper_low", "paper_high", "accepted_low", "accepted_high")


def drawn_part(draw: random.Random, what: str, unit: str, scale: float) -> dict[str, Any]:
    value, paper = (draw.choice((-1, 1, 1, 1)) * scale * 10 ** draw.uniform(-2, 2) for _ in range(2))
    value = draw.choice((0.0, value, value, value))
    width, more = abs(value) * draw.choice((0.0, 0.1, 0.8)), abs(paper) * draw.random()
    part = {"what": what, "unit": unit, "value": value, "low": value - width, "high": value + width}
    part |= {"paper_low": paper, "paper_high": paper + draw.choice((0.0, more))}
    part |= {"accepted_low": part["paper_low"] - more / 2, "accepted_high": part["paper_high"] + more / 2}
    side = draw.choice((None, None, "low", "high"))
    if side is not None:
        part |= {f"paper_{side}": None, f"accepted_{side}": None}
    if draw.random() < 0.2:
        part |= {"low": None, "high": None}
    return part


def drawn_claim(seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    units = draw.sample(["x", "%", "", "ms", "yes/no", "packets"], draw.randint(1, 4))
    parts = [
        drawn_part(
            draw,
            f"number {at} {'of a long name ' * draw.choice((0, 0, 6))}",
            draw.choice(units),
            10 ** draw.uniform(-6, 6),
        )
        for at in range(draw.randint(1, 12))
    ]
    others = [drawn_part(draw, one["what"], one["unit"], 1.0) for one in parts if draw.random() < 0.5]
    return {"id": "c1", "figure": "Fig. 1", "parts": parts, "parts_artefact": others,
            "second": draw.choice(("artefact", "reading"))}  # fmt: skip


def look_of(handle: Any) -> tuple[str, str]:
    """Return colour and marker of an entry of a legend."""
    if isinstance(handle, BarContainer):
        return to_hex(handle.patches[0].get_facecolor()), "bar"
    line = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
    return to_hex(line.get_color()), str(line.get_marker())


def check(claim: dict[str, Any], figure: Figure) -> None:
    parts = numbers_of(claim)
    others = {one["what"]: one for one in claim["parts_artefact"] if one["value"] is not None}
    assert [axes.get_xlabel() for axes in figure.axes] == [
        {"x": "ratio", "": "value"}.get(unit, unit) for unit in dict.fromkeys(part["unit"] for part in parts)
    ]
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    entries = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in figure.axes]
    looks = {name: look_of(handle) for own in entries for handle, name in own}
    assert len(set(names)) == len(names) == len(looks) == len(set(looks.values()))
    assert len(names) == 3 + any(part["what"] in others for part in parts)
    axes_of = dict(zip(dict.fromkeys(part["unit"] for part in parts), figure.axes, strict=True))
    for unit, axes in axes_of.items():
        own = [part for part in parts if part["unit"] == unit]
        assert len(axes.get_yticks()) == len(own)
        low, high = axes.get_xlim()
        for part in own:
            for one in (part, others.get(part["what"], part)):
                assert all(low < one[key] < high for key in KEYS if one[key] is not None)
        assert points(axes) == sorted(
            one["value"] for part in own for one in (part, others.get(part["what"])) if one is not None
        )


def points(axes: Axes) -> list[float]:
    found = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    return sorted(float(one.lines[0].get_xdata()[0]) for one in found)


@pytest.mark.parametrize("seed", range(15))
def test_every_drawn_number_is_in_the_picture_and_every_entry_of_the_legend_has_its_own_look(seed: int):
    claim = drawn_claim(seed)
    figure = draw_claim(claim)
    assert (figure is None) == (not numbers_of(claim))
    if figure is not None:
        check(claim, figure)
        figure.canvas.draw()


@pytest.mark.parametrize("name", ["sp1", "pk6", "pk3", "hw2"])
def test_stored_claims_are_drawn_as_they_are(name: str):
    figure = draw_claim(CLAIMS[name])
    assert figure is not None
    check(CLAIMS[name], figure)


def test_a_claim_of_yes_and_no_has_no_figure():
    assert draw_claim(CLAIMS["sp8"]) is None
