"""The grammars of OCI repositories, tags and digests."""

from __future__ import annotations

import re

from getmodules.addresses.types import Arguments, PackageAddress
from getmodules.errors import AddressError
from getmodules.util.digest import Digest
from getmodules.util.redact import printable

DEFAULT_TAG = "latest"
MAX_NAME = 255
# The specification's own `[-]*` makes nested repetition that backtracks for ever; `-+` means the same here.
_PART = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*", re.ASCII)
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)
_SUFFIX = re.compile(r"(?P<name>[^@:]+)(?::(?P<tag>[^@:/]+))?(?:@(?P<digest>[^@/]+))?", re.ASCII)
_ATTACHMENT = re.compile(r"sha(?:256-[0-9a-f]{64}|384-[0-9a-f]{96}|512-[0-9a-f]{128})(?:\..*)?", re.ASCII)


def check_repository(registry: str, name: str) -> None:
    """Raise :class:`AddressError` unless ``name`` can be a repository of ``registry`` (host and port)."""
    if not name:
        raise AddressError("there is no repository in this address", hint="write oci://HOST/REPOSITORY")
    if len(registry) + 1 + len(name) > MAX_NAME:
        raise AddressError(f"registry and repository are longer than {MAX_NAME} characters")
    if _REPOSITORY.fullmatch(name):
        return
    suffix = _SUFFIX.fullmatch(name)
    if suffix is not None and _REPOSITORY.fullmatch(suffix["name"]) and suffix["name"] != name:
        argument = f"digest={suffix['digest']}" if suffix["digest"] else f"tag={suffix['tag']}"
        raise AddressError(
            f"the repository name {printable(name)!r} has a tag or digest attached",
            hint=f"write oci://{registry}/{suffix['name']}?{printable(argument)}",
        )
    hint = "repository names are lower case" if name != name.lower() else "allowed: a-z 0-9 . _ - and / between parts"
    raise AddressError(f"{printable(name)!r} is not a repository name", hint=hint)


def version_of(package: PackageAddress) -> tuple[str, Digest | None]:
    """Return the tag of a checked address, and its digest, which takes precedence, or ``None``."""
    digest = package.arguments.get("digest")
    return package.arguments.get("tag", DEFAULT_TAG), None if digest is None else parse_digest(digest)


def check_version(arguments: Arguments) -> None:
    """Raise :class:`AddressError` unless ``tag=`` or ``digest=`` is valid, and only one of them is given."""
    tag, digest = arguments.get("tag"), arguments.get("digest")
    if tag is not None and digest is not None:
        raise AddressError("tag and digest exclude each other", hint="the digest alone is the safer one")
    if tag is not None:
        check_tag(tag)
    if digest is not None:
        parse_digest(digest)


def is_tag(text: str) -> bool:
    return _TAG.fullmatch(text) is not None


def check_tag(tag: str) -> None:
    """Raise :class:`AddressError` unless ``tag`` is a valid tag."""
    if is_tag(tag):
        return
    hint = "a version's '+' is written '_' in tags" if "+" in tag else "allowed: A-Z a-z 0-9 _ . - (at most 128)"
    if "//" in tag:
        hint = "a subdirectory stands before the '?'"
    raise AddressError(f"{printable(tag)!r} is not a tag", hint=hint)


def is_attachment_tag(tag: str) -> bool:
    """Return whether a tag is for attachments and not a version: signatures, attestations, lists of referrers."""
    return _ATTACHMENT.fullmatch(tag) is not None


def published_tag(package: PackageAddress) -> str:
    """Return the tag to publish under, which the address must name: there is no default."""
    if "digest" in package.arguments:
        raise AddressError("a digest is what publishing results in, not where it goes", hint="write ?tag=VERSION")
    if "tag" not in package.arguments:
        raise AddressError("there is no tag to publish under in this address", hint="write ?tag=VERSION")
    tag = package.arguments["tag"]
    if is_attachment_tag(tag):
        raise AddressError(
            f"the tag {printable(tag)!r} is of the form that signatures and the like are kept under",
            hint="write ?tag=VERSION",
        )
    return tag


def parse_digest(text: str) -> Digest:
    """Return the digest in an address, or raise :class:`AddressError`."""
    try:
        return Digest.parse(text)
    except ValueError as error:
        raise AddressError(
            f"{printable(text)!r} is not a digest: {error}", hint="write digest=sha256:HEX, with 64 lower-case digits"
        ) from None
