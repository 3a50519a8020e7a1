"""Offer the archive formats that come with getmodules: a plugin like any other.

A format is a container and, for tar, a codec around it; the table is the product of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from getmodules.api.hookspecs import hookimpl
from getmodules.api.model import Archive, Member
from getmodules.api.ports import Context, Unpacker
from getmodules.util.values import valueclass


@valueclass(kw_only=False)
class ZipFormat:
    names: tuple[str, ...] = ("zip",)
    suffixes: tuple[str, ...] = (".zip",)
    media_types: tuple[str, ...] = ("application/zip", "application/x-zip-compressed")
    #: What OpenTofu calls a zip in an OCI registry, although that is not a registered media type.
    layer_media_types: tuple[str, ...] = ("archive/zip",)

    def unpack(self, archive: Archive, context: Context) -> Iterator[Member]:
        from getmodules.archive.zip import read_zip

        return read_zip(archive, context)


@valueclass(kw_only=False)
class TarFormat:
    """A tar compressed with ``codec``; plain where that is ``None``."""

    names: tuple[str, ...]
    media_types: tuple[str, ...]
    codec: str | None

    @property
    def suffixes(self) -> tuple[str, ...]:
        return tuple(f".{name}" for name in self.names)

    def unpack(self, archive: Archive, context: Context) -> Iterator[Member]:
        from getmodules.archive.tar import read_tar

        return read_tar(archive, context, self.codec)


_TARS = (
    TarFormat(("tar",), ("application/x-tar",), None),
    TarFormat(("tar.gz", "tgz"), ("application/gzip", "application/x-gzip"), "gzip"),
    TarFormat(("tar.bz2", "tbz2", "tbz"), ("application/x-bzip2",), "bzip2"),
    TarFormat(("tar.xz", "txz"), ("application/x-xz",), "xz"),
    TarFormat(("tar.zst", "tzst"), ("application/zstd",), "zstd"),
)


@hookimpl
def getmodules_unpackers() -> Iterable[Unpacker]:
    return (ZipFormat(), *_TARS)
