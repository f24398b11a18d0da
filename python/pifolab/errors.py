"""What can go wrong, as exceptions; the compiled part raises the same ones."""

__all__ = ["InputError", "InternalError", "ParameterError", "PifolabError", "parameter_error"]


class PifolabError(Exception):
    """Base of every exception of this package; its text is one line that can be shown to a user."""


class ParameterError(PifolabError, ValueError):
    """A parameter of a scheduler, rank function or scenario that cannot be accepted.

    Attributes
    ----------
    owner : str
        The scheduler or rank function.
    key : str
        The parameter's name.
    value : str or None
        What was given, as text; None if the parameter is missing.
    expected : str
        What would be right.

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
        """Survive the way from a worker process."""
        return type(self), (str(self), self.owner, self.key, self.value, self.expected)


class InputError(PifolabError, ValueError):
    """Data that cannot be accepted: a file, a packet, a name, a point in time. The text names the place.

    Attributes
    ----------
    file : str or None
        The file, where it is one of a scenario or one that a scenario names.
    line : int or None
        The line in it, from 1.
    key : str
        The key with its tables, such as ``link.rate_gbps``; empty if it is not one of a key.
    problem : str
        What is wrong, and what would be right, without the place.
    flag : str or None
        The flag of the command line that gave the value, such as ``--set``.

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
        message: str,
        file: str | None = None,
        line: int | None = None,
        key: str = "",
        problem: str | None = None,
        flag: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.key = key
        self.problem = message if problem is None else problem
        self.flag = flag

    def __reduce__(self) -> tuple[type, tuple[str, str | None, int | None, str, str, str | None]]:
        """Survive the way from a worker process."""
        return type(self), (str(self), self.file, self.line, self.key, self.problem, self.flag)


class InternalError(PifolabError):
    """A mistake in pifolab itself; please report the text together with what you ran."""


def parameter_error(name: str, rest: str) -> InputError:
    """Return an error about the parameter `name`, which is its `key`; `rest` follows the name in its text."""
    return InputError(f"{name}{rest}", key=name, problem=rest.lstrip(" :"))
