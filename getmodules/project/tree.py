"""``tree``: the lock from the side of the packages."""

from __future__ import annotations

from getmodules.project.lockfile import LockedModule, LockedPackage, needed_lock
from getmodules.project.manifest import Place


def read_tree(place: Place) -> tuple[tuple[LockedPackage, tuple[LockedModule, ...]], ...]:
    """Each package with its modules, both in the order of the lock."""
    lock = needed_lock(place)
    modules: dict[str, list[LockedModule]] = {address: [] for address in lock.packages}
    for module in lock.modules.values():
        modules[module.package].append(module)
    return tuple((package, tuple(modules[address])) for address, package in lock.packages.items())
