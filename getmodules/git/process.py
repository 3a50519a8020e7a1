"""One running git: in a process group of its own, under the operation's clock, with nothing of it left behind."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Final, NamedTuple, TypedDict

from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.api.ports import Context
from getmodules.errors import NetworkError
from getmodules.util.processes import feed, kill, pause

if TYPE_CHECKING:
    from subprocess import Popen

_PIECE: Final = 64 << 10
_TICK: Final = 0.1
#: How long output is waited for that a child keeps open (the master of shared ssh connections) after git has ended.
_GRACE: Final = 0.5
#: Of what git says, the end is kept: the reason is there.
_SAID_BYTES: Final = 32 << 10


class Done(NamedTuple):
    code: int
    output: bytes
    said: str


class Patience(NamedTuple):
    """What ends a process besides the operation's clock."""

    #: Called now and then; raises where it has brought too much. Returns how much it has brought.
    look: Callable[[], int]
    silence_seconds: float


class How(TypedDict, total=False):
    """What may be said of a run besides."""

    given: bytes | None
    patience: Patience | None
    hear: Callable[[str], None] | None


def collect(
    process: Popen[bytes],
    context: Context,
    *,
    given: bytes = b"",
    patience: Patience | None = None,
    hear: Callable[[str], None] | None = None,
) -> Done:
    """Let ``process`` run to its end. ``hear`` gets each line of what it says, in the thread that called."""
    pieces: queue.SimpleQueue[tuple[bool, bytes]] = queue.SimpleQueue()
    output, said = bytearray(), _Said(hear)
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        for is_output, stream in ((True, process.stdout), (False, process.stderr)):
            threading.Thread(target=_pump, args=(stream, is_output, pieces), daemon=True).start()
        if process.stdin is not None:
            feed(process, given)
        watch = _Watch(context, patience)
        still_open, ended_at = 2, 0.0
        while still_open:
            watch.check()
            try:
                is_output, piece = pieces.get(timeout=_TICK)
            except queue.Empty:
                if process.poll() is not None:
                    ended_at = ended_at or time.monotonic()
                    if time.monotonic() - ended_at > _GRACE:
                        break
                continue
            watch.active()
            if not piece:
                still_open -= 1
            elif is_output:
                output += piece
                if len(output) > METADATA_BYTES:
                    raise metadata_exceeded("what git lists")
            else:
                said.add(piece)
        while process.poll() is None:  # it has closed its output and may go on all the same
            watch.check()
            pause(process, _TICK)
        if patience is not None:
            patience.look()
        return Done(process.returncode, bytes(output), said.text())
    finally:
        kill(process)


class _Watch:
    def __init__(self, context: Context, patience: Patience | None) -> None:
        self._context = context
        self._patience = patience
        self._brought = 0
        self._active = self._looked = time.monotonic()

    def active(self) -> None:
        self._active = time.monotonic()

    def check(self) -> None:
        self._context.checkpoint()
        now = time.monotonic()
        if self._patience is None or now - self._looked < _TICK:
            return
        self._looked = now
        brought = self._patience.look()
        if brought != self._brought:
            self._brought, self._active = brought, now
        if now - self._active > self._patience.silence_seconds:
            raise NetworkError(
                f"git had nothing to say for {self._patience.silence_seconds:g} seconds",
                part="timeout",
                hint="is the server in trouble, or a firewall in the way?",
            )


class _Said:
    """The end of what git says, without its progress: that comes as lines which overwrite each other."""

    def __init__(self, hear: Callable[[str], None] | None) -> None:
        self._hear = hear
        self._rest = b""
        self._kept = bytearray()

    def add(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).replace(b"\r", b"\n").split(b"\n")
        self._rest = self._rest[-_SAID_BYTES:]
        for line in lines:
            self._line(line)

    def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        self._kept += line + b"\n"
        if len(self._kept) > 2 * _SAID_BYTES:
            del self._kept[:_SAID_BYTES]
        if self._hear is not None:
            self._hear(line.decode("utf-8", "replace"))

    def text(self) -> str:
        self._line(self._rest)
        self._rest = b""
        return self._kept.decode("utf-8", "replace")


def _pump(stream: IO[bytes], is_output: bool, pieces: queue.SimpleQueue[tuple[bool, bytes]]) -> None:
    # This thread alone closes the pipe: nobody may, while it reads.
    try:
        with stream:
            while piece := os.read(stream.fileno(), _PIECE):
                pieces.put((is_output, piece))
    finally:
        pieces.put((is_output, b""))
