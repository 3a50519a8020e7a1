"""Routes, names, tags and digests."""

from __future__ import annotations

import time

import pytest

from getmodules.testing.registry.names import Kind, checked_digest, checked_name, is_tag, route
from getmodules.testing.registry.wire import RefusalError
from getmodules.util.digest import Digest
from tests.support.registryclient import sha

HEX = "0" * 64


@pytest.mark.parametrize(
    ("path", "kind", "name", "reference"),
    [
        ("/v2", "ping", "", ""),
        ("/v2/", "ping", "", ""),
        ("/token", "token", "", ""),
        ("/v2/a/manifests/1.0", "manifest", "a", "1.0"),
        ("/v2/a/b/manifests/sha256:" + HEX, "manifest", "a/b", "sha256:" + HEX),
        ("/v2/manifests/manifests/manifests", "manifest", "manifests", "manifests"),
        ("/v2/a/blobs/sha256:" + HEX, "blob", "a", "sha256:" + HEX),
        ("/v2/a/blobs/uploads/", "upload", "a", ""),
        ("/v2/a/blobs/uploads", "upload", "a", ""),
        ("/v2/a/blobs/uploads/1-2", "upload", "a", "1-2"),
        ("/v2/a/tags/list", "tags", "a", ""),
        ("/v2/a/referrers/sha256:" + HEX, "referrers", "a", "sha256:" + HEX),
        ("/", "unknown", "", ""),
        ("/v1/a/tags/list", "unknown", "", ""),
        ("/v2/a/tags", "unknown", "", ""),
        ("/v2/manifests/x", "unknown", "", ""),
    ],
)
def test_where_a_path_leads(path: str, kind: Kind, name: str, reference: str) -> None:
    found = route(path)
    assert (found.kind, found.name, found.reference) == (kind, name, reference)


@pytest.mark.parametrize("name", ["a", "a/b", "a.b_c__d---e/f0", "x" * 255])
def test_good_names(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "A", "a//b", "/a", "a/", "a..b", "a___b", ".a", "a-", "../a", "a\n", "é", "x" * 256, "a+b"]
)
def test_bad_names(name: str) -> None:
    with pytest.raises(RefusalError) as caught:
        checked_name(name)
    assert (caught.value.status, caught.value.code) == (400, "NAME_INVALID")


def test_a_long_bad_name_is_refused_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(RefusalError):
        checked_name("a-" * 127)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    ("tag", "good"),
    [
        *((good, True) for good in ("latest", "_x", "1.0.0-rc.1", "x" * 128)),
        *((bad, False) for bad in ("x" * 129, "-x", ".x", "", "a+b", "a\n", "é")),
    ],
)
def test_tags(tag: str, good: bool) -> None:
    assert is_tag(tag) is good


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_good_digests(algorithm: str) -> None:
    text = sha(b"x", algorithm)
    assert checked_digest(text) == Digest.of(b"x", algorithm)


@pytest.mark.parametrize(
    "text",
    ["", "sha256", "sha256:", "sha256:0", "sha256:" + "F" * 64, "md5:" + "0" * 32, "sha256:../../etc", "x:" + HEX],
)
def test_bad_digests(text: str) -> None:
    with pytest.raises(RefusalError) as caught:
        checked_digest(text)
    assert (caught.value.status, caught.value.code) == (400, "DIGEST_INVALID")
