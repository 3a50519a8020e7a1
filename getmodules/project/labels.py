"""Labels: what people call the version of a locked module."""

from __future__ import annotations

from typing import Final

from getmodules.project.lockfile import LockedModule, LockedPackage
from getmodules.project.names import written_address

_VERSION_ARGUMENTS: Final = ("tag", "ref", "version")
_DIGITS: Final = 7


def version_label(module: LockedModule, package: LockedPackage) -> str | None:
    """Return the selected tag, or else ``tag=``, ``ref=`` or ``version=`` as written, or else digits of the identity.

    Archives and directories have no version: they are pinned by their own content, and the query of a URL is the
    server's.
    """
    if module.selected is not None:
        return module.selected
    written = written_address(module.source)
    is_content = package.id == package.archive or package.id.startswith("h1:")
    if is_content and written.body == written_address(package.address).body:
        return None
    for name in _VERSION_ARGUMENTS:
        if name in written.arguments:
            return written.arguments.get(name)
    return None if is_content else short_id(package.id)


def short_id(identity: str) -> str:
    """Return the first digits of an identity, without its algorithm."""
    return identity.rpartition(":")[2][:_DIGITS]
