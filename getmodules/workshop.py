"""Working directories of getters: a private one for each key, one user at a time.

In the store they stay, for the next run; where there is none they live as long as the operation they were made for.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from getmodules.api.ports import Context
from getmodules.files.os_errors import ANOTHER_TMPDIR, translated
from getmodules.store.visit import Visit

_TICK_SECONDS = 0.1


class Workshops:
    def __init__(self, place: Callable[[str], Path], visit: Visit) -> None:
        self._place = place
        self.visit = visit
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    @contextmanager
    def open(self, key: str, context: Context) -> Iterator[Path]:
        with self.visit.workshop(key, context) as lasting:
            if lasting is not None:
                yield lasting
                return
            with self.alone(key, context) as path:
                with translated("cannot make a working directory"):
                    self.visit.furnish(key, path)
                yield path

    @contextmanager
    def alone(self, key: str, context: Context) -> Iterator[Path]:
        """Give out a working directory that lives as long as the operation."""
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        with self._taken(self._locks[name], context):
            path = self._place(name)
            with translated("cannot make a working directory"):
                path.mkdir(mode=0o700, exist_ok=True)
            yield path

    @contextmanager
    def _taken(self, lock: threading.Lock, context: Context) -> Iterator[None]:
        with context.turns.left():
            while not lock.acquire(timeout=_TICK_SECONDS):
                context.checkpoint()
        try:
            yield
        finally:
            lock.release()


@contextmanager
def temporary_workshops(visit: Visit) -> Iterator[Workshops]:
    """Workshops for an operation without a destination; no directory is made before one is asked for."""
    import tempfile

    with ExitStack() as stack:

        @cache
        def root() -> Path:
            with translated("cannot make a temporary directory", ANOTHER_TMPDIR):
                return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="getmodules-")))

        yield Workshops(lambda name: root() / name, visit)
