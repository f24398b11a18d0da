"""The options about figures, for every command that draws: which schedulers, their labels, scales, size."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from pifolab import _pifolab
from pifolab.cli.parser import Parser, pair_of
from pifolab.errors import InputError
from pifolab.figures.choice import FigureChoice

_SCALES = ("linear", "log")

#: The limits of the width and height of a figure, in inches.
_SMALLEST, _LARGEST = 1, 40


def add_figure_options(
    parser: Parser,
    *,
    drawn: str | None,
    label: str,
    about: str = "",
    of_curves: str = "",
) -> None:
    """Declare the options.

    `drawn` and `label` are the help of ``--draw`` (None: the command has none) and of ``--label``; the help of the
    others begins with `about`, and `of_curves` names the figures that have scales.
    """
    if drawn is not None:
        parser.add_argument("--draw", metavar="A,B,...", help=drawn)
    parser.add_argument("--label", action="append", metavar="NAME=TEXT", help=label)
    parser.add_argument("--x-scale", choices=_SCALES, metavar="SCALE", help=f"{about}linear or log{of_curves}")
    parser.add_argument("--y-scale", choices=_SCALES, metavar="SCALE", help=f"{about}linear or log{of_curves}")
    parser.add_argument("--size", metavar="WxH", help=f"{about}width and height in inches, such as 3.4x2.2")


def figure_choice(arguments: argparse.Namespace, known: Callable[[], Sequence[str]] | None = None) -> FigureChoice:
    """Return what was chosen for the figures of a run.

    `known` returns the schedulers of the run. Without it the command checks ``--draw`` and the names of labels.
    """
    schedulers, named = None, labels(arguments.label)
    of_figures = getattr(arguments, "draw", None)
    if known is not None and (of_figures or named):
        names = known()
        schedulers = chosen_schedulers(of_figures, names) if of_figures else None
        for name in named:
            if name not in names:
                raise InputError(f"--label {name}: {_pifolab.unknown_name('scheduler', name, list(names))}")
    return FigureChoice(schedulers, named, arguments.x_scale, arguments.y_scale, size(arguments.size))


def chosen_schedulers(listed: str, known: Sequence[str]) -> list[str]:
    """Return the names of ``--draw``, which must be in `known`."""
    names = [name.strip() for name in listed.split(",")]
    for name in names:
        if name not in known:
            raise InputError(f"--draw: {_pifolab.unknown_name('scheduler', name, list(known))}")
    return names


def labels(texts: Sequence[str] | None) -> dict[str, str]:
    """Return the values of ``--label``.

    Examples
    --------
    >>> labels(["packs=PACKS (ours)"])
    {'packs': 'PACKS (ours)'}
    """
    found = {}
    for text in texts or []:
        form = "NAME=TEXT, such as packs=PACKS (ours)"
        name, label = pair_of("--label", text, form)
        if not label:
            raise InputError(f"--label {text}: expected {form}")
        found[name] = label
    return found


def size(text: str | None) -> tuple[float, float] | None:
    """Return width and height of ``--size``.

    Examples
    --------
    >>> size("3.4x2.2")
    (3.4, 2.2)
    """
    if text is None:
        return None
    try:
        width, height = (float(number) for number in text.lower().split("x"))
    except ValueError:
        width = height = 0.0
    if not (_SMALLEST <= width <= _LARGEST and _SMALLEST <= height <= _LARGEST):
        raise InputError(
            f"--size {text}: expected WIDTHxHEIGHT in inches, each from {_SMALLEST} to {_LARGEST}, such as 3.4x2.2"
        )
    return width, height
