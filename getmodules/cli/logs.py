"""Log records of the library as messages: warnings always, everything with ``-v``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from getmodules.cli.render import Console
from getmodules.util.redact import redact


@contextmanager
def show_logs(console: Console) -> Iterator[None]:
    """Show log records on ``console`` until the block ends."""
    level = logging.DEBUG if console.verbose else logging.ERROR if console.quiet else logging.WARNING
    logger, handler = logging.getLogger("getmodules"), _Handler(console)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


class _Handler(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = redact(record.getMessage())
        except (TypeError, ValueError):  # arguments that do not fit the message; a plugin may log as well
            self.handleError(record)
            return
        self._console.labelled(record.levelname.lower(), text)
