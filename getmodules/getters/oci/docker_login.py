"""Storing and erasing logins where docker, podman and oras look as well.

That is the helper that the credential file names for the host, or else the file itself. The caller checks a login at
its registry before it is stored.

A credential file is changed atomically, and nothing else in it is changed. Our own processes use a lock beside the
file, which is removed afterwards. Docker and podman have no lock: right before the rename we check whether the file has
changed, and if so, make the change again on its new content.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from getmodules.errors import ConfigError, InstallError
from getmodules.files import durable, opening as openflags
from getmodules.files.locking import FileLock, try_lock
from getmodules.files.os_errors import translated
from getmodules.getters.oci.cred_helper import TOKEN_USER, CredentialHelper, Login, Run, run_helper
from getmodules.getters.oci.docker_config import (
    FILE_BYTES,
    AuthFile,
    AuthKey,
    canonical_host,
    contents,
    key_to_write,
    login_file,
    names_in_helpers,
    parse_key,
    read_document,
)
from getmodules.util.redact import Secret, printable
from getmodules.util.strict_json import StrictJsonError, mapping, optional


class DockerLogin:
    """The file that logins are written to, and its helpers; ``auth_file`` is the one that the user named."""

    def __init__(self, environ: Mapping[str, str], *, auth_file: Path | None = None, run: Run = run_helper) -> None:
        self._environ = environ
        self._file = login_file(environ, auth_file)
        self._run = run

    def store(self, registry: str, *, username: str, secret: Secret, identity: bool = False) -> str:
        """Store a login for ``registry`` (``host[:port]``), replacing any other; return its location, for people.

        An ``identity`` token needs no user name.
        """
        host = _checked_host(registry)
        check_login(username, secret, identity=identity)
        helper = self._helper(host)
        if helper is None:
            rewrite(self._file, _set_entry(host, _entry(username, secret, identity)), private=True)
            return self._file.shown
        helper.store(names_in_helpers(host)[0], Login(TOKEN_USER if identity else username, secret))
        # Docker writes an empty entry for a login in its helper; it also replaces one that was there in clear text.
        rewrite(self._file, _set_entry(host, {}), private=True)
        return f"{helper.program}, as {self._file.shown} says"

    def erase(self, registry: str) -> tuple[str, ...]:
        """Erase ``registry``, in all its spellings; return the former locations, for people. Keys with paths stay."""
        host = _checked_host(registry)
        helper = self._helper(host)
        places = []
        if rewrite(self._file, _remove_entries(host)):
            places.append(self._file.shown)
        if helper is not None and helper.erase(names_in_helpers(host)):
            places.append(f"{helper.program}, as {self._file.shown} says")
        return tuple(places)

    def _helper(self, host: str) -> CredentialHelper | None:
        document = read_document(self._file) or {}
        for setting, name in contents(document, self._file).helpers_for(host):
            return CredentialHelper(name, f"{self._file.shown}, {setting}", self._environ, self._run)
        return None


def _checked_host(registry: str) -> str:
    host = canonical_host(registry)
    if not host or any(
        character in "/@?#\\" or character.isspace() or not character.isprintable() for character in host
    ):
        raise ConfigError(f"{printable(registry)!r} is not the name of a registry", hint="write HOST or HOST:PORT")
    return host


def check_login(username: str, secret: Secret, *, identity: bool = False) -> None:
    """Raise unless the login can be sent and stored."""
    if not secret.reveal():
        raise ConfigError("an empty password is no login", hint="is a variable not set?")
    if any("\ud800" <= character <= "\udfff" for character in f"{username}{secret.reveal()}"):
        raise ConfigError("the user name or the password is not UTF-8")
    if not username and not identity:
        raise ConfigError(
            "a login needs a user name", hint="with a token, most registries take any; see their documentation"
        )
    if ":" in username or not username.isprintable():
        # Not shown: people who know other programs write USER:PASSWORD there.
        raise ConfigError("a user name has no colon and no control character")


# ------------------------------------------------------------------------------------------------ changing a document


#: Edits a document, and returns whether it has changed. It may be called again, with a newer document.
Change = Callable[[dict[str, Any]], bool]


def _entry(username: str, secret: Secret, identity: bool) -> dict[str, str]:
    if identity:
        return {"identitytoken": secret.reveal()}
    return {"auth": base64.b64encode(f"{username}:{secret.reveal()}".encode()).decode()}


def _set_entry(host: str, entry: dict[str, str]) -> Change:
    key = key_to_write(host)

    def change(document: dict[str, Any]) -> bool:
        auths = _auths(document)
        others = [name for name in _spellings(auths, host) if name != key]
        if not others and auths.get(key) == entry:
            return False
        for name in others:
            del auths[name]
        auths[key] = dict(entry)
        document["auths"] = auths
        return True

    return change


def _remove_entries(host: str) -> Change:
    def change(document: dict[str, Any]) -> bool:
        auths = _auths(document)
        names = _spellings(auths, host)
        for name in names:
            del auths[name]
        return bool(names)

    return change


def _auths(document: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return optional(document, "auths", mapping, "the credential file") or {}
    except StrictJsonError as error:
        raise ConfigError(str(error)) from None


def _spellings(auths: Mapping[str, Any], host: str) -> list[str]:
    return [name for name in auths if parse_key(name) == AuthKey(host, "")]


# ------------------------------------------------------------------------------------------------- rewriting the file


LOCK_SECONDS: Final = 10.0
_TICK = 0.02
_ATTEMPTS = 20


def rewrite(file: AuthFile, change: Change, *, private: bool = False) -> bool:
    """Apply ``change`` to ``file``, which is created if need be; return whether it was written.

    The written file is readable by its owner only. With ``private``, it is also written if others could read it before.
    """
    first = read_document(file) or {}
    # Users who manage their dot files have links there: the link stays, and its target is replaced.
    target = Path(os.path.realpath(file.path))

    def is_due(document: dict[str, Any]) -> bool:
        return change(document) or (private and _is_open(target))

    if not is_due(first):
        return False
    what = f"cannot write the credentials to {file.shown}"
    if target.exists() and not target.is_file():  # a rename would put a file in the place of /dev/null
        raise InstallError(f"{what}: it is not a file", hint="REGISTRY_AUTH_FILE or DOCKER_CONFIG may name another")
    with translated(what), _parent(target.parent), _lock_beside(target, what) as is_alone:
        if is_alone:
            _sweep(target)
        for _ in range(_ATTEMPTS):
            before = _identity(target)
            document = read_document(file) or {}
            if not is_due(document):
                return False
            data = json.dumps(document, indent="\t", ensure_ascii=False).encode() + b"\n"
            if len(data) > FILE_BYTES:
                raise InstallError(f"{what}: it would have more than the {FILE_BYTES:,} bytes that anybody reads")
            if _replace(target, before, data):
                return True
    raise InstallError(f"{what}: another program keeps changing it", hint="try again when it is done")


@contextmanager
def _parent(directory: Path) -> Iterator[None]:
    """Create ``directory`` and its parents, private to the user; remove those that are empty afterwards."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(0o700, exist_ok=True)
    try:
        yield
    finally:
        for path in missing:
            with suppress(OSError):  # not empty: the usual case
                path.rmdir()


@contextmanager
def _lock_beside(target: Path, what: str) -> Iterator[bool]:
    """Take the lock beside ``target``. Yield ``False`` if the file system has no locks, so that others may write."""
    path = target.with_name(f".{target.name}.getmodules-lock")
    expires = time.monotonic() + LOCK_SECONDS
    while True:
        fd = os.open(path, openflags.LOCK, 0o600)
        try:
            lock = try_lock(fd)
            if lock is FileLock.UNSUPPORTED:
                yield False
                return
            # If its last owner has removed the file, we have locked one that others cannot see.
            if lock is FileLock.HELD and _is_at(fd, path):
                try:
                    yield True
                finally:
                    with suppress(OSError):  # Windows removes no open file; see below
                        os.unlink(path)
                return
        finally:
            os.close(fd)
            if os.name == "nt":
                with suppress(OSError):  # somebody else has it open, and will remove it
                    os.unlink(path)
        if time.monotonic() >= expires:
            raise InstallError(
                f"{what}: another getmodules has been writing there for {LOCK_SECONDS:g} seconds",
                hint=f"is a process stuck? It holds the lock of {path.name}",
            )
        time.sleep(_TICK)


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _is_open(path: Path) -> bool:
    """Return whether other users than its owner may read or write a file."""
    try:
        return os.name != "nt" and bool(os.stat(path).st_mode & 0o077)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _identity(path: Path) -> tuple[int, int, int, int] | None:
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _replace(target: Path, before: tuple[int, int, int, int] | None, data: bytes) -> bool:
    """Replace ``target``, and return ``True``; ``False`` if another program has changed it since ``before``."""
    new = target.with_name(f".{target.name}.getmodules-{os.urandom(8).hex()}")
    try:
        _write(new, target, data)
        if _identity(target) != before:
            return False
        durable.replace_file(new, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(new)
    return True


def _write(new: Path, target: Path, data: bytes) -> None:
    with durable.new_file(new, 0o600) as stream:
        if os.name != "nt":
            os.fchmod(stream.fileno(), 0o600)  # whatever the umask
            # If root logs in for another user (sudo), the file must stay theirs.
            if os.geteuid() == 0 and target.exists():
                status = target.stat()
                os.fchown(stream.fileno(), status.st_uid, status.st_gid)
        stream.write(data)


def _sweep(target: Path) -> None:
    """Remove files with secrets that killed writers left. We have the lock, so no writer is running."""
    left = re.compile(rf"\.{re.escape(target.name)}\.getmodules-[0-9a-f]{{16}}")
    for name in os.listdir(target.parent):
        if left.fullmatch(name):
            with suppress(OSError):
                os.unlink(target.parent / name)
