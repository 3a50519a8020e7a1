"""``--header HOST NAME=env:VARIABLE``: whom a header is for, and where its value lies.

The value itself is never written here: every process of the machine can read a command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

from getmodules.errors import ConfigError
from getmodules.util.redact import Secret, printable, quoted

_OPTION = "--header"
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
_FROM_ENVIRONMENT = "env:"
#: What decides how a request is read, or what its answer means: not for anybody to set.
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "if-range",
        "proxy-authorization",
        "range",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def headers_of(
    pairs: Iterable[Sequence[str]], environ: Mapping[str, str], canonical: Callable[[str], str | None]
) -> dict[str, dict[str, Secret]]:
    """By host, as :class:`~getmodules.net.settings.NetSettings` wants it. ``canonical`` is its spelling of a host."""
    found: dict[str, dict[str, Secret]] = {}
    for written, assignment in pairs:
        host = canonical(written)
        if host is None:
            _refuse(f"{quoted(written)} is not a host", "write HOST or HOST:PORT, then NAME=env:VARIABLE")
        name, value = _header(assignment, environ)
        headers = found.setdefault(host, {})
        if name.lower() in (other.lower() for other in headers):
            _refuse(f"{name} is given twice for the host {host}")
        headers[name] = value
    return found


def _header(assignment: str, environ: Mapping[str, str]) -> tuple[str, Secret]:
    name, equals, value = assignment.partition("=")
    if not equals or not _NAME.fullmatch(name):
        # Not shown: whoever wrote NAME:VALUE has written a secret.
        _refuse("what follows the host is not NAME=env:VARIABLE", "as in PRIVATE-TOKEN=env:GITLAB_TOKEN")
    if name.lower() in _OURS:
        _refuse(f"{name} is a header that getmodules sets by itself")
    if not value.startswith(_FROM_ENVIRONMENT):
        _refuse(
            f"the value of {name} must come from the environment",
            f"every process can read a command line; put it into a variable and write {name}=env:VARIABLE",
        )
    variable = value.removeprefix(_FROM_ENVIRONMENT)
    text = environ.get(variable, "").strip()  # the line end of a file that it was read from is a usual accident
    if not text:
        _refuse(f"the variable {printable(variable)!r} for {name} is not set, or empty")
    if not text.isascii() or not text.isprintable():
        _refuse(f"the variable {printable(variable)!r} for {name} has something in it that no header can have")
    return name, Secret(text)


def _refuse(what: str, hint: str | None = None) -> NoReturn:
    raise ConfigError(f"{_OPTION}: {what}", hint=hint)
