"""The page of the scorecard: one table of all schedulers."""

from pathlib import Path

from pifolab.store import Store
from written.scorecard import markdown, measured


def test_the_table_has_a_column_for_each_scheduler_and_what_a_switch_keeps(tmp_path: Path) -> None:
    result = measured(Store(tmp_path / "store"), 2, 0.002, ["uniform", "hadoop"], workers=2)
    lines = [line for line in markdown(result, 0.002).splitlines() if line.startswith("|")]
    head = [cell.strip() for cell in lines[0].split("|")[2:-1]]
    assert len(head) == 12
    assert all(line.count("|") == lines[0].count("|") for line in lines)
    cells = {line.split("|")[1].strip(): dict(zip(head, line.split("|")[2:-1], strict=True)) for line in lines[2:]}
    assert cells["registers"]["rifo"].strip() == "3"
    assert cells["state bits"]["packs"].strip() == str(1001 * 32)
    assert cells["operations"]["packs"].strip() == str(1000 + 8 + 2)
    assert cells["worst-case WI gap to PIFO"]["pifo"].strip() == "0"
    assert cells["registers"]["pifo"].strip() == cells["worst-case WD gap to PIFO"]["afq"].strip() == "-"
    assert float(cells["inversions (%), uniform"]["pifo"]) == 0
    assert "small FCT (ms), Hadoop" in cells
