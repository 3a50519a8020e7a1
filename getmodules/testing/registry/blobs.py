"""Requests that read blobs, whole or in ranges, and that delete them."""

from __future__ import annotations

import re

from getmodules.testing.registry.call import Call
from getmodules.testing.registry.names import checked_digest
from getmodules.testing.registry.store import Repository
from getmodules.testing.registry.wire import Answer, RefusalError, blob_unknown, unsupported
from getmodules.util.digest import Digest

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def handle(call: Call) -> Answer:
    """Answer a request about a blob."""
    if call.request.method in ("GET", "HEAD"):
        return _read(call)
    if call.request.method == "DELETE":
        return _delete(call)
    raise call.unsupported_method()


def _found(call: Call) -> tuple[Repository, Digest, int]:
    digest = checked_digest(call.route.reference)
    repository = call.repository()
    size = repository.contents.size(digest)
    if size is None:
        raise blob_unknown(digest)
    return repository, digest, size


def _read(call: Call) -> Answer:
    repository, digest, size = _found(call)
    etag = f'"{digest}"'
    headers = (
        ("Docker-Content-Digest", str(digest)),
        ("ETag", etag),
        ("Accept-Ranges", "bytes"),
        ("Content-Type", "application/octet-stream"),
    )
    if matches(call.request.header("If-None-Match"), etag):
        return Answer(304, headers)
    wanted = _range(call, etag, size)
    if wanted is None:
        return Answer(200, headers, repository.contents.body(digest, 0, size))
    start, stop = wanted
    partial = (*headers, ("Content-Range", f"bytes {start}-{stop - 1}/{size}"))
    return Answer(206, partial, repository.contents.body(digest, start, stop))


def _range(call: Call, etag: str, size: int) -> tuple[int, int] | None:
    """Return the one range that is asked for, or None if the whole blob is to be sent."""
    asked = call.request.header("Range")
    condition = call.request.header("If-Range")
    if asked is None or call.request.method != "GET" or (condition is not None and condition != etag):
        return None
    found = _RANGE.fullmatch(asked.strip())
    if found is None or not (found[1] or found[2]):
        return None  # several ranges, or others that RFC 9110 lets a server ignore
    if not found[1]:
        start, stop = max(0, size - int(found[2])), size
    else:
        start, stop = int(found[1]), min(size, int(found[2]) + 1) if found[2] else size
    if start >= stop:
        whole = (("Content-Range", f"bytes */{size}"),)
        raise RefusalError(416, "SIZE_INVALID", "range not satisfiable", headers=whole)
    return start, stop


def matches(condition: str | None, etag: str) -> bool:
    """Return whether ``If-None-Match`` has the etag; docker-registry, too, accepts one without quotes."""
    if condition is None:
        return False
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in condition.split(",")}
    return "*" in tags or etag.strip('"') in tags


def _delete(call: Call) -> Answer:
    if not call.behaviour.deletes:
        raise unsupported("deletes are disabled")
    repository, digest, _size = _found(call)
    if digest in repository.manifests:
        raise unsupported("this is a manifest: delete it as one")
    repository.contents.remove(digest)
    return Answer(202)
