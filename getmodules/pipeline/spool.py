"""Spooling: a getter's blob becomes a file, counted and hashed while it streams."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import partial

from getmodules.api.model import FEW_BYTES, Archive, Blob
from getmodules.api.ports import Context
from getmodules.errors import DigestMismatchError, GetModulesError, LimitExceededError, NetworkError
from getmodules.files.download_file import DownloadFile
from getmodules.files.os_errors import translated
from getmodules.util.digest import Digest
from getmodules.util.values import replace
from getmodules.util.worker import Worker

#: What the core itself names an archive by.
OWN_ALGORITHM = "sha256"
_PIECE = 1 << 20
#: What follows is hashed and stored by a second thread while this one receives.
_INLINE_BYTES = 4 << 20
#: What a run that is killed loses, at most, of a download that another run goes on with.
_NOTED_BYTES = 4 << 20


def spool(
    blob: Blob,
    into: DownloadFile,
    algorithms: Iterable[str],
    context: Context,
    *,
    spent: int = 0,
) -> Archive:
    """Return the blob as a new file, hashed with ``algorithms`` and always with sha256.

    What is in ``into`` already is the beginning, and the chunks of the blob come after that. ``spent`` is what other
    blobs of the package took already of what a package may download.
    """
    hashers = {name: hashlib.new(name) for name in {OWN_ALGORITHM, *algorithms}}
    size = hashed = noted = into.size
    few: list[bytes] = []

    def store(chunk: bytes) -> None:
        nonlocal hashed, noted
        for hasher in hashers.values():
            hasher.update(chunk)
        hashed += len(chunk)
        into.write(chunk)
        if hashed - noted >= _NOTED_BYTES:
            note()

    def note() -> None:
        nonlocal noted
        if hashed == into.size > noted:  # else an interrupt came in between
            into.note(hashers[OWN_ALGORITHM].hexdigest())
            noted = hashed

    worker = Worker("getmodules-spool", inline_bytes=_INLINE_BYTES)
    with translated("cannot store the download"):
        for piece in into.pieces() if size else ():
            for hasher in hashers.values():
                hasher.update(piece)
        try:
            with worker:
                for chunk in received(blob, context, start=size, spent=spent):
                    size += len(chunk)
                    if size > FEW_BYTES:
                        few.clear()
                    elif chunk:
                        few.append(chunk)
                    worker.give(partial(store, chunk), len(chunk))
        except BaseException:
            note()
            raise
    digests = {name: Digest(name, hasher.hexdigest()) for name, hasher in hashers.items()}
    content = b"".join(few) if size <= FEW_BYTES else None
    return Archive(path=into.path, size=size, digests=digests, descriptor=into.complete(), content=content)


def with_digests(archive: Archive, algorithms: Iterable[str]) -> Archive:
    """Return ``archive`` with its digests by ``algorithms``, computing those it lacks."""
    missing = {name: hashlib.new(name) for name in algorithms if name not in archive.digests}
    if not missing:
        return archive
    with translated("cannot read a package of the cache"), archive.open() as file:
        while chunk := file.read(_PIECE):
            for hasher in missing.values():
                hasher.update(chunk)
    more = {name: Digest(name, hasher.hexdigest()) for name, hasher in missing.items()}
    return replace(archive, digests={**archive.digests, **more})


def checked_size(blob: Blob, archive: Archive) -> Archive:
    """Return ``archive``, which has the promised digest, if it has the announced size as well."""
    if blob.size is not None and blob.size != archive.size:
        raise _other_size(blob, f"the source announced {blob.size:,} bytes, and it has {archive.size:,}")
    return archive


def read_small(blob: Blob, limit: int, context: Context) -> bytes:
    """Return the content of a blob that must be small, such as a checksum file; it is held in memory."""
    pieces: list[bytes] = []
    allowed = limit
    for chunk in received(blob, context):
        allowed -= len(chunk)
        if allowed < 0:
            raise LimitExceededError(f"it has more than {limit:,} bytes", part="metadata", hint="this bound is fixed")
        pieces.append(bytes(chunk))
    return b"".join(pieces)


def received(blob: Blob, context: Context, *, start: int = 0, spent: int = 0) -> Iterator[bytes]:
    """Yield the chunks of a blob; raise if they exceed the download limit or differ from the announced size.

    ``start`` bytes of it are here already.
    """
    limit = context.limits.download_bytes
    if blob.size is not None and blob.size > limit - spent:
        raise context.limits.exceeded("download_bytes", f"a download of {spent + blob.size:,} bytes")
    size = start
    for chunk in blob.chunks:
        context.checkpoint()
        size += len(chunk)
        if size > limit - spent:
            raise context.limits.exceeded("download_bytes", "the download")
        if blob.size is not None and size > blob.size:
            raise _other_size(blob, f"the source announced {blob.size:,} bytes and sends more")
        context.advance(len(chunk))
        yield chunk
    if blob.size is not None and size < blob.size:
        raise _other_size(blob, f"the source announced {blob.size:,} bytes and sent {size:,}")


def _other_size(blob: Blob, message: str) -> GetModulesError:
    """Return the error of another size: other content where a digest was promised, else a line that was cut."""
    if blob.digests:
        return DigestMismatchError(message, hint=f"it cannot be {blob.digests[0]}, which was promised")
    return NetworkError(message, hint="try again")
