"""Files that people keep, such as manifests and locks: read whole, or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from getmodules.errors import ConfigError
from getmodules.openflags import READ
from getmodules.util.redact import printable


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
