"""Changes of manifest and lock together: both files are changed, or neither is.

The lock is written first. A run that is killed in between leaves an entry of a module that the manifest does not have:
the next ``lock`` or ``install`` takes it out again, and ``add`` goes on from there (ADR 39).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from getmodules.errors import GetModulesError
from getmodules.files.durable import shown_path
from getmodules.files.os_errors import translated
from getmodules.project.lockfile import Lock, format_lock
from getmodules.project.workspace import Workspace, target_of, write_file

_log = logging.getLogger("getmodules")


@contextmanager
def changed_files(lock: Lock | None, manifest: str, workspace: Workspace) -> Iterator[bool]:
    """Write the lock (if there is to be one) and the text of the manifest; yield whether the lock's text has changed.

    If that fails, or the block does, both are brought back.
    """
    files = workspace.files
    with ExitStack() as undo:
        written = False
        if lock is not None and not workspace.has_lock_text(format_lock(lock)):
            undo.callback(_restorer(files.lock, workspace))
            written = workspace.write_lock(lock)
        undo.callback(_restorer(files.manifest, workspace))
        write_file(files.manifest, manifest, workspace.operation.sweeper)
        yield written
        undo.pop_all()


def _restorer(path: Path, workspace: Workspace) -> Callable[[], None]:
    """Return a function that brings the file at ``path`` back to what it is now."""
    with translated(f"cannot read {shown_path(path)}"):
        try:
            # Its bytes, since the ends of its lines stay as well. Manifest and lock were parsed, so they are UTF-8.
            text: str | None = path.read_bytes().decode()
        except FileNotFoundError:
            text = None
    return partial(_restore, path, text, workspace)


def _restore(path: Path, text: str | None, workspace: Workspace) -> None:
    try:
        if text is not None and path.read_bytes() == text.encode():
            return  # it was not written: a full disk would complain about nothing
        if text is not None:
            write_file(path, text, workspace.operation.sweeper)
        else:
            with translated(f"cannot remove {shown_path(path)}"):
                target_of(path).unlink(missing_ok=True)
    except (GetModulesError, OSError) as error:  # the error that led here says more
        _log.warning("could not bring %s back: %s", shown_path(path), error)
