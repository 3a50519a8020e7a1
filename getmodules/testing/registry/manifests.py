"""Requests that read, push and delete manifests, and that list tags and referrers, in pages."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from getmodules.testing.registry.blobs import matches
from getmodules.testing.registry.call import Call
from getmodules.testing.registry.names import checked_digest, is_tag
from getmodules.testing.registry.store import IMAGE_INDEX, INDEXES, MANIFESTS, Manifest, Repository
from getmodules.testing.registry.wire import (
    Answer,
    Body,
    RefusalError,
    digest_invalid,
    manifest_invalid,
    manifest_unknown,
    unsupported,
)
from getmodules.util.digest import Digest


def handle(call: Call) -> Answer:
    """Answer a request about a manifest."""
    if call.request.method in ("GET", "HEAD"):
        return _read(call)
    if call.request.method == "PUT":
        return _push(call)
    if call.request.method == "DELETE":
        return _delete(call)
    raise call.unsupported_method()


def _checked(reference: str) -> Digest | None:
    """Return a reference as a digest, or None for a tag."""
    if ":" in reference:
        return checked_digest(reference)
    if not is_tag(reference):
        raise RefusalError(400, "TAG_INVALID", "invalid tag")
    return None


def _read(call: Call) -> Answer:
    if ":" in call.route.reference:
        checked_digest(call.route.reference)
    repository = call.repository()
    manifest = repository.resolve(call.route.reference)
    if manifest is None:
        raise manifest_unknown(call.route.reference)
    etag = f'"{manifest.digest}"'
    headers = (
        ("Docker-Content-Digest", str(manifest.digest)),
        ("ETag", etag),
        ("Content-Type", manifest.media_type),
    )
    if matches(call.request.header("If-None-Match"), etag):
        return Answer(304, headers)
    return Answer(200, headers, Body.of(repository.manifest_bytes(manifest)))


# ------------------------------------------------------------------------------------------------------------- pushing


def _push(call: Call) -> Answer:
    named = _checked(call.route.reference)
    data = _read_manifest(call)
    digest = Digest.of(data, named.algorithm if named else "sha256")
    if named is not None and digest != named:
        raise digest_invalid(f"the manifest's digest is {digest}")
    tags = _tags(call) if named else (call.route.reference,)
    media_type = _media_type(call, data)
    repository = call.new_repository()
    _check_references(repository, data, media_type, sparse=call.behaviour.sparse)
    manifest = Manifest.of(data, media_type, digest)
    repository.add_manifest(data, manifest, *tags)
    call.store.save(repository)
    headers = [("Location", f"/v2/{call.name}/manifests/{digest}"), ("Docker-Content-Digest", str(digest))]
    if manifest.subject is not None and call.behaviour.referrers_api:
        headers.append(("OCI-Subject", str(manifest.subject)))
    if named is not None:
        headers += [("OCI-Tag", tag) for tag in tags]
    return Answer(201, tuple(headers))


def _read_manifest(call: Call) -> bytes:
    limit = call.behaviour.manifest_limit
    data = call.request.read_all(limit)
    if data is None:
        raise RefusalError(413, "SIZE_INVALID", f"a manifest has at most {limit} bytes")
    return data


def _tags(call: Call) -> tuple[str, ...]:
    """Return the tags of ``?tag=``, which may be repeated, in a push by digest."""
    tags = call.request.query.get("tag", ())
    if not all(is_tag(tag) for tag in tags):
        raise RefusalError(400, "TAG_INVALID", "invalid tag")
    return tags


def _media_type(call: Call, data: bytes) -> str:
    """Return the media type; the ``Content-Type`` and the manifest's own must be the same, if it has one."""
    announced = (call.request.header("Content-Type") or "").partition(";")[0].strip()
    known = announced in MANIFESTS | INDEXES
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        if known or not announced:
            raise manifest_invalid("manifest invalid: not JSON") from error
        return announced
    written = fields.get("mediaType") if isinstance(fields, dict) else None
    if known and not isinstance(fields, dict):
        raise manifest_invalid("manifest invalid: not an object")
    if written is not None and announced and written != announced:
        raise manifest_invalid(f"Content-Type is {announced}, mediaType is {written}")
    if not announced and not isinstance(written, str):
        raise manifest_invalid("neither a Content-Type nor a mediaType")
    return announced or str(written)


def _check_references(repository: Repository, data: bytes, media_type: str, *, sparse: bool) -> None:
    """Refuse a manifest of a known type that refers to missing blobs, unless ``sparse``; its subject may be missing."""
    if media_type not in MANIFESTS | INDEXES:
        return
    for descriptor in _descriptors(json.loads(data), media_type):
        if not isinstance(descriptor, dict) or not isinstance(descriptor.get("digest"), str):
            raise manifest_invalid("a descriptor without a digest")
        digest = checked_digest(descriptor["digest"])
        present = digest in repository.manifests if media_type in INDEXES else repository.contents.size(digest)
        if present in (None, False) and not (sparse or descriptor.get("urls")):
            raise RefusalError(
                404, "MANIFEST_BLOB_UNKNOWN", "manifest refers to what is not here", detail={"digest": str(digest)}
            )


def _descriptors(fields: dict[str, object], media_type: str) -> Iterator[object]:
    if media_type in MANIFESTS:
        yield fields.get("config")
    listed = fields.get("layers" if media_type in MANIFESTS else "manifests", [])
    if not isinstance(listed, list):
        raise manifest_invalid("manifest invalid: no list of descriptors")
    yield from listed


# ------------------------------------------------------------------------------------------------------------ deleting


def _delete(call: Call) -> Answer:
    if not call.behaviour.deletes:
        raise unsupported("deletes are disabled")
    digest = _checked(call.route.reference)
    repository = call.repository()
    removed = repository.remove_manifest(digest) if digest else repository.remove_tag(call.route.reference)
    if not removed:
        raise manifest_unknown(call.route.reference)
    call.store.save(repository)
    return Answer(202)


# --------------------------------------------------------------------------------------------------------------- lists


def tags(call: Call) -> Answer:
    """Answer with the tags of a repository."""
    if call.request.method not in ("GET", "HEAD"):
        raise call.unsupported_method()
    repository = call.repository()
    with repository.lock:
        names = sorted(repository.tags)
    page, headers = _page(call, names, f"/v2/{call.name}/tags/list", {})
    return Answer.of_json(200, {"name": call.name, "tags": list(page)}, headers)


def referrers(call: Call) -> Answer:
    """Answer with an index of what refers to a digest: empty, and not 404, if nothing does."""
    if call.request.method not in ("GET", "HEAD"):
        raise call.unsupported_method()
    if not call.behaviour.referrers_api:
        raise RefusalError(404, "NOT_FOUND", "page not found")
    subject = checked_digest(call.route.reference)
    repository = call.store.find(call.name)
    found = {str(m.digest): m for m in repository.referrers(subject)} if repository else {}
    wanted = call.request.argument("artifactType")
    applied: tuple[tuple[str, str], ...] = ()
    kept: dict[str, str] = {}
    if wanted is not None:
        found = {digest: m for digest, m in found.items() if m.artifact_type == wanted}
        applied = (("OCI-Filters-Applied", "artifactType"),)
        kept = {"artifactType": wanted}
    page, headers = _page(call, list(found), f"/v2/{call.name}/referrers/{subject}", kept)
    listed = [found[digest].descriptor() for digest in page]
    index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": listed}
    answer = Answer.of_json(200, index, (*applied, *headers))
    return answer.with_header("Content-Type", IMAGE_INDEX)


def _page(
    call: Call, names: Sequence[str], path: str, arguments: dict[str, str]
) -> tuple[Sequence[str], tuple[tuple[str, str], ...]]:
    """Return the page of sorted names that is asked for, and the ``Link`` to the next one."""
    last = call.request.argument("last")
    rest = names[bisect_right(names, last) :] if last is not None else names
    size = min(_requested_page_size(call), call.behaviour.page_size)
    page = rest[:size]
    if not page or len(rest) <= size:
        return page, ()
    query = urlencode({**arguments, "n": size, "last": page[-1]})
    return page, (("Link", f'<{path}?{query}>; rel="next"'),)


def _requested_page_size(call: Call) -> int:
    text = call.request.argument("n")
    if text is None:
        return call.behaviour.page_size
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RefusalError(400, "PAGINATION_NUMBER_INVALID", "invalid number of results requested")
    return int(text)
