"""Answers that send a client elsewhere."""

from __future__ import annotations

import re

import pytest

from tests.support.registryclient import OCTETS, Stocked, ask, sha

ELSEWHERE = "http://127.0.0.9:99"


@pytest.mark.parametrize(
    ("name", "realm"),
    [
        ("realm-elsewhere", f"{ELSEWHERE}/token"),
        ("realm-http", "http://{host}/token"),
        ("realm-http-elsewhere", f"{ELSEWHERE}/token"),
        ("realm-private", "https://10.255.255.1/token"),
        ("realm-link-local", "http://169.254.169.254/latest/meta-data/iam/security-credentials/"),
        ("realm-userinfo", "http://user:password@{host}/token"),
        ("realm-file", "file:///etc/passwd"),
        ("realm-garbage", "http://[::1]:99999\\@:token"),
    ],
)
def test_a_realm(stocked: Stocked, name: str, realm: str) -> None:
    with stocked.registry.fault(name, to=ELSEWHERE):
        reply = ask(stocked.registry, "GET", stocked.manifest)
    assert (reply.status, reply.code) == (401, "UNAUTHORIZED")
    found = dict(re.findall(r'(\w+)="([^"]*)"', reply.header("WWW-Authenticate")))
    assert found["realm"] == realm.format(host=stocked.registry.host)
    assert found["scope"] == "repository:acme/vpc:pull"


@pytest.mark.parametrize(
    ("name", "challenge"),
    [
        ("realm-missing", 'Bearer service="getmodules-testing"'),
        ("challenge-missing", None),
        ("challenge-unknown", "Negotiate"),
    ],
)
def test_a_challenge_that_cannot_be_met(stocked: Stocked, name: str, challenge: str | None) -> None:
    with stocked.registry.fault(name):
        reply = ask(stocked.registry, "GET", stocked.manifest)
    assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, challenge)


@pytest.mark.parametrize(
    ("name", "location"),
    [
        ("redirect-elsewhere", ELSEWHERE + "{blob}"),
        ("redirect-http", ELSEWHERE + "{blob}"),
        ("redirect-private", "http://169.254.169.254/latest/meta-data/"),
        ("redirect-file", "file:///etc/passwd"),
        ("redirect-userinfo", "http://user:password@{host}{blob}"),
        ("redirect-loop", "{blob}"),
        ("redirect-endless", "{blob}?hop=1"),
        ("redirect-without-location", None),
    ],
)
def test_a_redirect(stocked: Stocked, name: str, location: str | None) -> None:
    with stocked.registry.fault(name, to=ELSEWHERE):
        reply = ask(stocked.registry, "GET", stocked.blob)
        assert ask(stocked.registry, "GET", stocked.manifest).status == 200
    expected = location and location.format(blob=stocked.blob, host=stocked.registry.host)
    assert (reply.status, reply.headers["Location"]) == (307, expected)


def test_a_redirect_without_end_never_comes_back(stocked: Stocked) -> None:
    target, seen = stocked.blob, set()
    with stocked.registry.fault("redirect-endless"):
        for _ in range(5):
            target = ask(stocked.registry, "GET", target).header("Location")
            assert target not in seen
            seen.add(target)


def test_a_redirect_that_is_right(stocked: Stocked) -> None:
    with stocked.registry.fault("redirect"):
        reply = ask(stocked.registry, "GET", stocked.blob)
        assert reply.status == 307
        assert ask(stocked.registry, "GET", reply.header("Location")).body == stocked.content


@pytest.mark.parametrize(
    ("name", "location"),
    [
        ("upload-elsewhere", ELSEWHERE + "/v2/a/blobs/uploads/"),
        ("upload-file", "file:///v2/a/blobs/uploads/"),
        ("upload-absolute", "http://{host}/v2/a/blobs/uploads/"),
        ("upload-with-query", "/v2/a/blobs/uploads/"),
    ],
)
def test_an_upload_goes_on_elsewhere(stocked: Stocked, name: str, location: str) -> None:
    with stocked.registry.fault(name, to=ELSEWHERE):
        reply = ask(stocked.registry, "POST", "/v2/a/blobs/uploads/")
        assert reply.status == 202
        assert reply.header("Location").startswith(location.format(host=stocked.registry.host))
        at_once = ask(stocked.registry, "POST", f"/v2/a/blobs/uploads/?digest={sha(b'')}", b"", OCTETS)
        assert (at_once.status, at_once.header("Location")) == (201, f"/v2/a/blobs/{sha(b'')}")


def test_an_upload_whose_address_has_a_query_is_finished(stocked: Stocked) -> None:
    with stocked.registry.fault("upload-with-query"):
        location = ask(stocked.registry, "POST", "/v2/a/blobs/uploads/").header("Location")
        assert "?state=some%2Fstate&more=" in location
        assert ask(stocked.registry, "PUT", f"{location}&digest={sha(b'x')}", b"x", OCTETS).status == 201


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("link-elsewhere", ELSEWHERE + "/v2/acme/vpc/tags/list"),
        ("link-http", ELSEWHERE + "/v2/acme/vpc/tags/list"),
        ("link-file", "file:///etc/passwd"),
        ("link-loop", "/v2/acme/vpc/tags/list"),
        ("link-endless", "/v2/acme/vpc/tags/list?page=1"),
        ("link-garbage", "http://[::1]:99999\\@"),
    ],
)
def test_a_next_page(stocked: Stocked, name: str, address: str) -> None:
    with stocked.registry.fault(name, to=ELSEWHERE):
        reply = ask(stocked.registry, "GET", stocked.tags)
    assert reply.json()["tags"] == ["1.0"]
    assert reply.header("Link") == f'<{address}>; rel="next"'


def test_pages_without_end_never_come_back(stocked: Stocked) -> None:
    with stocked.registry.fault("link-endless"):
        links = {ask(stocked.registry, "GET", stocked.tags).header("Link") for _ in range(5)}
    assert len(links) == 5


def test_a_next_page_relative_to_this_one(stocked: Stocked) -> None:
    stocked.registry.push("acme/vpc", stocked.package, "2.0")
    with stocked.registry.fault("link-relative"):
        reply = ask(stocked.registry, "GET", f"{stocked.tags}?n=1")
        assert reply.header("Link") == '<?n=1&last=1.0>; rel="next"'
        last = ask(stocked.registry, "GET", f"{stocked.tags}?n=1&last=1.0")
        assert (last.json()["tags"], last.headers["Link"]) == (["2.0"], None)
