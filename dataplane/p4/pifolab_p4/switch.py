"""BMv2's ``simple_switch`` on named pipes in place of packet files: what it does can be stepped, frame by frame.

It reads frames from one pipe and writes them to another, both in the pcap format; it needs no rights, no interfaces and
no control plane. Where the outgoing pipe is as small as a page, a frame that is not read stops the egress thread
behind it: then packets stay in the priority queues, and each frame that is read lets the queues serve one packet.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pifolab.errors import PifolabError
from pifolab.text import shown
from pifolab_p4.frames import FILLER, TestFrame
from pifolab_p4.tools import BMV2
from pifolab_p4.workspace import workspace

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Ports", "Switch", "SwitchError"]

_GLOBAL = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
_MAGIC, _ETHERNET, _SNAP = 0xA1B2C3D4, 1, 65536
_SET_PIPE_SIZE = 1031
_UNREAD = 0x541B
_PARENT_DEATH = 1
_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_START_SECONDS = 60.0
_ANSWER_SECONDS = 60.0


class SwitchError(PifolabError):
    """``simple_switch`` did not do what every ``simple_switch`` does."""


def _alone() -> None:
    """End with the parent, and listen in a private network namespace: no port is open to others, or taken."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PARENT_DEATH, signal.SIGKILL)
    if libc.unshare(_NEW_NETWORK) != 0:
        libc.unshare(_NEW_USER | _NEW_NETWORK)


class _Process:
    """One running ``simple_switch`` whose port 0 reads frames from a pipe."""

    _into: int
    _outs: list[int]

    def _workspace(self) -> Path:
        self._folder = contextlib.ExitStack()
        return self._folder.enter_context(workspace())

    def _start(self, program: Path, ports: list[str], folder: Path) -> None:
        # A file without a name.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the switch
        command = [str(BMV2.find()), "--use-files", "0", *ports, str(program.resolve()), "--", "--priority-queues", "8"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said, cwd=folder, preexec_fn=_alone
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def close(self) -> None:
        """End the process and remove its pipes."""
        self._process.kill()
        self._process.wait()
        for descriptor in (self._into, *self._outs):
            os.close(descriptor)
        self._said.close()
        self._folder.close()

    def send(self, *frames: bytes) -> None:
        """Hand frames to port 0."""
        records = b"".join(_RECORD.pack(0, 0, len(frame), len(frame)) + frame for frame in frames)
        while records:
            self._check_running()
            _, ready, _ = select.select([], [self._into], [], 1.0)
            if ready:
                # No more than a page at a time: the pipe is known to have room for that.
                records = records[os.write(self._into, records[:4096]) :]

    def settle(self) -> None:
        """Wait until the switch has done everything that it was given and can do.

        All its threads sleep, none has run between two looks, and nothing is left in the pipe that it reads.
        """
        before = None
        deadline = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < deadline:
            self._check_running()
            looked = self._look()
            if looked is not None and looked == before:
                return
            before = looked
            if looked is None:
                time.sleep(0.0002)
        raise SwitchError("simple_switch keeps sending")

    def _look(self) -> tuple[str, ...] | None:
        """Count the switches of context of each thread; None if one is running or bytes wait for it."""
        unread = struct.unpack("i", fcntl.ioctl(self._into, _UNREAD, struct.pack("i", 0)))[0]
        if unread:
            return None
        counts = []
        folder = f"/proc/{self._process.pid}/task"
        for thread in os.listdir(folder):  # noqa: PTH208 - a hundred thousand times a run
            try:
                with open(f"{folder}/{thread}/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123
                    text = status.read()
            except FileNotFoundError:
                return None
            if "\nState:\tS" not in text:
                return None
            counts.append(text[text.index("voluntary_ctxt_switches") :])
        return tuple(counts)

    def _check_running(self) -> None:
        status = self._process.poll()
        if status is not None:
            self._said.seek(0)
            said = self._said.read().decode(errors="replace").strip().splitlines()
            raise SwitchError(
                f"simple_switch ended with status {status}: {shown(said[-1]) if said else 'it said nothing'}"
            )


class Switch(_Process):
    """One running ``simple_switch``: frames go into port 0.

    Parameters
    ----------
    program : Path
        The JSON file that the compiler made of a program with ``PF_HARNESS``.
    small_pipe : bool
        Whether the outgoing pipe holds one page, so that frames of more than half a page leave one by one.
    outer : bool
        Whether frames are received from port 1; else from port 0.
    """

    def __init__(self, program: Path, *, small_pipe: bool = False, outer: bool = False) -> None:
        folder = self._workspace()
        self._received = b""
        into, out_of = folder / "inner_in.pcap", folder / ("outer_out.pcap" if outer else "inner_out.pcap")
        for pipe in (into, out_of):
            os.mkfifo(pipe, 0o600)
        nothing = _GLOBAL.pack(_MAGIC, 2, 4, 0, 0, _SNAP, _ETHERNET)
        ports = ["-i", f"0@{folder / 'inner'}"]
        if outer:
            (folder / "outer_in.pcap").write_bytes(nothing)
            (folder / "inner_out.pcap").symlink_to(os.devnull)
            ports += ["-i", f"1@{folder / 'outer'}"]
        # Reading and writing: neither end waits for the other.
        self._into = os.open(into, os.O_RDWR)
        self._out = os.open(out_of, os.O_RDWR | os.O_NONBLOCK)
        self._outs = [self._out]
        fcntl.fcntl(self._out, _SET_PIPE_SIZE, 4096 if small_pipe else 1 << 16)
        os.write(self._into, nothing)
        self._start(program, ports, folder)
        try:
            # The switch's file header comes with its first frame: a test frame there and back says that it runs.
            self.send(TestFrame(FILLER, flags=int(outer)).pack())
            self._read(_GLOBAL.size, _START_SECONDS)
            self.receive()
            # Both ends of the pipes are open: whatever ends this process leaves no file behind.
            self._folder.close()
        except BaseException:
            self.close()
            raise

    def receive(self) -> bytes:
        """Wait for a frame from port 0 and return it.

        Raises
        ------
        SwitchError
            The switch ended, or sent none in a minute.
        """
        header = self._read(_RECORD.size, _ANSWER_SECONDS)
        return self._read(_RECORD.unpack(header)[2], _ANSWER_SECONDS)

    def waiting(self) -> bool:
        """Say whether a frame can be received at once."""
        return bool(self._received) or bool(select.select([self._out], [], [], 0)[0])

    def _read(self, length: int, seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        while len(self._received) < length:
            self._check_running()
            if select.select([self._out], [], [], 0.5)[0]:
                # No more than asked for: what is not read keeps the egress thread waiting.
                self._received += os.read(self._out, length - len(self._received))
            elif time.monotonic() > deadline:
                raise SwitchError(f"simple_switch sent nothing in {seconds:.0f} s")
        found, self._received = self._received[:length], self._received[length:]
        return found


class Ports(_Process):
    """One running ``simple_switch`` of any program: frames go into port 0 and come out of every port.

    Parameters
    ----------
    program : Path
        The output of the compiler.
    ports : int
        The number of ports.
    """

    def __init__(self, program: Path, ports: int) -> None:
        folder = self._workspace()
        nothing = _GLOBAL.pack(_MAGIC, 2, 4, 0, 0, _SNAP, _ETHERNET)
        self._outs = []
        given = []
        for port in range(ports):
            os.mkfifo(folder / f"{port}_out.pcap", 0o600)
            self._outs.append(os.open(folder / f"{port}_out.pcap", os.O_RDWR | os.O_NONBLOCK))
            given += ["-i", f"{port}@{folder / str(port)}"]
            if port > 0:
                (folder / f"{port}_in.pcap").write_bytes(nothing)
        os.mkfifo(folder / "0_in.pcap", 0o600)
        self._into = os.open(folder / "0_in.pcap", os.O_RDWR)
        self._began = [False] * ports
        os.write(self._into, nothing)
        self._start(program, given, folder)
        try:
            # It runs when it has read the file's header.
            self.settle()
            self._folder.close()
        except BaseException:
            self.close()
            raise

    def pass_through(self, frame: bytes) -> list[tuple[int, bytes]]:
        """Hand a frame to port 0, wait until the switch has done with it, and return port and bytes of what left."""
        self.send(frame)
        self.settle()
        left = []
        for port, descriptor in enumerate(self._outs):
            received = bytearray()
            with contextlib.suppress(BlockingIOError):
                while got := os.read(descriptor, 1 << 16):
                    received += got
            at = 0
            if received and not self._began[port]:
                self._began[port], at = True, _GLOBAL.size
            while at < len(received):
                length = _RECORD.unpack_from(received, at)[2]
                at += _RECORD.size
                left.append((port, bytes(received[at : at + length])))
                at += length
        return left
