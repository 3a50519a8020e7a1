"""Requests that push blobs: at once, in two steps, in chunks, or by mounting them from another repository."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from getmodules.testing.registry.call import Call
from getmodules.testing.registry.names import checked_digest, checked_name
from getmodules.testing.registry.store import Repository, Upload, spool_digest
from getmodules.testing.registry.wire import PIECE, Answer, RefusalError, digest_invalid, size_invalid, upload_unknown
from getmodules.util.digest import Digest

_CONTENT_RANGE = re.compile(r"(?:bytes[ =])?(\d{1,18})-(\d{1,18})(?:/(?:\d{1,18}|\*))?", re.ASCII)


def handle(call: Call) -> Answer:
    """Answer a request about an upload."""
    method = call.request.method
    if not call.route.reference:
        if method == "POST":
            return _start(call)
        raise call.unsupported_method()
    if method not in ("GET", "PATCH", "PUT", "DELETE"):
        raise call.unsupported_method()
    with _session(call) as (repository, upload):
        if method == "GET":
            return Answer(204, _location_headers(call, call.route.reference, upload.length))
        if method == "PATCH":
            _receive(call, upload)
            return Answer(202, _location_headers(call, call.route.reference, upload.length))
        if method == "DELETE":
            _forget(repository, call.route.reference)
            return Answer(204)
        return _finish(call, repository, upload)


# --------------------------------------------------------------------------------------------- starting


def _start(call: Call) -> Answer:
    repository = call.new_repository()
    mount = call.request.argument("mount")
    if mount is not None and call.behaviour.mounts:
        mounted = _mount(call, repository, checked_digest(mount))
        if mounted is not None:
            return mounted
    digest = call.request.argument("digest")
    if digest is not None:
        return _at_once(call, repository, checked_digest(digest))
    identifier = str(uuid.uuid4())
    with repository.lock:
        repository.uploads[identifier] = Upload(repository.contents.spool())
    headers = _location_headers(call, identifier, 0)
    if call.behaviour.chunk_min_length is not None:
        headers += (("OCI-Chunk-Min-Length", str(call.behaviour.chunk_min_length)),)
    return Answer(202, headers)


def _mount(call: Call, repository: Repository, digest: Digest) -> Answer | None:
    """Mount a blob; return None if it cannot be mounted, or not by this client, so that it must be pushed."""
    named = call.request.argument("from")
    source = call.store.find(checked_name(named)) if named is not None else None
    candidates = call.store.repositories() if named is None else [source] if source else []
    for candidate in candidates:
        if call.grant.allows(candidate.name, "pull") and candidate.contents.size(digest) is not None:
            if candidate is not repository:
                candidate.contents.share(digest, repository.contents)
            return _created(call, digest)
    return None


def _at_once(call: Call, repository: Repository, digest: Digest) -> Answer:
    upload = Upload(repository.contents.spool())
    try:
        _append(call, upload)
        _check(upload, digest)
    except BaseException:
        upload.spool.close()
        raise
    repository.contents.keep(upload.spool, digest)
    return _created(call, digest)


# --------------------------------------------------------------------------------------------- going on


@contextmanager
def _session(call: Call) -> Iterator[tuple[Repository, Upload]]:
    """Lock the upload that the address names, for one request at a time."""
    identifier = call.route.reference
    repository = call.store.find(call.name)
    upload = repository.uploads.get(identifier) if repository else None
    if repository is None or upload is None:
        raise upload_unknown(identifier)
    with upload.lock:
        if upload.spool.closed:
            raise upload_unknown(identifier)
        yield repository, upload


def _receive(call: Call, upload: Upload) -> None:
    """Append a chunk, which must begin at the end of the last one."""
    expected = _expected_length(call, upload)
    if upload.short_chunk and call.request.header("Content-Length") != "0":
        raise RefusalError(416, "BLOB_UPLOAD_INVALID", "only the last chunk may be shorter than OCI-Chunk-Min-Length")
    before = upload.length
    _append(call, upload)
    received = upload.length - before
    if expected is not None and received != expected:
        upload.spool.truncate(before)
        upload.length = before
        raise size_invalid(f"Content-Range announces {expected} bytes, the body has {received}")
    least = call.behaviour.chunk_min_length
    upload.short_chunk = least is not None and 0 < received < least


def _expected_length(call: Call, upload: Upload) -> int | None:
    text = call.request.header("Content-Range")
    if text is None:
        return None
    found = _CONTENT_RANGE.fullmatch(text.strip())
    if found is None:
        raise RefusalError(400, "BLOB_UPLOAD_INVALID", "Content-Range is written <start>-<end>")
    start, end = int(found[1]), int(found[2])
    if start != upload.length or end < start:
        raise RefusalError(
            416,
            "BLOB_UPLOAD_INVALID",
            f"the next chunk begins at {upload.length}",
            headers=_location_headers(call, call.route.reference, upload.length),
        )
    return end - start + 1


def _append(call: Call, upload: Upload) -> None:
    upload.spool.seek(upload.length)
    while piece := call.request.body.read(PIECE):
        upload.spool.write(piece)
        upload.length += len(piece)


def _finish(call: Call, repository: Repository, upload: Upload) -> Answer:
    text = call.request.argument("digest")
    if text is None:
        raise digest_invalid("the closing PUT names the digest")
    digest = checked_digest(text)
    _receive(call, upload)
    try:
        _check(upload, digest)
    except RefusalError:
        _forget(repository, call.route.reference)
        raise
    repository.contents.keep(upload.spool, digest)
    _forget(repository, call.route.reference)
    return _created(call, digest)


def _check(upload: Upload, digest: Digest) -> None:
    found = spool_digest(upload.spool, digest.algorithm)
    if found != digest:
        raise digest_invalid(f"provided digest did not match uploaded content: {found}")


def _forget(repository: Repository, identifier: str) -> None:
    with repository.lock:
        upload = repository.uploads.pop(identifier, None)
    if upload is not None:
        upload.spool.close()


# --------------------------------------------------------------------------------------------- answers


def _location_headers(call: Call, identifier: str, length: int) -> tuple[tuple[str, str], ...]:
    return (
        ("Location", f"/v2/{call.name}/blobs/uploads/{identifier}"),
        ("Range", f"0-{max(length - 1, 0)}"),
        ("Docker-Upload-UUID", identifier),
    )


def _created(call: Call, digest: Digest) -> Answer:
    return Answer(201, (("Location", f"/v2/{call.name}/blobs/{digest}"), ("Docker-Content-Digest", str(digest))))
