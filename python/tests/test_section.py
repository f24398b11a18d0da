"""Tables that users write are read by one reader, and every error begins with where the key stands."""

import ast
import random
from pathlib import Path

import pytest

import pifolab
from pifolab.errors import InputError
from pifolab.section import Section, below

PACKAGE = Path(pifolab.__file__).parent


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (lambda one: one.text("n"), "t.toml: n = 3: expected a text"),
        (lambda one: one.text("no"), "t.toml: no: is missing"),
        (lambda one: one.text("empty", empty=False), "t.toml: empty = '': expected a non-empty text"),
        (lambda one: one.texts("n"), "t.toml: n = 3: expected a list of texts"),
        (lambda one: one.number("empty"), "t.toml: empty = '': expected a number"),
        (lambda one: one.number("yes"), "t.toml: yes = True: expected a number"),
        (lambda one: one.count("half"), "t.toml: half = 0.5: expected an integer >= 1"),
        (lambda one: one.count("n", least=4), "t.toml: n = 3: expected an integer >= 4"),
        (lambda one: one.flag("n"), "t.toml: n = 3: expected true or false"),
    ],
)
def test_a_value_of_another_kind_is_named_with_its_key(read, problem):
    table = {"n": 3, "empty": "", "yes": True, "half": 0.5}
    with pytest.raises(InputError) as raised:
        read(Section(below("t.toml", ": "), table, (*table, "no")))
    assert str(raised.value) == problem


def test_all_missing_keys_are_named_at_once_and_no_others():
    draw = random.Random(1)
    keys = ["metric", "of", "to", "name", "source", "x_scale"]
    for _ in range(5000):
        given = draw.sample(keys, draw.randrange(len(keys)))
        wanted = draw.sample(keys, draw.randrange(1, len(keys) + 1))
        section = Section(below("t.toml", ": "), dict.fromkeys(given, 1), keys)
        missing = [key for key in wanted if key not in given]
        if not missing:
            section.required(*wanted)
            continue
        with pytest.raises(InputError) as raised:
            section.required(*wanted)
        first, _, others = str(raised.value).partition("; also missing: ")
        assert first == f"t.toml: {missing[0]}: is missing"
        assert others == ", ".join(missing[1:])


def test_all_unknown_keys_are_named_at_once_and_no_others():
    draw = random.Random(1)
    keys = ["metric", "of", "to", "name", "source", "x_scale"]
    for _ in range(5000):
        table, known = (draw.sample(keys, draw.randrange(1, len(keys))) for _ in range(2))
        unknown = [key for key in table if key not in known]
        if not unknown:
            Section(below("t.toml", ": "), dict.fromkeys(table, 1), known)
            continue
        with pytest.raises(InputError) as raised:
            Section(below("t.toml", ": "), dict.fromkeys(table, 1), known)
        first, _, others = str(raised.value).partition("; also unknown: ")
        assert first.startswith(f't.toml: {unknown[0]}: unknown key "{unknown[0]}"')
        assert others == ", ".join(unknown[1:])


def test_what_is_not_a_table_or_has_an_unknown_key_is_refused():
    with pytest.raises(InputError, match=r"^t\.toml: expected a table with seeds$"):
        Section(below("t.toml"), 3, ("seeds",), "a table with seeds")
    with pytest.raises(InputError, match=r'^t\.toml\.sedes: unknown key "sedes"; did you mean seeds\?$'):
        Section(below("t.toml"), {"sedes": 1}, ("seeds",))


def test_no_other_module_checks_keys_by_hand():
    """A loop over the keys of a table that raises for those that are unknown is what `Section` does."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and "unknown_name('key'" in ast.unparse(node):
                found.append(file.relative_to(PACKAGE).as_posix())
    assert found == ["section.py"]


def test_no_module_but_that_of_derived_parameters_parses_expressions():
    """Metrics are SQL, which polars reads."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "ast.parse":
                whole = any(one.arg == "mode" for one in node.keywords)
                assert not whole or file.name == "derive.py", file
