"""URLs in the one spelling in which policies compare them, and the patterns that they are compared with.

What is compared is what is contacted: a host in lower case, without the dot of its root and without a default port; a
path whose escapes are those that it needs. No user name and no query is compared.
"""

from __future__ import annotations

import ipaddress
import re
from contextlib import suppress
from typing import Self
from urllib.parse import quote

from getmodules.addresses.url import check_url
from getmodules.errors import ConfigError
from getmodules.util.redact import printable, redact_address
from getmodules.util.values import valueclass

#: The ports that a URL of these schemes means without naming them.
DEFAULT_PORTS = {"http": 80, "https": 443, "oci": 443, "tfr": 443, "ssh": 22, "git": 9418}
#: Docker Hub goes by several names. The usual one comes first; the last one is that of its API.
DOCKER_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")
#: Where its own images are, whose names are written without it.
DOCKER_LIBRARY = "library/"
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SAFE = "/%?!$&'()*+,;=:@~"
# At the start alone: looked for everywhere, a long pattern of a stranger's manifest takes quadratic time.
_FORCE = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*::(?!//)")
_PORT = re.compile(r":([0-9]{1,5})\Z", re.ASCII)
_DOT_SEGMENT = re.compile(r"/\.(?=/|\Z)")


def bare_url(url: str) -> str:
    """Return a URL that is about to be requested, without query, fragment and user name; raise where it is none."""
    return str(check_url(url.partition("#")[0].partition("?")[0])._replace(userinfo=""))


def comparable(url: str) -> str:
    """Return the URL of a package as it is compared."""
    checked = check_url(url)
    # A hint proposes this as a pattern, in which a * of a server's would be any characters.
    scheme, path = checked.scheme, _path(checked.path).replace("*", "%2A") or "/"
    host = _host(checked.host)
    port = "" if checked.port in (None, DEFAULT_PORTS.get(scheme)) else f":{checked.port}"
    if scheme == "oci" and not port and host in DOCKER_HUB:
        host, path = DOCKER_HUB[0], _docker_path(path)
    return f"{scheme}://{host}{port}{path}"


@valueclass(kw_only=False)
class Pattern:
    """A pattern of URLs, in which ``*`` is any characters and everything else stands for itself."""

    #: As somebody wrote it.
    text: str
    pieces: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the pattern that ``text`` means; raise :class:`ConfigError` where it can fit no address."""
        return cls(text, tuple(_comparable_pattern(_FORCE.sub("", text, count=1), text).split("*")))

    def fits(self, url: str) -> bool:
        """Return whether a :func:`comparable` URL has this pattern."""
        first, *others = self.pieces
        if not others:
            return url == first
        *between, last = others
        if not url.startswith(first) or len(url) < len(first) + len(last) or not url.endswith(last):
            return False
        # A regular expression with many wildcards can take for ever; the first place that fits is always good enough.
        at, end = len(first), len(url) - len(last)
        for piece in between:
            found = url.find(piece, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return True


def _comparable_pattern(body: str, text: str) -> str:
    scheme, colon, rest = body.partition("://")
    if not colon:
        start, slash, path = body.partition("/")
        if "*" not in start:
            raise _unusable(text, "names no scheme", "as in oci://HOST/*, https://HOST/* or *")
        return f"{start.lower()}{slash}{_path(path)}"
    authority, slash, path = rest.partition("/")
    authority = authority.rpartition("@")[2]
    if not authority.isascii():
        raise _unusable(text, "has a host that is not ASCII", "write an international name in its xn-- form")
    scheme = scheme.lower()
    port = _PORT.search(authority)
    if "*" in scheme and port and int(port[1]) in DEFAULT_PORTS.values():
        # No URL that is compared has it: a rule that forbids it would forbid nothing.
        raise _unusable(
            text, "names the usual port of a scheme, and no scheme", "leave the port out, or write the scheme"
        )
    place = _place(scheme, authority)
    tail = f"{slash}{_path(path)}" if slash or authority.endswith("*") else "/"
    if scheme == "oci" and place in DOCKER_HUB:
        place, tail = DOCKER_HUB[0], _docker_path(tail)
    return f"{scheme}://{place}{tail}"


def _unusable(text: str, why: str, hint: str) -> ConfigError:
    return ConfigError(f"{printable(redact_address(text))!r} {why}", hint=hint)


def _place(scheme: str, authority: str) -> str:
    """Return host and port of a pattern, which may have wildcards in them."""
    found = _PORT.search(authority)
    host = authority[: found.start()] if found else authority
    port = found[0] if found and int(found[1]) != DEFAULT_PORTS.get(scheme) else ""
    return f"{_host(host.lower())}{port}"


def _host(host: str) -> str:
    if host.startswith("["):
        with suppress(ValueError):
            return f"[{ipaddress.IPv6Address(host[1:-1])}]"
    return host.removesuffix(".")


def _path(path: str) -> str:
    return _DOT_SEGMENT.sub("", _ESCAPE.sub(_escaped, quote(path, safe=_PATH_SAFE)))


def _escaped(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else found[0].upper()


def _docker_path(path: str) -> str:
    name = path.removeprefix("/")
    return path if not name or "/" in name or name.startswith("*") else f"/{DOCKER_LIBRARY}{name}"
