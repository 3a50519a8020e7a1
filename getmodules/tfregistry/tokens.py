"""Tokens for registries, named as for Terraform: ``TF_TOKEN_<host>``.

In the host ``_`` stands for a dot and ``__`` for a dash; a port is written as it is, and 443 not at all. Where a
system lets them through, dots, dashes and the letters of an international name may also stand there themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from getmodules.api.ports import Credential
from getmodules.util.redact import Secret

PREFIX = "TF_TOKEN_"
_OWN_PORT = ":443"


def token_from(environ: Mapping[str, str], host: str) -> Credential | None:
    """The token for ``host``, which is written as in addresses: in lower case, with its port where that is not 443."""
    # The variables are read, not made up: one host has more than one spelling. Sorted, so that it is always the same.
    for name in sorted(environ):
        if name.startswith(PREFIX) and _host_of(name.removeprefix(PREFIX)) == host:
            secret = environ[name].rstrip("\r\n")
            if secret:
                return Credential(secret=Secret(secret), found_in=name)
    return None


def variable_for(host: str) -> str:
    """The variable that people can set in a shell; a port is beyond what most of them allow in a name."""
    return PREFIX + host.replace("-", "__").replace(".", "_")


def _host_of(written: str) -> str | None:
    """The host that a variable is for; ``None`` where it is none."""
    host = written.replace("__", "-").replace("_", ".").lower().removesuffix(_OWN_PORT)
    return host if host.isascii() else _in_ascii(host)


def _in_ascii(host: str) -> str | None:
    # Not Python's own codec: it takes straße.example for strasse.example, which may be somebody else's.
    import idna

    name, colon, port = host.partition(":")
    try:
        return idna.encode(name, uts46=True).decode() + colon + port
    except idna.IDNAError:
        return None
