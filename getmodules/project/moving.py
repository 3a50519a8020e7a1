"""Advice for ``add``: an address of a registry without a tag means ``latest``, which moves; a version stays."""

from __future__ import annotations

from collections.abc import Mapping

from getmodules.addresses.types import ModuleAddress
from getmodules.errors import GetModulesError
from getmodules.getters.oci.reference import DEFAULT_TAG
from getmodules.getters.oci.tags import newest_versions
from getmodules.project.select import list_versions
from getmodules.project.workspace import Workspace
from getmodules.util.values import replace

_SCHEMES = frozenset({"oci", "oci-layout"})


def advise_on_latest(name: str, entry: Mapping[str, str], workspace: Workspace) -> None:
    """Say that the address of a module that was added moves, and which version to name, if there is any."""
    address = workspace.detect(entry["source"])
    if address.package.getter not in _SCHEMES or address.package.arguments or "version" in entry:
        return
    said = f"the address of {name} names no tag: that is {DEFAULT_TAG}, which moves"
    proposed = _with_newest_version(name, address, workspace)
    if proposed is not None:
        said += f"; for a version: getmodules remove {name}, then getmodules add {name} '{proposed}'"
        said += "".join(f" --{key} '{entry[key]}'" for key in ("dest",) if key in entry)
    workspace.operation.progress.notice(address.package.display(), said)


def _with_newest_version(name: str, address: ModuleAddress, workspace: Workspace) -> str | None:
    """Return the address with the newest version for its tag, or None where none can be found out."""
    package = address.package
    getter = workspace.operation.catalog.getter(package.getter)
    try:
        versions = list_versions(package, getter, workspace.operation, name)
    except GetModulesError:  # the module was added all the same
        return None
    tags = newest_versions(tag for tags in versions.values() for tag in tags)
    if not tags:
        return None
    pinned = package.with_arguments(package.arguments.with_value("tag", tags[0]))
    return replace(address, package=pinned).display()
