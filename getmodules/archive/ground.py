"""The system calls that make things below one staging directory, and nothing outside of it.

The directory is private, empty at the start, and filled by one writer only. Links are made last, so that while
files and directories are being made no component of a path can be one: paths of several components below
the directory's descriptor are safe, and no directory needs a descriptor of its own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from getmodules.errors import UnsafeContentError
from getmodules.openflags import NEW, READ_NO_LINK
from getmodules.oserrors import install_error
from getmodules.redact import printable

DIRECTORY_MODE = 0o755
_FILE_MODES = (0o644, 0o755)
_READ_BYTES = 256 << 10


class Ground:
    """One staging directory: a descriptor, or a path where the platform has no calls below a descriptor."""

    def __init__(self, root: int | Path) -> None:
        self._dir_fd = root if isinstance(root, int) else None
        self._prefix = "" if isinstance(root, int) else f"{root}{os.sep}"
        # Whether what is made with a mode comes out with it is found out once for each mode: umask, setgid
        # directories and default ACLs are the same everywhere below one directory.
        self._needs_chmod: dict[int, bool] = {}
        self._directory_needs_chmod: bool | None = None

    def create_file(self, path: str, *, executable: bool) -> int:
        """A descriptor for what is written piece by piece; it belongs to the caller."""
        mode = _FILE_MODES[executable]
        try:
            descriptor = os.open(self._prefix + path, os.O_WRONLY | NEW, mode, dir_fd=self._dir_fd)
            try:
                if self._needs_chmod.get(mode) is not False:
                    self._correct_mode(descriptor, mode)
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as error:
            raise install_error(error, f"cannot create {printable(path)!r}") from error
        except UnicodeEncodeError:
            raise _unwritable(path) from None
        return descriptor

    def write_file(self, path: str, data: bytes, executable: bool) -> None:
        """A whole small file in three system calls: this is where the time of most packages goes."""
        mode = _FILE_MODES[executable]
        try:
            descriptor = os.open(self._prefix + path, os.O_WRONLY | NEW, mode, dir_fd=self._dir_fd)
            try:
                if self._needs_chmod.get(mode) is not False:
                    self._correct_mode(descriptor, mode)
                if data and (written := os.write(descriptor, data)) != len(data):
                    write_all(descriptor, data[written:])
            finally:
                os.close(descriptor)
        except OSError as error:
            raise install_error(error, f"cannot write {printable(path)!r}") from error
        except UnicodeEncodeError:
            raise _unwritable(path) from None

    def _correct_mode(self, descriptor: int, mode: int) -> None:
        if mode not in self._needs_chmod:
            self._needs_chmod[mode] = stat.S_IMODE(os.fstat(descriptor).st_mode) != mode and _HAS_MODES
        if self._needs_chmod[mode]:
            os.fchmod(descriptor, mode)

    def make_directory(self, path: str) -> None:
        place = self._prefix + path
        try:
            os.mkdir(place, DIRECTORY_MODE, dir_fd=self._dir_fd)
            if self._directory_needs_chmod is None:
                found = os.stat(place, dir_fd=self._dir_fd, follow_symlinks=False)
                self._directory_needs_chmod = stat.S_IMODE(found.st_mode) != DIRECTORY_MODE and _HAS_MODES
            if self._directory_needs_chmod:
                os.chmod(place, DIRECTORY_MODE, dir_fd=self._dir_fd)
        except OSError as error:
            raise install_error(error, f"cannot create the directory {printable(path)!r}") from error
        except UnicodeEncodeError:
            raise _unwritable(path) from None

    def make_link(self, path: str, target: str, *, to_directory: bool) -> None:
        try:
            os.symlink(target, self._prefix + path, to_directory, dir_fd=self._dir_fd)
        except OSError as error:
            raise install_error(error, f"cannot create the link {printable(path)!r}") from error
        except UnicodeEncodeError:
            raise _unwritable(path) from None

    def read_back(self, path: str) -> Iterator[bytes]:
        """The bytes of a file that was made here."""
        try:
            descriptor = os.open(self._prefix + path, READ_NO_LINK, dir_fd=self._dir_fd)
            try:
                while chunk := os.read(descriptor, _READ_BYTES):
                    yield chunk
            finally:
                os.close(descriptor)
        except OSError as error:
            raise install_error(error, f"cannot read {printable(path)!r} back") from error


_HAS_MODES = os.name == "posix"


def write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    if written != len(data):
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def _unwritable(path: str) -> UnsafeContentError:
    return UnsafeContentError(
        f"the name {printable(path)!r} in the package cannot be written on this system", part="bad-name"
    )
