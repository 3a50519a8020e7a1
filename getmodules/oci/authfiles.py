"""The credential files of docker, podman and oras: where they are, and what they say."""

from __future__ import annotations

import base64
import binascii
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from getmodules.api.limits import MIB
from getmodules.api.ports import Credential
from getmodules.errors import ConfigError
from getmodules.files.opening import READ
from getmodules.oci.authkeys import AuthKey, parse_key
from getmodules.util.redact import Secret, printable
from getmodules.util.strict_json import StrictJsonError, loads, mapping, optional, string, table_of
from getmodules.util.values import field, valueclass

FILE_BYTES: Final = 1 * MIB
#: Where podman and skopeo have a directory for each user whose ``XDG_RUNTIME_DIR`` is not set.
RUN: Final = Path("/run/containers")


@valueclass
class AuthFile:
    """A place where credentials may lie."""

    path: Path
    #: The path for people.
    shown: str
    #: Somebody chose this very file for this run: it must be usable.
    named: bool = False
    #: The environment points at it: that it is not there is worth a word.
    expected: bool = False
    #: ``~/.dockercfg``: what is below ``auths`` elsewhere is all there is.
    legacy: bool = False


@valueclass
class AuthFileContents:
    auths: Mapping[str, Any] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    store: str | None = None

    def entries(self, key: AuthKey) -> Iterator[tuple[str, Any]]:
        """What the file has for exactly ``key``, in any spelling; the plainest spelling first."""
        plain = f"{key.host}/{key.path}" if key.path else key.host
        for spelling in sorted((k for k in self.auths if parse_key(k) == key), key=lambda k: k != plain):
            yield spelling, self.auths[spelling]

    def helpers_for(self, host: str) -> Iterator[tuple[str, str]]:
        """(which setting, name of the helper), in the order in which they are asked."""
        for spelling, name in self.helpers.items():
            if parse_key(spelling) == AuthKey(host, ""):
                if not name:  # how docker spells: for this host not the store, but the file
                    return
                yield f"credHelpers {printable(spelling)!r}", name
        if self.store:
            yield "credsStore", self.store


# ------------------------------------------------------------------------------------------------ where they are


def auth_files(environ: Mapping[str, str], named: Path | None = None) -> tuple[AuthFile, ...]:
    """All places in the order in which they count; one that two variables lead to is there once."""
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
        elif _is_ours(fallback := RUN / str(os.geteuid()) / "auth.json"):
            add(fallback)
    if config or home:
        add((Path(config) if config else Path(home or "", ".config")) / "containers" / "auth.json")
    if docker := _docker_config(environ, home):
        add(docker)
    if home:
        add(home / ".dockercfg", legacy=True)
    return tuple(files)


def login_file(environ: Mapping[str, str], named: Path | None = None) -> AuthFile:
    """The file that a login writes: the one that docker, podman and oras read as well."""
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
    """No variable of ours leads there, so what somebody else has put there does not count."""
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


# ------------------------------------------------------------------------------------------------- what they say


def read_document(file: AuthFile) -> dict[str, Any] | None:
    """The JSON object in ``file``, ``None`` where there is no file; :class:`ConfigError` where it is unusable."""
    try:
        data = _read(file.path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else "the path is not possible"
        raise ConfigError(f"cannot read the credentials in {file.shown}: {reason}") from error
    if not data.strip():  # /dev/null, or a fresh temporary file: how people say "no credentials"
        return {}
    what = f"the credential file {file.shown}"
    try:
        return mapping(loads(data, what, FILE_BYTES), what)
    except StrictJsonError as error:
        raise ConfigError(str(error)) from None


def _read(path: Path) -> bytes:
    fd = os.open(path, READ)
    try:
        pieces, room = [], FILE_BYTES + 1
        while room and (piece := os.read(fd, room)):
            pieces.append(piece)
            room -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(fd)


def contents(document: Mapping[str, Any], file: AuthFile) -> AuthFileContents:
    """Entries of ``auths`` are judged when they are asked for: a broken one is no reason to lose the others."""
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
    """The credential in an entry of ``auths``; ``None`` where it is empty, as beside a helper."""
    if entry is None:
        return None
    try:
        return _credential_of(mapping(entry, what), what, found_in)
    except StrictJsonError as error:
        raise ConfigError(str(error)) from None


def _credential_of(entry: Mapping[str, Any], what: str, found_in: str) -> Credential | None:
    if token := optional(entry, "registrytoken", string, what):
        return Credential(secret=Secret(_token(token, what)), found_in=found_in)
    username = optional(entry, "username", string, what) or ""
    password = optional(entry, "password", string, what) or ""
    if auth := optional(entry, "auth", string, what):
        username, password = _decoded(auth, what)
    if token := optional(entry, "identitytoken", string, what):
        # Without the user name beside it: nothing may take the two for a pair that Basic could send.
        return Credential(secret=Secret(_token(token, what)), identity=True, found_in=found_in)
    return Credential(secret=Secret(password), username=username, found_in=found_in) if password else None


def _decoded(auth: str, what: str) -> tuple[str, str]:
    """``user:password``; only the first colon separates, and some writers pad the password with NUL."""
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
    # Raised out here: those exceptions carry the secret.
    raise StrictJsonError(f"{what}: 'auth' {problem}")


def _token(token: str, what: str) -> str:
    """A token travels in a header or a form: anything but visible ASCII in it is an accident, or an attack."""
    token = token.strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise StrictJsonError(f"{what}: the token has characters that no token has")
    return token
