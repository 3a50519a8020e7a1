"""Feed and kill other programs: the feeding never blocks, and the killing includes their children."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen


def feed(process: Popen[bytes], given: bytes) -> None:
    """Write ``given`` to ``process`` (started with a pipe for it), and close that; whether or not it is read."""
    assert process.stdin is not None
    threading.Thread(target=_write, args=(process.stdin, given), daemon=True).start()


def kill(process: Popen[bytes]) -> None:
    """Kill ``process``, the leader of a group of its own, and its children, unless it has ended by itself."""
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.kill()
    else:
        import signal

        # It has not been waited for, so the number is still its own; macOS refuses where only a zombie is left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def pause(process: Popen[bytes], seconds: float) -> None:
    """Wait until the process ends, but no longer than ``seconds``."""
    from subprocess import TimeoutExpired

    with suppress(TimeoutExpired):
        process.wait(seconds)


def _write(stream: IO[bytes], given: bytes) -> None:
    with suppress(OSError), stream:  # it may end without having read anything, and what it says tells why
        stream.write(given)
