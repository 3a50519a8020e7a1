"""Find, check and open the cache's directory, and make files and folders in it.

A cache is used only if it is ours alone and of a layout that we know; it may be read-only. Each folder on the way to
something in it is made where it is missing, for us alone, and is never a link.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from getmodules.errors import ConfigError, FetchError, NotFoundError
from getmodules.files import durable
from getmodules.files.local import read_file
from getmodules.files.opening import directory_below, is_in_the_way, split
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

VARIABLE = "GETMODULES_CACHE_DIR"
VERSION = 1
_ANOTHER = f"{VARIABLE}=DIRECTORY names another; or --no-cache"
_VERSION_FILE = "version"
_VERSION_BYTES = 32
_ATTEMPTS = 20
#: Names that an empty directory may hold, which users or file systems make.
_HARMLESS = frozenset({"lost+found", ".DS_Store", "CACHEDIR.TAG"})
#: Folders that a run makes again if the cache was removed while it was at work.
_OURS = frozenset({"blobs", "records", "workshops", "locks", "ingest", "partials"})
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of getmodules: safe to remove, not worth a backup.\n"
_log = logging.getLogger("getmodules")


def directory_from(environ: Mapping[str, str]) -> Path | None:
    """Return ``GETMODULES_CACHE_DIR``, or the platform's directory for caches; ``None`` if it is empty, or missing."""
    chosen = environ.get(VARIABLE)
    if chosen is not None:
        if not chosen:
            return None
        if not os.path.isabs(chosen):
            raise ConfigError(
                f"{VARIABLE} must be an absolute path, not {printable(chosen)!r}",
                hint=f"the shell expands ~ and $PWD: {VARIABLE}=$PWD/DIRECTORY",
            )
        return Path(chosen)
    if sys.platform == "win32":
        base = environ.get("LOCALAPPDATA", "")
        return Path(base, "getmodules", "Cache") if os.path.isabs(base) else None
    home = environ.get("HOME", "")
    if sys.platform == "darwin":
        return Path(home, "Library", "Caches", "getmodules") if os.path.isabs(home) else None
    base = environ.get("XDG_CACHE_HOME", "")  # a relative one is ignored, as its specification says
    if not os.path.isabs(base):
        base = os.path.join(home, ".cache") if os.path.isabs(home) else ""
    return Path(base, "getmodules") if base else None


@valueclass
class CacheLocation:
    """The directory of an opened cache."""

    root: Path
    writable: bool


def open_cache(root: Path) -> CacheLocation | None:
    """Open the cache at ``root``, made where it is missing; ``None`` where the system allows none: it is optional.

    Raises ``ConfigError`` for a directory that is not ours: somebody else's, another program's, a newer version's.
    """
    shown = printable(str(root), 1000)
    for left in reversed(range(_ATTEMPTS)):
        try:
            return _opened(Path(os.path.realpath(root)), shown)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and left:
                continue  # it is being removed at this moment, which is allowed
            _log.warning("working without a cache: %s: %s", shown, error.strerror)
            break
    return None


def _opened(root: Path, shown: str) -> CacheLocation:
    _check_directory(_made(root), shown)
    writable = os.access(root, os.W_OK | os.X_OK)
    return CacheLocation(root=root, writable=_check_version(root, shown, writable=writable))


def _made(root: Path) -> os.stat_result:
    try:
        return os.lstat(root)
    except FileNotFoundError:
        os.makedirs(root.parent, 0o755, exist_ok=True)
        with suppress(FileExistsError):  # another process was faster
            os.mkdir(root, 0o700)
    return os.lstat(root)


def _check_directory(status: os.stat_result, shown: str) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise ConfigError(f"the cache {shown} is not a directory", hint=_ANOTHER)
    if sys.platform == "win32":
        return
    if status.st_uid != os.geteuid():
        raise ConfigError(f"the cache {shown} belongs to somebody else", hint=_ANOTHER)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(
            f"others may write into the cache {shown}", hint=f"chmod 700 {shown}, once you trust what is in it"
        )


def _check_version(root: Path, shown: str, *, writable: bool) -> bool:
    """Check the version, writing it into an empty directory; return whether the cache can be written to."""
    try:
        text = b"".join(read_file(root / _VERSION_FILE))[:_VERSION_BYTES].decode("ascii", "replace").strip()
    except NotFoundError:
        return _begin(root, shown, writable=writable)
    except FetchError as error:
        if isinstance(error.__cause__, OSError) and not is_in_the_way(error.__cause__):
            raise error.__cause__ from None
        raise ConfigError(f"the cache {shown} cannot be used: {error.message}", hint=_ANOTHER) from error
    if not text.isdecimal():
        raise ConfigError(f"the cache {shown} says no version that makes sense", hint="remove it, or name another")
    if int(text) > VERSION:
        raise ConfigError(
            f"the cache {shown} was written by a newer getmodules (its version is {int(text)}, ours {VERSION})",
            hint=f"update getmodules; or {VARIABLE}=DIRECTORY; or --no-cache",
        )
    return writable


def _begin(root: Path, shown: str, *, writable: bool) -> bool:
    names = os.listdir(root)
    if _VERSION_FILE in names:  # another process begins it in this moment
        return _check_version(root, shown, writable=writable)
    known = _HARMLESS | _OURS
    strangers = sorted(name for name in names if name not in known and not name.startswith(f"{_VERSION_FILE}."))
    if strangers:
        raise ConfigError(
            f"{shown} is not a cache of getmodules: it holds {printable(strangers[0])!r}",
            hint=f"{VARIABLE} names an empty directory, or one that is not there yet",
        )
    if not writable:
        return False
    for name, text in (("CACHEDIR.TAG", _TAG), (_VERSION_FILE, f"{VERSION}\n")):
        _write(root, name, text)
    return True


def _write(root: Path, name: str, text: str) -> None:
    """Write a file to the disk before it gets its name: after a crash, a cache without a version could not be used."""
    fresh = root / f"{_VERSION_FILE}.{os.urandom(4).hex()}"
    try:
        with durable.new_file(fresh) as file:
            file.write(text.encode("ascii"))
        os.replace(fresh, root / name)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(fresh)
        raise


# ---------------------------------------------------------------------- files and folders of the cache


def move_into_cache(root: Path, name: str, fresh: Path) -> Path:
    """Rename ``fresh``, a file in the cache, to ``name`` there. Raises ``OSError``."""
    parents, last = split(name)
    with directory_below(root, parents, make=True) as (prefix, directory):
        os.replace(fresh, f"{prefix}{last}", dst_dir_fd=directory)
    return root / name


def private_folder(root: Path, name: str) -> Path:
    """Return the folder ``name`` of the cache, made where it is missing. Raises ``OSError``."""
    with directory_below(root, name.split("/"), make=True):
        return root / name


def listing(root: Path, name: str) -> list[str]:
    """Return the names in the folder ``name`` of the cache; none where it is missing, or a link. Raises ``OSError``."""
    try:
        with directory_below(root, name.split("/")) as (prefix, directory):
            return sorted(os.listdir(prefix if directory is None else directory))
    except OSError as error:
        if isinstance(error, FileNotFoundError) or is_in_the_way(error):
            return []
        raise
