"""Changes a credential file in place: all of the change or nothing of it, and nothing else in the file.

Writers that are ours take turns (a lock beside the file, gone afterwards). Docker and podman know no lock: whether
they came in between is looked at right before the rename, and then the change is made again on what they wrote.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from getmodules.errors import InstallError
from getmodules.files import durable, opening as openflags
from getmodules.files.locking import Lock, try_lock
from getmodules.files.os_errors import translated
from getmodules.oci.authfiles import FILE_BYTES, AuthFile, read_document

LOCK_SECONDS: Final = 10.0
_TICK = 0.02
_ATTEMPTS = 20

#: Edits a document; whether that changed anything. It may be called again, with a fresher document.
Change = Callable[[dict[str, Any]], bool]


def rewrite(file: AuthFile, change: Change, *, private: bool = False) -> bool:
    """Apply ``change`` to ``file``, which is made where it does not exist; whether anything was written.

    What is written is for its owner alone; with ``private``, a file that others may read is written for that.
    """
    first = read_document(file) or {}
    # People who manage their dot files keep links there: the link stays, what it leads to is replaced.
    target = Path(os.path.realpath(file.path))

    def is_due(document: dict[str, Any]) -> bool:
        return change(document) or (private and _is_open(target))

    if not is_due(first):
        return False
    what = f"cannot write the credentials to {file.shown}"
    if target.exists() and not target.is_file():  # a rename would put a file in the place of /dev/null
        raise InstallError(f"{what}: it is not a file", hint="REGISTRY_AUTH_FILE or DOCKER_CONFIG may name another")
    with translated(what), _parent(target.parent), _turn(target, what) as is_alone:
        if is_alone:
            _sweep(target)
        for _ in range(_ATTEMPTS):
            before = _identity(target)
            document = read_document(file) or {}
            if not is_due(document):
                return False
            data = json.dumps(document, indent="\t", ensure_ascii=False).encode() + b"\n"
            if len(data) > FILE_BYTES:
                raise InstallError(f"{what}: it would have more than the {FILE_BYTES:,} bytes that anybody reads")
            if _replace(target, before, data):
                return True
    raise InstallError(f"{what}: another program keeps changing it", hint="try again when it is done")


@contextmanager
def _parent(directory: Path) -> Iterator[None]:
    """``directory`` exists; what was missing of it is private, and goes again if nothing gets into it."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(0o700, exist_ok=True)
    try:
        yield
    finally:
        for path in missing:
            with suppress(OSError):  # not empty: the usual case
                path.rmdir()


@contextmanager
def _turn(target: Path, what: str) -> Iterator[bool]:
    """Our turn to write; ``False`` where the file system has no locks, and others may believe the same."""
    path = target.with_name(f".{target.name}.getmodules-lock")
    expires = time.monotonic() + LOCK_SECONDS
    while True:
        fd = os.open(path, openflags.LOCK, 0o600)
        try:
            lock = try_lock(fd)
            if lock is Lock.UNSUPPORTED:
                yield False
                return
            # Whoever had it before us has removed the file: then this is a lock that the next one will not see.
            if lock is Lock.HELD and _is_at(fd, path):
                try:
                    yield True
                finally:
                    with suppress(OSError):  # Windows removes no open file; see below
                        os.unlink(path)
                return
        finally:
            os.close(fd)
            if os.name == "nt":
                with suppress(OSError):  # somebody else has it open, and will remove it
                    os.unlink(path)
        if time.monotonic() >= expires:
            raise InstallError(
                f"{what}: another getmodules has been writing there for {LOCK_SECONDS:g} seconds",
                hint=f"is a process stuck? It holds the lock of {path.name}",
            )
        time.sleep(_TICK)


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _is_open(path: Path) -> bool:
    """Whether others than its owner may read or write a file."""
    try:
        return os.name != "nt" and bool(os.stat(path).st_mode & 0o077)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _identity(path: Path) -> tuple[int, int, int, int] | None:
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _replace(target: Path, before: tuple[int, int, int, int] | None, data: bytes) -> bool:
    """``False``: somebody else replaced ``target`` meanwhile."""
    new = target.with_name(f".{target.name}.getmodules-{os.urandom(8).hex()}")
    try:
        _write(new, target, data)
        if _identity(target) != before:
            return False
        durable.put(new, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(new)
    return True


def _write(new: Path, target: Path, data: bytes) -> None:
    with durable.new_file(new, 0o600) as stream:
        if os.name != "nt":
            os.fchmod(stream.fileno(), 0o600)  # whatever the umask
            # Root who logs in on somebody's behalf (sudo) must not take the file away from them.
            if os.geteuid() == 0 and target.exists():
                status = target.stat()
                os.fchown(stream.fileno(), status.st_uid, status.st_gid)
        stream.write(data)


def _sweep(target: Path) -> None:
    """Remove what a killed writer left: it holds secrets. With the lock in hand there is no living one."""
    left = re.compile(rf"\.{re.escape(target.name)}\.getmodules-[0-9a-f]{{16}}")
    for name in os.listdir(target.parent):
        if left.fullmatch(name):
            with suppress(OSError):
                os.unlink(target.parent / name)
