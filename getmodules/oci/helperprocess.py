"""Runs a credential helper: a small program with a short answer, which may hang, babble or leave children behind."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from getmodules.api.limits import KIB
from getmodules.errors import AuthenticationError
from getmodules.util.processes import feed, kill, pause

if TYPE_CHECKING:
    from subprocess import Popen

SECONDS: Final = 30.0
OUTPUT_BYTES: Final = 64 * KIB
_PIECE = 8 * KIB
_TICK = 0.05
#: How long output is waited for that a child of the helper keeps open after the helper itself has ended.
_GRACE = 0.5


class Answer(NamedTuple):
    code: int
    output: bytes
    complaint: bytes


#: (the command, its input, its environment); raises :class:`AuthenticationError` where there is no answer.
Run = Callable[[Sequence[str], bytes, Mapping[str, str]], Answer]


def run_helper(command: Sequence[str], given: bytes, environ: Mapping[str, str], *, seconds: float = SECONDS) -> Answer:
    import subprocess

    what = f"the credential helper {os.path.basename(command[0])}"
    # A session of its own: a prompt finds no terminal and fails, instead of waiting for nobody, and at the end
    # there is one group to kill.
    apart = (
        {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
        if sys.platform == "win32"
        else {"start_new_session": True}
    )
    pipe = subprocess.PIPE
    try:
        process: Popen[bytes] = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environ), **apart
        )
    except OSError as error:
        raise AuthenticationError(f"{what} cannot be started: {error.strerror or error}") from error
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        readers = (_Reader(process.stdout), _Reader(process.stderr))
        feed(process, given)
        _wait(process, readers, what, seconds)
        return Answer(process.returncode, *(reader.text for reader in readers))
    finally:
        kill(process)


class _Reader(threading.Thread):
    """Collects what comes out of one pipe. It alone closes it: nobody may, while it reads."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._collected = bytearray()
        self.start()

    @property
    def text(self) -> bytes:
        return bytes(self._collected)

    @property
    def is_too_long(self) -> bool:
        return len(self._collected) > OUTPUT_BYTES

    def run(self) -> None:
        with self._stream:
            while not self.is_too_long and (piece := os.read(self._stream.fileno(), _PIECE)):
                self._collected += piece


def _wait(process: Popen[bytes], readers: Sequence[_Reader], what: str, seconds: float) -> None:
    expires = time.monotonic() + seconds
    while process.poll() is None and not any(reader.is_too_long for reader in readers):
        if time.monotonic() >= expires:
            raise AuthenticationError(
                f"{what} did not answer within {seconds:g} seconds", hint="does it ask for something on a screen?"
            )
        # The end of the output comes with the end of the helper, and is noticed at once; the end alone is polled for.
        reading = next((reader for reader in readers if reader.is_alive()), None)
        if reading is not None:
            reading.join(_TICK)
        else:
            pause(process, _TICK)
    for reader in readers:
        reader.join(_GRACE)
    if any(reader.is_too_long for reader in readers):
        raise AuthenticationError(f"{what} wrote more than {OUTPUT_BYTES:,} bytes, and no answer is as long")
