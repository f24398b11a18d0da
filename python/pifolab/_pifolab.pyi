"""The compiled part; private. What users need is exported by `pifolab`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, SupportsIndex, TypedDict, TypeVar, final

import numpy as np
import numpy.typing as npt

_T = TypeVar("_T")

__version__: str
__revision__: str
INTERRUPTED_ROWS: int

class ParamTable(TypedDict):
    name: str
    keys: list[str]
    unit: str
    kind: str
    min: int | None
    max: int | None
    choices: list[tuple[str, str]]
    default: str | None
    absent_means: str | None
    required: bool
    allowed: str
    doc: str

class PartTable(TypedDict):
    name: str
    summary: str
    params: list[ParamTable]

class InfoTable(PartTable):
    paper: str
    effect: str
    state: str
    cost: str

class SchedulerTable(InfoTable):
    traits: dict[str, bool]
    look: tuple[str, str, list[int], str]
    advice: list[tuple[str, list[str]]] | None

class RankTable(InfoTable):
    size_of: str | None
    needs: list[str]

def schedulers() -> list[SchedulerTable]: ...
def ranks() -> list[RankTable]: ...
def transports() -> list[PartTable]: ...
def topologies() -> list[PartTable]: ...
def switch_cost(name: str, parameters: dict[str, Any] | None) -> tuple[int, float, int, str] | None: ...

class ReplayOutcome(TypedDict):
    scheduler: str
    operations: int
    mismatches: int
    first: str | None

def replay_vector(
    file: str, content: bytes, plain: bool = False, schedulers: Mapping[str, Any] | None = None
) -> ReplayOutcome: ...

class P4Parameters(TypedDict):
    program: str
    scheduler: str
    in_bytes: bool
    capacities: list[int]
    text: str

class P4Vector(P4Parameters, total=False):
    operations: int
    mismatches: int
    skipped: str

def p4_programs() -> list[tuple[str, list[str]]]: ...
def p4_resources() -> str: ...
def behaviours() -> list[tuple[str, int, int]]: ...
def p4_parameters(name: str, parameters: dict[str, Any] | None, target: str) -> P4Parameters: ...
def p4_vector(file: str, target: str) -> P4Vector: ...

class P4Switch:
    def __init__(self, program: bytes, queues: int = 8, depth: int = 64, seed: int = 0) -> None: ...
    def configure(self, text: str) -> None: ...
    def receive(self, port: int, frame: bytes, tag: int = 0, now_ns: int = 0) -> tuple[list[tuple[int, int]], int]: ...
    def send(self, port: int, now_ns: int = 0) -> tuple[bytes, int, int] | None: ...
    def register(self, name: str, index: int) -> int: ...
    def set_register(self, name: str, index: int, value: int) -> None: ...
    def waiting(self, port: int) -> int: ...
    def ports(self) -> int: ...
    def said(self) -> list[int]: ...

class Attacked(TypedDict):
    gap: tuple[int, int]
    bound: tuple[int, int] | None
    proven: bool
    trace: list[int]
    departures: list[int]
    start_window: list[int] | None
    evaluations: int
    interrupted: bool
    ended_by: str | None

def attack(
    question: dict[str, Any], effort: dict[str, Any], progress: Callable[[int, int, int], None] | None = None
) -> Attacked: ...
def read_policy(text: str) -> tuple[str, list[str]]: ...
def policy_embeds(text: str, other: str) -> bool | None: ...
def compile_policy(text: str, degree: int) -> tuple[int, list[list[int]]]: ...
def compare_compiled(text: str, degree: int, operations: int) -> tuple[int | None, int | None]: ...
def optimal_bounds(weights: list[int], queues: int, cost: str, combine: str) -> list[int]: ...
def rank_weights(distribution: str, mean: float | None, ranks: int) -> list[int]: ...
def attack_metrics() -> list[tuple[str, str]]: ...
def attack_shrink(
    question: dict[str, Any],
    ranks: list[int],
    departures: list[int],
    window: list[int] | None,
    least: tuple[int, int],
    time_limit_s: float | None = None,
) -> tuple[list[int], list[int], tuple[int, int], str | None] | None: ...
def attack_story(
    question: dict[str, Any], ranks: list[int], departures: list[int], window: list[int] | None
) -> dict[str, Any]: ...

class Measurement(TypedDict):
    name: str
    tree_depth: int | None
    occupancy: int
    load: str | None
    ns_per_packet: float
    min_ns_per_packet: float
    plain_ns_per_packet: float | None

class NetworkMeasurement(TypedDict):
    case: str
    simulated_ms: int
    wall_s: float
    hops: int
    events: int
    dropped: int
    most_in_flight: int
    flows: int
    flows_complete: int
    trace_hash: str

class EventMeasurement(TypedDict):
    delays: str
    waiting: int
    ns_per_event: float
    plain_ns_per_event: float

def bench_events() -> list[EventMeasurement]: ...
def bench_schedulers() -> list[Measurement]: ...
def network_cases() -> list[str]: ...
def bench_network(case: str, simulated_ms: int, plain: bool = False) -> NetworkMeasurement: ...

class ScenarioResult(TypedDict):
    manifest: str
    summary: str
    tables: dict[str, dict[str, tuple[str, Any]]]
    observers: list[tuple[str, str, Any]]
    interrupted: bool
    #: What is left of tables that were cut, by their name: (scheduler, rows that are there, rows that there were).
    cut: dict[str, list[tuple[str, int, int]]]

def run_scenario(
    text: str,
    file: str,
    overrides: Sequence[tuple[str, str]],
    *,
    seed: int | None = None,
    workers: int = 1,
    flows: str | None = None,
    schedulers: dict[str, Any] | None = None,
    ranks: dict[str, Any] | None = None,
    controllers: dict[str, Any] | None = None,
    observers: dict[str, Any] | None = None,
    progress: Callable[[int, float | None, int, int, tuple[float, float, int, int, int] | None, float], None]
    | None = None,
    inputs: Mapping[str, str] | None = None,
    interrupted_rows: int | None = None,
) -> ScenarioResult: ...
def resolve_scenario(
    text: str,
    file: str,
    overrides: Sequence[tuple[str, str]],
    *,
    flows: str | None = None,
    schedulers: dict[str, Any] | None = None,
    ranks: dict[str, Any] | None = None,
    controllers: dict[str, Any] | None = None,
) -> tuple[str, dict[str, str]]: ...
def scenario_tables(
    text: str,
    file: str,
    overrides: Sequence[tuple[str, str]],
    *,
    schedulers: dict[str, Any] | None = None,
    ranks: dict[str, Any] | None = None,
    controllers: dict[str, Any] | None = None,
) -> dict[str, dict[str, tuple[str, Any]]]: ...
def scenario_memory(
    text: str,
    file: str,
    overrides: Sequence[tuple[str, str]],
    *,
    workers: int = 1,
    flows: str | None = None,
    schedulers: dict[str, Any] | None = None,
    ranks: dict[str, Any] | None = None,
    controllers: dict[str, Any] | None = None,
) -> dict[Literal["input", "state", "records"], float]: ...
def summarise_trace(path: str, sort: bool) -> dict[str, Any]: ...
def scenario_flows(
    text: str,
    file: str,
    overrides: Sequence[tuple[str, str]],
    *,
    seed: int | None = None,
    hpcc: bool = False,
) -> bytes: ...
def scenario_schema() -> str: ...
def call_plug_in(body: Callable[[], _T]) -> _T: ...
def end_with_input() -> None: ...
def watch_signals() -> None: ...
def count_signals() -> None: ...
def leave_signals_alone(alone: bool) -> bool: ...
def leave_in_order() -> None: ...
def unknown_name(what: str, name: str, names: Sequence[str], listed_by: str | None = None) -> str: ...
def read_quantity(text: str, rate: bool) -> int | None: ...
def tree_leaves(child: Any, classes: Sequence[str], end: int) -> list[tuple[str, list[int]]]: ...

@final
class Packet:
    """A packet as a scheduler sees it: immutable, compared by content.

    Parameters
    ----------
    rank : int
        From 0 to 2^63 - 1; the smaller leaves first.
    id : int
        Names the packet; unique among those that a scheduler holds.
    flow : int
        The flow that it belongs to; flows are numbered from 0.
    size_bytes : int
        Its size as it occupies buffers and links.
    arrival_ns : int
        When it arrived, in nanoseconds; a scheduler sets it to the time of the call.

    Raises
    ------
    InputError
        A value out of range.
    """

    __match_args__: Final = ("rank",)
    def __new__(
        cls,
        rank: SupportsIndex,
        *,
        id: SupportsIndex | None = None,
        flow: SupportsIndex | None = None,
        size_bytes: SupportsIndex | None = None,
        arrival_ns: SupportsIndex | None = None,
    ) -> Packet: ...
    @property
    def rank(self) -> int: ...
    @property
    def id(self) -> int: ...
    @property
    def flow(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def arrival_ns(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Admitted:
    """The packet was stored in `queue` (0 has the highest priority) with `rank`."""

    __match_args__: Final = ("queue", "rank")
    @property
    def queue(self) -> int: ...
    @property
    def rank(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Evicted:
    """The packet was stored, and `victims` had to leave for it, first to leave first."""

    __match_args__: Final = ("queue", "rank", "victims")
    @property
    def queue(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def victims(self) -> tuple[Packet, ...]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Dropped:
    """The packet was refused; it comes back in `packet`, with the rank that it was given."""

    __match_args__: Final = ("reason", "packet")
    def __new__(cls, reason: str, packet: Packet) -> Dropped: ...
    @property
    def reason(self) -> Literal["admission", "full", "pushed-out", "rank-out-of-range", "aqm"]: ...
    @property
    def packet(self) -> Packet: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class NotBefore:
    """Packets wait, but none may leave before `time_ns`.

    Raises
    ------
    InputError
        `time_ns` is not an integer from 0 to 2^64 / 1000.
    """

    __match_args__: Final = ("time_ns",)
    def __new__(cls, time_ns: SupportsIndex) -> NotBefore: ...
    @property
    def time_ns(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Window:
    """The congestion window of a flow, all in bytes.

    A congestion controller may set `cwnd_bytes`, to one segment or more, and `ssthresh_bytes`.
    """

    cwnd_bytes: float
    ssthresh_bytes: float
    @property
    def mss_bytes(self) -> float: ...
    @property
    def limit_bytes(self) -> float: ...
    def grow_like_reno(self) -> None:
        """Grow as TCP Reno does: slow start below the threshold, one segment per window above it."""

@final
class Ack:
    """What an acknowledgement says to a congestion controller.

    `upto_bytes` is the first byte not acknowledged yet, `newly_bytes` what it acknowledges for the first time,
    `sent_bytes` one past the last byte ever sent, `marked` whether it echoes a congestion mark, and `rtt_s` the
    smoothed round-trip time.
    """

    @property
    def now_ns(self) -> int: ...
    @property
    def upto_bytes(self) -> int: ...
    @property
    def newly_bytes(self) -> int: ...
    @property
    def sent_bytes(self) -> int: ...
    @property
    def marked(self) -> bool: ...
    @property
    def rtt_s(self) -> float: ...

class EnqueuedMany:
    """What became of many packets that were offered in one call: see `Scheduler.enqueue_many`."""

    ids: npt.NDArray[np.int64]
    ranks: npt.NDArray[np.int64]
    queues: npt.NDArray[np.int64]
    evicted: npt.NDArray[np.int64]

class DequeuedMany:
    """Many packets that were taken in one call: see `Scheduler.dequeue_many`."""

    ranks: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int64]
    flows: npt.NDArray[np.int64]
    size_bytes: npt.NDArray[np.int64]
    queues: npt.NDArray[np.int64]
    dropped: npt.NDArray[np.int64]

    def __len__(self) -> int: ...

@final
class Loadable:
    """A scheduler or a rank function of a shared library, in the place of a class."""

    def __new__(cls, file: str, address: int) -> Loadable: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...

@final
class Stream:
    """A stream of random numbers: the same seed and name give the same numbers on every machine.

    Parameters
    ----------
    seed : int
        The seed of the run.
    name : str
        The name of the stream, such as ``"scheduler 0"`` for the scheduler of port 0.
    """

    def __new__(cls, seed: SupportsIndex, name: str) -> Stream: ...
    def bits(self) -> int:
        """Return 64 random bits, as an integer."""
    def uniform(self) -> float:
        """Return a number from 0 to below 1."""
    def below(self, bound: SupportsIndex) -> int:
        """Return an integer from 0 to below `bound`."""

class Scheduler:
    """What every scheduler does; see the classes derived from it."""

    def __new__(
        cls,
        scheduler: str,
        parameters: Mapping[str, Any] | None = None,
        rank: str | None = None,
        rank_parameters: Mapping[str, Any] | None = None,
        classify: Callable[[Packet], int | None] | None = None,
    ) -> Scheduler: ...
    def enqueue(
        self,
        packet: Packet | SupportsIndex | None = None,
        *,
        flow: SupportsIndex | None = None,
        size_bytes: SupportsIndex | None = None,
        id: SupportsIndex | None = None,
        now_ns: SupportsIndex | None = None,
        eligible_ns: SupportsIndex | None = None,
        flow_size_bytes: SupportsIndex | None = None,
        remaining_bytes: SupportsIndex | None = None,
        unacknowledged_bytes: SupportsIndex | None = None,
        deadline_ns: SupportsIndex | None = None,
        remaining_transmission_ns: SupportsIndex | None = None,
        delay_so_far_ns: SupportsIndex | None = None,
        mean_delay_so_far_ns: SupportsIndex | None = None,
        labels: Mapping[str, SupportsIndex] | None = None,
    ) -> Admitted | Evicted | Dropped: ...
    def dequeue(self, *, now_ns: SupportsIndex | None = None) -> Packet | Dropped | NotBefore | None: ...
    def enqueue_many(
        self,
        ranks: Any,
        *,
        flows: Any = None,
        size_bytes: Any = None,
        now_ns: Any = None,
    ) -> EnqueuedMany: ...
    def dequeue_many(
        self, count: SupportsIndex | None = None, *, now_ns: SupportsIndex | None = None
    ) -> DequeuedMany: ...
    @property
    def _is_new(self) -> bool: ...
    def __len__(self) -> int: ...
    @property
    def backlog_bytes(self) -> int: ...
    @property
    def capacity_packets(self) -> int | None: ...
    @property
    def capacity_bytes(self) -> int | None: ...
    @property
    def queue_lengths(self) -> list[int]: ...
    @property
    def bounds(self) -> list[int | None]: ...
    @property
    def window(self) -> list[int]: ...
    @property
    def now_ns(self) -> int: ...
