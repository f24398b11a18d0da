"""Raises `InputError` for texts that are not UTF-8 in every function of the compiled part, which requires UTF-8."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import ParamSpec, TypeVar

from pifolab import _pifolab
from pifolab.errors import InputError

_P = ParamSpec("_P")
_T = TypeVar("_T")


def wants_utf_8(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return `function` with an `InputError` instead of Python's error about lone surrogates."""

    @functools.wraps(function)
    def called(*given: _P.args, **named: _P.kwargs) -> _T:
        try:
            return function(*given, **named)
        except UnicodeEncodeError as error:
            # An error of a plug-in stays unchanged.
            if hasattr(error, "simulated_time_ns"):
                raise
            raise InputError(f"{error.object!r}: is not UTF-8") from None

    return called


for _name, _function in list(vars(_pifolab).items()):
    if isinstance(_function, BuiltinFunctionType):
        setattr(_pifolab, _name, wants_utf_8(_function))
