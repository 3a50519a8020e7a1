"""The lock file on disk: read whole, replaced whole."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from getmodules.errors import InstallError
from getmodules.files import durable
from getmodules.files.durable import read_user_file, shown_path
from getmodules.files.os_errors import translated
from getmodules.providers.lockfile import LOCK_FILE_BYTES, Engine, LockFile, format_lock_file, parse_lock_file

LOCK_FILE_NAME: Final = ".terraform.lock.hcl"
#: Everybody who builds reads it.
_MODE = 0o644


def read_lock_file(path: Path) -> LockFile:
    """What is locked there; nothing where there is no file."""
    data = read_user_file(path, LOCK_FILE_BYTES)
    return LockFile() if data is None else parse_lock_file(data, shown_path(path))


def write_lock_file(path: Path, lock_file: LockFile, engine: Engine = Engine.OPENTOFU) -> None:
    """Replace it in one step, or leave it as it was."""
    what = f"cannot write {shown_path(path)}"
    with translated(what):
        # Where people keep a link, the link stays, and what it leads to is replaced.
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():  # a rename would put a file in the place of /dev/null
            raise InstallError(f"{what}: it is not a file")
        new = target.with_name(f"{target.name}.getmodules-{os.urandom(8).hex()}")
        try:
            with durable.new_file(new, _MODE) as stream:
                if os.name != "nt":
                    os.fchmod(stream.fileno(), _MODE)  # whatever the umask
                stream.write(format_lock_file(lock_file, engine).encode())
            durable.put(new, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(new)
