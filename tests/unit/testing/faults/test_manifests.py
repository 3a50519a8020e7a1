"""Manifests that lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from getmodules.testing import Registry
from tests.support.registryclient import Stocked, ask, get, sha, talk


def layer(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)["layers"][0]
    return found


@pytest.mark.parametrize(
    ("name", "is_so"),
    [
        ("size-too-small", lambda body: layer(body)["size"] == 1),
        ("size-too-large", lambda body: layer(body)["size"] == 2**62),
        ("size-negative", lambda body: layer(body)["size"] == -1),
        ("size-not-a-number", lambda body: layer(body)["size"] == "12"),
        ("digest-is-path", lambda body: layer(body)["digest"].startswith("sha256:../../")),
        ("digest-is-absolute-path", lambda body: layer(body)["digest"] == "/tmp/canary"),
        ("digest-too-short", lambda body: len(layer(body)["digest"]) == 14),
        ("digest-unknown-algorithm", lambda body: layer(body)["digest"].startswith("md5:")),
        ("title-is-path", lambda body: ".." in layer(body)["annotations"]["org.opencontainers.image.title"]),
        ("layers-and-manifests", lambda body: {"layers", "manifests"} <= set(json.loads(body))),
        ("contradicting-media-type", lambda body: json.loads(body)["mediaType"].endswith("index.v1+json")),
        ("duplicate-keys", lambda body: body.count(b'"layers"') == 2),
        ("deep-nesting", lambda body: b"[" * 100_000 in body),
        ("huge-manifest", lambda body: len(body) > 4 << 20 and layer(body)),
        ("manifest-with-nan", lambda body: b"NaN" in body),
        ("manifest-not-json", lambda body: body.startswith(b"{") and not body.endswith(b"}")),
        ("manifest-is-list", lambda body: isinstance(json.loads(body), list)),
    ],
)
def test_a_bad_manifest_has_the_digest_of_its_own_bytes(
    stocked: Stocked, name: str, is_so: Callable[[bytes], bool]
) -> None:
    with stocked.registry.fault(name):
        reply = ask(stocked.registry, "GET", stocked.manifest)
    assert reply.status == 200
    assert is_so(reply.body)
    assert reply.header("Docker-Content-Digest") == sha(reply.body)
    assert reply.header("ETag") == f'"{sha(reply.body)}"'
    assert reply.header("Content-Type") == stocked.package.media_type
    assert ask(stocked.registry, "GET", stocked.manifest).body == stocked.package.manifest


@pytest.mark.parametrize("name", ["deep-nesting", "size-negative", "wrong-manifest"])
def test_what_is_not_there_stays_so(stocked: Stocked, name: str) -> None:
    with stocked.registry.fault(name):
        assert ask(stocked.registry, "GET", "/v2/acme/vpc/manifests/2.0").code == "MANIFEST_UNKNOWN"


def test_a_wrong_manifest_claims_the_right_digest(stocked: Stocked) -> None:
    with stocked.registry.fault("wrong-manifest"):
        reply = ask(stocked.registry, "GET", f"/v2/acme/vpc/manifests/{stocked.package.digest}")
    assert reply.header("Docker-Content-Digest") == str(stocked.package.digest) != sha(reply.body)
    assert layer(reply.body) == layer(stocked.package.manifest)


def test_a_missing_manifest(stocked: Stocked) -> None:
    with stocked.registry.fault("missing-manifest"):
        assert ask(stocked.registry, "GET", stocked.manifest).code == "MANIFEST_UNKNOWN"


def test_a_tag_moves_and_a_digest_does_not(stocked: Stocked) -> None:
    with stocked.registry.fault("moving-tag"):
        replies = [ask(stocked.registry, "GET", stocked.manifest) for _ in range(3)]
        fixed = ask(stocked.registry, "GET", f"/v2/acme/vpc/manifests/{stocked.package.digest}")
    assert len({reply.body for reply in replies}) == 3
    assert all(reply.header("Docker-Content-Digest") == sha(reply.body) for reply in replies)
    assert fixed.body == stocked.package.manifest


@pytest.mark.parametrize("name", ["lying-digest-header", "digest-header-is-path"])
def test_the_header_alone_lies(stocked: Stocked, name: str) -> None:
    with stocked.registry.fault(name):
        for method in ("GET", "HEAD"):
            for target, body in ((stocked.manifest, stocked.package.manifest), (stocked.blob, stocked.content)):
                reply = ask(stocked.registry, method, target)
                assert reply.body == (body if method == "GET" else b"")
                assert reply.header("Docker-Content-Digest") != sha(body)


def test_a_manifest_without_end(stocked: Stocked) -> None:
    with stocked.registry.fault("endless-manifest"):
        received = talk(stocked.registry, get(stocked.manifest), most=10 << 20)
    assert len(received) >= 10 << 20
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length" not in received


def test_a_registry_without_such_manifests(registry: Registry) -> None:
    """The faults are about what is asked for, and nothing needs to be there for them to be on."""
    with registry.fault("duplicate-keys"):
        assert ask(registry, "GET", "/v2/a/manifests/1.0").code == "NAME_UNKNOWN"
