"""A private directory beside the destination, and the one rename that publishes it.

Whatever happens, the destination is absent, as it was, or new. Nothing is written into it: a whole tree takes
its place, on the same file system, in one step. Everything else that was made on the way is removed when the module
is done, at the latest with the private directory at the end of the operation; what a killed process could not remove,
the next run does (:mod:`getmodules.privatedir`).
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from functools import partial
from pathlib import Path
from typing import Self

from getmodules.destination import Destination, is_real_directory
from getmodules.errors import InstallError
from getmodules.openflags import DIRECTORY, NOFOLLOW
from getmodules.oserrors import install_error, translated
from getmodules.privatedir import PrivateDirectories
from getmodules.removal import remove_entries
from getmodules.syscalls import exchange, sync_filesystem
from getmodules.util.redact import printable

_ATTEMPTS = 20
#: How rename says that something stands at the destination already.
_OCCUPIED = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})


class Staging:
    """Where one module is put together, in a ``with`` block: leaving it removes what was not published."""

    def __init__(self, destination: Destination, private: PrivateDirectories) -> None:
        self._destination = destination
        self._parent = destination.path.parent
        self._private = private
        self._directory = Path()
        #: Tells our names in the private directory from those of other modules.
        self._prefix = os.urandom(8).hex()
        self._names: set[str] = set()
        self._tree = Path()

    @classmethod
    def beside(
        cls,
        dest: Path,
        private: PrivateDirectories,
        *,
        force: bool,
        source_root: Path | None,
    ) -> Staging:
        """A staging for ``dest``; nothing is touched before the ``with`` block.

        ``force`` may replace an ordinary directory. ``source_root`` is what is copied or unpacked, where that
        lies on this machine. ``private`` belongs to the operation, and removes what is left at its end.
        """
        destination = Destination.at(dest, force=force, source_root=source_root, real=private.real)
        return cls(destination, private)

    @property
    def tree(self) -> Path:
        """The directory that will be published, mode 0755."""
        return self._tree

    def spare(self, name: str) -> Path:
        """Return a private path beside the tree, for a download or a working directory; it goes with the staging."""
        own = f"{self._prefix}-{name}"
        self._names.add(own)
        return self._directory / own

    def open_tree(self) -> int:
        """A descriptor of :attr:`tree`; the caller closes it."""
        with translated(f"cannot open the private directory beside {self._destination.shown}"):
            return os.open(self.tree, DIRECTORY | NOFOLLOW)

    def __enter__(self) -> Self:
        self._destination.check()
        parent = printable(str(self._parent), 1000)
        with translated(f"cannot prepare {self._destination.shown} in the directory {parent}"):
            self._directory = self._private_directory()
            self._tree = self._make_tree()
        return self

    def __exit__(self, *_: object) -> None:
        self._discard()

    def publish(self) -> None:
        """Bring the tree to the disk, put it in its place, and remove everything else."""
        shown = self._destination.shown
        with translated(f"cannot bring {shown} to the disk"):
            self._sync()
        with translated(f"cannot put {shown} in its place"):
            self._put_in_place()
        self._discard()

    # ------------------------------------------------------------------------------------------- preparing

    def _private_directory(self) -> Path:
        attempt = 0
        while True:
            try:
                return self._private.beside(self._parent, partial(self._private.make_parents, self._parent))
            except FileNotFoundError:
                # Another run failed and removed a parent that it had made, and that we had counted on.
                attempt += 1
                if attempt == _ATTEMPTS:
                    raise

    def _make_tree(self) -> Path:
        """Make a directory of mode 0755, whatever the umask; a group that is handed down (setgid) stays."""
        tree = self.spare("tree")
        os.mkdir(tree, 0o755)
        found = stat.S_IMODE(os.stat(tree).st_mode)
        if found & 0o777 != 0o755:
            os.chmod(tree, found & stat.S_ISGID | 0o755)
        return tree

    def _discard(self) -> None:
        """Remove what is ours; what resists is told when the private directory itself is removed."""
        remove_entries(self._directory, self._names)
        self._names.clear()

    # ------------------------------------------------------------------------------------------ publishing

    def _sync(self) -> None:
        if sys.platform == "win32":
            return  # nothing there syncs a file system for people without privileges
        tree = self.open_tree()
        try:
            sync_filesystem(tree)
        finally:
            os.close(tree)

    def _put_in_place(self) -> None:
        """In the face of others who do the same: rename decides who was first."""
        for attempt in range(_ATTEMPTS):
            try:
                self._rename_to_destination()
                return
            except OSError as error:
                if error.errno == errno.EBUSY:
                    raise self._destination.in_use() from error
                if error.errno not in _OCCUPIED or attempt == _ATTEMPTS - 1:
                    raise
            self._destination.check()  # refuses whatever may not be replaced; else it is force, or empty again
            if self._destination.force and self._replace():
                return

    def _rename_to_destination(self) -> None:
        """Atomic, and only where nothing is, or an empty directory: anything else the kernel refuses."""
        dest = self._destination.path
        if sys.platform == "win32" and os.path.lexists(dest):
            self._destination.check()
            os.rmdir(dest)  # rename replaces nothing there; this refuses what is not empty
        os.rename(self.tree, dest)

    def _replace(self) -> bool:
        """Put the tree where a directory is. ``False``: it is not there any more."""
        dest = self._destination.path
        try:
            if not exchange(self.tree, dest):
                return self._replace_in_two_steps()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._replace_error(error) from error
        if not is_real_directory(os.lstat(self.tree)):
            exchange(self.tree, dest)
            raise self._destination.replaced_by_something_else()
        return True

    def _replace_in_two_steps(self) -> bool:
        """For file systems that cannot exchange: in between, for a moment, the destination is absent."""
        dest, old = self._destination.path, self.spare(f"old-{os.urandom(4).hex()}")
        try:
            os.rename(dest, old)
            if not is_real_directory(os.lstat(old)):
                raise self._destination.replaced_by_something_else()
            os.rename(self.tree, dest)
        except BaseException as error:
            if not os.path.lexists(old) or not os.path.lexists(self.tree):
                raise
            if isinstance(error, OSError) and error.errno in _OCCUPIED and dest.is_dir():
                return False  # another run's tree came in between: now it is that one which is to be replaced
            self._put_back(old)
            raise
        return True

    def _put_back(self, old: Path) -> None:
        dest = self._destination.path
        try:
            os.rename(old, dest)
        except OSError as error:
            rescued = dest.with_name(f"{dest.name}.before-{os.urandom(4).hex()}")
            os.rename(old, rescued)
            raise InstallError(
                f"{self._destination.shown} was taken by another program while it was replaced",
                hint=f"what it was before is now {rescued.name}, beside it",
            ) from error

    def _replace_error(self, error: OSError) -> InstallError:
        if error.errno == errno.EBUSY:
            return self._destination.in_use()
        failure = install_error(error, f"cannot replace {self._destination.shown}")
        if error.errno == errno.EXDEV:
            # Overlay file systems cannot move a directory of a lower layer, such as one of a container's image.
            failure.hint = "this file system cannot move that directory: remove it by hand, then install again"
        return failure
