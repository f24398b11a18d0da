"""What `pifolab demo` shows: one command, and every scheduler at work."""

from pifolab.demo.motivating import SEQUENCE, Course, motivating_example

__all__ = ["SEQUENCE", "Course", "motivating_example"]
