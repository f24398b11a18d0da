"""The words of tables, figures and reports, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable

from pifolab.catalogue import COLUMNS
from pifolab.report import html
from pifolab.statistics import Verdict

#: By the name of the column that they go with, or their own: the word, and its meaning.
WORDS: dict[str, tuple[str, str]] = {
    "inversions": ("inversion", COLUMNS["inversions"]),
    "pairs": ("inverted pairs", COLUMNS["pairwise_inversions"]),
    "magnitude": ("magnitude", COLUMNS["inversion_magnitude"]),
    "misdrops": ("misdrop", COLUMNS["misdrops"]),
    "delta": ("Delta", COLUMNS["delta"]),
    "lowest_dropped_rank": ("lowest dropped rank", COLUMNS["lowest_dropped_rank"]),
    "sojourn_mean_ns": ("wait", COLUMNS["sojourn_mean_ns"]),
    "reordered_packets": ("reordered", COLUMNS["reordered_packets"]),
    "utilisation": ("utilisation", COLUMNS["utilisation"]),
    "jain": ("Jain index", "How equal shares are: 1 if all are equal, 1/n if one of n has everything."),
    "fct": ("FCT", COLUMNS["fct_ns"]),
    "completed_flows": ("slowdown", COLUMNS["slowdown"]),
    "common": (
        "complete under all",
        "Flows that every scheduler completed: means over them compare the same flows, means over the flows that each "
        "completed itself favour schedulers that leave slow flows unfinished.",
    ),
    "registers": (
        "registers",
        "Words of 32 bits that a switch would keep for the scheduler, counted from its algorithm.",
    ),
    "operations": (
        "operations",
        "Comparisons with registers, look-ups and changes of registers for one packet, in the most expensive case.",
    ),
    "worst": (
        "worst-case gap",
        "How much worse than PIFO it is on the traffic that is worst for it: the largest over all traces of eight "
        "packets with ranks 1 to 4 and six packets of buffer.",
    ),
    "interval": (
        "95 % interval",
        "Where the mean over all possible seeds lies, as far as these seeds can tell (bootstrap). Two schedulers whose "
        "intervals overlap may be equally good.",
    ),
    "interval_pieces": (
        "interval",
        "How far the mean of the five pieces of the second half may be from the mean over many such pieces.",
    ),
    "ratio": (
        "ratio",
        "One scheduler's number over another's, seed by seed, and the mean of these, with its interval.",
    ),
    "verdict_ratio": (
        ", ".join(verdict.of_numbers for verdict in (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.INCONCLUSIVE)),
        "All of the interval lies within what was stated, outside of it, or across its border.",
    ),
    "score": ("score", "What the objective counts, on the second half of the trace; less is better."),
    "tuned": ("tuned", "The score on the first half, for which the settings were chosen."),
    "verdict": (
        ", ".join((Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT_REPRODUCED)),
        "The mean lies within what the paper states and its tolerance; or the direction holds and the effect is of the "
        "same order (within a factor of four); or neither.",
    ),
    "inconclusive": (
        Verdict.INCONCLUSIVE.value,
        "The interval is wider than the accepted range and reaches into it: more seeds would decide.",
    ),
    "artefact": (
        "artefact",
        "The same claim, measured with the settings of the paper's public code instead of those of its text.",
    ),
    "authors": ("authors' data", "Whether the numbers that the authors published satisfy the claim."),
}


def glossary(names: Iterable[str]) -> str:
    """Return, as HTML, what the words mean; `names` are keys of `WORDS`."""
    rows = (WORDS[name] for name in names)
    return f"<dl>{''.join(f'<dt>{html.escape(word)}</dt><dd>{html.escape(text)}</dd>' for word, text in rows)}</dl>"
