"""A client and repositories for tests of the git getter: it sees nothing of this machine, and leaves nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, GetModulesError, Installed, Limits
from tests.support.fakes import Notices
from tests.support.gitrepos import Repository
from tests.support.refusals import refusal, words_of
from tests.support.snapshots import snapshot
from tests.support.waiting import wait_until

#: Longer than anything here takes on the busiest machine, so that what hangs fails.
SECONDS = 60


@dataclass
class Place:
    """``root`` is what servers serve, ``home`` and ``work`` are the user's."""

    top: Path
    environ: dict[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=lambda: Limits(seconds=SECONDS))
    notices: Notices = field(default_factory=Notices)

    def __post_init__(self) -> None:
        for directory in (self.root, self.home, self.work, self.temporary):
            directory.mkdir(parents=True)
        # other people's plugins, which somebody may have installed, are not for the children either
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.temporary)}
        self.environ["GETMODULES_PLUGINS"] = ""

    @property
    def root(self) -> Path:
        return self.top / "root"

    @property
    def home(self) -> Path:
        return self.top / "home"

    @property
    def work(self) -> Path:
        return self.top / "work"

    @property
    def temporary(self) -> Path:
        return self.top / "temporary"

    @property
    def dest(self) -> Path:
        return self.work / "dest"

    def repository(self, name: str = "a", **how: Any) -> Repository:
        return Repository(self.root / f"{name}.git", **how)

    def file_url(self, name: str = "a") -> str:
        return f"git::file://{self.root}/{name}.git"

    def client(self) -> Client:
        return Client(environ=self.environ, limits=self.limits, progress=self.notices)

    def get(self, source: str, **more: Any) -> Installed:
        """``source`` at ``dest``."""
        with self.client() as client:
            return client.get(source, more.pop("dest", self.dest), **more)

    def files(self) -> dict[str, bytes]:
        """What was installed: content by name, and the target of a link with ``→`` before it."""
        return {
            name: (b"\xe2\x86\x92" if mode[0] == "l" else b"") + data
            for name, (mode, data) in snapshot(self.dest).items()
            if mode[0] != "d"
        }

    def refused(self, source: str, kind: type[GetModulesError], code: str, **more: Any) -> GetModulesError:
        """``source`` is refused so, and all is as it was."""
        before = snapshot(self.work)
        error = refusal(kind, code, self.get, source, **more)
        assert snapshot(self.work) == before
        self.nothing_is_left()
        assert "\x1b" not in words_of(error)
        return error

    def nothing_is_left(self) -> None:
        """No process of ours runs any more, nothing lies in the directory for temporary files."""
        wait_until(lambda: not processes_of(self.home), lambda: f"still there: {processes_of(self.home)}")
        assert list(self.temporary.iterdir()) == []


@contextmanager
def a_place(top: Path) -> Iterator[Place]:
    """Also: Python's temporary files are in it, and in the end there is no process and no file of the getter."""
    with pytest.MonkeyPatch.context() as patch:
        place = Place(top)
        patch.setattr("tempfile.tempdir", str(place.temporary))
        yield place
        place.nothing_is_left()


def processes_of(home: Path) -> list[str]:
    """The command lines of living processes with this ``HOME``; a zombie is only waiting for somebody to look."""
    if not Path("/proc/self/environ").exists():
        return []
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                environment = (process / "environ").read_bytes()
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue  # it ended meanwhile
            if f"HOME={home}".encode() in environment.split(b"\0") and command:
                found.append(command.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


def written(files: Mapping[str, Any]) -> dict[str, bytes]:
    """What :meth:`Place.files` shows of what :meth:`Repository.files` was given."""
    return {
        name: b"\xe2\x86\x92" + content.encode() if isinstance(content, str) else bytes(content)
        for name, content in files.items()
    }
