"""Files that are seldom meant for others: states and working files of Terraform, environments, private keys.

Outside of a git work tree nobody has chosen what is published, so these are left out. What git tracks was chosen, and
variables and crash logs may be meant: those are named. A line ``!PATTERN`` of ``.getmodulesignore`` says that a file is
meant, and then nothing is said of it. Pure, but for the beginning of a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from getmodules.api.model import Kind, Member
from getmodules.getters.oci.ignore import IGNORE_FILE, Ignore
from getmodules.getters.oci.repository import closed_at_the_end
from getmodules.util.redact import printable

_SECRET: Final = Ignore(b".terraform/\n*.tfstate*\n.env*\n")
_DOUBTFUL: Final = Ignore(b"crash.log\ncrash.*.log\n*.tfvars\n*.tfvars.json\n")
#: Programs write the parameters of a key before it; what begins with a certificate stays in.
_PRIVATE_KEY = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*"
    rb"(?:-----BEGIN [^\r\n-]{1,40} PARAMETERS-----[^-]*-----END [^\r\n-]{1,40} PARAMETERS-----\s*)?"
    rb"-----BEGIN [^\r\n-]{0,40}PRIVATE KEY(?: BLOCK)?-----"
)
_HEAD_BYTES = 4_096
_SHOWN = 5


class Confidential:
    """Judge of single files, which obeys the rules of the user first."""

    def __init__(self, ignore: Ignore) -> None:
        self._ignore = ignore

    def has_secret_name(self, path: str, *, directory: bool) -> bool:
        """Return whether ``path`` itself is one of those that may be secret; its parents are not looked at."""
        return self._ignore.decides(path, directory=directory) is None and _SECRET.leaves_out(path, directory=directory)

    def holds_private_key(self, member: Member) -> bool:
        """Return whether a file begins as a private key does."""
        if member.kind is not Kind.FILE or self._ignore.decides(member.name, directory=False) is not None:
            return False
        with closing(closed_at_the_end(member.open())) as pieces:
            return _PRIVATE_KEY.match(next(pieces, b"")[:_HEAD_BYTES]) is not None

    def is_doubtful(self, path: str) -> bool:
        """Return whether a file is one that is published, and named, since it is seldom meant to be."""
        return self._ignore.decides(path, directory=False) is None and _DOUBTFUL.leaves_out(path, directory=False)

    def is_secret_below(self, member: Member) -> bool:
        """Return whether a file may be secret, by itself or by the name of one of its parents."""
        parts = member.name.split("/")
        parents = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return (
            any(self.has_secret_name(parent, directory=True) for parent in parents)
            or self.has_secret_name(member.name, directory=False)
            or self.holds_private_key(member)
        )


def left_out(names: Sequence[str]) -> str:
    """Return the notice of what was left out."""
    return f"left out, since it may be secret: {_listed(names)} (!PATTERN in {IGNORE_FILE} takes it in)"


def published(names: Sequence[str]) -> str:
    """Return the notice of what is in the package."""
    return (
        f"in the package, and perhaps not for others: {_listed(names)} "
        f"(PATTERN in {IGNORE_FILE} leaves it out, !PATTERN says that it is meant)"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(printable(name)) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else shown
