"""The credential files and helpers of docker, podman and oras, and the lookup of a repository's credential in them.

The file that the user named comes first, then all others together. Among these the most specific key wins
(``host/org/repo`` over ``host/org``, whichever file it is in). For a whole host the files count in their order, and in
each file first its ``credHelpers``, then its ``credsStore``, then its ``auths``. Empty entries are skipped, and broken
ones with a warning; a broken file that the user named is an error.

The keys of a file have many spellings for one host (``ghcr.io``, ``https://ghcr.io/v2/``), most of all for Docker Hub.
A key without a scheme may have a path behind the host; then it is for the repositories below that path only.
"""

from __future__ import annotations

import base64
import binascii
import copy
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from getmodules.api.limits import MIB
from getmodules.api.ports import Credential
from getmodules.errors import AuthenticationError, ConfigError, GetModulesError, ToolMissingError
from getmodules.files.opening import READ
from getmodules.getters.oci.cred_helper import CredentialHelper, Login, Run, run_helper
from getmodules.util.redact import Secret, printable
from getmodules.util.strict_json import StrictJsonError, loads, mapping, optional, string, table_of
from getmodules.util.values import field, valueclass

#: How long the contents of files and the answers of helpers are cached. Fifty packages of one operation need them only
#: once; but a client that lives for days must notice a new login, and some helpers' tokens expire after an hour.
KEEP_SECONDS = 60.0
_UNUSABLE = (ConfigError, AuthenticationError, ToolMissingError)


@valueclass(kw_only=False)
class Considered:
    """One source of credentials that was looked at, and the outcome; for ``getmodules auth check``."""

    where: str
    outcome: str


@valueclass
class Explanation:
    """The credential that would be used, with its source in ``found_in``, and the sources looked at before."""

    credential: Credential | None
    considered: tuple[Considered, ...]
    #: The files that were looked at, existing or not, for people.
    files: tuple[str, ...]


class DockerCredentials:
    """The credentials for one ``environ``. Threads may share it; each helper is run once."""

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
        """Return the credential for ``repository`` of ``registry`` (``host[:port]``), or ``None``."""
        return self.explain(registry, repository).credential

    def explain(self, registry: str, repository: str) -> Explanation:
        """Return the credential like :meth:`lookup`, and the sources looked at."""
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
            for path in key_paths(host, repository):
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


# ------------------------------------------------------------------------------------------ one source of credentials


class _Source(Protocol):
    """One source of a credential."""

    @property
    def where(self) -> str: ...

    def ask(self) -> Credential | None: ...


@valueclass(kw_only=False)
class _FileEntry:
    """An entry of a file's ``auths``."""

    where: str
    value: Any

    def ask(self) -> Credential | None:
        return credential_of(self.value, self.where, self.where)


def _entries(file: AuthFile, found: AuthFileContents, key: AuthKey) -> Iterator[_FileEntry]:
    for spelling, value in found.entries(key):
        yield _FileEntry(f"{file.shown}, auths {printable(spelling)!r}", value)


@valueclass(kw_only=False)
class _Helper:
    """A helper that a file names."""

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
class _AnswerSlot:
    """The answer of one helper for one host, and a lock for its run."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    is_filled: bool = False
    outcome: Login | GetModulesError | None = None


class _Answers:
    """The answers of the helpers. A thread waits while another one runs the same helper for the same host."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._slots: dict[tuple[str, str], _AnswerSlot] = {}

    def get(self, key: tuple[str, str], ask: Callable[[], Login | None]) -> Login | None:
        with self._guard:
            slot = self._slots.setdefault(key, _AnswerSlot())
        with slot.lock:
            if not slot.is_filled:
                try:
                    slot.outcome = ask()
                except _UNUSABLE as error:  # cached as well: fifty packages must not wait thirty seconds each
                    slot.outcome = error
                slot.is_filled = True
        if isinstance(slot.outcome, GetModulesError):
            raise copy.copy(slot.outcome)  # a caller adds its own address to the error
        return slot.outcome


@valueclass(kw_only=False)
class _Snapshot:
    """The contents of all files at one time, and the helpers' answers since."""

    files: tuple[tuple[AuthFile, AuthFileContents], ...]
    expires: float
    answers: _Answers = field(default_factory=_Answers)


# ----------------------------------------------------------------------------------- the credential files: which ones


FILE_BYTES: Final = 1 * MIB
#: The directory in which podman and skopeo have one for each user without ``XDG_RUNTIME_DIR``.
CONTAINERS_RUN_DIRECTORY: Final = Path("/run/containers")


@valueclass
class AuthFile:
    """The path of a file that may have credentials."""

    path: Path
    #: The path for people.
    shown: str
    #: Whether the user named this file for this run, so that it must be usable.
    named: bool = False
    #: Whether the environment names it, so that a warning is due if it does not exist.
    expected: bool = False
    #: Whether it is ``~/.dockercfg``, which is what is below ``auths`` in other files.
    legacy: bool = False


def auth_files(environ: Mapping[str, str], named: Path | None = None) -> tuple[AuthFile, ...]:
    """Return all files in the order in which they count, each once, even if two variables name it."""
    home = _home(environ)
    runtime, config = environ.get("XDG_RUNTIME_DIR"), environ.get("XDG_CONFIG_HOME")
    files: list[AuthFile] = []

    def add(path: Path, **traits: bool) -> None:
        if all(path != file.path for file in files):
            files.append(AuthFile(path=path, shown=_shown(path, home), **traits))

    if named is not None:
        add(named, named=True)
    if registry_auth_file := environ.get("REGISTRY_AUTH_FILE"):
        add(Path(registry_auth_file), expected=True)
    if sys.platform.startswith("linux"):
        if runtime:
            add(Path(runtime, "containers", "auth.json"))
        elif _is_ours(fallback := CONTAINERS_RUN_DIRECTORY / str(os.geteuid()) / "auth.json"):
            add(fallback)
    if config or home:
        add((Path(config) if config else Path(home or "", ".config")) / "containers" / "auth.json")
    if docker := _docker_config(environ, home):
        add(docker)
    if home:
        add(home / ".dockercfg", legacy=True)
    return tuple(files)


def login_file(environ: Mapping[str, str], named: Path | None = None) -> AuthFile:
    """Return the file that a login is written to, which docker, podman and oras read as well."""
    home = _home(environ)
    registry_auth_file = environ.get("REGISTRY_AUTH_FILE")
    path = named or (Path(registry_auth_file) if registry_auth_file else _docker_config(environ, home))
    if path is None:
        raise ConfigError(
            "there is no place for credentials: the home directory is not known",
            hint="set HOME, DOCKER_CONFIG (a directory) or REGISTRY_AUTH_FILE (a file)",
        )
    return AuthFile(path=path, shown=_shown(path, home), named=True)


def _is_ours(path: Path) -> bool:
    """Return whether the file is the user's own: no variable names it, so another user's file must not count."""
    try:
        return os.stat(path, follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False


def _home(environ: Mapping[str, str]) -> Path | None:
    home = environ.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    return Path(home) if home else None


def _docker_config(environ: Mapping[str, str], home: Path | None) -> Path | None:
    if directory := environ.get("DOCKER_CONFIG"):
        return Path(directory, "config.json")
    return home / ".docker" / "config.json" if home else None


def _shown(path: Path, home: Path | None) -> str:
    if home is not None and path.is_relative_to(home):
        path = Path("~", path.relative_to(home))
    return printable(str(path))


# ------------------------------------------------------------------------------- the credential files: their contents


@valueclass
class AuthFileContents:
    """The settings in one file."""

    auths: Mapping[str, Any] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    store: str | None = None

    def entries(self, key: AuthKey) -> Iterator[tuple[str, Any]]:
        """Yield the entries for exactly ``key``, in any spelling, with the plainest one first."""
        plain = f"{key.host}/{key.path}" if key.path else key.host
        for spelling in sorted((k for k in self.auths if parse_key(k) == key), key=lambda k: k != plain):
            yield spelling, self.auths[spelling]

    def helpers_for(self, host: str) -> Iterator[tuple[str, str]]:
        """Yield the setting and the name of each helper for ``host``, in the order in which they are run."""
        for spelling, name in self.helpers.items():
            if parse_key(spelling) == AuthKey(host, ""):
                if not name:  # docker's way to use the file for this host and not the store
                    return
                yield f"credHelpers {printable(spelling)!r}", name
        if self.store:
            yield "credsStore", self.store


def read_document(file: AuthFile) -> dict[str, Any] | None:
    """Return the JSON object in ``file``, or ``None`` without a file; raise :class:`ConfigError` if it is unusable."""
    try:
        data = _read(file.path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else "the path is not possible"
        raise ConfigError(f"cannot read the credentials in {file.shown}: {reason}") from error
    if not data.strip():  # /dev/null or an empty temporary file means "no credentials"
        return {}
    what = f"the credential file {file.shown}"
    try:
        return mapping(loads(data, what, FILE_BYTES), what)
    except StrictJsonError as error:
        raise ConfigError(str(error)) from None


def _read(path: Path) -> bytes:
    fd = os.open(path, READ)
    try:
        pieces, left = [], FILE_BYTES + 1
        while left and (piece := os.read(fd, left)):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(fd)


def contents(document: Mapping[str, Any], file: AuthFile) -> AuthFileContents:
    """Return the settings in ``document``. Entries of ``auths`` are checked on use, so that one may be broken."""
    what = f"the credential file {file.shown}"
    if file.legacy:
        return AuthFileContents(auths=document)
    try:
        return AuthFileContents(
            auths=optional(document, "auths", mapping, what) or {},
            helpers=optional(document, "credHelpers", table_of(string), what) or {},
            store=optional(document, "credsStore", string, what),
        )
    except StrictJsonError as error:
        raise ConfigError(str(error)) from None


def credential_of(entry: Any, what: str, found_in: str) -> Credential | None:
    """Return the credential in an entry of ``auths``, or ``None`` if it is empty, as beside a helper."""
    if entry is None:
        return None
    try:
        return _credential_of(mapping(entry, what), what, found_in)
    except StrictJsonError as error:
        raise ConfigError(str(error)) from None


def _credential_of(entry: Mapping[str, Any], what: str, found_in: str) -> Credential | None:
    if token := optional(entry, "registrytoken", string, what):
        return Credential(secret=Secret(_checked_token(token, what)), found_in=found_in)
    username = optional(entry, "username", string, what) or ""
    password = optional(entry, "password", string, what) or ""
    if auth := optional(entry, "auth", string, what):
        username, password = _decode_auth(auth, what)
    if token := optional(entry, "identitytoken", string, what):
        # The user name beside it is left out, so that the two are never sent as a pair by Basic.
        return Credential(secret=Secret(_checked_token(token, what)), identity=True, found_in=found_in)
    return Credential(secret=Secret(password), username=username, found_in=found_in) if password else None


def _decode_auth(auth: str, what: str) -> tuple[str, str]:
    """Split ``user:password`` at the first colon; some programs pad the password with NUL."""
    problem = "is not base64"
    try:
        text = base64.b64decode("".join(auth.split()), validate=True).decode("utf-8")
        username, colon, password = text.partition(":")
        if colon:
            return username, password.rstrip("\0")
        problem = "has no colon between user name and password"
    except binascii.Error:
        pass
    except UnicodeDecodeError:
        problem = "is not UTF-8"
    # Raised outside of the handlers, because their exceptions contain the secret.
    raise StrictJsonError(f"{what}: 'auth' {problem}")


def _checked_token(token: str, what: str) -> str:
    """Return ``token`` if it is visible ASCII: it is sent in a header or a form, where nothing else belongs."""
    token = token.strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise StrictJsonError(f"{what}: the token has characters that no token has")
    return token


# --------------------------------------------------------------------------------------- the keys in credential files


DOCKER_HUB: Final = "docker.io"
#: The name of Docker Hub in docker's files and for helpers, for historical reasons.
DOCKER_HUB_KEY: Final = "https://index.docker.io/v1/"
_DOCKER_HUB_HOSTS = frozenset({DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})
_API_VERSIONS = ("v1", "v2")


class AuthKey(NamedTuple):
    """The canonical form of a key: a host with its port, and a path, empty if the key is for the whole host."""

    host: str
    path: str


def canonical_host(registry: str) -> str:
    """Return the canonical ``host[:port]``. A port always makes another registry, even the default one."""
    host = registry.lower()
    return DOCKER_HUB if host in _DOCKER_HUB_HOSTS else host


def parse_key(text: str) -> AuthKey:
    """Return the canonical form of a key in a credential file."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        scheme, rest = "", text
    host, _, path = rest.partition("/")
    host, path = canonical_host(host), path.strip("/")
    # The path of a URL is that of the API and not of repositories; docker and podman drop it as well.
    if scheme or (host == DOCKER_HUB and path in _API_VERSIONS):
        path = ""
    return AuthKey(host, path)


def key_paths(host: str, repository: str) -> list[str]:
    """Return the paths of the keys for ``repository``, the most specific first, without that of the whole host."""
    parts = [part for part in repository.split("/") if part]
    if host == DOCKER_HUB and len(parts) == 1:
        parts.insert(0, "library")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def key_to_write(host: str) -> str:
    """Return the spelling of ``host`` that docker, podman and oras all look for."""
    return DOCKER_HUB_KEY if host == DOCKER_HUB else host


def names_in_helpers(host: str) -> tuple[str, ...]:
    """Return the names under which a helper may know ``host``; logins are stored under the first one."""
    if host == DOCKER_HUB:
        return (DOCKER_HUB_KEY, DOCKER_HUB, "index.docker.io", "registry-1.docker.io")
    return (host, f"https://{host}")
