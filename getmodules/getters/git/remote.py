"""The address of a repository, as git gets it: without a password, and with known transports only."""

from __future__ import annotations

import re
from urllib.parse import quote

from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import Url, check_url
from getmodules.api.ports import Origin
from getmodules.errors import AddressError
from getmodules.util.redact import printable, redact_address
from getmodules.util.values import field, valueclass

#: The only transports that git may use: ``ext::`` and others run commands.
TRANSPORTS = ("https", "http", "ssh", "git", "file")
_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418, "file": 0}
_SCP = re.compile(r"(?:(?P<user>[A-Za-z0-9._~][A-Za-z0-9._~-]*)@)?(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*):(?P<path>[^:].*)")


@valueclass(kw_only=False)
class Remote:
    """A repository, and the key in its address. The refs of equal ones are requested once in an operation."""

    url: Url = field(repr=False)
    sshkey: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, package: PackageAddress) -> Remote:
        return cls(check_url(package.url), package.arguments.get("sshkey"))

    @property
    def scheme(self) -> str:
        return self.url.scheme

    @property
    def origin(self) -> Origin:
        return Origin(self.url.scheme, self.url.host, self.url.port or _PORTS[self.url.scheme])

    @property
    def is_web(self) -> bool:
        return self.url.scheme in ("https", "http")

    @property
    def location(self) -> str:
        """Return the URL for git, without a password, since git's child processes show it in their command lines.

        For ``http`` and ``https`` it has no user either: that may be a token.
        """
        user = "" if self.is_web else self.url.userinfo.partition(":")[0]
        return str(self.url._replace(userinfo=user))

    @property
    def address(self) -> PackageAddress:
        """Return the address by which the gate judges a repository that somebody else than the user named."""
        return PackageAddress(getter="http", url=str(self.url._replace(userinfo="")))

    @property
    def shown(self) -> str:
        return redact_address(self.location)

    @property
    def shown_host(self) -> str:
        """Return the host as it is written, with its port if it has one."""
        return self.url.host if self.url.port is None else f"{self.url.host}:{self.url.port}"

    def submodule(self, typed: str) -> Remote:
        """Return the remote of the submodule with the URL ``typed``, or raise :class:`AddressError`.

        It has the key and the password of this one if the origin is the same.
        """
        if not typed or typed.startswith("-") or not typed.isprintable() or "\\" in typed:
            raise AddressError(f"{printable(redact_address(typed))!r} is no URL of a repository")
        if typed.startswith(("./", "../")) or typed in (".", ".."):
            return Remote(_relative(self.url, typed), self.sshkey)
        url = parse_location(typed)
        if url.scheme not in TRANSPORTS:
            raise AddressError(f"git has no transport {printable(url.scheme)!r} here")
        if bool(url.host) is (url.scheme == "file"):
            raise AddressError(f"{printable(redact_address(typed))!r} names no host, or one where there is none")
        other = Remote(url)
        if other.origin != self.origin:
            return other
        if url.scheme == "ssh":
            return Remote(url, self.sshkey)
        return other if url.userinfo else Remote(url._replace(userinfo=self.url.userinfo))


def parse_location(typed: str) -> Url:
    """Return the URL that ``typed`` means to git: a URL, a path, or the form of scp."""
    if "://" in typed:
        return check_url(typed)
    if "::" in typed:
        raise AddressError(f"{printable(redact_address(typed))!r} asks for a helper of git, and none is run")
    if typed.startswith("/"):
        return check_url("file://" + quote(typed, safe="/!$&'()*+,;=:@~"))
    short = _SCP.fullmatch(typed)
    if short is None:
        raise AddressError(f"{printable(redact_address(typed))!r} is no URL of a repository")
    user = f"{short['user']}@" if short["user"] else ""
    path = quote(short["path"].removeprefix("/"), safe="/!$&'()*+,;=:@~")
    return check_url(f"ssh://{user}{short['host']}/{path}")


def _relative(base: Url, typed: str) -> Url:
    """Resolve ``typed`` as git does: against the repository's own URL, of which ``..`` removes the last part."""
    path = base.path.rstrip("/")
    rest = typed
    while rest:
        part, _, rest = rest.partition("/")
        if part == "..":
            path, slash, _last = path.rpartition("/")
            if not slash:
                raise AddressError(f"{printable(typed)!r} leads out of {base.host or 'the file system'}")
        elif part not in ("", "."):
            path += "/" + quote(part, safe="%!$&'()*+,;=:@~")
    if not path.strip("/"):
        raise AddressError(f"{printable(typed)!r} names no repository")
    return check_url(str(base._replace(path=path)))
