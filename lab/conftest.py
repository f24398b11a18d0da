"""Puts this folder on the path of its tests: `slack` is imported from here."""
