"""Every line of the page of guarantees is of its form and names a test; the runner notices what did not run."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.form
_spec = importlib.util.spec_from_file_location("test_guarantees_runner", ROOT / "scripts" / "test_guarantees.py")
assert _spec is not None
assert _spec.loader is not None
runner = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = runner
_spec.loader.exec_module(runner)

PAGE = "".join(
    f"## {room}\n\n- **It holds.** `pifolab-sched::a_test`,\n  `dataplane/linux another`\n\n" for room in runner.ROOMS
)


def test_every_guarantee_of_the_page_names_tests_that_exist():
    guarantees = runner.read((ROOT / "lab" / "guarantees.md").read_text())
    absent = runner.missing([test for guarantee in guarantees for test in guarantee.tests])
    assert not absent, f"lab/guarantees.md names tests that do not exist: {', '.join(map(str, absent))}"


def test_a_guarantee_may_name_several_tests_on_several_lines():
    guarantees = runner.read(PAGE)
    assert [guarantee.room for guarantee in guarantees] == list(runner.ROOMS)
    assert guarantees[0].tests == (runner.Test("pifolab-sched", "a_test"), runner.Test("dataplane/linux", "another"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("- **It holds.**", "- It holds.", "line 3: expected"),
        ("`pifolab-sched::a_test`", "`sched a_test`", "line 3: `sched a_test` names no test"),
        ("It holds.", "It holds", "line 3: expected"),
        ("## Library", "## Libraries", "expected the headings Library, "),
        ("- **It holds.** `pifolab-sched::a_test`,\n  `dataplane/linux another`\n", "", "at least one guarantee"),
    ],
)
def test_a_line_of_another_form_is_named(old, new, said):
    with pytest.raises(runner.BadPageError, match=said):
        runner.read(PAGE.replace(old, new, 1))


def test_a_test_that_does_not_exist_is_found():
    real = runner.Test("pifolab-sim", "watching_changes_nothing")
    names = [real, runner.Test("pifolab-sim", "watching_changes_noth"), runner.Test("python/tests/test_x.py", "test_x")]
    assert runner.missing(names) == names[1:]


def test_the_result_of_a_test_is_the_worst_of_those_by_its_name_and_ignored_is_not_run():
    output = (
        "test a::same ... ok\ntest b::same ... FAILED\ntest deep::slow ... ignored, takes minutes\n"
        "test panics - should panic ... ok\ntest result: FAILED. 2 passed\n"
    )
    assert runner.results_of_cargo(output) == {"same": "failed", "slow": "skipped", "panics": "passed"}


def test_a_skipped_python_test_did_not_run(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        "<testsuites><testsuite>"
        '<testcase classname="python.tests.test_a" name="test_x[1]"><skipped/></testcase>'
        '<testcase classname="python.tests.test_a" name="test_x[2]"/>'
        '<testcase classname="python.tests.test_a" name="test_y"><skipped/></testcase>'
        '<testcase classname="python.tests.test_a" name="test_z"><failure/></testcase>'
        "</testsuite></testsuites>"
    )
    file = "python/tests/test_a.py"
    results = {(file, "test_x"): "passed", (file, "test_y"): "skipped", (file, "test_z"): "failed"}
    assert runner.results_of_pytest(report) == results
