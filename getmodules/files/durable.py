"""Files that people keep, such as manifests and locks: read whole, or not at all.

Files that outlive a crash of the machine: on the disk before they have their names, and then their names as well.

Everything here raises ``OSError``.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from getmodules.errors import ConfigError
from getmodules.files.opening import DIRECTORY, READ
from getmodules.util.redact import printable


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


def read_user_file(path: Path, limit: int) -> bytes | None:
    """What is in it, or one byte more than ``limit`` of that; ``None`` where there is none.

    What is no file is an error, and a fifo is not waited for.
    """
    try:
        descriptor = os.open(path, READ)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigError(f"{shown_path(path)} is not a file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limit + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(descriptor)


def shown_path(path: Path) -> str:
    return printable(os.fspath(path), 1000)


def _unreadable(path: Path, error: OSError | ValueError) -> ConfigError:
    reason = getattr(error, "strerror", None) or "the path is not possible"
    return ConfigError(f"cannot read {shown_path(path)}: {reason}")


def write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    if written != len(data):
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[os.write(descriptor, rest) :]
