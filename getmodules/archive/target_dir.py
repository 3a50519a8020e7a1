"""Make files, directories and links below one staging directory, and nothing outside of it.

The directory is private, empty at the start, and filled by one writer only. Links are made last, so that while
files and directories are being made no component of a path can be one: paths of several components below
the directory's descriptor are safe, and no directory needs a descriptor of its own.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from getmodules.errors import GetModulesError, UnsafeContentError
from getmodules.files.durable import write_all
from getmodules.files.opening import NEW, READ_NO_LINK
from getmodules.files.os_errors import install_error
from getmodules.util.redact import printable

DIRECTORY_MODE = 0o755
_FILE_MODES = (0o644, 0o755)
_READ_BYTES = 256 << 10
#: The descriptors of this process. Windows has no such directory.
_OPEN = "/dev/fd"
#: Errors for a name that no file of this system can have.
_NO_NAME = frozenset({errno.ENAMETOOLONG, errno.EILSEQ})


class TargetDirectory:
    """One staging directory: a descriptor, or a path where the platform has no calls below a descriptor."""

    def __init__(self, root: int | Path) -> None:
        self._dir_fd = root if isinstance(root, int) else None
        self._prefix = "" if isinstance(root, int) else f"{root}{os.sep}"
        # Whether a new file gets the mode that was asked for is found out once for each mode: umask, setgid
        # directories and default ACLs are the same everywhere below one directory.
        self._needs_chmod: dict[int, bool] = {}
        self._directory_needs_chmod: bool | None = None

    def create_file(self, path: str, descriptors: list[int], *, executable: bool) -> None:
        """Create a file to be written in pieces: append its descriptor to ``descriptors``, which the caller closes."""
        mode = _FILE_MODES[executable]
        try:
            descriptors.append(os.open(self._prefix + path, os.O_WRONLY | NEW, mode, dir_fd=self._dir_fd))
            if self._needs_chmod.get(mode) is not False:
                self._correct_mode(descriptors[-1], mode)
        except OSError as error:
            raise _not_made(error, "file", path) from error
        except UnicodeEncodeError:
            raise _unwritable(path) from None
        except BaseException:
            self._close_lost(path, descriptors)
            raise

    def write_file(self, path: str, data: bytes, executable: bool) -> None:
        """Write a small file in three system calls: most packages spend their time here."""
        mode = _FILE_MODES[executable]
        descriptor = None
        try:
            try:
                descriptor = os.open(self._prefix + path, os.O_WRONLY | NEW, mode, dir_fd=self._dir_fd)
                if self._needs_chmod.get(mode) is not False:
                    self._correct_mode(descriptor, mode)
                if data and (written := os.write(descriptor, data)) != len(data):
                    write_all(descriptor, data[written:])
            finally:
                if descriptor is not None:
                    os.close(descriptor)
        except OSError as error:
            raise _not_made(error, "file", path) from error
        except UnicodeEncodeError:
            raise _unwritable(path) from None
        except BaseException:
            if descriptor is None:
                self._close_lost(path, ())
            raise

    def _close_lost(self, path: str, known: Collection[int]) -> None:
        """Close the descriptor that an interrupt lost, which came between opening the file and storing the number.

        The file is our own and private: any descriptor of it, besides ``known``, is the lost one.
        """
        with suppress(OSError):
            lost = os.stat(self._prefix + path, dir_fd=self._dir_fd, follow_symlinks=False)
            for descriptor in map(int, os.listdir(_OPEN)):
                with suppress(OSError):  # that of the listing itself, for one, is closed by now
                    if descriptor not in known and os.path.samestat(os.fstat(descriptor), lost):
                        os.close(descriptor)

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
            raise _not_made(error, "directory", path) from error
        except UnicodeEncodeError:
            raise _unwritable(path) from None

    def make_link(self, path: str, target: str, *, to_directory: bool) -> None:
        try:
            os.symlink(target, self._prefix + path, to_directory, dir_fd=self._dir_fd)
        except OSError as error:
            raise _not_made(error, "link", path) from error
        except UnicodeEncodeError:
            raise _unwritable(path) from None

    def read_back(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file that was made here."""
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


def _not_made(error: OSError, what: str, path: str) -> GetModulesError:
    if error.errno in _NO_NAME:
        return _unwritable(path)
    return install_error(error, f"cannot create the {what} {printable(path)!r}")


def _unwritable(path: str) -> UnsafeContentError:
    return UnsafeContentError(
        f"the name {printable(path)!r} in the package cannot be written on this system", part="bad-name"
    )
