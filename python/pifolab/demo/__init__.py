"""The content of `pifolab demo`: one command that runs every scheduler."""

from pifolab.demo.motivating import SEQUENCE, Course, motivating_example

__all__ = ["SEQUENCE", "Course", "motivating_example"]
