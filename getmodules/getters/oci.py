"""``oci:`` and ``oci-layout:``: what can be known about such addresses without asking a registry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from getmodules.address import Url, check_url
from getmodules.errors import AddressError, FetchError
from getmodules.hookspecs import hookimpl
from getmodules.model import Blob, PackageAddress, Pin, Want
from getmodules.oci.reference import check_repository, check_version
from getmodules.ports import Context, Getter


class OciGetter:
    schemes = ("oci",)
    arguments = frozenset({"tag", "digest"})
    #: The media type of a layer says what it is, and the manifest's digest says that it is right.
    core_arguments: frozenset[str] = frozenset()

    def check(self, package: PackageAddress) -> PackageAddress:
        url = check_url(package.url)
        if url.scheme != "oci":
            raise AddressError("oci:: takes no other URL", hint=f"write oci://{url.host}{url.path}")
        if not url.host:
            raise AddressError("there is no registry in this address", hint="write oci://HOST/REPOSITORY")
        if url.userinfo:
            raise AddressError("oci addresses carry no user name", hint="credentials come from the environment or files")
        registry = f"{url.host}:{url.port}" if url.port else url.host
        check_repository(registry, url.path.removeprefix("/"))
        check_version(package.arguments)
        return replace(package, forced=False)

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Blob:
        raise _not_yet("oci")


class OciLayoutGetter:
    schemes = ("oci-layout",)
    arguments = frozenset({"tag", "digest"})
    core_arguments: frozenset[str] = frozenset()
    local = True

    def check(self, package: PackageAddress) -> PackageAddress:
        url = check_url(package.url)
        if url.scheme not in ("oci-layout", "file") or url.host or url.userinfo:
            raise AddressError("oci-layout: takes a path", hint="write oci-layout::./directory?tag=TAG")
        check_version(package.arguments)
        return replace(package, url=str(Url("oci-layout", "", "", None, url.path)), forced=False)

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Blob:
        raise _not_yet("oci-layout")


def _not_yet(scheme: str) -> FetchError:
    return FetchError(f"this version checks {scheme}: addresses but cannot fetch them yet", part="not-yet")


@hookimpl
def getmodules_getters() -> Iterable[Getter]:
    return (OciGetter(), OciLayoutGetter())
