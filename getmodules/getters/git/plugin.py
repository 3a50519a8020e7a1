"""Getter for ``git:``: the tree of a commit, exactly as it is stored, over any of git's own transports.

The identity of a package is its commit. This module checks addresses and makes requests of them; the others in this
folder decide what git is given.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from getmodules.addresses.types import Arguments, PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.hookspecs import hookimpl
from getmodules.api.model import Demand, Gate, Members, Pin, Want
from getmodules.api.ports import Context, Getter
from getmodules.errors import AddressError
from getmodules.util.redact import printable
from getmodules.util.values import replace

if TYPE_CHECKING:
    from getmodules.getters.git.fetch import WantedCommit
    from getmodules.getters.git.remote import Remote


_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@=-]*", re.ASCII)
_REF_NEVER = re.compile(r"\.\.|@\{|//|/\.|\.lock(?:/|$)|\.$|/$")
_DEPTH = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class _FetchRequest(NamedTuple):
    """The remote and the commit to fetch from it, with the parts of an address that its pin leaves out."""

    remote: Remote
    wanted: WantedCommit


class GitGetter:
    """Getter for git repositories."""

    schemes = ("git",)
    arguments = frozenset({"ref", "depth", "sshkey", "submodules"})
    core_arguments: frozenset[str] = frozenset()
    #: The argument for a version: versions are tags.
    version_argument = "ref"
    sends_on = False

    def check(self, package: PackageAddress) -> PackageAddress:
        from getmodules.getters.git.remote import TRANSPORTS

        url = check_url(package.url)
        if url.scheme not in TRANSPORTS:
            known = ", ".join(TRANSPORTS)
            raise AddressError(f"git has no transport {printable(url.scheme)!r} here", hint=f"transports: {known}")
        if bool(url.host) is (url.scheme == "file"):
            raise AddressError("the URL of a repository names a host, or is a path", hint="git::https://HOST/PATH")
        if url.path.strip("/") == "":
            raise AddressError("there is no repository in this address", hint="git::https://HOST/PATH")
        _check_arguments(package)
        # git://… alone is git's own protocol; written out, it is one address with git::git://….
        return replace(package, forced=True)

    def demands(self, package: PackageAddress) -> Iterable[Demand]:
        from getmodules.getters.git.refs import full_commit

        commit = full_commit(package.arguments.get("ref"))
        return (Demand(gate=Gate.PIN, check="commit", value=commit, by="the address"),) if commit else ()

    def resolve(self, package: PackageAddress, context: Context) -> Pin:
        from getmodules.getters.git.fetch import WantedCommit
        from getmodules.getters.git.locate import locate
        from getmodules.getters.git.remote import Remote

        remote = Remote.of(package)
        commit, ref = locate(remote, package.arguments.get("ref"), context)
        pinned = _pinned(package, remote, commit)
        request = _FetchRequest(remote, WantedCommit(commit, ref, _depth(package)))
        context.once(_key(pinned), lambda: request)
        return Pin(package=pinned, id=commit, digests={"commit": commit})

    def versions(self, package: PackageAddress, context: Context) -> Iterable[str]:
        """Return the names of all tags."""
        from getmodules.getters.git.locate import refs_of
        from getmodules.getters.git.remote import Remote

        return refs_of(Remote.of(package), context).tags()

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Members:
        from getmodules.getters.git.fetch import Budget, WantedCommit
        from getmodules.getters.git.process import Git
        from getmodules.getters.git.remote import Remote
        from getmodules.getters.git.repository import RepositoryMembers, RepositoryPackage, Tools
        from getmodules.getters.git.tree import PathSelection

        assert pin.id is not None  # resolve gives one
        commit = pin.id
        # A pin may be from an earlier run. Then nothing was resolved in this one, and the pin's own address must do.
        remote, wanted = context.once(
            _key(pin.package),
            lambda: _FetchRequest(Remote.of(pin.package), WantedCommit(commit, None, _depth(pin.package))),
        )
        git = Git(context)
        tools = Tools(git, Budget(context.limits), pin.package.arguments.get("submodules") != "false")
        package = RepositoryPackage(remote, wanted, PathSelection.of(want.subdir for want in wants), tools)
        package.open()
        return Members(RepositoryMembers(package, tools), digests={"commit": commit, "tree": package.tree})


def _key(pinned: PackageAddress) -> tuple[str, str]:
    return "git fetch request", str(pinned)


def _pinned(package: PackageAddress, remote: Remote, commit: str) -> PackageAddress:
    """Return the address that always leads to the same tree, without secrets."""
    arguments = package.arguments
    # true is what leaving it out means: one tree has one pin
    kept = arguments.only("submodules").items_typed if arguments.get("submodules") == "false" else ()
    ref = Arguments().with_value("ref", commit).items_typed
    return replace(package, url=remote.location, arguments=Arguments((*ref, *kept)))


def _depth(package: PackageAddress) -> int:
    return int(package.arguments.get("depth", "1"))


def _check_arguments(package: PackageAddress) -> None:
    arguments = package.arguments
    ref = arguments.get("ref")
    if ref is not None:
        check_ref(ref)
    depth = arguments.get("depth")
    if depth is not None and not _DEPTH.fullmatch(depth):
        raise AddressError(f"depth is a positive whole number, not {printable(depth)!r}")
    submodules = arguments.get("submodules")
    if submodules not in (None, "true", "false"):
        raise AddressError(
            f"submodules is true or false, not {printable(submodules)!r}", hint="left out, they are part of the package"
        )
    sshkey = arguments.get("sshkey")
    if sshkey is not None:
        _check_sshkey(sshkey, check_url(package.url).scheme)


def check_ref(ref: str) -> None:
    """Raise unless ``ref`` is a name that git can take as a ref or a commit, and never as an option or a range."""
    if not ref:
        raise AddressError("ref is empty", hint="leave it out for the repository's default branch")
    if not _REF.fullmatch(ref) or _REF_NEVER.search(ref):
        raise AddressError(f"{printable(ref)!r} is not a git ref", hint="a branch, a tag, a commit, or refs/… in full")


def _check_sshkey(value: str, scheme: str) -> None:
    if scheme != "ssh":
        raise AddressError(
            "sshkey is for ssh:// addresses", hint="write git::ssh://…; for https, a token: GETMODULES_TOKEN_<host>"
        )
    try:
        key = base64.b64decode(value, validate=True)
    except ValueError:  # binascii's own error, or the plain one where there are letters beyond ASCII
        key = b""
    if not key:
        # The value is not shown: it may be most of a private key.
        raise AddressError("sshkey is not base64", hint="base64 -w0 < ~/.ssh/id_ed25519")


@hookimpl
def getmodules_getters() -> Iterable[Getter]:
    return (GitGetter(),)
