"""Reproduces the figures and tables of five papers and judges every claim; see docs/reproduction.md."""

from pifolab.reproduce.registry import Claim, Registry, load_registry
from pifolab.reproduce.run import Reproduction, reproduce

__all__ = ["Claim", "Registry", "Reproduction", "load_registry", "reproduce"]
