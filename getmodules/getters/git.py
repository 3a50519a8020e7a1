"""Git addresses: what can be known about them without asking a server."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import replace

from getmodules.address import check_url
from getmodules.errors import AddressError, FetchError
from getmodules.hookspecs import hookimpl
from getmodules.model import Blob, PackageAddress, Pin, Want
from getmodules.ports import Context, Getter
from getmodules.redact import printable

#: git never hears of any other: ``ext::`` and its kin run commands.
_TRANSPORTS = ("https", "http", "ssh", "git", "file")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@=-]*", re.ASCII)
_REF_NEVER = re.compile(r"\.\.|@\{|//|/\.|\.lock(?:/|$)|\.$|/$")
_DEPTH = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class GitGetter:
    schemes = ("git",)
    arguments = frozenset({"ref", "depth", "sshkey", "submodules"})
    core_arguments: frozenset[str] = frozenset()

    def check(self, package: PackageAddress) -> PackageAddress:
        url = check_url(package.url)
        if url.scheme not in _TRANSPORTS:
            known = ", ".join(_TRANSPORTS)
            raise AddressError(f"git has no transport {printable(url.scheme)!r} here", hint=f"transports: {known}")
        if bool(url.host) is (url.scheme == "file"):
            raise AddressError("the URL of a repository names a host, or is a path", hint="git::https://HOST/PATH")
        if url.path.strip("/") == "":
            raise AddressError("there is no repository in this address")
        _check_arguments(package)
        # git://… alone is git's own protocol; written out, it is one address with git::git://….
        return replace(package, forced=True)

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Blob:
        raise FetchError(
            "this version checks git addresses but cannot fetch them yet",
            part="not-yet",
            hint="fetch it yourself and give its path; getmodules push publishes it to an OCI registry",
        )


def _check_arguments(package: PackageAddress) -> None:
    arguments = package.arguments
    ref = arguments.get("ref")
    if ref is not None:
        check_ref(ref)
    depth = arguments.get("depth")
    if depth is not None and not _DEPTH.fullmatch(depth):
        raise AddressError(f"depth is a positive whole number, not {printable(depth)!r}")
    submodules = arguments.get("submodules")
    if submodules not in (None, "false"):
        raise AddressError(
            f"submodules can only be false, not {printable(submodules)!r}", hint="they are on by default"
        )
    sshkey = arguments.get("sshkey")
    if sshkey is not None:
        _check_sshkey(sshkey, check_url(package.url).scheme)


def check_ref(ref: str) -> None:
    """A name that git can take as a ref or a commit, and can never take as an option or a range."""
    if not ref:
        raise AddressError("ref is empty", hint="leave it out for the repository's default branch")
    if not _REF.fullmatch(ref) or _REF_NEVER.search(ref):
        raise AddressError(f"{printable(ref)!r} is not a git ref", hint="a branch, a tag, a commit, or refs/… in full")


def _check_sshkey(value: str, scheme: str) -> None:
    if scheme != "ssh":
        raise AddressError("sshkey is for ssh:// addresses")
    try:
        key = base64.b64decode(value, validate=True)
    except ValueError:  # binascii's own error, or the plain one where there are letters beyond ASCII
        key = b""
    if not key:
        # Never shown: it is most of somebody's private key.
        raise AddressError("sshkey is not base64", hint="base64 -w0 < ~/.ssh/id_ed25519")


@hookimpl
def getmodules_getters() -> Iterable[Getter]:
    return (GitGetter(),)
