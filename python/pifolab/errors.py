"""The exceptions of this package; the compiled part raises the same ones.

Every function that reads input of a user raises `InputError`, whose text names the place, the value and what was
expected. Docstrings of public functions list it and other exceptions.
"""

from typing import Any

#: A longer text of an error is shortened to this much of its beginning, which names the place, and of its end, which
#: has the expected form.
_LONGEST, _BEGINNING, _END = 1200, 700, 400


def shortened(text: str) -> str:
    """Return `text` without its middle if it is long, such as one that repeats a whole file.

    Examples
    --------
    >>> shortened("s.toml: value = 1: expected a text")
    's.toml: value = 1: expected a text'
    >>> len(shortened("s.toml: value = " + 100_000 * "1" + ": expected a text"))
    1122
    """
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_BEGINNING]} ... ({len(text) - _BEGINNING - _END} more) ... {text[-_END:]}"


class PifolabError(Exception):
    """Base of all exceptions of this package; its text is one line that can be shown to a user, and never very long."""

    def __init__(self, message: str = "", *others: Any) -> None:
        super().__init__(shortened(message), *others)


class ParameterError(PifolabError, ValueError):
    """An invalid parameter of a scheduler, rank function or scenario.

    Attributes
    ----------
    owner : str
        The scheduler or rank function.
    key : str
        The parameter's name.
    value : str or None
        The given value as text; None if the parameter is missing.
    expected : str
        What was expected.

    Examples
    --------
    >>> import pifolab
    >>> pifolab.Fifo(capacity_packets=0)
    Traceback (most recent call last):
        ...
    pifolab.errors.ParameterError: fifo: capacity_packets = 0: expected an integer from 1 to 16777216 (packets)
    """

    def __init__(self, message: str, owner: str, key: str, value: str | None, expected: str) -> None:
        super().__init__(message)
        self.owner = owner
        self.key = key
        self.value = value
        self.expected = expected

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str | None, str]]:
        """Support pickling, to cross from a worker process."""
        return type(self), (str(self), self.owner, self.key, self.value, self.expected)


class InputError(PifolabError, ValueError):
    """Invalid data: a file, a packet, a name, a point in time. The text names the place.

    Attributes
    ----------
    file : str or None
        The file, if it is a scenario or one that a scenario names.
    line : int or None
        The line in it, from 1.
    key : str
        The key with its tables, such as ``link.rate_gbps``; empty if the error concerns no key.
    problem : str
        What is wrong, and what was expected, without the place.
    flag : str or None
        The flag of the command line that gave the value, such as ``--set``.
    value : str or None
        The given value of the key, if the problem is the value.
    after : tuple of str
        What follows the key and the value in the text; names of other parameters are each a `ParameterName`.
    unknown : str or None
        The kind of component that a scenario names and that does not exist: ``scheduler``, ``rank function`` or
        ``congestion controller``.

    Examples
    --------
    >>> import pifolab
    >>> try:
    ...     pifolab.run_text("link = { rate_gbps = 0 }", "link.toml")
    ... except pifolab.InputError as error:
    ...     print((error.file, error.line, error.key))
    ('link.toml', 1, 'link.rate_gbps')
    """

    def __init__(
        self,
        message: str | None = None,
        file: str | None = None,
        line: int | None = None,
        key: str = "",
        problem: str | None = None,
        flag: str | None = None,
        value: str | None = None,
        after: tuple[str, ...] | None = None,
        unknown: str | None = None,
    ) -> None:
        self.file = file
        self.line = line
        self.key = key
        self.flag = flag
        self.value = value
        self.unknown = unknown
        self.after = (message or "",) if after is None else after
        if problem is None:
            problem = "".join(self.after).lstrip(" :") if value is None else f"= {value}{''.join(self.after)}"
        self.problem = problem
        if message is None:
            place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
            message = f"{place}{'' if flag is None else f'{flag}: '}{self.said}"
        super().__init__(message)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        """Support pickling, to cross from a worker process."""
        fields = self.file, self.line, self.key, self.problem, self.flag, self.value, self.after, self.unknown
        return type(self), (str(self), *fields)

    @property
    def said(self) -> str:
        """The text without the place: the key, its value, and what is wrong."""
        return f"{self.key}{'' if self.value is None else f' = {self.value}'}{''.join(self.after)}"

    def changed(self, **fields: Any) -> "InputError":
        """Return the same error with other `fields`, and a text made of them if there is no other ``message``."""
        own = {name: getattr(self, name) for name in ("file", "line", "key", "flag", "value", "after", "unknown")}
        return InputError(**(own | fields))

    def without_file(self) -> "InputError":
        """Return the same error without the file and the line, for a scenario that is not the user's file."""
        return self.changed(file=None, line=None)


class InternalError(PifolabError):
    """A mistake in pifolab itself; please report the text and the command that you ran."""


class ParameterName(str):
    """The name of a parameter in an error about another one; on the command line it is a flag."""

    __slots__ = ()


def parameter_error(name: str, *after: str, value: object = None) -> InputError:
    """Return an error about the parameter `name`, which is its `key`; `after` follows the name and the value.

    Examples
    --------
    >>> print(parameter_error("burst", ": has no effect without load", value=3))
    burst = 3: has no effect without load
    """
    return InputError(key=name, value=None if value is None else str(value), after=after)


def from_parameter(name: str, error: InputError) -> InputError:
    """Return `error`, about a key of a scenario that was made from the parameter `name`, as one about this parameter.

    Examples
    --------
    >>> wrong = InputError(file="scene", key="scheduler.queues", value="0", after=(": expected an integer >= 1",))
    >>> print(from_parameter("buffers", wrong))
    buffers: queues = 0: expected an integer >= 1
    """
    return parameter_error(name, f": {error.changed(key=error.key.rpartition('.')[2]).said}")
