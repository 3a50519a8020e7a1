"""Processes of git: the only module that runs them, through GitPython.

GitPython only starts a process here: in a process group of its own, with the environment that
:mod:`getmodules.getters.git.environment` makes and no other. Its own ways to end a process do not reach the children
of that, and it adds to the caller's environment instead of replacing it. So we wait for the process under the
operation's deadline, and end the whole group.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import IO, TYPE_CHECKING, Final, NamedTuple, TypedDict

from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.api.ports import Context
from getmodules.errors import FetchError, NetworkError, ToolMissingError
from getmodules.net.watch import NOTE_SECONDS, in_seconds
from getmodules.util.processes import feed, kill, pause
from getmodules.util.redact import printable

if TYPE_CHECKING:
    from subprocess import Popen

    from git import Git as Runner


#: The first version that takes settings from variables (``GIT_CONFIG_COUNT``), where our remote is.
FLOOR: Final = (2, 31)
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")
_HINT = f"install git {FLOOR[0]}.{FLOOR[1]} or newer, and put it on PATH"


class Done(NamedTuple):
    """The result of a run; ``said`` is the end of the error output."""

    code: int
    output: bytes
    said: str
    #: The host and port of the remote, if it was one: after a redirect it is another one than the address has.
    place: str = ""


def _say_nothing() -> None:
    """Say nothing of a silence."""


class ProcessLimits(NamedTuple):
    """The limits of a process besides the operation's deadline."""

    #: Called now and then. Returns how much the process has fetched; raises if that is too much.
    measure: Callable[[], int]
    #: The seconds that git may say and fetch nothing.
    timeout: float
    #: The words for what a silent git is doing: ``waiting for the answer of git.example:443``.
    place: str = "git"
    #: Tells the user, once, that the server is silent.
    tell_silence: Callable[[], None] = _say_nothing
    note_seconds: float = NOTE_SECONDS


class RunOptions(TypedDict, total=False):
    """The optional arguments of a run."""

    given: bytes | None
    limits: ProcessLimits | None


class Git:
    """The program git, for one operation. The environment of each run names the repository."""

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
        limits: ProcessLimits | None = None,
    ) -> Done:
        """Run git to its end, and return the result of a failure as well. Too much output is an error."""
        self.context.checkpoint()
        process = self.start(arguments, environ, talks=given is not None)
        return collect(process, self.context, given=given or b"", limits=limits)

    def start(self, arguments: Sequence[str], environ: Mapping[str, str], *, talks: bool) -> Popen[bytes]:
        """Start git. The caller must end the process with :func:`getmodules.util.processes.kill`."""
        git = runner()
        # A Windows process gets its group from GitPython.
        apart = {} if sys.platform == "win32" else {"start_new_session": True}
        command = [*_unset_prefix(environ), self.program, *arguments]
        try:
            running = git().execute(
                command, istream=subprocess.PIPE if talks else None, as_process=True, env=_with_empty(environ), **apart
            )
        except Exception as error:
            raise FetchError(f"git cannot be run: {printable(str(error), 300)}", part="unreadable") from error
        process = running.proc
        assert process is not None
        # GitPython kills the process when this object is collected, and not its children; we end the group.
        running.proc = None
        return process

    def check_version(self, environ: Mapping[str, str]) -> None:
        """Raise if git is too old. Called after a failure only: an old git does no harm, it just fails."""
        found = _VERSION.match(self.run(["version"], environ).output)
        if found is not None and (int(found[1]), int(found[2])) < FLOOR:
            version = f"{int(found[1])}.{int(found[2])}"
            raise ToolMissingError(
                f"git {version} is too old: {FLOOR[0]}.{FLOOR[1]} is the oldest that works", hint=_HINT
            )


def _unset_prefix(environ: Mapping[str, str]) -> list[str]:
    """Return a command prefix that removes the variables of this process that GitPython would pass on.

    GitPython starts from ``os.environ`` and can only add to it, and git fails when some of its variables are empty.
    """
    surplus = [name for name in os.environ if name not in environ] if sys.platform != "win32" else []
    # POSIX systems have env(1) there.
    return ["/usr/bin/env", *(part for name in surplus for part in ("-u", name))] if surplus else []


def _with_empty(environ: Mapping[str, str]) -> dict[str, str]:
    # Without env(1), an empty variable is the nearest to none.
    return {**dict.fromkeys(os.environ, ""), **environ} if sys.platform == "win32" else dict(environ)


# ---------------------------------------------------------------------------------------------------------- GitPython


_importing = threading.Lock()


def runner() -> type[Runner]:
    """Return the class of GitPython that starts processes; GitPython is imported by the first call.

    Its import runs ``git version`` in the environment of this process, where ``GIT_TRACE`` would write a file, and
    ``GIT_CONFIG_COUNT`` could make it fail. So the import sees an environment without git's variables (ADR 25).
    """
    with _importing:  # no git is started while os.environ is replaced
        return _imported()


@cache
def _imported() -> type[Runner]:
    try:
        with _environ_without_git():
            from git import Git as Runner
    except ImportError as error:
        raise ToolMissingError(
            f"GitPython cannot be used: {printable(str(error), 300)}",
            hint="install getmodules again, with all that it depends on; and see that `git version` works",
        ) from error
    return Runner


class _WithoutGit(MutableMapping[str, str]):
    """The environment, without git's variables for the thread that made this; others see it and change it as it is."""

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._environ = environ
        self._thread = threading.get_ident()
        self._own = {
            name: value
            for name, value in environ.items()
            # GitPython's own variables are for other users of it in this process.
            if not name.startswith("GIT_") or name.startswith("GIT_PYTHON_")
        }
        # We look for git ourselves. GitPython would raise or print if it found none.
        self._own["GIT_PYTHON_REFRESH"] = "quiet"

    @property
    def _seen(self) -> MutableMapping[str, str]:
        return self._own if threading.get_ident() == self._thread else self._environ

    def __getitem__(self, name: str) -> str:
        return self._seen[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)

    def __setitem__(self, name: str, value: str) -> None:
        self._seen[name] = value

    def __delitem__(self, name: str) -> None:
        del self._seen[name]

    def copy(self) -> dict[str, str]:
        return dict(self._seen)


@contextmanager
def _environ_without_git() -> Iterator[None]:
    """Replace ``os.environ`` for a moment by a mapping in which this thread finds no variable of git.

    If the variables were removed from ``os.environ`` itself, other threads would miss them.
    """
    environ = os.environ
    try:
        os.environ = _WithoutGit(environ)  # type: ignore[assignment]  # noqa: B003 - children are not to inherit it
        yield
    finally:
        os.environ = environ  # noqa: B003


# -------------------------------------------------------------------------------------------------- a running process


_PIECE: Final = 64 << 10
_TICK: Final = 0.1
#: How long to wait for output that a child keeps open after git has ended (the master of shared ssh connections).
_GRACE: Final = 0.5
#: The end of git's error output is kept, because it has the reason.
_SAID_BYTES: Final = 32 << 10


def collect(
    process: Popen[bytes],
    context: Context,
    *,
    given: bytes = b"",
    limits: ProcessLimits | None = None,
) -> Done:
    """Wait for ``process`` and return its result."""
    pieces: queue.SimpleQueue[tuple[bool, bytes]] = queue.SimpleQueue()
    output, said = bytearray(), _ErrorOutput()
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        for is_output, stream in ((True, process.stdout), (False, process.stderr)):
            threading.Thread(target=_pump, args=(stream, is_output, pieces), daemon=True).start()
        if process.stdin is not None:
            feed(process, given)
        watch = _Watch(context, limits)
        still_open, ended_at = 2, 0.0
        while still_open:
            watch.check()
            try:
                is_output, piece = pieces.get(timeout=_TICK)
            except queue.Empty:
                if process.poll() is not None:
                    ended_at = ended_at or time.monotonic()
                    if time.monotonic() - ended_at > _GRACE:
                        break
                continue
            watch.active()
            if not piece:
                still_open -= 1
            elif is_output:
                output += piece
                if len(output) > METADATA_BYTES:
                    raise metadata_exceeded("what git lists")
            else:
                said.add(piece)
        while process.poll() is None:  # git has closed its output, and may still run
            watch.check()
            pause(process, _TICK)
        if limits is not None:
            limits.measure()
        return Done(process.returncode, bytes(output), said.text())
    finally:
        kill(process)


class _Watch:
    """The checks while a process runs: the deadline, its limits, and its silence."""

    def __init__(self, context: Context, limits: ProcessLimits | None) -> None:
        self._context = context
        self._limits = limits
        self._fetched, self._is_noted = 0, False
        self._active = self._looked = time.monotonic()

    def active(self) -> None:
        self._active = time.monotonic()

    def check(self) -> None:
        self._context.checkpoint()
        now = time.monotonic()
        if self._limits is None or now - self._looked < _TICK:
            return
        self._looked = now
        fetched = self._limits.measure()
        if fetched != self._fetched:
            self._fetched, self._active = fetched, now
        silent, limits = now - self._active, self._limits
        if silent > limits.timeout:
            raise NetworkError(
                f"{limits.place}: nothing came for {in_seconds(limits.timeout)}",
                part="timeout",
                hint="is the server in trouble, or a firewall in the way? --timeout SECONDS gives it more time",
            )
        if silent > limits.note_seconds and not self._is_noted:
            self._is_noted = True
            limits.tell_silence()


class _ErrorOutput:
    """The end of git's error output. Lines of progress, which overwrite each other, are lines like all others."""

    def __init__(self) -> None:
        self._rest = b""
        self._kept = bytearray()

    def add(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).replace(b"\r", b"\n").split(b"\n")
        self._rest = self._rest[-_SAID_BYTES:]
        for line in lines:
            self._line(line)

    def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        self._kept += line + b"\n"
        if len(self._kept) > 2 * _SAID_BYTES:
            del self._kept[:_SAID_BYTES]

    def text(self) -> str:
        self._line(self._rest)
        self._rest = b""
        return self._kept.decode("utf-8", "replace")


def _pump(stream: IO[bytes], is_output: bool, pieces: queue.SimpleQueue[tuple[bool, bytes]]) -> None:
    # Only this thread closes the pipe: no other thread may close it while this one reads.
    try:
        with stream:
            while piece := os.read(stream.fileno(), _PIECE):
                pieces.put((is_output, piece))
    finally:
        pieces.put((is_output, b""))


# ----------------------------------------------------------------------------------------------------------- progress


class FetchProgress:
    """Reporter of how many bytes a fetch has received, by the growth of its store.

    git's own lines come once a second, and those of small fetches say no bytes.
    """

    def __init__(self, context: Context, measure: Callable[[], int]) -> None:
        self._context = context
        self._measure = measure
        self._reported = 0

    def measure(self) -> int:
        """Return how much was fetched, and report what is new of it."""
        received = self._measure()
        if received > self._reported:
            self._context.advance(received - self._reported)
            self._reported = received
        return received
