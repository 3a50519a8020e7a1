"""Addresses that were meant: the spelling here for what other tools call a module or an image.

Only ever a hint: what such a name means is a guess, and the user decides. A guess that is not an address is none.
"""

from __future__ import annotations

import re

from getmodules.addresses.grammar import join_subdirs, merge_arguments, parse_query
from getmodules.addresses.types import SourceAddress
from getmodules.errors import AddressError
from getmodules.util.values import replace

_DOCKER_HUB = "docker.io"
#: An image as docker writes it. The first part is a host if it has a dot or a port, or is ``localhost``.
_IMAGE = re.compile(
    r"(?:(?P<host>localhost(?::\d+)?|[^/:@]+\.[^/:@]+(?::\d+)?|[^/:@]+:\d+)/)?(?P<name>[^:@]+)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]*))?(?:@(?P<digest>sha(?:256|384|512):[0-9a-f]{64,}))?",
    re.ASCII,
)
#: Registries that are known by their names, and those of developers.
_REGISTRIES = re.compile(
    r"ghcr\.io|docker\.io|quay\.io|(?:.+\.)?gcr\.io|mcr\.microsoft\.com|public\.ecr\.aws|.+\.azurecr\.io|.+\.pkg\.dev|"
    r".+\.dkr\.ecr\..+\.amazonaws\.com(?:\.cn)?|registry\..+|localhost(?::\d+)?"
)
_IMAGE_SCHEME = re.compile(r"(?:docker|oci):(?://)?", re.IGNORECASE)
#: A repository of Azure DevOps, at any of its hosts.
_AZURE = re.compile(r"(?P<url>[^/:@]+\.[^/:@]+/(?:[^/]+/)+_git/[^/]+)(?:/(?P<subdir>.+))?")
#: The hosts of object stores that go-getter and OpenTofu take without a scheme, and the scheme that they mean.
_STORES = (
    (re.compile(r"(?:.+\.)?s3(?:[.-][a-z0-9-]+)*\.amazonaws\.com(?:\.cn)?", re.IGNORECASE), "s3"),
    (re.compile(r"(?:www\.googleapis\.com|(?:.+\.)?storage\.googleapis\.com)", re.IGNORECASE), "gcs"),
    (re.compile(r"[^.]+\.blob\.core\.[a-z]+\.[a-z]+", re.IGNORECASE), "az"),
)


def meant_address(typed: SourceAddress) -> SourceAddress | None:
    """Return the address that was probably meant by an image's name or a repository of Azure DevOps, or None."""
    if store_scheme(typed.body) is not None:
        return None
    try:
        return _repository(typed) or _image(typed)
    except AddressError:  # such as a tag in the name and another one in the query
        return None


def store_scheme(body: str) -> str | None:
    """Return the scheme that the shorthand for an object store's host means, or None for anything else."""
    host, slash, _ = body.partition("/")
    return next((scheme for hosts, scheme in _STORES if slash and hosts.fullmatch(host)), None)


def _repository(typed: SourceAddress) -> SourceAddress | None:
    found = _AZURE.fullmatch(typed.body)
    if found is None or typed.force not in (None, "git"):
        return None
    subdir = join_subdirs(found["subdir"] or "", typed.subdir)
    return replace(typed, force="git", body=f"https://{found['url']}", subdir=subdir)


def _image(typed: SourceAddress) -> SourceAddress | None:
    scheme = _IMAGE_SCHEME.match(typed.body)
    found = _IMAGE.fullmatch(typed.body, scheme.end() if scheme else 0)
    if found is None or typed.force not in (None, "oci") or not (scheme or _looks_like_image(found)):
        return None
    host, name = found["host"] or _DOCKER_HUB, found["name"]
    if found["host"] is None and scheme is not None and scheme[0].lower().startswith("oci"):
        host, _, name = name.partition("/")  # only docker has a registry that need not be named
    if host == _DOCKER_HUB and "/" not in name:
        name = f"library/{name}"
    # As docker does it: the digest decides, and the tag beside it is for people.
    version = f"digest={found['digest']}" if found["digest"] else f"tag={found['tag']}" if found["tag"] else ""
    arguments = merge_arguments(parse_query(version).items_typed, typed.arguments.items_typed)
    return replace(typed, force=None, body=f"oci://{host}/{name}", arguments=arguments)


def _looks_like_image(found: re.Match[str]) -> bool:
    """Return whether it is more likely the name of an image than a path or a URL without its scheme."""
    host = found["host"] or ""
    return bool(found["digest"] or (found["tag"] and "/" in found[0]) or _REGISTRIES.fullmatch(host))
