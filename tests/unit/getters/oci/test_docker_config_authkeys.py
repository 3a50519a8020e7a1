from __future__ import annotations

import pytest

from getmodules.getters.oci.docker_config import (
    AuthKey,
    canonical_host,
    key_paths,
    key_to_write,
    names_in_helpers,
    parse_key,
)


@pytest.mark.parametrize(
    ("text", "host", "path"),
    [
        pytest.param("ghcr.io", "ghcr.io", "", id="host"),
        pytest.param("GHCR.io", "ghcr.io", "", id="case-of-the-host"),
        pytest.param("ghcr.io/", "ghcr.io", "", id="trailing-slash"),
        pytest.param("https://ghcr.io", "ghcr.io", "", id="https"),
        pytest.param("HTTPS://ghcr.io/", "ghcr.io", "", id="https-in-capitals"),
        pytest.param("http://ghcr.io/v2/", "ghcr.io", "", id="http-with-api-version"),
        pytest.param("https://ghcr.io/acme", "ghcr.io", "", id="the-path-of-a-url-is-no-scope"),
        pytest.param("ghcr.io/acme", "ghcr.io", "acme", id="organization"),
        pytest.param("ghcr.io/acme/vpc/", "ghcr.io", "acme/vpc", id="repository"),
        pytest.param("ghcr.io/v1", "ghcr.io", "v1", id="an-organization-called-v1"),
        pytest.param("localhost:5000", "localhost:5000", "", id="port"),
        pytest.param("localhost:5000/a/b", "localhost:5000", "a/b", id="port-and-path"),
        pytest.param("[::1]:5000/a", "[::1]:5000", "a", id="ipv6"),
        pytest.param("ghcr.io:443", "ghcr.io:443", "", id="the-usual-port-is-a-port"),
        pytest.param("https://index.docker.io/v1/", "docker.io", "", id="docker-hub-as-docker-login-writes-it"),
        pytest.param("index.docker.io/v1/", "docker.io", "", id="docker-hub-without-scheme"),
        pytest.param("registry-1.docker.io", "docker.io", "", id="docker-hub-as-a-registry"),
        pytest.param("docker.io/library/nginx", "docker.io", "library/nginx", id="docker-hub-repository"),
        pytest.param("index.docker.io.evil.example", "index.docker.io.evil.example", "", id="longer-host"),
        pytest.param("", "", "", id="empty"),
        pytest.param("ftp://x/y", "ftp:", "/x/y".strip("/"), id="another-scheme-is-nobody"),
    ],
)
def test_parse_key(text: str, host: str, path: str) -> None:
    assert parse_key(text) == AuthKey(host, path)


@pytest.mark.parametrize(
    ("host", "repository", "expected"),
    [
        pytest.param("ghcr.io", "a/b/c", ["a/b/c", "a/b", "a"], id="most-specific-first"),
        pytest.param("ghcr.io", "a", ["a"], id="one-part"),
        pytest.param("ghcr.io", "", [], id="the-host-alone"),
        pytest.param("docker.io", "nginx", ["library/nginx", "library"], id="docker-hub-official"),
        pytest.param("docker.io", "a/b", ["a/b", "a"], id="docker-hub"),
    ],
)
def test_scopes(host: str, repository: str, expected: list[str]) -> None:
    assert key_paths(host, repository) == expected


def test_every_spelling_that_is_written_or_asked_for_leads_back() -> None:
    for registry in ("ghcr.io", "localhost:5000", "registry-1.docker.io", "index.docker.io", "docker.io", "[::1]:5000"):
        host = canonical_host(registry)
        for spelling in (key_to_write(host), *names_in_helpers(host)):
            assert parse_key(spelling) == AuthKey(host, "")


def test_what_helpers_are_asked_for() -> None:
    assert names_in_helpers("ghcr.io") == ("ghcr.io", "https://ghcr.io")
    assert names_in_helpers("docker.io")[:2] == ("https://index.docker.io/v1/", "docker.io")
