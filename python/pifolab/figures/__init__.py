"""Figures that a paper could print: PNG, SVG and PDF, one colour per scheduler everywhere."""

from pifolab.figures.curves import against, by_queue, cdf, fct_against_load, fct_by_size
from pifolab.figures.over_time import (
    arrival_order,
    fairness,
    fairness_over_time,
    occupancy_over_time,
    throughput_over_time,
)
from pifolab.figures.palette import Look, look
from pifolab.figures.style import figure_style, save

__all__ = [
    "Look",
    "against",
    "arrival_order",
    "by_queue",
    "cdf",
    "fairness",
    "fairness_over_time",
    "fct_against_load",
    "fct_by_size",
    "figure_style",
    "look",
    "occupancy_over_time",
    "save",
    "throughput_over_time",
]
