"""``http:`` and ``https:``: what can be known about such addresses without asking a server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from getmodules.address import check_url
from getmodules.errors import AddressError, FetchError
from getmodules.hookspecs import hookimpl
from getmodules.model import Blob, PackageAddress, Pin, Want
from getmodules.ports import Context, Getter


class HttpGetter:
    schemes = ("http", "https")
    #: Any argument that is not the core's belongs to the URL and is sent.
    arguments = None

    def check(self, package: PackageAddress) -> PackageAddress:
        url = check_url(package.url)
        if url.scheme not in self.schemes:
            raise AddressError(f"{package.getter}:: takes http and https URLs only")
        if not url.host:
            raise AddressError("there is no host in this address", hint=f"write {url.scheme}://HOST/PATH")
        return replace(package, getter=url.scheme, url=str(url), forced=False)

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Blob:
        raise FetchError(
            "this version checks http addresses but cannot fetch them yet",
            part="not-yet",
            hint="fetch it yourself and give its path; getmodules push publishes it to an OCI registry",
        )


@hookimpl
def getmodules_getters() -> Iterable[Getter]:
    return (HttpGetter(),)
