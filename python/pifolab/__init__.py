"""Programmable packet scheduling, from paper to packets."""
