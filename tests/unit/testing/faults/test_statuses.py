"""Answers of the wrong status."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest

from tests.support.registryclient import Stocked, ask


@pytest.mark.parametrize(
    ("name", "status", "code", "headers"),
    [
        ("429", 429, "TOOMANYREQUESTS", {"Retry-After": None}),
        ("429-seconds", 429, "TOOMANYREQUESTS", {"Retry-After": "1"}),
        ("429-day", 429, "TOOMANYREQUESTS", {"Retry-After": "86400"}),
        ("429-garbage", 429, "TOOMANYREQUESTS", {"Retry-After": "soon; -1, NaN"}),
        ("401-basic-loop", 401, "UNAUTHORIZED", {"WWW-Authenticate": 'Basic realm="getmodules-testing"'}),
        ("403", 403, "DENIED", {}),
        ("500", 500, "UNKNOWN", {}),
        ("503", 503, "UNAVAILABLE", {"Retry-After": None}),
        ("503-retry-after", 503, "UNAVAILABLE", {"Retry-After": "1"}),
    ],
)
def test_a_refusal(stocked: Stocked, name: str, status: int, code: str, headers: dict[str, str | None]) -> None:
    with stocked.registry.fault(name):
        for target in (stocked.manifest, stocked.blob, stocked.tags):
            reply = ask(stocked.registry, "GET", target, headers={"Authorization": "Bearer x"})
            assert (reply.status, reply.code) == (status, code)
            assert {header: reply.headers[header] for header in headers} == headers


def test_a_date_that_is_near(stocked: Stocked) -> None:
    with stocked.registry.fault("429-date"):
        date = parsedate_to_datetime(ask(stocked.registry, "GET", "/v2/").header("Retry-After"))
    assert abs((date - datetime.now(UTC)).total_seconds()) < 3


def test_a_loop_that_asks_for_a_token(stocked: Stocked) -> None:
    with stocked.registry.fault("401-loop"):
        reply = ask(stocked.registry, "GET", stocked.manifest, headers={"Authorization": "Bearer x"})
    assert reply.status == 401
    assert f'Bearer realm="{stocked.registry.url}/token"' in reply.header("WWW-Authenticate")


@pytest.mark.parametrize(("name", "status"), [("204", 204), ("304", 304)])
def test_no_content_where_content_should_be(stocked: Stocked, name: str, status: int) -> None:
    with stocked.registry.fault(name):
        for target in (stocked.manifest, stocked.blob):
            assert (ask(stocked.registry, "GET", target).status) == status


def test_a_page_for_people(stocked: Stocked) -> None:
    with stocked.registry.fault("login-page"):
        for target in (stocked.manifest, stocked.blob, stocked.tags, "/token"):
            reply = ask(stocked.registry, "GET", target)
            assert (reply.status, reply.header("Content-Type")) == (200, "text/html; charset=utf-8")
            assert reply.body.startswith(b"<!DOCTYPE html>")


def test_bodies_of_errors(stocked: Stocked) -> None:
    with stocked.registry.fault("huge-error-body"):
        assert len(ask(stocked.registry, "GET", "/v2/").body) == 8 << 20
    with stocked.registry.fault("error-with-escapes"):
        assert "\x1b[2J" in ask(stocked.registry, "GET", "/v2/").json()["errors"][0]["message"]
    with stocked.registry.fault("error-not-json"), pytest.raises(ValueError, match="Expecting"):
        ask(stocked.registry, "GET", "/v2/").json()


def test_a_warning_beside_the_right_answer(stocked: Stocked) -> None:
    with stocked.registry.fault("warning"):
        reply = ask(stocked.registry, "GET", stocked.manifest)
    assert (reply.status, reply.body) == (200, stocked.package.manifest)
    assert reply.header("Warning").startswith('299 - "')
