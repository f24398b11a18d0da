"""The page of claims is what the stored claims say."""

import json
from pathlib import Path

from pifolab.reproduce.mutate import read_tried
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
    assert "- earlier, then: sp2, sp3" in page
