"""Getter for ``http:`` and ``https:``: archives and single files, or the address that a server names instead.

A package has no identity before its bytes have arrived: the meaning of an entity tag is up to each server. So a
package is pinned by the digest of what arrived.
"""

from __future__ import annotations

from collections.abc import Iterable

from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.hookspecs import hookimpl
from getmodules.api.model import Blob, Elsewhere, Pin, Unchanged, Want
from getmodules.api.ports import Context, Getter
from getmodules.errors import AddressError
from getmodules.util.values import replace


class HttpGetter:
    """Getter for packages on web servers."""

    schemes = ("http", "https")
    #: Any argument that is not the core's belongs to the URL and is sent.
    arguments = None

    def check(self, package: PackageAddress) -> PackageAddress:
        url = check_url(package.url)
        if url.scheme not in self.schemes:
            raise AddressError(
                f"{package.getter}:: takes http and https URLs only", hint=f"leave {package.getter}:: out"
            )
        if not url.host:
            raise AddressError("there is no host in this address", hint=f"write {url.scheme}://HOST/PATH")
        return replace(package, getter=url.scheme, url=str(url), forced=False)

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Blob | Elsewhere | Unchanged:
        from getmodules.getters.http.source import WebSource

        return WebSource(pin.package, wants[0].subdir if len(wants) == 1 else "", context).result()


@hookimpl
def getmodules_getters() -> Iterable[Getter]:
    return (HttpGetter(),)
