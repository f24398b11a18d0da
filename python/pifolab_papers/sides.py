"""Finds queries that have one answer whatever was measured: two sides that are one expression, or no column at all."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TypeAlias

_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d.]*(?:[eE][-+]?\d+)?|\w+(?:\.\w+)*|<=|>=|<>|!=|\S")

#: These words end an operand. FILTER and OVER do not: they belong to the aggregate before them.
_ENDS = frozenset(
    (
        *(
            "select",
            "distinct",
            "from",
            "where",
            "and",
            "or",
            "not",
            "group",
            "order",
            "by",
            "having",
            "limit",
            "union",
        ),
        *("all", "join", "inner", "left", "right", "on", "using", "with", "as", "case", "when", "then", "else", "end"),
        *("in", "between", "is", "like", "asc", "desc", ","),
    )
)

#: From the weakest to the strongest; of the last two, those that give a constant if both sides are equal.
_OPERATORS = (("<", "<=", ">", ">=", "=", "<>", "!="), ("+", "-"), ("*", "/", "//", "%"))
_FOREGONE = frozenset((*_OPERATORS[0], "-", "/", "%"))

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BOUNDS = frozenset((("greatest", "<="), ("greatest", ">"), ("least", ">="), ("least", "<")))
_NO_COLUMNS = _ENDS | {"true", "false", "null"}

#: A token, or what stands between brackets.
_Node: TypeAlias = "str | tuple[_Node, ...]"
_Nodes: TypeAlias = "tuple[_Node, ...]"


def foregone(sql: str, take: str = "mean") -> str | None:
    """Return why a query has one answer whatever was measured; None if its text does not show that.

    Examples
    --------
    >>> foregone("SELECT MAX(a) <= GREATEST(MAX(a), MAX(b)) FROM t")
    'max (a) stands on both sides of <='
    >>> foregone("SELECT 3 FROM t"), foregone("SELECT MAX(a) <= MAX(b) FROM t")
    ('no column is read', None)
    """
    tree = _tree(sql)
    for level in _levels(tree):
        for operand, _ in _split(level, _ENDS):
            if problem := _same(operand, 0):
                return problem
    selected = [part for part, before in _split(_last_select(tree), frozenset(",")) if before is not None or part]
    if not any(_reads(part) for part in selected):
        return "no column is read"
    if take == "ratio" and len({_bare(part) for part in selected}) == 1 and len(selected) > 1:
        return f"{_text(selected[0])} stands on both sides of the ratio"
    return None


def _tree(sql: str) -> _Nodes:
    stack: list[list[_Node]] = [[]]
    for token in [*_TOKEN.findall(sql), *")" * sql.count("(")]:
        if token == "(":
            stack.append([])
        elif token != ")":
            stack[-1].append(token if token[0] in "'\"" else token.lower())
        elif len(stack) > 1:
            closed = tuple(stack.pop())
            stack[-1].append(closed)
    return tuple(stack[0])


def _levels(tree: _Nodes) -> Iterator[_Nodes]:
    yield tree
    for node in tree:
        if isinstance(node, tuple):
            yield from _levels(node)


def _split(level: _Nodes, at: frozenset[str] | tuple[str, ...]) -> list[tuple[_Nodes, str | None]]:
    """Return what stands between these tokens, each with the one before it."""
    found: list[tuple[list[_Node], str | None]] = [([], None)]
    for node in level:
        if isinstance(node, str) and node in at:
            found.append(([], node))
        else:
            found[-1][0].append(node)
    return [(tuple(nodes), before) for nodes, before in found]


def _same(operand: _Nodes, strength: int) -> str | None:
    """Return what stands on both sides of an operator."""
    if strength == len(_OPERATORS):
        return None
    parts = _split(operand, _OPERATORS[strength])
    for (left, _), (right, sign) in itertools.pairwise(parts):
        for one, other, seen in ((left, right, sign), (right, left, _MIRRORED.get(sign or "", ""))):
            alike = sign in _FOREGONE and _bare(one) == _bare(other)
            if one and (alike or _bare(one) in _bounded(other, seen)):
                return f"{_text(one)} stands on both sides of {sign}"
    return next((problem for part, _ in parts if (problem := _same(part, strength + 1))), None)


def _bounded(nodes: _Nodes, sign: str | None) -> set[_Nodes]:
    """Return what stands to ``GREATEST (a, b)`` in a relation that is always true or never: ``a <=`` and ``a >``."""
    if len(nodes) == 2 and (nodes[0], sign) in _BOUNDS and isinstance(nodes[1], tuple):
        return {_bare(part) for part, _ in _split(nodes[1], frozenset(","))}
    return set()


def _bare(nodes: _Nodes) -> _Nodes:
    """Return the same without brackets around the whole."""
    while len(nodes) == 1 and isinstance(nodes[0], tuple):
        nodes = nodes[0]
    return nodes


def _last_select(tree: _Nodes) -> _Nodes:
    """Return what the outermost SELECT gives."""
    words = [node if isinstance(node, str) else "" for node in tree]
    first = len(words) - words[::-1].index("select") if "select" in words else 0
    last = words.index("from", first) if "from" in words[first:] else len(words)
    return tree[first:last]


def _reads(nodes: _Nodes) -> bool:
    """Whether a column, or the rows themselves (``COUNT (*)``), are read."""
    around = zip(("", *nodes), nodes, (*nodes[1:], ""), strict=False)
    return nodes == ("*",) or any(
        _reads(node)
        if isinstance(node, tuple)
        # A name before brackets is a function's, one after AS is given here.
        else before != "as" and not isinstance(after, tuple) and node not in _NO_COLUMNS and re.match(r"[a-z_\"]", node)
        for before, node, after in around
    )


def _text(nodes: _Nodes) -> str:
    return " ".join(node if isinstance(node, str) else f"({_text(node)})" for node in nodes)
