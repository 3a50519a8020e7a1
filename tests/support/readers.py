"""Other programs that read archives, and what each of them sees.

Hostile archives are only listed and read to standard output; what was accepted may be unpacked.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.fakes import installed_files
from tests.support.tools import need

PATIENCE = 60
#: zipfile and unzip of the build machine do not know every codec; bsdtar and GNU tar call programs for them.
_ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def _run(*argv: str | Path) -> bytes | None:
    """What a program writes to standard output; ``None`` where it fails."""
    done = subprocess.run(argv, capture_output=True, timeout=PATIENCE, env=_ENVIRONMENT, check=False)
    return done.stdout if done.returncode == 0 else None


# --------------------------------------------------------------------------------------------- listing

#: Names and contents; ``None``: this reader refuses it.
Opinion = tuple[list[str], bytes] | None


def opinions(archive: Path, kind: str) -> dict[str, Opinion]:
    readers = _OF_ZIP if kind == "zip" else _OF_TAR
    return {name: look(archive) for name, look in readers.items()}


def _zipfile(archive: Path) -> Opinion:
    try:
        with zipfile.ZipFile(archive) as opened:
            names = opened.namelist()
            return sorted(names), b"".join(opened.read(info) for info in opened.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        return None


def _tarfile(archive: Path) -> Opinion:
    try:
        with tarfile.open(archive) as opened:
            members = opened.getmembers()
            pieces = [opened.extractfile(member) for member in members if member.isreg()]
            return sorted(member.name for member in members), b"".join(p.read() for p in pieces if p is not None)
    except (tarfile.TarError, OSError, EOFError, ValueError):
        return None


def _program(listing: tuple[str, ...], content: tuple[str, ...]) -> Callable[[Path], Opinion]:
    def look(archive: Path) -> Opinion:
        need(listing[0])
        names, data = _run(*listing, archive), _run(*content, archive)
        if names is None or data is None:
            return None
        return sorted(name.decode("utf-8", "replace").rstrip("/") for name in names.splitlines()), data

    return look


_BSDTAR = _program(("bsdtar", "-tf"), ("bsdtar", "-xOf"))
_OF_ZIP: Mapping[str, Callable[[Path], Opinion]] = {
    "zipfile": _zipfile, "bsdtar": _BSDTAR, "unzip": _program(("unzip", "-Z1"), ("unzip", "-p")),
}  # fmt: skip
_OF_TAR: Mapping[str, Callable[[Path], Opinion]] = {
    "tarfile": _tarfile, "bsdtar": _BSDTAR, "GNU tar": _program(("tar", "-tf"), ("tar", "-xOf")),
}  # fmt: skip

# --------------------------------------------------------------------------------------------- unpacking

#: Files by name with their content, and links by name with their target.
Unpacked = dict[str, bytes]


def unpacked(archive: Path, kind: str, directory: Path) -> dict[str, Unpacked]:
    """What each reader makes of an archive that is known to be harmless."""
    programs = {"bsdtar": ("bsdtar", "-xf"), **({} if kind == "zip" else {"GNU tar": ("tar", "-xf")})}
    found = {}
    for reader, argv in programs.items():
        need(argv[0])
        place = directory / reader.replace(" ", "-")
        place.mkdir()
        if _run(*argv, archive, "-C", place) is not None:
            found[reader] = _content(place)
    if kind == "zip":
        need("unzip")
        place = directory / "unzip"
        place.mkdir()
        if _run("unzip", "-q", archive, "-d", place) is not None:
            found["unzip"] = _content(place)
    return found


def _content(place: Path) -> Unpacked:
    for directory, _, files in os.walk(place):
        for path in (Path(directory), *(Path(directory, name) for name in files)):
            if not path.is_symlink():
                path.chmod(0o700)
    return installed_files(place)
