"""The check of a repository's host before git connects to it.

A server that names a repository (``X-Terraform-Get``, a registry, ``.gitmodules``) must not make us send requests to
machines that it cannot reach itself. Names are resolved here and passed to git together with their addresses (git
2.37 and newer take them), so that a name cannot mean another machine a moment later. ssh resolves names itself; there
the known host key proves the identity of the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from getmodules.errors import NetworkError, UnsafeContentError
from getmodules.getters.git.environment import environment
from getmodules.getters.git.process import Git
from getmodules.getters.git.remote import Remote
from getmodules.getters.git.rewriting import rewritten
from getmodules.net.address_check import address_class, check_written_address
from getmodules.net.connecting import is_address, look_up
from getmodules.util.values import valueclass


@valueclass(kw_only=False)
class CheckedHost:
    """The result of the check of one host."""

    #: The kind of network that the host is in; ``None`` if that is unknown.
    kind: str | None = None
    #: Settings of git that pin the addresses of the host.
    settings: tuple[tuple[str, str], ...] = ()


def check_host(remote: Remote, git: Git, directory: Path) -> CheckedHost:
    """Check the host of ``remote``; raise if ``context.check_address`` refuses one of its addresses."""
    context = git.context
    check = context.check_address
    if check is not None and rewritten(remote, git, directory) != remote.location:
        return CheckedHost()  # the user's own ``insteadOf`` decides, and no server
    host = remote.origin.host.strip("[]")
    if remote.is_web and context.network.settings.has_proxy_for(remote.location):
        if check is not None:
            check_written_address(host, check)
        return CheckedHost()
    found = _addresses(host, remote.origin.port, context.network.settings.connecting, context.checkpoint)
    if not found:
        if check is not None and remote.scheme != "ssh" and not _has_proxy(remote, git, directory):
            raise NetworkError(
                f"{remote.shown}: the host is not known", hint="is the network there, and the host spelled right?"
            )
        return CheckedHost()  # ssh or a proxy may know the name; if not, git reports it
    if check is not None:
        for address in found:  # all of them, since not every transport lets us choose one
            check(address)
    kinds = set(map(address_class, found))
    # A host in two kinds of networks could have answered from either.
    return CheckedHost(kinds.pop() if len(kinds) == 1 else None, _pinned(remote, host, found))


def _addresses(host: str, port: int, seconds: float, checkpoint: Callable[[], None]) -> list[str]:
    end = time.monotonic() + seconds
    try:
        found = look_up(host, port, lambda: end - time.monotonic(), checkpoint)
    except (OSError, ValueError):
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _pinned(remote: Remote, host: str, addresses: list[str]) -> tuple[tuple[str, str], ...]:
    if not remote.is_web or is_address(host):
        return ()
    written = ",".join(f"[{each}]" if ":" in each else each for each in addresses)
    return (("http.curloptResolve", f"{host}:{remote.origin.port}:{written}"),)


def _has_proxy(remote: Remote, git: Git, directory: Path) -> bool:
    """Return whether the user's configuration names a proxy, which then resolves the names."""
    if not remote.is_web:
        return False
    asked = ["config", "--get-urlmatch", "http.proxy", remote.location]
    return bool(git.run(asked, environment(git.context.environ, directory)).output.strip())


def too_far_in(path: str, kind: str, address: str) -> UnsafeContentError:
    """Return the error for the submodule at ``path``, whose address its repository must not lead to."""
    return UnsafeContentError(
        f"the submodule at {path!r} is at the {kind} address {address}, "
        "which is further in than its repository is known to be",
        part="elsewhere",
        hint="submodules=false does without the submodules",
    )
