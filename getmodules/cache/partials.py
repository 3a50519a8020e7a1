"""Downloads that ended early, kept by their identity: the next run goes on where the last one ended.

A partial download is the file ``partials/<name>``, locked by who writes it, with ``<name>.sum`` beside it: a size, and
the sha256 of so many bytes from the beginning. What is there is used up to that size, and only if it has that hash: a
killed run has written more than it noted, and after a loss of power a file may have blanks.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from getmodules.cache.location import listing, private_folder
from getmodules.cache.locks import attempt, lock_name
from getmodules.files import opening as openflags
from getmodules.files.locking import FileLock
from getmodules.files.removal import status_of

FOLDER = "partials"
SUMS = ".sum"
#: More is not kept: what nobody came back for goes when the next one begins, the longest unused first.
MOST_PARTIALS = 32
LONGEST_SECONDS = 14 * 86_400
_NAME = re.compile(r"[0-9a-f]{32}")
_NOTE = re.compile(rb"(\d{1,18}) ([0-9a-f]{64})\n")
_NOTE_BYTES = 128
_PIECE = 1 << 20


class Partial:
    """One download, open and locked: the file, and how many bytes of it are known to be right."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self.size = self._known_size()
        os.ftruncate(descriptor, self.size)
        os.lseek(descriptor, self.size, os.SEEK_SET)

    def _known_size(self) -> int:
        """Return the size up to which the file has the hash that was noted for it; 0 where that is not so."""
        try:
            with open(f"{self.path}{SUMS}", "rb", opener=_no_link) as file:
                note = _NOTE.fullmatch(file.read(_NOTE_BYTES))
        except OSError:
            return 0
        if note is None:
            return 0
        size, hasher = int(note[1]), hashlib.sha256()
        for piece in read_from_start(self.descriptor, size):
            hasher.update(piece)
        is_right = os.fstat(self.descriptor).st_size >= size and hasher.hexdigest() == note[2].decode()
        return size if is_right else 0

    def note(self, size: int, sha256: str) -> None:
        """Note that so many bytes have this hash. A note that is torn is none: the next run starts over."""
        with suppress(OSError):  # it saves time, and no more
            descriptor = os.open(
                f"{self.path}{SUMS}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | openflags.NOFOLLOW, 0o600
            )
            try:
                os.write(descriptor, b"%d %s\n" % (size, sha256.encode("ascii")))
            finally:
                os.close(descriptor)

    def is_still_there(self) -> bool:
        """Return whether its path leads to it. On Windows it does: nobody else removes an open file there."""
        try:
            return sys.platform == "win32" or os.path.samestat(os.lstat(self.path), os.fstat(self.descriptor))
        except OSError:
            return False

    def forget_note(self) -> None:
        with suppress(OSError):
            os.unlink(f"{self.path}{SUMS}")

    def drop(self) -> None:
        """Remove it, while its lock is held; on Windows, where an open file stays, it goes once nobody uses it."""
        self.forget_note()
        if self.is_still_there():
            with suppress(OSError):
                os.unlink(self.path)


def read_from_start(descriptor: int, size: int) -> Iterator[bytes]:
    """Yield the first ``size`` bytes of an open file, or fewer where it ends before; its position moves."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    while size and (piece := os.read(descriptor, min(size, _PIECE))):
        size -= len(piece)
        yield piece


def open_partial(root: Path, identity: str) -> Partial | None:
    """Open the partial download of this identity, empty if it is new.

    Returns ``None`` while somebody else writes it, and on a file system without locks. Raises ``OSError``.
    """
    path = private_folder(root, FOLDER) / lock_name(f"partial\0{identity}")
    descriptor, answer = attempt(path, openflags.RESUMED)
    if descriptor is None:
        return None
    try:
        if answer is not FileLock.HELD:
            os.close(descriptor)
            return None
        partial = Partial(path, descriptor)
        if not partial.size:
            _sweep(root, besides=path)
    except BaseException:
        with suppress(OSError):
            os.close(descriptor)
        raise
    return partial


def partials(root: Path) -> list[Path]:
    """Return the files of all partial downloads."""
    return [root / FOLDER / name for name in listing(root, FOLDER) if _NAME.fullmatch(name)]


def lone_sums(root: Path) -> list[Path]:
    """Return the notes whose downloads are gone."""
    names = set(listing(root, FOLDER))
    return [root / FOLDER / name for name in names if name.endswith(SUMS) and name.removesuffix(SUMS) not in names]


def _sweep(root: Path, besides: Path) -> None:
    """Remove what is too old or too much, and not in use."""
    others = [(status.st_mtime, path) for path in partials(root) if path != besides and (status := status_of(path))]
    newest = sorted(others, reverse=True)
    oldest = time.time() - LONGEST_SECONDS
    for used, path in newest[: MOST_PARTIALS - 1]:
        if used < oldest:
            _remove(path)
    for _, path in newest[MOST_PARTIALS - 1 :]:
        _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        descriptor, _ = attempt(path, openflags.READ_NO_LINK)
        if descriptor is not None:
            try:
                os.unlink(path)
                os.unlink(f"{path}{SUMS}")
            finally:
                os.close(descriptor)


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | openflags.READ_NO_LINK)
