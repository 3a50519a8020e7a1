"""Files that outlive a crash of the machine: on the disk before they have their names, and then their names as well.

Everything here raises ``OSError``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from getmodules.openflags import DIRECTORY


@contextmanager
def new_file(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Make the file ``path``, which must not be there yet; what was written to it is on the disk afterwards."""
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


def put(fresh: Path, target: Path) -> None:
    """``fresh`` is from now on what ``target`` is: in one step, and for good."""
    os.replace(fresh, target)
    sync_directory(target.parent)


def sync_directory(directory: Path) -> None:
    """The names in ``directory`` are on the disk afterwards; Windows sees to that itself."""
    if os.name != "nt":
        descriptor = os.open(directory, DIRECTORY)
        try:
            sync_open_directory(descriptor)
        finally:
            os.close(descriptor)


def sync_open_directory(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        # File systems that know no such thing for directories, shared folders of virtual machines above all.
        if error.errno != errno.EINVAL:
            raise
