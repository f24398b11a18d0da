"""What each leaf of a tree gets: flows by the path of the leaf that takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

__all__ = ["by_path", "leaves_of"]

#: What a leaf takes that takes all that no other leaf takes.
_REST = "rest"


def leaves_of(scheduler: Mapping[str, Any], workload: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the flows that each leaf of a tree takes, by its path.

    Parameters
    ----------
    scheduler : mapping
        The tree as the manifest has it, with `child` and `classify`.
    workload : sequence of mapping
        The sources of the workload as the manifest has them: source i has the class i, and its `flows` come after those
        of the sources before.

    Returns
    -------
    dict of str to list of int
        Leaves in the order of the tree. Empty if the tree has no `child`, or sorts packets by what the manifest does
        not know.
    """
    classify = scheduler.get("classify", "flow")
    if not scheduler.get("child") or classify not in ("flow", "class"):
        return {}
    ends = [0]
    for source in workload:
        ends.append(ends[-1] + int(source.get("flows", 1)))
    if classify == "flow":
        flows = {flow: [flow] for flow in range(ends[-1])}
    else:
        flows = {place: list(range(first, last)) for place, (first, last) in enumerate(pairwise(ends))}
    named = dict(_named(scheduler.get("classes") or ()))
    leaves = list(_leaves(scheduler["child"], ""))
    taken: dict[str, set[int]] = {}
    for path, takes in leaves:
        taken[path] = {value for text in takes if text != _REST for value in _values(text, named) if value in flows}
    left = set(flows) - set().union(*taken.values())
    for path, takes in leaves:
        if _REST in takes or (len(leaves) == 1 and not takes):
            taken[path] = left
    return {path: [flow for value in sorted(values) for flow in flows[value]] for path, values in taken.items()}


def by_path(throughput: pl.DataFrame, leaves: Mapping[str, Sequence[int]]) -> pl.DataFrame:
    """Return the table `throughput` with the position of a leaf in the place of each flow that it takes.

    Parameters
    ----------
    throughput : polars.DataFrame
        Columns `start_ns` (int), `flow` (int), `bytes` (int), and others.
    leaves : mapping of str to sequence of int
        What `leaves_of` returns.
    """
    rows = [(flow, place) for place, flows in enumerate(leaves.values()) for flow in flows]
    places = pl.DataFrame(rows, schema={"flow": pl.Int64, "leaf": pl.Int64}, orient="row")
    joined = throughput.join(places, on="flow").drop("flow").rename({"leaf": "flow"})
    keys = [column for column in joined.columns if column != "bytes"]
    return joined.group_by(keys, maintain_order=True).agg(pl.col("bytes").sum())


def _leaves(children: Sequence[Mapping[str, Any]], path: str) -> Iterator[tuple[str, list[int | str]]]:
    for place, node in enumerate(children):
        here = f"{path}{node.get('label', place)}"
        if "child" in node:
            yield from _leaves(node["child"], f"{here}/")
        else:
            takes = node.get("takes", [])
            yield here, list(takes) if isinstance(takes, list) else [takes]


def _named(classes: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in classes:
        name, _, values = text.partition("=")
        yield name.strip(), values.strip()


def _values(text: int | str, named: Mapping[str, str]) -> range:
    if isinstance(text, int):
        return range(text, text + 1)
    first, _, last = named.get(text, text).partition("-")
    return range(int(first), int(last or first) + 1)
