"""Threads that one can do without."""

from __future__ import annotations

import threading
from collections.abc import Callable


def started(work: Callable[[], None], name: str) -> threading.Thread | None:
    """A thread at ``work``; ``None`` where the system gives no more, as in a container that may have few."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread
