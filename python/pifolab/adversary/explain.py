"""Witnesses in words: which packets were delayed or dropped, by which decision, and the values in its rule."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pifolab.quantities import number

if TYPE_CHECKING:
    from pifolab.adversary.question import Answer

_REASONS = {
    "admission": "refused by the admission test",
    "aqm": "dropped by queue management",
    "full": "dropped because there was no room for it",
    "pushed-out": "pushed out",
    "rank-out-of-range": "refused because its rank is out of range",
}


def names(answer: Answer) -> dict[str, str]:
    """Return the names of the sides."""
    named = {}
    for side in ("a", "b"):
        given = answer.question[side]
        if given is not None:
            named[side] = given[0] if isinstance(given[1], dict) else given[1]
    if len(named) == 2 and named["a"] == named["b"]:
        return {side: f"{name} ({side})" for side, name in named.items()}
    return named


def explain(answer: Answer) -> str:
    """Return the explanation, a paragraph for each scheduler."""
    story = answer.story()
    sides = names(answer)
    verdict = "proven to be the largest" if answer.proven else "the largest found"
    against = f" - {answer.question['metric']}({sides['b']})" if "b" in sides else ""
    head = f"{answer.question['metric']}({sides['a']}){against} = {number(answer.gap)}, {verdict}"
    if answer.bound is not None and not answer.proven:
        head += f" (no trace has more than {number(answer.bound)})"
    lines = [f"{head}, with the ranks {', '.join(map(str, answer.trace))}."]
    if answer.start_window is not None:
        lines.append(f"Windows start with {', '.join(map(str, answer.start_window))}, oldest first.")
    for side, name in sides.items():
        lines += ["", *_side(name, answer.trace, story[side], answer.question["metric"])]
    return "\n".join(lines)


def _side(name: str, trace: tuple[int, ...], told: dict[str, Any], metric: str) -> list[str]:
    moments = told["moments"]
    value = number(Fraction(*told["value"]))
    lines = [f"{name}: {metric} = {value}. It sends the ranks {', '.join(str(trace[p]) for p in told['sent'])}."]
    arrived: dict[int, tuple[int, dict[str, Any]]] = {}
    departed = 0
    overtaken: list[tuple[int, int, list[int]]] = []
    left: list[int] = []
    for place, moment in enumerate(moments[1:], start=1):
        event = moment["event"]
        if event in ("stored", "dropped"):
            arrived[moment["packet"]] = (departed, {**moment, "before": moments[place - 1]})
        if event == "dropped" or event == "given-up":
            packet = moment["packet"]
            seen = _seen(moments[place - 1], trace[packet])
            lines.append(f"  Packet {packet} of rank {trace[packet]} is {_REASONS[moment['reason']]}: {seen}.")
        for victim in moment.get("victims", ()):
            by = moment["packet"]
            lines.append(f"  Packet {victim} of rank {trace[victim]} is pushed out by packet {by} of rank {trace[by]}.")
        if event == "sent":
            packet = moment["packet"]
            before = [other for other in left[arrived[packet][0] :] if trace[other] > trace[packet]]
            if before:
                overtaken.append((len(before), packet, before))
            left.append(packet)
            departed += 1
    for count, packet, before in sorted(overtaken, key=lambda entry: (-entry[0], trace[entry[1]], entry[1])):
        stored = arrived[packet][1]
        ranks = ", ".join(str(trace[other]) for other in before)
        seen = _seen(stored["before"], trace[packet])
        went = f"It went to queue {stored['queue']}: {seen}"
        lines.append(f"  Packet {packet} of rank {trace[packet]} waits for {count} of a higher rank ({ranks}). {went}.")
    if len(lines) == 1:
        lines.append("  No packet is dropped, and none waits for a higher rank.")
    return lines


def _seen(moment: dict[str, Any], rank: int) -> str:
    """Return the scheduler's state before the packet arrived."""
    lengths = ", ".join(str(len(queue)) for queue in moment["queues"])
    parts = [f"the queues held {lengths}" if len(moment["queues"]) > 1 else f"{lengths} packets waited"]
    if any(bound is not None for bound in moment["bounds"]):
        parts.append("bounds " + ", ".join("-" if bound is None else str(bound) for bound in moment["bounds"]))
    if moment["window"]:
        lower = sum(held < rank for held in moment["window"])
        parts.append(
            f"window {', '.join(map(str, moment['window']))}, of which {lower} of {len(moment['window'])} are lower"
        )
    return "; ".join(parts)
