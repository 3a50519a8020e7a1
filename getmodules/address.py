"""The grammar of addresses: pure string work, the same for every scheme.

::

    source = [ force "::" ] body [ "//" subdir ] [ "?" query ]

:func:`parse` takes apart what the user typed, before anything is known about schemes; :func:`check_url` judges
a body that is URL-like. Our own splitter does all the cutting. furl sees a clean ``scheme://authority/`` only,
as the second reader whose opinion about host and port must be the same: an address that two parsers read
differently is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from getmodules.arguments import Argument, Arguments
from getmodules.errors import AddressError
from getmodules.model import SourceAddress
from getmodules.redact import printable, redact_address

#: Room for an RSA key in ``sshkey=``, not for a flood.
MAX_LENGTH = 16_384

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*"
_FORCE = re.compile(rf"({_SCHEME})::(.*)", re.DOTALL)
_URL = re.compile(rf"({_SCHEME})://([^/]*)(.*)", re.DOTALL)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_USERINFO = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=%][A-Za-z0-9._~!$&'()*+,;=:%-]*")
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?")
_NUMERIC_LABEL = re.compile(r"(?:[0-9]+|0[xX][0-9A-Fa-f]*)")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
#: A host, and perhaps a port, that there is only one way to read.
_PLAIN_PLACE = re.compile(r"(?!-)[a-z0-9-]+(?<!-)(?:\.(?!-)[a-z0-9-]+(?<!-))*(?::[0-9]+)?", re.ASCII)
#: What a URL's path keeps as it was typed: RFC 3986's characters, and the escapes that are there already.
_PATH_SAFE = "/%!$&'()*+,;=:@~"


class Url(NamedTuple):
    """A URL without query whose every part was checked."""

    scheme: str
    userinfo: str
    host: str
    port: int | None
    path: str

    def __str__(self) -> str:
        user = f"{self.userinfo}@" if self.userinfo else ""
        port = f":{self.port}" if self.port is not None else ""
        return f"{self.scheme}://{user}{self.host}{port}{self.path}"

    def local_path(self) -> Path:
        """What the path means on this machine."""
        path = os.fsdecode(unquote_to_bytes(self.path))
        return Path(path.lstrip("/") if os.name == "nt" else path)


def parse(text: str) -> SourceAddress:
    """Take ``text`` apart. Raises :class:`AddressError` for what can't be an address in any scheme."""
    _check_characters(text)
    force, body = _split_force(text)
    rest, question, query = body.partition("?")
    package, subdir = _split_subdir(rest)
    if not package:
        raise AddressError("there is no package in this address", address=redact_address(text))
    return SourceAddress(
        force=force,
        body=package,
        subdir=clean_subdir(subdir),
        arguments=parse_query(query) if question else Arguments(),
    )


def is_url_like(body: str) -> bool:
    return _URL.match(body) is not None


def _check_characters(text: str) -> None:
    if not text.strip():
        raise AddressError("the address is empty", hint="is a variable not set?")
    if len(text) > MAX_LENGTH:
        raise AddressError(f"an address of {len(text):,} characters; at most {MAX_LENGTH:,} are allowed")
    if not text.isprintable():
        odd = next(c for c in text if not c.isprintable())
        raise AddressError(
            f"the address has a control or invisible character, {odd!a}", address=printable(redact_address(text))
        )
    if text != text.strip():
        raise AddressError("the address begins or ends with a blank", address=redact_address(text))


def _split_force(text: str) -> tuple[str | None, str]:
    match = _FORCE.fullmatch(text)
    if match is None:
        if text.startswith("::"):
            raise AddressError("there is no getter before '::'", address=redact_address(text))
        return None, text
    force, body = match[1].lower(), match[2]
    if not body:
        raise AddressError(f"there is no address after '{force}::'")
    if _FORCE.fullmatch(body):
        raise AddressError("only one getter can be forced with '::'", address=redact_address(text))
    return force, body


def _split_subdir(rest: str) -> tuple[str, str]:
    scheme_end = rest.find("://")
    start = scheme_end + 3 if scheme_end >= 0 else 0
    cut = rest.find("//", start)
    return (rest, "") if cut < 0 else (rest[:cut], rest[cut + 2 :])


def clean_subdir(typed: str) -> str:
    """A subdirectory as it is used and compared: escapes resolved, ``a//b`` and ``a/./b/`` as ``a/b``."""
    if not typed:
        return ""
    if "#" in typed:
        raise _bad_subdir(typed, "has a fragment (#…)", _CHARACTER_HINTS["#"])
    text = _decode(typed, "the subdirectory")
    if "\\" in text:
        parts = re.split(r"[/\\]", text)
        if ".." not in parts:
            raise _bad_subdir(typed, "has a backslash", "directories are separated by '/'")
    if _leads_out(text):
        raise _bad_subdir(typed, "has '..' in it", "name the directory by its path from the package's root")
    if text.startswith("/"):
        raise _bad_subdir(typed, "is absolute", "a subdirectory is written after '//', without a further '/'")
    return "/".join(part for part in text.split("/") if part not in ("", "."))


def _leads_out(text: str) -> bool:
    """Whether ``..`` is a component, however often it was percent-encoded."""
    for _ in range(4):
        if ".." in re.split(r"[/\\]", text):
            return True
        decoded = unquote_to_bytes(text).decode("utf-8", "replace")
        if decoded == text:
            return False
        text = decoded
    return True


def _bad_subdir(typed: str, what: str, hint: str) -> AddressError:
    return AddressError(f"the subdirectory {printable(typed)!r} {what}", hint=hint)


def join_subdirs(outer: str, inner: str) -> str:
    return f"{outer}/{inner}" if outer and inner else outer or inner


#: A constraint is typed as it stands in a module block: ``version=~> 1.2``.
_WITH_BLANKS = frozenset({"version"})


def parse_query(query: str) -> Arguments:
    """Arguments in the order and spelling in which they were typed; ``+`` is a plus."""
    arguments: list[Argument] = []
    for pair in query.split("&") if query else ():
        typed_name, equals, typed_value = pair.partition("=")
        if not typed_name:
            raise AddressError("there is an argument without a name in the query")
        if ";" in pair:
            raise AddressError(
                f"the argument {printable(typed_name)!r} has a ';'",
                hint="arguments are separated by '&'; a ';' in a value is written %3B",
            )
        if "#" in pair:
            raise AddressError(
                f"the argument {printable(typed_name)!r} has a fragment (#…)", hint=_CHARACTER_HINTS["#"]
            )
        if " " in pair and typed_name not in _WITH_BLANKS:
            raise AddressError(
                f"the argument {printable(typed_name)!r} has a blank", hint="a blank in a value is written %20"
            )
        name = _decode(typed_name, "an argument's name", strict=True)
        value = _decode(typed_value, f"the argument {printable(name)!r}", strict=True)
        typed = pair.replace(" ", "%20") if equals else typed_name
        arguments.append(Argument(name, value, _ascii(typed)))
    return merge_arguments(arguments)


def merge_arguments(*groups: Iterable[Argument]) -> Arguments:
    """All arguments as one query; one that is there twice would mean whatever the reader likes best."""
    merged: dict[str, Argument] = {}
    for group in groups:
        for argument in group:
            if argument.name in merged:
                raise AddressError(f"the argument {printable(argument.name)!r} is there twice", hint="leave one out")
            merged[argument.name] = argument
    return Arguments(tuple(merged.values()))


def _decode(text: str, what: str, *, strict: bool = False) -> str:
    if strict and _BAD_ESCAPE.search(text):
        raise AddressError(f"{what} has a '%' that is no escape", hint="a literal percent sign is written %25")
    try:
        decoded = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise AddressError(f"{what} has escapes that are not UTF-8") from None
    if not decoded.isprintable():
        raise AddressError(f"{what} has a control or invisible character")
    return decoded


def _ascii(text: str) -> str:
    return text if text.isascii() else "".join(c if c.isascii() else quote(c) for c in text)


def check_url(text: str) -> Url:
    """A URL-like body, without query, as its parts; raises :class:`AddressError` for what is wrong or ambiguous."""
    match = _URL.fullmatch(text)
    if match is None:
        raise AddressError(f"{printable(redact_address(text))!r} is no URL", hint="URLs are written scheme://host/path")
    scheme, authority, path = match[1].lower(), match[2], match[3]
    for character, name in (("\\", "a backslash"), (" ", "a blank"), ("#", "a fragment (#…)")):
        if character in text:
            raise AddressError(f"the URL has {name}", hint=_CHARACTER_HINTS[character])
    userinfo, host, port = _check_authority(authority, scheme)
    return Url(scheme, userinfo, host, port, _check_path(path))


_CHARACTER_HINTS = {
    "\\": "directories in a URL are separated by '/'",
    " ": "a blank in a URL is written %20",
    "#": "a '#' that is meant is written %23; to pin an archive, use ?checksum=sha256:…",
}


def _check_authority(authority: str, scheme: str) -> tuple[str, str, int | None]:
    userinfo, at, hostport = authority.rpartition("@")
    if "@" in userinfo:
        raise AddressError("the URL has two '@' before its path", hint="an '@' in a password is written %40")
    if at and (not _USERINFO.fullmatch(userinfo) or _BAD_ESCAPE.search(userinfo)):
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
        # What is no number is not shown: it may be half of a password that has a '/' in it.
        shown = f" {port}" if len(port) < 10 and port.isdecimal() else ""
        raise AddressError(
            f"the port{shown} is not a number from 1 to 65535", hint="a '/' in a password is written %2F"
        )
    return host, int(port)


_HOST_HINT = "what follows // is a host; a name that is none goes into the path, after a third slash: scheme:///name"


#: One address is looked at many times on its way.
@lru_cache(maxsize=512)
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
    if _BAD_ESCAPE.search(path):
        raise AddressError("the URL's path has a '%' that is no escape", hint="a literal percent sign is written %25")
    if _has_control(path):
        raise AddressError("the URL's path has a control character, percent-encoded")
    if _leads_out(path):
        raise AddressError("the URL's path has '..' in it", hint="write the path without '..'")
    return quote(path, safe=_PATH_SAFE)


def _has_control(text: str) -> bool:
    return any(byte < 0x20 or byte == 0x7F for byte in unquote_to_bytes(text))
