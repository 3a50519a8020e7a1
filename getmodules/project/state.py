"""What this checkout remembers of its own: which trees we put where, so that an update can tell them from edited ones.

The lock says what should be there; after it was updated (``git pull``, ``lock --upgrade``) it does not know any more
what was there before. ``.getmodules/installed.json`` does: the h1 of each tree as we installed it, written before that
is done, since nothing can be written by a run that is killed; of a tree that was to be replaced, a list of the old one
and the new one then. It is a help and never a proof: where it is missing, or wrong, a tree counts as edited, and
nothing is overwritten.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from getmodules.api.ports import Progress
from getmodules.cache.locks import claimed
from getmodules.errors import ConfigError, InstallError
from getmodules.files.durable import shown_path
from getmodules.files.os_errors import translated
from getmodules.files.private import Sweeper
from getmodules.project.document import read_text
from getmodules.project.files import write_file
from getmodules.project.names import STATE_DIRECTORY

_INSTALLED, _BUSY, _IGNORE = "installed.json", "busy", ".gitignore"
_ATTEMPTS = 20
_READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_log = logging.getLogger("getmodules")


class State:
    """Of the project in ``directory``."""

    def __init__(self, directory: Path, sweeper: Sweeper) -> None:
        self._root = directory / STATE_DIRECTORY
        self._sweeper = sweeper

    def installed(self) -> dict[str, frozenset[str]]:
        """By destination, the h1 of what we last installed there; of several, where a run was ended."""
        try:
            found = json.loads(read_text(self._root / _INSTALLED) or "{}")
        except (ConfigError, ValueError, RecursionError):
            return {}
        if not isinstance(found, dict):
            return {}
        listed = {dest: [h1s] if isinstance(h1s, str) else h1s for dest, h1s in found.items()}
        return {
            dest: frozenset(h1s)
            for dest, h1s in listed.items()
            if isinstance(h1s, list) and all(isinstance(h1, str) for h1 in h1s)
        }

    def remember(self, trees: Mapping[str, frozenset[str]], *, matters: bool = True) -> None:
        """Of ``trees`` this is what may lie there, nothing being nothing of ours; what was known of others stays.

        Whether it ``matters`` says whether somebody is told that it cannot be written.
        """
        known = self.installed()
        now = {dest: h1s for dest, h1s in {**known, **trees}.items() if h1s}
        if now == known or not self._root.is_dir():  # a checkout that is only read has none, and needs none
            return
        try:
            if now:
                listed = {dest: next(iter(h1s)) if len(h1s) == 1 else sorted(h1s) for dest, h1s in now.items()}
                write_file(self._root / _INSTALLED, json.dumps(listed, indent=0, sort_keys=True) + "\n", self._sweeper)
            else:
                with translated(f"cannot remove {_INSTALLED}"):
                    os.unlink(self._root / _INSTALLED)
        except InstallError as error:  # everything is in its place; the next update has to ask for --force
            _log.log(logging.WARNING if matters else logging.DEBUG, "%s", error.message)

    @contextmanager
    def alone(self, progress: Progress, checkpoint: Callable[[], None]) -> Iterator[None]:
        """One run at a time works in a project; another one waits, and then finds what this one did."""

        def waiting(first: bool) -> None:
            if first:
                progress.notice("", "waiting for another getmodules that works in this project")
            checkpoint()

        for directory in (self._root.parent, self._root):
            self._sweeper.sweep(directory)
        turn, made = self._turn(waiting)
        try:
            yield
        finally:
            turn.__exit__(None, None, None)
            if made:
                self._remove_if_unused()

    def _turn(self, waiting: Callable[[bool], None]) -> tuple[AbstractContextManager[None], bool]:
        """Ours; and whether we made the directory, which is then ours to remove."""
        with translated("cannot take our turn in this project"):
            for attempt in range(_ATTEMPTS):
                turn: AbstractContextManager[None] = claimed(self._root / _BUSY, waiting)
                try:
                    made = self._make()
                    turn.__enter__()
                    return turn, made
                except FileNotFoundError:
                    if not self._root.parent.is_dir():
                        what = f"there is no directory {shown_path(self._root.parent)}"
                        raise ConfigError(what, hint="make it, or name another one") from None
                    # Another run made the directory, failed, and has removed it again.
                    if attempt == _ATTEMPTS - 1:
                        raise
                except OSError as error:
                    # A checkout that is only read: perhaps all is in its place, or modules go to where one may write.
                    if error.errno not in _READ_ONLY:
                        raise
                    return nullcontext(), False
        raise AssertionError("the loop ends with a turn or an error")

    def _make(self) -> bool:
        """Whether it was not there."""
        try:
            os.mkdir(self._root)
        except FileExistsError:
            if stat.S_ISDIR(os.lstat(self._root).st_mode):
                return False
            # Whoever made this project may have put a link here, through which we would write elsewhere.
            raise InstallError(
                f"{STATE_DIRECTORY} beside the lock is no directory", part="protected", hint="remove it"
            ) from None
        # So that nobody adds it to version control by accident.
        (self._root / _IGNORE).write_text("*\n", encoding="ascii")
        return True

    def _remove_if_unused(self) -> None:
        """A run that installed nothing leaves nothing."""
        with suppress(OSError):
            if os.listdir(self._root) == [_IGNORE]:
                os.unlink(self._root / _IGNORE)
                os.rmdir(self._root)
