"""Map URLs to mirrors: a mirror changes where bytes come from, and nothing else.

Pins, locks and the cache know the address that was written; a mirror that has other content fails at the gates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import check_url
from getmodules.errors import AddressError, ConfigError
from getmodules.util.redact import printable, redact_address
from getmodules.util.values import field, replace, valueclass

MIRRORS_VARIABLE = "GETMODULES_MIRRORS"


@valueclass(kw_only=False)
class Mirrors:
    """A map from beginnings of URLs to those that are asked in their place; the longest that fits counts."""

    table: Mapping[str, str] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, table: Mapping[str, str]) -> Self:
        cleaned: dict[str, str] = {}
        for there, here in table.items():
            start, end = _checked(there), _checked(here)
            if start.partition(":")[0] != end.partition(":")[0] and not _more_secure(start, end):
                raise ConfigError(
                    f"{_shown(here)} cannot stand in for {_shown(there)}: it has another scheme",
                    hint="a mirror has the scheme of what it mirrors",
                )
            cleaned[start] = end
        return cls(cleaned)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read ``GETMODULES_MIRRORS="oci://ghcr.io=oci://mirror.example/ghcr …"``, separated by blanks."""
        return cls().with_pairs(environ.get(MIRRORS_VARIABLE, "").split(), MIRRORS_VARIABLE)

    def with_pairs(self, words: Iterable[str], where: str) -> Self:
        """Return the mirrors with further ones, written ``URL=URL``, which have precedence."""
        table = dict(self.table)
        for word in words:
            there, equals, here = word.partition("=")
            if not equals:
                raise ConfigError(f"{where} {_shown(word)} is not URL=URL", hint="as in oci://ghcr.io=oci://my.mirror")
            table[there] = here
        return type(self).of(table)

    def mirrored(self, package: PackageAddress) -> PackageAddress:
        """Return the package to ask for in the place of ``package``."""
        fitting = [start for start in self.table if _begins(package.url, start)]
        if not fitting:
            return package
        start = max(fitting, key=len)
        return replace(package, url=self.table[start] + package.url.removeprefix(start))

    def original(self, package: PackageAddress, answer: PackageAddress) -> PackageAddress:
        """Return ``answer``, which came for ``package``, under its original URL: a mirror does not rename packages."""
        asked = self.mirrored(package)
        if asked is package:
            return answer
        return replace(answer, url=package.url)


def _begins(url: str, start: str) -> bool:
    return url == start or url.startswith(f"{start}/")


def _more_secure(start: str, end: str) -> bool:
    return start.startswith("http://") and end.startswith("https://")


def _checked(text: str) -> str:
    try:
        url = check_url(text)
    except AddressError as error:
        raise ConfigError(f"{_shown(text)} is no URL: {error.message}", hint=error.hint) from error
    if not url.host or url.userinfo:
        raise ConfigError(
            f"{_shown(text)} cannot be mirrored or be a mirror", hint="write scheme://HOST or scheme://HOST/PATH"
        )
    return str(url).rstrip("/")


def _shown(text: str) -> str:
    return repr(printable(redact_address(text)))
