"""Find the entry points of one group, without the cost of ``importlib.metadata``.

Importing that and walking every distribution's metadata takes several times as long as starting Python; here a
directory listing for each entry of ``sys.path``, and one small file for each distribution that has entry
points, are read. The first distribution of a name on the path wins, as for imports.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from getmodules.errors import ConfigError
from getmodules.util.redact import printable

_METADATA = re.compile(r"(?P<name>.+?)(?:-(?P<version>[^-]+?))?(?:-py3\S*)?\.(?:dist-info|egg-info)")
_METADATA_ENDS = (".dist-info", ".egg-info")
_LINE = re.compile(r"\s*(?P<name>[^=#;\s][^=]*?)\s*=\s*(?P<value>[^#\s\[]+)")
_SEPARATORS = re.compile(r"[-_.]+")


_NOTHING_THERE = (FileNotFoundError, NotADirectoryError, PermissionError)


class EntryPoint(NamedTuple):
    name: str
    #: ``package.module`` or ``package.module:attribute``
    value: str
    distribution: str
    version: str


def normalised(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return _SEPARATORS.sub("-", name).lower()


def find(group: str, path: Iterable[str] | None = None) -> Iterator[EntryPoint]:
    """Yield the entry points of ``group`` on ``path`` (default: ``sys.path``), in the order of the path."""
    seen: set[str] = set()
    for directory in sys.path if path is None else path:
        try:
            names = sorted(os.listdir(directory or os.curdir))
        except _NOTHING_THERE:  # nothing can be imported from it either
            continue
        except OSError as error:
            raise _cannot_look(directory, error) from error
        for name in names:
            if not name.endswith(_METADATA_ENDS):
                continue
            match = _METADATA.fullmatch(name)
            if match is None or normalised(match["name"]) in seen:
                continue
            distribution = normalised(match["name"])
            seen.add(distribution)
            text = _read(os.path.join(directory, name, "entry_points.txt"))
            if text is None:
                continue
            version = match["version"] or _version(os.path.join(directory, name))
            for entry, value in _entries(text, group):
                # Names are shown in messages and compared with what people type: both must see the same text.
                yield EntryPoint(printable(entry), value, printable(distribution), printable(version))


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except _NOTHING_THERE:
        return None
    except OSError as error:
        raise _cannot_look(path, error) from error


def _cannot_look(path: str, error: OSError) -> ConfigError:
    """Return the error for a directory that cannot be read: a missing plugin would lead to a misleading error."""
    return ConfigError(f"cannot look for plugins in {printable(path, 500)!r}: {error.strerror}")


def _version(directory: str) -> str:
    for name in ("PKG-INFO", "METADATA"):
        for line in (_read(os.path.join(directory, name)) or "").splitlines():
            if line.startswith("Version: "):
                return line.removeprefix("Version: ").strip()
    return "unknown"


def _entries(text: str, group: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in text.splitlines():
        if line.startswith("["):
            inside = line.strip() == f"[{group}]"
        elif inside and (match := _LINE.match(line)):
            yield match["name"], match["value"]
