"""The pages of the laboratory: every link leads to a file, and every page is in the table of README.md."""

import re
from pathlib import Path

import pytest

LAB = Path(__file__).parents[1]
PAGES = sorted(LAB.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def test_every_page_is_in_the_table() -> None:
    table = (LAB / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.parent.name == "pages" and f"(pages/{page.name})" not in table] == []
