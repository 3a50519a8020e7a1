"""Policies: lists of the addresses that may be asked for, the first verifier at the gate of addresses.

A policy is a ``[policy]`` table of the machine's file, of the one that ``GETMODULES_POLICY`` names, or of a manifest.
All of them hold at once, so that none can loosen another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from getmodules.addresses.comparison import Pattern, comparable
from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.model import Archive, Gate, Pin, Tree
from getmodules.api.ports import Context
from getmodules.errors import VerificationError
from getmodules.plugins.adapters import VerifierAdapter
from getmodules.plugins.loader import FIRST_PARTY, Plugin
from getmodules.util.redact import printable, redact
from getmodules.util.values import valueclass
from getmodules.version import VERSION

POLICY_VARIABLE: Final = "GETMODULES_POLICY"
_NAME: Final = "policy"
_FILE: Final = "policy.toml"
#: What lies on this machine is contacted by nobody.
_LOCAL: Final = frozenset({"file", "oci-layout"})
#: The getter in the address of a request that is no package's own: what is there is often named anew each time.
_REQUEST: Final = "http"
#: Longer lists are not repeated in a hint.
_SHOWN: Final = 5


def machine_file() -> Path:
    """Return where the policy of the machine is, which all users have."""
    if os.name == "nt":
        # Of the process itself, and not of the environment that a client is given.
        return Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData"), "getmodules", _FILE)
    return Path("/etc/getmodules", _FILE)


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Return the file that ``GETMODULES_POLICY`` names, or None; an empty variable counts as not set."""
    named = environ.get(POLICY_VARIABLE, "")
    if not named:
        return None
    try:
        return Path(os.path.abspath(named))
    except OSError:  # it is relative, and the current directory is gone: as missing as a file can be
        return Path(named)


def policy_files(machine: Path, user: Path | None) -> tuple[Path, ...]:
    """Return the files whose policies hold: the machine's if there is one, and the user's, which must be there."""
    return (*((machine,) if _is_there(machine) else ()), *((user,) if user is not None else ()))


def _is_there(path: Path) -> bool:
    """Return whether there is a file; also one that cannot be looked at, which is an error when it is read."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


@valueclass
class Policy:
    """One table ``[policy]``; ``file`` is the name of its file. Without ``allow`` all is allowed that is not denied."""

    file: str
    allow: tuple[Pattern, ...] | None = None
    deny: tuple[Pattern, ...] = ()

    def check(self, address: PackageAddress) -> None:
        """Raise unless the address may be asked for."""
        if check_url(address.url).scheme in _LOCAL:
            return
        url = comparable(address.url)
        denied = next((pattern for pattern in self.deny if pattern.fits(url)), None)
        if denied is not None:
            why = "denied"
            hint = f"deny in its [policy] has {_quoted(denied.text)}, which no other file and no option overrides"
        elif self.allow is not None and not any(pattern.fits(url) for pattern in self.allow):
            why, hint = "not allowed", self._advice(address)
        else:
            return
        shown = _shown(url)
        said = f"{shown} is {why} by the policy in {self.file}"
        raise VerificationError(said, part="policy", hint=hint).failing_at(shown)

    def _advice(self, address: PackageAddress) -> str:
        url = comparable(address.url)
        written = [pattern.text for pattern in self.allow or ()]
        listed = [_quoted(text) for text in (written if len(written) <= _SHOWN else ())] + [_quoted(url)]
        more = "" if len(written) <= _SHOWN else " beside what is there"
        line = f"if it may be asked for, write in its [policy]{more}: allow = [{', '.join(listed)}]"
        if address.getter != _REQUEST:
            return line
        root = url.partition("://")
        whole = f"{root[0]}://{root[2].partition('/')[0]}/*"
        return f"{line}; or {_quoted(whole)} in the place of the last one, for all of that host"


def _shown(url: str) -> str:
    return printable(redact(url), 500)


def _quoted(text: str) -> str:
    return f'"{_shown(text)}"'


class PolicyVerifier:
    """Verifier that knows one policy."""

    name = _NAME
    gates = (Gate.ADDRESS,)

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def verify(self, gate: Gate, subject: PackageAddress | Pin | Archive | Tree, context: Context) -> None:
        assert isinstance(subject, PackageAddress), "it serves one gate only"
        self._policy.check(subject)


def verifiers_of(policies: Iterable[Policy]) -> tuple[VerifierAdapter, ...]:
    """Return the verifiers of ``policies``. They belong to no plugin that could be left out."""
    plugin = Plugin(name=_NAME, distribution=FIRST_PARTY, version=VERSION)
    return tuple(
        VerifierAdapter(plugin, PolicyVerifier(policy), _NAME, frozenset(PolicyVerifier.gates)) for policy in policies
    )
