"""Blobs over the wire."""

from __future__ import annotations

import pytest

from getmodules.testing import Behaviour, Registry, module_package
from tests.support.registryclient import Client, ask, push_blob, sha

DATA = bytes(range(200))


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_a_blob_is_read_and_looked_at(registry: Registry, algorithm: str) -> None:
    digest = push_blob(registry, "a/b", DATA, algorithm)
    for method, body in (("GET", DATA), ("HEAD", b"")):
        reply = ask(registry, method, f"/v2/a/b/blobs/{digest}")
        assert (reply.status, reply.body) == (200, body)
        assert reply.header("Content-Length") == "200"
        assert reply.header("Docker-Content-Digest") == digest
        assert reply.header("ETag") == f'"{digest}"'
        assert reply.header("Docker-Distribution-Api-Version") == "registry/2.0"


def test_an_empty_blob_is_a_blob(registry: Registry) -> None:
    digest = push_blob(registry, "a", b"")
    assert (ask(registry, "GET", f"/v2/a/blobs/{digest}").body, sha(b"")) == (b"", digest)


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [("0-0", 0, 1), ("10-19", 10, 20), ("50-", 50, 200), ("-30", 170, 200), ("-500", 0, 200), ("190-999", 190, 200)],
)
def test_a_range_is_served(registry: Registry, asked: str, start: int, stop: int) -> None:
    digest = push_blob(registry, "a", DATA)
    reply = ask(registry, "GET", f"/v2/a/blobs/{digest}", headers={"Range": f"bytes={asked}"})
    assert (reply.status, reply.body) == (206, DATA[start:stop])
    assert reply.header("Content-Range") == f"bytes {start}-{stop - 1}/200"


@pytest.mark.parametrize("asked", ["200-", "500-600", "9-3", "-0"])
def test_a_range_that_cannot_be_served_is_refused(registry: Registry, asked: str) -> None:
    digest = push_blob(registry, "a", DATA)
    reply = ask(registry, "GET", f"/v2/a/blobs/{digest}", headers={"Range": f"bytes={asked}"})
    assert (reply.status, reply.header("Content-Range")) == (416, "bytes */200")


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Range": "bytes=0-1,5-6"}, id="several"),
        pytest.param({"Range": "lines=0-1"}, id="other-unit"),
        pytest.param({"Range": "bytes=-"}, id="nothing"),
        pytest.param({"Range": "bytes=0-1", "If-Range": '"other"'}, id="condition-not-met"),
    ],
)
def test_the_whole_blob_where_no_single_range_is_asked_for(registry: Registry, headers: dict[str, str]) -> None:
    digest = push_blob(registry, "a", DATA)
    reply = ask(registry, "GET", f"/v2/a/blobs/{digest}", headers=headers)
    assert (reply.status, reply.body) == (200, DATA)


def test_a_range_on_the_condition_that_the_blob_is_the_same(registry: Registry) -> None:
    digest = push_blob(registry, "a", DATA)
    headers = {"Range": "bytes=5-", "If-Range": f'"{digest}"'}
    assert ask(registry, "GET", f"/v2/a/blobs/{digest}", headers=headers).status == 206


@pytest.mark.parametrize("condition", ['"{}"', "{}", '"x", "{}"', 'W/"{}"', "*"])
def test_a_blob_that_is_known_is_not_sent(registry: Registry, condition: str) -> None:
    digest = push_blob(registry, "a", DATA)
    headers = {"If-None-Match": condition.format(digest)}
    reply = ask(registry, "GET", f"/v2/a/blobs/{digest}", headers=headers)
    assert (reply.status, reply.body) == (304, b"")


def test_what_is_not_there(registry: Registry) -> None:
    push_blob(registry, "a", DATA)
    unknown = sha(b"unknown")
    reply = ask(registry, "GET", f"/v2/a/blobs/{unknown}")
    assert (reply.status, reply.code) == (404, "BLOB_UNKNOWN")
    reply = ask(registry, "GET", f"/v2/b/blobs/{unknown}")
    assert (reply.status, reply.code) == (404, "NAME_UNKNOWN")
    reply = ask(registry, "DELETE", f"/v2/a/blobs/{unknown}")
    assert (reply.status, reply.code) == (404, "BLOB_UNKNOWN")


@pytest.mark.parametrize("reference", ["sha256:x", "sha256:..%2f..%2fsecret", "latest", "md5:" + "0" * 32])
def test_a_reference_that_is_no_digest(registry: Registry, reference: str) -> None:
    push_blob(registry, "a", DATA)
    reply = ask(registry, "GET", f"/v2/a/blobs/{reference}")
    assert reply.status in (400, 404)
    assert reply.code in ("DIGEST_INVALID", "NOT_FOUND")


def test_a_blob_is_deleted(registry: Registry) -> None:
    digest = push_blob(registry, "a", DATA)
    with Client(registry) as client:
        assert client.ask("DELETE", f"/v2/a/blobs/{digest}").status == 202
        assert client.ask("HEAD", f"/v2/a/blobs/{digest}").status == 404


def test_a_manifest_is_not_deleted_as_a_blob(registry: Registry) -> None:
    digest = registry.push("a", module_package({"main.tf": ""}), "1.0")
    assert ask(registry, "DELETE", f"/v2/a/blobs/{digest}").code == "UNSUPPORTED"
    assert ask(registry, "GET", "/v2/a/manifests/1.0").status == 200


def test_deletes_may_be_disabled() -> None:
    with Registry(behaviour=Behaviour(deletes=False)) as registry:
        digest = push_blob(registry, "a", DATA)
        reply = ask(registry, "DELETE", f"/v2/a/blobs/{digest}")
        assert (reply.status, reply.code) == (405, "UNSUPPORTED")
        assert ask(registry, "HEAD", f"/v2/a/blobs/{digest}").status == 200


def test_other_methods_are_not_supported(registry: Registry) -> None:
    digest = push_blob(registry, "a", DATA)
    assert ask(registry, "POST", f"/v2/a/blobs/{digest}").code == "UNSUPPORTED"
