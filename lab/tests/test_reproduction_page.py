"""The page of claims is what the stored claims say."""

import json
import re
from pathlib import Path

from pifolab_papers.mutate import read_tried
from written.reproduction import markdown

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_claims_is_that_of_the_stored_ones() -> None:
    found = json.loads((DOCS / "reproduction.json").read_text(encoding="utf-8"))
    tried = read_tried(DOCS / "mutants.json")
    assert tried
    assert markdown(found, tried) == (DOCS / "reproduction.md").read_text(encoding="utf-8")


def test_a_run_of_today_and_provisional_verdicts_are_told() -> None:
    found = json.loads((DOCS / "reproduction.json").read_text(encoding="utf-8"))
    found["claims"][0]["provisional"] = True
    found["revisions"] = {found["revision"]: ["sp1"], "then": [one["id"] for one in found["claims"][1:]]}
    page = markdown(found)
    assert f"1 of {len(found['claims'])} verdicts is provisional." in page
    assert f"- this run ({found['revision']}): sp1." in page
    assert "- earlier, then: all other claims." in page


def test_each_claim_has_one_verdict_and_the_rest_is_folded() -> None:
    found = json.loads((DOCS / "reproduction.json").read_text(encoding="utf-8"))
    open_part, *folded = markdown(found).split("<details>")
    rows = [line.split(" | ") for line in open_part.splitlines() if re.match(r"\| [a-z]+\d+ \|", line)]
    assert [row[0].strip("| ") for row in rows] == [claim["id"] for claim in found["claims"]]
    for row, claim in zip(rows, found["claims"], strict=True):
        verdict = row[3].strip("| ")
        assert verdict.split(" (")[0] == claim["verdict"]
        # No statement stands twice.
        assert not any(claim["statement"] in part for part in folded)
    for line in folded[-1].splitlines():
        if re.match(r"\| [a-z]+\d+ \|", line):
            assert len(re.findall(r"[.:] (?=[A-Z])", line.split(" | ")[3])) <= 2
