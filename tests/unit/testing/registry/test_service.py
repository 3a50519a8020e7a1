"""The registry as tests use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules.testing import Registry, helm_chart, module_package, provider_package
from tests.support.registryclient import ask, sha


def test_a_module_is_pushed_in_one_line(registry: Registry) -> None:
    digest = registry.push_module("acme/vpc", "1.0.0", {"main.tf": "x"}, annotations={"k": "v"})
    reply = ask(registry, "GET", "/v2/acme/vpc/manifests/1.0.0")
    assert reply.header("Docker-Content-Digest") == str(digest) == sha(reply.body)
    assert reply.json()["annotations"] == {"k": "v"}
    for described in (reply.json()["config"], *reply.json()["layers"]):
        blob = ask(registry, "GET", f"/v2/acme/vpc/blobs/{described['digest']}").body
        assert (sha(blob), len(blob)) == (described["digest"], described["size"])


def test_a_package_is_pushed_with_all_that_it_refers_to(registry: Registry) -> None:
    package = provider_package({"binary": b"x"})
    registry.push("a", package, "1.0", "latest")
    for child in package.children:
        assert ask(registry, "GET", f"/v2/a/manifests/{child.digest}").body == child.manifest
    assert ask(registry, "GET", "/v2/a/tags/list").json()["tags"] == ["1.0", "latest"]


def test_anything_can_be_stored(registry: Registry) -> None:
    digest = registry.put_manifest("a", b'{"a":1,"a":2}', "text/odd", "x")
    reply = ask(registry, "GET", "/v2/a/manifests/x")
    assert (reply.body, reply.header("Content-Type"), str(digest)) == (b'{"a":1,"a":2}', "text/odd", sha(reply.body))
    blob = registry.put_blob("a", b"data", "sha512")
    assert ask(registry, "GET", f"/v2/a/blobs/{blob}").body == b"data"


def test_every_request_is_remembered_with_its_headers(registry: Registry) -> None:
    ask(registry, "GET", "/v2/a/tags/list?n=5", headers={"Authorization": "Basic secret", "X-Token": "t"})
    (seen,) = registry.requests
    assert (seen.method, seen.path, seen.argument("n")) == ("GET", "/v2/a/tags/list", "5")
    assert (seen.header("Authorization"), seen.header("x-token")) == ("Basic secret", "t")
    ask(registry, "HEAD", "/v2/")
    assert [request.method for request in registry.requests] == ["GET", "HEAD"]
    registry.forget_requests()
    assert registry.requests == ()


def test_it_starts_again_with_what_it_had(registry: Registry) -> None:
    registry.push("a", helm_chart({"Chart.yaml": ""}), "1.0")
    ask(registry, "POST", "/v2/a/blobs/uploads/")
    registry.stop()
    registry.start()
    assert ask(registry, "GET", "/v2/a/manifests/1.0").status == 200
    assert registry.repository("a").uploads == {}


def test_uploads_that_never_ended_leave_nothing_on_disk(tmp_path: Path) -> None:
    with Registry(layout=tmp_path) as registry:
        location = ask(registry, "POST", "/v2/a/blobs/uploads/").header("Location")
        assert ask(registry, "PATCH", location, b"data").status == 202
    assert [path.name for path in (tmp_path / "a" / "blobs").rglob("*")] == []


def test_before_it_starts_it_is_nowhere() -> None:
    registry = Registry()
    with pytest.raises(AssertionError, match="not been started"):
        _ = registry.host
    registry.push("a", module_package({"main.tf": ""}), "1.0")
    registry.stop()


def test_two_registries_have_nothing_in_common(registry: Registry) -> None:
    registry.push_module("a", "1.0", {"main.tf": ""})
    with Registry() as other:
        assert other.host != registry.host
        assert ask(other, "GET", "/v2/a/tags/list").status == 404
        assert registry.requests == ()
