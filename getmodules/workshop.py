"""Rooms for getters to work in: a private directory for each key, one user at a time.

They live as long as the operation they were made for.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from getmodules.oserrors import translated


class Workshops:
    def __init__(self, root: Callable[[], Path]) -> None:
        self._root = root
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    @contextmanager
    def open(self, key: str) -> Iterator[Path]:
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        with self._locks[name]:
            path = self._root() / name
            with translated("cannot make a working directory"):
                path.mkdir(mode=0o700, exist_ok=True)
            yield path


@contextmanager
def temporary_workshops() -> Iterator[Workshops]:
    """Workshops for an operation without a destination; no directory is made before one is asked for."""
    import tempfile

    with ExitStack() as stack:

        @cache
        def root() -> Path:
            with translated("cannot make a temporary directory"):
                return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="getmodules-")))

        yield Workshops(root)
