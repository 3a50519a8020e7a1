"""Split URLs and check each part: one that can be read in two ways is refused.

Our own splitter does the cutting. furl sees a clean ``scheme://authority/`` only, as the second reader whose opinion
about host and port must be the same.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from getmodules.errors import AddressError
from getmodules.util.redact import printable, redact_address

SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*"
URL = re.compile(rf"({SCHEME})://([^/]*)(.*)", re.DOTALL)
BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_USERINFO = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=%][A-Za-z0-9._~!$&'()*+,;=:%-]*")
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?")
_NUMERIC_LABEL = re.compile(r"(?:[0-9]+|0[xX][0-9A-Fa-f]*)")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
#: A host, and perhaps a port, that there is only one way to read.
_PLAIN_PLACE = re.compile(r"(?!-)[a-z0-9-]+(?<!-)(?:\.(?!-)[a-z0-9-]+(?<!-))*(?::[0-9]+)?", re.ASCII)
#: Characters that a URL's path keeps as they were typed: RFC 3986's, and the escapes that are there already.
_PATH_SAFE = "/%!$&'()*+,;=:@~"
CHARACTER_HINTS = {
    "\\": "directories in a URL are separated by '/'",
    " ": "a blank in a URL is written %20",
    "#": "a '#' that is meant is written %23; to pin an archive, use ?checksum=sha256:…",
}


class Url(NamedTuple):
    """A URL without query, all of whose parts were checked."""

    scheme: str
    userinfo: str
    host: str
    port: int | None
    path: str

    def __str__(self) -> str:
        user = f"{self.userinfo}@" if self.userinfo else ""
        port = f":{self.port}" if self.port is not None else ""
        return f"{self.scheme}://{user}{self.host}{port}{self.path}"

    def __repr__(self) -> str:
        return f"Url({redact_address(str(self))!r})"

    def local_path(self) -> Path:
        """Return the path of a ``file`` URL on this machine."""
        path = os.fsdecode(unquote_to_bytes(self.path))
        return Path(path.lstrip("/") if os.name == "nt" else path)


def check_url(text: str) -> Url:
    """Split a URL-like body, without query; raises :class:`AddressError` for what is wrong or ambiguous."""
    return _checked_url(text) if "@" in text else _remembered_url(text)


def _checked_url(text: str) -> Url:
    match = URL.fullmatch(text)
    if match is None:
        raise AddressError(f"{printable(redact_address(text))!r} is no URL", hint="URLs are written scheme://host/path")
    scheme, authority, path = match[1].lower(), match[2], match[3]
    for character, name in (("\\", "a backslash"), (" ", "a blank"), ("#", "a fragment (#…)")):
        if character in text:
            raise AddressError(f"the URL has {name}", hint=CHARACTER_HINTS[character])
    userinfo, host, port = _check_authority(authority, scheme)
    return Url(scheme, userinfo, host, port, _check_path(path))


#: One address is looked at many times on its way. Only what can hold no password is remembered.
_remembered_url = lru_cache(maxsize=512)(_checked_url)


def _check_authority(authority: str, scheme: str) -> tuple[str, str, int | None]:
    userinfo, at, hostport = authority.rpartition("@")
    if "@" in userinfo:
        raise AddressError("the URL has two '@' before its path", hint="an '@' in a password is written %40")
    if at and (not _USERINFO.fullmatch(userinfo) or BAD_ESCAPE.search(userinfo)):
        raise AddressError("the URL's user name or password has characters that must be percent-encoded")
    if unquote_to_bytes(userinfo).startswith(b"-"):
        raise AddressError("the URL's user name begins with '-': a program could take it for an option")
    if at and _has_control(userinfo):
        raise AddressError("the URL's user name or password has control characters")
    if not hostport:
        if at:
            raise AddressError("the URL has a user name but no host")
        return "", "", None
    host, port = _split_port(hostport)
    _check_host(host)
    # To import the second reader takes as long as to read hundreds of addresses.
    if not _PLAIN_PLACE.fullmatch(hostport) and not _second_reader_agrees(scheme, hostport, host, port):
        raise AddressError(f"the host {printable(hostport)!r} can be read in two ways")
    return userinfo, host.lower(), port


def _split_port(hostport: str) -> tuple[str, int | None]:
    if hostport.startswith("["):
        host, bracket, rest = hostport.partition("]")
        host += bracket
        if not bracket or (rest and not rest.startswith(":")):
            raise AddressError(f"the host {printable(hostport)!r} is not valid")
        colon, port = rest[:1], rest[1:]
    else:
        host, colon, port = hostport.partition(":")
    if not colon:
        return host, None
    if not _PORT.fullmatch(port) or int(port) > 65_535:
        # Anything but a number is not shown: it may be half of a password that has a '/' in it.
        shown = f" {port}" if len(port) < 10 and port.isdecimal() else ""
        hint = "a port follows the ':' behind the host; without one there is no ':'"
        if not port and len(host) == 1:
            hint = "the path of a file follows a third slash: file:///C:/x"
        elif port and not shown:
            hint = "a '/' in a password is written %2F"
        raise AddressError(f"the port{shown} is not a number from 1 to 65535", hint=hint)
    return host, int(port)


_HOST_HINT = "what follows // is a host; a name that is none goes into the path, after a third slash: scheme:///name"


def _check_host(host: str) -> None:
    import ipaddress

    try:
        if host.startswith("["):
            if "%" in host:
                raise ValueError
            ipaddress.IPv6Address(host[1:-1])
            return
        if _NUMERIC_LABEL.fullmatch(host.rstrip(".").rpartition(".")[2]):
            ipaddress.IPv4Address(host)
            return
    except ValueError:
        raise AddressError(f"the host {printable(host)!r} is no valid IP address", hint=_HOST_HINT) from None
    if not host.isascii():
        raise AddressError(
            f"the host {printable(host)!r} is not ASCII", hint="write an international name in its xn-- form"
        )
    if len(host) > 253 or not _HOST_NAME.fullmatch(host):
        raise AddressError(f"the host {printable(host)!r} is not valid", hint=_HOST_HINT)


#: Only hosts and ports are remembered, never a password.
@lru_cache(maxsize=512)
def _second_reader_agrees(scheme: str, hostport: str, host: str, port: int | None) -> bool:
    from furl import furl

    try:
        second = furl(f"{scheme}://{hostport}/")
    except ValueError:
        return False
    default = furl(f"{scheme}://{host}/").port
    return bool(second.host == host.lower() and second.port == (default if port is None else port))


def _check_path(path: str) -> str:
    if BAD_ESCAPE.search(path):
        raise AddressError("the URL's path has a '%' that is no escape", hint="a literal percent sign is written %25")
    if _has_control(path):
        raise AddressError("the URL's path has a control character, percent-encoded")
    if leads_out(path):
        raise AddressError("the URL's path has '..' in it", hint="write the path without '..'")
    return quote(path, safe=_PATH_SAFE)


def _has_control(text: str) -> bool:
    return any(byte < 0x20 or byte == 0x7F for byte in unquote_to_bytes(text))


def leads_out(text: str) -> bool:
    """Return whether ``..`` is a component, however often it was percent-encoded."""
    if ".." not in text and "%" not in text:
        return False
    for _ in range(4):
        if ".." in re.split(r"[/\\]", text):
            return True
        decoded = unquote_to_bytes(text).decode("utf-8", "replace")
        if decoded == text:
            return False
        text = decoded
    return True
