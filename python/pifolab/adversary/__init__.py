"""The adversary: the packet trace on which one scheduler does worst against another, found, shrunk and explained.

docs/attack.md describes metrics, methods and constraints.
"""

from pifolab.adversary.question import Answer, attack, metrics

__all__ = ["Answer", "attack", "metrics"]
