"""A getter that uses every port, and the small things that tests of the core build from."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from getmodules import (
    Blob,
    Client,
    Context,
    Credential,
    Demand,
    Elsewhere,
    Gate,
    Kind,
    Member,
    Members,
    Origin,
    PackageAddress,
    Phase,
    Pin,
    Progress,
    Secret,
    Want,
    hookimpl,
)
from tests.support.snapshots import snapshot

FILES = {"main.tf": b"# main\n", "sub/a.tf": b"# a\n", "sub/deep/b.tf": b"# b\n", "run.sh": b"#!/bin/sh\n"}


def zip_of(files: Mapping[str, bytes] = FILES) -> bytes:
    """A reproducible zip."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return target.getvalue()


def members_of(files: Mapping[str, bytes] = FILES) -> Members:
    return Members(tuple(member(name, content) for name, content in files.items()))


def member(name: str, content: bytes = b"", **more: Any) -> Member:
    return Member(name, **{"kind": Kind.FILE, "size": len(content), "open": lambda: (content,), **more})


@dataclass
class FakeGetter:
    """``fake:``: each answer can be set; it notes what it was asked, and what it was given."""

    answer: Any = None
    pin: Any = None
    schemes: tuple[str, ...] = ("fake",)
    arguments: tuple[str, ...] | None = ("version", "digest")
    core_arguments: tuple[str, ...] = ("archive", "checksum", "filename")
    local: bool = False
    asked: list[Any] = field(default_factory=list)
    during_fetch: Callable[[Context], None] = lambda context: None

    def demands(self, package: PackageAddress) -> Iterable[Demand]:
        digest = package.arguments.get("digest")
        return (Demand(gate=Gate.PIN, check="digest", value=digest, by="the address"),) if digest else ()

    def resolve(self, package: PackageAddress, context: Context) -> Any:
        self.asked.append(("resolve", str(package)))
        answer = self.pin(package, context) if callable(self.pin) else self.pin
        return replace(answer, package=package) if isinstance(answer, Pin) and answer.package is None else answer

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Any:
        self.asked.append(("fetch", str(pin.package), tuple(want.subdir for want in wants), pin.proof))
        self.during_fetch(context)
        return self.answer(pin, wants, context) if callable(self.answer) else self.answer


def a_pin(identity: str = "id-1", proof: object = None, **digests: str) -> Pin:
    """A pin whose package the fake getter fills in."""
    return Pin(package=None, id=identity, proof=proof, digests=digests)  # type: ignore[arg-type]


class FakePlugin:
    """Any offers as one plugin."""

    def __init__(self, *getters: Any, verifiers: Any = (), credentials: Any = (), progress: Any = ()) -> None:
        self._getters = getters
        self._verifiers = verifiers
        self._credentials = credentials
        self._progress = progress

    @hookimpl
    def getmodules_getters(self) -> Iterable[Any]:
        return self._getters

    @hookimpl
    def getmodules_verifiers(self) -> Iterable[Any]:
        return self._verifiers

    @hookimpl
    def getmodules_credentials(self) -> Iterable[Any]:
        return self._credentials

    @hookimpl
    def getmodules_progress(self) -> Iterable[Any]:
        return self._progress


def client_with(*getters: Any, progress: Progress | None = None, **offers: Any) -> Client:
    """A client with these getters, whatever plugins the machine has."""
    return Client(plugins=(FakePlugin(*getters, **offers),), environ={"GETMODULES_PLUGINS": ""}, progress=progress)


class Notices(Progress):
    """Hears what a user is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def notice(self, package: str, message: str) -> None:
        self.said.append(message)

    def about(self, *words: str) -> bool:
        """Whether one notice has all of ``words``."""
        return any(all(word in said for word in words) for said in self.said)


class Recorder(Progress):
    """Notes all progress; ``stop_at`` raises at that phase."""

    def __init__(self, stop_at: Phase | None = None, error: BaseException | None = None) -> None:
        self.events: list[tuple[Any, ...]] = []
        self._stop_at = stop_at
        self._error = error or RuntimeError("the program had enough")

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        self.events.append(("phase", phase, total))
        if phase is self._stop_at:
            raise self._error

    def advance(self, package: str, amount: int) -> None:
        self.events.append(("advance", amount))

    def notice(self, package: str, message: str) -> None:
        self.events.append(("notice", message))

    def finished(self, package: str, error: BaseException | None) -> None:
        self.events.append(("finished", package, error))

    @property
    def phases(self) -> list[Phase]:
        return [event[1] for event in self.events if event[0] == "phase"]


@dataclass
class FakeVerifier:
    says: str | None = "looked at it"
    raises: BaseException | None = None
    gates: tuple[Gate, ...] = (Gate.PIN, Gate.BYTES, Gate.TREE)
    name: str = "watchman"
    seen: list[tuple[Gate, Any]] = field(default_factory=list)

    def verify(self, gate: Gate, subject: Any, context: Context) -> str | None:
        self.seen.append((gate, subject))
        if self.raises is not None:
            raise self.raises
        return self.says


class FakeCredentials:
    name = "vault"

    def lookup(self, origin: Origin, path: str) -> Credential | None:
        if origin != Origin("https", "h.example", 443):
            return None
        return Credential(secret=Secret("s3cr3t"), username="u", found_in="vault")


def blob(content: bytes, **more: Any) -> Blob:
    return Blob(chunks=(content,), **{"name": "package.zip", **more})


def elsewhere(address: str) -> Elsewhere:
    return Elsewhere(address=address)


#: What the fake package is, in all the ways in which a test names it.
ZIP = zip_of()
ZIP_SHA256 = hashlib.sha256(ZIP).hexdigest()
ZIP_H1 = "h1:i9m5T21JFNxgo2QcUEN7cEs+2tOgmxN2BJZXWbT0CyE="
SUB_H1 = "h1:MDgTmyDZyrAJApwzJULPfIUpK5vBiWsJ554UZXgeGjU="
OTHER_SHA256 = "0" * 64


def installed_files(dest: Path) -> dict[str, bytes]:
    """What was installed, without directories and modes."""
    return {name: content for name, (mode, content) in snapshot(dest).items() if not mode.startswith("d")}


def routes(table: dict[str, Any]) -> Callable[..., Any]:
    """An answer for each URL."""

    def answer(pin: Pin, *_: Any) -> Any:
        return table[pin.package.url]

    return answer
