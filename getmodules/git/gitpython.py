"""GitPython, imported when the first git process is started.

GitPython runs ``git version`` when it is imported, in the environment of this process. There ``GIT_TRACE`` would write
a file, and ``GIT_CONFIG_COUNT`` could make it fail: so the import sees an environment without git's variables (ADR 25).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from getmodules.errors import ToolMissingError
from getmodules.util.redact import printable

if TYPE_CHECKING:
    import git

_importing = threading.Lock()


def runner() -> type[git.Git]:
    """Return the class of GitPython that starts processes."""
    with _importing:  # no git is started while os.environ is another one
        return _imported()


@cache
def _imported() -> type[git.Git]:
    try:
        with _environ_without_git():
            import git
    except ImportError as error:
        raise ToolMissingError(
            f"GitPython cannot be used: {printable(str(error), 300)}",
            hint="install getmodules again, with all that it depends on; and see that `git version` works",
        ) from error
    return git.Git


@contextmanager
def _environ_without_git() -> Iterator[None]:
    """Let ``os.environ`` be another mapping for a moment.

    Another thread finds a whole mapping at any time. If the variables were taken out of ``os.environ`` itself, a thread
    that copies it just then would fail; and the process's own environment does not change.
    """
    environ = os.environ
    kept = {
        name: value
        for name, value in environ.items()
        # Those of GitPython are for whoever uses it in this process besides us.
        if not name.startswith("GIT_") or name.startswith("GIT_PYTHON_")
    }
    # We look for git ourselves. Where GitPython finds none, it would raise or print, and is not needed to find one.
    kept["GIT_PYTHON_REFRESH"] = "quiet"
    os.environ = kept  # type: ignore[assignment]  # noqa: B003 - no child is meant to inherit it but GitPython's own
    try:
        yield
    finally:
        os.environ = environ  # noqa: B003
