"""Figures that a paper could print: PNG, SVG and PDF, one colour per scheduler everywhere."""

from pifolab.figures.palette import Look, look
from pifolab.figures.style import figure_style, save

__all__ = ["Look", "figure_style", "look", "save"]
