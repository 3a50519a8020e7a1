"""Find credentials in the environment and in ``~/.netrc``, make headers of them, and mask them in text.

The variables are ``GETMODULES_TOKEN_<host>``, with ``GETMODULES_USERNAME_<host>`` where a user name belongs to it;
``<host>`` may be in upper case, as many systems have all names of variables.

``~/.netrc`` is not read with Python's own module: that one refuses the whole file for one word that it does not know,
and requests has looked hosts up by another reading of the URL than the one that it then connected to (CVE-2024-47081).

Secrets are masked in everything that is said about a request: a server may send them back to us.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from getmodules.addresses.url import check_url
from getmodules.api.limits import MIB
from getmodules.api.ports import Credential, Origin
from getmodules.errors import ConfigError, FetchError, SentCredential
from getmodules.files.local import read_file
from getmodules.util.redact import MASK, Secret, printable

_log = logging.getLogger("getmodules")
_FILE_BYTES = MIB
#: A quoted word, or one without blanks. A quote that never ends is neither: there the file ends for us.
_WORD = re.compile(r'\s*+(?:"(?P<quoted>(?:[^"\\\n]|\\.)*+)"|(?P<plain>[^\s"]\S*+))', re.ASCII)
_REST_OF_LINE = re.compile(r"[^\n]*+")
_WITH_VALUE = ("machine", "login", "password", "account")
#: The end of a macro: a blank line.
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


def netrc_places(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that :func:`from_netrc` looks into, for people."""
    return tuple(shown for _, shown in _places(environ))


def from_netrc(environ: Mapping[str, str], host: str) -> Credential | None:
    """Return the file's entry for ``host``, on any port, as all readers of it do.

    An entry ``default`` is ignored: it would be for every host that a server may send us to.
    """
    for path, shown in _places(environ):
        text = _read(path, shown)
        if text is not None:
            return _found(text, host.lower(), shown)
    return None


def entry_in_home(environ: Mapping[str, str], host: str) -> str | None:
    """Return the file in the home directory that has a password for ``host``, for people, or ``None``.

    Other programs read that one whatever ``NETRC`` says, and use its entry ``default`` for every host.
    """
    for path, shown in _places({name: value for name, value in environ.items() if name != "NETRC"}):
        for machine, _, password in _entries(_read(path, shown) or ""):
            if password and machine.lower() in ("", host.lower()):
                return shown
    return None


def _places(environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Return the file that a variable names, or those that may exist, and how to show them."""
    named = environ.get("NETRC")
    if named is not None:
        if named:  # empty: none, as for curl
            yield Path(named), f"NETRC ({printable(named)})"
        return
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if home:
        for name in (".netrc", "_netrc") if os.name == "nt" else (".netrc",):
            yield Path(home, name), f"~/{name}"


def _read(path: Path, shown: str) -> str | None:
    """Return the file's text; None if it does not exist, and an empty one if it cannot be used.

    For a regular file that is a warning and not an error: most addresses need no credential.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return ""  # /dev/null, for users who want none
        if status.st_size > _FILE_BYTES:
            _log.warning("%s is not read: it is too large for what it should be", shown)
            return ""
        text = b"".join(read_file(path.resolve())).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RuntimeError, FetchError) as error:
        # ValueError: a NUL in the path, or bytes that are not UTF-8; its text would quote the file.
        why = error.strerror if isinstance(error, OSError) else "its path or its text is broken"
        _log.warning("%s cannot be read: %s", shown, why)
        return ""
    if os.name == "posix" and status.st_mode & 0o077 and "password" in text.lower():
        _log.warning("%s has passwords in it and can be read by others: chmod 600", shown)
    return text


def _found(text: str, host: str, shown: str) -> Credential | None:
    for machine, login, password in _entries(text):
        if machine.lower() == host and password:
            return Credential(secret=Secret(password), username=login, found_in=shown)
    return None


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (machine, login, password) in their order. As in curl, unknown words are skipped, and case is ignored."""
    entry: dict[str, str] = {}
    words = _words(text.replace("\r\n", "\n"))
    for word in words:
        keyword = word.lower()
        if keyword in ("machine", "default"):
            yield _entry(entry)
            entry = {}
        if keyword in _WITH_VALUE:
            entry[keyword] = next(words, "")
    yield _entry(entry)


def _entry(values: Mapping[str, str]) -> tuple[str, str, str]:
    return values.get("machine", ""), values.get("login", ""), values.get("password", "")


def _words(text: str) -> Iterator[str]:
    """Yield words without comments and macros. Where a value is expected, a ``#`` begins no comment."""
    at, is_value = 0, False
    while (match := _WORD.match(text, at)) is not None:
        at, word = match.end(), match["plain"]
        if word is None or is_value:
            is_value = False
            yield re.sub(r"\\(.)", r"\1", match["quoted"]) if word is None else word
        elif word.startswith("#"):
            at = _end_of(_REST_OF_LINE.match(text, at), text)
        elif word.lower() == "macdef":
            at = _end_of(_BLANK_LINE.search(text, at), text)
        else:
            is_value = word.lower() in _WITH_VALUE
            yield word


def _end_of(match: re.Match[str] | None, text: str) -> int:
    return len(text) if match is None else match.end()


TOKEN_PREFIX = "GETMODULES_TOKEN_"
#: What the host follows in the name of each variable that has a token.
TOKEN_WORD = "TOKEN_"
USERNAME_PREFIX = "GETMODULES_USERNAME_"
#: The variables of Terraform and OpenTofu, which hold tokens for module registries.
TERRAFORM_TOKEN_PREFIX = "TF_TOKEN_"
_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}


def variable_suffix(origin: Origin) -> str:
    """Return ``ghcr_io`` for ``ghcr.io``, ``my__registry_5000`` for ``my-registry:5000``, without default ports."""
    host = origin.host.strip("[]").lower().replace("-", "__").replace(".", "_").replace(":", "_")
    return host if origin.port == _PORTS.get(origin.scheme) else f"{host}_{origin.port}"


def has_variable(host: str) -> bool:
    """Return whether variables can name ``host``: with a ``_`` in it, its own would be another host's as well.

    Those of ``my_host.example`` are those of ``my.host.example``.
    """
    return "_" not in host


def from_environment(
    environ: Mapping[str, str], origin: Origin, substitutes: Mapping[str, str] | None = None
) -> Credential | None:
    """Return the credential in the variables of ``origin``.

    Where the one for its token is not set, the one that ``substitutes`` has for it is looked at.
    """
    if not has_variable(origin.host):
        return None
    suffix = variable_suffix(origin)
    found = _variable(environ, TOKEN_PREFIX, suffix)
    if found is None and substitutes and (other := substitutes.get(TOKEN_PREFIX + suffix)) is not None:
        before, prefix, after = other.partition(TOKEN_WORD)
        found = _variable(environ, before + prefix, after)
    if found is None:
        return None
    username = _variable(environ, USERNAME_PREFIX, suffix)
    return Credential(secret=Secret(found[1]), username=username[1] if username else None, found_in=found[0])


def _variable(environ: Mapping[str, str], prefix: str, suffix: str) -> tuple[str, str] | None:
    """Return the name and the value of the variable: the exact spelling comes before the one in upper case."""
    for name in (prefix + suffix, prefix + suffix.upper()):
        # The line end of the file that a token was read from is a usual accident, and never a part of it.
        value = environ.get(name, "").rstrip("\r\n")
        if value:
            return name, value
    return None


#: User names that are tokens, with a password that says nothing: as forges name them, or too long for people.
_TOKEN_AS_NAME = re.compile(
    r"(?:gh[a-z]_|github_pat_|gl[a-z]+-|AT[A-Z]{2}[0-9A-Za-z]{16}|xox|ey[A-Za-z0-9]+\.).*|.{65,}", re.DOTALL
)
_NO_PASSWORDS = frozenset({"", "x-oauth-basic"})


def sent_credential(credential: Credential) -> SentCredential:
    """Return what messages may say of a credential."""
    username, secret = credential.username, credential.secret
    return SentCredential(printable(credential.found_in), shown_username(username, secret) if username else None)


def shown_username(username: str, secret: Secret) -> str:
    """Return the user name; masked where it may be a secret, as some servers want a token in its place."""
    password = secret.reveal()
    if password in _NO_PASSWORDS or password in username or _TOKEN_AS_NAME.fullmatch(username):
        return MASK
    return printable(username)


def is_overheard(origin: Origin, home: str) -> bool:
    """Return whether a server led to ``origin`` over plain http, so that others could read the credentials.

    ``home`` is the URL that the user asked for; in the clear, credentials are for that one alone.
    """
    if origin.scheme != "http" or not home:
        return False
    url = check_url(home)
    return origin != Origin(url.scheme, url.host.strip("[]"), url.port or _PORTS.get(url.scheme, 0))


def authorization_of(credential: Credential) -> str:
    """Return the header for a credential: with a user name ``Basic``, alone ``Bearer``."""
    if credential.username is None:
        return f"Bearer {token_of(credential)}"
    return basic(credential.username, credential.secret)


def token_of(credential: Credential) -> str:
    """Check that a token can be sent as it is."""
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
    # Bytes of the environment that are not UTF-8 are sent as they are.
    pair = f"{username}:{secret.reveal()}".encode("utf-8", "surrogateescape")
    return "Basic " + base64.b64encode(pair).decode()
