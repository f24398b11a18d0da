"""Times, sizes and rates as people write them: three or four digits and a unit that fits."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from pifolab import _pifolab
from pifolab.errors import parameter_error

_TIMES = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))


def read_rate(name: str, text: str) -> Fraction:
    """Return a rate with its unit in bits per second; `name` is the parameter's.

    Examples
    --------
    >>> read_rate("rate", "2.5G"), read_rate("rate", "100 Mb/s"), read_rate("rate", "1e3kbps")
    (Fraction(2500000000, 1), Fraction(100000000, 1), Fraction(1000000, 1))
    >>> read_rate("rate", "10")
    Traceback (most recent call last):
        ...
    pifolab.errors.InputError: rate = 10: expected a rate above 0 with its unit, such as 10G or 100 Mb/s
    """
    value = _pifolab.read_quantity(text, rate=True)
    if not value:
        raise parameter_error(name, ": expected a rate above 0 with its unit, such as 10G or 100 Mb/s", value=text)
    return Fraction(value)


def read_time(name: str, text: str) -> Fraction:
    """Return a time with its unit in seconds, exactly to the picosecond; `name` is the parameter's.

    Examples
    --------
    >>> read_time("duration", "100ms"), read_time("duration", "1.5 s")
    (Fraction(1, 10), Fraction(3, 2))
    >>> read_time("duration", "5m")
    Traceback (most recent call last):
        ...
    pifolab.errors.InputError: duration = 5m: expected a time above 0 with its unit, such as 100ms or 1.5s
    """
    value = _pifolab.read_quantity(text, rate=False)
    if not value:
        raise parameter_error(name, ": expected a time above 0 with its unit, such as 100ms or 1.5s", value=text)
    return Fraction(value, 10**12)


def time_unit(values_ns: Iterable[float | None]) -> tuple[str, float]:
    """Return the unit that fits the largest of some times, and how many nanoseconds it has.

    Examples
    --------
    >>> time_unit([900.0, 10_616_991.0, None]), time_unit([12.0]), time_unit([])
    (('ms', 1000000.0), ('ns', 1.0), ('ns', 1.0))
    """
    largest = max((abs(value) for value in values_ns if value is not None), default=0.0)
    return next(((unit, size) for unit, size in _TIMES if largest >= size), _TIMES[-1])


def time_text(time_ns: float) -> str:
    """Write a time.

    Examples
    --------
    >>> time_text(3_730_129_040), time_text(96_000), time_text(0.8), time_text(0), time_text(200_000_000_000_000)
    ('3.73 s', '96 us', '0.8 ns', '0 ns', '2 d 7.56 h')
    """
    if time_ns >= 3600e9:
        hours = time_ns / 3600e9
        days, hours = divmod(hours, 24)
        return f"{days:.0f} d {hours:.3g} h" if days else f"{hours:.3g} h"
    unit, size = time_unit([time_ns])
    return f"{time_ns / size:.4g} {unit}" if unit == "s" and time_ns >= 1e12 else f"{time_ns / size:.3g} {unit}"


def duration_text(seconds: float) -> str:
    """Return a duration for a reader.

    Examples
    --------
    >>> duration_text(0.4), duration_text(0.03), duration_text(95), duration_text(7260), duration_text(400_000)
    ('0.4 s', '0.03 s', '1 min 35 s', '2 h 1 min', '4 d 15 h')
    """
    if seconds < 10:
        return f"{seconds:.1g} s" if 0 < seconds < 0.05 else f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def size_text(size_bytes: float) -> str:
    """Write a number of bytes, in powers of a thousand as networks count.

    Examples
    --------
    >>> size_text(35_017_524), size_text(120_000), size_text(64)
    ('35 MB', '120 kB', '64 bytes')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_bytes >= size:
            return f"{size_bytes / size:.3g} {unit}"
    return f"{size_bytes:.3g} bytes"


def share_text(share: float, decimals: int = 0) -> str:
    """Write a share in per cent. A positive share is not written as 0.

    Examples
    --------
    >>> share_text(0.5), share_text(0.123, 2), share_text(0.00004, 1), share_text(0)
    ('50%', '12.30%', '0.004%', '0%')
    """
    text = f"{share:.{decimals}%}"
    return text if float(text[:-1]) or not share else f"{100 * share:.1g}%"


def rate_text(rate_bps: float) -> str:
    """Write a rate.

    Examples
    --------
    >>> rate_text(10_000_000_000), rate_text(70_000_000), rate_text(999)
    ('10 Gb/s', '70 Mb/s', '999 b/s')
    """
    for unit, size in (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if rate_bps >= size:
            return f"{rate_bps / size:.4g} {unit}"
    return f"{rate_bps:.4g} b/s"


def number(value: Fraction) -> int | float:
    """Return an integer where `value` is one, else the nearest float.

    Examples
    --------
    >>> number(Fraction(4, 2)), number(Fraction(1, 2))
    (2, 0.5)
    """
    return int(value) if value.denominator == 1 else float(value)


def count_text(count: int, what: str) -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> count_text(1, "flow"), count_text(23_378, "packet")
    ('1 flow', '23,378 packets')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
