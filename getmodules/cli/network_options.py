"""Network options as settings; the files that they name are checked before the first connection.

``--header HOST NAME=env:VARIABLE`` names the variable with the value of a header, and not the value itself: every
process of the machine can read a command line.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

from getmodules.errors import ConfigError
from getmodules.net.settings import NetSettings, retries_from, shortest, timeout_from
from getmodules.util.redact import Secret, printable, quoted
from getmodules.util.values import replace

_HEADER = "--header"
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
_FROM_ENVIRONMENT = "env:"
#: Headers that must not be set, since they decide how a request is read, or what its answer means.
_RESERVED = frozenset(
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
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_LAST_PORT = 65_535
_CA, _CERTIFICATE, _PLAIN = "--ca-file", "--client-cert", "--plain-http"
_TIMEOUT, _RETRIES = "--timeout", "--retries"


def network_of(options: argparse.Namespace, environ: Mapping[str, str]) -> NetSettings:
    """Return the settings of the environment, overridden by options; some commands do not have such options."""
    settings = NetSettings.from_environment(environ)
    ca_files = _by_host(_CA, getattr(options, "ca_file", ()), _authorities)
    certificates = _by_host(_CERTIFICATE, getattr(options, "client_cert", ()), _certificate)
    timeout, retries = getattr(options, "timeout", None), getattr(options, "retries", None)
    return replace(
        settings,
        timeout=settings.timeout if timeout is None else timeout_from(timeout, _TIMEOUT),
        retries=settings.retries if retries is None else retries_from(retries, _RETRIES),
        ca_file=ca_files.pop("", settings.ca_file),
        ca_files=ca_files,
        client_certificates=certificates,
        headers=headers_of(getattr(options, "header", ()), environ, _canonical),
        plain_http=frozenset(_plain_http_host(host) for host in getattr(options, "plain_http", ())),
        mirrors=settings.mirrors.with_pairs(getattr(options, "mirror", ()), "--mirror"),
    )


def _by_host(option: str, words: Iterable[str], checked: Callable[[str], str]) -> dict[str, str]:
    """Return files by host; those for all hosts are under the empty one."""
    found: dict[str, str] = {}
    for word in words:
        host, file = _split(option, word)
        if host in found:
            raise ConfigError(f"{option} is given twice for {f'the host {host}' if host else 'all hosts'}")
        found[host] = checked(os.path.expanduser(file))  # a shell does not expand ~ behind HOST=
    return found


def _split(option: str, word: str) -> tuple[str, str]:
    before, equals, after = word.partition("=")
    host = _canonical(before) if equals else None
    if host is None and option == _CERTIFICATE:
        raise ConfigError(f"{option} {quoted(word)} names no host", hint="write HOST=FILE or HOST=FILE,KEY")
    if host is not None:
        return host, after
    return "", word


def _canonical(text: str) -> str | None:
    """Return the host as :class:`NetSettings` has it, or None if ``text`` is not a host."""
    match = _HOST.fullmatch(text)
    if match is None or (match["port"] is not None and not 1 <= int(match["port"]) <= _LAST_PORT):
        return None
    from getmodules.addresses.coverage import api_location

    try:
        name = shortest(match["name"].lower())
    except ValueError:
        return None
    return api_location(name, "")[0] + (f":{int(match['port'])}" if match["port"] else "")


def _plain_http_host(text: str) -> str:
    host = _canonical(text)
    if host is None:
        raise ConfigError(f"{_PLAIN} {quoted(text)} is not a host", hint="write HOST or HOST:PORT")
    return host


# ------------------------------------------------------------------------------------------------------------- headers


def headers_of(
    pairs: Iterable[Sequence[str]], environ: Mapping[str, str], canonical: Callable[[str], str | None]
) -> dict[str, dict[str, Secret]]:
    """Return headers by host, for :class:`~getmodules.net.settings.NetSettings`; ``canonical`` normalises a host."""
    found: dict[str, dict[str, Secret]] = {}
    for written, assignment in pairs:
        host = canonical(written)
        if host is None:
            _refuse_header(f"{quoted(written)} is not a host", "write HOST or HOST:PORT, then NAME=env:VARIABLE")
        name, value = _header(assignment, environ)
        headers = found.setdefault(host, {})
        if name.lower() in (other.lower() for other in headers):
            _refuse_header(f"{name} is given twice for the host {host}")
        headers[name] = value
    return found


def _header(assignment: str, environ: Mapping[str, str]) -> tuple[str, Secret]:
    name, equals, value = assignment.partition("=")
    if not equals or not _NAME.fullmatch(name):
        # Not shown: NAME:VALUE would have a secret in it.
        _refuse_header("what follows the host is not NAME=env:VARIABLE", "as in PRIVATE-TOKEN=env:GITLAB_TOKEN")
    if name.lower() in _RESERVED:
        _refuse_header(f"{name} is a header that getmodules sets by itself")
    if not value.startswith(_FROM_ENVIRONMENT):
        _refuse_header(
            f"the value of {name} must come from the environment",
            f"every process can read a command line; put it into a variable and write {name}=env:VARIABLE",
        )
    variable = value.removeprefix(_FROM_ENVIRONMENT)
    text = environ.get(variable, "").strip()  # it may have been read from a file, with its line end
    if not text:
        _refuse_header(f"the variable {printable(variable)!r} for {name} is not set, or empty")
    if not text.isascii() or not text.isprintable():
        _refuse_header(f"the variable {printable(variable)!r} for {name} has something in it that no header can have")
    return name, Secret(text)


def _refuse_header(what: str, hint: str | None = None) -> NoReturn:
    raise ConfigError(f"{_HEADER}: {what}", hint=hint)


# --------------------------------------------------------------------------------------------------------------- files


def _authorities(file: str) -> str:
    import ssl

    _check_readable(_CA, file)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except (ssl.SSLError, OSError):
        _refuse_file(_CA, file, "there is no certificate in it, at least none in PEM form")
    return file


def _certificate(files: str) -> str:
    import ssl

    certificate, comma, key = files.partition(",")
    key = os.path.expanduser(key)
    for file in (certificate, key) if comma else (certificate,):
        _check_readable(_CERTIFICATE, file)
    try:
        # With a password, or OpenSSL would ask for that of an encrypted key on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key or None, password="")
    except (ssl.SSLError, ValueError, OSError):
        _refuse_file(_CERTIFICATE, files, "it needs a certificate and its key in PEM form, the key not encrypted")
    return f"{certificate},{key}" if comma else certificate


def _check_readable(option: str, file: str) -> None:
    if not file:
        raise ConfigError(f"{option} names no file", hint="is a variable not set?")
    try:
        # It is read again for each connection: a pipe (`<(…)`) would be empty by then, and may block right here.
        if not stat.S_ISREG(os.stat(file).st_mode):
            _refuse_file(option, file, "it is not a regular file")
        with open(file, "rb"):
            pass
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        _refuse_file(option, file, getattr(error, "strerror", None) or "the path is not possible")


def _refuse_file(option: str, file: str, why: str) -> NoReturn:
    raise ConfigError(f"{option} cannot use {quoted(file)}: {why}") from None
