"""Answers without any socket."""

from __future__ import annotations

import io
import json

import pytest

from getmodules.testing import Access, Behaviour
from getmodules.testing.registry.names import route
from getmodules.testing.registry.service import Application
from getmodules.testing.registry.store import MemoryStore
from getmodules.testing.registry.wire import Answer, Request

APPLICATION = Application(MemoryStore(), Access(), Behaviour())


def answer(method: str, target: str) -> Answer:
    request = Request(method, target, {}, io.BytesIO())
    return APPLICATION.answer(request, route(request.path), "http://registry/token")


@pytest.mark.parametrize(
    ("method", "target", "status", "code"),
    [
        pytest.param("GET", "/v2/", 200, None, id="ping"),
        pytest.param("HEAD", "/v2", 200, None, id="ping-without-a-slash"),
        pytest.param("POST", "/v2/", 405, "UNSUPPORTED", id="ping-by-post"),
        pytest.param("GET", "/", 404, "NOT_FOUND", id="root"),
        pytest.param("GET", "/v2/_catalog", 404, "NOT_FOUND", id="catalog"),
        pytest.param("GET", "/v2/a/tags/list", 404, "NAME_UNKNOWN", id="unknown-repository"),
        pytest.param("GET", "/v2/A/tags/list", 400, "NAME_INVALID", id="bad-name"),
        pytest.param("GET", "/v2/a/../b/tags/list", 400, "NAME_INVALID", id="climbing"),
        pytest.param("GET", "/v2/%2e%2e/blobs/sha256:0", 400, "NAME_INVALID", id="climbing-encoded"),
    ],
)
def test_every_request_has_an_answer(method: str, target: str, status: int, code: str | None) -> None:
    found = answer(method, target)
    assert found.status == status
    assert found.header("Docker-Distribution-Api-Version") == "registry/2.0"
    if code is not None:
        assert json.loads(found.body.read())["errors"][0]["code"] == code
