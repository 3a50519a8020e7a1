"""Routes, and checks of repository names, tags and digests, made before anything is looked up."""

from __future__ import annotations

import re
from typing import Literal

from getmodules.testing.registry.wire import RefusalError, digest_invalid
from getmodules.util.digest import Digest
from getmodules.util.values import valueclass

Kind = Literal["ping", "token", "manifest", "blob", "upload", "tags", "referrers", "unknown"]
KINDS: tuple[Kind, ...] = ("ping", "token", "manifest", "blob", "upload", "tags", "referrers", "unknown")

_LONGEST_NAME = 255
_NAME_PART = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_NAME = re.compile(rf"{_NAME_PART}(?:/{_NAME_PART})*", re.ASCII)
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)

_ROUTES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("upload", re.compile(r"/v2/(?P<name>.+)/blobs/uploads/(?P<reference>[^/]*)")),
    ("upload", re.compile(r"/v2/(?P<name>.+)/blobs/uploads(?P<reference>)")),
    ("blob", re.compile(r"/v2/(?P<name>.+)/blobs/(?P<reference>[^/]+)")),
    ("manifest", re.compile(r"/v2/(?P<name>.+)/manifests/(?P<reference>[^/]+)")),
    ("referrers", re.compile(r"/v2/(?P<name>.+)/referrers/(?P<reference>[^/]+)")),
    ("tags", re.compile(r"/v2/(?P<name>.+)/tags/list(?P<reference>)")),
)


@valueclass(kw_only=False)
class Route:
    """The kind of a request, and the repository's name and the reference as they came."""

    kind: Kind
    name: str = ""
    reference: str = ""


def route(path: str) -> Route:
    """Return the route of a path."""
    if path in ("/v2", "/v2/"):
        return Route("ping")
    if path == "/token":
        return Route("token")
    for kind, pattern in _ROUTES:
        found = pattern.fullmatch(path)
        if found:
            return Route(kind, found["name"], found["reference"])
    return Route("unknown")


def checked_name(name: str) -> str:
    """Return ``name`` if it is the name of a repository; refuse it otherwise."""
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise RefusalError(400, "NAME_INVALID", "invalid repository name", detail={"name": name[:_LONGEST_NAME]})
    return name


def is_tag(reference: str) -> bool:
    """Return whether a reference can be a tag."""
    return _TAG.fullmatch(reference) is not None


def checked_digest(text: str) -> Digest:
    """Parse a digest; refuse the request if it is not one."""
    try:
        return Digest.parse(text)
    except ValueError as error:
        raise digest_invalid(f"invalid digest: {error}") from error
