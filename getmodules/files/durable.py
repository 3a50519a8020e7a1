"""Write files that survive a crash of the machine, and read files that users keep, such as manifests and locks.

A new file is on the disk before it gets its name, and then its name is as well. Writing raises ``OSError``, reading
:class:`~getmodules.errors.ConfigError`.
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


def replace_file(fresh: Path, target: Path) -> None:
    """Rename ``fresh`` to ``target``, which it replaces: in one step, and durably."""
    os.replace(fresh, target)
    sync_directory(target.parent)


def sync_directory(directory: Path) -> None:
    """Bring the names in ``directory`` to the disk; Windows does that by itself."""
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
        # Some file systems cannot sync directories, shared folders of virtual machines above all.
        if error.errno != errno.EINVAL:
            raise


def read_user_file(path: Path, limit: int) -> bytes | None:
    """Return the content of ``path``, or its first ``limit + 1`` bytes; ``None`` where there is no such file.

    Anything but a regular file is an error, and a fifo is not waited for.
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
