"""The table that a run prints on the terminal."""

from __future__ import annotations

from pifolab.cli.rows import print_rows
from pifolab.runs import Run
from pifolab.text import wrapped

#: The columns of a first comparison.
_FIRST = (
    ("sent_packets", "sent"),
    ("dropped_packets", "dropped"),
    ("lowest_dropped_rank", "lowest dropped rank"),
    ("inversions", "inversions"),
    ("misdrops", "misdrops"),
    ("delta", "delta"),
    ("sojourn_mean_ns", "mean wait"),
)


def print_short_table(result: Run) -> None:
    """Print the main numbers of each scheduler with their meanings."""
    from pifolab.catalogue import columns
    from pifolab.report.run import summary_rows

    schedulers, meanings = result.tables["schedulers"], columns()
    print_rows(*summary_rows(schedulers, _FIRST), broken=True)
    print()
    width = max(len(heading) for _, heading in _FIRST)
    for column, heading in _FIRST:
        if schedulers[column].null_count() < schedulers.height:
            print(wrapped(f"{heading:{width}}  {meanings[column]}", indent=width + 2))
    print("\nAll columns, state and operations: --all, and the report.")


def print_table(result: Run) -> None:
    """Print the main numbers of each scheduler, and of a network the completion times, of one link drops and state."""
    from pifolab.report.judged import judged_rows
    from pifolab.report.run import fct_rows, summary_rows

    print_rows(*summary_rows(result.tables["schedulers"]), broken=True)
    if "fct" in result.tables:
        print()
        print_rows(*fct_rows(result.tables["fct"], result.common_flows()), keys=2, broken=True)
    if result.manifest["kind"] != "network":
        print()
        print_rows(*judged_rows(result), broken=True)
