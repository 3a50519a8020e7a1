"""Waiting for what happens elsewhere: looked for again and again, and never longer than any machine needs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

#: Seconds; far more than anything takes that a test waits for.
PATIENCE = 60


def wait_until(
    holds: Callable[[], object],
    complaint: Callable[[], object] | str = "it never came to be",
) -> None:
    """``complaint`` says what is missing where it does not happen in time."""
    expires = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < expires, complaint if isinstance(complaint, str) else complaint()
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    """A zombie is not: it is only waiting for somebody to look."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        pass
    else:
        return state != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not sys.platform.startswith("linux")
