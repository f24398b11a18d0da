"""What can go wrong, as exceptions; the compiled part raises the same ones."""

__all__ = ["InputError", "InternalError", "ParameterError", "PifolabError"]


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
    """Data that cannot be accepted: a file, a packet, a name, a point in time. The text names the place."""


class InternalError(PifolabError):
    """A mistake in pifolab itself; please report the text together with what you ran."""
