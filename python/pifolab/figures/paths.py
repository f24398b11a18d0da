"""The throughput of each leaf of a tree: flows by the path of their leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pifolab import _pifolab
from pifolab.lazy import pl


def leaves_of(scheduler: Mapping[str, Any], workload: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the flows that each leaf of a tree takes, by its path, in the order of the tree.

    `scheduler` and `workload` are as in the manifest: source i has the class i, and its `flows` come after those of the
    sources before. Empty if the tree has no `child`, or sorts packets by what the manifest does not have.
    """
    classify = scheduler.get("classify", "flow")
    if not scheduler.get("child") or classify not in ("flow", "class"):
        return {}
    if classify == "class" and any("trace" in source for source in workload):
        return {}
    ends = [0]
    for source in workload:
        ends.append(ends[-1] + int(source.get("trace_contents", source).get("flows", 1)))
    if classify == "flow":
        flows = [[flow] for flow in range(ends[-1])]
    else:
        flows = [list(range(first, last)) for first, last in pairwise(ends)]
    leaves = _pifolab.tree_leaves(scheduler["child"], list(scheduler.get("classes") or ()), len(flows))
    return {path: [flow for value in values for flow in flows[value]] for path, values in leaves}


def by_path(throughput: pl.DataFrame, leaves: Mapping[str, Sequence[int]]) -> pl.DataFrame:
    """Return the table `throughput` with each flow replaced by the position of its leaf in `leaves`."""
    rows = [(flow, place) for place, flows in enumerate(leaves.values()) for flow in flows]
    places = pl.DataFrame(rows, schema={"flow": pl.Int64, "leaf": pl.Int64}, orient="row")
    joined = throughput.join(places, on="flow").drop("flow").rename({"leaf": "flow"})
    keys = [column for column in joined.columns if column != "bytes"]
    return joined.group_by(keys, maintain_order=True).agg(pl.col("bytes").sum())
