"""The one place that runs git, through GitPython (:mod:`getmodules.git.gitpython`).

GitPython's own ways to end a process do not reach its children, and its environment is the caller's with additions.
So it only starts a process here: in a session of its own, with what :mod:`getmodules.git.environment` says and
nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from getmodules.api.ports import Context
from getmodules.errors import FetchError, ToolMissingError
from getmodules.git.gitpython import runner
from getmodules.git.process import Done, Patience, collect
from getmodules.util.redact import printable

if TYPE_CHECKING:
    from subprocess import Popen

#: The first that takes its settings from variables (``GIT_CONFIG_COUNT``); an older one does not know our remote.
FLOOR: Final = (2, 31)
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")
_HINT = f"install git {FLOOR[0]}.{FLOOR[1]} or newer, and put it on PATH"


class Git:
    """The program; each run says in which repository and with which environment."""

    def __init__(self, context: Context) -> None:
        program = shutil.which("git", path=context.environ.get("PATH"))
        if program is None:
            raise ToolMissingError("git is needed for this address, and is not on PATH", hint=_HINT)
        self.program = os.path.abspath(program)
        self.context = context

    def run(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        *,
        given: bytes | None = None,
        patience: Patience | None = None,
        hear: Callable[[str], None] | None = None,
    ) -> Done:
        """Run it to its end, whatever that is. Too much output, or no time left, is an error."""
        self.context.checkpoint()
        process = self.start(arguments, environ, talks=given is not None)
        return collect(process, self.context, given=given or b"", patience=patience, hear=hear)

    def start(self, arguments: Sequence[str], environ: Mapping[str, str], *, talks: bool) -> Popen[bytes]:
        """A process that the caller ends with :func:`getmodules.util.processes.kill`, in any case."""
        git = runner()
        # A Windows process gets its group from GitPython.
        apart = {} if sys.platform == "win32" else {"start_new_session": True}
        command = [*_without(environ), self.program, *arguments]
        try:
            running = git().execute(
                command, istream=subprocess.PIPE if talks else None, as_process=True, env=_full(environ), **apart
            )
        except Exception as error:
            raise FetchError(f"git cannot be run: {printable(str(error), 300)}", part="unreadable") from error
        process = running.proc
        assert process is not None
        # It kills what it was given when it is forgotten, and only that; we end the group.
        running.proc = None
        return process

    def check_version(self, environ: Mapping[str, str]) -> None:
        """Raise where git is too old. Asked after a failure only: an old one cannot do any harm, it just fails."""
        found = _VERSION.match(self.run(["version"], environ).output)
        if found is not None and (int(found[1]), int(found[2])) < FLOOR:
            version = f"{int(found[1])}.{int(found[2])}"
            raise ToolMissingError(
                f"git {version} is too old: {FLOOR[0]}.{FLOOR[1]} is the oldest that works", hint=_HINT
            )


def _without(environ: Mapping[str, str]) -> list[str]:
    """A prefix that takes away what GitPython would pass on of this process's own environment.

    GitPython starts from ``os.environ`` and can only add to it, and git fails when some of its variables are empty.
    """
    surplus = [name for name in os.environ if name not in environ] if sys.platform != "win32" else []
    # POSIX has it there.
    return ["/usr/bin/env", *(part for name in surplus for part in ("-u", name))] if surplus else []


def _full(environ: Mapping[str, str]) -> dict[str, str]:
    # Where there is no env(1), an empty variable is the nearest to none.
    return {**dict.fromkeys(os.environ, ""), **environ} if sys.platform == "win32" else dict(environ)
