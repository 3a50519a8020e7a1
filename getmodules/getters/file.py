"""Getter for ``file:`` (directories, archives and single files on this machine) and the detector for paths.

A directory is copied; it is neither linked to nor changed. An archive or a single file is streamed like any other
blob, so that what is hashed is what is unpacked, even if the original changes meanwhile.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from urllib.parse import quote

from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.hookspecs import hookimpl
from getmodules.api.model import Blob, Members, Pin, Want
from getmodules.api.ports import Context, Detector, Getter, Shorthand
from getmodules.archive.directory import walk
from getmodules.errors import AddressError, UnsafeContentError
from getmodules.files.local import read_file, unreadable
from getmodules.files.private import is_private
from getmodules.util.redact import printable
from getmodules.util.values import replace

_PATH = re.compile(r"\.{1,2}(?:/.*)?|/(?!/).*", re.DOTALL)
_DRIVE_PATH = re.compile(r"[A-Za-z]:[\\/].*|\.{1,2}\\.*", re.DOTALL)


class PathDetector:
    """Detector for absolute and relative paths."""

    name = "file"

    def detect(self, shorthand: Shorthand) -> str | None:
        body = shorthand.body
        if _DRIVE_PATH.fullmatch(body):
            body = body.replace("\\", "/")
        elif not _PATH.fullmatch(body):
            return None
        elif "\\" in body:
            raise AddressError(f"the path {printable(body)!r} has a backslash", hint="directories are separated by '/'")
        return "file://" + quote(self._absolute(body, shorthand.base), safe="/!$&'()*+,;=:@~")

    @staticmethod
    def _absolute(path: str, base: str | None) -> bytes:
        if path.startswith("."):
            if base is None:
                raise AddressError(
                    f"{printable(path)!r} is relative, and there is nothing that it is relative to",
                    hint="pass base=, or write an absolute path",
                )
            root = os.fspath(base).replace(os.sep, "/")
            if not (root.startswith("/") or _DRIVE_PATH.fullmatch(root)):
                raise AddressError(f"the base directory {printable(root)!r} is not absolute")
            path = f"{root}/{path}"
        drive = "/" if _DRIVE_PATH.fullmatch(path) else ""
        return os.fsencode(drive + _normalised(path))


def _normalised(path: str) -> str:
    """Return ``path`` without ``.``, ``..`` and empty components; posixpath.normpath would keep a leading ``//``."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    root = "/" if path.startswith("/") else ""
    return root + "/".join(parts)


class FileGetter:
    """Getter for packages on this machine."""

    schemes = ("file",)
    local = True
    sends_on = False

    def check(self, package: PackageAddress) -> PackageAddress:
        url = check_url(package.url)
        if url.scheme != "file":
            raise AddressError("file:: takes paths and file:///… only", hint="write file::./path, or leave file:: out")
        if url.host or url.userinfo:
            raise AddressError(
                f"file://{printable(url.host)}{url.path} names another host", hint="three slashes: file:///path"
            )
        if not url.path.startswith("/"):
            raise AddressError("there is no path in this address", hint="write file:///path")
        cleaned = _normalised(url.path)
        return replace(package, url=f"file://{cleaned}")

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Blob | Members:
        path = check_url(pin.package.url).local_path()
        try:
            status = path.stat()
        except OSError as error:
            raise unreadable(path, error) from error
        if stat.S_ISDIR(status.st_mode):
            return Members(walk(path, is_private, into_git=False))
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeContentError(f"{printable(str(path))!r} is a device, fifo or socket", part="special-file")
        # The path itself may be a link to the archive, so it is resolved; its target must still be a regular file.
        return Blob(chunks=read_file(path.resolve()), size=status.st_size, name=path.name)


@hookimpl
def getmodules_detectors() -> Iterable[Detector]:
    return (PathDetector(),)


@hookimpl
def getmodules_getters() -> Iterable[Getter]:
    return (FileGetter(),)
