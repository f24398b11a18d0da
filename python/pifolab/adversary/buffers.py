"""Give both schedulers of a search one buffer, since a gap between two sizes shows nothing about their rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pifolab import _pifolab, info
from pifolab._utf_8 import wants_utf_8
from pifolab.errors import PifolabError, parameter_error
from pifolab.scenario import own_buffer

_KEYS = ("capacity_packets", "capacity_bytes", "queue_capacity_packets", "queue_capacity_bytes")

Side = tuple[str | Callable[[], Any], dict[str, Any]]


def equal_buffers(sides: list[Side], packets: int | None) -> str | None:
    """Give every side without its own capacity the buffer of `packets`; return a line if the buffers still differ.

    The parameters in `sides` are completed. Without `packets` the buffer is that of the side with its own capacity; if
    neither has one, the default of the side with several queues.
    """
    free = [side for side in sides if not any(side[1].get(key) is not None for key in _KEYS)]
    if packets is not None:
        for scheduler, options in free:
            options.update(_divided(scheduler, options, packets, strict=True))
    elif len(sides) == 2 and free and _room(*sides[0]) != _room(*sides[1]):
        given = [side for side in sides if side not in free] or sorted(sides, key=_queues, reverse=True)
        room = _room(*given[0])
        for scheduler, options in free:
            if isinstance(room, int) and options is not given[0][1]:
                options.update(_divided(scheduler, options, room, strict=False))
    rooms = [_room(*side) for side in sides]
    if len(sides) < 2 or None in rooms or rooms[0] == rooms[1]:
        return None
    names = [scheduler if isinstance(scheduler, str) else _name(scheduler) for scheduler, _ in sides]
    (a, b), (one, other) = names, [f"{room} packets" if isinstance(room, int) else room for room in rooms]
    return f"the buffers differ: {a} has {one}, {b} {other}; the gap is also one of buffers"


def _room(scheduler: str | Callable[[], Any], options: dict[str, Any]) -> int | str | None:
    """Return the capacity in packets, or as a text in bytes; None if it is not known."""
    if not isinstance(scheduler, str):
        packets = options.get("capacity_packets")
        return packets if isinstance(packets, int) else None
    made = _made(scheduler, options)
    if made is None:
        return None
    if made.capacity_packets is not None:
        return int(made.capacity_packets)
    return None if made.capacity_bytes is None else f"{made.capacity_bytes} bytes"


def _queues(side: Side) -> int:
    scheduler, options = side
    made = _made(scheduler, options) if isinstance(scheduler, str) else None
    return 1 if made is None else len(made.queue_lengths)


def _made(scheduler: str, options: dict[str, Any]) -> _pifolab.Scheduler | None:
    """Return the scheduler; None if it cannot be made: the search then reports why."""
    try:
        return wants_utf_8(_pifolab.Scheduler)(scheduler, options)
    except PifolabError:
        return None


def _divided(scheduler: str | Callable[[], Any], options: dict[str, Any], packets: int, strict: bool) -> dict[str, Any]:
    """Return the parameters of a buffer of `packets`; empty if there are none, unless `strict`."""
    if not isinstance(scheduler, str):
        given = own_buffer(scheduler, packets, options.get("queues")) if isinstance(scheduler, type) else {}
        given = {key: value for key, value in given.items() if key in _KEYS}
        if strict and not given:
            problem = f": {_name(scheduler)} has no parameter capacity_packets"
            raise parameter_error("buffer_packets", problem, value=packets)
        return given
    known = {param.name for param in info.scheduler(scheduler).params}
    if "queue_capacity_packets" not in known:
        if strict and "capacity_packets" not in known:
            raise parameter_error("buffer_packets", f": {scheduler} has no capacity_packets", value=packets)
        return {"capacity_packets": packets} if "capacity_packets" in known else {}
    queues = _queues((scheduler, options))
    each, rest = divmod(packets, queues)
    if rest or not each:
        if strict:
            raise parameter_error("buffer_packets", f": expected a multiple of the {queues} queues", value=packets)
        return {}
    return {"queue_capacity_packets": each}


def _name(scheduler: Callable[[], Any]) -> str:
    return getattr(scheduler, "__name__", "the scheduler in Python")
