"""Which of the credentials that docker, podman and oras keep is for a repository.

The order: the file that the user named, then all others together. Among these the most specific key wins
(``host/org/repo`` over ``host/org``, whichever file it is in); for all of a host the files count in their order,
and in each first its ``credHelpers``, then its ``credsStore``, then its ``auths``. What is empty or broken is passed
over; broken with a warning, unless the user chose that file.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from getmodules.api.ports import Credential
from getmodules.errors import AuthenticationError, ConfigError, GetModulesError, ToolMissingError
from getmodules.oci.authfiles import AuthFile, AuthFileContents, auth_files, contents, credential_of, read_document
from getmodules.oci.authkeys import AuthKey, canonical_host, names_in_helpers, scopes
from getmodules.oci.credhelper import CredentialHelper, Login
from getmodules.oci.helperprocess import Run, run_helper
from getmodules.util.redact import printable
from getmodules.util.values import field, valueclass

#: How long files and helpers are believed. Fifty packages of one operation ask once, and a client that lives for
#: days still learns of a new login, and outlives the tokens that some helpers make for an hour.
KEEP_SECONDS = 60.0

_UNUSABLE = (ConfigError, AuthenticationError, ToolMissingError)


@valueclass(kw_only=False)
class Considered:
    """A place that was asked on the way to a credential, and what came of it; for ``getmodules auth check``."""

    where: str
    outcome: str


@valueclass
class Explanation:
    """Which credential would be used, where it comes from (its ``found_in``), and what was asked before."""

    credential: Credential | None
    considered: tuple[Considered, ...]
    #: The places that were looked into, for people, whether they exist or not.
    files: tuple[str, ...]


class DockerCredentials:
    """The files and helpers as one ``environ`` sees them. Threads may share it; each helper is asked once."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        auth_file: Path | None = None,
        warn: Callable[[str], None],
        run: Run = run_helper,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._environ = environ
        self._files = auth_files(environ, auth_file)
        self._warn = warn
        self._run = run
        self._clock = clock
        self._guard = threading.Lock()
        self._warn_guard = threading.Lock()
        self._warned: set[str] = set()
        self._snapshot: _Snapshot | None = None

    def lookup(self, registry: str, repository: str) -> Credential | None:
        """The credential for ``repository`` of ``registry`` (``host[:port]``), ``None`` where there is none."""
        return self.explain(registry, repository).credential

    def explain(self, registry: str, repository: str) -> Explanation:
        """As :meth:`lookup`, with the way there."""
        considered: list[Considered] = []
        credential = None
        for file, source in self._sources(registry, repository):
            try:
                credential = source.ask()
            except _UNUSABLE as error:
                self._unusable(file, error)
                considered.append(Considered(source.where, f"unusable: {error.message}"))
                continue
            considered.append(Considered(source.where, "used" if credential else "empty"))
            if credential is not None:
                break
        return Explanation(
            credential=credential, considered=tuple(considered), files=tuple(file.shown for file in self._files)
        )

    def _sources(self, registry: str, repository: str) -> Iterator[tuple[AuthFile, _Source]]:
        host, snapshot = canonical_host(registry), self._current()
        for is_named in (True, False):
            files = [(file, found) for file, found in snapshot.files if file.named is is_named]
            for path in scopes(host, repository):
                for file, found in files:
                    for entry in _entries(file, found, AuthKey(host, path)):
                        yield file, entry
            for file, found in files:
                for setting, name in found.helpers_for(host):
                    where = f"{file.shown}, {setting}"
                    yield file, _Helper(where, name, host, snapshot.answers, self._environ, self._run)
                for entry in _entries(file, found, AuthKey(host, "")):
                    yield file, entry

    def _current(self) -> _Snapshot:
        with self._guard:
            if self._snapshot is None or self._clock() >= self._snapshot.expires:
                self._snapshot = _Snapshot(tuple(self._read()), self._clock() + KEEP_SECONDS)
            return self._snapshot

    def _read(self) -> Iterator[tuple[AuthFile, AuthFileContents]]:
        for file in self._files:
            try:
                document = read_document(file)
                if document is not None:
                    yield file, contents(document, file)
                elif file.named or file.expected:
                    raise ConfigError(f"there is no credential file {file.shown}", hint="getmodules login makes one")
            except ConfigError as error:
                self._unusable(file, error)

    def _unusable(self, file: AuthFile, error: GetModulesError) -> None:
        if file.named:
            raise error
        with self._warn_guard:
            is_new = error.message not in self._warned
            self._warned.add(error.message)
        if is_new:
            self._warn(f"{error.message} ({error.hint})" if error.hint else error.message)


# --------------------------------------------------------------------------------------------- one place to ask


class _Source(Protocol):
    @property
    def where(self) -> str: ...

    def ask(self) -> Credential | None: ...


@valueclass(kw_only=False)
class _Entry:
    where: str
    value: Any

    def ask(self) -> Credential | None:
        return credential_of(self.value, self.where, self.where)


def _entries(file: AuthFile, found: AuthFileContents, key: AuthKey) -> Iterator[_Entry]:
    for spelling, value in found.entries(key):
        yield _Entry(f"{file.shown}, auths {printable(spelling)!r}", value)


@valueclass(kw_only=False)
class _Helper:
    setting: str
    name: str
    host: str
    answers: _Answers
    environ: Mapping[str, str]
    run: Run

    @property
    def where(self) -> str:
        return f"{self.setting}: helper {printable(self.name)!r}"

    def ask(self) -> Credential | None:
        login = self.answers.get((self.name, self.host), self._login)
        if login is None:
            return None
        username = None if login.is_identity else login.username
        return Credential(secret=login.secret, username=username, identity=login.is_identity, found_in=self.where)

    def _login(self) -> Login | None:
        helper = CredentialHelper(self.name, self.setting, self.environ, self.run)
        return helper.get(names_in_helpers(self.host))


@valueclass(kw_only=False, frozen=False)
class _Slot:
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_filled: bool = False
    outcome: Login | GetModulesError | None = None


class _Answers:
    """What the helpers said. Who asks while somebody else is asking waits for that answer."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._slots: dict[tuple[str, str], _Slot] = {}

    def get(self, key: tuple[str, str], ask: Callable[[], Login | None]) -> Login | None:
        with self._guard:
            slot = self._slots.setdefault(key, _Slot())
        with slot.lock:
            if not slot.is_filled:
                try:
                    slot.outcome = ask()
                except _UNUSABLE as error:  # kept as well: fifty packages must not wait thirty seconds each
                    slot.outcome = error
                slot.is_filled = True
        if isinstance(slot.outcome, GetModulesError):
            raise copy.copy(slot.outcome)  # the address that somebody puts on it is not for the next one
        return slot.outcome


@valueclass(kw_only=False)
class _Snapshot:
    files: tuple[tuple[AuthFile, AuthFileContents], ...]
    expires: float
    answers: _Answers = field(default_factory=_Answers)
