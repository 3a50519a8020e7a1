"""Credentials from the environment, for every scheme, and the headers that credentials become.

``GETMODULES_TOKEN_<host>``, with ``GETMODULES_USERNAME_<host>`` where a user name belongs to it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from getmodules.addresses.url import check_url
from getmodules.api.ports import Credential, Origin
from getmodules.errors import ConfigError
from getmodules.util.redact import Secret, printable

TOKEN_PREFIX = "GETMODULES_TOKEN_"
USERNAME_PREFIX = "GETMODULES_USERNAME_"
_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}


def variable_suffix(origin: Origin) -> str:
    """``ghcr.io`` is ``ghcr_io``, ``my-registry:5000`` is ``my__registry_5000``; a scheme's own port is not written."""
    host = origin.host.strip("[]").lower().replace("-", "__").replace(".", "_").replace(":", "_")
    return host if origin.port == _PORTS.get(origin.scheme) else f"{host}_{origin.port}"


def from_environment(environ: Mapping[str, str], origin: Origin) -> Credential | None:
    if "_" in origin.host:
        return None  # its variable is that of another host as well: my_host.example and my.host.example
    suffix = variable_suffix(origin)
    # The line end of the file that a token was read from is a usual accident, and never a part of it.
    secret = environ.get(TOKEN_PREFIX + suffix, "").rstrip("\r\n")
    if not secret:
        return None
    return Credential(
        secret=Secret(secret), username=environ.get(USERNAME_PREFIX + suffix) or None, found_in=TOKEN_PREFIX + suffix
    )


def is_overheard(origin: Origin, home: str) -> bool:
    """Whether a server led to ``origin``, or anybody on the way in its place, who would then read along.

    ``home`` is the URL that the user asked for; in the clear, credentials are for that one alone.
    """
    if origin.scheme != "http" or not home:
        return False
    url = check_url(home)
    return origin != Origin(url.scheme, url.host.strip("[]"), url.port or _PORTS.get(url.scheme, 0))


def authorization_of(credential: Credential) -> str:
    """The header that shows it: with a user name ``Basic``, alone ``Bearer``."""
    if credential.username is None:
        return f"Bearer {token_of(credential)}"
    return basic(credential.username, credential.secret)


def token_of(credential: Credential) -> str:
    """A token that can be sent as it is."""
    token = credential.secret.reveal()
    if not fits_header(token):
        raise ConfigError(
            f"the token of {printable(credential.found_in)} cannot be sent: there is something in it besides"
            " printable ASCII characters",
            hint="a blank, a line end or a byte order mark is easily copied along",
        )
    return token


def fits_header(token: str) -> bool:
    return token.isascii() and token.isprintable() and " " not in token


def basic(username: str, secret: Secret) -> str:
    if ":" in username:
        raise ConfigError(
            "a user name has a ':' in it, with which it cannot be sent",
            hint="are the user name and the password in two places?",
        )
    # Bytes of the environment that are no UTF-8 are sent as they are.
    pair = f"{username}:{secret.reveal()}".encode("utf-8", "surrogateescape")
    return "Basic " + base64.b64encode(pair).decode()
