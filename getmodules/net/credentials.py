"""Credentials from the environment, for every scheme: ``GETMODULES_TOKEN_<host>``, ``GETMODULES_USERNAME_<host>``."""

from __future__ import annotations

from collections.abc import Mapping

from getmodules.ports import Credential, Origin
from getmodules.redact import Secret

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
