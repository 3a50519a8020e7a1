"""How docker, podman and oras write down whom a credential is for: the keys of their credential files.

One host has many spellings (``ghcr.io``, ``https://ghcr.io/v2/``), Docker Hub the most. A key without a scheme
may have a path behind the host: it is for the repositories below it and for no others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

DOCKER_HUB: Final = "docker.io"
#: What ``docker login`` has called Docker Hub ever since, in files and to helpers.
DOCKER_HUB_KEY: Final = "https://index.docker.io/v1/"
_DOCKER_HUB_HOSTS = frozenset({DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})
_API_VERSIONS = ("v1", "v2")


class AuthKey(NamedTuple):
    """A host (with its port) in its one spelling; ``path`` is empty where the key is for all of the host."""

    host: str
    path: str


def canonical_host(registry: str) -> str:
    """The one spelling of ``host[:port]``. Another port is another registry, also where it is the usual one."""
    host = registry.lower()
    return DOCKER_HUB if host in _DOCKER_HUB_HOSTS else host


def parse_key(text: str) -> AuthKey:
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        scheme, rest = "", text
    host, _, path = rest.partition("/")
    host, path = canonical_host(host), path.strip("/")
    # The path of a URL is the API's, which says nothing about repositories: docker and podman drop it as well.
    if scheme or (host == DOCKER_HUB and path in _API_VERSIONS):
        path = ""
    return AuthKey(host, path)


def scopes(host: str, repository: str) -> list[str]:
    """The paths of keys that are for ``repository`` and not for all of ``host``, the most specific one first."""
    parts = [part for part in repository.split("/") if part]
    if host == DOCKER_HUB and len(parts) == 1:
        parts.insert(0, "library")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def key_to_write(host: str) -> str:
    """The spelling that docker, podman and oras all look for."""
    return DOCKER_HUB_KEY if host == DOCKER_HUB else host


def names_in_helpers(host: str) -> tuple[str, ...]:
    """Under which names a helper may know ``host``; programs store it under the first one."""
    if host == DOCKER_HUB:
        return (DOCKER_HUB_KEY, DOCKER_HUB, "index.docker.io", "registry-1.docker.io")
    return (host, f"https://{host}")
