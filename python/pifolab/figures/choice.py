"""A user's choices for figures: schedulers, labels, scales, and the size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pifolab.figures.style import quantity, readable_log
from pifolab.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scale = Literal["linear", "log"]

_LABELS: ContextVar[Mapping[str, str]] = ContextVar("labels")


@dataclass(frozen=True)
class FigureChoice:
    """The choices for the figures of a run.

    Attributes
    ----------
    schedulers : sequence of str or None
        Only these, in this order. None: all.
    labels : mapping of str to str
        The labels of schedulers, by their name or label in the scenario.
    x_scale, y_scale : "linear", "log" or None
        The axes of figures that draw a number against another. None: chosen by the data. An axis that has the value 0
        is linear from 0 to 1, and logarithmic above.
    size : pair of float or None
        Width and height of each figure in inches.
    """

    schedulers: Sequence[str] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    x_scale: Scale | None = None
    y_scale: Scale | None = None
    size: tuple[float, float] | None = None

    def applied(self, figure: Figure, *, scales: bool) -> None:
        """Change the size of `figure`, and with `scales` the scales of its axes."""
        if self.size is not None:
            figure.set_size_inches(*self.size)
            # Everything drawn stays within that size.
            figure.set_layout_engine("constrained")
        if scales:
            for axes in figure.axes:
                _rescale(axes, "x", self.x_scale)
                _rescale(axes, "y", self.y_scale)


@contextmanager
def with_labels(labels: Mapping[str, str]) -> Iterator[None]:
    """Use `labels` for schedulers in all figures drawn within this block."""
    token = _LABELS.set(labels)
    try:
        yield
    finally:
        _LABELS.reset(token)


def chosen_label(name: str) -> str | None:
    """Return the user's label of the scheduler `name`, escaped for figures; None if there is none."""
    label = _LABELS.get({}).get(name)
    return None if label is None else drawn(label)


def _rescale(axes: Axes, which: Literal["x", "y"], scale: Scale | None) -> None:
    from matplotlib.ticker import AutoLocator, FuncFormatter, NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    if scale is None or axis.get_scale() == scale:
        return
    if scale == "linear":
        (axes.set_xscale if which == "x" else axes.set_yscale)("linear")
        axis.set_major_locator(AutoLocator())
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: quantity(value)))
        return
    if axis.get_scale() == "linear":
        smallest = axes.dataLim.x0 if which == "x" else axes.dataLim.y0
        if smallest > 0:
            (axes.set_xlim if which == "x" else axes.set_ylim)(smallest / 1.2 if which == "y" else smallest, None)
        readable_log(axes, which, from_zero=smallest <= 0)
