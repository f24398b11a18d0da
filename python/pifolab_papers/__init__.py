"""Reproduces the figures and tables of papers and judges every claim; see docs/reproduction.md."""

from pifolab_papers.outside import disagreements, load_paper, mismatches, write_vectors
from pifolab_papers.registry import Claim, Registry, load_registry
from pifolab_papers.run import Reproduction, reproduce

__all__ = [
    "Claim", "Registry", "Reproduction", "disagreements", "load_paper", "load_registry", "mismatches", "reproduce",
    "write_vectors",
]  # fmt: skip
