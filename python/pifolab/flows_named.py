"""Names of flows as traces have them, and filters of flows: ``ip.dst == 10.0.0.0/8 and not tcp.port == 22``."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass

from pifolab.errors import InputError
from pifolab.text import whole_number

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Ends:
    """The ends of a flow: addresses, ports (0 where its protocol has none) and the protocol's name or number."""

    src: _Address
    dst: _Address
    sport: int
    dport: int
    protocol: str


_NAME = re.compile(r"(?P<src>\S+) > (?P<dst>\S+) (?:protocol )?(?P<protocol>\w+)")


def name_ends(name: str) -> Ends | None:
    """Return the ends in a name such as ``10.0.0.1:80 > 10.0.0.2:4000 tcp``; None if it is another name.

    Examples
    --------
    >>> name_ends("[fd00::1]:53 > [fd00::2]:4000 udp").dport
    4000
    >>> name_ends("10.0.0.1 > 10.0.0.2 icmp").protocol
    'icmp'
    >>> name_ends("not IP") is None
    True
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    try:
        (src, sport), (dst, dport) = _end(found["src"]), _end(found["dst"])
    except ValueError:
        return None
    return Ends(src, dst, sport, dport, found["protocol"])


def _end(text: str) -> tuple[_Address, int]:
    if text.startswith("["):
        address, _, port = text[1:].partition("]:")
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    else:
        address, port = text, "0"
    return ipaddress.ip_address(address), int(port)


_Test = Callable[[Ends], bool]

_TOKEN = re.compile(r"\s*(==|!=|\(|\)|&&|\|\||!|[^\s()=!&|]+)")

#: Which ends a field compares; of two, one that fits is enough.
_ADDRESSES = {"src": ("src",), "dst": ("dst",), "addr": ("src", "dst")}
_PORTS = {"srcport": ("sport",), "dstport": ("dport",), "port": ("sport", "dport")}

_EXPECTED = (
    "expected ip.src, ip.dst or ip.addr with an address or a prefix, tcp.srcport, tcp.dstport or tcp.port (udp "
    "likewise) with a port, tcp, udp or icmp alone, joined by and, or, not and parentheses"
)


def flow_filter(text: str) -> Callable[[str], bool]:
    """Return a function that returns whether the filter `text` keeps a flow, given the flow's name.

    The form is that of Wireshark's display filters: ``ip.src``, ``ip.dst``, ``ip.addr`` (also ``ipv6.``) with ``==``
    or ``!=`` and an address or a prefix; ``tcp.srcport``, ``tcp.dstport``, ``tcp.port`` (also ``udp.``) and a port;
    ``tcp``, ``udp``, ``icmp`` alone; ``and``, ``or``, ``not``, parentheses. A flow without addresses is left out.

    Raises
    ------
    InputError
        It is not a filter.

    Examples
    --------
    >>> keep = flow_filter("ip.dst == 10.0.0.0/24 and not udp.port == 53")
    >>> [keep("10.1.0.1:80 > 10.0.0.2:4000 tcp"), keep("10.1.0.1:53 > 10.0.0.2:4000 udp"), keep("not IP")]
    [True, False, False]
    """
    test = _Filter(text).whole()

    def keep(name: str) -> bool:
        ends = name_ends(name)
        return ends is not None and test(ends)

    return keep


class _Filter:
    """Reads a filter from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [found[1] for found in _TOKEN.finditer(text)]
        if "".join(self.tokens) != re.sub(r"\s+", "", text):
            raise self.error(text)

    def error(self, at: str) -> InputError:
        return InputError(f"filter = {self.text}: {at!r}: {_EXPECTED}")

    def take(self) -> str:
        if not self.tokens:
            raise self.error("its end")
        return self.tokens.pop(0)

    def whole(self) -> _Test:
        test = self.any_of()
        if self.tokens:
            raise self.error(self.tokens[0])
        return test

    def any_of(self) -> _Test:
        tests = [self.all_of()]
        while self.tokens and self.tokens[0] in ("or", "||"):
            self.take()
            tests.append(self.all_of())
        return lambda ends: any(test(ends) for test in tests)

    def all_of(self) -> _Test:
        tests = [self.one()]
        while self.tokens and self.tokens[0] in ("and", "&&"):
            self.take()
            tests.append(self.one())
        return lambda ends: all(test(ends) for test in tests)

    def one(self) -> _Test:
        word = self.take()
        if word in ("not", "!"):
            test = self.one()
            return lambda ends: not test(ends)
        if word == "(":
            test = self.any_of()
            if self.take() != ")":
                raise self.error(word)
            return test
        layer, dot, field = word.partition(".")
        if not dot and word in ("tcp", "udp", "icmp", "icmpv6"):
            return lambda ends: ends.protocol == word
        if layer in ("ip", "ipv6") and field in _ADDRESSES:
            names, equal = _ADDRESSES[field], self.equal()
            value = self.take()
            try:
                network = ipaddress.ip_network(value, strict=False)
            except ValueError:
                raise self.error(value) from None
            return lambda ends: any(getattr(ends, name) in network for name in names) == equal
        if layer in ("tcp", "udp") and field in _PORTS:
            names, equal = _PORTS[field], self.equal()
            value = self.take()
            port = whole_number(value)
            if port is None or port > 65535:
                raise self.error(value)
            return lambda ends: ends.protocol == layer and any(getattr(ends, name) == port for name in names) == equal
        raise self.error(word)

    def equal(self) -> bool:
        operator = self.take()
        if operator not in ("==", "!="):
            raise self.error(operator)
        return operator == "=="
