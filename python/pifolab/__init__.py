"""Programmable packet scheduling, from paper to packets.

A packet carries a rank; the smaller leaves first. The ideal scheduler is PIFO; FIFO ignores ranks; between them are the
approximations that real devices can run. Every scheduler has a class here, with the same interface:

>>> import pifolab
>>> pifo = pifolab.Pifo(capacity_packets=2)
>>> pifo.enqueue(7)
Admitted(queue=0, rank=7)
>>> pifo.enqueue(3)
Admitted(queue=0, rank=3)

It is full now. A better packet pushes the worst one out, a worse one is refused:

>>> pifo.enqueue(5).victims[0].rank
7
>>> pifo.enqueue(9).reason
'full'
>>> pifo.dequeue().rank, pifo.dequeue().rank, pifo.dequeue()
(3, 5, None)

`pifolab.schedulers()` and `pifolab.ranks()` list what there is, with every parameter, its unit, range and default.
"""

# Before anything calls the compiled part.
from pifolab import _utf_8  # noqa: F401
from pifolab._classes import *  # noqa: F403
from pifolab._classes import child, ranked, scheduler
from pifolab._pifolab import (
    Ack,
    Admitted,
    DequeuedMany,
    Dropped,
    EnqueuedMany,
    Evicted,
    NotBefore,
    Packet,
    Scheduler,
    Stream,
    Window,
    __version__,
)
from pifolab.adversary import attack
from pifolab.bounds import optimal_bounds
from pifolab.captures import summarise_trace
from pifolab.comparing import compare
from pifolab.custom import Facts, Flow, PythonController, PythonObserver, PythonRank, PythonScheduler
from pifolab.errors import InputError, InternalError, ParameterError, PifolabError
from pifolab.info import Info, Param, explain, ranks, schedulers, topologies, transports
from pifolab.runs import Observed, Progress, Run, run, run_text

__all__ = [
    "Ack",
    "Admitted",
    "DequeuedMany",
    "Dropped",
    "EnqueuedMany",
    "Evicted",
    "Facts",
    "Flow",
    "Info",
    "InputError",
    "InternalError",
    "NotBefore",
    "Observed",
    "Packet",
    "Param",
    "ParameterError",
    "PifolabError",
    "Progress",
    "PythonController",
    "PythonObserver",
    "PythonRank",
    "PythonScheduler",
    "Run",
    "Scheduler",
    "Stream",
    "Window",
    "__version__",
    "attack",
    "child",
    "compare",
    "explain",
    "optimal_bounds",
    "ranked",
    "ranks",
    "run",
    "run_text",
    "scheduler",
    "schedulers",
    "summarise_trace",
    "topologies",
    "transports",
]

# A class for every scheduler of the library.
__all__ += [about.class_name for about in schedulers()]


def __dir__() -> list[str]:
    """Return the public names; modules of the package are available once they are imported."""
    return sorted(__all__)
