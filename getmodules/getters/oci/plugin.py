"""Getters for ``oci:`` and ``oci-layout:``: module packages in OCI registries, and in image layouts on disk.

A pin's proof is the bytes of the manifest. Its id is their digest, whatever a registry says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from getmodules.addresses.types import Arguments, PackageAddress
from getmodules.addresses.url import Url, check_url
from getmodules.api.hookspecs import hookimpl
from getmodules.api.model import Blob, Demand, Gate, Layers, Pin, Want
from getmodules.api.ports import Context, Getter
from getmodules.errors import AddressError
from getmodules.getters.oci.reference import check_repository, check_version
from getmodules.getters.oci.registries import Registries
from getmodules.util.values import replace

if TYPE_CHECKING:
    from getmodules.getters.oci.artifact import ImagePackage
    from getmodules.getters.oci.repository import Descriptor, RawManifest, Repository, RepositoryFactory

    _Read = Callable[[Descriptor], Iterable[bytes]]
    _Rest = Callable[[int], Iterable[bytes] | None]


class _Packages:
    """The common part of both getters: everything but the location of a repository."""

    arguments = frozenset({"tag", "digest"})
    version_argument = "tag"
    sends_on = False
    #: The media type of a layer says what it is, and the manifest's digest says that it is right.
    core_arguments: frozenset[str] = frozenset()

    def __init__(self, repositories: RepositoryFactory) -> None:
        self._repositories = repositories

    def demands(self, package: PackageAddress) -> Iterable[Demand]:
        digest = package.arguments.get("digest")
        return (Demand(gate=Gate.PIN, check="digest", value=digest, by="the address"),) if digest else ()

    def resolve(self, package: PackageAddress, context: Context) -> Pin:
        from getmodules.getters.oci.artifact import parse
        from getmodules.getters.oci.tags import named_manifest

        manifest, digest = named_manifest(package, self.repository(package, context), context)
        # A login page is refused here; whether the manifest is a module's is checked when it is fetched.
        parse(manifest)
        arguments = Arguments().with_value("digest", str(digest))
        return Pin(
            package=package.with_arguments(arguments),
            id=str(digest),
            proof=manifest.packed(),
            digests={"manifest": str(digest)},
        )

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Blob | Layers:
        from getmodules.getters.oci.artifact import ModulePackage, judge, listed_manifest
        from getmodules.getters.oci.repository import proven_manifest

        manifest = proven_manifest(pin)
        entry = listed_manifest(manifest)
        if entry is not None:
            manifest = self._listed(pin.package, entry, context)
        found = judge(manifest, context.layer_formats)
        read = partial(self._read, pin.package, context)
        if isinstance(found, ModulePackage):
            return _blob(read, found.layer, found.format, self._rest_of(pin.package, found.layer, context))
        return self._image(pin.package, read, found, context)

    def _listed(self, package: PackageAddress, entry: Descriptor, context: Context) -> RawManifest:
        """Return the manifest that an index names, verified; it is kept by its digest, as a config is."""
        from getmodules.getters.oci.repository import MANIFEST_BYTES, RawManifest, read_small_blob

        def read(descriptor: Descriptor) -> Iterable[bytes]:
            return (self.repository(package, context).manifest(str(descriptor.digest), context).body,)

        body = read_small_blob(read, entry, "manifest", MANIFEST_BYTES, context)
        return RawManifest(media_type=entry.media_type, body=body)

    def _image(self, package: PackageAddress, read: _Read, image: ImagePackage, context: Context) -> Layers:
        from getmodules.getters.oci.artifact import CONFIG_BYTES, check_image_label
        from getmodules.getters.oci.repository import read_small_blob

        config = read_small_blob(read, image.config, "config", CONFIG_BYTES, context)
        check_image_label(config)
        blobs = (_blob(read, layer, name, self._rest_of(package, layer, context)) for layer, name in image.layers)
        return Layers(blobs=tuple(blobs))

    def _rest_of(self, package: PackageAddress, layer: Descriptor, context: Context) -> _Rest:
        return lambda start: self.repository(package, context).rest_of_blob(layer, start, context)

    def _read(self, package: PackageAddress, context: Context, blob: Descriptor) -> Iterator[bytes]:
        """Yield the bytes. The request is sent when the first piece is read, so none is sent for what the cache has."""
        from getmodules.getters.oci.repository import closed_at_the_end

        yield from closed_at_the_end(self.repository(package, context).blob(blob, context))

    def versions(self, package: PackageAddress, context: Context) -> Iterable[str]:
        return self.repository(package, context).tags(context)

    def repository(self, package: PackageAddress, context: Context) -> Repository:
        """Return the repository of the package, for push, tags and inspect."""
        return self._repositories(*self.location(package), context)

    def location(self, package: PackageAddress) -> tuple[str, str]:
        """Return the registry and the repository's name."""
        url = check_url(package.url)
        return f"{url.host}:{url.port}" if url.port else url.host, url.path.removeprefix("/")


def _blob(read: _Read, layer: Descriptor, format_name: str, rest: _Rest) -> Blob:
    return Blob(
        chunks=read(layer),
        size=layer.size,
        digests=(layer.digest,),
        format=format_name,
        key="layer",
        rest=rest,
    )


class OciGetter(_Packages):
    """Getter for packages in registries."""

    schemes = ("oci",)

    def check(self, package: PackageAddress) -> PackageAddress:
        url = check_url(package.url)
        if url.scheme != "oci":
            raise AddressError("oci:: takes no other URL", hint=f"write oci://{url.host}{url.path}")
        if not url.host:
            raise AddressError("there is no registry in this address", hint="write oci://HOST/REPOSITORY")
        if url.userinfo:
            raise AddressError(
                "oci addresses carry no user name", hint="credentials come from the environment or files"
            )
        registry = f"{url.host}:{url.port}" if url.port else url.host
        check_repository(registry, url.path.removeprefix("/"))
        check_version(package.arguments)
        return replace(package, forced=False)


class OciLayoutGetter(_Packages):
    """Getter for packages in image layouts."""

    schemes = ("oci-layout",)
    local = True

    def check(self, package: PackageAddress) -> PackageAddress:
        url = check_url(package.url)
        if url.scheme not in ("oci-layout", "file") or url.host or url.userinfo:
            raise AddressError("oci-layout: takes a path", hint="write oci-layout::./directory?tag=TAG")
        check_version(package.arguments)
        return replace(package, url=str(Url("oci-layout", "", "", None, url.path)), forced=False)

    def location(self, package: PackageAddress) -> tuple[str, str]:
        return "", str(check_url(package.url).local_path())


class OciPlugin:
    """Plugin with both getters; an embedding program may pass its own factory of repositories.

    ``Client(without_plugins=["oci"], plugins=[OciPlugin(my_factory)])``
    """

    __name__ = "oci"

    def __init__(self, repositories: RepositoryFactory | None = None) -> None:
        self._repositories = repositories

    @hookimpl
    def getmodules_getters(self) -> Iterable[Getter]:
        return (OciGetter(self._repositories or Registries()), OciLayoutGetter(open_layout))


def open_layout(registry: str, path: str, context: Context) -> Repository:
    """Return the layout at ``path``; a :data:`~getmodules.getters.oci.repository.RepositoryFactory`."""
    from getmodules.getters.oci.layout import Layout

    return Layout(Path(path))


@hookimpl
def getmodules_getters() -> Iterable[Getter]:
    return OciPlugin().getmodules_getters()
