"""Manifests that lie, contradict themselves, or are made to hurt their parser.

Each comes with the digest of its own bytes in ``Docker-Content-Digest``, so that a pull by tag meets the fault
itself and not a digest that does not fit; by digest it is the wrong content in any case.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from getmodules.testing.faults.fault import fault, reads
from getmodules.testing.registry.server import Exchange
from getmodules.testing.registry.wire import manifest_unknown
from getmodules.util.digest import Digest

_MANIFEST = reads("manifest")
_DEPTH = 100_000
_HUGE = (4 << 20) + 1


def _send(exchange: Exchange, change: Callable[[bytes], bytes]) -> None:
    answer = exchange.answer()
    if answer.status == 200:
        data = change(answer.body.read())
        digest = str(Digest.of(data))
        answer = answer.with_body(data).with_header("Docker-Content-Digest", digest)
        answer = answer.with_header("ETag", f'"{digest}"')
    exchange.send(answer)


def _edit(exchange: Exchange, edit: Callable[[dict[str, Any]], None]) -> None:
    def change(data: bytes) -> bytes:
        fields = json.loads(data)
        edit(fields)
        return json.dumps(fields).encode()

    _send(exchange, change)


def _edit_layers(exchange: Exchange, **members: object) -> None:
    def edit(fields: dict[str, Any]) -> None:
        for layer in fields.get("layers", ()):
            layer.update(members)

    _edit(exchange, edit)


# --------------------------------------------------------------------------------------------- which one


@fault("missing-manifest", _MANIFEST)
def missing(exchange: Exchange) -> None:
    """404 for every manifest."""
    exchange.send(manifest_unknown(exchange.route.reference).answer())


@fault("wrong-manifest", _MANIFEST)
def wrong(exchange: Exchange) -> None:
    """A valid manifest with one annotation more than the one that was asked for; the headers keep the old digest."""
    answer = exchange.answer()
    fields = json.loads(answer.body.read())
    fields.setdefault("annotations", {})["tampered"] = "yes"
    exchange.send(answer.with_body(json.dumps(fields).encode()))


@fault("moving-tag", lambda exchange: _MANIFEST(exchange) and ":" not in exchange.route.reference)
def moving_tag(exchange: Exchange) -> None:
    """A tag is another manifest at each request; the digest is right each time."""
    _edit(exchange, lambda fields: fields.setdefault("annotations", {}).update(moved=str(exchange.number)))


@fault("lying-digest-header", lambda exchange: exchange.route.kind in ("manifest", "blob"))
def lying_digest_header(exchange: Exchange) -> None:
    """The right content under a ``Docker-Content-Digest`` of something else."""
    exchange.send(exchange.answer().with_header("Docker-Content-Digest", str(Digest.of(b"something else"))))


@fault("digest-header-is-path", lambda exchange: exchange.route.kind in ("manifest", "blob"))
def digest_header_is_path(exchange: Exchange) -> None:
    """The right content under a ``Docker-Content-Digest`` that is a path."""
    exchange.send(exchange.answer().with_header("Docker-Content-Digest", "sha256:../../../../tmp/canary"))


# --------------------------------------------------------------------------------------------- what it says


@fault("size-too-small", _MANIFEST)
def size_too_small(exchange: Exchange) -> None:
    """The manifest says that each layer has one byte."""
    _edit_layers(exchange, size=1)


@fault("size-too-large", _MANIFEST)
def size_too_large(exchange: Exchange) -> None:
    """The manifest says that each layer has 2⁶² bytes."""
    _edit_layers(exchange, size=1 << 62)


@fault("size-negative", _MANIFEST)
def size_negative(exchange: Exchange) -> None:
    """The manifest says that each layer has -1 bytes."""
    _edit_layers(exchange, size=-1)


@fault("size-not-a-number", _MANIFEST)
def size_not_a_number(exchange: Exchange) -> None:
    """The manifest gives the sizes of its layers as strings."""
    _edit_layers(exchange, size="12")


@fault("digest-is-path", _MANIFEST)
def digest_is_path(exchange: Exchange) -> None:
    """The digests of the layers are paths that lead out."""
    _edit_layers(exchange, digest="sha256:../../../../../../../../tmp/canary")


@fault("digest-is-absolute-path", _MANIFEST)
def digest_is_absolute_path(exchange: Exchange) -> None:
    """The digests of the layers are absolute paths."""
    _edit_layers(exchange, digest="/tmp/canary")


@fault("digest-too-short", _MANIFEST)
def digest_too_short(exchange: Exchange) -> None:
    """The digests of the layers have seven digits."""
    _edit_layers(exchange, digest="sha256:0123456")


@fault("digest-unknown-algorithm", _MANIFEST)
def digest_unknown_algorithm(exchange: Exchange) -> None:
    """The digests of the layers are MD5."""
    _edit_layers(exchange, digest="md5:" + "0" * 32)


@fault("title-is-path", _MANIFEST)
def title_is_path(exchange: Exchange) -> None:
    """The titles of the layers, which some clients make files of, are paths that lead out."""
    _edit_layers(exchange, annotations={"org.opencontainers.image.title": "../../../../tmp/canary"})


@fault("layers-and-manifests", _MANIFEST)
def layers_and_manifests(exchange: Exchange) -> None:
    """A manifest that is an index at the same time."""
    _edit(exchange, lambda fields: fields.update(manifests=[], layers=fields.get("layers", [])))


@fault("contradicting-media-type", _MANIFEST)
def contradicting_media_type(exchange: Exchange) -> None:
    """The manifest's ``mediaType`` says index, its ``Content-Type`` what it is."""
    _edit(exchange, lambda fields: fields.update(mediaType="application/vnd.oci.image.index.v1+json"))


# --------------------------------------------------------------------------------------------- how it is written


@fault("duplicate-keys", _MANIFEST)
def duplicate_keys(exchange: Exchange) -> None:
    """``layers`` is there twice, and only the second one is the package's."""
    _send(exchange, lambda data: b'{"layers":[],' + data.lstrip()[1:])


@fault("deep-nesting", _MANIFEST)
def deep_nesting(exchange: Exchange) -> None:
    """One hundred thousand lists, one inside the other."""
    _send(exchange, lambda data: b'{"deep":' + b"[" * _DEPTH + b"]" * _DEPTH + b"," + data.lstrip()[1:])


@fault("huge-manifest", _MANIFEST)
def huge(exchange: Exchange) -> None:
    """A manifest of more than 4 MiB, valid otherwise."""
    _edit(exchange, lambda fields: fields.setdefault("annotations", {}).update(padding="x" * _HUGE))


@fault("endless-manifest", _MANIFEST)
def endless(exchange: Exchange) -> None:
    """A manifest that never ends: chunks of white space until somebody hangs up."""
    answer = exchange.answer()
    exchange.finish_request()
    lines = [f"HTTP/1.1 {answer.status} OK", f"Content-Type: {answer.header('Content-Type')}"]
    exchange.wire.send("\r\n".join((*lines, "Transfer-Encoding: chunked", "", "")).encode())
    while True:
        exchange.wire.send(b"4000\r\n" + b" " * 0x4000 + b"\r\n")


@fault("manifest-with-nan", _MANIFEST)
def with_nan(exchange: Exchange) -> None:
    """``NaN`` among the annotations, as Python writes it and JSON does not know it."""
    _edit(exchange, lambda fields: fields.update(odd=float("nan")))


@fault("manifest-not-json", _MANIFEST)
def not_json(exchange: Exchange) -> None:
    """A manifest that stops in the middle; its length agrees with what is sent."""
    _send(exchange, lambda data: data[: len(data) // 2])


@fault("manifest-is-list", _MANIFEST)
def is_list(exchange: Exchange) -> None:
    """A list where the manifest should be."""
    _send(exchange, lambda data: b"[" + data + b"]")
