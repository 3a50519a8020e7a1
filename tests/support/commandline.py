"""The command line for tests: in this process with captured streams, or as the installed command in a child."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from getmodules.cli.main import main
from getmodules.cli.render import Console
from getmodules.plugins import entry_points
from getmodules.plugins.loader import GROUP
from tests.support.waiting import PATIENCE, wait_until

COMMAND = Path(sys.executable).with_name("getmodules")


class Terminal(io.StringIO):
    """A stream that says that people look at it."""

    def isatty(self) -> bool:
        return True


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The lines of stdout, each of which must be one JSON object."""
        parsed = [json.loads(line) for line in self.out.splitlines()]
        assert all(isinstance(each, dict) for each in parsed)
        return parsed

    @property
    def object(self) -> dict[str, Any]:
        (only,) = self.objects
        return only


def without_seconds(out: str) -> str:
    """The output of a command without the time that its summary says."""
    return re.sub(r" in \d+\.\d s", "", out)


def call(*argv: str | os.PathLike[str], stdin: str = "", environ: Mapping[str, str] | None = None) -> Result:
    """``getmodules …`` in this process."""
    out, err = io.StringIO(), io.StringIO()
    console = Console(stdout=out, stderr=err, stdin=io.StringIO(stdin), environ=environ or {})
    code = main([os.fspath(word) for word in argv], console)
    return Result(code, out.getvalue(), err.getvalue())


def environment(**more: str) -> dict[str, str]:
    """What a child sees: nothing of this machine's settings but where programs are; and it keeps nothing.

    Of other people's plugins it sees those that ``PYTHONPATH`` brings, and none that somebody installed.
    """
    brought = entry_points.find(GROUP, more["PYTHONPATH"].split(os.pathsep)) if "PYTHONPATH" in more else ()
    plugins = ",".join(sorted({entry.distribution for entry in brought if entry.distribution != "getmodules"}))
    quiet = {"LC_ALL": "C.UTF-8", "GETMODULES_CACHE_DIR": "", "GETMODULES_PLUGINS": plugins}
    return {"PATH": os.environ["PATH"], **quiet, **more}


def run(*argv: str | bytes | os.PathLike[str], stdin: bytes = b"", cwd: Path | None = None, **env: str) -> Result:
    """The installed command in a child, its streams in pipes."""
    done = subprocess.run(
        [COMMAND, *argv],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment(**env),
        timeout=PATIENCE,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def start(*argv: str | os.PathLike[str], cwd: Path | None = None, **env: str) -> subprocess.Popen[str]:
    """As :func:`run`, without waiting for it."""
    return subprocess.Popen(
        [COMMAND, *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment(**env),
    )


def wait_for(child: subprocess.Popen[str], happened: Callable[[], object]) -> None:
    """Until ``child`` has done something, and before it ends."""

    def has_happened() -> object:
        if result := happened():
            return result
        assert child.poll() is None, child.communicate()
        return None

    wait_until(has_happened)


def run_on_terminal(*argv: str | os.PathLike[str], cwd: Path | None = None, **env: str) -> Result:
    """As :func:`run`, but stderr is a terminal, and what arrived there is ``err``."""
    ours, theirs = pty.openpty()
    try:
        child = subprocess.Popen(
            [COMMAND, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            cwd=cwd,
            env=environment(**{"TERM": "xterm", **env}),
        )
    finally:
        os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        err = _until_closed(terminal)
    out, _ = child.communicate(timeout=PATIENCE)
    return Result(child.returncode, out.decode(), err.decode())


def _until_closed(terminal: IO[bytes]) -> bytes:
    pieces = []
    try:
        while piece := terminal.read(1 << 16):
            pieces.append(piece)
    except OSError:  # how Linux says that the other side of a terminal is closed
        pass
    return b"".join(pieces)


def make_plugin(site: Path, name: str, source: str, version: str = "1.0") -> None:
    """A distribution ``name`` in the directory ``site``, whose one module is a plugin of the same name."""
    module = name.replace("-", "_")
    site.mkdir(exist_ok=True)
    (site / f"{module}.py").write_text(source, encoding="utf-8")
    info = site / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[getmodules]\n{name} = {module}\n", encoding="utf-8")


def make_slow_plugin(site: Path, seconds: float) -> None:
    """A getter of ``slow:``, whose packages have a file that is there at once, and one that takes so long."""
    make_plugin(site, "getmodules-slow", _SLOW.format(pieces=round(seconds * 10)))


_SLOW = """
import time
from getmodules import Member, Members, hookimpl

def content():
    for _ in range({pieces}):
        time.sleep(0.1)
        yield b"x" * 1000

class Getter:
    schemes = ("slow",)

    def fetch(self, pin, wants, context):
        return Members((Member("first.tf", open=lambda: (b"1",)), Member("main.tf", open=content)))

@hookimpl
def getmodules_getters():
    return [Getter()]
"""
