"""Manifests: read, push, delete, by tag and by digest."""

from __future__ import annotations

import json
from collections.abc import Iterator

from getmodules.testing.registry.blobs import matches
from getmodules.testing.registry.call import Call
from getmodules.testing.registry.names import checked_digest, is_tag
from getmodules.testing.registry.refusal import (
    RefusalError,
    digest_invalid,
    manifest_invalid,
    manifest_unknown,
    unsupported,
)
from getmodules.testing.registry.store import INDEXES, MANIFESTS, Manifest, Repository
from getmodules.testing.registry.wire import Answer, Body
from getmodules.util.digest import Digest


def handle(call: Call) -> Answer:
    if call.request.method in ("GET", "HEAD"):
        return _read(call)
    if call.request.method == "PUT":
        return _push(call)
    if call.request.method == "DELETE":
        return _delete(call)
    raise call.unsupported_method()


def _checked(reference: str) -> Digest | None:
    """The digest that a reference is; ``None`` for a tag."""
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


# --------------------------------------------------------------------------------------------- pushing


def _push(call: Call) -> Answer:
    named = _checked(call.route.reference)
    data = _received(call)
    digest = Digest.of(data, named.algorithm if named else "sha256")
    if named is not None and digest != named:
        raise digest_invalid(f"the manifest's digest is {digest}")
    tags = _tags(call) if named else (call.route.reference,)
    media_type = _media_type(call, data)
    repository = call.new_repository()
    _check_references(repository, data, media_type, sparse=call.behaviour.sparse)
    manifest = Manifest.of(data, media_type, digest)
    repository.add_manifest(data, manifest, *tags)
    call.store.saved(repository)
    headers = [("Location", f"/v2/{call.name}/manifests/{digest}"), ("Docker-Content-Digest", str(digest))]
    if manifest.subject is not None and call.behaviour.referrers_api:
        headers.append(("OCI-Subject", str(manifest.subject)))
    if named is not None:
        headers += [("OCI-Tag", tag) for tag in tags]
    return Answer(201, tuple(headers))


def _received(call: Call) -> bytes:
    limit = call.behaviour.manifest_limit
    data = call.request.read_all(limit)
    if data is None:
        raise RefusalError(413, "SIZE_INVALID", f"a manifest has at most {limit} bytes")
    return data


def _tags(call: Call) -> tuple[str, ...]:
    """``?tag=``, as often as wanted, beside a push by digest."""
    tags = call.request.query.get("tag", ())
    if not all(is_tag(tag) for tag in tags):
        raise RefusalError(400, "TAG_INVALID", "invalid tag")
    return tags


def _media_type(call: Call, data: bytes) -> str:
    """The ``Content-Type``; what the manifest says of itself must be the same where both are said."""
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
    """What a manifest of a type that we know refers to must be there, or ``sparse``; its subject need never be."""
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


# --------------------------------------------------------------------------------------------- deleting


def _delete(call: Call) -> Answer:
    if not call.behaviour.deletes:
        raise unsupported("deletes are disabled")
    digest = _checked(call.route.reference)
    repository = call.repository()
    removed = repository.remove_manifest(digest) if digest else repository.remove_tag(call.route.reference)
    if not removed:
        raise manifest_unknown(call.route.reference)
    call.store.saved(repository)
    return Answer(202)
