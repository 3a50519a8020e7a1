"""Logging in to a registry and out of it: into the place where docker, podman and oras look as well.

That is the helper that the file names for the host, otherwise the file itself. Checking a login against its
registry is the caller's part, before anything is stored.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from getmodules.errors import ConfigError
from getmodules.oci.authfiles import contents, login_file, read_document
from getmodules.oci.authkeys import AuthKey, canonical_host, key_to_write, names_in_helpers, parse_key
from getmodules.oci.authwriter import Change, rewrite
from getmodules.oci.credhelper import TOKEN_USER, CredentialHelper, Login
from getmodules.oci.helperprocess import Run, run_helper
from getmodules.util.redact import Secret, printable
from getmodules.util.strict_json import StrictJsonError, mapping, optional


class DockerLogin:
    """The one file that logins go to, with its helpers; ``auth_file`` is the one that the user named."""

    def __init__(self, environ: Mapping[str, str], *, auth_file: Path | None = None, run: Run = run_helper) -> None:
        self._environ = environ
        self._file = login_file(environ, auth_file)
        self._run = run

    def store(self, registry: str, *, username: str, secret: Secret, identity: bool = False) -> str:
        """Keep a login for ``registry`` (``host[:port]``), in place of any other; where it is now, for people.

        An ``identity`` token needs no user name.
        """
        host = _checked_host(registry)
        check_login(username, secret, identity=identity)
        helper = self._helper(host)
        if helper is None:
            rewrite(self._file, _setting(host, _entry(username, secret, identity)), private=True)
            return self._file.shown
        helper.store(names_in_helpers(host)[0], Login(TOKEN_USER if identity else username, secret))
        # An empty entry is how docker remembers that its helper has one; it also removes what lay there in the clear.
        rewrite(self._file, _setting(host, {}), private=True)
        return f"{helper.program}, as {self._file.shown} says"

    def erase(self, registry: str) -> tuple[str, ...]:
        """Forget ``registry``, in all its spellings; where it was known, for people. Keys with paths stay."""
        host = _checked_host(registry)
        helper = self._helper(host)
        places = []
        if rewrite(self._file, _removing(host)):
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
    """Whether they can be sent and stored at all."""
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


def _entry(username: str, secret: Secret, identity: bool) -> dict[str, str]:
    if identity:
        return {"identitytoken": secret.reveal()}
    return {"auth": base64.b64encode(f"{username}:{secret.reveal()}".encode()).decode()}


def _setting(host: str, entry: dict[str, str]) -> Change:
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


def _removing(host: str) -> Change:
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
