"""Tags and referrers, page by page."""

from __future__ import annotations

from urllib.parse import urljoin

import pytest

from getmodules.testing import Behaviour, Registry, artifact, module_package
from getmodules.testing.registry.store import IMAGE_INDEX
from tests.support.registryclient import Client, Reply, ask, sha

MODULE = module_package({"main.tf": "x"})
TAGS = ["1.0.0", "1.10.0", "1.2.0", "A", "_x", "a", "z"]


def next_page(reply: Reply, target: str) -> str | None:
    link = reply.headers["Link"]
    if link is None:
        return None
    address, _, relation = str(link).partition(">; ")
    assert relation == 'rel="next"'
    return urljoin(target, address.removeprefix("<"))


def pages(registry: Registry, target: str | None, member: str) -> list[list[object]]:
    found = []
    with Client(registry) as client:
        while target is not None:
            reply = client.ask("GET", target)
            assert reply.status == 200
            found.append(reply.json()[member])
            target = next_page(reply, target)
    return found


@pytest.fixture
def tagged(registry: Registry) -> Registry:
    registry.push("a/b", MODULE, *reversed(TAGS))
    return registry


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [TAGS]),
        ("?n=7", [TAGS]),
        ("?n=100", [TAGS]),
        ("?n=3", [TAGS[:3], TAGS[3:6], TAGS[6:]]),
        ("?n=2&last=A", [TAGS[4:6], TAGS[6:]]),
        ("?last=1.1", [TAGS[1:]]),
        ("?last=zz", [[]]),
        ("?n=0", [[]]),
    ],
)
def test_tags_are_sorted_and_come_in_pages(tagged: Registry, query: str, expected: list[list[str]]) -> None:
    assert pages(tagged, f"/v2/a/b/tags/list{query}", "tags") == expected
    assert ask(tagged, "GET", "/v2/a/b/tags/list").json()["name"] == "a/b"


@pytest.mark.parametrize("n", ["x", "-1", "1.5", "", "9" * 50])
def test_a_page_size_that_is_none(tagged: Registry, n: str) -> None:
    reply = ask(tagged, "GET", f"/v2/a/b/tags/list?n={n}")
    assert (reply.status, reply.code) == (400, "PAGINATION_NUMBER_INVALID")


def test_a_registry_may_have_a_longest_page() -> None:
    with Registry(behaviour=Behaviour(page_size=4)) as registry:
        registry.push("a", MODULE, *TAGS)
        assert pages(registry, "/v2/a/tags/list", "tags") == [TAGS[:4], TAGS[4:]]
        assert pages(registry, "/v2/a/tags/list?n=1000", "tags") == [TAGS[:4], TAGS[4:]]


def test_tags_of_what_is_not_there(registry: Registry) -> None:
    reply = ask(registry, "GET", "/v2/a/tags/list")
    assert (reply.status, reply.code) == (404, "NAME_UNKNOWN")


def test_referrers_are_described_and_filtered(registry: Registry) -> None:
    registry.push("a", MODULE, "1.0")
    signature = artifact("a/signature", [], annotations={"k": "v"}, subject=MODULE)
    by_config = artifact(None, [], config=("a/config", b"{}"), subject=MODULE)
    for package in (signature, by_config, artifact("a/other", [], subject=signature)):
        registry.push("a", package)
    target = f"/v2/a/referrers/{MODULE.digest}"
    reply = ask(registry, "GET", target)
    assert (reply.status, reply.header("Content-Type")) == (200, IMAGE_INDEX)
    index = reply.json()
    assert (index["schemaVersion"], index["mediaType"]) == (2, IMAGE_INDEX)
    described = {entry["digest"]: entry for entry in index["manifests"]}
    assert described == {
        str(signature.digest): signature.descriptor(artifactType="a/signature", annotations={"k": "v"}),
        str(by_config.digest): by_config.descriptor(artifactType="a/config"),
    }
    assert reply.headers["OCI-Filters-Applied"] is None
    filtered = ask(registry, "GET", f"{target}?artifactType=a%2Fsignature")
    assert [entry["digest"] for entry in filtered.json()["manifests"]] == [str(signature.digest)]
    assert filtered.header("OCI-Filters-Applied") == "artifactType"
    assert ask(registry, "GET", f"{target}?artifactType=x").json()["manifests"] == []


def test_a_referrer_that_is_deleted_is_not_listed(registry: Registry) -> None:
    digest = registry.push("a", artifact("a/b", [], subject=MODULE))
    assert ask(registry, "DELETE", f"/v2/a/manifests/{digest}").status == 202
    assert ask(registry, "GET", f"/v2/a/referrers/{MODULE.digest}").json()["manifests"] == []


def test_referrers_come_in_pages_and_keep_the_filter() -> None:
    with Registry(behaviour=Behaviour(page_size=2)) as registry:
        packages = [artifact("a/b", [], annotations={"n": str(n)}, subject=MODULE) for n in range(5)]
        for package in (*packages, artifact("a/c", [], subject=MODULE)):
            registry.push("a", package)
        target = f"/v2/a/referrers/{MODULE.digest}?artifactType=a/b"
        found = pages(registry, target, "manifests")
        assert [len(page) for page in found] == [2, 2, 1]
        digests = [entry["digest"] for page in found for entry in page]  # type: ignore[index]
        assert sorted(digests) == sorted(str(package.digest) for package in packages)


def test_nothing_refers_to_what_is_not_there(registry: Registry) -> None:
    reply = ask(registry, "GET", f"/v2/unknown/referrers/{sha(b'x')}")
    assert (reply.status, reply.json()["manifests"]) == (200, [])


def test_a_subject_that_is_no_digest(registry: Registry) -> None:
    reply = ask(registry, "GET", "/v2/a/referrers/latest")
    assert (reply.status, reply.code) == (400, "DIGEST_INVALID")


def test_the_referrers_api_may_be_missing() -> None:
    with Registry(behaviour=Behaviour(referrers_api=False)) as registry:
        registry.push("a", artifact("a/b", [], subject=MODULE))
        assert ask(registry, "GET", f"/v2/a/referrers/{MODULE.digest}").status == 404


@pytest.mark.parametrize("target", ["/v2/a/tags/list", f"/v2/a/referrers/{sha(b'x')}"])
def test_other_methods_are_not_supported(registry: Registry, target: str) -> None:
    assert ask(registry, "DELETE", target).code == "UNSUPPORTED"
